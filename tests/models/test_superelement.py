"""Superelements: checks of matrices, boundaries, mass and rigid motions against closed forms."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

import arlequin as aq
from arlequin.models.errors import ModelWarning
from arlequin.models.reduction.semidefinite import Semidefinite, squares, symmetric_matrix

SPRING = np.array([[1.0, -1.0], [-1.0, 1.0]])
MASSES = np.diag([2.0, 3.0])


def rod(**options):
    fields = {"mass": MASSES, "stiffness": 1e6 * SPRING, "positions": [[0.0], [0.5]]} | options
    return aq.Superelement("rod", **fields)


def frame(corners=((0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0)), weights=(1.0, 2.0, 3.0, 4.0)):
    """M, K, positions of masses joined by springs along all their distances: all rigid motions are free."""
    points = np.array(corners)
    count, axes = points.shape
    stiffness = np.zeros((count * axes,) * 2)
    for a in range(count):
        for b in range(a):
            along = np.zeros(count * axes)
            unit = (points[a] - points[b]) / np.linalg.norm(points[a] - points[b])
            along[a * axes : a * axes + axes], along[b * axes : b * axes + axes] = unit, -unit
            stiffness += 1e5 * np.outer(along, along)
    return np.diag(np.repeat(weights, axes).astype(float)), stiffness, points


def test_description():
    mass, stiffness, points = frame()
    part = aq.Superelement("frame", mass=mass, stiffness=stiffness, positions=points)
    assert part.total_mass == pytest.approx(10.0, rel=1e-15)
    assert repr(part) == "Superelement('frame', 4 nodes, 8 coordinates, 10 kg)"
    text = part.describe()
    # centre: Σ m x / Σ m
    assert "centre of mass (1, 0.7) m" in text
    assert "rigid motions: translation along x, translation along y, rotation\n" in text
    frequencies = np.sqrt(np.maximum(np.linalg.eigvals(np.linalg.solve(mass, stiffness)).real, 0.0)) / (2 * np.pi)
    assert f"{frequencies.max():.4g} Hz" in text


@pytest.mark.parametrize("kind", ["full", "sparse", "coo"])
def test_full_and_sparse(kind):
    convert = {"full": np.asarray, "sparse": sp.csr_array, "coo": sp.coo_matrix}[kind]
    part = rod(mass=convert(MASSES), stiffness=convert(1e6 * SPRING))
    np.testing.assert_array_equal(part.stiffness.toarray(), 1e6 * SPRING)


def test_replace():
    """A part that was read is supported and loaded by `replace`."""
    part = rod(mass=np.diag([2.0, 3.0, 1.0]), stiffness=1e6 * np.pad(SPRING, (0, 1)) + np.diag([0.0, 0.0, 5.0]))
    held = replace(part, imposed={"all": {"x": 0.0}})
    assert held.retained == part.retained and held.generalised.tolist() == [2]
    assert [item.dofs.tolist() for item in held.motions] == [[0, 1]]


def test_space_motions():
    """Four masses of a tetrahedron: six rigid motions."""
    mass, stiffness, points = frame(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
    part = aq.Superelement("t", mass=mass, stiffness=stiffness, positions=points)
    assert len(part.rigid_motions) == 6
    assert max(part.rigid_energies.values()) < 1e-15
    assert "centre of mass (0.2, 0.3, 0.4) m" in part.describe()


def test_strained_motions_are_named():
    mass, stiffness, points = frame()
    wrong = points + np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.0], [0.0, 0.0]])
    with pytest.warns(UserWarning, match=r"rotation \(0\.0"):
        aq.Superelement("frame", mass=mass, stiffness=stiffness, positions=wrong)
    with pytest.warns(UserWarning, match=r"translation along x .*grounded=True"):
        rod(stiffness=1e6 * (SPRING + 0.1 * np.eye(2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grounded = rod(stiffness=1e6 * (SPRING + 0.1 * np.eye(2)), grounded=True)
    assert "strained by rigid motions" in grounded.describe()


def test_mixed_units_are_named():
    """A bar of steel, c = √(E/ρ) = 5,064 m/s: with its length in mm waves would be a thousand times as fast."""
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.2, cells=1), aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0))
    matrices = {"mass": bar.assemble().mass, "stiffness": bar.assemble().stiffness}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        part = aq.Superelement("bar", positions=bar.positions, **matrices)
    assert part.crossing_rate == pytest.approx(np.sqrt(2e11 / 7800.0) / 0.2, rel=1e-12)
    with pytest.warns(ModelWarning, match=r"'bar': waves would cross it at 5.1e\+06 m/s, faster than in any") as seen:
        aq.Superelement("bar", positions=1e3 * bar.positions, **matrices)
    assert len(seen) == 1 and "\n" not in str(seen[0].message)


def test_generalised_mass():
    """A clamped–free unit bar in (end, first fixed mode): the mass of a translation is that of the bar."""
    # shapes x and sin(πx), ρA = EA = 1; the left end is a node too
    psi = lambda x: np.array([1.0 - x, x, np.sin(np.pi * x)])  # noqa: E731
    x, w = np.polynomial.legendre.leggauss(20)
    shapes = psi(0.5 + 0.5 * x)
    mass = (0.5 * w * shapes) @ shapes.T
    stiffness = np.diag([0.0, 0.0, np.pi**2 / 2])
    stiffness[:2, :2] = SPRING
    part = aq.Superelement("bar", mass=mass, stiffness=stiffness, positions=[0.0, 1.0])
    assert part.total_mass == pytest.approx(1.0, rel=1e-14)
    result = aq.simulate(aq.System([part], gravity=-10.0), aq.Theta(0.5), duration=1.0, step=0.1)
    group = result["part/bar"]
    np.testing.assert_allclose(group["displacement"][-1, :, 0], -5.0, rtol=1e-12)
    np.testing.assert_allclose(group["generalised"], 0.0, atol=1e-12)
    np.testing.assert_allclose(group["momentum"][-1], -10.0, rtol=1e-12)


def test_attachment_modes():
    """Generalised coordinates that take part in translations: other shapes of the same bar give the same motion."""
    psi = lambda x: np.array([1.0 - x, x, np.sin(np.pi * x)])  # noqa: E731
    x, w = np.polynomial.legendre.leggauss(20)
    shapes = psi(0.5 + 0.5 * x)
    mass = (0.5 * w * shapes) @ shapes.T
    stiffness = np.diag([0.0, 0.0, np.pi**2 / 2])
    stiffness[:2, :2] = SPRING
    mixed = np.eye(3)
    mixed[2, :2] = 0.7, -0.4  # the third coordinate is relative to the ends
    results = []
    for change in (np.eye(3), mixed):
        part = aq.Superelement(
            "bar", mass=change.T @ mass @ change, stiffness=change.T @ stiffness @ change, positions=[0.0, 1.0]
        )
        assert part.total_mass == pytest.approx(1.0, rel=1e-14)
        system = aq.System([part], springs=[aq.Spring("s", part.boundary("all"), stiffness=3.0)], gravity=-10.0)
        results.append(aq.simulate(system, aq.Theta(0.5), duration=1.0, step=0.01)["part/bar"]["displacement"].values)
    np.testing.assert_allclose(results[1], results[0], rtol=1e-11, atol=1e-12)


def test_facets():
    """Areas and normals of a unit square of two triangles, of one quadrilateral, and of a line."""
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    mass, stiffness, _ = frame(points + np.array([[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]]))
    for facets, areas in (([[0, 1, 2], [0, 2, 3]], [1 / 3, 1 / 6, 1 / 3, 1 / 6]), ([[0, 1, 2, 3]], [0.25] * 4)):
        part = aq.Superelement(
            "s", mass=mass, stiffness=stiffness, positions=points, interface={"top": {"facets": facets}}, grounded=True
        )
        surface = part.boundary("top")
        np.testing.assert_allclose(surface.areas, areas, rtol=1e-14)
        np.testing.assert_allclose(surface.normals, [[0.0, 0.0, 1.0]] * 4, atol=1e-15)
    mass, stiffness, points = frame()
    part = aq.Superelement(
        "s", mass=mass, stiffness=stiffness, positions=points, interface={"side": {"facets": [[1, 2]]}, "foot": [0, 1]}
    )
    np.testing.assert_allclose(part.boundary("side").areas, [0.5, 0.5])
    np.testing.assert_allclose(part.boundary("side").normals, [[1.0, 0.0]] * 2)
    np.testing.assert_allclose(part.boundary("foot").areas, [1.0, 1.0])


def test_partial_components():
    """A node retained across only: its other displacement is at rest, and a support of it is refused."""
    mass, stiffness = np.diag([1.0, 1.0, 2.0]), np.diag([1.0, 1.0, 1.0])
    options = {
        "mass": mass,
        "stiffness": stiffness,
        "positions": [[0.0, 0.0], [1.0, 0.0]],
        "components": [("x", "y"), "y"],
    }
    part = aq.Superelement("p", **options, interface={"end": 1}, grounded=True)
    assert part.coordinate_numbers.tolist() == [0, 1, -1, 2]
    with pytest.raises(
        aq.UserError, match=r"imposed displacement 'x' on 'end': the component is not retained at node 1"
    ):
        aq.Superelement("p", **options, interface={"end": 1}, grounded=True, imposed={"end": {"x": 0.0}})


def test_rotations_and_moments():
    """A cantilever of one beam element as a superelement: deflection by a force and a moment."""
    length, bending = 2.0, 3.0
    a, b, c, d = 12 / length**3, 6 / length**2, 4 / length, 2 / length
    beam = bending * np.array([[a, b, -a, b], [b, c, -b, d], [-a, -b, a, -b], [b, d, -b, c]])
    part = aq.Superelement(
        "beam",
        mass=np.eye(4),
        stiffness=beam,
        positions=[[0.0, 0.0], [length, 0.0]],
        components=("y", "rz"),
        interface={"root": 0, "tip": 1},
        imposed={"root": {"y": 0.0, "rz": 0.0}},
        forces={"tip": lambda t: (0.0, 5.0 * t, 7.0 * t)},
    )
    result = aq.simulate(aq.System([part]), aq.Static(), duration=1.0, step=1.0)["part/beam"]
    deflection = 5.0 * length**3 / (3 * bending) + 7.0 * length**2 / (2 * bending)
    rotation = 5.0 * length**2 / (2 * bending) + 7.0 * length / bending
    assert float(result["displacement"][-1, 1, 1]) == pytest.approx(deflection, rel=1e-12)
    assert float(result["rotation"][-1, 1, 0]) == pytest.approx(rotation, rel=1e-12)
    assert float(result["reaction_moment"][-1, 0, 0]) == pytest.approx(-5.0 * length - 7.0, rel=1e-12)


def test_load_and_recovery():
    """Generalised forces; recovered fields are the matrix times the coordinates."""
    recovery = {
        "stress": (np.array([[-1.0, 1.0]]), [[0.25]], "Pa"),
        "gauges": np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 2.0]]),
    }
    part = rod(recovery=recovery, load=(1.0, -1.0), imposed={"all": {"x": 0.0}}, stiffness=1e6 * SPRING)
    assert [field.units for field in part.recovered_fields] == ["Pa", "1"]
    part = rod(recovery=recovery, load=lambda t: (2e3 * t, -2e3 * t))
    spring = aq.Spring("hold", part.boundary("all"), stiffness=1.0)
    result = aq.simulate(aq.System([part], springs=[spring]), aq.Static(), duration=1.0, step=0.5)["part/rod"]
    u = result["displacement"].values[:, :, 0]
    np.testing.assert_allclose(u[-1, 0] - u[-1, 1], 2e-3, rtol=1e-6)
    np.testing.assert_allclose(result["stress"].values, (u[:, 1] - u[:, 0])[:, None], rtol=1e-12)
    np.testing.assert_allclose(result["gauges"].values, u @ recovery["gauges"].T, rtol=1e-12)
    assert result["stress"].attrs["units"] == "Pa"
    assert result["stress_position"].values.tolist() == [[0.25]]


def test_squares():
    """A = Bᵀ diag(w) B of a matrix of very different scales; decoupled coordinates stay so."""
    rng = np.random.default_rng(1)
    root = rng.standard_normal((4, 6)) * np.array([1.0, 1e3, 1e-3, 1.0, 10.0, 1e5])
    matrix = np.zeros((9, 9))
    matrix[:6, :6] = root.T @ root
    matrix[6, 6], matrix[7, 7] = 3.0, 1e8
    form = squares("A", symmetric_matrix("A", matrix))
    assert form is not None and form.weights.size == 6
    again = (form.rows.T @ sp.diags_array(form.weights) @ form.rows).toarray()
    scale = np.sqrt(np.outer(matrix.diagonal(), matrix.diagonal()))
    np.testing.assert_allclose(
        again / np.where(scale > 0, scale, 1), matrix / np.where(scale > 0, scale, 1), atol=1e-13
    )
    assert form.rows[:, 8].nnz == 0


def test_equal_matrices_are_checked_once():
    """What `replace` passes on is known; another matrix is checked, and named in its error."""
    part = rod(mass=np.diag([2.0, 3.0]), stiffness=1e6 * SPRING)
    known = Semidefinite.of("K", symmetric_matrix("K", 1e6 * SPRING), with_squares=True)
    held = replace(part, imposed={"all": {"x": 0.0}})
    assert Semidefinite.of("K", held.stiffness, with_squares=True) is known and known.squares is not None
    assert held.assemble().strain_form()[0] is part.assemble().strain_form()[0]
    assert Semidefinite.of("K", symmetric_matrix("K", 2e6 * SPRING), with_squares=True) is not known
    for label in ("one", "other"):
        with pytest.raises(aq.UserError, match=f"^{label}: is not positive semidefinite"):
            Semidefinite.of(label, symmetric_matrix(label, [[1.0, 2.0], [2.0, 1.0]]))
    # a matrix that is changed in place is another one
    held.stiffness.data[:] *= -1.0
    with pytest.raises(aq.UserError, match="stiffness of superelement 'rod': is not positive semidefinite"):
        replace(held, grounded=True)


UNSYMMETRIC = 1e6 * np.array([[1.0, -1.0], [-0.9, 1.0]])
INDEFINITE = 1e6 * np.array([[1.0, -2.0], [-2.0, 1.0]])
WRONG = {
    "unsymmetric": (
        {"stiffness": UNSYMMETRIC},
        r"stiffness of superelement 'rod': is not symmetric: its entries \(0, 1\)",
    ),
    "indefinite": (
        {"stiffness": INDEFINITE},
        "stiffness of superelement 'rod': is not positive semidefinite: .* is -1",
    ),
    "negative mass": ({"mass": np.diag([2.0, -3.0])}, r"mass of superelement 'rod': .* entry \(1, 1\) is -3"),
    "zero row": ({"stiffness": [[0.0, 1.0], [1.0, 1.0]]}, "and others of this row are not"),
    "no mass": ({"mass": np.zeros((2, 2))}, "mass of superelement 'rod': is zero"),
    "damping": ({"damping": -np.eye(2)}, "damping of superelement 'rod': is not positive semidefinite"),
    "count": ({"mass": np.eye(3)}, r"mass of superelement 'rod': has shape \(3, 3\), but the stiffness has 2"),
    "not square": ({"stiffness": np.ones((2, 3))}, r"square matrix of numbers, full or sparse, not of shape \(2, 3\)"),
    "ragged": ({"stiffness": [[1.0], [1.0, 2.0]]}, "must be a square matrix"),
    "complex": ({"stiffness": 1j * SPRING}, "it holds values of type complex128"),
    "nan": ({"mass": np.diag([1.0, np.nan])}, "mass of superelement 'rod': has entries that are not finite"),
    "none": ({"mass": None}, "mass of superelement 'rod': must be a square matrix"),
    "too many nodes": ({"positions": [[0.0], [0.5], [1.0]]}, "has 2 coordinates, but 3 nodes have 3 components"),
    "components": ({"components": ("x", "w")}, r"components = \('x', 'w'\): must be names of x, as"),
    "tuples": ({"components": [("x",)]}, "1 tuples are given for 2 nodes"),
    "nodes": ({"interface": {"tip": 2}}, r"interface\['tip'\] of 'rod' = 2: must be whole numbers in \[0, 2\)"),
    "key": ({"interface": {"tip": {"node": 1}}}, "must be one of nodes, facets, areas, normals"),
    "areas": ({"interface": {"tip": {"nodes": [1], "areas": [1.0, 2.0]}}}, r"areas of interface\['tip'\]"),
    "recovery": ({"recovery": np.ones((3, 5))}, r"has shape \(3, 5\), expected \(rows, 2\)"),
    "recovery points": ({"recovery": (np.ones((3, 2)), [[0.0], [1.0]])}, "3 rows for 2 points"),
    "recovery name": ({"recovery": {"velocity": np.ones((1, 2))}}, "the result has a variable of this name"),
    "force": ({"forces": {"all": (1.0, 2.0)}}, "must have 1 component"),
    "boundary": ({"forces": {"al": 1.0}}, "no boundary is named 'al', did you mean all"),
    "load": ({"load": (1.0, 2.0, 3.0)}, "load of 'rod' = .* must have 2 components"),
    "grounded": ({"grounded": 1}, "grounded = 1: must be True or False"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input(case):
    options, message = WRONG[case]
    with pytest.raises(aq.UserError, match=message) as caught:
        rod(**options)
    assert "\n" not in str(caught.value)


def test_single_precision_is_accepted():
    """Matrices in single precision, as files hold them, are symmetric and semidefinite."""
    mass, stiffness, points = frame()
    part = aq.Superelement(
        "frame",
        mass=mass.astype(np.float32).astype(float),
        stiffness=stiffness.astype(np.float32).astype(float),
        positions=points,
    )
    assert len([energy for energy in part.rigid_energies.values() if energy < 1e-6]) == 3


def test_coordinate_without_mass():
    """It is in static equilibrium; the largest frequency has no bound."""
    stiffness = 1e6 * np.pad(SPRING, (0, 1)) + np.diag([0.0, 0.0, 5.0])
    part = rod(mass=np.diag([2.0, 3.0, 0.0]), stiffness=stiffness)
    assert "natural frequencies" not in part.describe()
    result = aq.simulate(aq.System([part], velocity=1.0), aq.Theta(0.5), duration=1e-3, step=1e-3)
    np.testing.assert_allclose(result["part/rod"]["displacement"][-1, :, 0], 1e-3, rtol=1e-12)
    with pytest.raises(aq.UserError, match="the largest frequency is not bounded"):
        part.assemble().highest_frequency()


def test_bounds_of_a_large_mass():
    """A consistent mass, whose sums of rows bound nothing: M_e of a square of unit diagonal has the least eigenvalue
    1/4, the product of 1/2 along both axes, and so has that of many cells."""
    steel = aq.LinearElastic(young=1.0, poisson=0.0, density=1.0)
    solid = aq.Solid("b", aq.mesh.rectangle((0.0, 2.0), (0.0, 1.0), cells=(50, 25)), steel, plane="strain")
    assembled = solid.assemble()
    part = aq.Superelement("b", mass=assembled.mass, stiffness=assembled.stiffness, positions=solid.positions)
    reduced = part.assemble()
    share = reduced.least_mass / assembled.mass.diagonal()
    np.testing.assert_allclose(share, share[0], rtol=1e-14)
    assert share[0] == pytest.approx(0.25, rel=2e-9)
    pencil = assembled.stiffness, sp.csc_array(assembled.mass)
    exact = eigsh(pencil[0], 1, pencil[1], return_eigenvectors=False)[0]
    assert np.sqrt(exact) <= reduced.highest_frequency() <= 2.0 * np.sqrt(exact)


def test_large_matrices():
    """Beyond 2000 coordinates without eigenvalues: a chain of springs, and an indefinite one."""
    count = 2500
    chain = sp.diags_array([-np.ones(count - 1), np.r_[1.0, 2.0 * np.ones(count - 2), 1.0], -np.ones(count - 1)],
                           offsets=[-1, 0, 1], format="csr")  # fmt: skip
    part = aq.Superelement("chain", mass=sp.eye_array(count), stiffness=chain, positions=np.arange(count, dtype=float))
    assert part.total_mass == count
    system = aq.System([part], velocity=1.0)
    result = aq.simulate(system, aq.Theta(0.5), duration=1.0, step=0.5)
    np.testing.assert_allclose(result["part/chain"]["displacement"][-1, :, 0], 1.0, rtol=1e-12)
    bound = part.assemble().highest_frequency()
    assert 2.0 * np.cos(np.pi / (2 * count)) <= bound * (1 + 1e-9) < 2.2
    with pytest.raises(aq.UserError, match="stiffness of superelement 'chain': is not positive semidefinite"):
        aq.Superelement("chain", mass=sp.eye_array(count), stiffness=chain - sp.eye_array(count) * 0.1,
                        positions=np.arange(count, dtype=float))  # fmt: skip
