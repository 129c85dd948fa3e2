"""Time series of a run: the variables of interfaces, springs, junctions and parts, computed from blocks of steps."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.energy import KINDS, applicable, columns
from arlequin.linalg.products import applied
from arlequin.models.fem.continuum import Continuum
from arlequin.models.fem.solid import Solid
from arlequin.models.fem.spectral import LARGEST_ORDER, facet_pieces
from arlequin.models.linalg.components import factorise_components
from arlequin.models.linalg.rows import row_products
from arlequin.models.lumped.bushings import Bushing
from arlequin.models.part import Assembled, MeshedPart, Part, PathDependent, Recovering, Surface
from arlequin.models.reduction.superelement import Superelement
from arlequin.models.types import Array, Indices
from arlequin.multilevel.obstacles.outline import outline_of
from arlequin.multilevel.pairing.kinematics import PairingMaster, faces
from arlequin.results.cell_weights import WEIGHT_TEXT, counting
from arlequin.results.recorder import Record
from arlequin.results.recovered import RecoverySeries
from arlequin.results.stresses import StressSeries, stressed
from arlequin.results.variables import Key, Variable, VariableGroup
from arlequin.step.batch import StepBatch
from arlequin.system.assembly import Assembly
from arlequin.system.contact import Contact


class ContactSeries:
    """Time series of an interface: forces are means over the step, slip is accumulated over the steps in contact."""

    def __init__(
        self, contact: Contact, index: int, step: float, duration: float, box: tuple[Array, Array] | None = None
    ) -> None:
        """duration: by which an impulse is divided to give a force, s (1 in statics); box: corners (axis,) of the
        model, m, near which the obstacle is drawn."""
        self._interface = contact.interfaces[index]
        self._group = f"interface/{self._interface.name}"
        self._step, self._duration = step, duration
        kin = contact.reference[index]
        self._positions = kin.positions
        self._axes = kin.normals.shape[1]
        self._points = slice(*contact.start[index : index + 2])
        self._faces = faces(contact.pairings[index])
        self._frictional = self._interface.friction is not None
        self._springs = bool(contact.laws.elastic_stick[self._points].any())
        self._wear_law = self._interface.wear
        self._area = contact.laws.area[self._points]
        self._span = slice(*contact.span[index : index + 2])
        self._resultant = contact.resultant(index)
        self._slip, self._wear = np.zeros((2, self._area.size))
        slave = contact.sides[index][0]
        # point contacts: recorded at all steps
        self._outline = None if box is None else outline_of(self._interface.master, *box)
        self._lone = self._interface.slave.facets.shape[1] == 1 and self._axes > 1 and slave.rotating is None
        nodes = not isinstance(self._interface.master, PairingMaster)  # whose points are not nodes
        self._follow = slave.rows if self._lone and nodes else None

    @property
    def sums(self) -> tuple[Array, Array]:
        """Accumulated slip (k,), m, and normal force times slip (k,), J."""
        return self._slip, self._wear

    @sums.setter
    def sums(self, sums: tuple[Array, Array]) -> None:
        self._slip, self._wear = sums

    def variables(self) -> list[Variable]:
        """Recorded variables, with units and names."""
        axes = AXES[: self._axes]
        group = VariableGroup(self._group, {"point": self._area.size, "axis": axes, "component": axes})
        out = group.variables(
            ("point_position", "point axis", "m", "initial position of the contact point", self._positions),
            ("area", "point", "m^2", "area of the contact point", self._area),
            ("force", "time component", "N", "contact force on the slave, mean over the step"),
            ("impulse", "time", "N s", "normal contact impulse of the step"),
            ("active", "time", "1", "contact points under pressure"),
            ("gap_min", "time", "m", "smallest gap"),
            ("gap", "frame point", "m", "gap"),
            ("pressure", "frame point", "Pa", "contact pressure, mean over the step"),
            ("status", "frame point", "1", "0 open, 1 slipping or without friction, 2 sticking"),
        )
        if self._faces.any():
            text = "smooth patch of the master that the contact point belongs to"
            out += group.variables(("point_face", "point", "1", text, self._faces))
        rate = "normal force times tangential speed (elastic stick included), mean over the step"
        if self._frictional:
            out += group.variables(
                ("wear_power", "time", "W", rate),
                ("friction_power", "time", "W", "power dissipated by friction, mean over the step"),
                ("traction", "frame point component", "Pa", "tangential traction on the slave"),
                ("slip", "frame point", "m", "length of the tangential path in contact"),
                ("wear_work", "frame point", "J/m^2", "pressure times tangential speed, integrated over the time"),
            )
            unit = getattr(self._interface.friction, "state_unit", None)
            if unit is not None:
                text = "state variable of the friction law"
                out += group.variables(("friction_state", "frame point", unit, text))
            if self._springs:
                text = "traction on the slave of the springs of friction, at the frame"
                out += group.variables(("spring_traction", "frame point component", "Pa", text))
            if self._interface.friction is not None and self._interface.friction.state_dependent:
                text = "first internal variable of the friction law"
                out += group.variables(("friction_variable", "frame point", "1", text))
        if self._follow is not None:
            out += group.variables(("point_displacement", "time point component", "m", "displacement of the point"))
        if self._lone:
            out += group.variables(
                ("point_force", "time point", "N", "normal contact force on the point, mean over the step"),
                *([("point_wear_power", "time point", "W", rate)] if self._frictional else ()),
            )
        facets = surface_cells(self._interface.slave, self._positions[self._faces == 0])
        if facets is not None:
            text = "contact points at the corners of the facets of the slave"
            out += group.variables(("point_connectivity", "facet facet_corner", "1", text, facets))
        if self._outline is not None:
            points, cells = self._outline
            text = "corners of the rigid obstacle near the parts, for drawings"
            out += group.variables(
                ("obstacle_position", "obstacle_point axis", "m", text, points),
                ("obstacle_connectivity", "obstacle_cell obstacle_corner", "1", "points of its cells", cells),
            )
        if self._wear_law is not None:
            out += group.variables(
                ("worn_volume", "time", "m^3", "volume worn off"),
                ("worn_depth", "frame point", "m", "depth worn off"),
                *([("worn_mass", "time", "kg", "mass worn off")] if self._wear_law.density is not None else ()),
            )
        return out

    def add(self, block: StepBatch, frame_steps: NDArray[np.int64]) -> tuple[dict[Key, Array], dict[Key, Array]]:
        """The values of the steps on `time`, and those of the steps `frame_steps` (f,) of the block on `frame`."""
        group, points, contact = self._group, self._points, block.contact
        gaps, normal = block.gaps[..., points], contact.normal[..., points]
        rows: dict[Key, Array] = {
            (group, "force"): np.vecdot(contact.spread[..., None, self._span], self._resultant) / self._duration,
            (group, "impulse"): normal.sum(axis=-1) * (self._step / self._duration),
            (group, "active"): np.count_nonzero(normal > 0.0, axis=-1),
            (group, "gap_min"): gaps.min(axis=-1),
        }
        frames: dict[Key, Array] = {
            (group, "gap"): gaps[frame_steps],
            (group, "pressure"): normal[frame_steps] / (self._duration * self._area),
            (group, "status"): contact.status[frame_steps][..., points].astype(float),
        }
        if self._frictional:
            slip, wear = (
                _summed(self._slip, contact.slip[..., points]),
                _summed(self._wear, contact.friction_work_per_mu[..., points]),
            )
            self._slip, self._wear = slip[-1], wear[-1]
            rows[group, "wear_power"] = contact.friction_work_per_mu[..., points].sum(axis=-1) / self._step
            rows[group, "friction_power"] = contact.friction_loss[..., points].sum(axis=-1) / self._step
            frames[group, "traction"] = contact.tangential[frame_steps][..., points, :] / (
                self._duration * self._area[:, None]
            )
            frames[group, "slip"] = slip[frame_steps]
            frames[group, "wear_work"] = wear[frame_steps] / self._area
            law: Any = self._interface.friction
            if law.state_dependent:
                state = np.zeros_like(gaps) if block.friction_state is None else block.friction_state[..., points]
                frames[group, "friction_variable"] = state[frame_steps]
                if getattr(law, "state_unit", None) is not None:
                    frames[group, "friction_state"] = law.state_value(state)[frame_steps]
            if self._springs:
                still = np.zeros((*gaps.shape, self._axes))
                springs = still if block.spring_traction is None else block.spring_traction[..., points, :]
                frames[group, "spring_traction"] = springs[frame_steps]
        if self._follow is not None:
            displacement = applied(self._follow, block.u)
            nodes = displacement.reshape(*displacement.shape[:-1], -1, self._axes)
            rows[group, "point_displacement"] = np.concatenate([nodes] * (int(self._faces.max()) + 1), axis=-2)
        if self._lone:
            rows[group, "point_force"] = normal / self._duration
            if self._frictional:
                rows[group, "point_wear_power"] = contact.friction_work_per_mu[..., points] / self._step
        if self._wear_law is not None:
            depth = np.zeros_like(gaps) if block.worn is None else block.worn[..., points]
            rows[group, "worn_volume"] = np.vecdot(depth, self._area)  # rounding of BLAS depends on the batch
            frames[group, "worn_depth"] = depth[frame_steps]
            if self._wear_law.density is not None:
                rows[group, "worn_mass"] = self._wear_law.density * rows[group, "worn_volume"]
        return rows, frames


def _cell_nodes(model: MeshedPart | None) -> list[tuple[str, str, str, str, Indices]]:
    """The variable with all nodes of cells that have more than their corners."""
    if not isinstance(model, Continuum) or model.basis.Nbfun == model.finite_element.corners:
        return []
    lattice = model.cell_lattice
    if lattice is None:
        return [("cell_nodes", "cell cell_node", "1", "all nodes of the cell, in VTK's order", model.cell_nodes)]
    return [("cell_lattice", "cell cell_node", "1", "all nodes of the cell, along its first axis first", lattice)]


# facets of higher order as facets of first order between all of their nodes
_PARTS = {
    3: [[0, 1, 2]], 4: [[0, 1, 2, 3]], 6: [[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]], 8: [[0, 1, 2, 3]],
    9: [[0, 4, 8, 7], [4, 1, 5, 8], [8, 5, 2, 6], [7, 8, 6, 3]],
    **{(order + 1) ** 2: facet_pieces(3, order) for order in range(3, LARGEST_ORDER + 1)},
}  # fmt: skip


def surface_cells(slave: Surface, points: Array) -> Indices | None:
    """Triangles or quadrilaterals (f, corner) between contact points (k, 3) that are the slave's nodes, else None."""
    if points.shape[1] != 3 or points.shape != slave.positions.shape or slave.facets.shape[1] not in _PARTS:
        return None
    if not np.array_equal(points, slave.positions):
        return None
    number = np.zeros(slave.part.node_count, dtype=np.int64)
    number[slave.nodes] = np.arange(slave.nodes.size)
    pieces = np.array(_PARTS[slave.facets.shape[1]])
    return number[slave.facets[:, pieces]].reshape(-1, pieces.shape[1])


