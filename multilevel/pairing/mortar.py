"""Mortar pairings: contact enforced weakly by multiplier functions on the slave surface."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from arlequin.models.checks import positive
from arlequin.models.errors import UserError
from arlequin.models.part import Surface
from arlequin.models.types import Array, Indices
from arlequin.multilevel.obstacles.base import Obstacle
from arlequin.multilevel.pairing.kinematics import Kinematics
from arlequin.multilevel.pairing.multipliers import Facets, Multipliers, simplex_rule
from arlequin.multilevel.search.facets import in_space
from arlequin.multilevel.search.search import box_order, box_tree

OPEN = 4.0  # largest gap of partners by default, and
INSIDE = 1.0  # largest penetration, in diameters of the larger of the two facets


@dataclass(frozen=True, eq=False)
class MortarPairing:
    """Contact of a slave surface with a deformable one, against multiplier functions ψ_k of the slave surface.

    At a point x of a slave facet with outward normal ν (of its mean plane) the partner y is on the master along ν:
    x − y = g n with n = −ν, exactly, so that the rows below vanish in common rigid motions at any gap:

        g_k = (1/A_k) ∫ψ_k g dΓ,   normal row (1/A_k) ∫ψ_k n·[[v]] dΓ,   slip rows (1/A_k) ∫ψ_k τ·([[v]] − g ṅ) dΓ

    over the covered part of the slave surface in its present position, A_k = ∫ψ_k dΓ there: the forces rowsᵀ P are
    those of the traction P_k/A_k ψ_k. The integrals go over the intersections of the slave facets with the projected
    master facets and are exact for affine facets (parallelograms, straight edges). Facets with mid-edge nodes are cut
    into linear pieces (2, 4 triangles, 4 quadrilaterals) for directions and intersections; x, y and the velocities
    are those of the real facets. The projected pieces of the slave must be convex.

    space: "P0", "P1" or "P2"; reach: largest gap of partners, m (by default four diameters of the larger facet;
    penetration: one diameter).
    """

    slave: Surface
    master: Surface
    space: str = "P1"
    reach: float | None = None

    def __post_init__(self) -> None:
        _ = self._multipliers
        if self.reach is not None:
            positive("reach", self.reach)
        if self._master_facets.axes != self._facets.axes:
            raise UserError(
                f"boundary '{self.slave.name}' is in {self._facets.axes}D, its master '{self.master.name}' in "
                f"{self._master_facets.axes}D"
            )
        if self.master.part is self.slave.part and np.isin(self.slave.nodes, self.master.nodes).all():
            raise UserError(f"slave and master have the same nodes of part '{self.slave.part.name}'")

    @property
    def fixed(self) -> bool:
        return False

    @property
    def areas(self) -> Array:
        """∫ψ_k dΓ in the reference configuration (k,), m²."""
        return self._multipliers.areas

    def at(self, slave: Array, master: Array) -> Kinematics:
        """The kinematics at node positions (n, a) of the slave and of the master surface."""
        from arlequin.multilevel.pairing import _mortar_kernels as kernels

        on_slave, on_master, axes = self._facets, self._master_facets, self._facets.axes
        x, y = in_space(slave), in_space(master)
        normal, centre, length, size = kernels.piece_frames(x, on_slave.pieces)
        master_normal, _, _, master_size = kernels.piece_frames(y, on_master.pieces)
        tree = box_tree(_boxes(y, on_master.pieces), self._order)
        open_reach = (0.0, OPEN) if self.reach is None else (self.reach, 0.0)
        rule, weights = self._rule
        integrals: tuple[Any, ...] = kernels.moments(
            (x, on_slave.kind.code, on_slave.nodes, on_slave.pieces, on_slave.parents, on_slave.starts),
            (y, on_master.kind.code, on_master.nodes, on_master.pieces, on_master.parents, on_master.starts),
            (normal, centre, size), (master_normal, master_size), (self._order, tree),
            (self._multipliers.code, self._multipliers.table.shape[1]), np.array([*open_reach, 0.0, INSIDE]),
            (rule, weights), (on_slave.depth, on_slave.axisymmetric),
        )  # fmt: skip
        gap, mean, tangents, starts, columns, values = kernels.contact_rows(
            axes, (x, on_slave.nodes, on_slave.pieces, on_slave.parents, normal, length), integrals,
            (on_master.nodes, len(y)), (*self._incidence, self.areas),
        )  # fmt: skip
        rows = csr_array((values, columns, starts), shape=(axes * gap.size, axes * (len(x) + len(y))))
        return Kinematics(rows, gap, mean, tangents, self._multipliers.positions(slave))

    @cached_property
    def _facets(self) -> Facets:
        return Facets.of(self.slave)

    @cached_property
    def _master_facets(self) -> Facets:
        return Facets.of(self.master)

    @cached_property
    def _multipliers(self) -> Multipliers:
        return Multipliers(self._facets, self.space)

    @cached_property
    def _rule(self) -> tuple[Array, Array]:
        degree = self._multipliers.degree + max(self._facets.kind.degree, self._master_facets.kind.degree)
        return simplex_rule(self._facets.axes, degree)

    @cached_property
    def _order(self) -> Indices:
        """Order of the master pieces in their tree of boxes, by the reference positions."""
        return box_order(_boxes(in_space(self.master.positions), self._master_facets.pieces))

    @cached_property
    def _incidence(self) -> tuple[Indices, Indices, Indices]:
        """Incidence of points and pieces: starts (k + 1,), pieces, functions on the pieces."""
        points = self._multipliers.table[self._facets.parents]
        order = np.argsort(points, axis=None, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(points.ravel(), minlength=self._multipliers.count))])
        return starts, order // points.shape[1], order % points.shape[1]


def _boxes(positions: Array, pieces: Indices) -> Array:
    """Lowest and highest corners (p, 6) of pieces of nodes at positions (n, 3)."""
    corners = positions[pieces]
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)


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
        from arlequin.multilevel.pairing._facet_kernels import COVERED, make_tangents

        facets, axes, count = self._facets, self._facets.axes, self._multipliers.count
        shape, psi, measure = self._tables
        table = self._multipliers.table
        x = np.einsum("qj,fja->fqa", shape, slave[facets.nodes])
        gap, normal = self.master.closest(x.reshape(-1, axes))
        gap, normal = gap.reshape(measure.shape), normal.reshape(x.shape)
        has_partner = np.isfinite(gap)
        gap, normal = np.where(has_partner, gap, 0.0), np.where(has_partner[:, :, None], normal, 0.0)
        weight = np.where(has_partner, measure, 0.0)

        gathered = self._multipliers.gathered
        covered, absolute = gathered(weight @ psi), gathered(weight @ np.abs(psi))
        paired = (covered > COVERED * self.areas) & (covered > 0.1 * absolute)
        total = np.where(paired, covered, 1.0)
        gaps = np.where(paired, gathered((weight * gap) @ psi) / total, np.inf)
        mean = np.stack([gathered((weight * normal[:, :, a]) @ psi) for a in range(axes)], axis=1)
        mean[~paired] = np.eye(axes)[0]
        mean /= np.linalg.norm(mean, axis=1, keepdims=True)
        tangents = np.zeros((count, axes - 1, axes))
        make_tangents(mean, axes, tangents)

        scale = np.where(paired, 1.0 / total, 0.0)[table]
        normal_blocks = np.einsum("fi,fq,qi,qj,fqa->fija", scale, weight, psi, shape, normal, optimize=True)
        weights_blocks = np.einsum("fi,fq,qi,qj->fij", scale, weight, psi, shape, optimize=True)
        blocks = [normal_blocks, *(weights_blocks[..., None] * tangents[table][:, :, None, t] for t in range(axes - 1))]
        row = axes * table[:, :, None, None] + np.zeros_like(normal_blocks, dtype=np.int64)
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
