"""Quick methods in the place of two that fit."""

import dataclasses

import numpy as np
import pytest

from mtlirt.studies import methods
from mtlirt.studies.metrics import standardised


@pytest.fixture
def quick(monkeypatch):
    """Makes two methods quick ones that need no fit: one with intervals, one without."""

    def proportions(responses):
        domains = responses.domains.values()
        blocks = [part.array.compute(scheduler="synchronous") for part in domains]
        shares = [np.nanmean(np.where(block < 0, np.nan, block), axis=1) for block in blocks]
        traits = standardised(np.stack(shares, axis=1))
        unknown = np.full(traits.shape, np.nan)
        return methods.Estimates(traits, unknown, traits.mean(axis=1), unknown[:, 0], True)

    def with_intervals(responses):
        found = proportions(responses)
        return dataclasses.replace(
            found,
            trait_sds=np.full(found.traits.shape, 0.3),
            general_sds=np.full(len(found.traits), 0.2),
            converged=False,
        )

    monkeypatch.setitem(methods.METHODS, "accuracy", proportions)
    monkeypatch.setitem(methods.METHODS, "marginal", with_intervals)
    methods.warm_up.cache_clear()
    yield
    methods.warm_up.cache_clear()