def _summed(before: Array, values: Array) -> Array:
    """Cumulative sums (b, …, k) of values (b, …, k), starting from `before` (…, k), added sequentially."""
    first = np.broadcast_to(before, values.shape[1:])
    return np.asarray(np.cumsum(np.concatenate([first[None], values]), axis=0)[1:])


class SpringSeries:
    """Time series of a spring: force on its first end, and elongation, at the ends of steps."""

    def __init__(self, assembly: Assembly, index: int) -> None:
        spring, links = assembly.system.springs[index], assembly.links
        rows = slice(*links.span[index : index + 2])
        self._group = f"spring/{spring.name}"
        self._axes = spring.axes
        self._turns = spring.components[self._axes :] if isinstance(spring, Bushing) else ()
        self._rows = links.rows[rows]
        # node by node, the vectors of the frame
        count = len(spring.shares)
        self._pull = np.tile(spring.frame.T, count)
        self._mean = self._pull * np.repeat(spring.shares, len(spring.frame))
        self._stiffness, self._damping = links.stiffness[rows], links.damping[rows]
        contact = assembly.contact
        self._lawful, self._regular = np.zeros(0, np.int64), None
        self._memory, self._of_memory = (np.zeros(0, np.int64) for _ in range(2))
        bounds = pairwise(contact.start[len(contact.interfaces) :])
        for item, (a, b) in zip(contact.springs, bounds, strict=True):
            if item.spring.name == spring.name:  # members of an ensemble share a contact
                self._lawful, self._regular = item.chosen, contact.laws.chosen(np.arange(a, b))
                at = contact.laws.memory_points
                self._memory = np.flatnonzero((a <= at) & (at < b))
                self._of_memory = item.chosen[at[self._memory] - a]  # rows of the internal variables

    def variables(self) -> Sequence[Variable]:
        """Recorded variables, with units and names."""
        translations = [
            ("force", "time component", "N", "force on the first end"),
            ("elongation", "time component", "m", "u₁ − u₂, mean of the nodes"),
        ]
        turns = [
            ("moment", "time turn", "N m", "moment on the first end"),
            ("rotation", "time turn", "rad", "θ₁ − θ₂"),
        ]
        text = "force by each internal variable of the law (node × direction × branch), in tension"
        memory = [("hysteretic_force", "frame branch", "N", text)] if self._memory.size else []
        dims: dict[str, Any] = {"component": AXES[: self._axes], "turn": self._turns, "branch": self._memory.size}
        return VariableGroup(self._group, dims).variables(*translations, *(turns if self._turns else ()), *memory)

    def frames(self, block: StepBatch, at: NDArray[np.int64]) -> dict[Key, Array]:
        """The values of the frames, the steps `at` of a block."""
        if not self._memory.size or block.hysteretic is None:
            return {}
        return {(self._group, "hysteretic_force"): block.hysteretic[at][..., self._memory]}

    def rows(self, block: StepBatch) -> dict[Key, Array]:
        """The values of the steps."""
        elongation, rate = applied(self._rows, block.u), applied(self._rows, block.v)
        force = -(self._stiffness * elongation + self._damping * rate)
        if self._regular is not None:
            gaps = np.take(elongation, self._lawful, axis=-1)
            force[..., self._lawful] += self._regular.area * self._regular.pressure(gaps)
        if self._memory.size and block.hysteretic is not None:
            at: Any = (..., self._of_memory)
            np.subtract.at(force, at, block.hysteretic[..., self._memory])
        forces, mean = row_products(force, self._pull.T), row_products(elongation, self._mean.T)
        out: dict[Key, Array] = {
            (self._group, "force"): forces[..., : self._axes],
            (self._group, "elongation"): mean[..., : self._axes],
        }
        if self._turns:
            out[self._group, "moment"], out[self._group, "rotation"] = (
                forces[..., self._axes :],
                mean[..., self._axes :],
            )
        return out


