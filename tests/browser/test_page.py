"""The page in a real browser: on screens, on paper, by keyboard, for screen readers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.cli import fatt as command
from fatt.verdict import BUDGET, FAIR, UNKNOWN
from tests.browser.chromium import ABSENT, Browser, browser
from tests.report import made
from tests.report.hostile import HOSTILE, page_of

pytestmark = pytest.mark.skipif(bool(ABSENT), reason=ABSENT)

SCREENS = [(1200, "light"), (1200, "dark"), (375, "light"), (320, "dark")]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "audit.html"
    words = ["--demo", "--group", "sex", "--group", "district", "--html", str(path)]
    CliRunner().invoke(command, ["audit", *words], catch_exceptions=False)
    return path


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "summary.html"
    words = ["--demo", "--group", "district", "--summary", str(path)]
    CliRunner().invoke(command, ["audit", *words], catch_exceptions=False)
    return path


@pytest.fixture(scope="module", params=[False, True], ids=["page", "sheet"])
def undecided(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A page on people of whom some are unknown, so that shares are intervals."""
    people = np.linspace(18.0, 80.0, 1000)[:, None]
    tree = DecisionTreeClassifier(max_depth=3).fit(people, people[:, 0] % 9 < 4)
    report = fatt.verify(tree, people, similarity=fatt.Similarity(noise={"x0": 0.5}))
    verdict, stopped = report.findings.verdict.copy(), report.findings.stopped.copy()
    some = np.flatnonzero(verdict == FAIR)[::20]
    verdict[some], stopped[some] = UNKNOWN, BUDGET
    findings = replace(report.findings, verdict=verdict, stopped=stopped)
    path = tmp_path_factory.mktemp("page") / "undecided.html"
    page = replace(report, findings=findings).to_html(
        min_fairness=0.5, summary=request.param
    )
    path.write_text(page, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page whose names try to run scripts, and are long and without spaces."""
    path = tmp_path_factory.mktemp("page") / "hostile.html"
    long = tuple(f"{name}{'x' * 300}" for name in HOSTILE)
    path.write_text(page_of(long, HOSTILE[0] + "y" * 300), encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
@pytest.mark.parametrize("name", ["audit", "hostile", "summary"])
def test_nothing_overflows_and_nothing_complains(
    chromium: Browser,
    request: pytest.FixtureRequest,
    name: str,
    width: int,
    scheme: str,
) -> None:
    chromium.show(request.getfixturevalue(name), width=width, scheme=scheme)
    wide = chromium.script("return document.documentElement.scrollWidth")
    assert wide <= width
    assert chromium.complaints() == []
    assert chromium.script("return document.scripts.length") == 0


@pytest.mark.parametrize("width", [1280, 760, 400])
@pytest.mark.parametrize("media", ["screen", "print"])
def test_the_verdict_has_room_beside_an_interval(
    chromium: Browser, undecided: Path, width: int, media: str
) -> None:
    chromium.show(undecided, width=width)
    chromium.emulate(media=media, scheme="light")
    figures, sentence, panel = chromium.script(
        "return ['.verdict p', '.verdict p:last-child', '.verdict'].map("
        "one => document.querySelector(one).getBoundingClientRect().width)"
    )
    text = chromium.driver.find_element(By.CSS_SELECTOR, ".verdict strong").text
    assert re.fullmatch(r"\d+ to \d+ of 1,000, [\d.]+% to [\d.]+%", text)
    assert min(figures, sentence) > 0.7 * min(panel, 380)


def test_a_phone_shows_all_figures_of_a_table_at_once(
    chromium: Browser, audit: Path
) -> None:
    chromium.show(audit, width=390)
    hidden = chromium.script(
        "return [...document.querySelectorAll('.scroll')]"
        ".filter(one => one.scrollWidth > one.clientWidth)"
        ".map(one => one.getAttribute('aria-label'))"
    )
    assert hidden == []
    ratio = chromium.driver.find_element(By.CSS_SELECTOR, "#groups mark")
    assert ratio.is_displayed()


def test_charts_are_drawn_inside_their_frames(chromium: Browser, audit: Path) -> None:
    chromium.show(audit)
    outside = chromium.script(
        """
        const outside = [];
        for (const chart of document.querySelectorAll("svg.chart")) {
          const frame = chart.getBoundingClientRect();
          for (const part of chart.querySelectorAll("text, rect, path, line")) {
            const box = part.getBoundingClientRect();
            if (box.left < frame.left - 1 || box.right > frame.right + 1 ||
                box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
              outside.push(part.outerHTML);
          }
        }
        return [document.querySelectorAll("svg.chart").length, outside];
        """
    )
    assert outside == [2, []]


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
@pytest.mark.parametrize("name", ["audit", "summary"])
def test_axe_finds_no_barrier(
    chromium: Browser,
    request: pytest.FixtureRequest,
    name: str,
    width: int,
    scheme: str,
) -> None:
    from axe_core_python.selenium import Axe

    chromium.show(request.getfixturevalue(name), width=width, scheme=scheme)
    found = Axe().run(chromium.driver)
    assert len(found["passes"]) > 15
    said = [
        (rule["id"], node["html"], node["failureSummary"])
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
    assert said == []


def test_colours_follow_the_scheme(chromium: Browser, audit: Path) -> None:
    def paper() -> list[int]:
        colour = chromium.script(
            "return getComputedStyle(document.documentElement).backgroundColor"
        )
        return [int(part) for part in re.findall(r"\d+", colour)[:3]]

    chromium.show(audit, scheme="light")
    assert min(paper()) > 240
    chromium.show(audit, scheme="dark")
    assert max(paper()) < 40


def test_the_keyboard_reaches_everything_in_order(
    chromium: Browser, audit: Path
) -> None:
    chromium.show(audit, width=375)
    seen: list[str] = []
    places: list[float] = []
    for _ in range(60):
        chromium.driver.switch_to.active_element.send_keys(Keys.TAB)
        name, top, outline = chromium.script(
            """
            const now = document.activeElement;
            return [now.tagName + (now.getAttribute("href") || now.id || ""),
                    now.getBoundingClientRect().top + scrollY,
                    getComputedStyle(now).outlineStyle];
            """
        )
        if name == "BODY":
            break
        assert outline != "none"
        seen.append(name)
        places.append(top)
    assert seen[0] == "A#findings"
    assert seen[1:10] == [
        f"A#{part}"
        for part in (
            "findings", "similarity", "groups", "twins", "columns", "radius", "gaps",
            "limits", "evidence",
        )
    ]  # fmt: skip
    assert "SUMMARY" in seen
    # Tables that scroll are reached too, and the way goes down the page.
    assert seen.count("DIV") == 8
    assert places[1:] == sorted(places[1:])


def test_the_skip_link_shows_itself_and_leads_to_the_findings(
    chromium: Browser, audit: Path
) -> None:
    chromium.show(audit)
    chromium.driver.switch_to.active_element.send_keys(Keys.TAB)
    link = chromium.driver.switch_to.active_element
    assert link.text == "Skip to the findings"
    assert link.rect["x"] >= 0
    link.send_keys(Keys.ENTER)
    assert chromium.driver.current_url.endswith("#findings")


def test_details_open_on_demand(chromium: Browser, audit: Path) -> None:
    chromium.show(audit)
    summary = chromium.driver.find_element(By.CSS_SELECTOR, "#similarity summary")
    toml = chromium.driver.find_element(By.CSS_SELECTOR, "#similarity pre")
    assert not toml.is_displayed()
    summary.send_keys(Keys.ENTER)
    assert toml.is_displayed()
    assert "[[similar]]" in toml.text


def test_it_prints_on_a_few_pages_without_what_is_for_screens(
    chromium: Browser, audit: Path
) -> None:
    chromium.show(audit, scheme="dark")
    pdf = chromium.pdf()
    assert pdf.startswith(b"%PDF")
    n_pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    assert 3 <= n_pages <= 7
    chromium.emulate(media="print", scheme="dark")
    assert not chromium.driver.find_element(By.TAG_NAME, "nav").is_displayed()
    # A4 between its margins is as wide as a small tablet, and no phone.
    chromium.show(audit, width=688)
    chromium.emulate(media="print", scheme="light")
    columns = chromium.script(
        "return ['.tiles', '.signature', '.facts div'].map(one => getComputedStyle("
        "document.querySelector(one)).gridTemplateColumns.split(' ').length)"
    )
    assert columns == [3, 3, 2]
    # What is folded on screen is open on paper.
    find = "return document.querySelector('#similarity pre').clientHeight"
    assert chromium.script(find) > 50
    ink, paper = chromium.script(
        "const style = getComputedStyle(document.documentElement);"
        "return [style.color, style.backgroundColor]"
    )
    assert (ink, paper) == ("rgb(0, 0, 0)", "rgb(255, 255, 255)")
    # Nothing that fits on a page is torn: short tables, cards, charts and sentences.
    torn = chromium.script(
        "return [...document.querySelectorAll('p, li, tr, .card, .beside, .scroll')]"
        ".filter(one => one.querySelectorAll('tbody tr').length < 6)"
        ".filter(one => getComputedStyle(one).breakInside != 'avoid')"
        ".map(one => one.outerHTML)"
    )
    assert torn == []


def test_a_summary_prints_on_one_sheet(chromium: Browser, summary: Path) -> None:
    chromium.show(summary, scheme="dark")
    assert len(re.findall(rb"/Type\s*/Page\b", chromium.pdf())) == 1
    # The notes speak of the interval below each rate.
    chromium.emulate(media="print", scheme="light")
    interval = chromium.driver.find_element(By.CSS_SELECTOR, "#groups td > div small")
    assert interval.is_displayed()
    assert re.fullmatch(r"[\d.]+% to [\d.]+%", interval.text)


#: How notebooks set tables and lists.
NOTEBOOK = """<!DOCTYPE html><title>notebook</title><style>
:not(.md).html td, :not(.md).html th { text-align: right; }
.html tbody tr:nth-child(odd) { background: yellow; }
.output dt { float: left; width: 20%; }
</style><div class="html output">"""


def test_a_notebook_does_not_tear_what_shows_itself(
    chromium: Browser, tmp_path: Path
) -> None:
    report = made.report()
    shown = [report.certificate(), report.by_group("sex")]
    page = tmp_path / "notebook.html"
    inner = "".join(one._repr_html_() for one in shown)
    page.write_text(f"{NOTEBOOK}{inner}</div>", encoding="utf-8")
    chromium.show(page)
    find = "return Array.from(document.querySelectorAll(arguments[0])).map("
    heights = chromium.script(find + "e => e.clientHeight)", "dt")
    assert len(set(heights)) == 1
    styles = find + "e => getComputedStyle(e).textAlign)"
    assert set(chromium.script(styles, "tbody th")) == {"start"}
    assert set(chromium.script(styles, "tbody td.number")) == {"end"}
