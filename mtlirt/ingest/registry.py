"""The formats there are: entry points of the group ``mtlirt.formats``, ours and those of others."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from mtlirt.errors import InputError
from mtlirt.ingest.ids import show_some
from mtlirt.ingest.locations import Location
from mtlirt.ingest.opening import naming, open_bytes
from mtlirt.ingest.runs import HEAD_BYTES, Format, Role

GROUP = "mtlirt.formats"


@cache
def formats() -> dict[str, Format]:
    """All formats by name.

    Raises
    ------
    InputError
        If one cannot be loaded, or two have one name.
    """
    found: dict[str, Format] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            loaded = entry.load()
        except ImportError as error:
            raise InputError(f"format {entry.name!r} ({entry.value}): {error}") from error
        if entry.name in found:
            raise InputError(f"two installed packages bring a format {entry.name!r}")
        found[entry.name] = loaded()
    return found


def recognise(path: Location, name: str | None = None) -> tuple[Format, Role] | None:
    """The format of a file and what the file is to it; None if it is no log.

    Parameters
    ----------
    name
        The only format to ask; None for all.

    Raises
    ------
    InputError
        If several take the file for theirs.
    """
    with naming(path), open_bytes(path) as file:
        head = file.read(HEAD_BYTES)
    asked = formats().values() if name is None else [formats()[name]]
    found = [(each, role) for each in asked if (role := each.role(path, head)) is not None]
    if len(found) > 1:
        names = show_some([each.name for each, _ in found])
        raise InputError(f"{path}: may be of formats {names}; name the right one with --format")
    return found[0] if found else None