class SupportSeries:
    """Time series of the forces that the imposed motions of a part exert on it, means over the steps, by boundary.

    Forces on its translations, moments on its rotations. A dof that two boundaries share counts with the first.
    """

    def __init__(self, part: Part, assembled: Assembled, first: int, duration: float) -> None:
        """first: number of its first dof among those of all imposed motions; duration: see `ContactSeries`."""
        items = [item for item in assembled.imposed if item.support is not None]
        self.names = tuple(dict.fromkeys(item.support[0] for item in items if item.support is not None))
        self._group, self._duration, self._axes = f"part/{part.name}", duration, _translations(part)
        # rigid bodies have an angle beside the displacements of their nodes
        count = max([part.components, *(1 + item.support[1] for item in items if item.support is not None)])
        self._dims: dict[str, Any] = {
            "support": self.names,
            "component": AXES[: self._axes],
            "turn": TURNS[self._axes - count :],
        }
        self._size = len(self.names), count
        rows: list[int] = []
        columns: list[int] = []
        for item in assembled.imposed:
            if item.support is not None:
                boundary, component = item.support
                rows += [self.names.index(boundary) * count + component] * item.dofs.size
                columns += range(first, first + item.dofs.size)
            first += item.dofs.size
        self._columns = np.array(columns, dtype=np.int64)
        self._sums = (np.array(rows)[:, None] == np.arange(self._size[0] * count)).astype(float) if rows else None

    def variables(self) -> Sequence[Variable]:
        """Recorded variables, with units and names."""
        text = "the supports (imposed motions) on the part, mean over the step"
        turns = ("reaction_moment", "time support turn", "N m", f"moment of {text}")
        return VariableGroup(self._group, self._dims).variables(
            ("reaction", "time support component", "N", f"force of {text}"),
            *([turns] if self._size[1] > self._axes else ()),
        )

    def rows(self, block: StepBatch) -> dict[Key, Array]:
        """The values of the steps; nan where the scheme has none."""
        shape = block.multipliers.shape[:-1]
        total = np.full((*shape, *self._size), np.nan if block.n[0] else 0.0)
        if block.reactions is not None and self._sums is not None:
            forces = block.reactions[..., self._columns] / self._duration
            total = row_products(forces, self._sums).reshape(total.shape)
        out: dict[Key, Array] = {(self._group, "reaction"): total[..., : self._axes]}
        if self._size[1] > self._axes:
            out[self._group, "reaction_moment"] = total[..., self._axes :]
        return out


