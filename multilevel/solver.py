"""The normal contact problem of one time step, on the Delassus operator."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multilevel.law import Array, NormalLaw, RegularLaw, SetValuedLaw


@dataclass(frozen=True)
class PointLaws:
    """The laws of all contact points as tables, which the kernels read.

    area (k,) m². Regular laws of point k: rows rows[k] … rows[k+1] of kind (index into kernels) and coefficients.
    level (k,): 0 no set-valued law, 1 on the gap, 2 on the velocity; compliance (k,) of its multiplier, m/Pa or
    m/(s Pa).
    """

    area: Array
    regular: tuple[tuple[RegularLaw, ...], ...]
    rows: NDArray[np.int64]
    coefficients: Array
    level: NDArray[np.int64]
    compliance: Array

    @classmethod
    def gather(cls, laws: list[tuple[NormalLaw, ...]], area: Array) -> "PointLaws":
        """`laws` holds the laws of each contact point, at most one of them set-valued."""
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
        return cls(area, regular, rows, coefficients, level, compliance)

    @property
    def count(self) -> int:
        return self.area.size

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


@dataclass(frozen=True)
class ContactSolution:
    """Impulses of one step, N·s (forces, N, in statics), each (k,): total = stored + dissipated + multiplier.

    history: trial history of the laws, to be committed if the step is accepted. residual: natural map, relative to
    the largest impulse. iterations: of Newton.
    """

    impulse: Array
    stored: Array
    dissipated: Array
    multiplier: Array
    history: Array
    iterations: int
    residual: float


def solve_normal(
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
    max_iterations: int = 500,
) -> ContactSolution:
    """Solves for the impulses P (k,) with the gaps and gap rates at the end of the step

        g = gap_free + lever W P,      ġ = rate_free + W P,      P = h A p(history, g) + Λ,

    p the sum of the regular laws' mean tractions, A the area, h = `impulse_factor` (Δt in dynamics, 1 in
    statics), W the Delassus operator (k, k), symmetric positive definite, and Λ/(hA) the multiplier of the
    set-valued law on g, or on ġ at the points that are `closed`. `lever` (s) is the gap that a unit of
    velocity makes. Semismooth Newton on the natural map Λ − ⟨Λ − s/W_kk⟩₊; where statuses cycle, they
    change one at a time.

    Pure: the same arguments give the same bits; nothing is committed. The residual is reported, not judged.
    """
    count = laws.count
    if count == 0:
        empty = np.zeros(0)
        return ContactSolution(empty, empty, empty, empty, history, 0, 0.0)
    if not laws.has_regular and count == 1:
        return _single_multiplier(laws, delassus, lever, gap_free, rate_free, closed, history, impulse_factor)

    from multilevel._kernels import solve_normal as kernel

    kernels, kind = laws.kernels
    impulse = guess.copy()
    stored, dissipated = np.empty(count), np.empty(count)
    trial = history.copy()
    area = impulse_factor * laws.area
    iterations, residual = kernel(
        np.ascontiguousarray(delassus), lever, gap_free, rate_free, closed, area, laws.compliance / area,
        laws.level, kernels, laws.rows, kind, laws.coefficients, history, trial, step, theta,
        impulse, stored, dissipated, max_iterations,
    )  # fmt: skip
    multiplier = np.where(laws.level > 0, impulse - stored - dissipated, 0.0)
    return ContactSolution(impulse, stored, dissipated, multiplier, trial, iterations, residual)


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
    """One point without regular law has a closed form: Λ = ⟨−s_free⟩₊ / (W + compliance)."""
    compliance = laws.compliance[0] / (impulse_factor * laws.area[0])
    zero = np.zeros(1)
    multiplier = zero
    if laws.level[0] == 1:
        multiplier = np.maximum(-gap_free, 0.0) / (lever * delassus[0, 0] + compliance)
    elif laws.level[0] == 2 and closed[0]:
        multiplier = np.maximum(-rate_free, 0.0) / (delassus[0, 0] + compliance)
    return ContactSolution(multiplier, zero, zero, multiplier, history, 1, 0.0)
