"""Scattering of plane waves, against lattices in closed form, impedances and the balance of energy."""

from typing import Any

import numpy as np
import pytest
from skfem import MeshQuad

import arlequin as aq

UNIT = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)
STARTS = ("left", "right")


def bar(name: str, ends: tuple[float, float], cells: int, material: Any = UNIT, **fields: Any) -> aq.Bar:
    return aq.Bar(name, aq.mesh.interval(*ends, cells=cells), material, **fields)


def strip(name: str, ends: tuple[float, float], cells: tuple[int, int], **fields: Any) -> aq.Solid:
    return aq.Solid(name, aq.mesh.rectangle(ends, (0.0, 3.0), cells=cells), UNIT, plane="strain", **fields)


def glued_strips(**fields: Any) -> aq.PlaneWaves:
    """Cells of 0.3 up to x = 4 and of 1 from x = 0, glued in between."""
    fine, coarse = strip("fine", (-2.0, 4.0), (20, 10)), strip("coarse", (0.0, 9.0), (9, 3))
    return aq.PlaneWaves(aq.System([coarse, fine], [aq.Junction(coarse, fine, **fields)]))


@pytest.mark.sampled(7)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("wave", [2.1, 3.0, 10.0, 100.0])
@pytest.mark.parametrize("mass", ["consistent", "lumped", "dispersion"])
def test_a_uniform_bar_reflects_nothing(mass: str, wave: float, start: Any) -> None:
    found = aq.PlaneWaves(aq.System([bar("bar", (0.0, 8.0), 8, mass=mass)])).scatter(wave, start=start)
    assert abs(found.reflected) <= 1e-12
    assert found.transmitted == pytest.approx(1.0, abs=1e-12)
    assert found.amplitude == pytest.approx(1.0, abs=1e-10)
    assert found.phase == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(("wave", "angle"), [("P", 0.0), ("P", 30.0), ("S", 0.0), ("S", 30.0)])
def test_a_uniform_strip_reflects_nothing(wave: Any, angle: float, start: Any) -> None:
    waves = aq.PlaneWaves(aq.System([strip("strip", (0.0, 8.0), (8, 3))]))
    found = waves.scatter(5.0, wave, angle, start)
    assert abs(found.reflected) <= 1e-11
    assert found.transmitted == pytest.approx(1.0, abs=1e-11)


@pytest.mark.parametrize(("mass", "squared"), [("consistent", 6.0), ("lumped", 2.0)])
def test_frequency_of_a_lattice(mass: str, squared: float) -> None:
    """Ω²h²/c² = 6 (1 − cos kh)/(2 + cos kh), and 2 (1 − cos kh) lumped."""
    found = aq.PlaneWaves(aq.System([bar("bar", (0.0, 4.0), 8, mass=mass)])).scatter(2.0)
    cos = np.cos(2.0 * np.pi * 0.5 / 2.0)
    expected = squared * (1.0 - cos) / ((2.0 + cos) if mass == "consistent" else 1.0)
    assert found.frequency == pytest.approx(np.sqrt(expected) / 0.5, rel=1e-12)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(("young", "density"), [(4.0, 1.0), (1.0, 9.0), (3.0, 0.5)])
def test_impedances(young: float, density: float, start: Any) -> None:
    """Bars end to end: ((Z₁ − Z₂)/(Z₁ + Z₂))² of the energy, Z = √(Eρ); amplitude 2 Z₁/(Z₁ + Z₂)."""
    other = aq.LinearElastic(young=young, density=density)
    left, right = bar("left", (0.0, 5.0), 500), bar("right", (5.0, 10.0), 500, other)
    system = aq.System([left, right], [aq.Tie(left.boundary("right"), right.boundary("left"))])
    found = aq.PlaneWaves(system).scatter(20.0, start=start)
    z = [1.0, np.sqrt(young * density)]
    own, behind = z if start == "left" else z[::-1]
    assert found.reflected == pytest.approx(((own - behind) / (own + behind)) ** 2, rel=1e-4)
    assert found.amplitude == pytest.approx(2.0 * own / (own + behind), rel=1e-4)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("mass", ["consistent", "lumped"])
@pytest.mark.parametrize("wave", [2.5, 4.0, 10.0])
def test_a_jump_of_cell_size(mass: str, wave: float, start: Any) -> None:
    """The half-lattices have the impedances (1/h + e Ω²h/6) sin(kh)/Ω, e = 1 for consistent and 0 for lumped mass.

    A half-lattice that ends at a node takes from it the force (1/h − 2e Ω²h/6 − (1 − e) Ω²h/2) u₀ − (1/h + e Ω²h/6) u₁;
    with u₁ = e^{−ikh} u₀ and the equation of the inner nodes this is i (1/h + e Ω²h/6) sin(kh) u₀.
    """
    small, big = 0.25, 1.0
    x = np.concatenate([np.arange(-8, 0) * small, np.arange(9) * big])
    found = aq.PlaneWaves(aq.System([aq.Bar("bar", aq.mesh.line(x), UNIT, mass=mass)])).scatter(wave, start=start)
    e = 1.0 if mass == "consistent" else 0.0

    def impedance(h: float) -> float:
        square = (found.frequency * h) ** 2
        cos = (6.0 - 2.0 * square) / (6.0 + square) if e else 1.0 - 0.5 * square
        return float((1.0 / h + e * found.frequency**2 * h / 6.0) * np.sin(np.arccos(cos)) / found.frequency)

    square = found.frequency**2
    # above the last frequency of the coarse lattice all comes back
    if start == "left" and square * big**2 > (12.0 if e else 4.0):
        assert found.reflected == pytest.approx(1.0, abs=1e-10)
        return
    z1, z2 = impedance(small), impedance(big)
    assert found.reflected == pytest.approx(((z1 - z2) / (z1 + z2)) ** 2, rel=1e-9)
    assert found.reflected + found.transmitted == pytest.approx(1.0, abs=1e-10)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(("wave", "angle"), [("P", 0.0), ("P", 30.0), ("S", 0.0), ("S", 30.0)])
