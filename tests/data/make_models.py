"""Train the kept models again, each library version in an environment of its own.

Run ``python tests/data/make_models.py`` from the repository root. It takes some minutes
and overwrites ``tests/data/models``. The files are kept so that formats of old
versions stay readable; ``tests/importers/test_kept_models.py`` compares bits.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).parent

ENVIRONMENTS: dict[str, list[list[str]]] = {}


def main() -> None:
    for script, environments in ENVIRONMENTS.items():
        for requirements in environments:
            with tempfile.TemporaryDirectory() as folder:
                venv.create(folder, with_pip=True)
                python = str(Path(folder, "bin", "python"))
                install = [python, "-m", "pip", "install", "-q", *requirements]
                subprocess.run(install, check=True)
                command = [python, str(HERE / script), str(HERE / "models")]
                subprocess.run(command, check=True)
                sys.stderr.write(f"{script}: {' '.join(requirements)}\n")


if __name__ == "__main__":
    main()
