"""Statistical linearisation against closed forms, the exact densities of oscillators, and Monte Carlo."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import erfc, gamma
from scipy.stats import norm, t

import arlequin as aq
from arlequin.frequency import equivalents
from arlequin.frequency.transfer import ModalTransfer

K, C, S = 100.0, 0.4, 0.4  # N/m, N·s/m, N²/Hz of an oscillator of 1 kg
FREE = math.sqrt(S / (4.0 * C * K))  # rms under white noise without supports, m
WIDE = np.array([0.0, 2000.0])  # Hz


def white(surface, axis=1.0, density=S):
    return aq.frequency.Spectrum(aq.frequency.Force(surface, axis), lambda f: density + 0.0 * f)


def oscillator(law=None, stiffness=K, forces=None):
    mass = aq.PointMasses("mass", 0.0, 1.0, forces=forces or {})
    end = mass.boundary("all")
    springs = [aq.Spring("spring", end, stiffness=stiffness, damping=C)]
    if law is not None:
        springs.append(aq.Spring("stops", end, law=law))
    return aq.System([mass], springs=springs), end


def linearised(system, end, frequencies=WIDE, **options):
    of = aq.frequency.Displacement(end, "x")
    return aq.statistical_linearisation(system, white(end), of, frequencies, progress=False, **options)


# ---- equivalents


def test_gap_on_both_sides_has_the_closed_form():
    for gap in (0.1, 1.0, 4.0, 8.0):
        law = aq.springs.Backlash(3.0, gap=gap)
        each = equivalents.of_displacement(law.force, 0.0, 1.0, law.kinks)
        assert each.stiffness == pytest.approx(3.0 * erfc(gap / math.sqrt(2.0)), rel=1e-8)
        assert each.acting == pytest.approx(erfc(gap / math.sqrt(2.0)), rel=1e-8)


def test_stop_on_one_side_has_the_closed_form():
    mean, deviation, height = 0.3, 0.7, 0.5
    each = equivalents.of_displacement(lambda x: -2.0 * np.maximum(height - x, 0.0), mean, deviation, [height])
    b = (height - mean) / deviation
    assert each.stiffness == pytest.approx(2.0 * norm.cdf(b), rel=1e-12)
    assert each.force == pytest.approx(-2.0 * deviation * (norm.pdf(b) + b * norm.cdf(b)), rel=1e-12)


def test_cubic_spring_has_the_closed_form_and_is_the_slope_of_the_mean_force():
    law = aq.springs.Cubic(2.0, quadratic=0.5, cubic=3.0)
    each = equivalents.of_displacement(law.force, 0.4, 0.8, [])
    assert each.stiffness == pytest.approx(2.0 + 2.0 * 0.5 * 0.4 + 3.0 * 3.0 * (0.8**2 + 0.4**2), rel=1e-12)
    above, below = (equivalents.of_displacement(law.force, 0.4 + d, 0.8, []).force for d in (1e-4, -1e-4))
    assert each.stiffness == pytest.approx((above - below) / 2e-4, rel=1e-7)


def test_power_law_layer_against_quadrature():
    law = aq.Asperities(5.0, exponent=1.7, height=0.4)
    each = equivalents.of_displacement(lambda x: -law.pressure(x), 0.1, 0.3, [law.height])
    mean = quad(lambda x: law.pressure(np.array([x]))[0] * norm.pdf(x, 0.1, 0.3), -3.0, 0.4, epsabs=1e-13)[0]
    slope = quad(lambda x: 5.0 * 1.7 * (0.4 - x) ** 0.7 * norm.pdf(x, 0.1, 0.3), -3.0, 0.4, epsabs=1e-13)[0]
    assert each.force == pytest.approx(-mean, rel=1e-9)
    assert each.stiffness == pytest.approx(slope, rel=1e-9)
    # kinks that are not known: the rule is only as fine as its panels
    unknown = equivalents.of_displacement(lambda x: -law.pressure(x), 0.1, 0.3, None)
    assert unknown.stiffness == pytest.approx(slope, rel=1e-4)


def test_damping_in_loading_has_the_closed_form():
    law = aq.Asperities(1e-9, height=0.2, damping=4.0)  # while closing only
    each = equivalents.of_rate(lambda x, v: -law.damping_pressure(x, v), 0.0, 0.5, 3.0, [0.2])
    closed = norm.cdf(0.4)
    assert each.damping == pytest.approx(4.0 * closed / 2.0, rel=1e-9)
    assert each.force == pytest.approx(-4.0 * closed * 3.0 / math.sqrt(2.0 * math.pi), rel=1e-9)


def test_impact_element_against_quadrature():
    law = aq.ImpactElement(2.0, 1.5)

    def force(x, v):
        return -(law.pressure(x) + law.damping_pressure(x, v))

    each = equivalents.of_rate(force, 0.1, 1.0, 1.0, [0.0])

    def acting(x):  # ∂f/∂ẋ = C while 2x + 1.5ẋ < 0
        return 1.5 * norm.cdf(-2.0 * x / 1.5) * norm.pdf(x, 0.1, 1.0)

    assert each.damping == pytest.approx(quad(acting, -8.0, 0.0)[0], rel=1e-3)


def test_planar_friction_against_an_integral_over_angles():
    deviations = np.array([0.4, 1.3])
    angle = np.linspace(0.0, 2.0 * np.pi, 4001)[:-1]
    n = deviations[:, None] * np.stack([np.cos(angle), np.sin(angle)])
    size = np.linalg.norm(n, axis=0)
    # E[v_i²/|v|] = E[ρ] mean of n_i²/|n|, E[ρ] = √(π/2)
    shares, speed = equivalents.planar_shares(deviations)
    assert np.allclose(shares * deviations * equivalents.ROOT, math.sqrt(np.pi / 2) * (n**2 / size).mean(axis=1))
    assert speed * equivalents.ROOT == pytest.approx(math.sqrt(np.pi / 2) * size.mean())
    nearly = equivalents.planar_shares(np.array([1.0, 1.0 - 1e-7]))[0]
    assert np.allclose(nearly, np.pi / 4, rtol=1e-6)
    assert np.allclose(equivalents.planar_shares(np.array([1e-12, 1.0]))[0], [0.0, 1.0], atol=1e-9)


@pytest.mark.parametrize("clearance", [0.1, 0.7, 2.0])
def test_round_hole_has_the_closed_form(clearance):
    """Of an isotropic motion about the centre: ∫ over Rayleigh's density of the radius by parts."""
    deviation, b = 0.7, clearance / 0.7

    def force(r, rate):
        return 3.0 * np.maximum(r - clearance, 0.0) + 5.0 * (r > clearance) * rate

    square = deviation**2 * np.eye(2)
    each = equivalents.of_radius(force, np.zeros(2), square, 4.0 * np.eye(2), np.array([clearance]), True)
    touching = math.exp(-0.5 * b * b)
    stiffness = 3.0 * (touching - b * math.sqrt(np.pi / 8.0) * erfc(b / math.sqrt(2.0)))
    assert np.allclose(each.stiffness, stiffness * np.eye(2), rtol=0.0, atol=3e-10)
    assert np.allclose(each.damping, 2.5 * touching * np.eye(2), rtol=0.0, atol=5e-10)
    assert each.acting == pytest.approx(touching, abs=1e-10) and np.abs(each.force).max() < 1e-12