@pytest.mark.parametrize("length", [2.5, 4.0, 8.0])
def test_energy_is_kept_without_damping(length: float, wave: Any, angle: float, start: Any) -> None:
    found = glued_strips().scatter(length, wave, angle, start)
    assert found.reflected + found.transmitted == pytest.approx(1.0, abs=1e-10)
    assert abs(found.absorbed) <= 1e-10
    assert found.reflected > 1e-8


def test_a_wave_that_the_coarse_lattice_does_not_carry() -> None:
    """All comes back, and what is behind has no phase; an absorber takes it instead."""
    fine, coarse = bar("fine", (-2.0, 6.0), 80), bar("coarse", (0.0, 12.0), 12)
    found = {
        absorber: aq.PlaneWaves(aq.System([coarse, fine], [aq.Junction(coarse, fine, absorbing=absorber)])).scatter(1.0)
        for absorber in (None, aq.Absorber())
    }
    plain, absorbing = found.values()
    assert plain.reflected == pytest.approx(1.0, abs=1e-10)
    assert plain.transmitted == pytest.approx(0.0, abs=1e-10) and np.isnan(plain.phase)
    assert absorbing.reflected < 0.02 and absorbing.absorbed > 0.98


def test_who_absorbs_here() -> None:
    """As in a run: True is the design of `Absorber`, and junctions do not absorb by default."""
    fine, coarse = bar("fine", (-2.0, 6.0), 80), bar("coarse", (0.0, 12.0), 12)
    found = [
        aq.PlaneWaves(aq.System([coarse, fine], [aq.Junction(coarse, fine, **options)])).scatter(1.4)
        for options in ({"absorbing": True}, {"absorbing": aq.Absorber()}, {"absorbing": None}, {})
    ]
    assert found[0].absorbed == found[1].absorbed > 0.9
    assert found[2].absorbed == found[3].absorbed and abs(found[3].absorbed) <= 1e-10


def contact() -> aq.System:
    own = bar("bar", (0.0, 8.0), 8)
    wall = aq.RigidPlane(point=(9.0,), normal=(-1.0,))
    return aq.System([own], interfaces=[aq.Interface("wall", own.boundary("right"), wall, aq.Unilateral())])


def graded() -> aq.System:
    return aq.System([aq.Bar("bar", aq.mesh.line(np.linspace(0.0, 1.0, 9) ** 2), UNIT)])


def slanted() -> aq.System:
    mesh = aq.mesh.rectangle((0.0, 8.0), (0.0, 3.0), cells=(8, 3))
    x, y = mesh.p
    moved = MeshQuad(np.stack([x + 0.02 * y * x * (8.0 - x), y]), mesh.t)
    return aq.System([aq.Solid("strip", moved, UNIT, plane="strain")])


def cube() -> aq.System:
    mesh = aq.mesh.box((0.0, 4.0), (0.0, 1.0), (0.0, 1.0), cells=(4, 1, 1))
    return aq.System([aq.Solid("cube", mesh, UNIT)])


LINEAR = "PlaneWaves: the system must be linear, without contact and imposed motions"


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("make", "how", "says"),
    [
        (lambda: aq.System([bar("bar", (0.0, 8.0), 8, imposed={"left": {"x": 0.0}})]), {}, LINEAR),
        (contact, {}, LINEAR),
        (cube, {}, "PlaneWaves: takes systems of one or two dimensions"),
        (graded, {}, "PlaneWaves: the ends must be regular columns of cells, at least two beyond the overlap"),
        (slanted, {}, "PlaneWaves: 'strip' must have the same nodes at its bottom and its top"),
        (None, {"wavelength": 1.9}, "wavelength = 1.9: must be above 2 m, two cells"),
        (None, {"wavelength": 0.0}, "wavelength = 0.0: must be positive"),
        (None, {"wavelength": 5.0, "wave": "S"}, "wave = 'S': in one dimension there are P waves along x alone"),
        (None, {"wavelength": 5.0, "wave": "R"}, "wave = 'R': "),
        (None, {"wavelength": 5.0, "angle": 90.0}, "angle = 90.0: "),
        (None, {"wavelength": 5.0, "start": "top"}, "start = 'top': "),
    ],
)
def test_refused(make: Any, how: dict[str, Any], says: str) -> None:
    with pytest.raises(aq.UserError) as refused:
        system = aq.System([bar("bar", (0.0, 8.0), 8)]) if make is None else make()
        aq.PlaneWaves(system).scatter(**{"wavelength": 5.0, **how})
    assert str(refused.value).startswith(says) and "\n" not in str(refused.value)


def test_a_step_is_positive() -> None:
    with pytest.raises(aq.UserError, match=r"^step = 0.0: must be positive"):
        aq.PlaneWaves(aq.System([bar("bar", (0.0, 8.0), 8)]), step=0.0)
