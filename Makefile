# Two commands are enough: `make demo` opens the debugger, `make test` checks everything.
# Both make their own environment in .venv and need only Python, a compiler and a package index.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet -c constraints.txt
WORKERS ?= 2
PYTEST_ARGS ?=

DEMO := demos/toy_example.py
WALK := -x "break graph-break" -x continue -x where -x quit

.PHONY: help demo test check matrix docs bench clean

help:
	@echo "make demo    open the debugger on $(DEMO) (prints the walk when there is no terminal)"
	@echo "make test    ruff, mypy, import contracts, tests"
	@echo "make check   the same without the tests"
	@echo "make matrix  the tests in each supported Python and torch found here (several GB)"
	@echo "make docs    build the documentation into site/"
	@echo "make bench   measure what watching costs"

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "stepper needs Python 3.11 or later: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e .
	touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e '.[dev]'
	touch $@ $(VENV)/.runtime

$(VENV)/.docs: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e '.[docs]'
	touch $@ $(VENV)/.runtime

demo: $(VENV)/.runtime
	@if [ -t 0 ] && [ -t 1 ]; then \
		exec $(BIN)/stepper run $(DEMO); \
	else \
		exec $(BIN)/stepper console $(WALK) $(DEMO); \
	fi

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	$(BIN)/python -m pytest -n $(WORKERS) $(PYTEST_ARGS)

matrix:
	.ci/matrix

# The theme's own, about a future mkdocs.
docs: export NO_MKDOCS_2_WARNING = 1
docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

bench: $(VENV)/.dev
	$(BIN)/python -m tests.benchmarks.bench_recording
	$(BIN)/python -m tests.benchmarks.bench_tracing

clean:
	rm -rf $(VENV) .matrix build dist site *.egg-info
