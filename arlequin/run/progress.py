"""Progress bars on stderr, shown on terminals only."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Self

from arlequin.models.phases import listening

if TYPE_CHECKING:
    from rich.progress import ProgressColumn


class _TerminalBar:
    """Base class of progress bars, which are context managers."""

    def __init__(self, *columns: ProgressColumn, **options: Any) -> None:
        from rich.console import Console
        from rich.progress import Progress

        # a process without a terminal may have no error stream at all
        shown = sys.stderr is not None and sys.stderr.isatty()
        self._progress = Progress(*columns, console=Console(stderr=True), disable=not shown, **options)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()


class ProgressBar(_TerminalBar):
    """Called as `bar(done, total)`; with rate and remaining time; phases of the set-up by name.

    with ProgressBar("bar_wall") as bar:
        simulate(system, scheme, duration=1e-4, step=1e-7, progress=bar)
    """

    def __init__(self, title: str = "", unit: str = "steps", begin: int = 0) -> None:
        """begin: steps done before, excluded from the rate."""
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}", markup=False),
            TimeRemainingColumn(elapsed_when_finished=True),
        )
        self._unit, self._begin = unit, begin
        self._task = self._progress.add_task(title, total=None, rate="")
        self._phases = nullcontext() if self._progress.disable else listening(self.phase)

    def __enter__(self) -> Self:
        self._phases.__enter__()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._phases.__exit__(None, None, None)

    def phase(self, name: str) -> None:
        """Show a phase of the set-up in place of the rate."""
        self._progress.update(self._task, rate=name)
        self._progress.refresh()  # compiled code may keep the display from being refreshed for a while

    def __call__(self, done: int, total: int) -> None:
        elapsed = self._progress.tasks[0].elapsed
        rate = f"{(done - self._begin) / elapsed:,.0f} {self._unit}/s" if elapsed else ""
        self._progress.update(self._task, completed=done, total=total, rate=rate)


class PointsBar(_TerminalBar):
    """Called as `bar(done, failed, total)` of a sweep."""

    def __init__(self, title: str = "") -> None:
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[counts]}", markup=False),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            speed_estimate_period=3600.0,  # points may take minutes
        )
        self._title = title

    def __call__(self, done: int, failed: int, total: int) -> None:
        counts = f"{done - failed} done, {failed} failed, {total - done} remaining"
        if not self._progress.tasks:  # points of an earlier session do not count for the rate
            self._progress.add_task(self._title, total=total, completed=done, counts=counts)
        self._progress.update(self._progress.tasks[0].id, completed=done, counts=counts)
