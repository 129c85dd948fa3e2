"""Access to a stored result: opening, the case that produced it, its figures, names of files beside it.

A result may come from anybody. Its case is executed only if it is a built-in case, or an unchanged file that this user
has run before or names explicitly.
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
    """Open a non-empty result; `to`: the purpose, for the error message."""
    from arlequin.results.reading import open as open_result

    result = open_result(path)
    if not result.sizes["time"]:
        raise UserError(f"{path}: empty result, nothing to {to}", code=1)
    return result


def case_of(attributes: dict[Any, Any], named: str | None) -> registry.Case | None:
    """The case that produced a result or sweep, or the case `named` by the user; None for a study without case.

    UserError if it is a file that this user has neither run nor named.
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
    """The case that produced a result, and its parameters; None for a study without case.

    If the case cannot be loaded: None with a `ResultWarning`; UserError if the user named it.
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
        warnings.warn(f"figures and checks of its case are omitted: {error}", ResultWarning, stacklevel=2)
        return None


def compared(result: xarray.DataTree, path: str | Path, named: str | None = None) -> tuple[registry.Case, Any]:
    """The case that produced a result, and its parameters; UserError without case, or if it cannot be loaded."""
    from arlequin.cases.case.parameters import make
    from arlequin.results.reading import summary

    case = case_of(result.attrs, named)
    if case is None:
        raise UserError(f"{path}: not the result of a case: nothing to compare it with")
    return case, make(case.parameters, summary(result).parameters)


def figures_of(result: xarray.DataTree, made: tuple[registry.Case, Any] | None) -> dict[str, Figure]:
    """Figures of the case that produced a result, with its energies; generic figures without a case.

    Within `comparison.stored_comparisons` without the comparison runs that are not stored; else these are computed.
    """
    from arlequin import plots
    from arlequin.results.damage import warn_and_skip
    from arlequin.results.members import member_count

    if made is not None and made[0].has("figures") and member_count(result) is None:
        with warn_and_skip("the figures of its case"):
            figures: dict[str, Figure] = dict(made[0].call("figures", result, made[1]))
            if "energies" not in figures and "energy" in result.dataset:
                figures["energies"] = plots.energies(result)
            return figures
    return plots.overview(result)


def beside(source: str | Path, ending: str) -> Path:
    """Path `runs/x` + ending for the result `runs/x.zarr`."""
    source = Path(source)
    return source.parent / (source.resolve().with_suffix("").name + ending)
