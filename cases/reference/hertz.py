"""Hertzian contact of lines (plane strain) and spheres in closed form, and the fit of b and p0.

Two bodies of radii R_i (∞: flat, < 0: hollow) and moduli E_i, ν_i, frictionless, with

    1/E* = Σ (1 − ν_i²)/E_i      (a rigid body adds nothing),      1/R = Σ 1/R_i,

touch where the half-spaces' displacements close the gap x²/2R. The pressure is p0 √(1 − x²/b²) and

    line, F' per length:   b² = 4F'R/(πE*)     p0 = 2F'/(πb) = E*b/(2R)
    sphere, F:             a³ = 3FR/(4E*)      p0 = 3F/(2πa²) = 2E*a/(πR)     δ = a²/R,  F = (4/3) E* √R δ^{3/2}.

The half-space is the first term of an expansion in b/R: a disc differs by terms of order (b/R)².

Source: K. L. Johnson, Contact Mechanics, 1985, chapter 4 and §5.6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.types import Array


def effective_modulus(*bodies: LinearElastic) -> float:
    """E* of one elastic body on a rigid one, or of two elastic ones, Pa.

    >>> effective_modulus(LinearElastic(young=1.0)), effective_modulus(LinearElastic(young=1.0), LinearElastic(1.0))
    (1.0, 0.5)
    """
    if not 1 <= len(bodies) <= 2:
        raise UserError.parameter("bodies", len(bodies), "must be one elastic body (on a rigid one) or two")
    return 1.0 / sum((1.0 - body.poisson**2) / body.young for body in bodies)


def effective_radius(first: float, second: float = math.inf) -> float:
    """R with 1/R = 1/R₁ + 1/R₂, m; inf for a flat body, negative for a hollow one.

    >>> effective_radius(0.02, 0.02), effective_radius(0.02)
    (0.01, 0.02)
    """
    curvature = 1.0 / first + 1.0 / second
    if not curvature > 0:
        raise UserError.parameter("radius", (first, second), "must give a positive curvature 1/R₁ + 1/R₂")
    return 1.0 / curvature


@dataclass(frozen=True)
class _Hertz:
    """Effective radius R (m), effective modulus E* (Pa), load (N/m on a line, N on a sphere)."""

    radius: float
    modulus: float
    load: float

    def __post_init__(self) -> None:
        for name in ("radius", "modulus", "load"):
            checks.positive(name, getattr(self, name))

    @property
    def half_width(self) -> float:
        """Half-width b of the strip or radius a of the disc of contact, m."""
        raise NotImplementedError

    @property
    def peak(self) -> float:
        """p0, Pa."""
        raise NotImplementedError

    def pressure(self, x: ArrayLike) -> Array:
        """p at the distance x (m) from the centre, Pa; zero outside the contact."""
        ratio = np.asarray(x, dtype=float) / self.half_width
        return self.peak * np.sqrt(np.maximum(1.0 - ratio**2, 0.0))


@dataclass(frozen=True)
class LineContact(_Hertz):
    """Parallel cylinders, load F' in N per metre of length."""

    @classmethod
    def of_half_width(cls, radius: float, modulus: float, half_width: float) -> LineContact:
        """The contact of half-width b: F' = π E* b²/(4R)."""
        return cls(radius, modulus, math.pi * modulus * checks.positive("half_width", half_width) ** 2 / (4 * radius))

    @property
    def half_width(self) -> float:
        """b = √(4F'R/(πE*)), m."""
        return math.sqrt(4 * self.load * self.radius / (math.pi * self.modulus))

    @property
    def peak(self) -> float:
        """p0 = 2F'/(πb), Pa."""
        return 2 * self.load / (math.pi * self.half_width)

    def force_between(self, start: ArrayLike, end: ArrayLike) -> Array:
        """∫ p dx from start to end (m), N/m: force on the strip of a node or a facet."""

        def primitive(x: ArrayLike) -> Array:
            s = np.clip(np.asarray(x, dtype=float) / self.half_width, -1.0, 1.0)
            return 0.5 * self.peak * self.half_width * (s * np.sqrt(1 - s**2) + np.arcsin(s))

        return primitive(end) - primitive(start)

    def axis_stress(self, depth: ArrayLike) -> Array:
        """(σ_x, σ_z) under the centre at the depth z ≥ 0 (m), (…, 2), Pa.

        σ_x = −(p0/b) ((b² + 2z²)/√(b² + z²) − 2z), σ_z = −p0 b/√(b² + z²).
        """
        z = np.asarray(depth, dtype=float) / self.half_width
        root = np.sqrt(1 + z**2)
        return -self.peak * np.stack([(1 + 2 * z**2) / root - 2 * z, 1 / root], axis=-1)


