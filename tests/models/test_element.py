"""Finite elements from outside: patch tests, surfaces, contact, junctions, Gmsh files."""

from dataclasses import dataclass, replace

import meshio
import numpy as np
import pytest
import skfem
from skfem.mesh.mesh_2d_2 import Mesh2D2

import arlequin as aq
from arlequin.models.fem import elements
from arlequin.models.fem.elements import FiniteElement, element_of, register, reversed_facet

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
QUAD8 = FiniteElement("quad8", skfem.ElementQuadS2, order=2, cell_degree=5)
HEXAHEDRON20 = FiniteElement("hexahedron20", skfem.ElementHexS2, order=2, cell_degree=5)


@dataclass(repr=False)
class MeshQuad8(Mesh2D2, skfem.MeshQuad1):
    """Curved quadrilaterals of eight nodes."""

    elem: type = skfem.ElementQuadS2


@pytest.fixture
def registry(monkeypatch):
    """A copy of the registry without the elements of other tests."""
    known = {name: element for name, element in elements._REGISTRY.items() if name not in ("quad8", "hexahedron20")}
    monkeypatch.setattr(elements, "_REGISTRY", known)


def block(element, axes, **given):
    ranges = ((0.0, 1.0), (0.0, 2.0), (0.0, 1.0))[:axes]
    mesh = (aq.mesh.rectangle if axes == 2 else aq.mesh.box)(*ranges, cells=(3,) * axes)
    plane = "strain" if axes == 2 else None
    return aq.Solid("block", mesh, STEEL, plane=plane, element=element, **given)


@pytest.mark.parametrize(("element", "axes"), [(QUAD8, 2), (HEXAHEDRON20, 3)])
def test_patch(element, axes):
    """A linear field has its uniform stress, no force inside, and the energy ½ σ:ε V."""
    straight = block(element, axes)
    points = straight.mesh.p.copy()
    low, high = points.min(axis=1, keepdims=True), points.max(axis=1, keepdims=True)
    inner = ((points > low + 1e-9) & (points < high - 1e-9)).all(axis=0)
    points[:, inner] += 0.05 * np.random.default_rng(0).uniform(-1.0, 1.0, (axes, inner.sum()))
    part = replace(straight, mesh=replace(straight.mesh, doflocs=points))
    gradient = 1e-3 * np.random.default_rng(1).uniform(-1.0, 1.0, (axes, axes))
    u = (part.positions @ gradient.T).ravel()
    force, energy = part.assemble().internal(u)
    x = part.positions
    free = ((x > 1e-9) & (x < x.max(axis=0) - 1e-9)).all(axis=1)
    assert free.sum() > 10
    assert np.abs(force.reshape(-1, axes)[free]).max() < 1e-13 * np.abs(force).max()
    strain = 0.5 * (gradient + gradient.T)
    lam, mu = STEEL.lame()
    density = 0.5 * lam * np.trace(strain) ** 2 + mu * (strain**2).sum()
    assert energy == pytest.approx(2.0 * density, rel=1e-12)
    normal = part.stress(u)[..., 0]
    np.testing.assert_allclose(normal, lam * np.trace(strain) + 2 * mu * strain[0, 0], rtol=1e-10)


@pytest.mark.parametrize(("element", "axes", "nodes"), [(QUAD8, 2, 3), (HEXAHEDRON20, 3, 8)])
def test_surfaces(element, axes, nodes):
    """Areas sum to the area, facets are counter-clockwise from outside with their mid-edges between their corners."""
    part = block(element, axes)
    for name in ("left", "right"):
        surface = part.boundary(name)
        assert surface.facets.shape[1] == nodes
        assert surface.areas.sum() == pytest.approx(2.0)
        x = part.positions[surface.facets]
        if axes == 3:
            corners, middles = x[:, :4], x[:, 4:]
            np.testing.assert_allclose(middles, 0.5 * (corners + np.roll(corners, -1, axis=1)), atol=1e-14)
            outward = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])[:, 0]
            assert (np.sign(outward) == (1.0 if name == "right" else -1.0)).all()


def test_hexahedra_of_20_nodes_under_a_uniform_traction():
    """Uniaxial stress: ε = σ/E along the load, −νσ/E across, exact as the facet loads are consistent."""
    held = {"left": {"x": 0.0}, "bottom": {"y": 0.0}, "back": {"z": 0.0}}
    pull = {"right": lambda x, t: (1e8 * t + 0.0 * x[0], 0.0 * x[0], 0.0 * x[0])}
    part = block(HEXAHEDRON20, 3, imposed=held, tractions=pull)
    result = aq.simulate(aq.System([part]), aq.Static(), duration=1.0, step=1.0)
    u = result["part/block"]["displacement"].isel(frame=-1).values
    exact = part.positions * 1e8 / STEEL.young * np.array([1.0, -STEEL.poisson, -STEEL.poisson])
    np.testing.assert_allclose(u, exact, atol=1e-11 * np.abs(exact).max())


