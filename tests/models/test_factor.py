"""The sparse factor against dense LAPACK and SuperLU, and what it refuses.

Both APIs of scikit-sparse are tested wherever the suite runs, the one that is not installed through a small
stand-in written after its source (0.5 does not build on SuiteSparse 5). The whole file has also passed on the
real 0.5.0 with SuiteSparse 7.10.
"""

import sys
import types
import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from arlequin.models.errors import UserError
from arlequin.models.linalg import factor
from arlequin.models.linalg import factor as blas
from arlequin.models.linalg.factor import (
    CholeskyFactor,
    CholmodWarning,
    DiagonalFactor,
    QuasiDefiniteFactor,
    blas_name,
    factorise,
)
from arlequin.models.linalg.multifrontal import Multifrontal
from arlequin.models.linalg.supernodes import symbolic

# -- matrices


def chain(n, fixed=True):
    """Stiffness of n bars in series, unit stiffness: node 0 held or all free."""
    K = sp.diags_array([-np.ones(n), np.r_[1.0, 2 * np.ones(n - 1), 1.0], -np.ones(n)], offsets=[-1, 0, 1])
    K = K.tocsr()
    return K[1:, 1:] if fixed else K


def laplacian(n, dimension):
    """Finite differences on a grid of nᵈⁱᵐ points between fixed walls."""
    line = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    A = line
    for _ in range(dimension - 1):
        A = sp.kron(A, sp.eye_array(n)) + sp.kron(sp.eye_array(A.shape[0]), line)
    return sp.csr_array(A)


def random_spd(n, seed):
    """A sparse random symmetric positive definite matrix."""
    rng = np.random.default_rng(seed)
    B = sp.random_array((n, n), density=min(1.0, 3 / n), rng=rng)
    return sp.csr_array(B @ B.T + sp.diags_array(rng.uniform(0.1, 1, n)))


# -- stand-ins: names, defaults and behaviour as the sources of scikit-sparse 0.4.16 and 0.5.0 have them


def fake_errors(*names):
    base = type("CholmodError", (Exception,), {})
    made = {name: type(name, (base,), {}) for name in ("CholmodNotPositiveDefiniteError", *names)}
    return {"CholmodError": base, "CholmodWarning": type("CholmodWarning", (UserWarning,), {}), **made}


class Dense:
    """L of the lower triangle of A, reversed in order to make the permutation matter."""

    def analyse(self, A):
        assert A.format == "csc" and A.indices.dtype == A.indptr.dtype == np.int32 and A.has_sorted_indices
        self.n = A.shape[0]
        self.order = np.arange(self.n, dtype=np.int32)[::-1]
        self.L = None

    def numeric(self, A, error):
        full = np.tril(A.toarray())
        full = (full + np.tril(full, -1).T)[np.ix_(self.order, self.order)]
        try:
            self.L = np.linalg.cholesky(full)
        except np.linalg.LinAlgError:
            raise error("Input matrix is not positive definite. (code 1)") from None

    def back(self, b):
        x = np.empty((self.n, *b.shape[1:]))
        x[self.order] = scipy.linalg.cho_solve((self.L, True), b[self.order])
        return x


def fake_04():
    errors = fake_errors(
        "CholmodNotInstalledError", "CholmodInvalidError", "CholmodTooLargeError", "CholmodOutOfMemoryError"
    )

    class Factor(Dense):
        def cholesky_inplace(self, A, beta=0):
            self.numeric(A, errors["CholmodNotPositiveDefiniteError"])

        def solve_A(self, b):
            return self.back(b)

        def D(self):
            return np.diag(self.L) ** 2

        def P(self):
            return self.order

        def L(self):  # the attribute of the numbers shadows it once factorised
            raise NotImplementedError

    def analyze(A, mode="auto", ordering_method="default", use_long=None):
        assert mode in ("simplicial", "supernodal", "auto")
        if ordering_method in ("metis", "nesdis"):
            raise errors["CholmodNotInstalledError"]("METIS not installed (code -1)")
        made = Factor()
        made.analyse(A)
        return made

    return types.SimpleNamespace(analyze=analyze, **errors)