def test_round_hole_against_an_integral_in_polar_coordinates():
    """About an eccentric mean, of a correlated motion: E[∂f/∂w] by the slopes of the force."""
    mean, covariance = np.array([0.9, -0.5]), np.array([[0.5, 0.2], [0.2, 0.3]])
    rates = np.array([[2.0, 0.5], [0.5, 1.0]])
    angle, (x, w) = np.arange(800) * 2.0 * np.pi / 800, np.polynomial.legendre.leggauss(100)
    r = (1.0 + 4.0 * (x + 1.0))[:, None]  # clearance 1
    along = np.stack([np.cos(angle), np.sin(angle)])
    shift = r[None] * along[:, None] - mean[:, None, None]
    exponent = np.einsum("irt,ij,jrt->rt", shift, np.linalg.inv(covariance), shift)
    weights = np.exp(-0.5 * exponent) * 4.0 * w[:, None] * r / (800.0 * math.sqrt(np.linalg.det(covariance)))
    outer = np.einsum("it,jt->ijt", along, along)
    force = 3.0 * (r - 1.0)
    slopes = 3.0 * outer[:, :, None] + force / r * (np.eye(2)[:, :, None, None] - outer[:, :, None])

    def law(r, rate):
        return 3.0 * np.maximum(r - 1.0, 0.0) + 5.0 * (r > 1.0) * rate

    each = equivalents.of_radius(law, mean, covariance, rates, np.array([1.0]), True)
    assert np.allclose(each.force, np.einsum("it,rt->i", along, weights * force), rtol=0.0, atol=1e-9)
    assert np.allclose(each.stiffness, np.einsum("ijrt,rt->ij", slopes, weights), rtol=0.0, atol=1e-9)
    assert np.allclose(each.damping, np.einsum("ijt,rt->ij", 5.0 * outer, weights), rtol=0.0, atol=1e-9)


def cycle_of(increment, amplitude, cycles=2, points=4000):
    """C and S of the last of several cycles by time integration."""
    psi = np.linspace(0.0, 2.0 * np.pi * cycles, cycles * points + 1)
    x, f, forces = amplitude * np.cos(psi), 0.0, [0.0]
    for dx in np.diff(x):
        f = increment(f, dx)
        forces.append(f)
    last, f = psi[-points - 1 :], np.array(forces[-points - 1 :])
    return [np.trapezoid(f * shape(last), last) / np.pi for shape in (np.cos, np.sin)]


@pytest.mark.parametrize("amplitude", [0.7, 3.0])
def test_jenkins_cycle_against_time_integration(amplitude):
    exact = cycle_of(lambda f, dx: min(max(f + 2.0 * dx, -2.0), 2.0), amplitude)
    found = [value[0] for value in equivalents.jenkins_cycle(2.0, 2.0)(np.array([amplitude]))]
    assert np.allclose(found, exact, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("beta", "gamma", "exponent"), [(0.6, 0.4, 1.0), (0.6, -0.2, 2.0), (0.5, -0.5, 1.0)])
@pytest.mark.parametrize("amplitude", [0.5, 5.0])
def test_bouc_wen_cycle_against_time_integration(beta, gamma, exponent, amplitude):
    def increment(z, dx):
        def slope(z):
            return dx - abs(z) ** exponent * (gamma * dx + beta * abs(dx) * np.sign(z))

        return z + slope(z + 0.5 * slope(z))

    law = aq.springs.BoucWen(1.0, ratio=0.0, beta=beta, gamma=gamma, exponent=exponent)
    found = [value[0] for value in equivalents.bouc_wen_cycle(law)(np.array([amplitude]))]
    assert np.allclose(found, cycle_of(increment, amplitude, 12), rtol=1e-3, atol=1e-4)


