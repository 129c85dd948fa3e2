"""Beams in tension and compression against closed forms: pinned beams, strings, buckling, rigid turns."""

import numpy as np
import pytest
from scipy.linalg import eigh

import arlequin as aq
from arlequin.run.simulate import simulate
from arlequin.solvers.natural_frequencies import natural_frequencies

STEEL = aq.LinearElastic(young=2.1e11, poisson=0.3, density=7800.0)
LENGTH = 1.3
PINNED = {
    2: {"left": {"x": 0.0, "y": 0.0}, "right": {"y": 0.0}},
    3: {"left": dict.fromkeys(("x", "y", "z", "rx"), 0.0), "right": dict.fromkeys(("y", "z"), 0.0)},
}


def pinned(section, tension, cells=20, dimension=2, **options):
    mesh = aq.mesh.interval(0.0, LENGTH, cells=cells)
    return aq.Beam(
        "beam", mesh, STEEL, section, dimension=dimension, tension=tension, imposed=PINNED[dimension], **options
    )


def euler_bernoulli(section, tension, modes):
    """ω of slender pinned beams: k² √(EI/ρA) √(1 + N/(EI k²)), k = nπ/L."""
    k = np.arange(1, modes + 1) * np.pi / LENGTH
    ei, m = STEEL.young * section.inertia_z, STEEL.density * section.area
    return k**2 * np.sqrt(ei / m) * np.sqrt(1 + tension / (ei * k**2))


def timoshenko(mode, tension, inertia, area, shear):
    """Lowest ω of w = sin kx, ψ = cos kx: (κGAk² + Nk² − ρAω²)(EIk² + κGA − ρIω²) = (κGAk)²."""
    k, rho = mode * np.pi / LENGTH, STEEL.density
    ga, ei = shear * STEEL.shear * area, STEEL.young * inertia
    first, last = (ga + tension) * k**2, ei * k**2 + ga
    roots = np.roots(
        [rho**2 * area * inertia, -(rho * area * last + rho * inertia * first), first * last - (ga * k) ** 2]
    )
    return np.sqrt(roots.min())


def buckling(section):
    """Engesser's load N_E/(1 + N_E/κGA), N_E = π²EI/L²."""
    euler = np.pi**2 * STEEL.young * section.inertia_z / LENGTH**2
    return euler / (1 + euler / (section.shear_y * STEEL.shear * section.area))


@pytest.mark.parametrize("ratio", [-0.9, 0.0, 3.0])
def test_slender_pinned_beam(ratio):
    section = aq.Section.rectangle(2e-3, 2e-3)
    tension = ratio * buckling(section)
    found = 2 * np.pi * aq.Modal(pinned(section, tension), 3).frequencies
    np.testing.assert_allclose(found, euler_bernoulli(section, tension, 3), rtol=5e-5)


@pytest.mark.parametrize("ratio", [-0.5, 2.0])
@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_thick_pinned_beam_converges_to_timoshenko(ratio, mass):
    section = aq.Section.rectangle(0.1, 0.06, 0.3)
    tension, errors = ratio * buckling(section), []
    exact = np.array([timoshenko(n, tension, section.inertia_z, section.area, section.shear_y) for n in (1, 2, 3)])
    for cells in (10, 20):
        beam = pinned(section, tension, cells, mass=mass)
        found = 2 * np.pi * natural_frequencies(aq.System([beam]), 4).frequencies  # one of them stretches
        errors.append(np.abs(found[:, None] / exact - 1).min(axis=0))
    assert errors[1].max() < 0.01
    assert (np.log2(errors[0] / errors[1]) > 1.85).all()


def test_stored_energy_in_both_planes_of_an_oblique_beam_in_space():
    section = aq.Section.rectangle(0.1, 0.06, 0.3)
    along = np.array([2.0, 3.0, 6.0]) / 7
    tension = 1e6
    beam = aq.Beam.between("b", (0.0, 0.0, 0.0), tuple(LENGTH * along), 20, STEEL, section, tension=tension)
    a = beam.assemble()
    turn = np.kron(np.eye(2), beam.frame)
    x = (beam.positions @ along)[:, None]
    k = np.pi / LENGTH
    for plane, (inertia, shear) in enumerate(
        [(section.inertia_z, section.shear_y), (section.inertia_y, section.shear_z)]
    ):
        local = np.zeros((beam.node_count, 6))
        ga, ei = shear * STEEL.shear * section.area, STEEL.young * inertia
        psi = ga * k / (ei * k**2 + ga)  # amplitude of the rotation that the statics of w = sin kx has
        local[:, 1 + plane] = np.sin(k * x)[:, 0]
        local[:, 5 - plane] = (1.0, -1.0)[plane] * psi * np.cos(k * x)[:, 0]
        u = (local @ turn).ravel()
        energy = LENGTH / 4 * (ei * k**2 * psi**2 + ga * (k - psi) ** 2 + tension * k**2)
        assert a.internal(u)[1] == pytest.approx(energy, rel=1e-4)
        np.testing.assert_allclose(a.internal(u)[0], a.stiffness @ u, atol=1e-9 * abs(a.stiffness).max())
        rows, weights = a.strain_form()
        np.testing.assert_allclose(rows.T @ (weights * (rows @ u)), a.stiffness @ u, atol=1e-9 * abs(a.stiffness).max())


