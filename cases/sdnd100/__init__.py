"""Mass on a spring released on a floor with Coulomb friction: turning points, rest and dissipation (SDND100).

The spring is isotropic in the floor, so that the mass stays on the line of its release and a slip along `direction` has
the components (cos, sin). Located events (`events=locate`) require a single slip direction: the model is then the plane
of that line and of gravity. Without location (`events=step`) the floor is a plane in space, with isotropic friction,
and the mass stays on its line by symmetry.

Between two events the θ-scheme conserves energy, so that located turning points are exact except for interpolation. The
motion before a turn is even in the time τ to it: the position there is that at 0 of the polynomial in τ² through the
last three steps of the half swing, with a remainder of at most (ωΔt)⁶/20 of its amplitude. Without location, friction
has one sign over the step with the turn: each turn shifts later turning points by at most ½ (2f/m) Δt² = d (ωΔt)²,
d = f/k. It is interpolated by the cubic through both ends of its step, to (ωΔt)⁴/50 of the release; θ > ½ damps each
half swing by (2θ − 1) π ωΔt/2.

Penalised models (modal, two-body, direct) have another exact motion, that of the shock element of
finite K_T and C_T (`arlequin.cases.reference.damped_shock`, undamped `shock`): turns are where a slip ends. Its turning
points are checked against that, and at the benchmark's data displacements at nπ/ω against Coulomb's turning points, to
0.5 %. C_T is the default of Code_Aster's modal element, critical: 2 √(m (k + K_T)). Deviation from Coulomb's, %:

                                            turning points 1 to 4           displacements at nπ/ω
    exact, K_T = 4e5 N/m              0.000   0.005   0.029   0.528     0.000   0.004   0.016   0.234
    runge-kutta, Δt = 5e-4            0.000   0.004   0.028   0.525     0.000   0.003   0.016   0.234
    de-vogelaere                     -0.001   0.001   0.025   0.495    -0.001   0.000   0.012   0.206
    theta, newmark                    0.000   0.002   0.026   0.526     0.000   0.002   0.020   0.260
    hht                               0.000   0.001   0.024   0.513     0.000   0.001   0.019   0.252
    symplectic-euler                  0.010   0.064   0.146   1.961    -0.015  -0.020  -0.021   0.394
    the same, between steps by lines                                   -0.021  -0.043  -0.059   0.386
    Code_Aster A (modal, Euler)                                        -0.02   -0.045  -0.07    0.41
    Code_Aster B (two bodies, Euler)                                   -0.02   -0.029  -0.018   0.205
    Code_Aster C (direct, HHT; from the places printed)                -0.23   -0.27   -0.73    0.39

    undamped (tangential_damping=0):
    exact                             0.026   0.239   0.998  11.48      0.023   0.163   0.478   4.34
    de-vogelaere                      0.024   0.241   1.009  11.61      0.021   0.165   0.483   4.40
    theta, newmark                    0.017   0.229   0.974  11.08      0.016   0.169   0.522   4.50
    hht                               0.016   0.218   0.928  10.62      0.015   0.162   0.505   4.36
    symplectic-euler                  0.020   0.253   1.063  11.92     -0.009   0.054   0.212   3.41

Modal, two-body and direct agree to round-off under the same scheme.

Source of the case: Code_Aster V5.01.100 (SDND100), after F. Axisa, Cours IPSI, 1991.
"""

from dataclasses import replace
from functools import lru_cache
from math import isfinite
from typing import Any

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.reference.slider import ReleasedSlider
from arlequin.cases.sdnd100.parameters import Parameters
from arlequin.cases.sdnd100.plots import released_figure
from arlequin.cases.sdnd100.shock_checks import (
    SHOWN,
    ExactMotion,
    exact_turns,
    published_checks,
    shock_checks,
    turning_tolerance,
)
from arlequin.cases.sdnd100.turns import located_turns, stepped_turns, turn_scalars
from arlequin.cases.shared.impact import end_time, energy_checks
from arlequin.cases.shared.sliders import Floor, slider
from arlequin.cases.shared.vocabulary import scheme_of
from arlequin.models.types import Array

