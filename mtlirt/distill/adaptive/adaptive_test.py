"""A test of one new model that an evaluation harness drives."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from mtlirt.distill.adaptive.bank import ItemBank, ItemId
from mtlirt.distill.adaptive.belief import Belief
from mtlirt.distill.adaptive.target import Target
from mtlirt.engine.options import whole_number
from mtlirt.errors import InputError
from mtlirt.result import Fit, check_named

Reason = Literal["standard error", "max items", "items used up"]


class Overall(NamedTuple):
    """The mean of a model's traits, with the standard deviation of its posterior."""

    mean: float
    sd: float


class AdaptiveTest:
    """Picks a new model's next item by its answers so far, in all domains at once.

    Each item is the one whose answer is expected to lessen the target's variance most, through the
    joint posterior of all traits: an answer in one domain tells of the others as far as the fit
    found that they share. The posterior is that of `mtlirt.score`.

    Parameters
    ----------
    fit
        By estimator `marginal` or `separate`: from `mtlirt.fit` or `mtlirt.load`. Several tests may
        share an `ItemBank` made of it, whose own `borrow` counts.
    target
        "domains": the mean over domains of the trait's variance; "overall": the variance of the
        mean of the traits; or the name of a domain. Flat domains are no part of "domains".
    standard_error
        The test is done when the target's standard error is at most this: for "domains" the *mean*
        of the domains' standard errors (single ones may be larger).
    max_items
        The most items to answer, those of an earlier log among them; None is all.
    batch
        How many items `next` gives at a time.
    borrow
        False takes every domain by itself: each trait has the prior N(0, 1), and with target
        "domains" a domain is asked until *its* standard error is reached.
    items
        (domain, item_id) that may be asked; None is all. Constant items never are.

    Raises
    ------
    InputError
        If the fit's traits have no posterior, or an option is none of those named.

    Notes
    -----
    The same answers give the same next items: nothing is random, and of equals the first in the
    fit's table is asked. A step costs items x 17 exponentials, and messages between
    domains until they settle: 4 ms for 22,550 items in 6 domains.
    """

    def __init__(
        self,
        fit: Fit | ItemBank,
        target: str = "domains",
        standard_error: float = 0.30,
        max_items: int | None = None,
        batch: int = 1,
        borrow: bool = True,
        items: Collection[ItemId] | None = None,
    ) -> None:
        if not 0.0 < standard_error < np.inf:
            raise InputError(f"standard_error {standard_error}: expected a number above 0")
        whole_number("max_items", max_items)
        whole_number("batch", batch)
        self._bank = bank = fit if isinstance(fit, ItemBank) else ItemBank.of(fit, borrow)
        self._belief = Belief(bank)
        self._target = Target.of(bank, target, standard_error)
        self._max_items, self._batch = max_items, batch
        self._open = bank.useful.copy()
        if items is not None:
            asked = np.zeros(len(self._open), bool)
            asked[[bank.places[one] for one in check_named(items, bank.places, "item")]] = True
            self._open &= asked
        self._answered = np.zeros(len(self._open), bool)
        self._unmet = self._target.unmet(self._belief)

    def next(self) -> list[ItemId]:
        """The next items to ask, (domain, item_id) each; none when the test is done.

        Asking again without an answer gives the same ones.
        """
        if self.reason is not None:
            return []
        count = self._batch
        if self._max_items is not None:
            count = min(count, self._max_items - int(self._answered.sum()))
        return [self._bank.ids[number] for number in self._chosen(count)]

    def answer(self, answers: Mapping[ItemId, int]) -> None:
        """Take in answers: (domain, item_id) -> 1 right, 0 wrong; also to items not asked for.

        Raises
        ------
        InputError
            If an item is unknown or answered already, or a value is neither 0 nor 1; then none of
            the answers is taken in.
        """
        found = []
        for one, value in answers.items():
            number = self._bank.places.get(one)
            if number is None:
                raise InputError(f"item {one!r} is not among those of the fit")
            if self._answered[number]:
                raise InputError(f"item {one!r} is answered already")
            if not (isinstance(value, int | float | np.number | np.bool_) and value in (0, 1)):
                raise InputError(f"the answer to item {one!r} is {value!r}, expected 0 or 1")
            found.append((number, bool(value)))
        if not found:
            return
        self._belief.add(found)
        self._answered[[number for number, _ in found]] = True
        self._unmet = self._target.unmet(self._belief)

    @property
    def scores(self) -> pd.DataFrame:
        """The traits so far: index ``domain``; ``mean``, ``sd``, ``answered``, ``borrowed``.

        As `mtlirt.score` gives them for the same answers (to 1e-6); before any, the prior's.
        """
        told, counts = self._belief.told(), [len(given) for given in self._belief.given]
        return pd.DataFrame(
            {
                "mean": told.mean,
                "sd": told.sd,
                "answered": counts,
                "borrowed": [count == 0 for count in counts],
            },
            index=pd.Index(self._bank.domains, name="domain"),
        )

    @property
    def overall(self) -> Overall:
        """The mean of the traits so far, as `scores`."""
        told = self._belief.told()
        return Overall(told.overall, told.overall_sd)

    @property
    def done(self) -> bool:
        """Whether there is nothing more to ask."""
        return self.reason is not None

    @property
    def reason(self) -> Reason | None:
        """Why the test is done, None while it is not."""
        if not self._unmet.any():
            return "standard error"
        if self._max_items is not None and self._answered.sum() >= self._max_items:
            return "max items"
        if not self._candidates().any():
            return "items used up"
        return None

    def _candidates(self) -> npt.NDArray[np.bool_]:
        """Items that may be asked next."""
        return self._open & ~self._answered & self._unmet[self._bank.domain_of]

    def _chosen(self, count: int) -> list[int]:
        """Numbers of the next items: each the best once those before it are answered.

        By the precision that its answer is expected to add to its trait, the joint posterior of
        all traits sharpens, and the target with it.
        """
        bank, belief, candidates = self._bank, self._belief, self._candidates()
        left: list[list[tuple[float, int]]] = []
        for t, part in enumerate(bank.parts):
            numbers = part.start + np.flatnonzero(candidates[part])
            precision = belief.expected_precision(t, numbers)
            first = _largest(precision, count)[::-1]
            left.append(list(zip(precision[first].tolist(), numbers[first].tolist(), strict=True)))
        covariance = belief.covariance(self._target.overall)
        chosen: list[int] = []
        while len(chosen) < count and any(left):
            there = np.array([bool(some) for some in left])
            precision = np.array([some[-1][0] if some else 0.0 for some in left])
            weight = precision / (1.0 + precision * np.diag(covariance))
            lessened = weight * self._target.sensitivity(covariance)
            best = int(np.argmax(np.where(there, lessened, -1.0)))
            chosen.append(left[best].pop()[1])
            column = covariance[:, best]
            covariance = covariance - weight[best] * np.outer(column, column)
        return chosen


def _largest(values: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.intp]:
    """Where the so many largest values are, falling; of equals the first."""
    if count < len(values):
        least = np.partition(values, len(values) - count)[len(values) - count]
        some = np.flatnonzero(values >= least)
    else:
        some = np.arange(len(values))
    return some[np.argsort(-values[some], kind="stable")[:count]]
