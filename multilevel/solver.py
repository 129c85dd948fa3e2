"""The contact problem of one time step, with friction, on the Delassus operator."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from models.checks import non_negative, one_of, positive
from multilevel.friction import Coulomb
from multilevel.law import Array, NormalLaw, RegularLaw, SetValuedLaw


@dataclass(frozen=True)
class PointLaws:
    """The laws of all contact points as tables, which the kernels read.

    area (k,) m². Regular laws of point k: rows rows[k] … rows[k+1] of kind (index into kernels) and coefficients.
    level (k,): 0 no set-valued law, 1 on the gap, 2 on the velocity; compliance (k,) of its multiplier, m/Pa or
    m/(s Pa). friction (k,): coefficient, 0 without; tangential_compliance (k,), m/(s Pa). first (k+1,): the rows of
    point k are first[k] (normal) and, where it has friction, those of the axes − 1 tangents.
    """

    area: Array
    regular: tuple[tuple[RegularLaw, ...], ...]
    rows: NDArray[np.int64]
    coefficients: Array
    level: NDArray[np.int64]
    compliance: Array
    friction: Array
    tangential_compliance: Array
    first: NDArray[np.int64]

    @classmethod
    def gather(
        cls,
        laws: Sequence[tuple[NormalLaw, ...]],
        area: Array,
        friction: Sequence[Coulomb | None] | None = None,
        axes: int = 1,
    ) -> "PointLaws":
        """`laws` holds the laws of each contact point, at most one of them set-valued, `friction` that of each."""
        from multilevel._signature import COEFFICIENTS

        regular = tuple(tuple(law for law in point if isinstance(law, RegularLaw)) for point in laws)
        level = np.zeros(len(laws), dtype=np.int64)
        compliance = np.zeros(len(laws))
        for k, point in enumerate(laws):
            for law in point:
                if isinstance(law, SetValuedLaw):
                    level[k] = 1 if law.level == "gap" else 2
                    compliance[k] = law.compliance
        rows = np.concatenate([[0], np.cumsum([len(point) for point in regular])]).astype(np.int64)
        table = [law.coefficients() for point in regular for law in point]
        coefficients = np.array(table) if table else np.zeros((0, COEFFICIENTS))
        friction = [None] * len(laws) if friction is None else friction
        sizes = [1 if law is None else axes for law in friction]
        return cls(
            area=area,
            regular=regular,
            rows=rows,
            coefficients=coefficients,
            level=level,
            compliance=compliance,
            friction=np.array([0.0 if law is None else law.coefficient for law in friction]),
            tangential_compliance=np.array([0.0 if law is None else law.compliance for law in friction]),
            first=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        )

    @property
    def count(self) -> int:
        return self.area.size

    @cached_property
    def row_count(self) -> int:
        """Rows of the contact problem: normals, and tangents where there is friction."""
        return int(self.first[-1])

    @property
    def frictional(self) -> bool:
        """Whether any point has friction."""
        return self.row_count > self.count

    @property
    def has_regular(self) -> bool:
        return self.coefficients.shape[0] > 0

    @property
    def damped(self) -> bool:
        return any(law.damped for point in self.regular for law in point)

    def start_history(self, gap: Array) -> Array:
        """History (rows, h) of laws that meet for the first time at the gaps (k,)."""
        from multilevel._signature import HISTORY

        history = np.zeros((self.coefficients.shape[0], HISTORY))
        history[:, 0] = np.repeat(gap, np.diff(self.rows))
        return history

    def reopened(self, history: Array, gap: Array) -> Array:
        """The history with the gaps (k,) at the start of the step as another pairing sees them."""
        history = history.copy()
        history[:, 0] = np.repeat(gap, np.diff(self.rows))
        return history

    @cached_property
    def always(self) -> NDArray[np.bool_]:
        """Points (k,) whose laws act whether they are closed or not: regular laws, and unilateral ones on the gap."""
        return (self.level == 1) | (np.diff(self.rows) > 0)

    def chosen(self, points: NDArray[np.int64]) -> "PointLaws":
        """The laws of some of the points."""
        if points.size == self.count:
            return self
        laws = _spans(self.rows, points)
        return PointLaws(
            area=self.area[points],
            regular=tuple(self.regular[k] for k in points),
            rows=np.concatenate([[0], np.cumsum(np.diff(self.rows)[points])]).astype(np.int64),
            coefficients=np.ascontiguousarray(self.coefficients[laws]),
            level=self.level[points],
            compliance=self.compliance[points],
            friction=self.friction[points],
            tangential_compliance=self.tangential_compliance[points],
            first=np.concatenate([[0], np.cumsum(np.diff(self.first)[points])]).astype(np.int64),
        )

    def rows_of(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the contact problem of some of the points."""
        return _spans(self.first, points)

    def histories_of(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the history of some of the points."""
        return _spans(self.rows, points)

    def energy(self, gap: Array) -> float:
        """Energy stored in the interface, J: Σ_k area_k Σ_laws E(g_k)."""
        return float(self.area @ self._sum(gap, lambda law, g: law.energy(g)))

    def pressure(self, gap: Array) -> Array:
        """Stored pressure (k,) at the gaps, Pa."""
        return self._sum(gap, lambda law, g: law.pressure(g))

    def stiffness_bound(self) -> Array:
        """Largest tangent of the stored pressure force (k,), N/m."""
        return self.area * np.array([sum(law.stiffness_bound() for law in point) for point in self.regular])

    def _sum(self, gap: Array, what: Any) -> Array:
        # points of one interface share their laws: one vectorised call a group, not one a point
        total = np.zeros(self.count)
        for laws, points in self._groups:
            for law in laws:
                total[points] += what(law, gap[points])
        return total

    @cached_property
    def _groups(self) -> list[tuple[tuple[RegularLaw, ...], NDArray[np.int64]]]:
        groups: dict[tuple[RegularLaw, ...], list[int]] = {}
        for k, laws in enumerate(self.regular):
            if laws:
                groups.setdefault(laws, []).append(k)
        return [(laws, np.array(points)) for laws, points in groups.items()]

    @cached_property
    def kernels(self) -> tuple[Any, NDArray[np.int64]]:
        """The distinct compiled kernels as a typed list, and for each row the index of its own."""
        from numba.typed import List

        from multilevel._signature import REGULAR_KERNEL

        kernels = List.empty_list(REGULAR_KERNEL)
        index: dict[int, int] = {}
        kind = []
        for law in (law for point in self.regular for law in point):
            kernel = law.kernel()
            if id(kernel) not in index:
                index[id(kernel)] = len(kernels)
                kernels.append(kernel)
            kind.append(index[id(kernel)])
        return kernels, np.array(kind, dtype=np.int64)


def _spans(starts: NDArray[np.int64], items: NDArray[np.int64]) -> NDArray[np.int64]:
    """starts[i] … starts[i + 1] of the items, one after the other."""
    if items.size == starts.size - 1:
        return np.arange(starts[-1])
    sizes = np.diff(starts)[items]
    before = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return np.repeat(starts[items] - before, sizes) + np.arange(sizes.sum())


OPEN, SLIP, STICK = 0, 1, 2
Method = Literal["newton", "augmented", "gauss-seidel", "projected-gradient"]
METHODS: tuple[Method, ...] = ("newton", "augmented", "gauss-seidel", "projected-gradient")


@dataclass(frozen=True)
class ContactSolution:
    """Impulses of one step, N·s (forces, N, in statics): `impulse` (r,) on all rows.

    Normal parts (k,): total = stored + dissipated + multiplier. status (k,): OPEN, SLIP or STICK (closed points
    without friction slip). history: trial history of the laws, to be committed if the step is accepted.

    residual, the certificate: the largest of |P − project(P − slack/W_kk)| over multipliers and friction, relative to
    the largest impulse. iterations: of Newton, with the sweeps and gradient steps of other methods. singular: whether
    the last linear system was: the multipliers are not unique, and `stabilised` finds some.
    """

    impulse: Array
    stored: Array
    dissipated: Array
    multiplier: Array
    history: Array
    iterations: int
    residual: float
    status: NDArray[np.int8]
    singular: bool = False


def solve_contact(
    laws: PointLaws,
    delassus: Array,
    lever: float,
    gap_free: Array,
    rate_free: Array,
    closed: NDArray[np.bool_],
    history: Array,
    step: float,
    theta: float,
    impulse_factor: float,
    guess: Array,
    max_iterations: int = 20000,
    augmentation: float = 1.0,
    stabilised: bool | float = False,
    method: Method = "newton",
) -> ContactSolution:
    """Solves for the impulses P (r,) with the gaps (k,) and relative velocities (r,) at the end of the step

        g = gap_free + lever (W P)_n,      ġ, v_t = rate_free + W P

        P_n = h A p(history, g) + Λ,       ‖P_t‖ ≤ μ P_n,   −P_t ∈ μ P_n ∂‖v_t + c_t P_t/(h A)‖

    p the sum of the regular laws' mean tractions, A the area, h = `impulse_factor` (Δt in dynamics, 1 in
    statics), W the Delassus operator (r, r), symmetric positive definite, and Λ/(hA) the multiplier of the
    set-valued law on g, or on ġ at the points that are `closed`. `lever` (s) is the gap that a unit of
    velocity makes; in statics rates are increments.

    method "newton": semismooth Newton on the natural map P − project(P − ρ slack/W_kk), ρ = `augmentation` (it moves
    the way, not the solution); where its statuses cycle they change one at a time, and with friction Gauss–Seidel and
    projected-gradient steps make it better starts. "augmented": the method of multipliers around it. "gauss-seidel",
    "projected-gradient" (with a fixed point on the friction threshold): these alone. `stabilised`, True for 1e-3: a
    proximal term of that size, relative to W_kk, for multipliers that are not unique, iterated away.

    Pure: the same arguments give the same bits; nothing is committed. The residual is reported, not judged.

    Source: Alart & Curnier, Comput. Methods Appl. Mech. Eng. 92 (1991) 353–375.
    """
    count = laws.count
    if count == 0:
        empty = np.zeros(0)
        return ContactSolution(empty, empty, empty, empty, history, 0, 0.0, np.zeros(0, dtype=np.int8))
    if method == "newton" and not stabilised:
        mass = 0.0
        if laws.row_count == 1 and not laws.has_regular:
            return _single_multiplier(laws, delassus, lever, gap_free, rate_free, closed, history, impulse_factor)
    else:
        one_of("method", method, METHODS)
        mass = 1e-3 if stabilised is True else non_negative("stabilised", float(stabilised))
        if method == "augmented":
            mass = 1.0 / positive("augmentation", augmentation)
    if augmentation != 1.0:
        positive("augmentation", augmentation)

    from multilevel._kernels import solve_contact as kernel

    kernels, kind = laws.kernels
    impulse, trial = guess.copy(), history.copy()
    normal, status = np.empty((3, count)), np.empty(count, dtype=np.int8)
    iterations, residual, singular = kernel(
        np.ascontiguousarray(delassus), lever, gap_free, rate_free, closed, laws.first, laws.area, laws.level,
        laws.compliance, laws.friction, laws.tangential_compliance, kernels, laws.rows, kind, laws.coefficients,
        history, step, theta, impulse_factor,
        impulse, trial, normal, status, METHODS.index(method), augmentation, mass, max_iterations,
    )  # fmt: skip
    stored, dissipated, multiplier = normal
    return ContactSolution(impulse, stored, dissipated, multiplier, trial, iterations, residual, status, singular)


def _single_multiplier(
    laws: PointLaws,
    delassus: Array,
    lever: float,
    gap_free: Array,
    rate_free: Array,
    closed: NDArray[np.bool_],
    history: Array,
    impulse_factor: float,
) -> ContactSolution:
    """One point without regular law and friction has a closed form: Λ = ⟨−s_free⟩₊ / (W + compliance)."""
    compliance = laws.compliance[0] / (impulse_factor * laws.area[0])
    zero = np.zeros(1)
    multiplier = zero
    if laws.level[0] == 1:
        multiplier = np.maximum(-gap_free, 0.0) / (lever * delassus[0, 0] + compliance)
    elif laws.level[0] == 2 and closed[0]:
        multiplier = np.maximum(-rate_free, 0.0) / (delassus[0, 0] + compliance)
    status = (multiplier > 0.0).astype(np.int8)
    return ContactSolution(multiplier, zero, zero, multiplier, history, 1, 0.0, status)
