"""Figures of the glued ring and plate: errors against the size of the cells."""

from typing import TYPE_CHECKING

from arlequin.models.types import Array
from arlequin.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def convergence_figure(errors: dict[str, tuple[Array, Array, Array]]) -> "Figure":
    """Errors of displacement and of stress against the number of coarse cells, by model: counts, both errors (n,)."""
    with style.panels(2, 4.8, sharex=True) as (figure, panels):
        for n, (name, (counts, *error_pair)) in enumerate(errors.items()):
            for axes, values in zip(panels, error_pair, strict=True):
                axes.loglog(counts, values, "o-", color=style.COLOURS[n], label=name)
        for axes, field in zip(panels, ("displacement", "stress"), strict=True):
            axes.set_ylabel(f"Error of the {field}")
        panels[0].legend()
        panels[1].set_xlabel("Coarse cells around the quadrant")
    return figure
