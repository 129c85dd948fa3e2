"""Friction laws: the protocol of a friction law, a base class for variable coefficients, and Coulomb's law."""

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from arlequin.models.checks import non_negative, positive
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array

VARIABLES = 2  # internal variables of a friction law, at most


@dataclass(frozen=True, eq=False)
class SlidingState:
    """State of sliding of k contact points, at which a friction law is evaluated.

    pressure (k,), Pa: mean normal pressure of the step; slip_rate (k,), m/s: mean ‖v_t‖ of the step (0 in statics,
    which has no rates); slip (k,), m: accumulated slip ∫‖v_t‖ dt of a point while it was pressed; variables (k, 2):
    internal variables of the law, 0 at first; stuck (k,): points that stick, whose coefficient is the threshold of
    stick (default: none).
    """

    pressure: Array
    slip_rate: Array
    slip: Array
    variables: Array
    stuck: NDArray[np.bool_] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.stuck is None:
            object.__setattr__(self, "stuck", np.zeros(self.slip_rate.size, dtype=bool))

    def of(self, points: Any) -> "SlidingState":
        """The state of the given points."""
        return SlidingState(
            self.pressure[points], self.slip_rate[points], self.slip[points], self.variables[points], self.stuck[points]
        )  # fmt: skip


@runtime_checkable
class FrictionLaw(Protocol):
    """Dry friction ‖t_t‖ ≤ μ p_n, −t_t ∈ μ p_n ∂‖w‖ with a coefficient μ that may depend on the state of sliding.

    w is the slip rate with the regularisation by compliance, stiffness and damping as in `Coulomb`. μ is that of the
    mean slip rate and pressure of the step, and of the internal variables in its middle
    (`arlequin.multilevel.solvers.sliding`): the order of the scheme is preserved. Methods are pure; their values are
    committed by accepted steps only. Each step dissipates, P_t·w ≤ 0, for any μ ≥ 0. Test a law by `check_law`; see
    docs/how-to/friction-law.md.
    """

    @property
    def compliance(self) -> float:
        """Compliance of friction, m/(s Pa); 0 for the law itself."""

    @property
    def stiffness(self) -> float:
        """Tangential stiffness of elastic stick, Pa/m; infinite without."""

    @property
    def damping(self) -> float:
        """Damping beside this stiffness, Pa s/m."""

    @property
    def state_dependent(self) -> bool:
        """Whether μ changes with the state."""

    def mu(self, state: SlidingState) -> Array:
        """Coefficient μ ≥ 0 (k,) at the states of k points."""

    def advance(self, state: SlidingState, slip: Array, step: float) -> Array:
        """Internal variables (k, 2) after the time `step`, s, in which the points slip by `slip` (k,), m.

        state: mean slip rate and pressure of the step, the accumulated slip after that time, the variables at the
        start, and which points stick.
        """


class VariableFriction:
    """Base class of friction laws with a coefficient that depends on the state: rigid, without internal variables.

    A law defines `mu`, and `advance` if it has internal variables (see `FrictionLaw`). With a compiled `kernel`
    (`arlequin.multilevel.laws.signature.FRICTION`) and its constants `coefficients`, `CompiledFriction` defines both,
    and small systems run in compiled loops.
    """

    compliance: float = 0.0
    stiffness: float = math.inf
    damping: float = 0.0
    state_dependent: bool = True
    creeps: bool = False  # whether the law never sticks: friction then acts on the mean slip rate of a step
    state_unit: str | None = None  # of `state_value`, which is then recorded as `friction_state`

    def mu(self, state: SlidingState) -> Array:
        raise NotImplementedError(f"{type(self).__name__} defines no coefficient mu(state)")

    def advance(self, state: SlidingState, slip: Array, step: float) -> Array:
        return state.variables

    def steepest_fall(self) -> float:
        """Largest fall −dμ/d‖v_t‖ with the slip rate, s/m, of a point that has not slipped, between 1 nm/s and 1 km/s;
        0 where μ never falls. Steps have several solutions where it is too large for their length."""
        rates = np.geomspace(1e-9, 1e3, 2401)
        zeros = np.zeros(rates.size)
        mu = np.asarray(self.mu(SlidingState(zeros, rates, zeros, np.zeros((rates.size, VARIABLES)))), dtype=float)
        return float(max((-np.diff(mu) / np.diff(rates)).max(), 0.0))

    def state_value(self, variable: Array) -> Array:
        """The recorded value of the first internal variable (k,): by default the variable itself."""
        return variable


