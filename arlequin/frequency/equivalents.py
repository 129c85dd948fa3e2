"""Equivalent linear coefficients of nonlinear forces under stationary Gaussian motion.

A support resists the relative displacement x of its row with the force f(x, ẋ), N. Statistical linearisation replaces
it by f̄ + k_e (x − m) + c_e ẋ, m = E[x], and takes the coefficients whose mean square error is least,

    k_e = E[(f − f̄)(x − m)]/σ²,   c_e = E[f ẋ]/σ_v²,   f̄ = E[f],   σ² = E[(x − m)²],   σ_v² = E[ẋ²]

as x and ẋ of a stationary motion are uncorrelated. If the motion is Gaussian these are the mean slopes (Stein's lemma),

    k_e = E[∂f/∂x] = ∂f̄/∂m,   c_e = E[∂f/∂ẋ]

so that the tangent of the mean equilibrium is k_e. Closed forms, with the normal density φ and distribution Φ:

* Stop f = −K ⟨a − x⟩₊ on one side, b = (a − m)/σ:  k_e = K Φ(b),   f̄ = −K σ (φ(b) + b Φ(b)).
* Stops ±a on both sides, m = 0:  k_e = K erfc(a/(σ√2)); half of it is the share of the time at each.
* Cubic spring k x + k₃ x³:  k_e = k + 3k₃ (σ² + m²).
* Coulomb friction of the limit F = μN along a line:  c_e = √(2/π) F/σ_v; dissipated is c_e σ_v² = F E|ẋ|.

All laws, power-law layers and impact elements with damping included, are integrated by Gauss–Legendre rules between
the kinks of the law, to round-off where the kinks are known.

Hysteretic forces (elastic stick: a spring K in series with a slider F, Jenkins' element; Bouc and Wen's) have no value
f(x, ẋ). Their coefficients are those of slowly varying amplitudes: x = a cos ψ with Rayleigh's density of a, that of a
narrow-band Gaussian process, and the cycle of the amplitude a in steady state,

    k_e = E[a C(a)]/E[a²],   c_e = −E[a S(a)]/(ω E[a²]),   C, S = (1/π) ∮ f (cos ψ, sin ψ) dψ,   ω = σ_v/σ

of Jenkins' element with y = F/(K a) < 1 and cos θ = 1 − 2y: C = K a (θ − sin θ cos θ)/π, S = −4F (1 − y)/π, so that
π ω c_e a² is in the mean the work of the cycles. In the limits they are K where it sticks, and √(2/π) F/σ_v where it
slips: the same as of friction on a line.

Friction in a plane, F v/|v|, has in the principal axes of the slip velocity, σ₁ ≥ σ₂ and μ = 1 − σ₂²/σ₁²,

    c₁ = √(2/π) (F/σ₁) (E(μ) − (1 − μ) K(μ))/μ,   c₂ = √(2/π) (F/σ₁) (K(μ) − E(μ))/μ,   E|v| = √(2/π) σ₁ E(μ)

K and E the complete elliptic integrals.

A force f(r, ṙ) r̂ of the place w = r r̂ in a plane, as of a rod in a round hole, has with the covariances C of w about
its mean m and C_v of ẇ, independent of it,

    f̄ = E[f r̂],   k_e = E[f r̂ (w − m)ᵀ] C⁻¹ = E[f′ r̂r̂ᵀ + f/r (1 − r̂r̂ᵀ)]
    c_e = E[f r̂ẇᵀ] C_v⁻¹ = E[r̂r̂ᵀ E[f ṙ|w]/s²]

as E[ẇ|w, ṙ] = C_v r̂ ṙ/s², s² = r̂ᵀC_v r̂. Of f = K ⟨r − g⟩₊ with m = 0 and C = σ² 1, b = g/σ:

    k_e = K (e^{−b²/2} − b √(π/8) erfc(b/√2)) 1,   share of the time in contact e^{−b²/2}

Source: Roberts & Spanos, Random Vibration and Statistical Linearization, 1990, ch. 5 and 8; Caughey, J. Acoust. Soc.
Am. 35 (1963) 1706–1711, and J. Appl. Mech. 27 (1960) 649–652 (bilinear hysteresis).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import ellipe, ellipkm1, erf

from arlequin.models.types import Array
from arlequin.multilevel.laws.springs import BoucWen, Jenkins

ROOT = math.sqrt(2.0 / math.pi)
_EDGES = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 13.0, 17.0, 22.0, 29.0, 38.0])  # of panels, in σ
_BULK = 8.0  # σ, beyond which products of two densities are left out
_POINTS = 20  # of a panel
_RATE_POINTS = 8
_PLANE_EDGES = np.array([0.0, 1.0, 2.0, 3.5, 5.0, 8.0])  # of panels in the plane, in σ
_CENTRE = np.array([-0.25, -0.05, 0.05, 0.25])  # the same about the centre, where directions turn
_RATE_EDGES = np.array([0.0, 1.5, 3.0, 5.0, 8.0])
_PLANE_POINTS = 12
_LIGHT = 1e-16  # weight of a point in the plane that is left out
_ANGLES = 400  # of a cycle of Bouc and Wen's law
_UNKNOWN = 32  # panels a σ of a law whose kinks are not known


@dataclass(frozen=True)
class Equivalent:
    """Mean force f̄, N, k_e, N/m, c_e, N·s/m, E[f²], N², and the share of the time in which the force is not zero."""

    force: float
    stiffness: float
    damping: float
    square: float
    acting: float


@dataclass(frozen=True)
class PlanarEquivalent:
    """Mean force f̄ (2,), N, k_e (2, 2), N/m, c_e (2, 2), N·s/m, E‖f‖², N², and the share of the time in contact."""

    force: Array
    stiffness: Array
    damping: Array
    square: float
    acting: float


def gaussian_rule(kinks: Array, edges: Array = _EDGES, points: int = _POINTS) -> tuple[Array, Array]:
    """Points z (…, n) and weights (…, n) of E[g(z)], z standard normal, with panels that end at kinks (…, k).

    A panel is mapped by t²(3 − 2t), which makes powers of the distance from a kink smooth.

    >>> from scipy.stats import norm
    >>> z, weights = gaussian_rule(np.array([2.0]))
    >>> bool(abs((np.maximum(z - 2.0, 0.0) @ weights) / (norm.pdf(2.0) - 2.0 * norm.cdf(-2.0)) - 1.0) < 1e-12)
    True
    """
    low, high = -edges[-1], edges[-1]
    fixed = np.unique(np.concatenate([-edges, edges]))
    fixed = np.broadcast_to(fixed, kinks.shape[:-1] + fixed.shape)
    ends = np.sort(np.concatenate([fixed, np.clip(kinks, low, high)], axis=-1), axis=-1)
    t, w = _unit_rule(points)
    width = np.diff(ends)[..., None]
    z = (ends[..., :-1, None] + width * (t * t * (3.0 - 2.0 * t))).reshape(*kinks.shape[:-1], -1)
    weights = (width * (w * 6.0 * t * (1.0 - t))).reshape(z.shape) * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return z, weights


@lru_cache(maxsize=8)
def _unit_rule(points: int) -> tuple[Array, Array]:
    """Gauss–Legendre points and weights on (0, 1)."""
    t, w = leggauss(points)
    return 0.5 * (t + 1.0), 0.5 * w


def of_displacement(
    force: Callable[[Array], Array], mean: float, deviation: float, kinks: Sequence[float] | None
) -> Equivalent:
    """Of a force f(x), N, of displacements (n,), m; kinks: of f, m, None where they are not known."""
    z, weights = _rule(mean, deviation, kinks)
    f = force(mean + deviation * z)
    average, change = float(f @ weights), float((f * z) @ weights)
    return Equivalent(average, change / deviation, 0.0, float((f * f) @ weights), _share((f != 0.0) @ weights))


def _share(value: float) -> float:
    """A probability, without round-off above 1."""
    return min(float(value), 1.0)


def of_rate(
    force: Callable[[Array, Array], Array],
    mean: float,
    deviation: float,
    rate_deviation: float,
    kinks: Sequence[float] | None,
) -> Equivalent:
    """Of a force f(x, ẋ), N, of displacements (n, 1), m, and rates (1, m), m/s, with a kink at ẋ = 0."""
    bulk = np.arange(_BULK + 1.0)
    z, weights = _rule(mean, deviation, kinks, bulk, _RATE_POINTS)
    y, rate_weights = gaussian_rule(np.zeros(0), np.arange(0.0, _BULK + 0.5, 0.5), _RATE_POINTS)
    x = (mean + deviation * z)[:, None]
    f = force(x, (rate_deviation * y)[None, :])
    of_rates = f - force(x, np.zeros((1, 1)))  # without round-off of the force at rest, whose mean with ẋ is 0
    over_rates = f @ rate_weights
    return Equivalent(
        force=float(over_rates @ weights),
        stiffness=float((over_rates * z) @ weights) / deviation,
        damping=float(weights @ (of_rates @ (rate_weights * y))) / rate_deviation,
        square=float(weights @ ((f * f) @ rate_weights)),
        acting=_share(weights @ ((f != 0.0) @ rate_weights)),
    )


def of_radius(
    force: Callable[[Array, Array], Array], mean: Array, covariance: Array, rates: Array, radii: Array, damped: bool
) -> PlanarEquivalent:
    """Of a force f(r, ṙ) r̂, N, of the place (2,), m, of this mean (2,), with covariances (2, 2), m² and m²/s².

    radii (k,), m: of kinks of f; damped: whether f depends on ṙ. The rule is the product of those of the principal
    axes, whose panels end where circles begin and end, and at circles: exact to some 1e-10 of the stiffness of the law.
    """
    variances, axes = np.linalg.eigh(covariance)
    deviations, centre = np.sqrt(variances), axes.T @ mean
    lines = _CENTRE * deviations[:, None]
    ends = (np.concatenate([radii, -radii, lines[0]]) - centre[0]) / deviations[0]
    first, outer = gaussian_rule(ends, _PLANE_EDGES, _PLANE_POINTS)
    x = (centre[0] + deviations[0] * first)[:, None]
    half = np.sqrt(np.maximum(radii**2 - x**2, 0.0))
    ends = (np.hstack([half, -half, np.broadcast_to(lines[1], (x.size, _CENTRE.size))]) - centre[1]) / deviations[1]
    second, inner = gaussian_rule(ends, _PLANE_EDGES, _PLANE_POINTS)
    weights = outer[:, None] * inner
    used = weights > _LIGHT
    z = np.stack([np.broadcast_to(first[:, None], used.shape)[used], second[used]])
    place, weights = centre[:, None] + deviations[:, None] * z, weights[used]
    r = np.hypot(*place)
    along = place / np.maximum(r, np.finfo(float).tiny)
    f = force(r, np.zeros(1))
    square, acting, damping = weights @ (f * f), weights @ (f != 0.0), np.zeros((2, 2))
    if damped:
        rate = np.sqrt(np.einsum("in,ij,jn->n", along, axes.T @ rates @ axes, along))
        touched = (f != 0.0) | (force(r, rate) != 0.0) | (force(r, -rate) != 0.0)
        along, weights, z, f, r, rate = (each[..., touched] for each in (along, weights, z, f, r, rate))
        y, rate_weights = gaussian_rule(np.zeros(0), _RATE_EDGES, _PLANE_POINTS)
        of_rates = force(r[:, None], rate[:, None] * y)
        acting, square = weights @ ((of_rates != 0.0) @ rate_weights), weights @ (of_rates**2 @ rate_weights)
        slope = (of_rates - f[:, None]) @ (rate_weights * y) / rate
        damping, f = (along * (weights * slope)) @ along.T, of_rates @ rate_weights
    pushed = along * (weights * f)
    stiffness = pushed @ z.T / deviations
    return PlanarEquivalent(
        force=axes @ pushed.sum(axis=1),
        stiffness=axes @ (0.5 * (stiffness + stiffness.T)) @ axes.T,
        damping=axes @ damping @ axes.T,
        square=float(square),
        acting=_share(acting),
    )


def _rule(
    mean: float, deviation: float, kinks: Sequence[float] | None, edges: Array = _EDGES, points: int = _POINTS
) -> tuple[Array, Array]:
    if kinks is None:
        fine = np.arange(0.0, _BULK, 1.0 / _UNKNOWN)
        return gaussian_rule(np.zeros(0), np.unique(np.concatenate([edges, fine])), _RATE_POINTS)
    return gaussian_rule((np.asarray(kinks, dtype=float) - mean) / deviation, edges, points)


def of_hysteresis(
    cycle: Callable[[Array], tuple[Array, Array]], deviation: float, rate_deviation: float, kinks: Sequence[float]
) -> tuple[float, float]:
    """k_e, N/m, and c_e, N·s/m, of cycles C(a), S(a) (n,), N, of the amplitudes (n,), m, Rayleigh-distributed."""
    # Rayleigh's density z exp(−z²/2), z = a/σ > 0, by the weights of the normal one
    z, weights = gaussian_rule(np.asarray(kinks, dtype=float) / deviation)
    z, weights = z[z > 0.0], weights[z > 0.0] * math.sqrt(2.0 * math.pi)
    in_phase, out_of_phase = cycle(deviation * z)
    square = 2.0 * deviation
    stiffness = float((in_phase * z * z) @ weights) / square
    damping = -float((out_of_phase * z * z) @ weights) / square * deviation / rate_deviation
    return stiffness, damping


def jenkins_cycle(stiffness: float, limit: float) -> Callable[[Array], tuple[Array, Array]]:
    """C(a), S(a), N, of Jenkins' element: a spring K, N/m, in series with a slider of the limit F, N."""

    def cycle(amplitude: Array) -> tuple[Array, Array]:
        share = np.minimum(limit / (stiffness * amplitude), 1.0)
        angle = np.arccos(1.0 - 2.0 * share)
        in_phase = stiffness * amplitude * (angle - np.sin(angle) * np.cos(angle)) / np.pi
        return in_phase, -4.0 * limit * (1.0 - share) / np.pi * (share < 1.0)

    return cycle


