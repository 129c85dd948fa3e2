"""Quantities of a run whose derivatives by its motion are known: what adjoints start from."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import xarray

from arlequin.linalg.products import applied
from arlequin.models.checks import finite_array, non_negative_integer, one_of
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call, meant
from arlequin.models.types import Array, Indices
from arlequin.sensitivity.linear_steps import LinearSteps, TangentBlock
from arlequin.sensitivity.models_at import ModelDerivative
from arlequin.system.assembly import Assembly

ENERGIES = ("kinetic", "strain", "external_work", "friction", "impact", "damping")
CONTACT = ("impulse", "wear_power", "worn_volume")
FIELDS = ("displacement", "velocity")
_CUMULATIVE = ("external_work", "friction", "impact", "damping")
_POINTWISE = {"friction": "friction", "impact": "impact", "impulse": "impulse", "wear_power": "wear_power"}


@checked_call
@dataclass(frozen=True)
class Response:
    """A number of a run: a series reduced over the steps, or its misfit to a record.

    path: "energy/friction" and the like (kinetic, strain, external_work, friction, impact, damping), J;
    "interface/NAME/impulse", N·s, the normal one, "…/wear_power", W, "…/worn_volume", m³; "part/NAME/displacement", m,
    or "…/velocity", m/s, of a node and a component ("x", "y", …), on the recorded frames.
    reduce: "final", the value at the end; "mean", over all steps or frames but the start; "sum". data: a record of the
    same length, without the start: the quantity is then ½ mean (s − data)²/deviation².

    A `Response` is a function of the result, as any quantity of `gradient`; those of responses alone can be found by
    the adjoint, whose cost does not grow with the number of parameters.

    >>> import arlequin as aq
    >>> aq.Response("energy/friction", "final")
    Response(path='energy/friction', reduce='final', node=0, component=None, data=None, deviation=1.0)
    """

    path: str
    reduce: Literal["final", "mean", "sum"] = "mean"
    node: int = 0
    component: str | None = None
    data: Any = None
    deviation: float = 1.0

    def __post_init__(self) -> None:
        one_of("reduce", self.reduce, ("final", "mean", "sum"))
        non_negative_integer("node", self.node)
        names = self.path.split("/")
        known = (
            (len(names) == 2 and names[0] == "energy" and names[1] in ENERGIES)
            or (len(names) == 3 and names[0] == "interface" and names[2] in CONTACT)
            or (len(names) == 3 and names[0] == "part" and names[2] in FIELDS)
        )
        if not known:
            own = [*(f"energy/{kind}" for kind in ENERGIES), "interface/NAME/wear_power", "part/NAME/displacement"]
            raise UserError.parameter("path", self.path, f"is no response{meant(self.path, own)}: see Response")
        if names[0] == "part" and self.component is None:
            raise UserError("component: is needed for a field of a part, as component='x'")
        if self.data is not None:
            object.__setattr__(self, "data", finite_array("data", self.data))
            if self.cumulative:
                raise UserError(f"data: a misfit is of fields, powers and energies of a state, not of {self.path}")

    @property
    def kind(self) -> str:
        """The variable: last name of the path."""
        return self.path.split("/")[-1]

    @property
    def cumulative(self) -> bool:
        """Whether the series adds up from step to step."""
        return self.kind in _CUMULATIVE

    @property
    def on_frames(self) -> bool:
        """Whether the series is of recorded frames."""
        return self.kind in FIELDS

    def __call__(self, result: xarray.DataTree) -> float:
        """The value in a result."""
        return self.reduced(self.series(result))

    def series(self, result: xarray.DataTree) -> Array:
        """The series in a result, without the start."""
        names = self.path.split("/")
        try:
            found: Any = result["energy"].sel(kind=self.kind) if names[0] == "energy" else result[self.path]
        except KeyError:
            kinds = [str(kind) for kind in result.dataset["kind"].values]
            group = result.children.get(names[0])
            known = kinds if group is None else list(group.children)
            raise UserError(f"{self.path}: the result has no such variable{meant(names[1], known)}") from None
        if self.on_frames:
            found = found.isel(node=self.node).sel(component=self.component)
        return np.asarray(found.values[1:], dtype=float)

    def reduced(self, series: Array) -> float:
        """The number that a series is reduced to."""
        if self.data is not None:
            return float(0.5 * np.mean(((series - self.record(series.size)) / self.deviation) ** 2))
        return float(series[-1] if self.reduce == "final" else series.mean() if self.reduce == "mean" else series.sum())

    def record(self, count: int) -> Array:
        """The data (count,)."""
        data = np.atleast_1d(np.asarray(self.data, dtype=float))
        if data.shape != (count,):
            rule = f"must have the length of the series without its start, {count}"
            raise UserError.parameter("data", f"an array of shape {data.shape}", rule)
        return data


@dataclass(frozen=True, eq=False)
class Sources:
    """Derivatives of a number by the motion of b steps: u, v (b + 1, d), P (b, r), springs (b + 1, r), depth (b, r)
    after each step; u and v of the rows, depth and opening at the start of each step (b, r)."""

    u: Array
    v: Array
    impulse: Array
    springs: Array
    depth: Array
    rows_u: Array
    rows_v: Array
    depth_before: Array
    opening_before: Array

    @classmethod
    def zeros(cls, steps: int, dofs: int, rows: int) -> "Sources":
        """None."""
        ends, own = (np.zeros((steps + 1, n)) for n in (dofs, rows))
        return cls(ends, ends.copy(), np.zeros((steps, rows)), own, *(np.zeros((steps, rows)) for _ in range(5)))


@dataclass(frozen=True, eq=False)
class SeriesWeights:
    """Derivatives of a response by the values of its series, of cumulative ones by what each step adds.

    steps: of the run; every: steps between two frames.
    """

    response: Response
    steps: int
    every: int

    def shown(self, numbers: Indices) -> Array:
        """Mask (b,) of the steps n (b,) whose values are in the series."""
        if not self.response.on_frames:
            return np.ones(numbers.size, dtype=bool)
        return np.asarray((numbers % self.every == 0) | (numbers == self.steps))

    def of(self, numbers: Indices, values: Array) -> Array:
        """Weights (b,) of the steps n (b,), with their values."""
        response, shown = self.response, self.shown(numbers)
        count = int(np.count_nonzero(self.shown(np.arange(1, self.steps + 1))))
        if response.data is not None:
            place = numbers - 1 if not response.on_frames else -(-numbers // self.every) - 1
            data = response.record(count)[place]
            return np.where(shown, (values - data) / (response.deviation**2 * count), 0.0)
        left = self.steps - numbers + 1.0  # values of a cumulative series that contain a step
        if response.reduce == "final":
            return np.where(response.cumulative | (numbers == self.steps), 1.0, 0.0)
        scale = count if response.reduce == "mean" else 1.0
        return np.where(shown, (left if response.cumulative else 1.0) / scale, 0.0)

    def value(self, values: Array) -> float:
        """The response by the values of all steps (n,)."""
        shown = values[self.shown(np.arange(1, self.steps + 1))]
        return self.response.reduced(np.cumsum(shown) if self.response.cumulative else shown)


class BlockResponse:
    """What a response is in the steps of a block: its series, derivatives by the motion and by parameters."""

    def __init__(self, response: Response, linear: LinearSteps) -> None:
        self.response, self.linear = response, linear
        self.assembly: Assembly = linear.equations.model.assembly

    @property
    def _points(self) -> slice:
        names = [item.name for item in self.assembly.contact.interfaces]
        name = self.response.path.split("/")[1]
        if name not in names:
            raise UserError(f"{self.response.path}: there is no interface {name!r}{meant(name, names)}")
        i = names.index(name)
        return slice(*self.assembly.contact.start[i : i + 2])

    def values(self) -> Array:
        """The series (b,): values at the ends of the steps, of cumulative ones what each step adds."""
        kind, block = self.response.kind, self.linear.block
        if kind in FIELDS:
            return (block.u if kind == "displacement" else block.v)[1:] @ field_row(self.response, self.assembly)
        if kind == "kinetic":
            return 0.5 * np.vecdot(block.v[1:], applied(self.assembly.mass, block.v[1:]))
        if kind == "strain":
            return 0.5 * np.vecdot(block.u[1:], applied(self.assembly.stiffness, block.u[1:]))
        if kind == "damping":
            return np.vecdot(np.diff(block.u, axis=0), self._drag())
        if kind == "external_work":
            return np.vecdot(np.diff(block.u, axis=0), self._mean_loads())
        if kind == "worn_volume":
            at = self._points
            worn = self.linear.contact.evaluate(self.linear.motion, self.linear.statuses).worn
            return (block.depth + worn)[:, at] @ self.linear.contact.data.area[at]
        work = self.linear.contact.works(self.linear.motion, self.linear.statuses)[_POINTWISE[kind]]
        return (work[:, self._points] if kind in CONTACT else work).sum(axis=1)

    def _mean_loads(self) -> Array:
        """Mean loads of the steps (b, d), N; UserError where imposed motions work, too."""
        block, equations = self.linear.block, self.linear.equations
        if self.assembly.imposed_dofs.size and np.diff(block.u[:, self.assembly.imposed_dofs], axis=0).any():
            raise UserError(
                f"{self.response.path}: the work of imposed motions is no response: take method='tangent' and "
                "lambda result: result['energy'].sel(kind='external_work')[-1] or the like"
            )
        return equations.mean_loads(block, equations.model.loads(block.n, len(block)))

    def _drag(self) -> Array:
        """D (u₁ − u₀)/Δt (b, d), N."""
        way, damping = np.diff(self.linear.block.u, axis=0), self.assembly.damping
        return np.zeros_like(way) if damping is None else applied(damping, way) / self.linear.equations.step

    def sources(self, weights: Array) -> Sources:
        """Σ weights · derivatives of the series by the motion."""
        kind, block, assembly = self.response.kind, self.linear.block, self.assembly
        out = Sources.zeros(len(block), assembly.dof_count, assembly.laws.row_count)
        scaled = weights[:, None]
        if kind in FIELDS:
            (out.u if kind == "displacement" else out.v)[1:] += scaled * field_row(self.response, self.assembly)
        elif kind == "kinetic":
            out.v[1:] += scaled * applied(assembly.mass, block.v[1:])
        elif kind == "strain":
            out.u[1:] += scaled * applied(assembly.stiffness, block.u[1:])
        elif kind in ("damping", "external_work"):
            force = scaled * (2.0 * self._drag() if kind == "damping" else self._mean_loads())
            out.u[1:] += force
            out.u[:-1] -= force
        elif kind == "worn_volume":
            at = self._points
            first = assembly.laws.first[:-1]
            out.depth[:, first[at]] += scaled * self.linear.contact.data.area[at]
        else:
            self._pointwise(kind, weights, out)
        return out

    def _pointwise(self, kind: str, weights: Array, out: Sources) -> None:
        """Derivatives of the works of the points."""
        linear, laws = self.linear, self.assembly.laws
        each = linear.contact.works_by(_POINTWISE[kind], linear.motion, linear.statuses)
        mask = np.zeros(laws.count)
        mask[self._points if kind in CONTACT else slice(None)] = 1.0
        scaled = weights[:, None] * mask
        at, basis = linear.contact.rows, self.assembly.contact.basis

        def rows(first: int) -> Array:
            found = np.zeros((len(weights), laws.row_count))
            for a in range(3):
                has = at[:, a] >= 0
                found[:, at[has, a]] = (scaled * each[first + a])[:, has]
            return found

        out.impulse[:] += rows(0)
        transposed = sp.csr_array(basis.T)
        out.u[1:] += applied(transposed, rows(3))
        out.v[1:] += applied(transposed, rows(6))
        out.rows_u[:] += rows(9)
        out.rows_v[:] += rows(12)
        out.springs[:-1] += rows(15)
        normal = laws.first[:-1]
        out.depth_before[:, normal] += scaled * each[18]
        out.opening_before[:, normal] += scaled * each[19]

    def by_motion(self, sources: Sources, moved: TangentBlock, i: int) -> float:
        """The derivative by the parameter i of the motion."""
        basis = self.assembly.contact.basis
        u, v, springs = (own[..., i] for own in (moved.u, moved.v, moved.springs))
        pairs = (
            (sources.u, u), (sources.v, v), (sources.impulse, moved.impulse[..., i]), (sources.springs, springs),
            (sources.depth, moved.depth[1:, :, i]), (sources.depth_before, moved.depth[:-1, :, i]),
            (sources.opening_before, moved.opening[:-1, :, i]), (sources.rows_u, applied(basis, u[:-1])),
            (sources.rows_v, applied(basis, v[:-1])),
        )  # fmt: skip
        return float(sum(np.vdot(a, b) for a, b in pairs))

    def by_parameter(self, weights: Array, derivative: ModelDerivative) -> float:
        """Σ weights · derivatives of the series by a parameter at the same motion."""
        kind, block, equations = self.response.kind, self.linear.block, self.linear.equations
        if kind in FIELDS:
            rows = derivative.combined(lambda model: model.smooth(field_row(self.response, model.assembly)))
            field = (block.u if kind == "displacement" else block.v)[1:]
            return float(weights @ (field @ rows))
        way = np.diff(block.u, axis=0)
        if kind in ("kinetic", "strain", "damping"):
            name = {"kinetic": "mass", "strain": "stiffness", "damping": "damping"}[kind]
            matrix = derivative.matrix(name)
            if matrix is None:
                return 0.0
            field, factor = {
                "kinetic": (block.v[1:], 0.5), "strain": (block.u[1:], 0.5), "damping": (way, 1.0 / equations.step)
            }[kind]  # fmt: skip
            return float(factor * weights @ np.vecdot(field, applied(matrix, field)))
        if kind == "external_work":
            loads = derivative.loads(block.n, len(block))
            if loads is None:
                return 0.0
            if equations.form.alpha_m or equations.form.alpha_f:
                raise UserError(
                    f"{self.response.path}: loads that depend on a parameter have no such response with a scheme of "
                    "α_m ≠ 0 or α_f ≠ 0: take lambda result: result['energy'].sel(kind='external_work')[-1] or the like"
                )
            return float(weights @ np.vecdot(way, equations.form.mean(loads)))
        if not derivative.changes_contact:
            return 0.0
        constants, rows = self.linear.changes_by(derivative)
        if kind == "worn_volume":
            at = self._points
            worn = self.linear.contact.evaluate(self.linear.motion, self.linear.statuses).worn
            return float(weights @ ((block.depth + worn)[:, at] @ constants.area[at]))
        changes = self.linear.contact.works_along(self.linear.motion, constants, rows, self.linear.statuses)[
            _POINTWISE[kind]
        ]
        return float(weights @ (changes[:, self._points] if kind in CONTACT else changes).sum(axis=1))


def field_row(response: Response, assembly: Assembly) -> Array:
    """The row (d,) whose product with the coordinates is the component of the field at the node."""
    name = response.path.split("/")[1]
    names = assembly.system.names
    if name not in names:
        raise UserError(f"{response.path}: there is no part {name!r}{meant(name, names)}")
    i = names.index(name)
    at, part, own = assembly.places[i], assembly.system.parts[i], assembly.parts[i]
    axes = ("x", "y", "z")[: part.positions.shape[1]]
    assert response.component is not None
    if response.component not in axes:
        raise UserError.parameter("component", response.component, f"must be one of {', '.join(axes)}")
    if response.node >= part.node_count:
        raise UserError.parameter("node", response.node, f"must be less than {part.node_count}")
    row = sp.csr_array(own.shapes)[response.node * part.components + axes.index(response.component)]
    out = np.zeros(assembly.dof_count)
    out[at] = np.asarray(row.todense()).ravel()
    return out