TEXT = "internal variables of the quadrature points (metals: C_p⁻¹ − 1 or plastic strain, then heating K, work J/m³)"


class PointSeries:
    """Cell means of internal variables at the frames, and, on request, the variables of inelastic points."""

    def __init__(
        self, part: Part, assembled: PathDependent, with_memory: bool, hidden: NDArray[np.bool_] | None
    ) -> None:
        """with_memory: record internal variables too; hidden (c,): cells whose means are left out."""
        self._group = f"part/{part.name}"
        self._assembled = assembled
        self._cells = len(part.connectivity)
        self._with_memory, self._hidden = with_memory and assembled.dissipates, hidden

    def variables(self) -> Sequence[Variable]:
        """Recorded variables, with units and names."""
        dims: dict[str, Any] = {"cell": self._cells}
        rows = [(name, "frame cell", units, text) for name, units, text in self._assembled.recorded]
        if self._with_memory:
            dims |= {"point": self._assembled.fresh().shape[1], "place": self._assembled.memory_names}
            rows.append(("point_memory", "frame cell point place", "1", TEXT))
        return VariableGroup(self._group, dims).variables(*rows)

    def frame(self, u: Array, memory: Array) -> dict[Key, Array]:
        """The values of one frame at u (d,) with internal variables `memory`."""
        means = zip(self._assembled.recorded, self._assembled.cell_means(u, memory), strict=True)
        values = {(self._group, name): self._seen(mean)[None] for (name, *_), mean in means}
        if self._with_memory:
            values[self._group, "point_memory"] = self._assembled.everywhere(memory)[None]
        return values

    def _seen(self, means: Array) -> Array:
        """Means (c,) with nan in the hidden cells."""
        return means if self._hidden is None else np.where(self._hidden, np.nan, means)


