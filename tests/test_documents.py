"""The code of the README, the guide and examples/ runs, and prints what they say."""

from __future__ import annotations

import copy
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import nbformat
import pytest
from click.testing import CliRunner
from nbclient import NotebookClient

from fatt.cli import audit
from fatt.cli.spec import Audit, Columns, Decision
from fatt.importers.versions import TESTED, releases_in_words
from tests.report import made

ROOT = Path(__file__).parents[1]
RAW = ROOT / ".." / "shared" / "data" / "raw"
#: A piece of code, and the output shown below it, if any.
SHOWN = re.compile(
    r"```python\n(.*?)```\n(?:\n```(?:text|toml)\n(.*?)```\n)?", re.DOTALL
)
#: Ends the output of a piece of code.
END = "\x00\n"
#: What each example must print if it does its job.
PROOF = {
    "demo.py": [
        r"Of 1,307 people [\d,]+ are proved to be treated like all\n"
        r"similar people, [1-9]\d* are not, and 0 are unknown:\n"
        r"fairness is at least (\d\d\.\d\d%) and at most \1\.",
        r"  Black, Female +\d+ people, +\d+\.\d% fair\n",
        r"  Similarity\(vary=\['colour'\]\) +[1-9]\d*  \{'held': \d+, 'released': \d+",
        r"  #\d+ +(held → released|released → held) +age \d+ → \d+\n",
        r"\b(\d+) of \1 twins were replayed on the XGBoost model;",
        r"it gives each of them the other label: True\.",
        r"by up to 0\.\d+ in the median, and by up to\n0\.\d+ for the person",
        r"One year of age changes the decision on [1-9]\d* people",
        r"The searches took \d+\.\d seconds",
    ],
    "01_audit_xgboost_file.py": [
        r"colour \('Black', 'White'\)\n  year a number\n",
        r"5,226 people: [\d,]+ fair, [1-9]\d* unfair, 0 unknown\n",
        r"Black: 1288 people, \d\d\.\d% proved fair\n",
        r"#\d+  [01] → [01]   colour (White → Black|Black → White)\n",
        r"XGBoost agrees: True\n",
    ],
    "02_pipeline_in_raw_columns.py": [
        r"Integer\(name='age', columns=\('age',\), lower=12\.0,",
        r"Similarity\(noise=\{'age': 3\}\) +\d\d\.\d\d% fair\n",
        r"Similarity\(vary=\['colour'\]\) +\d\d\.\d\d% fair\n",
        r"(No → Yes|Yes → No) as the model itself says\n",
    ],
    "03_lightgbm_categories.py": [
        r"- the values '2000', '2001', '2002' of 'year' are interchangeable\n",
        r"5,226 people: [\d,]+ fair, [1-9]\d* unfair, 0 unknown\n",
        r"at most 0\.\d+ +year 200[0-2] → 200[0-2]",
        r"same scores: True\n",
    ],
    "04_onnx.py": [
        r"5,226 people: [\d,]+ fair, [1-9]\d* unfair, 0 unknown\n",
        r"colour (not black → black|black → not black)",
        r"onnxruntime agrees: True\n",
    ],
    "05_grid_search.py": [
        r"depth +2: \d\d\.\d% balanced accuracy, +\d\d\.\d% proved fair\n",
        r"depth 12: \d\d\.\d% balanced accuracy, +\d\d\.\d% proved fair\n",
        r"chosen: [24]\n",
    ],
    "06_train_and_read_a_tree.py": [
        r"CART: \d\d\.\d% balanced accuracy, \d\d\.\d% fair, \d+ leaves\n",
        r"FATT: \d\d\.\d% balanced accuracy, (9\d\.\d|100\.0)% fair, [2-8] leaves\n",
        r"<[2-8] leaves: accuracy \d\d\.\d\d%, balanced \d\d\.\d\d%, fairness ",
    ],
    "07_repair_a_forest.py": [
        r"before: fairness \d\d\.\d\d%.*\n after:  fairness \d+\.\d\d%",
        r"[1-9]\d* leaves changed",
        r"after: \d\d\.\d% accurate, (9\d\.\d|100\.0)% fair",
    ],
    "08_certificate.py": [
        r"500 people: \d+ fair, [1-9]\d* unfair, 0 unknown\n",
        r"- \d+ are proved fair: \d+ boxes contain everybody",
        r"- 0 are claimed to be fair without a proof",
        r"the certificate is about another model",
    ],
    "20_ray.py": [
        r"PartsReport on 1,000 people: \d+ fair, [1-9]\d* unfair, 0 unknown",
        r"the same as in one process: True",
    ],
    "19_spark.py": [
        r"PartsReport on 1,000 people: \d+ fair, [1-9]\d* unfair, 0 unknown",
        r"the same as in one process: True",
    ],
    "12_preparation_from_outside.py": [
        r"'fair': 5226, 'unfair': 0",
        r"may not be prepared as the model's rows were",
        r"[1-9]\d* unfair, 0 unknown",
        r"asked about 5,226 people",
        r"(kept|released) → (kept|released)   ",
    ],
    "16_everybody.py": [
        r"at most 0\.\d+: 0\.\d+ → 0\.\d+   black (0 → 1|1 → 0)\n",
        r"\d\.\d\d% of the people are treated unlike somebody similar: counted",
        r"- .*: never, proved; \d\d\.\d% to \d\d\.\d% of the people\n",
    ],
    "11_model_card.py": [
        r"# Fairness\n\nTwo persons are similar if they agree in everything, except",
        r"\| fair \| unfair \| unknown \|\n",
        r"\| Black +\| +\d+ +\| +\d+ +\| +\d+ +\| +0 +\| 0\.\d+ +\|",
    ],
    "13_any_two_attributes.py": [
        r"any 1: 2\d\d of 300.*\nany 2: 2\d\d of 300.*\nany 3: 2\d\d of 300",
        r"changed by 1: [1-9]\d* people\nchanged by 2: [1-9]\d* people",
        r"for example person \d+: \{'\w+': Change\(.*\), '\w+': Change\(",
    ],
    "14_a_distance_with_a_limit.py": [
        r"- 'age' may differ: each unit, or another category, costs 0\.1\d+\n",
        r"and the squares of all their costs add up to at most the square of 0\.5",
        r"person \d+: \{'\w+': Change\(.*\}, at 0\.\d+\n\{'fair': 2\d\d, ",
    ],
    "15_twins_that_exist.py": [
        r"[1-9]\d* of \d+ twins combine 'sex' and 'relationship' as no row does",
        r"'unknown': 0\} alone: [1-9]\d*\n",
        r"Both of them must exist: 'relationship' and 'sex' only in combinations",
    ],
    "17_columns_that_move_along.py": [
        r"age \d+ → \d+, birth_year \d+ → \d+",
        r"\{'fair': 290, 'unfair': 10, 'unknown': 0\}\n\{'fair': 287, 'unfair': 13, ",
    ],
    "18_orders.py": [
        r"'unfair': 48, 'unknown': 0\} [1-9]\d* of 48 twins cannot exist",
        r"row 0 breaks the order 'tenure <= age - 16': 'tenure' is 9 and 'age' is 20",
    ],
    "mlflow_run.py": [
        r"depth 2: \d+\.\d% proved fair\n(.*\n)*depth 8: \d+\.\d% proved fair\n",
    ],
    "10_catboost_file.py": [
        r"<Model of catboost: 60 trees, ",
        r"stored: 1 fingerprint of colour\n",
        r"5,226 people: [\d,]+ fair, [1-9]\d* unfair, 0 unknown\n",
        r"colour (White → Black|Black → White).* - asked of the model\n",
        r"same scores: True\n",
    ],
    "09_dask.py": [
        r"5,226 people: \{'fair': \d+, 'unfair': [1-9]\d*, 'unknown': 0\}\n",
        r"Black: 1288 people, \d\d\.\d% proved fair\n",
        r"the same as on one machine: True\n",
    ],
    "aif360_audit.py": [
        r"Classification accuracy \(ACC\): 0\.\d+\n",
        r"it is proved that no similar person gets another label\): 0\.8\d+\n",
        r"with two years of age: 0\.7\d+\n",
        r"#\d+  [01] → [01]   (sex|colour) [01] → [01] \(replayed on the model\)\n",
    ],
    "aif360_mitigate.py": [
        r"accuracy +balanced +parity +opportunity +certified +seconds\n",
        r"Adult +plain( +-?0\.\d+){5} +[\d.]+\n",
        r"German +prejudice_remover( +-?0\.\d+){4} +- +[\d.]+\n",
        r"Compas +exponentiated_gradient( +-?0\.\d+){5} +[\d.]+\n",
        r"Compas +fatt( +-?\d\.\d+){5} +[\d.]+\n",
    ],
}
#: What an example is started with, so that the tests do not take long.
ARGUMENTS = {"aif360_mitigate.py": ["--quick"]}
#: How long an example may be that is more than a few steps.
MOST_LINES = {"demo.py": 100, "aif360_mitigate.py": 140}
#: Every page with code; each runs alone.
PAGES = [
    path
    for path in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").glob("*.md")),
    ]
    if "```python" in path.read_text(encoding="utf-8")
]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
#: What notebooks must print whose outputs depend on versions, or on what was trained.
SAID = {
    "vendor_model": [
        r"vary = \[\"colour\", \"sex\"\]  # GUESS",
        r"Not met \(95% required\)\. For \d+ of 5,226 people we found",
        r"exit code 1\n",
        r"Findings\nWho counts as similar\nGroups\nTwins\nWhat this means\nEvidence\n",
        r"The model's own library confirms both answers of every twin\.",
        r"Unfair: this person gets released, and a similar one gets held:\n  colour ",
        r"exit code 0\n",
    ],
    "price": [
        r"\+?-?\d+\.\d%\n",
        r"half of the people: up to \d+\.\d% of their premium\n",
        r"True\n",
        r"[1-9]\d\.\d% are proved never to pay more\n",
        r"100\.0% are proved never to pay more\n",
        r"trees leaves +error proved fair\n",
        r"True True\n",
    ],
    "train_and_read": [
        r"CART: \d\d\.\d% of the test people proved fair\n",
        r"FATT: (9\d\.\d|100\.0)% of the test people proved fair\n",
        r"True True\n",
        r"→ (Yes|No) \(\d+%\)",
        r"0 unknown\n",
    ],
    "aif360_adult": [
        r"-0\.\d+ statistical parity difference\n9\d\.\d% are proved to be treated",
        r"  (sex|race) [01] → [01]\n",
        r"[1-8]\d\.\d% if the relationship may vary too\n",
        r"FATT +(9\d\.\d|100\.0)% proved fair, 0\.\d+\n",
    ],
    "choose_and_repair": [
        r"depth +accuracy +proved fair\n",
        r"Black +\d+ +\d+ +\d+ +0 +0\.\d+",
        r"before +\d\d\.\d% accurate, +8\d\.\d% proved fair\n",
        r"after +\d\d\.\d% accurate, +9\d\.\d% proved fair\n",
    ],
}


