"""Timoshenko beams against closed forms: statics, waves of bending and torsion, rigid motions, frames, sections."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.sparse.linalg import spsolve

import arlequin as aq
from arlequin.models.beams.beam import Beam
from arlequin.models.beams.section import Section
from arlequin.models.errors import UserError
from arlequin.models.materials.elastic import LinearElastic, Rayleigh
from arlequin.models.mesh import interval
from arlequin.models.part import Weighting
from arlequin.run.simulate import simulate
from arlequin.solvers.natural_frequencies import natural_frequencies

STEEL = LinearElastic(young=2.1e11, poisson=0.3, density=7800.0)
SECTION = Section.rectangle(0.1, 0.06, 0.3)
LENGTH = 1.3
PLANE, SPACE = ("x", "y", "rz"), ("x", "y", "z", "rx", "ry", "rz")


def clamp(dimension):
    return dict.fromkeys(PLANE if dimension == 2 else SPACE, 0.0)


def oblique(dimension, cells, seed=0, **options):
    """A cantilever in a random direction."""
    random = np.random.default_rng(seed)
    along = random.normal(size=dimension)
    first = random.normal(size=dimension)
    last = first + LENGTH * along / np.linalg.norm(along)
    imposed = {"left": clamp(dimension)}
    return Beam.between("beam", tuple(first), tuple(last), cells, STEEL, SECTION, imposed=imposed, **options)


def solve(beam, t=0.0):
    a = beam.assemble()
    held = np.concatenate([item.dofs for item in a.imposed])
    free = np.setdiff1d(np.arange(beam.dof_count), held)
    u = np.zeros(beam.dof_count)
    u[free] = spsolve(a.stiffness[free][:, free].tocsc(), a.load(t)[free])
    return u


@pytest.mark.sampled(7)
@pytest.mark.parametrize("with_shear", [True, False])
@pytest.mark.parametrize("cells", [1, 3, 8])
@pytest.mark.parametrize("dimension", [2, 3])
def test_cantilever_under_end_forces_and_moments_is_exact_for_any_number_of_elements(dimension, cells, with_shear):
    load = np.random.default_rng(1).normal(size=len(clamp(dimension))) * 1e3
    beam = oblique(dimension, cells, end_loads={"right": tuple(load)}, shear=with_shear)
    u = solve(beam)
    turn = np.kron(np.eye(dimension - 1), beam.frame)
    f, tip = turn @ load, turn @ u[-beam.components :]
    e, g, a, n = STEEL.young, STEEL.shear, SECTION.area, LENGTH

    def bent(force, moment, inertia, shear):
        deflection = force * n**3 / (3 * e * inertia) + moment * n**2 / (2 * e * inertia)
        deflection += with_shear * force * n / (shear * g * a)
        return deflection, force * n**2 / (2 * e * inertia) + moment * n / (e * inertia)

    v, rz = bent(f[1], f[-1], SECTION.inertia_z, SECTION.shear_y)
    exact = [f[0] * n / (e * a), v, rz]
    if dimension == 3:
        w, minus_ry = bent(f[2], -f[4], SECTION.inertia_y, SECTION.shear_z)
        exact = [exact[0], v, w, f[3] * n / (g * SECTION.torsion), -minus_ry, rz]
    np.testing.assert_allclose(tip, exact, rtol=1e-10)
    force, energy = beam.assemble().internal(u)
    np.testing.assert_allclose(force[-beam.components :], load, rtol=1e-9)
    assert energy == pytest.approx(0.5 * load @ u[-beam.components :], rel=1e-10)
    # equilibrium of the whole: the clamp takes the forces
    np.testing.assert_allclose(force[:dimension], -load[:dimension], rtol=1e-9)


@pytest.mark.parametrize("cells", [1, 5])
@pytest.mark.parametrize("function", [False, True])
def test_cantilever_under_its_weight_is_exact_at_the_nodes(cells, function):
    q = -300.0
    load = (lambda x, t: (0.0, q * t)) if function else (0.0, q)
    beam = Beam(
        "beam", interval(0, LENGTH, cells=cells), STEEL, SECTION, dimension=2, distributed=load,
        imposed={"left": clamp(2)},
    )  # fmt: skip
    u = solve(beam, 1.0).reshape(-1, 3)
    x, n = beam.positions[:, 0], LENGTH
    ei, ga = STEEL.young * SECTION.inertia_z, SECTION.shear_y * STEEL.shear * SECTION.area
    exact = q * x**2 * (6 * n**2 - 4 * n * x + x**2) / (24 * ei) + q * (n * x - x**2 / 2) / ga
    np.testing.assert_allclose(u[:, 1], exact, rtol=1e-10, atol=1e-20)


def test_short_and_slender_elements_do_not_lock():
    for height in (1e-4, 1.0):
        section = Section.rectangle(height, 0.01)
        beam = Beam(
            "b", interval(0, 1, cells=4), STEEL, section, dimension=2, imposed={"left": clamp(2)},
            end_loads={"right": (0, 1.0)},
        )  # fmt: skip
        exact = 1 / (3 * STEEL.young * section.inertia_z) + 1 / (section.shear_y * STEEL.shear * section.area)
        assert solve(beam)[-2] == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("shear", [True, False])
def test_section_forces_of_a_cantilever(shear):
    beam = Beam(
        "b", interval(0, LENGTH, cells=3), STEEL, SECTION, imposed={"left": clamp(3)}, shear=shear,
        end_loads={"right": (5.0, 7.0, 11.0, 13.0, 0.0, 0.0)},
    )  # fmt: skip
    forces = beam.resultants(solve(beam))
    rest = LENGTH - beam.quadrature_points()[0]
    for k, exact in enumerate((5.0, 7.0, 11.0, 13.0, -11.0 * rest, 7.0 * rest)):
        np.testing.assert_allclose(forces[..., k], exact + 0 * rest, rtol=1e-7, atol=1e-6)
    np.testing.assert_allclose(beam.stress(solve(beam))[..., 0], 5.0 / SECTION.area, rtol=1e-9)


def simply_supported(mode, inertia, shear):
    """Lowest ω of w = sin(kx), ψ = cos(kx): (κGAk² − ρAω²)(EIk² + κGA − ρIω²) = (κGAk)²."""
    k, rho, a = mode * np.pi / LENGTH, STEEL.density, SECTION.area
    ga, ei = shear * STEEL.shear * a, STEEL.young * inertia
    roots = np.roots(
        [rho * a * rho * inertia, -(rho * a * (ei * k**2 + ga) + ga * k**2 * rho * inertia), ga * ei * k**4]
    )
    return np.sqrt(roots.min())


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_simply_supported_beam_vibrates_as_timoshenko_says(mass):
    errors = []
    for cells in (10, 20):
        beam = Beam(
            "b", interval(0, LENGTH, cells=cells), STEEL, SECTION, dimension=2, mass=mass,
            imposed={"left": {"x": 0.0, "y": 0.0}, "right": {"y": 0.0}},
        )  # fmt: skip
        found = 2 * np.pi * natural_frequencies(aq.System([beam]), 4).frequencies  # one of them stretches
        exact = np.array([simply_supported(n, SECTION.inertia_z, SECTION.shear_y) for n in (1, 2, 3)])
        errors.append(np.abs(found[:, None] / exact - 1).min(axis=0))
    assert errors[1].max() < 0.01
    assert (np.log2(errors[0] / errors[1]) > 1.85).all()


@pytest.mark.parametrize("dimension", [2, 3])
def test_frequencies_of_euler_and_bernoulli(dimension):
    """ω = (nπ/L)² √(EI/ρA), by Rayleigh less for the rotary inertia; of order 4 in the size of the cells."""
    held = {"left": dict.fromkeys(PLANE[:2] if dimension == 2 else SPACE[:4], 0.0)}
    held["right"] = dict.fromkeys(("y",) if dimension == 2 else ("y", "z"), 0.0)
    inertias = [SECTION.inertia_z, SECTION.inertia_y][: dimension - 1]
    a, rho = SECTION.area, STEEL.density
    for rotary in (False, True):
        errors = []
        for cells in (10, 20):
            beam = Beam(
                "b", interval(0, LENGTH, cells=cells), STEEL, SECTION, dimension=dimension, imposed=held,
                shear=False, rotary_inertia=rotary,
            )  # fmt: skip
            found = 2 * np.pi * natural_frequencies(aq.System([beam]), 6).frequencies
            k = np.pi / LENGTH * np.array([1, 2])
            exact = [k**2 * np.sqrt(STEEL.young * i / (rho * (a + rotary * i * k**2))) for i in inertias]
            errors.append(np.abs(found[:, None] / np.ravel(exact) - 1).min(axis=0))
        assert errors[1].max() < 1e-5
        assert (np.log2(errors[0] / errors[1]) > 3.8).all()


@pytest.mark.parametrize("options", [{"shear": 1}, {"rotary_inertia": "no"}])
def test_flags_are_true_or_false(options):
    with pytest.raises(UserError, match="must be True or False"):
        oblique(2, 2, **options)


def test_torsion_and_stretching_frequencies():
    section = Section.circle(0.2, 0.3)  # so thick that bending is no slower than twisting
    held = {"left": dict.fromkeys(("x", "y", "z", "rx", "ry", "rz"), 0.0)}
    beam = Beam("b", interval(0, LENGTH, cells=40), STEEL, section, imposed=held)
    found = natural_frequencies(aq.System([beam]), 8).frequencies
    for speed in (np.sqrt(STEEL.shear / STEEL.density), np.sqrt(STEEL.young / STEEL.density)):
        assert np.abs(found - speed / (4 * LENGTH)).min() < 1e-3 * speed / (4 * LENGTH)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_rigid_motions_store_nothing_and_weigh_what_they_should(dimension, mass):
    along = (0.6, 0.8) if dimension == 2 else (2 / 7, 3 / 7, 6 / 7)
    last = tuple(LENGTH * x for x in along)
    beam = Beam.between("b", (0.0,) * dimension, last, 4, STEEL, SECTION, mass=mass)
    a = beam.assemble()
    modes = np.zeros((beam.components, beam.node_count, beam.components))
    for i in range(dimension):
        modes[i, :, i] = 1.0
    middle = np.asarray(last) / 2
    r = beam.positions - middle
    for k in range(beam.components - dimension):
        modes[dimension + k, :, dimension + k] = 1.0
        if dimension == 2:
            modes[2, :, :2] = np.stack([-r[:, 1], r[:, 0]], axis=1)
        else:
            modes[3 + k, :, :3] = np.cross(np.eye(3)[k], r)
    force, energy = a.internal(1e6 * modes[0].ravel())
    assert energy == 0 and not force.any()  # a translation leaves no round-off
    for mode in modes:
        assert np.abs(a.stiffness @ mode.ravel()).max() < 1e-12 * abs(a.stiffness).max()
    values = np.linalg.eigvalsh(a.stiffness.toarray())
    assert (np.abs(values) < 1e-9 * values.max()).sum() == beam.components
    inertia = np.array([[m.ravel() @ (a.mass @ n.ravel()) for n in modes] for m in modes])
    rho, n = STEEL.density, LENGTH
    np.testing.assert_allclose(inertia[:dimension, :dimension], rho * SECTION.area * n * np.eye(dimension), atol=1e-10)
    if mass == "consistent":
        bending = rho * n * (SECTION.area * n**2 / 12 + np.array([SECTION.inertia_y, SECTION.inertia_z]))
        if dimension == 2:
            exact = bending[1:, None]
        else:
            frame = beam.frame
            exact = frame.T @ np.diag([rho * n * SECTION.polar, *bending]) @ frame
        np.testing.assert_allclose(inertia[dimension:, dimension:], exact, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(inertia[:dimension, dimension:], 0, atol=1e-10)


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_highest_frequency_is_a_close_bound(mass):
    a = oblique(3, 5, mass=mass).assemble()
    largest = np.sqrt(eigh(a.stiffness.toarray(), a.mass.toarray(), eigvals_only=True)[-1])
    assert largest <= a.highest_frequency() <= 1.5 * largest


def test_weights_multiply_every_energy_and_load():
    beam = oblique(3, 4, distributed=(1.0, 2.0, 3.0), end_loads={"right": (1.0, 1.0, 1.0)})
    one = beam.assemble()
    shape = beam.basis.dx.shape
    some = beam.assemble(Weighting(np.full(shape, 0.25), np.full(shape, 0.5), np.full(shape, 2.0)))
    for ours, other, factor in (
        (some.stiffness, one.stiffness, 0.25),
        (some.mass, one.mass, 0.5),
        (some.load(0.0), one.load(0.0), 2.0),
    ):
        assert abs(ours - factor * other).max() <= 1e-13 * abs(other).max()


def test_internal_force_is_the_stiffness_times_the_displacement():
    beam = oblique(3, 4, damping=Rayleigh(mass=2.0, stiffness=1e-5))
    a = beam.assemble()
    u = np.random.default_rng(3).normal(size=beam.dof_count)
    force, energy = a.internal(u)
    np.testing.assert_allclose(force, a.stiffness @ u, rtol=0, atol=1e-12 * np.abs(force).max())
    assert energy == pytest.approx(0.5 * u @ force, rel=1e-12)
    np.testing.assert_allclose((a.damping - 2.0 * a.mass - 1e-5 * a.stiffness).toarray(), 0, atol=1e-6)


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_a_struck_cantilever_keeps_its_energy_and_is_recorded(mass):
    beam = Beam(
        "beam", interval(0, LENGTH, cells=8), STEEL, SECTION, mass=mass, imposed={"left": clamp(3)},
    )  # fmt: skip
    scheme = aq.Theta(0.5) if mass == "consistent" else aq.CentralDifference()
    step = 1e-5 if mass == "consistent" else 1.8 / beam.assemble().highest_frequency()
    start = {"beam": np.outer(beam.positions[:, 0], [0.0, 1.0, 0.5, 0.0, 0.0, 0.0])}
    result = simulate(aq.System([beam], velocity=start), scheme, duration=200 * step, step=step, fields_every=50)
    assert np.abs(result["balance"]).max() < 1e-12
    part = result["part/beam"].dataset
    assert part["displacement"].sizes["component"] == 3
    assert list(part["rotation"]["turn"].values) == ["rx", "ry", "rz"]
    assert part["rotation"].attrs["units"] == "rad" and part["angular_velocity"].attrs["units"] == "rad/s"
    assert np.abs(part["rotation"].sel(turn="rz")).max() > 0
    assert part["momentum"].sizes["component"] == 3
    from arlequin.plots.overview import overview

    assert {"energies", "profile"} <= set(overview(result))


def test_a_beam_touches_with_its_displacement_not_with_its_rotation():
    beam = Beam(
        "beam", interval(0, 1.0, cells=10), STEEL, SECTION, dimension=2, imposed={"left": {"y": 0.0, "rz": 0.0}}
    )
    wall = aq.RigidPlane(point=(1.0, 0.0), normal=(-1.0, 0.0))
    contact = aq.Interface("end", beam.boundary("right"), wall, aq.Unilateral())
    system = aq.System([beam], interfaces=[contact], velocity={"beam": (1.0, 0.0, 0.0)})
    transit = 1.0 / beam.wave_speed
    result = simulate(system, aq.Theta(0.5), duration=1.2 * transit, step=transit / 100)
    force = result["interface/end/force"].values[40:80, 0].mean()
    assert force == pytest.approx(-np.sqrt(STEEL.young * STEEL.density) * SECTION.area, rel=0.02)


def test_sections():
    square = Section.rectangle(0.2, 0.2)
    assert square.torsion == pytest.approx(0.140577 * 0.2**4, rel=1e-5)  # Timoshenko & Goodier, table of §109
    strip = Section.rectangle(1.0, 0.001)
    assert strip.torsion == pytest.approx(1e-9 / 3, rel=1e-3)
    assert Section.rectangle(0.1, 0.3, 0.3).shear_y == pytest.approx(13 / 15.3)
    full, holed = Section.circle(0.1, 0.3), Section.tube(0.1, 1e-6, 0.3)
    for name in ("area", "inertia_y", "inertia_z", "torsion", "shear_y", "shear_z"):
        assert getattr(holed, name) == pytest.approx(getattr(full, name), rel=1e-8)
    assert Section.tube(1.0, 0.99999, 0.3).shear_y == pytest.approx(2 * 1.3 / (4 + 0.9), rel=1e-4)
    tall = Section.rectangle(0.3, 0.1)
    assert tall.inertia_z == pytest.approx(9 * tall.inertia_y)


def raises(message, **options):
    given = {"mesh": interval(0, 1, cells=2), "material": STEEL, "section": SECTION} | options
    with pytest.raises(UserError, match=message) as caught:
        Beam("beam", **given)
    assert "\n" not in str(caught.value) and caught.value.code == 2


def test_messages():
    raises("mesh of lines", mesh=aq.mesh.rectangle((0, 1), (0, 1), cells=(1, 1)))
    raises("section", section=0.1)
    raises("dimension = 4", dimension=4)
    raises("mass = 'heavy'", mass="heavy")
    raises("direction", direction=(0.0, 0.0, 0.0))
    raises("direction", direction=(1.0, 0.0))
    raises("must not lie along the beam", up=(2.0, 0.0, 0.0))
    raises("for beams in space", up=(0.0, 1.0, 0.0), dimension=2)
    raises("boundaries: left, right", end_loads={"top": (1.0, 0.0, 0.0)})
    raises("3 forces, or these and 3 moment", end_loads={"right": (1.0, 0.0)})
    raises("distributed", distributed=(1.0, 0.0))
    raises("the components are x, y, rz", imposed={"left": {"rx": 0.0}}, dimension=2)
    raises("cells of the mesh must all run", mesh=reversed_cell())
    with pytest.raises(UserError, match="inner"):
        Section.tube(0.1, 0.2)
    with pytest.raises(UserError, match="area"):
        Section(-1.0, 1.0, 1.0, 1.0)


def reversed_cell():
    import skfem

    return skfem.MeshLine(np.array([[0.0, 2.0, 1.0]]), np.array([[0, 1], [2, 2]]))
