"""How the site is made: ``make docs``."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import reference  # noqa: E402

import fatt  # noqa: E402

reference.write(Path(__file__).parent / "generated" / "reference")

project = "fatt"
author = "The fatt developers"
version = release = fatt.__version__
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = [
    "_build",
    "auto_examples/*.ipynb",
    "auto_examples/*.py*",
    "auto_examples/*.json",
]
nitpicky = False

templates_path = ["_templates"]

html_theme = "furo"
html_title = "fatt"
html_static_path = ["_static"]
html_css_files = ["guide.css"]
html_show_copyright = False

# The tests run the notebooks, and compare what they print.
nb_execution_mode = "off"

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc shows the types that docstrings name
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/\d\d_",
    "ignore_pattern": r"(^|/)(?!\d\d_)[^/]*\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": 60,
    "plot_gallery": True,
    "abort_on_example_error": True,
}

# Only links within the site can be checked everywhere.
linkcheck_ignore = [r"https?://.*"]
