"""Several time steps: fine parts at Δt/m, coarse parts at Δt, glued without loss of energy."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.energy import KINDS, Work
from arlequin.models.checks import positive_integer
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.linalg.constraints import independent
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.schemes.central import CentralDifference, CentralStepper
from arlequin.schemes.theta import Theta
from arlequin.schemes.theta_sparse import ThetaStepper
from arlequin.step.batch import StepBatch
from arlequin.step.impulses import ContactImpulses
from arlequin.step.scheme import Stepper, linear_only, unworn_only
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.subsystem import connected_dofs, restrict_assembly
from arlequin.system.system import System, surfaces_of

_PASSES = 30
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
    stepper: ThetaStepper | CentralStepper
    count: int

    def advance(self, state: State, push: Array) -> "_Advance":
        """`count` steps under a constant push (d,)."""
        batches, path, size = [], np.zeros_like(push), np.zeros_like(push)
        for _ in range(self.count):
            before = state
            state, batch = self.stepper.advance(state, push=push)
            assert batch.path is not None
            batches.append(batch)
            path += batch.path[0]
            size += 0.5 * self.stepper.step * (abs(before.v) + abs(state.v))
        return _Advance(state, batches, path, size)


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
        by_force = side.stepper.response(columns, none, side.count)
        return cls(by_force.T.copy(), side.stepper.response(none, columns, side.count).T.copy())

    def __call__(self, side: _Side, state: State) -> Array:
        """C p (m,) without multipliers."""
        force, momentum = side.stepper.drive(state)
        return self.by_force @ force + self.by_momentum @ momentum


class MultirateStepper(Stepper):
    """Steps both sides under the multipliers that their linear motion asks for (iterated under loads and contact)."""

    def __init__(self, assembly: Assembly, step: float, scheme: Multirate) -> None:
        if not assembly.constraints.shape[0]:
            raise UserError("several time steps need a junction between coarse and fine parts")
        if assembly.absorber is not None:
            raise UserError("several time steps take no absorbing junctions: the loss would couple the steps")
        self.step = step
        self._assembly = assembly
        fine = _fine_parts(assembly.system)
        self._sides = (
            _side(assembly, ~fine, scheme.coarse, step, 1),
            _side(assembly, fine, scheme.fine, step / scheme.ratio, scheme.ratio),
        )
        self._c = [sp.csr_array(assembly.constraints[:, side.dofs]) for side in self._sides]
        self._sizes = [abs(c) for c in self._c]
        self._motions = [_Motion.of(side, c) for side, c in zip(self._sides, self._c, strict=True)]
        response = sum(
            (motion.by_force @ c.T for motion, c in zip(self._motions, self._c, strict=True)),
            np.zeros((assembly.constraints.shape[0],) * 2),
        )
        response = 0.5 * (response + response.T)
        # constraints that others, or imposed motions, imply have no multiplier
        self._kept = independent(response)
        self._response = scipy.linalg.cho_factor(response[np.ix_(self._kept, self._kept)])

    def start(self, u: Array, v: Array) -> State:
        states = tuple(side.stepper.start(u[side.dofs], v[side.dofs]) for side in self._sides)
        return self._join(0, states, np.zeros(self._assembly.constraints.shape[0]))

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """One large step."""
        states, left = state.own
        multipliers = np.zeros(self._assembly.constraints.shape[0])
        pairs = zip(self._motions, self._sides, states, strict=True)
        rest = sum((motion(side, own) for motion, side, own in pairs), left)
        multipliers = self._corrected(multipliers, rest)
        scale, before = 1e-300, np.inf
        for _ in range(_PASSES):
            done = [
                side.advance(own, c.T @ multipliers) for side, own, c in zip(self._sides, states, self._c, strict=True)
            ]
            rest = left + self._c[0] @ done[0].path + self._c[1] @ done[1].path
            scale = max(scale, *(float((c @ item.size).max()) for c, item in zip(self._sizes, done, strict=True)))
            miss = float(np.abs(rest[self._kept]).max(initial=0.0)) / scale
            if miss <= _EXACT or (miss <= _ENOUGH and miss > 0.5 * before):
                break
            before = miss
            multipliers = self._corrected(multipliers, rest)
        else:
            raise UserError(
                f"several time steps did not converge at t = {(state.n + 1) * self.step:.6g} s: contact acts on "
                "the junction within a step; try a smaller step",
                code=1,
            )
        end = self._join(state.n + 1, tuple(item.state for item in done), rest)
        return end, self._batch(end, [item.batches for item in done], multipliers)

    def _corrected(self, multipliers: Array, rest: Array) -> Array:
        """The multipliers (m,) that take the mismatch of the paths away, by the linear response."""
        out = multipliers.copy()
        out[self._kept] -= scipy.linalg.cho_solve(self._response, rest[self._kept], check_finite=False)
        return out

    def _join(self, n: int, states: tuple[State, ...], left: Array) -> State:
        """One state of the whole system from those of the sides; left (m,): Σ C p so far, so that none adds up."""
        size = self._assembly.dof_count
        fields: dict[str, Any] = {"u": np.zeros(size), "v": np.zeros(size), "internal": np.zeros(size)}
        fields["impulse"] = np.zeros(self._assembly.laws.row_count)
        for name, whole in fields.items():
            for side, own in zip(self._sides, states, strict=True):
                whole[side.rows if name == "impulse" else side.dofs] = getattr(own, name)
        sums = {name: sum(getattr(own, name) for own in states) for name in ("kinetic", "strain", "asperity")}
        return State(n=n, history=np.zeros((0, 1)), own=(states, left), **fields, **sums)

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
        return replace(single, contact=contact, reactions=reactions[None])


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
    stepper = scheme.prepare(own, step)
    assert isinstance(stepper, ThetaStepper | CentralStepper)
    return _Side(dofs, points, rows, basis, own, stepper, count)
