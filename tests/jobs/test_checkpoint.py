"""A refit that was broken off goes on, and ends as if it had not been."""

import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import mtlirt
from mtlirt.cli.app import run
from mtlirt.cluster.launch import ClusterOptions
from mtlirt.engine.events import RoundEvent, silent
from mtlirt.engine.options import FitOptions
from mtlirt.jobs.checkpoint import FOLDER, Checkpoint
from mtlirt.jobs.refit import refit
from mtlirt.simulate.generate import simulate
from mtlirt.snapshots.history import describe
from mtlirt.storage.errors import StorageError
from mtlirt.storage.root import open_root

OPTIONS = FitOptions(tolerance=1e-6)
HERE = ClusterOptions(threads=1)
TABLES = ("items", "domains", "models", "traits", "representation")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    url = str(tmp_path_factory.mktemp("store") / "responses")
    assert run(["simulate", url, "--design", "demo", "--missing", "0.1", "--seed", "3"]) == 0
    return url


@pytest.fixture(scope="module")
def undisturbed(store, tmp_path_factory):
    return refit(store, str(tmp_path_factory.mktemp("plain")), OPTIONS, HERE, silent).fitted


class BrokenOffError(Exception):
    pass


def broken_off_after(number):
    def listener(event):
        if isinstance(event, RoundEvent) and event.number > number:
            raise BrokenOffError

    return listener


def assert_equal(fitted, other):
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(fitted, name), getattr(other, name))
    seconds = ["domain_seconds", "shared_seconds"]
    pd.testing.assert_frame_equal(
        fitted.history.drop(columns=seconds), other.history.drop(columns=seconds)
    )


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7, 0.95])
def test_it_goes_on_to_the_same_bits(store, undisturbed, tmp_path, share):
    rounds = max(1, int(share * undisturbed.info["rounds"]))
    snapshots, heard = str(tmp_path / "snapshots"), []
    with pytest.raises(BrokenOffError):
        refit(store, snapshots, OPTIONS, HERE, broken_off_after(rounds))
    assert open_root(snapshots).versions() == []
    done = refit(store, snapshots, OPTIONS, HERE, heard.append, resume=True)
    assert heard[0].rounds == rounds
    assert heard[1].number == rounds + 1
    assert_equal(done.fitted, undisturbed)
    assert open_root(snapshots).names(FOLDER) == []


