"""A small leaderboard like the design `six`: its fit, and models that the fit does not know."""

from dataclasses import replace
from typing import NamedTuple

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import mtlirt
from mtlirt.responses.matrix import DomainResponses, Responses
from mtlirt.responses.subset import some_models
from mtlirt.result import Fit
from mtlirt.simulate.designs import SIX
from mtlirt.simulate.generate import simulate

TRAINING, NEW = 500, 60


class Leaderboard(NamedTuple):
    """A fit, and responses of other models with their true traits (models x domains)."""

    fit: Fit
    new: Responses
    truth: pd.DataFrame


@pytest.fixture(scope="session")
def board():
    """Six domains of 60 to 300 items; 500 models are fitted, 60 are new."""
    counts = (100, 120, 200, 300, 60, 110)
    domains = tuple((name, count) for (name, _), count in zip(SIX.domains, counts, strict=True))
    design = replace(SIX, name="small", domains=domains, clones=0)
    simulation = simulate(design, models=TRAINING + NEW, seed=3)
    rows = np.arange(TRAINING + NEW)
    fit = mtlirt.fit(some_models(simulation.responses, rows[:TRAINING]), threads=1)
    new = some_models(simulation.responses, rows[TRAINING:])
    return Leaderboard(fit, in_memory(new), simulation.truth.traits.iloc[TRAINING:])


def in_memory(responses):
    """The same responses, computed once."""
    return replace(
        responses,
        domains={
            name: DomainResponses(da.from_array(np.asarray(part.array)))
            for name, part in responses.domains.items()
        },
    )


@pytest.fixture(scope="session")
def key(board):
    """All answers of the first new model: (domain, item_id) -> 0 or 1."""
    cells = [np.asarray(part.array[0]) for part in board.new.domains.values()]
    return dict(zip(board.new.items.index, np.concatenate(cells).tolist(), strict=True))


@pytest.fixture(scope="session")
def scored():
    """`mtlirt.score` of one model's answers: traits, and the overall mean and sd."""

    def score(fit, answers):
        rows = [("m", domain, item, value) for (domain, item), value in answers.items()]
        frame = pd.DataFrame(rows, columns=["model_id", "domain", "item_id", "correct"])
        found = mtlirt.score(fit, mtlirt.from_tidy(frame, poor_domains="keep"), threads=1)
        return found.traits[["mean", "sd"]].to_numpy(), found.models[
            ["overall", "overall_sd"]
        ].to_numpy()[0]

    return score