def test_small_and_large_bouc_wen_cycles_are_those_of_a_spring_and_a_slider():
    law = aq.springs.BoucWen(3.0, ratio=0.0, beta=15.0, gamma=5.0)  # yields at 1/20 m
    small, large = (np.ravel(equivalents.bouc_wen_cycle(law)(np.array([a]))) for a in (1e-9, 40.0))
    assert np.allclose(small, [3e-9, 0.0], rtol=1e-5, atol=1e-14)
    assert large[1] == pytest.approx(-4.0 * 3.0 / 20.0 / np.pi, rel=0.01)


def test_friction_of_elastic_stick_lies_between_stick_and_slip():
    slips = equivalents.of_friction(1.0, 1e9, 0.0, 0.0, 0.5, 2.0)
    assert slips[1] == pytest.approx(math.sqrt(2.0 / np.pi) / 2.0, rel=1e-6)
    sticks = equivalents.of_friction(1e4, 1e3, 7.0, 0.0, 0.1, 2.0)
    assert sticks == pytest.approx((1e3, 7.0), rel=1e-9)
    regular = equivalents.of_friction(1.0, math.inf, 0.0, 1e-6, 0.5, 2.0)
    assert regular[1] == pytest.approx(math.sqrt(2.0 / np.pi) / 2.0, rel=1e-6)
    viscous = equivalents.of_friction(1e4, math.inf, 0.0, 0.5, 0.1, 2.0)
    assert viscous[1] == pytest.approx(2.0)


# ---- single oscillators


@pytest.mark.parametrize("ratio", [1.0, 100.0])
@pytest.mark.parametrize("gap", [0.1, 1.0, 10.0])
def test_stops_under_white_noise_are_the_fixed_point(ratio, gap):
    a = gap * FREE
    response = linearised(*oscillator(aq.springs.Backlash(ratio * K, gap=a)))

    def unbalanced(rms):
        return rms**2 - S / (4.0 * C * (K + ratio * K * erfc(a / rms / math.sqrt(2.0))))

    exact = brentq(unbalanced, 1e-3 * FREE, 1.001 * FREE, xtol=1e-15)
    assert float(response["rms_response"]) == pytest.approx(exact, rel=2e-6)
    support = response.sel(support="spring/stops")
    assert float(support["gap_over_rms"]) == pytest.approx(a / exact, rel=1e-5)
    assert float(support["rms"]) == pytest.approx(exact, rel=2e-6)


def test_purely_cubic_spring_has_the_known_error():
    """σ²/σ²_exact = Γ(1/4)/(2√3 Γ(3/4)) = 0.854 (Roberts & Spanos, 1990)."""
    mass = aq.PointMasses("mass", 0.0, 1.0)
    end = mass.boundary("all")
    spring = aq.Spring("spring", end, damping=C, law=aq.springs.Cubic(0.0, cubic=1e5))
    response = linearised(aq.System([mass], springs=[spring]), end)
    exact = 2.0 * math.sqrt(S / (4.0 * C) / 1e5) * gamma(0.75) / gamma(0.25)
    assert float(response["rms_response"]) ** 2 == pytest.approx(
        exact * gamma(0.25) / gamma(0.75) / (2.0 * math.sqrt(3.0)), rel=1e-4
    )


def test_buckled_spring_is_linearised_about_its_middle():
    mass = aq.PointMasses("mass", 0.0, 1.0)
    end = mass.boundary("all")
    spring = aq.Spring("spring", end, damping=C, law=aq.springs.Cubic(-100.0, cubic=4e4))
    rms = float(linearised(aq.System([mass], springs=[spring]), end)["rms_response"])
    assert rms**2 * (-100.0 + 3.0 * 4e4 * rms**2) == pytest.approx(S / (4.0 * C), rel=1e-4)


def test_stop_on_one_side_shifts_the_mean():
    plane = aq.RigidPlane(point=-0.5 * FREE, normal=1.0)
    force = 0.3 * K * FREE
    mass = aq.PointMasses("mass", 0.0, 1.0, forces={"all": (-force,)})
    end = mass.boundary("all")
    spring = aq.Spring("spring", end, stiffness=K, damping=C)
    stop = aq.Interface("stop", end, plane, aq.Penalty(4.0 * K))
    response = linearised(aq.System([mass], springs=[spring], interfaces=[stop]), end, tolerance=1e-11)
    support = response.sel(support="stop")
    mean, rms = float(support["mean"]), float(support["rms"])  # of the gap x + a
    b = mean / rms
    pressing = 4.0 * K * rms * (norm.pdf(b) - b * norm.cdf(-b))
    assert float(support["mean_force"]) == pytest.approx(pressing, rel=1e-9)
    assert K * (mean - 0.5 * FREE) + force == pytest.approx(pressing, rel=1e-8)
    assert float(support["contact_probability"]) == pytest.approx(norm.cdf(-b), rel=1e-9)
    assert rms**2 == pytest.approx(S / (4.0 * C * (K + 4.0 * K * norm.cdf(-b))), rel=1e-5)
    square = (4.0 * K * rms) ** 2 * ((1.0 + b * b) * norm.cdf(-b) - b * norm.pdf(b))
    assert float(support["rms_force"]) == pytest.approx(math.sqrt(square - pressing**2), rel=1e-8)
    linear = 4.0 * K * norm.cdf(-b)
    missed = math.sqrt(square - pressing**2 - (linear * rms) ** 2)
    assert float(support["residual"]) == pytest.approx(missed / ((K + linear) * rms), rel=1e-8)


