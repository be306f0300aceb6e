"""A fit on the scale of an earlier one: its anchor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.errors import InputError
from mtlirt.irt.curves import Items
from mtlirt.irt.drift import RobustLink, robust_link
from mtlirt.irt.linking import (
    FittedLink,
    KnownItems,
    Link,
    Method,
    Population,
    carried_sites,
)
from mtlirt.irt.representation import composite_moments
from mtlirt.result import Fit

Float = npt.NDArray[np.float64]

LEAST_ITEMS = 5
"""Items that a domain must have in common with the anchor, and keep, to be linked."""

FALSE_DISCOVERIES = 0.05
"""The share of the items found to have drifted that may not have."""

SPREAD = ["slope_variance", "slope_intercept_covariance", "intercept_variance"]

CONVENTION = (
    "but carried to the anchor's scale in domains with a link_scale, where link_shift and abs("
    "link_scale) are the mean and the standard deviation over the models"
)


@dataclass(frozen=True)
class DomainLink:
    """How a domain's trait was put on the anchor's scale.

    Attributes
    ----------
    items
        Ids of the common items that could say something of the link.
    found
        The link; arrays are in the order of these items.
    """

    items: pd.Index
    found: RobustLink

    def index(self, domain: str) -> pd.MultiIndex:
        """The items as (domain, item_id)."""
        return pd.MultiIndex.from_product([[domain], self.items])


def check_anchor(anchor: Fit, items: pd.Index) -> None:
    """Refuse an anchor that items, as (domain, item_id), cannot be linked to.

    Raises
    ------
    InputError
        If it is no fit, has no item parameters, no domain in common, or too few items of a
        common domain.
    """
    if not isinstance(anchor, Fit):
        raise InputError(f"anchor {anchor!r} is no fit; give one from fit or load")
    if anchor.items["slope"].isna().all():
        raise InputError(
            f"the anchor is a fit by estimator {anchor.info['estimator']!r}, which has no items to "
            "link scales by; take one by another estimator"
        )
    domains = items.unique("domain")
    known = anchor.domains.index.intersection(domains)
    if not len(known):
        raise InputError(
            "the anchor has no domain in common with the responses; scales are linked by "
            "(domain, item_id), so check the names or leave the anchor out"
        )
    counts = items[items.isin(anchor.items.index)].get_level_values("domain").value_counts()
    for domain in known:
        if counts.get(domain, 0) < LEAST_ITEMS:
            raise InputError(
                f"domain {domain!r} has {counts.get(domain, 0)} items in common with the anchor, "
                f"a link needs {LEAST_ITEMS}; give the domain another name if it is another test, "
                "or leave the anchor out"
            )


def check_method(method: object) -> None:
    """Refuse what is no method of linking.

    Raises
    ------
    InputError
        If it is none.
    """
    if method not in get_args(Method):
        raise InputError(f"linking {method!r} is not one of {', '.join(get_args(Method))}")


def anchored(fit: Fit, anchor: Fit, method: Method = "haebara") -> Fit:
    """A fit on the scale of an anchor, domain by domain, through their common items.

    Parameters
    ----------
    fit
        By `marginal` or `separate`.
    anchor
        By any estimator that has items; without variances its items count as known.
    method
        See `mtlirt.irt.linking.Criterion`.

    Returns
    -------
    Fit
        The same probabilities and log-likelihood, with the columns of an anchored fit. Domains
        that are not in the anchor, or of which fewer than `LEAST_ITEMS` common items are
        informative in both fits and did not drift, stay on the fit's own scale.

    Raises
    ------
    InputError
        As by `check_anchor`, or if a fit's traits have no posterior.

    Notes
    -----
    The general trait has the anchor's weights of domains where those are the same domains and all
    are linked: it is then the same function of the traits. Otherwise it has the fit's own.
    """
    fit.check_posterior("anchor")
    check_method(method)
    check_anchor(anchor, fit.items.index)
    links = domain_links(fit, anchor, method)
    general = anchor.domains["general_weight"].reindex(fit.domains.index)
    same = len(links) == len(fit.domains) == len(anchor.domains) and general.notna().all()
    moved = carried(fit, {name: link.found.fitted.link for name, link in links.items()})
    if same:
        moved = with_general(moved, general)
    moved = with_link_errors(moved, {name: link.found.fitted for name, link in links.items()})
    told = {
        "method": method,
        "unlinked_domains": [name for name in fit.domains.index if name not in links],
        "general_weights": "anchor" if same else "own",
    }
    return replace(
        moved,
        items=moved.items.assign(**drift_columns(fit, anchor, links)),
        domains=moved.domains.assign(**item_counts(moved.domains.index, links)),
        info={**fit.info, "anchor": told, "convention": f"{fit.info['convention']}; {CONVENTION}"},
    )


def domain_links(fit: Fit, anchor: Fit, method: Method) -> dict[str, DomainLink]:
    """The links of the domains that can be linked, by name."""
    links = {}
    for name in fit.domains.index.intersection(anchor.domains.index):
        new, old = fit.items.loc[name], anchor.items.loc[name]
        usable = new.index[_informative(new)].intersection(old.index[_informative(old)])
        usable = usable[
            new.loc[usable, "guessing"].to_numpy() == old.loc[usable, "guessing"].to_numpy()
        ]
        if len(usable) < LEAST_ITEMS:
            continue
        populations = population(fit, name), population(anchor, name)
        pair = known_items(new.loc[usable]), known_items(old.loc[usable])
        shared = overlap(fit, anchor, name)
        found = robust_link(method, *pair, populations, FALSE_DISCOVERIES, shared)
        if (~found.drifted).sum() >= LEAST_ITEMS:
            links[name] = DomainLink(usable, found)
    return links


def population(fit: Fit, domain: str) -> Population:
    """Of the models of a fit, on its scale."""
    scale, shift = scale_of(fit)
    place = fit.domains.index.get_loc(domain)
    return Population(float(shift[place]), abs(float(scale[place])))


def scale_of(fit: Fit) -> Link:
    """What carries traits from a fit's own scale to the one it is told on, by domain."""
    if "link_scale" not in fit.domains:
        return Link(np.ones(len(fit.domains)), np.zeros(len(fit.domains)))
    columns = zip(("link_scale", "link_shift"), (1.0, 0.0), strict=True)
    return Link(*(fit.domains[name].fillna(own).to_numpy(np.float64) for name, own in columns))


