"""The page: what it says, and that names from files can do nothing but be read."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import fatt
from fatt.audit.measures import measure
from fatt.errors import SpecError
from fatt.markup import text_of
from fatt.region import Similarity
from fatt.report import Report
from fatt.report.sentences import headline
from fatt.verifier import Budget
from tests.report import made
from tests.report.hostile import HOSTILE, PLAIN, bank, page_of

_ALONE = {"meta"}
#: The arrays of findings with one entry per person.
EACH = ("verdict", "label", "possible", "nodes", "stopped")


class Reader(HTMLParser):
    """Reads a page: its elements with their attributes, and its texts."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.classes: set[str] = set()
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.classes |= {value or "" for name, value in attrs if name == "class"}
        if tag not in _ALONE:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.texts))


@pytest.fixture(scope="module")
def plain() -> str:
    return page_of(PLAIN, "other")


@settings(max_examples=40, deadline=None, derandomize=True)
@example(HOSTILE, HOSTILE[4] + "\ud800")
@example(HOSTILE[::-1], HOSTILE[2])
@given(
    st.tuples(*[st.text(min_size=1)] * 6).filter(lambda names: len(set(names)) == 6),
    st.text(min_size=1),
)
def test_names_cannot_change_the_page(
    plain: str, names: tuple[str, ...], other: str
) -> None:
    page = page_of(names, other)
    found, expected = Reader(page), Reader(plain)
    # Groups stand in the order of their names, so rows may change places.
    assert sorted(found.tags) == sorted(expected.tags)
    assert found.classes == expected.classes
    page.encode("utf-8")
    assert not re.search("[\u0000-\u0008\u202a-\u202e\u2066-\u2069\ufffe\ud800]", page)
    shown = "".join(found.texts)
    for name in (*names, other):
        [text] = Reader(f"<p>{text_of(name)}</p>").texts or [""]
        assert text in shown


def test_the_page_needs_nothing_else(plain: str) -> None:
    tags = Reader(plain).tags
    assert not {"script", "img", "link", "iframe", "object"} & {tag for tag, _ in tags}
    names = {name for _, attributes in tags for name in attributes}
    assert not {"src", "style", "onload", "onclick"} & names
    assert "url(" not in plain
    assert "@import" not in plain
    assert re.findall(r"https?:", plain) == []
    assert "default-src &#x27;none&#x27;" in plain


def test_all_parts_are_there(plain: str) -> None:
    anchors = set(re.findall(r'href="#([a-z]+)"', plain))
    sections = set(re.findall(r'<section id="([a-z]+)"', plain))
    assert anchors == sections == {
        "findings", "similarity", "groups", "twins", "columns", "radius", "gaps",
        "limits", "evidence",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("min_fairness", "verdict", "sentence"),
    [
        (None, "verdict", "0.00% treated fairly For 3 of 5 people we found a similar"),
        (0.2, "verdict proven", "Met (20% required). For 3 of 5 people we found"),
        (0.5, "verdict refuted", "Not met (50% required). For 3 of 5 people"),
        (0.3, "verdict undecided", "Undecided (30% required). For 3 of 5 people"),
    ],
)
def test_the_verdict_is_one_sentence(
    min_fairness: float | None, verdict: str, sentence: str
) -> None:
    page = Reader(made.report().to_html(min_fairness=min_fairness))
    assert verdict in page.classes
    assert sentence in page.text
    assert "20.00% to 40.00%" in page.text
    assert (
        "For 3 of 5 people we found a similar person with a different answer; for 1 we "
        "proved that there is none; 1 is undecided."
    ) in page.text


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        ([0, 0, 0], "For all 3 people we proved that no similar person gets a diff"),
        ([0, 2, 0], "For 2 of 3 people we proved that no similar person gets a diff"),
        ([1, 1, 1], "For all 3 people we found a similar person with a different an"),
        ([1, 1, 0], "For 2 of 3 people we found a similar person with a different an"),
        ([2, 2, 2], "For 0 of 3 people we proved that no similar person gets a diff"),
        ([0], "For 1 person we proved that no similar person gets a different answ"),
    ],
)
def test_the_verdict_counts_all_or_some(verdicts: list[int], sentence: str) -> None:
    whole = made.report()
    verdict = np.array(verdicts, dtype=np.int8)
    some = replace(
        whole.findings,
        **{name: getattr(whole.findings, name)[: len(verdict)] for name in EACH},
    )
    told = replace(whole, findings=replace(some, verdict=verdict))
    assert headline(told).startswith(sentence)
    assert headline(told, 0.5).partition(". ")[2] == headline(told)


