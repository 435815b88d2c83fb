"""A real browser without a window, for looking at pages as people see them."""

from __future__ import annotations

import base64
import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

#: Why there is no browser; empty if there is one.
ABSENT = (
    ""
    if CHROMIUM and DRIVER
    else "needs Debian's packages chromium and chromium-driver"
)


class Browser:
    """A browser with one page open."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def show(
        self,
        page: Path,
        *,
        width: int = 1200,
        height: int = 900,
        scheme: str = "light",
        scale: float = 1,
    ) -> None:
        """Open a page on a screen of this size and colour scheme."""
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )
        self.emulate(media="", scheme=scheme)
        self.driver.get(page.resolve().as_uri())

    def emulate(self, *, media: str, scheme: str) -> None:
        """Pretend to be on screen or on paper, with a colour scheme."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self._ask("Emulation.setEmulatedMedia", media=media, features=[feature])

    def script(self, code: str, *arguments: Any) -> Any:
        """Run a script in the page."""
        return self.driver.execute_script(code, *arguments)

    def screenshot(self, *, whole: bool = False) -> bytes:
        """Return what is to be seen, or the whole page, as PNG."""
        return self._bytes(
            "Page.captureScreenshot", format="png", captureBeyondViewport=whole
        )

    def pdf(self) -> bytes:
        """Return what the browser prints on A4."""
        return self._bytes(
            "Page.printToPDF",
            paperWidth=8.27,
            paperHeight=11.69,
            displayHeaderFooter=False,
        )

    def complaints(self) -> list[str]:
        """Return what the browser wrote to its console since it was last asked."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def _ask(self, command: str, **arguments: Any) -> Any:
        return self.driver.execute_cdp_cmd(command, arguments)

    def _bytes(self, command: str, **arguments: Any) -> bytes:
        return base64.b64decode(self._ask(command, **arguments)["data"])


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Start a browser that can reach no network, and end it."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for word in ("headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars"):
        options.add_argument(f"--{word}")
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
