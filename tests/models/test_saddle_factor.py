"""Matrices factored with their constraints: against dense inverses, and against the factor with a dense border."""

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import arlequin as aq
from arlequin.models.errors import UserError
from arlequin.models.linalg.bordered import BorderedFactor
from arlequin.models.linalg.constraints import eliminate
from arlequin.models.linalg.saddle_factor import SaddleFactor
from arlequin.system.assembly import assemble

pytestmark = pytest.mark.kernels
STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)


def sparse(count: int, u: int, entries: int, rng: Any) -> sp.csr_array:
    """Rows (count, u) that are independent: each has an entry that no other has."""
    own = sp.csr_array((np.full(count, 2.0), (np.arange(count), rng.permutation(u)[:count])), shape=(count, u))
    return sp.csr_array(own + sp.random_array((count, u), density=min(1.0, entries / u), rng=rng))


def positive(u: int, rng: Any) -> sp.csr_array:
    half = sp.random_array((u, u), density=min(1.0, 3.0 / u), rng=rng)
    return sp.csr_array(half @ half.T + 0.3 * sp.eye_array(u))


@pytest.mark.parametrize(
    ("u", "m", "q"), [(1, 0, 0), (1, 1, 0), (2, 1, 1), (40, 7, 5), (60, 40, 9), (300, 60, 20), (50, 0, 4), (50, 5, 0)]
)
def test_it_solves_the_saddle_point(u: int, m: int, q: int) -> None:
    rng = np.random.default_rng(u + m + q)
    A, C, B = positive(u, rng), sparse(m, u, 3, rng), sparse(q, u, 2, rng)
    nodes = np.arange(u) // 3
    for factor in (SaddleFactor(A, C, B), SaddleFactor(A, C, B, nodes)):
        inverse = np.linalg.inv(np.block([[A.toarray(), C.T.toarray()], [C.toarray(), np.zeros((m, m))]]))
        rows = np.hstack([B.toarray(), np.zeros((q, m))])
        sizes = np.abs(inverse).max()
        np.testing.assert_allclose(factor.compliance, rows @ inverse @ rows.T, rtol=0.0, atol=3e-14 * sizes)
        for shape in ((), (3,)):
            b, c, push = (rng.normal(size=(n, *shape)) for n in (u, m, q))
            free = inverse @ np.concatenate([b, c])
            forward = factor.forward(b, c)
            np.testing.assert_allclose(forward.border, rows @ free, rtol=0.0, atol=3e-14 * sizes)
            for p, x in ((None, free), (push, free + inverse @ (rows.T @ push))):
                y, multipliers = factor.backward(forward, p)
                np.testing.assert_allclose(y, x[:u], rtol=0.0, atol=3e-14 * sizes)
                np.testing.assert_allclose(multipliers, -x[u:], rtol=0.0, atol=3e-14 * sizes)


def glued(n: int) -> Any:
    """A (u, u), C and B of a coarse box glued to a fine one, whose right face touches a wall with friction."""
    coarse = aq.Solid("coarse", aq.mesh.box((0.0, 0.6), (0.0, 1.0), (0.0, 1.0), cells=(3 * n, 5 * n, 5 * n)), STEEL)
    fine = aq.Solid("fine", aq.mesh.box((0.4, 1.0), (0.0, 1.0), (0.0, 1.0), cells=(6 * n, 10 * n, 10 * n)), STEEL)
    wall = aq.RigidPlane(point=(1.0, 0.0, 0.0), normal=(-1.0, 0.0, 0.0))
    touch = aq.Interface("touch", fine.boundary("right"), wall, aq.Unilateral(), friction=aq.Coulomb(0.3))
    found = assemble(aq.System([coarse, fine], [aq.Junction(coarse, fine)], [touch]))
    matrix = found.mass + (2.0 * 0.1 / n / 6000.0 / 2.0) ** 2 * found.stiffness
    return sp.csr_array(matrix), sp.csr_array(found.constraints), sp.csr_array(found.contact.basis)


@pytest.mark.kernels(slow=True)
def test_glued_boxes() -> None:
    """As by a Cholesky factor with a dense border of the constraints; residuals of round-off."""
    A, C, B = glued(1)
    factor = SaddleFactor(A, C, B, np.arange(A.shape[0]) // 3)
    bordered = BorderedFactor(A.tocsc(), sp.csr_array(sp.vstack([C, B])))
    compliance = eliminate(bordered.schur(), C.shape[0]).compliance
    np.testing.assert_allclose(factor.compliance, compliance, rtol=0.0, atol=1e-14 * np.abs(compliance).max())
    b = np.random.default_rng(0).normal(size=A.shape[0])
    y, multipliers = factor.backward(factor.forward(b, np.zeros(C.shape[0])))
    assert np.abs(A @ y - C.T @ multipliers - b).max() <= 1e-14 * np.abs(b).max()
    assert np.abs(C @ y).max() <= 1e-14 * (abs(C) @ np.abs(y)).max()


def test_what_has_no_such_factor_is_refused() -> None:
    rng = np.random.default_rng(0)
    A, C, none = positive(30, rng), sparse(5, 30, 3, rng), sp.csr_array((0, 30))
    for matrix in (A - 2.0 * sp.eye_array(30), A @ sp.diags_array(1.0 * (np.arange(30) > 0)) @ A):
        with pytest.raises(UserError, match="not positive definite"):
            SaddleFactor(sp.csr_array(matrix), sp.csr_array((0, 30)), none)
    doubled = sp.csr_array(sp.vstack([C, C[[0]] + C[[1]]]))
    with pytest.raises(UserError, match=re.escape("not positive definite")):
        SaddleFactor(A, doubled, none)
    with pytest.raises(UserError, match="a constraint has no unknowns"):
        SaddleFactor(A, sp.csr_array(sp.vstack([C, 0.0 * C[[0]]]).toarray()), none)
