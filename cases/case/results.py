"""What is asked of a result: that it holds something, the case that made it, its figures, names beside it.

A result is data, of whomever: its case runs only where it is one of ours, where this user has run the file here as it
is, or names it now.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arlequin.cases.case import registry
from arlequin.models.errors import UserError

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

HINT = "name it with --case FILE"


def opened(path: str | Path, to: str) -> xarray.DataTree:
    """The result at the path, if it has any instant; `to`: what it is opened for."""
    from arlequin.results.reading import open as open_result

    result = open_result(path)
    if not result.sizes["time"]:
        raise UserError(f"{path}: nothing was recorded, nothing to {to}", code=1)
    return result


def case_of(attributes: dict[Any, Any], named: str | None) -> registry.Case | None:
    """The case that made a result or a sweep, or the one that the user names; None where no case did.

    UserError where it is a file that this user has neither run here nor names.
    """
    if named is not None:
        return registry.load(named)
    name = attributes.get("case")
    if not name:
        return None
    try:
        return registry.named_by_a_result(str(name))
    except UserError as error:
        raise UserError(f"{error}: {HINT} to run it") from error


def made_by(result: xarray.DataTree, named: str | None = None) -> tuple[registry.Case, Any] | None:
    """The case that made a result and its parameters; None for a study of one's own.

    None, and a `ResultWarning`, where the case of the result cannot be had; UserError where one that is named cannot.
    """
    from arlequin.cases.case.parameters import make
    from arlequin.results.damage import ResultWarning
    from arlequin.results.reading import summary

    try:
        case = case_of(result.attrs, named)
        return None if case is None else (case, make(case.parameters, summary(result).parameters))
    except UserError as error:
        if named is not None:
            raise
        warnings.warn(f"without the figures and checks of its case: {error}", ResultWarning, stacklevel=2)
        return None


def figures_of(result: xarray.DataTree, made: tuple[registry.Case, Any] | None) -> dict[str, Figure]:
    """The figures of the case that made a result, and its energies; general ones where there is no case."""
    from arlequin import plots
    from arlequin.results.damage import warn_and_skip

    if made is not None and made[0].has("figures"):
        with warn_and_skip("the figures of its case"):
            figures: dict[str, Figure] = dict(made[0].call("figures", result, made[1]))
            if "energies" not in figures and "energy" in result.dataset:
                figures["energies"] = plots.energies(result)
            return figures
    return plots.overview(result)


def beside(source: str | Path, ending: str) -> Path:
    """`runs/x` and the ending, beside the result `runs/x.zarr`."""
    source = Path(source)
    return source.parent / (source.resolve().with_suffix("").name + ending)
