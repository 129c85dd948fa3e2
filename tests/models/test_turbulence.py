"""Turbulent forces on beams: their spectrum, correlation along the span, and the response of a beam to them."""

from dataclasses import replace

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.loads.harmonics import Harmonics
from arlequin.models.part import Weighting
from arlequin.run.simulate import simulate
from arlequin.system.assembly import assemble

STEEL = aq.LinearElastic(young=2.1e11, poisson=0.3, density=7800.0)
ROD = aq.Section.tube(5e-3, 4.4e-3, 0.3)
LENGTH = 0.8
PINNED = {"left": {"x": 0.0, "y": 0.0}, "right": {"y": 0.0}}
GIVEN = aq.Turbulence(aq.PlateauSpectrum(4.0, cutoff=20.0), highest=100.0, correlation=0.1, duration=20.0, seed=1)


def rod(turbulence, cells=12, **options):
    mesh = aq.mesh.interval(0.0, LENGTH, cells=cells)
    options = {"dimension": 2, "imposed": PINNED} | options
    return aq.Beam("rod", mesh, STEEL, ROD, turbulence=turbulence, **options)


def test_spectrum_of_the_signal():
    """The periodogram over a period has the mean S(f), and χ² of two degrees of freedom about it at each line."""
    far = 100.0 * np.arange(8)  # independent stations
    coefficients = GIVEN.harmonics(far).reshape(-1, 16)
    count = 6000
    times = GIVEN.duration / count * np.arange(count)
    signal = Harmonics(GIVEN.duration, coefficients).at(times)
    lines = np.fft.rfft(signal, axis=0) / count
    density = 2 * np.abs(lines) ** 2 * GIVEN.duration  # one-sided, (N/m)²/Hz
    f = np.arange(len(lines)) / GIVEN.duration
    for low, high in ((0.01, 5), (5, 20), (20, 40), (40, 100.001)):
        band = (f >= low) & (f < high)
        exact = np.where(f[band] < 20, 4.0, 4.0 * (np.maximum(f[band], 1e-9) / 20) ** -3.5)
        error = np.sqrt((exact**2).sum() / 16)
        assert abs(density[band].mean(axis=1).sum() - exact.sum()) < 3.5 * error
    assert density[f > 100.001].max() < 1e-20 and density[0].max() < 1e-20
    # 4 (20 + 20/2.5 (1 − 5^−2.5)) is the variance of the continuous spectrum
    variance = 4 * (20 + 8 * (1 - 5**-2.5))
    assert GIVEN.rms**2 == pytest.approx(variance, rel=3e-3)
    spread = np.sqrt(2 * (density.mean(axis=1) ** 2).sum() / 16) / GIVEN.duration
    assert abs((signal**2).mean() - GIVEN.rms**2) < 3.5 * spread


def test_correlation_along_the_span_over_many_seeds():
    short = replace(GIVEN, duration=0.2)
    x = np.array([0.3, 0.0, 0.05, 0.1])  # stations, in no order
    many = np.stack([replace(short, seed=(7, seed)).harmonics(x) for seed in range(400)])
    size = np.sqrt(np.array(short.spectrum(short.frequencies)) / short.duration)
    unit = (many / np.tile(size, 2)[None, :, None, None]).reshape(-1, 2, 4)
    count = len(unit)
    for i in range(4):
        for j in range(4):
            exact = np.exp(-abs(x[i] - x[j]) / 0.1)
            found = (unit[:, :, i] * unit[:, :, j]).mean()
            assert abs(found - exact) < 4 * np.sqrt((1 + exact**2) / (2 * count))
            assert abs((unit[:, 0, i] * unit[:, 1, j]).mean()) < 4 / np.sqrt(count)


def acceptance(correlation):
    """∫∫ sin kx sin kx′ exp(−|x − x′|/λ) dx dx′ over a span, k = π/L."""
    a, k = 1 / correlation, np.pi / LENGTH
    return a * LENGTH / (a**2 + k**2) + 2 * k**2 * (1 + np.exp(-a * LENGTH)) / (a**2 + k**2) ** 2


def test_work_equivalent_forces_have_the_joint_acceptance():
    """The force on the first mode has the variance f_rms² × acceptance, over many harmonics."""
    given = replace(GIVEN, spectrum=lambda f: 3.0 + 0 * f, highest=1000.0, correlation=0.2)
    part = rod(given, 16)
    shape = np.zeros((part.node_count, 3))
    k = np.pi / LENGTH
    shape[:, 1], shape[:, 2] = np.sin(k * part.positions[:, 0]), k * np.cos(k * part.positions[:, 0])
    load = part.assemble().loads
    modal = load.varying[0].force.coefficients @ shape.ravel()
    error = np.sqrt(2 / modal.size)
    assert (modal**2).mean() == pytest.approx(3.0 / given.duration * acceptance(0.2), rel=3.5 * error)
    # a force across the beam does nothing along it
    assert not load.varying[0].force.coefficients.reshape(-1, part.node_count, 3)[:, :, 0].any()


