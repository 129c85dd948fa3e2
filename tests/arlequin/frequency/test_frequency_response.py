"""Frequency responses against closed forms: bars, beams, plates, springs, supports, reduced parts, free bodies."""

import warnings
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.frequency import BaseAcceleration, Displacement, Force, SpringForce, SupportForce, SupportMotion, Velocity
from arlequin.frequency.complex_factor import Factors
from arlequin.frequency.linearised import linearised

YOUNG, DENSITY = 2e11, 7800.0
STEEL = aq.LinearElastic(young=YOUNG, poisson=0.3, density=DENSITY)
SECTION = aq.Section.rectangle(height=0.02, width=0.01, poisson=0.3)
BENDING, LINE_MASS = YOUNG * 0.01 * 0.02**3 / 12.0, DENSITY * 0.01 * 0.02
CLAMPED = {"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}


def responses(system: aq.System, load: Any, of: Any, frequencies: Any, **options: Any) -> Any:
    return aq.frequency_response(system, load, of, frequencies, progress=False, **options)


def slender(cells: int = 40, **options: Any) -> aq.Beam:
    """A beam of Euler and Bernoulli, 0.5 m long."""
    return aq.Beam.between(
        "beam", (0.0, 0.0), (0.5, 0.0), cells, STEEL, SECTION, shear=False, rotary_inertia=False, **options
    )


def rod(cells: int = 20, **options: Any) -> aq.Bar:
    """A bar of 1 m and 1e-4 m², of cells of order 4."""
    return aq.Bar("rod", aq.mesh.interval(0.0, 1.0, cells=cells), STEEL, section=1e-4, order=4, **options)


def wave(frequencies: Any, modulus: Any = YOUNG, density: Any = DENSITY) -> Any:
    """Wave number of a bar."""
    return 2.0 * np.pi * frequencies * np.sqrt(density / modulus)


@pytest.mark.parametrize("method", ["direct", "modal"])
def test_cantilever_with_hysteretic_damping(method: str) -> None:
    """Tip receptance L³/(E*I) (cosh β sin β − sinh β cos β)/(β³ (1 + cosh β cos β)), E* = E (1 + iη)."""
    beam, loss = slender(imposed=CLAMPED), 0.02
    tip, f = beam.boundary("right"), np.linspace(5.0, 900.0, 60)
    options: dict[str, Any] = {"method": "modal", "modes": 60} if method == "modal" else {}
    found = responses(aq.System([beam]), Force(tip, (0.0, 1.0)), Displacement(tip, "y"), f, structural=loss, **options)
    modulus = BENDING * (1.0 + 1j * loss)
    b = (LINE_MASS * (2 * np.pi * f) ** 2 / modulus) ** 0.25 * 0.5
    exact = 0.5**3 / modulus * (np.cosh(b) * np.sin(b) - np.sinh(b) * np.cos(b)) / (b**3 * (1 + np.cosh(b) * np.cos(b)))
    assert np.abs(found["response"].values - exact).max() < 2e-6 * np.abs(exact).max()
    assert found["response"].attrs["units"] == "m" and found["response"].attrs["load_units"] == "N"


def test_rayleigh_damping_of_a_bar() -> None:
    """u(L) = tan(kL)/(E* A k) with E* = E (1 + iωb), ρ* = ρ (1 − ia/ω): M and K keep their shape under damping."""
    a, b = 300.0, 4e-6
    bar = rod(imposed={"left": {"x": 0.0}}, damping=aq.Rayleigh(mass=a, stiffness=b))
    f = np.linspace(100.0, 9000.0, 40)
    end, omega = bar.boundary("right"), 2 * np.pi * f
    found = responses(aq.System([bar]), Force(end, 1.0), Displacement(end, "x"), f)["response"].values
    modulus, density = YOUNG * (1 + 1j * omega * b), DENSITY * (1 - 1j * a / omega)
    k = wave(f, modulus, density)
    np.testing.assert_allclose(found, np.tan(k) / (modulus * 1e-4 * k), rtol=1e-8)


def test_a_matched_dashpot_absorbs_all_waves() -> None:
    """Mobility 1/(A√(ρE)) of a bar that ends in a dashpot of its impedance, at all frequencies."""
    bar, impedance = rod(), 1e-4 * np.sqrt(DENSITY * YOUNG)
    dashpot = aq.Spring("end", bar.boundary("right"), damping=impedance)
    start = bar.boundary("left")
    f = np.linspace(10.0, 9000.0, 30)
    found = responses(aq.System([bar], springs=[dashpot]), Force(start, 1.0), Velocity(start, "x"), f)
    np.testing.assert_allclose(found["response"].values * impedance, 1.0, rtol=1e-8)


def test_free_bar() -> None:
    """−cot(kL)/(EAk), a mass at low frequencies; nothing holds it in statics."""
    bar = rod()
    start, f = bar.boundary("left"), np.array([30.0, 700.0, 2000.0, 5000.0])
    system, load, of = aq.System([bar]), Force(start, 1.0), Displacement(start, "x")
    exact = -1.0 / (np.tan(wave(f)) * YOUNG * 1e-4 * wave(f))
    for options in ({}, {"method": "modal", "modes": 81}):
        np.testing.assert_allclose(responses(system, load, of, f, **options)["response"].values, exact, rtol=1e-7)
        with pytest.raises(aq.UserError, match="at 0 Hz the equations are singular"):
            responses(system, load, of, [0.0, 10.0], **options)


def navier(f: Any, thickness: float, loss: float, terms: int = 60) -> Any:
    """Mean deflection of a simply supported plate 1 m × 1 m under 1 N of uniform pressure, of Mindlin's theory.

    Of each term sin(mπx) sin(nπy), m and n odd, p = 16/(π² m n) and the mean 4/(π² m n), with k² = (m² + n²) π²
    [κGh k² − ρhω², −κGh k; −κGh k, D k² + κGh − ρh³ω²/12] [w; ψ] = [p; 0], κ = 5/6.
    """
    young, h, nu = YOUNG * (1 + 1j * loss), thickness, 0.3
    shear, plate = 5.0 / 6.0 * young / (2 * (1 + nu)) * h, young * h**3 / (12 * (1 - nu**2))
    odd = np.arange(1, terms, 2)
    m, n = (axis[..., None] for axis in np.meshgrid(odd, odd))
    k = np.pi * np.sqrt(m**2 + n**2)
    square = (2 * np.pi * f) ** 2
    turn = plate * k**2 + shear - DENSITY * h**3 / 12 * square
    w = 1.0 / (shear * k**2 - DENSITY * h * square - (shear * k) ** 2 / turn)
    return (64.0 / (np.pi**4 * m**2 * n**2) * w).sum(axis=(0, 1))


def test_plate_against_naviers_series() -> None:
    """A simply supported plate of solid cells, 2 % thick; its first resonance is at 95 Hz, the next that a uniform
    pressure excites at 473 Hz."""
    mesh = aq.mesh.box((0.0, 1.0), (0.0, 1.0), (0.0, 0.02), cells=(3, 3, 1))
    sides = {side: {"y": 0.0, "z": 0.0} for side in ("left", "right")}
    sides |= {side: {"x": 0.0, "z": 0.0} for side in ("bottom", "top")}
    plate = aq.Solid("plate", mesh, STEEL, order=4, imposed=sides)
    face, f, loss = plate.boundary("front"), np.array([0.0, 90.0, 96.0, 300.0]), 0.03
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = responses(
            aq.System([plate]), Force(face, (0.0, 0.0, 1.0)), Displacement(face, "z"), f, structural=loss
        )["response"].values
    exact = navier(f, 0.02, loss)
    np.testing.assert_allclose(found, exact, rtol=0.01)


def test_bushing_in_statics_and_its_loss_factor() -> None:
    """Tip deflection P (L³/3EI + 1/k_y + L²/k_φ) of a cantilever on a bushing; forces of the bushing −P, moment −PL."""
    beam, (ky, kr), loss = slender(), (3e6, 2e4), 0.1
    bushing = aq.Bushing("root", beam.boundary("left"), stiffness=(1e8, ky, kr))
    tip = beam.boundary("right")
    of = {"tip": Displacement(tip, "y"), "V": SpringForce(bushing, 1), "M": SpringForce(bushing, 2)}
    found = responses(
        aq.System([beam], springs=[bushing]), Force(tip, (0.0, 1.0)), of, [0.0], structural={"root": loss}
    )
    exact = 0.5**3 / (3 * BENDING) + (1 / ky + 0.25 / kr) / (1 + 1j * loss)
    assert found["tip"].item() == pytest.approx(exact, rel=1e-9)
    assert found["V"].item() == pytest.approx(-1.0, rel=1e-9)
    assert found["M"].item() == pytest.approx(-0.5, rel=1e-9)
    assert [found[name].attrs["units"] for name in of] == ["m", "N", "N m"]


@pytest.mark.parametrize("options", [{}, {"method": "modal", "modes": 120}], ids=["direct", "modal"])
def test_base_acceleration_is_the_motion_of_the_support(options: dict[str, Any]) -> None:
    """In a frame of acceleration a the support moves by −a/ω²: absolute = relative + support; the forces agree."""
    beam, f = slender(imposed=CLAMPED), np.linspace(20.0, 700.0, 15)
    tip, root, system = beam.boundary("right"), beam.boundary("left"), aq.System([beam])
    of = {"tip": Displacement(tip, "y"), "V": SupportForce(root, "y"), "M": SupportForce(root, "rz")}
    relative = responses(system, BaseAcceleration((0.0, 1.0)), of, f, structural=0.03, **options)
    absolute = responses(system, SupportMotion(root, "y"), of, f, structural=0.03, **options)
    support = -1.0 / (2 * np.pi * f) ** 2
    for name, rigid in (("tip", support), ("V", 0.0), ("M", 0.0)):
        found, expected = absolute[name].values * support, relative[name].values + rigid
        assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max(), name
    assert absolute["tip"].attrs["load_units"] == "m" and relative["tip"].attrs["load_units"] == "m/s^2"


def test_transmissibility_of_a_mass_on_a_moving_base() -> None:
    """(k + iωc)/(k + iωc − mω²), and the base carries the force of the spring and its own inertia."""
    mass = aq.PointMasses("mass", 0.0, 2.0)
    base = aq.PointMasses("base", 0.0, 5.0, imposed={"all": {"x": 0.0}})
    spring = aq.Spring("spring", mass.boundary("all"), base.boundary("all"), 800.0, damping=4.0)
    f = np.linspace(0.5, 20.0, 25)
    at, omega = base.boundary("all"), 2 * np.pi * f
    of = {"mass": Displacement(mass.boundary("all"), "x"), "force": SupportForce(at, "x")}
    system = aq.System([mass, base], springs=[spring])
    stiffness = 800.0 + 4j * omega
    exact = stiffness / (stiffness - 2.0 * omega**2)
    for options in ({}, {"method": "modal"}):
        found = responses(system, SupportMotion(at, "x"), of, f, **options)
        np.testing.assert_allclose(found["mass"].values, exact, rtol=1e-11)
        np.testing.assert_allclose(found["force"].values, stiffness * (1 - exact) - 5.0 * omega**2, rtol=1e-10)


def test_two_supports_that_move_together_and_apart() -> None:
    """Loads in a list act together: of a bar between moving ends cos(k(x − L/2))/cos(kL/2) and its odd counterpart."""
    bar = rod(imposed={"left": {"x": 0.0}, "right": {"x": 0.0}})
    ends, f = [bar.boundary("left"), bar.boundary("right")], np.array([300.0, 1700.0, 3000.0])
    load = {
        "together": [SupportMotion(end, "x") for end in ends],
        "apart": [SupportMotion(ends[0], "x", -1.0), SupportMotion(ends[1], "x", 1.0)],
    }
    found = responses(aq.System([bar]), load, SupportForce(ends[1], "x"), f)["response"]
    half, stiffness = 0.5 * wave(f), YOUNG * 1e-4 * wave(f)
    np.testing.assert_allclose(found.sel(load="together"), -stiffness * np.tan(half), rtol=1e-7)
    np.testing.assert_allclose(found.sel(load="apart"), stiffness / np.tan(half), rtol=1e-7)


def test_forces_of_supports_and_loads_are_the_change_of_momentum() -> None:
    """Σ R + F = −ω² m ū of a solid whose base and side are held: m ū from the velocity of equal shares of its mass."""
    mesh = aq.mesh.rectangle((0.0, 0.3), (0.0, 0.1), cells=(6, 2))
    held = {"left": {"x": 0.0, "y": 0.0}, "bottom": {"y": 0.0}}
    block = aq.Solid("block", mesh, STEEL, plane="stress", thickness=0.01, imposed=held, mass="lumped")
    side = block.boundary("right")
    f = np.array([800.0, 4000.0])
    of = {"left": SupportForce(block.boundary("left"), "x")}
    system = aq.System([block])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = responses(system, Force(side, (1.0, 0.0)), of, f, structural=0.05)["left"].values
        linear = linearised(system, "stuck", 0.05)
    forces = Force(side, (1.0, 0.0)).amplitudes(linear)[0][:, None]
    for k, frequency in enumerate(f):
        u = Factors(linear).at(frequency).solve(forces)[0][:, 0]
        momentum = (linear.assembly.mass @ u)[0::2].sum()
        assert found[k] + 1.0 == pytest.approx(-((2 * np.pi * frequency) ** 2) * momentum, rel=1e-9)


def test_reduced_parts_respond_as_the_full_part_below_their_cut_off() -> None:
    """Modal part and Craig–Bampton's superelement of a clamped beam, with its first 12 modes, up to the fifth."""
    beam = slender(imposed=CLAMPED)
    full = aq.System([beam])
    tip, f = beam.boundary("right"), np.linspace(10.0, 2000.0, 25)
    exact = responses(full, Force(tip, (0.0, 1.0)), Displacement(tip, "y"), f, structural=0.02)["response"].values
    modal = aq.Modal(beam, 30, static=[tip])
    short = aq.craig_bampton(beam, [tip], modes=30, boundary="free")
    for part in (modal, short):
        end = part.boundary("right")
        found = responses(aq.System([part]), Force(end, (0.0, 1.0)), Displacement(end, "y"), f, structural=0.02)
        assert np.abs(found["response"].values - exact).max() < 1e-6 * np.abs(exact).max(), part


def test_rigid_body_on_two_springs() -> None:
    """Bounce F/(2k − mω²) and pitch M/(k l²/2 − Jω²) of a rectangle on springs at its lower corners."""
    corners = [(0.0, 0.0), (0.4, 0.0), (0.4, 0.1), (0.0, 0.1)]
    body = aq.RigidBody("body", corners, density=1000.0, thickness=0.1, names={"a": [0], "b": [1]})
    mass, inertia = 4.0, 4.0 * (0.4**2 + 0.1**2) / 12.0
    springs = [aq.Spring(name, body.boundary(name), stiffness=(0.0, 1e4)) for name in ("a", "b")]
    guide = aq.Spring("guide", body.boundary("a"), stiffness=1e-9, direction=(1.0, 0.0))
    f = np.array([2.0, 9.0, 14.0])
    square = (2 * np.pi * f) ** 2
    load = {
        "bounce": [Force(body.boundary(name), (0.0, 0.5)) for name in ("a", "b")],
        "pitch": [Force(body.boundary("a"), (0.0, -2.5)), Force(body.boundary("b"), (0.0, 2.5))],
    }
    of = {name: Displacement(body.boundary(name), "y") for name in ("a", "b")}
    found = responses(aq.System([body], springs=[*springs, guide]), load, of, f)
    bounce, pitch = 1.0 / (2e4 - mass * square), 1.0 / (1e4 * 0.4**2 / 2 - inertia * square)
    np.testing.assert_allclose(found["a"].sel(load="bounce"), bounce, rtol=1e-9)
    np.testing.assert_allclose(found["b"].sel(load="pitch"), 0.2 * pitch, rtol=1e-9)


def test_axisymmetric_bar() -> None:
    """Waves along a round bar of Poisson's ratio 0: u = tan(kL)/(EAk); shaking it along the radius is refused."""
    straight = aq.LinearElastic(young=YOUNG, poisson=0.0, density=DENSITY)
    mesh = aq.mesh.rectangle((0.0, 0.05), (0.0, 1.0), cells=(1, 24))
    bar = aq.Solid("bar", mesh, straight, plane="axisymmetric", order=2, imposed={"bottom": {"y": 0.0}})
    top, f = bar.boundary("top"), np.array([200.0, 1500.0, 3000.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = responses(aq.System([bar]), Force(top, (0.0, 1.0)), Displacement(top, "y"), f)["response"].values
        area = np.pi * 0.05**2
        np.testing.assert_allclose(found, np.tan(wave(f)) / (YOUNG * area * wave(f)), rtol=1e-5)
        with pytest.raises(aq.UserError, match="must be 0 along x, the radius of the axisymmetric part 'bar'"):
            responses(aq.System([bar]), BaseAcceleration((1.0, 0.0)), Displacement(top, "y"), f)
