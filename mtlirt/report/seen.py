"""What a fit alone shows of its items, domains and models that a reader should know."""

from __future__ import annotations

import pandas as pd

from mtlirt.result import Fit

FINDINGS = ("kind", "domain", "id", "value", "told")
"""The columns of findings, here and of those that a caller gives."""


def seen_in(fit: Fit) -> pd.DataFrame:
    """Findings of a fit: one row each, by kind.

    Returns
    -------
    pandas.DataFrame
        ``kind``, ``domain`` (empty for a model), ``id`` (of the item or model, empty for a
        domain), ``value`` and ``told``: what it means.
    """
    found = pd.concat([_items(fit), _domains(fit), _models(fit)], ignore_index=True)
    return found[list(FINDINGS)]


def _items(fit: Fit) -> pd.DataFrame:
    items = fit.items
    share = items["successes"] / items["attempts"].where(items["attempts"] > 0)
    return pd.concat(
        [
            _of_items(
                "negative slope",
                items["slope"][items["slope"] < 0.0],
                "value: its slope. The better a model, the less often it answers this right",
            ),
            _of_items(
                "constant item",
                share[items["constant"]],
                "value: share of right answers. All its models answered alike; it tells nothing "
                "of any trait",
            ),
            _of_items(
                "item at limit",
                items["slope"][items["at_limit"]],
                "value: its slope. Its parameters stand at a limit of what the fit allows",
            ),
        ]
    )


def _of_items(kind: str, values: pd.Series, told: str) -> pd.DataFrame:
    index = values.index
    return pd.DataFrame(
        {
            "kind": kind,
            "domain": index.get_level_values("domain"),
            "id": index.get_level_values("item_id"),
            "value": values.to_numpy(dtype=float),
            "told": told,
        }
    )


def _domains(fit: Fit) -> pd.DataFrame:
    domains = fit.domains
    several = len(domains) > 1
    borrowed = fit.traits["borrowed"].groupby(level="domain", sort=False).sum()
    borrowed = borrowed.reindex(domains.index)
    return pd.concat(
        [
            _of_domains(
                "borrowed traits",
                borrowed[borrowed > 0],
                "value: models without a response in this domain. Their trait here is what the "
                "other domains predict",
            ),
            _of_domains(
                "own pooling",
                domains["items"][(domains["pooling"] == "own") & several],
                "value: its items. Items and traits found by the domain's own responses alone",
            ),
            _of_domains(
                "flat domain",
                domains["items"][domains["flat"]],
                "value: its items. Its responses speak against any trait behind them",
            ),
            _of_domains(
                "weak domain",
                domains["items"][domains["weak"]],
                "value: its items. Fewer than 3 of them tell models apart",
            ),
            _of_domains(
                "borrowed sign",
                domains["slope_mean"][domains["sign_borrowed"]],
                "value: mean slope. Which end of its trait is up is taken from the other domains",
            ),
        ]
    )


def _of_domains(kind: str, values: pd.Series, told: str) -> pd.DataFrame:
    value = values.to_numpy(dtype=float)
    return pd.DataFrame(
        {"kind": kind, "domain": values.index, "id": "", "value": value, "told": told}
    )


def _models(fit: Fit) -> pd.DataFrame:
    unscored = fit.models["answered"][fit.models["overall"].isna()]
    left_out = fit.info.get("models_left_out")
    why = "It was left out, for it lacks a domain" if left_out else "It has none"
    return pd.DataFrame(
        {
            "kind": "model left out" if left_out else "model without score",
            "domain": "",
            "id": unscored.index,
            "value": unscored.to_numpy(dtype=float),
            "told": f"value: its answers that were used. {why}",
        }
    )