def test_two_planes_are_the_same_as_a_backlash():
    gap = 0.7 * FREE
    system, end = oscillator(aq.springs.Backlash(5.0 * K, gap=gap))
    planes = [
        aq.Interface(name, end, aq.RigidPlane(point=-sign * gap, normal=sign), aq.Penalty(5.0 * K))
        for name, sign in (("below", 1.0), ("above", -1.0))
    ]
    stops = replace(system, springs=system.springs[:1], interfaces=planes)
    of = {"x": aq.frequency.Displacement(end, "x"), "below": aq.frequency.ContactForce(planes[0])}
    response = aq.statistical_linearisation(stops, white(end), of, WIDE, progress=False)
    expected = linearised(system, end)
    assert float(response["rms_x"]) == pytest.approx(float(expected["rms_response"]), rel=1e-6)
    below = response.sel(support="below")
    # the force of the equivalent, which is smaller than that of the law
    of_equivalent = float(below["equivalent_stiffness"] * below["rms"])
    assert float(response["rms_below"]) == pytest.approx(of_equivalent, rel=1e-6)
    assert of_equivalent < float(below["rms_force"])
    assert float(below["equivalent_stiffness"]) == pytest.approx(
        0.5 * float(expected["equivalent_stiffness"][0]), rel=1e-5
    )


def test_response_is_that_of_linear_springs_with_the_equivalents():
    mass = aq.PointMasses("pair", [[0.0], [1.0]], [1.0, 2.0], names={"a": 0, "b": 1})
    a, b = mass.boundary("a"), mass.boundary("b")
    springs = [
        aq.Spring("ground", a, stiffness=K, damping=C),
        aq.Spring("between", a, b, stiffness=2.0 * K, damping=0.1),
        aq.Spring("stop", b, law=aq.springs.Backlash(10.0 * K, gap=0.02)),
        aq.Spring("slider", a, law=aq.springs.Iwan([50.0], [0.4])),
    ]
    loads, of = white(a), {"b": aq.frequency.Displacement(b, "x"), "v": aq.frequency.Velocity(a, "x")}
    hertz = np.linspace(0.05, 8.0, 5)
    response = aq.statistical_linearisation(aq.System([mass], springs=springs), loads, of, hertz, progress=False)
    same = [
        aq.Spring(
            name,
            end,
            stiffness=float(response["equivalent_stiffness"].sel(support=f"spring/{name}")),
            damping=float(response["equivalent_damping"].sel(support=f"spring/{name}")),
        )
        for name, end in (("stop", b), ("slider", a))
    ]
    linear = aq.random_response(
        aq.System([mass], springs=springs[:2] + same), loads, of, hertz, method="direct", tolerance=1e-6, progress=False
    )
    for name in ("b", "v"):
        assert np.allclose(response[name], linear[name], rtol=1e-9)
        for number in ("rms", "zero_crossings", "peaks"):
            assert float(response[f"{number}_{name}"]) == pytest.approx(float(linear[f"{number}_{name}"]), rel=2e-6)
    assert float(response["equivalent_damping"].sel(support="spring/slider")) > 0.0


def slider(friction, axes=2, force=10.0, normal=None, gravity=True):
    place, up = (0.0,) * axes, np.eye(axes)[-1]
    mass = aq.PointMasses("mass", place, 1.0)
    end = mass.boundary("all")
    spring = aq.Spring("spring", end, stiffness=K, damping=C)
    floor = aq.Interface("floor", end, aq.RigidPlane(place, tuple(up)), normal or aq.Unilateral(), friction=friction)
    weight = tuple(-force * up) if gravity else None
    return aq.System([mass], springs=[spring], interfaces=[floor], gravity=weight), end


def shaken(system, end, axes=("x",), hertz=WIDE, density=S):
    all_axes = "xyz"[: end.positions.shape[1]]
    loads = [white(end, tuple(float(axis == name) for name in all_axes), density) for axis in axes]
    of = {axis: aq.frequency.Displacement(end, axis) for axis in axes}
    return aq.statistical_linearisation(system, loads, of, hertz, progress=False)


def test_friction_under_the_weight():
    system, end = slider(aq.Coulomb(0.02))
    response = shaken(system, end)
    support = response.sel(support="floor")
    rate = float(support["rms_slip_velocity"])
    damping = math.sqrt(2.0 / np.pi) * 0.2 / rate
    assert float(support["mean_force"]) == pytest.approx(10.0, rel=1e-9)
    assert float(support["friction_damping"]) == pytest.approx(damping, rel=1e-5)
    assert float(response["rms_x"]) ** 2 == pytest.approx(S / (4.0 * (C + damping) * K), rel=1e-5)
    # μ N E|v|, and the work of the load, S/4 m, less that of the dashpot (up to 2 kHz)
    power = float(support["friction_power"])
    assert power == pytest.approx(0.2 * math.sqrt(2.0 / np.pi) * rate, rel=1e-5)
    assert power + C * rate**2 == pytest.approx(S / 4.0, rel=1e-3)
    assert float(support["work_rate"]) == pytest.approx(power / 0.02)


def test_a_steady_load_along_a_rigid_floor_does_not_matter():
    system, end = slider(aq.Coulomb(0.02))
    pushed = replace(system, gravity=(3.0, -10.0))
    assert float(shaken(pushed, end)["rms_x"]) == pytest.approx(float(shaken(system, end)["rms_x"]), rel=1e-6)


def test_friction_in_the_plane_is_isotropic():
    system, end = slider(aq.Coulomb(0.02), axes=3)
    response = shaken(system, end, ("x", "y"))
    support = response.sel(support="floor")
    rate = float(support["rms_slip_velocity"]) / math.sqrt(2.0)
    damping = 0.5 * math.sqrt(np.pi / 2.0) * 0.2 / rate
    assert float(support["friction_damping"]) == pytest.approx(damping, rel=1e-5)
    for axis in ("x", "y"):
        assert float(response[f"rms_{axis}"]) ** 2 == pytest.approx(S / (4.0 * (C + damping) * K), rel=1e-5)


