"""Series of a run, one number for each step, with their derivatives by the motion and by parameters.

A series belongs to the steps of one block, `LinearSteps`. `values` (b,) are those at the ends of the steps, of
cumulative series the increments; `add_sources` adds Σ weights · derivatives by the motion to `Sources`; `by_parameter`
gives Σ weights · derivatives by a parameter at the same motion.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from arlequin.linalg.products import applied
from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.sensitivity.linear_steps import LinearSteps
from arlequin.sensitivity.models_at import ModelDerivative, StudyModel
from arlequin.sensitivity.point_works import PointQuantity, by_constants, by_motion
from arlequin.system.assembly import Assembly


@dataclass(frozen=True, eq=False)
class Sources:
    """Derivatives of a number by the motion of b steps: u, v (b + 1, d), P (b, r), springs (b + 1, r + m), depth (b, r)
    after each step; u and v of the rows, depth and opening at the start of each step (b, r)."""

    u: Array
    v: Array
    impulse: Array
    springs: Array
    depth: Array
    rows_u: Array
    rows_v: Array
    depth_before: Array
    opening_before: Array

    @classmethod
    def zeros(cls, steps: int, dofs: int, rows: int, internal: int) -> "Sources":
        """Sources without any derivative; internal: spring tractions and internal variables of springs, r + m."""
        dof_ends, row_ends = (np.zeros((steps + 1, n)) for n in (dofs, internal))
        return cls(
            dof_ends, dof_ends.copy(), np.zeros((steps, rows)), row_ends, *(np.zeros((steps, rows)) for _ in range(5))
        )


class Series(Protocol):
    """A series of the steps of a block; see the module."""

    def values(self) -> Array: ...

    def add_sources(self, weights: Array, out: Sources) -> None: ...

    def by_parameter(self, weights: Array, derivative: ModelDerivative) -> float: ...


Rows = Callable[[Assembly], dict[str, Array]]


@dataclass(frozen=True, eq=False)
class LinearSeries:
    """row_u · u + row_v · v at the ends of the steps + row_P · P.

    rows(assembly): the rows other than 0, by "u", "v" (d,) and "impulse" (r,).
    """

    linear: LinearSteps
    rows: Rows

    def _fields(self) -> dict[str, Array]:
        block = self.linear.block
        return {"u": block.u[1:], "v": block.v[1:], "impulse": block.impulse}

    def values(self) -> Array:
        fields = self._fields()
        rows = self.rows(self.linear.equations.model.assembly)
        return np.asarray(sum(fields[name] @ row for name, row in rows.items()))

    def add_sources(self, weights: Array, out: Sources) -> None:
        targets = {"u": out.u[1:], "v": out.v[1:], "impulse": out.impulse}
        for name, row in self.rows(self.linear.equations.model.assembly).items():
            targets[name] += weights[:, None] * row

    def by_parameter(self, weights: Array, derivative: ModelDerivative) -> float:
        fields = self._fields()

        def smooth(model: StudyModel) -> Array:
            rows = self.rows(model.assembly)
            return np.concatenate([row if name == "impulse" else model.smooth(row) for name, row in rows.items()])

        change, total, first = derivative.combined(smooth), 0.0, 0
        for name, row in self.rows(self.linear.equations.model.assembly).items():
            total += float((weights @ fields[name]) @ change[first : first + row.size])
            first += row.size
        return total


@dataclass(frozen=True, eq=False)
class QuadraticSeries:
    """factor · x·A x of u or v at the ends of the steps, or of the "flow" (u₁ − u₀)/Δt; matrix: see
    `StudyModel.matrix`."""

    linear: LinearSteps
    matrix: str
    of: str
    factor: float

    @property
    def _field(self) -> Array:
        block = self.linear.block
        return self.linear.equations.flow(block) if self.of == "flow" else getattr(block, self.of)[1:]

    @property
    def _forces(self) -> Array:
        return np.asarray(applied(self.linear.equations.model.matrix(self.matrix), self._field))

    def values(self) -> Array:
        return self.factor * np.vecdot(self._field, self._forces)

    def add_sources(self, weights: Array, out: Sources) -> None:
        by_field = (2.0 * self.factor * weights)[:, None] * self._forces
        if self.of == "flow":
            _add_by_flow(by_field, self.linear.equations.step, out)
        else:
            getattr(out, self.of)[1:] += by_field

    def by_parameter(self, weights: Array, derivative: ModelDerivative) -> float:
        matrix, field = derivative.matrix(self.matrix), self._field
        return 0.0 if matrix is None else float(self.factor * weights @ np.vecdot(field, applied(matrix, field)))


@dataclass(frozen=True, eq=False)
class Reactions:
    """Mean forces (b, p), N, of the steps on the imposed dofs,

    R = [M Δv − Cᵀφ − BᵀP]/Δt + K ((1 − γ) u₀ + γ u₁) + D ((1 − γ) v₀ + γ v₁) − f,

    with their derivatives; f the mean loads. Junctions must not act on these dofs, and the scheme must not average
    forces with those of earlier steps.
    """

    linear: LinearSteps

    def __post_init__(self) -> None:
        form = self.linear.equations.form
        if form.averages or form.staggered:
            raise UserError(
                "reactions have no Response with CentralDifference, or a scheme of α_m ≠ 0 or α_f ≠ 0: take a function"
            )
        assembly = self.linear.equations.model.assembly
        if assembly.constraints[:, assembly.imposed_dofs].nnz:
            raise UserError("reactions have no Response where a junction acts on an imposed dof: take a function")

    @property
    def dofs(self) -> Any:
        """Imposed dofs (p,)."""
        return self.linear.equations.model.assembly.imposed_dofs

    def _parts(self) -> tuple[Array, Array, Array]:
        """Accelerations, mean displacements and velocities (b, d)."""
        block, form = self.linear.block, self.linear.equations.form
        return np.diff(block.v, axis=0) / form.step, form.mean(block.u), form.mean(block.v)

    def _of(self, matrix: Callable[[str], sp.csr_array | None], loads: Array | None) -> Array:
        """R (b, p) with these matrices and loads (b + 1, d), or its derivative with theirs."""
        equations, block = self.linear.equations, self.linear.block
        accelerations, mean, rates = self._parts()
        out = np.zeros((len(block), self.dofs.size))
        for name, field in (("mass", accelerations), ("stiffness", mean), ("viscous", rates)):
            operator = matrix(name)
            if operator is not None:
                out += applied(sp.csr_array(operator[self.dofs]), field)
        basis = matrix("basis")
        if basis is not None:
            out -= applied(sp.csr_array(basis[:, self.dofs].T), block.impulse) / equations.step
        return out if loads is None else out - equations.form.mean(loads)[:, self.dofs]

    def values(self) -> Array:
        """R (b, p)."""
        model, block = self.linear.equations.model, self.linear.block
        return self._of(model.matrix, model.loads(block.n, len(block)))

    def add_sources(self, weights: Array, out: Sources) -> None:
        """Add the derivatives of Σ weights · R by the motion, weights (b, p)."""
        equations = self.linear.equations
        model, gamma, step = equations.model, equations.form.gamma, equations.step
        by_a, by_mean, by_rates = (
            applied(sp.csr_array(model.matrix(name)[self.dofs].T), weights) for name in ("mass", "stiffness", "viscous")
        )
        for ends, by_ends in ((out.u, by_mean), (out.v, by_rates)):
            ends[1:] += gamma * by_ends
            ends[:-1] += (1.0 - gamma) * by_ends
        out.v[1:] += by_a / step
        out.v[:-1] -= by_a / step
        out.impulse[:] -= applied(sp.csr_array(model.matrix("basis")[:, self.dofs]), weights) / step

    def by_parameter(self, derivative: ModelDerivative) -> Array:
        """dR/dp (b, p) at the same motion."""
        block = self.linear.block
        return self._of(derivative.matrix, derivative.loads(block.n, len(block)))


@dataclass(frozen=True, eq=False)
class ReactionSeries:
    """Force of a support on its part: Σ of the reactions of some imposed dofs, chosen(assembly) (p,) of 0 and 1."""

    linear: LinearSteps
    chosen: Callable[[Assembly], Array]

    def values(self) -> Array:
        return Reactions(self.linear).values() @ self.chosen(self.linear.equations.model.assembly)

    def add_sources(self, weights: Array, out: Sources) -> None:
        chosen = self.chosen(self.linear.equations.model.assembly)
        Reactions(self.linear).add_sources(weights[:, None] * chosen, out)

    def by_parameter(self, weights: Array, derivative: ModelDerivative) -> float:
        chosen = self.chosen(self.linear.equations.model.assembly)
        return float(weights @ Reactions(self.linear).by_parameter(derivative) @ chosen)


@dataclass(frozen=True, eq=False)
class ExternalWorkSeries:
    """(f + R)·(u₁ − u₀) of the mean loads f and the reactions R on the imposed dofs that move."""

    linear: LinearSteps

    @property
    def _reactions(self) -> Reactions | None:
        parts = self.linear.equations.model.assembly.parts
        return None if all(item.rest for part in parts for item in part.imposed) else Reactions(self.linear)

    @property
    def _increment(self) -> Array:
        return np.diff(self.linear.block.u, axis=0)

    def _forces(self) -> Array:
        equations, block = self.linear.equations, self.linear.block
        out = np.array(equations.mean_loads(block, equations.model.loads(block.n, len(block))))
        reactions = self._reactions
        if reactions is not None:
            out[:, reactions.dofs] += reactions.values()
        return out

    def values(self) -> Array:
        return np.asarray(np.vecdot(self._forces(), self._increment))

    def add_sources(self, weights: Array, out: Sources) -> None:
        force, reactions = weights[:, None] * self._forces(), self._reactions
        out.u[1:] += force
        out.u[:-1] -= force
        if reactions is not None:
            reactions.add_sources(weights[:, None] * self._increment[:, reactions.dofs], out)

    def by_parameter(self, weights: Array, derivative: ModelDerivative) -> float:
        equations, block, reactions = self.linear.equations, self.linear.block, self._reactions
        total, loads = np.zeros(len(block)), derivative.loads(block.n, len(block))
        if loads is not None:
            if equations.form.averages:
                raise UserError(
                    "energy/external_work: loads that depend on a parameter have no Response with a scheme of α_m ≠ 0 "
                    "or α_f ≠ 0: take a function of the result"
                )
            total += np.vecdot(equations.form.mean(loads), self._increment)
        if reactions is not None:
            total += np.vecdot(reactions.by_parameter(derivative), self._increment[:, reactions.dofs])
        return float(weights @ total)


@dataclass(frozen=True, eq=False)
class PointSeries:
    """Σ_k shares_k q_k of a quantity q of contact points; shares(assembly) (k,); least: the
    smallest of those with a share instead of their sum."""

    linear: LinearSteps
    quantity: PointQuantity
    shares: Callable[[Assembly], Array]
    least: bool = False

    def _values_and_shares(self) -> tuple[Array, Array]:
        """The quantity and the shares (b, k)."""
        linear = self.linear
        each = np.asarray(self.quantity(linear.contact, linear.motion, linear.statuses))
        shares = np.broadcast_to(self.shares(linear.equations.model.assembly), each.shape)
        if not self.least:
            return each, shares
        smallest = np.argmin(np.where(shares > 0.0, each, np.inf), axis=1)
        return each, (np.arange(each.shape[1]) == smallest[:, None]).astype(float)

    def values(self) -> Array:
        return np.asarray(np.vecdot(*self._values_and_shares()))

    def add_sources(self, weights: Array, out: Sources) -> None:
        linear, contact = self.linear, self.linear.contact
        factor = weights[:, None] * self._values_and_shares()[1]
        slopes = by_motion(self.quantity, contact, linear.motion, linear.statuses, factor)
        at, first = contact.rows, contact.laws.first[:-1]
        basis = sp.csr_array(linear.equations.model.assembly.contact.basis.T)

        def rows(by_point: Array) -> Array:
            by_row = np.zeros(out.impulse.shape)
            by_row[:, at[at >= 0]] = by_point[:, at >= 0]
            return by_row

        out.impulse[:] += rows(slopes.impulse)
        out.u[1:] += applied(basis, rows(slopes.u1))
        out.v[1:] += applied(basis, rows(slopes.v1))
        out.rows_u[:] += rows(slopes.u0)
        out.rows_v[:] += rows(slopes.v0)
        count = out.impulse.shape[1]
        out.springs[:-1, :count] += rows(slopes.spring)
        out.springs[:-1, count:] += contact.gather_memory(slopes.memory)
        out.depth_before[:, first] += slopes.depth
        out.opening_before[:, first] += slopes.opening

    def by_parameter(self, weights: Array, derivative: ModelDerivative) -> float:
        linear, (each, shares) = self.linear, self._values_and_shares()
        total = 0.0
        if not self.least:
            total += float(weights @ each @ derivative.combined(lambda model: self.shares(model.assembly)))
        if derivative.changes_contact:
            data, rows = linear.point_changes(derivative)
            change = by_constants(self.quantity, linear.contact, linear.motion, linear.statuses, data, rows)
            total += float(weights @ np.vecdot(change, shares))
        return total


@dataclass(frozen=True, eq=False)
class LawEnergySeries:
    """Energy that the regular laws and the springs of friction store at the ends of the steps, J."""

    linear: LinearSteps

    @property
    def _gaps(self) -> Array:
        """Gaps (b, k), m."""
        linear = self.linear
        return np.asarray(linear.equations.model.gap + linear.block.depth + linear.motion.u1[..., 0])

    def _of(self, model: StudyModel) -> Array:
        """The energy (b,) by the laws of a model at these gaps and springs."""
        laws, springs = model.assembly.laws, self.linear.springs[1:]
        history = laws.histories_of_memory(springs[:, laws.row_count :])
        return np.asarray(laws.stored_energy(self._gaps, springs[:, : laws.row_count], history))

    def _by_gaps(self, weights: Array) -> Array:
        """Derivatives (b, k) by the gaps, in closed form, as the energy has kinks at the heights of the laws."""
        laws = self.linear.equations.model.assembly.laws
        return -weights[:, None] * laws.area * laws.pressure(self._gaps)

    def values(self) -> Array:
        return self._of(self.linear.equations.model)

    def add_sources(self, weights: Array, out: Sources) -> None:
        linear, assembly = self.linear, self.linear.equations.model.assembly
        laws, first = assembly.laws, assembly.laws.first[:-1]
        rows = np.zeros(out.impulse.shape)
        rows[:, first] = self._by_gaps(weights)
        out.u[1:] += applied(sp.csr_array(assembly.contact.basis.T), rows)
        out.depth_before[:] += rows
        if laws.has_elastic_stick:
            at, points = laws.elastic_stick_rows, laws.elastic_stick_points
            flexibility = laws.area[points] / laws.tangential_stiffness[points]
            out.springs[1:, at] += weights[:, None] * flexibility * linear.springs[1:, at]
        if laws.memory:
            variables = linear.springs[1:, laws.row_count :]
            slopes = laws.memory_slopes(laws.histories_of_memory(variables))
            out.springs[1:, laws.row_count :] += weights[:, None] * slopes

    def by_parameter(self, weights: Array, derivative: ModelDerivative) -> float:
        if not derivative.changes_contact:
            return 0.0
        data, rows = self.linear.point_changes(derivative)
        gaps = data.gap if rows is None else data.gap + rows.u1[..., 0]
        return float(weights @ derivative.combined(self._of) + np.sum(self._by_gaps(weights) * gaps))


def _add_by_flow(by_flow: Array, step: float, out: Sources) -> None:
    """Add derivatives (b, d) by (u₁ − u₀)/Δt."""
    out.u[1:] += by_flow / step
    out.u[:-1] -= by_flow / step
