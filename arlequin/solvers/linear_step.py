"""The θ-scheme's step of a linear bulk, solved at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.laws.wear import WearState
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.contact_step import ContactStep, Motion, solve_contact_step
from arlequin.step.state import State
from arlequin.system.assembly import Assembly


@dataclass(frozen=True)
class Drive:
    """What drives a step: p₀ (d,), N·s, the mean external force (d,), N, what C y has to be (m,) and y (p,) where it is
    given, m/s; t (s): its end."""

    momentum: Array
    force: Array
    rest: Array
    given: Array | None
    t: float


@dataclass(frozen=True)
class Start:
    """A state as a step sees it: displacement and velocity of the rows of the contact's basis (q,), the internal force
    (d,), N, the laws' history, the last impulses (r,), N·s, what is worn, and what of the contact may last (k,)."""

    place: Array
    speed: Array
    internal: Array
    history: Array
    impulse: Array
    worn: WearState | None = None
    lasts: NDArray[np.int8] | None = None


@dataclass(frozen=True)
class Solved:
    """y (d,), m/s, the impulses of the constraints (m,) and of contact, N·s; newton: linearisations solved.

    inner (k,): those that keep rigid parts rigid.
    """

    y: Array
    multipliers: Array
    meeting: ContactStep
    newton: int
    inner: Array


@dataclass(frozen=True)
class Resistance:
    """Mean forces (d,) of the bulk, N; viscous: what of the damping is not linear in the velocity, if anything."""

    internal: Array
    damping: Array
    viscous: Array | None = None


class LinearStep:
    """(M + θΔt D + θ²Δt² K) y = p₀ − θΔt f_int(u₀) + θΔt f_θ + θ (Cᵀφ + BᵀP)."""

    def __init__(self, assembly: Assembly, theta: float, step: float) -> None:
        self._assembly, self._theta, self._step = assembly, theta, step
        self.condensed = Condensed(assembly, self.matrix)

    @property
    def matrix(self) -> sp.csr_array:
        """The matrix (d, d), made anew: it takes as much memory as the stiffness."""
        assembly, gap_per_velocity = self._assembly, self._theta * self._step
        matrix = assembly.mass + gap_per_velocity**2 * assembly.stiffness
        return matrix if assembly.viscous is None else matrix + gap_per_velocity * assembly.viscous

    def solve(self, state: State, drive: Drive) -> Solved:
        """The step from the state."""
        product = self._assembly.contact.basis_product
        start = Start(
            product(state.u), product(state.v), state.internal, state.history, state.impulse, state.worn, state.lasts
        )
        return self.solve_from(start, drive)

    def solve_from(self, start: Start, drive: Drive) -> Solved:
        """The step from what it needs of the state."""
        theta, step = self._theta, self._step
        right = drive.momentum + theta * step * (drive.force - start.internal)
        free = self.condensed.predict(right, drive.rest, drive.given)
        meeting = solve_contact_step(
            self._assembly.contact,
            self.condensed.compliance,
            motion_of(start.place, start.speed, free.contact, theta, step),
            gap_per_velocity=theta * step,
            step=step,
            theta=theta,
            history=start.history,
            worn=start.worn,
            guess=start.impulse,
            lasts=start.lasts,
        )
        y, multipliers = self.condensed.correct(free, theta * meeting.impulse)
        return Solved(y, multipliers / theta, meeting, 1, np.zeros(0))

    def state_dict(self) -> Any:
        """The columns made so far."""
        return self.condensed.compliance.state_dict

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        self.condensed.compliance.load_state_dict(state)

    def resist(self, state: State, solved: Solved, u: Array, internal: Array) -> Resistance:
        """Mean forces of the step that leads to u, where the internal force is given."""
        viscous, theta = self._assembly.viscous, self._theta
        damping = viscous @ solved.y if viscous is not None else np.zeros_like(u)
        return Resistance((1.0 - theta) * state.internal + theta * internal, damping)


def motion_of(place: Array, speed: Array, free: Array, theta: float, step: float) -> Motion:
    """Where the rows of the contact's basis (q,) go by y = `free` on them, from a place, m, at a speed, m/s."""
    mean = (1.0 / theta - 1.0) * speed
    return Motion(place, speed, place + step * free, free / theta - mean, mean)
