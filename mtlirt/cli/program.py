"""Run a study's script like a verb: its errors on one line, and its exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import typer

from mtlirt.cluster.errors import ClusterError
from mtlirt.errors import InputError
from mtlirt.storage.errors import StorageError


def run_program(main: Callable[..., None], name: str, arguments: Sequence[str]) -> int:
    """Run a typer command on some arguments.

    Returns
    -------
    int
        The exit status: 0 done, 1 a failure while running, 2 bad use or bad input; 130 where the
        user interrupted it.
    """
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command()(main)
    try:
        status = app(list(arguments), prog_name=name, standalone_mode=False)
    except typer.TyperException as error:
        return _fail(name, error.format_message(), 2)
    except InputError as error:
        return _fail(name, str(error), 2)
    except (StorageError, ClusterError, OSError) as error:
        return _fail(name, str(error), 1)
    return status if isinstance(status, int) else 0


def whole_numbers(what: str, text: str) -> tuple[int, ...]:
    """Whole numbers by commas.

    Raises
    ------
    InputError
        If the text is something else; names what it is of.
    """
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{what} {text!r}: expected whole numbers, by commas") from None


def _fail(name: str, message: str, status: int) -> int:
    print(f"{name}: error: {' '.join(message.split())}", file=sys.stderr)
    return status
