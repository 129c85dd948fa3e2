"""Normal contact of a block and a rough wall: pressure against gap by theories, half-space and contact law.

Self-affine roughness. The numerical reference is the elastic half-space on samples of the surface (Tamaas); the contact
law is a monotone table fitted to it or to a theory, or a single power law. The block, laterally confined, is loaded
from the smallest to the largest pressure. Its face is supported by the law: gap and pressure of each load are those of
a spring (the block, modulus M = λ + 2μ) in series with the law, a scalar equation.

Scaling: gap over rms height as a function of p/(E* h'rms) depends only on the shape of the spectrum. For the default
spectrum (Hurst exponent 0.8, five octaves, three of them flat) solutions of eight samples are stored with the code;
other spectra are computed, which requires `pip install "arlequin[rough]"`.

Pressure of theories over that of the half-space at the same gap, H = 0.8, p/(E* h'rms) = 1e-4, 7e-3, 0.04, 0.2:
Greenwood and Williamson 1.0, 0.88, 0.68, 0.36; Bush, Gibson and Thomas 1.0, 0.86, 0.69, 0.37 (both neglect the elastic
interaction of summits); Persson 6.1, 1.3, 1.07, 1.00 (a finite sample has a highest summit).

The table is fitted to every third load of the half-space and reproduces the others within 1.3 %; the best power law
(m = 11, starting at 6 rms heights) within 9 %. The scatter of samples is larger: the standard deviation of the gap is
0.28 rms heights at 1e-4, a factor of two in pressure, and 0.004 at 0.2.

Sources: J. A. Greenwood and J. B. P. Williamson, Proc. R. Soc. A 295 (1966); A. W. Bush, R. D. Gibson and T. R. Thomas,
Wear 35 (1975); B. N. J. Persson, Phys. Rev. Lett. 99 (2007); L. Frérot et al., J. Open Source Softw. 5 (2020) 2121.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import xarray
from scipy.optimize import brentq

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.impact import mean_pressures, worst_balance
from arlequin.cases.shared.roughness import (
    LOADS,
    Cutoff,
    Flat,
    Hardness,
    Hurst,
    Law,
    Octaves,
    Roughness,
    Seeds,
    Slope,
    area_figure,
    gap_figure,
    half_space,
    law_of,
)
from arlequin.cases.shared.vocabulary import Poisson, Young
from arlequin.models.checks import positive, positive_integer
from arlequin.models.types import Array

WITHIN = 0.05  # relative tolerance of a table fitted to the half-space


@dataclass(frozen=True)
class Parameters:
    """Default: polished steel of 200 GPa: rms slope 0.02, wavelengths from 10 µm, rms height 0.09 µm."""

    young: Young = 2e11
    poisson: Poisson = 0.3
    height: Annotated[float, Quantity("m", "height of the block", positive)] = 1e-3
    cells: Annotated[int, Quantity("", "cells over the height", positive_integer)] = 8
    hurst: Hurst = 0.8
    cutoff: Cutoff = 10e-6
    octaves: Octaves = 5
    flat: Flat = 3
    slope: Slope = 0.02
    law: Law = "half-space"
    hardness: Hardness = 3e9
    seeds: Seeds = 8
    loads: Annotated[int, Quantity("", "number of loads, from the smallest to the largest", positive_integer)] = 40


def modulus(parameters: Parameters) -> float:
    """Confined modulus M = λ + 2μ of the block, Pa."""
    nu = parameters.poisson
    return parameters.young * (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu))


def pressures(parameters: Parameters) -> Array:
    """Loads (n,), Pa, geometrically spaced over the range of the fit."""
    low, high = law_of(parameters).pressures
    return low * np.geomspace(1.0, high / low, parameters.loads)


def gap_of(law: Any, pressure: float) -> float:
    """Gap, m, at which the law gives a pressure."""
    depth = pressure / law.stiffness_bound()  # at least
    low = law.height - depth
    while float(law.pressure(np.array(low))) < pressure:
        depth *= 2.0
        low -= depth
    tolerance = 1e-16 * (law.height - low)
    return float(brentq(lambda g: float(law.pressure(np.array(g))) - pressure, low, law.height, xtol=tolerance))


def motion(parameters: Parameters) -> Array:
    """Downward displacements (n,) of the top, m: shortening of the block and decrease of the gap from zero load."""
    p, law = parameters, law_of(parameters).law
    return np.array([q * p.height / modulus(p) + law.height - gap_of(law, q) for q in pressures(p).tolist()])


def build(parameters: Parameters) -> aq.Study:
    """Statics, 0 ≤ t ≤ 1: displacement of the top, one step per load."""
    p, law = parameters, law_of(parameters).law
    start = law.height
    mesh = aq.mesh.rectangle((0.0, p.height / p.cells), (start, start + p.height), cells=(1, p.cells))
    path, steps = np.append(0.0, motion(p)), np.linspace(0.0, 1.0, p.loads + 1)

    def top_displacement(t: float) -> float:
        return -float(np.interp(t, steps, path))

    imposed: dict[str, Any] = {"top": {"y": top_displacement}, "left": {"x": 0.0}, "right": {"x": 0.0}}
    block = aq.Solid("block", mesh, aq.LinearElastic(p.young, p.poisson), plane="strain", imposed=imposed)
    wall = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    interface = aq.Interface("contact", block.boundary("bottom"), wall, law)
    return aq.Study(aq.System([block], interfaces=[interface]), aq.Static(), 1.0, 1.0 / p.loads)


def pressed(result: xarray.DataTree) -> tuple[Array, Array]:
    """Mean gaps (n,), m, and pressures (n,), Pa, at the loads."""
    gaps = result["interface/contact"].dataset["gap"].values[1:].mean(axis=1)
    return gaps, mean_pressures(result)[1]


def law_energy(result: xarray.DataTree) -> float:
    """Final energy of the asperities, J/m²."""
    area = float(result["interface/contact"].dataset["area"].sum())
    return float(result.dataset["energy"].sel(kind="asperity")[-1]) / area


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p = parameters
    fit, (gaps, pressure) = law_of(p), pressed(result)
    energy = law_energy(result)
    checks = [
        Check("pressure of the loads, largest error", _worst(pressure, pressures(p)), 0.0, 1e-9, "1", "at most"),
        Check(
            "pressure against the law at the computed gap, largest error",
            _worst(pressure, fit.law.pressure(gaps)),
            0.0,
            1e-9,
            "1",
            "at most",
        ),
        Check("final energy of the law, ∫ p dg", energy, work(fit.law, float(gaps[-1])), 1e-12, "J/m^2"),
        Check("energy balance, worst step", worst_balance(result), 0.0, 1e-12, "1", "at most"),
    ]
    if p.law == "half-space":
        roughness = Roughness.of(p)
        curve, unit = half_space(roughness, p.seeds), p.young / (1.0 - p.poisson**2) * roughness.slope
        fit_error = _worst(fit.law.pressure(curve.gaps * roughness.moments.rms_height), LOADS * unit)
        checks.append(Check("law against the half-space, 1e-4 to 0.2 E* h'rms", fit_error, 0.0, WITHIN, "1", "at most"))
    return checks


def work(law: Any, gap: float) -> float:
    """∫ p dg from a gap to infinity, J/m², by 40-point Gauss rules between the points of the law."""
    points, weights = np.polynomial.legendre.leggauss(40)
    edges = [gap, *(g for g in getattr(law, "gaps", ()) if g > gap), law.height]
    pieces = [np.linspace(a, b, 5) for a, b in pairwise(edges)]
    total = 0.0
    for piece in pieces:
        for a, b in pairwise(piece):
            total += 0.5 * (b - a) * float(weights @ law.pressure(0.5 * (a + b) + 0.5 * (b - a) * points))
    return total


def _worst(values: Array, exact: Array) -> float:
    return float(np.abs(values / exact - 1.0).max())


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    gaps, computed = pressed(result)
    return {
        "final_pressure": aq.Scalar(computed[-1], "Pa", "final mean contact pressure"),
        "final_gap": aq.Scalar(gaps[-1], "m", "final mean gap"),
        "first_gap": aq.Scalar(gaps[0], "m", "mean gap at the smallest load"),
        "law_energy": aq.Scalar(law_energy(result), "J/m^2", "final energy of the asperities per area"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    roughness = Roughness.of(parameters)
    return {
        "surface": plots.topography(roughness.sample(0)),
        "pressure": gap_figure(parameters, pressed(result), law_of(parameters)),
        "area": area_figure(parameters),
    }
