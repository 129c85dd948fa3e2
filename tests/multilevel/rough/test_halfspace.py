"""The numerical half-space against closed forms of waves and spheres, and its own energy."""

import math
import sys

import numpy as np
import pytest

from arlequin.models.errors import UserError
from arlequin.multilevel.rough.halfspace import contact_area, halfspace_curve

E = 2e11


def needs_tamaas():
    return pytest.importorskip("tamaas")


def wave(n, amplitude, length):
    """A wave along the first side, four points wide."""
    return amplitude * np.cos(2.0 * np.pi * np.arange(n) / n)[:, None] * np.ones((1, 4)), (length, 4.0 * length / n)


def bumpy(n, length, seed=3):
    """A rough period of wavelengths of 16 points and more."""
    noise = np.fft.fft2(np.random.default_rng(seed).standard_normal((n, n)))
    q = np.fft.fftfreq(n, 1.0 / n)
    radius = np.hypot(q[:, None], q)
    h = np.fft.ifft2(np.where((radius >= 1) & (radius <= n / 16), np.maximum(radius, 1.0) ** -1.8, 0.0) * noise).real
    return 1e-7 * h / h.std(), (length, length)


def test_wave_in_contact():
    """Westergaard: p/p* = sin²(π a/λ) at the half width a, p* = π E* h/λ; ū/h = 1 − p/p* + p/p* ln(p/p*).

    The gap by the compliance of the contacts' strips, −dū/dp = 2 λ/(π E*) ln(1/sin(π a/λ)), from ū(p*) = 0; it begins
    with the amplitude h at p = 0, as it must. Johnson, Int. J. Solids Struct. 32 (1995) 423–430.
    """
    needs_tamaas()
    n, amplitude, length = 512, 1e-6, 1e-3
    heights, size = wave(n, amplitude, length)
    ratio = np.array([0.01, 0.05, 0.2, 0.5, 0.8, 0.95])
    flat = math.pi * E * amplitude / length
    curve = halfspace_curve(heights, size, E, pressures=ratio * flat)
    np.testing.assert_allclose(curve.pressures, ratio * flat, rtol=1e-12)
    # straight edges along the grid: nothing to correct
    np.testing.assert_allclose(curve.grid_areas, 2.0 / math.pi * np.arcsin(np.sqrt(ratio)), atol=1.01 / n)
    np.testing.assert_allclose(curve.gaps, amplitude * (1.0 - ratio + ratio * np.log(ratio)), atol=2e-5 * amplitude)
    assert (curve.residuals <= 1e-8).all() and (curve.residuals > 0.0).all()