@pytest.mark.parametrize("stiffness", [math.inf, 3.0 * K])
def test_friction_in_the_plane_along_a_line_is_that_of_the_line(stiffness):
    """A single load along the diagonal: the slips along both tangents have the correlation 1."""
    friction = aq.Coulomb(0.02, stiffness=stiffness)
    line, end = slider(friction)
    plane, corner = slider(friction, axes=3)
    diagonal = aq.frequency.Spectrum(aq.frequency.Force(corner, (1.0, 1.0, 0.0)), lambda f: 0.5 * S + 0.0 * f)
    of = aq.frequency.Displacement(corner, "x")
    found = aq.statistical_linearisation(plane, diagonal, of, WIDE, progress=False)
    assert math.sqrt(2.0) * float(found["rms_response"]) == pytest.approx(float(shaken(line, end)["rms_x"]), rel=1e-5)


def test_elastic_stick_that_does_not_slip_is_a_spring():
    system, end = slider(aq.Coulomb(50.0, stiffness=3.0 * K))
    response = shaken(system, end)
    assert float(response["rms_x"]) ** 2 == pytest.approx(S / (4.0 * C * 4.0 * K), rel=1e-5)
    support = response.sel(support="floor")
    speed = math.sqrt(2.0 / np.pi) * float(support["rms_slip_velocity"])
    assert float(support["work_rate"]) == pytest.approx(10.0 * speed, rel=1e-9)  # N E|v|, as Archard's law has it
    assert abs(float(support["friction_power"])) < 1e-9


def test_layer_with_friction_under_preload():
    system, end = slider(aq.Coulomb(0.02), normal=aq.Penalty(1e4))
    support = shaken(system, end).sel(support="floor")
    assert float(support["contact_probability"]) == pytest.approx(1.0)
    assert float(support["gap_over_rms"]) < -100.0
    assert float(support["equivalent_stiffness"]) == pytest.approx(1e4, rel=1e-9)  # though the normal is at rest
    stiffness = 1e4 + K  # the spring in this direction holds, too
    assert float(support["mean"]) == pytest.approx(-10.0 / stiffness, rel=1e-6)


def test_beam_with_a_gap_under_turbulence():
    """The linear spring of the equivalent stiffness at the gap gives the same response."""
    system, of, stop = rod(gap=2e-4)
    hertz = np.linspace(1.0, 120.0, 5)
    flow = aq.frequency.TurbulentFlow()
    response = aq.statistical_linearisation(system, flow, of, hertz, progress=False)
    support = response.isel(support=0)
    assert 0.1 < float(support["gap_over_rms"]) < 3.0
    k = float(support["equivalent_stiffness"])
    same = replace(system, springs=[aq.Spring("stop", stop, stiffness=k, direction=(0.0, 1.0))])
    linear = aq.random_response(same, flow, of, hertz, progress=False)
    assert float(response["rms_tip"]) == pytest.approx(float(linear["rms_tip"]), rel=1e-4)
    assert np.allclose(response["tip"], linear["tip"], rtol=1e-3)
    free = aq.random_response(replace(system, springs=[]), flow, of, hertz, progress=False)
    assert float(response["rms_tip"]) < 0.9 * float(free["rms_tip"])


def rod(gap, seed=0, duration=40.0):
    """A clamped beam with a stop on both sides of its end in turbulence."""
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
    section = aq.Section.rectangle(height=0.01, width=0.01, poisson=0.3)
    flow = aq.Turbulence(
        aq.PlateauSpectrum(level=0.2, cutoff=30.0), highest=120.0, correlation=0.2, duration=duration, seed=seed
    )
    beam = aq.Beam.between(
        "beam", (0.0, 0.0), (0.8, 0.0), 8, steel, section, turbulence=flow, damping=aq.Rayleigh(2.0, 1e-5),
        imposed={"left": {"x": 0.0, "y": 0.0, "rz": 0.0}},
    )  # fmt: skip
    end = beam.boundary("right")
    play = aq.Spring("stop", end, direction=(0.0, 1.0), law=aq.springs.Backlash(2e4, gap=gap))
    return aq.System([beam], springs=[play]), {"tip": aq.frequency.Displacement(end, "y")}, end


def test_moving_support_and_hysteretic_stops_are_those_of_the_linear_equivalent():
    steel = aq.LinearElastic(young=2e9, poisson=0.0, density=1000.0)
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=6), steel, imposed={"left": {"x": 0.0}})
    left, right = bar.boundary("left"), bar.boundary("right")
    shaken = aq.frequency.Spectrum(aq.frequency.SupportMotion(left, "x"), ([1.0, 400.0], [1e-12, 1e-12]))  # m²/Hz
    hertz = np.linspace(1.0, 400.0, 4)

    def response(spring, method):
        of = {
            "end": aq.frequency.Displacement(right, "x"),
            "held": aq.frequency.SupportForce(left, "x"),
            "stop": aq.frequency.SpringForce(spring),
        }
        system = aq.System([bar], springs=[spring])
        loss = {"bar": 0.02, "stop": 0.1}
        return method(system, shaken, of, hertz, structural=loss, modes=6, modal_damping=0.0, progress=False)

    stops = aq.Spring("stop", right, law=aq.springs.Backlash(2e9, gap=2e-5))
    found = response(stops, aq.statistical_linearisation)
    k = float(found["equivalent_stiffness"][0])
    assert 0.1 * 2e9 < k < 0.9 * 2e9
    linear = response(aq.Spring("stop", right, stiffness=k), aq.random_response)
    for name in ("end", "held", "stop"):
        assert np.allclose(found[name], linear[name], rtol=1e-5), name
        assert float(found[f"rms_{name}"]) == pytest.approx(float(linear[f"rms_{name}"]), rel=1e-5), name


