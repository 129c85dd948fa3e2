"""Mass matrices: totals, moments and inertia in closed form, lumping, redistribution."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arlequin.models import mesh
from arlequin.models.errors import UserError
from arlequin.models.fem.bar import Bar
from arlequin.models.fem.mass import linear_extension
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.part import Weighting

RHO = 7.8
MATERIAL = LinearElastic(young=2.0, poisson=0.2, density=RHO)
KINDS = ("consistent", "lumped", "redistributed")


def solids(mass):
    for order in (1, 2):
        for kind in ("tri", "quad"):
            plain = mesh.rectangle((0.5, 2.5), (0, 1), cells=(5, 4), kind=kind)
            yield Solid(kind, plain, MATERIAL, plane="strain", order=order, mass=mass, thickness=0.1)
        for kind in ("tet", "hex"):
            yield Solid(
                kind,
                mesh.box((0.5, 2.5), (0, 1), (0, 0.1), cells=(4, 2, 2), kind=kind),
                MATERIAL,
                order=order,
                mass=mass,
            )


@pytest.mark.parametrize("mass", KINDS)
def test_total_mass_and_moments(mass):
    """The block [0.5, 2.5] × [0, 1] × 0.1: mass, first moments, and inertia where the mass is not lumped."""
    total = RHO * 0.2
    for part in solids(mass):
        massless = part.boundary("right").nodes if mass == "redistributed" else None
        M = part.assemble(massless=massless).mass
        x = part.positions
        size = part.components
        for i in range(size):
            direction = np.zeros((part.node_count, size))
            direction[:, i] = 1.0
            one = direction.ravel()
            assert one @ (M @ one) == pytest.approx(total, rel=1e-13)
            moments = [one @ (M @ (direction * x[:, [axis]]).ravel()) for axis in (0, 1)]
            assert moments == pytest.approx([total * 1.5, total * 0.5], rel=1e-13)
            if mass != "lumped":
                inertia = (direction * x[:, [0]]).ravel() @ (M @ (direction * x[:, [0]]).ravel())
                assert inertia == pytest.approx(total * (1.5**2 + 4 / 12), rel=1e-13)
                product = (direction * x[:, [0]]).ravel() @ (M @ (direction * x[:, [1]]).ravel())
                assert product == pytest.approx(total * 1.5 * 0.5, rel=1e-13)


def test_axisymmetric_mass():
    for order in (1, 2):
        for mass in ("consistent", "lumped"):
            plain = mesh.rectangle((0, 0.3), (0, 0.7), cells=(3, 4))
            part = Solid("rod", plain, MATERIAL, plane="axisymmetric", order=order, mass=mass)
            assert part.assemble().mass.sum() / 2 == pytest.approx(RHO * np.pi * 0.09 * 0.7, rel=1e-13)


def test_consistent_mass_of_a_linear_bar():
    M = Bar("bar", mesh.interval(0, 2, cells=2), MATERIAL, section=3.0).assemble().mass.toarray()
    assert pytest.approx(RHO * 3.0 / 6 * np.array([[2, 1, 0], [1, 4, 1], [0, 1, 2]]), rel=1e-14) == M


def test_lumped_mass():
    """Diagonal and positive; row sums h/2, and Simpson's 1/6, 4/6, 1/6 of a quadratic bar."""
    for part in solids("lumped"):
        M = part.assemble().mass
        assert M.nnz == part.dof_count and (M.diagonal() > 0).all()
    plain = mesh.interval(0, 1, cells=2)
    linear = Bar("bar", plain, MATERIAL, mass="lumped").assemble().mass.diagonal()
    assert linear == pytest.approx(RHO * np.array([0.25, 0.5, 0.25]))
    quadratic = Bar("bar", plain, MATERIAL, order=2, mass="lumped").assemble().mass.diagonal()
    assert np.sort(quadratic) == pytest.approx(RHO * np.sort([1 / 12, 1 / 3, 1 / 6, 1 / 3, 1 / 12]))


def test_redistributed_mass():
    """No row or column at the massless nodes, positive definite on the others."""
    for part in solids("redistributed"):
        surface = part.boundary("right")
        M = part.assemble(massless=surface.nodes).mass.toarray()
        dofs = surface.dofs.ravel()
        others = np.setdiff1d(np.arange(part.dof_count), dofs)
        assert not M[dofs].any() and not M[:, dofs].any()
        assert np.abs(M - M.T).max() <= 1e-15 * np.abs(M).max()
        smallest = np.linalg.eigvalsh(M[np.ix_(others, others)])[0]
        original = np.linalg.eigvalsh(part.assemble().mass.toarray())[0]
        assert smallest >= 0.5 * original > 0


def test_redistributed_bar_by_hand():
    """Of three kept nodes at 1, 2, 3 from the end, the least-norm extrapolation is 4/3, 1/3, −2/3."""
    part = Bar("bar", mesh.interval(0, 3, cells=3), LinearElastic(1.0, 0.0, 6.0), mass="redistributed")
    M = part.assemble(massless=[3]).mass.toarray()
    E = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-2 / 3, 1 / 3, 4 / 3]])
    full = np.array([[2, 1, 0, 0], [1, 4, 1, 0], [0, 1, 4, 1], [0, 0, 1, 2.0]])
    assert M[:3, :3] == pytest.approx(E.T @ full @ E, rel=1e-13)
    assert not M[3].any()


@given(seed=st.integers(0, 10**6), axes=st.integers(1, 3), stretch=st.floats(0.02, 50))
def test_extension_reproduces_linear_fields(seed, axes, stretch):
    """On any cloud of nodes, also where the nearest ones lie on a line."""
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*[np.arange(5.0)] * axes, indexing="ij"), axis=-1).reshape(-1, axes)
    positions = (grid + rng.uniform(-0.2, 0.2, grid.shape)) * np.where(np.arange(axes) == 0, stretch, 1.0)
    massless = np.flatnonzero(grid[:, 0] == 4)
    E = linear_extension(positions, massless)
    assert not E.toarray()[:, massless].any()
    assert E @ np.ones(len(positions)) == pytest.approx(np.ones(len(positions)), rel=1e-12)
    assert E @ positions == pytest.approx(positions, abs=1e-12 * np.abs(positions).max())


def test_no_node_left_for_the_mass():
    part = Bar("bar", mesh.interval(0, 1, cells=2), MATERIAL, mass="redistributed")
    with pytest.raises(UserError, match="no nodes with mass around") as caught:
        part.assemble(massless=[0, 1])
    assert caught.value.code == 1


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_linear_weight_is_integrated_exactly(mass):
    """A weight linear in x: total mass ∫ρx and, consistent, first moment ∫ρx² and ∫ρx³ in closed form."""
    for part in solids(mass):
        x = part.quadrature_points()[0]
        M = part.assemble(Weighting(stiffness=x, mass=x, load=x)).mass
        one = np.ones(part.dof_count)
        along = np.repeat(part.positions[:, 0], part.components)
        scale = RHO * 0.1 * part.components
        assert one @ (M @ one) == pytest.approx(scale * (2.5**2 - 0.5**2) / 2, rel=1e-13)
        if mass == "consistent":
            assert along @ (M @ one) == pytest.approx(scale * (2.5**3 - 0.5**3) / 3, rel=1e-13)
            assert along @ (M @ along) == pytest.approx(scale * (2.5**4 - 0.5**4) / 4, rel=1e-13)
