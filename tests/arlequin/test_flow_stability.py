"""Stability of beams and tubes in a flow: against closed forms, the differential equation, and published values."""

from dataclasses import replace

import matplotlib
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import arlequin as aq
from arlequin.frequency.linearised import linearised
from arlequin.models.flow.beam_fields import BeamFields

matplotlib.use("Agg")
CLAMPED, PINNED, SLIDING = {"x": 0.0, "y": 0.0, "rz": 0.0}, {"x": 0.0, "y": 0.0}, {"y": 0.0}
SUPPORTS = {
    "clamped-free": {"left": CLAMPED},
    "pinned-pinned": {"left": PINNED, "right": SLIDING},
    "clamped-clamped": {"left": CLAMPED, "right": {"y": 0.0, "rz": 0.0}},
}
SECTION = aq.Section.circle(0.02)
RUBBER = aq.LinearElastic(young=2e6, poisson=0.3, density=1000.0)
STIFFNESS, STRUCTURE = 2e6 * SECTION.inertia_z, 1000.0 * SECTION.area  # EI, m


def beam(supports, beta, cells=8, length=1.0, **options):
    """A beam of Euler and Bernoulli with β = M/(M + m), and the unit of velocity √(EI/M)/L."""
    mass = beta / (1.0 - beta) * STRUCTURE
    part = aq.Beam(
        "beam", aq.mesh.interval(0.0, length, cells=cells), RUBBER, SECTION, dimension=2, imposed=SUPPORTS[supports],
        added_mass=mass, shear=False, rotary_inertia=False, **options,
    )  # fmt: skip
    return part, np.sqrt(STIFFNESS / mass) / length


def pipe(supports, beta, **options):
    part, unit = beam(supports, beta, **options)
    return aq.System([part], flows=[aq.flow.PipeFlow("water", part, unit, fluid_mass=part.added_mass)]), unit


@pytest.mark.parametrize("supports, exact", [("pinned-pinned", np.pi), ("clamped-clamped", 2.0 * np.pi)])
@pytest.mark.parametrize("beta", [0.1, 0.6])
def test_a_supported_pipe_buckles_as_a_column_under_the_thrust_of_the_fluid(supports, exact, beta):
    """M U² = Euler's load, whatever the mass ratio; the Coriolis force does no work."""
    system, unit = pipe(supports, beta, cells=12)
    scan = aq.critical_velocity(system, unit * np.array([0.0, 0.9 * exact, 1.1 * exact]))
    assert scan["onset_kind"].values.tolist() == ["divergence"]
    assert scan.attrs["critical_velocity"] / unit == pytest.approx(exact, rel=2e-4)


def exact_determinant(u, beta, omega):
    """Characteristic determinant of a cantilevered pipe: η = Σ A_j e^{iα_j ξ}, α⁴ − u²α² − 2√β u ω α − ω² = 0 (Gregory
    & Païdoussis 1966), with η = η′ = 0 at 0 and η″ = η‴ = 0 at 1."""
    alpha = np.roots([1.0, 0.0, -(u**2), -2.0 * np.sqrt(beta) * u * omega, -(omega**2)])
    end = np.exp(1j * alpha)
    return np.linalg.det(np.array([np.ones(4), alpha, alpha**2 * end, alpha**3 * end]))


@pytest.mark.parametrize("beta, u, omega", [(0.2, 5.59, 13.7), (0.5, 9.32, 26.5), (0.8, 13.0, 35.0)])
def test_flutter_of_a_cantilevered_pipe_is_that_of_the_differential_equation(beta, u, omega):
    from scipy.optimize import fsolve

    def equations(unknowns):
        value = exact_determinant(unknowns[0], beta, unknowns[1])
        return value.real, value.imag

    system, unit = pipe("clamped-free", beta, cells=18)
    scan = aq.critical_velocity(system, unit * np.linspace(0.0, 15.0, 16))
    found = scan.attrs["critical_velocity"] / unit
    frequency = scan["onset_frequency"].values[0] * 2.0 * np.pi / (unit * np.sqrt(beta))
    exact_u, exact_omega = fsolve(equations, (found, frequency), xtol=1e-12)
    assert abs(exact_determinant(exact_u, beta, exact_omega)) < 1e-6
    assert found == pytest.approx(exact_u, rel=1e-3)
    assert frequency == pytest.approx(exact_omega, rel=1e-3)


