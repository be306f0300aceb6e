"""The program ``mtlirt``: its verbs, and what becomes of errors."""

from __future__ import annotations

import io
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated

import typer

from mtlirt.cli.adaptive import adaptive
from mtlirt.cli.diagnose import diagnose
from mtlirt.cli.distill import distill
from mtlirt.cli.fit import fit
from mtlirt.cli.ingest import ingest
from mtlirt.cli.leaderboard import leaderboard
from mtlirt.cli.reconstruct import reconstruct
from mtlirt.cli.report import report
from mtlirt.cli.run import run_job
from mtlirt.cli.score import score
from mtlirt.cli.simulate import simulate
from mtlirt.cli.snapshots import snapshots
from mtlirt.cluster.errors import ClusterError
from mtlirt.errors import InputError
from mtlirt.storage.errors import StorageError

DONE, FAILED, BAD_USE = 0, 1, 2

TRACEBACKS_OF_DASK = ("distributed.client", "distributed.worker")
"""Loggers that tell of failures which also end the program."""


@dataclass
class Settings:
    """Options that stand before the verb."""

    debug: bool = False


app = typer.Typer(
    name="mtlirt",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(simulate)
app.command()(ingest)
app.command()(fit)
app.command()(score)
app.command()(adaptive)
app.command()(leaderboard)
app.command()(report)
app.command()(diagnose)
app.command()(distill)
app.command()(reconstruct)
app.command("run")(run_job)
app.add_typer(snapshots, name="snapshots")


def main() -> None:
    """Run the program on its arguments and end it."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run the program on some arguments.

    Returns
    -------
    int
        The exit status: 0 done, 1 a failure while running, 2 bad use or bad input; 130 where
        the user interrupted it.
    """
    settings = Settings()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what it cannot encode is written with escapes
            stream.reconfigure(errors="backslashreplace")
    try:
        _check_unicode(arguments)
        status = app(list(arguments), prog_name="mtlirt", standalone_mode=False, obj=settings)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except typer.TyperException as error:
        _tell(error, error.format_message(), settings)
        return BAD_USE
    except InputError as error:
        _tell(error, str(error), settings)
        return BAD_USE
    except (StorageError, ClusterError, OSError) as error:
        _tell(error, str(error), settings)
        return FAILED
    except MemoryError as error:
        told = "out of memory: give it more, or look for a file of one huge line"
        _tell(error, told, settings)
        return FAILED
    return status if isinstance(status, int) else DONE


def _check_unicode(arguments: Sequence[str]) -> None:
    """Refuse bytes that are no text: nothing that is written could hold them."""
    for argument in arguments:
        if not argument.isprintable() and any(
            "\ud800" <= letter <= "\udfff" for letter in argument
        ):
            raise InputError(f"argument {argument!r} is not UTF-8 text; rename what it names")


def _tell(error: BaseException, message: str, settings: Settings) -> None:
    """Print an error: one line, after its traceback if asked for."""
    if settings.debug:
        traceback.print_exception(error)
    print(f"mtlirt: error: {' '.join(message.split())}", file=sys.stderr)


def _without_traceback(record: logging.LogRecord) -> bool:
    """Whether a record has none; what failed is told in the end anyway."""
    return record.exc_info is None and "Traceback" not in record.getMessage()


def _print_version(asked: bool) -> None:
    if asked:
        print(f"mtlirt {version('mtlirt')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001  (its callback does the work)
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Item response theory for leaderboards: item-level results of many LLMs to scores."""
    context.obj.debug = debug
    if not debug:
        for name in TRACEBACKS_OF_DASK:
            logging.getLogger(name).addFilter(_without_traceback)
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(BAD_USE)
