"""How stiff the dimples of a zoomed grid are on the rod: that of the rod without a zoom that answers a push alike."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.sparse.linalg import spsolve

from cases import rod_model
from cases.rod_supports import Grid, Support
from models.errors import UserError

if TYPE_CHECKING:
    from cases.fuel_rod import Parameters

Array = NDArray[np.float64]

_RANGE = 1e-2, 1e2  # of the nominal stiffness, in which the other is sought


@dataclass(frozen=True)
class PushedRod:
    """The rod without a zoom, all its supports in contact, under a force along x at its upper end: linear statics."""

    parameters: "Parameters"
    push: float

    def answer(self, dimple: float) -> tuple[Array, Array]:
        """Heights of the nodes (n,) and how far they go along x (n,), m, with dimples this stiff in the zoomed grid."""
        p = replace(self.parameters, excitation="none")
        rod = rod_model.beam(p)
        size = rod.components
        matrix = sp.csr_array(rod.assemble().stiffness)
        for grid in rod_model.grids(p):
            zoomed = grid.number == p.zoom
            if grid.gap and not zoomed:
                continue
            for name, stiffness in zip(grid.names, _stiffness(grid), strict=True):
                value = dimple if zoomed and name.endswith("dimples") else stiffness
                for axis, letter in enumerate("xy"):
                    rows = rod.boundary(f"{name}_{letter}").motion[axis::3]
                    matrix = matrix + value * (rows.T @ rows)
        force = np.zeros(rod.dof_count)
        force[int(rod.end("right")[0]) * size] = self.push
        held = [int(rod.end("left")[0]) * size + component for component in (2, 5)]
        free = np.setdiff1d(np.arange(rod.dof_count), held)
        u = np.zeros(rod.dof_count)
        u[free] = spsolve(sp.csc_array(matrix[free][:, free]), force[free])
        return rod.positions[:, 2], u[::size]

    def alike(self, heights: Array, moved: Array) -> float:
        """The stiffness with which nodes at heights (k,), m, go as far in all as they `moved` (k,), m."""

        def miss(scale: float) -> float:
            z, u = self.answer(np.exp(scale))
            at = np.abs(z[:, None] - heights).argmin(axis=0)
            return float(u[at] @ moved / (moved @ moved)) - 1.0

        nominal = self.parameters.dimple_stiffness
        low, high = (float(np.log(nominal * share)) for share in _RANGE)
        if miss(low) * miss(high) > 0.0:
            raise UserError(f"zoom: no stiffness of dimples near {nominal:g} N/m answers as the solid cladding does")
        return float(np.exp(brentq(miss, low, high, rtol=1e-10)))


def _stiffness(grid: Grid) -> tuple[float, float]:
    """Tangents of a spring and a dimple under their preload, N/m."""
    return _tangent(grid.spring, grid.preload), _tangent(grid.dimple, 0.5 * grid.preload)


def _tangent(support: Support, force: float) -> float:
    if force == 0.0 or support.layer is None:
        return support.stiffness
    return -0.02 * force / (support.gap(1.01 * force) - support.gap(0.99 * force))