@pytest.mark.slow
def test_random_vibration_of_one_mode():
    """White noise S through a resonator: E[q²] = S J/(8 ζ ω³ M²), M = mL/2 (one-sided S per Hz)."""
    m, ratio, level = STEEL.density * ROD.area, 0.05, 2.0
    omega = 2 * np.pi * aq.Modal(rod(None), 1).frequencies[0]
    first = omega / (2 * np.pi)
    duration, step = 600 / first, 1 / (40 * first)
    noise = aq.Turbulence(
        aq.PlateauSpectrum(level, cutoff=50 * first), highest=5 * first, correlation=0.2, duration=duration, seed=3
    )
    part = rod(noise, fluid_damping=2 * ratio * omega * m)
    result = simulate(
        aq.System([aq.Modal(part, 1)]), aq.Theta(0.5), duration=duration, step=duration / round(duration / step)
    )
    middle = result["part/rod/displacement"].values[800:, part.node_count // 2, 1]  # after 20 periods, at rest before
    exact = level * acceptance(0.2) / (8 * ratio * omega**3 * (m * LENGTH / 2) ** 2)
    # the variance of the mean square of a resonator over T is σ⁴/(ζωT)
    error = 1 / np.sqrt(ratio * omega * duration)
    assert error < 0.08
    assert (middle**2).mean() == pytest.approx(exact, rel=3 * error)


def test_the_two_directions_of_a_beam_in_space():
    part = rod(replace(GIVEN, duration=2.0), dimension=3, direction=(2.0, 3.0, 6.0), imposed={})
    forces = part.assemble().loads_at(np.linspace(0.0, 2.0, 400, endpoint=False)).reshape(400, -1, 6)
    local = forces[:, :, :3] @ part.frame.T
    sums = local.sum(axis=1)
    assert np.abs(sums[:, 0]).max() < 1e-12 * np.abs(sums).max()
    # a rigid translation: the acceptance of a uniform shape, 2λL − 2λ²(1 − exp(−L/λ))
    exact = GIVEN.rms**2 * 2 * (0.1 * LENGTH - 0.01 * (1 - np.exp(-LENGTH / 0.1)))
    np.testing.assert_allclose((sums[:, 1:] ** 2).mean(axis=0), exact, rtol=3.5 * np.sqrt(2 / (2 * 40)))
    assert abs(np.corrcoef(sums[:, 1], sums[:, 2])[0, 1]) < 3.5 / np.sqrt(2 * 40)


def test_reproducible_to_the_bit_and_the_same_at_single_times():
    part, twin = rod(GIVEN), rod(replace(GIVEN, seed=1))
    times = np.linspace(0.0, 3.0, 700)
    first, second = (model.assemble().loads_at(times) for model in (part, twin))
    np.testing.assert_array_equal(first, second)
    assert np.abs(rod(replace(GIVEN, seed=2)).assemble().loads_at(times) - first).max() > 1e-3
    single = np.array([part.assemble().load(t) for t in times[:20]])
    np.testing.assert_allclose(single, first[:20], atol=1e-12)
    repeated = part.assemble().loads_at(times[:20] + GIVEN.duration)
    np.testing.assert_allclose(repeated, first[:20], atol=1e-9)


def test_beside_other_loads_in_a_system_and_under_weights():
    more = {"distributed": (0.0, -2.0), "end_loads": {"right": lambda t: (3.0 * t, 0.0)}}
    part, calm, bare = rod(GIVEN, **more), rod(None, **more), rod(GIVEN)
    times = np.linspace(0.0, 1.0, 9)
    assert not part.assemble().steady and not bare.assemble().steady and rod(None).assemble().steady
    total = calm.assemble().loads_at(times) + bare.assemble().loads_at(times)
    np.testing.assert_allclose(part.assemble().loads_at(times), total, atol=1e-12)
    for model in (part, aq.Modal(part, 5)):
        own = assemble(aq.System([model]))
        np.testing.assert_allclose(own.loads(times), [own.load(t) for t in times], atol=1e-10)
    shape = part.basis.dx.shape
    half = bare.assemble(Weighting(np.ones(shape), np.ones(shape), np.full(shape, 0.5)))
    np.testing.assert_allclose(half.load(0.3), 0.5 * bare.assemble().load(0.3), atol=1e-14)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("wrong, text", [
    ({"spectrum": 3.0}, "spectrum = 3.0: must be a PlateauSpectrum or a function of f"),
    ({"spectrum": lambda f: -1.0 + 0 * f}, "spectrum = -1.0: must not be negative"),
    ({"spectrum": lambda f: np.ones(2)}, "spectrum = .*: must be finite numbers of shape"),
    ({"highest": 0.01}, "highest = 0.01: must be at least 1/duration = 0.05 Hz"),
    ({"correlation": 0.0}, "correlation = 0.0: must be positive"),
    ({"duration": -1.0}, "duration = -1.0: must be positive"),
    ({"seed": -1}, "seed = -1: must be a whole number"),
    ({"seed": (1, 2.5)}, "seed = 2.5: must be a whole number"),
    ({"seed": None}, "seed = None: must be a whole number"),
    ({"seed": "one"}, "seed = 'one': must be a whole number"),
])  # fmt: skip
def test_messages(wrong, text):
    with pytest.raises(aq.UserError, match=text):
        replace(GIVEN, **wrong)


def test_messages_of_a_beam():
    with pytest.raises(aq.UserError, match=r"turbulence = 1.0: must be a Turbulence or None"):
        rod(1.0)
    for name in ("level", "cutoff", "slope"):
        with pytest.raises(aq.UserError, match=f"{name} = 0: must be positive"):
            aq.PlateauSpectrum(**{"level": 1.0, "cutoff": 1.0, name: 0})