PHASE = 0.07  # relative lag of the located scheme over (ωΔt)⁴


def duration(parameters: Parameters) -> float:
    """End of the run, s; ten half swings if the mass does not come to rest."""
    p, exact = parameters, reference(parameters)
    swings = exact.half_swings + 2.0 if isfinite(exact.half_swings) else 10.0
    return swings * np.pi / exact.frequency if p.duration is None else p.duration


def line(parameters: Parameters) -> Array:
    """Direction of the release in the floor (2,)."""
    angle = np.deg2rad(parameters.direction)
    return np.array([np.cos(angle), np.sin(angle)])


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    direction = np.ones(1) if p.located else line(p)
    up = np.append(np.zeros_like(direction), 1.0)
    weight = p.mass * p.gravity
    depth = weight / p.normal_stiffness if p.penalised else 0.0
    floor = Floor(p.friction)
    if p.penalised:
        floor = Floor(p.friction, p.normal_stiffness, p.tangential_stiffness, p.dashpot)
    start = tuple(np.append(p.release * direction, -depth).tolist())
    system = slider(p.model, p.mass, floor, p.stiffness, start, tuple(-p.gravity * up))
    scheme = scheme_of(p.time_scheme, p.theta, "locate" if p.located else "step")
    return aq.Study(system, scheme, duration(p), p.time_step)


def reference(parameters: Parameters) -> ReleasedSlider:
    """Exact turning points by recurrence, for any release."""
    p = parameters
    return ReleasedSlider(p.stiffness, p.mass, p.release, p.friction, p.gravity, tuple(line(p).tolist()))


@lru_cache(maxsize=8)
def shock_reference(parameters: Parameters) -> ExactMotion:
    """The exact motion of the shock element, up to two half swings past Coulomb's rest."""
    return ExactMotion.of(parameters, duration(replace(parameters, duration=None)))


def motion(result: xarray.DataTree, parameters: Parameters) -> tuple[Array, Array, Array]:
    """Displacement, m, and velocity, m/s, (t,) along the direction, and distance (t,) of the mass from that line, m."""
    group = result["part/slider"].dataset
    u, v = (group[name].values[:, 0, :-1] for name in ("displacement", "velocity"))
    if u.shape[1] == 1:
        return u[:, 0], v[:, 0], np.zeros(len(u))
    (a, b) = direction = line(parameters)
    return u @ direction, v @ direction, np.abs(u @ np.array([-b, a]))


def turning_points(result: xarray.DataTree, parameters: Parameters) -> tuple[Array, Array]:
    """Instants (n,), s, and displacements (n,), m, at which the mass turns or comes to rest."""
    time = result.dataset["time"].values
    u, v, _ = motion(result, parameters)
    if "event_time" in result.dataset:
        return located_turns(time, u, result.dataset["event_time"].values)
    return stepped_turns(time, u, v)


