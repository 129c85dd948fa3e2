"""Sparse Cholesky factorisation of symmetric positive definite matrices by CHOLMOD, and the BLAS that it calls.

The only module that imports `sksparse`; it supports the APIs of scikit-sparse 0.4.16 (SuiteSparse 5) and 0.5 (≥ 7.4).
Without scikit-sparse, or with ARLEQUIN_CHOLMOD=off in the environment, matrices are factored by `multifrontal`.

Source: Chen, Davis, Hager, Rajamanickam, Algorithm 887: CHOLMOD, ACM Trans. Math. Softw. 35 (2008) 22.
"""

import ctypes
import os
import re
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.blas import dsyrk
from scipy.sparse import csc_array

from arlequin.models.errors import FAILURE, UserError, warn_user
from arlequin.models.linalg.matrix import (
    canonical,
    not_definite,
    only_diagonal,
    symmetric_diagonal,
    symmetric_of_lower,
)
from arlequin.models.linalg.multifrontal import Multifrontal
from arlequin.models.linalg.supernodes import Supernodes, symbolic
from arlequin.models.phases import WORKER
from arlequin.models.types import Array


class _Symbol(ctypes.Structure):
    """`Dl_info` of dladdr: the file and the symbol that contain an address."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def blas_called_by(library: str) -> str:
    """The BLAS that a loaded shared library calls, with its version where known.

    A process may hold several (NumPy and SciPy wheels bring their own), so the dynamic linker is asked which
    file provides `dgemm_`; failing that, the files mapped into the process are searched.
    """
    name = _name_of_symbol(library)
    if name is None:
        name = _name_of_maps(Path("/proc/self/maps"))
    return name or "unknown BLAS"


def name_of(path: str) -> str:
    """The name of the BLAS in a file, from its resolved path.

    >>> name_of("/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3")
    'OpenBLAS'
    >>> name_of("/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0")
    'reference BLAS (slow)'
    """
    text = path.lower()
    for mark, name in (
        ("openblas", "OpenBLAS"),
        ("mkl", "MKL"),
        ("accelerate", "Accelerate"),
        ("veclib", "Accelerate"),
        ("blis", "BLIS"),
        ("flexiblas", "FlexiBLAS"),
        ("atlas", "ATLAS"),
    ):
        if mark in text:
            return name
    if re.search(r"lib(ref)?c?blas", text):
        return "reference BLAS (slow)"
    return f"BLAS in {path}"


def _name_of_symbol(library: str) -> str | None:
    """The BLAS in the file that provides `dgemm_` to a library, from the dynamic linker; None where unknown."""
    try:
        handle = ctypes.CDLL(library)
        address = ctypes.cast(handle.dgemm_, ctypes.c_void_p)
        info = _Symbol()
        if not ctypes.CDLL(None).dladdr(address, ctypes.byref(info)) or not info.file:
            return None
    except (OSError, AttributeError, TypeError):
        return None  # not on this system, or BLAS linked statically under other names
    name = name_of(os.path.realpath(os.fsdecode(info.file)))
    return f"OpenBLAS {_openblas_version(handle)}".rstrip() if name == "OpenBLAS" else name


def _openblas_version(handle: Any) -> str:
    """The version in "OpenBLAS 0.3.21 NO_AFFINITY USE64BITINT …", or nothing."""
    try:
        get_config = handle.openblas_get_config
    except AttributeError:
        return ""
    get_config.restype = ctypes.c_char_p
    version = re.search(rb"\d+(\.\d+)+", get_config() or b"")
    return version.group().decode() if version else ""


def _name_of_maps(maps: Path) -> str | None:
    """The first BLAS among the files mapped into the process, apart from those bundled with wheels."""
    try:
        lines = maps.read_text().splitlines()
    except OSError:
        return None
    files = {line.split(maxsplit=5)[5] for line in lines if line.count("/")}
    libraries = sorted(f for f in files if re.search(r"blas|mkl|blis|atlas", f) and ".libs/" not in f)
    names = [name_of(os.path.realpath(f)) for f in libraries]
    fast = [name for name in names if "reference" not in name]
    return next(iter(fast + names), None)


SWITCH = "ARLEQUIN_CHOLMOD"
ORDERINGS = ("default", "amd", "metis", "nesdis", "natural")
_PIVOT = 1e-14  # smallest pivot / diagonal entry: below it a pivot is round-off
# columns of a factor multiplied together; columns with entries in fewer than 1 / _SPARSE_COLUMN_RATIO of the rows are
# multiplied on these rows alone; share of the operations of dense products below which sparse ones take less time
_BLOCK_COLUMNS, _SPARSE_COLUMN_RATIO, _SPARSE_SHARE = 512, 4, 0.02


class CholmodWarning(UserWarning):
    """Warning that CHOLMOD is not available: matrices are factored by the multifrontal method."""


class Factor(Protocol):
    """A factorised matrix A (d, d)."""

    shape: tuple[int, int]

    @property
    def nnz(self) -> int:
        """Stored entries of the factor."""

    def solve(self, b: ArrayLike) -> Array:
        """x with A x = b; b and x (d,) or (d, r)."""

    def lower(self) -> tuple[NDArray[np.int32], csc_array]:
        """Order (d,) and L, by columns with sorted rows: A[order][:, order] = L Lᵀ; a copy."""

    def refactorise(self, A: Any) -> "Factor":
        """Factor another matrix in place, reusing the symbolic analysis where its pattern is the same."""


def factorise(A: Any, ordering: str | None = None) -> Factor:
    """Factor a symmetric positive definite sparse matrix; a diagonal one gets a `DiagonalFactor`.

    A (d, d) sparse, both triangles stored. Not finite, symmetric or positive definite: `UserError(code=1)`.
    ordering: one of `ORDERINGS`. None or "default" takes AMD, and tries METIS too where AMD leaves more than
    500 operations per entry of L: 3D, and large 2D.

    >>> import numpy as np, scipy.sparse as sp
    >>> A = sp.csr_array(np.array([[4.0, 1.0], [1.0, 3.0]]))
    >>> factorise(A).solve([1.0, 2.0]) * 11
    array([1., 7.])
    """
    if ordering is not None and ordering not in ORDERINGS:
        raise UserError.parameter("ordering", ordering, "must be one of " + ", ".join(ORDERINGS))
    matrix = canonical(A)
    diagonal = only_diagonal(matrix)
    return CholeskyFactor(matrix, ordering or "default") if diagonal is None else DiagonalFactor(diagonal)


class DiagonalFactor:
    """The factor of a diagonal matrix (lumped mass): x_d = b_d / a_d.

    >>> DiagonalFactor([2.0, 4.0]).solve([1.0, 1.0])
    array([0.5 , 0.25])
    """

    shape: tuple[int, int]

    def __init__(self, diagonal: ArrayLike) -> None:
        self._set(np.array(diagonal, dtype=float))

    @property
    def nnz(self) -> int:
        return self.shape[0]

    def solve(self, b: ArrayLike) -> Array:
        rhs = _right_hand_side(b, self.shape[0])
        return rhs / (self.diagonal if rhs.ndim == 1 else self.diagonal[:, None])

    def lower(self) -> tuple[NDArray[np.int32], csc_array]:
        order = np.arange(self.shape[0], dtype=np.int32)
        return order, csc_array((np.sqrt(self.diagonal), order, np.append(order, order.size)), shape=self.shape)

    def refactorise(self, A: Any) -> "DiagonalFactor":
        diagonal = only_diagonal(canonical(A))
        if diagonal is None:
            raise ValueError("the new matrix is not diagonal: call factorise")
        self._set(diagonal)
        return self

    def _set(self, diagonal: Array) -> None:
        if not (np.isfinite(diagonal).all() and (diagonal > 0).all()):
            raise not_definite(int(np.argmin(np.where(np.isfinite(diagonal), diagonal, -np.inf))))
        self.diagonal = diagonal
        self.shape = (diagonal.size, diagonal.size)


class CholeskyFactor:
    """P A Pᵀ = L Lᵀ (L D Lᵀ where L is very sparse) by CHOLMOD, simplicial or supernodal by its choice.

    `analyses` counts the symbolic analyses done: 1 as long as the pattern stays the same.
    """

    shape: tuple[int, int]

    def __init__(self, A: Any, ordering: str = "default") -> None:
        self.ordering = ordering
        self.analyses = 0
        self._nnz: int | None = None
        self._analysis: _CholmodAnalysis | None = None
        self._pattern: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None
        self.refactorise(A)

    @property
    def nnz(self) -> int:
        if self._nnz is None:
            self._nnz = self._ready().nnz()
        return self._nnz

    def solve(self, b: ArrayLike) -> Array:
        return self._ready().solve(_right_hand_side(b, self.shape[0]))

    def lower(self) -> tuple[NDArray[np.int32], csc_array]:
        lower = csc_array(self._ready().lower())
        lower.sort_indices()
        return self._ready().permutation(), lower

    def refactorise(self, A: Any) -> "CholeskyFactor":
        engine, self._analysis, self._nnz = self._analysis, None, None  # no factor remains after a failure
        matrix = canonical(A)
        diagonal = symmetric_diagonal(matrix)
        self.shape = matrix.shape
        if engine is None or not self._same_pattern(matrix):
            engine = _analyse(matrix, self.ordering)
            self._pattern = (matrix.indptr, matrix.indices)
            self.analyses += 1
        engine.factorise(matrix)
        _check_pivots(engine, diagonal)
        self._analysis = engine
        return self

    def forward(self, b: Array) -> Array:
        """L⁻¹ P b of b (d,) or (d, r): rows in the order of the factor."""
        return self._ready().forward(b)

    def backward(self, w: Array) -> Array:
        """Pᵀ L⁻ᵀ w: `backward(forward(b))` is `solve(b)`."""
        return self._ready().backward(w)

    def places(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Places of rows (r,) of A in the order of the factor."""
        order = self._ready().permutation()
        inverse = np.empty(order.size, dtype=np.int64)
        inverse[order] = np.arange(order.size)
        return inverse[rows]

    def row_products(self, places: NDArray[np.int64]) -> Array:
        """Y Yᵀ (r, r), symmetric, of the rows Y = L[places, others] without the columns of these rows; places ascend.

        With K = [A Rᵀ; R Z] and the places of the rows of R: Y Yᵀ = R A⁻¹ Rᵀ, whatever Z is.
        """
        supernodes, number = self._ready().supernodes(), np.full(self.shape[0], -1)
        number[places] = np.arange(places.size)
        products = _RowProducts(places.size)
        if supernodes is None:
            lower = csc_array(self._ready().lower())[:, number < 0]
            products.add_sparse(csc_array(lower[places]))
            return products.symmetric()
        is_selected = number[supernodes.rows] >= 0
        counts = np.add.reduceat(is_selected, supernodes.row_start[:-1], dtype=np.int64)
        for s in np.flatnonzero(counts):
            rows = number[supernodes.rows[supernodes.row_start[s] : supernodes.row_start[s + 1]]]
            width = supernodes.first[s + 1] - supernodes.first[s]
            columns, selected = np.flatnonzero(rows[:width] < 0), np.flatnonzero(rows >= 0)
            block = supernodes.values[supernodes.value_start[s] :][: rows.size * width].reshape(width, rows.size)
            products.add(
                rows[selected], block[:, selected] if columns.size == width else block[np.ix_(columns, selected)]
            )
        return products.symmetric()

    def supernodes(self) -> tuple[NDArray[np.int32], Supernodes] | None:
        """Order (d,) and L by supernodes, valid until the next `refactorise`; None where L is stored by columns."""
        stored = self._ready().supernodes()
        return None if stored is None else (self._ready().permutation(), stored)

    def _same_pattern(self, A: Any) -> bool:
        assert self._pattern is not None
        indptr, indices = self._pattern
        return np.array_equal(A.indptr, indptr) and np.array_equal(A.indices, indices)

    def _ready(self) -> "_CholmodAnalysis":
        if self._analysis is None:
            raise UserError("the last factorisation failed: there is no factor to solve with", code=FAILURE)
        return self._analysis