def test_groups_have_rates_and_ratios() -> None:
    page = made.report().to_html(groups=["sex", "city"])
    # Of two women one gets "grant", of three men two.
    assert re.search(r"F</bdi>.*?50\.0%.*?[^k]>0\.75<", page)
    assert re.search(r"M</bdi>.*?66\.7%.*?1\.00", page)
    assert "Findings by sex and city" in page
    for brief in (False, True):
        assumed = Reader(made.report().to_html(groups=["sex"], summary=brief)).text
        assert "We assume that people want grant , the second of two" in assumed
        assert ("they want with favorable= ." in assumed) == (not brief)
        assert ("Say which answer they want when ordering" in assumed) == brief
    assert "<bdi>missing</bdi>" in page


@pytest.mark.parametrize(("women", "men"), [(30, 30), (29, 30), (30, 29)])
def test_a_low_ratio_is_marked_where_both_groups_have_people(
    women: int, men: int
) -> None:
    people = pd.DataFrame({"sex": ["F"] * women + ["M"] * men, "age": 40.0})
    people["income"] = np.where(people["sex"] == "M", 9.0, np.arange(women + men) % 3)
    tree = DecisionTreeClassifier().fit(people[["age", "income"]], people["income"] > 0)
    report = fatt.verify(
        tree,
        people[["age", "income"]],
        similarity=Similarity(noise={"income": 0.1}),
        sensitive_features=people[["sex"]],
    )
    page = report.to_html(groups=["sex"])
    assert ("<mark>0.6" in page) == (min(women, men) >= 30)
    assert ("Groups with fewer" in page) == (min(women, men) < 30)
    assert ">1.00<" in page


def test_the_favourable_answer_can_be_the_other_one() -> None:
    page = made.report().to_html(groups=["sex"], favorable="deny")
    assert re.search(r"F</bdi>.*?50\.0%.*?1\.00", page)
    assert re.search(r"M</bdi>.*?33\.3%.*?[^k]>0\.67<", page)
    assert "We assume" not in page
    with pytest.raises(SpecError, match="Did you mean 'grant'"):
        made.report().to_html(favorable="grnt")


def test_a_protected_attribute_that_decides_alone_is_named() -> None:
    model = bank(PLAIN)
    people = np.array([[20.0, "f"], [40.0, "f"], [60.0, "m"]], dtype=object)
    similarity = Similarity(noise={"age": 2}, vary=["sex"])
    auditor = fatt.Auditor(model, similarity=similarity, schema=people)
    report = auditor.verify(people)
    details = measure(auditor, report)
    # On the page as on the sheet it is one of the findings.
    for summary in (False, True):
        page = Reader(report.to_html(details=details, summary=summary)).text
        findings = page.partition("Findings ")[2].partition("Who counts as")[0]
        said = "If only sex changed, 1 of the 2 people who do not get grant would get"
        assert said in findings
        assert "it; 1 of the 1 who get it would not." in findings