def fake_05():
    errors = fake_errors(
        "CholmodNotInstalledError",
        "CholmodInvalidInputError",
        "CholmodOverflowError",
        "CholmodOutOfMemoryError",
        "CholmodSmallDiagonalWarning",
    )

    class CholeskyFactor(Dense):
        def __init__(self, A, *, lower=True, order="default", sym_kind=None, supernodal_mode=None):
            assert supernodal_mode in (None, "auto", "simplicial", "supernodal")
            if order in ("metis", "nesdis"):
                raise errors["CholmodNotInstalledError"]("CHOLMOD library is not installed or not found.")
            self.analyse(A)

        def copy(self):
            made = object.__new__(CholeskyFactor)
            made.n, made.order, made.L = self.n, self.order, self.L
            return made

        def factorize(self, A, ldl=None, beta=0.0):
            self.numeric(A, errors["CholmodNotPositiveDefiniteError"])
            return self

        def solve(self, b, system="A"):
            if not (isinstance(b, np.ndarray) and b.ndim in (1, 2) and b.shape[0] == self.n):
                raise ValueError("b")
            warnings.warn("Matrix is nearly singular.", errors["CholmodWarning"], stacklevel=1)
            return self.back(b)

        @property
        def factor(self):
            return sp.csc_array(self.L)

        @property
        def nnz(self):
            return np.count_nonzero(self.L)

        def get_perm(self):
            return self.order.copy()

    return types.SimpleNamespace(CholeskyFactor=CholeskyFactor, **errors)


@pytest.fixture(params=["installed", "as 0.4.16", "as 0.5", "multifrontal"])
def api(request, monkeypatch):
    """The installed scikit-sparse, stand-ins for both of its APIs, and none."""
    modules = {"as 0.4.16": fake_04, "as 0.5": fake_05, "multifrontal": lambda: None}
    if request.param != "installed":
        module = modules[request.param]()
        monkeypatch.setattr(factor, "_cholmod", lambda: module)
    return request.param


@pytest.fixture(params=["installed", "multifrontal"])
def real(request, monkeypatch):
    """The installed scikit-sparse, and none."""
    if request.param == "multifrontal":
        monkeypatch.setattr(factor, "_cholmod", lambda: None)


# -- right answers


@pytest.mark.sampled(7)
@pytest.mark.parametrize("A", [chain(30), laplacian(6, 2), laplacian(4, 3), random_spd(25, 1)])
def test_solves_as_dense_lapack_does(api, A):
    b = np.random.default_rng(0).normal(size=(A.shape[0], 3))
    expected = scipy.linalg.solve(A.toarray(), b, assume_a="pos")
    made = factorise(A)
    assert isinstance(made, CholeskyFactor) and made.shape == A.shape
    for rhs, answer in ((b, expected), (np.asfortranarray(b), expected), (b[:, 0], expected[:, 0])):
        x = made.solve(rhs)
        assert x.shape == rhs.shape
        np.testing.assert_allclose(x, answer, rtol=1e-10, atol=1e-12 * abs(answer).max())


@pytest.mark.sampled(7)
@pytest.mark.parametrize("ordering", [None, "default", "amd", "metis", "nesdis", "natural"])
def test_every_ordering_gives_the_answer_of_superlu(api, ordering):
    A = laplacian(12, 2)
    b = np.sin(np.arange(A.shape[0]))
    np.testing.assert_allclose(factorise(A, ordering).solve(b), sp.linalg.splu(A.tocsc()).solve(b), rtol=1e-11)


def test_supernodal_and_3d_as_superlu(real):
    A = laplacian(14, 3)  # large enough for the supernodal branch and for METIS to be tried
    b = np.cos(np.arange(A.shape[0]))
    made = factorise(A)
    np.testing.assert_allclose(made.solve(b), sp.linalg.splu(A.tocsc()).solve(b), rtol=1e-11)
    assert A.nnz / 2 < made.nnz < A.shape[0] ** 2 / 2


