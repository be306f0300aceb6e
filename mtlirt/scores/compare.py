"""What changed from one fit to a later one, on one scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtr, ndtri

from mtlirt.errors import InputError
from mtlirt.irt.drift import adjusted
from mtlirt.irt.linking import Method
from mtlirt.irt.representation import composite_moments
from mtlirt.result import Fit, check_level
from mtlirt.scores.components import components, several, told
from mtlirt.scores.linking import (
    DomainLink,
    carried,
    check_method,
    domain_links,
    item_counts,
    other_floor,
    with_link_errors,
)
from mtlirt.scores.ranks import ranks

Float = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """Two fits side by side; all differences are after minus before, on the scale before.

    Attributes
    ----------
    items
        Index (domain, item_id), of both. ``change``: "added", "withdrawn", "drifted" or "kept".
        For slope and intercept: ``slope_before``, ``slope_after`` (linked), ``slope_difference``,
        ``slope_lower``, ``slope_upper``, and so on. ``p``: probability of parameters as different
        if the item did not drift; ``p_adjusted``: for the number of items. Null where items were
        not compared. An item whose known guessing floor changed counts as drifted.
    domains
        Index domain, of both. ``change``: "added", "withdrawn", "linked" or "not linked";
        ``link_scale``, ``link_shift``, their standard errors and covariance, ``linked_items``,
        ``drifted_items``: see `Fit`; here of the fit after to the one before.
    models
        Index model_id, of both. ``change``: "added", "withdrawn", "moved" or "kept"; the overall
        score ``before`` and ``after``, over the domains that are linked (equal weights);
        ``difference``, ``lower``, ``upper``, ``p``, ``p_adjusted``; ``rank_before``,
        ``rank_after``: of the published overall scores among all models of their fit;
        ``rank_change``: places gained among the models of both, by the scores compared here.
        All within components, of both fits where places are gained: see `leaderboard`; where
        either fit has several, ``component_before`` and ``component_after`` tell them.
    traits
        Index (model_id, domain): of models of both in linked domains. Columns as of `models`, and
        ``moved``.
    settings
        Index (of, name): what the fits say of themselves differently. ``before``, ``after``.

    Notes
    -----
    Intervals of scores hold both fits' standard deviations, taken as independent, and the link's
    error. Where models answered the same items in both fits they are too wide: a model that is
    said to have moved has, and one of which nothing is said may have. Intervals of items are scaled
    to what the items' differences are, see `mtlirt.irt.drift.RobustLink`. All are of one
    number each; "moved" and "drifted" hold for the adjusted probabilities.
    """

    items: pd.DataFrame
    domains: pd.DataFrame
    models: pd.DataFrame
    traits: pd.DataFrame
    settings: pd.DataFrame


def compare(
    before: Fit, after: Fit, *, level: float = 0.95, linking: Method = "haebara"
) -> Comparison:
    """Tell what changed from one fit to another: items, domains, models and settings.

    The fit after is first put on the scale of the one before through the items of both, whether or
    not it is on it already.

    Parameters
    ----------
    before, after
        By `marginal` or `separate`, such as two loaded snapshots.
    level
        Of the intervals. Models moved and items drifted where their probability, adjusted for
        their number (Benjamini & Hochberg 1995), is below 1 - level.
    linking
        See `mtlirt.fit`.

    Returns
    -------
    Comparison
        See there.

    Raises
    ------
    InputError
        If something else than fits is given, an estimator gives no posterior, or the level or the
        method is none.
    """
    check_level(level)
    check_method(linking)
    for fit in (before, after):
        if not isinstance(fit, Fit):
            raise InputError("a comparison needs two fits, from fit or load")
        fit.check_posterior("a comparison")
    links = domain_links(after, before, linking)
    fitted = {name: link.found.fitted for name, link in links.items()}
    linked = carried(after, {name: found.link for name, found in fitted.items()})
    linked = with_link_errors(linked, fitted)
    return Comparison(
        items=compared_items(before, linked, links, level),
        domains=compared_domains(before, linked, links),
        models=compared_models(before, linked, links, level),
        traits=compared_traits(before, linked, links, level),
        settings=changed_settings("fit", before.info, after.info),
    )


def compared_items(
    before: Fit, after: Fit, links: Mapping[str, DomainLink], level: float
) -> pd.DataFrame:
    """`Comparison.items` of linked fits."""
    index, change = union(before.items.index, after.items.index)
    out = pd.DataFrame({"change": change}, index)
    differences = pd.DataFrame(
        np.nan, index, ["slope", "intercept", "slope_sd", "intercept_sd", "p"]
    )
    for name, link in links.items():
        rows = index.get_indexer(link.index(name))
        found = link.found
        columns = [found.difference, np.sqrt(found.variance), found.p]
        differences.iloc[rows] = np.column_stack(columns)
    reach = float(ndtri(0.5 + 0.5 * level))
    for column in ("slope", "intercept"):
        out[f"{column}_before"] = before.items[column].reindex(index)
        known = index.get_level_values("domain").isin(list(links))
        out[f"{column}_after"] = after.items[column].reindex(index).where(known)
        difference, margin = differences[column], reach * differences[f"{column}_sd"]
        out[f"{column}_difference"] = difference
        out[f"{column}_lower"], out[f"{column}_upper"] = difference - margin, difference + margin
    out["p"] = differences["p"]
    out["p_adjusted"] = adjusted(differences["p"].to_numpy())
    moved = (out["p_adjusted"] < 1.0 - level) | other_floor(after, before).reindex(
        index, fill_value=False
    )
    return out.assign(change=change.mask(moved.to_numpy(), "drifted"))


def compared_domains(before: Fit, after: Fit, links: Mapping[str, DomainLink]) -> pd.DataFrame:
    """`Comparison.domains` of linked fits."""
    index, change = union(before.domains.index, after.domains.index)
    change = change.replace("kept", "not linked").mask(index.isin(list(links)), "linked")
    out = pd.DataFrame({"change": change}, index)
    for name, fit in (("before", before), ("after", after)):
        out[f"items_{name}"] = fit.domains["items"].reindex(index).astype("Int64")
    for name in ("scale", "shift", "scale_se", "shift_se", "covariance"):
        values = {domain: link_number(link, name) for domain, link in links.items()}
        out[f"link_{name}"] = pd.Series(values, dtype=np.float64).reindex(index)
    return out.assign(**item_counts(index, links))


def link_number(link: DomainLink, name: str) -> float:
    """A number of a link by the name of its column."""
    fitted = link.found.fitted
    (aa, ab), (_, bb) = fitted.covariance
    numbers = {
        "scale": fitted.link.scale,
        "shift": fitted.link.shift,
        "scale_se": np.sqrt(aa),
        "shift_se": np.sqrt(bb),
        "covariance": ab,
    }
    return float(numbers[name])


def compared_models(
    before: Fit, after: Fit, links: Mapping[str, DomainLink], level: float
) -> pd.DataFrame:
    """`Comparison.models` of linked fits."""
    index, change = union(before.models.index, after.models.index)
    scores = [overall_of(fit, list(links)) for fit in (before, after)]
    link = link_variance(after, list(links))
    both = before.models.index.intersection(after.models.index)
    sides = [(mean.reindex(both), variance.reindex(both)) for mean, variance in scores]
    compared = differences_of(sides[0], sides[1], link.reindex(both), level).reindex(index)
    compared["before"], compared["after"] = (score[0].reindex(index) for score in scores)
    fits = {"before": before, "after": after}
    places = {
        f"rank_{name}": places_of(fit.models["overall"], components(fit)).reindex(index)
        for name, fit in fits.items()
    }
    ties = [components(fit).reindex(both) for fit in (before, after)]
    gained = places_of(compared["before"].reindex(both), *ties) - places_of(
        compared["after"].reindex(both), *ties
    )
    change = change.mask((compared["p_adjusted"] < 1.0 - level).to_numpy(), "moved")
    apart = {}
    if any(map(several, fits.values())):
        apart = {f"component_{name}": told(fit).reindex(index) for name, fit in fits.items()}
    return compared.assign(**places, rank_change=gained.reindex(index), **apart).assign(
        change=change
    )[["change", *compared.columns, *places, "rank_change", *apart]]


def compared_traits(
    before: Fit, after: Fit, links: Mapping[str, DomainLink], level: float
) -> pd.DataFrame:
    """`Comparison.traits` of linked fits."""
    both = before.models.index.intersection(after.models.index)
    index = pd.MultiIndex.from_product([both, list(links)], names=["model_id", "domain"])
    one, other = (fit.traits.reindex(index) for fit in (before, after))
    sides = [(side["mean"], side["sd"] ** 2) for side in (one, other)]
    compared = differences_of(sides[0], sides[1], other["link_se"] ** 2, level)
    return compared.assign(moved=compared["p_adjusted"] < 1.0 - level)


def changed_settings(of: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> pd.DataFrame:
    """Settings of one kind that differ, as `Comparison.settings`; null where one has none."""
    names = [*after, *(name for name in before if name not in after)]
    differ = [name for name in names if before.get(name) != after.get(name)]
    columns = {
        side: pd.Series([settings.get(name) for name in differ], dtype=object)
        for side, settings in (("before", before), ("after", after))
    }
    index = pd.MultiIndex.from_arrays([[of] * len(differ), differ], names=["of", "name"])
    return pd.DataFrame(columns).set_axis(index)


def union(before: pd.Index, after: pd.Index) -> tuple[pd.Index, pd.Series]:
    """All ids, those withdrawn last, and whether each was added, withdrawn or kept."""
    index = after.append(before[~before.isin(after)])
    change = np.where(index.isin(before), "kept", "added")
    return index, pd.Series(np.where(index.isin(after), change, "withdrawn"), index)


def overall_of(fit: Fit, domains: list[str]) -> tuple[pd.Series, pd.Series]:
    """Mean and variance of each model's mean trait over some domains; null without data."""
    weights = fit.domains.index.isin(domains) / max(len(domains), 1)
    mean, variance = composite_moments(*fit.sites, fit.prior, weights)
    known = (fit.models["answered"] > 0).to_numpy() & bool(domains)
    mean, variance = (np.where(known, part, np.nan) for part in (mean, variance))
    return pd.Series(mean, fit.models.index), pd.Series(variance, fit.models.index)