class _RowProducts:
    """Y Yᵀ (r, r) summed over columns of Y: columns with entries in many rows by blocks, others one by one."""

    def __init__(self, count: int) -> None:
        self._sum = np.zeros((count, count), order="F")  # its lower triangle
        self._block, self._filled = np.zeros((_BLOCK_COLUMNS, count)), 0

    def add(self, rows: NDArray[np.int64], columns: Array) -> None:
        """Columns (n, k) with entries in the rows (k,), which ascend."""
        if _SPARSE_COLUMN_RATIO * rows.size < len(self._sum):
            self._sum[np.ix_(rows, rows)] += columns.T @ columns
            return
        for first in range(0, len(columns), _BLOCK_COLUMNS):
            chunk = columns[first : first + _BLOCK_COLUMNS]
            if self._filled + len(chunk) > _BLOCK_COLUMNS:
                self._flush()
            self._block[self._filled : self._filled + len(chunk), rows] = chunk
            self._filled += len(chunk)

    def add_sparse(self, columns: csc_array) -> None:
        """Columns of a sparse Y (r, n)."""
        counts = np.diff(columns.indptr)
        columns = columns[:, counts > 0]
        if float((counts.astype(float) ** 2).sum()) < _SPARSE_SHARE * float(columns.shape[1]) * len(self._sum) ** 2:
            self._sum += (columns @ columns.T).toarray()
            return
        all_rows = np.arange(len(self._sum))
        for first in range(0, columns.shape[1], _BLOCK_COLUMNS):
            self.add(all_rows, columns[:, first : first + _BLOCK_COLUMNS].toarray().T)

    def symmetric(self) -> Array:
        """Y Yᵀ."""
        self._flush()
        return symmetric_of_lower(self._sum)

    def _flush(self) -> None:
        if self._filled:
            filled = self._block[: self._filled].T
            self._sum = dsyrk(1.0, filled, 1.0, self._sum, lower=1, overwrite_c=1)
            self._block[: self._filled] = 0.0
            self._filled = 0


