"""Continuation of a branch of periodic motions by pseudo-arclength.

With scaled unknowns z̃ = z/s (displacements, velocities and the range of the parameter of size 1), a prediction
z̃ + Δs t along the unit tangent t is corrected by Newton's method at t · (z̃ − z̃₀) = Δs, which passes folds. Δs
follows the number of iterations and the turn of the tangent. Between two motions across which a test function of
`arlequin.orbits.floquet` changes its sign, the bifurcation is located by Brent's method on Δs, and added.

Source: Keller, in Applications of Bifurcation Theory, Academic Press (1977) 359–384; Peeters et al., Mech. Syst. Signal
Process. 23 (2009) 195–216 (nonlinear modes).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from arlequin.models.types import Array
from arlequin.orbits.family import Family
from arlequin.orbits.floquet import Marks, crossings, marks, value_of
from arlequin.orbits.shooting import Point, newton, scales, tangent

_SMALLEST = 1e-4  # of the largest step
_TURN = 0.9  # cosine of the angle between two tangents: less is a step too long
_FINE = 0.02  # of the largest step, from which on any turn is taken (of a motion that grazes a stiff stop)
_LOCATE = 1e-9  # of a step, to which a bifurcation is located


@dataclass(frozen=True, eq=False)
class Followed:
    """A motion of a branch: its point and tangent, the name of a bifurcation, or ""."""

    point: Point
    direction: Array
    mark: str


@dataclass
class Branch:
    """The motions of a branch in order; complete: whether both ends of the range were reached, else why not."""

    motions: list[Followed]
    reason: str = ""


def follow(
    family: Family, first: Point, forward: Array, points: int, most: int, told: Callable[[float], None]
) -> Branch:
    """The branch from a first motion, along a direction (s + 1,) in scaled z, to an end of the range.

    points: steps over the range of the parameter (of modes: of half the logarithm of the energy), at least.
    """
    heights = _heights(family, first)
    longest = 1.0 / points
    if family.autonomous:
        longest = 0.5 * np.log(family.high / family.low) / points
    scale = first.scale
    direction = tangent(family, first, scale, forward)
    tests = marks(family, first, direction, heights)
    found, now, step = [Followed(first, direction, "")], first, 0.25 * longest
    while len(found) < most:
        scale = scales(family, now.z, now.orbit, None if family.autonomous else scale)
        direction = tangent(family, now, scale, found[-1].direction)
        step, following = _next(family, now, scale, direction, step, longest)
        if following is None:
            return Branch(found, "Newton's method does not converge")
        ends = _ends(family, now, following, scale)
        if ends is not None:
            following = ends
        ahead = tangent(family, following, following.scale, direction)
        after = marks(family, following, ahead, heights)
        arc = float(direction @ ((following.z - now.z) / scale))
        found += _located(family, now, scale, direction, arc, (tests, after), heights)
        if ends is not None or arc > 0.0:
            found.append(Followed(following, ahead, ""))
        now, tests = following, after
        told(_share(family, now))
        if ends is not None:
            return Branch(found)
        if following.iterations <= 3:
            step = min(1.6 * step, longest)
        elif following.iterations > 5:
            step *= 0.6
    return Branch(found, f"has more than {most} motions")


def _heights(family: Family, first: Point) -> Array:
    """Gaps (k,) at which the laws of the points begin to act."""
    laws = family.setting(first.parameter).map.assembly.laws
    return np.array([max((float(getattr(law, "height", 0.0)) for law in point), default=0.0) for point in laws.regular])


def _next(
    family: Family, now: Point, scale: Array, direction: Array, step: float, longest: float
) -> tuple[float, Point | None]:
    """The next motion, with a step that is halved until Newton's method arrives and the branch turns little."""
    while step > _SMALLEST * longest:
        value = float(direction @ (now.z / scale)) + step
        found = newton(family, now.z + step * scale * direction, scale, direction, value)
        if found is not None:
            ahead = tangent(family, found, scale, direction)
            if ahead @ direction > _TURN or step < _FINE * longest:
                return step, found
        step *= 0.5
    return step, None


def _measure(family: Family, point: Point) -> float:
    """What the range limits: the parameter, or the energy of modes."""
    return family.energy(point.z, point.orbit) if family.autonomous else point.parameter


def _share(family: Family, point: Point) -> float:
    """Share of the range that lies behind, for the progress bar."""
    low, high, value = family.low, family.high, _measure(family, point)
    if family.autonomous:
        low, high, value = np.log(low), np.log(high), np.log(value)
    return float(np.clip(abs(value - low) / abs(high - low), 0.0, 1.0))


def _ends(family: Family, now: Point, following: Point, scale: Array) -> Point | None:
    """The motion at the end of the range between two; None where there is none."""
    low, high = sorted((family.low, family.high))
    value = _measure(family, following)
    bound = high if value > high else low
    if low <= value <= high or (family.autonomous and value < low):
        return None
    before = _measure(family, now)
    share = (bound - before) / (value - before)
    guess = now.z + share * (following.z - now.z)
    row = np.zeros_like(guess)
    if not family.autonomous:
        row[-1] = 1.0
        return newton(family, guess, scale, row, bound / scale[-1]) or following
    across = (following.z - now.z) / scale
    across /= np.linalg.norm(across)
    arcs = [float(across @ (point.z / scale)) for point in (now, following)]
    best: list[Point] = [following]

    def beyond(arc: float) -> float:
        place = now.z + (arc - arcs[0]) / (arcs[1] - arcs[0]) * (following.z - now.z)
        found = newton(family, place, scale, across, arc)
        if found is None:
            return 0.0
        best[0] = found
        return _measure(family, found) - bound

    brentq(beyond, *arcs, xtol=1e-13, rtol=1e-14, maxiter=30, disp=False)
    return best[0]


def _located(
    family: Family, now: Point, scale: Array, direction: Array, arc: float, tests: tuple[Marks, Marks], heights: Array
) -> list[Followed]:
    """The bifurcations between a motion and the one an arc further on, in order."""
    found: list[tuple[float, Followed]] = []
    for name in crossings(*tests):
        best: list[Followed] = []

        def test(length: float, name: str = name, best: list[Followed] = best) -> float:
            if length == 0.0:
                return value_of(name, tests[0])
            if length == arc:
                return value_of(name, tests[1])
            value = float(direction @ (now.z / scale)) + length
            point = newton(family, now.z + length * scale * direction, scale, direction, value)
            if point is None:
                return 0.0
            ahead = tangent(family, point, point.scale, direction)
            best[:] = [Followed(point, ahead, name)]
            return value_of(name, marks(family, point, ahead, heights))

        length = brentq(test, 0.0, arc, xtol=_LOCATE * abs(arc), rtol=1e-12, maxiter=40, disp=False)
        if best:
            found.append((length, best[0]))
    kept: list[tuple[float, Followed]] = []
    for length, motion in sorted(found, key=lambda pair: pair[0]):
        # points of a symmetric system graze together
        same = [own for other, own in kept if abs(other - length) <= 1e-6 * abs(arc)]
        if not any(own.mark.split()[0] == motion.mark.split()[0] for own in same):
            kept.append((length, motion))
    return [motion for _, motion in kept]