def test_string():
    """EI → 0: f = n/(2L) √(N/ρA)."""
    section = aq.Section.circle(2e-4)
    tension = 50.0
    found = aq.Modal(pinned(section, tension, 40), 3).frequencies
    exact = np.arange(1, 4) / (2 * LENGTH) * np.sqrt(tension / (STEEL.density * section.area))
    np.testing.assert_allclose(found, exact, rtol=3e-3)


@pytest.mark.parametrize("height", [0.002, 0.2])
def test_buckling_load(height):
    """K − P K_g is singular at Engesser's load; a beam in more compression has no modes."""
    section, misses = aq.Section.rectangle(height, 0.01, 0.3), []
    for cells in (10, 20):
        beam = pinned(section, 0.0, cells)
        free = np.setdiff1d(np.arange(beam.dof_count), np.concatenate([item.dofs for item in beam.motions]))
        elastic, taut = (
            pinned(section, n, cells).assemble().stiffness[free][:, free].toarray() for n in (0.0, buckling(section))
        )
        largest = eigh(taut - elastic, elastic, eigvals_only=True)[-1]
        misses.append(abs(1 / largest - 1))
    assert misses[1] < 2e-4 and misses[1] < misses[0] / 3.9
    with pytest.raises(aq.UserError, match="buckling load"):
        aq.Modal(pinned(section, -1.01 * buckling(section)), 1).assemble()
    with pytest.raises(aq.UserError, match=r"a beam (buckles|compressed until it buckles)"):
        natural_frequencies(aq.System([pinned(section, -1.01 * buckling(section))]), 2)


@pytest.mark.parametrize("ratio", [0.98, 0.999])
def test_the_frequency_falls_to_zero_at_the_buckling_load(ratio):
    section = aq.Section.rectangle(2e-3, 2e-3)
    tension = -ratio * buckling(section)
    first = 2 * np.pi * aq.Modal(pinned(section, tension, 80), 1).frequencies[0]
    exact = timoshenko(1, tension, section.inertia_z, section.area, section.shear_y)
    assert first == pytest.approx(exact, rel=1e-3)
    assert exact < 0.15 * timoshenko(1, 0.0, section.inertia_z, section.area, section.shear_y)


def test_static_deflection_under_a_lateral_force_is_amplified_by_compression():
    """Pinned at both ends, F at the middle: w = F L³/(48EI) · 3(tan a − a)/a³, a = L/2 √(P/EI) (Timoshenko & Gere)."""
    section = aq.Section.rectangle(2e-3, 2e-3)
    ei = STEEL.young * section.inertia_z
    p = 0.6 * buckling(section)
    half, force = LENGTH / 2, 1e-2
    # by symmetry: the left half, guided at the middle
    beam = aq.Beam(
        "half", aq.mesh.interval(0.0, half, cells=10), STEEL, section, dimension=2, tension=-p,
        imposed={"left": {"x": 0.0, "y": 0.0}, "right": {"rz": 0.0}},
        end_loads={"right": lambda t: (0.0, force / 2 * t)},
    )  # fmt: skip
    result = simulate(aq.System([beam]), aq.Static(), duration=1.0, step=0.5)
    a = half * np.sqrt(p / ei)
    exact = force * LENGTH**3 / (48 * ei) * 3 * (np.tan(a) - a) / a**3
    assert result["part/half/displacement"].values[-1, -1, 1] == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_free_beam_in_tension_turns_back_and_does_not_drift(dimension):
    """A rigid turn α of a free beam costs ½ N0 L α²; translations and the turn about the axis cost nothing."""
    section = aq.Section.rectangle(0.1, 0.06)
    beam = aq.Beam("b", aq.mesh.interval(0.0, LENGTH, cells=5), STEEL, section, dimension=dimension, tension=1e4)
    x = beam.positions[:, 0]
    turn = np.zeros((beam.node_count, beam.components))
    turn[:, 1], turn[:, -1] = 1e-3 * x, 1e-3
    a = beam.assemble()
    assert a.internal(turn.ravel())[1] == pytest.approx(0.5 * 1e4 * LENGTH * 1e-6, rel=1e-12)
    still = np.tile(np.eye(beam.components)[1], beam.node_count)
    assert a.internal(1e6 * still)[1] == 0.0
    rigid = (aq.Modal(beam, 8).frequencies == 0.0).sum()
    assert rigid == (2 if dimension == 2 else 4)
    pressed = aq.Beam("b", beam.mesh, STEEL, section, dimension=dimension, tension=-1e4)
    with pytest.raises(aq.UserError, match="'b' has an unstable rigid motion"):
        aq.Modal(pressed, 8).assemble()


@pytest.mark.parametrize("mass, scheme", [("consistent", aq.Theta(0.5)), ("lumped", aq.CentralDifference())])
def test_a_struck_beam_in_tension_keeps_its_energy(mass, scheme):
    section = aq.Section.rectangle(0.02, 0.03)
    beam = pinned(section, 2e5, 8, 3, mass=mass)
    step = 1e-5 if mass == "consistent" else 1.8 / beam.assemble().highest_frequency()
    start = np.zeros((beam.node_count, 6))
    start[:, 1] = np.sin(np.pi * beam.positions[:, 0] / LENGTH)
    result = simulate(aq.System([beam], velocity={"beam": start}), scheme, duration=300 * step, step=step)
    assert np.abs(result["balance"]).max() < 1e-12


def test_messages():
    section = aq.Section.circle(0.01)
    for wrong, rule in (("high", "must be a number"), (np.inf, "must be finite"), (None, "must be a number")):
        with pytest.raises(aq.UserError, match=rf"tension = .*: {rule}"):
            pinned(section, wrong)