def test_a_junction_of_quad8_with_quad4():
    """A junction carries a uniform stress between meshes of different elements."""
    left = aq.mesh.rectangle((0.0, 1.2), (0.0, 1.0), cells=(6, 5))
    right = aq.mesh.rectangle((0.8, 2.0), (0.0, 1.0), cells=(12, 10))
    held = {"left": {"x": 0.0}, "bottom": {"y": 0.0}}
    coarse = aq.Solid("coarse", left, STEEL, plane="strain", element=QUAD8, imposed=held)
    pulled = {"right": {"x": lambda t: 1e-3 * t}, "bottom": {"y": 0.0}}
    fine = aq.Solid("fine", right, STEEL, plane="strain", imposed=pulled)
    junction = aq.Junction(coarse, fine, weights=aq.weights.Linear(), coupling=aq.L2(), mediator="coarse")
    result = aq.simulate(aq.System([coarse, fine], junctions=[junction]), aq.Static(), duration=1.0, step=1.0)
    expected = 5e-4 * STEEL.young / (1 - STEEL.poisson**2)
    for part in (coarse, fine):
        u = result[f"part/{part.name}"]["displacement"].isel(frame=-1).values.ravel()
        np.testing.assert_allclose(part.stress(u)[..., 0], expected, rtol=1e-9)


def test_a_registered_element_reads_its_cells(registry, tmp_path):
    """A Gmsh file of curved eight-node cells: nodes, boundary, area."""
    quad8 = register(replace(QUAD8, mesh=MeshQuad8, facet=skfem.ElementLineP2))
    theta = np.linspace(0.0, np.pi / 2, 5)
    r, t = (grid.ravel() for grid in np.meshgrid([1.0, 1.5, 2.0], theta, indexing="ij"))
    points = np.stack([r * np.cos(t), r * np.sin(t), 0.0 * r], axis=1)
    number = np.arange(15).reshape(3, 5)
    cells = [number[[0, 2, 2, 0, 1, 2, 1, 0], [j, j, j + 2, j + 2, j, j + 1, j + 2, j + 1]] for j in (0, 2)]
    outer = [[number[2, j], number[2, j + 2], number[2, j + 1]] for j in (0, 2)]
    tags = {"gmsh:physical": [np.array([1, 1]), np.array([2, 2])], "gmsh:geometrical": [np.array([1, 1])] * 2}
    mesh = meshio.Mesh(points, [("quad8", np.array(cells)), ("line3", np.array(outer))], cell_data=tags)
    mesh.field_data = {"ring": np.array([1, 2]), "outer": np.array([2, 1])}
    meshio.write(tmp_path / "ring.msh", mesh, file_format="gmsh22", binary=False)
    part = aq.Solid("ring", aq.mesh.read(tmp_path / "ring.msh"), STEEL, plane="strain")
    assert part.finite_element is quad8
    assert part.node_count == 13
    assert part.boundary("outer").areas.sum() == pytest.approx(np.pi, rel=5e-4)
    assert part.assemble().mass.sum() == pytest.approx(2 * 7800.0 * np.pi / 4 * 3.0, rel=1e-3)


def test_which_element_a_mesh_has(registry):
    flat = aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(1, 1))
    quad8 = register(replace(QUAD8, mesh=MeshQuad8, facet=skfem.ElementLineP2))
    assert element_of(flat).cell_type == "quad"
    assert element_of(flat, 2).cell_type == "quad9"
    assert element_of(MeshQuad8.from_mesh(flat)) is element_of(MeshQuad8.from_mesh(flat), 2) is quad8
    with pytest.raises(aq.UserError, match="must be a cell type that is not registered"):
        register(quad8)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"element": HEXAHEDRON20}, "has cells of another shape than the element 'hexahedron20'"),
        ({"element": QUAD8, "order": 1}, "order = 1: must be 2, that of the element"),
        ({"element": "quad8"}, "must be a FiniteElement or None"),
    ],
)
def test_elements_that_do_not_suit(given, words):
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(1, 1))
    with pytest.raises(aq.UserError, match=words):
        aq.Solid("block", mesh, STEEL, plane="strain", **given)


def test_a_record_with_another_mesh():
    with pytest.raises(aq.UserError, match="must have the geometry of ElementQuadS2, not ElementQuad2"):
        FiniteElement("quad8", skfem.ElementQuadS2, order=2, cell_degree=5, mesh=skfem.MeshQuad2)


@pytest.mark.parametrize("corners", [3, 4])
@pytest.mark.parametrize("order", [1, 2])
def test_facets_from_the_other_side(corners, order):
    """Twice is the identity; mid-edges stay between their corners."""
    turned = reversed_facet(3, corners, order * corners)
    assert (turned[turned] == np.arange(order * corners)).all()
    if order == 2:
        edges = {frozenset((i, (i + 1) % corners)): corners + i for i in range(corners)}
        for i in range(corners):
            assert turned[corners + i] == edges[frozenset((turned[i], turned[(i + 1) % corners]))]