def test_flutter_of_a_cantilevered_pipe_is_the_published_one():
    """Païdoussis, Fluid–Structure Interactions, vol. 1, p. 112 (Gregory & Païdoussis 1966): u = 5.6 at β = 0.2, 2 %."""
    system, unit = pipe("clamped-free", 0.2)
    scan = aq.critical_velocity(system, unit * np.linspace(0.0, 8.0, 9))
    assert scan["onset_kind"].values.tolist() == ["flutter"]
    assert scan.attrs["critical_velocity"] / unit == pytest.approx(5.6, rel=0.02)
    # the mode that becomes unstable is the second, at the frequency read off the same Argand diagram
    assert scan["growth_rate"].values[1:5].max() < 0.0  # before it, flow damps all modes
    assert aq.plots.argand(scan).axes[0].get_title(loc="left").startswith("unstable from")


def companion(system, velocity):
    """Growth rate max Re λ of a pipe in a flow, |λ| < 50 1/s, by the standard eigenvalue problem of (u, v); of higher
    modes are those along the pipe, without damping."""
    linear = linearised(replace(system, flows=[flow.at(velocity) for flow in system.flows]), "open")
    free = linear.free
    mass, damping, stiffness = (
        matrix.toarray()[np.ix_(free, free)] for matrix in (linear.mass, linear.damping, linear.stiffness)
    )
    right = -np.linalg.solve(mass, np.hstack([stiffness, damping]))
    values = np.linalg.eigvals(np.vstack([np.eye(*right.shape, k=len(mass)), right]))
    return values[np.abs(values) < 50.0].real.max()


def test_flutter_that_ends_between_two_velocities_is_found():
    """A cantilevered pipe of β = 0.295 flutters, is stable again and flutters: against the roots of max Re λ."""
    system, unit = pipe("clamped-free", 0.295, cells=6)
    scan = aq.critical_velocity(system, unit * np.array([0.0, 6.0, 8.0]), tolerance=1e-5)
    assert scan["onset_kind"].values.tolist() == ["flutter", "restabilised"]
    assert scan["velocity"].size == 3 and (scan["growth_rate"].values < 0.0)[1:].all()
    exact = [
        scipy.optimize.brentq(lambda u: companion(system, u * unit), *ends, xtol=1e-7)
        for ends in ((7.0, 7.5), (7.6, 7.99))
    ]
    np.testing.assert_allclose(scan["onset_velocity"].values / unit, exact, rtol=1e-5)


def test_round_off_of_large_systems_is_no_growth():
    """A pinned pipe without damping, by Arnoldi's iteration with a shift next to a growing eigenvalue: between 2π and
    the velocity at which the two modes that buckle meet, Re λ of all others is 0."""
    system, unit = pipe("pinned-pinned", 0.1, cells=60)
    scan = aq.critical_velocity(system, unit * np.array([6.355, 6.357, 6.36]), tolerance=1e-4)
    assert scan["onset_kind"].values.tolist() == ["divergence"]
    rates = np.sort(scan["growth_rate"].values, axis=1)
    assert (rates[:, 2:] > 1.0).all() and np.abs(rates[:, :2]).max() < 1e-9


@pytest.mark.parametrize("damping", [0.0, 1e-5])
def test_two_modes_that_meet_flutter_in_a_narrow_window(damping):
    """ü + c u̇ + diag(1, 1.5) u + U² (0.4 κ; −κ 0) u = 0: μ = (k₁ + k₂)/2 ± i√(κ²U⁴ − (k₁ − k₂)²/4) grows where its root
    does, |0.4 U² − 0.5| < 2κU² without damping, and with it Im √μ > c/2."""
    coupling = 4e-4
    mass = aq.PointMasses("mass", (0.0, 0.0), 1.0)
    spring = aq.Spring("held", mass.boundary("all"), stiffness=(1.0, 1.5), damping=damping)
    flow = aq.flow.MatrixFlow("flow", mass, 1.0, stiffness=[[0.4, coupling], [-coupling, 0.0]])
    scan = aq.critical_velocity(aq.System([mass], springs=[spring], flows=[flow]), [0.0, 1.0, 2.0, 3.0], count=2)

    def growth(u):
        square = np.array([1.0 + 0.4 * u**2, 1.5])
        root = np.sqrt(complex(0.25 * np.diff(square)[0] ** 2 - (coupling * u**2) ** 2))
        return np.sqrt(complex(0.25 * damping**2 - square.mean() + root)).real.max() - 0.5 * damping

    edges = np.sqrt([0.5 / (0.4 + 2 * coupling), 0.5 / (0.4 - 2 * coupling)])
    if damping:
        centre = np.sqrt(0.5 / 0.4)
        edges = [scipy.optimize.brentq(growth, edge, centre, xtol=1e-10) for edge in edges]
    assert scan["onset_kind"].values.tolist() == ["flutter", "restabilised"]
    np.testing.assert_allclose(scan["onset_velocity"].values, edges, rtol=2e-6)


