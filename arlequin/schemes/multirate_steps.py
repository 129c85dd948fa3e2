"""Single large steps of multirate integration, for any system of linear parts; see `arlequin.schemes.multirate`."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.energy import KINDS, Work, viscous_loss
from arlequin.linalg.products import applied
from arlequin.models.errors import UserError
from arlequin.models.linalg.constraints import first_columns, independent, narrow_order
from arlequin.models.types import Array
from arlequin.schemes.central import CentralDifference
from arlequin.schemes.central_steps import CentralStepper
from arlequin.schemes.dragged import DraggedStepper
from arlequin.schemes.multirate_sides import pushed_stepper
from arlequin.schemes.sparse_steps import OneStepStepper
from arlequin.schemes.theta import Theta
from arlequin.step.batch import StepBatch
from arlequin.step.impulses import ContactImpulses
from arlequin.step.scheme import Stepper
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.subsystem import connected_dofs, restrict_assembly
from arlequin.system.system import System, surfaces_of

MAX_PASSES = 30
_REGULARISATION = 1e-9  # ε: share of its diagonal added to D_cc
_MAX_COLUMNS = 64  # right-hand sides solved for together
TOLERANCE, STAGNATION_TOLERANCE = 1e-14, 1e-12  # relative mismatch of the paths; the second where it no longer halves


@dataclass(frozen=True)
class Side:
    """The coarse or the fine parts: masks of their dofs (d,), contact points (k,), rows (r,) and rows of the contact
    basis (q,); their assembly and stepper; count: steps per large step."""

    dofs: NDArray[np.bool_]
    points: NDArray[np.bool_]
    rows: NDArray[np.bool_]
    basis: NDArray[np.bool_]
    assembly: Assembly
    stepper: OneStepStepper | CentralStepper | DraggedStepper
    count: int

    def advance(self, state: State, push: Array, slope: Array | None = None) -> "LargeStep":
        """`count` steps under the constant force `push` (d,), N, or under push + τ_j slope."""
        batches, path, size = [], np.zeros_like(push), np.zeros_like(push)
        for tau in self.times.tolist():
            before = state
            state, batch = self.stepper.advance(state, push=push if slope is None else push + tau * slope)
            assert batch.path is not None
            batches.append(batch)
            path += batch.path[0]
            size += 0.5 * self.stepper.step * (abs(before.v) + abs(state.v))
        return LargeStep(state, batches, path, size)

    @property
    def times(self) -> Array:
        """τ_j (count,): midpoints of the steps within the large step, from −½ to ½."""
        return (np.arange(self.count) + 0.5) / self.count - 0.5

    def response(self, push: Array, momentum: Array) -> Array:
        """Path (d, r) of `count` steps under constant forces (d, r) from momenta (d, r), linear bulk alone."""
        path = np.zeros_like(push)
        for step_path in self.stepper.paths(lambda _: push, momentum, self.count):
            path += step_path
        return path


@dataclass(frozen=True)
class LargeStep:
    """A large step of one side: end state, batches of its steps, their total path (d,), m; size (d,): sum of the
    absolute values of the terms of the path."""

    state: State
    batches: list[StepBatch]
    path: Array
    size: Array


@dataclass(frozen=True)
class _Motion:
    """Linear response of a side along the constraints C in a large step:

        C p = by_force (F + Cᵀφ) + by_momentum (M v),   F, M v at the start of the step.

    Both (m, d) are the transposed responses to Cᵀ: the discrete motion is reciprocal as the continuous one is.
    """

    by_force: Array
    by_momentum: Array

    @classmethod
    def of(cls, side: Side, c: sp.csr_array) -> "_Motion":
        columns = c.T.toarray()
        zero = np.zeros_like(columns)
        return cls(side.response(columns, zero).T.copy(), side.response(zero, columns).T.copy())

    def __call__(self, side: Side, state: State) -> Array:
        """C p (m,) without multipliers."""
        force, momentum = side.stepper.drive(state)
        return self.by_force @ force + self.by_momentum @ momentum


class Coupling:
    """Computes the multipliers φ (m,) for which the mismatch C_c p_c + C_f Σ p_f of the paths vanishes.

    The linear responses to them, and their prediction before the step, follow from `_Motion`.
    """

    def __init__(self, sides: tuple[Side, Side], rows: list[sp.csr_array]) -> None:
        self._sides, self._rows = sides, rows
        self._sizes = [abs(c) for c in rows]
        self.count = rows[0].shape[0]
        response = sum(
            (_responses(side, c, c) for side, c in zip(sides, rows, strict=True)), np.zeros((self.count,) * 2)
        )
        response = 0.5 * (response + response.T)
        # constraints that others, or imposed motions, imply have no multiplier
        kept = independent(response)
        self.independent = kept[narrow_order(response[np.ix_(kept, kept)])]
        self._response = scipy.linalg.cho_factor(response[np.ix_(self.independent, self.independent)])

    @cached_property
    def _motions(self) -> list[_Motion]:
        """The responses of both sides, full (m, d): of steps that are taken one by one."""
        return [_Motion.of(side, c) for side, c in zip(self._sides, self._rows, strict=True)]

    def arrays(self) -> tuple[NDArray[np.int64], Array, NDArray[np.int64]]:
        """The independent constraints (k,), L (k, k), L Lᵀ the response of their mismatch to their multipliers, and the
        first column of each of its rows (k,)."""
        lower = np.ascontiguousarray(np.triu(self._response[0]).T)
        return self.independent, lower, first_columns(lower)

    def predicted(self, states: tuple[State, ...], previous_mismatch: Array, _: Array) -> Array:
        """The multipliers of the large step from these states, predicted with linear bulk."""
        pairs = zip(self._motions, self._sides, states, strict=True)
        mismatch = sum((motion(side, state) for motion, side, state in pairs), previous_mismatch)
        return self.corrected(np.zeros(self.count), mismatch)

    def forces(self, multipliers: Array) -> list[tuple[Array, ...]]:
        """Constant forces (d,), N, on each side."""
        return [(c.T @ multipliers,) for c in self._rows]

    def mismatch(self, previous_mismatch: Array, large_steps: list[LargeStep], _: Array) -> Array:
        """The mismatch (m,) of the paths, with that of the steps before."""
        return previous_mismatch + self._rows[0] @ large_steps[0].path + self._rows[1] @ large_steps[1].path

    def scales(self, sizes: list[Array]) -> Array:
        """Sizes (1,) of the terms of the mismatch, from those of the paths."""
        return np.array([max(float((c @ size).max()) for c, size in zip(self._sizes, sizes, strict=True))])

    def relative_mismatch(self, mismatch: Array, scales: Array) -> float:
        """The mismatch of the independent rows, relative."""
        return float(np.abs(mismatch[self.independent]).max(initial=0.0)) / float(scales[0])

    def corrected(self, multipliers: Array, mismatch: Array) -> Array:
        """The multipliers (m,) after a Newton correction of the mismatch by the linear response."""
        corrected = multipliers.copy()
        corrected[self.independent] -= scipy.linalg.cho_solve(
            self._response, mismatch[self.independent], check_finite=False
        )
        return corrected


class _AbsorbingCoupling:
    """Computes the multipliers φ (m,) together with the forces by which an absorbing junction couples the sides.

    On the coarse dofs z that D_cf couples, E their rows, and with G = E D_cf/Δt the unknowns are φ, x = E p_c, m,
    y = G Σ p_f, N, and ξ = Δt σ, m. The forces are C_cᵀφ − Eᵀy on the coarse side, C_fᵀφ − Gᵀ(x + τ_j ξ) on the fine
    one. With the paths p that follow from the forces by linear responses, Newton's method on the mismatches

        C_c p_c + C_f Σ p_f,   E p_c − x,   G Σ p_f − y,   G Σ τ_j p_f,j + (Σ τ_j²/m Δt) E (D_cc + ε diag D_cc) Eᵀ ξ

    has one matrix. (ε makes the slope unique; ε (Δt/m) Σ τ_j² σ·diag D_cc σ is part of the loss.) The initial guess is
    the solution of the last step: with linear bulk each large step takes two passes. Only the responses on the m + 2 z
    rows are stored.
    """

    def __init__(self, sides: tuple[Side, Side], rows: list[sp.csr_array], absorber: sp.csr_array, step: float) -> None:
        self._sides, self._step = sides, step
        coarse, fine = (np.flatnonzero(side.dofs) for side in sides)
        cross_damping = sp.csr_array(absorber[coarse][:, fine])
        coupled = np.flatnonzero(np.diff(cross_damping.indptr))
        selection = sp.csr_array(sp.eye_array(coarse.size, format="csr")[coupled])
        self._cross_damping = sp.csr_array(cross_damping[coupled] / step)
        self._rows = [
            sp.csr_array(sp.vstack([c, crossing_rows], format="csr"))
            for c, crossing_rows in zip(rows, (selection, self._cross_damping), strict=True)
        ]
        self._sizes = [abs(matrix) for matrix in self._rows]
        self._m, self._z = rows[0].shape[0], coupled.size
        self.count = self._m + 3 * self._z
        self._times = sides[1].times
        squares = float(self._times @ self._times)
        coarse_damping = sp.csr_array(absorber[coarse[coupled]][:, coarse[coupled]])
        self._regularisation = _REGULARISATION * coarse_damping.diagonal()
        # with one small step per large step the slope is zero
        weight = squares / (self._times.size * step) if squares else 1.0
        self._slope = sp.csr_array(weight * (coarse_damping + sp.diags_array(self._regularisation)))
        damped = np.unique(absorber.indices)
        self._coarse_damped = np.searchsorted(coarse, damped[np.isin(damped, coarse)])
        self._fine_damped = np.searchsorted(fine, damped[np.isin(damped, fine)])
        self._coupled = np.searchsorted(self._coarse_damped, coupled)
        both = np.concatenate([coarse[self._coarse_damped], fine[self._fine_damped]])
        self._absorber = sp.csr_array(absorber[both][:, both])
        self._factorise()

    def _factorise(self) -> None:
        """The matrix of the mismatches, from the responses of both sides."""
        m, (coarse_side, fine_side), (coarse_rows, fine_rows) = self._m, self._sides, self._rows
        coarse = _responses(coarse_side, coarse_rows, coarse_rows)
        outputs = fine_rows, self._cross_damping
        fine, slopes = (_responses(fine_side, rows, *outputs, slope=rows is self._cross_damping) for rows in outputs)
        r, z = fine_rows.shape[0], slice(m, fine_rows.shape[0])
        response = coarse[:m, :m] + fine[:m, :m]
        active = independent(0.5 * (response + response.T))
        identity, zero = np.eye(self._z), np.zeros((self._z, self._z))
        matrix = np.block(
            [
                [response[np.ix_(active, active)], -fine[active, z], -coarse[active, z], -slopes[active]],
                [coarse[z, active], -identity, -coarse[z, z], zero],
                [fine[z, active], -fine[z, z], -identity, -slopes[z]],
                [fine[r:, active], -fine[r:, z], zero, self._slope.toarray() - slopes[r:]],
            ]
        )
        self._independent = np.concatenate([active, np.arange(m, self.count)])
        # rows and columns have units of their own: powers of two that make them comparable
        self._row_scale = np.exp2(-np.frexp(np.abs(matrix).max(axis=1))[1])
        matrix *= self._row_scale[:, None]
        self._column_scale = np.exp2(-np.frexp(np.abs(matrix).max(axis=0))[1])
        self._factor = scipy.linalg.lu_factor(matrix * self._column_scale)

    def predicted(self, _states: tuple[State, ...], _left: Array, last: Array) -> Array:
        """Initial guess: the unknowns of the last step."""
        return last

    def forces(self, unknowns: Array) -> list[tuple[Array, ...]]:
        """Forces (d,), N, on each side, and the slope of the force on the fine side."""
        constraint, x, y, slope = self._split(unknowns)
        constant = [
            rows.T @ np.concatenate([constraint, -crossing]) for rows, crossing in zip(self._rows, (y, x), strict=True)
        ]
        return [(constant[0],), (constant[1], -(self._cross_damping.T @ slope))]

    def mismatch(self, previous_mismatch: Array, large_steps: list[LargeStep], unknowns: Array) -> Array:
        """The mismatches (m + 3 z,)."""
        m, (_, x, y, slope) = self._m, self._split(unknowns)
        coarse, fine = (rows @ large_step.path for rows, large_step in zip(self._rows, large_steps, strict=True))
        slope_output = self._slope_output(large_steps) + self._slope @ slope
        return np.concatenate([previous_mismatch + coarse[:m] + fine[:m], coarse[m:] - x, fine[m:] - y, slope_output])

    def _slope_output(self, large_steps: list[LargeStep]) -> Array:
        """G Σ τ_j p_f,j (z,)."""
        paths = zip(self._times, large_steps[1].batches, strict=True)
        return self._cross_damping @ sum(
            (tau * _path(batch) for tau, batch in paths), np.zeros(self._cross_damping.shape[1])
        )

    def scales(self, sizes: list[Array]) -> Array:
        """Sizes (4,) of the terms of the mismatches, from those of the paths."""
        m, (coarse, fine) = self._m, (rows @ size for rows, size in zip(self._sizes, sizes, strict=True))
        constraint = max(float(coarse[:m].max()), float(fine[:m].max()))
        x, y = float(coarse[m:].max(initial=0.0)), float(fine[m:].max(initial=0.0))
        return np.array([constraint, x, y, y])

    def relative_mismatch(self, mismatch: Array, scales: Array) -> float:
        """The largest relative mismatch: of independent constraints, whose errors accumulate over the run, or a
        hundredth of that of x, y and ξ, whose errors change the forces of this step alone."""
        parts = mismatch[self._independent[self._independent < self._m]], *self._split(mismatch)[1:]
        constraint, *crossing = (
            float(np.abs(part).max(initial=0.0)) / float(scale) for part, scale in zip(parts, scales, strict=True)
        )
        return max(constraint, TOLERANCE / STAGNATION_TOLERANCE * max(crossing))

    def corrected(self, unknowns: Array, mismatch: Array) -> Array:
        """The unknowns after a Newton correction of the mismatches by the linear responses."""
        corrected = unknowns.copy()
        correction = scipy.linalg.lu_solve(
            self._factor, self._row_scale * mismatch[self._independent], check_finite=False
        )
        corrected[self._independent] -= self._column_scale * correction
        return corrected

    def crossing_work(self, large_steps: list[LargeStep], unknowns: Array) -> float:
        """Work of −Eᵀy on p_c and of −Gᵀ(x + τ_j ξ) on p_f,j, J."""
        m, (_, x, y, slope) = self._m, self._split(unknowns)
        coarse, fine = ((rows @ large_step.path)[m:] for rows, large_step in zip(self._rows, large_steps, strict=True))
        return -float(y @ coarse) - float(x @ fine) - float(slope @ self._slope_output(large_steps))

    def loss(self, large_steps: list[LargeStep], unknowns: Array) -> float:
        """(Δt/m) Σ_j |r_j|², J, from the paths of the steps."""
        small, slope = self._sides[1].stepper.step, self._split(unknowns)[3] / self._step
        fine = np.array([_path(batch)[self._fine_damped] for batch in large_steps[1].batches]) / small
        coarse = np.tile(large_steps[0].path[self._coarse_damped] / self._step, (len(fine), 1))
        coarse[:, self._coupled] += self._times[:, None] * slope
        flow = np.concatenate([coarse, fine], axis=1)
        lost = viscous_loss(small, flow, applied(self._absorber, flow)).sum()
        return float(lost + small * (self._times @ self._times) * (slope @ (self._regularisation * slope)))

    def _split(self, unknowns: Array) -> tuple[Array, Array, Array, Array]:
        """φ (m,), x (z,), y (z,) and ξ (z,)."""
        m, z = self._m, self._z
        return unknowns[:m], unknowns[m : m + z], unknowns[m + z : m + 2 * z], unknowns[m + 2 * z :]


def _path(batch: StepBatch) -> Array:
    assert batch.path is not None
    return np.asarray(batch.path[0])


def _responses(side: Side, rows: sp.csr_array, *outputs: sp.csr_array, slope: bool = False) -> Array:
    """Responses to unit forces on rows (r, d), constant in a large step or, with `slope`, proportional to τ_j: the sum
    of the paths on the first output and, stacked below, Σ τ_j p_j on the second one."""
    out = np.zeros((sum(output.shape[0] for output in outputs), rows.shape[0]))
    times = side.times.tolist()
    for first in range(0, rows.shape[0], _MAX_COLUMNS):
        chosen = slice(first, first + _MAX_COLUMNS)
        columns = rows[chosen].T.toarray()
        sums = [np.zeros_like(columns) for _ in outputs]
        push = (lambda j, columns=columns: times[j] * columns) if slope else (lambda _, columns=columns: columns)
        for tau, path in zip(times, side.stepper.paths(push, np.zeros_like(columns), side.count), strict=True):
            for total, factor in zip(sums, (1.0, tau), strict=False):
                total += factor * path
        out[:, chosen] = np.concatenate([output @ total for output, total in zip(outputs, sums, strict=True)])
    return out


class MultirateStepper(Stepper):
    """Steps both sides under the multipliers predicted from their linear motion (iterated under loads and contact)."""

    def __init__(self, assembly: Assembly, step: float, sides: tuple[Side, Side]) -> None:
        self.step = step
        self._assembly, self._sides = assembly, sides
        self._rows = rows = [sp.csr_array(assembly.constraints[:, side.dofs]) for side in sides]
        self._coupling: Coupling | _AbsorbingCoupling
        if assembly.absorber is None:
            self._coupling = Coupling(sides, rows)
        else:
            self._coupling = _AbsorbingCoupling(sides, rows, assembly.absorber, step)

    def start(self, u: Array, v: Array) -> State:
        states = tuple(side.stepper.start(u[side.dofs], v[side.dofs]) for side in self._sides)
        zero = np.zeros(self._assembly.constraints.shape[0])
        return self._join(0, states, zero, np.zeros(self._coupling.count))

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """One large step."""
        (states, previous_mismatch, last_unknowns), coupling = state.scheme_state, self._coupling
        unknowns = coupling.predicted(states, previous_mismatch, last_unknowns)
        scales, before = np.array(1e-300), np.inf
        for _ in range(MAX_PASSES):
            pushes = coupling.forces(unknowns)
            large_steps = [
                side.advance(side_state, *push)
                for side, side_state, push in zip(self._sides, states, pushes, strict=True)
            ]
            mismatch = coupling.mismatch(previous_mismatch, large_steps, unknowns)
            scales = np.maximum(scales, coupling.scales([large_step.size for large_step in large_steps]))
            error = coupling.relative_mismatch(mismatch, scales)
            if error <= TOLERANCE or (error <= STAGNATION_TOLERANCE and error > 0.5 * before):
                break
            before = error
            unknowns = coupling.corrected(unknowns, mismatch)
        else:
            raise UserError(
                f"several time steps did not converge at t = {(state.n + 1) * self.step:.6g} s: contact acts on "
                "the junction within a step; try a smaller step",
                code=1,
            )
        constraints = self._assembly.constraints.shape[0]
        end = self._join(
            state.n + 1, tuple(large_step.state for large_step in large_steps), mismatch[:constraints], unknowns
        )
        batch = self._batch(end, [large_step.batches for large_step in large_steps], unknowns[:constraints])
        if isinstance(coupling, _AbsorbingCoupling):
            work = Work(batch.works.copy())
            work["absorbed"] = coupling.loss(large_steps, unknowns)
            work["junction"] -= coupling.crossing_work(large_steps, unknowns)
            batch = replace(batch, works=work.values)
        return end, batch

    def _join(self, n: int, states: tuple[State, ...], mismatch: Array, unknowns: Array) -> State:
        """The state of the system from those of the sides; mismatch (m,): Σ C p so far, compensated in the next step;
        unknowns: of the coupling in the last step."""
        size = self._assembly.dof_count
        fields: dict[str, Any] = {"u": np.zeros(size), "v": np.zeros(size), "internal": np.zeros(size)}
        fields["impulse"] = np.zeros(self._assembly.laws.row_count)
        for name, global_field in fields.items():
            for side, side_state in zip(self._sides, states, strict=True):
                global_field[side.rows if name == "impulse" else side.dofs] = getattr(side_state, name)
        sums = {name: sum(getattr(state, name) for state in states) for name in ("kinetic", "strain", "asperity")}
        laws = self._assembly.laws
        history = laws.start_history(np.zeros(laws.count))
        for side, side_state in zip(self._sides, states, strict=True):
            history[laws.histories_of(np.flatnonzero(side.points))] = side_state.history
        return State(n=n, history=history, scheme_state=(states, mismatch, unknowns), **fields, **sums)

    def _batch(self, end: State, batches: list[list[StepBatch]], multipliers: Array) -> StepBatch:
        """The batch of one large step: works and impulses summed over the small steps, energies at its end."""
        work, assembly = Work(), self._assembly
        kinematics = assembly.contact.kinematics(assembly.contact.basis @ end.u)
        contact, reaction_impulses = ContactImpulses.none(kinematics).stacked(), np.zeros(assembly.dof_count)
        for side, side_batches in zip(self._sides, batches, strict=True):
            work.values[:3] += side_batches[-1].works[0, :3]
            for batch in side_batches:
                work.values[3 : len(KINDS)] += batch.works[0, 3:]
                contact.add(batch.contact, side.points, side.basis)
                if batch.reactions is not None:
                    reaction_impulses[np.flatnonzero(side.dofs)[side.assembly.imposed_dofs]] += batch.reactions[0]
        reactions = reaction_impulses[assembly.imposed_dofs]
        all_batches = [batch for side_batches in batches for batch in side_batches]
        single = StepBatch.single(
            end,
            kinematics,
            work,
            ContactImpulses.none(kinematics),
            multipliers=self.step * multipliers,
            iterations=sum(int(batch.iterations[0]) for batch in all_batches),
            residual=max(float(batch.residual[0]) for batch in all_batches),
        )
        combined = single.with_friction(assembly, end.history)
        return replace(combined, contact=contact, reactions=reactions[None])


def sides_of(
    assembly: Assembly,
    coarse: Theta | CentralDifference,
    fine: Theta | CentralDifference,
    step: float,
    ratio: int,
) -> tuple[Side, Side]:
    """The coarse side, with the step Δt, and the fine side, with `ratio` steps in it."""
    if not assembly.constraints.shape[0]:
        raise UserError("several time steps need a junction between coarse and fine parts")
    is_fine = fine_parts(assembly.system)
    return _side(assembly, ~is_fine, coarse, step, 1), _side(assembly, is_fine, fine, step / ratio, ratio)


def fine_parts(system: System) -> NDArray[np.bool_]:
    """Mask (part,) of the fine parts, by the roles in the junctions."""
    fine = {junction.fine.name for junction in system.junctions}
    coarse = {junction.coarse.name for junction in system.junctions}
    if fine & coarse:
        raise UserError(
            f"several time steps: part '{min(fine & coarse)}' is fine in one junction and coarse in another"
        )
    _spread(fine, coarse, system)
    return np.array([name in fine for name in system.names])


def _spread(fine: set[str], coarse: set[str], system: System) -> None:
    """Adds parts without junctions that springs, relations or contact connect to fine parts alone."""
    connections: tuple[Any, ...] = (*system.relations, *system.springs, *system.interfaces)
    ties = [{surface.part.name for surface in surfaces_of(connection)} for connection in connections]
    while True:
        added = {name for tie in ties if tie & fine and not tie & coarse for name in tie} - fine
        if not added:
            return
        fine |= added


def _side(
    assembly: Assembly, part_mask: NDArray[np.bool_], scheme: Theta | CentralDifference, step: float, count: int
) -> Side:
    """The side of the parts in a mask (part,): their assembly without the constraints, and its stepper."""
    dofs = np.zeros(assembly.dof_count, dtype=bool)
    for index in np.flatnonzero(part_mask):
        dofs[assembly.start[index] : assembly.start[index + 1]] = True
    interfaces = connected_dofs(
        assembly, {name for name, chosen in zip(assembly.system.names, part_mask, strict=True) if chosen}
    )
    points = np.repeat(interfaces, np.diff(assembly.contact.start))
    side_assembly = restrict_assembly(assembly, part_mask, dofs, interfaces)
    rows = np.repeat(points, np.diff(assembly.laws.first))
    basis = np.repeat(interfaces, np.diff(assembly.contact.span))
    stepper: Any
    if isinstance(scheme, CentralDifference) and side_assembly.absorption is not None:
        undamped = replace(side_assembly, absorption=None)
        stepper = scheme.prepare(undamped, step)
        assert isinstance(stepper, CentralStepper)
        stepper = DraggedStepper(stepper, undamped, side_assembly.absorber)
    else:
        stepper = pushed_stepper(side_assembly, scheme, step)
    return Side(dofs, points, rows, basis, side_assembly, stepper, count)
