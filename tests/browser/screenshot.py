"""Draw the picture of a page that the README shows.

Run it as ``python -m tests.browser.screenshot``.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from fatt.cli import fatt
from tests.browser.chromium import ABSENT, browser

TARGET = Path(__file__).parents[2] / "docs" / "audit.png"
_WIDTH = 1120
_DEMO = ("audit", "--demo", "--min-fairness", "0.95", "--quiet")


def main() -> None:
    """Make the page of the demonstration, and draw its beginning."""
    if ABSENT:
        raise SystemExit(ABSENT)
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        page = Path(folder) / "audit.html"
        fatt.main([*_DEMO, "--html", str(page)], standalone_mode=False)
        chromium.show(page, width=_WIDTH)
        # From the verdict to who counts as similar: a README should not start with a
        # whole page.
        end = chromium.script(
            "const similar = document.querySelector('#similarity ul');"
            "return similar.getBoundingClientRect().bottom"
        )
        chromium.show(page, width=_WIDTH, height=int(end) + 8)
        TARGET.parent.mkdir(exist_ok=True)
        TARGET.write_bytes(chromium.screenshot())


if __name__ == "__main__":
    main()