def link_variance(fit: Fit, domains: list[str]) -> pd.Series:
    """The variance that the links give to the mean of the models' traits over some domains."""
    shape = len(fit.models), len(fit.domains)
    of_traits = fit.traits["link_se"].to_numpy(np.float64).reshape(shape) ** 2
    share = fit.domains.index.isin(domains) / max(len(domains), 1)
    return pd.Series(np.nan_to_num(of_traits) @ share**2, fit.models.index)


def differences_of(
    before: tuple[pd.Series, pd.Series],
    after: tuple[pd.Series, pd.Series],
    link: pd.Series,
    level: float,
) -> pd.DataFrame:
    """Differences of scores, given as means and variances, with intervals and probabilities."""
    difference = after[0] - before[0]
    sd = np.sqrt((before[1] + after[1] + link).to_numpy(np.float64))
    margin = float(ndtri(0.5 + 0.5 * level)) * sd
    p = 2.0 * ndtr(-np.abs(difference.to_numpy(np.float64)) / sd)
    columns = {
        "before": before[0],
        "after": after[0],
        "difference": difference,
        "lower": difference - margin,
        "upper": difference + margin,
    }
    return pd.DataFrame(columns).assign(p=p, p_adjusted=adjusted(p))


def places_of(scores: pd.Series, *components: pd.Series) -> pd.Series:
    """Ranks among the models that have a score and are of the same components; else null."""
    known = scores.dropna()
    places = pd.Series(pd.NA, scores.index, dtype="Int64")
    alike = known.groupby([component[known.index] for component in components])
    for rows in alike.indices.values():
        places[known.index[rows]] = ranks(known.to_numpy(np.float64)[rows])
    return places
