"""How stiff the dimples of a zoomed grid are on the rod: that of the rod without a zoom that answers a push alike."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq
from scipy.sparse.linalg import spsolve

import arlequin as aq
from cases import rod_model
from cases.rod_supports import Grid
from cases.rod_supports import Support as GridSupport
from models.errors import UserError
from models.types import Array

if TYPE_CHECKING:
    from cases.fuel_rod import Parameters


_RANGE = 1e-2, 1e2  # of the nominal stiffness, in which the other is sought


@dataclass(frozen=True)
class PushedRod:
    """The rod without a zoom, all its supports in contact, under a force along x at its upper end: linear statics."""

    parameters: "Parameters"
    push: float

    @cached_property
    def rod(self) -> aq.Beam:
        """Without what shakes it."""
        return rod_model.beam(replace(self.parameters, excitation="none"))

    @cached_property
    def _matrices(self) -> tuple[sp.csr_array, sp.csr_array]:
        """Stiffness (d, d) of the rod on all supports but the zoomed dimples, and of these, 1 N/m each."""
        p, rod = self.parameters, self.rod
        rest, dimples = sp.csr_array(rod.assemble().stiffness), sp.csr_array((rod.dof_count,) * 2)
        for grid in rod_model.grids(p):
            zoomed = grid.number == p.zoom
            if grid.gap and not zoomed:
                continue
            for name, stiffness in zip(grid.names, _stiffness(grid), strict=True):
                rows = [rod.boundary(f"{name}_{letter}").motion[axis::3] for axis, letter in enumerate("xy")]
                own = sum(row.T @ row for row in rows)
                if zoomed and name.endswith("dimples"):
                    dimples = dimples + own
                else:
                    rest = rest + stiffness * own
        return rest, dimples

    def answer(self, dimple: float) -> tuple[Array, Array]:
        """Heights of the nodes (n,) and how far they go along x (n,), m, with dimples this stiff in the zoomed grid."""
        rod, size = self.rod, self.rod.components
        force, u = np.zeros((2, rod.dof_count))
        force[int(rod.end("right")[0]) * size] = self.push
        held = [int(rod.end("left")[0]) * size + component for component in (2, 5)]
        free = np.setdiff1d(np.arange(rod.dof_count), held)
        rest, dimples = self._matrices
        u[free] = spsolve(sp.csc_array((rest + dimple * dimples)[free][:, free]), force[free])
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


def _tangent(support: GridSupport, force: float) -> float:
    if force == 0.0 or support.layer is None:
        return support.stiffness
    return -0.02 * force / (support.gap(1.01 * force) - support.gap(0.99 * force))
