"""What the commands make of a result: figures, files of other programs; every one returns its exit code."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from cases import registry, tables
from models.errors import UserError

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

Number = TypeVar("Number", int, float)

DPI = 200


def plot(arguments: Namespace) -> int:
    """PNG figures of a result; prints their paths."""
    result = _opened(arguments.path, "plot")
    source = Path(arguments.path)
    folder = beside(source, "-figures") if arguments.to is None else Path(arguments.to)
    folder.mkdir(parents=True, exist_ok=True)
    with tables.working("drawing"):
        figures = figures_of(result)
    for name, figure in figures.items():
        target = folder / (re.sub(r"[^\w.-]+", "-", name).strip("-") + ".png")
        figure.savefig(target, dpi=DPI)
        print(target, flush=True)
    return 0


def animate(arguments: Namespace) -> int:
    """The motion of a result as a film; prints its path."""
    from arlequin import plots
    from arlequin.progress import ProgressBar

    result = _opened(arguments.path, "animate")
    target = beside(Path(arguments.path), ".gif") if arguments.out is None else Path(arguments.out)
    magnify = None if arguments.magnify is None else _number("--magnify", arguments.magnify, float)
    frames = _number("--frames", arguments.frames, int)
    with ProgressBar("drawing", "frames") as bar:
        plots.animation(result, target, field=arguments.field, magnify=magnify, frames=frames, progress=bar)
    print(target, flush=True)
    return 0


def export(arguments: Namespace) -> int:
    """The result for ParaView, or as netCDF; prints the file to open."""
    from arlequin.netcdf import export_netcdf
    from arlequin.paraview import export_vtu
    from arlequin.progress import ProgressBar

    if arguments.vtu is None and arguments.netcdf is None:
        raise UserError("nothing to do: give --vtu DIR (for ParaView), --netcdf FILE, or both")
    result = _opened(arguments.path, "export")
    if arguments.vtu is not None:
        with ProgressBar("VTU", "files") as bar:
            target = export_vtu(result, arguments.vtu, bar)
        print(target, flush=True)
    if arguments.netcdf is not None:
        with tables.working("writing netCDF"):
            kind = export_netcdf(result, arguments.netcdf)
        flat = " (netCDF-3, without groups: part.NAME.displacement; install h5netcdf for groups)"
        print(f"{arguments.netcdf}{flat if kind == 'netCDF-3' else ''}", flush=True)
    return 0


def figures_of(result: xarray.DataTree) -> dict[str, Figure]:
    """The figures of the case that made a result, and its energies; general ones where there is no case."""
    import matplotlib

    matplotlib.use("Agg")
    from arlequin import plots
    from arlequin.result import summary
    from cases.parameters import make

    name = result.attrs.get("case")
    case = registry.load(str(name)) if name else None
    if case is None or not case.has("figures"):
        return plots.overview(result)
    figures: dict[str, Figure] = dict(
        case.function("figures")(result, make(case.parameters, summary(result).parameters))
    )
    if "energies" not in figures and "energy" in result.dataset:
        figures["energies"] = plots.energies(result)
    return figures


def beside(source: Path, ending: str) -> Path:
    """`runs/x` and the ending, beside the result `runs/x.zarr`."""
    return source.parent / (source.resolve().with_suffix("").name + ending)


def _number(option: str, text: str, kind: Callable[[str], Number]) -> Number:
    """What an option gives as a number."""
    try:
        return kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise UserError.parameter(option, text, f"must be {what}") from None


def _opened(path: str, to: str) -> xarray.DataTree:
    """The result, if it has any instant."""
    from arlequin.result import open as open_result

    result = open_result(path)
    if not result.sizes["time"]:
        raise UserError(f"{path}: nothing was recorded, nothing to {to}", code=1)
    return result
