"""Commands that write files from a result: figures, animation, report, export; each returns the exit code."""

from __future__ import annotations

import contextlib
import re
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from arlequin.cases.case.comparison import stored_comparisons
from arlequin.cases.case.results import beside, figures_of, made_by, opened
from arlequin.cases.cli import tables
from arlequin.models.errors import FAILURE, UserError
from arlequin.models.parallel.launch import announced_index
from arlequin.results.members import chosen

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

Number = TypeVar("Number", int, float)

DPI = 200


def plot(arguments: Namespace) -> int:
    """Write the figures of a result or sweep as PNG files and print their paths."""
    import matplotlib

    from arlequin.plots.camera import preferring
    from arlequin.results.damage import warn_and_skip
    from arlequin.results.writing import make_folder, replacing

    matplotlib.use("Agg")
    with read(arguments.path) as damaged:
        swept = _sweep_at(arguments.path)
        member = member_of(arguments, swept is not None)
        ending = f"{_suffix(member)}-figures" if swept is None else "-sweep-figures"
        folder = beside(arguments.path, ending) if arguments.to is None else Path(arguments.to)
        with tables.working("drawing"):
            if swept is None:
                result = opened(arguments.path, "plot")
                with stored_comparisons(arguments.path), preferring(view_of(arguments)):
                    figures = figures_of(chosen(result, member), made_by(result, arguments.case))
            else:
                figures = _figures_of(arguments.path, swept)
        make_folder(folder)
        for name, figure in figures.items():
            with warn_and_skip(f"the figure {name}"):
                target = folder / (re.sub(r"[^\w.-]+", "-", name).strip("-") + ".png")
                with replacing(target) as draft:
                    figure.savefig(draft, dpi=DPI)
                print(target, flush=True)
        _report_missing(arguments.path, swept)
    return 1 if damaged else 0


def _sweep_at(path: str | Path) -> xarray.Dataset | None:
    """Sweep at a path; None for other results."""
    from arlequin.sweeps.store import is_sweep
    from arlequin.sweeps.sweep import open_sweep

    return open_sweep(path) if is_sweep(path) else None


def _figures_of(path: str, dataset: xarray.Dataset) -> dict[str, Figure]:
    from arlequin import plots
    from arlequin.plots import sweep_points

    if not (sweep_points.states(dataset) == "").any():
        raise UserError(f"{path}: {sweep_points.counts_text(dataset)}: nothing to plot", code=1)
    return plots.sweep_figures(dataset)


def _report_missing(path: str | Path, swept: xarray.Dataset | None) -> None:
    """Report failed and missing points of a sweep on standard error."""
    from arlequin.plots import sweep_points

    if swept is not None and (sweep_points.states(swept) != "").any():
        print(f"{path}: {sweep_points.counts_text(swept)}", file=sys.stderr)


def animate(arguments: Namespace) -> int:
    """Write the animation of a result and print its path."""
    from arlequin import plots
    from arlequin.run.progress import ProgressBar

    member = member_of(arguments)
    target = beside(arguments.path, f"{_suffix(member)}.gif") if arguments.out is None else Path(arguments.out)
    magnify = None if arguments.magnify is None else number("--magnify", arguments.magnify, float)
    frames = number("--frames", arguments.frames, int)
    with read(arguments.path) as damaged:
        result = opened(arguments.path, "animate")
        with ProgressBar("drawing", "frames") as bar:
            plots.animation(
                result, target, field=arguments.field, component=arguments.component, magnify=magnify, frames=frames,
                member=member, view=view_of(arguments), progress=bar,
            )  # fmt: skip
    print(target, flush=True)
    return 1 if damaged else 0


def view(arguments: Namespace) -> int:
    """Show a result in a window, or write its page and print the path."""
    from arlequin.viewer import view as viewer

    magnify = None if arguments.magnify is None else number("--magnify", arguments.magnify, float)
    frames = number("--frames", arguments.frames, int)
    with read(arguments.path) as damaged:
        with tables.working("reading"):
            result = opened(arguments.path, "view")
            viewed = viewer.view(
                result, field=arguments.field, magnify=magnify, frames=frames, member=member_of(arguments),
                view=view_of(arguments),
            )  # fmt: skip
            target = None if arguments.html is None else viewed.save(arguments.html)
        if target is None:
            viewed.show()
        else:
            print(target, flush=True)
    return 1 if damaged else 0