def overlap(fit: Fit, anchor: Fit, domain: str) -> float:
    """The share of the anchor's models of a domain that took it in the fit too.

    0 where the anchor's items count as known: they have no errors to share.
    """
    if anchor.items.loc[domain, SPREAD].isna().to_numpy().all():
        return 0.0
    answered = (part.traits["answered"].xs(domain, level="domain") for part in (fit, anchor))
    here, there = (part.index[part > 0] for part in answered)
    return float(there.isin(here).mean())


def known_items(table: pd.DataFrame) -> KnownItems:
    """Some rows of `Fit.items` as arrays; variances that are null count as 0."""
    items = Items(*(table[name].to_numpy(np.float64) for name in Items._fields))
    return KnownItems(items, np.nan_to_num(table[SPREAD].to_numpy(np.float64)))


def carried(fit: Fit, links: Mapping[str, Link]) -> Fit:
    """A fit whose traits are theta' = scale theta + shift; domains without a link stay.

    Everything that is in units of a trait follows: items and their covariances, priors of slopes,
    sites, posteriors, centres, loadings and uniquenesses, and the models' composites of traits.
    """
    names, models = fit.domains.index, len(fit.models)
    every = [links.get(name, Link(1.0, 0.0)) for name in names]
    scale, shift = (np.array(part) for part in zip(*every, strict=True))
    before = scale_of(fit)
    known = names.isin(list(links))
    if "link_scale" in fit.domains:
        known |= fit.domains["link_scale"].notna().to_numpy()
    domains = fit.domains.assign(
        uniqueness=fit.domains["uniqueness"] * scale**2,
        slope_mean=fit.domains["slope_mean"] / scale,
        slope_sd=fit.domains["slope_sd"] / np.abs(scale),
        link_scale=np.where(known, before.scale * scale, np.nan),
        link_shift=np.where(known, before.shift * scale + shift, np.nan),
    )
    precision, site_shift = carried_sites(*fit.sites, Link(scale, shift))
    traits = fit.traits.assign(
        mean=fit.traits["mean"] * np.tile(scale, models) + np.tile(shift, models),
        sd=fit.traits["sd"] * np.tile(np.abs(scale), models),
        site_precision=precision.ravel(),
        site_shift=site_shift.ravel(),
    )
    moved = replace(
        fit,
        items=carried_table(fit.items, dict(zip(names, every, strict=True))),
        domains=domains,
        traits=traits,
        representation=fit.representation.mul(scale, axis=0),
    )
    overall = composite(moved, np.full(len(names), 1.0 / len(names)), "overall")
    moved = replace(moved, models=fit.models.assign(**overall))
    return with_general(moved, fit.domains["general_weight"] * np.sign(scale))


def on_own_scale(fit: Fit) -> Fit:
    """A fit whose traits have mean 0 and variance 1 over its own models again."""
    if "link_scale" not in fit.domains:
        return fit
    links = {
        name: Link(1.0 / scale, -shift / scale)
        for name, scale, shift in fit.domains[["link_scale", "link_shift"]].dropna().itertuples()
    }
    return carried(fit, links)


