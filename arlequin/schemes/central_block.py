"""Many steps of central differences of elastic parts that nothing else acts on: no contact, springs or constraints.

A step is one pass over pieces of the parts, which threads share: at u_n the forces f and the energies, then

    v_{n+½} = v_{n−½} + Δt M⁻¹(f_ext − f),   u_{n+1} = u_n + Δt v_{n+½}.

Sums over a piece are added up in the order of the pieces: nothing depends on the number of threads.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from arlequin.action import Action
from arlequin.assembly import Assembly
from arlequin.energy import KINDS, Work
from arlequin.schemes.block import Block
from arlequin.schemes.central import CentralStepper
from arlequin.schemes.scheme import State
from models.assembled import ElasticAssembled
from models.threads import each
from models.types import Array


@dataclass(frozen=True, eq=False)
class _Piece:
    """Nodes from `first` up to `last` of a part, whose degrees of freedom are `dofs` of the system.

    force(u, out) writes their internal forces to out (d,), N, both of the part, and returns their share of its
    energy, J.
    """

    part: int
    axes: int
    dofs: slice
    first: int
    last: int
    mass: Array
    force: Callable[[Array, Array], float]


class BulkCentralStepper(CentralStepper):
    """Central differences of the bulk alone."""

    @staticmethod
    def takes(assembly: Assembly) -> bool:
        """Whether nothing but its own forces and loads acts on the bulk, and what is imposed is rest."""
        system = assembly.system
        return (
            all(isinstance(part, ElasticAssembled) for part in assembly.parts)
            and all(item.rest for part in assembly.parts for item in part.imposed)
            and not (system.springs or assembly.contact_count or assembly.constraints.shape[0])
            and assembly.viscous is None
        )

    def advance_frames(self, state: State, count: int) -> tuple[State, Block] | None:
        """`count` steps; None where they do not stay finite."""
        from arlequin.schemes._central_kernels import over_piece

        step, pieces, inverse = self.step, self._pieces, self._inverse
        half, force = state.own.half.copy(), state.internal.copy()
        here, there, spare = state.u, np.empty_like(state.u), np.empty_like(state.u)
        sums = np.zeros((count + 1, len(pieces), 9))  # the stored energy, and what `over_piece` adds up

        def act(k: int, i: int, external: Array, u: Array, following: Array) -> None:
            """What a piece does at the i-th instant, and how it goes on from there."""
            piece, own = pieces[k], sums[i, k]
            at = piece.dofs
            if i:
                own[0] = piece.force(u[at], force[at])
            fields = force[at], external[at], piece.mass, inverse[at], half[at], u[at], following[at]
            loaded = bool(external[at].any()) if self._steady is None else self._loaded[k]
            over_piece(piece.axes, loaded, piece.first, piece.last, step, *fields, own[1:])

        for i in range(count + 1):
            external = self._load((state.n + i) * step) if i else state.own.external
            if i == count:  # pushed on as well, by the same code, for the same bits, and forgotten
                end, half = half, half.copy()
            each(partial(act, i=i, external=external, u=here, following=there), range(len(pieces)))
            if i < count:
                here, there = there, spare if i == 0 else here
        if not np.isfinite(sums).all():
            return None
        a = inverse * (external - force)
        works, momenta = self._audit(state.strain, sums)
        reached = replace(
            state,
            n=state.n + count,
            u=here,
            v=end + 0.5 * step * a,
            internal=force,
            kinetic=float(works["kinetic"][-1]),
            strain=float(works["strain"][-1]),
            own=replace(state.own, half=end, external=external, a=a),
        )
        return reached, self._block(reached, works.values, momenta)

    def _audit(self, strain: float, sums: Array) -> tuple[Work, tuple[Array, ...]]:
        """Energies and works, and the momenta of the parts, from what was added up on each piece at each instant.

        The mean forces of a step work on Δt v_{n+½}, which is `half` after the push at its start.
        """
        whole = np.add.accumulate(sums, axis=1)[:, -1]  # one by one: the same whatever the number of steps
        whole[0, 0] = strain
        work = Work(np.zeros((len(sums) - 1, len(KINDS))))
        work["strain"], work["kinetic"] = whole[1:, 0], whole[1:, 1]
        internal, work["external_work"] = (
            0.5 * self.step * (whole[:-1, after] + whole[1:, before]) for after, before in ((4, 2), (5, 3))
        )
        work["scheme"] = internal - np.diff(whole[:, 0])
        momenta = []
        for part, own in enumerate(self._assembly.system.parts):
            mine = [piece.part == part for piece in self._pieces]
            momenta.append(np.add.accumulate(sums[1:, mine, 6 : 6 + own.components], axis=1)[:, -1])
        return work, tuple(momenta)

    def _block(self, end: State, works: Array, momenta: tuple[Array, ...]) -> Block:
        """Of the steps up to a state."""
        count = len(works)
        touch = self._assembly.contact.touch(np.zeros(0))
        return Block(
            n=end.n - count + 1 + np.arange(count),
            u=end.u[None],
            v=end.v[None],
            works=works,
            multipliers=np.zeros((count, 0)),
            gaps=np.zeros((count, 0)),
            action=Action.none(touch).stacked(),
            iterations=np.zeros(count, dtype=np.int64),
            residual=np.zeros(count),
            newton=np.zeros(count, dtype=np.int64),
            momenta=momenta,
        )

    @cached_property
    def _inverse(self) -> Array:
        """M⁻¹ (d,), 0 where nothing moves."""
        return np.divide(1.0, self._mass, out=np.zeros_like(self._mass), where=self._assembly.free)

    @cached_property
    def _pieces(self) -> tuple[_Piece, ...]:
        return tuple(_pieces(self._assembly, self._mass))

    @cached_property
    def _steady(self) -> Array | None:
        """The loads where they are the same at all times."""
        assembly = self._assembly
        same = all(part.steady for part in assembly.parts) and not callable(assembly.system.gravity)
        return assembly.load(0.0) if same else None

    @cached_property
    def _loaded(self) -> list[bool]:
        """The pieces with steady loads."""
        assert self._steady is not None
        spans = [self._steady[p.dofs][p.axes * p.first : p.axes * p.last] for p in self._pieces]
        return [bool(span.any()) for span in spans]

    def _load(self, t: float) -> Array:
        return self._assembly.load(t) if self._steady is None else self._steady


def _pieces(assembly: Assembly, mass: Array) -> Iterator[_Piece]:
    """Those of the parts, one part after the other."""
    bounds = zip(assembly.parts, assembly.start[:-1].tolist(), assembly.start[1:].tolist(), strict=True)
    for i, (part, a, b) in enumerate(bounds):
        assert isinstance(part, ElasticAssembled)
        axes, at = part.components, slice(a, b)
        nodal = np.ascontiguousarray(mass[a:b:axes])
        if part.quads is None:
            yield _Piece(i, axes, at, 0, nodal.size, nodal, partial(_whole, part))
            continue
        for piece in part.quads.pieces:
            yield _Piece(i, axes, at, piece.first, piece.last, nodal, partial(part.quads.force, piece))


def _whole(part: ElasticAssembled, u: Array, out: Array) -> float:
    out[:], energy = part.internal(u)
    return energy
