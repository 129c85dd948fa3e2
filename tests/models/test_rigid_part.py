"""Rigid parts: inertia of boxes in closed form, constraints, placement, loads, bad input."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import arlequin as aq
from arlequin.models.part import Constrained, Weighting

HEAVY = aq.LinearElastic(young=1.0, poisson=0.3, density=3.0)
SIZES = (1.0, 0.6, 0.3)


def box(order=1, cells=(2, 1, 1), **more):
    mesh = aq.mesh.box(*[(0.5, 0.5 + size) for size in SIZES], cells=cells)
    return aq.Solid("box", mesh, HEAVY, order=order, **more)


def plate(**more):
    mesh = aq.mesh.rectangle((0.0, SIZES[0]), (0.0, SIZES[1]), cells=(2, 3))
    return aq.Solid("plate", mesh, HEAVY, **{"plane": "strain", "thickness": 0.2, **more})


def turned(part, angles, shift=0.3):
    """Displacements (n, a) of a rotation about the origin and a shift."""
    if part.components == 3:
        turn = Rotation.from_rotvec(angles).as_matrix()
    else:
        cos, sin = np.cos(angles[0]), np.sin(angles[0])
        turn = np.array([[cos, -sin], [sin, cos]])
    return part.positions @ turn.T + shift - part.positions


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_kinetic_energy_of_a_box(order, mass):
    """½ m V² + ½ ω·Jω, J = m (b² + c²)/12 …: of the masses and of the finite elements (lumped: of these alone)."""
    rigid = aq.Rigid(box(order, mass=mass))
    own = rigid.assemble()
    assert isinstance(own, Constrained)
    a, b, c = SIZES
    weight = 3.0 * a * b * c
    assert rigid.mass == pytest.approx(weight, rel=1e-13)
    np.testing.assert_allclose(rigid.centre, 0.5 + np.array(SIZES) / 2, rtol=1e-13)
    speed, spin = np.array([0.3, -0.2, 0.7]), np.array([1.0, -2.0, 0.5])
    field = (speed + np.cross(spin, rigid.positions - rigid.centre)).ravel()
    q = own.coordinates(field, np.zeros(0))
    np.testing.assert_allclose(own.shapes @ q, field, atol=1e-14)
    energy = 0.5 * q @ (own.mass @ q)
    assert energy == pytest.approx(0.5 * field @ (own.inertia @ field), rel=1e-13)
    if mass == "consistent":
        inertia = weight / 12 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
        assert energy == pytest.approx(0.5 * weight * speed @ speed + 0.5 * spin @ (inertia * spin), rel=1e-12)


@pytest.mark.parametrize("part", [box(), plate()], ids=["box", "plate"])
def test_masses_are_those_of_the_solid(part):
    """SᵀMS = m/(n + 1), and the nodes go where the masses are."""
    own = aq.Rigid(part).assemble()
    np.testing.assert_allclose((own.shapes.T @ (own.inertia @ own.shapes)).toarray(), own.mass.toarray(), atol=1e-15)
    np.testing.assert_allclose(own.shapes @ own.points.ravel(), part.positions.ravel(), atol=1e-14)


@pytest.mark.parametrize("part", [box(), plate()], ids=["box", "plate"])
def test_constraints(part):
    """They vanish in every rigid motion and in no other; the gradient is theirs; c(u₁) − c(u₀) = G(u_½)(u₁ − u₀)."""
    own, rng = aq.Rigid(part).assemble(), np.random.default_rng(1)
    axes = part.components
    for _ in range(5):
        u = own.coordinates(turned(part, rng.uniform(-3, 3, 3)).ravel(), np.zeros(0))
        assert np.abs(own.strains(u)).max() < 1e-14  # round-off of displacements of some m
        assert np.linalg.matrix_rank(own.strain_gradient(u)) == axes * (axes + 1) // 2
    stretched = own.coordinates((0.1 * part.positions).ravel(), np.zeros(0))
    # along its own axes each stretch is ½ (1.1² − 1) of the length of an arm, and nothing shears
    lengths = np.linalg.norm(own.simplex.arms, axis=1)
    exact = np.diag(0.5 * (1.1**2 - 1.0) * lengths)[np.triu_indices(axes)]
    np.testing.assert_allclose(own.strains(stretched), exact, atol=1e-14)
    u0, u1 = rng.standard_normal((2, own.points.size))
    change = own.strain_gradient(0.5 * (u0 + u1)) @ (u1 - u0)
    np.testing.assert_allclose(change, own.strains(u1) - own.strains(u0), atol=1e-13)


def test_placement_is_the_nearest_rotation():
    """Of displaced masses: SciPy's solution of Wahba's problem."""
    own, rng = aq.Rigid(box()).assemble(), np.random.default_rng(2)
    field = turned(box(), (0.5, -0.8, 1.1)).ravel() + 0.05 * rng.standard_normal(box().dof_count)
    u = own.coordinates(field, np.zeros(0))
    at = own.points + u.reshape(4, 3)
    arms = own.points - own.points.mean(axis=0)
    best, _ = Rotation.align_vectors(at - at.mean(axis=0), arms)
    placed = own.placed(u)
    np.testing.assert_allclose(own.points + placed.reshape(4, 3), at.mean(axis=0) + best.apply(arms), atol=1e-12)
    np.testing.assert_allclose(own.placed(placed), placed, atol=1e-15)


def test_loads_have_the_resultant_and_the_moment_of_the_solid():
    part = box(body_force=(0.0, 0.0, -2.0), tractions={"right": (0.0, 5.0, 1.0)})
    own = aq.Rigid(part).assemble()
    force = own.load(0.0).reshape(4, 3)
    a, b, c = SIZES
    body, push = np.array([0.0, 0.0, -2.0]) * a * b * c, np.array([0.0, 5.0, 1.0]) * b * c
    np.testing.assert_allclose(force.sum(axis=0), body + push, atol=1e-14)
    moment = np.cross(own.points - own.simplex.centre, force).sum(axis=0)
    np.testing.assert_allclose(moment, np.cross([a / 2, 0.0, 0.0], push), atol=1e-14)


def test_damping_is_that_of_the_mass():
    own = aq.Rigid(box(damping=aq.Rayleigh(mass=0.7, stiffness=3.0))).assemble()
    np.testing.assert_allclose(own.damping.toarray(), 0.7 * own.mass.toarray())
    assert aq.Rigid(box(damping=aq.Rayleigh(stiffness=3.0))).assemble().damping is None


def test_weights_weigh():
    """Under uniform weights the mass and the loads of it."""
    part = box(body_force=(0.0, 0.0, -2.0))
    shape = part.cells.dx.shape
    own = aq.Rigid(part).assemble(Weighting(*[np.full(shape, w) for w in (0.3, 0.5, 0.7)]))
    whole = aq.Rigid(part).assemble()
    np.testing.assert_allclose(own.mass.toarray(), 0.5 * whole.mass.toarray(), rtol=1e-13)
    assert own.load(0.0)[2::3].sum() == pytest.approx(0.7 * whole.load(0.0)[2::3].sum())


def test_bad_input():
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=2), HEAVY)
    with pytest.raises(aq.UserError, match="must be a Solid"):
        aq.Rigid(bar)
    with pytest.raises(aq.UserError, match="not axisymmetric"):
        aq.Rigid(plate(plane="axisymmetric", thickness=1.0))
    with pytest.raises(aq.UserError, match="no imposed motions"):
        aq.Rigid(box(imposed={"left": {"x": 0.0}}))
    rigid = aq.Rigid(box())
    with pytest.raises(aq.UserError, match="not determined"):
        rigid.stress(np.zeros(rigid.dof_count))
    with pytest.raises(aq.UserError, match="no boundary"):
        rigid.boundary("nowhere")
    sheet = aq.mesh.box((0.0, 1.0), (0.0, 1.0), (0.0, 1e-7), cells=(1, 1, 1))
    with pytest.raises(aq.UserError, match="must not be flat"):
        aq.Rigid(aq.Solid("sheet", sheet, HEAVY)).assemble()
