"""What is kept of some steps of the θ-scheme on linear parts and steady contact, for their audit and the record."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from arlequin.action import Action
from arlequin.assembly import Assembly
from arlequin.energy import Sums, Ways, viscous_losses
from arlequin.products import applied
from arlequin.schemes.block import Block
from arlequin.schemes.linear_step import Solved
from arlequin.schemes.passage import Pushes
from arlequin.schemes.scheme import State
from arlequin.touch import Touch
from models.types import Array
from multilevel.stick import Held, gain


@dataclass(frozen=True)
class Trail:
    """States and steps, b of these: u, v (b + 1, d), both on the contact's basis, `place` and `speed` (b + 1, q),
    strain energy (b + 1,), what the springs of friction pull (b + 1, r), None without; y on the basis (b, q), what the
    forces of the bulk do (b, 5), see `_member_kernels.settle`, viscous losses (b,) by kind, constraints' impulses
    (b, m), contact impulses (b, r), their normal parts (b, 3, k), status (b, k), and the figures of the contact
    problems (b,).
    """

    u: Array
    v: Array
    place: Array
    speed: Array
    strain: Array
    held: Array | None
    moved: Array
    sums: Array
    losses: dict[str, Array] = field(repr=False)
    multipliers: Array
    impulse: Array
    normal: Array
    status: NDArray[np.int8]
    iterations: NDArray[np.int64]
    residual: Array

    @classmethod
    def room(cls, assembly: Assembly, state: State, count: int, held: Array | None) -> Self:
        """Room for so many steps from a state, where the springs of friction pull with `held` (r,)."""
        laws, moves, (d,), q = assembly.laws, assembly.contact.moves, state.u.shape, assembly.contact.basis.shape[0]
        kinds = viscous_losses(assembly, 1.0, np.zeros(d))
        new = cls(
            u=np.empty((count + 1, d)),
            v=np.empty((count + 1, d)),
            place=np.empty((count + 1, q)),
            speed=np.empty((count + 1, q)),
            strain=np.empty(count + 1),
            held=None if held is None else np.zeros((count + 1, laws.row_count)),
            moved=np.empty((count, q)),
            sums=np.empty((count, 5)),
            losses={kind: np.empty(count) for kind in kinds},
            multipliers=np.empty((count, assembly.constraints.shape[0])),
            impulse=np.empty((count, laws.row_count)),
            normal=np.empty((count, 3, laws.count)),
            status=np.empty((count, laws.count), dtype=np.int8),
            iterations=np.empty(count, dtype=np.int64),
            residual=np.empty(count),
        )
        new.u[0], new.v[0], new.strain[0] = state.u, state.v, state.strain
        new.place[0], new.speed[0] = moves.of(state.u), moves.of(state.v)
        if new.held is not None and held is not None:
            new.held[0] = held
        return new

    def put(self, i: int, assembly: Assembly, solved: Solved, touch: Touch, step: float) -> None:
        """Takes what step i found, once it moved u and v."""
        contact, moves = solved.meeting.solution, assembly.contact.moves
        self.place[i + 1], self.speed[i + 1] = moves.of(self.u[i + 1]), moves.of(self.v[i + 1])
        self.moved[i] = moves.of(solved.y)
        self.multipliers[i], self.impulse[i], self.status[i] = solved.multipliers, contact.impulse, contact.status
        self.normal[i] = contact.stored, contact.dissipated, contact.multiplier
        self.iterations[i], self.residual[i] = contact.iterations, contact.residual
        if self.held is not None and contact.held is not None:
            self.held[i + 1] = assembly.laws.held(contact.history, touch.tangents)
        if self.losses:
            for kind, lost in viscous_losses(assembly, step, solved.y).items():
                self.losses[kind][i] = lost

    def first(self, count: int) -> "Trail":
        """Its first steps."""
        states = {"u", "v", "place", "speed", "strain", "held"}
        cut: dict[str, Any] = {
            name: None if values is None else values[: count + (name in states)]
            for name, values in vars(self).items()
            if name != "losses"
        }
        return Trail(**cut, losses={kind: lost[:count] for kind, lost in self.losses.items()})

    def audited(self, assembly: Assembly, touch: Touch, first: int, step: float, theta: float) -> tuple[Block, Array]:
        """What is recorded of the steps from `first` (number) on, and their energies (b, 3) at the end: kinetic,
        strain, asperity."""
        laws, gaps, pulled = assembly.laws, touch.gaps(self.place), 0.0
        by_du, by_path = touch.turn(step * self.moved), touch.turn(0.5 * step * (self.speed[:-1] + self.speed[1:]))
        asperity, loss = laws.energy(gaps), None
        if self.held is not None:
            springs = Held(laws, self.held[:-1], self.held[1:], gain(laws, theta, step))
            loss = springs.loss(self.impulse, by_du, step, theta)
            asperity = asperity + laws.sprung_energy(self.held)
        if self.multipliers.size:
            rates = applied(assembly.constraints, self.v)
            pulled = np.vecdot(self.multipliers, 0.5 * step * (rates[:-1] + rates[1:])) / step
        kinetic, given, given_path, resisted, dragged = self.sums.T
        work = Sums(given, given_path, resisted, dragged, self.losses, pulled).works(
            step=step,
            rates=Ways.mean(by_du, by_path),
            touch=touch,
            contact=Pushes(self.impulse, *np.moveaxis(self.normal, 1, 0)),
            stored_before=(self.strain[:-1], asperity[:-1]),
            stored_after=(self.strain[1:], asperity[1:]),
            loss=loss,
            persistent=laws.gap_rows,
        )
        work["kinetic"] = kinetic
        block = Block(
            n=first + np.arange(len(kinetic)),
            u=self.u[1:],
            v=self.v[1:],
            works=work.values,
            multipliers=self.multipliers,
            gaps=gaps[1:],
            action=Action.of(touch, self.impulse, self.status, by_path, step, loss=loss),
            iterations=self.iterations,
            residual=self.residual,
            newton=np.ones_like(self.iterations),
        )
        return block, work.values[:, :3]
