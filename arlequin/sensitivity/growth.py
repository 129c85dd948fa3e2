"""How much small changes of a run's motion grow: what the derivatives of one run can say of its neighbours.

Where contact comes and goes, neighbouring runs may part: the derivatives of a run then grow beyond all that changes of
practical size can do, and say nothing of a mean over many impacts. A change (δu, δv) of the motion has the norm

    ‖δ‖² = ½ δvᵀM δv + ½ δuᵀK δu,

which no bulk lets grow, in resonance neither: only changes of the statuses of contact do. One of a random impulse is
carried along with the run and its events, from the steps on that make the changes of statuses more than three: fewer do
not make neighbours part, and cost nothing. With R_i, the median of ‖δ‖ in each tenth of the steps from there on,

    growth = max R_j/R_i over i < j.

Where contact follows a regular course it is 1 to 9; of a fuel rod that knocks and rubs on 16 supports, 134 in 0.2 s.

Source: Benettin, Galgani, Giorgilli & Strelcyn, Meccanica 15 (1980) 9–30 (Lyapunov exponents by tangents).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from arlequin.linalg.products import applied
from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.sensitivity.event import Event
from arlequin.sensitivity.linear_steps import LinearSteps
from arlequin.sensitivity.models_at import ModelDerivative
from arlequin.sensitivity.operators import StepOperators
from arlequin.sensitivity.step_equations import BulkEquations
from arlequin.sensitivity.tangent import Motion, Tangent

MOST_GROWTH = 30.0  # a change of 1 % of the motion is then 30 % of it
_FEW = 3  # steps with changes of statuses that need not be followed
_PIECES = 10  # of a run; the median leaves out single steps and short contacts with layers, whose energy ‖δ‖ lacks
_DEAD = 1e-8  # of the first norm: what is below is round-off


class Growth:
    """The growth of a change of a run's motion, in the making."""

    def __init__(self, equations: BulkEquations, operators: StepOperators) -> None:
        model = equations.model
        self._equations, self._operators = equations, operators
        self._tangent = Tangent(equations, operators, [ModelDerivative.none(model)])
        self._motion: Motion | None = None
        self._changes = 0
        self._squares: list[Array] = []  # of the norm after each step

    def add(self, linear: LinearSteps, events: Sequence[Event]) -> None:
        """The steps of a block with their events."""
        if self._motion is None:
            self._changes += _changes(linear)
            if self._changes <= _FEW:
                return
            self._motion = self._impulse()
        none = np.zeros(1)
        events = [replace(event, by_parameter=none) for event in events]
        self._motion, moved, _ = self._tangent.steps(linear, self._motion, events)
        bulk, u, v = self._equations.model.bulk, moved.u[1:, :, 0], moved.v[1:, :, 0]
        self._squares.append(np.sum(v * applied(bulk.mass, v) + u * applied(bulk.stiffness, u), axis=-1))

    def _impulse(self) -> Motion:
        """Velocities by a random impulse, of all frequencies that a step resolves."""
        operators, masses = self._operators, self._equations.model.bulk.mass.diagonal()
        forces = np.sqrt(np.maximum(masses, 0.0)) * np.random.default_rng(0).normal(size=masses.size)
        fields = np.zeros((self._equations.form.fields, masses.size, 1))
        fields[1] = operators.solve(forces[None])[0].T
        none = np.zeros((operators.rows, 1))
        return Motion(fields, none, none, none)

    def _value(self) -> float:
        squares = np.concatenate([np.zeros(0), *self._squares])
        length = squares.size // _PIECES
        if not length:
            return 1.0
        pieces = np.sqrt(np.maximum(np.median(squares[: length * _PIECES].reshape(_PIECES, length), axis=1), 0.0))
        least = np.minimum.accumulate(np.maximum(pieces, _DEAD * pieces[0]))
        return float(np.max(pieces[1:] / least[:-1], initial=1.0)) if pieces[0] > 0.0 else 1.0

    def checked(self) -> float:
        """The growth, 1 where statuses of contact change in few steps; UserError where a derivative of the run has no
        meaning."""
        found = self._value()
        if not found <= MOST_GROWTH:
            raise UserError(
                f"small changes of the motion grow {found:.3g} times in this run by its contacts, allowed "
                f"{MOST_GROWTH:g}: neighbouring runs part, and a derivative of one says nothing of their mean: take a "
                "shorter duration, smoothed_gradient, or events=False, the derivative at given statuses"
            )
        return found


def _changes(linear: LinearSteps) -> int:
    """In how many steps a point touches, parts, sticks or slips that did not in the one before."""
    each = np.stack([linear.motion.impulse[..., 0] > 0.0, linear.statuses.status], axis=-1)
    return int((each[1:] != each[:-1]).any(axis=(1, 2)).sum())
