"""The state of a former run at one frame of its result, from which a system starts."""

from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import xarray

from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.lumped.springs import Spring
from arlequin.models.part import Part, PathDependent, Surface
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.interface import Interface
from arlequin.system.part_handover import PartHandover
from arlequin.transfer.surface_values import SurfaceTransfer, distribute

_SAME = 1e-9  # distance between equal points, relative to their coordinates
_STATIC = ("position", "connectivity", "cell_nodes", "cell_lattice", "area", "point_position")
_PART = (
    "displacement", "velocity", "rotation", "angular_velocity", "point_memory", "plastic_strain", "generalised",
    "generalised_rate",
)  # fmt: skip
_INTERFACE = (
    "pressure", "gap", "traction", "slip", "wear_work", "worn_depth", "spring_traction",
    "friction_variable",
)  # fmt: skip

_SPRING = ("hysteretic_force",)


@checked_call
class ResultFrame:
    """One frame of a result, in memory: a system starts from it by `System(from_result=…)`.

    result: of `simulate` or `open`; frame: its number, −1 is the last one. Displacements and velocities of the nodes,
    rotations of beams and rigid bodies, internal variables of inelastic parts (of results with
    `Record(point_memory=True)`), springs of friction, variables of friction laws, slip and wear of the interfaces,
    internal variables of springs whose law has a memory, by the name of the spring.

    parts: the names of the parts to take, by default all; the others start anew, and so do the interfaces between
    them. As a mapping, new name → name in the result: a patch may start from the field of the part that it lies in.

    A part may have another mesh than it had: see `arlequin.transfer.mesh_transfer` for the fields, `point_values` for
    internal variables and `surface_values` for contact points. What the transfer changes is the attribute `handover`
    of the new result.

    >>> import arlequin as aq
    >>> stone = aq.PointMasses("stone", (0.0, 0.0), 2.0)  # m, kg
    >>> fall = aq.simulate(aq.System([stone], gravity=(0.0, -10.0)), aq.Theta(0.5), duration=1.0, step=0.1)
    >>> halfway = aq.ResultFrame(fall, 5)
    >>> halfway
    ResultFrame(t = 0.5 s, parts stone)
    >>> again = aq.System([stone], gravity=(0.0, -10.0), from_result=halfway)
    >>> end = aq.simulate(again, aq.Theta(0.5), duration=0.5, step=0.1)
    >>> bool(abs(end["part/stone"]["displacement"][-1] - fall["part/stone"]["displacement"][-1]).max() < 1e-14)
    True
    """

    def __init__(self, result: Any, frame: int = -1, *, parts: Iterable[str] | Mapping[str, str] | None = None) -> None:
        rule = "must be a result: that of simulate(…), or open('run.zarr')"
        if not isinstance(result, xarray.DataTree):
            raise UserTypeError.parameter("from_result", result, rule)
        checks.integer("frame", frame)
        groups = {kind: result.children.get(kind) for kind in ("part", "interface")}
        if groups["part"] is None or "frame_time" not in result.coords:
            raise UserError.parameter("from_result", result, rule)
        times = result.coords["frame_time"].values
        if not -times.size <= frame < times.size:
            raise UserError.parameter("frame", frame, f"must be one of the {times.size} frames of the result")
        self.number, self.time = frame % times.size, float(times[frame])
        self.end = float(result.coords["time"].values[-1])
        recorded = {name: self._read(node, _PART, result) for name, node in groups["part"].children.items()}
        self.names = _chosen(parts, tuple(recorded))
        self.parts = {name: recorded[former] for name, former in self.names.items()}
        touching = {} if groups["interface"] is None else groups["interface"].children
        self.interfaces = {name: self._read(node, _INTERFACE, result) for name, node in touching.items()}
        springs = result.children.get("spring")
        self.springs = (
            {}
            if springs is None
            else {name: self._read(node, _SPRING, result) for name, node in springs.children.items()}
        )
        self.energy = self._energy(result)

    @classmethod
    def last(cls, result: Any) -> "ResultFrame":
        """The last frame; UserError where the run went on after it (it was stopped between two frames)."""
        frame = cls(result)
        if frame.end > frame.time * (1.0 + 1e-9):
            raise UserError(
                f"from_result: its last frame is at {frame.time:g} s, and the run went to {frame.end:g} s: resume it "
                "to the end, or take that frame, as ResultFrame(result, -1)"
            )
        return frame

    def _energy(self, result: Any) -> dict[str, float]:
        """Stored energies, J, at the time of the frame, by kind."""
        if "energy" not in result:
            return {}
        instant = int(np.argmin(np.abs(result["time"].values - self.time)))
        row = result["energy"].isel(time=instant)
        kinds = [str(kind) for kind in row["kind"].values]
        return {kind: float(row.sel(kind=kind)) for kind in ("kinetic", "strain", "asperity") if kind in kinds}

    def __repr__(self) -> str:
        return f"ResultFrame(t = {self.time:g} s, parts {', '.join(self.parts)})"

    def _read(self, node: Any, names: tuple[str, ...], result: Any) -> dict[str, Array]:
        """The values of the frame, by name; of variables on `time` those at its time."""
        data = node.to_dataset()
        if "member" in data.dims:
            raise UserError("from_result: is the result of an ensemble: simulate the member alone, and start from that")
        out = {name: data[name].values for name in _STATIC if name in data}
        for name in names:
            if name in data:
                values = data[name]
                out[name] = (values.isel(frame=self.number) if "frame" in values.dims else values).values
        instant = int(np.argmin(np.abs(result["time"].values - self.time)))
        if "worn_depth" in data and self.number:  # wear of the last step still opens the gap
            depths, times = data["worn_depth"], result["frame_time"].values
            rate = (out["worn_depth"] - depths.isel(frame=self.number - 1).values) / (
                self.time - float(times[self.number - 1])
            )
            out["worn_opening"] = rate * float(result.attrs["step"])
        if "momentum" in data:
            out["momentum"] = data["momentum"].values[instant]
        if "angle" in data:  # of a rigid body
            out["angle"] = data["angle"].values[instant]
            out["angular_velocity"] = data["angular_velocity"].values[instant]
        return {name: np.asarray(values, dtype=float) for name, values in out.items()}

    def check(self, part: Part) -> None:
        """Raise `UserError` where a part of this name is another body, or its state was not recorded."""
        self.handover(part)
        for what in ("displacement", "velocity"):
            if not np.isfinite(self.parts[part.name][what]).all():
                raise UserError(
                    f"from_result: the {what} of part '{part.name}' is not finite in frame {self.number}: take a frame "
                    "in which it is"
                )

    def handover(self, part: Part) -> PartHandover:
        """The state of a part on its own mesh."""
        handovers = _HANDOVERS.setdefault(self, {})
        if part.name not in handovers or handovers[part.name].part is not part:
            whole = sum(former == self.names[part.name] for former in self.names.values()) == 1
            whole = whole or self.names[part.name] == part.name
            handovers[part.name] = PartHandover.of(part, self.parts[part.name], whole)
        return handovers[part.name]

    def field(self, what: str, part: Part) -> Array:
        """The "displacement" or "velocity" of the part's nodes (nodal,), m or m/s, with the rotations of beams."""
        return self.handover(part).field(what)

    def angle(self, what: str, part: Part) -> float | None:
        """The angle of a rigid body of the plane, rad, or its rate, rad/s; None of other parts."""
        recorded = self.parts[part.name]
        if "angle" not in recorded:
            return None
        return float(recorded["angle" if what == "displacement" else "angular_velocity"])

    def generalised(self, what: str, part: Part, count: int) -> Array:
        """The generalised coordinates (count,) of a superelement, or their rates; UserError where it has others."""
        recorded = self.parts[part.name].get("generalised" if what == "displacement" else "generalised_rate")
        if recorded is None or recorded.size != count:
            there = 0 if recorded is None else recorded.size
            raise UserError(
                f"from_result: superelement '{part.name}' has {there} generalised coordinates there and {count} here: "
                "give it the same matrices"
            )
        return recorded

    def memory(self, part: Part, assembled: PathDependent) -> Array:
        """Internal variables (c, q, m) of the points of the cells of nonzero weight."""
        return self.handover(part).memory(assembled)

    def flowed(self, name: str) -> bool:
        """Whether a part has flowed plastically."""
        return bool(self.parts[name].get("plastic_strain", np.zeros(1)).any())

    def takes(self, interface: Interface) -> bool:
        """Whether the state of an interface is taken: it has its name, and all of its parts are."""
        surfaces = (side for side in (interface.slave, interface.master) if isinstance(side, Surface))
        return interface.name in self.interfaces and all(side.part.name in self.parts for side in surfaces)

    def takes_spring(self, spring: Spring) -> bool:
        """Whether the state of a spring is taken: the result has it, and all of its parts are taken."""
        ends = (spring.first, spring.second)
        return spring.name in self.springs and all(end is None or end.part.name in self.parts for end in ends)

    def spring_memory(self, name: str, count: int) -> Array:
        """Forces (count,), N, by the internal variables of a spring; UserError where it had others."""
        forces = self.springs[name].get("hysteretic_force", np.zeros(0))
        if forces.size != count:
            raise UserError(
                f"from_result: spring '{name}' has {count} internal variables here and {forces.size} there: give it "
                "the law and the nodes that it had, or another name, by which it starts unloaded"
            )
        return forces

    def points(self, name: str, positions: Array, areas: Array) -> Mapping[str, Array]:
        """The variables of an interface at contact points of these positions (k, a) and areas (k,), m², by name.

        At other points than those of the result they are interpolated; the worn volume and the work of wear are those
        of the result. UserError where the points are on another surface.
        """
        recorded = self.interfaces[name]
        former = recorded["point_position"]
        if former.shape == positions.shape and (
            np.abs(former - positions).max(initial=0.0) <= _SAME * np.abs(positions).max(initial=0.0)
        ):
            return recorded
        interpolated = _INTERPOLATED.setdefault(self, {})
        if name not in interpolated or interpolated[name]["point_position"] is not positions:
            interpolated[name] = self._interpolate(name, positions, areas)
        return interpolated[name]

    def _interpolate(self, name: str, positions: Array, areas: Array) -> Mapping[str, Array]:
        recorded = self.interfaces[name]
        former = recorded["point_position"]
        if former.shape[1] != positions.shape[1]:
            raise UserError(f"from_result: interface '{name}' has {former.shape[1]} axes there: keep its dimension")
        transfer = SurfaceTransfer.of(former, positions, name)
        out = {"point_position": positions, "area": areas}
        for what, values in recorded.items():
            if what in ("worn_depth", "wear_work"):
                out[what] = distribute(positions, former, name, values, (recorded["area"], areas))
            elif what not in out and what not in _STATIC:
                finite = np.nan_to_num(values, posinf=np.finfo(float).max)  # gaps of points that face nothing
                out[what] = transfer.interpolate(finite)
        return out


# of a frame, by the names of parts and interfaces; not its attributes, which are what it compares and hashes by
_HANDOVERS: WeakKeyDictionary[ResultFrame, dict[str, PartHandover]] = WeakKeyDictionary()
_INTERPOLATED: WeakKeyDictionary[ResultFrame, dict[str, Mapping[str, Array]]] = WeakKeyDictionary()


def _chosen(parts: Iterable[str] | Mapping[str, str] | None, known: tuple[str, ...]) -> dict[str, str]:
    """Name in the result by the name of a part."""
    if parts is None:
        return {name: name for name in known}
    if isinstance(parts, Mapping):
        chosen = dict(parts)
    else:
        names = checks.items("parts", parts, str, "must be a list of names of parts")
        chosen = {name: name for name in names}
    for former in chosen.values():
        checks.one_of("parts", former, known)
    return chosen
