"""Factor of a matrix that takes the components of a field alike, against dense solutions."""

import numpy as np
import pytest
import scipy.sparse as sp

from arlequin.models.errors import UserError
from arlequin.models.linalg.components import RepeatedFactor, factorise_components


def scalar(size=40):
    rng = np.random.default_rng(2)
    lower = sp.random_array((size, size), density=0.1, rng=rng)
    band = sp.diags_array([np.ones(size - 1)], offsets=[1])
    return sp.csr_array((lower + band) @ (lower + band).T + sp.eye_array(size))


@pytest.mark.parametrize("components", [2, 3])
@pytest.mark.parametrize("order", ["by node", "by component", "mixed"])
def test_solution_is_that_of_the_whole(components, order):
    A = scalar()
    n, eye = components * A.shape[0], np.eye(components)
    whole = sp.csr_array(sp.kron(*((A, eye) if order == "by node" else (eye, A)), format="csr"))
    if order == "mixed":  # each component in the order of the nodes, the components anyhow among one another
        places = np.argsort(
            np.random.default_rng(0).permutation(np.repeat(np.arange(components), A.shape[0])), kind="stable"
        )
        order_of = np.empty(n, dtype=int)
        order_of[places] = np.arange(n)
        whole = sp.csr_array(whole[order_of][:, order_of])
    factor = factorise_components(whole)
    assert isinstance(factor, RepeatedFactor)
    b = np.random.default_rng(3).normal(size=(n, 4))
    np.testing.assert_allclose(factor.solve(b), np.linalg.solve(whole.toarray(), b), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(factor.solve(b[:, 0]), factor.solve(b)[:, 0], rtol=0.0, atol=1e-13)


@pytest.mark.parametrize(
    "whole",
    [
        sp.kron(scalar(), np.diag([1.0, 1.0 + 1e-15])),
        sp.kron(scalar(), np.array([[2.0, 1.0], [1.0, 2.0]])),
        sp.block_diag([scalar(40), scalar(39)]),
        sp.diags_array(np.arange(1.0, 41.0)),
    ],
    ids=["other values", "coupled", "other sizes", "diagonal"],
)
def test_other_matrices_are_factored_whole(whole):
    factor = factorise_components(whole)
    assert not isinstance(factor, RepeatedFactor)
    b = np.random.default_rng(3).normal(size=whole.shape[0])
    np.testing.assert_allclose(factor.solve(b), np.linalg.solve(whole.toarray(), b), rtol=0.0, atol=1e-12)


def test_matrices_that_are_not_definite_are_refused():
    with pytest.raises(UserError):
        factorise_components(sp.kron(scalar() - 10.0 * sp.eye_array(40), np.eye(3)))
