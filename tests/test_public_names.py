"""The public names, and what importing them costs."""

import subprocess
import sys
from importlib.metadata import version

import pytest

import mtlirt

NAMES = {
    "AdaptiveTest",
    "better",
    "compare",
    "deweight_clones",
    "diagnose",
    "domain_accuracies",
    "fit",
    "score",
    "leaderboard",
    "publish",
    "load",
    "open_responses",
    "raw_accuracies",
    "distill_benchmarks",
    "load_distilled",
    "publish_distilled",
    "reconstruct",
    "from_tidy",
    "from_wide",
    "write_report",
}


def test_the_names_are_callable_and_have_docstrings():
    assert set(mtlirt.__all__) == NAMES | {"__version__"}
    for name in NAMES:
        public = getattr(mtlirt, name)
        assert callable(public)
        assert public.__name__ == name
        assert public.__doc__


def test_they_are_listed_and_the_version_is_that_of_the_package():
    assert set(dir(mtlirt)) >= {*NAMES, "__version__"}
    assert mtlirt.__version__ == version("mtlirt")


def test_other_names_are_errors():
    with pytest.raises(AttributeError, match="'mtlirt' has no attribute 'nonsense'"):
        _ = mtlirt.nonsense


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_import_loads_nothing_heavy():
    heavy = ("numpy", "pandas", "dask", "numba", "pyarrow", "scipy")
    assert run(f"import sys, mtlirt; print([m for m in {heavy} if m in sys.modules])") == "[]"


def test_functions_win_over_modules_of_like_names():
    code = (
        "import mtlirt.cli.app, mtlirt.engine.fit, mtlirt.scores, mtlirt.snapshots.load, mtlirt; "
        "from mtlirt import *; print(callable(fit), callable(load), callable(leaderboard))"
    )
    assert run(code) == "True True True"
