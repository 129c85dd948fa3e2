"""Height maps, measured or generated, with checks and a record of their corrections."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.rough import holes, smooth
from arlequin.multilevel.rough.trend import Trend, fit

STEEPEST = 1.0  # rms slope beyond which a surface is implausible: units are likely confused
FLATTEST = 1e-6
USUAL = 0.1  # rms slope that a guess of the unit aims at
UNITS = {-9: "nm", -6: "µm", -3: "mm"}
MOST_HOLES = 0.1


class TopographyWarning(UserWarning):
    """A height map that is accepted but implausible; the message says what to check."""


@checked_call
@dataclass(frozen=True, eq=False)
class Topography:
    """Heights h[i, j] = h(i Δx, j Δy) over a rectangle, upwards out of the body.

    heights (n, m), m; size (Lx, Ly), m, with Δx = Lx/n, Δy = Ly/m: n and m pixels, not n − 1, whether the map is
    periodic or not. periodic: h(x + Lx, y) = h(x, y + Ly) = h(x, y).
    corrections: those applied to the map, a line each; trend: the polynomial last removed by `levelled`; window: the
    window of `windowed` ("" for none): such a map is for spectra, not for contact.

    Pixels need not be square for spectra, moments and Hurst exponents; where a solver asks for square ones,
    `resampled` gives them.
    """

    heights: Array
    size: tuple[float, float]
    periodic: bool = False
    corrections: tuple[str, ...] = ()
    trend: Trend | None = None
    window: str = ""

    def __post_init__(self) -> None:
        heights = _heights(self.heights)
        missing = int((~np.isfinite(heights)).sum())
        if missing:
            raise UserError(
                f"heights: {missing} of {heights.size} points ({missing / heights.size:.2g}) have no finite height: "
                "Topography.filled(heights, size, ...) interpolates small holes"
            )
        heights.setflags(write=False)
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "size", _size(self.size))
        checks.one_of("periodic", self.periodic, (True, False))
        checks.items("corrections", self.corrections, str, "must be texts")
        checks.instance("trend", self.trend, Trend | None, "must be a Trend, or None")
        checks.instance("window", self.window, str, 'must be a text, "" for none')
        if not self.corrections:  # a map that was corrected has been doubted before
            for line in self.doubts:
                warnings.warn(line, TopographyWarning, stacklevel=4)

    @classmethod
    def filled(
        cls, heights: ArrayLike, size: Sequence[float], periodic: bool = False, most: float = MOST_HOLES
    ) -> "Topography":
        """A map whose points without a finite height follow Laplace's equation between their neighbours.

        most: the share of the points that may be missing. The share and the largest hole are stated in `corrections`.
        """
        values = _heights(heights)
        lengths = _size(size)
        hole = ~np.isfinite(values)
        share = float(hole.mean())
        if share > checks.within("most", most, 0.0, 1.0, open_high=True):
            raise UserError(f"heights: {share:.2g} of the points have no finite height: at most {most:g} are filled")
        if not share:
            return cls(values, lengths, periodic)
        pixel = (lengths[0] / values.shape[0], lengths[1] / values.shape[1])
        correction = (
            f"filled: {int(hole.sum())} points ({share:.2g} of all; the largest hole has {holes.largest(hole)}) by "
            "Laplace's equation between their neighbours"
        )
        topography = cls(holes.fill(values, pixel, periodic), lengths, periodic)
        return topography._corrected(topography.heights, correction)

    @property
    def shape(self) -> tuple[int, int]:
        """Pixels (n, m)."""
        n, m = self.heights.shape
        return n, m

    @property
    def pixel(self) -> tuple[float, float]:
        """(Δx, Δy), m."""
        return self.size[0] / self.shape[0], self.size[1] / self.shape[1]

    @property
    def square(self) -> bool:
        """Whether the pixels are square."""
        return bool(np.isclose(*self.pixel, rtol=1e-6))

    @property
    def area(self) -> float:
        """Lx Ly, m²."""
        return self.size[0] * self.size[1]

    @property
    def axes(self) -> tuple[Array, Array]:
        """x (n,) and y (m,) of the pixels, m, the first at 0."""
        (n, m), (dx, dy) = self.shape, self.pixel
        return np.arange(float(n)) * dx, np.arange(float(m)) * dy

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons to doubt the units, a line each; empty for a plausible map."""
        lines = []
        dx, dy = (np.diff(self.heights, axis=a) / step for a, step in enumerate(self.pixel))
        slope = float(np.sqrt((dx**2).mean() + (dy**2).mean()))
        height = float(self.heights.std())
        if slope > STEEPEST or 0.0 < slope < FLATTEST:
            power = 3 * int(np.clip(abs(np.round(np.log10(USUAL / slope) / 3)), 1, 3))
            large, small = ("heights seem", "size") if slope > STEEPEST else ("size seems", "heights")
            rule = f"above {STEEPEST:g}" if slope > STEEPEST else f"below {FLATTEST:g}"
            lines.append(
                f"rms slope {slope:.3g}, {rule}: the {large} 1e{power} times too large for the {small}: "
                f"in {UNITS[-power]} instead of m?"
            )
        if height > min(self.size):
            lines.append(f"rms height {height:.3g} m beyond the size {min(self.size):.3g} m: are both in m?")
        return tuple(lines)

    @property
    def report(self) -> str:
        """Size, pixels, corrections and doubts, as lines of text."""
        (n, m), (lx, ly), (dx, dy) = self.shape, self.size, self.pixel
        kind = "periodic" if self.periodic else "not periodic"
        first = f"{n} x {m} points over {lx:.4g} m x {ly:.4g} m, pixel {dx:.4g} m x {dy:.4g} m, {kind}"
        return "\n".join((first, *self.corrections, *(f"doubtful: {line}" for line in self.doubts)))

    def levelled(self, order: int = 1) -> "Topography":
        """The map minus its least-squares mean (order 0), plane (1) or parabola (2), which is recorded as `trend`."""
        order = checks.integer("order", order, 0, 2)
        if self.periodic and order:
            raise UserError.parameter("order", order, "a periodic topography has no tilt: 0 removes its mean")
        x, y = (axis - axis.mean() for axis in self.axes)
        trend = fit(self.heights, x, y, order)
        fitted = trend(x[:, None], y)
        what = ("mean", "plane", "parabola")[order]
        correction = (
            f"levelled: mean {what} removed, rms {fitted.std():.3g} m, {trend.coefficients[0]:.3g} m at the middle"
        )
        if order:
            correction += ", tilt {:.3g}, {:.3g}".format(*trend.tilt)
        return self._corrected(self.heights - fitted, correction, trend=trend)

    def windowed(self) -> "Topography":
        """For the spectrum of a map that is not periodic: mean removed, Hann window in x and y with ⟨w²⟩ = 1.

            w(x, y) = (2/3) (1 − cos 2πx/Lx) (1 − cos 2πy/Ly), at the middles of the pixels

        ⟨w²⟩ = 1 keeps the variance of a map that is rough on lengths far below its size. Level the map first.
        Source: Jacobs, Junge & Pastewka, Surf. Topogr.: Metrol. Prop. 5 (2017) 013001.
        """
        if self.periodic:
            raise UserError("topography: a periodic one needs no window for its spectrum")
        if self.window:
            raise UserError("topography: it has its window already")
        sides = [1 - np.cos(2 * np.pi * (np.arange(n) + 0.5) / n) for n in self.shape]
        taper = np.multiply.outer(*sides)
        taper /= np.sqrt((taper**2).mean())
        middle = (taper * self.heights).sum() / taper.sum()
        correction = "windowed: Hann in x and y, variance kept on average; for spectra only"
        return self._corrected(taper * (self.heights - middle), correction, window="hann")

    def made_periodic(self) -> "Topography":
        """The periodic part of the map, without the smooth part that has the jumps between opposite edges.

        Moisan's decomposition (see smooth.py): curvatures off the edges are left as they are. Heights meet over the
        edges, slopes need not: the kinks raise m4, so that spectra and moments are better taken of `windowed`, and
        contact of this. Level it first.
        """
        if self.window:
            raise UserError("topography: a windowed one is for spectra only: make the measured one periodic")
        if self.periodic:
            return self
        heights = smooth.periodic_part(self.heights, self.pixel)
        rms = float((self.heights - heights).std())
        correction = f"made periodic: a smooth map of rms {rms:.3g} m, harmonic off the edges, removed (Moisan 2011)"
        return self._corrected(heights, correction, periodic=True)

    def resampled(self, shape: Sequence[int]) -> "Topography":
        """On (n, m) points: a periodic map by its Fourier series, another one by bicubic splines.

        A periodic map keeps its size; fewer points cut its spectrum at their Nyquist wave number. Another one keeps
        its first and last points, so that its size n Δx changes a little.
        """
        n, m = (checks.integer("shape", count, low=2) for count in checks.finite_array("shape", shape, (2,)))
        # slow to import, rarely needed
        from scipy.interpolate import RectBivariateSpline
        from scipy.signal import resample

        correction = "resampled: from {} x {} to {} x {} points by ".format(*self.shape, n, m)
        if self.periodic:
            heights = resample(resample(self.heights, n, axis=0), m, axis=1)
            return self._corrected(heights, correction + "Fourier series")
        if min(self.shape) < 4:
            raise UserError.parameter("heights", self.shape, "splines need at least 4 points along x and y")
        spans = [axis[-1] for axis in self.axes]
        x, y = (np.linspace(0.0, span, count) for span, count in zip(spans, (n, m), strict=True))
        heights = RectBivariateSpline(*self.axes, self.heights)(x, y)
        return self._corrected(
            heights, correction + "bicubic splines", size=(spans[0] * n / (n - 1), spans[1] * m / (m - 1))
        )

    def _corrected(self, heights: Array, correction: str, **changed: Any) -> "Topography":
        return replace(self, heights=heights, corrections=(*self.corrections, correction), **changed)


def _heights(value: Any) -> Array:
    """A copy as floats (n, m), NaN where a masked array is masked."""
    rule = "must be heights of shape (n, m), n and m at least 2, m"
    try:
        masked = np.ma.masked_array(value)
        if masked.dtype.kind not in "iuf":
            raise ValueError
        array = np.ma.filled(masked.astype(float), np.nan).copy()
    except (TypeError, ValueError):
        raise UserError.parameter("heights", value, rule) from None
    if array.ndim == 1 or (array.ndim == 2 and min(array.shape) == 1):
        text = f"heights of shape {array.shape}: a profile is no topography: measure a map (n, m)"
        raise UserError(text + ", or take rough.Profile, whose moments stand for an isotropic surface")
    if array.ndim != 2 or array.size == 0:
        raise UserError.parameter("heights", array.shape, rule)
    return array


def _size(value: Any) -> tuple[float, float]:
    lx, ly = checks.finite_array("size", value, (2,))
    return checks.positive("size", float(lx)), checks.positive("size", float(ly))
