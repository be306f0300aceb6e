"""Files behind https:// and hf://: how they are reached, and what went wrong."""

from __future__ import annotations

import sys
import tempfile
from http import HTTPStatus
from typing import Any, BinaryIO, cast

from upath import UPath

from mtlirt.errors import InputError

HTTP = ("http", "https")

TIMEOUTS = {"sock_connect": 10.0, "sock_read": 30.0}
"""Seconds that a server may take to be reached, and to send the next bytes."""

_ABSENT = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)


def http_url(text: str) -> UPath:
    """The location of a file behind ``http://`` or ``https://``.

    Raises
    ------
    InputError
        If it names no server, a folder, or a password.
    """
    scheme, _, rest = text.partition("://")
    host, slash, name = rest.partition("/")
    if "@" in host:
        raise InputError(
            "a URL before whose server stands something, like credentials: servers that ask for "
            "them are not read; download the file"
        )
    if not host or not slash or not name.partition("?")[0].strip("/"):
        raise InputError(f"{text}: names no file, expected {scheme}://SERVER/FILE")
    if name.partition("?")[0].endswith("/"):
        raise InputError(f"{text}: folders behind {scheme}:// cannot be listed; name each file")
    from aiohttp import ClientTimeout

    return UPath(text, client_kwargs={"timeout": ClientTimeout(total=None, **TIMEOUTS)})


def hf_url(text: str) -> UPath:
    """The location of a file or folder on the Hugging Face hub.

    Raises
    ------
    InputError
        If the package that reads it is not installed.
    """
    try:
        url: UPath = UPath(text, use_listings_cache=False)
        url.fs  # noqa: B018  (imports the package)
    except ImportError as error:
        raise InputError(
            f"{text}: needs the package huggingface_hub: pip install 'mtlirt[hf]'"
        ) from error
    return url


def web_errors() -> tuple[type[Exception], ...]:
    """What the clients raise; the hub's package has one of its own, once it is loaded."""
    from aiohttp import ClientError

    clients = (sys.modules.get(name) for name in ("httpx", "httpx2"))
    others = [client.HTTPError for client in clients if client is not None]
    return (OSError, ClientError, ValueError, *others)


def is_absent(error: FileNotFoundError) -> bool:
    """Whether a server said that a file is not there; fsspec says so of all failures."""
    from aiohttp import ClientResponseError

    cause = error.__cause__
    if isinstance(cause, ClientResponseError):
        return cause.status in _ABSENT
    return not isinstance(cause, web_errors()) or isinstance(cause, FileNotFoundError)


def explained(error: BaseException) -> str:
    """What to do in one line."""
    from aiohttp import ClientConnectorError, ClientResponseError

    while isinstance(error, FileNotFoundError) and error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, ClientResponseError):
        return f"the server answers {error.status} {error.message}: correct the URL, or run again"
    if isinstance(error, TimeoutError):
        return "the server does not answer in time: check the network, run again"
    if isinstance(error, ClientConnectorError):
        return f"cannot reach the server: check the URL and the network ({_one_line(error)})"
    return f"no whole answer from the server: check the network, run again ({_one_line(error)})"


def download(url: UPath) -> BinaryIO:
    """All of a file whose server does not give parts of files, in a temporary file."""
    file = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115  (closed by who reads it)
    filesystem: Any = url.fs
    filesystem.get_file(url.path, file)
    file.seek(0)
    return file


def _one_line(error: BaseException) -> str:
    return " ".join((str(error) or type(error).__name__).split())[:300]
