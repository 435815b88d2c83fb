"""How far a run is: a bar by rich, a callback, or nothing."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest
from rich.console import Console
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.progress import bar, watched

AGES = [[20.0], [30.0], [40.0], [50.0]]
TREE = DecisionTreeClassifier().fit(AGES, [0, 0, 1, 1])
SIMILARITY = fatt.Similarity(noise={"x0": 6})


def ask(progress: Any) -> None:
    fatt.verify(TREE, AGES, similarity=SIMILARITY, progress=progress)
    fatt.score_gap(TREE, AGES, similarity=SIMILARITY, progress=progress)
    fatt.radius(TREE, AGES, similarity=SIMILARITY, progress=progress)


def test_a_callback_is_told() -> None:
    told: list[tuple[int, int]] = []
    ask(lambda done, total: told.append((done, total)))
    assert told == [(4, 4)] * 3


def test_true_shows_a_bar_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    ask(True)
    report = fatt.verify(TREE, AGES, similarity=SIMILARITY)
    report.certificate(progress=True)
    out, err = capsys.readouterr()
    assert not out
    # Without a terminal rich shows nothing of a bar that vanishes.
    assert "\x1b[?25l" not in err


def test_false_and_none_show_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    ask(False)
    ask(None)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_bar_which_ends_with_the_block() -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=80)
    with contextlib.suppress(KeyboardInterrupt), bar("searching", console) as tell:
        tell(1, 4)
        raise KeyboardInterrupt
    shown = text.getvalue()
    assert "searching" in shown
    assert "1/4" in shown
    # The cursor is shown again, also after an interruption.
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")


def test_a_notebook_without_widgets_gets_no_warnings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with watched(True) as tell:
        assert tell is not None
        tell(1, 2)
