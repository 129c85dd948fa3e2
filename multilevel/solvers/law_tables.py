"""The laws of all contact points of a system as tables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.laws.base import NormalLaw, RegularLaw, SetValuedLaw
from arlequin.multilevel.laws.friction import Coulomb

_Whole = NDArray[np.int64]
_Tables = tuple[_Whole, Array, _Whole, Array, Array, Array, Any, _Whole, _Whole, Array]


@dataclass(frozen=True)
class PointLaws:
    """The laws of all contact points as tables, which the kernels read.

    area (k,) m². Regular laws of point k: rows rows[k] … rows[k+1] of kind (index into kernels) and coefficients.
    level (k,): 0 no set-valued law, 1 on the gap, 2 on the velocity; compliance (k,) of its multiplier, m/Pa or
    m/(s Pa). friction (k,): coefficient, 0 without; tangential_compliance (k,), m/(s Pa); tangential_stiffness (k,),
    Pa/m, infinite without springs; tangential_damping (k,) beside them, Pa s/m. first (k+1,): the rows of point k are
    first[k] (normal) and, where it has friction, those of the axes − 1 tangents. The history has a row for each
    regular law and then one for each point with springs: what its spring pulls, as a vector in space.
    """

    area: Array
    regular: tuple[tuple[RegularLaw, ...], ...]
    rows: NDArray[np.int64]
    coefficients: Array
    level: NDArray[np.int64]
    compliance: Array
    friction: Array
    tangential_compliance: Array
    tangential_stiffness: Array
    tangential_damping: Array
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
        regular = tuple(tuple(law for law in point if isinstance(law, RegularLaw)) for point in laws)
        level = np.zeros(len(laws), dtype=np.int64)
        compliance = np.zeros(len(laws))
        for k, point in enumerate(laws):
            for law in point:
                if isinstance(law, SetValuedLaw):
                    level[k] = 1 if law.level == "gap" else 2
                    compliance[k] = law.compliance
        rows = np.concatenate([[0], np.cumsum([len(point) for point in regular])]).astype(np.int64)
        table = {law: law.coefficients() for point in regular for law in point}
        coefficients = np.zeros((int(rows[-1]), max((own.size for own in table.values()), default=0)))
        for row, law in zip(coefficients, (law for point in regular for law in point), strict=True):
            row[: table[law].size] = table[law]
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
            tangential_stiffness=np.array([np.inf if law is None else law.stiffness for law in friction]),
            tangential_damping=np.array([0.0 if law is None else law.damping for law in friction]),
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
        from arlequin.multilevel.laws._signature import HISTORY

        history = np.zeros((self.coefficients.shape[0] + np.count_nonzero(self.elastic_stick), HISTORY))
        history[: self.rows[-1], 0] = np.repeat(gap, np.diff(self.rows))
        return history

    def reopened(self, history: Array, gap: Array) -> Array:
        """The history with the gaps (k,) at the start of the step as another pairing sees them."""
        history = history.copy()
        history[: self.rows[-1], 0] = np.repeat(gap, np.diff(self.rows))
        return history

    def carried(self, history: Array, gap: Array) -> tuple[Array, Array]:
        """The same as far as no energy is made, and what the gaps of the layers are beyond these (k,), m.

        A layer works on n·Δu of its rows. The next step sees the same point from other rows, and between the two its
        gap jumps by δ, of second order in the step, or by more where facets change; the energy E(g + δ) − E(g) that it
        then stores was done by nobody. What such jumps take is put on an account, from which those that give are paid.
        Beyond it gaps stay as they were carried, ĝ₁ = ĝ₀ + n·Δu, so that Σ (work + stored energy) never grows; `scheme`
        has what is on the account.
        """
        from arlequin.multilevel.laws._carried_kernels import reopen

        history, beyond = history.copy(), np.zeros(self.count)
        kernels, kind = self.kernels
        reopen(history, gap, self.rows, self.area, kernels, kind, self.coefficients, beyond)
        return history, beyond

    def layer_gaps(self, history: Array, gap: Array) -> Array:
        """The gaps (k,) with those that the layers carry."""
        at = np.flatnonzero(np.diff(self.rows))
        gap = gap.copy()
        gap[at] = history[self.rows[at], 0]
        return gap

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
            tangential_stiffness=self.tangential_stiffness[points],
            tangential_damping=self.tangential_damping[points],
            first=np.concatenate([[0], np.cumsum(np.diff(self.first)[points])]).astype(np.int64),
        )

    def multipliers(self) -> "PointLaws":
        """The set-valued laws and friction alone, all on the velocity."""
        none = np.zeros(self.count + 1, dtype=np.int64)
        level = np.where(self.level > 0, 2, 0)
        # springs of friction carry nothing where contact starts
        friction = np.where(self.elastic_stick, 0.0, self.friction)
        return replace(
            self,
            regular=((),) * self.count,
            rows=none,
            coefficients=self.coefficients[:0],
            level=level,
            friction=friction,
            tangential_stiffness=np.full(self.count, np.inf),
            tangential_damping=np.zeros(self.count),
        )

    def tables(self, soft: Array) -> _Tables:
        """As the kernels of the contact problem take them, with the compliance of friction (k,), m/(s Pa)."""
        kernels, kind = self.kernels
        points = self.first, self.area, self.level, self.compliance, self.friction, soft
        return *points, kernels, self.rows, kind, self.coefficients

    def rows_of(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the contact problem of some of the points."""
        return _spans(self.first, points)

    def histories_of(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the history of some of the points."""
        springs = np.cumsum(self.elastic_stick) - 1 + self.rows[-1]
        return np.concatenate([_spans(self.rows, points), springs[points][self.elastic_stick[points]]])

    @cached_property
    def gap_rows(self) -> NDArray[np.bool_]:
        """Rows (r,) of multipliers on the gap."""
        out = np.zeros(self.row_count, dtype=bool)
        out[self.first[:-1]] = self.level == 1
        return out

    @cached_property
    def elastic_stick(self) -> NDArray[np.bool_]:
        """Points (k,) whose friction has springs."""
        return np.isfinite(self.tangential_stiffness)

    @property
    def has_elastic_stick(self) -> bool:
        return self.elastic_stick_rows.size > 0

    @cached_property
    def elastic_stick_rows(self) -> NDArray[np.int64]:
        """Tangential rows (s,) of the points with springs."""
        tangential = np.ones(self.row_count, dtype=bool)
        tangential[self.first[:-1]] = False
        return np.flatnonzero(tangential & np.repeat(self.elastic_stick, np.diff(self.first)))

    @cached_property
    def elastic_stick_points(self) -> NDArray[np.int64]:
        """Point (s,) of each of these rows."""
        return np.repeat(np.arange(self.count), np.diff(self.first))[self.elastic_stick_rows]

    @cached_property
    def elastic_stick_first(self) -> NDArray[np.int64]:
        """First of these rows (e,) of each point with springs."""
        return np.flatnonzero(np.diff(self.elastic_stick_points, prepend=-1))

    def held(self, history: Array, tangents: Array) -> Array:
        """Tractions (r,) of the springs along the tangents (k, a − 1, a): vectors turn with them, lengths kept."""
        at, out = self.elastic_stick_points[self.elastic_stick_first], np.zeros(self.row_count)
        vectors = history[self.rows[-1] :, : tangents.shape[2]]
        along = np.einsum("kta,ka->kt", tangents[at], vectors)
        size, left = (np.linalg.norm(field, axis=1) for field in (vectors, along))
        scale = np.divide(size, left, out=np.ones_like(size), where=left > 0.0)
        out[self.elastic_stick_rows] = (along * scale[:, None]).ravel()
        return out

    def remember(self, history: Array, held: Array, tangents: Array) -> None:
        """Puts the tractions (r,) of the springs into a history."""
        at = self.elastic_stick_points[self.elastic_stick_first]
        along = held[self.elastic_stick_rows].reshape(at.size, tangents.shape[1])
        history[self.rows[-1] :, : tangents.shape[2]] = np.einsum("kta,kt->ka", tangents[at], along)

    def elastic_stick_energy(self, held: Array) -> Any:
        """Energy of the springs, J, by their tractions (r,), or by some (b, r): Σ A ‖t‖²/(2 K_T)."""
        points = self.elastic_stick_points
        softness = 0.5 * self.area[points] / self.tangential_stiffness[points]
        return np.vecdot(np.take(held, self.elastic_stick_rows, axis=-1) ** 2, softness)

    def energy(self, gap: Array) -> Any:
        """Energy stored in the interface, J: Σ_k area_k Σ_laws E(g_k), of gaps (k,) or of some (b, k)."""
        return np.vecdot(self._sum(gap, lambda law, g: law.energy(g)), self.area)

    def pressure(self, gap: Array) -> Array:
        """Stored pressure (k,) at the gaps, Pa."""
        return self._sum(gap, lambda law, g: law.pressure(g))

    def stiffness_bound(self) -> Array:
        """Largest tangent of the stored pressure force (k,), N/m."""
        return self.area * np.array([sum(law.stiffness_bound() for law in point) for point in self.regular])

    def _sum(self, gap: Array, what: Any) -> Array:
        # points of one interface share their laws: one vectorised call a group, not one a point
        total = np.zeros(gap.shape)
        for laws, points in self._groups:
            for law in laws:
                total[..., points] += what(law, np.take(gap, points, axis=-1))
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
        from arlequin.multilevel.solvers._list_kernels import add_kernel, no_kernels

        kernels = no_kernels()
        index: dict[int, int] = {}
        kind = []
        for law in (law for point in self.regular for law in point):
            kernel = law.kernel()
            if id(kernel) not in index:
                index[id(kernel)] = len(index)
                add_kernel(kernels, kernel)
            kind.append(index[id(kernel)])
        return kernels, np.array(kind, dtype=np.int64)


def _spans(starts: NDArray[np.int64], items: NDArray[np.int64]) -> NDArray[np.int64]:
    """starts[i] … starts[i + 1] of the items, one after the other."""
    if items.size == starts.size - 1:
        return np.arange(starts[-1])
    sizes = np.diff(starts)[items]
    before = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return np.repeat(starts[items] - before, sizes) + np.arange(sizes.sum())