def carried_table(items: pd.DataFrame, links: Mapping[str, Link]) -> pd.DataFrame:
    """`Fit.items` with the traits of every domain carried."""
    every = [links[name] for name in items.index.get_level_values("domain")]
    scale, shift = (np.array(part) for part in zip(*every, strict=True))
    known = known_items(items).carried(Link(scale, shift))
    columns = {
        "slope": known.items.slope,
        "intercept": known.items.intercept,
        "difficulty": items["difficulty"] * scale + shift,
    }
    return items.assign(**columns, **dict(zip(SPREAD, known.covariance.T, strict=True)))


def composite(fit: Fit, weights: Float, name: str) -> dict[str, Float]:
    """Two columns of `Fit.models`: the composite of the traits and its sd, null without data."""
    mean, variance = composite_moments(*fit.sites, fit.prior, weights)
    data = (fit.models["answered"] > 0).to_numpy()
    return {
        name: np.where(data, mean, np.nan),
        f"{name}_sd": np.where(data, np.sqrt(variance), np.nan),
    }


def with_general(fit: Fit, weights: pd.Series) -> Fit:
    """A fit whose general trait is this composite of its traits."""
    share = weights.to_numpy(np.float64)
    data = (fit.models["answered"] > 0).to_numpy()
    traits = trait_means(fit)[data]
    traits = traits - traits.mean(axis=0)
    general = traits @ share
    lengths = np.linalg.norm(traits, axis=0) * np.linalg.norm(general)
    cosine = np.divide(general @ traits, lengths, np.zeros(len(share)), where=lengths > 0.0)
    return replace(
        fit,
        domains=fit.domains.assign(general_weight=share, cosine=np.clip(cosine, -1.0, 1.0)),
        models=fit.models.assign(**composite(fit, share, "general")),
    )


def trait_means(fit: Fit) -> Float:
    """Means of the traits, shape (models, domains)."""
    shape = len(fit.models), len(fit.domains)
    return fit.traits["mean"].to_numpy(np.float64).reshape(shape)


def with_link_errors(fit: Fit, links: Mapping[str, FittedLink]) -> Fit:
    """An anchored fit with the standard errors of its links, and of the scores through them."""
    names = fit.domains.index
    means = trait_means(fit)
    variance = np.full(means.shape, np.nan)
    errors = np.full((len(names), 3), np.nan)
    for t, name in enumerate(names):
        if name in links:
            variance[:, t] = links[name].trait_variance(means[:, t])
            (aa, ab), (_, bb) = links[name].covariance
            errors[t] = np.sqrt(aa), np.sqrt(bb), ab
    columns = ("link_scale_se", "link_shift_se", "link_covariance")
    data = (fit.models["answered"] > 0).to_numpy()
    weights = {
        "overall": np.full(len(names), 1.0 / len(names)),
        "general": fit.domains["general_weight"].to_numpy(np.float64),
    }
    through = {
        f"{name}_link_se": np.where(data, np.sqrt(np.nan_to_num(variance) @ share**2), np.nan)
        for name, share in weights.items()
    }
    return replace(
        fit,
        domains=fit.domains.assign(**dict(zip(columns, errors.T, strict=True))),
        models=fit.models.assign(**through),
        traits=fit.traits.assign(link_se=np.sqrt(variance).ravel()),
    )


def drift_columns(
    fit: Fit, anchor: Fit, links: Mapping[str, DomainLink]
) -> dict[str, npt.NDArray[Any]]:
    """The columns ``drift_p`` and ``drifted`` of the items."""
    p = np.full(len(fit.items), np.nan)
    drifted = other_floor(fit, anchor).to_numpy(bool, copy=True)
    for name, link in links.items():
        places = fit.items.index.get_indexer(link.index(name))
        p[places], drifted[places] = link.found.p, link.found.drifted
    return {"drift_p": p, "drifted": drifted}


def other_floor(fit: Fit, anchor: Fit) -> pd.Series:
    """Which items of a fit have another guessing floor in its anchor."""
    before = anchor.items["guessing"].reindex(fit.items.index)
    return before.notna() & (before != fit.items["guessing"])


def item_counts(names: pd.Index, links: Mapping[str, DomainLink]) -> dict[str, list[int]]:
    """The columns ``linked_items`` and ``drifted_items`` of the domains."""
    drifted = [int(links[name].found.drifted.sum()) if name in links else 0 for name in names]
    compared = [len(links[name].items) if name in links else 0 for name in names]
    linked = [every - some for every, some in zip(compared, drifted, strict=True)]
    return {"linked_items": linked, "drifted_items": drifted}


def _informative(items: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Items whose parameters a fit knows, to some error or without any being stated."""
    parameters = items[["slope", "intercept"]].to_numpy(np.float64)
    variances = items[["slope_variance", "intercept_variance"]].to_numpy(np.float64)
    placed = np.isnan(variances).all(axis=1) | (variances > 0.0).all(axis=1)
    sound = np.isfinite(parameters).all(axis=1) & placed
    return np.asarray(sound & ~(items["constant"] | items["at_limit"]).to_numpy(bool))
