"""Rough contact: self-affine spectrum, half-space solutions of samples, theories, fitted contact law, figures."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

import arlequin as aq
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.impact import mean_pressures
from arlequin.models.checks import positive, positive_integer, within
from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LawName = Literal["half-space", "persson", "bush-gibson-thomas", "greenwood-williamson", "kogut-etsion", "power"]

Hurst = Annotated[float, Quantity("", "Hurst exponent of the roughness", within, 0.0, 1.0)]
Cutoff = Annotated[float, Quantity("m", "shortest wavelength of the roughness", positive)]
# 10 octaves: 67 million points, 4 GB
Octaves = Annotated[int, Quantity("", "octaves from the shortest wavelength to the sample size", within, 1, 10)]
Flat = Annotated[int, Quantity("", "octaves of the longest wavelengths with a flat spectrum", positive_integer)]
Slope = Annotated[float, Quantity("", "rms slope of the roughness", positive)]
Law = Annotated[LawName, Quantity("", "curve to which the contact law is fitted")]
Seeds = Annotated[int, Quantity("", "number of samples of the half-space", positive_integer)]
Hardness = Annotated[float, Quantity("Pa", "hardness, for law=kogut-etsion", positive)]

FINEST = 8  # points per shortest wavelength
LOADS = np.geomspace(1e-4, 0.2, 28)  # p/(E* h'rms)
STORED = Path(__file__).parents[1] / "reference" / "rough_half_space.csv"


@dataclass(frozen=True)
class Roughness:
    """Periodic self-affine roughness: Hurst exponent, shortest wavelength (m), octaves, octaves with flat spectrum,
    rms slope."""

    hurst: float
    cutoff: float
    octaves: int
    flat: int
    slope: float

    def __post_init__(self) -> None:
        if self.flat > self.octaves:
            raise aq.UserError.parameter("flat", self.flat, f"must be at most the octaves, {self.octaves}")

    @classmethod
    def of(cls, parameters: Any) -> "Roughness":
        """Roughness of the parameters of a case."""
        p = parameters
        return cls(p.hurst, p.cutoff, p.octaves, p.flat, p.slope)

    @property
    def size(self) -> float:
        """Side of a sample, m."""
        return self.cutoff * 2.0**self.octaves

    def sample(self, seed: int) -> Any:
        """Topography of a sample."""
        points = FINEST * 2**self.octaves
        options: dict[str, Any] = {"hurst": self.hurst, "cutoff": self.cutoff, "rolloff": self.size / 2.0**self.flat}
        return aq.rough.self_affine(
            (points, points), (self.size, self.size), **options, rms_slope=self.slope, seed=seed
        )

    @property
    def moments(self) -> Any:
        """Spectral moments, equal for all samples."""
        return _moments(self)

    @property
    def spectrum(self) -> tuple[Array, Array]:
        """Wave numbers, rad/m, and spectrum C, m⁴, at the corners of the piecewise power law."""
        q = 2.0 * np.pi / np.array([self.size, self.size / 2.0**self.flat, self.cutoff])
        self_affine = aq.rough.SelfAffine(self.hurst, self.size, self.size / 2.0**self.flat, self.cutoff)
        level = self.slope**2 / self_affine.integral(2)
        distinct = np.append(True, np.diff(q) > 0.0)
        return q[distinct], level * self_affine(q[distinct])


@lru_cache(maxsize=8)
def _moments(roughness: Roughness) -> Any:
    return aq.rough.moments(roughness.sample(0))


@dataclass(frozen=True)
class HalfSpaceCurve:
    """Half-space solutions averaged over samples: pressures over E* h'rms (k,); mean gaps over the rms height (k,) and
    contact areas (k,), with standard deviations."""

    loads: Array
    gaps: Array
    scatter: Array
    areas: Array
    area_scatter: Array
    samples: int


@lru_cache(maxsize=4)
def half_space(roughness: Roughness, seeds: int) -> HalfSpaceCurve:
    """Mean curve of the samples 0 … seeds − 1, stored with the code or computed by Tamaas.

    Dimensionless: independent of E*, slope (if small) and wavelength.
    """
    stored = _stored()
    if (roughness.hurst, roughness.octaves, roughness.flat) == STORED_SHAPE and seeds <= stored[0].shape[0]:
        gaps, areas = (table[:seeds] for table in stored)
    else:
        curves = [_solved(roughness, seed) for seed in range(seeds)]
        gaps, areas = (np.array(table) for table in zip(*curves, strict=True))
    mean, scatter = aq.rough.mean_curve(gaps, LOADS)
    return HalfSpaceCurve(LOADS, mean, scatter, *aq.rough.mean_curve(areas, LOADS), len(gaps))


STORED_SHAPE = 0.8, 5, 3  # Hurst exponent, octaves, flat octaves of the stored curve


@lru_cache(maxsize=1)
def _stored() -> tuple[Array, Array]:
    """Gaps and areas (s, k) of the stored samples."""
    table = np.loadtxt(STORED, delimiter=",", comments="#")
    return tuple(np.split(table, 2))  # type: ignore[return-value]


def _solved(roughness: Roughness, seed: int) -> tuple[Array, Array]:
    """Gaps over the rms height and areas (k,) of one sample."""
    sample = roughness.sample(seed)
    curve = aq.rough.halfspace_curve(
        sample.heights, sample.size, 1.0, pressures=LOADS * roughness.slope, tolerance=1e-6
    )
    return curve.gaps / roughness.moments.rms_height, curve.areas


def theories(roughness: Roughness, modulus: float, hardness: float, poisson: float) -> dict[str, Any]:
    """Theories by name."""
    m = roughness.moments
    moments = m.m0, m.m2, m.m4
    return {
        "persson": aq.rough.Persson(modulus, *roughness.spectrum),
        "bush-gibson-thomas": aq.rough.BushGibsonThomas(modulus, *moments),
        "greenwood-williamson": aq.rough.GreenwoodWilliamson.from_moments(modulus, *moments),
        "kogut-etsion": aq.rough.KogutEtsion.from_moments(modulus, *moments, hardness, poisson),
    }


def curve_of(parameters: Any) -> tuple[Array, Array]:
    """Gaps (k,), m, and pressures (k,), Pa, to which the law is fitted; of the half-space every third load, so that the
    others test the fit."""
    p, roughness = parameters, Roughness.of(parameters)
    modulus = p.young / (1.0 - p.poisson**2)
    pressures = LOADS * modulus * roughness.slope
    if p.law in ("half-space", "power"):
        return half_space(roughness, p.seeds).gaps[::3] * roughness.moments.rms_height, pressures[::3]
    theory = theories(roughness, modulus, p.hardness, p.poisson)[p.law]
    gaps = np.linspace(-2.0, 8.0, 1001) * roughness.moments.rms_height
    with np.errstate(all="ignore"):
        theory_pressures = theory.pressure(gaps)
    positive = np.isfinite(theory_pressures) & (theory_pressures > 0.0)
    # gaps at the pressures of the curve
    order = np.argsort(theory_pressures[positive])
    shares = np.log(pressures / pressures[0]), np.log(theory_pressures[positive][order] / pressures[0])
    gaps_at_pressures = np.interp(*shares, gaps[positive][order], np.nan, np.nan)
    in_range = np.isfinite(gaps_at_pressures)
    return gaps_at_pressures[in_range], pressures[in_range]


def law_of(parameters: Any) -> Any:
    """Fitted contact law (`aq.rough.LawFit`)."""
    return _fit(tuple(tuple(values.tolist()) for values in curve_of(parameters)), parameters.law == "power")


@lru_cache(maxsize=8)
def _fit(curve: tuple[tuple[float, ...], tuple[float, ...]], power: bool) -> Any:
    return aq.rough.fit_power(*curve) if power else aq.rough.fit_table(*curve)


NAMES = {
    "persson": "Persson",
    "bush-gibson-thomas": "Bush, Gibson, Thomas",
    "greenwood-williamson": "Greenwood, Williamson",
    "kogut-etsion": "Kogut, Etsion",
}


def _truth(parameters: Any) -> HalfSpaceCurve | None:
    """Half-space curve if it is stored or can be computed."""
    try:
        return half_space(Roughness.of(parameters), parameters.seeds)
    except UserError:
        return None


def _scales(parameters: Any) -> tuple[Roughness, float, float]:
    """Roughness, E* h'rms, Pa, and E*, Pa."""
    roughness, modulus = Roughness.of(parameters), parameters.young / (1.0 - parameters.poisson**2)
    return roughness, modulus * roughness.slope, modulus