@given(st.integers(2, 40), st.integers(0, 2**31), st.sampled_from(["csr", "csc", "coo", "lil"]))
def test_random_matrices_in_every_format(n, seed, form):
    A = random_spd(n, seed)
    b = np.random.default_rng(seed).normal(size=n)
    x = factorise(A.asformat(form)).solve(b)
    np.testing.assert_allclose(x, scipy.linalg.solve(A.toarray(), b, assume_a="pos"), rtol=1e-9)


def test_fill_of_a_chain_is_known(real):
    assert factorise(chain(50)).nnz == 99  # bidiagonal L: no fill
    assert factorise(sp.eye_array(7)).nnz == 7


def test_unscaled_units_are_no_obstacle(api):
    scale = 2.0 ** np.linspace(-40, 40, 21)  # powers of two: no round-off of their own
    A = sp.csr_array(sp.diags_array(scale) @ chain(21) @ sp.diags_array(scale))
    b = np.sin(np.arange(21.0))
    expected = scipy.linalg.solve(chain(21).toarray(), b, assume_a="pos") / scale
    np.testing.assert_allclose(factorise(A).solve(scale * b), expected, rtol=1e-11)


def test_neither_matrix_nor_right_hand_side_is_changed():
    A = sp.csc_array(sp.coo_array(([2.0, 2.0, 1.0, 1.0, 3.0], ([0, 0, 1, 0, 1], [0, 0, 0, 1, 1]))))
    A = sp.csc_array((A.data, A.indices[::1].astype(np.int64), A.indptr.astype(np.int64)), shape=(2, 2))
    before, b = A.copy(), np.array([1, 2])
    np.testing.assert_allclose(factorise(A).solve(b), np.array([1.0, 7.0]) / 11, rtol=1e-14)
    assert (A.indices == before.indices).all() and A.indices.dtype == before.indices.dtype
    assert (b == [1, 2]).all()


def test_duplicates_are_summed():
    A = sp.coo_array(([1.0, 3.0, 1.0, 1.0, 3.0], ([0, 0, 1, 0, 1], [0, 0, 0, 1, 1])), shape=(2, 2))
    np.testing.assert_allclose(factorise(A).solve([1.0, 2.0]), np.array([1.0, 7.0]) / 11, rtol=1e-14)


# -- refactorising


def test_refactorise_keeps_the_analysis_of_the_same_pattern(api):
    A = laplacian(8, 2)
    made = factorise(A)
    b = np.ones(A.shape[0])
    assert made.refactorise(2 * A + sp.diags_array(3 * b)) is made
    np.testing.assert_allclose((2 * A + sp.diags_array(3 * b)) @ made.solve(b), b, rtol=1e-12)
    assert made.analyses == 1


def test_refactorise_analyses_another_pattern(api):
    made = factorise(laplacian(8, 2))
    A = laplacian(4, 3)
    b = np.ones(A.shape[0])
    np.testing.assert_allclose(A @ made.refactorise(A).solve(b), b, rtol=1e-12)
    assert made.analyses == 2 and made.shape == A.shape


def test_a_failed_refactorisation_leaves_no_stale_factor(api):
    A = chain(10)
    made = factorise(A)
    with pytest.raises(UserError):
        made.refactorise(A - 3 * sp.eye_array(10))
    with pytest.raises(UserError, match="failed"):
        made.solve(np.ones(10))
    np.testing.assert_allclose(A @ made.refactorise(A).solve(np.ones(10)), 1, rtol=1e-12)


# -- diagonal matrices