def run(*arguments: str, warnings: str = "error") -> str:
    environment = {**os.environ, "PYTHONWARNINGS": warnings, "PYTHONUTF8": "1"}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readme_takes_a_few_minutes_and_its_links_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 180
    assert len(text.split()) <= 1_000
    linked = re.findall(r"\]\(([^)#]+)", text)
    assert len(linked) > 20
    for path in linked:
        assert (ROOT / path).exists(), path
    for tested in releases_in_words().split(", "):
        library, version, *_ = tested.split()
        if version[0].isdigit() and not library.startswith("ai.onnx"):
            assert tested in text


def test_links_of_the_guide_lead_somewhere_on_a_git_host_too() -> None:
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        # Sphinx alone follows its roles.
        assert not re.findall(r"\{(?:doc|ref|func|class)\}`", text), page.name
        for path in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
            assert (page.parent / path).exists(), (page.name, path)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages_print_what_they_say(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    pieces = SHOWN.findall(text)
    assert len(pieces) == text.count("```python") > 0
    # One after the other, as a reader would: later pieces use what earlier ones made.
    code = "".join(f"{code}\nprint(end={END!r})\n" for code, _ in pieces)
    *printed, rest = run("-c", code).split(END)
    assert printed == [output for _, output in pieces]
    assert not rest


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_short_and_does_its_job(path: Path) -> None:
    most = MOST_LINES.get(path.name, 80)
    assert len(path.read_text(encoding="utf-8").splitlines()) < most
    if path.name == "aif360_mitigate.py" and not RAW.is_dir():
        pytest.skip("the raw files of AIF360's datasets are not there")
    if path.name == "mlflow_run.py":
        pytest.importorskip("alembic", reason="needs pip install mlflow")
        pytest.importorskip("mlflow", reason="needs pip install mlflow")
    if path.name == "19_spark.py" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    # Parts of MLflow and Ray warn of each other, and Spark of the newest pandas.
    loud = {"mlflow_run.py", "19_spark.py", "20_ray.py"}
    warnings = "ignore" if path.name in loud else "error"
    printed = run(str(path), *ARGUMENTS.get(path.name, []), warnings=warnings)
    missing = [proof for proof in PROOF[path.name] if not re.search(proof, printed)]
    assert not missing, printed


# Libraries of Jupyter warn of each other.
@pytest.mark.filterwarnings("ignore")
def test_the_notebook_shows_what_it_prints() -> None:
    shown = nbformat.read(ROOT / "examples" / "demo_fatt.ipynb", as_version=4)
    again = copy.deepcopy(shown)
    NotebookClient(again, timeout=300, kernel_name="python3").execute()
    # What is trained by chance may become better.
    texts, expected = ([printed(cell) for cell in one.cells] for one in (again, shown))
    assert texts[:-3] == expected[:-3]
    for text in (texts[-1], expected[-1]):
        assert re.search(r"forest .* 72\.6% proved fair\nFATT .* 100\.0% proved", text)


# Libraries of Jupyter warn of each other.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_runs_and_says_what_it_shows(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if path.stem == "aif360_adult" and not RAW.is_dir():
        pytest.skip("the raw files of AIF360's datasets are not there")
    monkeypatch.setenv("FATT_RAW", str(RAW.resolve()))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    shown = nbformat.read(path, as_version=4)
    again = copy.deepcopy(shown)
    where = {"metadata": {"path": str(tmp_path)}}
    client = NotebookClient(again, timeout=300, kernel_name="python3", resources=where)
    client.execute()
    for notebook in (shown, again):
        text = "".join(printed(cell) for cell in notebook.cells)
        missing = [said for said in SAID[path.stem] if not re.search(said, text)]
        assert not missing, text
        # What results show of themselves, as HTML.
        found = [one for cell in notebook.cells for one in cell.get("outputs", [])]
        kinds = [list(one.get("data", {})) for one in found]
        assert path.stem in {"vendor_model", "aif360_adult"} or (
            ["text/html", "text/plain"] in map(sorted, kinds)
        )


def test_the_workflow_to_copy_is_one() -> None:
    text = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    [workflow] = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    yaml = pytest.importorskip("yaml")
    steps = yaml.safe_load(workflow)["jobs"]["audit"]["steps"]
    [command] = [one["run"] for one in steps if "fatt audit" in one.get("run", "")]
    known = {option for one in audit.command.params for option in one.opts}
    used = {word for word in command.split() if word.startswith("--")}
    assert used <= known


def test_no_page_of_the_guide_has_a_name_that_sphinx_takes() -> None:
    # Its own page of that name would be written over ours.
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert not pages & {"search", "genindex", "modindex", "py-modindex"}
    toc = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").split()
    assert pages - {"index"} <= set(toc)


def test_words_that_people_search_for_are_on_the_page_that_answers() -> None:
    for word, page in {
        "threshold": "decisions",
        "regression": "decisions",
        "CatBoost": "models",
        "slow": "speed",
        "unknown": "verdicts",
        "proxy": "similarity",
        "pandas 3": "aif360",
    }.items():
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        # The site's search puts the main entries of the index first.
        [entries] = re.findall(r"^```\{index\} (.*)$", text, re.MULTILINE)
        assert f"! {word}" in entries.split(", "), (word, page)
        asked = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
        assert re.search(rf"^## .*\b{word}\b", asked, re.MULTILINE), word


def test_the_reference_tells_of_every_command_file_and_refusal(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import reference
    finally:
        sys.path.pop(0)
    reference.write(tmp_path)
    pages = {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    for option in audit.command.params:
        if isinstance(option, click.Option):
            assert option.opts[0] in pages["commands"]
    kinds = (Audit, Columns, Decision)
    for name in (*(name for kind in kinds for name in kind.__struct_fields__), "vary"):
        assert f"| `{name}` |" in pages["files"]
    for form in ("Schema", "Contents", "Payload"):
        assert f'"$ref": "#/$defs/{form}"' in pages["files"]
    assert (
        "reads a number there; leave the cell empty if it is missing"
        in (pages["refusals"])
    )
    assert pages["refusals"].count("\n- ") > 300
    for library, versions in TESTED.items():
        assert f"| {library} | {', '.join(versions)} |" in pages["versions"]


@pytest.mark.parametrize(
    "name",
    [
        *("", ".aif360_ext", ".aif360_ext.sklearn", ".audit", ".export"),
        *(".metrics", ".repairs", ".testing", ".train"),
    ],
)
def test_the_reference_names_everything_that_is_public(name: str) -> None:
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    named = {line.strip().rpartition(".")[2] for line in text.splitlines()}
    public = set(importlib.import_module(f"fatt{name}").__all__)
    assert public - named <= {"__version__"}


def test_a_report_is_as_its_json_schema_says() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    text = (ROOT / "docs" / "_static" / "report.schema.json").read_text()
    for interrupted in (False, True):
        document = json.loads(made.report(interrupted=interrupted).to_json())
        jsonschema.validate(document, json.loads(text))
    del document["counts"]["unfair"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, json.loads(text))


def test_the_quick_start_shows_what_the_demonstration_prints() -> None:
    text = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"\$ fatt audit --demo [^\n]*\n(.*?)```", text, re.DOTALL)
    words = ["audit", "--demo", "--min-fairness", "0.95"]
    assert shown == CliRunner().invoke(audit.command, words[1:]).stdout


def printed(cell: Any) -> str:
    """Return what a cell of a notebook prints, without messages of libraries."""
    outputs = [one for one in cell.get("outputs", []) if one.get("name") == "stdout"]
    return "".join(one["text"] for one in outputs)


def test_the_map_of_the_house_names_files_that_are_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:\w+/)+\w+\.(?:py|pyx|css)|model\.py)`", text))
    assert len(named) > 40
    for name in named:
        assert (ROOT / name).exists() or (ROOT / "fatt" / name).exists(), name
