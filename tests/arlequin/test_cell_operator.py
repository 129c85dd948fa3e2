"""Products of the matrix of a step by tiles of cells, against those of its entries."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import arlequin as aq
from arlequin.models.linalg.operators import RowOperator
from arlequin.solvers import cell_operator
from arlequin.solvers.cell_operator import CellOperator, step_operator
from arlequin.step.coefficients import StepCoefficients
from arlequin.system.assembly import assemble

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)
STEP = 2e-5  # s


@pytest.fixture(autouse=True)
def small_parts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of models that tests can afford; a part this small is otherwise multiplied by rows."""
    monkeypatch.setattr(cell_operator, "_MIN_UNKNOWNS", 10)


def block(cells: tuple[int, int, int] = (6, 7, 9), kind: str = "hex") -> Any:
    return aq.mesh.box((0, 1), (0, 1), (0, 1), cells=cells, kind=kind)


def bent(mesh: Any) -> Any:
    """Half of the cells distorted."""
    x, y, z = mesh.p
    high = np.clip(z - 0.5, 0.0, None)
    return replace(mesh, doflocs=np.array([x + 0.2 * high * y, y + 0.1 * high * np.sin(3 * x), z + 0.1 * high * x * y]))


def alone(mesh: Any, **options: Any) -> aq.System:
    return aq.System([aq.Solid("solid", mesh, STEEL, **options)])


def glued() -> aq.System:
    coarse = aq.Solid("coarse", aq.mesh.box((0, 1), (0, 1), (0.5, 2), cells=(3, 3, 5)), STEEL)
    fine = aq.Solid("fine", bent(aq.mesh.box((0, 1), (0, 1), (0, 1), cells=(6, 6, 8))), STEEL)
    return aq.System([coarse, fine], [aq.Junction(coarse, fine)])


def sprung() -> aq.System:
    solid = aq.Solid("solid", block(), STEEL)
    mass = aq.PointMasses("mass", (0.5, 0.5, 2.0), 3.0)
    spring = aq.Spring("spring", solid.boundary("top"), mass.boundary("all"), stiffness=1e9)
    return aq.System([solid, mass], springs=[spring])


def matrix_of(system: aq.System, coefficients: StepCoefficients) -> tuple[Any, Any]:
    assembly = assemble(system)
    return assembly, sp.csr_array(coefficients.matrix(assembly))


THETA = StepCoefficients.of_theta(0.5, STEP)
ALPHA = StepCoefficients.of_alpha(-0.1, 0.2, 0.4, 0.8, STEP)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("system", "coefficients"),
    [
        (alone(block()), THETA),
        (alone(bent(block())), ALPHA),
        (glued(), THETA),
        (glued(), ALPHA),
        (alone(block(), damping=aq.Rayleigh(mass=1e3, stiffness=1e-6)), ALPHA),
        (alone(block(), mass="lumped"), THETA),
        (alone(bent(block()), imposed={"top": {"z": 0.0}}), THETA),
    ],
    ids=["equal cells", "bent", "zone", "zone, alpha", "Rayleigh", "lumped", "imposed"],
)
def test_product_of_cells(system: aq.System, coefficients: StepCoefficients) -> None:
    """On all dofs and on some of them."""
    assembly, matrix = matrix_of(system, coefficients)
    rng = np.random.default_rng(1)
    some = np.flatnonzero(rng.random(assembly.dof_count) > 0.1)
    for unknowns, own in ((None, matrix), (some, sp.csr_array(matrix[some][:, some]))):
        operator = step_operator(assembly, own, unknowns)
        assert isinstance(operator, CellOperator)
        x, out = rng.standard_normal(own.shape[0]), np.empty(own.shape[0])
        operator.multiply_into(x, out)
        assert np.abs(out - own @ x).max() <= 1e-13 * (abs(own) @ np.abs(x)).max()
        assert np.array_equal(operator.diagonal(), own.diagonal())


def test_springs_are_added() -> None:
    """Between parts, of a stiffness above that of the cells."""
    assembly, matrix = matrix_of(sprung(), THETA)
    operator = step_operator(assembly, matrix, None)
    assert isinstance(operator, CellOperator)
    x, out = np.random.default_rng(1).standard_normal(assembly.dof_count), np.empty(assembly.dof_count)
    operator.multiply_into(x, out)
    assert np.abs(out - matrix @ x).max() <= 1e-13 * (abs(matrix) @ np.abs(x)).max()


