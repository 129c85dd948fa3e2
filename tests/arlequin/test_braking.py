"""Drag of absorbing junctions in explicit steps: by products with its factors, and by a factor of the matrix."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import arlequin as aq
from arlequin.models.linalg.largest import largest_of_product, largest_ratio
from arlequin.solvers.braking import FactoredBrake, PolynomialBrake, damping_polynomial
from arlequin.system.assembly import Assembly, assemble

STEEL = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)


def blocks(**fields: Any) -> Assembly:
    """Two blocks of hexahedra, cells of 1 and 1/2, glued over two coarse cells."""
    side = (0.0, 2.0)
    coarse = aq.Solid("coarse", aq.mesh.box((0.0, 5.0), side, side, cells=(5, 2, 2)), STEEL, mass="lumped")
    fine = aq.Solid("fine", aq.mesh.box((3.0, 6.0), side, side, cells=(6, 4, 4)), STEEL, mass="lumped", **fields)
    return assemble(aq.System([coarse, fine], [aq.Junction(coarse, fine, absorbing=aq.Absorber())]))


def chain(size: int = 60, count: int = 5) -> tuple[np.ndarray, sp.csr_array, sp.csr_array]:
    """A mass, a damping ≥ 0 without rigid motion, and constraints."""
    rng = np.random.default_rng(0)
    mass = rng.uniform(1.0, 2.0, size)
    difference = sp.diags_array([-np.ones(size - 1), np.ones(size - 1)], offsets=[0, 1], shape=(size - 1, size))
    rows = sp.csr_array(rng.normal(size=(count, size)) * (rng.uniform(size=(count, size)) < 0.3))
    return mass, sp.csr_array(difference.T @ difference), rows


def test_products_with_the_factors_are_those_with_the_matrix() -> None:
    assembly = blocks()
    absorption = assembly.absorption
    assert absorption is not None
    matrix = absorption.matrix
    dofs = absorption.dofs
    np.testing.assert_array_equal(dofs, np.flatnonzero(np.diff(matrix.indptr)))
    v = np.random.default_rng(1).normal(size=assembly.dof_count)
    size = abs(matrix @ v).max()
    np.testing.assert_allclose(absorption.drag(v), matrix @ v, rtol=0.0, atol=1e-13 * size)
    some = np.setdiff1d(np.arange(assembly.dof_count), dofs[::7])
    expected = matrix[some][:, some] @ v[some]
    np.testing.assert_allclose(absorption.among(some)(v[some]), expected, rtol=0.0, atol=1e-13 * size)
    assert abs(absorption.drag(np.tile([1.0, 0.5, 0.2], v.size // 3))).max() <= 1e-13 * size


@pytest.mark.parametrize("k", [1.0, 0.3])
@pytest.mark.parametrize("largest", [0.1, 0.5, 2.0])
def test_the_polynomial_is_a_damping_that_is_nearly_that_of_the_factor(largest: float, k: float) -> None:
    """With Q the projected M⁻¹, the eigenvalues x′ of the damping of which the answer is exact lie within 5 % of x."""
    mass, damping, rows = chain()
    root = 1.0 / np.sqrt(mass)
    half = largest / np.linalg.eigvalsh(damping.toarray() * root * root[:, None])[-1]
    brake = PolynomialBrake(mass, lambda v: damping @ v, rows, half)
    rng = np.random.default_rng(2)
    b, v = rng.normal(size=(2, mass.size))
    C = rows.toarray()
    inverse = np.diag(1.0 / mass)
    Q = inverse - inverse @ C.T @ np.linalg.solve(C @ inverse @ C.T, C @ inverse)
    v = Q @ v  # on C v = 0
    found = brake.solve(b, np.zeros(len(C)), v, k)
    np.testing.assert_allclose(C @ found.y, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.drag, damping @ found.moving, atol=1e-12)
    np.testing.assert_allclose(mass * found.y, b - k * found.drag + C.T @ found.multipliers, atol=1e-12)
    # M y = b − k D′ (v + g y) + Cᵀφ with D′ of x′ = x q/(1 − x q) on the eigenvectors of Q D
    L = np.linalg.cholesky(Q + 1e-14 * np.eye(len(Q)))
    x, vectors = np.linalg.eigh(half * L.T @ damping.toarray() @ L)
    q = brake.polynomial(x)
    changed = x * q / (1.0 - x * q)
    inside = x > 1e-9
    assert np.abs(changed[inside] / x[inside] - 1.0).max() <= 0.05
    modes = L @ vectors  # QD-eigenvectors with modesᵀ M modes = 1
    mean = v + half / k * found.y
    expected = modes @ (changed * (modes.T @ (mass * mean))) / half
    np.testing.assert_allclose(Q @ found.drag, expected, atol=1e-8)
    assert mean @ found.drag >= 0.0
    assert mean @ found.drag == pytest.approx(float((changed / half) @ (modes.T @ (mass * mean)) ** 2), rel=1e-7)


def test_the_polynomial_falls_on_the_factor_as_the_square_of_the_step() -> None:
    mass, damping, rows = chain()
    b, v = np.random.default_rng(3).normal(size=(2, mass.size))
    c, errors = np.zeros(rows.shape[0]), []
    for half in (0.05, 0.025):
        exact = FactoredBrake(sp.csr_array(sp.diags_array(mass)), damping, rows, half).solve(b, c, v, 1.0)
        found = PolynomialBrake(mass, lambda v: damping @ v, rows, half).solve(b, c, v, 1.0)
        assert damping_polynomial(half).degree() == 1
        errors.append(np.abs(found.y - exact.y).max())
    assert errors[0] / errors[1] >= 3.4


def test_the_largest_eigenvalue_by_products() -> None:
    mass, damping, _ = chain()
    exact = np.linalg.eigvalsh(damping.toarray() / np.sqrt(mass) / np.sqrt(mass)[:, None])[-1]
    assert largest_of_product(lambda v: damping @ v, 1.0 / mass, 1e-6) == pytest.approx(exact, rel=3e-6)
    assert largest_ratio(damping, 1.0 / mass) == pytest.approx(exact, rel=3e-6)
    assert largest_of_product(lambda v: damping @ v, 1.0 / mass, 1e-2) >= 0.98 * exact


@pytest.mark.sampled(1)
@pytest.mark.parametrize("imposed", [{}, {"x": 0.0, "y": 0.0}, {"x": lambda t: 0.01 * (1.0 - np.cos(2.0 * t))}])
def test_a_step_with_the_polynomial_keeps_the_ledger(monkeypatch: pytest.MonkeyPatch, imposed: Any) -> None:
    """The same run with the factor and with products: the balance to round-off, and losses that differ by some %."""
    side = (0.0, 2.0)
    held: Any = {"imposed": {"left": imposed}} if imposed else {}
    box = aq.mesh.box((0.0, 5.0), side, side, cells=(5, 2, 2))
    coarse = aq.Solid("coarse", box, STEEL, mass="lumped", **held)
    fine = aq.Solid("fine", aq.mesh.box((3.0, 6.0), side, side, cells=(6, 4, 4)), STEEL, mass="lumped")
    parts = [coarse, fine]
    system = aq.System(
        parts, [aq.Junction(*parts, absorbing=True)], velocity=lambda x: np.sin(9.0 * x) * [1.0, 0.5, 0.2]
    )
    lost = []
    for large in (10**9, 3):
        monkeypatch.setattr("arlequin.solvers.zoned._MAX_FACTORED", large)
        result = aq.simulate(system, aq.CentralDifference(), duration=3.0, step=0.1)
        energy = result.dataset["energy"]
        assert np.abs(result.dataset["balance"]).max() <= 1e-11
        absorbed = energy.sel(kind="absorbed").values
        assert np.diff(absorbed).min() >= 0.0
        lost.append(float(absorbed[-1]))
    assert lost[0] > 0.0
    assert lost[1] == pytest.approx(lost[0], rel=0.05)
    assert lost[1] != lost[0]