def tolerance(parameters: Parameters, n: float) -> float:
    """Tolerance of the n-th turning point, m (module docstring, `shock_checks`)."""
    p, exact = parameters, reference(parameters)
    phase = exact.frequency * p.time_step
    if p.located:
        return max(1e-6 * abs(float(exact.turning_point(n))), phase**6 / 20.0 * abs(p.release))
    if p.penalised:
        return turning_tolerance(p, exact, n)
    damping_loss = -np.expm1(-0.5 * np.pi * (2.0 * p.theta - 1.0) * phase) if p.time_scheme == "theta" else 0.0
    return n * (exact.zone * phase**2 + damping_loss * abs(p.release)) + phase**4 / 50.0 * abs(p.release)


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of turning points, rest, dissipation and energy balance."""
    p = parameters
    u, _, lateral = motion(result, p)
    checks = penalised_checks(result, p, u) if p.penalised else exact_checks(result, p, u)
    checks.append(
        Check(
            "lateral deviation from the line of release",
            float(lateral.max()),
            0.0,
            1e-12 * abs(p.release),
            "m",
            "absolute",
        )
    )
    return [*checks, *energy_checks(result)]


def exact_checks(result: xarray.DataTree, parameters: Parameters, u: Array) -> list[Check]:
    """Checks of the nonsmooth model, which reaches permanent rest; u (t,) m."""
    p, exact, end = parameters, reference(parameters), end_time(result)
    checks = turning_checks(result, p)
    if exact.rest_time + p.time_step < end:
        rest_position = exact.rest_position
        limit = tolerance(p, exact.half_swings) if exact.half_swings else 1e-12 * abs(p.release)
        checks.append(Check("position at rest", u[-1], rest_position, limit, "m", "absolute"))
        after_rest = result.dataset["time"].values >= np.append(0.0, turning_points(result, p)[0])[-1]
        creep = float(np.abs(u[after_rest] - u[-1]).max())
        checks.append(Check("displacement after rest", creep, 0.0, 1e-12 * abs(p.release), "m", "absolute"))
        path = sum(2.0 * tolerance(p, n) for n in range(1, int(exact.half_swings) + 1))
        checks.append(
            Check(
                "dissipated energy",
                float(result.dataset["energy"].sel(kind="friction")[-1]),
                float(exact.dissipated(end)),
                exact.threshold * path + 1e-12 * exact.threshold * abs(p.release),
                "J",
                "absolute",
            )
        )
    return checks


def penalised_checks(result: xarray.DataTree, parameters: Parameters, u: Array) -> list[Check]:
    """Checks of the shock element, u (t,) m: turning points, motion, dissipation."""
    p, exact, element = parameters, reference(parameters), shock_reference(parameters)
    _, computed = turning_points(result, p)
    # later ones may belong to oscillations of the stuck mass
    _, exact_points = exact_turns(element, int(min(exact.half_swings, len(computed))))
    checks = [
        Check(
            f"turning point {n} of the shock element",
            computed[n - 1],
            exact_points[n - 1],
            tolerance(p, n),
            "m",
            "absolute",
        )
        for n in range(1, min(len(exact_points), SHOWN) + 1)
    ]
    return [
        *checks,
        *published_checks(result, p, motion(result, p), exact),
        *shock_checks(result, p, element, exact, u),
    ]


def turning_checks(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of the number of turning points, their displacements and, if located, instants."""
    p, exact = parameters, reference(parameters)
    instants, turning_displacements = turning_points(result, p)
    phase = exact.frequency * p.time_step
    checks = []
    expected = min(exact.half_swings, np.floor(end_time(result) * exact.frequency / np.pi))
    if expected == exact.half_swings:
        # the number of turns may change within the tolerance, in particular if |r₀|/d is odd
        perturbed = [replace(exact, release=abs(p.release) + sign * tolerance(p, expected)) for sign in (-1.0, 1.0)]
        spread = max(abs(perturbed_release.half_swings - expected) for perturbed_release in perturbed)
        checks.append(Check("turning points", len(turning_displacements), expected, spread, "1", "absolute"))
    for n in range(1, min(len(turning_displacements), int(expected), SHOWN) + 1):
        exact_point = float(exact.turning_point(n))
        checks.append(
            Check(f"turning point {n}", turning_displacements[n - 1], exact_point, tolerance(p, n), "m", "absolute")
        )
        if p.located:
            exact_time = float(exact.turning_time(n))
            checks.append(
                Check(f"time of turning point {n}", instants[n - 1], exact_time, PHASE * phase**4 + 1e-9, "s")
            )
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Scalars of the turning points, including those of ringing on a shock element."""
    final_position = aq.Scalar(motion(result, parameters)[0][-1], "m", "final position")
    return {"final_position": final_position, **turn_scalars(*turning_points(result, parameters), SHOWN)}


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    p = parameters
    u, _, _ = motion(result, p)
    instants, turning_displacements = turning_points(result, p)
    element = shock_reference(p) if p.penalised else None
    count = len(turning_displacements) if element is None else len(exact_turns(element, len(turning_displacements))[1])
    turning = instants[:count], turning_displacements[:count]
    return {
        "energies": plots.energies(result),
        "motion": released_figure(result.dataset["time"].values, u, turning, reference(p), element),
    }
