"""What a study is asked for."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from mtlirt.errors import InputError
from mtlirt.studies.methods import find_methods
from mtlirt.studies.rows import Row, catalogue, find_rows


@dataclass(frozen=True)
class StudyOptions:
    """What the numbers of a study depend on.

    Attributes
    ----------
    rows, methods
        Their names, as `find_rows` and `find_methods` take them; kept in the order of the table.
    replications
        Data sets that are drawn for each row.
    seed
        Not negative.
    small
        See `mtlirt.studies.rows.catalogue`.
    """

    rows: tuple[str, ...] = ("all",)
    methods: tuple[str, ...] = ("all",)
    replications: int = 20
    seed: int = 0
    small: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", find_rows(self.rows))
        object.__setattr__(self, "methods", find_methods(self.methods))
        if self.replications < 1:
            raise InputError(f"replications {self.replications}: expected 1 or more")
        if self.seed < 0:
            raise InputError(f"seed {self.seed}: expected 0 or more")

    @property
    def chosen(self) -> list[Row]:
        """The rows themselves."""
        rows = catalogue(small=self.small)
        return [rows[name] for name in self.rows]

    def described(self) -> bytes:
        """The options, and the version of this package, as JSON."""
        return json.dumps(asdict(self) | {"mtlirt": version("mtlirt")}, indent=2).encode()


def difference(described: bytes, other: bytes) -> str | None:
    """The first option in which two descriptions differ, told in words; None if in none.

    Raises
    ------
    ValueError
        If one is no description.
    """
    one, two = _read(described), _read(other)
    for name in one | two:
        if one.get(name) != two.get(name):
            return f"{name} {_told(one.get(name))}, not {_told(two.get(name))}"
    return None


def _read(described: bytes) -> dict[str, Any]:
    content = json.loads(described)
    if not isinstance(content, dict):
        raise ValueError("no JSON object")  # noqa: TRY004  (as for what is no JSON at all)
    return content


def _told(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