def test_a_killed_process_is_gone_on_with_by_another(store, undisturbed, tmp_path, capfd):
    snapshots = str(tmp_path / "snapshots")
    script = (
        "import os, signal, sys\n"
        "from mtlirt.cluster.launch import ClusterOptions\n"
        "from mtlirt.engine.options import FitOptions\n"
        "from mtlirt.jobs.refit import refit\n"
        "def listener(event):\n"
        "    if event.number == 5:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "options = FitOptions(tolerance=1e-6)\n"
        "refit(sys.argv[1], sys.argv[2], options, ClusterOptions(threads=1), listener)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, store, snapshots], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert open_root(snapshots).versions() == []
    options = ["--tolerance", "1e-6", "--threads", "1", "--resume"]
    assert run(["fit", store, "--snapshots", snapshots, *options]) == 0
    assert "going on after round 4\nround 5:" in capfd.readouterr().err
    loaded = mtlirt.load(snapshots)
    for name in ("items", "traits", "models"):
        pd.testing.assert_frame_equal(getattr(loaded, name), getattr(undisturbed, name))


def test_it_begins_anew_unless_asked_to_go_on_and_where_there_is_nothing(
    store, undisturbed, tmp_path, capfd
):
    snapshots, heard = str(tmp_path / "snapshots"), []
    with pytest.raises(BrokenOffError):
        refit(store, snapshots, OPTIONS, HERE, broken_off_after(3))
    assert_equal(refit(store, snapshots, OPTIONS, HERE, heard.append).fitted, undisturbed)
    assert heard[0].number == 1
    assert run(["fit", store, "--snapshots", snapshots, "--threads", "1", "--resume"]) == 0
    assert "nothing to go on with: beginning anew\nround 1:" in capfd.readouterr().err


def test_other_options_and_responses_have_other_checkpoints(tmp_path):
    root = open_root(tmp_path)
    keys = [
        Checkpoint.of(root, [responses], options).key
        for responses in ("a", "b")
        for options in (OPTIONS, FitOptions(), FitOptions(rank=1), FitOptions(estimator="separate"))
    ]
    assert len(set(keys)) == 8
    more = replace(OPTIONS, max_rounds=7, threads=3)
    assert Checkpoint.of(root, ["a"], more).key == keys[0]


def test_the_checkpoint_of_a_fit_out_of_rounds_goes_once_it_is_published(store, tmp_path):
    snapshots = str(tmp_path / "snapshots")
    few = replace(OPTIONS, max_rounds=2)
    assert not refit(store, snapshots, few, HERE, silent).fitted.info["converged"]
    assert open_root(snapshots).names(FOLDER) == []


@pytest.mark.parametrize("spoil", [lambda data: data[:-40], lambda data: b"", lambda data: b"{}"])
def test_damage_is_told_and_nothing_published(store, tmp_path, capsys, spoil):
    snapshots = tmp_path / "snapshots"
    with pytest.raises(BrokenOffError):
        refit(store, str(snapshots), OPTIONS, HERE, broken_off_after(2))
    (path,) = snapshots.glob("checkpoints/*/progress")
    path.write_bytes(spoil(path.read_bytes()))
    asked = ["fit", store, "--snapshots", str(snapshots), "--tolerance", "1e-6", "--resume"]
    assert run(asked) == 1
    assert "progress: is damaged" in capsys.readouterr().err
    assert open_root(snapshots).versions() == []


def test_an_altered_byte_is_told(tmp_path):
    checkpoint = Checkpoint.of(open_root(tmp_path), ["a"], OPTIONS)
    checkpoint.save({"numbers": np.arange(1000.0)})
    np.testing.assert_array_equal(checkpoint.load()["numbers"], np.arange(1000.0))
    path = next(tmp_path.glob("checkpoints/*/*"))
    data = bytearray(path.read_bytes())
    data[4000] ^= 1
    path.write_bytes(data)
    with pytest.raises(StorageError, match="is damaged"):
        checkpoint.load()


def test_accuracies_have_nothing_to_go_on_with(store, tmp_path, capsys):
    where = ["--snapshots", str(tmp_path / "s")]
    assert run(["fit", store, *where, "--estimator", "accuracy", "--resume"]) == 0
    assert "nothing to go on with: beginning anew" in capsys.readouterr().err


def test_checkpoints_are_no_versions_and_no_damage(store, tmp_path, capsys):
    snapshots = str(tmp_path / "snapshots")
    refit(store, snapshots, OPTIONS, HERE, silent)
    with pytest.raises(BrokenOffError):
        refit(store, snapshots, FitOptions(), HERE, broken_off_after(1))
    assert open_root(snapshots).names(FOLDER)
    assert run(["snapshots", "verify", snapshots]) == 0
    assert open_root(snapshots).versions() == [1]


def test_progress_of_other_responses_is_refused():
    from mtlirt.engine.fit import fit_by

    kept = []
    asked = FitOptions(threads=1, max_rounds=1)
    fit_by(simulate("demo", seed=1).responses, asked, None, silent, keep=kept.append)
    with pytest.raises(ValueError, match="expected"):
        fit_by(simulate("demo", seed=1, models=50).responses, asked, None, silent, kept=kept[0])


def test_a_warm_start_is_recorded_and_needs_fewer_rounds(store, tmp_path, capsys):
    snapshots = str(tmp_path / "snapshots")
    asked = ["fit", store, "--snapshots", snapshots, "--threads", "1", "--warm-start"]
    assert run(asked) == 0  # there is none yet: a cold start
    cold = mtlirt.load(snapshots)
    assert run(asked) == 0
    assert mtlirt.load(snapshots).info["rounds"] < cold.info["rounds"]
    capsys.readouterr()
    starts = [describe(snapshots, version).inputs.get("warm_start") for version in (1, 2)]
    assert starts == [None, 1]


def test_a_warm_start_that_was_broken_off_goes_on(store, tmp_path):
    snapshots, plain = str(tmp_path / "snapshots"), str(tmp_path / "plain")
    for url in (snapshots, plain):
        refit(store, url, FitOptions(), HERE, silent)
    with pytest.raises(BrokenOffError):
        refit(store, snapshots, OPTIONS, HERE, broken_off_after(2), warm=True)
    done = refit(store, snapshots, OPTIONS, HERE, silent, resume=True, warm=True)
    assert_equal(done.fitted, refit(store, plain, OPTIONS, HERE, silent, warm=True).fitted)
