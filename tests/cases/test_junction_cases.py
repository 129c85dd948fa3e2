"""Cases of waves through junctions and of the cut cantilever, at small size through their own functions."""

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.cases import cantilever_overlap, high_frequency, junction_cantilever, reflection_spectrum, wave_junction
from arlequin.cases.reference import schwarz_cantilever
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


@pytest.mark.sampled(1)
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


def half_lattice(frequency: float, h: float) -> complex:
    """Force over velocity, of a half-infinite lattice of consistent mass that ends at a node: (1/h + Ω²h/6) sin(kh)/Ω,
    imaginary above the last frequency."""
    square = (frequency * h) ** 2
    cos = (6.0 - 2.0 * square) / (6.0 + square)
    return (1.0 / h + frequency**2 * h / 6.0) * np.sqrt(complex(1.0 - cos**2)) / frequency


def test_reflection_spectrum() -> None:
    """From 0.7 to 10 H: nothing of what the coarse cells cannot carry comes back, and 10 H passes."""
    parameters = reflection_spectrum.Parameters(ratio=5.0, shortest=0.7, longest=10.0, count=4)
    result = reflection_spectrum.run(parameters, Record(), None)
    assert [item.passed for item in reflection_spectrum.check(result, parameters)] == [True] * 5
    assert set(reflection_spectrum.figures(result, parameters)) == {"spectrum"}
    found = {name: array.values for name, array in result["spectrum"].dataset.data_vars.items()}
    for start in reflection_spectrum.STARTS:
        assert np.isnan(found[start]).tolist() == [start == "coarse"] * 2 + [False] * 2
        assert np.nanmin(found[f"{start}_absorbed"]) > 0.0
        # one mesh and bars joined at their ends are the same, and in closed form
        np.testing.assert_allclose(found[f"{start}_point"], found[f"{start}_single"], rtol=1e-9)
    np.testing.assert_allclose(found["fine_plain"][:2], 1.0, atol=1e-9)
    small, big = parameters.coarse_size / parameters.ratio, parameters.coarse_size
    for length, reflected in zip(reflection_spectrum.wavelengths(parameters), found["fine_single"], strict=True):
        cos = np.cos(2.0 * np.pi * small / (length * big))
        frequency = np.sqrt(6.0 * (1.0 - cos) / (2.0 + cos)) / small
        one, other = half_lattice(frequency, small), half_lattice(frequency, big)
        assert reflected == pytest.approx(abs((one - other) / (one + other)) ** 2, rel=1e-8)


def test_reflection_spectrum_without_an_absorber() -> None:
    """Of any junction all energy comes back or passes, from both sides."""
    parameters = reflection_spectrum.Parameters(
        ratio=3.0, overlap=0.4, coarse_mass="lumped", weights="cubic", coupling="H1", mediator="fine", absorbing=False,
        shortest=1.3, longest=11.0, count=4,
    )  # fmt: skip
    spectrum = reflection_spectrum.run(parameters, Record(), None)["spectrum"].dataset
    for start in reflection_spectrum.STARTS:
        assert np.nanmax(np.abs(spectrum[f"{start}_absorbed"])) <= 1e-10
    assert spectrum["fine"][0] == pytest.approx(1.0, abs=1e-9) and spectrum["fine"][-1] < 1e-3


def test_reflection_spectrum_of_shear_waves_at_an_angle() -> None:
    parameters = reflection_spectrum.Parameters(ratio=3.0, wave="S", angle=30.0, shortest=2.5, longest=10.0, count=2)
    result = reflection_spectrum.run(parameters, Record(), None)
    assert [item.passed for item in reflection_spectrum.check(result, parameters)] == [True] * 4
    assert np.isnan(result["spectrum"]["fine_single"]).all()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("model", high_frequency.MODELS)
def test_high_frequency(model: high_frequency.Model) -> None:
    assert not failed(high_frequency, high_frequency.Parameters(model=model, fields_every=10**6))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("ratio", "overlap"), [(1.0, 0.0254), (0.5, 0.0127), (0.3, 0.0508)])
def test_junction_cantilever(ratio: float, overlap: float) -> None:
    """A quarter of the run at five times the step."""
    parameters = junction_cantilever.Parameters(
        ratio=ratio, overlap=overlap, step=5e-6, duration=2.5e-3, fields_every=4
    )
    assert not failed(junction_cantilever, parameters)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize(("clamped", "free"), itertools.product(("implicit", "explicit"), repeat=2))
@pytest.mark.parametrize(("ratio", "overlap"), [(0.8, 0.0254), (0.3, 0.0508), (0.5, 0.0127), (0.2, 0.0127)])
def test_cantilever_overlap(ratio: float, overlap: float, clamped: Any, free: Any, steps: int) -> None:
    """Large cells, 150 steps: energy and motion of the tip."""
    parameters = cantilever_overlap.Parameters(
        overlap=overlap, ratio=ratio, clamped=clamped, free=free, steps=steps, size=0.0127, step=2e-6, duration=3e-4,
        fields_every=2,
    )  # fmt: skip
    assert not failed(cantilever_overlap, parameters)


def test_published_drifts_of_the_cantilever() -> None:
    """Cells of the published table: the largest gain and the row of conforming meshes."""
    drifts = schwarz_cantilever.drifts
    assert (
        max(max(drifts(o, p).values()) for o in schwarz_cantilever.OVERLAPS for p in schwarz_cantilever.PAIRS) == 2.747
    )
    assert (
        drifts(0.0254, "IE")[0.3] == 2.747
        and drifts(0.0508, "EE")[1.0] == 0.087
        and drifts(0.0127, "II")[0.2] == -0.222
    )
    with pytest.raises(aq.UserError, match="overlap"):
        drifts(0.03, "II")


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
