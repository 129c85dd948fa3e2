"""What a run records: the variables of the result and the blocks of steps that fill them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arlequin.assembly import Assembly
from arlequin.contact_history import ContactHistory, ContactState
from arlequin.energy import Audit, applicable, columns
from arlequin.link_history import SpringHistory
from arlequin.record import Key, Variable
from arlequin.schemes import State, StepReport
from models.factor import Factor, factorise
from models.part import Part
from multilevel.law import Array

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
    """Fills blocks of steps: `add` takes each accepted step, `take` gives the block and starts the next.

    Every step goes to `time`; the steps n with n % fields_every = 0, and the last one, to `frame`.
    """

    def __init__(self, assembly: Assembly, step: float, steps: int, fields_every: int, static: bool) -> None:
        self._assembly = assembly
        self._step = step
        self._duration = 1.0 if static else step  # impulses are forces in statics
        self._steps = steps
        self._every = fields_every
        self.kinds = applicable(assembly)
        self._columns = columns(self.kinds)
        self.count = 0  # states taken
        self._rows: list[dict[Key, Array]] = []
        self._frames: list[dict[Key, Array]] = []
        self._time: list[float] = []
        self._frame_time: list[float] = []
        self._contacts = [
            ContactHistory(assembly.contact, i, step, self._duration) for i in range(len(assembly.contact.interfaces))
        ]
        self._springs = [SpringHistory(assembly, i) for i in range(len(assembly.system.springs))]
        self._junctions = [
            (
                f"junction/{junction.name}",
                slice(a, b),
                *_junction_operators(assembly, junction.fine.name, a, b),
            )
            for junction, a, b in zip(
                assembly.system.junctions,
                assembly.junction_start[:-1],
                assembly.junction_start[1:],
                strict=False,  # the rows of relations come after those of the junctions
            )
        ]

        # 1ᵀM by component: momentum is one product
        self._inertia = {}
        self._masses = {}
        for part, own in zip(assembly.system.parts, assembly.parts, strict=True):
            ones = np.arange(part.dof_count) % part.components == np.arange(_translations(part))[:, None]
            self._inertia[part.name] = np.asarray((own.mass @ ones.T.astype(float)).T)
            self._masses[part.name] = float(self._inertia[part.name][0].sum())

    @property
    def frame_count(self) -> int:
        """How many frames the whole run keeps."""
        return self._steps // self._every + 1 + (self._steps % self._every > 0)

    def variables(self) -> list[Variable]:
        """All variables of the result, with units and names."""
        kinds, kind = (len(self.kinds),), {"kind": self.kinds}
        names = "energies, and cumulative works and losses", "energy balance relative to the largest energy"
        out = [
            Variable("", "energy", ("time", "kind"), kinds, "J", names[0], coords=kind),
            Variable("", "balance", ("time",), (), "1", names[1]),
        ]
        for part in self._assembly.system.parts:
            out += self._part_variables(part)
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

    def add(self, state: State, report: StepReport | None, audit: Audit, balance: float) -> None:
        """Takes the state (report None: the initial state)."""
        self.count += 1
        assembly = self._assembly
        multipliers = report.multipliers if report else np.zeros(assembly.constraints.shape[0])
        row: dict[Key, Array] = {
            ("", "energy"): audit.table[self._columns],
            ("", "balance"): np.array(balance),
        }
        for name, v in zip(assembly.system.names, assembly.split(state.v), strict=True):
            row[f"part/{name}", "momentum"] = self._inertia[name] @ v
        if self._contacts:
            now = ContactState.of(assembly.contact, state, report)
            for contact in self._contacts:
                row.update(contact.add(now))
        for spring in self._springs:
            row.update(spring.row(state.u, state.v))
        for group, rows, operator, gram, volume, resultant in self._junctions:
            rest = operator @ state.v
            row[group, "mismatch"] = np.sqrt(max(float(rest @ (gram @ rest)), 0.0) / volume)
            row[group, "force"] = resultant @ multipliers[rows] / self._duration
        self._rows.append(row)
        self._time.append(state.n * self._step)
        if state.n % self._every == 0 or state.n == self._steps:
            self._add_frame(state)

    def _add_frame(self, state: State) -> None:
        frame: dict[Key, Array] = {}
        for part, u, v in zip(
            self._assembly.system.parts,
            self._assembly.split(state.u),
            self._assembly.split(state.v),
            strict=True,
        ):
            group, axes = f"part/{part.name}", _translations(part)
            u, v = (field.reshape(part.node_count, part.components) for field in (u, v))
            frame[group, "displacement"], frame[group, "velocity"] = u[:, :axes], v[:, :axes]
            if part.components > axes:
                frame[group, "rotation"], frame[group, "angular_velocity"] = u[:, axes:], v[:, axes:]
        for contact in self._contacts:
            frame.update(contact.frame())
        self._frames.append(frame)
        self._frame_time.append(state.n * self._step)

    def take(self) -> tuple[tuple[Array, dict[Key, Array]], tuple[Array, dict[Key, Array]]]:
        """The block on `time` and the block on `frame`, each (instants, values); both start anew."""
        block = (
            (np.array(self._time), _columns_of(self._rows)),
            (np.array(self._frame_time), _columns_of(self._frames)),
        )
        self._rows, self._frames, self._time, self._frame_time = [], [], [], []
        return block

    def __len__(self) -> int:
        return len(self._time)


def _translations(part: Part) -> int:
    """Displacement components of a node: a beam's rotations come after them."""
    return min(part.components, part.positions.shape[1])


def _columns_of(rows: Sequence[dict[Key, Array]]) -> dict[Key, Array]:
    return {key: np.array([row[key] for row in rows]) for key in rows[0]} if rows else {}


def _junction_operators(assembly: Assembly, fine: str, a: int, b: int) -> tuple[Any, Any, float, Array]:
    """C of a junction, the inverse of its Gram matrix, the mediator's volume, and φ → the fine part's resultant."""
    operator = assembly.constraints[a:b]
    gram = assembly.gram[a:b][:, a:b]
    index = assembly.system.names.index(fine)
    part = assembly.system.parts[index]
    first, last = assembly.start[index : index + 2]
    on_fine = operator[:, first:last].T.tocsr()
    resultant = np.array([on_fine[i :: part.components].sum(axis=0) for i in range(part.components)])
    resultant = resultant.reshape(part.components, -1)
    # Σ_n φ_n = 1: the entries of one component sum to the volume of the gluing zone
    inverse = factorise(gram).solve(np.eye(b - a)) if b - a <= _DENSE else FactoredInverse(factorise(gram))
    return operator, inverse, float(np.abs(resultant).sum()) / part.components, resultant
