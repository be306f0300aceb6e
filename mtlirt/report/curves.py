"""What a domain's items tell at each trait, against the traits that models have."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mtlirt.irt.curves import Items, information_curve
from mtlirt.report.columns import Json, significant
from mtlirt.result import Fit

REACH = 4.0
"""Traits are drawn from minus this to this."""

POINTS = np.linspace(-REACH, REACH, 81)
"""Where information is told."""

EDGES = np.linspace(-REACH, REACH, 41)
"""Of the bins in which models are counted; those beyond are in the outermost bins."""

TOGETHER = 4096
"""Items evaluated at a time, which bounds the memory."""


def curve_data(fit: Fit) -> Json:
    """Information by domain, null where items have no slopes, and counts of models by trait."""
    items = fit.items["slope"].notna().any()
    domains = fit.domains.index
    return {
        "reach": REACH,
        "information": [significant(domain_information(fit, name)) for name in domains]
        if items
        else None,
        "models": [trait_counts(fit, name).tolist() for name in domains],
    }


def domain_information(fit: Fit, domain: str) -> npt.NDArray[np.float64]:
    """Fisher information of all items of a domain at `POINTS`."""
    table = fit.items.loc[[domain]]
    items = Items(*(table[name].to_numpy(dtype=np.float64) for name in Items._fields))
    total = np.zeros(len(POINTS))
    for begin in range(0, len(table), TOGETHER):
        total += information_curve(POINTS, items.columns(slice(begin, begin + TOGETHER)))
    return total


def trait_counts(fit: Fit, domain: str) -> npt.NDArray[np.int64]:
    """Models by their trait, of those that answered in the domain, shape (bins,)."""
    traits = fit.traits.xs(domain, level="domain")
    taken = traits["mean"].notna() & (traits["answered"] > 0)
    inside = traits.loc[taken, "mean"].to_numpy(dtype=np.float64).clip(-REACH, REACH)
    return np.asarray(np.histogram(inside, EDGES)[0], dtype=np.int64)