class QuasiDefiniteFactor:
    """P K Pᵀ = L D Lᵀ of a symmetric K = [A Cᵀ; C −N], A and N positive definite, D diagonal with both signs.

    Such a factor exists in any order of the rows, without a search for pivots; it loses digits as N becomes small.

    Source: Vanderbei, SIAM J. Optim. 5 (1995) 100–113.
    """

    def __init__(self, K: Any) -> None:
        """K (n, n); UserError where a pivot is 0."""
        matrix = canonical(K)
        self.shape = matrix.shape
        self._analysis = _analyse(matrix, "default", "simplicial")
        self._analysis.factorise(matrix)

    def solve(self, b: Array) -> Array:
        """K⁻¹ b of b (n,) or (n, r)."""
        return self._analysis.solve(_right_hand_side(b, self.shape[0]))


def fill_reducing_order(A: Any, ordering: str = "default") -> NDArray[np.int64]:
    """The order (d,) of rows in which the factor of A has few entries; see `factorise`."""
    return _analyse(canonical(A), ordering).permutation().astype(np.int64)


def symbolic_supernodes(A: Any) -> tuple[NDArray[np.int64], Supernodes]:
    """The order (d,) of a supernodal factor of the pattern of A, which is equivalent to that of A, and its supernodes,
    without values."""
    matrix = canonical(A)
    cholmod = _cholmod()
    if cholmod is None or hasattr(cholmod, "CholeskyFactor"):
        return symbolic(matrix)[:2]  # scikit-sparse 0.5 does not show those of CHOLMOD
    analysis = _analyse(matrix, "natural", "supernodal")
    supernodes = analysis.supernodes(symbolic=True)
    if supernodes is None:
        return symbolic(matrix)[:2]
    first, row_start, value_start, rows = (np.array(array) for array in supernodes[:4])
    return analysis.permutation().astype(np.int64), Supernodes(first, row_start, value_start, rows, supernodes.values)