def strong_form(beta, u, friction, tail, drag, points=28, h=0.0):
    """Eigenvalues (dimensionless) of Païdoussis' equation by collocation at Chebyshev points:

    η⁗ + (∂_τ√β.. + u∂_ξ)²-terms − T η″ + ½ε c u √β η̇ + ½ε c u² (1 + h) η′ + η̈ = 0 with c_N = c_T, and at the free end
    η″ = 0, η‴ + f u (√β η̇ + u η′) = 0.
    """
    k = np.arange(points + 1)
    x = np.cos(np.pi * k / points)
    weights = np.ones(points + 1)
    weights[[0, -1]] = 2.0
    weights *= (-1.0) ** k
    difference = x[:, None] - x[None] + np.eye(points + 1)
    d = np.outer(weights, 1.0 / weights) / difference
    d -= np.diag(d.sum(axis=1))
    d *= 2.0  # on [0, 1], ξ = (1 + x)/2: the first point is ξ = 1
    xi = 0.5 * (1.0 + x)
    d2, d3, d4 = d @ d, d @ d @ d, d @ d @ d @ d
    one, zero = np.eye(points + 1), np.zeros((points + 1, points + 1))
    tension = 0.5 * friction * (1.0 + h) * u**2 * (1.0 - xi) + drag * u**2
    stiffness = d4 + u**2 * d2 - tension[:, None] * d2 + 0.5 * friction * u**2 * (1.0 + h) * d
    damping = 2.0 * np.sqrt(beta) * u * d + 0.5 * friction * np.sqrt(beta) * u * one
    mass = one.copy()
    for row, (k_row, c_row) in {
        0: (d2[0], zero[0]),
        1: (d3[0] + tail * u**2 * d[0], tail * np.sqrt(beta) * u * one[0]),
        points - 1: (d[-1], zero[0]),
        points: (one[-1], zero[0]),
    }.items():
        stiffness[row], damping[row], mass[row] = k_row, c_row, 0.0
    first = np.block([[zero, one], [-stiffness, -damping]])
    values = scipy.linalg.eigvals(first, np.block([[one, zero], [zero, mass]]))
    values = values[np.isfinite(values) & (np.abs(values) < 1e4)]
    return values[np.argsort(np.abs(values))]


@pytest.mark.parametrize(
    "beta, u, friction, tail, drag, h",
    [(0.5, 1.5, 1.0, 0.8, 0.0, 0.0), (0.5, 5.5, 1.0, 0.8, 0.0, 0.0), (0.3, 4.0, 0.5, 0.3, 0.2, 0.4)],
)
def test_a_cylinder_in_axial_flow_has_the_eigenvalues_of_the_differential_equation(beta, u, friction, tail, drag, h):
    """Weak form against the strong form by collocation; ε c_N = 4 L C_N/(π D), confinement, blunt and tapered ends."""
    part, unit = beam("clamped-free", beta, cells=12)
    diameter = 0.04
    density = part.added_mass / (np.pi * diameter**2 / 4.0)
    coefficient = friction * np.pi / 4.0 * diameter
    flow = aq.flow.AxialFlow(
        "flow", part, u * unit, density=density, diameter=diameter, normal_friction=coefficient,
        longitudinal_friction=coefficient, tail=tail, base_drag=drag * np.pi / 2.0,
        hydraulic_diameter=diameter / h if h else None,
    )  # fmt: skip
    modes = aq.complex_modes(aq.System([part], flows=[flow]), count=3)
    found = modes.eigenvalues / (unit * np.sqrt(beta))  # λ L² √((M + m)/EI)
    exact = strong_form(beta, u, friction, tail, drag, h=h)
    exact = exact[exact.imag > -1e-9]
    for value in found:
        assert np.abs(exact - value).min() < 2e-3 * abs(value)


