"""Responses: quantities of a run with derivatives by its motion, from which adjoints start."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import xarray

from arlequin.linalg.products import applied
from arlequin.models.checks import finite_array, instance, non_negative_integer, one_of, positive
from arlequin.models.errors import UserError, short_repr
from arlequin.models.signatures import checked_call, meant
from arlequin.models.types import Array, Indices
from arlequin.results.history import AXES, TURNS
from arlequin.sensitivity import point_works
from arlequin.sensitivity.event import Event
from arlequin.sensitivity.linear_steps import LinearSteps, TangentBlock
from arlequin.sensitivity.models_at import ModelDerivative
from arlequin.sensitivity.point_works import PointQuantity
from arlequin.sensitivity.response_series import (
    ExternalWorkSeries,
    LawEnergySeries,
    LinearSeries,
    PointSeries,
    QuadraticSeries,
    ReactionSeries,
    Series,
    Sources,
)
from arlequin.system.assembly import Assembly


@dataclass(frozen=True)
class Kind:
    """A variable of a result: how its series follows from solved steps. cumulative: whether it is a sum over the steps;
    on_frames: whether it is defined on recorded frames; needs_component: whether it is a vector; in_statics: whether
    this is its series in statics, too, where works are trapezoidal and nothing has a velocity; of_ends: whether it
    needs velocities or forces at the ends of steps, which central differences have half a step before."""

    series: Callable[["Response", LinearSteps], Series]
    cumulative: bool = False
    on_frames: bool = False
    needs_component: bool = False
    in_statics: bool = False
    of_ends: bool = False


@checked_call
@dataclass(frozen=True)
class Response:
    """A number of a run: a series reduced over the steps, or its misfit to a record.

    path: of a variable of the result, of the energies "energy/friction" and the like (all kinds but junction and
    scheme). Where the variable has more dimensions: `node` of a part, `point` of an interface, `support` of a part
    with imposed motions, and `component`, "x", "y", … or, of turns and moments, "rx", … Variables over frames are taken
    on the recorded frames. `arlequin.sensitivity.responses.KINDS` lists them all, the how-to explains them.
    reduce: "final", the value at the end; "mean", over all steps or frames but the start; "sum". data: a record of the
    same length, without the start: the quantity is then ½ mean (s − data)²/deviation². The sum adds values without the
    length of the steps: of a power, W, the step times the sum is the work, J.

    A `Response` is a function of the result, as any quantity of `gradient`; those of responses alone can be found by
    the adjoint, whose cost does not grow with the number of parameters.

    >>> import arlequin as aq
    >>> aq.Response("energy/friction", "final")
    Response(path='energy/friction', reduce='final')
    """

    path: str
    reduce: Literal["final", "mean", "sum"] = "mean"
    node: int = 0
    component: str | None = None
    data: Any = None
    deviation: float = 1.0
    point: int = 0
    support: str | None = None

    __repr__ = short_repr

    def __post_init__(self) -> None:
        instance("path", self.path, str, "must be the path of a variable, as 'energy/friction'")
        one_of("reduce", self.reduce, ("final", "mean", "sum"))
        non_negative_integer("node", self.node)
        non_negative_integer("point", self.point)
        positive("deviation", self.deviation)
        names = self.path.split("/")
        if len(names) != (2 if names[0] == "energy" else 3) or (names[0], names[-1]) not in KINDS:
            middle = names[1] if len(names) == 3 else "NAME"
            paths = [f"{root}/{kind}" if root == "energy" else f"{root}/{middle}/{kind}" for root, kind in KINDS]
            raise UserError.parameter("path", self.path, f"is no response{meant(self.path, paths)}: see Response")
        if self.kind.needs_component and self.component is None:
            raise UserError(f"component: is needed for {self.path}, as component='x'")
        if self.data is not None:
            object.__setattr__(self, "data", finite_array("data", self.data))
            if self.kind.cumulative:
                raise UserError(f"data: a misfit is of what does not add up over the steps, not of {self.path}")

    @property
    def kind(self) -> Kind:
        """Kind of the variable, from which its series follows."""
        names = self.path.split("/")
        return KINDS[names[0], names[-1]]

    @property
    def name(self) -> str:
        """Name of the part, interface or spring; of energies the kind."""
        return self.path.split("/")[1]

    def __call__(self, result: xarray.DataTree) -> float:
        """The value in a result."""
        return self.reduced(self.series(result))

    def series(self, result: xarray.DataTree) -> Array:
        """The series in a result, without the start."""
        names = self.path.split("/")
        try:
            series: Any = result["energy"].sel(kind=self.name) if names[0] == "energy" else result[self.path]
        except KeyError:
            kinds = [str(kind) for kind in result.dataset["kind"].values]
            group: Any = result.children.get(names[0])
            known = kinds if group is None else list(group.children)
            name = names[1]
            if group is not None and name in known:  # the part exists, but has no such variable
                name, known = names[2], [str(key) for key in group[name].data_vars]
            raise UserError(f"{self.path}: the result has no such variable{meant(name, known)}") from None
        for dim, number in (("node", self.node), ("point", self.point)):
            if dim in series.dims:
                if not number < series.sizes[dim]:
                    raise UserError.parameter(dim, number, f"must be less than {series.sizes[dim]}")
                series = series.isel({dim: number})
        for dim, option in (("support", "support"), ("component", "component"), ("turn", "component")):
            if dim in series.dims:
                key = getattr(self, option)
                known = [str(label) for label in series[dim].values]
                if key is None and len(known) == 1:
                    key = known[0]
                one_of(option, key, known)
                series = series.sel({dim: key})
        return np.asarray(series.values[1:], dtype=float)

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
class SeriesWeights:
    """Derivatives of a response by the values of its series, of cumulative ones by the increments.

    steps: of the run; every: steps between two frames.
    """

    response: Response
    steps: int
    every: int

    def shown(self, numbers: Indices) -> Array:
        """Mask (b,) of the steps n (b,) whose values are in the series."""
        if not self.response.kind.on_frames:
            return np.ones(numbers.size, dtype=bool)
        return np.asarray((numbers % self.every == 0) | (numbers == self.steps))

    @cached_property
    def _remaining(self) -> Array:
        """Number of values of the series from step n on, by n − 1."""
        shown = self.shown(np.arange(1, self.steps + 1))
        return np.cumsum(shown[::-1])[::-1]

    def of(self, numbers: Indices, values: Array) -> Array:
        """Weights (b,) of the steps n (b,), with their values."""
        response, cumulative, shown = self.response, self.response.kind.cumulative, self.shown(numbers)
        count = int(self._remaining[0])
        if response.data is not None:
            data = response.record(count)[count - self._remaining[numbers - 1]]
            return np.where(shown, (values - data) / (response.deviation**2 * count), 0.0)
        if response.reduce == "final":
            return np.where(cumulative | (numbers == self.steps), 1.0, 0.0)
        scale = count if response.reduce == "mean" else 1.0
        # a cumulative series contains a step in all its values from then on
        return (self._remaining[numbers - 1] if cumulative else shown) / scale

    def value(self, values: Array) -> float:
        """The response by the values of all steps (n,)."""
        series = np.cumsum(values) if self.response.kind.cumulative else values
        return self.response.reduced(series[self.shown(np.arange(1, self.steps + 1))])


class BlockResponse:
    """A response in the steps of a block: its series, with derivatives by the motion and by parameters."""

    def __init__(self, response: Response, linear: LinearSteps) -> None:
        if linear.equations.form.static and not response.kind.in_statics:
            raise UserError(f"{response.path} has no Response in statics: take a function of the result")
        if linear.equations.form.staggered and response.kind.of_ends:
            raise UserError(f"{response.path} has no Response in central differences: take a function of the result")
        self.response, self.linear = response, linear
        self._series = response.kind.series(response, linear)

    def values(self) -> Array:
        """The series (b,): values at the ends of the steps, of cumulative ones the increments."""
        return self._series.values()

    def sources(self, weights: Array) -> Sources:
        """Σ weights · derivatives of the series by the motion."""
        assembly = self.linear.equations.model.assembly
        sizes = assembly.dof_count, assembly.laws.row_count, self.linear.springs.shape[1]
        out = Sources.zeros(len(self.linear.block), *sizes)
        self._series.add_sources(weights, out)
        return out

    def by_motion(self, sources: Sources, tangents: TangentBlock, i: int) -> float:
        """The derivative by the parameter i, by its derivatives of the motion."""
        basis = self.linear.equations.model.assembly.contact.basis
        u, v, springs = (field[..., i] for field in (tangents.u, tangents.v, tangents.springs))
        pairs = (
            (sources.u, u), (sources.v, v), (sources.impulse, tangents.impulse[..., i]), (sources.springs, springs),
            (sources.depth, tangents.depth[1:, :, i]), (sources.depth_before, tangents.depth[:-1, :, i]),
            (sources.opening_before, tangents.opening[:-1, :, i]), (sources.rows_u, applied(basis, u[:-1])),
            (sources.rows_v, applied(basis, v[:-1])),
        )  # fmt: skip
        return float(sum(np.vdot(a, b) for a, b in pairs))

    def by_parameter(self, weights: Array, derivative: ModelDerivative) -> float:
        """Σ weights · derivatives of the series by a parameter at the same motion."""
        return self._series.by_parameter(weights, derivative)


def _points(assembly: Assembly, response: Response) -> tuple[int, slice]:
    """Number of the interface of a response, and its points."""
    i = [item.name for item in assembly.contact.interfaces].index(response.name)
    return i, slice(*assembly.contact.start[i : i + 2])


def _chosen(assembly: Assembly, response: Response, single: bool) -> Array:
    """1 at the points (k,) of the interface of a response, or at its point alone."""
    _, at = _points(assembly, response)
    out = np.zeros(assembly.laws.count)
    out[at.start + response.point if single else at] = 1.0
    return out


def _part(assembly: Assembly, response: Response) -> tuple[int, tuple[str, ...]]:
    """Number of the part of a response, and the names of its components."""
    i = assembly.system.names.index(response.name)
    part = assembly.system.parts[i]
    axes = min(part.components, part.positions.shape[1])
    return i, (*AXES[:axes], *TURNS[axes - part.components :])[: part.components]


def _field(side: str, response: Response, linear: LinearSteps) -> Series:
    """A component of the displacement ("u") or velocity ("v") of a node."""

    def rows(assembly: Assembly) -> dict[str, Array]:
        i, names = _part(assembly, response)
        place = response.node * len(names) + names.index(str(response.component))
        row = sp.csr_array(assembly.parts[i].shapes)[place]
        out = np.zeros(assembly.dof_count)
        out[assembly.places[i]] = np.asarray(row.todense()).ravel()
        return {side: out}

    return LinearSeries(linear, rows)


def _momentum(response: Response, linear: LinearSteps) -> Series:
    """1ᵀM S v of a component."""

    def rows(assembly: Assembly) -> dict[str, Array]:
        i, names = _part(assembly, response)
        part, assembled = assembly.system.parts[i], assembly.parts[i]
        ones = np.arange(part.dof_count) % part.components == names.index(str(response.component))
        out = np.zeros(assembly.dof_count)
        out[assembly.places[i]] = assembled.uniform_inertia(ones.astype(float)[:, None])[:, 0]
        return {"v": out}

    return LinearSeries(linear, rows)


def _reaction(response: Response, linear: LinearSteps) -> Series:
    """Force or moment of a support."""

    def chosen(assembly: Assembly) -> Array:
        number, names = _part(assembly, response)
        out = []
        for i, part in enumerate(assembly.parts):
            boundaries = {item.support[0] for item in part.imposed if item.support is not None}
            single = next(iter(boundaries), None) if len(boundaries) < 2 else None
            support = single if response.support is None else response.support
            for item in part.imposed:
                is_component = i == number and item.support == (support, names.index(str(response.component)))
                out.append(np.full(item.dofs.size, float(is_component)))
        return np.concatenate(out)

    return ReactionSeries(linear, chosen)


def _spring(elongation: bool, response: Response, linear: LinearSteps) -> Series:
    """A component of the mean elongation of a spring, or of its force on the first end, −k e − c ė."""

    def rows(assembly: Assembly) -> dict[str, Array]:
        i = [spring.name for spring in assembly.system.springs].index(response.name)
        spring, links = assembly.system.springs[i], assembly.links
        if not elongation and any(law is not None for law in spring.laws):
            raise UserError(
                f"Response of the force of spring '{spring.name}': it has a law; take its elongation as Response, or a "
                "function of the result"
            )
        at, axis = slice(*links.span[i : i + 2]), AXES.index(str(response.component))
        direction = np.tile(spring.frame[:, axis], len(spring.shares))
        rows_of_spring = sp.csr_array(links.rows[at])
        if elongation:
            return {"u": rows_of_spring.T @ (direction * np.repeat(spring.shares, len(spring.frame)))}
        return {
            "u": rows_of_spring.T @ (-direction * links.stiffness[at]),
            "v": rows_of_spring.T @ (-direction * links.damping[at]),
        }

    return LinearSeries(linear, rows)


def _impulses(which: str, response: Response, linear: LinearSteps) -> Series:
    """Normal impulse of an interface, a component of its force, or pressure, force or traction of a point."""
    step = linear.equations.step

    def rows(assembly: Assembly) -> dict[str, Array]:
        contact, laws, out = assembly.contact, assembly.laws, np.zeros(assembly.laws.row_count)
        i, at = _points(assembly, response)
        point = at.start + response.point
        normal, axis = laws.first[point], 0 if response.component is None else AXES.index(response.component)
        if which == "impulse":
            out[laws.first[at]] = 1.0
        elif which == "force":
            out[slice(*contact.span[i : i + 2])] = contact.resultant(i)[axis] / step
        elif which == "traction":
            along = contact.kinematics(np.zeros(contact.basis.shape[0])).tangents[point, :, axis]
            out[normal + 1 : laws.first[point + 1]] = along / (step * laws.area[point])
        else:
            out[normal] = 1.0 / (step * (laws.area[point] if which == "pressure" else 1.0))
        return {"impulse": out}

    return LinearSeries(linear, rows)


def _point_displacement(response: Response, linear: LinearSteps) -> Series:
    """A component of the displacement of a contact point that is a node."""

    def rows(assembly: Assembly) -> dict[str, Array]:
        i, _ = _points(assembly, response)
        slave = assembly.contact.sides[i][0]
        nodes, axes = assembly.contact.interfaces[i].slave.positions.shape
        row = slave.rows[[response.point % nodes * axes + AXES.index(str(response.component))]]
        return {"u": np.asarray(row.todense()).ravel()}

    return LinearSeries(linear, rows)


def _pointwise(
    quantity: PointQuantity, response: Response, linear: LinearSteps, *, single: bool = False, least: bool = False
) -> Series:
    """A quantity of the points of an interface: their sum, the smallest one, or that of one point."""
    return PointSeries(linear, quantity, lambda assembly: _chosen(assembly, response, single), least)


def _loss(quantity: PointQuantity, response: Response, linear: LinearSteps) -> Series:
    """The sum over the points of all interfaces."""
    return PointSeries(linear, quantity, lambda assembly: np.ones(assembly.laws.count))


def _worn_mass(response: Response, linear: LinearSteps) -> Series:
    """The worn volume times the density of the wear law."""

    def shares(assembly: Assembly) -> Array:
        i, _ = _points(assembly, response)
        wear = assembly.contact.interfaces[i].wear
        density = 0.0 if wear is None or wear.density is None else wear.density
        return density * _chosen(assembly, response, False)

    return PointSeries(linear, point_works.worn_volume, shares)


def _quadratic(matrix: str, of: str, response: Response, linear: LinearSteps) -> Series:
    """½ v·M v, ½ u·K u, or the loss Δt w·D w of w = (u₁ − u₀)/Δt."""
    return QuadraticSeries(linear, matrix, of, linear.equations.step if of == "flow" else 0.5)


def _of_motion(series: Callable[[LinearSteps], Series], response: Response, linear: LinearSteps) -> Series:
    """A series without options."""
    return series(linear)


_W = point_works
KINDS: dict[tuple[str, str], Kind] = {
    ("energy", "kinetic"): Kind(partial(_quadratic, "mass", "v"), of_ends=True),
    ("energy", "strain"): Kind(partial(_quadratic, "stiffness", "u"), in_statics=True),
    ("energy", "asperity"): Kind(partial(_of_motion, LawEnergySeries), in_statics=True),
    ("energy", "external_work"): Kind(partial(_of_motion, ExternalWorkSeries), cumulative=True),
    ("energy", "friction"): Kind(partial(_loss, _W.friction_loss), cumulative=True),
    ("energy", "wear"): Kind(partial(_loss, _W.removed_energy), cumulative=True, of_ends=True),
    ("energy", "asperity_damping"): Kind(partial(_loss, _W.layer_loss), cumulative=True),
    ("energy", "damping"): Kind(partial(_quadratic, "damping", "flow"), cumulative=True),
    ("energy", "impact"): Kind(partial(_loss, _W.impact_loss), cumulative=True),
    ("energy", "absorbed"): Kind(partial(_quadratic, "absorber", "flow"), cumulative=True),
    ("interface", "force"): Kind(partial(_impulses, "force"), needs_component=True, in_statics=True),
    ("interface", "impulse"): Kind(partial(_impulses, "impulse")),
    ("interface", "gap_min"): Kind(partial(_pointwise, _W.gap, least=True), in_statics=True),
    ("interface", "gap"): Kind(partial(_pointwise, _W.gap, single=True), on_frames=True, in_statics=True),
    ("interface", "pressure"): Kind(partial(_impulses, "pressure"), on_frames=True, in_statics=True),
    ("interface", "traction"): Kind(
        partial(_impulses, "traction"), on_frames=True, needs_component=True, in_statics=True
    ),
    ("interface", "wear_power"): Kind(partial(_pointwise, _W.wear_power)),
    ("interface", "friction_power"): Kind(partial(_pointwise, _W.friction_power)),
    ("interface", "slip"): Kind(
        partial(_pointwise, _W.slip, single=True), cumulative=True, on_frames=True, in_statics=True
    ),
    ("interface", "wear_work"): Kind(partial(_pointwise, _W.wear_work, single=True), cumulative=True, on_frames=True),
    ("interface", "worn_volume"): Kind(partial(_pointwise, _W.worn_volume), in_statics=True),
    ("interface", "worn_mass"): Kind(_worn_mass, in_statics=True),
    ("interface", "worn_depth"): Kind(partial(_pointwise, _W.worn_depth, single=True), on_frames=True, in_statics=True),
    ("interface", "point_displacement"): Kind(_point_displacement, needs_component=True, in_statics=True),
    ("interface", "point_force"): Kind(partial(_impulses, "point_force"), in_statics=True),
    ("interface", "point_wear_power"): Kind(partial(_pointwise, _W.wear_power, single=True)),
    ("part", "momentum"): Kind(_momentum, needs_component=True, of_ends=True),
    ("part", "displacement"): Kind(partial(_field, "u"), on_frames=True, needs_component=True, in_statics=True),
    ("part", "velocity"): Kind(partial(_field, "v"), on_frames=True, needs_component=True, of_ends=True),
    ("part", "rotation"): Kind(partial(_field, "u"), on_frames=True, needs_component=True, in_statics=True),
    ("part", "angular_velocity"): Kind(partial(_field, "v"), on_frames=True, needs_component=True, of_ends=True),
    ("part", "reaction"): Kind(_reaction, needs_component=True, in_statics=True, of_ends=True),
    ("part", "reaction_moment"): Kind(_reaction, needs_component=True, in_statics=True, of_ends=True),
    ("spring", "force"): Kind(partial(_spring, False), needs_component=True, of_ends=True),
    ("spring", "elongation"): Kind(partial(_spring, True), needs_component=True, in_statics=True),
}


def event_loss(event: Event, weights: SeriesWeights, values: Array) -> float:
    """Loss of a response in the steps of an event for each step by which the event comes later; values (n,): of the
    series of the run."""
    response = weights.response

    def sources(linear: LinearSteps) -> Sources:
        return BlockResponse(response, linear).sources(np.ones(1))

    losses = event.losses(lambda linear: BlockResponse(response, linear).values(), sources)
    numbers = event.n + np.arange(losses.size)  # the steps n − 1, n, … end at these
    return float(weights.of(numbers, values[numbers - 1]) @ losses)
