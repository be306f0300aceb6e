"""What a job file may say."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from mtlirt.cluster.launch import ClusterOptions, memory_bytes
from mtlirt.distill.options import DistillOptions
from mtlirt.distill.split import SplitBy
from mtlirt.engine.options import PENALTIES, Estimator, FitOptions, LambdaScaling

Url = Annotated[str, Field(pattern=r"^[^\x00-\x1f]+$")]


def as_bytes(value: object) -> object:
    """Bytes of a text such as "2GiB"; anything else as it is."""
    return memory_bytes(value) if isinstance(value, str) else value


class Table(BaseModel):
    """A table of a job file: unknown keys and values of other types are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class ResponsesTable(Table):
    """``[responses]``: what is fitted.

    Attributes
    ----------
    url
        A response store; ``URL@VERSION`` names a version, a URL alone the latest.
    deweight_clones
        Fit twice: the second time a group of models that answered alike counts as one.
    """

    url: Url
    deweight_clones: bool = False


class FitTable(Table):
    """``[fit]``: how; see `mtlirt.engine.options.FitOptions`."""

    estimator: Estimator = "marginal"
    rank: Any = "auto"
    priors: bool = True
    penalty: Any = "cv"
    penalties: Annotated[tuple[float, ...], Field(strict=False)] = PENALTIES
    folds: int = 5
    lambda_scaling: LambdaScaling = "common"
    complete_models: bool = False
    tolerance: float = 1e-3
    max_rounds: int = 200
    adapt: bool = True

    @property
    def options(self) -> FitOptions:
        """The options of the fit."""
        return FitOptions(**self.model_dump())

    @model_validator(mode="after")
    def _check_values(self) -> Self:
        _ = self.options
        return self


class ClusterTable(Table):
    """``[cluster]``: where; see `mtlirt.cluster.launch.ClusterOptions`."""

    scheduler: Url | None = None
    workers: int | None = None
    threads: int | None = None
    processes: bool = True
    memory_limit: Annotated[int, BeforeValidator(as_bytes)] | None = None

    @property
    def options(self) -> ClusterOptions:
        """The options of the cluster."""
        return ClusterOptions(**self.model_dump())

    @model_validator(mode="after")
    def _check_values(self) -> Self:
        _ = self.options
        return self


class SnapshotsTable(Table):
    """``[snapshots]``: where the fit is published.

    Attributes
    ----------
    url
        A root of snapshots, without a version; it may be new.
    warm_start
        Start from the latest snapshot there, if there is one.
    anchor
        Put the fit on the scale of this version of the snapshots there.
    """

    url: Url
    warm_start: bool = False
    anchor: Annotated[int, Field(ge=1)] | None = None


class StoreTable(Table):
    """``[responses]`` of a distillation: ``URL@VERSION``, or a URL alone for the latest version."""

    url: Url


class DistilledTable(Table):
    """``[distilled]``: where the sparse benchmark is published, a URL without a version."""

    url: Url


class DistillTable(Table):
    """``[distill]``: how; see `mtlirt.distill.options.DistillOptions`."""

    items: Annotated[tuple[int, ...], Field(strict=False)]
    rmse: float | None = None
    selections: Annotated[tuple[str, ...], Field(strict=False)] = ("greedy",)
    reconstruction: str = "spline-ridge"
    test_share: float = 0.1
    split: SplitBy = "score"
    time_column: str | None = None
    group_column: str | None = None
    folds: int = 5
    keep_negative: bool = False
    level: float = 0.95
    seed: int = 0

    @property
    def options(self) -> DistillOptions:
        """The options of the distillation."""
        named = self.model_dump(exclude={"items", "test_share"})
        return DistillOptions(counts=self.items, share=self.test_share, **named)

    @model_validator(mode="after")
    def _check_values(self) -> Self:
        _ = self.options
        return self


class DistillJob(Table):
    """A job of kind ``distill``: make a sparse benchmark from the responses of a store."""

    kind: Literal["distill"]
    responses: StoreTable
    distill: DistillTable
    cluster: ClusterTable = ClusterTable()
    distilled: DistilledTable


class RefitJob(Table):
    """A job of kind ``refit``: fit the responses of a store and publish the fit."""

    kind: Literal["refit"]
    responses: ResponsesTable
    fit: FitTable = FitTable()
    cluster: ClusterTable = ClusterTable()
    snapshots: SnapshotsTable


JOBS: dict[str, type[RefitJob] | type[DistillJob]] = {"refit": RefitJob, "distill": DistillJob}
"""The jobs by their kinds."""