def test_forces_of_a_rigid_floor_with_friction():
    system, end = slider(aq.Coulomb(0.02))
    floor = system.interfaces[0]
    band = [0.0, 20.0], [S, S]  # Hz, N²/Hz
    loads = [aq.frequency.Spectrum(aq.frequency.Force(end, axis), band) for axis in ((1.0, 0.0), (0.0, 1.0))]
    of = {"normal": aq.frequency.ContactForce(floor), "along": aq.frequency.ContactForce(floor, "x")}
    response = aq.statistical_linearisation(system, loads, of, [0.0, 20.0], progress=False)
    assert float(response["rms_normal"]) == pytest.approx(math.sqrt(20.0 * S), rel=1e-9)
    support = response.sel(support="floor")
    dashpot = float(support["friction_damping"]) * float(support["rms_slip_velocity"])
    assert float(response["rms_along"]) == pytest.approx(dashpot, rel=1e-5)


def test_poles_have_the_closed_form():
    """Of k + iωc − ω²m, with a coordinate without mass, which has one real pole −k/c, and one without damping, none."""
    diagonal = np.diag([0.4, 2.0, 0.0])
    transfer = ModalTransfer(
        np.array([100.0, 50.0, 1.0]), np.array([1.0, 0.0, 0.0]), diagonal, np.zeros((3, 3)), np.zeros((3, 0, 3)), [],
        True, 1,
    )  # fmt: skip
    exact = [-0.2 + 1j * math.sqrt(100.0 - 0.04), -25.0]
    assert np.allclose(sorted(transfer.poles(50.0), key=abs), exact, rtol=1e-12)


# ---- refusals


def test_refusals():
    free, end = oscillator()
    stops, _ = oscillator(aq.springs.Backlash(K, gap=FREE))
    held, edge = slider(aq.Coulomb(3.0))
    limited = np.linspace(0.0, 20.0, 3)
    wall = aq.Interface("wall", end, aq.RigidPlane(point=-0.1, normal=1.0), aq.Unilateral())
    drop, foot = slider(aq.Coulomb(0.1), gravity=False)
    other, base = slider(aq.VelocityFriction([0.0, 1.0], [0.2, 0.1]))
    moving, moved = oscillator(aq.springs.Backlash(K, gap=FREE), forces={"all": lambda t: (math.sin(t),)})
    gravity = replace(stops, gravity=lambda t: -10.0 * t)
    film = aq.Interface("film", end, aq.RigidPlane(point=-0.1, normal=1.0), aq.SqueezeFilm(1.0))
    soft, weak = oscillator(aq.springs.Cubic(-2.0 * K, cubic=-1e4))
    undamped = aq.System([end.part], springs=[aq.Spring("stop", end, stiffness=K, law=aq.springs.Backlash(K, gap=1.0))])
    nothing = aq.frequency.Spectrum(aq.frequency.Force(end, 1.0), lambda f: 0.0 * f)
    of, ring = aq.frequency.Displacement(end, "x"), aq.RigidSphere((0.0, 0.0), FREE, inside=True)
    for call, text in (
        (lambda: linearised(free, end), "has no support with a gap"),
        (lambda: linearised(replace(free, interfaces=[wall]), end), "a rigid stop with a gap has no equivalent"),
        (lambda: shaken(held, edge, hertz=limited), "its friction sticks"),
        (lambda: shaken(drop, foot), "no steady load presses it"),
        (lambda: shaken(other, base), "takes Coulomb friction, not VelocityFriction"),
        (lambda: linearised(moving, moved), "its loads vary in time"),
        (lambda: in_a_hole(ring, 4.0, force="normal"), "in a round hole the normal turns"),
        (lambda: in_a_hole(ring, 4.0, friction=aq.Coulomb(0.1)), "in a round hole statistical linearisation takes"),
        (lambda: linearised(gravity, stops.parts[0].boundary("all")), "must not vary in time"),
        (lambda: linearised(replace(free, interfaces=[film]), end), "a squeeze film has no equivalent damping"),
        (lambda: linearised(soft, weak), "no steady state: it is unstable"),
        (lambda: linearised(undamped, end), "an undamped resonance at"),
        (lambda: aq.statistical_linearisation(undamped, nothing, of, WIDE, progress=False), "."),
        (lambda: linearised(*oscillator(aq.springs.Backlash(9e3, gap=FREE)), iterations=2), "did not converge in 2"),
        (lambda: linearised(stops, stops.parts[0].boundary("all"), [1.0]), "must be at least two"),
    ):
        with pytest.raises(aq.UserError) as error:
            call()
        assert text in str(error.value), str(error.value)
        assert "\n" not in str(error.value)


def test_zero_excitation():
    system, end = oscillator(aq.springs.Backlash(K, gap=FREE))
    of = aq.frequency.Displacement(end, "x")
    with pytest.raises(aq.UserError, match="psd: excites none of the nonlinear supports from 0 to 2000 Hz"):
        aq.statistical_linearisation(system, white(end, density=0.0), of, WIDE, progress=False)


# ---- Monte Carlo


def simulated_rms(system, gravities, duration, start, step, component):
    """Rms of a recorded displacement of the members of an ensemble about 0, and half the width of its 95 % band."""
    members = [replace(system, gravity=gravity) for gravity in gravities]
    result = aq.simulate_ensemble(
        members, aq.Theta(0.5), duration=duration + start, step=step, fields_every=4, progress=False
    )
    frames = component(result)
    variances = (frames.where(frames.frame_time > start) ** 2).mean("frame").values
    rms = math.sqrt(variances.mean())
    student = t.ppf(0.975, len(members) - 1)
    return rms, student * variances.std(ddof=1) / math.sqrt(len(members)) / (2.0 * rms)


