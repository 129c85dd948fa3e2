"""S–N curves (Wöhler curves): the number of cycles to failure of a stress range, in straight lines on log–log axes."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from arlequin.models import checks
from arlequin.models.checks import finite, finite_array, non_negative, positive, within
from arlequin.models.errors import UserError, short_repr
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array

Kind = Literal["range", "amplitude"]
_EC3 = (2e6, 5e6, 1e8)  # cycles of the detail category, of the knee and of the cut-off of Eurocode 3


@checked_call
@dataclass(frozen=True, eq=False)
class SNCurve:
    """Number of cycles N to failure over the stress range S, straight lines on log–log axes between the points.

    ranges S_i (n,), Pa, decreasing, and cycles N_i (n,), increasing: the points, one at least. slopes m (first, last),
    of N = N_i (S/S_i)^(−m) before the first and after the last point; by default those of the first and the last line.
    endurance: range, Pa, up to which there is no damage; 0: none. valid: cycles (fewest, most) between which the curve
    is known, from the first to the last point by default: lives outside are extrapolated, with a warning. ratio: the
    stress ratio R = σ_min/σ_max of the tests, −1 if fully reversed, for corrections of the mean stress.

    `SNCurve.basquin` makes one of a slope (and a knee), `SNCurve.eurocode` that of a detail category, `SNCurve.read`
    reads a table; stresses are ranges, twice the amplitude, unless they are named amplitudes.

    >>> import arlequin as aq
    >>> curve = aq.fatigue.SNCurve([400e6, 200e6, 100e6], [1e4, 1e5, 1e7], endurance=80e6)
    >>> curve.lives([400e6, 200e6, 70e6]).round().tolist()
    [10000.0, 100000.0, inf]
    >>> round(float(curve.stress(1e6)) / 1e6, 2)  # MPa
    141.42
    """

    ranges: ArrayLike
    cycles: ArrayLike
    slopes: tuple[float, float] | None = None
    endurance: float = 0.0
    valid: tuple[float, float] | None = None
    ratio: float = -1.0
    __repr__ = short_repr

    def __post_init__(self) -> None:
        ranges = finite_array("ranges", self.ranges, (None,))
        cycles = finite_array("cycles", self.cycles, ranges.shape)
        if not ranges.size or not (ranges > 0.0).all() or not (np.diff(ranges) < 0.0).all():
            raise UserError.parameter("ranges", self.ranges, "must be positive and decrease, one at least")
        if not (cycles > 0.0).all() or not (np.diff(cycles) > 0.0).all():
            raise UserError.parameter("cycles", self.cycles, "must be positive and increase")
        if self.slopes is None:
            if ranges.size < 2:
                raise UserError("slopes: must be given, (first, last), for a curve of one point")
            lines = -np.diff(np.log(cycles)) / np.diff(np.log(ranges))
            slopes = float(lines[0]), float(lines[-1])
        else:
            first, last = finite_array("slopes", self.slopes, (2,)).tolist()
            slopes = positive("slopes", first), positive("slopes", last)
        if self.valid is None:
            valid = float(cycles[0]), float(cycles[-1])
        else:
            fewest, most = self.valid
            valid = positive("valid", fewest), float("inf") if most == float("inf") else positive("valid", most)
            if not fewest < most:
                raise UserError.parameter("valid", self.valid, "must be cycles (fewest, most)")
        for name, value in (("ranges", ranges), ("cycles", cycles), ("slopes", slopes), ("valid", valid)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "endurance", non_negative("endurance", self.endurance))
        object.__setattr__(self, "ratio", within("ratio", self.ratio, -1e3, 1.0, open_high=True))

    @classmethod
    def basquin(
        cls,
        *,
        cycles: float,
        slope: float,
        stress_range: float | None = None,
        amplitude: float | None = None,
        knee: float | None = None,
        slope_after: float | None = None,
        endurance: float | None = None,
        ratio: float = -1.0,
    ) -> SNCurve:
        """Basquin's line N = cycles · (S/stress_range)^(−slope), or the same of amplitudes, with a knee.

        stress_range or amplitude, Pa: of a point of the line, with its cycles. knee: cycles after which the slope is
        slope_after (2 slope − 1 by Haibach), or after which there is no damage if slope_after is None. endurance, of
        the same kind as the point, Pa: up to which there is no damage. Of Basquin's σ_a = σ'_f (2N)^b it is
        basquin(amplitude=σ'_f, cycles=0.5, slope=−1/b).

        >>> import arlequin as aq
        >>> curve = aq.fatigue.SNCurve.basquin(stress_range=100e6, cycles=2e6, slope=3, knee=5e6, slope_after=5)
        >>> curve.lives([200e6, 50e6]).round().tolist()
        [250000.0, 34744545.0]
        """
        if (stress_range is None) == (amplitude is None):
            raise UserError("stress_range: give stress_range or amplitude, one of them")
        factor = 1.0 if amplitude is None else 2.0
        at = factor * (
            positive("stress_range", stress_range) if amplitude is None else positive("amplitude", amplitude)
        )
        count, m = positive("cycles", cycles), positive("slope", slope)
        limit = 0.0 if endurance is None else factor * non_negative("endurance", endurance)
        if knee is None:
            if slope_after is not None:
                raise UserError("slope_after: needs the cycles of the knee, knee=…")
            return cls([at], [count], (m, m), limit, (1.0, float("inf")), ratio)
        at_knee = at * (count / positive("knee", knee)) ** (1.0 / m)
        if slope_after is None:
            limit, slope_after = max(limit, at_knee), m
        return cls([at_knee], [knee], (m, positive("slope_after", slope_after)), limit, (1.0, float("inf")), ratio)

    @classmethod
    def eurocode(cls, category: float) -> SNCurve:
        """The curve of a detail category of Eurocode 3 for direct stress, Pa (36e6 to 160e6): the range of 2·10⁶
        cycles; slopes 3 and, from 5·10⁶ cycles on, 5; cut-off at 10⁸ cycles.

        Partial factors are the user's. Mean stress has no part in it: leave out corrections for it.

        Source: EN 1993-1-9 (2005), section 7.1.

        >>> import arlequin as aq
        >>> curve = aq.fatigue.SNCurve.eurocode(71e6)
        >>> [round(float(curve.stress(n)) / 1e6) for n in (2e6, 5e6)], round(curve.endurance / 1e6)
        ([71, 52], 29)
        """
        at, knee, cut_off = _EC3
        at_knee = positive("category", category) * (at / knee) ** (1.0 / 3.0)
        limit = at_knee * (knee / cut_off) ** (1.0 / 5.0)
        return cls([at_knee], [knee], (3.0, 5.0), limit, (1e4, float("inf")))

    @classmethod
    def read(cls, path: str | Path, *, endurance: float | None = None, ratio: float = -1.0) -> SNCurve:
        """The curve through the points of a table: a text file of two columns, with commas, named in its first line.

        One column is `cycles`, the other `range` or `amplitude`, in Pa; endurance is of its kind. Lines that start
        with # are left out.

        >>> import tempfile
        >>> import arlequin as aq
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "weld.csv")
        ...     _ = path.write_text("cycles,amplitude\\n1e4,200e6\\n1e6,100e6\\n")
        ...     curve = aq.fatigue.SNCurve.read(path)
        >>> round(float(curve.lives(200e6)))
        1000000
        """
        name = str(checks.path("path", path))
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
        lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
        header, *rows = [[cell.strip() for cell in row] for row in csv.reader(lines)] or [[]]
        kind = next((word for word in ("range", "amplitude") if sorted(header) == sorted(["cycles", word])), None)
        if kind is None:
            found = ", ".join(header) or "nothing"
            raise UserError(f"{name}: its first line must name the columns, cycles and range or amplitude, not {found}")
        try:
            numbers = np.array([[float(cell) for cell in row] for row in rows]).reshape(len(rows), 2)
        except ValueError:
            raise UserError(f"{name}: must have two numbers in each line below its first") from None
        factor = 2.0 if kind == "amplitude" else 1.0
        order = np.argsort(numbers[:, header.index("cycles")], kind="stable")
        stresses, cycles = factor * numbers[order, header.index(kind)], numbers[order, header.index("cycles")]
        try:
            return cls(stresses, cycles, endurance=factor * finite("endurance", endurance or 0.0), ratio=ratio)
        except UserError as error:
            raise UserError(f"{name}: {error.message}") from None

    def scaled(self, factor: float) -> SNCurve:
        """The curve with all stresses times a factor: 1/γ of a partial factor, a surface or size factor.

        >>> import arlequin as aq
        >>> curve = aq.fatigue.SNCurve.eurocode(80e6).scaled(1 / 1.35)
        >>> round(float(curve.stress(2e6)) / 1e6, 2)
        59.26
        """
        share = positive("factor", factor)
        return replace(self, ranges=share * np.asarray(self.ranges), endurance=share * self.endurance)

    def lives(self, ranges: ArrayLike) -> Array:
        """Cycles to failure N of stress ranges, Pa, of any shape; inf up to the endurance and of 0."""
        stresses = np.abs(np.asarray(ranges, dtype=float))
        lives = np.full(stresses.shape, np.inf)
        for low, high, slope, log_constant in self.lines():
            inside = (stresses > low) & (stresses <= high)
            lives[inside] = np.exp(log_constant - slope * np.log(stresses[inside]))
        return lives

    def stress(self, lives: ArrayLike) -> Array:
        """Stress range, Pa, of cycles to failure of any shape; the endurance is the least."""
        counts = np.asarray(finite_array("lives", lives), dtype=float)
        if not (counts > 0.0).all():
            raise UserError.parameter("lives", lives, "must be positive")
        stresses = np.zeros(counts.shape)
        # outside of its own interval a line lies above or below that of the curve
        nodes = np.concatenate([[0.0], np.asarray(self.cycles), [np.inf]])
        for n, (slope, log_constant) in enumerate(self._each_line()):
            inside = (counts > nodes[n]) & (counts <= nodes[n + 1])
            stresses[inside] = np.exp((log_constant - np.log(counts[inside])) / slope)
        return np.maximum(stresses, self.endurance)

    def lines(self) -> Iterator[tuple[float, float, float, float]]:
        """The straight lines N = C S^(−m) above the endurance: lower and upper range, Pa, slope m and ln C."""
        ends = [np.inf, *np.asarray(self.ranges).tolist(), 0.0]
        for n, (slope, log_constant) in enumerate(self._each_line()):
            low, high = max(ends[n + 1], self.endurance), ends[n]
            if low < high:
                yield low, high, slope, log_constant

    def _each_line(self) -> Iterator[tuple[float, float]]:
        """Slope and ln C of all lines, that of the highest ranges first."""
        s, n = np.log(np.asarray(self.ranges)), np.log(np.asarray(self.cycles))
        assert self.slopes is not None
        inner = (-np.diff(n) / np.diff(s)).tolist()
        for slope, place in zip([self.slopes[0], *inner, self.slopes[1]], [0, *range(s.size)], strict=True):
            yield slope, float(n[place] + slope * s[place])

    def extrapolated(self, lives: Any) -> Any:
        """Whether cycles to failure lie outside of those of the curve; False where there is no damage."""
        assert self.valid is not None
        counts = np.asarray(lives)
        return np.isfinite(counts) & ((counts < self.valid[0]) | (counts > self.valid[1]))
