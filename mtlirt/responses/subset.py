"""Some models, or some items, of responses: as lazy as the whole."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.errors import InputError
from mtlirt.responses.matrix import DomainResponses, Responses


def some_models(responses: Responses, rows: npt.NDArray[np.intp]) -> Responses:
    """Responses of these models (numbers of rows), in this order."""
    parts = {
        name: DomainResponses(part.array[rows], None if part.trials is None else part.trials[rows])
        for name, part in responses.domains.items()
    }
    return Responses(parts, responses.models.iloc[rows], responses.items)


def some_items(responses: Responses, chosen: pd.Index) -> Responses:
    """Responses to these items (domain, item_id), in the order of the whole.

    Domains without any are left out.

    Raises
    ------
    InputError
        If an item is not among the responses; names it.
    """
    unknown = chosen[~chosen.isin(responses.items.index)]
    if len(unknown):
        domain, item = unknown[0]
        raise InputError(
            f"item {item!r} of domain {domain!r} is not among the responses "
            f"({len(unknown)} of {len(chosen)} are not)"
        )
    kept = responses.items.index.isin(chosen)
    parts = {}
    for name, part in responses.domains.items():
        columns = np.flatnonzero(responses.item_ids(name).isin(ids_of(chosen, name)))
        if len(columns):
            trials = None if part.trials is None else part.trials[:, columns]
            parts[name] = DomainResponses(part.array[:, columns], trials)
    return Responses(parts, responses.models, responses.items.loc[kept])


def ids_of(chosen: pd.Index, domain: str) -> pd.Index:
    """The item ids of one domain."""
    return chosen[chosen.get_level_values("domain") == domain].get_level_values("item_id")
