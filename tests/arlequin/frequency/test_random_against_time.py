"""Spectral densities of the linearised system against those of runs in time under the same turbulence."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import arlequin as aq
from arlequin.frequency import Displacement, TurbulentFlow
from arlequin.results.random_process import degrees_of_freedom

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
SECTION = aq.Section.rectangle(height=0.02, width=0.01, poisson=0.3)
STEP = 4e-4
PIECES = 7


def rod(seed: int, duration: float) -> aq.Beam:
    """A clamped rod of 1.5 m with natural frequencies of 7 and 45 Hz, damped by 17 and 5 %, so that the windows
    of the runs resolve the peaks."""
    flow = aq.Turbulence(
        aq.PlateauSpectrum(4.0, 60.0, 2.0), highest=100.0, correlation=0.3, duration=duration, seed=seed
    )
    return aq.Beam.between(
        "rod", (0.0, 0.0), (1.5, 0.0), 12, STEEL, SECTION, imposed={"left": {"x": 0.0, "y": 0.0, "rz": 0.0}},
        damping=aq.Rayleigh(mass=15.0, stiffness=2e-4), turbulence=flow,
    )  # fmt: skip


def inside(seeds: int, duration: float, confidence: float) -> tuple[float, float]:
    """Share of the frequencies from 2 to 90 Hz at which the exact density of the deflection of the tip is in the band
    of the mean of the runs; and the ratio of the rms."""
    systems = [aq.System([rod(seed, duration)]) for seed in range(seeds)]
    runs = aq.simulate_ensemble(systems, aq.Theta(0.5), duration=duration, step=STEP)
    part = systems[0].parts[0]
    tip = part.boundary("right")
    u = runs["part/rod"]["displacement"].isel(node=int(tip.nodes[0]), component=1)
    u = u.isel(frame=slice(u.sizes["frame"] // 8, None))  # after the transient
    density = aq.psd(u, segments=PIECES)
    mean = density.mean("member")
    f = mean["frequency"].values
    shown = (f > 2.0) & (f < 90.0)
    exact = aq.random_response(
        systems[0], TurbulentFlow(), {"tip": Displacement(tip, "y")},
        np.concatenate([[0.0], f[shown], [100.0]]), progress=False,
    )  # fmt: skip
    freedom = seeds * degrees_of_freedom(2 * (u.sizes["frame"] // (PIECES + 1)), PIECES)
    low, high = (freedom / chi2.ppf(0.5 + 0.5 * sign * confidence, freedom) for sign in (1.0, -1.0))
    ratio = exact["tip"].values[1:-1] / mean.values[shown]
    rms = float(np.sqrt((aq.rms(u) ** 2).mean()) / exact["rms_tip"])
    return float(((ratio >= low) & (ratio <= high)).mean()), rms


@pytest.mark.slow
def test_twenty_seeds_are_within_their_band() -> None:
    """At 95 % of the frequencies within the band of 95 %, less the scatter of that share; rms to 3 %."""
    share, rms = inside(20, 12.0, 0.95)
    assert share > 0.93
    assert rms == pytest.approx(1.0, abs=0.03)


def test_three_short_runs() -> None:
    share, rms = inside(3, 2.0, 0.99)
    assert share > 0.93
    assert rms == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("kind", ["beam", "solid"])
def test_forces_in_time_are_those_of_the_harmonics(kind: str) -> None:
    """The force that carries its spectrum is, bit by bit, that of the harmonics that it wraps, and of the series
    Σ √(S/T) (A cos + B sin) at the stations."""
    flow = aq.Turbulence(aq.PlateauSpectrum(4.0, 60.0, 2.0), highest=160.0, correlation=0.3, duration=0.5, seed=3)
    if kind == "beam":
        part: Any = rod(3, 0.5)
        part = replace(part, turbulence=flow)
    else:
        span = aq.SpanForce(flow, area=1e-4, origin=(0.0, 0.0), direction=(1.0, 0.0))
        mesh = aq.mesh.rectangle((0.0, 0.5), (0.0, 0.02), cells=(10, 1))
        part = aq.Solid("part", mesh, STEEL, plane="stress", thickness=0.005, body_force=span)
    assembled = part.assemble()
    (force,) = assembled.loads.varying
    times = np.linspace(0.0, 0.4, 7)
    np.testing.assert_array_equal(force.at(times), force.force.at(times))
    series = flow.at_stations(force.numbers)
    count = series.shape[0] // 2
    phase = 2 * np.pi * np.multiply.outer(times, np.arange(1, count + 1)) / 0.5
    values = np.einsum("tk,kds->tds", np.hstack([np.cos(phase), np.sin(phase)]), series)
    exact = sum(values[:, k] @ operator.T for k, operator in enumerate(force.operators))
    np.testing.assert_allclose(force.at(times), exact, rtol=1e-9, atol=1e-12 * np.abs(exact).max())