def test_onsets_of_a_cylinder_in_axial_flow_are_the_published_ones():
    """β = 0.5, ε c_N = ε c_T = 1, f = 0.8, c_b = 0 of Païdoussis (1973; vol. 2, §8.3): divergence at u = 2.04, flutter
    in the second mode at 5.16, in the third at 8.17, with a short conical end (χ_e = 0.01), which is left out here."""
    part, unit = beam("clamped-free", 0.5, cells=12)
    diameter = 0.04
    coefficient = np.pi / 4.0 * diameter
    flow = aq.flow.AxialFlow(
        "flow", part, unit, density=part.added_mass / (np.pi * diameter**2 / 4.0), diameter=diameter,
        normal_friction=coefficient, longitudinal_friction=coefficient, tail=0.8,
    )  # fmt: skip
    scan = aq.critical_velocity(aq.System([part], flows=[flow]), unit * np.linspace(0.0, 8.5, 18))
    kinds, onsets = scan["onset_kind"].values.tolist(), scan["onset_velocity"].values / unit
    assert kinds == ["divergence", "restabilised", "flutter", "flutter"]
    assert onsets[[0, 2, 3]] == pytest.approx([2.04, 5.16, 8.17], rel=0.02)


def test_friction_and_drag_hold_a_cylinder_between_supports_as_a_tension_does():
    """With C_N = C_T the forces of friction are conservative for supported ends, ∫ T w′y′, T = q (L/2 − x)."""
    part, unit = beam("pinned-pinned", 0.4)
    options = {"density": 1000.0, "diameter": 0.04, "normal_friction": 0.03, "longitudinal_friction": 0.03}
    flow = aq.flow.AxialFlow("flow", part, 2.0 * unit, axially_held=True, **options)
    without = aq.flow.AxialFlow("flow", part, 2.0 * unit, density=1000.0, diameter=0.04)
    free = [i for i in range(part.dof_count) if i not in (0, 1, part.dof_count - 2)]
    stiffness = (flow.matrices({}).stiffness - without.matrices({}).stiffness).toarray()[np.ix_(free, free)]
    drag = 0.5 * 1000.0 * 0.04 * (2.0 * unit) ** 2 * 0.03
    fields = BeamFields.of(part, None)
    tension = fields.integral(fields.slopes, fields.slopes, drag * (0.5 - fields.arc_length))
    exact = tension.toarray()[np.ix_(free, free)]
    assert np.abs(stiffness - exact).max() < 1e-12 * np.abs(exact).max()


@pytest.mark.parametrize("flow_of", ["pipe", "cylinder"])
def test_a_flow_the_other_way_is_the_mirror_image(flow_of):
    def modes(towards):
        end = "left" if towards == "right" else "right"
        part, unit = beam("clamped-free", 0.3)
        part = aq.Beam(
            "beam", part.mesh, RUBBER, SECTION, dimension=2, imposed={end: CLAMPED}, added_mass=part.added_mass
        )
        if flow_of == "pipe":
            flow = aq.flow.PipeFlow("flow", part, 4.0 * unit, fluid_mass=part.added_mass, towards=towards)
        else:
            flow = aq.flow.AxialFlow(
                "flow", part, 4.0 * unit, density=1000.0, diameter=0.04, normal_friction=0.05, tail=0.6,
                longitudinal_friction=0.02, base_drag=0.1, hydraulic_diameter=0.1, towards=towards,
            )  # fmt: skip
        return aq.complex_modes(aq.System([part], flows=[flow]), count=3).eigenvalues

    one, other = modes("right"), modes("left")
    assert np.abs(one - other).max() < 1e-8 * np.abs(one).max()


