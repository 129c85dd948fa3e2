"""Figures of a tube in the cell of a spacer grid."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def forces(found: Any, hand: Any) -> "Figure":
    """Normal forces over the ways of the grid's nodes, and the axial force over the way of the tube, with the hand's.

    found: `arlequin.cases.grid_cell.SupportForces`; hand: `arlequin.cases.reference.spacer_cell.CellByHand`.
    """
    from arlequin.plots import style

    end = found.inserted
    labels = {0: "a spring", 2: "a dimple"}
    with style.panels(2, 5.6) as (figure, (insertion, push)):
        for n, (each, label) in enumerate(labels.items()):
            way = 1e6 * found.way[: end + 1, each]
            insertion.plot(way, found.normal[: end + 1, each], "o-", color=style.COLOURS[n], markersize=4, label=label)
            by_hand = "by hand" if n == 0 else None
            force = hand.stuck.forces[each]
            insertion.plot(way[-1], force, "x", color=style.REFERENCE, markersize=9, label=by_hand, zorder=4)
        insertion.set_xlabel("Way of the grid (µm)")
        insertion.set_ylabel("Normal force (N)")
        insertion.legend()
        fine = np.linspace(0.0, found.pushed[-1], 400)
        push.plot(1e6 * fine, hand.drag(fine), "--", color=style.REFERENCE, label="by hand")
        push.plot(1e6 * found.pushed[end:], found.axial[end:].sum(axis=1), "o-", markersize=4, label="all six")
        for n, (each, label) in enumerate(labels.items()):
            axial = found.axial[end:, each]
            push.plot(1e6 * found.pushed[end:], axial, ".-", color=style.COLOURS[n + 2], label=label)
        push.set_xlabel("Way of the tube (µm)")
        push.set_ylabel("Axial force of friction (N)")
        push.legend()
    return figure