def test_nothing_is_measured_on_half_a_report() -> None:
    model = bank(PLAIN)
    people = np.array([[20.0, "f"], [40.0, "f"], [60.0, "m"]], dtype=object)
    similarity = Similarity(noise={"age": 2}, vary=["sex"])
    auditor = fatt.Auditor(model, similarity=similarity, schema=people)
    half = replace(auditor.verify(people), interrupted=True)
    details = measure(auditor, half)
    assert details.interrupted
    assert details.alone == ()
    assert "Measuring was interrupted" in Reader(half.to_html(details=details)).text


def test_rows_are_counted_as_everywhere_and_the_closest_are_explained() -> None:
    report = made.report()
    first = report.counterexamples.closest(1)[0].index
    for summary in (False, True):
        page = Reader(report.to_html(summary=summary)).text
        assert f"Person in row {first} " in page
        assert "Row 0 is the first person, as in the CSV and in Python." in page
        assert "fewest columns" in page
        assert "smallest steps" in page


def test_nobody_is_named_where_nothing_changes() -> None:
    model = bank(PLAIN)
    people = np.array([[20.0, "f"], [15.0, "m"]], dtype=object)
    similarity = Similarity(vary=["sex"])
    auditor = fatt.Auditor(model, similarity=similarity, schema=people)
    report = auditor.verify(people)
    assert report.counts == {"fair": 2, "unfair": 0, "unknown": 0}
    text = Reader(report.to_html(details=measure(auditor, report))).text
    assert "Nobody's answer changes with sex alone" in text


def test_what_is_not_known_of_the_origin_is_left_out() -> None:
    page = made.report().to_html()
    assert "<bdi></bdi>" not in page
    assert "Certificate" not in page
    assert "To make this page again" not in page


def test_the_digests_are_those_of_the_certificate() -> None:
    report = made.report()
    about = report.certificate().contents.about
    text = Reader(report.to_html()).text
    assert f"Schema, SHA-256 {about.schema}" in text
    assert f"Similarity, SHA-256 {about.similarity}" in text
    assert f"What it computes, SHA-256 {about.model}" in text


def test_limits_and_gaps_are_told() -> None:
    report: Report = made.report(interrupted=True)
    text = Reader(report.to_html()).text
    assert "Limits of the search: 100 steps for each person." in text
    assert "The run was interrupted" in text
    long = replace(report, budget=Budget(seconds=0.5, total_nodes=2_000_000))
    told = "Limits of the search: 0.5 s for each person, 2,000,000 steps in all."
    assert told in Reader(long.to_html()).text
    unlimited = replace(report, budget=Budget())
    assert "no limits of time or effort" in Reader(unlimited.to_html()).text


def test_warnings_and_the_rule_stand_before_the_verdict() -> None:
    report = made.report()
    object.__setattr__(report, "warnings", ("The rows look scaled.",))
    text = Reader(report.to_html()).text
    said = [
        "The rows look scaled.",
        "Judged: the model's own",
        "treated fairly",
        "Findings",
    ]
    places = [text.index(one) for one in said]
    assert places == sorted(places)


def test_few_people_are_said_to_be_few_and_rates_have_intervals() -> None:
    page = Reader(made.report().to_html(groups=["sex"], favorable="grant"))
    assert "Groups with fewer than 30 people are marked" in page.text
    assert "F 2 few" in page.text
    # One of two: Wilson's interval.
    assert "50.0% 9.5% to 90.5%" in page.text


def test_the_worst_intersections_have_a_table_of_their_own() -> None:
    table = np.array([[20.0, "f", "x"], [40.0, "m", "x"]] * 30, dtype=object)
    table[:, 2] = ["x", "x", "x", "y"] * 15
    people = pd.DataFrame(table, columns=["age", "sex", "town"])
    people["age"] = people["age"].astype(float)
    similarity = Similarity(vary=["sex"])
    report = fatt.verify(bank(PLAIN), people, similarity=similarity)
    page = Reader(report.to_html(groups=["sex", "town"]))
    assert "Intersections that fare worst, of 3 with 10 or more people" in page.text
    # A value alone would not say which of the attributes it is of.
    assert "sex f , town x 30" in page.text
    assert "Intersections" not in Reader(report.to_html(groups=["sex"])).text
    sheet = Reader(report.to_html(groups=["sex", "town"], summary=True)).text
    said = ["Groups", "Findings by sex", "f 30", "Intersections that fare worst"]
    start = sheet.index("Groups")
    places = [sheet.index(one, start) for one in said]
    assert places == sorted(places)
    assert "Findings by town" not in sheet


