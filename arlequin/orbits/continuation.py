"""Continuation of a branch of periodic motions by pseudo-arclength.

With scaled unknowns z̃ = z/s (displacements, velocities and the range of the parameter of size 1), a prediction
z̃ + Δs t along the unit tangent t is corrected by Newton's method at t · (z̃ − z̃₀) = Δs, which passes folds. Δs is
controlled by the number of iterations and the angle between tangents. Where a test function of
`arlequin.orbits.floquet` changes sign between two motions, the bifurcation is located by Brent's method on Δs.

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

_MIN_STEP = 1e-4  # relative to the largest step
_MIN_COSINE = 0.9  # of the angle between successive tangents; at smaller values the step is halved
_ANY_TURN_STEP = 0.02  # relative to the largest step: smaller steps may turn by any angle (grazing of a stiff stop)
_LOCATION_TOLERANCE = 1e-9  # of bifurcations, relative to the step


@dataclass(frozen=True, eq=False)
class BranchPoint:
    """A motion of a branch: point, tangent, and the name of a bifurcation or ""."""

    point: Point
    direction: Array
    mark: str


@dataclass
class Branch:
    """The motions of a branch in order; reason: why the branch stops before the end of the range, or ""."""

    motions: list[BranchPoint]
    reason: str = ""


def follow(
    family: Family, first: Point, forward: Array, points: int, max_motions: int, report: Callable[[float], None]
) -> Branch:
    """The branch from a first motion, along a direction (s + 1,) in scaled z, to an end of the range.

    points: minimum number of steps over the range of the parameter (of modes: of half the logarithm of the energy);
    report: function of the share of the range that is covered.
    """
    heights = _heights(family, first)
    longest = 1.0 / points
    if family.autonomous:
        longest = 0.5 * np.log(family.high / family.low) / points
    scale = first.scale
    direction = tangent(family, first, scale, forward)
    tests = marks(family, first, direction, heights)
    motions, last, step = [BranchPoint(first, direction, "")], first, 0.25 * longest
    while len(motions) < max_motions:
        scale = scales(family, last.z, last.orbit, None if family.autonomous else scale)
        direction = tangent(family, last, scale, motions[-1].direction)
        step, following = _next_point(family, last, scale, direction, step, longest)
        if following is None:
            return Branch(motions, "Newton's method does not converge")
        end_point = _end_of_range(family, last, following, scale)
        if end_point is not None:
            following = end_point
        new_tangent = tangent(family, following, following.scale, direction)
        new_tests = marks(family, following, new_tangent, heights)
        arc = float(direction @ ((following.z - last.z) / scale))
        motions += _locate_bifurcations(family, last, scale, direction, arc, (tests, new_tests), heights)
        if end_point is not None or arc > 0.0:
            motions.append(BranchPoint(following, new_tangent, ""))
        last, tests = following, new_tests
        report(_share(family, last))
        if end_point is not None:
            return Branch(motions)
        if following.iterations <= 3:
            step = min(1.6 * step, longest)
        elif following.iterations > 5:
            step *= 0.6
    return Branch(motions, f"has more than {max_motions} motions")


def _heights(family: Family, first: Point) -> Array:
    """Gaps (k,), m, below which the contact laws of the points act."""
    laws = family.setting(first.parameter).map.assembly.laws
    return np.array([max((float(getattr(law, "height", 0.0)) for law in point), default=0.0) for point in laws.regular])


def _next_point(
    family: Family, last: Point, scale: Array, direction: Array, step: float, longest: float
) -> tuple[float, Point | None]:
    """The next motion; the step is halved until Newton's method converges and the tangent turns by a small angle."""
    while step > _MIN_STEP * longest:
        value = float(direction @ (last.z / scale)) + step
        point = newton(family, last.z + step * scale * direction, scale, direction, value)
        if point is not None:
            new_tangent = tangent(family, point, scale, direction)
            if new_tangent @ direction > _MIN_COSINE or step < _ANY_TURN_STEP * longest:
                return step, point
        step *= 0.5
    return step, None


def _measure(family: Family, point: Point) -> float:
    """Quantity that the range limits: the parameter, or the energy of modes."""
    return family.energy(point.z, point.orbit) if family.autonomous else point.parameter


def _share(family: Family, point: Point) -> float:
    """Share of the range that is covered, for the progress bar."""
    low, high, value = family.low, family.high, _measure(family, point)
    if family.autonomous:
        low, high, value = np.log(low), np.log(high), np.log(value)
    return float(np.clip(abs(value - low) / abs(high - low), 0.0, 1.0))


def _end_of_range(family: Family, last: Point, following: Point, scale: Array) -> Point | None:
    """The motion at the end of the range if it lies between two motions; else None."""
    low, high = sorted((family.low, family.high))
    value = _measure(family, following)
    bound = high if value > high else low
    if low <= value <= high or (family.autonomous and value < low):
        return None
    before = _measure(family, last)
    share = (bound - before) / (value - before)
    guess = last.z + share * (following.z - last.z)
    row = np.zeros_like(guess)
    if not family.autonomous:
        row[-1] = 1.0
        return newton(family, guess, scale, row, bound / scale[-1]) or following
    across = (following.z - last.z) / scale
    across /= np.linalg.norm(across)
    arcs = [float(across @ (point.z / scale)) for point in (last, following)]
    best: list[Point] = [following]

    def excess(arc: float) -> float:
        place = last.z + (arc - arcs[0]) / (arcs[1] - arcs[0]) * (following.z - last.z)
        point = newton(family, place, scale, across, arc)
        if point is None:
            return 0.0
        best[0] = point
        return _measure(family, point) - bound

    brentq(excess, *arcs, xtol=1e-13, rtol=1e-14, maxiter=30, disp=False)
    return best[0]


def _locate_bifurcations(
    family: Family, last: Point, scale: Array, direction: Array, arc: float, tests: tuple[Marks, Marks], heights: Array
) -> list[BranchPoint]:
    """The bifurcations within an arc length from a motion, in order."""
    bifurcations: list[tuple[float, BranchPoint]] = []
    for name in crossings(*tests):
        best: list[BranchPoint] = []

        def test(length: float, name: str = name, best: list[BranchPoint] = best) -> float:
            if length == 0.0:
                return value_of(name, tests[0])
            if length == arc:
                return value_of(name, tests[1])
            value = float(direction @ (last.z / scale)) + length
            point = newton(family, last.z + length * scale * direction, scale, direction, value)
            if point is None:
                return 0.0
            new_tangent = tangent(family, point, point.scale, direction)
            best[:] = [BranchPoint(point, new_tangent, name)]
            return value_of(name, marks(family, point, new_tangent, heights))

        length = brentq(test, 0.0, arc, xtol=_LOCATION_TOLERANCE * abs(arc), rtol=1e-12, maxiter=40, disp=False)
        if best:
            bifurcations.append((length, best[0]))
    distinct: list[tuple[float, BranchPoint]] = []
    for length, motion in sorted(bifurcations, key=lambda pair: pair[0]):
        # contact points of a symmetric system graze simultaneously
        same = [neighbour for position, neighbour in distinct if abs(position - length) <= 1e-6 * abs(arc)]
        if not any(neighbour.mark.split()[0] == motion.mark.split()[0] for neighbour in same):
            distinct.append((length, motion))
    return [motion for _, motion in distinct]