AXES = ("x", "y", "z")
TURNS = ("rx", "ry", "rz")
_DENSE = 1000  # size up to which a Gram matrix is inverted


class TimeSeries:
    """Buffer of time series: `add` appends blocks of accepted steps, `take` returns those since its last call.

    Every step goes to `time`; the steps n with n % fields_every = 0, and the last one, to `frame`.
    """

    def __init__(
        self,
        assembly: Assembly,
        step: float,
        steps: int,
        record: Record,
        static: bool,
        located: bool,
        members: int | None = None,
        kinds: tuple[str, ...] | None = None,
    ) -> None:
        """members: size of an ensemble, whose variables have `member` as their second dimension; kinds of energies that
        are recorded: None for those that apply."""
        self._members = members
        self._assembly = assembly
        self._step = step
        self._duration = 1.0 if static else step  # impulses are forces in statics
        self._steps = steps
        self._every = record.fields_every
        self._located = located
        self.kinds = applicable(assembly) if kinds is None else kinds
        self._columns = columns(self.kinds)
        self.count, self.frames = 0, 0  # states taken, and how many of them are frames
        self._rows: list[dict[Key, Array]] = []
        self._frames: list[dict[Key, Array]] = []
        self._time: list[Array] = []
        self._frame_time: list[Array] = []
        box = _extent(assembly.system.parts)
        interfaces = range(len(assembly.system.interfaces))  # after which those of springs come
        self._contacts = [ContactSeries(assembly.contact, i, step, self._duration, box) for i in interfaces]
        self._points = {
            i: PointSeries(part, assembled, record.point_memory, self._hidden(part))
            for i, (part, assembled) in enumerate(zip(assembly.system.parts, assembly.parts, strict=True))
            if isinstance(assembled, PathDependent)
        }
        self._stresses: dict[int, StressSeries] = {}
        for i, part in enumerate(assembly.system.parts if record.stress else ()):
            stressed_part = stressed(part)
            if stressed_part is not None:
                known = tuple(v.name for v in self._points[i].variables()) if i in self._points else ()
                self._stresses[i] = StressSeries(stressed_part, assembly.parts[i], known, self._hidden(part))
        self._recoveries = {
            i: RecoverySeries(part, assembled)
            for i, (part, assembled) in enumerate(zip(assembly.system.parts, assembly.parts, strict=True))
            if isinstance(assembled, Recovering)
        }
        sizes = [sum(item.dofs.size for item in assembled.imposed) for assembled in assembly.parts]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int).tolist()
        each = zip(assembly.system.parts, assembly.parts, starts, strict=False)
        supports = [SupportSeries(part, assembled, first, self._duration) for part, assembled, first in each]
        self._supports = [series for series in supports if series.names]
        self._springs = [SpringSeries(assembly, i) for i in range(len(assembly.system.springs))]
        self._junctions = [
            (
                f"junction/{junction.name}",
                slice(a, b),
                *_junction_operators(assembly, i),
            )
            # the rows of relations come after those of the junctions
            for i, (junction, (a, b)) in enumerate(
                zip(assembly.system.junctions, pairwise(assembly.junction_start), strict=False)
            )
        ]

        # 1ᵀM S by component: momentum is one product
        self._inertia = {}
        self._masses = {}
        for part, assembled in zip(assembly.system.parts, assembly.parts, strict=True):
            ones = np.arange(part.dof_count)[:, None] % part.components == np.arange(_translations(part))
            along = ones.astype(float)
            self._inertia[part.name] = np.asarray(assembled.uniform_inertia(along).T)
            self._masses[part.name] = assembled.uniform_mass(along[:, 0])

    def sums(self) -> dict[str, tuple[Array, Array]]:
        """Accumulated slip and wear work of the interfaces, by their names."""
        names = [item.name for item in self._assembly.system.interfaces]
        return {name: contact.sums for name, contact in zip(names, self._contacts, strict=True)}

    def load_sums(self, sums: Mapping[str, tuple[Array, Array]]) -> None:
        """Restore the accumulated slip and wear work of the interfaces named in `sums`."""
        for item, contact in zip(self._assembly.system.interfaces, self._contacts, strict=True):
            if item.name in sums:
                contact.sums = sums[item.name]

    def state_dict(self) -> Any:
        """Numbers of states and frames, accumulated slip and wear of the interfaces."""
        return self.count, self.frames, tuple(contact.sums for contact in self._contacts)

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        self.count, self.frames, sums = state
        for contact, contact_sums in zip(self._contacts, sums, strict=True):
            contact.sums = contact_sums

    def tables(self, energies: Array) -> Array:
        """Energies (t, kind) of all kinds from those recorded; the others are 0."""
        out = np.zeros((*energies.shape[:-1], len(KINDS)))
        out[..., self._columns] = energies
        return out

    @property
    def frame_count(self) -> int:
        """Number of frames of the complete run."""
        return self._steps // self._every + 1 + (self._steps % self._every > 0)

    def variables(self) -> list[Variable]:
        """All variables of the result, with units and names."""
        variables = self.plain_variables()
        if per_metre(self._assembly.system.parts):
            variables = [
                replace(variable, units=PER_METRE.get(variable.units, variable.units)) for variable in variables
            ]
        return variables if self._members is None else [variable.of_each(self._members) for variable in variables]

    def plain_variables(self) -> list[Variable]:
        """Variables of one system, in SI units for any thickness."""
        located = ("event_time", "time", "s", "instant of the last event inside the step")
        out = VariableGroup("", {"kind": self.kinds}).variables(
            ("energy", "time kind", "J", "energies, and cumulative works and losses"),
            ("balance", "time", "1", "energy balance relative to the largest energy"),
            *([located] if self._located else ()),
        )
        for index, (part, assembled) in enumerate(zip(self._assembly.system.parts, self._assembly.parts, strict=True)):
            out += self._part_variables(part, assembled.rotating, self._left_out(index))
        all_series: tuple[
            PointSeries | StressSeries | RecoverySeries | SupportSeries | ContactSeries | SpringSeries, ...
        ]
        all_series = *self._points.values(), *self._stresses.values(), *self._recoveries.values(), *self._supports
        all_series = *all_series, *self._contacts, *self._springs
        for series in all_series:
            out += series.variables()
        for group, *_, resultant in self._junctions:
            out += VariableGroup(group, {"component": AXES[: resultant.shape[0]]}).variables(
                ("mismatch", "time", "m/s", "root mean square of the velocity mismatch"),
                ("force", "time component", "N", "force on the fine part, mean over the step"),
            )
        return out

    def _hidden(self, part: Part) -> NDArray[np.bool_] | None:
        """Mask (c,) of the cells of a part without weight in the energy; None where all count."""
        weights = self._assembly.cell_weights.get(part.name)
        return None if weights is None or counting(weights).all() else ~counting(weights)

    def _left_out(self, index: int) -> NDArray[np.bool_] | None:
        """Nodes (n,) of a part that others have taken over; None if there are none."""
        assembly, part = self._assembly, self._assembly.system.parts[index]
        ghost = assembly.ghost[assembly.start[index] : assembly.start[index + 1]]
        if not isinstance(part, MeshedPart) or ghost.size != part.node_count * part.components or not ghost.any():
            return None
        return np.asarray(ghost.reshape(part.node_count, -1).all(axis=1))

    def _part_variables(self, part: Part, rotating: bool, left_out: NDArray[np.bool_] | None) -> list[Variable]:
        axes = _translations(part)
        dims: dict[str, Any] = {
            "node": part.node_count,
            "axis": AXES[: part.positions.shape[1]],
            "component": AXES[:axes],
            "turn": TURNS[axes - part.components :],
        }
        turns = (
            ("rotation", "frame node turn", "rad", "rotation"),
            ("angular_velocity", "frame node turn", "rad/s", "angular velocity"),
        )
        rotations = (
            ("angle", "time", "rad", "angle turned since the start"),
            ("angular_velocity", "time", "rad/s", "angular velocity"),
        )
        model = part.model if isinstance(part, MeshedPart) else None
        weights = self._assembly.cell_weights.get(part.name)
        text = "1 at nodes that other parts have taken over, which rest, 0 at the others"
        return VariableGroup(f"part/{part.name}", dims).variables(
            ("mass", "", "kg", "mass, weighted", self._masses[part.name]),
            ("position", "node axis", "m", "initial position of the node", part.positions),
            ("connectivity", "cell corner", "1", "nodes at the corners of the cell", part.connectivity),
            *_cell_nodes(model),
            *([] if left_out is None else [("left_out", "node", "1", text, left_out.astype(np.int8))]),
            *([] if weights is None else [("weight", "cell", "1", WEIGHT_TEXT, weights)]),
            ("momentum", "time component", "kg m/s", "linear momentum, weighted"),
            ("displacement", "frame node component", "m", "displacement"),
            ("velocity", "frame node component", "m/s", "velocity"),
            *(turns if part.components > axes else ()),
            *(rotations if rotating else ()),
        )

    def add(self, block: StepBatch, table: Array, balance: Array) -> None:
        """Append the states of a block of steps, their energies (b, …, kind) and balance (b, …)."""
        self.count += len(block)
        assembly, n = self._assembly, block.n
        frame_steps = np.flatnonzero((n % self._every == 0) | (n == self._steps))
        rows: dict[Key, Array] = {("", "energy"): table[..., self._columns], ("", "balance"): balance}
        frame_rows = frame_steps if block.momenta is None else frame_steps - (len(block) - 1)
        if self._located:
            rows["", "event_time"] = np.full(len(block), np.nan) if block.event is None else block.event
        frames: dict[Key, Array] = {}
        each = zip(assembly.system.parts, assembly.parts, assembly.places, strict=True)
        for i, (part, assembled, at) in enumerate(each):
            group, axes = f"part/{part.name}", _translations(part)
            if block.momenta is None:
                rows[group, "momentum"] = np.vecdot(block.v[..., None, at], self._inertia[part.name])
            else:
                rows[group, "momentum"] = block.momenta[i]
            if assembled.rotating:
                rows[group, "angle"], rows[group, "angular_velocity"] = block.u[:, at.stop - 1], block.v[:, at.stop - 1]
            if not frame_steps.size:
                continue
            fields = [field[frame_rows][..., at] for field in (block.u, block.v)]
            nodal_motion = assembled.nodal_motion(*(field.reshape(-1, field.shape[-1]) for field in fields))
            shape = (*fields[0].shape[:-1], part.node_count, part.components)
            u, v = (nodal.reshape(shape) for nodal in nodal_motion)
            frames[group, "displacement"], frames[group, "velocity"] = u[..., :axes], v[..., :axes]
            if i in self._points:
                # such steps come one by one
                frames |= self._points[i].frame(block.u[0, at], block.memory[i])
            if i in self._stresses:
                memory = block.memory[i] if isinstance(assembled, PathDependent) else None
                frames |= self._stresses[i].frames(nodal_motion[0].reshape(*fields[0].shape[:-1], -1), memory)
            if i in self._recoveries:
                frames |= self._recoveries[i].frames(*fields)
            if part.components > axes:
                frames[group, "rotation"], frames[group, "angular_velocity"] = u[..., axes:], v[..., axes:]
        for contact in self._contacts:
            timed, framed = contact.add(block, frame_steps)
            rows.update(timed)
            frames.update(framed)
        for support in self._supports:
            rows.update(support.rows(block))
        for spring in self._springs:
            rows.update(spring.rows(block))
            if frame_steps.size:
                frames.update(spring.frames(block, frame_steps))
        for group, chosen, operator, squares_of, volume, acting, resultant in self._junctions:
            constraint_rates = block.constraint_rates
            mismatch_rates = applied(operator, block.v) if constraint_rates is None else constraint_rates[:, chosen]
            flat = mismatch_rates.reshape(
                math.prod(mismatch_rates.shape[:-1]), mismatch_rates.shape[-1]
            )  # of a junction without rows, too
            squares = squares_of(flat).reshape(mismatch_rates.shape[:-1])
            rows[group, "mismatch"] = np.sqrt(np.maximum(squares, 0.0) / volume)
            rows[group, "force"] = np.vecdot(block.multipliers[..., None, acting], resultant) / self._duration
        self._rows.append(rows)
        self._time.append(self._step * n.astype(float))
        if frame_steps.size:
            self.frames += frame_steps.size
            self._frames.append(frames)
            self._frame_time.append(self._step * n[frame_steps].astype(float))

    def take(self) -> tuple[tuple[Array, dict[Key, Array]], tuple[Array, dict[Key, Array]]]:
        """The block on `time` and the block on `frame`, each (instants, values); both buffers are emptied."""
        block = (
            (_joined(self._time), _columns_of(self._rows)),
            (_joined(self._frame_time), _columns_of(self._frames)),
        )
        self._rows, self._frames, self._time, self._frame_time = [], [], [], []
        return block

    def __len__(self) -> int:
        return sum(times.size for times in self._time)


