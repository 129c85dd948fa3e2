"""Factors of semidefinite matrices that constraints hold, against dense solutions."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import arlequin as aq
from arlequin.models.errors import UserError
from arlequin.models.linalg.supported import SupportedFactor
from arlequin.models.reduction.rigid_modes import rigid_motions

YOUNG = 2e11


def floating(cells: tuple[int, ...], young: float = YOUNG, size: float = 1.0) -> tuple[sp.csr_array, Any]:
    """Stiffness of a box that nothing holds, and dofs that determine its rigid motions."""
    steel = aq.LinearElastic(young, 0.3, 7800)
    ranges = [(0.0, size * n / max(cells)) for n in cells]
    mesh = aq.mesh.box(*ranges, cells=cells) if len(cells) == 3 else aq.mesh.rectangle(*ranges, cells=cells)
    part = aq.Solid("part", mesh, steel, plane=None if len(cells) == 3 else "strain")
    motions = rigid_motions(part)
    _, pivots = scipy.linalg.qr(motions.T, mode="r", pivoting=True)
    return part.assemble().stiffness, np.sort(pivots[: motions.shape[1]])


def averages(count: int, size: int, seed: int = 0) -> sp.csr_array:
    """Rows (count, size) of weighted sums over a third of the dofs."""
    rng = np.random.default_rng(seed)
    return sp.csr_array(rng.standard_normal((count, size)) * (rng.random((count, size)) < 0.3))


def cases() -> dict[str, tuple[Any, sp.csr_array, int, Any]]:
    """A, rows, constraints among them, supports."""
    solid, corners = floating((4, 3, 3))
    plane, ends = floating((6, 3))
    small, _ = floating((4, 3, 3), young=2e5, size=1000.0)  # MPa and mm
    size = solid.shape[0]
    held = averages(12, size)
    springs = sp.csr_array(sp.diags_array(np.where(np.arange(size) < 3, 1e-9 * YOUNG, 0.0)))
    two = sp.csr_array(sp.block_diag([solid, 1e-6 * solid]))
    glue = sp.csr_array(sp.hstack([averages(9, size, 1), -averages(9, size, 1)]))
    ground = sp.csr_array(sp.hstack([averages(7, size, 2), sp.csr_array((7, size))]))
    at_supports = sp.csr_array((np.ones(6), (np.arange(6), corners)), shape=(6, size))
    weightless = sp.csr_array(sp.block_diag([plane, sp.csr_array((1, 1))]))
    last = plane.shape[0]
    tied = sp.csr_array((np.array([1.0, -1.0]), ([0, 0], [5, last])), shape=(1, last + 1))
    return {
        "solid": (solid, held, 12, corners),
        "solid with contact": (
            solid,
            sp.csr_array(sp.vstack([held, sp.eye_array(size, format="csr")[:20]])),
            12,
            corners,
        ),
        "mm and MPa": (small, 1e3 * held, 12, corners),
        "plane": (plane, averages(5, last), 3, ends),
        "dependent rows": (solid, sp.csr_array(sp.vstack([held, 1e3 * held[:4], held[3:5] - held[:2]])), 18, corners),
        "empty row": (solid, sp.csr_array(sp.vstack([held, sp.csr_array((2, size))])), 13, corners),
        "held at the supports": (solid, sp.csr_array(sp.vstack([at_supports, held[:3]])), 6, corners),
        "nearly floating": (sp.csr_array(solid + springs), held, 12, corners),
        "supports that are not needed": (sp.csr_array(solid + 1e-3 * YOUNG * sp.eye_array(size)), held, 12, corners),
        "two glued, one to the ground": (
            two,
            sp.csr_array(sp.vstack([glue, ground])),
            16,
            np.concatenate([corners, size + corners]),
        ),
        "dof without stiffness": (
            weightless,
            sp.csr_array(sp.vstack([sp.hstack([averages(4, last), sp.csr_array((4, 1))]), tied])),
            5,
            np.append(ends, last),
        ),
    }


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", cases())
def test_against_the_dense_matrix(name: str) -> None:
    """Against A + CᵀDC, formed; errors in units of the diagonal and of the rows' own motions."""
    A, rows, m, supports = cases()[name]
    rng = np.random.default_rng(3)
    supported = SupportedFactor(A, rows, m, supports)
    penalised = A.toarray() + (rows[:m].T * supported.penalty) @ rows[:m].toarray()
    units = 1.0 / np.sqrt(penalised.diagonal())
    R = rows.toarray()
    inverse = units[:, None] * np.linalg.inv(penalised * units * units[:, None]) * units
    exact = R @ inverse @ R.T
    sizes = np.sqrt(np.where(exact.diagonal() > 0.0, exact.diagonal(), 1.0))
    schur = supported.schur()
    assert (schur == schur.T).all() and (supported.schur() == schur).all()
    assert np.abs((schur - exact) / sizes / sizes[:, None]).max() < 1e-8

    b, push = rng.standard_normal(len(R[0])) / units, rng.standard_normal(len(R)) / sizes
    residual = penalised @ supported.backward(supported.forward(b), push) - b - R.T @ push
    assert np.abs(units * residual).max() < 1e-9 * np.abs(units * (b + R.T @ push)).max()
    residual = penalised @ supported.solve(b) - b
    assert np.abs(units * residual).max() < 1e-9 * np.abs(units * b).max()
    free = supported.solve(b)
    assert supported.forward(b).border / sizes == pytest.approx(
        R @ free / sizes, abs=1e-7 * np.abs(R @ free / sizes).max()
    )

    # columns, and fields side by side
    fields, pushes = rng.standard_normal((5, b.size)) / units, rng.standard_normal((5, len(R))) / sizes
    half = np.empty((5, b.size + len(R)))
    moved = supported.forward_each(fields, half)
    together = supported.backward_each(half, pushes)
    both = supported.forward(np.asfortranarray(fields.T))
    columns = supported.backward(both, pushes.T).T
    assert moved / sizes == pytest.approx(both.border.T / sizes, abs=1e-9 * np.abs(moved / sizes).max())
    assert together == pytest.approx(columns, abs=1e-9 * np.abs(columns).max())
    one = supported.backward(supported.forward(fields[2]), pushes[2])
    assert columns[2] == pytest.approx(one, abs=1e-9 * np.abs(one).max())


def test_another_matrix() -> None:
    """Supports and D stay, and the symbolic analysis."""
    A, rows, m, supports = cases()["solid with contact"]
    supported = SupportedFactor(A, rows, m, supports)
    before = supported.penalty.copy()
    again = supported.refactorise(sp.csr_array(3.0 * A))
    assert (again.penalty == before).all() and again.inner.factor.analyses == 1
    penalised = 3.0 * A.toarray() + (rows[:m].T * before) @ rows[:m].toarray()
    b = np.random.default_rng(0).standard_normal(len(penalised))
    assert again.solve(b) == pytest.approx(
        np.linalg.solve(penalised, b), rel=1e-7, abs=1e-9 * np.abs(again.solve(b)).max()
    )


@pytest.mark.parametrize("count", [3, 5])
def test_too_few_constraints(count: int) -> None:
    A, corners = floating((4, 3, 3))
    with pytest.raises(UserError, match="not positive definite"):
        SupportedFactor(A, averages(count, A.shape[0]), count, corners)


def test_too_few_supports() -> None:
    A, corners = floating((4, 3, 3))
    with pytest.raises(UserError, match="not positive definite"):
        SupportedFactor(A, averages(12, A.shape[0]), 12, corners[:-1])
