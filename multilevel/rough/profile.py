"""Profiles: heights along a line over a surface, and the moments of the isotropic surface that they represent."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from arlequin.models import checks
from arlequin.models.errors import UserError, short_repr
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.rough.moments import Moments

_EVEN = 1e-3  # largest difference of abscissae from equally spaced ones, relative to the mean spacing


@checked_call
@dataclass(frozen=True, eq=False)
class Profile:
    """Heights h_i = h(i Δx) (n,), m, over a length L = n Δx, m; periodic: h(x + L) = h(x).

    A map of an isotropic surface and a profile across it have the same moments m0, m2, m4 (see `Moments`): theories of
    contact take those of the profile, and `self_affine` makes a map of its roughness,

        profile = aq.rough.read_profile("trace.txt", unit=("mm", "µm")).levelled()
        moments = profile.moments()
        law = aq.rough.GreenwoodWilliamson.from_moments(1.1e11, moments.m0, moments.m2, moments.m4)
        map = aq.rough.self_affine((512, 512), (1e-3, 1e-3), hurst=0.8, cutoff=8e-6, rms_slope=moments.rms_slope)

    A profile across a surface with a directed texture has the moments of one direction only: measure a map.

    >>> x = np.arange(64) / 64  # m
    >>> moments = Profile(1e-3 * np.sin(2 * np.pi * 4 * x), 1.0, periodic=True).moments()
    >>> round(moments.m0 / (0.5 * 1e-3**2), 9), round(moments.m2 / moments.m0 / (2 * np.pi * 4) ** 2, 9)  # a²/2, q²
    (1.0, 1.0)
    """

    heights: Array
    length: float
    periodic: bool = False
    corrections: tuple[str, ...] = ()

    __repr__ = short_repr

    def __post_init__(self) -> None:
        heights = checks.finite_array("heights", self.heights, (None,)).copy()
        if heights.size < 4:
            raise UserError.parameter("heights", heights.shape, "must be at least four heights (n,), m")
        heights.setflags(write=False)
        object.__setattr__(self, "heights", heights)
        checks.check_fields(self, length=checks.positive)
        checks.flag("periodic", self.periodic)
        checks.items("corrections", self.corrections, str, "must be texts")

    @classmethod
    def through(
        cls, x: ArrayLike, heights: ArrayLike, periodic: bool = False, corrections: tuple[str, ...] = ()
    ) -> "Profile":
        """The profile through heights (n,), m, at increasing or decreasing abscissae x (n,), m; where these are not
        equally spaced, interpolated linearly at as many equally spaced ones."""
        at = checks.finite_array("abscissae", x, (None,))
        values = checks.finite_array("heights", heights, at.shape)
        order = slice(None, None, -1 if at.size > 1 and at[-1] < at[0] else 1)
        at, values = at[order], values[order]
        if at.size < 4 or not (np.diff(at) > 0.0).all():
            raise UserError.parameter("abscissae", x, "must be at least four, increasing or decreasing, m")
        spacing = (at[-1] - at[0]) / (at.size - 1)
        even = at[0] + spacing * np.arange(at.size)
        if np.abs(at - even).max() > _EVEN * spacing:
            values = np.interp(even, at, values)
            corrections = (*corrections, f"interpolated linearly at {at.size} points {spacing:.3g} m apart")
        return cls(values, spacing * at.size, periodic, corrections)

    @property
    def spacing(self) -> float:
        """Δx, m."""
        return self.length / self.heights.size

    def levelled(self, order: int = 1) -> "Profile":
        """The profile minus its least-squares mean (order 0), line (1) or parabola (2)."""
        order = checks.integer("order", order, 0, 2)
        if self.periodic and order:
            raise UserError.parameter("order", order, "a periodic profile has no tilt: 0 removes its mean")
        x = np.linspace(-1.0, 1.0, self.heights.size)
        trend = np.polynomial.Polynomial.fit(x, self.heights, order)(x)
        correction = f"levelled: mean {('height', 'line', 'parabola')[order]} removed, rms {trend.std():.3g} m"
        return replace(self, heights=self.heights - trend, corrections=(*self.corrections, correction))

    def moments(self) -> Moments:
        """m_n = Σ_k |H_k|² q_k^n of the Fourier series of the profile less its mean, n = 0, 2, 4.

        One that is not periodic is multiplied by a Hann window w = (1 − cos 2πx/L)/√(3/2), ⟨w²⟩ = 1, before: level it
        first. m4 is that of all waves up to the Nyquist wave number π/Δx, noise among them.
        """
        heights = self.heights - self.heights.mean()
        if not self.periodic:
            window = (1.0 - np.cos(2 * np.pi * (np.arange(heights.size) + 0.5) / heights.size)) / np.sqrt(1.5)
            heights = window * (heights - (window * heights).sum() / window.sum())
        power = np.abs(np.fft.fft(heights) / heights.size) ** 2
        power[0] = 0.0
        if not power.any():
            raise UserError("profile: is flat, without moments")
        q = 2 * np.pi * np.fft.fftfreq(heights.size, self.spacing)
        return Moments(*(float((power * q**n).sum()) for n in (0, 2, 4)))