# units of a model whose plane parts are 1 m thick: values for each metre of thickness
PER_METRE = {unit: f"{unit}/m" for unit in ("N", "N s", "N m", "J", "W", "kg", "m^2", "m^3")} | {"kg m/s": "kg/s"}


def per_metre(parts: Sequence[Part]) -> bool:
    """Whether all parts are plane solids of thickness 1 m (the default): forces are then forces per metre."""
    models = [part.model if isinstance(part, MeshedPart) else part for part in parts]
    return all(
        isinstance(model, Solid) and model.plane in ("strain", "stress") and model.thickness == 1.0 for model in models
    )


def _extent(parts: Sequence[Part]) -> tuple[Array, Array] | None:
    """Corners (axis,) of the box around all parts, m; None if they have different numbers of axes."""
    if len({part.positions.shape[1] for part in parts}) > 1:
        return None
    places = np.concatenate([part.positions for part in parts])
    return places.min(axis=0), places.max(axis=0)


def _translations(part: Part) -> int:
    """Displacement components of a node: a beam's rotations come after them."""
    return min(part.components, part.positions.shape[1])


def _columns_of(rows: Sequence[dict[Key, Array]]) -> dict[Key, Array]:
    return {key: _joined([row[key] for row in rows]) for key in rows[0]} if rows else {}


