"""What the manifest of a snapshot says besides its files."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, JsonValue


class RoundSeconds(BaseModel):
    """The timings of the rounds, columns of `Fit.history` that its file is without.

    Attributes
    ----------
    domain_seconds, shared_seconds
        One a round.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    domain_seconds: list[float]
    shared_seconds: list[float]


class SnapshotInfo(BaseModel):
    """The manifest's ``info``.

    Attributes
    ----------
    fit
        `Fit.info`: estimator, options, rank, convergence, log-likelihood and the convention of
        the parameters.
    inputs
        What was fitted: the URL, version and run id of the responses.
    software
        Versions by package.
    seconds
        The timings of the rounds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    fit: dict[str, JsonValue]
    inputs: dict[str, JsonValue]
    software: dict[str, str]
    seconds: RoundSeconds
