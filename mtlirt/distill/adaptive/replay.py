"""Adaptive tests of models whose answers are known already."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from dask.base import compute

from mtlirt.distill.adaptive.adaptive_test import AdaptiveTest
from mtlirt.distill.adaptive.bank import ItemBank
from mtlirt.engine.fit import score
from mtlirt.errors import InputError
from mtlirt.responses.matrix import MISSING, Responses, answered
from mtlirt.responses.subset import some_models
from mtlirt.result import Fit

Cells = npt.NDArray[np.int8]

STRIP = 512
"""Models whose answers are in memory at a time."""


@dataclass(frozen=True)
class Replay:
    """What adaptive tests would have found, and what all answers of the models tell.

    Attributes
    ----------
    models
        Index ``model_id``. ``answered`` (items that the test could choose from), ``items`` (it
        asked), ``reason`` (why it ended), ``mean_sd`` (of the domains' traits), ``rmse`` (root mean
        squared difference of the traits from those by all answers), ``overall``, ``overall_sd``,
        ``full_overall``, ``full_overall_sd``.
    traits
        Index (``model_id``, ``domain``). ``items``, ``mean``, ``sd``, ``full_mean``, ``full_sd``.
        The columns ``full_...`` are by `mtlirt.score` with all answers, null without any.
    """

    models: pd.DataFrame
    traits: pd.DataFrame

    def table(self) -> pd.DataFrame:
        """One row a model: `models`, then the columns of `traits` as ``column:domain``."""
        domains = self.traits.index.unique("domain")
        wide = {
            f"{column}:{domain}": values.to_numpy().reshape(-1, len(domains))[:, t]
            for column, values in self.traits.items()
            for t, domain in enumerate(domains)
        }
        return self.models.assign(**wide)


def replay(
    fit: Fit,
    responses: Responses,
    *,
    target: str = "domains",
    standard_error: float = 0.30,
    max_items: int | None = None,
    borrow: bool = True,
) -> Replay:
    """Test models adaptively by the answers that they gave; see `AdaptiveTest`.

    Parameters
    ----------
    fit
        By estimator `marginal` or `separate`. It should not know the models: what it learned of
        the items from their answers would make the tests look better than they are.
    responses
        Of models to one attempt an item. A model is asked only what it answered; items that the
        fit does not know are left out.
    target, standard_error, max_items, borrow
        As for `AdaptiveTest`.

    Returns
    -------
    Replay
        A model's results are the same by itself and in any batch. Cost: some 3 ms an item asked,
        where there are 22,550.

    Raises
    ------
    InputError
        As by `AdaptiveTest`; if no item is known to the fit, or a response is no single answer,
        right or wrong.
    """
    bank = ItemBank.of(fit, borrow)
    options: dict[str, Any] = {"standard_error": standard_error, "max_items": max_items}
    AdaptiveTest(bank, target, **options)  # refuse options before reading anything
    for name, part in responses.domains.items():
        if part.trials is not None:
            raise InputError(
                f"domain {name!r} has several attempts an item; a replay needs single answers"
            )
    full = score(fit, responses)
    models, traits = [], []
    for row in _rows(bank, responses):
        there = np.flatnonzero(answered(row))
        able = None if len(there) == len(row) else [bank.ids[number] for number in there]
        test = AdaptiveTest(bank, target, **options, items=able)
        while asked := test.next():
            test.answer({one: int(row[bank.places[one]]) for one in asked})
        found = test.scores
        models.append((len(there), found["answered"].sum(), test.reason, *test.overall))
        traits.append(found[["answered", "mean", "sd"]].to_numpy())
    return _results(bank.domains, full.models, full.traits, models, np.array(traits))


def _rows(bank: ItemBank, responses: Responses) -> Iterator[Cells]:
    """The answers of each model to the items of the bank."""
    places = np.array([bank.places.get(one, -1) for one in responses.items.index])
    splits = np.cumsum([part.array.shape[1] for part in responses.domains.values()])[:-1]
    of_domain = dict(zip(responses.domains, np.split(places, splits), strict=True))
    models = len(responses.models)
    for begin in range(0, models, STRIP):
        some = some_models(responses, np.arange(begin, min(begin + STRIP, models)))
        cells = np.full((len(some.models), len(bank.ids)), MISSING, np.int8)
        blocks = compute(*(part.array for part in some.domains.values()))
        for name, block in zip(some.domains, blocks, strict=True):
            known = of_domain[name] >= 0
            values = block[:, known]
            if (answered(values) & (values != 0) & (values != 1)).any():
                raise InputError(
                    f"domain {name!r} has answers that are right in part; a replay needs answers "
                    "that are right or wrong"
                )
            cells[:, of_domain[name][known]] = np.where(answered(values), values, MISSING)
        yield from cells


def _results(
    domains: list[str],
    full_models: pd.DataFrame,
    full_traits: pd.DataFrame,
    models: list[tuple[Any, ...]],
    traits: npt.NDArray[np.float64],
) -> Replay:
    """The tables of what was found, models in order; traits as items, mean, sd by domain."""
    index = full_models.index
    shape = len(index), len(domains)
    known, known_sd = (
        full_traits[name].to_numpy(dtype=np.float64).reshape(shape) for name in ("mean", "sd")
    )
    items, mean, sd = np.moveaxis(traits.reshape(*shape, 3), 2, 0)
    counts, asked, reason, overall, overall_sd = zip(*models, strict=True) if models else [()] * 5
    return Replay(
        pd.DataFrame(
            {
                "answered": np.array(counts, np.int64),
                "items": np.array(asked, np.int64),
                "reason": pd.Series(reason, index, dtype="str"),
                "mean_sd": sd.mean(axis=1),
                "rmse": np.sqrt(np.square(mean - known).mean(axis=1)),
                "overall": np.array(overall, np.float64),
                "overall_sd": np.array(overall_sd, np.float64),
                "full_overall": full_models["overall"],
                "full_overall_sd": full_models["overall_sd"],
            },
            index=index,
        ),
        pd.DataFrame(
            {
                "items": items.ravel().astype(np.int64),
                "mean": mean.ravel(),
                "sd": sd.ravel(),
                "full_mean": known.ravel(),
                "full_sd": known_sd.ravel(),
            },
            index=pd.MultiIndex.from_product([index, pd.Index(domains, name="domain")]),
        ),
    )
