"""Orbit of a node in a plane, with the outline of its clearance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.models.checks import finite_array, integer, positive
from arlequin.models.errors import UserError
from arlequin.plots import histories, style
from arlequin.results.members import one_member
from arlequin.results.reading import of_result

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch


@of_result
def orbit(
    result: xarray.DataTree,
    part: str,
    node: int,
    *,
    components: tuple[int, int] = (0, 1),
    clearance: float | tuple[float, float] | None = None,
    centre: tuple[float, float] = (0.0, 0.0),
    member: int | None = None,
) -> Figure:
    """One displacement of a node against another (m), from the recorded frames; a dot where it ends.

    clearance: radius of a circle, or half the width and height of a box (m), about `centre` (displacements, m).
    member: of an ensemble, from 0.
    """
    result = one_member(result, member, "an orbit")
    _, u = histories.displacement(result, part, node)
    if u.shape[1] < 2:
        raise UserError(f"part {part}: moves along one axis, an orbit needs two")
    first, second = (integer("components", c, 0, u.shape[1] - 1) for c in components)
    middle = finite_array("centre", centre, (2,))
    half = np.zeros(2) if clearance is None else _half(clearance)
    reach = np.concatenate([u[:, first], u[:, second], middle - half, middle + half])
    factor, unit = style.prefix(reach, "m")
    with style.panels(1, 5.4) as (figure, (axes,)):
        axes.plot(factor * u[:, first], factor * u[:, second], color=style.COLOURS[0], linewidth=0.9)
        axes.plot(factor * u[-1, first], factor * u[-1, second], "o", color=style.COLOURS[1], markersize=5)
        if clearance is not None:
            axes.add_patch(_outline(clearance, factor * middle, factor * half))
        axes.set_aspect("equal", adjustable="datalim")
        axes.autoscale_view()
        axes.set_title(f"{part}, node {node}", loc="left")
        axes.set_xlabel(style.label(f"Displacement {histories.AXES[first]}", unit))
        axes.set_ylabel(style.label(f"Displacement {histories.AXES[second]}", unit))
    return figure


def _half(clearance: Any) -> np.ndarray:
    """Half the extent of the clearance along the two axes, m."""
    if np.ndim(clearance) == 0:
        return np.full(2, positive("clearance", clearance))
    half = finite_array("clearance", clearance, (2,))
    if (half <= 0.0).any():
        raise UserError.parameter("clearance", clearance, "must be positive")
    return half


def _outline(clearance: Any, middle: np.ndarray, half: np.ndarray) -> Patch:
    """The circle or the box, in the unit of the axes."""
    from matplotlib.patches import Circle, Rectangle

    look: Any = {"fill": False, "edgecolor": style.REFERENCE, "linestyle": "--", "linewidth": 1.2}
    x, y = (float(value) for value in middle)
    if np.ndim(clearance) == 0:
        return Circle((x, y), float(half[0]), **look)
    a, b = (float(value) for value in half)
    return Rectangle((x - a, y - b), 2 * a, 2 * b, **look)