def shaking(seed, duration, step, highest, density):
    """A periodic history of a flat one-sided spectrum up to the frequency `highest`, Hz."""
    random, count, lines = np.random.default_rng(seed), round(duration / step), int(highest * duration)
    normal = random.standard_normal((2, lines))
    spectrum = np.zeros(count // 2 + 1, dtype=complex)
    spectrum[1 : lines + 1] = normal[0] + 1j * normal[1]
    values = (np.fft.irfft(spectrum, count) * count / 2 * math.sqrt(density / duration)).tolist()
    return lambda time: values[round(time / step) % count]


def estimated_and_simulated(gap, ratio, members, duration, step=5e-3, highest=20.0):
    law = aq.springs.Backlash(ratio * K, gap=gap * FREE)
    system, end = oscillator(law)
    shaken = aq.frequency.Spectrum(aq.frequency.BaseAcceleration((1.0,)), ([0.0, highest], [S, S]))
    of = aq.frequency.Displacement(end, "x")
    estimate = aq.statistical_linearisation(system, shaken, of, [0.0, highest], progress=False)
    start = 30.0
    histories = [shaking(seed, duration + start, step, highest, S) for seed in range(members)]
    rms, half = simulated_rms(
        system, histories, duration, start, step, lambda result: result["part/mass/displacement"][:, :, 0, 0]
    )
    return float(estimate["rms_response"]), rms, half


def exact_rms(gap, ratio):
    """Of the density exp(−4cU/S₀) under white noise."""
    x = np.linspace(-8.0, 8.0, 40001) * FREE
    beyond = np.maximum(np.abs(x) - gap * FREE, 0.0)
    weights = np.exp(-4.0 * C / S * 0.5 * K * (x**2 + ratio * beyond**2))
    return math.sqrt(weights @ x**2 / weights.sum())


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0])
def test_error_against_monte_carlo(gap):
    """Monte Carlo agrees with the exact density, and the estimate has the error that is documented."""
    estimate, rms, half = estimated_and_simulated(gap, 10.0, members=8, duration=300.0)
    print(f"gap {gap:g}: {estimate / FREE:.4f}, Monte Carlo {rms / FREE:.4f} ± {half / FREE:.4f}")
    exact = exact_rms(gap, 10.0)
    assert rms == pytest.approx(exact, abs=2.0 * half)  # twice the 95 % band
    error = estimate / exact - 1.0
    documented = {0.1: -0.002, 0.2: -0.008, 0.5: -0.036, 1.0: -0.069, 2.0: -0.049, 5.0: 0.0, 10.0: 0.0}
    assert error == pytest.approx(documented[gap], abs=1e-3)
    assert abs(estimate / rms - 1.0 - error) < 2.0 * half / rms


@pytest.mark.parametrize(
    ("ratio", "gap", "error"),
    [(1.0, 1.0, -0.0061), (4.0, 1.0, -0.0324), (10.0, 3.0, -0.0068), (100.0, 0.5, -0.1495), (100.0, 4.0, -0.0027)],
)
@pytest.mark.sampled(2)
def test_documented_error_against_the_exact_density(ratio, gap, error):
    response = linearised(*oscillator(aq.springs.Backlash(ratio * K, gap=gap * FREE)))
    assert float(response["rms_response"]) / exact_rms(gap, ratio) - 1.0 == pytest.approx(error, abs=2e-4)


def in_a_hole(obstacle, ratio, force=None, **options):
    axes = obstacle.axes
    mass = aq.PointMasses("mass", (0.0,) * axes, 1.0)
    end = mass.boundary("all")
    spring = aq.Spring("spring", end, stiffness=K, damping=C)
    hole = aq.Interface("hole", end, obstacle, aq.Penalty(ratio * K), **options)
    system = aq.System([mass], springs=[spring], interfaces=[hole])
    if force is None:
        return shaken(system, end, ("x", "y"))
    of = aq.frequency.ContactForce(hole, force)
    return aq.statistical_linearisation(system, white(end, (1.0, 0.0)), of, WIDE, progress=False)


@pytest.mark.parametrize(
    ("ratio", "clearance", "error"), [(4.0, 1.5, -0.031), (10.0, 1.0, -0.054), (100.0, 0.5, -0.114)]
)
def test_documented_error_in_a_round_hole_against_the_exact_density(ratio, clearance, error):
    """p(r) ∝ r exp(−4cU(r)/S₀); the axes of a cylinder do not matter."""
    r = np.linspace(0.0, 9.0, 40001)
    weights = r * np.exp(-0.5 * (r**2 + ratio * np.maximum(r - clearance, 0.0) ** 2))
    exact = FREE * math.sqrt(0.5 * (weights @ r**2) / weights.sum())
    found = in_a_hole(aq.RigidSphere((0.0, 0.0), clearance * FREE, inside=True), ratio)
    assert float(found["rms_x"]) / exact - 1.0 == pytest.approx(error, abs=6e-4)
    assert float(found["rms"][0]) == pytest.approx(math.sqrt(2.0) * float(found["rms_y"]), rel=1e-5)
    cylinder = aq.RigidCylinder((0.0, 0.0, 1.0), (0.0, 0.0, 1.0), clearance * FREE, inside=True)
    assert float(in_a_hole(cylinder, ratio)["rms_y"]) == pytest.approx(float(found["rms_x"]), rel=1e-5)