@lru_cache(maxsize=64)
def _bouc_wen_cycles(beta: float, gamma: float, exponent: float) -> Any:
    """ln a ↦ (C/a, −S/a) of z over steady cycles of the amplitudes a, m, and the largest amplitude of the table.

    On the way from −a to a, z goes from −Z to Z, and z(x) is the inverse of two integrals:

        dx = dz/(1 + (β − γ)|z|ⁿ) for z < 0,   dx = dz/(1 − (β + γ)zⁿ) for z > 0,   2a = x(Z) − x(−Z)
        C = −(2/π) ∫₀^π z cos φ dφ, x = −a cos φ,   −S = 2/(π a) ∫ z dx
    """
    from scipy.interpolate import PchipInterpolator

    u = np.concatenate([[0.0], np.geomspace(1e-6, 1e4, 7501)])
    t, w = leggauss(4)
    at = u[:-1, None] + 0.5 * np.diff(u)[:, None] * (1.0 + t)
    weights = 0.5 * np.diff(u)[:, None] * w
    total, fall = beta + gamma, beta - gamma
    if total > 0.0:  # z = z∞ (1 − exp(−u)), in which x is smooth
        limit = total ** (-1.0 / exponent)
        z, rate = -limit * np.expm1(-u), limit * np.exp(-at)
        inner = -limit * np.expm1(-at)
        near = np.minimum(at, 30.0)  # beyond, x grows with z∞/n
        up = limit * np.exp(-near) / -np.expm1(exponent * np.log(-np.expm1(-near)))
    else:
        unit = (2.0 * beta) ** (-1.0 / exponent)
        z, inner = unit * u, unit * at
        rate = up = np.full(at.shape, unit)
    down = rate / (1.0 + fall * inner**exponent)
    x_up, x_down, work_up, work_down = (
        np.concatenate([[0.0], np.cumsum((values * weights).sum(axis=1))])
        for values in (up, down, inner * up, inner * down)
    )
    chosen = np.arange(1, u.size, 20)
    amplitudes = 0.5 * (x_up + x_down)[chosen]
    in_phase = np.empty(chosen.size)
    cosine = np.cos(np.pi * (np.arange(_ANGLES) + 0.5) / _ANGLES)
    for k, (i, a) in enumerate(zip(chosen.tolist(), amplitudes.tolist(), strict=True)):
        x = np.concatenate([x_down[i] - x_down[i::-1], x_down[i] + x_up[1 : i + 1]]) - a
        path = np.interp(-a * cosine, x, np.concatenate([-z[i::-1], z[1 : i + 1]]))
        in_phase[k] = -2.0 * (path * cosine).mean() / a
    loss = 2.0 / (np.pi * amplitudes**2) * (work_up - work_down)[chosen]
    values = np.stack([in_phase, loss], axis=1)
    return PchipInterpolator(np.log(amplitudes), values), float(amplitudes[0]), float(amplitudes[-1])