def _check_pivots(engine: "_CholmodAnalysis", diagonal: Array) -> None:
    """UserError where a pivot is negative (L D Lᵀ exists) or mere round-off (a free rigid motion)."""
    pivots, order = engine.pivots(), engine.permutation()
    failed = ~(pivots > _PIVOT * diagonal[order])
    if failed.any():
        raise not_definite(int(order[np.argmax(failed)]))


def _right_hand_side(b: ArrayLike, size: int) -> Array:
    rhs = np.asarray(b, dtype=float)
    if rhs.ndim not in (1, 2) or rhs.shape[0] != size:
        raise ValueError(f"a right-hand side of shape ({size},) or ({size}, r) is needed, not {rhs.shape}")
    return rhs


# -- the two APIs of scikit-sparse --


class _CholmodAnalysis(Protocol):
    """A symbolic analysis and its numeric factor: the same interface to both APIs of scikit-sparse."""

    def factorise(self, A: Any) -> None: ...
    def solve(self, b: Array) -> Array: ...
    def pivots(self) -> Array: ...
    def permutation(self) -> NDArray[np.int32]: ...
    def nnz(self) -> int: ...
    def lower(self) -> Any: ...
    def forward(self, b: Array) -> Array: ...
    def backward(self, w: Array) -> Array: ...
    def supernodes(self, symbolic: bool = False) -> Supernodes | None: ...