def disc_shortening(contact: LineContact, body: LinearElastic) -> float:
    """Approach of the centre of a disc to one of two opposite rigid plates that press it, m.

    δ = F'(1 − ν²)/(πE) (2 ln(4R/b) − 1); R is the disc's own radius (flat plates), half of it for each plate.
    Unlike a sphere's, it depends on the whole body. Source: Johnson, eq. 5.57.
    """
    factor = contact.load * (1 - body.poisson**2) / (math.pi * body.young)
    return factor * (2 * math.log(4 * contact.radius / contact.half_width) - 1)


@dataclass(frozen=True)
class SphereContact(_Hertz):
    """Spheres, load F in N."""

    @classmethod
    def of_approach(cls, radius: float, modulus: float, approach: float) -> SphereContact:
        """The contact under the approach δ (m) of distant points: F = (4/3) E* √R δ^{3/2}."""
        depth = checks.positive("approach", approach)
        return cls(radius, modulus, 4 / 3 * modulus * radius**2 * (depth / radius) ** 1.5)

    @property
    def half_width(self) -> float:
        """a = (3FR/(4E*))^{1/3}, m."""
        return self.radius * float((3 * self.load / (4 * self.modulus * self.radius**2)) ** (1 / 3))

    @property
    def peak(self) -> float:
        """p0 = 3F/(2πa²), Pa."""
        return 1.5 * self.load / (math.pi * self.half_width**2)

    @property
    def approach(self) -> float:
        """δ = a²/R, m, of points far from the contact."""
        return self.half_width**2 / self.radius

    def force_within(self, radius: ArrayLike) -> Array:
        """∫ p dA over the disc of the radius r (m): F (1 − (1 − r²/a²)^{3/2}), N."""
        ratio = np.asarray(radius, dtype=float) / self.half_width
        return self.load * (1 - np.maximum(1 - ratio**2, 0.0) ** 1.5)


@dataclass(frozen=True)
class PressureFit:
    """Half-width (m) and peak (Pa) of p = p0 √(1 − x²/b²) through sampled pressures; points used."""

    half_width: float
    peak: float
    points: int


def fit_pressure(x: ArrayLike, pressure: ArrayLike, low: float = 0.2, high: float = 0.9) -> PressureFit:
    """Least squares of p² = p0² − (p0/b)² x², linear in x², over low < p/max p < high.

    x (k,) m from the centre, pressure (k,) Pa at these points. Counting the nodes in contact gives b to one element
    only; p² is linear in x², with its zero between nodes. Excluded: below `low`, the one or two nodes with elements at
    the edge (infinite slope of p: errors of nodal pressures are of order p0 √(h/b)); above `high`, the middle, where x²
    hardly changes and deviations would dominate the slope; and points nearer to the centre than the last of these: the
    pressure at the node on the axis of a sphere, whose area is small, may be 13 % low. An error δp enters as 2p δp:
    small pressures have the least weight.

    >>> x = np.linspace(-1, 1, 41)
    >>> fit = fit_pressure(x, 3 * np.sqrt(1 - x**2))
    >>> round(fit.half_width, 12), round(fit.peak, 12), fit.points
    (1.0, 3.0, 22)
    """
    checks.within("low", low, 0.0, 1.0, open_high=True)
    checks.within("high", high, low, 1.0, open_low=True)
    p = checks.finite_array("pressure", pressure, (None,))
    square = checks.finite_array("x", x, (p.size,)) ** 2
    top = p.max(initial=0.0)
    middle = square[p >= high * top].max(initial=0.0)
    fitted = (p > low * top) & (square > middle)
    if np.unique(square[fitted]).size < 2:
        raise UserError(f"fit of the pressure: {fitted.sum()} points between {low:g} and {high:g} of its maximum", 1)
    slope, squared_peak = np.polyfit(square[fitted], p[fitted] ** 2, 1)
    if slope >= 0 or squared_peak <= 0:
        raise UserError("fit of the pressure: it does not fall away from x = 0", 1)
    return PressureFit(math.sqrt(-squared_peak / slope), math.sqrt(squared_peak), int(fitted.sum()))