def bouc_wen_cycle(law: BoucWen) -> Callable[[Array], tuple[Array, Array]]:
    """C(a), S(a), N, of the hysteretic share (1 − α) k z of Bouc and Wen's law."""
    table, least, most = _bouc_wen_cycles(law.beta, law.gamma, law.exponent)
    stiffness = (1.0 - law.ratio) * law.stiffness

    def cycle(amplitude: Array) -> tuple[Array, Array]:
        in_phase, loss = table(np.log(np.clip(amplitude, least, most))).T
        beyond = stiffness * np.minimum(amplitude, most)  # both forces are constant at large amplitudes
        return beyond * in_phase, -beyond * loss

    return cycle


def of_spring_memory(law: Jenkins | BoucWen, deviation: float, rate_deviation: float) -> tuple[float, float]:
    """k_e and c_e of the hysteretic force of a branch of a spring."""
    if isinstance(law, Jenkins):
        slip = law.limit / law.stiffness
        return of_hysteresis(jenkins_cycle(law.stiffness, law.limit), deviation, rate_deviation, [slip])
    return of_hysteresis(bouc_wen_cycle(law), deviation, rate_deviation, [])


def planar_shares(deviations: Array) -> tuple[Array, float]:
    """c_i σ_i/(√(2/π) F) (2,) of friction in a plane, and E|v|/√(2/π), m/s, at slip velocities σ_i (2,), m/s.

    >>> shares, speed = planar_shares(np.array([1.0, 1.0]))
    >>> bool(np.allclose(shares, np.pi / 4) and abs(speed - np.pi / 2) < 1e-12)
    True
    """
    first, second = float(deviations.max()), float(deviations.min())
    ratio = (second / first) ** 2
    mu = 1.0 - ratio
    elliptic_e = float(ellipe(mu))
    if mu < 1e-6:  # series about μ = 0
        along, across = np.pi / 4 * (1.0 + mu / 8.0), np.pi / 4 * (1.0 + 3.0 * mu / 8.0)
    else:
        elliptic_k = float(ellipkm1(max(ratio, np.finfo(float).tiny)))
        along, across = (elliptic_e - ratio * elliptic_k) / mu, (elliptic_k - elliptic_e) / mu
    shares = np.array([along, across * second / first])
    return (shares if deviations[0] >= deviations[1] else shares[::-1]), first * elliptic_e


def mean_speed(deviations: Array) -> float:
    """E|v|, m/s, of Gaussian slip velocities along one or two principal axes, σ_i (1,) or (2,), m/s."""
    return ROOT * (planar_shares(deviations)[1] if deviations.size == 2 else float(deviations[0]))


def of_friction(
    limit: float, stiffness: float, damping: float, compliance: float, deviation: float, rate_deviation: float
) -> tuple[float, float]:
    """k_e, N/m, and c_e, N·s/m, of friction of the limit F, N, along a line.

    stiffness K, N/m: of elastic stick, infinite without, with the damping C, N·s/m, that acts while it sticks;
    compliance, m/(s N): of friction f = min(|ẋ|/compliance, F), whose c_e is erf(F compliance/(σ_v √2))/compliance.
    """
    if limit <= 0.0:
        return 0.0, 0.0
    if math.isfinite(stiffness):
        slip = limit / stiffness
        k, c = of_hysteresis(jenkins_cycle(stiffness, limit), deviation, rate_deviation, [slip])
        return k, c + damping * k / stiffness
    if compliance > 0.0:
        return 0.0, float(erf(limit * compliance / (rate_deviation * math.sqrt(2.0)))) / compliance
    return 0.0, ROOT * limit / rate_deviation
