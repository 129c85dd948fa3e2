"""Mortar contact with a rigid obstacle: weakly against multiplier functions on the slave surface."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from models.errors import UserError
from models.part import Surface
from models.types import Array
from multilevel.kinematics import Kinematics
from multilevel.multiplier import Multipliers
from multilevel.obstacle import Obstacle
from multilevel.pieces import Facets


@dataclass(frozen=True, eq=False)
class MortarObstacle:
    """Contact of a slave surface with a rigid obstacle, against multiplier functions ψ_k of the slave surface.

    With gap g and normal n of the obstacle at the quadrature points of the facets, weights in the reference
    configuration (so that a flat obstacle gives a linear gap) and A_k = ∫ψ_k dΓ over the points with a partner:

        g_k = (1/A_k) ∫ψ_k g dΓ,   rows (1/A_k) ∫ψ_k n·v dΓ  and  (1/A_k) ∫ψ_k τ·v dΓ,  τ ⟂ the mean of n.
    """

    slave: Surface
    master: Obstacle
    space: str = "P1"

    def __post_init__(self) -> None:
        _ = self._multipliers
        if self.master.axes != self._facets.axes:
            raise UserError(
                f"boundary '{self.slave.name}' is in {self._facets.axes}D, its obstacle in {self.master.axes}D"
            )

    @property
    def fixed(self) -> bool:
        return self.master.flat

    @property
    def areas(self) -> Array:
        """∫ψ_k dΓ in the reference configuration (k,), m²."""
        return self._multipliers.areas

    def at(self, slave: Array, master: Array) -> Kinematics:
        """The kinematics at node positions (n, a) of the slave surface; `master` is not read."""
        from multilevel import _mortar_kernels as kernels

        facets, axes, count = self._facets, self._facets.axes, self._multipliers.count
        shape, psi, measure = self._tables
        table = self._multipliers.table
        x = np.einsum("qj,fja->fqa", shape, slave[facets.nodes])
        gap, normal = self.master.closest(x.reshape(-1, axes))
        gap, normal = gap.reshape(measure.shape), normal.reshape(x.shape)
        near = np.isfinite(gap)
        gap, normal = np.where(near, gap, 0.0), np.where(near[:, :, None], normal, 0.0)
        weight = np.where(near, measure, 0.0)

        gathered = self._multipliers.gathered
        covered, absolute = gathered(weight @ psi), gathered(weight @ np.abs(psi))
        paired = (covered > kernels.COVERED * self.areas) & (covered > 0.1 * absolute)
        total = np.where(paired, covered, 1.0)
        gaps = np.where(paired, gathered((weight * gap) @ psi) / total, np.inf)
        mean = np.stack([gathered((weight * normal[:, :, a]) @ psi) for a in range(axes)], axis=1)
        mean[~paired] = np.eye(axes)[0]
        mean /= np.linalg.norm(mean, axis=1, keepdims=True)
        tangents = np.zeros((count, axes - 1, axes))
        kernels.make_tangents(mean, axes, tangents)

        scale = np.where(paired, 1.0 / total, 0.0)[table]
        ahead = np.einsum("fi,fq,qi,qj,fqa->fija", scale, weight, psi, shape, normal, optimize=True)
        along = np.einsum("fi,fq,qi,qj->fij", scale, weight, psi, shape, optimize=True)
        blocks = [ahead, *(along[..., None] * tangents[table][:, :, None, t] for t in range(axes - 1))]
        row = axes * table[:, :, None, None] + np.zeros_like(ahead, dtype=np.int64)
        column = axes * facets.nodes[:, None, :, None] + np.arange(axes) + np.zeros_like(row)
        rows = csr_array(
            (
                np.stack(blocks).ravel(),
                (np.stack([row + t for t in range(axes)]).ravel(), np.tile(column.ravel(), axes)),
            ),
            shape=(axes * count, axes * len(slave)),
        )
        return Kinematics(rows, gaps, mean, tangents, self._multipliers.positions(slave))

    @cached_property
    def _facets(self) -> Facets:
        return Facets.of(self.slave)

    @cached_property
    def _multipliers(self) -> Multipliers:
        return Multipliers(self._facets, self.space)

    @cached_property
    def _tables(self) -> tuple[Array, Array, Array]:
        """φ (q, j), ψ (q, i) and weights (f, q) of the quadrature of the facets."""
        points, weights = self._facets.rule
        shape = self._facets.shapes(self._facets.kind.code, self._facets.nodes.shape[1], points)[0]
        return shape, self._multipliers.values(points), self._facets.measure(points, weights)
