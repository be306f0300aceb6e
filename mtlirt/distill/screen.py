"""Items that a distilled benchmark had better not hold, judged by training models alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
import numpy.typing as npt
import pandas as pd
from dask.base import compute

from mtlirt.distill.targets import shares
from mtlirt.responses.matrix import Responses

NEGATIVE, FLAT, TWICE = "negatively keyed", "tells nothing", "copy of another item"
"""Why an item is left out, beside "nearly constant"."""

CONSTANT = "nearly constant"


@dataclass(frozen=True)
class Screen:
    """Which items are left out of the choice.

    Attributes
    ----------
    spread
        Least standard deviation of an item's answers over models.
    correlation
        Least correlation of its answers with the score on the benchmark's other items. Where it
        is below minus this the item is negatively keyed: stronger models fail it.
    """

    spread: float = 0.01
    correlation: float = 0.02


def screened(responses: Responses, screen: Screen) -> pd.DataFrame:
    """Find the items that had better not be chosen.

    Parameters
    ----------
    responses
        Of training models; an item is judged by those that answered all of its benchmark.

    Returns
    -------
    pandas.DataFrame
        Index (``domain``, ``item_id``), the items that are left out; ``reason``, ``share`` (of
        right answers), ``correlation`` (item and rest), ``copy_of`` (an item id). Reads the
        responses twice.
    """
    tables = [_judged(responses, name, screen) for name in responses.domains]
    return pd.concat(tables)


def _judged(responses: Responses, name: str, screen: Screen) -> pd.DataFrame:
    part = responses.domains[name]
    values = shares(part)
    whole = compute(da.isnan(values).sum(axis=1))[0] == 0
    values = values[np.flatnonzero(whole)]
    score = compute(values.sum(axis=1, dtype=np.float64))[0]
    centred = score - score.mean() if len(score) else score
    keys = np.random.default_rng(0).integers(1 << 62, size=(len(score), 2), dtype=np.uint64)
    mean, square, product, prints = compute(
        values.mean(axis=0, dtype=np.float64),
        (values**2).mean(axis=0, dtype=np.float64),
        (values * centred[:, None]).mean(axis=0, dtype=np.float64),
        _prints(values, keys),
    )
    variance = np.maximum(square - mean**2, 0.0)
    spread = np.sqrt(variance)
    rest = np.sqrt(np.maximum(np.var(score) - 2.0 * product + variance, 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = (product - variance) / (spread * rest)
    ids = responses.item_ids(name)
    first = pd.Series(ids).groupby([*prints.T]).transform("first").to_numpy(dtype=object)
    reason = np.select(
        [
            spread < screen.spread,
            first != ids.to_numpy(dtype=object),
            correlation < -screen.correlation,
            ~(correlation >= screen.correlation),
        ],
        [CONSTANT, TWICE, NEGATIVE, FLAT],
        "",
    )
    table = pd.DataFrame(
        {
            "reason": reason,
            "share": mean,
            "correlation": correlation,
            "copy_of": pd.Series(first, dtype=object).where(reason == TWICE, None).to_numpy(),
        },
        index=responses.items.loc[[name]].index,
    )
    return table[table["reason"] != ""]


def _prints(values: Any, keys: npt.NDArray[np.uint64]) -> Any:
    """Two sums of the bits of an item's answers times random numbers: equal for equal columns."""
    bits = values.map_blocks(lambda block: block.view(np.uint32).astype(np.uint64), dtype=np.uint64)
    sums = [(bits * keys[:, [k]]).sum(axis=0, dtype=np.uint64) for k in range(2)]
    return da.stack(sums, axis=1)
