"""Which models may be ranked against each other."""

from __future__ import annotations

import pandas as pd

from mtlirt.result import Fit, Scores


def components(scored: Fit | Scores) -> pd.Series:
    """The component of each model, 0 of one without data and of all where none is told."""
    if "component" not in scored.models:
        return pd.Series(0, scored.models.index, dtype="Int64")
    return scored.models["component"].fillna(0)


def told(scored: Fit | Scores) -> pd.Series:
    """The component of each model, null where none is told."""
    component = components(scored)
    return component.where(component > 0)


def several(scored: Fit | Scores) -> dict[str, pd.Series]:
    """The column ``component`` of models; none where all are of one."""
    component = told(scored)
    return {"component": component} if len(component.dropna().unique()) > 1 else {}