def test_a_diagonal_matrix_is_divided_by():
    A = sp.csr_array((np.array([2.0, 0.0, 4.0]), ([0, 0, 1], [0, 1, 1])), shape=(2, 2))  # a stored zero beside it
    made = factorise(A)
    assert isinstance(made, DiagonalFactor) and made.nnz == 2
    assert (made.solve([1.0, 2.0]) == 0.5).all()
    assert (made.solve(np.array([[2.0, 4.0], [4.0, 8.0]])) == [[1.0, 2.0], [1.0, 2.0]]).all()
    assert (made.refactorise(sp.eye_array(2)).solve([1.0, 2.0]) == [1.0, 2.0]).all()
    with pytest.raises(ValueError, match="not diagonal"):
        made.refactorise(chain(2))


@pytest.mark.parametrize("diagonal", [[1.0, 0.0], [1.0, -2.0]])
def test_a_diagonal_must_be_positive(diagonal):
    with pytest.raises(UserError, match="degree of freedom 1") as caught:
        factorise(sp.diags_array(diagonal))
    assert caught.value.code == 1


# -- refusals


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "A",
    [
        pytest.param(chain(10, fixed=False), id="rigid motion left free"),
        pytest.param(chain(10) - 2 * sp.eye_array(10), id="indefinite, simplicial"),
        pytest.param(chain(10) - 1e-1 * sp.eye_array(10), id="indefinite, positive diagonal"),
        pytest.param(laplacian(14, 3) - 3 * sp.eye_array(14**3), id="indefinite, supernodal"),
        pytest.param(-1.0 * chain(4), id="negative"),
    ],
)
def test_what_is_not_positive_definite_is_refused(A, real):
    assert np.linalg.eigvalsh(A.toarray()).min() < 1e-12
    with pytest.raises(UserError, match="not positive definite") as caught:
        factorise(A)
    assert caught.value.code == 1


def test_not_positive_definite_in_the_other_apis(api):
    with pytest.raises(UserError, match="not positive definite"):
        factorise(chain(10) - 1e-1 * sp.eye_array(10))


def test_one_triangle_or_any_asymmetry_is_refused():
    A = laplacian(5, 2)
    skew = A.copy().tolil()
    skew[3, 4] *= 1 + 1e-8
    for bad in (sp.triu(A), skew):
        with pytest.raises(UserError, match="not symmetric") as caught:
            factorise(bad)
        assert caught.value.code == 1
    skew[3, 4] = A[4, 3] * (1 + 1e-14)  # round-off of assembly passes
    factorise(skew)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_entries_must_be_finite(value):
    A = chain(4).copy()
    A.data[1] = value
    with pytest.raises(UserError, match="finite") as caught:
        factorise(A)
    assert caught.value.code == 1


def test_shapes_and_names():
    with pytest.raises(ValueError, match="square"):
        factorise(sp.csr_array(np.ones((2, 3))))
    for wrong in (np.ones(3), np.ones((4, 2, 1)), np.float64(1)):
        with pytest.raises(ValueError, match="right-hand side"):
            factorise(chain(4)).solve(wrong)
    with pytest.raises(UserError, match="ordering") as caught:
        factorise(chain(4), "alphabetical")
    assert caught.value.code == 2


# -- without CHOLMOD


@pytest.fixture
def hidden(monkeypatch):
    """scikit-sparse cannot be imported."""
    factor._warn_once.cache_clear()
    monkeypatch.delenv("ARLEQUIN_CHOLMOD", raising=False)
    monkeypatch.setitem(sys.modules, "sksparse", None)
    yield
    factor._warn_once.cache_clear()


def test_without_scikit_sparse_one_line_says_what_to_install(hidden):
    A = laplacian(5, 2)
    with pytest.warns(CholmodWarning, match=r"libsuitesparse-dev.*arlequin\[cholmod\].*ARLEQUIN_CHOLMOD") as told:
        made = factorise(A)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = factorise(A)  # once in a process
    np.testing.assert_allclose(A @ made.solve(np.ones(25)), 1.0, rtol=1e-12)
    assert blas_name() != "unknown BLAS"


