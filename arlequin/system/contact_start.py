"""The contact at the start of a run: history of its laws, springs of friction and wear from a former run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.multilevel.interface import Interface
from arlequin.multilevel.laws.wear import WearState
from arlequin.system.contact import Contact
from arlequin.system.contact_kinematics import ContactKinematics
from arlequin.system.result_frame import ResultFrame


@dataclass(frozen=True, eq=False)
class ContactStart:
    """Kinematics at the initial displacements, gaps (k,), m, history of the laws, and wear, None without any.

    forces (r,), N: of the contact in the frame of a former result, the first guess of the first step; 0 without one.
    """

    contact: Contact
    kinematics: ContactKinematics
    gaps: Array
    history: Array
    worn: WearState | None
    forces: Array

    @classmethod
    def of(cls, contact: Contact, u: Array, frame: ResultFrame | None) -> "ContactStart":
        """The contact at u (d,); frame: of a former result, whose interfaces are matched by name."""
        basis_displacement = contact.basis_product(u)
        worn = None if frame is None else _worn(contact, frame)
        kinematics = contact.kinematics(basis_displacement, worn=worn)
        gaps = kinematics.gaps(basis_displacement, 1.0)
        history, forces = contact.laws.start_history(gaps), np.zeros(contact.laws.row_count)
        if frame is not None and contact.count:
            _carry(contact, kinematics, frame, history, forces)
            _carry_memory(contact, frame, history)
        return cls(contact, kinematics, gaps, history, worn, forces)

    @cached_property
    def springs(self) -> Array:
        """Tractions (r,), Pa, of the springs of friction."""
        laws = self.contact.laws
        if not laws.has_elastic_stick:
            return np.zeros(laws.row_count)
        return laws.spring_traction(self.history, self.kinematics.tangents)

    @property
    def stored(self) -> Array:
        """Forces (r,), N, of the layers and of the springs of friction."""
        laws = self.contact.laws
        friction_forces = np.repeat(laws.area, np.diff(laws.first)) * self.springs
        pressure = laws.pressure(self.gaps) + laws.memory_pressure(self.history)
        return self.kinematics.normal(laws.area * pressure) + friction_forces

    @property
    def energy(self) -> float:
        """Energy stored in layers, springs with a law and springs of friction, J."""
        return float(self.contact.laws.stored_energy(self.gaps, self.springs, self.history))


def start_sums(contact: Contact, frame: ResultFrame) -> dict[str, tuple[Array, Array]]:
    """Accumulated slip (k,), m, and normal force times slip (k,), J, by the name of the interface."""
    out = {}
    for name, points, last_frame in _interfaces(contact, frame):
        if "slip" in last_frame:
            out[name] = last_frame["slip"], last_frame["wear_work"] * contact.laws.area[points]
    return out


def _interfaces(contact: Contact, frame: ResultFrame) -> list[tuple[str, slice, Mapping[str, Array]]]:
    """Name, points and former values of the interfaces with friction or wear."""
    return [
        (item.name, points, last_frame)
        for item, points, last_frame in former_points(contact, frame)
        if item.friction is not None or item.wear is not None
    ]


def former_points(contact: Contact, frame: ResultFrame) -> Iterator[tuple[Interface, slice, Mapping[str, Array]]]:
    """Interfaces that a result has, their points, and the values of the result at them."""
    for item, kin, (a, b) in zip(contact.interfaces, contact.reference, pairwise(contact.start), strict=False):
        if frame.takes(item):
            points = slice(int(a), int(b))
            yield item, points, frame.points(item.name, kin.positions, contact.laws.area[points])


def _worn(contact: Contact, frame: ResultFrame) -> WearState | None:
    for item in contact.interfaces:
        depth = frame.interfaces[item.name].get("worn_depth") if frame.takes(item) else None
        if depth is not None and depth.any() and item.wear is None:
            raise UserError(f"from_result: interface '{item.name}' wore there: give it wear=Archard(…) here too")
    if contact.wear_rate is None:
        return None
    depth, opening = np.zeros((2, contact.count))
    for _, points, last_frame in _interfaces(contact, frame):
        depth[points], opening[points] = last_frame.get("worn_depth", 0.0), last_frame.get("worn_opening", 0.0)
    return WearState(depth, opening) if depth.any() else None


def _carry(contact: Contact, kinematics: ContactKinematics, frame: ResultFrame, history: Array, forces: Array) -> None:
    """Write springs and variables of friction to a history, and the forces of the frame (r,), N."""
    laws, tangents = contact.laws, kinematics.tangents
    axes = kinematics.normals.shape[1]
    springs, variables = np.zeros((contact.count, axes)), np.zeros((contact.count, 3))
    for _, points, last_frame in _interfaces(contact, frame):
        spring_traction = last_frame.get("spring_traction", last_frame.get("traction"))
        if spring_traction is not None:
            springs[points] = spring_traction
        for column, name in enumerate(("slip", "pressure", "friction_variable")):
            variables[points, column] = last_frame.get(name, 0.0)
    traction = np.zeros(laws.row_count)
    tangential = np.ones(laws.row_count, dtype=bool)
    tangential[laws.first[:-1]] = False
    point_of_row = np.repeat(np.arange(contact.count), np.diff(laws.first))[tangential]
    tangential_traction = np.einsum("kta,ka->kt", tangents, springs)
    traction[tangential] = tangential_traction[np.diff(laws.first) > 1].ravel()
    if laws.has_elastic_stick:
        laws.store_spring_traction(history, traction, tangents)
    if laws.state_dependent:
        variables_history = history[laws.sliding_rows[laws.slides]]
        variables_history[:, :3] = variables[laws.slides]
        history[laws.sliding_rows[laws.slides]] = variables_history
    forces[tangential] = laws.area[point_of_row] * traction[tangential]
    for _, points, last_frame in former_points(contact, frame):
        forces[laws.first[points]] = laws.area[points] * last_frame["pressure"]


def _carry_memory(contact: Contact, frame: ResultFrame, history: Array) -> None:
    """Write the internal variables of springs of the frame to a history; springs that it does not have start anew."""
    laws = contact.laws
    forces, points = laws.memory_forces(history), laws.memory_points
    for item, (a, b) in zip(contact.springs, pairwise(contact.start[len(contact.interfaces) :]), strict=True):
        at = (a <= points) & (points < b)
        if at.any() and frame.takes_spring(item.spring):
            forces[at] = frame.spring_memory(item.spring.name, int(np.count_nonzero(at)))
    try:
        laws.store_memory_forces(history, forces)
    except UserError as error:
        raise UserError(f"from_result: {error.message}: give the spring the law that it had") from None
