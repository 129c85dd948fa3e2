"""What a run records: the variables of the result and the blocks of steps that fill them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from arlequin.assembly import Assembly
from arlequin.contact_history import ContactHistory
from arlequin.energy import KINDS, applicable, columns
from arlequin.point_history import PointHistory
from arlequin.products import applied
from arlequin.record import Key, Record, Variable
from arlequin.schemes.block import Block
from arlequin.spring_history import SpringHistory
from models.factor import Factor, factorise
from models.nonlinear import PathDependent
from models.part import Part
from models.types import Array

AXES = ("x", "y", "z")
TURNS = ("rx", "ry", "rz")
_DENSE = 1000  # a Gram matrix up to this size is inverted once


@dataclass(frozen=True)
class FactoredInverse:
    """A⁻¹ as something that multiplies vectors."""

    factor: Factor

    def __matmul__(self, b: Array) -> Array:
        return self.factor.solve(b)


class History:
    """Collects blocks of steps: `add` takes accepted steps, `take` gives all since the last call.

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
    ) -> None:
        """members: of an ensemble: what is recorded of each has `member` as its second dimension."""
        self._members = members
        self._assembly = assembly
        self._step = step
        self._duration = 1.0 if static else step  # impulses are forces in statics
        self._steps = steps
        self._every = record.fields_every
        self._located = located
        self.kinds = applicable(assembly)
        self._columns = columns(self.kinds)
        self.count, self.frames = 0, 0  # states taken, and how many of them are frames
        self._rows: list[dict[Key, Array]] = []
        self._frames: list[dict[Key, Array]] = []
        self._time: list[Array] = []
        self._frame_time: list[Array] = []
        self._contacts = [
            ContactHistory(assembly.contact, i, step, self._duration) for i in range(len(assembly.contact.interfaces))
        ]
        self._points = {
            i: PointHistory(part, own, record.point_memory)
            for i, (part, own) in enumerate(zip(assembly.system.parts, assembly.parts, strict=True))
            if isinstance(own, PathDependent)
        }
        self._springs = [SpringHistory(assembly, i) for i in range(len(assembly.system.springs))]
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
        for part, own in zip(assembly.system.parts, assembly.parts, strict=True):
            ones = np.arange(part.dof_count)[:, None] % part.components == np.arange(_translations(part))
            moved = own.inertia @ ones.astype(float)
            self._inertia[part.name] = np.asarray((own.shapes.T @ moved).T)
            self._masses[part.name] = float(moved[ones[:, 0], 0].sum())

    def kept(self) -> Any:
        """How far it is: states, frames, sums of the interfaces."""
        return self.count, self.frames, tuple(contact.sums for contact in self._contacts)

    def keep(self, kept: Any) -> None:
        """Goes on from there."""
        self.count, self.frames, sums = kept
        for contact, own in zip(self._contacts, sums, strict=True):
            contact.sums = own

    def tables(self, energies: Array) -> Array:
        """Energies (t, kind) of all kinds from those recorded; the others are 0."""
        out = np.zeros((*energies.shape[:-1], len(KINDS)))
        out[..., self._columns] = energies
        return out

    @property
    def frame_count(self) -> int:
        """How many frames the whole run keeps."""
        return self._steps // self._every + 1 + (self._steps % self._every > 0)

    def variables(self) -> list[Variable]:
        """All variables of the result, with units and names."""
        own = self._of_one()
        return own if self._members is None else [variable.of_each(self._members) for variable in own]

    def _of_one(self) -> list[Variable]:
        kinds, kind = (len(self.kinds),), {"kind": self.kinds}
        names = "energies, and cumulative works and losses", "energy balance relative to the largest energy"
        out = [
            Variable("", "energy", ("time", "kind"), kinds, "J", names[0], coords=kind),
            Variable("", "balance", ("time",), (), "1", names[1]),
        ]
        if self._located:
            out.append(Variable("", "event_time", ("time",), (), "s", "instant of the last event inside the step"))
        for part, own in zip(self._assembly.system.parts, self._assembly.parts, strict=True):
            out += self._part_variables(part)
            if own.turning:
                group = f"part/{part.name}"
                out.append(Variable(group, "angle", ("time",), (), "rad", "angle turned since the start"))
                out.append(Variable(group, "angular_velocity", ("time",), (), "rad/s", "angular velocity"))
        for points in self._points.values():
            out += points.variables()
        for contact in self._contacts:
            out += contact.variables()
        for spring in self._springs:
            out += spring.variables()
        for group, *_, resultant in self._junctions:
            axes = {"component": AXES[: resultant.shape[0]]}
            names = "root mean square of the velocity mismatch", "force on the fine part, mean over the step"
            out += [
                Variable(group, "mismatch", ("time",), (), "m/s", names[0]),
                Variable(group, "force", ("time", "component"), resultant.shape[:1], "N", names[1], coords=axes),
            ]
        return out

    def _part_variables(self, part: Part) -> list[Variable]:
        group = f"part/{part.name}"
        axis = {"axis": AXES[: part.positions.shape[1]]}
        axes = _translations(part)
        component = {"component": AXES[:axes]}

        def static(name: str, dims: tuple[str, ...], units: str, text: str, data: Any, **more: Any) -> Variable:
            return Variable(group, name, dims, units=units, long_name=text, data=data, **more)

        def moving(name: str, units: str) -> Variable:
            shape = (part.node_count, axes)
            return Variable(group, name, ("frame", "node", "component"), shape, units, name, coords=component)

        def turning(name: str, units: str, text: str) -> Variable:
            labels = {"turn": TURNS[axes - part.components :]}
            shape = (part.node_count, part.components - axes)
            return Variable(group, name, ("frame", "node", "turn"), shape, units, text, coords=labels)

        turns = [turning("rotation", "rad", "rotation"), turning("angular_velocity", "rad/s", "angular velocity")]
        return [
            static("mass", (), "kg", "mass, weighted", self._masses[part.name]),
            static("position", ("node", "axis"), "m", "initial position of the node", part.positions, coords=axis),
            static("connectivity", ("cell", "corner"), "1", "nodes at the corners of the cell", part.connectivity),
            Variable(
                group,
                "momentum",
                ("time", "component"),
                (axes,),
                "kg m/s",
                "linear momentum, weighted",
                coords=component,
            ),
            moving("displacement", "m"),
            moving("velocity", "m/s"),
            *(turns if part.components > axes else ()),
        ]

    def add(self, block: Block, table: Array, balance: Array) -> None:
        """Takes the states of some steps, their energies (b, …, kind) and balance (b, …)."""
        self.count += len(block)
        assembly, n = self._assembly, block.n
        kept = np.flatnonzero((n % self._every == 0) | (n == self._steps))
        rows: dict[Key, Array] = {("", "energy"): table[..., self._columns], ("", "balance"): balance}
        shown = kept if block.momenta is None else kept - (len(block) - 1)
        if self._located:
            rows["", "event_time"] = np.full(len(block), np.nan) if block.event is None else block.event
        frames: dict[Key, Array] = {}
        bounds = zip(assembly.system.parts, assembly.parts, pairwise(assembly.start), strict=True)
        for i, (part, own, (a, b)) in enumerate(bounds):
            group, axes = f"part/{part.name}", _translations(part)
            if block.momenta is None:
                rows[group, "momentum"] = np.vecdot(block.v[..., None, a:b], self._inertia[part.name])
            else:
                rows[group, "momentum"] = block.momenta[i]
            if own.turning:
                rows[group, "angle"], rows[group, "angular_velocity"] = block.u[:, b - 1], block.v[:, b - 1]
            if not kept.size:
                continue
            fields = [field[shown][..., a:b] for field in (block.u, block.v)]
            moved = own.nodal_motion(*(field.reshape(-1, b - a) for field in fields))
            shape = (*fields[0].shape[:-1], part.node_count, part.components)
            u, v = (nodal.reshape(shape) for nodal in moved)
            frames[group, "displacement"], frames[group, "velocity"] = u[..., :axes], v[..., :axes]
            if i in self._points:
                # such steps come one by one
                frames |= self._points[i].frame(block.u[0, a:b], block.memory[i])
            if part.components > axes:
                frames[group, "rotation"], frames[group, "angular_velocity"] = u[..., axes:], v[..., axes:]
        for contact in self._contacts:
            timed, framed = contact.add(block, kept)
            rows.update(timed)
            frames.update(framed)
        for spring in self._springs:
            rows.update(spring.rows(block.u, block.v))
        for group, chosen, operator, gram, volume, resultant in self._junctions:
            rest = applied(operator, block.v)
            flat = rest.reshape(-1, rest.shape[-1])
            squares = np.vecdot(flat, [gram @ each for each in flat]).reshape(rest.shape[:-1])
            rows[group, "mismatch"] = np.sqrt(np.maximum(squares, 0.0) / volume)
            rows[group, "force"] = np.vecdot(block.multipliers[..., None, chosen], resultant) / self._duration
        self._rows.append(rows)
        self._time.append(self._step * n.astype(float))
        if kept.size:
            self.frames += kept.size
            self._frames.append(frames)
            self._frame_time.append(self._step * n[kept].astype(float))

    def take(self) -> tuple[tuple[Array, dict[Key, Array]], tuple[Array, dict[Key, Array]]]:
        """The block on `time` and the block on `frame`, each (instants, values); both start anew."""
        block = (
            (_joined(self._time), _columns_of(self._rows)),
            (_joined(self._frame_time), _columns_of(self._frames)),
        )
        self._rows, self._frames, self._time, self._frame_time = [], [], [], []
        return block

    def __len__(self) -> int:
        return sum(times.size for times in self._time)


