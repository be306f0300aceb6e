"""What is stored as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy.typing as npt


@dataclass(frozen=True)
class Stored:
    """All fields are arrays, and all that is to be stored."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The fields by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """The object whose `arrays` these are; others are passed over."""
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})
