# `make` alone lists the targets. Everything runs from .venv, which any target that needs it creates.

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Pathway wants an older pyarrow than Tidings, so it has an environment of its own.
PATHWAY := .venv-pathway

# One process runs what needs a JVM and often waits for it; the others fill the two cores.
PYTEST := $(BIN)/pytest -q -n 3 --dist loadgroup

# Modules of benchmarks/ that have a main; page writes docs/performance.md. One of them: make bench BENCHMARKS=kernel
BENCHMARKS ?= kernel compile operators recursion store states large inventory tapestry continuous tpch views rules latency commits first_hour page

# How long `make soak` takes, how often `make kills` kills, and which random lives these are.
HOURS ?= 1
COUNT ?= 1000
SEED ?= 1

# python3 is tried too, unless PYTHON was given by the caller.
PYTHONS := $(PYTHON) $(if $(filter file,$(origin PYTHON)),python3)

# Spark's Python workers run in the same environment as the driver.
export PYSPARK_PYTHON := $(abspath $(BIN)/python)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help venv java demo test laws soak kills quick check bench peers coverage lines api lowest newest goldens clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

venv: $(STAMP) ## create .venv with Tidings and the tools, in the versions of constraints.txt
	@:

# pip is the last thing a new environment gets, so a half-made one is made again.
$(BIN)/pip:
	@for python in $(PYTHONS); do \
	  if $$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then \
	    echo "Creating $(VENV) with $$($$python --version)"; \
	    exec $$python -m venv $(VENV); \
	  fi; \
	done; \
	found=$$($(lastword $(PYTHONS)) --version 2>/dev/null || echo "not there"); \
	echo "Tidings needs Python 3.11 to 3.13, but $(lastword $(PYTHONS)) is $$found:" \
	  "install one, or name yours with 'make venv PYTHON=/path/to/python3.11'." >&2; \
	exit 1

$(STAMP): pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing Tidings and its tools into $(VENV) (minutes, the first time: Spark is large)"
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

java: ## check that a Java fit for Spark is here
	@scripts/check-java

demo: venv java ## run the demonstration
	@$(BIN)/python -m tidings.demo

test: venv java ## run the tests but for the exhaustive ones
	@scripts/install-for-tests
	@$(PYTEST) -m "not slow"

laws: venv java ## run the exhaustive tests: the laws over many more cases, crashes, TPC, clusters
	@scripts/install-for-tests
	@$(PYTEST) -m slow

soak: venv ## let databases live for an hour (HOURS=…) with faults and kills, beside a plain model
	@$(BIN)/python -m tests.soak --hours $(HOURS) --seed $(SEED)

kills: venv ## kill databases a thousand times (COUNT=…) at random moments and look what is there
	@$(BIN)/python -m tests.soak.kills --count $(COUNT) --seed $(SEED)

quick: venv ## run the tests of single modules, without a JVM
	@$(BIN)/pytest -q -n 2 -m "not slow and not spark" tests/unit tests/architecture tests/golden src

check: venv ## lint, formatting, types and layers
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo

bench: venv java ## run the benchmarks; one with BENCHMARKS=name
	@set -e; for name in $(BENCHMARKS); do $(BIN)/python -m benchmarks.$$name; done

peers: venv ## install what the inventory is measured beside: PostgreSQL, and Pathway in .venv-pathway
	@scripts/install-for-tests
	@$(BIN)/python -m venv $(PATHWAY)
	@$(PATHWAY)/bin/python -m pip install --quiet pathway==0.33.0

coverage: venv ## measure TPC-H and TPC-DS and write docs/coverage.md (half an hour)
	@$(BIN)/python scripts/coverage

lines: venv ## measure which lines of src the tests without Spark run (ten minutes)
	@$(BIN)/coverage run -m pytest -q -m "not spark and not slow"
	@$(BIN)/coverage report

api: venv ## write docs/api.md from the docstrings
	@$(BIN)/python scripts/api-reference

lowest: java ## run tests with the oldest version of each dependency that is allowed, in .venv-lowest
	@$(PYTHON) scripts/lowest

newest: java ## the same with the newest versions, in .venv-newest; another Python: PYTHON=python3.13
	@$(PYTHON) scripts/lowest --newest

goldens: venv ## rewrite the golden files; read the difference before you keep it
	@TIDINGS_REWRITE_GOLDENS=1 $(BIN)/pytest -q tests/golden

clean: ## remove what tests, tools and Spark leave behind; .venv stays
	@rm -rf .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
	@rm -rf spark-warehouse metastore_db derby.log benchmarks/scratch
	@find . -name $(VENV) -prune -o -name .git -prune -o -type d -name __pycache__ -exec rm -rf {} +