class _CholmodFactor(ctypes.Structure):
    """The first members of `cholmod_factor`, with the layout of SuiteSparse 5."""

    _fields_ = (
        *((name, ctypes.c_size_t) for name in ("n", "minor")),
        *((name, ctypes.c_void_p) for name in ("Perm", "ColCount", "IPerm")),
        ("nzmax", ctypes.c_size_t),
        *((name, ctypes.c_void_p) for name in ("p", "i", "x", "z", "nz", "next", "prev")),
        *((name, ctypes.c_size_t) for name in ("nsuper", "ssize", "xsize", "maxcsize", "maxesize")),
        *((name, ctypes.c_void_p) for name in ("super", "pi", "px", "s")),
        *(
            (name, ctypes.c_int)
            for name in ("ordering", "is_ll", "is_super", "is_monotonic", "itype", "xtype", "dtype")
        ),
    )

    def view(self, name: str, count: int, kind: Any) -> Any:
        """View of an array of CHOLMOD."""
        return np.ctypeslib.as_array(ctypes.cast(getattr(self, name), ctypes.POINTER(kind)), (count,))


def _supernodes_of(factor: Any, size: int, symbolic: bool = False) -> Supernodes | None:
    """Views of the supernodes of scikit-sparse's `Factor`, whose last member is the pointer to `cholmod_factor`.

    symbolic: before the numeric factorisation, without values. None where it is simplicial, has large indices, or has
    an unexpected layout.
    """
    pointer = ctypes.c_void_p.from_address(
        id(factor) + type(factor).__basicsize__ - ctypes.sizeof(ctypes.c_void_p)
    ).value
    if not pointer:
        return None
    struct = _CholmodFactor.from_address(pointer)
    if (
        struct.n,
        struct.minor,
        struct.is_super,
        struct.is_ll,
        struct.itype,
        struct.xtype,
        struct.dtype,
    ) != (
        size,
        size,
        1,
        1,
        0,
        int(not symbolic),
        0,
    ):
        return None
    first = struct.view("super", struct.nsuper + 1, ctypes.c_int32)
    row_start, value_start = (struct.view(name, struct.nsuper + 1, ctypes.c_int32) for name in ("pi", "px"))
    if (first[0], first[-1], row_start[-1], value_start[-1]) != (0, size, struct.ssize, struct.xsize):
        return None
    rows, values = (
        struct.view("s", struct.ssize, ctypes.c_int32),
        (np.zeros(0) if symbolic else struct.view("x", struct.xsize, ctypes.c_double)),
    )
    return Supernodes(first, row_start, value_start, rows, values)


def _analyse(A: Any, ordering: str, mode: str = "auto") -> _CholmodAnalysis:
    """Analyse the pattern of A with the installed library; mode: "auto", "supernodal", or "simplicial", which
    allows for L D Lᵀ with D of both signs."""
    cholmod = _cholmod()
    if cholmod is None:
        return Multifrontal(A, ordering, definite=mode != "simplicial")
    api: Callable[..., _CholmodAnalysis] = _Cholmod05 if hasattr(cholmod, "CholeskyFactor") else _Cholmod04
    try:
        return api(cholmod, A, ordering, mode)
    except (cholmod.CholmodNotInstalledError, *_invalid(cholmod)):
        if ordering not in ("metis", "nesdis"):
            raise
        return api(cholmod, A, "default", mode)  # this CHOLMOD was built without its partition module


def _cholmod() -> ModuleType | None:
    """The module of scikit-sparse; None where it is switched off or cannot be imported; the first failed import
    warns."""
    if os.environ.get(SWITCH) == "off":
        return None
    try:
        from sksparse import cholmod
    except ImportError as error:
        _warn_once(" ".join(str(error).split()))
        return None
    return cholmod


@cache
def _warn_once(reason: str) -> None:
    if os.environ.get(WORKER) != "other":
        message = (
            f"CHOLMOD is not available ({reason}): large 3D models take more time and memory. Install SuiteSparse "
            f'(Debian: libsuitesparse-dev) and a C compiler, then pip install "arlequin[cholmod]"; {SWITCH}=off '
            "hides this line"
        )
        warn_user(message, CholmodWarning)


