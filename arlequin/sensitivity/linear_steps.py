"""Linearised steps: the equations of contact of solved steps with their derivatives, by rows."""

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
    memory (b, 5, m): of the equation of the normal row of each internal variable of springs by this variable, and of
    the variable at the end by y, u₀ and the lead of this row and by itself.
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
    memory: Array

    @property
    def each(self) -> tuple[Array, ...]:
        """The tables (b, r, 3), in this order."""
        return tuple(list(vars(self).values())[:15])

    def of_step(self, j: int) -> "RowTables":
        """The tables of step j."""
        return RowTables(*(table[j] for table in vars(self).values()))


@dataclass(frozen=True, eq=False)
class TangentBlock:
    """Derivatives in the steps of a block: u, v (b + 1, d, p), φ (b, m, p), P (b, r, p), springs (b + 1, r + m, p),
    depth (b + 1, r, p) and opening (b + 1, r, p) after each step."""

    u: Array
    v: Array
    multipliers: Array
    impulse: Array
    springs: Array
    depth: Array
    opening: Array

    def cut(self, first: int, last: int) -> "TangentBlock":
        """The derivatives in the steps first ≤ j < last."""
        at, ends = slice(first, last), slice(first, last + 1)
        return TangentBlock(
            self.u[ends], self.v[ends], self.multipliers[at], self.impulse[at], self.springs[ends], self.depth[ends],
            self.opening[ends],
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class LinearSteps:
    """Solved steps of a block, with the motion and the statuses of their contact points; springs (b + 1, r + m): spring
    tractions, Pa, and internal variables of springs at the ends."""

    equations: BulkEquations
    contact: ContactEquations
    block: Block
    motion: PointMotion
    statuses: Statuses
    springs: Array = field(repr=False)
    delassus: Array = field(repr=False)

    @classmethod
    def of(cls, equations: BulkEquations, block: Block, spring: Array, delassus: Array) -> "LinearSteps":
        """spring (r + m,): tractions, Pa, and internal variables of springs at the start; delassus (r,): diagonal.
        UserError where the steps do not solve the equations that are derived."""
        contact = ContactEquations.of(equations.model, equations.form)
        springs = np.zeros((len(block) + 1, spring.size))
        motion = motion_of(contact, equations.model, block, springs)
        at, rows = contact.rows, contact.laws.row_count
        point_springs = contact.springs(motion, contact.spread(spring[None])[0])
        springs[:, at[at >= 0]] = point_springs[:, at >= 0]
        springs[:, rows:] = contact.memories(motion, spring[rows:])
        memory = contact.spread_memory(springs[:-1, rows:])
        motion = motion._replace(spring=point_springs[:-1], memory=memory)
        statuses = contact.statuses(motion, block.status, delassus)
        return cls(equations, contact, block, motion, statuses, springs, delassus)

    def cut(self, first: int, last: int) -> "LinearSteps":
        """The steps first ≤ j < last."""
        at, ends = slice(first, last), slice(first, last + 1)
        motion = PointMotion(*(field[at] for field in self.motion))
        statuses: Any = (None if field is None else field[at] for field in self.statuses)
        return LinearSteps(
            self.equations, self.contact, self.equations.cut(self.block, first, last), motion, Statuses(*statuses),
            self.springs[ends], self.delassus,
        )  # fmt: skip

    @cached_property
    def tables(self) -> RowTables:
        """Derivatives by the motion."""
        form = self.equations.form
        step, weight = form.step, form.weight
        blocks, (point, axis) = self.contact.blocks(self.motion, self.statuses), self.points_and_axes

        def on_normal(values: Array) -> Array:
            out = np.zeros((len(self.block), point.size, *values.shape[2:]))
            out[:, self.contact.laws.first[:-1]] = values
            return out

        e_p, e_u1, e_v1, e_u0, e_v0, e_s = np.moveaxis(blocks.residual, 2, 0)[:, :, point, axis]
        s_p, s_u1, s_v1, s_u0, s_v0, s_s = np.moveaxis(blocks.spring, 2, 0)[:, :, point, axis]
        ratio, lead = (1.0 - weight) / weight, step**2 if form.carries else 0.0
        # path of the slip: Δt (v₀ + v₁)/2, in statics y
        path_by_y, path_by_v = (1.0, 0.0) if form.static else (0.5 * step / weight, 0.5 * step * (1.0 - ratio))
        worn = on_normal(blocks.worn[:, :, 1])
        arrays = (
            e_p, step * e_u1 + e_v1 / weight, e_u0 + e_u1, e_v0 - ratio * e_v1, e_s,
            s_p, step * s_u1 + s_v1 / weight, s_u0 + s_u1, s_v0 - ratio * s_v1, s_s,
            lead * e_u1, lead * s_u1, on_normal(blocks.worn[:, :, 0]), path_by_y * worn, path_by_v * worn,
            on_normal(blocks.by_wear[..., 0]), on_normal(blocks.by_wear[..., 1]),
            self._memory_table(blocks.memory),
        )  # fmt: skip
        return RowTables(*map(np.ascontiguousarray, arrays))

    def _memory_table(self, blocks: Array) -> Array:
        """`RowTables.memory`, from `PointBlocks.memory`."""
        form, (residual, by_start, by_end, by_itself) = self.equations.form, self.contact.gather_memory(blocks)
        lead = form.step**2 if form.carries else 0.0
        return np.stack([residual, form.step * by_end, by_start + by_end, lead * by_end, by_itself], axis=1)

    @property
    def memory_rows(self) -> NDArray[np.int64]:
        """Normal row (m,) of each internal variable of springs."""
        return self.contact.laws.rows_of_memory

    def by_parameter(self, derivative: ModelDerivative) -> tuple[Array, Array, Array]:
        """∂E/∂p (b, r), ∂s₁/∂p (b, r + m) and ∂w/∂p (b, r) at this motion and these statuses."""
        count, (point, axis) = len(self.block), self.points_and_axes
        if not derivative.changes_contact or not point.size:
            zeros = np.zeros((count, point.size))
            return zeros, np.zeros((count, self.springs.shape[1])), zeros

        data, motion = self.point_changes(derivative)
        along = self.contact.along(self.motion, data, motion, self.statuses)
        derivatives = _packed(along)
        residual, spring = derivatives[..., :3][:, point, axis], derivatives[..., 3:6][:, point, axis]
        worn = np.zeros_like(residual)
        worn[:, self.contact.laws.first[:-1]] = derivatives[..., 6]
        return residual, np.concatenate([spring, self.contact.gather_memory(along.memory)], axis=1), worn

    def point_changes(self, derivative: ModelDerivative) -> tuple[PointData, PointMotion | None]:
        """Derivatives by the parameter of the constants of the points, and of their motion where the basis depends on
        it."""
        data = PointData(*(np.asarray(change) for change in derivative.combined_fields(PointData.of)))
        basis = derivative.matrix("basis")
        if basis is None:
            return data, None
        u, v = (self.contact.spread(applied(basis, field)) for field in (self.block.u, self.block.v))
        zeros, no_wear = np.zeros_like(self.motion.impulse), np.zeros_like(self.motion.depth)
        no_memory = np.zeros_like(self.motion.memory)
        return data, PointMotion(zeros, u[1:], v[1:], u[:-1], v[:-1], zeros, no_wear, no_wear, no_memory)

    def point_tangents(
        self, derivative: ModelDerivative, tangents: TangentBlock, i: int
    ) -> tuple[PointData, PointMotion]:
        """Total derivatives by the parameter i of the constants of the points and of their motion; tangents:
        derivatives of the steps."""
        basis, first = self.equations.model.assembly.contact.basis, self.contact.laws.first[:-1]
        u, v, _, impulse, springs, depth, opening = (field[..., i] for field in vars(tangents).values())
        point_u, point_v, point_springs = (
            self.contact.spread(field) for field in (applied(basis, u), applied(basis, v), springs)
        )
        motion = PointMotion(
            self.contact.spread(impulse), point_u[1:], point_v[1:], point_u[:-1], point_v[:-1], point_springs[:-1],
            depth[:-1, first], opening[:-1, first],
            self.contact.spread_memory(springs[:-1, self.contact.laws.row_count :]),
        )  # fmt: skip
        data, row_change = self.point_changes(derivative)
        if row_change is not None:
            motion = PointMotion(*(field + change for field, change in zip(motion, row_change, strict=True)))
        return data, motion

    def reach(self, derivative: ModelDerivative, tangents: TangentBlock, i: int) -> tuple[float, float]:
        """Changes of the parameter i, down and up, at which the first status changes, to first order."""
        if not self.contact.laws.count:
            return -np.inf, np.inf
        data, motion = self.point_tangents(derivative, tangents, i)
        margins, slopes = self.contact.margins_along(self.motion, data, motion, self.statuses)
        changes = slopes != 0.0
        changes &= np.isfinite(margins) & np.isfinite(slopes)
        at = -margins[changes] / slopes[changes]
        down, up = at[at <= 0.0], at[at >= 0.0]
        return float(down.max(initial=-np.inf)), float(up.min(initial=np.inf))

    def check(self) -> None:
        """UserError where the solved steps do not satisfy the equations: a law or scheme without derivatives. Not
        checked are y on imposed dofs, springs and wear of the steps, which are computed here again, and derivatives by
        a parameter at fixed motion."""
        block, step = self.block, self.equations.step
        b, c, du = self.equations.residual(block)
        assembly, y = self.equations.model.bulk, self.equations.y(block)
        impulse = np.abs(self.equations.ends(block).internal).max(initial=0.0) if self.equations.form.static else 0.0
        impulse += np.abs(applied(assembly.mass, y)).max(initial=0.0) + np.abs(block.impulse).max(initial=0.0)
        velocity = np.abs(y).max(initial=0.0) + np.abs(block.v).max(initial=0.0)
        constraint_rate = velocity * float(abs(assembly.constraints).sum(axis=1).max(initial=0.0))
        displacement = step * velocity + _ROUND_OFF / _SOLVED * np.abs(block.u).max(initial=0.0)
        worst = max(
            np.abs(b).max(initial=0.0) / (impulse + 1e-300),
            np.abs(c).max(initial=0.0) / (constraint_rate + 1e-300),
            np.abs(du).max(initial=0.0) / (displacement + 1e-300),
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
        return np.ascontiguousarray(self.contact.rows[self.points_and_axes[0]])

    @property
    def points_and_axes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Point (r,) of each row, and its axis: 0 normal, 1 and 2 tangential."""
        first = self.contact.laws.first
        point = np.repeat(np.arange(self.contact.laws.count), np.diff(first))
        return point, np.arange(int(first[-1])) - first[point]


def start_springs(model: StudyModel) -> Array:
    """Spring tractions of friction, Pa, and internal variables of springs at t = 0 (r + m,)."""
    laws, contact, history = model.assembly.laws, model.assembly.contact, model.first.history
    tractions = np.zeros(laws.row_count)
    if laws.has_elastic_stick:
        kinematics = contact.kinematics(np.zeros(contact.basis.shape[0]))
        tractions = laws.spring_traction(history, kinematics.tangents)
    return np.concatenate([tractions, history[laws.memory_rows, 1]])


def motion_of(contact: ContactEquations, model: StudyModel, block: Block, springs: Array) -> PointMotion:
    """The motion of the contact points of solved steps; springs (b + 1, r + m), see `LinearSteps`."""
    basis = model.assembly.contact.basis
    u, v = (contact.spread(applied(basis, field)) for field in (block.u, block.v))
    return PointMotion(
        contact.spread(block.impulse), u[1:], v[1:], u[:-1], v[:-1], contact.spread(springs[:-1]), block.depth,
        block.opening, contact.spread_memory(springs[:-1, contact.laws.row_count :]),
    )  # fmt: skip


def _packed(values: PointValues) -> Array:
    """The fields concatenated to one array (b, k, 7)."""
    return np.concatenate([values.residual, values.spring, values.worn[..., None]], axis=-1)