def test_reduced_parts_and_beams_in_space_have_the_same_eigenvalues():
    part, unit = beam("clamped-free", 0.3)
    speed = 5.0 * unit
    water = aq.flow.PipeFlow("water", part, speed, fluid_mass=part.added_mass)
    usual = aq.complex_modes(aq.System([part], flows=[water]), count=3).eigenvalues
    modal = aq.Modal(part, 14)
    reduced = aq.System([modal], flows=[aq.flow.PipeFlow("water", modal, speed, fluid_mass=part.added_mass)])
    assert np.abs(aq.complex_modes(reduced, count=3).eigenvalues - usual).max() < 1e-4 * np.abs(usual).max()
    short = aq.craig_bampton(part, [part.boundary("right")], modes=14)
    system = aq.System([short], flows=[aq.flow.MatrixFlow.of(water, short)])
    assert np.abs(aq.complex_modes(system, count=3).eigenvalues - usual).max() < 1e-4 * np.abs(usual).max()
    all_held = {"left": dict.fromkeys(("x", "y", "z", "rx", "ry", "rz"), 0.0)}
    space = aq.Beam.between(
        "beam", (0.0, 0.0, 0.0), (0.0, 0.6, 0.8), 8, RUBBER, SECTION, imposed=all_held, added_mass=part.added_mass,
        shear=False, rotary_inertia=False,
    )  # fmt: skip
    in_space = aq.System([space], flows=[aq.flow.PipeFlow("water", space, speed, fluid_mass=part.added_mass)])
    pairs = aq.complex_modes(in_space, count=4).eigenvalues
    for value in usual[:2]:  # each mode in two planes
        assert np.sort(np.abs(pairs - value))[1] < 1e-5 * abs(value)


def test_complex_modes_of_large_systems_are_those_of_small_ones():
    """Arnoldi's iteration, with constraints, against the dense eigensolver on the same system."""
    from arlequin.frequency import quadratic_pencil

    part, unit = beam("clamped-free", 0.3, cells=30)
    tip = aq.PointMasses("tip", (1.0, 0.0), 0.1)
    tie = aq.Relation("tie", [(part.boundary("right"), "y", 1.0), (tip.boundary("all"), "y", -1.0)])
    held = aq.Spring("held", tip.boundary("all"), stiffness=(1.0, 0.5), damping=(0.01, 0.02))
    water = aq.flow.PipeFlow("water", part, 3.0 * unit, fluid_mass=part.added_mass)
    system = aq.System([part, tip], springs=[held], relations=[tie], flows=[water])
    sparse = aq.complex_modes(system, count=4)
    saved, quadratic_pencil._DENSE = quadratic_pencil._DENSE, 1000
    try:
        dense = aq.complex_modes(system, count=4)
    finally:
        quadratic_pencil._DENSE = saved
    assert np.abs(sparse.eigenvalues - dense.eigenvalues).max() < 1e-7 * np.abs(dense.eigenvalues).max()
    residual = np.abs(np.abs(sparse.shapes) - np.abs(dense.shapes)).max()
    assert residual < 1e-5


def tube_row(count, ends="rigid", spread=0.0, **options):
    """Tubes of 50 Hz as masses on springs, ζ = 1 %, and Connors' velocity at K = 4."""
    mass, ratio = 0.5, 0.01
    tubes = [aq.PointMasses(f"tube{j}", (0.0, 0.03 * j), mass) for j in range(count)]
    stiffness = mass * (2.0 * np.pi * 50.0) ** 2
    damping = 2.0 * ratio * np.sqrt(mass * stiffness)
    springs = [aq.Spring(t.name, t.boundary("all"), stiffness=stiffness, damping=damping) for t in tubes]
    row = aq.flow.TubeRow(
        "row", [t.boundary("all") for t in tubes], 1.0, density=1000.0, length=1.0, flow_direction=(1.0, 0.0),
        row_direction=(0.0, 1.0), ends=ends, **(options or {"constant": 4.0}),
    )  # fmt: skip
    exact = aq.flow.connors_velocity(50.0, diameter=0.02, mass=mass, damping_ratio=ratio, density=1000.0, constant=4.0)
    return aq.System(tubes, springs=springs, flows=[row]), exact


@pytest.mark.parametrize("count, ends", [(2, "rigid"), (5, "rigid"), (4, "periodic")])
def test_a_tube_row_is_unstable_from_connors_velocity(count, ends):
    """Exactly K √(m δ/ρD²) fD of a periodic row with waves of four tubes; 1/√cos(π/(N + 1)) of it between walls."""
    system, exact = tube_row(count, ends)
    if ends == "rigid":
        exact /= np.sqrt(np.cos(np.pi / (count + 1)))
    scan = aq.critical_velocity(system, exact * np.array([0.0, 0.5, 1.5]), count=2 * count)
    assert scan["onset_kind"].values[0] == "flutter"
    # at the critical velocity 2ζω² m = ½ρU² √(C_x C_y): to the square of the damping
    assert scan.attrs["critical_velocity"] == pytest.approx(exact, rel=2e-4)
    assert scan["onset_frequency"].values[0] == pytest.approx(50.0, rel=1e-3)


