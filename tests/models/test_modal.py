"""Modal reduction against closed forms, dense eigenproblems and full statics."""

import numpy as np
import pytest
import scipy.linalg
from scipy.sparse import csr_array

import arlequin as aq
from arlequin.models.part import Weighting

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
SPEED = np.sqrt(2e11 / 7800.0)


def bar(cells=40, **more):
    return aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=cells), STEEL, section=1e-4, **more)


def beam(cells=20, dimension=2, height=0.02, **more):
    section = aq.Section.rectangle(height, 0.03)
    return aq.Beam("beam", aq.mesh.interval(0.0, 1.0, cells=cells), STEEL, section, dimension=dimension, **more)


def block(**more):
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 0.3), cells=(10, 3))
    return aq.Solid("block", mesh, STEEL, **{"plane": "strain", **more})


CLAMPED = {"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}


@pytest.mark.parametrize("cells", [40, 500])
def test_frequencies_of_a_bar(cells):
    """Consistent mass: ω = (c/h) √(6 (1 − cos kh)/(2 + cos kh)), k = (j − ½) π/L; dense and Lanczos."""
    modal = aq.Modal(bar(cells, imposed={"left": {"x": 0.0}}), 6)
    kh = (np.arange(1, 7) - 0.5) * np.pi / cells
    exact = SPEED * cells * np.sqrt(6 * (1 - np.cos(kh)) / (2 + np.cos(kh)))
    np.testing.assert_allclose(2 * np.pi * modal.frequencies, exact, rtol=1e-9)


def test_frequencies_of_a_cantilever():
    """Slender: f = (βL)² √(EI/ρA)/(2π L²)."""
    modal = aq.Modal(beam(60, height=1e-3, imposed=CLAMPED), 3)
    roots = np.array([1.8751040687, 4.6940911330, 7.8547574382])
    exact = roots**2 * SPEED * np.sqrt(1e-6 / 12) / (2 * np.pi)
    np.testing.assert_allclose(modal.frequencies, exact, rtol=2e-4)


CUBE = aq.mesh.box((0.0, 1.0), (0.0, 0.4), (0.0, 0.3), cells=(4, 2, 2))
FLOATING = {
    "bar": (bar(), 1),
    "plane beam": (beam(), 3),
    "beam": (beam(8, 3), 6),
    "plane": (block(), 3),
    "revolution": (block(plane="axisymmetric"), 1),
    "space": (aq.Solid("cube", CUBE, STEEL), 6),
    "rollers": (block(imposed={"left": {"x": 0.0}}), 1),
    "hinge": (beam(imposed={"left": {"x": 0.0, "y": 0.0}}), 1),
    "lumped": (block(mass="lumped"), 3),
}


@pytest.mark.parametrize("part, rigid", FLOATING.values(), ids=FLOATING)
def test_rigid_motions_are_counted_and_exact(part, rigid):
    own = part.assemble()
    held = np.concatenate([item.dofs for item in own.imposed]) if own.imposed else []
    free = np.setdiff1d(np.arange(part.dof_count), held)
    mass, stiffness = (matrix.toarray()[np.ix_(free, free)] for matrix in (own.mass, own.stiffness))
    exact = scipy.linalg.eigh(stiffness, mass, eigvals_only=True)[: rigid + 4]
    modal = aq.Modal(part, rigid + 4)
    squares = (2 * np.pi * modal.frequencies) ** 2
    assert (squares[:rigid] == 0.0).all()
    np.testing.assert_allclose(squares[rigid:], exact[rigid:], rtol=1e-7)
    reduced = modal.assemble()
    shapes = reduced.shapes
    np.testing.assert_allclose(shapes.T @ own.mass @ shapes, np.eye(rigid + 4), atol=1e-12)
    np.testing.assert_allclose(shapes.T @ own.stiffness @ shapes, np.diag(squares), atol=1e-9 * squares.max())
    for shape in shapes.T[:rigid]:
        assert own.internal(shape)[1] < 1e-20 * squares.max()


@pytest.mark.parametrize("part, name", [
    (beam(imposed=CLAMPED, end_loads={"right": (3.0, 5.0)}), "right"),
    (block(imposed={"left": {"x": 0.0, "y": 0.0}}, tractions={"right": (1e5, 2e5)}), "right"),
], ids=["beam", "block"])  # fmt: skip
def test_static_shapes_make_the_deflection_exact(part, name):
    """Under any load the mean displacement of a static boundary is that of the full model (reciprocity)."""
    own, surface = part.assemble(), part.boundary(name)
    free = np.setdiff1d(np.arange(part.dof_count), np.concatenate([item.dofs for item in own.imposed]))
    share = surface.areas / surface.areas.sum()

    def mean(u):
        return share @ u.reshape(part.node_count, -1)[surface.nodes, :2]

    loads = np.random.default_rng(1).standard_normal(part.dof_count)
    misses = []
    for force in (own.load(0.0), loads):
        exact = np.zeros(part.dof_count)
        exact[free] = np.linalg.solve(own.stiffness.toarray()[np.ix_(free, free)], force[free])
        for static in ((), (surface,)):
            reduced = aq.Modal(part, 3, static=static).assemble()
            q = np.linalg.solve(reduced.stiffness.toarray(), reduced.shapes.T @ force)
            misses.append(np.abs(mean(reduced.shapes @ q) - mean(exact)).max() / np.abs(mean(exact)).max())
    assert misses[0] > 1e-3
    assert max(misses[1::2]) < 1e-10


def test_inertia_relief():
    """A free bar pulled at its end: F = m a, and it stretches by F L/(2 E A)."""
    part = bar()
    reduced = aq.Modal(part, 1, static=[part.boundary("right")]).assemble()
    force = np.zeros(part.dof_count)
    force[part.boundary("right").nodes] = 1.0
    pull, elastic = reduced.shapes.T @ force, reduced.squares > 0.0
    u = reduced.shapes @ np.where(elastic, pull / np.where(elastic, reduced.squares, 1.0), 0.0)
    ends = [u[part.boundary(name).nodes[0]] for name in ("left", "right")]
    assert ends[1] - ends[0] == pytest.approx(1.0 / (2 * 2e11 * 1e-4), rel=1e-11)


def test_all_modes_hold_the_static_shapes():
    part = bar(10, imposed={"left": {"x": 0.0}})
    assert aq.Modal(part, 10, static=[part.boundary("right")]).frequencies.size == 10
    assert aq.Modal(part, 4, static=[part.boundary("right")]).frequencies.size == 5


def test_no_more_shapes_than_free_dofs():
    """Static shapes add nothing to all modes, only round-off on short cells: the frequencies are those of the matrices
    of a beam that is held along and about its axis."""
    sections = [middle + part for middle in (0.1, 0.4, 0.7) for part in (-0.012, 0.0, 0.012)]
    nodes = np.sort([0.0, 0.18, 0.25, 0.32, 0.48, 0.55, 0.62, 0.8, *sections])
    part = aq.Beam(
        "rod", aq.mesh.line(nodes), STEEL, aq.Section.rectangle(0.02, 0.03), dimension=3,
        up=(0.0, 1.0, 0.0), imposed={"left": {"x": 0.0, "rx": 0.0}},
        points={f"section{i}": aq.SectionPoints(at) for i, at in enumerate(sections)},
    )  # fmt: skip
    own = part.assemble()
    free = np.setdiff1d(np.arange(part.dof_count), [0, 3])
    matrices = (matrix[free][:, free].toarray() for matrix in (own.stiffness, own.mass))
    squares = scipy.linalg.eigh(*matrices, eigvals_only=True)
    for static in (sections, sections[-1:]):
        places = [part.boundary(f"section{sections.index(at)}") for at in static]
        found = aq.Modal(part, free.size, static=places).frequencies
        np.testing.assert_allclose(found[4:], np.sqrt(squares[4:]) / (2 * np.pi), rtol=1e-6)


def test_supports_move_along_their_static_shapes():
    """A bar between two supports: u = s₁ (1 − x) + s₂ x, energy ½ EA (s₂ − s₁)²; none for a common motion."""
    part = bar(imposed={"left": {"x": lambda t: t}, "right": {"x": lambda t: -t}})
    reduced = aq.Modal(part, 4).assemble()
    x = part.positions[:, 0]
    for first, second in ((2.0, -1.0), (3.0, 3.0)):
        field = first * (1 - x) + second * x
        q = reduced.coordinates(np.zeros_like(x), np.array([first, second]))
        q[:4] = reduced.basis.T @ part.assemble().mass @ field
        np.testing.assert_allclose(reduced.shapes @ q, field, rtol=1e-12)
        force, energy = reduced.internal(q)
        assert energy == pytest.approx(0.5 * 2e11 * 1e-4 * (second - first) ** 2, rel=1e-11, abs=1e-18)
        np.testing.assert_allclose(force, reduced.stiffness @ q, atol=1e-6)
    gram = reduced.shapes.T @ (reduced.inertia @ reduced.shapes)
    np.testing.assert_allclose(gram, reduced.mass.toarray(), atol=1e-14)


def test_highest_frequency_kept():
    part = bar(imposed={"left": {"x": 0.0}})
    assert aq.Modal(part, 10, frequency=3 * SPEED / 4 * 1.01).frequencies.size == 2


def test_weights_act_on_the_shapes():
    """Half of everything: the frequencies stay, shapes grow by √2."""
    part = bar(imposed={"left": {"x": 0.0}})
    modal, half = aq.Modal(part, 4), np.full(part.cells.dx.shape, 0.5)
    weighted = modal.assemble(Weighting(half, half, half))
    np.testing.assert_allclose(weighted.squares, modal.assemble().squares, rtol=1e-9)
    np.testing.assert_allclose(weighted.shapes, np.sqrt(2) * modal.assemble().shapes, atol=1e-9)


def test_damping_ratios():
    part = bar(imposed={"left": {"x": 0.0}}, damping=aq.Rayleigh(3.0, 1e-6))
    omega = 2 * np.pi * aq.Modal(part, 4).frequencies
    np.testing.assert_allclose(aq.Modal(part, 4).assemble().damping.diagonal(), 3.0 + 1e-6 * omega**2, rtol=1e-12)
    given = aq.Modal(part, 4, damping=(0.1, 0.02)).assemble().damping
    np.testing.assert_allclose(given.toarray(), np.diag(2 * omega * [0.1, 0.02, 0.02, 0.02]), rtol=1e-12)


@pytest.mark.parametrize("part, options, text", [
    (aq.PointMasses("m", 0.0, 1.0), {}, "must be a Bar, a Beam or a Solid"),
    (bar(), {"modes": 0}, "modes"),
    (bar(), {"modes": 1.5}, "modes"),
    (bar(), {"static": [bar().boundary("left")]}, "boundaries of the part"),
    (bar(), {"detailed": [bar().boundary("left")]}, "detailed.*boundaries of the part"),
    (bar(), {"damping": -0.1}, "damping"),
    (bar(), {"frequency": 0.0}, "frequency"),
])  # fmt: skip
def test_bad_input(part, options, text):
    with pytest.raises(aq.UserError, match=text):
        aq.Modal(part, **options)


@pytest.mark.parametrize("part, modes", [(bar(10), 12), (beam(), 2)])
def test_modes_that_the_part_has_not(part, modes):
    with pytest.raises(aq.UserError, match=r"modes = .*must be in \["):
        aq.Modal(part, modes).assemble()


# nodes in detail

HELD = aq.Solid("cube", CUBE, STEEL, imposed={"left": {"x": 0.0, "y": 0.0, "z": 0.0}})


def flexible(modal, forces, **more):
    """Φ ω⁻² Φᵀ f of the elastic shapes."""
    own = modal.assemble(**more)
    elastic = own.squares > 0.0
    shapes = own.basis[:, elastic]
    return shapes @ ((shapes.T @ forces) / own.squares[elastic][:, None])


def pulling(part, name, columns=7):
    """Forces on all nodes of a boundary."""
    out = np.zeros((part.dof_count, columns))
    dofs = part.boundary(name).dofs.ravel()
    out[dofs] = np.random.default_rng(1).normal(size=(dofs.size, columns))
    return out


@pytest.mark.parametrize("part", [HELD, aq.Solid("cube", CUBE, STEEL)], ids=["held", "floating"])
def test_detailed_boundaries_make_statics_exact(part):
    """Any forces on the nodes, in equilibrium where nothing holds the part: the whole field is the full model's."""
    modal = aq.Modal(part, 8, detailed=[part.boundary("top"), part.boundary("right")])
    own = part.assemble()
    forces = pulling(part, "top") + pulling(part, "right")
    rigid = modal.assemble().basis[:, modal.frequencies == 0.0]
    full, mass = own.stiffness.toarray(), own.mass.toarray()
    # pulled back to its centre, a floating part has the same inverse of K beside the rigid motions
    forces -= mass @ rigid @ (rigid.T @ forces)
    free = np.setdiff1d(np.arange(part.dof_count), [dof for item in own.imposed for dof in item.dofs])
    forces[np.setdiff1d(np.arange(part.dof_count), free)] = 0.0
    exact = np.zeros_like(forces)
    exact[free] = np.linalg.lstsq(full[np.ix_(free, free)], forces[free], rcond=1e-13)[0]
    exact -= rigid @ (rigid.T @ mass @ exact)
    assert np.abs(flexible(modal, forces) - exact).max() <= 1e-10 * np.abs(exact).max()


def test_detailed_shapes_are_orthonormal_and_those_held_by_others_are_left_out():
    """The mean of a boundary and another name of its nodes add nothing; all nodes: the whole part."""
    once, top = aq.Modal(HELD, 4, detailed=[HELD.boundary("top")]), HELD.boundary("top")
    again = aq.Modal(HELD, 4, static=[top], detailed=[top, top])
    own, mass = once.assemble(), HELD.assemble().mass
    held = np.concatenate([item.dofs for item in HELD.assemble().imposed])
    free = np.setdiff1d(top.dofs.ravel(), held).size
    assert own.squares.size == again.assemble().squares.size == 4 + free
    np.testing.assert_allclose(again.frequencies, once.frequencies, rtol=1e-9)
    np.testing.assert_allclose(own.basis.T @ mass @ own.basis, np.eye(4 + free), atol=1e-12)
    stiffness = own.basis.T @ HELD.assemble().stiffness @ own.basis
    np.testing.assert_allclose(stiffness, np.diag(own.squares), atol=1e-9 * own.squares.max())
    skin = [HELD.boundary(name) for name in HELD.mesh.boundaries]
    assert aq.Modal(HELD, HELD.dof_count - held.size, detailed=skin).frequencies.size == HELD.dof_count - held.size


def test_pulls_of_junctions_make_statics_exact():
    """Multipliers that pull at mixed nodes; under weights these are the shapes of the weighted part."""
    mixed = csr_array(np.random.default_rng(2).normal(size=(5, HELD.dof_count)))
    modal = aq.Modal(HELD, 4)
    half = Weighting(*(0.5 * np.ones(HELD.cells.dx.shape) for _ in range(3)))
    own = HELD.assemble()
    free = np.setdiff1d(np.arange(HELD.dof_count), np.concatenate([item.dofs for item in own.imposed]))
    exact = np.zeros((HELD.dof_count, 5))
    exact[free] = np.linalg.solve(own.stiffness.toarray()[np.ix_(free, free)], mixed.T.toarray()[free])
    for weighting, factor in ((None, 1.0), (half, 2.0)):
        found = flexible(modal, mixed.T.toarray(), weighting=weighting, pulls=[mixed])
        assert np.abs(found - factor * exact).max() <= 1e-10 * np.abs(exact).max()
    assert modal.assemble(half, pulls=[mixed]) is modal.assemble(half, pulls=[mixed.copy()])
    assert modal.assemble(half, pulls=[2 * mixed]) is not modal.assemble(half, pulls=[mixed])


def test_two_reductions_are_the_same_bits():
    first, second = (aq.Modal(HELD, 4, detailed=[HELD.boundary("top")]).assemble() for _ in range(2))
    assert (first.basis == second.basis).all() and (first.squares == second.squares).all()
