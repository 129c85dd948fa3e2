"""Several time steps: fine parts at Δt/m, coarse parts at Δt, glued without loss of energy."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.energy import KINDS, Work, viscous_loss
from arlequin.linalg.products import applied
from arlequin.models.checks import positive_integer
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.linalg.constraints import independent
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.schemes.central import CentralDifference
from arlequin.schemes.central_steps import CentralStepper
from arlequin.schemes.dragged import DraggedStepper
from arlequin.schemes.sparse_steps import OneStepStepper
from arlequin.schemes.theta import Theta
from arlequin.step.batch import StepBatch
from arlequin.step.impulses import ContactImpulses
from arlequin.step.scheme import Stepper, linear_only, unworn_only
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.subsystem import connected_dofs, restrict_assembly
from arlequin.system.system import System, surfaces_of

_PASSES = 30
_UNIQUE = 1e-9  # ε: share of its diagonal added to D_cc
_TOGETHER = 64  # forces whose responses are found together
_EXACT, _ENOUGH = 1e-14, 1e-12  # mismatch of the paths: done; done where it falls no further


@checked_call
@dataclass(frozen=True)
class Multirate:
    """Coarse parts take the step Δt, fine parts `ratio` steps Δt/m, each with `Theta(0.5)` or `CentralDifference()`.

    Over a large step the multipliers φ of the junctions are constant forces, and the paths on which they work agree:

        C_c p_c + C_f Σ_j p_f,j = 0,    p = Δt (v_n + v_{n+1})/2 of each step.

    The junctions' work φ·(C_c p_c + C_f Σ p_f) is then zero, and energy (the discrete one of central difference) is
    conserved exactly for every ratio and pair of schemes. A part is fine where a junction says so, or
    where springs, relations or contact tie it to fine parts alone. Order 1 in the multipliers, 2 else.

    Absorbing junctions, D_a = JᵀJ, see the mean velocities of the steps, v̄_c = p_c/Δt and v̄_f,j = m p_f,j/Δt. In the
    large step the coarse velocity in the zone varies linearly about v̄_c, with τ_j = (j − ½)/m − ½ and the slope σ that
    makes the loss least:

        r_j = J_f v̄_f,j + J_c (v̄_c + τ_j σ),   Σ_j τ_j J_cᵀ r_j = 0.

    (Under a constant v̄_c the change of the velocity in a large step would count as a difference of the two models, and
    resolved waves would be damped.) The forces −J_fᵀ r_j in the small step j and −(1/m) Σ_j J_cᵀ r_j in the large one
    do the work

        −(Δt/m) Σ_j v̄_f,j·J_fᵀ r_j − Δt v̄_c·(1/m) Σ_j J_cᵀ r_j = −(Δt/m) Σ_j |r_j|² ≤ 0,

    exactly the loss. The blocks D_ff and D_cc are damping of each side's own steps, implicit in both schemes; with
    central differences they do not change the stable step. D_cf couples the sides by the forces −D_fc (v̄_c + τ_j σ) and
    −D_cf (1/m) Σ_j v̄_f,j, constant in each step and solved together with φ.

    Source of the idea: Combescure & Gravouil, Comput. Methods Appl. Mech. Eng. 191 (2002) 1129–1157; its variational
    form with constant multipliers: Brun, Gravouil, Combescure & Limam, CMAME 282 (2015) 1–26.
    """

    ratio: int
    coarse: Theta | CentralDifference = field(default_factory=Theta)
    fine: Theta | CentralDifference = field(default_factory=Theta)

    def __post_init__(self) -> None:
        positive_integer("ratio", self.ratio)
        for name in ("coarse", "fine"):
            scheme = getattr(self, name)
            if not isinstance(scheme, Theta | CentralDifference) or scheme not in (Theta(0.5), CentralDifference()):
                raise UserTypeError.parameter(name, scheme, "must be Theta(0.5) or CentralDifference()")

    order = 2
    static = False

    def time_errors(self, system: System, step: float) -> dict[str, float]:
        """e Δt², s², of each part: with the scheme and the step of its side."""
        coarse = self.coarse.frequency_error * step**2
        fine = self.fine.frequency_error * (step / self.ratio) ** 2
        return {name: fine if own else coarse for name, own in zip(system.names, _fine_parts(system), strict=True)}

    def part_steps(self, system: System, step: float) -> dict[str, float]:
        """Step of each part, s."""
        fine = _fine_parts(system)
        return {name: step / self.ratio if own else step for name, own in zip(system.names, fine, strict=True)}

    def prepare(self, assembly: Assembly, step: float) -> "MultirateStepper":
        linear_only(assembly, "Multirate")
        unworn_only(assembly, "Multirate")
        return MultirateStepper(assembly, step, self)


@dataclass(frozen=True)
class _Side:
    """The parts with one step: dofs (d,), contact points (k,), rows (r,), basis (q,), stepper, steps in a large one."""

    dofs: NDArray[np.bool_]
    points: NDArray[np.bool_]
    rows: NDArray[np.bool_]
    basis: NDArray[np.bool_]
    assembly: Assembly
    stepper: OneStepStepper | CentralStepper | DraggedStepper
    count: int

    def advance(self, state: State, push: Array, slope: Array | None = None) -> "_Advance":
        """`count` steps under a constant push (d,), or under push + τ_j slope."""
        batches, path, size = [], np.zeros_like(push), np.zeros_like(push)
        for tau in self.times.tolist():
            before = state
            state, batch = self.stepper.advance(state, push=push if slope is None else push + tau * slope)
            assert batch.path is not None
            batches.append(batch)
            path += batch.path[0]
            size += 0.5 * self.stepper.step * (abs(before.v) + abs(state.v))
        return _Advance(state, batches, path, size)

    @property
    def times(self) -> Array:
        """τ_j (count,): middles of the steps in the large one, from −½ to ½."""
        return (np.arange(self.count) + 0.5) / self.count - 0.5

    def response(self, push: Array, momentum: Array) -> Array:
        """Path (d, r) of `count` steps under constant forces (d, r) from momenta (d, r), linear bulk alone."""
        path = np.zeros_like(push)
        for own in self.stepper.paths(lambda _: push, momentum, self.count):
            path += own
        return path


@dataclass(frozen=True)
class _Advance:
    """The state, the steps and their path (d,), added up; size (d,): the terms of the path without their signs."""

    state: State
    batches: list[StepBatch]
    path: Array
    size: Array


@dataclass(frozen=True)
class _Motion:
    """How a side moves along the constraints C in a large step, from linear bulk:

        C p = by_force (F + Cᵀφ) + by_momentum (M v),   F, M v at the start of the step.

    Both (m, d) are the transposed responses to Cᵀ: the discrete motion is reciprocal as the continuous one is.
    """

    by_force: Array
    by_momentum: Array

    @classmethod
    def of(cls, side: _Side, c: sp.csr_array) -> "_Motion":
        columns = c.T.toarray()
        none = np.zeros_like(columns)
        return cls(side.response(columns, none).T.copy(), side.response(none, columns).T.copy())

    def __call__(self, side: _Side, state: State) -> Array:
        """C p (m,) without multipliers."""
        force, momentum = side.stepper.drive(state)
        return self.by_force @ force + self.by_momentum @ momentum


class _Coupling:
    """Finds the multipliers φ (m,) that take the mismatch C_c p_c + C_f Σ p_f of the paths away.

    Their linear responses, and what they are without having taken the step, follow from `_Motion`.
    """

    def __init__(self, sides: tuple[_Side, _Side], rows: list[sp.csr_array]) -> None:
        self._sides, self._rows = sides, rows
        self._sizes = [abs(c) for c in rows]
        self._motions = [_Motion.of(side, c) for side, c in zip(sides, rows, strict=True)]
        self.count = rows[0].shape[0]
        response = sum(
            (motion.by_force @ c.T for motion, c in zip(self._motions, rows, strict=True)),
            np.zeros((self.count,) * 2),
        )
        response = 0.5 * (response + response.T)
        # constraints that others, or imposed motions, imply have no multiplier
        self._kept = independent(response)
        self._response = scipy.linalg.cho_factor(response[np.ix_(self._kept, self._kept)])

    def predicted(self, states: tuple[State, ...], left: Array, _: Array) -> Array:
        """Of the large step that starts from these states."""
        pairs = zip(self._motions, self._sides, states, strict=True)
        rest = sum((motion(side, own) for motion, side, own in pairs), left)
        return self.corrected(np.zeros(self.count), rest)

    def forces(self, multipliers: Array) -> list[tuple[Array, ...]]:
        """Constant forces on the sides (d,) each."""
        return [(c.T @ multipliers,) for c in self._rows]

    def rest(self, left: Array, done: list[_Advance], _: Array) -> Array:
        """The mismatch (m,)."""
        return left + self._rows[0] @ done[0].path + self._rows[1] @ done[1].path

    def scales(self, sizes: list[Array]) -> Array:
        """Sizes (1,) of the terms of the mismatch, from those of the paths."""
        return np.array([max(float((c @ size).max()) for c, size in zip(self._sizes, sizes, strict=True))])

    def miss(self, rest: Array, scales: Array) -> float:
        """The mismatch of the independent rows, relative."""
        return float(np.abs(rest[self._kept]).max(initial=0.0)) / float(scales[0])

    def corrected(self, multipliers: Array, rest: Array) -> Array:
        """The multipliers (m,) that take the mismatch of the paths away, by the linear response."""
        out = multipliers.copy()
        out[self._kept] -= scipy.linalg.cho_solve(self._response, rest[self._kept], check_finite=False)
        return out


class _AbsorbingCoupling:
    """Finds the multipliers φ (m,) together with what an absorbing junction carries from one side to the other.

    On the coarse dofs z that D_cf couples, E their rows, and with G = E D_cf/Δt the unknowns are φ, x = E p_c, m,
    y = G Σ p_f, N, and ξ = Δt σ, m. The forces are C_cᵀφ − Eᵀy on the coarse side, C_fᵀφ − Gᵀ(x + τ_j ξ) on the fine
    one. With the paths p that follow from the forces by linear responses, Newton's method on the mismatches

        C_c p_c + C_f Σ p_f,   E p_c − x,   G Σ p_f − y,   G Σ τ_j p_f,j + (Σ τ_j²/m Δt) E (D_cc + ε diag D_cc) Eᵀ ξ

    has one matrix. (ε makes the slope unique; ε (Δt/m) Σ τ_j² σ·diag D_cc σ is part of the loss.) The first guess is
    what the last step found: linear bulk takes each large step twice. Only what the responses are on the m + 2 z rows
    is kept.
    """

    def __init__(
        self, sides: tuple[_Side, _Side], rows: list[sp.csr_array], absorber: sp.csr_array, step: float
    ) -> None:
        self._sides, self._step = sides, step
        coarse, fine = (np.flatnonzero(side.dofs) for side in sides)
        across = sp.csr_array(absorber[coarse][:, fine])
        crossed = np.flatnonzero(np.diff(across.indptr))
        chosen = sp.csr_array(sp.eye_array(coarse.size, format="csr")[crossed])
        self._across = sp.csr_array(across[crossed] / step)
        self._rows = [
            sp.csr_array(sp.vstack([c, more], format="csr"))
            for c, more in zip(rows, (chosen, self._across), strict=True)
        ]
        self._sizes = [abs(own) for own in self._rows]
        self._m, self._z = rows[0].shape[0], crossed.size
        self.count = self._m + 3 * self._z
        self._times = sides[1].times
        squares = float(self._times @ self._times)
        own = sp.csr_array(absorber[coarse[crossed]][:, coarse[crossed]])
        self._unique = _UNIQUE * own.diagonal()
        # without a second small step there is no slope
        weight = squares / (self._times.size * step) if squares else 1.0
        self._slope = sp.csr_array(weight * (own + sp.diags_array(self._unique)))
        touched = np.unique(absorber.indices)
        self._coarse_touched = np.searchsorted(coarse, touched[np.isin(touched, coarse)])
        self._fine_touched = np.searchsorted(fine, touched[np.isin(touched, fine)])
        self._crossed = np.searchsorted(self._coarse_touched, crossed)
        both = np.concatenate([coarse[self._coarse_touched], fine[self._fine_touched]])
        self._absorber = sp.csr_array(absorber[both][:, both])
        self._factorise()

    def _factorise(self) -> None:
        """The matrix of the mismatches, from the responses of both sides."""
        m, (coarse_side, fine_side), (coarse_rows, fine_rows) = self._m, self._sides, self._rows
        coarse = _responses(coarse_side, coarse_rows, coarse_rows)
        outputs = fine_rows, self._across
        fine, slopes = (_responses(fine_side, own, *outputs, slope=own is self._across) for own in outputs)
        r, z = fine_rows.shape[0], slice(m, fine_rows.shape[0])
        response = coarse[:m, :m] + fine[:m, :m]
        kept = independent(0.5 * (response + response.T))
        one, none = np.eye(self._z), np.zeros((self._z, self._z))
        matrix = np.block(
            [
                [response[np.ix_(kept, kept)], -fine[kept, z], -coarse[kept, z], -slopes[kept]],
                [coarse[z, kept], -one, -coarse[z, z], none],
                [fine[z, kept], -fine[z, z], -one, -slopes[z]],
                [fine[r:, kept], -fine[r:, z], none, self._slope.toarray() - slopes[r:]],
            ]
        )
        self._kept = np.concatenate([kept, np.arange(m, self.count)])
        # rows and columns have units of their own: powers of two that make them comparable
        self._row_scale = np.exp2(-np.frexp(np.abs(matrix).max(axis=1))[1])
        matrix *= self._row_scale[:, None]
        self._column_scale = np.exp2(-np.frexp(np.abs(matrix).max(axis=0))[1])
        self._factor = scipy.linalg.lu_factor(matrix * self._column_scale)

    def predicted(self, _states: tuple[State, ...], _left: Array, last: Array) -> Array:
        """What the last step found."""
        return last

    def forces(self, found: Array) -> list[tuple[Array, ...]]:
        """Forces on the sides (d,) each, and the slope of that on the fine one."""
        constraint, x, y, slope = self._split(found)
        constant = [own.T @ np.concatenate([constraint, -more]) for own, more in zip(self._rows, (y, x), strict=True)]
        return [(constant[0],), (constant[1], -(self._across.T @ slope))]

    def rest(self, left: Array, done: list[_Advance], found: Array) -> Array:
        """The mismatches (m + 3 z,)."""
        m, (_, x, y, slope) = self._m, self._split(found)
        coarse, fine = (own @ item.path for own, item in zip(self._rows, done, strict=True))
        inclined = self._inclined(done) + self._slope @ slope
        return np.concatenate([left + coarse[:m] + fine[:m], coarse[m:] - x, fine[m:] - y, inclined])

    def _inclined(self, done: list[_Advance]) -> Array:
        """G Σ τ_j p_f,j (z,)."""
        paths = zip(self._times, done[1].batches, strict=True)
        return self._across @ sum((tau * _path(batch) for tau, batch in paths), np.zeros(self._across.shape[1]))

    def scales(self, sizes: list[Array]) -> Array:
        """Sizes (4,) of the terms of the mismatches, from those of the paths."""
        m, (coarse, fine) = self._m, (own @ size for own, size in zip(self._sizes, sizes, strict=True))
        constraint = max(float(coarse[:m].max()), float(fine[:m].max()))
        x, y = float(coarse[m:].max(initial=0.0)), float(fine[m:].max(initial=0.0))
        return np.array([constraint, x, y, y])

    def miss(self, rest: Array, scales: Array) -> float:
        """The largest mismatch, relative: of independent constraints, whose sum over the run stays in the motion, or,
        as a hundredth, of what crosses: its error changes the forces of this step alone."""
        parts = rest[self._kept[self._kept < self._m]], *self._split(rest)[1:]
        constraint, *crossing = (
            float(np.abs(part).max(initial=0.0)) / float(scale) for part, scale in zip(parts, scales, strict=True)
        )
        return max(constraint, _EXACT / _ENOUGH * max(crossing))

    def corrected(self, found: Array, rest: Array) -> Array:
        """What takes the mismatches away, by the linear responses."""
        out = found.copy()
        solved = scipy.linalg.lu_solve(self._factor, self._row_scale * rest[self._kept], check_finite=False)
        out[self._kept] -= self._column_scale * solved
        return out

    def crossing_work(self, done: list[_Advance], found: Array) -> float:
        """Work of −Eᵀy on p_c and of −Gᵀ(x + τ_j ξ) on p_f,j, J."""
        m, (_, x, y, slope) = self._m, self._split(found)
        coarse, fine = ((own @ item.path)[m:] for own, item in zip(self._rows, done, strict=True))
        return -float(y @ coarse) - float(x @ fine) - float(slope @ self._inclined(done))

    def loss(self, done: list[_Advance], found: Array) -> float:
        """(Δt/m) Σ_j |r_j|², J, from the paths of the steps."""
        small, slope = self._sides[1].stepper.step, self._split(found)[3] / self._step
        fine = np.array([_path(batch)[self._fine_touched] for batch in done[1].batches]) / small
        coarse = np.tile(done[0].path[self._coarse_touched] / self._step, (len(fine), 1))
        coarse[:, self._crossed] += self._times[:, None] * slope
        flow = np.concatenate([coarse, fine], axis=1)
        lost = viscous_loss(small, flow, applied(self._absorber, flow)).sum()
        return float(lost + small * (self._times @ self._times) * (slope @ (self._unique * slope)))

    def _split(self, found: Array) -> tuple[Array, Array, Array, Array]:
        """φ (m,), x (z,), y (z,) and ξ (z,)."""
        m, z = self._m, self._z
        return found[:m], found[m : m + z], found[m + z : m + 2 * z], found[m + 2 * z :]


def _path(batch: StepBatch) -> Array:
    assert batch.path is not None
    return np.asarray(batch.path[0])


def _responses(side: _Side, rows: sp.csr_array, *outputs: sp.csr_array, slope: bool = False) -> Array:
    """Under forces on rows (r, d), constant in a large step or, with `slope`, τ_j times these: the sum of the paths on
    the first of the outputs, and below, with a second one, Σ τ_j p_j on it."""
    out = np.zeros((sum(own.shape[0] for own in outputs), rows.shape[0]))
    times = side.times.tolist()
    for first in range(0, rows.shape[0], _TOGETHER):
        chosen = slice(first, first + _TOGETHER)
        columns = rows[chosen].T.toarray()
        sums = [np.zeros_like(columns) for _ in outputs]
        push = (lambda j, own=columns: times[j] * own) if slope else (lambda _, own=columns: own)
        for tau, path in zip(times, side.stepper.paths(push, np.zeros_like(columns), side.count), strict=True):
            for total, factor in zip(sums, (1.0, tau), strict=False):
                total += factor * path
        out[:, chosen] = np.concatenate([own @ total for own, total in zip(outputs, sums, strict=True)])
    return out


class MultirateStepper(Stepper):
    """Steps both sides under the multipliers that their linear motion asks for (iterated under loads and contact)."""

    def __init__(self, assembly: Assembly, step: float, scheme: Multirate) -> None:
        if not assembly.constraints.shape[0]:
            raise UserError("several time steps need a junction between coarse and fine parts")
        self.step = step
        self._assembly = assembly
        fine = _fine_parts(assembly.system)
        self._sides = (
            _side(assembly, ~fine, scheme.coarse, step, 1),
            _side(assembly, fine, scheme.fine, step / scheme.ratio, scheme.ratio),
        )
        rows = [sp.csr_array(assembly.constraints[:, side.dofs]) for side in self._sides]
        self._coupling: _Coupling | _AbsorbingCoupling
        if assembly.absorber is None:
            self._coupling = _Coupling(self._sides, rows)
        else:
            self._coupling = _AbsorbingCoupling(self._sides, rows, assembly.absorber, step)

    def start(self, u: Array, v: Array) -> State:
        states = tuple(side.stepper.start(u[side.dofs], v[side.dofs]) for side in self._sides)
        none = np.zeros(self._assembly.constraints.shape[0])
        return self._join(0, states, none, np.zeros(self._coupling.count))

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """One large step."""
        (states, left, last), coupling = state.own, self._coupling
        found = coupling.predicted(states, left, last)
        scales, before = np.array(1e-300), np.inf
        for _ in range(_PASSES):
            pushes = coupling.forces(found)
            done = [side.advance(own, *push) for side, own, push in zip(self._sides, states, pushes, strict=True)]
            rest = coupling.rest(left, done, found)
            scales = np.maximum(scales, coupling.scales([item.size for item in done]))
            miss = coupling.miss(rest, scales)
            if miss <= _EXACT or (miss <= _ENOUGH and miss > 0.5 * before):
                break
            before = miss
            found = coupling.corrected(found, rest)
        else:
            raise UserError(
                f"several time steps did not converge at t = {(state.n + 1) * self.step:.6g} s: contact acts on "
                "the junction within a step; try a smaller step",
                code=1,
            )
        constraints = self._assembly.constraints.shape[0]
        end = self._join(state.n + 1, tuple(item.state for item in done), rest[:constraints], found)
        batch = self._batch(end, [item.batches for item in done], found[:constraints])
        if isinstance(coupling, _AbsorbingCoupling):
            work = Work(batch.works.copy())
            work["absorbed"] = coupling.loss(done, found)
            work["junction"] -= coupling.crossing_work(done, found)
            batch = replace(batch, works=work.values)
        return end, batch

    def _join(self, n: int, states: tuple[State, ...], left: Array, found: Array) -> State:
        """One state of the whole system from those of the sides; left (m,): Σ C p so far, so that none adds up; found:
        multipliers of the last step."""
        size = self._assembly.dof_count
        fields: dict[str, Any] = {"u": np.zeros(size), "v": np.zeros(size), "internal": np.zeros(size)}
        fields["impulse"] = np.zeros(self._assembly.laws.row_count)
        for name, whole in fields.items():
            for side, own in zip(self._sides, states, strict=True):
                whole[side.rows if name == "impulse" else side.dofs] = getattr(own, name)
        sums = {name: sum(getattr(own, name) for own in states) for name in ("kinetic", "strain", "asperity")}
        laws = self._assembly.laws
        history = laws.start_history(np.zeros(laws.count))
        for side, own in zip(self._sides, states, strict=True):
            history[laws.histories_of(np.flatnonzero(side.points))] = own.history
        return State(n=n, history=history, own=(states, left, found), **fields, **sums)

    def _batch(self, end: State, batches: list[list[StepBatch]], multipliers: Array) -> StepBatch:
        """The step that leads to a state: works and impulses added over the small steps, energies at the end."""
        work, assembly = Work(), self._assembly
        kinematics = assembly.contact.kinematics(assembly.contact.basis @ end.u)
        contact, held = ContactImpulses.none(kinematics).stacked(), np.zeros(assembly.dof_count)
        for side, own in zip(self._sides, batches, strict=True):
            work.values[:3] += own[-1].works[0, :3]
            for batch in own:
                work.values[3 : len(KINDS)] += batch.works[0, 3:]
                contact.add(batch.contact, side.points, side.basis)
                if batch.reactions is not None:
                    held[np.flatnonzero(side.dofs)[side.assembly.imposed_dofs]] += batch.reactions[0]
        reactions = held[assembly.imposed_dofs]
        every = [batch for own in batches for batch in own]
        single = StepBatch.single(
            end,
            kinematics,
            work,
            ContactImpulses.none(kinematics),
            multipliers=self.step * multipliers,
            iterations=sum(int(batch.iterations[0]) for batch in every),
            residual=max(float(batch.residual[0]) for batch in every),
        )
        whole = single.with_friction(assembly, end.history)
        return replace(whole, contact=contact, reactions=reactions[None])


def _fine_parts(system: System) -> NDArray[np.bool_]:
    """Mask (part,) of the parts that junctions call fine."""
    fine = {junction.fine.name for junction in system.junctions}
    coarse = {junction.coarse.name for junction in system.junctions}
    if fine & coarse:
        raise UserError(
            f"several time steps: part '{min(fine & coarse)}' is fine in one junction and coarse in another"
        )
    _spread(fine, coarse, system)
    return np.array([name in fine for name in system.names])


def _spread(fine: set[str], coarse: set[str], system: System) -> None:
    """Adds the parts that no junction names, where springs, relations or contact tie them to fine ones alone."""
    items: tuple[Any, ...] = (*system.relations, *system.springs, *system.interfaces)
    ties = [{surface.part.name for surface in surfaces_of(item)} for item in items]
    while True:
        more = {name for tie in ties if tie & fine and not tie & coarse for name in tie} - fine
        if not more:
            return
        fine |= more


def _side(
    assembly: Assembly, chosen: NDArray[np.bool_], scheme: Theta | CentralDifference, step: float, count: int
) -> _Side:
    """The chosen parts (mask) as an assembly of their own, without constraints."""
    dofs = np.zeros(assembly.dof_count, dtype=bool)
    for index in np.flatnonzero(chosen):
        dofs[assembly.start[index] : assembly.start[index + 1]] = True
    kept = connected_dofs(assembly, {name for name, yes in zip(assembly.system.names, chosen, strict=True) if yes})
    points = np.repeat(kept, np.diff(assembly.contact.start))
    own = restrict_assembly(assembly, chosen, dofs, kept)
    rows = np.repeat(points, np.diff(assembly.laws.first))
    basis = np.repeat(kept, np.diff(assembly.contact.span))
    stepper: Any
    if isinstance(scheme, CentralDifference) and own.absorption is not None:
        bare = replace(own, absorption=None)
        stepper = scheme.prepare(bare, step)
        assert isinstance(stepper, CentralStepper)
        stepper = DraggedStepper(stepper, bare, own.absorber)
    else:
        stepper = scheme.prepare(own, step)
        assert isinstance(stepper, OneStepStepper | CentralStepper)
    return _Side(dofs, points, rows, basis, own, stepper, count)
