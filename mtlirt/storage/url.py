"""URLs that name a version."""

from __future__ import annotations

import re

from mtlirt.errors import InputError


def split_version(url: str) -> tuple[str, int | None]:
    """Take the version off a ``URL@VERSION``.

    Parameters
    ----------
    url
        A local path or URL. Only ``@`` and digits at the very end are a version.

    Returns
    -------
    url, version
        The URL without its version; None where it names none.
    """
    match = re.fullmatch(r"(.+)@([0-9]+)", url, flags=re.DOTALL)
    if match is None:
        return url, None
    version = int(match[2])
    if version < 1:
        raise InputError(f"{url}: there is no version {version}; versions count from 1")
    return match[1], version
