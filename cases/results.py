"""What is asked of a result: that it holds something, the case that made it, its figures, names beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cases import registry
from models.errors import UserError

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


def opened(path: str | Path, to: str) -> xarray.DataTree:
    """The result at the path, if it has any instant; `to`: what it is opened for."""
    from arlequin.result import open as open_result

    result = open_result(path)
    if not result.sizes["time"]:
        raise UserError(f"{path}: nothing was recorded, nothing to {to}", code=1)
    return result


def made_by(result: xarray.DataTree) -> tuple[registry.Case, Any] | None:
    """The case that made a result and its parameters; None for a study of one's own."""
    from arlequin.result import summary
    from cases.parameters import make

    name = result.attrs.get("case")
    if not name:
        return None
    case = registry.load(str(name))
    return case, make(case.parameters, summary(result).parameters)


def figures_of(result: xarray.DataTree) -> dict[str, Figure]:
    """The figures of the case that made a result, and its energies; general ones where there is no case."""
    from arlequin import plots

    made = made_by(result)
    if made is None or not made[0].has("figures"):
        return plots.overview(result)
    case, parameters = made
    figures: dict[str, Figure] = dict(case.function("figures")(result, parameters))
    if "energies" not in figures and "energy" in result.dataset:
        figures["energies"] = plots.energies(result)
    return figures


def beside(source: str | Path, ending: str) -> Path:
    """`runs/x` and the ending, beside the result `runs/x.zarr`."""
    source = Path(source)
    return source.parent / (source.resolve().with_suffix("").name + ending)