def test_a_switch_hides_scikit_sparse_without_a_warning(monkeypatch):
    monkeypatch.setenv("ARLEQUIN_CHOLMOD", "off")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(factorise(chain(4))._analysis, Multifrontal)


@pytest.mark.kernels
@pytest.mark.parametrize("shape", [(150, 1), (17, 2), (6, 3)])
def test_factors_of_both_are_those_of_lapack(shape, real):
    A = laplacian(*shape)
    order, lower = factorise(A).lower()
    found = np.tril(lower.toarray())
    np.testing.assert_array_equal(found, lower.toarray())
    np.testing.assert_allclose(found, np.linalg.cholesky(A.toarray()[np.ix_(order, order)]), rtol=0.0, atol=1e-13)


@pytest.mark.kernels
def test_symbolic_supernodes_hold_all_entries_of_the_factor():
    """Also those of an order that is not a postorder, and of a pattern in several parts."""
    rng = np.random.default_rng(1)
    A = sp.block_diag([random_spd(60, 4), laplacian(7, 2), sp.eye_array(3)], format="csc")
    A = sp.csc_array(A[rng.permutation(A.shape[0])][:, rng.permutation(A.shape[0])])
    A = sp.csc_array(A + A.T + sp.diags_array(np.full(A.shape[0], 50.0)))
    A.sort_indices()
    order, found, entries = symbolic(A)
    L = np.linalg.cholesky(A.toarray()[np.ix_(order, order)])
    assert np.count_nonzero(L) == entries <= np.diff(found.first) @ np.diff(found.row_start)
    stored = np.zeros(L.shape, dtype=bool)
    for s in range(found.first.size - 1):
        rows, own = found.rows[found.row_start[s] : found.row_start[s + 1]], slice(found.first[s], found.first[s + 1])
        assert (np.diff(rows) > 0).all() and (rows[: own.stop - own.start] == np.arange(own.start, own.stop)).all()
        stored[rows, own] = True
    assert not (L != 0.0)[~stored].any()


@pytest.mark.kernels
def test_quasi_definite_matrices_have_pivots_of_both_signs(real):
    rng = np.random.default_rng(2)
    A, C = laplacian(9, 2), sp.random_array((11, 81), density=0.1, rng=rng)
    K = sp.csc_array(sp.block_array([[A, C.T], [C, -0.01 * sp.eye_array(11)]]))
    b = rng.normal(size=(92, 2))
    np.testing.assert_allclose(QuasiDefiniteFactor(K).solve(b), np.linalg.solve(K.toarray(), b), rtol=1e-9, atol=1e-11)
    with pytest.raises(UserError, match="not positive definite"):  # a pivot that is 0
        QuasiDefiniteFactor(sp.csr_array([[1.0, 1.0], [1.0, 1.0]]))


# -- which BLAS


def test_blas_is_one_that_is_mapped_into_the_process():
    name = blas_name()
    assert name != "unknown BLAS"
    if sys.platform == "linux" and name.startswith("OpenBLAS"):
        with open("/proc/self/maps") as maps:
            assert "openblas" in maps.read()


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (["/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0"], "reference BLAS (slow)"),
        (["/venv/numpy.libs/libscipy_openblas64_-1.so", "/usr/lib/libblas.so.3"], "reference BLAS (slow)"),
        (["/usr/lib/blas/libblas.so.3", "/usr/lib/openblas-pthread/libopenblasp-r0.3.21.so"], "OpenBLAS"),
        (["/opt/conda/lib/libmkl_rt.so.2"], "MKL"),
        (["/usr/lib/libm.so.6"], None),
    ],
)
def test_blas_from_the_map_of_the_process(tmp_path, files, name):
    lines = [f"7f2d3208c000-7f2d3208d000 r-xp 00000000 08:01 {i}          {f}" for i, f in enumerate(files)]
    (tmp_path / "maps").write_text("\n".join([*lines, "7ffc-7ffd rw-p 00000000 00:00 0 [stack]"]))
    assert blas._name_of_maps(tmp_path / "maps") == name