def report(arguments: Namespace) -> int:
    """Write the report of a result or sweep and print its path."""
    options = {"member": member_of(arguments), "view": view_of(arguments)}
    return write_report(arguments.path, arguments.out, arguments.case, arguments.pdf, **options)


def write_report(
    path: str | Path, out: str | None = None, case: str | None = None, pdf: bool = False, **options: Any
) -> int:
    """Write the report and print its paths; the exit code. Arguments as of `cases.report`."""
    import matplotlib

    matplotlib.use("Agg")
    from arlequin import cases

    with read(path) as damaged:
        with tables.working("comparing with the reference and drawing"):
            target = cases.report(path, out, case, pdf=pdf, **options)
        print(target, flush=True)
        if pdf and target.suffix.lower() != ".pdf":
            print(target.with_suffix(".pdf"), flush=True)
        _report_missing(path, _sweep_at(path))
    return 1 if damaged else 0


def export(arguments: Namespace) -> int:
    """Export a result to ParaView or netCDF and print the file to open."""
    from arlequin.results.netcdf import export_netcdf
    from arlequin.results.paraview import export_vtu
    from arlequin.run.progress import ProgressBar

    if arguments.vtu is None and arguments.netcdf is None:
        raise UserError("no output: give --vtu DIR (ParaView), --netcdf FILE, or both")
    frames = None if arguments.frames is None else number("--frames", arguments.frames, int)
    member = member_of(arguments)
    with read(arguments.path) as damaged:
        result = opened(arguments.path, "export")
        if arguments.vtu is not None:
            with ProgressBar("VTU", "files") as bar:
                target = export_vtu(result, arguments.vtu, frames=frames, member=member, progress=bar)
            print(target, flush=True)
        if arguments.netcdf is not None:
            with tables.working("writing netCDF"):
                kind = export_netcdf(result, arguments.netcdf, member=member)
            flat = " (netCDF-3, without groups: part.NAME.displacement; install h5netcdf for groups)"
            print(f"{arguments.netcdf}{flat if kind == 'netCDF-3' else ''}", flush=True)
    return 1 if damaged else 0


def in_runs(name: str) -> Path:
    """Path of a result without --out; UserError if the folder `runs` is a link, as in untrusted folders."""
    from arlequin.results.writing import refuse_link

    refuse_link("runs", "runs (without --out)")
    return Path("runs") / name


def member_of(arguments: Namespace, sweep: bool = False) -> int | None:
    """Member of an ensemble from --member."""
    if arguments.member is None:
        return None
    if sweep:
        raise UserError(f"--member {arguments.member}: is for the result of an ensemble, not for a sweep")
    return number("--member", arguments.member, int)


def view_of(arguments: Namespace) -> str | tuple[float, float] | None:
    """View of 3D models from --view: a name, or elevation and azimuth, degrees."""
    from arlequin.plots.camera import checked_view

    text = arguments.view
    if text is None or "," not in text:
        checked_view(text)
        return None if text is None else str(text)
    elevation, _, azimuth = text.partition(",")
    angles = number("--view", elevation, float), number("--view", azimuth, float)
    checked_view(angles)
    return angles


def _suffix(member: int | None) -> str:
    """Suffix of file names for one member of an ensemble."""
    return "" if member is None else f"-member{member}"


def number(option: str, text: str, kind: Callable[[str], Number]) -> Number:
    """Number from the text of an option."""
    try:
        return kind(text)
    except ValueError:
        expected_kind = "a whole number" if kind is int else "a number"
        raise UserError.parameter(option, text, f"must be {expected_kind}") from None


@contextlib.contextmanager
def read(path: str | Path) -> Iterator[list[str]]:
    """Context that prints the warnings of a result, one line each, and yields the list of damage warnings.

    Exceptions caused by a damaged result become one error line.
    """
    from arlequin.results.damage import DamageWarning, ResultWarning, error_text

    damaged: list[str] = []
    printed: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any) -> None:
        line = str(message)
        if issubclass(category, ResultWarning) and line not in printed and announced_index() == 0:
            printed.add(line)
            tables.print_line(line if str(path) in line else f"{path}: {line}")
            damaged.extend([line] if issubclass(category, DamageWarning) else [])

    with warnings.catch_warnings():
        warnings.simplefilter("always", ResultWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        try:
            yield damaged
        except (UserError, OSError, MemoryError, OverflowError):  # reported in their own line
            raise
        except Exception as error:
            raise UserError(f"{path}: not a result, or damaged: {error_text(error)}", FAILURE) from error