class CompiledFriction(VariableFriction):
    """Base class of friction laws with a compiled kernel."""

    of_the_step: bool = False  # whether μ depends only on the slip rate and the pressure of the step

    def kernel(self) -> Any:
        """Compiled function of the signature `arlequin.multilevel.laws.signature.FRICTION`."""
        raise NotImplementedError(f"{type(self).__name__} defines no kernel()")

    def coefficients(self) -> Array:
        """Constants (m,) of the kernel."""
        raise NotImplementedError(f"{type(self).__name__} defines no coefficients()")

    def mu(self, state: SlidingState) -> Array:
        return self._after(state, np.zeros(state.slip_rate.size), 0.0)[0]

    def advance(self, state: SlidingState, slip: Array, step: float) -> Array:
        return self._after(state, slip, step)[1]

    def _after(self, state: SlidingState, slip: Array, step: float) -> tuple[Array, Array]:
        from arlequin.multilevel.laws._friction_kernels import evaluate_many

        out = np.empty((state.slip_rate.size, VARIABLES))
        states = np.ascontiguousarray(np.stack([state.slip_rate, state.pressure, state.slip]))
        variables, slip = (np.ascontiguousarray(array, dtype=float) for array in (state.variables, slip))
        mu = evaluate_many(
            self.kernel(), self.coefficients(), states, slip, float(step), np.ascontiguousarray(state.stuck), variables,
            out,
        )  # fmt: skip
        return mu, out


@checked_call
@dataclass(frozen=True)
class Coulomb:
    """Coulomb's dry friction on the total normal pressure p_n (regular laws and multiplier):

        ‖t_t‖ ≤ μ p_n;   −t_t ∈ μ p_n ∂‖w‖,   w = v_t + compliance t_t − ė,   t_t = −stiffness e − damping ė

    that is, w = 0 inside the disk (an interval in 2D) and t_t = −μ p_n w/‖w‖ on its edge. coefficient: μ ≥ 0.
    compliance, m/(s Pa): 0 is the law itself; with more, the tangential traction grows with the slip velocity up to
    the threshold (velocity penalty of 1/compliance). stiffness K_T, Pa/m: infinite is the law itself (e = 0); finite is
    elastic stick, w the irreversible slip rate: the traction is that of a spring, zero where contact starts, whose end
    slips when it reaches the threshold (the tangential part of an impact element). damping C_T, Pa s/m: a
    dashpot beside the spring. In a slip the traction stays on the edge of the disk and the stretch e follows from it,
    so that neither jumps and e is that of the edge, μ p_n/K_T, after a few C_T/K_T. Stored is K_T ‖e‖²/2 per area;
    the dashpot's loss counts as friction's. See docs/theory/contact.md.

    >>> import arlequin as aq
    >>> slider = aq.PointMasses("slider", (0.0, 0.0), 2.0)  # m, kg
    >>> floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    >>> rub = aq.Interface("floor", slider.boundary("all"), floor, aq.Unilateral(), friction=aq.Coulomb(0.2))
    >>> system = aq.System([slider], interfaces=[rub], gravity=(0.0, -10.0), velocity=(1.0, 0.0))
    >>> result = aq.simulate(system, aq.Theta(0.5), duration=1.0, step=0.01)
    >>> result["part/slider"]["displacement"][-1, 0, 0].values.round(9).tolist()  # stops after v²/(2 μ g), m
    0.25
    >>> round(float(result["energy"].sel(kind="friction")[-1]), 9)  # ½ m v², J
    1.0

    Source: Moreau, in Nonsmooth Mechanics and Applications, CISM 302, Springer (1988) 1–82.
    """

    coefficient: float
    compliance: float = 0.0
    stiffness: float = math.inf
    damping: float = 0.0

    def __post_init__(self) -> None:
        for name in ("coefficient", "compliance", "damping"):
            object.__setattr__(self, name, non_negative(f"friction {name}", getattr(self, name)))
        if isinstance(self.stiffness, float) and self.stiffness == math.inf:
            if self.damping > 0.0:
                raise UserError.parameter("friction damping", self.damping, "must be 0 without a stiffness")
        else:
            object.__setattr__(self, "stiffness", positive("friction stiffness", self.stiffness))
            if self.compliance > 0.0:
                raise UserError.parameter("friction compliance", self.compliance, "must be 0 beside a stiffness")

    @property
    def state_dependent(self) -> bool:
        return False

    def mu(self, state: SlidingState) -> Array:
        return np.full(state.slip_rate.size, self.coefficient)

    def advance(self, state: SlidingState, slip: Array, step: float) -> Array:
        return state.variables
