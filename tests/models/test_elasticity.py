"""Patch tests, rigid motions, internal force against the stiffness, stresses."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve

from arlequin.models import mesh
from arlequin.models.errors import UserError
from arlequin.models.fem.bar import Bar
from arlequin.models.fem.solid import Solid
from arlequin.models.fem.stress import von_mises
from arlequin.models.materials.elastic import LinearElastic, Rayleigh
from arlequin.models.part import Weighting

STEEL = LinearElastic(young=2e11, poisson=0.3, density=7800.0)
LAM, MU = 2e11 * 0.3 / (1.3 * 0.4), 2e11 / 2.6


def distorted(plain):
    x = plain.doflocs.copy()
    inner = plain.interior_nodes()
    x[:, inner] += 0.06 * np.random.default_rng(4).uniform(-1, 1, (x.shape[0], inner.size))
    return replace(plain, doflocs=x)


def parts():
    for order in (1, 2):
        yield Bar("bar", mesh.interval(0, 1, cells=4), STEEL, order=order, section=0.2)
        for kind in ("tri", "quad"):
            plain = distorted(mesh.rectangle((0, 1), (0, 1), cells=(3, 3), kind=kind))
            for plane in ("strain", "stress", "axisymmetric"):
                yield Solid(f"{plane} {kind} {order}", plain, STEEL, plane=plane, order=order)
        for kind in ("tet", "hex"):
            plain = distorted(mesh.box((0, 1), (0, 1), (0, 1), cells=(2, 2, 2), kind=kind))
            yield Solid(f"{kind} {order}", plain, STEEL, order=order)


ALL = pytest.mark.parametrize("part", list(parts()), ids=lambda part: part.name.replace(" ", "-"))


@pytest.mark.sampled(7)
@ALL
def test_patch(part):
    """A linear displacement imposed on the sides is found inside, with its constant stress."""
    rng = np.random.default_rng(1)
    gradient = rng.uniform(-1e-3, 1e-3, (part.components, part.components))
    if getattr(part, "plane", None) == "axisymmetric":
        gradient = np.diag([3e-4, -7e-4])  # u_r = a r, u_z = b z: the linear fields of constant strain
    exact = (part.positions @ gradient.T).ravel()
    sides = np.unique(np.concatenate([part.boundary(name).dofs.ravel() for name in part.mesh.boundaries]))
    free = np.setdiff1d(np.arange(part.dof_count), sides)
    u = np.where(np.isin(np.arange(part.dof_count), sides), exact, 0.0)
    K = part.assemble().stiffness
    u[free] = spsolve(K[free][:, free].tocsc(), -(K @ u)[free])
    assert np.abs(u - exact).max() <= 1e-12 * np.abs(exact).max()
    expected = stress_by_hand(part, gradient)
    assert np.abs(part.stress(u) - expected).max() <= 1e-10 * np.abs(expected).max()


def stress_by_hand(part, gradient):
    """The constant stress of a constant displacement gradient, in the order of `stress_components`."""
    if part.components == 1:
        return np.array([2e11 * gradient[0, 0]])
    strain = np.zeros((3, 3))
    size = len(gradient)
    strain[:size, :size] = (gradient + gradient.T) / 2
    if part.plane == "stress":  # σ_zz = 0
        strain[2, 2] = -0.3 / 0.7 * (strain[0, 0] + strain[1, 1])
    if part.plane == "axisymmetric":
        strain[2, 2] = strain[0, 0]
    stress = LAM * np.trace(strain) * np.eye(3) + 2 * MU * strain
    letters = "rzt" if part.plane == "axisymmetric" else "xyz"
    return np.array([stress[letters.index(a), letters.index(b)] for a, b in part.stress_components])


@pytest.mark.sampled(7)
@pytest.mark.kernels
@ALL
def test_rigid_motions(part):
    """No force and no energy, even a kilometre away; K u leaves round-off of that size there."""
    assembled = part.assemble()
    size = np.abs(assembled.stiffness.data).max()
    axisymmetric = getattr(part, "plane", None) == "axisymmetric"
    for component in range(1 if axisymmetric else 0, part.components):
        u = np.zeros((part.node_count, part.components))
        u[:, component] = 1e3
        force, energy = assembled.internal(u.ravel())
        assert not force.any() and energy == 0.0
    if part.components > 1 and not axisymmetric:
        spin = np.zeros((part.components, part.components))
        spin[0, 1], spin[1, 0] = -1.0, 1.0
        u = part.positions @ spin.T + 1e3
        force, energy = assembled.internal(u.ravel())
        # the displacements themselves are rounded to 1e3·2⁻⁵³
        assert np.abs(force).max() <= 1e-12 * size and energy <= 1e-24 * size


@pytest.mark.sampled(7)
@pytest.mark.kernels
@ALL
def test_internal_force_is_the_stiffness(part):
    """With weights that vary in the cells; cells of no weight add nothing."""
    rng = np.random.default_rng(2)
    shape = part.cells.dx.shape
    weight = rng.uniform(0, 1, shape)
    weight[0] = 0.0
    assembled = part.assemble(Weighting(stiffness=weight, mass=weight, load=weight))
    K = assembled.stiffness
    assert abs(K - K.T).max() <= 1e-15 * abs(K).max()
    u = rng.standard_normal(part.dof_count)
    force, energy = assembled.internal(u)
    assert np.abs(force - K @ u).max() <= 1e-14 * np.abs(K @ u).max() * 10
    assert energy == pytest.approx(0.5 * u @ (K @ u), rel=1e-13)


@pytest.mark.sampled(7)
@ALL
def test_partition_of_unity(part):
    """M and K of weights that sum to one sum to those without weights."""
    weight = np.random.default_rng(3).uniform(0, 1, part.cells.dx.shape)
    whole = part.assemble()
    halves = [part.assemble(Weighting(stiffness=w, mass=w, load=w)) for w in (weight, 1 - weight)]
    for name in ("mass", "stiffness"):
        total = getattr(halves[0], name) + getattr(halves[1], name)
        assert abs(total - getattr(whole, name)).max() <= 1e-14 * abs(getattr(whole, name)).max()
    # one pattern whatever the weights: a factorisation's analysis can be kept
    assert np.array_equal(halves[0].stiffness.indices, whole.stiffness.indices)


def test_energy_of_uniaxial_stretch():
    """½ E ε² × volume for a bar, and for a plane-stress solid free at its sides, of thickness 3 mm."""
    strain = 1e-3
    bar = Bar("bar", mesh.interval(0, 0.5, cells=3), STEEL, section=2e-4)
    _, energy = bar.assemble().internal(strain * bar.positions[:, 0])
    assert energy == pytest.approx(0.5 * 2e11 * strain**2 * 0.5 * 2e-4, rel=1e-12)
    plate = Solid("plate", mesh.rectangle((0, 0.5), (0, 0.1), cells=(3, 2)), STEEL, plane="stress", thickness=3e-3)
    u = plate.positions * [strain, -0.3 * strain]
    _, energy = plate.assemble().internal(u.ravel())
    assert energy == pytest.approx(0.5 * 2e11 * strain**2 * 0.05 * 3e-3, rel=1e-12)


def test_axisymmetric_volume():
    """Uniform radial stretch of a cylinder: energy ½ σ:ε × its volume, the whole circle."""
    part = Solid("rod", mesh.rectangle((0, 0.2), (0, 0.5), cells=(3, 4)), STEEL, plane="axisymmetric")
    e = 1e-3
    _, energy = part.assemble().internal((part.positions * [e, 0.0]).ravel())
    assert energy == pytest.approx(0.5 * (4 * LAM + 4 * MU) * e**2 * np.pi * 0.04 * 0.5, rel=1e-12)


def test_rayleigh_damping():
    part = Bar("bar", mesh.interval(0, 1, cells=2), LinearElastic(6.0, 0.0, 3.0), damping=Rayleigh(0.5, 0.25))
    expected = 0.5 * 3.0 * 0.5 / 6 * np.array([[2, 1, 0], [1, 4, 1], [0, 1, 2]])
    expected = expected + 0.25 * 6.0 / 0.5 * np.array([[1, -1, 0], [-1, 2, -1], [0, -1, 1]])
    assert part.assemble().damping.toarray() == pytest.approx(expected, rel=1e-14)
    assert replace(part, damping=None).assemble().damping is None


def test_von_mises():
    assert von_mises(np.array([[3.0]]), ("xx",)) == pytest.approx([3.0])
    assert von_mises(np.array([[0.0, 0.0, 2.0]]), ("xx", "yy", "xy")) == pytest.approx([2 * np.sqrt(3)])
    assert von_mises(np.array([[5.0, 5.0, 5.0, 0.0]]), ("xx", "yy", "zz", "xy")) == pytest.approx([0.0])


def test_wave_speeds():
    square = mesh.rectangle((0, 1), (0, 1), cells=(1, 1))
    assert Bar("a", mesh.interval(0, 1, cells=1), STEEL).wave_speed == pytest.approx(np.sqrt(2e11 / 7800))
    assert Solid("a", square, STEEL, plane="strain").wave_speed == pytest.approx(np.sqrt((LAM + 2 * MU) / 7800))
    assert Solid("a", square, STEEL, plane="stress").wave_speed == pytest.approx(np.sqrt(2e11 / 0.91 / 7800))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"young": -1.0}, "young = -1.0: must be positive"),
        ({"poisson": 0.5}, "poisson = 0.5"),
        ({"density": float("nan")}, "density = nan"),
    ],
)
def test_bad_material(change, text):
    with pytest.raises(UserError, match=text):
        replace(STEEL, **change)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "plane = None: must be one of strain, stress, axisymmetric"),
        ({"plane": "strain", "order": 7}, "order = 7: must be one of 1, 2"),
        ({"plane": "strain", "mass": "heavy"}, "mass = 'heavy'"),
        ({"plane": "strain", "thickness": 0.0}, "thickness = 0.0: must be positive"),
        ({"plane": "axisymmetric", "thickness": 2.0}, "plane strain and plane stress only"),
        ({"plane": "strain", "damping": 0.1}, "damping = 0.1: must be a Rayleigh"),
        ({"plane": "strain", "body_force": (1.0,)}, "must give 2 components"),
        ({"plane": "strain", "body_force": (1.0, float("nan"))}, "finite"),
        (
            {"plane": "strain", "tractions": {"end": (1.0, 0.0)}},
            "no boundary is named 'end'.*bottom, left, right, top",
        ),
        ({"plane": "strain", "tractions": {"top": lambda x, t: 1.0}}, "must give 2 components"),
    ],
)
def test_bad_solid(arguments, text):
    with pytest.raises(UserError, match=text) as caught:
        Solid("block", mesh.rectangle((0, 1), (0, 1), cells=(2, 2)), STEEL, **arguments)
    assert caught.value.code == 2


def test_parts_need_their_kind_of_mesh():
    with pytest.raises(UserError, match="a bar needs a mesh of lines"):
        Bar("bar", mesh.rectangle((0, 1), (0, 1), cells=(1, 1)), STEEL)
    with pytest.raises(UserError, match="use Bar"):
        Solid("solid", mesh.interval(0, 1, cells=2), STEEL)
    with pytest.raises(UserError, match="x < 0"):
        Solid("s", mesh.rectangle((-1, 1), (0, 1), cells=(2, 1)), STEEL, plane="axisymmetric")
    part = Bar("bar", mesh.interval(0, 1, cells=2), STEEL)
    with pytest.raises(UserError, match="weighting of shape"):
        part.assemble(Weighting.uniform(3, 2))
    with pytest.raises(UserError, match="not finite"):
        Weighting(np.full((2, 2), np.nan), np.ones((2, 2)), np.ones((2, 2)))
