"""Some steps of the θ-scheme on linear parts and steady contact, and their audit."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.action import Action
from arlequin.assembly import Assembly
from arlequin.energy import Forces, Sums, Ways
from arlequin.products import applied
from arlequin.schemes.block import Block
from arlequin.touch import Touch
from models.types import Array
from multilevel.stick import Held, gain


@dataclass(frozen=True)
class Pushes:
    """Contact impulses (b, r) and the parts (b, k) of the normal ones."""

    impulse: Array
    stored: Array
    dissipated: Array
    multiplier: Array


@dataclass(frozen=True)
class Projections:
    """Of some steps (b,): the velocities (b, d) before they were projected, the impulses of that on the rows (b, r) and
    on the contact's basis (b, q), what these took, normal and in friction, and what imposed motions gave (b, 3), J, the
    gaps that layers carry (b, k), m, and the persistent rows (b, r); see `arlequin.schemes.velocity_projection`.
    """

    ends: Array
    impulse: Array
    spread: Array
    lost: Array
    layers: Array
    persistent: NDArray[np.bool_]


@dataclass(frozen=True)
class Passage:
    """States and steps, b of these: u, v, f_int(u), M v (b + 1, d), strain energy (b + 1,), what the springs of
    friction pull (b + 1, r); y, mean viscous and external forces (b, d), constraints' impulses (b, m), contact impulses
    (b, r), their normal parts (b, 3, k), status (b, k), and the figures of the contact problems (b,).

    damping, held: None where there is none.
    """

    u: Array
    v: Array
    internal: Array
    momentum: Array
    strain: Array
    held: Array | None
    y: Array
    damping: Array | None
    external: Array
    multipliers: Array
    impulse: Array
    normal: Array
    status: NDArray[np.int8]
    iterations: NDArray[np.int64]
    residual: Array

    def audited(
        self,
        assembly: Assembly,
        touch: Touch,
        first: int,
        step: float,
        theta: float,
        asperity: float,
        still: Any = False,
        projections: Projections | None = None,
    ) -> tuple[Block, Array]:
        """What is recorded of the steps from `first` (number) on, and their energies (b, 3) at the end: kinetic,
        strain, asperity; touch: of all steps, or some of one each; asperity: J, stored there at their start, with
        the springs of friction; still (b, k): points that do not slip, whatever round-off says."""
        laws, y, impulse, multipliers = assembly.laws, self.y, self.impulse, self.multipliers
        gaps = touch.gaps(applied(touch.basis, self.u[1:]))
        sprung, loss = laws.energy(gaps if projections is None else projections.layers), None
        if self.held is not None:
            springs = Held(laws, self.held[:-1], self.held[1:], gain(laws, theta, step))
            loss = springs.loss(impulse, touch.rates(step * y), step, theta)
            sprung = sprung + laws.sprung_energy(self.held[1:])
        ends, persistent = self.v[1:], laws.gap_rows
        if projections is not None:
            ends, persistent = projections.ends, projections.persistent
            impulse = impulse - projections.impulse
        path = 0.5 * step * (self.v[:-1] + ends)
        ways = Ways.mean(step * y, path)
        mean = (1.0 - theta) * self.internal[:-1] + theta * self.internal[1:]
        damping = np.zeros_like(y) if self.damping is None else self.damping
        reaction = np.zeros_like(y)
        dofs = assembly.imposed_dofs
        if dofs.size:
            given = applied(assembly.constraints.T, multipliers) + applied(touch.basis.T, touch.spread(impulse))
            gained = np.diff(self.momentum, axis=0) - applied(assembly.mass, self.v[1:] - ends)
            missing = (gained - given) / step + mean + damping - self.external
            reaction[:, dofs] = missing[:, dofs]
        forces = Forces(mean, damping, self.external, reaction)
        work = Sums.of(assembly, step, forces, multipliers, ways, y).works(
            step=step,
            rates=ways.on(touch),
            touch=touch,
            contact=Pushes(impulse, *np.moveaxis(self.normal, 1, 0)),
            stored_before=(self.strain[:-1], np.append(asperity, sprung[:-1])),
            stored_after=(self.strain[1:], sprung),
            loss=loss,
            persistent=persistent,
        )
        rows = touch.rates(path)
        if projections is not None:
            work["impact"] += projections.lost[:, 0]
            work["friction"] += projections.lost[:, 1]
            work["external_work"] += projections.lost[:, 2]
            rows = np.where(projections.persistent, touch.rates(step * y), rows)
        work["kinetic"] = 0.5 * np.vecdot(self.v[1:], self.momentum[1:])
        action = Action.of(touch, impulse, self.status, rows, step, still, loss)
        if projections is not None:
            extra = Action.of(touch, projections.impulse, self.status, 0.0 * rows, step)
            action = action.pushed(replace(extra, spread=projections.spread))
        block = Block(
            n=first + np.arange(len(y)),
            u=self.u[1:],
            v=self.v[1:],
            works=work.values,
            multipliers=multipliers,
            gaps=gaps,
            action=action,
            iterations=self.iterations,
            residual=self.residual,
            newton=np.ones_like(self.iterations),
        )
        return block, work.values[:, :3]
