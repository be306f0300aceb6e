"""What a distilled benchmark learns of some models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Answers:
    """Responses of models to the chosen items, and what they say of their traits.

    Training and new models alike have the traits that `mtlirt.score` gives them with the items of
    the refit: there is one way to score.

    Attributes
    ----------
    responses
        Shares of right answers in [0, 1], nan where missing, shape (models, chosen items).
    domain
        The number of each chosen item's domain, shape (chosen items,).
    traits, trait_sd
        Posterior means and sds given these responses, shape (models, domains).
    """

    responses: Float
    domain: npt.NDArray[np.intp]
    traits: Float
    trait_sd: Float

    def of(self, models: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Answers:
        """These models only."""
        return Answers(
            self.responses[models], self.domain, self.traits[models], self.trait_sd[models]
        )
