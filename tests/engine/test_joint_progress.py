"""Rounds of the joint estimator go on from their arrays as from themselves."""

import dask.array as da
import numpy as np
import pytest
from scipy.special import expit

from mtlirt.cluster.executor import open_executor
from mtlirt.engine.joint import joint_rounds
from mtlirt.engine.joint_problem import first_state, joint_problem
from mtlirt.engine.joint_progress import JointProgress
from mtlirt.engine.lockstep import run_alternations
from mtlirt.engine.placement import place
from mtlirt.responses.arrays import from_arrays

AHEAD = 2
"""Rounds after which two are compared."""


@pytest.fixture(scope="module")
def responses():
    rng = np.random.default_rng(20)
    shared = rng.normal(size=50)
    out = {}
    for t, items in enumerate((20, 25, 30, 40)):
        trait = 0.9 * shared + 0.4 * rng.normal(size=50)
        eta = trait[:, None] * rng.uniform(0.5, 1.5, items) + rng.uniform(-1, 1, items)
        out[f"d{t}"] = da.from_array((rng.random(eta.shape) < expit(eta)).astype(np.int8))
    return from_arrays(out)


def told(progress):
    """All that progress comes to but for the time that rounds took."""
    arrays = progress.arrays()
    arrays["history"] = np.delete(arrays["history"], [5, 6], axis=1)
    return {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize("penalty", [0.0, 0.1, 0.5, np.inf])
def test_after_every_round(responses, penalty):
    with open_executor(None, 1) as executor:
        problem = joint_problem(place(executor, responses), "common")

        def run(begin, max_rounds):
            heard = [begin]
            rounds = joint_rounds(problem, begin, penalty, 1e-3, max_rounds, heard.append)
            run_alternations(executor, [rounds])
            return heard

        heard = run(JointProgress.of(first_state(problem)), 60)
        assert len(heard) > 8
        for number, progress in enumerate(heard):
            begin = JointProgress.from_arrays(progress.arrays(), problem.domains)
            assert told(begin) == told(progress)
            for again, before in zip(run(begin, number + AHEAD), heard[number:], strict=False):
                assert told(again) == told(before)
