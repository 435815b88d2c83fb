"""The code of the README, the guide and examples/ runs, and prints what they say."""

from __future__ import annotations

import copy
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

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
        r"provably get the same label\): 0\.8\d+\n",
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


def run(*arguments: str) -> str:
    environment = {**os.environ, "PYTHONWARNINGS": "error", "PYTHONUTF8": "1"}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


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
    printed = run(str(path), *ARGUMENTS.get(path.name, []))
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
