"""The Hurst exponent of a topography, from the slope of its spectrum."""

import warnings
from dataclasses import dataclass

import numpy as np

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.rough.spectrum import spectrum_of
from arlequin.multilevel.rough.topography import Topography, TopographyWarning

ROUND_OFF = 1e-20  # share of the largest mode below which modes are round-off
RINGS = 4  # least number of rings, which must also span an octave
SCORINGS = 30
NEAR = 0.1  # scatter by which H may lie outside [0, 1]


@dataclass(frozen=True)
class HurstFit:
    """C(q) = level (q/q_r)^(−2(1+H)) between the wavelengths rolloff and cutoff, level before.

    hurst H and its standard error (from the scatter of the rings about the line), rolloff 2π/q_r and cutoff, m;
    level, m⁴.
    """

    hurst: float
    error: float
    rolloff: float
    cutoff: float
    level: float

    def __call__(self, q: Array) -> Array:
        """C of the fit at q (rad/m), m⁴."""
        knee = 2 * np.pi / self.rolloff
        return self.level * (np.maximum(q, knee) / knee) ** (-2 * (1 + self.hurst))


@checked_call
def hurst_of(topography: Topography, *, rolloff: float | None = None, cutoff: float | None = None) -> HurstFit:
    """The Hurst exponent of a periodic or windowed map: the line through the logarithm of its radial spectrum.

        log C = c − 2(1 + H) max(0, log q/q_r)

    is fitted to the means over rings of the modes up to q_s (gamma regression: the most likely line where |H_k|² is an
    exponential variate; least squares of logarithms would be low in rings of few modes).

    rolloff, cutoff: wavelengths 2π/q_r and 2π/q_s, m. With a rolloff only the modes beyond it are fitted; without, q_r
    is sought among the rings for the largest likelihood, with a plateau before it. The default
    cutoff is the last mode above round-off; for a measured map give that of the instrument, below which it shows noise.
    """
    spectrum = spectrum_of(topography)
    above_noise = spectrum.power > ROUND_OFF * spectrum.power.max()
    if not above_noise.any():
        raise UserError("topography: flat: it has no spectrum")
    q_max = min(float(spectrum.q[above_noise].max()), spectrum.nyquist)
    if cutoff is not None:
        q_max = min(q_max, 2 * np.pi / checks.positive("cutoff", cutoff))
    q_min = 0.0 if rolloff is None else 2 * np.pi / checks.positive("rolloff", rolloff)
    q, density, modes = spectrum.radial(q_min, q_max)
    rolloffs = q[: len(q) - RINGS + 1] if rolloff is None else np.array([q_min])
    rolloffs = rolloffs[2 * rolloffs <= q_max * (1 + 1e-9)]
    if len(q) < RINGS or not len(rolloffs):
        rings = f"{len(q)} rings of the spectrum between rolloff and cutoff"
        raise UserError(f"topography: {rings}: a slope needs at least {RINGS}, and an octave")
    lines = [_line(np.log(np.maximum(q / knee, 1.0)), density, modes) for knee in rolloffs]
    best = int(np.argmin([deviance for *_, deviance in lines]))
    constant, slope, error, _ = lines[best]
    if not -NEAR <= slope / 2 - 1 <= 1 + NEAR:
        text = (
            f"H = {slope / 2 - 1:.3g}: not in [0, 1]: no self-affine spectrum here; look at it, give rolloff and cutoff"
        )
        warnings.warn(text, TopographyWarning, stacklevel=3)
    wavelengths = 2 * np.pi / float(rolloffs[best]), 2 * np.pi / q_max
    return HurstFit(slope / 2 - 1, error / 2, *wavelengths, float(np.exp(constant)))


def _line(x: Array, density: Array, modes: Array) -> tuple[float, float, float, float]:
    """c, p, the standard error of p and the deviance of log C = c − p x, by Fisher's scoring."""
    basis = np.stack([np.ones_like(x), -x], axis=1)
    information = basis.T @ (modes[:, None] * basis)
    # the logarithm of empty rings, of a map that is no random process, is not finite
    positive = np.maximum(density, ROUND_OFF * density.max())
    coefficients = np.linalg.solve(information, basis.T @ (modes * np.log(positive)))
    for _ in range(SCORINGS):
        ratio = positive * np.exp(-basis @ coefficients)
        # at least the curvature of the deviance, so that no step overshoots
        curvature = basis.T @ ((modes * np.maximum(ratio, 1.0))[:, None] * basis)
        coefficients = coefficients + np.linalg.solve(curvature, basis.T @ (modes * (ratio - 1)))
    ratio = positive * np.exp(-basis @ coefficients)
    scatter = float((modes * (ratio - 1) ** 2).sum()) / max(len(x) - 2, 1)
    error = np.sqrt(scatter * np.linalg.inv(information)[1, 1])
    return (
        float(coefficients[0]),
        float(coefficients[1]),
        float(error),
        float(2 * (modes * (ratio - 1 - np.log(ratio))).sum()),
    )
