"""A topography: its map of heights, and its power spectrum with the line that gives the Hurst exponent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arlequin.models.signatures import checked_call
from arlequin.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from arlequin.multilevel.rough.hurst import HurstFit
    from arlequin.multilevel.rough.topography import Topography

MAP = "viridis"
CLOUD = 20_000  # modes, up to which each is shown
LEAST = 1e-16  # modes below this share of the largest are round-off and not shown


@checked_call
def topography(surface: Topography) -> Figure:
    """The heights seen from above, the mean in the middle of the colours."""
    metre, length = style.prefix(surface.size, "m")
    mean = surface.heights.mean()
    factor, unit = style.prefix(surface.heights - mean, "m")
    heights = factor * (surface.heights - mean)
    most = float(abs(heights).max()) or 1.0
    lx, ly = (metre * side for side in surface.size)
    height = float(np.clip(style.WIDTH * 0.68 * ly / lx, 1.0, 7.0)) + 0.9
    with style.panels(1, height) as (figure, (axes,)):
        image = axes.imshow(
            heights.T, origin="lower", extent=(0, lx, 0, ly), cmap=MAP, vmin=-most, vmax=most, interpolation="nearest"
        )
        axes.grid(False)
        axes.set_xlabel(style.label("x", length))
        axes.set_ylabel(style.label("y", length))
        beside = axes.inset_axes((1.03, 0.0, 0.03, 1.0))  # as high as the map
        bar = figure.colorbar(image, cax=beside, label=style.label("Height", unit))
        bar.outline.set_visible(False)
    return figure


@checked_call
def spectrum(surface: Topography, fit: HurstFit | None = None) -> Figure:
    """C(q) of a periodic or windowed map: its modes, their means over rings, and the line of `hurst_of` (or `fit`)."""
    from arlequin.multilevel.rough.hurst import hurst_of
    from arlequin.multilevel.rough.spectrum import spectrum_of

    psd = spectrum_of(surface)
    fit = fit or hurst_of(surface)
    last = 2 * np.pi / fit.cutoff
    fitted_range, rest = psd.radial(high=last), psd.radial(low=last * (1 + 1e-6))
    q, density = (np.concatenate([a, b]) for a, b in zip(fitted_range[:2], rest[:2], strict=True))
    significant = density > LEAST * density.max()
    modes = (psd.qx >= 0) & (psd.power > LEAST * psd.power.max())  # the other half is the same
    every = int(np.ceil(modes.sum() / CLOUD))
    line = 2 * np.pi / np.array([max(surface.size), fit.rolloff, fit.cutoff])
    text = f"H = {fit.hurst:.3g} ± {fit.error:.1g} from {_metres(fit.rolloff)} to {_metres(fit.cutoff)}"
    wave, length = style.prefix(2 * np.pi / q[significant], "m")
    with style.panels(1, 4.0) as (figure, (axes,)):
        axes.loglog(
            psd.q[modes][::every], psd.density[modes][::every], ".", ms=1.5, color="#BBBBBB", label="modes",
            rasterized=True,
        )  # fmt: skip
        axes.loglog(
            q[significant], density[significant], "o", ms=3.5, color=style.COLOURS[0], label="means over directions"
        )
        axes.loglog(line, fit(line), "--", color=style.COLOURS[1], label=text)
        for end in (fit.rolloff, fit.cutoff):
            axes.axvline(2 * np.pi / end, ls=":", lw=1, color=style.REFERENCE)
        above = axes.secondary_xaxis("top", functions=(_wavelength(wave), _wavelength(wave)))
        above.set_xlabel(style.label("Wavelength", length))
        axes.set_xlabel(style.label("Wave number q", "rad/m"))
        axes.set_ylabel(style.label("Spectrum C", "m⁴"))
        axes.legend(loc="lower left", markerscale=1.5)
    return figure


def _metres(length: float) -> str:
    factor, unit = style.prefix(length, "m")
    return f"{factor * length:.3g} {unit}"


def _wavelength(factor: float) -> Callable[[ArrayLike], NDArray[np.float64]]:
    """q to factor · 2π/q, and back: its own inverse."""

    def turned(value: ArrayLike) -> NDArray[np.float64]:
        return factor * 2 * np.pi / np.maximum(value, 1e-300)

    return turned