@pytest.mark.parametrize("summary", [False, True])
def test_what_was_not_asked_is_told(summary: bool) -> None:
    wide = pd.DataFrame({f"c{i}": np.arange(40.0) % (i + 2) for i in range(12)})
    tree = DecisionTreeClassifier(random_state=0).fit(wide, wide["c0"] > wide["c1"])
    similarity = Similarity(noise={"c1": 1}) | Similarity(missing=["c3"])
    report = fatt.verify(tree, wide.assign(town="x"), similarity=similarity)
    groups = ["c11", "c1", "c3", "town"]
    text = Reader(report.to_html(groups=groups, summary=summary)).text
    # Attributes that people are grouped by come first, and the others in order.
    names = " , ".join(["c11", "c0", "c2", *(f"c{i}" for i in range(4, 9))])
    assert f"Held fixed: {names} and 2 more." in text
    assert "Findings by c11 (c11 stayed fixed)" in text
    with_all = "(c11 stayed fixed; the similarity does not name town)"
    assert "Intersections that fare worst, of" in text
    assert f"with 10 or more people {with_all}" in text
    if not summary:
        assert "Findings by c1. Impact ratios compare with" in text
        assert "Findings by c3. Impact ratios compare with" in text
        assert "Findings by town (the similarity does not name town)" in text
        assert f"Findings by c11 and c1 and c3 and town {with_all}" in text


@pytest.mark.parametrize("summary", [False, True])
def test_changes_of_bands_are_counted(summary: bool) -> None:
    people = pd.DataFrame({"age": np.arange(60.0)})
    tree = DecisionTreeRegressor().fit(people, people["age"] // 20)
    bands = {"low": -np.inf, "middle": 0.5, "high": 1.5}
    report = fatt.verify(
        tree, people, similarity=Similarity(noise={"age": 2}), cuts=bands
    )
    text = Reader(report.to_html(summary=summary)).text
    said = "Bands, from the person's to the twin's: "
    assert said in text
    told = text.partition(said)[2].partition(".")[0]
    pairs = (
        ("low", "middle"),
        ("middle", "low"),
        ("middle", "high"),
        ("high", "middle"),
    )
    assert sorted(told.strip().split(" , ")) == sorted(f"{a} → {b} 2" for a, b in pairs)
    assert "Bands, from" not in Reader(made.report().to_html(summary=summary)).text


def test_nothing_is_held_fixed_where_all_may_move() -> None:
    text = Reader(made.report().to_html(groups=["sex"])).text
    assert "Held fixed" not in text
    assert "stayed fixed" not in text


def test_paper_is_not_set_like_a_phone() -> None:
    narrow = re.findall(r"@media ([^{]*max-width[^{]*) {", made.report().to_html())
    assert narrow
    assert all(one.startswith("screen and ") for one in narrow)


def test_the_answers_that_are_judged_are_named() -> None:
    said = "Judged: the model's own answer, deny or grant."
    assert said in Reader(made.report().to_html()).text


def test_a_summary_says_the_main_things_and_no_more() -> None:
    report = made.report()
    page = Reader(report.to_html(summary=True, min_fairness=0.5, groups=["sex"]))
    for said in (
        "Not met (50% required).",
        "Who counts as similar",
        "What this means",
        "Twins",
        "Signature",
    ):
        assert said in page.text
    assert "TOML" not in page.text
    assert ("nav", ("aria-label",)) not in page.tags