def _joined(pieces: Sequence[Array]) -> Array:
    return np.concatenate(pieces) if pieces else np.zeros(0)


def _junction_operators(assembly: Assembly, index: int) -> tuple[Any, Any, float, slice, Array]:
    """C of a junction, rows r (b, m) ↦ r·G⁻¹r (b,) of its Gram matrix, the mediator's volume, the multipliers φ
    that act on the fine part, and φ → its resultant."""
    a, b = assembly.junction_start[index : index + 2]
    operator = assembly.constraints[a:b]
    gram = assembly.gram[a:b][:, a:b]
    part, on_fine = assembly.system.junctions[index].fine, assembly.operators[index].fine
    axes = _translations(part) if isinstance(part, Superelement) else part.components
    resultant = np.array([on_fine[:, i :: part.components].sum(axis=1) for i in range(axes)])
    resultant = resultant.reshape(axes, -1)
    # Σ_n φ_n = 1: the entries of one component sum to the volume of the gluing zone
    volume = float(np.abs(resultant).sum()) / axes
    acting = slice(a, b)
    if assembly.combination is not None:
        acting = slice(None)
        first = sum(junction_operators.gram.shape[0] for junction_operators in assembly.operators[:index])
        resultant = (assembly.combination[:, first : first + resultant.shape[1]] @ resultant.T).T
    factor = factorise_components(gram)
    squares_of = partial(_dense_squares, factor.solve(np.eye(b - a))) if b - a <= _DENSE else factor.squares
    return operator, squares_of, volume, acting, resultant


def _dense_squares(inverse: Array, rows: Array) -> Array:
    return np.asarray(np.vecdot(rows, [inverse @ row for row in rows]))
