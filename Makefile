# Every target makes its own virtual environment; Python 3.11+ and make are all it needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PEERS  := .venv-peers
BENCH  := $(BIN)/pytest -p no:cacheprovider -o faulthandler_timeout=0 -s --benchmark-only --benchmark-columns=min,median,max,rounds

.PHONY: demo test test-seaweedfs test-browser lint bench bench-xl bench-peers clean

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "mtlirt needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

demo: $(STAMP)
	rm -rf demo
	$(BIN)/mtlirt simulate demo/responses --design demo --seed 1
	$(BIN)/mtlirt run jobs/refit.toml
	$(BIN)/mtlirt report snapshots --out demo/report.html

test: $(STAMP) lint
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile -m "not slow and not seaweedfs and not browser"

test-seaweedfs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,seaweedfs]"
	$(BIN)/pytest -m seaweedfs

# needs Chromium (Debian: apt-get install chromium)
test-browser: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,browser]"
	$(BIN)/pytest -m browser

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell

# The tables of benchmarks are printed, and written to .benchmarks, as Markdown.
bench: $(STAMP)
	$(BENCH) tests/benchmarks --ignore=tests/benchmarks/test_peers.py -m "not slow" --tables .benchmarks/bench.md

bench-xl: $(STAMP)
	$(BENCH) tests/benchmarks -m slow --tables .benchmarks/bench-xl.md

# make bench-peers DOMAINS=2 for a quick try; a package that cannot be installed is a line of the table
bench-peers: $(STAMP) $(PEERS)/.installed
	$(BENCH) tests/benchmarks/test_peers.py --peers $(PEERS)/bin/python $(addprefix --domains=,$(DOMAINS)) --tables .benchmarks/bench-peers.md

$(PEERS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(PEERS)
	$(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["peers"])' \
		| xargs -n 1 $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check && touch $@ || true

clean:
	rm -rf $(VENV) $(PEERS) demo .mypy_cache .pytest_cache .ruff_cache
