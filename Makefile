# Two commands are enough: `make demo` opens the debugger, `make test` checks everything.
# Both make their own environment in .venv and need only Python, a compiler and a package index.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet --no-compile -c constraints.txt
DIST ?= dist
WORKERS ?= 2
PYTEST_ARGS ?=

DEMO := demos/toy_example.py
WALK := -x "break graph-break" -x continue -x where -x quit

# Hundreds of processes import torch and stepper: what the first one compiles it keeps for the others.
unexport PYTHONDONTWRITEBYTECODE

# A warning of the C compiler is an error for whoever works on stepper, and only for them.
$(VENV)/.dev: export STEPPER_WERROR = 1

.PHONY: help demo test check quick dist wheels matrix docs bench clean

help:
	@echo "make demo    open the debugger on $(DEMO) (prints the walk when there is no terminal)"
	@echo "make test    ruff, clang-format, mypy, import contracts, tests"
	@echo "make check   the same without the tests"
	@echo "make quick   the same with the fast tests: before each commit"
	@echo "make dist    build what would be released into dist/, and try it"
	@echo "make wheels  build all that a release has into dist/ (some minutes)"
	@echo "make matrix  the tests in each supported Python and torch found here (several GB)"
	@echo "make docs    build the documentation into site/"
	@echo "make bench   measure costs and growth; write docs/performance.md"

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "stepper needs Python 3.11 or later: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)

BUILT_FROM := $(BIN)/python pyproject.toml setup.py constraints.txt stepper/_C.pyi $(wildcard csrc/*.[ch] csrc/*/*.[ch])

$(VENV)/.runtime: $(BUILT_FROM)
	$(PIP) -e '.[torch]'
	touch $@

$(VENV)/.dev: $(BUILT_FROM)
	$(PIP) -e '.[dev]'
	touch $@ $(VENV)/.runtime

$(VENV)/.docs: $(BUILT_FROM)
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
	$(BIN)/clang-format --dry-run -Werror $(wildcard csrc/*.[ch] csrc/*/*.[ch])
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	$(BIN)/python -m pytest -n $(WORKERS) $(PYTEST_ARGS)

# Those that start no program with torch in it.
QUICK := tests/model tests/recording tests/docs/test_contributing.py tests/docs/test_generated.py tests/test_architecture.py \
	tests/test_unused.py

quick: check
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow" $(QUICK)

dist: $(VENV)/.dev
	rm -rf $(DIST)
	$(BIN)/python -m build --quiet --outdir $(DIST)
	STEPPER_READER=1 $(BIN)/python -m pip wheel --disable-pip-version-check --quiet --no-deps --wheel-dir $(DIST) $(DIST)/*.tar.gz
	PYTHONHASHSEED=0 $(BIN)/python -m tests.distribution $(DIST)

wheels:
	.ci/wheels $(DIST)

matrix:
	.ci/matrix $(PYTEST_ARGS)

# The theme's own, about a future mkdocs.
docs: export NO_MKDOCS_2_WARNING = 1
docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

bench: $(VENV)/.dev
	$(BIN)/python -m tests.benchmarks.bench_tracing
	$(BIN)/python -m tests.benchmarks.document

clean:
	rm -rf $(VENV) .matrix build dist site *.egg-info