def gap_figure(parameters: Any, pressed: tuple[Array, Array], fit: Any) -> "Figure":
    """Pressure over E* h'rms against gap over rms height; pressed: gaps, m, and pressures, Pa, of the block."""
    roughness, unit, modulus = _scales(parameters)
    height, truth = roughness.moments.rms_height, _truth(parameters)
    grid = np.linspace(0.05, 4.2, 400)
    with style.panels(1, 4.2) as (figure, (axes,)):
        for n, (name, theory) in enumerate(
            theories(roughness, modulus, parameters.hardness, parameters.poisson).items()
        ):
            pressure = theory.pressure(grid * height) / unit
            axes.semilogy(
                grid, pressure, style.DASHES[1 + n % 3], color=style.COLOURS[2 + n], linewidth=1.1, label=NAMES[name]
            )
        if truth is not None:
            label = f"half-space, {truth.samples} samples: mean, standard deviation"
            axes.errorbar(
                truth.gaps,
                truth.loads,
                xerr=truth.scatter,
                fmt="o",
                color=style.REFERENCE,
                markersize=3.5,
                capsize=2,
                label=label,
            )
        gaps, pressures = pressed
        axes.semilogy(grid, fit.law.pressure(grid * height) / unit, color=style.COLOURS[0], label="law")
        axes.semilogy(gaps / height, pressures / unit, "x", color=style.COLOURS[1], label="block with the fitted law")
        axes.set_ylim(3e-5, 0.5)
        axes.set_xlabel("Mean gap / rms height")
        axes.set_ylabel("Mean pressure / ($E^*$ rms slope)")
        axes.legend(fontsize="small")
    return figure


