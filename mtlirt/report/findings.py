"""Findings as the report shows them: counts by kind, and a list of bounded length."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from numbers import Real

import pandas as pd

from mtlirt.errors import InputError
from mtlirt.report.columns import Json, coded
from mtlirt.report.seen import FINDINGS

LISTED = 2000
"""Findings of one kind that are listed; all are counted."""


@dataclass(frozen=True)
class KindCount:
    """How many findings there are of a kind, and how many are listed."""

    kind: str
    count: int
    listed: int


def check_findings(findings: object) -> pd.DataFrame:
    """Refuse what is not a table of findings.

    Raises
    ------
    InputError
        If it is no table or lacks a column.
    """
    if not isinstance(findings, pd.DataFrame):
        raise InputError(f"findings: expected a table, not {type(findings).__name__}")
    lacking = [name for name in FINDINGS if name not in findings.columns]
    if lacking:
        raise InputError(f"findings: the table lacks the columns {', '.join(lacking)}")
    return findings


def counts_of(findings: pd.DataFrame, listed: int = LISTED) -> list[KindCount]:
    """Counts by kind, in the order in which kinds first appear."""
    counts = findings["kind"].astype(str).value_counts(sort=False)
    return [KindCount(str(kind), int(n), min(int(n), listed)) for kind, n in counts.items()]


def finding_data(findings: pd.DataFrame, listed: int = LISTED) -> Json | None:
    """Columns of the first findings of each kind, in their order; None where there are none."""
    if findings.empty:
        return None
    shown = findings[findings.groupby("kind", sort=False).cumcount() < listed]
    return {
        "kind": coded(shown["kind"]),
        "domain": coded(shown["domain"]),
        "id": ["" if pd.isna(name) else str(name) for name in shown["id"]],
        "value": [_value(value) for value in shown["value"]],
        "told": coded(shown["told"]),
    }


def _value(value: object) -> float | str | None:
    """A number to four digits, or what else it is as text."""
    if value is None or value is pd.NA:
        return None
    if isinstance(value, bool | str) or not isinstance(value, Real):
        return str(value)
    number = float(value)
    return float(f"{number:.4g}") if isfinite(number) else None
