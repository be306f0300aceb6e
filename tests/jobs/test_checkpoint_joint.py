"""Fits of the joint estimator that were broken off go on, and end in the same bytes."""

import signal
import subprocess
import sys

import dask.array as da
import numpy as np
import pytest
from scipy.special import expit

from mtlirt.cli.app import run
from mtlirt.cluster.launch import ClusterOptions
from mtlirt.engine.events import PathEvent, ResumeEvent, RoundEvent, silent
from mtlirt.engine.fit import fit_by
from mtlirt.engine.joint_fit import KEPT_ROUNDS
from mtlirt.engine.options import FitOptions
from mtlirt.jobs.checkpoint import FOLDER, Checkpoint
from mtlirt.jobs.refit import refit
from mtlirt.responses.arrays import from_arrays
from mtlirt.responses.store import write_responses
from mtlirt.storage.root import open_root

HERE = ClusterOptions(threads=1)
PENALTIES = (0.05, 0.4)
FOLDS = 3
CHOSEN = {"penalties": PENALTIES, "folds": FOLDS}
AGAIN = 1.0
"""A penalty at which the fit starts again from that of one trait for all."""


def blocks(models=50):
    """Four domains of one trait and some."""
    rng = np.random.default_rng(20)
    shared = rng.normal(size=models)
    out = {}
    for t, items in enumerate((20, 25, 30, 40)):
        trait = 0.9 * shared + 0.4 * rng.normal(size=models)
        eta = trait[:, None] * rng.uniform(0.5, 1.5, items) + rng.uniform(-1, 1, items)
        out[f"d{t}"] = da.from_array((rng.random(eta.shape) < expit(eta)).astype(np.int8))
    return from_arrays(out)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    url = str(tmp_path_factory.mktemp("store") / "responses")
    write_responses(blocks(), url, history={}, chunks=(20, 15))
    return url


class BrokenOffError(Exception):
    pass


class Run:
    """A refit: what it told, and how often it kept where it stood; broken off after some of that.

    Attributes
    ----------
    heard
        All events.
    saves
        How often it kept where it stood.
    """

    def __init__(self, store, snapshots, options, resume=False, stop=None):
        self.heard, self.saves = [], 0
        kept = Checkpoint.save

        def save(checkpoint, arrays):
            kept(checkpoint, arrays)
            self.saves += 1
            if self.saves == stop:
                raise BrokenOffError

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Checkpoint, "save", save)
            if stop is None:
                refit(store, snapshots, options, HERE, self.heard.append, resume=resume)
            else:
                with pytest.raises(BrokenOffError):
                    refit(store, snapshots, options, HERE, self.heard.append, resume=resume)

    @property
    def rounds(self):
        return [event.number for event in self.heard if isinstance(event, RoundEvent)]

    @property
    def path(self):
        """Folds and penalties."""
        return [(event.fold, event.penalty) for event in self.heard if isinstance(event, PathEvent)]


def digests(snapshots):
    return {file.name: file.sha256 for file in open_root(snapshots).manifest(1).files}


@pytest.mark.parametrize(
    ("estimator", "asked"),
    [
        ("joint", {**CHOSEN, "max_rounds": 6}),
        ("joint", {"penalty": AGAIN}),
        ("local", {}),
        ("global", {}),
    ],
)
def test_from_every_checkpoint_it_goes_on_to_the_same_bytes(store, tmp_path, estimator, asked):
    options = FitOptions(estimator=estimator, **asked)
    plain = str(tmp_path / "plain")
    whole = Run(store, plain, options)
    assert whole.saves > 2
    for stop in range(1, whole.saves + 1):
        snapshots = str(tmp_path / f"stopped{stop}")
        first = Run(store, snapshots, options, stop=stop)
        assert open_root(snapshots).versions() == []
        second = Run(store, snapshots, options, resume=True)
        assert digests(snapshots) == digests(plain)
        assert open_root(snapshots).names(FOLDER) == []
        assert first.saves + second.saves == whole.saves
        assert sorted(first.path + second.path) == sorted(whole.path)
        assert second.rounds == whole.rounds[len(whole.rounds) - len(second.rounds) :]


def test_a_killed_process_is_gone_on_with_by_another(store, tmp_path, capfd):
    """Killed with one fold ahead of the others."""
    options = ["--estimator", "joint", "--penalties", ".05,1", "--folds", "2", "--threads", "1"]
    plain, snapshots = str(tmp_path / "plain"), str(tmp_path / "snapshots")
    script = (
        "import os, signal, sys\n"
        "from mtlirt.cluster.launch import ClusterOptions\n"
        "from mtlirt.engine.options import FitOptions\n"
        "from mtlirt.jobs.refit import refit\n"
        "def listener(event):\n"
        "    if event.penalty == 1.0:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "options = FitOptions(estimator='joint', penalties=(0.05, 1.0), folds=2)\n"
        "refit(sys.argv[1], sys.argv[2], options, ClusterOptions(threads=1), listener)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, store, snapshots], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert open_root(snapshots).versions() == []
    assert run(["fit", store, "--snapshots", plain, *options]) == 0
    capfd.readouterr()
    assert run(["fit", store, "--snapshots", snapshots, *options, "--resume"]) == 0
    first, *told = capfd.readouterr().err.splitlines()
    assert first == "going on before round 1"
    assert sum("penalty 1," in line for line in told) == 2
    assert not any("penalty 0.05," in line for line in told)
    assert digests(snapshots) == digests(plain)


def test_rounds_between_checkpoints_are_done_again(store, tmp_path):
    heard, stop = [], KEPT_ROUNDS + 2

    def listener(event):
        if event.number == stop:
            raise BrokenOffError

    options, snapshots = FitOptions(estimator="local"), str(tmp_path / "snapshots")
    with pytest.raises(BrokenOffError):
        refit(store, snapshots, options, HERE, listener)
    refit(store, snapshots, options, HERE, heard.append, resume=True)
    assert heard[0] == ResumeEvent(KEPT_ROUNDS)
    assert heard[1].number == KEPT_ROUNDS + 1


@pytest.mark.parametrize(
    "other",
    [
        {"estimator": "joint", "penalties": (0.05, 0.3), "folds": FOLDS},
        {"estimator": "joint", "penalties": PENALTIES, "folds": 2},
        {"estimator": "joint", **CHOSEN, "max_rounds": 2},
        {"estimator": "joint", **CHOSEN, "lambda_scaling": "per_domain"},
        {"estimator": "marginal"},
    ],
)
def test_another_fit_has_nothing_to_go_on_with(store, tmp_path, other):
    """Nor has this one with that of the other."""
    one, other = FitOptions(estimator="joint", **CHOSEN, max_rounds=3), FitOptions(**other)
    for name, broken, asked in (("a", one, other), ("b", other, one)):
        snapshots = str(tmp_path / name)
        Run(store, snapshots, broken, stop=1)
        assert Run(store, snapshots, asked, resume=True, stop=1).heard[0] == ResumeEvent(None)
        assert Run(store, snapshots, broken, resume=True, stop=1).heard[0] != ResumeEvent(None)


@pytest.mark.parametrize("estimator", ["joint", "local"])
def test_progress_on_other_responses_is_refused(estimator):
    kept = []
    asked = FitOptions(
        estimator=estimator, **(CHOSEN if estimator == "joint" else {}), max_rounds=6
    )
    fit_by(blocks(), asked, None, silent, keep=kept.append)
    with pytest.raises(ValueError, match=r"\(4, 50, 115\) domains, models and items, expected"):
        fit_by(blocks(60), asked, None, silent, kept=kept[0])
