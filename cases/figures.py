"""Figures of the cases: the generic ones with the case's reference curves."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from arlequin import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Figures = dict[str, "Figure"]


def bar_figures(result: xarray.DataTree, reference: Any, law: str) -> Figures:
    """Energies, contact pressure and gap against the exact solution, velocity along the bars."""
    return {
        "energies": plots.energies(result),
        "contact": plots.contact(result, "contact", area=_area(result), **_curves(result, reference)),
        "velocity": plots.profile(result, "velocity"),
    }


def press_figures(result: xarray.DataTree, reference: Any, displacement: float) -> Figures:
    """Energies; pressure and gap against the closed form."""
    time = np.linspace(0.0, 1.0, 401)
    imposed = displacement * time
    return {
        "energies": plots.energies(result),
        "contact": plots.contact(
            result,
            "contact",
            area=_area(result),
            force={"closed form": (time, reference.pressure(imposed))},
            gap={"closed form": (time, reference.gap_at(imposed))},
        ),
    }


def multiscale_figures(result: xarray.DataTree, reference: Any, fine: xarray.DataTree | None) -> Figures:
    """Energies, contact against the all-fine model and the 1D solution, the parts at the end of the run."""
    both = {"Arlequin": result} if fine is None else {"Arlequin": result, "all fine": fine}
    curves = {} if reference is None else _curves(result, reference)
    frames = result.sizes["frame"]
    return {
        "energies": plots.energies(result),
        "contact": plots.contact(both, "contact", area=_area(result), **curves),
        "velocity": plots.profile(result, "velocity"),
        "shape": plots.shape(result, "velocity", frame=frames // 3, component=0, magnify=5.0),
    }


def _area(result: xarray.DataTree) -> float:
    return float(result["interface/contact/area"].sum())


def _curves(result: xarray.DataTree, reference: Any) -> dict[str, Any]:
    time = np.linspace(0.0, float(result.dataset["time"][-1]), 4001)
    return {
        "force": {"exact": (time, reference.pressure(time))},
        "gap": {"exact": (time, reference.gap(time))},
    }
