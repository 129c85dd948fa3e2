"""Access to a stored result: opening, the case that produced it, its figures, names of files beside it.

Results are not trusted: the case of a result is executed only if it is built in, or an unchanged file that this user
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


def opened(path: str | Path, purpose: str) -> xarray.DataTree:
    """Open a non-empty result; purpose: verb for the error message."""
    from arlequin.results.reading import open as open_result

    result = open_result(path)
    if not result.sizes["time"]:
        raise UserError(f"{path}: empty result, nothing to {purpose}", code=1)
    return result


def case_of(attributes: dict[Any, Any], case_name: str | None) -> registry.Case | None:
    """Case that produced a result or sweep, or the case `case_name` of the user; None for a study without case.

    UserError if it is a file that this user has neither run nor named.
    """
    if case_name is not None:
        return registry.load(case_name)
    name = attributes.get("case")
    if not name:
        return None
    try:
        return registry.named_by_a_result(str(name))
    except UserError as error:
        raise UserError(f"{error}: {HINT} to run it") from error


def made_by(result: xarray.DataTree, case_name: str | None = None) -> tuple[registry.Case, Any] | None:
    """Case that produced a result, and its parameters; None for a study without case.

    If the case cannot be loaded: None with a `ResultWarning`; UserError if the user named it.
    """
    from arlequin.cases.case.parameters import make
    from arlequin.results.damage import ResultWarning
    from arlequin.results.reading import summary

    try:
        case = case_of(result.attrs, case_name)
        return None if case is None else (case, make(case.parameters, summary(result).parameters))
    except UserError as error:
        if case_name is not None:
            raise
        warnings.warn(f"figures and checks of its case are omitted: {error}", ResultWarning, stacklevel=2)
        return None


def compared(result: xarray.DataTree, path: str | Path, case_name: str | None = None) -> tuple[registry.Case, Any]:
    """Case that produced a result, and its parameters; UserError without case, or if it cannot be loaded."""
    from arlequin.cases.case.parameters import make
    from arlequin.results.reading import summary

    case = case_of(result.attrs, case_name)
    if case is None:
        raise UserError(f"{path}: not the result of a case: nothing to compare it with")
    return case, make(case.parameters, summary(result).parameters)


def figures_of(result: xarray.DataTree, case_and_parameters: tuple[registry.Case, Any] | None) -> dict[str, Figure]:
    """Figures of the case that produced a result, with its energies; generic figures without a case.

    Comparison runs that are not stored are omitted within `comparison.stored_comparisons`, else computed.
    """
    from arlequin import plots
    from arlequin.results.damage import warn_and_skip
    from arlequin.results.members import member_count

    if case_and_parameters is not None and case_and_parameters[0].has("figures") and member_count(result) is None:
        with warn_and_skip("the figures of its case"):
            figures: dict[str, Figure] = dict(case_and_parameters[0].call("figures", result, case_and_parameters[1]))
            if "energies" not in figures and "energy" in result.dataset:
                figures["energies"] = plots.energies(result)
            return figures
    return plots.overview(result)


def beside(source: str | Path, ending: str) -> Path:
    """Path `runs/x` + ending for the result `runs/x.zarr`."""
    source = Path(source)
    return source.parent / (source.resolve().with_suffix("").name + ending)
