# The few things a developer types. Each target sets up what it needs.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
OLDEST := .venv-oldest

.PHONY: demo test oldest mutants lint kernels sanitize bench docs coverage package clean

demo: $(VENV)/demo
	$(RUN)/python examples/demo.py

test: lint $(VENV)/system oldest
	$(RUN)/pytest --refusals

# What users of AIF360 have installed is often older: its tests, and a few of the core.
oldest: kernels $(OLDEST)/ready
	$(OLDEST)/bin/python -m pytest -m 'not slow' \
	  tests/aif360_ext tests/test_metrics.py tests/audit/test_gaps.py \
	  tests/ensemble/test_cuts.py tests/verifier/test_kept.py

# Wrong versions of the search and of the checker: the tests must notice all of them.
mutants: kernels
	$(RUN)/python -m tests.mutants

lint: kernels
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy
	MESONPY_EDITABLE_SKIP="$(CURDIR)/build/$(VENV)" $(RUN)/lint-imports
	PATH="$(CURDIR)/$(RUN):$$PATH" $(RUN)/cython-lint fatt
	$(RUN)/python tools/lint_kernels.py build/$(VENV)

# A changed kernel is built at the next import; here that is done before several
# processes import at once.
kernels: $(VENV)/dev
	$(RUN)/python -c 'import fatt.ensemble'

# The laws, with the compiler's own checks of addresses and undefined behaviour.
sanitize: $(VENV)/dev
	tools/sanitize.sh $(RUN)/python

bench: $(VENV)/dev
	$(RUN)/python benchmarks/importers.py
	$(RUN)/python -m benchmarks.verify

# Warnings are errors, and links within the site must lead somewhere.
docs: $(VENV)/docs
	$(RUN)/sphinx-build -W --keep-going -q -b html docs build/docs
	$(RUN)/sphinx-build -W --keep-going -q -b linkcheck docs build/links
	@echo build/docs/index.html

coverage: kernels
	$(RUN)/pytest --cov=fatt --cov-report=term:skip-covered

# The wheel must work where only the core dependencies are.
package: $(VENV)/dev
	$(RUN)/python -m build --outdir dist
	$(RUN)/python -m tests.package dist

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install -q --upgrade 'pip>=25.1'

# A file per set-up remembers that it was done with this pyproject.toml. The kernels are
# built into a folder per environment, which finds its tools again by their full names.
$(VENV)/demo $(VENV)/dev $(VENV)/docs: $(VENV)/%: pyproject.toml | $(VENV)/bin/python
	tools/install.sh $(VENV) '.[all]' $*
	@touch $@

$(OLDEST)/ready: pyproject.toml
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install -q --upgrade 'pip>=25.1'
	tools/install.sh $(OLDEST) '.[aif360]' oldest
	@touch $@

# Pages are tested in Chromium, and Spark runs on Java. Where they are absent, root on
# Debian can install them; else those tests are skipped, and say why.
$(VENV)/system: | $(VENV)/bin/python
	@{ command -v chromedriver && command -v java; } >/dev/null \
	|| test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null \
	|| { export DEBIAN_FRONTEND=noninteractive; timeout 300 apt-get -qq update \
	&& timeout 600 apt-get -qq install -y --no-install-recommends \
	   chromium chromium-driver default-jre-headless; } >/dev/null 2>&1 \
	|| echo 'Chromium and Java could not be installed; some tests will be skipped.'
	@touch $@

clean:
	rm -rf $(VENV) $(OLDEST) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
