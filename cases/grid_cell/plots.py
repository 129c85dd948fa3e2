"""Figures of a tube in the cell of a spacer grid."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def forces(support_forces: Any, analytical: Any) -> "Figure":
    """Normal forces over displacements of the grid nodes, axial force over tube displacement; semi-analytical values.

    support_forces: `arlequin.cases.grid_cell.SupportForces`; analytical: `CellByHand` of the reference.
    """
    from arlequin.plots import style

    end = support_forces.inserted
    labels = {0: "a spring", 2: "a dimple"}
    with style.panels(2, 5.6) as (figure, (insertion, push)):
        for n, (support, label) in enumerate(labels.items()):
            displacement = 1e6 * support_forces.grid_displacement[: end + 1, support]
            insertion.plot(
                displacement,
                support_forces.normal[: end + 1, support],
                "o-",
                color=style.COLOURS[n],
                markersize=4,
                label=label,
            )
            by_hand = "by hand" if n == 0 else None
            force = analytical.stuck.forces[support]
            insertion.plot(displacement[-1], force, "x", color=style.REFERENCE, markersize=9, label=by_hand, zorder=4)
        insertion.set_xlabel("Way of the grid (µm)")
        insertion.set_ylabel("Normal force (N)")
        insertion.legend()
        fine = np.linspace(0.0, support_forces.tube_displacement[-1], 400)
        push.plot(1e6 * fine, analytical.drag(fine), "--", color=style.REFERENCE, label="by hand")
        push.plot(
            1e6 * support_forces.tube_displacement[end:],
            support_forces.axial[end:].sum(axis=1),
            "o-",
            markersize=4,
            label="all six",
        )
        for n, (support, label) in enumerate(labels.items()):
            axial = support_forces.axial[end:, support]
            push.plot(
                1e6 * support_forces.tube_displacement[end:], axial, ".-", color=style.COLOURS[n + 2], label=label
            )
        push.set_xlabel("Way of the tube (µm)")
        push.set_ylabel("Axial force of friction (N)")
        push.legend()
    return figure
