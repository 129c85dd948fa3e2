"""The standard figures of a result."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from arlequin.models.errors import UserError
from arlequin.plots.camera import View, checked_view
from arlequin.plots.contact import contact
from arlequin.plots.contact_map import contact_map
from arlequin.plots.energies import energies
from arlequin.plots.histories import is_static
from arlequin.plots.profile import profile
from arlequin.plots.shape import is_solid, shape
from arlequin.results.damage import ResultWarning, warn_and_skip
from arlequin.results.members import chosen, member_count
from arlequin.results.reading import of_result

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


@of_result
def overview(result: xarray.DataTree, *, member: int | None = None, view: View | None = None) -> dict[str, Figure]:
    """Energies, interfaces over time, the shape of parts at the end, their stress if it is recorded, the velocity along
    bars and beams, the pressure on surfaces of solids when it is largest. Of static runs the displacement, not the
    velocity.

    member: of an ensemble, from 0; None draws energies and interfaces of all members, and names the figures left out.
    view: of solids, see `shape`.
    """
    result = chosen(result, member)
    checked_view(view)
    figures: dict[str, Figure] = {}
    if "energy" in result.dataset:
        with warn_and_skip("the figure of the energies"):
            figures["energies"] = energies(result)
    for name in result["interface"].children if "interface" in result.children else ():
        if "force" in result[f"interface/{name}"].dataset:
            with warn_and_skip(f"the figure of the interface {name}"):
                figures[f"contact-{name}"] = contact(result, name)
    count = member_count(result)
    if count is not None and "part" in result.children and result.sizes.get("frame"):
        numbers = f"0 to {count - 1}" if count > 1 else "0"
        line = f"shapes and profiles show one member: choose member= (command line: --member N), {numbers}"
        warnings.warn(line, ResultWarning, stacklevel=2)
    elif "part" in result.children and result.sizes.get("frame"):
        field = "displacement" if is_static(result) else "velocity"
        groups = [node.dataset for node in result["part"].children.values() if field in node.dataset]
        if any(
            (group.sizes.get("axis") == 2 and group.sizes.get("corner", 0) > 2) or is_solid(group) for group in groups
        ):
            with warn_and_skip("the figure of the shape"):
                figures["shape"] = shape(result, field, view=view)
            if any("mises_stress" in group for group in groups):
                with warn_and_skip("the figure of the stress"):
                    figures["stress"] = shape(result, "mises_stress", view=view)
        if groups and all(group.sizes.get("corner") == 2 for group in groups):
            with warn_and_skip("the figure of the profile"):
                figures["profile"] = profile(result, field, component=_largest_component(groups, field))
        for name, node in result["interface"].children.items() if "interface" in result.children else ():
            pressed = node.dataset.get("pressure")
            if "point_connectivity" in node.dataset and pressed is not None and float(pressed.max()) > 0.0:
                with warn_and_skip(f"the map of the interface {name}"):
                    figures[f"pressure-{name}"] = contact_map(result, interface=name, view=view)
    if not figures:
        raise UserError("the result has nothing that is drawn: neither energy nor interfaces nor parts", code=1)
    return figures


def _largest_component(groups: list[xarray.Dataset], field: str) -> int:
    """The component of the displacement or velocity with the largest value: beams mostly move across their axis."""
    largest = [abs(group[field]).max(("frame", "node")).values for group in groups]
    return int(np.fmax.reduce(largest).argmax())
