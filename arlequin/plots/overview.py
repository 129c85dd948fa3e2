"""The figures that can be drawn of any result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arlequin.plots.contact import contact
from arlequin.plots.energies import energies
from arlequin.plots.profile import profile
from arlequin.plots.shape import shape
from models.errors import UserError

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


def overview(result: xarray.DataTree) -> dict[str, Figure]:
    """Energies, interfaces over time, the shape of plane parts at the end or the velocity along bars."""
    figures: dict[str, Figure] = {}
    if "energy" in result.dataset:
        figures["energies"] = energies(result)
    for name in result["interface"].children if "interface" in result.children else ():
        if "force" in result[f"interface/{name}"].dataset:
            figures[f"contact-{name}"] = contact(result, name)
    if "part" in result.children and result.sizes.get("frame"):
        groups = [node.dataset for node in result["part"].children.values() if "velocity" in node.dataset]
        axes = {group.sizes.get("axis") for group in groups}
        if 2 in axes:
            figures["shape"] = shape(result)
        if axes == {1}:
            figures["profile"] = profile(result)
    if not figures:
        raise UserError("the result has nothing that is drawn: neither energy nor interfaces nor parts", code=1)
    return figures