def _translations(part: Part) -> int:
    """Displacement components of a node: a beam's rotations come after them."""
    return min(part.components, part.positions.shape[1])


def _columns_of(rows: Sequence[dict[Key, Array]]) -> dict[Key, Array]:
    return {key: _joined([row[key] for row in rows]) for key in rows[0]} if rows else {}


def _joined(pieces: Sequence[Array]) -> Array:
    return np.concatenate(pieces) if pieces else np.zeros(0)


def _junction_operators(assembly: Assembly, index: int) -> tuple[Any, Any, float, Array]:
    """C of a junction, the inverse of its Gram matrix, the mediator's volume, and φ → the fine part's resultant."""
    a, b = assembly.junction_start[index : index + 2]
    operator = assembly.constraints[a:b]
    gram = assembly.gram[a:b][:, a:b]
    part, on_fine = assembly.system.junctions[index].fine, assembly.operators[index].fine
    resultant = np.array([on_fine[:, i :: part.components].sum(axis=1) for i in range(part.components)])
    resultant = resultant.reshape(part.components, -1)
    # Σ_n φ_n = 1: the entries of one component sum to the volume of the gluing zone
    inverse = factorise(gram).solve(np.eye(b - a)) if b - a <= _DENSE else FactoredInverse(factorise(gram))
    return operator, inverse, float(np.abs(resultant).sum()) / part.components, resultant
