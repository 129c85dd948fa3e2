"""Batches of central-difference steps of elastic parts with constraints, without contact and springs.

A step is one pass over pieces of the parts, in parallel threads: at u_n the forces f and the energies, then

    v_{n+½} = v_{n−½} + Δt M⁻¹(f_ext − f + Cᵀφ),   u_{n+1} = u_n + Δt v_{n+½}.

With constraints a second pass follows over the constrained nodes: after the first pass they have the velocities without
φ, and S φ = −C (v_{n−½} + Δt M⁻¹(f_ext − f)) / Δt, S = C M⁻¹Cᵀ, is solved in between; in absorbing zones φ and the
forces −D_a v̄_n are solved for by a factor of M + ½ Δt D_a with C. Sums are added in the order of the pieces, so that
results do not depend on the number of threads.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from arlequin.energy import KINDS, Work
from arlequin.linalg.field_rows import FieldRows
from arlequin.models.fem.elastic import ElasticAssembled
from arlequin.models.linalg.threads import Pace, map_pieces
from arlequin.models.part import FullMass
from arlequin.models.types import Array, Indices
from arlequin.schemes.central_steps import CentralStepper
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.zoned import Zoned
from arlequin.step.batch import StepBatch
from arlequin.step.impulses import ContactImpulses
from arlequin.step.state import State
from arlequin.system.assembly import Assembly

_SHORT = 64  # nodes, below which a run of unconstrained nodes joins the constrained ones beside it


@dataclass(frozen=True, eq=False)
class _Piece:
    """The nodes first ≤ n < last of a part, whose degrees of freedom in the system are `dofs`.

    force(u, out) writes their internal forces to out (d,), N, both of the part, and returns their strain energy, J.
    """

    part: int
    axes: int
    dofs: slice
    first: int
    last: int
    mass: Array
    force: Callable[[Array, Array], float]


class BulkCentralStepper(CentralStepper):
    """Central differences of the bulk without contact, with or without constraints."""

    def of_each_step(self) -> CentralStepper:
        """A general stepper, whose batches hold the motion of each step."""
        return CentralStepper(self._assembly, self.step)

    @staticmethod
    def takes(assembly: Assembly) -> bool:
        """Whether the system has elastic parts, loads and constraints alone, and all imposed motions are zero."""
        system = assembly.system
        return (
            all(isinstance(part, ElasticAssembled) for part in assembly.parts)
            and not any(isinstance(part, FullMass) for part in assembly.parts)
            and all(item.rest for part in assembly.parts for item in part.imposed)
            and not (system.springs or assembly.contact_count)
            and assembly.damping is None
            and (assembly.absorption is None or assembly.constraints.shape[0] > 0)
        )

    fields_at_end = True

    def advance(self, state: State, count: int = 1, push: Array | None = None) -> tuple[State, StepBatch]:
        """`count` steps, with u and v of the last one only; general steps where the motion does not stay finite."""
        if push is not None:
            return super().advance(state, 1, push)
        from arlequin.schemes._central_kernels import free_velocities, over_piece

        step, pieces, inverse, rows = self.step, self._pieces, self._inverse, self._constraint_rows
        zone, drag = self._absorbing_zone, None
        half, force = state.scheme_state.half.copy(), state.internal.copy()
        here, there, spare = state.u, np.empty_like(state.u), np.empty_like(state.u)
        pull = None if rows is None else np.zeros_like(half)
        dofs = self._assembly.imposed_dofs
        reactions = np.zeros((count, dofs.size))
        sums = np.zeros((count + 1, len(pieces), 9))  # strain energy, and the sums of `over_piece`
        multipliers = np.zeros((count + 1, 0 if rows is None else rows.shape[0]))
        rates = np.zeros((count + 2, multipliers.shape[1]))  # C v_{n−½}
        absorbed = np.zeros(count + 1)
        if zone is not None:
            drag = state.scheme_state.drag[zone.dofs]

        def push_on(k: int, i: int, external: Array, u: Array, next_u: Array, joined: bool) -> None:
            """Sums and motion of the constrained nodes of a piece (joined), or of its other nodes, from the i-th
            instant on."""
            piece, at, spans = pieces[k], pieces[k].dofs, self._spans[k][joined]
            if not spans.size:
                return
            if joined and rows is not None and pull is not None:
                piece_dofs = slice(at.start + piece.axes * piece.first, at.start + piece.axes * piece.last)
                rows.write_transposed(multipliers[i], pull, piece_dofs)
                if zone is not None and drag is not None:
                    zone.resist(drag, pull, piece_dofs)
            fields = piece.mass, inverse[at], half[at], u[at], next_u[at]
            loaded = bool(external[at].any()) if self._steady is None else self._loaded[k]
            forces = force[at], external[at], external[at] if pull is None else pull[at]
            over_piece(piece.axes, loaded, joined, spans, step, *forces, *fields, sums[i, k, 1:])

        def resist(k: int, i: int, external: Array, u: Array, next_u: Array) -> None:
            """Internal forces of a piece at the i-th instant, motion of its unconstrained nodes, and velocities of the
            others without constraint forces."""
            piece, at, pulled = pieces[k], pieces[k].dofs, self._spans[k][True]
            if i:
                sums[i, k, 0] = piece.force(u[at], force[at])
            push_on(k, i, external, u, next_u, False)
            if pulled.size:
                free_velocities(piece.axes, pulled, step, force[at], external[at], inverse[at], half[at], next_u[at])

        numbers = range(len(pieces))
        for i in range(count + 1):
            external = self._load((state.n + i) * step) if i else state.scheme_state.external
            if i == count:  # an extra step, for sums by the same code and with the same bits; its motion is discarded
                end, half = half, half.copy()
            map_pieces(partial(resist, i=i, external=external, u=here, next_u=there), numbers, self._paces[0])
            if rows is not None and pull is not None:
                if i:  # `there` has the free velocities
                    if zone is None:
                        rates[i], free = rows.products(half, there)
                        assert isinstance(self._condensed, Condensed)
                        multipliers[i] = self._condensed.multipliers(free / -step)
                    else:
                        rates[i] = rows.product(half)
                        multipliers[i], drag, after = zone.solve(half, there)
                else:
                    multipliers[i], rates[i] = state.scheme_state.constraint, rows.product(half)
                    if zone is not None:
                        after = zone.solve(half, there)[2]
                if zone is not None:
                    pull[zone.dofs] = 0.0
                    start = half[zone.dofs]
                join = partial(push_on, i=i, external=external, u=here, next_u=there, joined=True)
                map_pieces(join, numbers, self._paces[1])
                if zone is not None and drag is not None:
                    # on light nodes the round-off of the drag over their mass would violate C v_{n+½} = 0
                    half[zone.free] = after
                    there[zone.free] = here[zone.free] + step * after
                    absorbed[i] = zone.loss(start, half[zone.dofs], drag)
            if i < count:
                if dofs.size:  # at rest: the reactions balance the other forces
                    reactions[i] = step * (force[dofs] - external[dofs] - (0.0 if pull is None else pull[dofs]))
                here, there = there, spare if i == 0 else here
        if rows is not None:
            rates[count + 1] = rows.product(half)
        if not np.isfinite(sums).all():
            return super().advance(state)  # single steps, until the one that is not finite raises
        a = inverse * (external - force if pull is None else external - force + pull)
        works, momenta = self._audit(state.strain, sums)
        works["junction"] = 0.5 * step * np.vecdot(multipliers[:-1], rates[:-2] + rates[1:-1])
        works["absorbed"] = absorbed[:-1]
        last_drag = None
        if zone is not None:
            last_drag = np.zeros_like(end)
            last_drag[zone.dofs] = drag
        reached = replace(
            state,
            n=state.n + count,
            u=here,
            v=end + 0.5 * step * a,
            internal=force,
            kinetic=float(works["kinetic"][-1]),
            strain=float(works["strain"][-1]),
            scheme_state=replace(
                state.scheme_state, half=end, drag=last_drag, external=external, a=a, constraint=multipliers[-1].copy()
            ),
        )
        rest = 0.5 * (rates[1:-1] + rates[2:])
        batch = self._block(reached, works.values, momenta, step * multipliers[:-1], rest)
        return reached, replace(batch, reactions=reactions)

    def _audit(self, strain: float, sums: Array) -> tuple[Work, tuple[Array, ...]]:
        """Energies and works, and the momenta of the parts, from the sums over each piece at each instant.

        The mean forces of a step work on Δt v_{n+½}, which is `half` after the update at its start.
        """
        totals = np.add.accumulate(sums, axis=1)[:, -1]  # sequential: the same bits for any number of steps
        totals[0, 0] = strain
        work = Work(np.zeros((len(sums) - 1, len(KINDS))))
        work["strain"], work["kinetic"] = totals[1:, 0], totals[1:, 1]
        internal, work["external_work"] = (
            0.5 * self.step * (totals[:-1, after] + totals[1:, before]) for after, before in ((4, 2), (5, 3))
        )
        work["scheme"] = internal - np.diff(totals[:, 0])
        momenta = []
        for index, part in enumerate(self._assembly.system.parts):
            of_part = [piece.part == index for piece in self._pieces]
            momenta.append(np.add.accumulate(sums[1:, of_part, 6 : 6 + part.components], axis=1)[:, -1])
        return work, tuple(momenta)

    def _block(
        self, end: State, works: Array, momenta: tuple[Array, ...], multipliers: Array, constraint_rates: Array
    ) -> StepBatch:
        """The batch of the steps up to the state `end`."""
        count = len(works)
        kinematics = self._assembly.contact.kinematics(np.zeros(0))
        return StepBatch(
            n=end.n - count + 1 + np.arange(count),
            u=end.u[None],
            v=end.v[None],
            works=works,
            multipliers=multipliers,
            gaps=np.zeros((count, 0)),
            contact=ContactImpulses.none(kinematics).stacked(),
            iterations=np.zeros(count, dtype=np.int64),
            residual=np.zeros(count),
            newton=np.zeros(count, dtype=np.int64),
            momenta=momenta,
            constraint_rates=constraint_rates,
        )

    @cached_property
    def _inverse(self) -> Array:
        """M⁻¹ (d,), 0 on dofs that are not free."""
        return np.divide(1.0, self._mass, out=np.zeros_like(self._mass), where=self._assembly.free)

    @cached_property
    def _constraint_rows(self) -> FieldRows | None:
        """Constraints C by rows; None without."""
        constraints = self._assembly.constraints
        return FieldRows.of(constraints) if constraints.shape[0] else None

    @cached_property
    def _absorbing_zone(self) -> "_AbsorbingZone | None":
        """The zone of absorbing junctions; None without."""
        assembly = self._assembly
        if assembly.absorption is None:
            return None
        assert isinstance(self._condensed, Zoned)
        return _AbsorbingZone(assembly, self._condensed, self._mass, self.step)

    @cached_property
    def _pieces(self) -> tuple[_Piece, ...]:
        return tuple(_pieces(self._assembly, self._mass))

    @cached_property
    def _paces(self) -> tuple[Pace, Pace]:
        """Thread scheduling of the internal forces, and of the pass over constrained nodes."""
        return Pace(), Pace()

    @cached_property
    def _spans(self) -> list[tuple[Indices, Indices]]:
        """Runs (s, 2) of the nodes of each piece without constraints and absorbing zones, and of its other nodes."""
        rows, zone = self._constraint_rows, self._absorbing_zone
        pulled = np.zeros(self._mass.size, dtype=bool) if rows is None else rows.touched
        if zone is not None:
            pulled = pulled.copy()
            pulled[zone.dofs] = True
        return [_runs(p.first, pulled[p.dofs][p.axes * p.first : p.axes * p.last], p.axes) for p in self._pieces]

    @cached_property
    def _loaded(self) -> list[bool]:
        """Whether the steady loads on each piece are not all zero."""
        assert self._steady is not None
        spans = [self._steady[p.dofs][p.axes * p.first : p.axes * p.last] for p in self._pieces]
        return [bool(span.any()) for span in spans]

    def _load(self, t: float) -> Array:
        return self._assembly.load(t) if self._steady is None else self._steady


class _AbsorbingZone:
    """The dofs z (ascending) on which D_a or C acts, of which `free` are not imposed, and a step there:

        M v_{n+½} = M v* − Δt D_a v̄ + Δt Cᵀφ,   C v_{n+½} = 0,

    with v* = v_{n−½} + Δt M⁻¹(f_ext − f). The forces Cᵀφ − D_a v̄ then act on the mass M alone.
    """

    def __init__(self, assembly: Assembly, zoned: Zoned, mass: Array, step: float) -> None:
        self.dofs, self.free = zoned.resisting, zoned.zone
        self._step, self._mass, self._zoned = step, mass[self.free], zoned
        self._no_rates = np.zeros(assembly.constraints.shape[0])

    def solve(self, half: Array, free: Array) -> tuple[Array, Array, Array]:
        """φ (m,), D_a v̄ (z,), N, and v_{n+½} of the free dofs of the zone, from v_{n−½} and v* (d,)."""
        brake, push = self._zoned.brake, self._mass * free[self.free]
        solution = brake.solve(push, self._no_rates, 0.5 * half[self.free], self._step)
        return solution.multipliers / self._step, self._zoned.drag(solution), solution.y

    def loss(self, before: Array, after: Array, drag: Array) -> float:
        """Δt v̄·D_a v̄, J, from v_{n−½}, v_{n+½} and the drag (z,).

        As in `viscous_losses` but for a sum whose bits do not depend on the number of threads, as those of BLAS do.
        """
        return self._step * max(float((0.5 * (before + after) * drag).sum()), 0.0)

    def resist(self, drag: Array, pull: Array, at: slice) -> None:
        """Subtracts the drag (z,) from the forces (d,) on the degrees of freedom `at` of a piece."""
        of_piece = slice(*(int(i) for i in np.searchsorted(self.dofs, (at.start, at.stop))))
        pull[self.dofs[of_piece]] -= drag[of_piece]


def _pieces(assembly: Assembly, mass: Array) -> Iterator[_Piece]:
    """The pieces of all parts, in the order of the parts."""
    for i, (part, at) in enumerate(zip(assembly.parts, assembly.places, strict=True)):
        assert isinstance(part, ElasticAssembled)
        axes = part.components
        nodal = np.ascontiguousarray(mass[at][::axes])
        if part.cell_forces is None or part.strains_beyond_cells() is not None:
            yield _Piece(i, axes, at, 0, nodal.size, nodal, partial(_whole, part))
            continue
        for piece in part.cell_forces.pieces:
            yield _Piece(i, axes, at, piece.first, piece.last, nodal, partial(part.cell_forces.force, piece))


def _runs(first: int, pulled: NDArray[np.bool_], axes: int) -> tuple[Indices, Indices]:
    """Runs (s, 2) of nodes, counted from `first`, without constrained degrees of freedom (n · axes,), and of the
    others.

    Where there are constrained nodes, runs of fewer than `_SHORT` unconstrained nodes count as constrained.
    """
    free = np.logical_not(pulled.reshape(-1, axes).any(axis=1))
    if not free.all():
        for start, end in _bounds(free):
            free[start:end] = end - start >= _SHORT
    return first + _bounds(free), first + _bounds(~free)


def _bounds(chosen: NDArray[np.bool_]) -> Indices:
    """First and last + 1 (s, 2) of each run of true values."""
    edges = np.flatnonzero(np.diff(chosen, prepend=False, append=False))
    return edges.reshape(-1, 2)


def _whole(part: ElasticAssembled, u: Array, out: Array) -> float:
    out[:], energy = part.internal(u)
    return energy