def area_figure(parameters: Any) -> "Figure":
    """Contact area over load as a function of p/(E* h'rms); constant at small loads."""
    roughness, unit, modulus = _scales(parameters)
    height, truth = roughness.moments.rms_height, _truth(parameters)
    grid = np.linspace(0.05, 4.2, 400) * height
    with style.panels(1, 3.6) as (figure, (axes,)):
        for n, (name, theory) in enumerate(
            theories(roughness, modulus, parameters.hardness, parameters.poisson).items()
        ):
            load = theory.pressure(grid) / unit
            axes.semilogx(
                load,
                theory.area(grid) / load,
                style.DASHES[1 + n % 3],
                color=style.COLOURS[2 + n],
                linewidth=1.1,
                label=NAMES[name],
            )
        if truth is not None:
            axes.errorbar(
                truth.loads,
                truth.areas / truth.loads,
                yerr=truth.area_scatter / truth.loads,
                fmt="o",
                color=style.REFERENCE,
                markersize=3.5,
                capsize=2,
                label=f"half-space, {truth.samples} samples",
            )
        axes.axhline(np.sqrt(2.0 * np.pi), color="0.6", linewidth=0.8)
        axes.axhline(np.sqrt(8.0 / np.pi), color="0.6", linewidth=0.8)
        axes.set_xlim(5e-5, 0.5)
        axes.set_ylim(0.0, 3.5)
        axes.set_xlabel("Mean pressure / ($E^*$ rms slope)")
        axes.set_ylabel("Contact area / nominal area / load")
        axes.legend(fontsize="small")
    return figure


def history_figure(result: Any, exact: Any) -> "Figure":
    """Contact pressure of a bar over ρcV against time: computed, exact on asperities, on a smooth wall."""
    edges, pressure = mean_pressures(result)
    unit, time = exact.impedance * exact.velocity, np.linspace(0.0, exact.duration, 4001)
    with style.panels(1, 3.4) as (figure, (axes,)):
        axes.stairs(pressure / unit, 1e6 * edges, color=style.COLOURS[0], label="computed")
        axes.plot(1e6 * time, exact.pressure(time) / unit, "--", color=style.REFERENCE, label="exact")
        start = exact.gap / exact.velocity
        smooth = 1e6 * np.array([start, start, start + exact.transit, start + exact.transit])
        axes.plot(smooth, [0.0, 1.0, 1.0, 0.0], ":", color=style.COLOURS[1], label="smooth wall")
        axes.set_xlabel(style.label("Time", "µs"))
        axes.set_ylabel("Pressure / (ρ c V)")
        axes.legend()
    return figure


def roughness_figure(heights: Array, impacts: Any, parameters: Any, point: tuple[float, Any]) -> "Figure":
    """Prolongation of the contact over 2L/c and loss of velocity against the rms height (r,), m."""
    p = parameters
    transit = 2.0 * p.length / np.sqrt(p.young / p.density)
    height_ratio = np.array(heights) / (p.velocity * transit)
    prolongation = np.array([impact.duration / transit - 1.0 for impact in impacts])
    velocity_loss = np.array([1.0 - impact.restitution for impact in impacts])
    with style.panels(1, 3.8) as (figure, (axes,)):
        axes.loglog(height_ratio, prolongation, "o-", markersize=3.5, label="prolongation of contact, exact")
        axes.loglog(height_ratio, velocity_loss, "s-", markersize=3.5, label="loss of velocity, exact")
        at = point[0] / (p.velocity * transit)
        axes.loglog([at], [point[1].duration / transit - 1.0], "x", color="k", label="computed")
        axes.loglog([at], [1.0 - point[1].restitution], "x", color="k")
        axes.loglog(
            height_ratio,
            prolongation[-1] * height_ratio / height_ratio[-1],
            ":",
            color=style.REFERENCE,
            label="first order",
        )
        axes.set_xlabel("rms height / (V · 2L/c)")
        axes.set_ylabel("Relative to a smooth wall")
        axes.legend()
    return figure
