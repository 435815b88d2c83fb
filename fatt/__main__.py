"""Run the command as ``python -m fatt``."""

from fatt.cli import main

main()
