"""What verbs say on standard error while they run: warnings and progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtlirt.engine.events import Event, Listener


def warn(message: str) -> None:
    """Print a warning."""
    print(f"mtlirt: warning: {message}", file=sys.stderr)


@contextmanager
def fit_progress() -> Iterator[Listener]:
    """A listener that shows a fit's progress."""
    with stages() as show:
        yield lambda event: show(progress_line(event))


@contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Show lines about what is being done: on a terminal in place, elsewhere one by one."""
    if not sys.stderr.isatty():
        yield lambda line: print(line, file=sys.stderr, flush=True)
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting", total=None)
        yield lambda line: progress.update(task, description=line)


def progress_line(event: Event) -> str:
    """An event on one line."""
    from mtlirt.engine.events import PathEvent, ResumeEvent

    if isinstance(event, ResumeEvent):
        if event.rounds is None:
            return "nothing to go on with: beginning anew"
        return f"going on after round {event.rounds}" if event.rounds else "going on before round 1"
    if isinstance(event, PathEvent):
        return f"fold {event.fold}: penalty {event.penalty:g}, held-out loss {event.loss:.5f}"
    return f"round {event.number}: change {event.change:.1e}, objective {event.objective:,.2f}"
