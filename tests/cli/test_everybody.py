"""``fatt global``: what comes in and out, exit codes, and one sentence for mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fatt.cli import fatt
from fatt.errors import DataError, FattError, SpecError
from tests.everybody.grid import MOST, grid

SPACE = (
    "[schema]\n"
    + "\n".join(
        f'{name} = {{ type = "integer", lower = 0, upper = {most} }}'
        for name, most in MOST.items()
    )
    + "\n"
)
SIMILAR = ("--noise", "age=1", "--vary", "sex")
BRIEF = ("--seconds", "5")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    import fatt as package

    folder, the = tmp_path_factory.mktemp("global"), grid(4)
    package.load(the.model).save(folder / "model.fatt")
    the.table.to_csv(folder / "people.csv", index=False)
    (folder / "space.toml").write_text(SPACE)
    return {
        "model": str(folder / "model.fatt"),
        "people": str(folder / "people.csv"),
        "space": str(folder / "space.toml"),
    }


def run(*arguments: str) -> Result:
    return CliRunner().invoke(fatt, ["global", *arguments], catch_exceptions=False)


def test_all_is_told_as_text_json_and_page(
    files: dict[str, str], tmp_path: Path
) -> None:
    page = tmp_path / "global.html"
    more = ("--html", str(page), "--json", "--quiet", *BRIEF)
    done = run(files["model"], files["people"], *SIMILAR, *more)
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    the = grid(4)
    mass = the.mass()[the.unfair(1)].sum()
    assert found["unfair_share"]["bounds"] == pytest.approx([mass, mass], abs=1e-9)
    low, high = found["largest_gap"]["bounds"]
    assert 0 < low <= high <= low + 0.001 + 1e-9
    assert found["unfair_pair"]["pair"]["answers"] in ([False, True], [True, False])
    assert set(found["largest_gap"]["pair"]["person"]) == set(MOST)
    assert found["demands"] == {}
    html = page.read_text()
    for said in ("The largest effect", "How many are affected", "The nearest row"):
        assert said in html
    assert "need not be a likely pair" in html
    text = run(files["model"], files["people"], *SIMILAR, "--ask", "gap").stdout
    assert text.startswith("Similar people never differ by more than")
    assert "treated unlike" not in text


@pytest.mark.parametrize(
    ("asked", "code", "met"),
    [
        (("--max-gap", "1"), 0, {"max-gap": "met"}),
        (("--max-gap", "0"), 1, {"max-gap": "refuted"}),
        (("--max-share", "1"), 0, {"max-share": "met"}),
        (("--max-share", "0"), 1, {"max-share": "refuted"}),
        (("--no-pair",), 1, {"no-pair": "refuted"}),
        (
            ("--max-gap", "1", "--max-share", "0"),
            1,
            {"max-gap": "met", "max-share": "refuted"},
        ),
        # Without nodes no bound closes.
        (("--max-gap", "0.9", "--budget", "nodes=0"), None, None),
    ],
)
def test_the_exit_code_tells_of_demands(
    files: dict[str, str], asked: tuple[str, ...], code: int | None, met: object
) -> None:
    # Each demand asks its own question, too.
    ask = ("--ask", "pair", "--json", "--quiet", *BRIEF)
    done = run(files["model"], "--space", files["space"], *SIMILAR, *ask, *asked)
    found = json.loads(done.stdout)
    if code is None:
        assert (
            done.exit_code
            == {"met": 0, "refuted": 1, "undecided": 3}[found["demands"]["max-gap"]]
        )
        return
    assert (done.exit_code, found["demands"]) == (code, met)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((), SpecError, "there is no model"),
        (("{model}", "--vary", "sex"), SpecError, "nothing says what people there"),
        (("{model}", "--space", "{space}"), SpecError, "nothing says who is similar"),
        (
            ("{model}", "--space", "no.toml", "--vary", "sex"),
            SpecError,
            "no.toml: cannot read it",
        ),
        (
            ("{model}", "--space", "{space}", "--vary", "sexx"),
            SpecError,
            "Did you mean 'sex'",
        ),
        (
            ("{model}", "--space", "{space}", "--vary", "sex", "--confidence", "2"),
            SpecError,
            "confidence is 2.0",
        ),
        (
            (
                "{model}",
                "--space",
                "{space}",
                "--vary",
                "sex",
                "--distribution",
                "rows",
            ),
            SpecError,
            "there is no table",
        ),
        (
            ("{model}", "{space}", "--vary", "sex"),
            (SpecError, DataError),
            "space.toml",
        ),
    ],
)
def test_a_mistake_is_told_in_a_sentence(
    files: dict[str, str],
    arguments: tuple[str, ...],
    kind: type[FattError],
    message: str,
) -> None:
    with pytest.raises(kind, match=message):
        run(*(one.format(**files) for one in arguments))


def test_a_space_without_bounds_is_refused(
    files: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "space.toml"
    path.write_text('[where]\nage = ">= 3"\n')
    with pytest.raises(SpecError, match="no bounds for 'age', a number that moves"):
        run(files["model"], "--space", str(path), *SIMILAR)
    path.write_text(SPACE + '[where]\nage = ">= 30"\n')
    with pytest.raises(SpecError, match="where of 'age' is '>= 30', which no"):
        run(files["model"], "--space", str(path), *SIMILAR)


def test_an_audit_has_a_section_on_everybody(
    files: dict[str, str], tmp_path: Path
) -> None:
    page = tmp_path / "audit.html"
    asked = ("audit", files["model"], files["people"], *SIMILAR, "--everybody")
    with pytest.raises(SpecError, match="--everybody adds a section to a page"):
        CliRunner().invoke(fatt, list(asked), catch_exceptions=False)
    written = (*asked, "--html", str(page), "--quiet")
    CliRunner().invoke(fatt, list(written), catch_exceptions=False)
    html = page.read_text()
    assert "Everybody, not only the people of the table" in html
    assert "need not be a likely pair" in html
    assert 'href="#everybody"' in html