def error_of(assembly: Any, matrix: Any) -> float:
    """Largest error of a product, relative to the diagonal."""
    operator = step_operator(assembly, matrix, None)
    assert isinstance(operator, CellOperator)
    x, out = np.random.default_rng(1).uniform(0.5, 1.0, matrix.shape[0]), np.empty(matrix.shape[0])
    operator.multiply_into(x, out)
    return float((np.abs(out - matrix @ x) / matrix.diagonal()).max())


@pytest.mark.parametrize("stiffness", [1e1, 1e3, 1e5])
def test_weak_springs(stiffness: float) -> None:
    """They bias neither μ and a nor are they missed, whatever numbers the random vector has on them."""
    solid = aq.Solid("solid", block((5, 5, 5)), STEEL)
    foundation = aq.Spring("foundation", solid.boundary("back"), stiffness=stiffness)
    assert error_of(*matrix_of(aq.System([solid], springs=[foundation]), THETA)) <= 3e-13


@pytest.mark.parametrize("contrast", [1e-3, 1e-6, 1e-9])
def test_a_soft_part_on_a_stiff_one(contrast: float) -> None:
    """A spring between them is added to the rows of both: the products stay symmetric."""
    soft = aq.LinearElastic(young=2e11 * contrast, poisson=0.3, density=7800 * contrast)
    low = aq.Solid("low", block((5, 5, 5)), STEEL)
    high = aq.Solid("high", aq.mesh.box((0, 1), (0, 1), (1, 2), cells=(5, 5, 5)), soft)
    spring = aq.Spring("spring", low.boundary("front"), high.boundary("back"), stiffness=1e10 * contrast)
    assembly, matrix = matrix_of(aq.System([low, high], springs=[spring]), THETA)
    assert error_of(assembly, matrix) <= 3e-13
    operator, rng = step_operator(assembly, matrix, None), np.random.default_rng(2)
    x, y = (rng.uniform(-1.0, 1.0, matrix.shape[0]) / np.sqrt(matrix.diagonal()) for _ in range(2))
    products = [np.empty_like(x) for _ in range(2)]
    for field, out in zip((x, y), products, strict=True):
        operator.multiply_into(field, out)
    assert abs(y @ products[0] - x @ products[1]) <= 1e-12 * np.linalg.norm(x) * np.linalg.norm(products[1])


@pytest.mark.parametrize(
    "system",
    [
        alone(block(kind="tet")),
        alone(block(), mass="dispersion"),
        alone(block(), damping=aq.ShortWaveDamping(0.1)),
    ],
    ids=["tetrahedra", "reduced dispersion", "damping of short waves"],
)
def test_others_by_rows(system: aq.System) -> None:
    assembly, matrix = matrix_of(system, THETA)
    assert isinstance(step_operator(assembly, matrix, None), RowOperator)


def test_mass_by_rows() -> None:
    """A matrix without stiffness is not that of cells."""
    assembly = assemble(alone(block()))
    assert isinstance(step_operator(assembly, assembly.mass, None), RowOperator)


def test_run_by_cells_as_with_a_factor() -> None:
    """Energy and motion of glued blocks, of which the fine one slides on a plane."""
    system = glued()
    plane = aq.RigidPlane(point=(0, 0, -1e-5), normal=(0, 0, 1))
    fine = system.parts[1]
    contact = aq.Interface("contact", fine.boundary("back"), plane, aq.Unilateral(), friction=aq.Coulomb(0.2))
    system = replace(system, interfaces=[contact], velocity=(1.0, 0.0, -1.0))
    one, other = (
        aq.simulate(system, aq.Theta(0.5, solver=name), duration=12 * STEP, step=STEP)
        for name in ("direct", "iterative")
    )
    assert one["interface/contact/active"].values.any()
    for path in ("energy", "part/fine/velocity", "part/coarse/displacement"):
        a, b = one[path].values, other[path].values
        assert np.abs(a - b).max() <= 1e-11 * np.abs(a).max()
    assert np.abs(other["balance"]).max() < 5e-14