def test_coefficients_of_a_row_give_the_constant_of_blevins():
    """U/(fD) = 2 √(2π)/(C_x K_y)^¼ √(m δ/ρD²) of Blevins (1974)."""
    c_x, c_y = 0.7, 2.1
    system, exact = tube_row(4, "periodic", coefficients=(c_x, c_y))
    exact *= 2.0 * np.sqrt(2.0 * np.pi) / (c_x * c_y) ** 0.25 / 4.0
    scan = aq.critical_velocity(system, exact * np.array([0.0, 0.5, 1.5]), count=8)
    assert scan.attrs["critical_velocity"] == pytest.approx(exact, rel=2e-4)


def test_beams_in_a_row_are_unstable_from_connors_velocity_of_their_profile():
    """Pinned tubes under a flow over a part of their length: U² ∫ φ² ds replaces U² over the modal mass."""
    held = {"left": dict.fromkeys(("x", "y", "z", "rz"), 0.0), "right": dict.fromkeys(("x", "y"), 0.0)}
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
    section, length = aq.Section.tube(0.01, 0.009, 0.3), 1.0

    def tube(j):
        return aq.Beam.between(
            f"tube{j}", (0.0, 0.03 * j, 0.0), (0.0, 0.03 * j, length), 8, steel, section, imposed=held, shear=False,
            rotary_inertia=False, damping=aq.Rayleigh(mass=4.0),
        )  # fmt: skip

    tubes = [tube(j) for j in range(4)]
    part = aq.flow.TubeRow(
        "row", tubes, 1.0, density=1000.0, flow_direction=(1.0, 0.0, 0.0), row_direction=(0.0, 1.0, 0.0), constant=4.0,
        ends="periodic", profile=lambda p: (p[2] < 0.5).astype(float),
    )  # fmt: skip
    frequency = np.pi**2 / length**2 * np.sqrt(2e11 * section.inertia_z / (7800.0 * section.area)) / (2.0 * np.pi)
    ratio = 4.0 / (2.0 * 2.0 * np.pi * frequency)
    exact = aq.flow.connors_velocity(
        frequency, diameter=0.02, mass=7800.0 * section.area, damping_ratio=ratio, density=1000.0, constant=4.0
    ) * np.sqrt(2.0)  # ∫ sin² over half of the length
    scan = aq.critical_velocity(aq.System(tubes, flows=[part]), exact * np.array([0.0, 0.9, 1.1]), count=8)
    assert scan.attrs["critical_velocity"] == pytest.approx(exact, rel=1e-3)


def test_a_quasi_steady_tube_is_unstable_by_negative_damping():
    """U/(fD) = 4/(−C_D − μκ) m δ/(ρD²) of Price & Païdoussis (1984); drag alone damps."""
    mass, ratio, density, diameter = 0.5, 0.01, 1000.0, 0.02
    tube = aq.PointMasses("tube", (0.0, 0.0), mass)
    stiffness = mass * (2.0 * np.pi * 50.0) ** 2
    spring = aq.Spring(
        "held", tube.boundary("all"), stiffness=stiffness, damping=2.0 * ratio * np.sqrt(mass * stiffness)
    )

    def scan(slope, drag=1.2, delay=0.8):
        flow = aq.flow.QuasiSteadyTube(
            "flow", tube.boundary("all"), 1.0, density=density, diameter=diameter, length=1.0, drag=drag,
            lift_slope=slope, delay=delay, flow_direction=(1.0, 0.0), lift_direction=(0.0, 1.0),
        )  # fmt: skip
        return aq.critical_velocity(aq.System([tube], springs=[spring], flows=[flow]), [0.0, 0.4, 0.8], count=2)

    exact = 4.0 / (0.8 * 5.0 - 1.2) * mass * 2.0 * np.pi * ratio / (density * diameter**2) * 50.0 * diameter
    assert scan(-5.0).attrs["critical_velocity"] == pytest.approx(exact, rel=1e-5)
    assert np.isnan(scan(0.0).attrs["critical_velocity"])


