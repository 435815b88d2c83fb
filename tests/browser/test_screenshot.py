from __future__ import annotations

from tests.browser.screenshot import TARGET


def test_the_picture_of_the_readme_is_small() -> None:
    picture = TARGET.read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 200 * 1024
