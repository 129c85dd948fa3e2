"""Jumps over cycles: the wear of those that are skipped from that of those that are stepped."""

from dataclasses import dataclass

import numpy as np

from models.checks import integer, positive
from models.types import Array

_SHARE, _LEAST = 40, 4  # the first jump: that share of all cycles, at least so many
_SAFE, _LESS, _MORE = 0.8, 0.2, 4.0  # share of the length that the error allows; limits of its change
_AGAIN = 2.0  # error, in tolerances, beyond which a jump is done again, shorter


@dataclass(frozen=True)
class CycleJump:
    """Jumps over J cycles between two, a and b, that are stepped; a point's wear w(c) (m) a cycle is smooth in between:

        predicted   Σ of the line through w_p, w_a over the J cycles           p: the one stepped before a
        corrected   Σ of the parabola through w_p, w_a, w_b over them

    the first time, for want of p, of the constant w_a and of the line through w_a, w_b. The predicted depth is worn off
    in the jump, its difference to the corrected one in the next jump, or before the last cycle, which is always
    stepped. That difference, the largest of all points, is the error estimate e, relative to the depth that the deepest
    point reaches by the end if it goes on as a power of the cycles, h (n/a)^(a w/h). A jump with e > 2 tolerance is
    done again, shorter; the next one is longer or shorter by 0.8 (tolerance/e)^⅓, at most 4-fold. fixed: J is
    always that, whatever e.

    The prediction is explicit. Where contacts are stiff, a point that wears by its elastic approach loses its pressure,
    and a jump that wears much more than that overshoots: the estimate sees it and shortens the jumps to about what
    the approach allows. So the cycles that are stepped are no fewer than about the depth worn over that approach.

    In the first of all cycles contact may settle: its wear is not extrapolated where there are more.

    Source: the predictor and corrector are those of Adams; Hairer, Nørsett & Wanner, Solving Ordinary Differential
    Equations I (1993), ch. III.
    """

    tolerance: float = 2e-2
    fixed: int | None = None

    def __post_init__(self) -> None:
        positive("tolerance", self.tolerance)
        if self.fixed is not None:
            integer("jumps", self.fixed, low=0)

    def first(self, cycles: int) -> int:
        """Cycles to skip in the first jump of a run of so many."""
        return max(cycles // _SHARE, _LEAST) if self.fixed is None else self.fixed

    def error(self, missing: Array, depth: Array, last: "Stepped", cycles: int) -> float:
        """Error estimate of a jump from what the correction adds and the depth at its start, both (k,), m."""
        deepest = int(np.argmax(depth))
        size, wear = float(depth[deepest]), float(last[1][deepest])
        if not size > 0.0:
            return 0.0
        power = min(max(last[0] * wear / size, 0.0), 1.0)
        return float(np.abs(missing).max()) / (size * (cycles / last[0]) ** power)

    def passes(self, error: float) -> bool:
        """Whether a jump stands."""
        return self.fixed is not None or error <= _AGAIN * self.tolerance

    def next(self, count: int, error: float) -> int:
        """Cycles to skip after a jump of so many, or in its place."""
        if self.fixed is not None:
            return self.fixed
        if not count:  # jumps that have become too short become longer again
            return 1
        allowed = _SAFE * (self.tolerance / error) ** (1.0 / 3.0) if error > 0.0 else _MORE
        return int(count * min(max(allowed, _LESS), _MORE))


Stepped = tuple[int, Array]  # a cycle and the wear (k,) in it, m


def predicted(former: Stepped | None, last: Stepped, count: int) -> Array:
    """Wear (k,) of so many cycles after the last one stepped, m, at least none."""
    cycle, wear = last
    if former is None:
        return count * wear
    slope = (wear - former[1]) / (cycle - former[0])
    ahead: Array = np.maximum(count * wear + 0.5 * count * (count + 1) * slope, 0.0)
    return ahead


def corrected(former: Stepped | None, last: Stepped, then: Stepped) -> Array:
    """Wear (k,) of the cycles between two that are stepped, m: those of the line or parabola."""
    count = then[0] - last[0] - 1
    line: Array = 0.5 * count * (last[1] + then[1])
    if former is None:
        return line
    before, span = last[0] - former[0], then[0] - last[0]
    bend = ((then[1] - last[1]) / span - (last[1] - former[1]) / before) / (before + span)
    i = np.arange(1.0, count + 1.0)
    return line + bend * float((i * (i - span)).sum())
