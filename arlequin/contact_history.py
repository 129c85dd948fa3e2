"""What a run records of an interface."""

from dataclasses import dataclass

import numpy as np

from arlequin.action import Action
from arlequin.contact import Contact
from arlequin.record import Key, Variable
from arlequin.schemes import State, StepReport
from multilevel.law import Array

AXES = ("x", "y", "z")


@dataclass(frozen=True)
class ContactState:
    """The contact of all interfaces after a step: gaps (k,), m, and what it did in the step."""

    gaps: Array
    action: Action

    @classmethod
    def of(cls, contact: Contact, state: State, report: StepReport | None) -> "ContactState":
        """Report None: the initial state."""
        place = contact.basis @ state.u
        touch = report.touch if report else contact.touch(place)
        return cls(touch.gaps(place), report.action if report else Action.none(touch))


class ContactHistory:
    """Variables of one interface: forces are means over the step, slip adds up over the steps in contact."""

    def __init__(self, contact: Contact, index: int, step: float, duration: float) -> None:
        """duration: what turns an impulse into a force (1 in statics)."""
        self._interface = contact.interfaces[index]
        self._group = f"interface/{self._interface.name}"
        self._step, self._duration = step, duration
        kin = contact.reference[index]
        self._positions = kin.positions
        self._axes = kin.normals.shape[1]
        self._points = slice(*contact.start[index : index + 2])
        self._frictional = self._interface.friction is not None
        self._area = contact.laws.area[self._points]
        self._span = slice(*contact.span[index : index + 2])
        self._resultant = contact.resultant(index)
        self._slip = np.zeros(self._area.size)
        self._frame: dict[Key, Array] = {}

    def variables(self) -> list[Variable]:
        """With units and names."""
        group, axes, count = self._group, AXES[: self._axes], self._area.size

        def given(name: str, dims: tuple[str, ...], units: str, text: str, data: Array) -> Variable:
            coords = {"axis": axes} if "axis" in dims else {}
            return Variable(group, name, dims, units=units, long_name=text, data=data, coords=coords)

        def timed(name: str, units: str, text: str) -> Variable:
            return Variable(group, name, ("time",), (), units, text)

        def field(name: str, units: str, text: str) -> Variable:
            return Variable(group, name, ("frame", "point"), (count,), units, text)

        def vector(name: str, dims: tuple[str, ...], shape: tuple[int, ...], units: str, text: str) -> Variable:
            lengths, coords = (*shape, len(axes)), {"component": axes}
            return Variable(group, name, (*dims, "component"), lengths, units, text, coords=coords)

        out = [
            given("point_position", ("point", "axis"), "m", "initial position of the contact point", self._positions),
            given("area", ("point",), "m2", "area of the contact point", self._area),
            vector("force", ("time",), (), "N", "contact force on the slave, mean over the step"),
            timed("impulse", "N s", "normal contact impulse of the step"),
            timed("active", "1", "contact points under pressure"),
            timed("gap_min", "m", "smallest gap"),
            field("gap", "m", "gap"),
            field("pressure", "Pa", "contact pressure, mean over the step"),
            field("status", "1", "0 open, 1 slipping or without friction, 2 sticking"),
        ]
        if self._frictional:
            out += [
                timed("wear_power", "W", "normal force times slip rate, mean over the step"),
                vector("traction", ("frame", "point"), (count,), "Pa", "tangential traction on the slave"),
                field("slip", "m", "length of the slip in contact"),
            ]
        return out

    def add(self, now: ContactState) -> dict[Key, Array]:
        """The values of a step on `time`; keeps those of a frame."""
        group, points, action = self._group, self._points, now.action
        gaps, normal = now.gaps[points], action.normal[points]
        row: dict[Key, Array] = {
            (group, "force"): self._resultant @ action.spread[self._span] / self._duration,
            (group, "impulse"): normal.sum() * (self._step / self._duration),
            (group, "active"): np.array(np.count_nonzero(normal > 0.0)),
            (group, "gap_min"): gaps.min(),
        }
        pressure = normal / (self._duration * self._area)
        status = action.status[points].astype(float)
        self._frame = {(group, "gap"): gaps, (group, "pressure"): pressure, (group, "status"): status}
        if self._frictional:
            self._slip = self._slip + action.slip[points]
            row[group, "wear_power"] = action.wear[points].sum() / self._step
            self._frame[group, "traction"] = action.tangential[points] / (self._duration * self._area[:, None])
            self._frame[group, "slip"] = self._slip
        return row

    def frame(self) -> dict[Key, Array]:
        """The fields after the last step."""
        return self._frame
