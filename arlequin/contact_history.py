"""What a run records of an interface."""

import numpy as np
from numpy.typing import NDArray

from arlequin.contact import Contact
from arlequin.products import applied
from arlequin.record import Key, Variable
from arlequin.schemes.block import Block
from models.types import Array
from multilevel.kinematics import PairingMaster


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
        self._wear_law = self._interface.wear
        self._area = contact.laws.area[self._points]
        self._span = slice(*contact.span[index : index + 2])
        self._resultant = contact.resultant(index)
        self._slip, self._wear = np.zeros((2, self._area.size))
        slave = contact.sides[index][0]
        # a few points, each of its own: all their steps are kept
        self._lone = self._interface.slave.facets.shape[1] == 1 and self._axes > 1 and slave.turning is None
        nodes = not isinstance(self._interface.master, PairingMaster)  # that brings points which are no nodes
        self._follow = slave.rows if self._lone and nodes else None

    @property
    def sums(self) -> tuple[Array, Array]:
        """Slip (k,), m, and work of wear (k,), J, so far."""
        return self._slip, self._wear

    @sums.setter
    def sums(self, sums: tuple[Array, Array]) -> None:
        self._slip, self._wear = sums

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

        def each(name: str, units: str, text: str) -> Variable:
            return Variable(group, name, ("time", "point"), (count,), units, text)

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
                timed("friction_power", "W", "what friction takes, mean over the step"),
                vector("traction", ("frame", "point"), (count,), "Pa", "tangential traction on the slave"),
                field("slip", "m", "length of the slip in contact"),
                field("wear_work", "J/m2", "pressure times slip rate, integrated over the time"),
            ]
        if self._follow is not None:
            out.append(vector("point_displacement", ("time", "point"), (count,), "m", "displacement of the point"))
        if self._lone:
            out.append(each("point_force", "N", "normal contact force on the point, mean over the step"))
            if self._frictional:
                out.append(each("point_wear_power", "W", "normal force times slip rate, mean over the step"))
        if self._wear_law is not None:
            out += [
                timed("worn_volume", "m3", "volume worn off"),
                field("worn_depth", "m", "depth worn off"),
            ]
            if self._wear_law.density is not None:
                out.append(timed("worn_mass", "kg", "mass worn off"))
        return out

    def add(self, block: Block, kept: NDArray[np.int64]) -> tuple[dict[Key, Array], dict[Key, Array]]:
        """The values of the steps on `time`, and those of the steps `kept` (f,) of the block on `frame`."""
        group, points, action = self._group, self._points, block.action
        gaps, normal = block.gaps[..., points], action.normal[..., points]
        rows: dict[Key, Array] = {
            (group, "force"): np.vecdot(action.spread[..., None, self._span], self._resultant) / self._duration,
            (group, "impulse"): normal.sum(axis=-1) * (self._step / self._duration),
            (group, "active"): np.count_nonzero(normal > 0.0, axis=-1),
            (group, "gap_min"): gaps.min(axis=-1),
        }
        frames: dict[Key, Array] = {
            (group, "gap"): gaps[kept],
            (group, "pressure"): normal[kept] / (self._duration * self._area),
            (group, "status"): action.status[kept][..., points].astype(float),
        }
        if self._frictional:
            slip, wear = _summed(self._slip, action.slip[..., points]), _summed(self._wear, action.wear[..., points])
            self._slip, self._wear = slip[-1], wear[-1]
            rows[group, "wear_power"] = action.wear[..., points].sum(axis=-1) / self._step
            rows[group, "friction_power"] = action.rubbed[..., points].sum(axis=-1) / self._step
            frames[group, "traction"] = action.tangential[kept][..., points, :] / (self._duration * self._area[:, None])
            frames[group, "slip"] = slip[kept]
            frames[group, "wear_work"] = wear[kept] / self._area
        if self._follow is not None:
            moved = applied(self._follow, block.u)
            rows[group, "point_displacement"] = moved.reshape(*moved.shape[:-1], -1, self._axes)
        if self._lone:
            rows[group, "point_force"] = normal / self._duration
            if self._frictional:
                rows[group, "point_wear_power"] = action.wear[..., points] / self._step
        if self._wear_law is not None:
            depth = np.zeros_like(gaps) if block.worn is None else block.worn[..., points]
            rows[group, "worn_volume"] = depth @ self._area
            frames[group, "worn_depth"] = depth[kept]
            if self._wear_law.density is not None:
                rows[group, "worn_mass"] = self._wear_law.density * rows[group, "worn_volume"]
        return rows, frames


def _summed(before: Array, values: Array) -> Array:
    """Running sums (b, …, k) of the values (b, …, k) on top of those (…, k) before, added one by one."""
    first = np.broadcast_to(before, values.shape[1:])
    return np.asarray(np.cumsum(np.concatenate([first[None], values]), axis=0)[1:])
