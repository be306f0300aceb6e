"""Other packages beside this one on L, in one run: seconds, and nearness to the truth.

Run by ``make bench-peers``. Each package fits every domain by a 2PL of its own, in a process of its
own, on all cores it takes; what compiles is run before. The slower ones get one domain, and their
seconds are extrapolated.
"""

import importlib.util
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mtlirt.engine.fit import fit

SCRIPT = Path(__file__).parent / "peer_fit.py"

WHOLE = ("theta-irt",)
"""Peers that fit all domains; the others fit one."""

TURNS = 3
OURS = "separate"


@pytest.fixture
def data(drawn, pytestconfig):
    """L, or its first domains."""
    whole = drawn("L")
    count = pytestconfig.getoption("--domains") or len(whole.responses.domains)
    domains = dict(list(whole.responses.domains.items())[:count])
    items = whole.responses.items
    kept = items[items.index.get_level_values("domain").isin(domains)]
    floor = whole.floor * len(kept) / len(items)
    rank = whole.rank if len(domains) == len(whole.responses.domains) else "auto"
    responses = replace(whole.responses, domains=domains, items=kept)
    return replace(whole, responses=responses, floor=floor, rank=rank)


def peers():
    """The names of the packages that the script knows."""
    spec = importlib.util.spec_from_file_location("peer_fit", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.PEERS)


def fit_ours(data, estimator):
    """The best of some fits, after one: the fit and its seconds."""
    options = {"estimator": estimator, "threads": 2}
    if estimator == "marginal":
        options["rank"] = data.rank
    best = np.inf
    for _ in range(TURNS + 1):
        began = time.perf_counter()
        fitted = fit(data.responses, **options)
        best = min(best, time.perf_counter() - began)
    return fitted, best


def fit_peer(python, name, blocks, folder):
    """What a peer found, or the last line of its error."""
    source, target = folder / f"{name}.npz", folder / f"{name}-found.npz"
    np.savez(source, **{f"d{k:03d}": block for k, block in enumerate(blocks)})
    command = [python, str(SCRIPT), name, str(source), str(target)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return f"{error}"
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    with np.load(target) as found:
        return dict(found)


def test_peers(benchmark, data, table, recovery, pytestconfig, tmp_path):
    python = pytestconfig.getoption("--peers") or "no Python was named by --peers"
    blocks = data.blocks
    count = len(blocks)
    domains = f"{count} domain{'s' * (count > 1)}"
    title = f"Beside other packages: L, {domains}"

    def everything():
        ours = {name: fit_ours(data, name) for name in (OURS, "marginal")}
        begin = ours[OURS][1]
        for name, (fitted, seconds) in ours.items():
            table(
                title,
                package=f"mtlirt, {name}",
                fitted=domains,
                seconds=f"{seconds:.2f}",
                times_ours=f"{seconds / begin:.1f}",
                plain_reads=data.reads(seconds),
                **recovery.of_fit(data.truth, fitted).cells,
            )
        for name in peers():
            given = blocks if name in WHOLE else blocks[:1]
            found = fit_peer(python, name, given, tmp_path)
            if isinstance(found, str):
                table(title, package=name, fitted=f"nothing, not to be had here: {found}")
                continue
            seconds = found["seconds"].sum() * count / len(given)
            near = recovery.of(data.truth, found["traits"], found["sds"], found["slopes"])
            measured = len(given) == count
            table(
                title,
                package=name,
                fitted=domains if measured else f"1 domain, extrapolated to {count}",
                seconds=f"{seconds:.2f}" if measured else f"{seconds:.0f} (extrapolated)",
                times_ours=f"{seconds / begin:.1f}",
                plain_reads=data.reads(seconds),
                **near.cells,
            )

    benchmark.pedantic(everything, rounds=1)
