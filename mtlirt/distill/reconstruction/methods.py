"""All methods of reconstruction by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from mtlirt.distill.reconstruction.implied import (
    Aipw,
    AipwReconstruction,
    Gpirt,
    GpirtReconstruction,
    Implied,
    ImpliedReconstruction,
    Pirt,
    PirtReconstruction,
)
from mtlirt.distill.reconstruction.linear import Gam, LinearReconstruction, Ridge
from mtlirt.distill.reconstruction.mean import Mean, MeanReconstruction
from mtlirt.distill.reconstruction.reconstruction import Method, Reconstruction
from mtlirt.distill.reconstruction.spline_ridge import SplineRidge, SplineRidgeReconstruction
from mtlirt.errors import InputError

METHODS: dict[str, type[Method]] = {
    "spline-ridge": SplineRidge,
    "gam": Gam,
    "ridge": Ridge,
    "gpirt": Gpirt,
    "pirt": Pirt,
    "implied": Implied,
    "aipw": Aipw,
    "mean": Mean,
}
"""Options of each method, the most accurate first."""

RECONSTRUCTIONS: dict[str, type[Reconstruction]] = {
    "spline-ridge": SplineRidgeReconstruction,
    "gam": LinearReconstruction,
    "ridge": LinearReconstruction,
    "gpirt": GpirtReconstruction,
    "pirt": PirtReconstruction,
    "implied": ImpliedReconstruction,
    "aipw": AipwReconstruction,
    "mean": MeanReconstruction,
}
"""What each method makes."""


def restored(method: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Reconstruction:
    """The reconstruction by this method whose arrays these are.

    Raises
    ------
    InputError
        If there is no such method.
    """
    if method not in RECONSTRUCTIONS:
        raise InputError(f"method {method!r} is not one of {', '.join(RECONSTRUCTIONS)}")
    return RECONSTRUCTIONS[method].from_arrays(arrays)
