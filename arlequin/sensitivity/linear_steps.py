"""Solved steps linearised: the equations of their contact with derivatives, by rows."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.linalg.products import applied
from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.sensitivity.contact_equations import ContactEquations, PointData, PointMotion, PointValues, Statuses
from arlequin.sensitivity.models_at import ModelDerivative, StudyModel
from arlequin.sensitivity.step_equations import BulkEquations
from arlequin.sensitivity.trajectory import Block

_SOLVED = 1e-7  # residual of the equations of a solved step, relative to their terms, that is round-off
_ROUND_OFF = 1e-12  # of displacements, of which steps are differences


@dataclass(frozen=True, eq=False)
class RowTables:
    """Derivatives of the equations E of contact, of the spring tractions s₁ and of the wear w of b steps, by rows: each
    (b, r, 3), by the three rows of the point; by the lead, 0 without it. Wear stands in the normal row of each point.
    """

    by_impulse: Array
    by_y: Array
    by_u: Array
    by_v: Array
    by_spring: Array
    spring_by_impulse: Array
    spring_by_y: Array
    spring_by_u: Array
    spring_by_v: Array
    spring_by_spring: Array
    by_lead: Array
    spring_by_lead: Array
    worn_by_impulse: Array
    worn_by_y: Array
    worn_by_v: Array
    by_depth: Array
    by_opening: Array

    @property
    def each(self) -> tuple[Array, ...]:
        """The tables (b, r, 3), in this order."""
        return tuple(list(vars(self).values())[:15])


@dataclass(frozen=True, eq=False)
class TangentBlock:
    """Derivatives in the steps of a block: u, v (b + 1, d, p), φ (b, m, p), P (b, r, p), springs (b + 1, r, p), depth
    (b + 1, r, p) and opening (b + 1, r, p) after each step."""

    u: Array
    v: Array
    multipliers: Array
    impulse: Array
    springs: Array
    depth: Array
    opening: Array

    def cut(self, first: int, last: int) -> "TangentBlock":
        """Those of the steps first ≤ j < last."""
        at, ends = slice(first, last), slice(first, last + 1)
        return TangentBlock(
            self.u[ends], self.v[ends], self.multipliers[at], self.impulse[at], self.springs[ends], self.depth[ends],
            self.opening[ends],
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class LinearSteps:
    """Steps of a block, with the motion of their contact points and its statuses."""

    equations: BulkEquations
    contact: ContactEquations
    block: Block
    motion: PointMotion
    statuses: Statuses
    springs: Array = field(repr=False)
    delassus: Array = field(repr=False)

    @classmethod
    def of(cls, equations: BulkEquations, block: Block, spring: Array, delassus: Array) -> "LinearSteps":
        """spring (r,): tractions at the start, Pa; delassus (r,): diagonal. UserError where the steps do not solve the
        equations that are derived."""
        contact = ContactEquations.of(equations.model, equations.form)
        motion = motion_of(contact, equations.model, block, np.zeros((len(block) + 1, spring.size)))
        at = contact.rows
        wide = contact.springs(motion, contact.spread(spring[None])[0])
        springs = np.zeros((len(block) + 1, spring.size))
        springs[:, at[at >= 0]] = wide[:, at >= 0]
        motion = motion._replace(spring=wide[:-1])
        now = contact.statuses(motion, block.status, delassus)
        return cls(equations, contact, block, motion, now, springs, delassus)

    def cut(self, first: int, last: int) -> "LinearSteps":
        """The steps first ≤ j < last."""
        at, ends = slice(first, last), slice(first, last + 1)
        motion = PointMotion(*(own[at] for own in self.motion))
        now: Any = (None if own is None else own[at] for own in self.statuses)
        return LinearSteps(
            self.equations, self.contact, self.equations.cut(self.block, first, last), motion, Statuses(*now),
            self.springs[ends], self.delassus,
        )  # fmt: skip

    @cached_property
    def tables(self) -> RowTables:
        """Derivatives by the motion."""
        form = self.equations.form
        step, weight = form.step, form.weight
        every, (point, of) = self.contact.blocks(self.motion, self.statuses), self.places

        def on_normal(values: Array) -> Array:
            out = np.zeros((len(self.block), point.size, *values.shape[2:]))
            out[:, self.contact.laws.first[:-1]] = values
            return out

        e_p, e_u1, e_v1, e_u0, e_v0, e_s = np.moveaxis(every.residual, 2, 0)[:, :, point, of]
        s_p, s_u1, s_v1, s_u0, s_v0, s_s = np.moveaxis(every.spring, 2, 0)[:, :, point, of]
        before, lead = (1.0 - weight) / weight, step**2 if form.carries else 0.0
        # of the slip: Δt (v₀ + v₁)/2, in statics y
        way_by_y, way_by_v = (1.0, 0.0) if form.static else (0.5 * step / weight, 0.5 * step * (1.0 - before))
        worn = on_normal(every.worn[:, :, 1])
        arrays = (
            e_p, step * e_u1 + e_v1 / weight, e_u0 + e_u1, e_v0 - before * e_v1, e_s,
            s_p, step * s_u1 + s_v1 / weight, s_u0 + s_u1, s_v0 - before * s_v1, s_s,
            lead * e_u1, lead * s_u1, on_normal(every.worn[:, :, 0]), way_by_y * worn, way_by_v * worn,
            on_normal(every.by_wear[..., 0]), on_normal(every.by_wear[..., 1]),
        )  # fmt: skip
        return RowTables(*map(np.ascontiguousarray, arrays))

    def by_parameter(self, derivative: ModelDerivative) -> tuple[Array, Array, Array]:
        """∂E/∂p (b, r), ∂s₁/∂p (b, r) and ∂w/∂p (b, r) at this motion and these statuses."""
        count, (point, of) = len(self.block), self.places
        if not derivative.changes_contact or not point.size:
            none = np.zeros((count, point.size))
            return none, none, none

        data, rows = self.changes_by(derivative)
        changes = _packed(self.contact.along(self.motion, data, rows, self.statuses))
        residual, spring = changes[..., :3][:, point, of], changes[..., 3:6][:, point, of]
        worn = np.zeros_like(residual)
        worn[:, self.contact.laws.first[:-1]] = changes[..., 6]
        return residual, spring, worn

    def changes_by(self, derivative: ModelDerivative) -> tuple[PointData, PointMotion | None]:
        """Derivatives by the parameter of the constants of the points, and of their motion where rows depend on it."""
        data = PointData(*(np.asarray(own) for own in derivative.combined_fields(PointData.of)))
        basis = derivative.matrix("basis")
        if basis is None:
            return data, None
        u, v = (self.contact.spread(applied(basis, own)) for own in (self.block.u, self.block.v))
        none, still = np.zeros_like(self.motion.impulse), np.zeros_like(self.motion.depth)
        return data, PointMotion(none, u[1:], v[1:], u[:-1], v[:-1], none, still, still)

    def motion_by(self, derivative: ModelDerivative, moved: TangentBlock, i: int) -> tuple[PointData, PointMotion]:
        """Derivatives by the parameter i of the constants of the points and of their motion, along the derivatives of
        the run."""
        basis, first = self.equations.model.assembly.contact.basis, self.contact.laws.first[:-1]
        u, v, _, impulse, springs, depth, opening = (own[..., i] for own in vars(moved).values())
        wide_u, wide_v, wide_s = (self.contact.spread(own) for own in (applied(basis, u), applied(basis, v), springs))
        along = PointMotion(
            self.contact.spread(impulse), wide_u[1:], wide_v[1:], wide_u[:-1], wide_v[:-1], wide_s[:-1],
            depth[:-1, first], opening[:-1, first],
        )  # fmt: skip
        data, rows = self.changes_by(derivative)
        if rows is not None:
            along = PointMotion(*(own + more for own, more in zip(along, rows, strict=True)))
        return data, along

    def reach(self, derivative: ModelDerivative, moved: TangentBlock, i: int) -> tuple[float, float]:
        """Changes of the parameter i, down and up, at which the first status changes, to first order."""
        if not self.contact.laws.count:
            return -np.inf, np.inf
        data, rows_moved = self.motion_by(derivative, moved, i)
        left, rate = self.contact.margins_along(self.motion, data, rows_moved, self.statuses)
        changes = rate != 0.0
        changes &= np.isfinite(left) & np.isfinite(rate)
        at = -left[changes] / rate[changes]
        down, up = at[at <= 0.0], at[at >= 0.0]
        return float(down.max(initial=-np.inf)), float(up.min(initial=np.inf))

    def check(self) -> None:
        """UserError where the solved steps do not satisfy the equations: another law or scheme than those known
        here. Not seen are y on imposed dofs, springs and wear of the steps, which are computed here anew, and what a
        parameter alone changes."""
        block, step = self.block, self.equations.step
        right, missing, moved = self.equations.residual(block)
        assembly, y = self.equations.model.bulk, self.equations.y(block)
        size = np.abs(self.equations.ends(block).internal).max(initial=0.0) if self.equations.form.static else 0.0
        size += np.abs(applied(assembly.mass, y)).max(initial=0.0) + np.abs(block.impulse).max(initial=0.0)
        speeds = np.abs(y).max(initial=0.0) + np.abs(block.v).max(initial=0.0)
        length = speeds * float(abs(assembly.constraints).sum(axis=1).max(initial=0.0))
        way = step * speeds + _ROUND_OFF / _SOLVED * np.abs(block.u).max(initial=0.0)
        worst = max(
            np.abs(right).max(initial=0.0) / (size + 1e-300),
            np.abs(missing).max(initial=0.0) / (length + 1e-300),
            np.abs(moved).max(initial=0.0) / (way + 1e-300),
            self.contact.unsolved(self.motion, self.statuses, self.delassus),
        )
        if not worst <= _SOLVED:
            raise UserError(
                "the gradient does not know all equations of this study: its steps solve those that it derives only "
                f"to {worst:.1e}"
            )

    @cached_property
    def rows_of_points(self) -> NDArray[np.int64]:
        """Rows (r, 3) of the point of each row, −1 where it has fewer."""
        return np.ascontiguousarray(self.contact.rows[self.places[0]])

    @property
    def places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Point (r,) of each row, and which of its rows it is."""
        first = self.contact.laws.first
        point = np.repeat(np.arange(self.contact.laws.count), np.diff(first))
        return point, np.arange(int(first[-1])) - first[point]


def start_springs(model: StudyModel) -> Array:
    """Spring tractions (r,) of friction at t = 0, Pa."""
    laws, contact = model.assembly.laws, model.assembly.contact
    if not laws.has_elastic_stick:
        return np.zeros(laws.row_count)
    kinematics = contact.kinematics(np.zeros(contact.basis.shape[0]))
    return laws.spring_traction(model.first.history, kinematics.tangents)


def motion_of(contact: ContactEquations, model: StudyModel, block: Block, springs: Array) -> PointMotion:
    """The motion of the contact points of solved steps; springs (b + 1, r), Pa."""
    basis = model.assembly.contact.basis
    u, v = (contact.spread(applied(basis, own)) for own in (block.u, block.v))
    return PointMotion(
        contact.spread(block.impulse), u[1:], v[1:], u[:-1], v[:-1], contact.spread(springs[:-1]), block.depth,
        block.opening,
    )  # fmt: skip


def _packed(values: PointValues) -> Array:
    """All values (b, k, 7) in one array."""
    return np.concatenate([values.residual, values.spring, values.worn[..., None]], axis=-1)