def _errors():
    part, unit = beam("clamped-free", 0.3)
    mass = part.added_mass
    dry, _ = beam("clamped-free", 1e-9)
    dry = aq.Beam("dry", dry.mesh, RUBBER, SECTION, dimension=2)
    masses = aq.PointMasses("m", (0.0, 0.0), 1.0)
    pipe_flow = aq.flow.PipeFlow("w", part, unit, fluid_mass=mass)
    cylinder = {"density": 1000.0, "diameter": 0.04}
    row = {"density": 1000.0, "flow_direction": (1.0, 0.0), "row_direction": (0.0, 1.0), "constant": 3.0, "length": 1.0}
    two = [aq.PointMasses(n, (0.0, 0.0), 1.0).boundary("all") for n in "ab"]
    return {
        "velocity = -1.0: must not be below 0": lambda: aq.flow.PipeFlow("w", part, -1.0, fluid_mass=mass),
        "fluid_mass = ": lambda: aq.flow.PipeFlow("w", part, 1.0, fluid_mass=2.0 * mass),
        "must be a Beam, or a Modal of a Beam": lambda: aq.flow.PipeFlow("w", masses, 1.0, fluid_mass=mass),
        "beam 'dry' has no added_mass": lambda: aq.flow.AxialFlow("w", dry, 1.0, **cylinder),
        "tail = 1.5": lambda: aq.flow.AxialFlow("w", part, 1.0, tail=1.5, **cylinder),
        "base_drag = 0.1: must be 0": lambda: aq.flow.AxialFlow(
            "w", part, 1.0, base_drag=0.1, axially_held=True, **cylinder
        ),
        "channel = 0.01: must be larger": lambda: aq.flow.added_mass(1000.0, 0.02, channel=0.01),
        "tubes = '1 tube'": lambda: aq.flow.TubeRow("r", two[:1], 1.0, **row),
        "the same part is named twice": lambda: aq.flow.TubeRow("r", [two[0], two[0]], 1.0, **row),
        "give constant=": lambda: aq.flow.TubeRow("r", two, 1.0, **{**row, "constant": None}),
        "row_direction": lambda: aq.flow.TubeRow("r", two, 1.0, **{**row, "row_direction": (1.0, 1.0)}),
        "needs length=": lambda: aq.flow.TubeRow("r", two, 1.0, **{**row, "length": None}),
        "constant = 'rows'": lambda: aq.flow.connors_velocity(
            1.0, diameter=1.0, mass=1.0, damping_ratio=0.1, density=1.0, constant="rows"
        ),
        "the system has no flow": lambda: aq.critical_velocity(aq.System([part]), [0.0, 1.0]),
        "velocities": lambda: aq.critical_velocity(aq.System([part], flows=[pipe_flow]), [1.0, 0.5]),
        "flow = 'air'": lambda: aq.critical_velocity(aq.System([part], flows=[pipe_flow]), [0.0, 1.0], flow="air"),
        "count = 500: must be at most": lambda: aq.complex_modes(aq.System([part]), count=500),
        "shift = -1.0: must be above 0": lambda: aq.complex_modes(aq.System([part]), shift=-1.0),
        "flow 'w' refers to part 'beam', which is not among": lambda: aq.System([masses], flows=[pipe_flow]),
        "2 flows are named 'w'": lambda: aq.System([part], flows=[pipe_flow, pipe_flow]),
        "craig_bampton reduces no flows": lambda: aq.craig_bampton(
            aq.System([part], flows=[pipe_flow]), [part.boundary("right")], modes=2
        ),
        "was not reduced from a beam 'beam'": lambda: aq.flow.MatrixFlow.of(
            pipe_flow, aq.craig_bampton(dry, [dry.boundary("left"), dry.boundary("right")], modes=1)
        ),
        "give damping=, stiffness= or both": lambda: aq.flow.MatrixFlow("w", masses, 1.0),
        "takes no flows: take Theta": lambda: aq.simulate(
            aq.System([part], flows=[pipe_flow]), aq.Static(), duration=1.0, step=1.0
        ),
    }


@pytest.mark.parametrize("text", _errors())
def test_errors_are_one_line(text):
    with pytest.raises(aq.UserError) as error:
        _errors()[text]()
    assert text in str(error.value) and "\n" not in str(error.value)
