# Every target makes its own virtual environment; Python 3.11+ and make are all it needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo test test-seaweedfs lint bench clean

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "mtlirt needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

demo: $(STAMP)
	rm -rf demo
	$(BIN)/mtlirt simulate demo/responses --design demo --seed 1
	$(BIN)/mtlirt run jobs/refit.toml

test: $(STAMP) lint
	$(BIN)/pytest -n 2 --dist loadfile -m "not slow and not seaweedfs"

test-seaweedfs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,seaweedfs]"
	$(BIN)/pytest -m seaweedfs

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell

bench: $(STAMP)
	$(BIN)/pytest tests/benchmarks -p no:cacheprovider -s --benchmark-only --benchmark-columns=min,median,max,rounds

clean:
	rm -rf $(VENV) demo .mypy_cache .pytest_cache .ruff_cache