def test_a_round_hole_along_a_line_has_the_force_of_its_stiffness():
    """Shaken along x alone: stops on both sides of the closed form, and the force of the linear equivalent."""
    ring = aq.RigidSphere((0.0, 0.0), FREE, inside=True)
    found = in_a_hole(ring, 4.0, force="x")
    rms, stiffness = float(found["rms"][0]), float(found["equivalent_stiffness"][0])
    assert stiffness == pytest.approx(4.0 * K * erfc(FREE / rms / math.sqrt(2.0)), rel=1e-5)
    assert rms**2 == pytest.approx(S / (4.0 * C * (K + stiffness)), rel=1e-5)
    assert float(found["rms_response"]) == pytest.approx(stiffness * rms, rel=1e-5)


@pytest.mark.parametrize(
    "law",
    [aq.Penalty(1e5), pytest.param(aq.ImpactElement(1e5, 10.0), marks=pytest.mark.slow)],
    ids=["spring", "damped"],
)
def test_a_ring_of_guides_is_a_round_hole(law):
    """The second node of a beam in a ring, or in a hole of a body; an eccentric ring under a steady load."""
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
    section = aq.Section.circle(2e-3, steel.poisson)
    flow = aq.Turbulence(aq.PlateauSpectrum(1e-3, 30.0), highest=100.0, correlation=0.2, duration=1.0, seed=0)
    beam = aq.Beam(
        "beam", aq.mesh.line(np.linspace(0.0, 1.0, 5)), steel, section, origin=(0.0, 0.0, 0.0), up=(0.0, 1.0, 0.0),
        direction=(0.0, 0.0, 1.0), imposed={"left": dict.fromkeys(("x", "y", "z", "rx", "ry", "rz"), 0.0)},
        fluid_damping=2.0, turbulence=flow, points={"middle": aq.SectionPoints(0.5)},
    )  # fmt: skip
    of = aq.frequency.Displacement(beam.boundary("middle"), "x")

    def response(slave, master):
        ring = aq.Interface("ring", beam.boundary(slave), master, law)
        system = aq.System([beam], interfaces=[ring])
        return aq.statistical_linearisation(system, aq.frequency.TurbulentFlow(), of, [1.0, 30.0], progress=False)

    hole = aq.RigidCylinder((2e-5, 0.0, 0.0), (0.0, 0.0, 1.0), 5e-5, inside=True)
    found = response("axis", aq.Guides([(2e-5, 0.0, 0.5)], 5e-5, (0.0, 0.0, 1.0)))
    expected = response("middle", hole)
    assert float(found["contact_probability"][0]) > 0.01
    for name in ("rms_response", "mean_force", "equivalent_stiffness", "equivalent_damping"):
        assert float(found[name].squeeze()) == pytest.approx(float(expected[name].squeeze()), rel=1e-4), name


@pytest.mark.slow
def test_beam_in_turbulence_against_monte_carlo():
    """A stop 20 times as stiff as the beam at 0.07 of the free rms: the estimate is 11 % too large, as documented."""
    gap, duration, step = 2e-4, 40.0, 1e-3
    system, of, _ = rod(gap)
    estimate = aq.statistical_linearisation(
        system, aq.frequency.TurbulentFlow(), of, np.linspace(1.0, 120.0, 3), progress=False
    )
    variances = []
    for seed in range(6):
        member = rod(gap, seed=seed, duration=duration)[0]
        result = aq.simulate(member, aq.Theta(0.5), duration=duration, step=step, fields_every=4, progress=False)
        tip = result["part/beam/displacement"].isel(node=-1).sel(component="y")
        variances.append(float((tip.where(tip.frame_time > 2.0) ** 2).mean()))
    rms = math.sqrt(np.mean(variances))
    half = t.ppf(0.975, 5) * np.std(variances, ddof=1) / math.sqrt(6.0) / (2.0 * rms)
    print(f"{float(estimate['rms_tip']):.5g} m, Monte Carlo {rms:.5g} ± {half:.2g} m")
    # the same time histories with the spring k_e, or without stop, agree with the linear spectra within their bands
    assert float(estimate["rms_tip"]) / rms - 1.0 == pytest.approx(0.11, abs=1.5 * half / rms)
    assert half < 0.08 * rms


@pytest.mark.slow
@pytest.mark.parametrize(
    ("friction", "error"),
    [
        (aq.Coulomb(0.1), -0.07),
        (aq.Coulomb(0.1, stiffness=10.0 * K), -0.14),
        (aq.Coulomb(0.3, stiffness=3.0 * K), -0.17),
        (aq.Coulomb(0.5, stiffness=10.0 * K), -0.38),
    ],
)
def test_friction_against_monte_carlo(friction, error):
    """The power agrees, the displacement has the error that is documented."""
    highest, duration, start, step, members = 20.0, 150.0, 20.0, 5e-3, 8
    system, end = slider(friction)
    shaken = aq.frequency.Spectrum(aq.frequency.BaseAcceleration((1.0, 0.0)), ([0.0, highest], [S, S]))
    of = aq.frequency.Displacement(end, "x")
    estimate = aq.statistical_linearisation(system, shaken, of, [0.0, highest], progress=False)

    def gravity(seed):
        history = shaking(seed, duration + start, step, highest, S)
        return lambda time: (history(time), -10.0)

    ensemble = [replace(system, gravity=gravity(seed)) for seed in range(members)]
    result = aq.simulate_ensemble(
        ensemble, aq.Theta(0.5), duration=duration + start, step=step, fields_every=4, progress=False
    )
    frames = result["part/mass/displacement"][:, :, 0, 0]
    rms = math.sqrt(float((frames.where(frames.frame_time > start) ** 2).mean()))
    assert float(estimate["rms_response"]) / rms - 1.0 == pytest.approx(error, abs=0.04)
    lost = result["energy"].sel(kind="friction").values
    power = (lost[:, -1] - lost[:, round(start / step)]).mean() / duration
    assert float(estimate["friction_power"][0]) == pytest.approx(power, rel=0.1)
