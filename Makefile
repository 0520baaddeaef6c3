# Everything runs in the folder's own .venv, built once and again only when pyproject.toml changes.
#   make demo       install, run the main job on data that ships with the dependencies, write an HTML report
#   make studio     install, open a web page to paint labels on sample images
#   make test       install, run all tests
#   make test-pages  install, run every command and snippet of README and the documentation (minutes)
#   make lint       install, check style, formatting and types
#   make campaign   install, attack the library (minutes): forged files, kills, full disks; write campaign.json
#   make reproduce  install, run the experiments without a current result (hours), write docs/reproductions.md
#   make figures    install, write that page and the tables of figures in README and docs from the stored results
#   make docs       install, run the examples, build the documentation into docs/_build/html; a warning is an error
#   make dist       install, build wheel and sdist into dist/, install them in a clean environment and use them there
#   make test-oldest  install the oldest allowed dependencies into .venv-oldest, run most tests with them
#   make clean      remove what the tools have built; `make distclean` removes .venv as well

PYTHON ?= python3
JOBS ?= 2

VENV := .venv
OLDEST := .venv-oldest
PROGRAMS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(PROGRAMS)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# What depends on the versions of dependencies; pages, campaigns and experiments do so through it.
OLDEST_TESTS := tests/core tests/images tests/transformations tests/trees tests/descriptors tests/jungles tests/codebooks \
	tests/hierarchies tests/tangents tests/tradeoff tests/segmentation tests/models tests/methods tests/report \
	tests/cli/test_folder_commands.py tests/cli/test_segmentation_commands.py tests/test_package.py

# matplotlib keeps its list of fonts here rather than in the home directory.
export MPLCONFIGDIR := $(CURDIR)/$(VENV)/cache/matplotlib

.PHONY: demo studio test test-pages test-oldest lint campaign reproduce figures docs dist clean distclean

demo: $(VENV)/.installed
	@$(BIN)/invariance demo

studio: $(VENV)/.installed
	@$(BIN)/invariance studio --samples

# One test file stays on one worker, so that what it compiles or loads is made once.
test: $(VENV)/.dev-installed
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile

lint: $(VENV)/.dev-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

campaign: $(VENV)/.dev-installed
	@$(BIN)/python -m campaign --jobs $(JOBS)

reproduce: $(VENV)/.installed
	@$(BIN)/python -m experiments --all -o docs
	@$(BIN)/python -m experiments.figures

figures: $(VENV)/.installed
	@$(BIN)/python -m experiments --page -o docs
	@$(BIN)/python -m experiments.figures

docs: $(VENV)/.docs-installed
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going docs docs/_build/html
	@echo "Documentation: $(CURDIR)/docs/_build/html/index.html"

dist: $(VENV)/.dev-installed
	@$(BIN)/python .ci/dist.py

test-pages: $(VENV)/.dev-installed
	@INVARIANCE_ALL_PAGES=1 $(BIN)/python -m pytest -q tests/test_pages.py

test-oldest: $(OLDEST)/.installed
	@$(OLDEST)/$(PROGRAMS)/python -m pytest -q -n $(JOBS) --dist loadfile $(OLDEST_TESTS)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Error: invariance needs Python 3.11 or newer, but $(PYTHON) is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "Installing invariance and its studio into $(VENV) (once, a minute or two) ..."
	@$(PIP) --editable '.[studio]'
	@touch $@

$(VENV)/.dev-installed: pyproject.toml | $(BIN)/python
	@echo "Installing invariance and its test tools into $(VENV) (once, a minute or two) ..."
	@$(PIP) --editable '.[test,dev]'
	@touch $@ $(VENV)/.installed

$(VENV)/.docs-installed: pyproject.toml | $(BIN)/python
	@echo "Installing invariance and what builds its documentation into $(VENV) (once, a minute or two) ..."
	@$(PIP) --editable '.[docs]'
	@touch $@ $(VENV)/.installed

$(OLDEST)/.installed: pyproject.toml .ci/oldest.py
	@$(PYTHON) -c 'import sys; sys.version_info[:2] == (3, 11) or sys.exit("Error: the oldest dependencies need Python 3.11, the oldest of invariance, but $(PYTHON) is " + sys.version.split()[0] + ". Try: make test-oldest PYTHON=python3.11")'
	@echo "Installing invariance and the oldest versions it allows into $(OLDEST) (once, a minute or two) ..."
	@$(PYTHON) -m venv --clear $(OLDEST)
	@$(PYTHON) .ci/oldest.py > $(OLDEST)/constraints.txt
	@$(OLDEST)/$(PROGRAMS)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]' --constraint $(OLDEST)/constraints.txt
	@touch $@

clean:
	rm -rf docs/_build docs/generated build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis invariance-demo.html campaign.json
	find src tests campaign experiments benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV) $(OLDEST)
