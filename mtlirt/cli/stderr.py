"""What verbs say on standard error while they run: warnings and progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtlirt.engine.events import RoundEvent


def warn(message: str) -> None:
    """Print a warning."""
    print(f"mtlirt: warning: {message}", file=sys.stderr)


@contextmanager
def round_progress() -> Iterator[Callable[[RoundEvent], None]]:
    """A listener that shows rounds: on a terminal in place, elsewhere as one line each."""
    if not sys.stderr.isatty():
        yield lambda event: print(round_line(event), file=sys.stderr, flush=True)
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting", total=None)
        yield lambda event: progress.update(task, description=round_line(event))


def round_line(event: RoundEvent) -> str:
    """A round on one line."""
    return f"round {event.number}: change {event.change:.1e}, objective {event.objective:,.2f}"
