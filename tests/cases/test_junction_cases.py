"""Cases of waves through junctions and of the cut cantilever, at small size through their own functions."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.cases import high_frequency, junction_cantilever, reflection_spectrum, wave_junction
from arlequin.cases.shared.waves import WavePacket, stretch_energy
from arlequin.results.recorder import Record


def failed(case: Any, parameters: Any, result: Any = None) -> list[str]:
    if result is None:
        result = case.build(parameters).run()
    return [f"{item.name}: {item.value:.3g}" for item in case.check(result, parameters) if not item.passed]


@cache
def crossed(parameters: wave_junction.Parameters) -> Any:
    """A run, once for all tests that look at it."""
    return wave_junction.build(parameters).run()


LONG = wave_junction.Parameters(wavelength=2.0, fields_every=10**6)
PLAIN = wave_junction.Parameters(fields_every=10**6)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"wavelength": 2.0},
        {"ratio": 7.3},
        {"ratio": 3.7, "start": "coarse"},
        {"absorbing": True, "wavelength": 0.1},
        {"absorbing": True, "wavelength": 0.07},
        {"absorbing": True, "wavelength": 0.1, "overlap": 0.8},
        {"ratio": 5.0, "time_ratio": 4, "duration": 0.5},
        {"weights": "cubic", "duration": 0.5},
        {"mediator": "own", "duration": 0.5},
    ],
)
def test_wave_junction(options: dict[str, Any]) -> None:
    parameters = wave_junction.Parameters(**{"fields_every": 10**6, **options})
    if options.get("start") == "coarse":  # the packet disperses in the coarse bar: only the energies are checked
        parameters = wave_junction.Parameters(ratio=3.7, start="coarse", duration=1.0)
    assert not failed(wave_junction, parameters, crossed(parameters))


def test_long_waves_pass() -> None:
    """At 20 H at most 3e-6 comes back."""
    assert wave_junction.reflected(crossed(LONG), LONG) <= 3e-6


def test_ghosts_under_the_fine_part() -> None:
    """A negligible floor changes nothing; a large one lets ghosts ring, and warns."""
    fraction = wave_junction.reflected(crossed(PLAIN), PLAIN)
    small = wave_junction.Parameters(floor=1e-9, fields_every=10**6)
    assert wave_junction.reflected(wave_junction.build(small).run(), small) == pytest.approx(fraction, rel=0.05)
    with pytest.warns(aq.JunctionWarning):
        wave_junction.build(wave_junction.Parameters(floor=1e-2))


def test_unresolved_waves_come_back_whole() -> None:
    parameters = wave_junction.Parameters(wavelength=0.1, fields_every=10**6)
    fraction = wave_junction.reflected(wave_junction.build(parameters).run(), parameters)
    assert fraction == pytest.approx(1.0, abs=1e-3)


def test_reflection_spectrum() -> None:
    """Four wavelengths: less comes back than in one mesh with the same jump of cell size."""
    parameters = reflection_spectrum.Parameters(ratio=5.0, shortest=5.0, longest=10.0, count=2)
    result = reflection_spectrum.run(parameters, Record(), None)
    assert result["spectrum"].dataset["fine"].shape == (2,)
    assert [item.passed for item in reflection_spectrum.check(result, parameters)] == [True] * 3
    assert set(reflection_spectrum.figures(result, parameters)) == {"spectrum"}


@pytest.mark.parametrize("model", high_frequency.MODELS)
def test_high_frequency(model: high_frequency.Model) -> None:
    assert not failed(high_frequency, high_frequency.Parameters(model=model, fields_every=10**6))


@pytest.mark.parametrize(("ratio", "overlap"), [(1.0, 0.0254), (0.5, 0.0127), (0.3, 0.0508)])
def test_junction_cantilever(ratio: float, overlap: float) -> None:
    """A quarter of the run at five times the step."""
    parameters = junction_cantilever.Parameters(
        ratio=ratio, overlap=overlap, step=5e-6, duration=2.5e-3, fields_every=4
    )
    assert not failed(junction_cantilever, parameters)


def test_packet_is_a_wave() -> None:
    """∂u/∂t = −s c ∂u/∂x, by central differences in x."""
    packet = WavePacket(1.0, 0.3, 0.2, -1.0, 2.0)
    x, e = np.linspace(0.0, 2.0, 50), 1e-6
    slope = (packet.displacement(x + e) - packet.displacement(x - e)) / (2 * e)
    assert packet.velocity(x) == pytest.approx(2.0 * slope, abs=1e-6)


def test_energy_of_a_stretch() -> None:
    """The whole fine bar of an all-fine model has the energy of the audit."""
    parameters = high_frequency.Parameters(model="fine", fields_every=10**6)
    result = high_frequency.build(parameters).run()
    energy = result.dataset["energy"].sel(kind=["kinetic", "strain"])[-1].sum()
    assert stretch_energy(result, "fine", 0.0, 1e9, 1.0, 1.0) == pytest.approx(float(energy), rel=1e-12)
