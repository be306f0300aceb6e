"""What a fit is: one frozen set of tables, which snapshots store and scores read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.errors import InputError
from mtlirt.irt.prediction import predicted
from mtlirt.irt.representation import Representation


@dataclass(frozen=True)
class Fit:
    """A fitted model as tables.

    Traits have mean 0 and standard deviation 1 over the models of the fit, in every domain (in an
    anchored fit: on the scale of its anchor), and
    point up where the domain's mean slope is positive, or, where its items leave that open, where
    they agree with the other domains'. P(correct) = guessing + (1 - guessing)
    sigma(slope x trait + intercept), without 1.702.

    Attributes
    ----------
    items
        Index (domain, item_id). ``slope``, ``intercept``, ``guessing`` (the known lower
        asymptote, as given), ``difficulty`` (-intercept/slope, null where the slope is near 0),
        ``slope_variance``, ``slope_intercept_covariance``,
        ``intercept_variance`` (as if the traits were known), ``slope_se``, ``intercept_se``
        (standard errors by the observed information: the traits are found from the same
        responses), ``answered`` (models), ``successes``, ``attempts``, ``constant`` (all its takers
        alike: held at slope 0, uninformative), ``at_limit``, ``component`` (of the models that
        count and answered it; null without any, and in snapshots that do not say).
    domains
        Index domain. ``items``, ``models`` (takers), ``uniqueness``, ``pooling`` ("joint": its
        items and traits were found together with those of other joint domains; "own": its items,
        and the traits of models that took it, by its own responses alone; traits of models that
        did not take a domain, and overall ones, are expected from all domains either way),
        ``sign_borrowed`` (its items do not tell which end of its trait is up, the other domains
        do), ``slope_mean``, ``slope_sd`` (the learned prior; null without priors), ``weak``
        (fewer than 3 informative items),
        ``flat`` (its responses speak against any trait behind them: slopes held at 0),
        ``general_weight`` (of its trait in the general one; 0 for weak and flat domains beside
        others), ``cosine`` (of the angle between the two over the models), ``fused`` (estimator
        `joint`: its trait is the general one).
    models
        Index model_id. ``answered`` (cells), ``domains`` (taken), ``overall`` and ``overall_sd``
        (equal weights over domains, from the joint posterior; null for a model without data),
        ``general`` and ``general_sd`` (the sine median of the domains' traits, norm sqrt(models);
        its sd with the median's weights taken as known), ``weight`` (what the model counted in
        sums over models), ``component`` (models of different ones share no item, directly or
        through a chain, and are never ranked against each other; 1 is the largest, null without
        data, and in snapshots that do not say; models of weight 0 tie no others: one that answered
        items of several is of a further one, with those that answered items of the same).
        Estimator `joint` and its like have no sds, and their overall trait is the general one;
        models left out have none.
    traits
        Index (model_id, domain). ``mean``, ``sd``, ``site_precision``, ``site_shift`` (what the
        domain's own responses say), ``answered``, ``borrowed`` (no response in this domain: the
        score comes from the others), ``correct`` and ``attempts`` (right answers, of so many;
        null in snapshots that do not say).
    representation
        Index domain; columns factor_1 .. factor_r: the loadings.
    history
        One row a round.
    info
        Estimator, options, rank, rounds, converged (the items), settled (the traits), the
        log-likelihood, the seed of the orders that rank intervals are drawn from, and the
        convention of the parameters.
    path
        Estimator `joint` with cross-validation: one row a penalty; ``loss``, ``loss_se``,
        ``fused``, ``chosen``, see `engine.crossvalidate.Path`. Else None.

    Notes
    -----
    A fit that was put on the scale of an anchor, see `mtlirt.scores.linking`, has more columns:

    * ``items``: ``drift_p``, the probability of a difference from the anchor's item as large as
      this one's if it did not drift (null where it was not compared), and ``drifted``: it was left
      out of the link, or its known guessing floor is another one.
    * ``domains``: ``link_scale``, ``link_shift``: trait = link_scale x trait of the fit by itself
      + link_shift; their standard errors ``link_scale_se``, ``link_shift_se`` and
      ``link_covariance``; null where a domain is not linked: its traits are on the fit's own scale.
      ``linked_items``, ``drifted_items``.
    * ``models``: ``overall_link_se``, ``general_link_se``, and ``traits``: ``link_se``: standard
      errors that the links give to the scores. All models share them; they are not part of the
      sds.
    """

    items: pd.DataFrame
    domains: pd.DataFrame
    models: pd.DataFrame
    traits: pd.DataFrame
    representation: pd.DataFrame
    history: pd.DataFrame
    info: Mapping[str, Any]
    path: pd.DataFrame | None = None

    @property
    def prior(self) -> Representation:
        """The normal prior that ties the domains' traits, as arrays."""
        centre = np.zeros(len(self.domains))
        if "link_shift" in self.domains:
            centre = self.domains["link_shift"].fillna(0.0).to_numpy(dtype=np.float64).copy()
        return Representation(
            centre,
            np.ascontiguousarray(self.representation.to_numpy(dtype=np.float64)),
            self.domains["uniqueness"].to_numpy(dtype=np.float64).copy(),
        )

    @property
    def sites(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Precisions and shifts of the domains' messages, shape (models, domains) each."""
        shape = len(self.models), len(self.domains)
        precision, shift = (
            np.ascontiguousarray(self.traits[name].to_numpy().reshape(shape))
            for name in ("site_precision", "site_shift")
        )
        return precision, shift

    def check_posterior(self, needed_for: str) -> None:
        """Refuse a fit whose traits have no posterior.

        Raises
        ------
        InputError
            If its estimator gives none.
        """
        if self.domains["uniqueness"].isna().any():
            raise InputError(
                f"{needed_for}: estimator {self.info['estimator']!r} has no posterior of the "
                "traits; fit by 'marginal' or 'separate'"
            )

    def predict(
        self,
        models: Sequence[str] | None = None,
        items: Sequence[tuple[str, str]] | None = None,
        *,
        level: float = 0.95,
    ) -> pd.DataFrame:
        """How probable it is that models answer items right, whether or not they were asked.

        Parameters
        ----------
        models
            Ids; None is all.
        items
            (domain, item_id) each; None is all.
        level
            Of the intervals.

        Returns
        -------
        pandas.DataFrame
            Index (model_id, domain, item_id). ``probability``: over the posteriors of the trait
            and of the item's parameters; ``lower``, ``upper``: its values at the ends of the
            logit's interval. Null for a model without data. A row for each pair: 10^8 of them
            take some 5 GB.

        Raises
        ------
        InputError
            If a model or item is unknown or named twice, the level is not between 0 and 1, or the
            estimator gives no posterior.
        """
        check_level(level)
        self.check_posterior("predicted answers")
        ids = _known(self.models.index, models, "model")
        pairs = _known(self.items.index, items, "item")
        table, domains = self.items.loc[pairs], pairs.get_level_values("domain")
        shape = len(self.models), len(self.domains)
        rows = self.models.index.get_indexer(ids)[:, None]
        columns = self.domains.index.get_indexer(domains)
        mean, sd = (
            self.traits[name].to_numpy(np.float64).reshape(shape)[rows, columns]
            for name in ("mean", "sd")
        )
        covariance = ["slope_variance", "slope_intercept_covariance", "intercept_variance"]
        slope, intercept, guessing = (
            table[name].to_numpy(np.float64) for name in ("slope", "intercept", "guessing")
        )
        spread = table[covariance].to_numpy(np.float64)
        found = predicted(mean, sd, slope, intercept, guessing, spread, level)
        again = np.tile(np.arange(len(pairs)), len(ids))
        index = pd.MultiIndex.from_arrays(
            [
                ids.repeat(len(pairs)),
                domains[again],
                pairs.get_level_values("item_id")[again],
            ],
            names=["model_id", "domain", "item_id"],
        )
        return pd.DataFrame({name: part.ravel() for name, part in found._asdict().items()}, index)


def check_level(level: object) -> None:
    """Refuse what is not the level of an interval.

    Raises
    ------
    InputError
        If it is no number between 0 and 1, or too near to either to tell.
    """
    if not isinstance(level, Real) or not 0.5 < 0.5 + 0.5 * float(level) < 1.0:
        raise InputError(f"level {level} is not between 0 and 1")


def check_named(asked: Iterable[Any], known: Collection[Any], kind: str) -> list[Any]:
    """The models or items that are asked for, as a list.

    Raises
    ------
    InputError
        If one is unknown, or named twice.
    """
    if isinstance(asked, str) or not isinstance(asked, Iterable):
        raise InputError(f"{kind}s {asked!r}: expected a list of them")
    named: dict[Any, None] = {}
    for given in asked:
        one = tuple(given) if isinstance(given, list) else given
        if not isinstance(one, str | tuple) or one not in known:
            raise InputError(f"{kind} {one!r} is not among the {len(known)} known ones")
        if one in named:
            raise InputError(f"{kind} {one!r} is named twice")
        named[one] = None
    return list(named)


def _known(index: pd.Index, asked: Iterable[Any] | None, kind: str) -> pd.Index:
    """Those of an index that are asked for, in that order; all of them by default."""
    if asked is None:
        return index
    places = {one: k for k, one in enumerate(index)}
    return index[[places[one] for one in check_named(asked, places, kind)]]


@dataclass(frozen=True)
class Scores:
    """Models scored with frozen items.

    Attributes
    ----------
    models, traits
        As in `Fit`, but without weights; ``component`` is that of the fit whose items a model
        answered.
    info
        What was scored against what: the estimate, items used, items unknown, items not asked.
    """

    models: pd.DataFrame
    traits: pd.DataFrame
    info: Mapping[str, Any]
