"""Friction laws with a coefficient μ that depends on slip, slip rate, pressure or internal variables.

All are dry friction ‖t_t‖ ≤ μ p_n, −t_t ∈ μ p_n ∂‖v_t‖ on the total normal pressure p_n of any normal laws, and differ
in μ ≥ 0: friction always dissipates μ p_n ‖v_t‖ ≥ 0. The solution of a step, and the choice of one of several solutions
where μ falls with the slip rate: `arlequin.multilevel.solvers.sliding`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from arlequin.models.checks import check_fields, finite_array, non_negative, one_of, positive
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.laws.friction import CompiledFriction, SlidingState, VariableFriction


def _falls(static: float, dynamic: float) -> None:
    """UserError where the dynamic coefficient is above the static one."""
    if dynamic > static:
        raise UserError.parameter("dynamic", dynamic, f"must be at most the static coefficient, {static:g}")


@checked_call
@dataclass(frozen=True)
class StaticDynamic(CompiledFriction):
    """Static and dynamic friction: stick holds up to μ_s p_n, slip takes μ p_n,

        sharp (the default):                μ = μ_d
        slip_distance D, m:                 μ = μ_s − (μ_s − μ_d) min(s/D, 1), s the slip since the last stick
        velocity v₀, m/s:                   μ = μ_d + (μ_s − μ_d) e^(−‖v_t‖/v₀)

    static: μ_s; dynamic: μ_d ≤ μ_s, with μ_s = μ_d Coulomb's law. A point sticks while its traction is below μ_s p_n,
    and again once its slip comes to an end; one that comes into contact at a slip rate slips at μ_d. In a step a point
    that stuck at its start keeps sticking if it can, also where it could slip, too; one that slips keeps slipping if
    it can. A release is of first order in the step; `Theta(events="locate")` finds its instant (sharp law).

    Source: Rabinowicz, J. Appl. Phys. 22 (1951) 1373–1379; Code_Aster R5.06.03 (COULOMB_STAT_DYNA); slip weakening:
    Ida, J. Geophys. Res. 77 (1972) 3796–3805.
    """

    static: float
    dynamic: float
    slip_distance: float | None = None
    velocity: float | None = None

    def __post_init__(self) -> None:
        check_fields(self, static=non_negative, dynamic=non_negative)
        _falls(self.static, self.dynamic)
        for name in ("slip_distance", "velocity"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, positive(name, getattr(self, name)))
        if self.slip_distance is not None and self.velocity is not None:
            raise UserError.parameter("velocity", self.velocity, "must be left out beside a slip_distance")

    @property
    def state_dependent(self) -> bool:  # type: ignore[override]
        return self.static != self.dynamic

    @property
    def of_the_step(self) -> bool:  # type: ignore[override]
        return self.slip_distance is None

    @property
    def sharp(self) -> bool:
        """Whether the coefficient falls to μ_d as soon as the point slips."""
        return self.slip_distance is None and self.velocity is None

    def coefficients(self) -> Array:
        return np.array([self.static, self.dynamic, self.slip_distance or 0.0, self.velocity or 0.0])

    def kernel(self) -> Any:
        from arlequin.multilevel.laws._friction_kernels import static_dynamic

        return static_dynamic


@checked_call
@dataclass(frozen=True)
class Stribeck(CompiledFriction):
    """Stribeck's curve: μ(v) = μ_d + (μ_s − μ_d) e^(−(v/v_s)^δ) + μ_v v, v = ‖v_t‖.

    static: μ_s; dynamic: μ_d ≤ μ_s; velocity v_s, m/s; exponent δ; viscous μ_v, s/m.

    Source: Armstrong-Hélouvry, Dupont & Canudas de Wit, Automatica 30 (1994) 1083–1138.
    """

    static: float
    dynamic: float
    velocity: float
    exponent: float = 1.0
    viscous: float = 0.0

    of_the_step = True

    def __post_init__(self) -> None:
        check_fields(
            self, static=non_negative, dynamic=non_negative, velocity=positive, exponent=positive, viscous=non_negative
        )
        _falls(self.static, self.dynamic)

    def coefficients(self) -> Array:
        return np.array([self.static, self.dynamic, self.velocity, self.exponent, self.viscous])

    def kernel(self) -> Any:
        from arlequin.multilevel.laws._friction_kernels import stribeck

        return stribeck


def _table(name: str, at: Any, coefficients: Any) -> Array:
    """Constants of a table: n, the abscissae, the ordinates."""
    x, y = finite_array(name, at).ravel(), finite_array("coefficients", coefficients).ravel()
    if x.size < 2 or x.size != y.size:
        raise UserError.parameter(
            "coefficients", f"{y.size} values", f"needs one for each of {x.size} {name}, 2 at least"
        )
    if x[0] < 0.0 or not (np.diff(x) > 0.0).all():
        raise UserError.parameter(name, x.tolist(), "must not be negative and grow from each value to the next")
    if (y < 0.0).any():
        raise UserError.parameter("coefficients", y.tolist(), "must not be negative")
    return np.concatenate([[x.size], x, y])


@checked_call
@dataclass(frozen=True)
class VelocityFriction(CompiledFriction):
    """μ(‖v_t‖) by a table, piecewise linear, constant beyond its ends; growing, falling or both.

    velocities (n,), m/s: from 0 or more, growing; coefficients (n,): μ ≥ 0 there. A formula μ(v) is tabulated by
    `VelocityFriction.of(function, velocities)`, or made a law of its own (docs/how-to/friction-law.md).

    >>> import arlequin as aq
    >>> grease = aq.VelocityFriction(velocities=(0.0, 1.0), coefficients=(0.2, 0.1))
    >>> puck = aq.PointMasses("puck", (0.0, 0.0), 2.0)  # m, kg
    >>> rail = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    >>> rub = aq.Interface("rub", puck.boundary("all"), rail, aq.Unilateral(), friction=grease)
    >>> system = aq.System([puck], interfaces=[rub], gravity=(0.0, -10.0), velocity=(1.0, 0.0))
    >>> result = aq.simulate(system, aq.Theta(0.5), duration=0.5, step=0.01)
    >>> round(float(result["part/puck/velocity"][-1, 0, 0]), 3)  # 2 − exp(t) m/s
    0.351
    """

    velocities: Sequence[float]
    values: Sequence[float]

    of_the_step = True

    def __init__(self, velocities: Sequence[float], coefficients: Sequence[float]) -> None:
        table = _table("velocities", velocities, coefficients)
        n = int(table[0])
        object.__setattr__(self, "velocities", tuple(table[1 : 1 + n].tolist()))
        object.__setattr__(self, "values", tuple(table[1 + n :].tolist()))

    @classmethod
    def of(cls, function: Callable[[float], float], velocities: Sequence[float]) -> "VelocityFriction":
        """The table of a function μ(v) at these velocities, m/s."""
        if not callable(function):
            raise UserTypeError.parameter("function", function, "must be a function of the slip rate")
        return cls(velocities, [float(function(float(v))) for v in velocities])

    def coefficients(self) -> Array:
        return np.array([len(self.velocities), *self.velocities, *self.values])

    def kernel(self) -> Any:
        from arlequin.multilevel.laws._friction_kernels import velocity_table

        return velocity_table


@checked_call
@dataclass(frozen=True)
class PressureFriction(CompiledFriction):
    """μ(p_n) by a table, piecewise linear, constant beyond its ends.

    pressures (n,), Pa: from 0 or more, growing; coefficients (n,): μ ≥ 0 there. The traction μ(p) p must not fall with
    the pressure: harder pressing would else set a sticking point free.

    >>> import arlequin as aq
    >>> coated = aq.PressureFriction(pressures=(0.0, 1e6, 1e8), coefficients=(0.3, 0.25, 0.2))  # Pa
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> pad = aq.Solid("pad", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.02), cells=(5, 1)), steel, plane="strain")
    >>> disc = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    >>> rub = aq.Interface("rub", pad.boundary("bottom"), disc, aq.Unilateral(), friction=coated)
    """

    pressures: Sequence[float]
    values: Sequence[float]

    of_the_step = True

    def __init__(self, pressures: Sequence[float], coefficients: Sequence[float]) -> None:
        table = _table("pressures", pressures, coefficients)
        n = int(table[0])
        p, mu = table[1 : 1 + n], table[1 + n :]
        # on a segment d(μp)/dp = μ + p dμ/dp is linear in p: its ends decide
        slope = np.diff(mu) / np.diff(p)
        if (np.minimum(mu[:-1] + p[:-1] * slope, mu[1:] + p[1:] * slope) < -1e-12 * mu.max()).any():
            raise UserError.parameter(
                "coefficients", mu.tolist(), "must not fall so fast that the traction μ(p) p falls with the pressure"
            )
        object.__setattr__(self, "pressures", tuple(p.tolist()))
        object.__setattr__(self, "values", tuple(mu.tolist()))

    def coefficients(self) -> Array:
        return np.array([len(self.pressures), *self.pressures, *self.values])

    def kernel(self) -> Any:
        from arlequin.multilevel.laws._friction_kernels import pressure_table

        return pressure_table


@checked_call
@dataclass(frozen=True)
class RateAndState(CompiledFriction):
    """Rate-and-state friction of Dieterich and Ruina, regularised at rest,

        μ(v, θ) = a asinh[ v/(2V₀) e^((μ₀ + b ln(V₀θ/D_c))/a) ]   (≈ μ₀ + a ln(v/V₀) + b ln(V₀θ/D_c))
        ageing law  θ̇ = 1 − vθ/D_c,      slip law  θ̇ = −(vθ/D_c) ln(vθ/D_c)

    coefficient μ₀ at the reference velocity V₀, m/s; direct a > 0; evolution b; distance D_c, m; state θ₀, s: at the
    start (default: D_c/V₀, steady sliding at V₀). θ is recorded as `friction_state`. Over a
    step both laws are integrated exactly at its mean slip rate. A point never sticks, it creeps. With b > a steady
    sliding at the normal force N is unstable on springs softer than N(b − a)/D_c.

    Source: Dieterich, J. Geophys. Res. 84 (1979) 2161–2168; Ruina, J. Geophys. Res. 88 (1983) 10359–10370; Rice,
    Lapusta & Ranjith, J. Mech. Phys. Solids 49 (2001) 1865–1898.
    """

    coefficient: float
    direct: float
    evolution: float
    distance: float
    velocity: float
    law: Literal["ageing", "slip"] = "ageing"
    state: float | None = None

    creeps = True
    state_unit = "s"

    def __post_init__(self) -> None:
        check_fields(
            self, coefficient=positive, direct=positive, evolution=non_negative, distance=positive, velocity=positive
        )
        one_of("law", self.law, ("ageing", "slip"))
        if self.state is not None:
            object.__setattr__(self, "state", positive("state", self.state))

    def coefficients(self) -> Array:
        initial = 0.0 if self.state is None else math.log(self.velocity * self.state / self.distance)
        constants = self.coefficient, self.direct, self.evolution, self.distance, self.velocity
        return np.array([*constants, initial, float(self.law == "slip")])

    def state_value(self, variable: Array) -> Array:
        """θ, s, of the internal variable ln(θ/θ₀)."""
        start = self.distance / self.velocity if self.state is None else self.state
        return np.asarray(start * np.exp(variable))

    def steady(self, velocity: float) -> float:
        """μ of steady sliding, θ = D_c/v, at a slip rate, m/s."""
        at = math.log(positive("velocity", velocity) / self.velocity)
        exponent = (self.coefficient - self.evolution * at) / self.direct
        return self.direct * math.asinh(0.5 * math.exp(at + exponent))

    def kernel(self) -> Any:
        from arlequin.multilevel.laws._friction_kernels import rate_and_state

        return rate_and_state


@checked_call
@dataclass(frozen=True)
class Orthotropic(VariableFriction):
    """Orthotropic friction: the traction lies in an ellipse, and the slip is against the normal of another one,

        (t₁/μ₁)² + (t₂/μ₂)² ≤ p_n²,       v_i = −λ t_i/ν_i²,  λ ≥ 0,  on its edge.

    first: μ₁ > 0 along `direction`, a vector in space whose part along the surface is the first axis; second: μ₂ > 0
    across. slip_ratio: ν₁/ν₂ of the slip's ellipse; by default μ₁/μ₂, the normal of the friction ellipse (associated
    slip, of maximum dissipation); 1: slip straight against the traction. Friction takes Σ λ t_i²/ν_i² ≥ 0. In plane
    models the first coefficient alone counts.

    Source: Michalowski & Mróz, Archives of Mechanics 30 (1978) 259–276; Mróz & Stupkiewicz, Int. J. Eng. Sci. 32 (1994)
    1113–1131.

    >>> import arlequin as aq
    >>> law = aq.Orthotropic(0.1, 0.4, direction=(1.0, 0.0, 0.0))
    >>> puck = aq.PointMasses("puck", (0.0, 0.0, 0.0), 2.0)  # m, kg
    >>> wood = aq.RigidPlane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    >>> rub = aq.Interface("rub", puck.boundary("all"), wood, aq.Unilateral(), friction=law)
    >>> for direction in (0, 1):  # along the grain, across
    ...     velocity = (1.0, 0.0, 0.0) if direction == 0 else (0.0, 1.0, 0.0)
    ...     system = aq.System([puck], interfaces=[rub], gravity=(0.0, 0.0, -10.0), velocity=velocity)
    ...     result = aq.simulate(system, aq.Theta(0.5), duration=0.1, step=0.01)
    ...     print(round(float(result["part/puck/velocity"][-1, 0, direction]), 9))  # 1 m/s − μ g t
    0.9
    0.6
    """

    first: float
    second: float
    direction: Sequence[float]
    slip_ratio: float | None = None

    def __post_init__(self) -> None:
        check_fields(self, first=positive, second=positive)
        direction = finite_array("direction", self.direction, (None,))
        if direction.size not in (2, 3) or not direction.any():
            raise UserError.parameter("direction", self.direction, "must be a vector of 2 or 3 components, not 0")
        object.__setattr__(self, "direction", tuple(direction.tolist()))
        if self.slip_ratio is not None:
            object.__setattr__(self, "slip_ratio", positive("slip_ratio", self.slip_ratio))

    @property
    def slip_axes(self) -> tuple[float, float]:
        """ν₁, ν₂, with ν₁ν₂ = μ₁μ₂."""
        if self.slip_ratio is None:
            return self.first, self.second
        mean, share = math.sqrt(self.first * self.second), math.sqrt(self.slip_ratio)
        return mean * share, mean / share

    def mu(self, state: SlidingState) -> Array:
        """1: of the ellipse."""
        return np.ones(state.slip_rate.size)
