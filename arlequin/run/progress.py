"""Progress bars: on stderr where it is a terminal, and in notebooks."""

from __future__ import annotations

import html
import math
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Self

from arlequin.models.parallel.ranks import ranks
from arlequin.models.phases import listening

if TYPE_CHECKING:
    from rich.progress import ProgressColumn


Progress = Callable[[int, int], None]

DELAY = 1.0  # s, after which a run shows a bar by default


@contextmanager
def reporting(progress: Progress | bool | None, title: str) -> Iterator[Progress | None]:
    """Context that yields the function that a run calls as progress(done, total), or None.

    progress: a function; True for a bar, False for none; None for a bar after `DELAY` in interactive sessions. On
    several ranks only the first one reports.
    """
    if not ranks().root:
        yield None
    elif callable(progress):
        yield progress
    elif progress:
        with ProgressBar(title) as bar:
            yield bar
    elif progress is None and _watched():
        with _LateBar(title) as late:
            yield late
    else:
        yield None


def _watched() -> bool:
    """Whether a bar is shown by default: not in tests, workers and threads, nor below another bar."""
    main = multiprocessing.parent_process() is None and threading.current_thread() is threading.main_thread()
    free = not _TerminalBar.shown and "PYTEST_CURRENT_TEST" not in os.environ
    return main and free and (_on_terminal() or in_notebook())


def _on_terminal() -> bool:
    # a process without a terminal may have no error stream at all
    return sys.stderr is not None and sys.stderr.isatty()


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class _TerminalBar:
    """Base class of progress bars, which are context managers; shown: number of bars at present."""

    shown: ClassVar[int] = 0

    def __init__(self, *columns: ProgressColumn, **options: Any) -> None:
        from rich.console import Console
        from rich.progress import Progress

        disable = in_notebook() or not _on_terminal()
        self._progress = Progress(*columns, console=Console(stderr=True), disable=disable, **options)

    def __enter__(self) -> Self:
        _TerminalBar.shown += 1
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        _TerminalBar.shown -= 1
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
        self._cell = _Cell(title) if in_notebook() else None
        silent = self._progress.disable and self._cell is None
        self._phases = nullcontext() if silent else listening(self.phase)

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
        if self._cell is not None:
            self._cell.show(name)

    def __call__(self, done: int, total: int) -> None:
        elapsed = self._progress.tasks[0].elapsed
        rate = f"{(done - self._begin) / elapsed:,.0f} {self._unit}/s" if elapsed else ""
        self._progress.update(self._task, completed=done, total=total, rate=rate)
        if self._cell is not None:
            self._cell.show(rate, done, total)


class _LateBar:
    """A `ProgressBar` that appears after `DELAY`, or at once where kernels are compiled."""

    def __init__(self, title: str) -> None:
        self._title, self._due = title, time.monotonic() + DELAY
        self._bar: ProgressBar | None = None
        self._contexts = ExitStack()

    def __enter__(self) -> Self:
        self._contexts.enter_context(listening(self.phase))
        return self

    def __exit__(self, *error: object) -> None:
        self._contexts.close()

    def phase(self, name: str) -> None:
        """Show a phase of the set-up."""
        if bar := self._shown(name.startswith("compiling")):
            bar.phase(name)

    def __call__(self, done: int, total: int) -> None:
        if bar := self._shown(begin=done):
            bar(done, total)

    def _shown(self, now: bool = False, begin: int = 0) -> ProgressBar | None:
        if self._bar is None and (now or time.monotonic() > self._due):
            self._bar = self._contexts.enter_context(ProgressBar(self._title, begin=begin))
        return self._bar


class _Cell:
    """A line in the output of a notebook cell, updated during the run."""

    def __init__(self, title: str) -> None:
        self._title, self._display, self._numbers = title, None, (0, 0)

    def show(self, text: str, done: int | None = None, total: int = 0) -> None:
        """Replace the line: a bar of the steps done, of the last call by default, and a text."""
        from IPython.display import display  # type: ignore[import-not-found]

        if done is not None:
            self._numbers = done, total
        done, total = self._numbers
        line = " ".join(word for word in (self._title, f"{done:,}/{total:,}" if total else "", text) if word)
        bar = f'<progress value="{done}" max="{total}"></progress> ' if total else ""
        data = {"text/html": bar + html.escape(line), "text/plain": line}
        if self._display is None:
            self._display = display(data, raw=True, display_id=True)
        else:
            self._display.update(data, raw=True)


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
        self._cell = _Cell(title) if in_notebook() else None

    def __call__(self, done: int, failed: int, total: int) -> None:
        counts = f"{done - failed} done, {failed} failed, {total - done} remaining"
        if self._cell is not None:
            self._cell.show(counts, done, total)
        if not self._progress.tasks:  # points of an earlier session do not count for the rate
            self._progress.add_task(self._title, total=total, completed=done, counts=counts)
        self._progress.update(self._progress.tasks[0].id, completed=done, counts=counts)


class EstimateBar(_TerminalBar):
    """Called as `bar(done, total, value, width, goal, unit)` of samples, with the interval so far."""

    def __init__(self, title: str = "") -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[interval]}", markup=False),
            TimeElapsedColumn(),
        )
        self._title = title
        self._task = self._progress.add_task(title, total=None, interval="")
        self._cell = _Cell(title) if in_notebook() else None

    def __call__(self, done: int, total: int, value: float, width: float, goal: float, unit: str) -> None:
        interval = interval_text(value, width, unit) if value == value else ""
        if interval and goal > 0.0:
            interval += f" (± {goal:.2g} asked)"
        self._progress.update(self._task, completed=done, total=total, interval=interval)
        if self._cell is not None:
            self._cell.show(interval, done, total)


def interval_text(value: float, width: float, unit: str) -> str:
    """A value with the half-width of its interval, to its two leading digits.

    >>> interval_text(0.43212, 0.00123, "W"), interval_text(1.0, 0.0, "1")
    ('0.4321 ± 0.0012 W', '1 ± 0')
    """
    unit = "" if unit in ("", "1") else f" {unit}"
    if not width > 0.0 or abs(value) < width or math.isinf(width):
        return f"{value:.3g} ± {width:.2g}{unit}"
    digits = 2 + math.floor(math.log10(abs(value) * 1.0000001)) - math.floor(math.log10(width))
    return f"{value:.{min(digits, 15)}g} ± {width:.2g}{unit}"
