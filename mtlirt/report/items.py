"""The items as points of a map: difficulty by slope."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mtlirt.report.columns import Json, places, rounded
from mtlirt.result import Fit

SHOWN = 20_000
"""Points that a map holds; of more items it shows a sample."""

SEED = 0
"""Of that sample."""


def item_data(fit: Fit, shown: int = SHOWN) -> Json:
    """Points of the item map, in the order of the items, and what it leaves out.

    Parameters
    ----------
    fit
        Its items have slopes.
    shown
        The most points; above that a random sample, the same for the same fit, with every domain
        in its share and none without a point.
    """
    drawable = fit.items["slope"].notna() & fit.items["difficulty"].notna()
    items = fit.items[drawable]
    points = items if len(items) <= shown else _sample(items, shown)
    domains = fit.domains.index.get_indexer(points.index.get_level_values("domain"))
    attempts = points["attempts"].where(points["attempts"] > 0)
    return {
        "item": [str(item) for item in points.index.get_level_values("item_id")],
        "domain": domains.tolist(),
        "slope": rounded(points["slope"]),
        "difficulty": rounded(points["difficulty"]),
        "right": rounded(points["successes"] / attempts),
        "at_limit": places(points["at_limit"]),
        "drawable": len(items),
        "total": len(fit.items),
    }


def _sample(items: pd.DataFrame, shown: int) -> pd.DataFrame:
    """So many items, or a few less: each domain by its share, at least one."""
    rng = np.random.default_rng(SEED)
    places = pd.Series(np.arange(len(items)))
    chosen = []
    for _, own in places.groupby(items.index.get_level_values("domain"), sort=False):
        count = max(1, int(len(own) * shown / len(items)))
        chosen.append(rng.choice(own.to_numpy(), count, replace=False))
    return items.iloc[np.sort(np.concatenate(chosen))]
