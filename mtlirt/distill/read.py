"""What a fit on the chosen items learns of models from their responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
import pandas as pd
from dask.base import compute

from mtlirt.distill.answers import Answers
from mtlirt.distill.targets import shares
from mtlirt.engine.fit import score
from mtlirt.errors import InputError
from mtlirt.responses.matrix import Responses
from mtlirt.responses.subset import some_items
from mtlirt.result import Fit

if TYPE_CHECKING:
    from mtlirt.cluster.executor import Client


def read_answers(
    refit: Fit, responses: Responses, client: Client | None = None, threads: int | None = None
) -> Answers:
    """Score models by their responses to the items of a refit; other items are not looked at.

    Raises
    ------
    InputError
        If the responses have none of the items.
    """
    there = refit.items.index[refit.items.index.isin(responses.items.index)]
    if not len(there):
        raise InputError(
            f"none of the {len(refit.items)} chosen items is among the responses; items are "
            "matched by (domain, item_id)"
        )
    asked = some_items(responses, there)
    scored = score(refit, asked, client=client, threads=threads)
    shape = len(asked.models), len(refit.domains)
    traits, sd = (
        scored.traits[name].to_numpy(np.float64).reshape(shape) for name in ("mean", "sd")
    )
    values = np.full((len(asked.models), len(refit.items)), np.nan)
    values[:, refit.items.index.get_indexer(asked.items.index)] = _computed(asked)
    return Answers(values, domain_numbers(refit), traits, sd)


def domain_numbers(fitted: Fit) -> Any:
    """The number of the domain of each item of a fit."""
    domains = fitted.items.index.get_level_values("domain")
    return pd.Index(fitted.domains.index).get_indexer(domains)


def _computed(responses: Responses) -> Any:
    parts = [shares(part) for part in responses.domains.values()]
    return compute(da.concatenate(parts, axis=1))[0].astype(np.float64)
