"""What a test is to find out: the score whose error it lessens, and when that is small enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mtlirt.distill.adaptive.bank import ItemBank
from mtlirt.distill.adaptive.belief import Belief
from mtlirt.errors import InputError

Float = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Target:
    """A score, and its standard error to reach.

    Attributes
    ----------
    directions
        Rows b: the mean squared error is the sum of the variances of b'theta, theta on the fit's
        own scale, shape (scores, domains).
    members
        Domains whose standard errors count, shape (domains,); none for the overall trait.
    each
        Whether each of them must have the standard error, not their mean.
    standard_error
        What is to be reached.
    """

    directions: Float
    members: Flags
    each: bool
    standard_error: float

    @classmethod
    def of(cls, bank: ItemBank, name: str, standard_error: float) -> Target:
        """The target of a name.

        Raises
        ------
        InputError
            If there is none of that name, or it has no trait to find.
        """
        domains = bank.domains
        if name == "domains":
            members = ~bank.flat
        elif name == "overall":
            members = np.zeros(len(domains), bool)
        elif name in domains:
            members = np.array(domains) == name
        else:
            known = ", ".join(["domains", "overall", *domains])
            raise InputError(f"target {name!r} is not one of {known}")
        if name != "overall" and not (members & ~bank.flat).any():
            raise InputError(f"target {name!r}: its items tell no models apart")
        scale = bank.scale.scale
        if name == "overall":
            directions = scale[None] / len(domains)
        else:
            directions = np.diag(scale)[members] / np.sqrt(members.sum())
        return cls(directions, members, name == "domains" and not bank.borrow, standard_error)

    @property
    def overall(self) -> bool:
        """Whether it is the mean of all traits."""
        return not self.members.any()

    def unmet(self, belief: Belief) -> Flags:
        """Domains that may be asked about still; none where the standard error is reached.

        Items' uncertainty counts. It only adds to standard errors, so it is looked at last.
        """
        everywhere = np.ones(len(self.members), bool)
        if self.overall:
            spread = self.directions @ belief.covariance(True) @ self.directions.T
            met = bool(spread[0, 0] <= self.standard_error**2)
            return everywhere & (not met or belief.told().overall_sd > self.standard_error)
        sd = np.sqrt(belief.variance) * np.abs(belief.bank.scale.scale)
        if self._left(sd).all():
            return everywhere
        borrowed = belief.bank.alone & ~belief.taken
        return self._left(np.where(borrowed, sd, belief.told().sd))

    def _left(self, sd: Float) -> Flags:
        """Domains that are not done where the traits have such standard errors."""
        if self.each:
            return np.asarray(self.members & (sd > self.standard_error))
        mean = float(sd[self.members].mean())
        return np.full(len(sd), mean > self.standard_error)

    def sensitivity(self, covariance: Float) -> Float:
        """By how much less the error is for each unit of precision of a trait: (domains,)."""
        return np.asarray(np.square(self.directions @ covariance).sum(axis=0))