def test_wave_in_full_contact():
    """From p* = π E* h/λ the wave is flat: no gap, all in contact, energy π E* h²/(4 λ)."""
    needs_tamaas()
    amplitude, length = 1e-6, 1e-3
    heights, size = wave(128, amplitude, length)
    flat = math.pi * E * amplitude / length
    curve = halfspace_curve(heights, size, E, pressures=[1.3 * flat, 0.98 * flat, 1.001 * flat])
    np.testing.assert_allclose(curve.pressures, flat * np.array([0.98, 1.001, 1.3]), rtol=1e-12)  # rising
    np.testing.assert_array_equal(curve.grid_areas[1:], 1.0)
    np.testing.assert_array_equal(curve.areas[1:], 1.0)
    assert curve.grid_areas[0] < 1.0
    assert (np.abs(curve.gaps[1:]) < 1e-7 * amplitude).all() and curve.gaps[0] > 1e-5 * amplitude
    # û = 2 p̂/(E* q): the wave of pressure is E* q h/2, with the mean of p u at half of its product with h
    energy = 0.25 * E * (2.0 * math.pi / length) * amplitude**2 / 2.0
    np.testing.assert_allclose(curve.elastic_energies[1:], energy, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:.*of the mean square slope")  # the kink between the periods
@pytest.mark.parametrize(("n", "tolerance"), [(256, 0.012), pytest.param(512, 0.005, marks=pytest.mark.slow)])
def test_sphere(n, tolerance):
    """Hertz: a² = R δ, P = 4/3 E* a³/R, in a square lattice of spheres at L that raise each other's surroundings.

    The mean plane of a lattice of point loads P lies 3.900265 P/(π E* L) above the displacement at a load that the
    load itself does not make (sum of 1/r over the square lattice, of mean zero; Borwein et al., J. Math. Phys. 26
    (1985) 2999), so that gap = mean(r²)/(2R) − δ + 3.900265 P/(π E* L), up to (a/L)² of it.
    """
    needs_tamaas()
    L, R = 1e-3, 1e-2
    x = (np.arange(n) - n // 2) / n * L
    paraboloid = -(x[:, None] ** 2 + x**2) / (2.0 * R)
    a = np.array([0.06, 0.1]) * L
    load = 4.0 / 3.0 * E * a**3 / R
    curve = halfspace_curve(paraboloid, (L, L), E, pressures=load / L**2)
    np.testing.assert_allclose(curve.areas, math.pi * a**2 / L**2, rtol=tolerance)
    approach = -paraboloid.mean() + 3.900265 * load / (math.pi * E * L) - curve.gaps
    np.testing.assert_allclose(approach, a**2 / R, rtol=2e-3)


def test_rough_period_stores_the_work():
    """dU = −p dū: the energy between two loads by Gauss points of the curve ū(p), −∫ p dū = −[p ū] + ∫ ū dp."""
    needs_tamaas()
    heights, size = bumpy(64, 1e-4)
    x, w = np.polynomial.legendre.leggauss(24)
    low, high = 1e7, 3e7
    p = 0.5 * (high - low) * x + 0.5 * (high + low)
    curve = halfspace_curve(heights, size, E, pressures=[low, *p, high], tolerance=1e-9)
    boundary = curve.pressures[0] * curve.gaps[0] - curve.pressures[-1] * curve.gaps[-1]
    work = boundary + 0.5 * (high - low) * w @ curve.gaps[1:-1]
    assert curve.elastic_energies[-1] - curve.elastic_energies[0] == pytest.approx(work, rel=2e-5)
    assert (np.diff(curve.gaps) < 0.0).all() and (np.diff(curve.grid_areas) >= 0.0).all()


def test_gaps_and_pressures_agree():
    needs_tamaas()
    heights, size = bumpy(64, 1e-4)
    done = []
    loads = halfspace_curve(
        heights + 1e-3, size, E, pressures=[1e7, 3e6, 1e8], progress=lambda i, of: done.append((i, of))
    )
    assert done == [(1, 3), (2, 3), (3, 3)]
    gaps = halfspace_curve(heights, size, E, gaps=loads.gaps[::-1])
    np.testing.assert_allclose(gaps.gaps, loads.gaps, rtol=1e-9)
    np.testing.assert_allclose(gaps.pressures, loads.pressures, rtol=1e-6)
    np.testing.assert_allclose(gaps.grid_areas, loads.grid_areas, atol=2.0 / heights.size)


def test_units_cancel():
    """The problem is linear in scales: heights, sides and modulus in other units give the same numbers."""
    needs_tamaas()
    heights, size = bumpy(32, 1e-4)
    one = halfspace_curve(heights, size, E, pressures=[2e7])
    other = halfspace_curve(1e3 * heights, (50.0, 50.0), 3.0, pressures=[2e7 / E * 3.0 * 1e3 * 1e-4 / 50.0])
    assert other.gaps == pytest.approx(1e3 * one.gaps, rel=1e-9)
    assert other.areas == pytest.approx(one.areas)
    energies = 1e3 * 3.0 / E * (1e3 * 1e-4 / 50.0) * one.elastic_energies
    assert other.elastic_energies == pytest.approx(energies, rel=1e-9)


def test_area_by_the_perimeter():
    """A convex patch, here across the edges of the period, has two edges of cells for each row and column it meets."""
    n = 40
    x = np.minimum(np.arange(n), n - np.arange(n))
    inside = np.hypot(x[:, None] + 0.3, x) < 9.7
    edges = 2 * np.count_nonzero(inside.any(axis=0)) + 2 * np.count_nonzero(inside.any(axis=1))
    counted, corrected = contact_area(inside)
    assert counted == inside.mean()
    assert corrected == pytest.approx(counted - (math.pi - 1.0 + math.log(2.0)) / 24.0 * edges / n**2)
    assert contact_area(np.ones((n, n), dtype=bool)) == (1.0, 1.0)


def test_what_the_grid_does_not_resolve_is_said():
    needs_tamaas()
    rough = 1e-7 * np.random.default_rng(0).standard_normal((32, 32))
    with pytest.warns(UserWarning, match=r"% of the mean square slope is in wavelengths of less than 8 points"):
        halfspace_curve(rough, (1e-4, 1e-4), E, pressures=[1e9])


def test_tamaas_keeps_quiet(capfd):
    tamaas = needs_tamaas()
    level = tamaas.get_log_level()
    heights, size = bumpy(32, 1e-4)
    with pytest.raises(UserError, match="has not converged in 2 iterations: residual") as caught:
        halfspace_curve(heights, size, E, pressures=[1e7], iterations=2)
    assert caught.value.code == 1
    assert tamaas.get_log_level() == level
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({}, "give the half-space either pressures or gaps"),
        ({"pressures": [1.0], "gaps": [1.0]}, "give the half-space either pressures or gaps"),
        ({"pressures": [0.0, 1.0]}, "pressures = .*: must be positive"),
        ({"gaps": [1.0]}, "gaps = .*: must lie between 0 and the highest summit"),
        ({"heights": np.zeros((4, 4)), "pressures": [1.0]}, "heights = .*: must be rough"),
        ({"size": (1.0, -1.0), "pressures": [1.0]}, r"size\[1\] = -1.0: must be positive"),
        ({"modulus": 0.0, "pressures": [1.0]}, "modulus = 0.0: must be positive"),
    ],
)
def test_refusals(change, line):
    needs_tamaas()
    heights, size = wave(16, 1e-6, 1e-3)
    with pytest.raises(UserError, match=line):
        halfspace_curve(**{"heights": heights, "size": size, "modulus": E, **change})


def test_without_tamaas(monkeypatch):
    monkeypatch.setitem(sys.modules, "tamaas", None)
    with pytest.raises(UserError, match=r'pip install "arlequin\[rough\]"'):
        halfspace_curve(np.eye(4), (1.0, 1.0), E, pressures=[1.0])


def test_a_load_that_the_grid_cannot_carry_says_so(monkeypatch):
    def fails(*_):
        raise FloatingPointError("contact area of a single node")

    monkeypatch.setattr(needs_tamaas().PolonskyKeerRey, "solve", fails)
    with pytest.raises(UserError, match="carried by a single point of the grid"):
        halfspace_curve(np.cos(np.arange(16.0))[:, None] * np.ones(16), (1.0, 1.0), 1.0, pressures=[1e-3])
