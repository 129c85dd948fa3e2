"""Tables of the laws of all contact points of a system."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.checks import finite_array, within
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.types import Array
from arlequin.multilevel.laws.base import BilateralLaw, NormalLaw, RegularLaw, SetValuedLaw
from arlequin.multilevel.laws.friction import VARIABLES, CompiledFriction, FrictionLaw, SlidingState, VariableFriction
from arlequin.multilevel.laws.squeeze_film import SqueezeFilm
from arlequin.multilevel.solvers.problem import STICKS, LawTable

_Table = tuple[Any, ...]


@dataclass(frozen=True)
class PointLaws:
    """Laws of k contact points as tables for the kernels.

    area (k,) m². Regular laws of point k: rows rows[k] … rows[k+1] of kind (index into kernels) and coefficients.
    level (k,): 0 no set-valued law, 1 on the gap, 2 on the velocity; compliance (k,) of its multiplier, m/Pa or
    m/(s Pa). friction (k,): coefficient, 0 without friction; tangential_compliance (k,), m/(s Pa);
    tangential_stiffness (k,), Pa/m, infinite without elastic stick; tangential_damping (k,) beside it, Pa s/m.
    first (k+1,): the rows of point k are first[k] (normal) and, where it has friction, those of the axes − 1 tangents.
    The history has a row for each regular law, then one for each point with elastic stick, its spring traction as a
    vector in space, and then one for each point whose coefficient of friction depends on the state: accumulated slip,
    pressure, two internal variables. friction (k,) holds the coefficients of the present step, friction_laws (k,) the
    laws; restitution (k,) that of the set-valued law.
    """

    area: Array
    regular: tuple[tuple[RegularLaw, ...], ...]
    rows: NDArray[np.int64]
    coefficients: Array
    level: NDArray[np.int64]
    compliance: Array
    restitution: Array
    friction: Array
    friction_laws: tuple[FrictionLaw | None, ...]
    tangential_compliance: Array
    tangential_stiffness: Array
    tangential_damping: Array
    first: NDArray[np.int64]

    @classmethod
    def gather(
        cls,
        laws: Sequence[tuple[NormalLaw, ...]],
        area: Array,
        friction: Sequence[FrictionLaw | None] | None = None,
        axes: int = 1,
    ) -> "PointLaws":
        """The tables of the laws of each point, at most one of them set-valued, and of its friction law.

        area (k,), m²; axes: of the space, which has axes − 1 tangents.
        """
        distinct = {id(law): law for law in chain(*laws)}  # few: the check of a protocol takes some 50 µs
        regular_laws = {number: law for number, law in distinct.items() if isinstance(law, RegularLaw)}
        set_valued_laws = {number: law for number, law in distinct.items() if isinstance(law, SetValuedLaw)}
        regular = tuple(tuple(regular_laws[id(law)] for law in point if id(law) in regular_laws) for point in laws)
        level = np.zeros(len(laws), dtype=np.int64)
        compliance, restitution = np.zeros(len(laws)), np.zeros(len(laws))
        for k, point in enumerate(laws):
            for set_valued in (set_valued_laws[id(law)] for law in point if id(law) in set_valued_laws):
                level[k] = 1 if set_valued.level == "gap" else 2
                compliance[k] = set_valued.compliance
                restitution[k] = _restitution(set_valued)
        rows = np.concatenate([[0], np.cumsum([len(point) for point in regular])]).astype(np.int64)
        table = {law: _constants(law) for point in regular for law in point}
        coefficients = np.zeros((int(rows[-1]), max((constants.size for constants in table.values()), default=0)))
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
            restitution=restitution,
            friction=_coefficients(tuple(friction), _at_rest(len(laws))),
            friction_laws=tuple(friction),
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

    @cached_property
    def films(self) -> NDArray[np.bool_]:
        """Points (k,) with a squeeze film, whose loss is theirs alone."""
        return np.array([any(isinstance(law, SqueezeFilm) for law in point) for point in self.regular], dtype=bool)

    @property
    def damped_layers(self) -> bool:
        """Whether a law other than a squeeze film dissipates."""
        return any(law.damped and not isinstance(law, SqueezeFilm) for point in self.regular for law in point)

    @property
    def viscous(self) -> bool:
        """Whether the loss of a regular law depends on the rate: not that of springs with a memory."""
        return any(law.damped and law not in self._bilateral for law in chain(*self.regular))

    def start_history(self, gap: Array) -> Array:
        """Initial history (l, h) at the gaps (k,)."""
        from arlequin.multilevel.laws.signature import HISTORY

        history = np.zeros((self._sliding_start + np.count_nonzero(self.slides), HISTORY))
        history[: self.rows[-1], 0] = np.repeat(gap, np.diff(self.rows))
        return history

    def with_gaps(self, history: Array, gap: Array) -> Array:
        """The history with the gaps (k,) at the start of the step by another pairing."""
        history = history.copy()
        history[: self.rows[-1], 0] = np.repeat(gap, np.diff(self.rows))
        return history

    def carry_gaps(self, history: Array, gap: Array) -> tuple[Array, Array]:
        """As `with_gaps`, but without adding energy; also the gaps of the layers minus the geometric gaps (k,), m.

        A layer does work on n·Δu of its rows. In the next step the point has other rows, and its gap jumps between the
        steps by δ, of second order in the step, or more where the facet changes; the change E(g + δ) − E(g) of the
        stored energy is the work of no force. Energy removed by such jumps is credited to an account, and jumps that
        add energy are allowed up to its balance. Beyond it the gap is integrated, ĝ₁ = ĝ₀ + n·Δu, so that
        Σ (work + stored energy) never grows. The balance counts as `scheme`.
        """
        from arlequin.multilevel.laws._layer_gap_kernels import carry_gaps

        history, excess = history.copy(), np.zeros(self.count)
        kernels, kind = self.kernels
        carry_gaps(history, gap, self.rows, self.area, kernels, kind, self.coefficients, excess)
        return history, excess

    def layer_gaps(self, history: Array, gap: Array) -> Array:
        """The gaps (k,), at points with regular laws those of the history."""
        at = np.flatnonzero(np.diff(self.rows))
        gap = gap.copy()
        gap[at] = history[self.rows[at], 0]
        return gap

    @cached_property
    def acts_when_open(self) -> NDArray[np.bool_]:
        """Points (k,) whose laws are independent of `closed`: regular laws, and multipliers on the gap."""
        return (self.level == 1) | (np.diff(self.rows) > 0)

    def chosen(self, points: NDArray[np.int64]) -> "PointLaws":
        """The laws of the given points."""
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
            restitution=self.restitution[points],
            friction=self.friction[points],
            friction_laws=tuple(self.friction_laws[k] for k in points),
            tangential_compliance=self.tangential_compliance[points],
            tangential_stiffness=self.tangential_stiffness[points],
            tangential_damping=self.tangential_damping[points],
            first=np.concatenate([[0], np.cumsum(np.diff(self.first)[points])]).astype(np.int64),
        )

    def multipliers(self) -> "PointLaws":
        """Only the set-valued laws and friction, all on the velocity, without elastic stick."""
        no_rows = np.zeros(self.count + 1, dtype=np.int64)
        level = np.where(self.level > 0, 2, 0)
        # springs of friction are unstretched where contact starts
        friction = np.where(self.elastic_stick, 0.0, self.friction)
        return replace(
            self,
            regular=((),) * self.count,
            rows=no_rows,
            coefficients=self.coefficients[:0],
            level=level,
            friction=friction,
            friction_laws=(None,) * self.count,
            tangential_stiffness=np.full(self.count, np.inf),
            tangential_damping=np.zeros(self.count),
        )

    def table(self, tangential_compliance: Array) -> tuple[_Table, Any]:
        """Fields of `LawTable` with the compliance of friction (k,), m/(s Pa), and the list of kernels."""
        kernels, kind = self.kernels
        table = LawTable(
            self.first, self.area, self.level, self.compliance, self.friction, tangential_compliance, self.rows, kind,
            self.coefficients,
        )  # fmt: skip
        return tuple(table), kernels

    def rows_of(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the contact problem of the given points."""
        return _spans(self.first, points)

    def histories_of(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the history of the given points."""
        springs = np.cumsum(self.elastic_stick) - 1 + self.rows[-1]
        sliding = np.cumsum(self.slides) - 1 + self._sliding_start
        return np.concatenate(
            [
                _spans(self.rows, points),
                springs[points][self.elastic_stick[points]],
                sliding[points][self.slides[points]],
            ]
        )

    @cached_property
    def gap_rows(self) -> NDArray[np.bool_]:
        """Rows (r,) of multipliers on the gap."""
        out = np.zeros(self.row_count, dtype=bool)
        out[self.first[:-1]] = self.level == 1
        return out

    @cached_property
    def elastic_stick(self) -> NDArray[np.bool_]:
        """Points (k,) with elastic stick."""
        return np.isfinite(self.tangential_stiffness)

    @property
    def has_elastic_stick(self) -> bool:
        return self.elastic_stick_rows.size > 0

    @cached_property
    def elastic_stick_rows(self) -> NDArray[np.int64]:
        """Tangential rows (s,) of the points with elastic stick."""
        tangential = np.ones(self.row_count, dtype=bool)
        tangential[self.first[:-1]] = False
        return np.flatnonzero(tangential & np.repeat(self.elastic_stick, np.diff(self.first)))

    @cached_property
    def elastic_stick_points(self) -> NDArray[np.int64]:
        """Point (s,) of each of the `elastic_stick_rows`."""
        return np.repeat(np.arange(self.count), np.diff(self.first))[self.elastic_stick_rows]

    @cached_property
    def elastic_stick_first(self) -> NDArray[np.int64]:
        """Index (e,) of the first of the `elastic_stick_rows` of each point."""
        return np.flatnonzero(np.diff(self.elastic_stick_points, prepend=-1))

    def spring_traction(self, history: Array, tangents: Array) -> Array:
        """Spring tractions (r,), Pa, of a history along the tangents (k, a − 1, a), rotated with them."""
        at, out = self.elastic_stick_points[self.elastic_stick_first], np.zeros(self.row_count)
        vectors = history[self.rows[-1] : self._sliding_start, : tangents.shape[2]]
        along = np.einsum("kta,ka->kt", tangents[at], vectors)
        size, projected = (np.linalg.norm(field, axis=1) for field in (vectors, along))
        scale = np.divide(size, projected, out=np.ones_like(size), where=projected > 0.0)
        out[self.elastic_stick_rows] = (along * scale[:, None]).ravel()
        return out

    def store_spring_traction(self, history: Array, traction: Array, tangents: Array) -> None:
        """Write the spring tractions (r,), Pa, to a history."""
        at = self.elastic_stick_points[self.elastic_stick_first]
        along = traction[self.elastic_stick_rows].reshape(at.size, tangents.shape[1])
        history[self.rows[-1] : self._sliding_start, : tangents.shape[2]] = np.einsum("kta,kt->ka", tangents[at], along)

    def spring_vectors(self, history: Array, axes: int) -> Array:
        """Spring tractions of a history as vectors in space (k, a), Pa, 0 at points without elastic stick."""
        out = np.zeros((self.count, axes))
        out[self.elastic_stick] = history[self.rows[-1] : self._sliding_start, :axes]
        return out

    def along_tangents(self, traction: Array, tangents: Array) -> Array:
        """Spring tractions (…, r), Pa, on the tangents (k, a − 1, a) as vectors in space (…, k, a)."""
        at = self.elastic_stick_points[self.elastic_stick_first]
        along = traction[..., self.elastic_stick_rows].reshape(*traction.shape[:-1], at.size, tangents.shape[1])
        out = np.zeros((*traction.shape[:-1], self.count, tangents.shape[2]))
        out[..., at, :] = np.einsum("...kt,kta->...ka", along, tangents[at])
        return out

    @cached_property
    def slides(self) -> NDArray[np.bool_]:
        """Points (k,) whose coefficient of friction depends on the state."""
        return np.array([law is not None and law.state_dependent for law in self.friction_laws], dtype=bool)

    @property
    def state_dependent(self) -> bool:
        """Whether the coefficient of friction of any point depends on the state."""
        return bool(self.slides.any())

    @cached_property
    def _sliding_start(self) -> int:
        """First row in the history of the points whose coefficient of friction depends on the state."""
        return int(self.rows[-1]) + int(np.count_nonzero(self.elastic_stick))

    def slip_size(self, slip: Array) -> Array:
        """Lengths (k,) of the tangential vectors of rows (r,)."""
        squares = slip**2
        squares[self.first[:-1]] = 0.0
        return np.sqrt(np.add.reduceat(squares, self.first[:-1])) if self.count else np.zeros(0)

    @property
    def friction_compiled(self) -> bool:
        """Whether all friction laws whose coefficient depends on the state are given by compiled kernels."""
        return all(
            law is None or not law.state_dependent or isinstance(law, CompiledFriction) for law in self.friction_laws
        )

    @cached_property
    def friction_kernels(self) -> tuple[Any, NDArray[np.int64], Array]:
        """The compiled kernels of the friction laws as a typed list, the index of each point's kernel (k,), −1 for a
        constant coefficient, and the constants (k, m)."""
        from arlequin.multilevel.solvers._sliding_kernels import add_friction_kernel, no_friction_kernels

        kernels = no_friction_kernels()
        index: dict[int, int] = {}
        kind = np.full(self.count, -1, dtype=np.int64)
        constants = [np.zeros(0)] * self.count
        for law, points in _groups(self.friction_laws):
            if not (law.state_dependent and isinstance(law, CompiledFriction)):
                continue
            kernel, law_constants = law.kernel(), law.coefficients()
            if id(kernel) not in index:
                index[id(kernel)] = len(index)
                add_friction_kernel(kernels, kernel)
            for k in points:
                kind[k], constants[k] = index[id(kernel)], law_constants
        table = np.zeros((self.count, max((row.size for row in constants), default=0)))
        for row, values in zip(table, constants, strict=True):
            row[: values.size] = values
        return kernels, kind, table

    @cached_property
    def sliding_rows(self) -> NDArray[np.int64]:
        """Row (k,) of the history of the points whose coefficient of friction depends on the state; −1 for others."""
        return np.where(self.slides, self._sliding_start + np.cumsum(self.slides) - 1, -1)

    @cached_property
    def creeps(self) -> NDArray[np.bool_]:
        """Points (k,) whose friction law never sticks, so that friction acts on the mean slip rate of a step."""
        return np.array([bool(getattr(law, "creeps", False)) for law in self.friction_laws], dtype=bool)

    @cached_property
    def static_friction(self) -> Array:
        """Coefficients (k,) at the threshold of stick of points that have not slipped."""
        state = _at_rest(self.count)
        return _coefficients(self.friction_laws, replace(state, stuck=np.ones(self.count, dtype=bool)))

    def sliding(self, history: Array, slip_rate: Array, flags: NDArray[np.int8] | None = None) -> SlidingState:
        """The state of sliding by the history and the slip rates (k,), m/s; flags (k,): persistence flags of the last
        step. Points stick that stuck in it or whose slip rate is 0."""
        out, rows = _at_rest(self.count), history[self._sliding_start :]
        out.slip[self.slides], out.pressure[self.slides] = rows[:, 0], rows[:, 1]
        out.variables[self.slides] = rows[:, 2:]
        stuck = slip_rate == 0.0
        return replace(
            out,
            slip_rate=slip_rate,
            stuck=stuck if flags is None else stuck | ((flags & STICKS) > 0),
        )

    @cached_property
    def steepest_fall(self) -> Array:
        """Largest fall (k,) of the coefficients with the slip rate, s/m; see `VariableFriction.steepest_fall`."""
        out = np.zeros(self.count)
        for law, points in _groups(self.friction_laws):
            if law.state_dependent and isinstance(law, VariableFriction):
                out[points] = law.steepest_fall()
        return out

    def friction_state(self, history: Array) -> Array:
        """First internal variable (k,) of the friction laws, 0 without."""
        out = np.zeros(self.count)
        out[self.slides] = history[self._sliding_start :, 2]
        return out

    def at(self, state: SlidingState) -> "PointLaws":
        """The same laws with the coefficients of friction at a state of sliding."""
        return self.with_friction(_coefficients(self.friction_laws, state))

    def with_friction(self, friction: Array) -> "PointLaws":
        """The same laws with other coefficients of friction (k,)."""
        out = copy(self)  # with cached properties, none of which depends on the coefficients
        object.__setattr__(out, "friction", friction)
        return out

    def coefficients_after(self, state: SlidingState, slip: Array, elapsed: float) -> Array:
        """Coefficients (k,) after the time elapsed, s, with the slips (k,), m, from a state at the start of a step."""
        return _coefficients(self.friction_laws, self._after(state, slip, elapsed))

    def advance_sliding(self, history: Array, state: SlidingState, slip: Array, pressure: Array, step: float) -> None:
        """Write the state after a step with the slips (k,), m, and mean pressures (k,), Pa, to a history."""
        slip = np.where(pressure > 0.0, slip, 0.0)
        end = self._after(replace(state, pressure=pressure), slip, step)
        rows = history[self._sliding_start :]
        rows[:, 0], rows[:, 1], rows[:, 2:] = (
            end.slip[self.slides],
            pressure[self.slides],
            end.variables[self.slides],
        )

    def _after(self, state: SlidingState, slip: Array, elapsed: float) -> SlidingState:
        """The state with the accumulated slip and the internal variables after the time elapsed."""
        end, variables = replace(state, slip=state.slip + slip), state.variables.copy()
        for law, points in _groups(self.friction_laws):
            if law.state_dependent:
                variables[points] = law.advance(end.of(points), slip[points], elapsed)
        return replace(end, variables=variables)

    def elastic_stick_energy(self, traction: Array) -> Any:
        """Stored energy of elastic stick, J, of spring tractions (r,) or (b, r): Σ A ‖s‖²/(2 K_T)."""
        points = self.elastic_stick_points
        flexibility = 0.5 * self.area[points] / self.tangential_stiffness[points]
        return np.vecdot(np.take(traction, self.elastic_stick_rows, axis=-1) ** 2, flexibility)

    @cached_property
    def _bilateral(self) -> dict[RegularLaw, BilateralLaw]:
        """The laws that act on both sides of the gap, each checked once: the check takes some 70 µs."""
        return {law: law for law in dict.fromkeys(chain(*self.regular)) if isinstance(law, BilateralLaw)}

    @cached_property
    def memory(self) -> list[tuple[BilateralLaw, NDArray[np.int64], Array]]:
        """The laws with an internal variable, the rows (n,) of their histories, and areas (n,)."""
        groups: dict[BilateralLaw, list[int]] = {}
        for row, law in enumerate(chain(*self.regular)):
            spring = self._bilateral.get(law)
            if spring is not None and spring.variable:
                groups.setdefault(spring, []).append(row)
        area = np.repeat(self.area, np.diff(self.rows))
        return [(law, np.array(rows), area[rows]) for law, rows in groups.items()]

    @cached_property
    def memory_rows(self) -> NDArray[np.int64]:
        """Rows (m,) of the histories of the laws with an internal variable, in their order."""
        return np.sort(np.concatenate([np.zeros(0, np.int64), *(rows for _, rows, _ in self.memory)]))

    @cached_property
    def memory_points(self) -> NDArray[np.int64]:
        """Points (m,) of the laws with an internal variable."""
        return np.asarray(np.searchsorted(self.rows, self.memory_rows, side="right") - 1)

    @cached_property
    def rows_of_memory(self) -> NDArray[np.int64]:
        """Row (m,) of the contact problem of each law with an internal variable: the normal one of its point."""
        return np.ascontiguousarray(self.first[self.memory_points])

    @cached_property
    def with_memory(self) -> NDArray[np.bool_]:
        """Points (k,) with a law that has an internal variable."""
        out = np.zeros(self.count, dtype=bool)
        out[self.memory_points] = True
        return out

    @cached_property
    def memory_slots(self) -> NDArray[np.int64]:
        """Number (m,) of each law with an internal variable among those of its point."""
        points = self.memory_points
        return np.asarray(np.arange(points.size) - np.searchsorted(points, points))

    @property
    def memories(self) -> int:
        """Largest number of internal variables of a point."""
        return int(self.memory_slots.max(initial=-1)) + 1

    @cached_property
    def without_memory(self) -> "PointLaws":
        """The laws without those that have an internal variable."""
        remembering = {law for law, *_ in self.memory}
        regular = tuple(tuple(law for law in point if law not in remembering) for point in self.regular)
        rows = np.concatenate([[0], np.cumsum([len(point) for point in regular])]).astype(np.int64)
        coefficients = np.delete(self.coefficients, self.memory_rows, axis=0)
        return replace(self, regular=regular, rows=rows, coefficients=np.ascontiguousarray(coefficients))

    def memory_slopes(self, history: Array) -> Array:
        """Derivatives (…, m) of the stored energy, J, by the internal variables of histories (…, l, h)."""
        out = np.zeros((*history.shape[:-2], self.memory_rows.size))
        for law, rows, area in self.memory:
            out[..., np.searchsorted(self.memory_rows, rows)] = area * law.stored_slope(history[..., rows, :])
        return out

    def histories_of_memory(self, variables: Array) -> Array:
        """Histories (…, l, h) with internal variables (…, m), all else 0."""
        from arlequin.multilevel.laws.signature import HISTORY

        out = np.zeros((*variables.shape[:-1], int(self.rows[-1]), HISTORY))
        out[..., self.memory_rows, 1] = variables
        return out

    @cached_property
    def bilateral(self) -> NDArray[np.bool_]:
        """Points (k,) whose laws act on both sides of the gap."""
        return np.array([any(law in self._bilateral for law in point) for point in self.regular], dtype=bool)

    def stiffness_at_rest(self) -> Array:
        """Stiffness (k,), N/m, of the laws that act on both sides, at e = 0; 0 at other points."""
        at_rest = {law: spring.at_rest() for law, spring in self._bilateral.items()}
        each = [sum(at_rest.get(law, 0.0) for law in point) for point in self.regular]
        return self.area * np.array(each, dtype=float)

    def tangents(self, history: Array, gaps: Array, width: float) -> tuple[Array, Array]:
        """Stiffness −∂p/∂g (k,), Pa/m, and damping −∂p/∂ġ (k,), Pa s/m, of the regular laws at gaps (k,) at rest.

        Means of both sides at a distance `width`, m: of a kink, and of damping that acts in loading alone, half of it,
        which loses as much in a cycle. The loss of springs with a memory is of their path: it counts as stiffness.
        """
        from arlequin.multilevel.solvers._law_path_kernels import tangents_at

        if not self.has_regular:
            return np.zeros(self.count), np.zeros(self.count)
        kernels, kind = self.kernels
        stored, lost = tangents_at(self.rows, kernels, kind, self.coefficients, history, gaps, width)
        viscous = np.array([law.damped and law not in self._bilateral for law in chain(*self.regular)])
        point = np.repeat(np.arange(self.count), np.diff(self.rows))
        stiffness, damping = np.zeros((2, self.count))
        np.add.at(stiffness, point, stored + np.where(viscous, 0.0, lost))
        np.add.at(damping, point, np.where(viscous, lost, 0.0))
        return stiffness, damping

    def memory_energy(self, history: Array) -> Any:
        """Energy stored in the internal variables, J, of histories (…, l, h)."""
        return sum((np.vecdot(law.stored(history[..., rows, :]), area) for law, rows, area in self.memory), 0.0)

    def memory_forces(self, history: Array) -> Array:
        """Forces (…, m), N, by the internal variables, in tension, of histories (…, l, h)."""
        out = np.zeros((*history.shape[:-2], self.memory_rows.size))
        for law, rows, area in self.memory:
            out[..., np.searchsorted(self.memory_rows, rows)] = area * law.internal_force(history[..., rows, :])
        return out

    def store_memory_forces(self, history: Array, forces: Array) -> None:
        """Write the internal variables with these forces (m,), N, to a history (l, h)."""
        for law, rows, area in self.memory:
            history[rows, 1] = law.internal_variable(forces[np.searchsorted(self.memory_rows, rows)] / area)

    def memory_pressure(self, history: Array) -> Array:
        """Part of the pressures (…, k), Pa, by the internal variables of histories (…, l, h)."""
        out = np.zeros((*history.shape[:-2], self.count))
        at: Any = (..., self.memory_points)
        np.subtract.at(out, at, self.memory_forces(history))
        return out / self.area

    def histories(self, history: Array, gaps: Array, step: float, theta: float) -> Array | None:
        """Histories (b, …, l, h) at the ends of steps to gaps (b, …, k) from that at the start (…, l, h); None where no
        law has a memory."""
        from arlequin.multilevel.solvers._law_path_kernels import histories_along

        if not self.memory:
            return None
        kernels, kind = self.kernels
        paths = np.ascontiguousarray(np.moveaxis(gaps, 0, -2)).reshape(-1, len(gaps), self.count)
        starts = np.ascontiguousarray(history).reshape(len(paths), *history.shape[-2:])
        each = [
            histories_along(self.rows, kernels, kind, self.coefficients, start, path, step, theta)
            for start, path in zip(starts, paths, strict=True)
        ]
        return np.stack(each, axis=1).reshape(*gaps.shape[:-1], *each[0].shape[1:])

    def stored_energy(self, gap: Array, traction: Array | None, history: Array | None = None) -> Any:
        """Stored energy of the regular laws at gaps (k,) or (b, k) and of elastic stick, J, of spring tractions (r,) or
        (b, r), None without; history (l, h) or (b, l, h): of laws with a memory, None without."""
        stored = self.energy(gap) + (0.0 if traction is None else self.elastic_stick_energy(traction))
        return stored if history is None else stored + self.memory_energy(history)

    def energy(self, gap: Array) -> Any:
        """Stored energy of the regular laws, J, at gaps (k,) or (b, k): Σ_k area_k Σ_laws E(g_k)."""
        return np.vecdot(self._sum(gap, lambda law, g: law.energy(g)), self.area)

    def pressure(self, gap: Array) -> Array:
        """Stored pressure (k,) at the gaps, Pa."""
        return self._sum(gap, lambda law, g: law.pressure(g))

    def stiffness_bound(self) -> Array:
        """Largest tangent of the stored pressure force (k,), N/m."""
        return self.area * np.array([sum(law.stiffness_bound() for law in point) for point in self.regular])

    def _sum(self, gap: Array, evaluate: Any) -> Array:
        # points of one interface share their laws: one vectorised call per group
        total = np.zeros(gap.shape)
        for laws, points in self._groups:
            for law in laws:
                total[..., points] += evaluate(law, np.take(gap, points, axis=-1))
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
        """The distinct compiled kernels as a typed list, and the index of the kernel of each row."""
        from numba.core.errors import NumbaError

        from arlequin.multilevel.solvers._list_kernels import add_kernel, no_kernels

        kernels = no_kernels()
        index: dict[int, int] = {}
        kind = []
        for law in (law for point in self.regular for law in point):
            kernel = law.kernel()
            if id(kernel) not in index:
                index[id(kernel)] = len(index)
                try:
                    add_kernel(kernels, kernel)
                except (TypeError, NumbaError):
                    raise UserTypeError.parameter(
                        f"kernel() of the law {type(law).__name__}", kernel, "must be compiled with @njit(REGULAR), "
                        "REGULAR from arlequin.multilevel.laws.signature"
                    ) from None  # fmt: skip
            kind.append(index[id(kernel)])
        return kernels, np.array(kind, dtype=np.int64)


def _constants(law: RegularLaw) -> Array:
    """Constants (m,) of a law; UserError where they are not numbers."""
    return finite_array(f"coefficients() of the law {type(law).__name__}", law.coefficients(), (None,))


def _restitution(law: SetValuedLaw) -> float:
    e = within("restitution", law.restitution, 0.0, 1.0)
    if e > 0.0 and law.level == "gap":
        raise UserError.parameter("restitution", e, 'must be 0 at level "gap"')
    return e


def _at_rest(count: int) -> SlidingState:
    """The state of points that have neither slipped nor been in contact."""
    return SlidingState(np.zeros(count), np.zeros(count), np.zeros(count), np.zeros((count, VARIABLES)))


def _groups(laws: tuple[FrictionLaw | None, ...]) -> list[tuple[FrictionLaw, NDArray[np.int64]]]:
    """Friction laws and their points: one vectorised call for each law."""
    groups: dict[int, tuple[FrictionLaw, list[int]]] = {}
    for k, law in enumerate(laws):
        if law is not None:
            groups.setdefault(id(law), (law, []))[1].append(k)
    return [(law, np.array(points)) for law, points in groups.values()]


def _coefficients(laws: tuple[FrictionLaw | None, ...], state: SlidingState) -> Array:
    """Coefficients of friction (k,) at a state; UserError where a law returns invalid ones."""
    out = np.zeros(len(laws))
    for law, points in _groups(laws):
        returned, rule = law.mu(state.of(points)), f"must return finite coefficients ≥ 0 of shape ({points.size},)"
        try:
            mu = np.asarray(returned, dtype=float)
        except (TypeError, ValueError):
            raise UserTypeError.parameter(f"mu() of the law {type(law).__name__}", returned, rule) from None
        if mu.shape != (points.size,) or not (np.isfinite(mu) & (mu >= 0.0)).all():
            raise UserError.parameter(f"mu() of the law {type(law).__name__}", returned, rule)
        out[points] = mu
    return out


def _spans(starts: NDArray[np.int64], points: NDArray[np.int64]) -> NDArray[np.int64]:
    """The ranges starts[k] … starts[k + 1] of the points, concatenated."""
    if points.size == starts.size - 1:
        return np.arange(starts[-1])
    sizes = np.diff(starts)[points]
    before = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return np.repeat(starts[points] - before, sizes) + np.arange(sizes.sum())