def _invalid(cholmod: ModuleType) -> tuple[type[Exception], ...]:
    names = ("CholmodInvalidError", "CholmodInvalidInputError")  # 0.4, 0.5
    return tuple(getattr(cholmod, name) for name in names if hasattr(cholmod, name))


def _run(cholmod: ModuleType, action: Callable[..., Any], *arguments: Any) -> Any:
    """Call CHOLMOD; its failures are raised as UserError."""
    try:
        return action(*arguments)
    except cholmod.CholmodNotPositiveDefiniteError:
        raise not_definite() from None
    except (cholmod.CholmodOutOfMemoryError, MemoryError):
        message = "not enough memory to factorise the matrix: take a coarser mesh"
        raise UserError(message, code=FAILURE) from None
    except cholmod.CholmodError as error:
        raise UserError(f"CHOLMOD failed: {error}", code=FAILURE) from error


class _Cholmod04:
    """scikit-sparse 0.4.16: `analyze`, then `cholesky_inplace`; a supernodal factor stays supernodal."""

    def __init__(self, cholmod: ModuleType, A: Any, ordering: str, mode: str) -> None:
        self._cholmod = cholmod
        self._factor = cholmod.analyze(A, mode=mode, ordering_method=ordering)

    def factorise(self, A: Any) -> None:
        _run(self._cholmod, self._factor.cholesky_inplace, A)

    def solve(self, b: Array) -> Array:
        return self._factor.solve_A(b)

    def pivots(self) -> Array:
        return self._factor.D()

    def permutation(self) -> NDArray[np.int32]:
        return self._factor.P()

    def nnz(self) -> int:
        return int(self._factor.L().nnz)  # a copy of L: this API has no count

    def lower(self) -> Any:
        return self._factor.L()

    def forward(self, b: Array) -> Array:
        return self._factor.solve_L(self._factor.apply_P(b), False)

    def backward(self, w: Array) -> Array:
        return self._factor.apply_Pt(self._factor.solve_Lt(w, False))

    def supernodes(self, symbolic: bool = False) -> Supernodes | None:
        return _supernodes_of(self._factor, self._factor.P().size, symbolic)


class _Cholmod05:
    """scikit-sparse 0.5: `CholeskyFactor`, then `factorize`, which turns a supernodal factor simplicial.

    The symbolic factor is kept and copied each time: another `factorize` of the same object runs simplicial.
    """

    def __init__(self, cholmod: ModuleType, A: Any, ordering: str, mode: str) -> None:
        self._cholmod, self._definite = cholmod, mode != "simplicial"
        self._symbolic = cholmod.CholeskyFactor(A, lower=True, order=ordering, supernodal_mode=mode)
        self._factor: Any = None

    def factorise(self, A: Any) -> None:
        self._factor = None  # released before the new factor is allocated
        self._factor = _run(self._cholmod, lambda: self._symbolic.copy().factorize(A, ldl=not self._definite))

    def solve(self, b: Array) -> Array:
        # its estimate (min L_ii / max L_ii)² mistakes different units for near singularity; pivots are checked here
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self._cholmod.CholmodWarning)
            return self._factor.solve(b)

    def pivots(self) -> Array:
        return np.square(self._factor.factor.diagonal())

    def permutation(self) -> NDArray[np.int32]:
        return (self._factor or self._symbolic).get_perm()

    def nnz(self) -> int:
        return int(self._factor.nnz)

    def lower(self) -> Any:
        return self._factor.factor

    def forward(self, b: Array) -> Array:
        return self._factor.solve(b[self.permutation()], system="L")

    def backward(self, w: Array) -> Array:
        out = np.empty_like(w)
        out[self.permutation()] = self._factor.solve(w, system="Lt")
        return out

    def supernodes(self, symbolic: bool = False) -> None:
        return None  # this API turns the factor simplicial


def blas_name() -> str:
    """The BLAS that factorisations call in this process: "OpenBLAS 0.3.21", or "reference BLAS (slow)"."""
    cholmod = _cholmod()
    if cholmod is None:
        blas = scipy.show_config(mode="dicts")["Build Dependencies"]["blas"]  # numba's kernels call it, too
        return f"{name_of(blas['name'])} {blas['version']}"
    return blas_called_by(cholmod.__file__ or "")
