"""The sizes that benchmarks are run at, the floor they are compared with, and their tables.

Run by ``make bench`` and its like; not part of the test suite. Every benchmark prints its line when
it is done. In the end all tables are printed once more as Markdown, and written to the file that
``--tables`` names.
"""

import functools
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import dask.array as da
import numpy as np
import pytest

from mtlirt.engine.fit import fit
from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.responses.store import write_responses
from mtlirt.simulate.designs import EVEN, MMLU, numbered_design
from mtlirt.simulate.generate import simulate
from mtlirt.simulate.laws import FactorTraits, difficulty_items
from mtlirt.simulate.simulation import Truth
from mtlirt.studies.floor import floor_seconds
from mtlirt.studies.metrics import HALF_WIDTH, standardised
from mtlirt.studies.scaling_table import grid

THREADS = 2
"""Of every benchmark, and of the plain read."""

TABLES = pytest.StashKey[dict[str, list[dict[str, str]]]]()


def design(name, models, counts, rank):
    return numbered_design(
        name, FactorTraits(rank, 0.1225), counts, models=models, items=difficulty_items
    )


DESIGNS = {
    "S": design("S", 500, (50,) * 4, 1),
    "M": design("M", 2000, (100,) * 10, 2),
    "L": EVEN,
    "mmlu": MMLU,
}
"""500 x 200, 2,000 x 1,000, 4,272 x 13,232, and 4,272 x 13,259 in domains as long as MMLU's."""


@dataclass(frozen=True)
class Drawn:
    """Responses of a size in memory, one block a domain, with their truth and their floor."""

    name: str
    responses: Responses
    truth: Truth
    rank: int
    floor: float

    @property
    def blocks(self):
        return [part.array.compute() for part in self.responses.domains.values()]

    def reads(self, seconds):
        """So many plain reads of the responses take so long."""
        return f"{seconds / self.floor:,.1f}"


@functools.cache
def draw(name, missing=0.0, models=None):
    """Responses of a size; of fewer models to compile by."""
    simulation = simulate(DESIGNS[name], seed=1, missing=missing, models=models)
    domains = {
        domain: np.asarray(part.array) for domain, part in simulation.responses.domains.items()
    }
    floor = floor_seconds(list(domains.values()), THREADS)
    parts = {
        domain: DomainResponses(da.from_array(block, chunks=-1))
        for domain, block in domains.items()
    }
    responses = Responses(parts, simulation.responses.models, simulation.responses.items)
    return Drawn(name, responses, simulation.truth, DESIGNS[name].traits.rank, floor)


@pytest.fixture
def drawn():
    """Draws responses of a size with a share of cells missing; what fits them is compiled."""

    def compiled(name, missing=0.0):
        few = draw(name, missing, models=200)
        fit(few.responses, rank=few.rank, max_rounds=2, threads=THREADS)
        return draw(name, missing)

    return compiled


@pytest.fixture(scope="session")
def stored(tmp_path_factory):
    """The URL of a store of size L with a share of cells missing."""

    @functools.cache
    def write(missing=0.0):
        url = str(tmp_path_factory.mktemp("bench") / "store")
        write_responses(simulate(EVEN, seed=1, missing=missing).responses, url, history={})
        return url

    return write


@pytest.fixture
def side_by_side():
    """Runs calls on the threads of benchmarks."""
    with ThreadPoolExecutor(THREADS) as pool:
        yield lambda calls: list(pool.map(lambda call: call(), calls))


def fit_alone(url, options):
    """Fit a store in a process of its own; its seconds, rounds and memory, see `fit_alone.py`."""
    script = Path(__file__).parent / "fit_alone.py"
    command = [sys.executable, str(script), url, json.dumps(options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="session")
def alone():
    return fit_alone


@dataclass(frozen=True)
class Recovery:
    """How near a fit came to the truth, over all domains.

    The truth is put on the scale of a fit: traits of mean 0 and variance 1 over the models.
    """

    trait_rmse: float
    coverage: float
    slope_rmse: float

    @classmethod
    def of(cls, truth, means, sds, slopes):
        """Traits as models x domains; slopes of all items, in the order of the truth."""
        traits = truth.traits.to_numpy()[:, : means.shape[1]]
        spread = dict(zip(truth.traits.columns, truth.traits.to_numpy().std(axis=0), strict=True))
        items = truth.items.iloc[: len(slopes)]
        true_slopes = items["slope"] * items.index.get_level_values("domain").map(spread)
        off = means - standardised(traits)
        return cls(
            float(np.sqrt(np.mean(off**2))),
            float(np.mean(np.abs(off) <= HALF_WIDTH * sds)) if np.isfinite(sds).all() else np.nan,
            float(np.sqrt(np.mean((slopes - true_slopes.to_numpy()) ** 2))),
        )

    @classmethod
    def of_fit(cls, truth, fitted):
        traits = fitted.traits.unstack("domain")
        order = list(fitted.domains.index)
        return cls.of(
            truth,
            traits["mean"][order].to_numpy(),
            traits["sd"][order].to_numpy(),
            fitted.items["slope"].reindex(truth.items.index[: len(fitted.items)]).to_numpy(),
        )

    @property
    def cells(self):
        """Entries of a row; a package without sds has no coverage."""
        coverage = "-" if np.isnan(self.coverage) else f"{self.coverage:.3f}"
        return {
            "trait RMSE": f"{self.trait_rmse:.4f}",
            "coverage of 95 %": coverage,
            "slope RMSE": f"{self.slope_rmse:.4f}",
        }


@pytest.fixture(scope="session")
def recovery():
    return Recovery


def pytest_addoption(parser):
    parser.addoption("--tables", metavar="FILE", help="where benchmarks write their tables")
    parser.addoption(
        "--peers", metavar="PYTHON", help="the Python that the peers are installed for"
    )
    parser.addoption("--domains", type=int, metavar="N", help="fit peers to so many domains only")


def pytest_configure(config):
    config.stash[TABLES] = {}


@pytest.fixture
def table(pytestconfig):
    """Adds a row to the table of a title, and prints it."""

    def add(title, **cells):
        row = {name.replace("_", " "): str(value) for name, value in cells.items()}
        pytestconfig.stash[TABLES].setdefault(title, []).append(row)
        print(f"\n{title}: {', '.join(f'{name} {value}' for name, value in row.items())}")

    return add


def markdown(tables):
    parts = []
    for title, rows in tables.items():
        heads = list(dict.fromkeys(name for row in rows for name in row))
        lines = [[row.get(name, "") for name in heads] for row in rows]
        parts.append(f"### {title}\n\n{grid([heads, *lines])}\n")
    return "\n".join(parts)


def pytest_terminal_summary(terminalreporter, config):
    text = markdown(config.stash[TABLES])
    if not text:
        return
    terminalreporter.section("tables")
    terminalreporter.write(text)
    if config.getoption("--tables"):
        file = Path(config.getoption("--tables"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
