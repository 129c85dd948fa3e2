"""The state of a former run at one frame of its result, from which a system starts."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray

from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.part import Part, PathDependent
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array

_SAME = 1e-9  # distance between equal nodes or points, relative to the extent of their part
_PART = (
    "displacement", "velocity", "rotation", "angular_velocity", "point_memory", "plastic_strain", "generalised",
    "generalised_rate",
)  # fmt: skip
_INTERFACE = (
    "point_position", "pressure", "gap", "traction", "slip", "wear_work", "worn_depth", "spring_traction",
    "friction_variable",
)  # fmt: skip


@checked_call
class ResultFrame:
    """One frame of a result, in memory: a system starts from it by `System(from_result=…)`.

    result: of `simulate` or `open`; frame: its number, −1 is the last one. Displacements and velocities of the nodes,
    rotations of beams and rigid bodies, internal variables of inelastic parts (of results with
    `Record(point_memory=True)`), springs of friction, variables of friction laws, slip and wear of the interfaces.

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

    def __init__(self, result: Any, frame: int = -1) -> None:
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
        self.parts = {name: self._read(node, _PART, result) for name, node in groups["part"].children.items()}
        touching = {} if groups["interface"] is None else groups["interface"].children
        self.interfaces = {name: self._read(node, _INTERFACE, result) for name, node in touching.items()}

    def __repr__(self) -> str:
        return f"ResultFrame(t = {self.time:g} s, parts {', '.join(self.parts)})"

    def _read(self, node: Any, names: tuple[str, ...], result: Any) -> dict[str, Array]:
        """The values of the frame, by name; of variables on `time` those at its time."""
        data = node.to_dataset()
        if "member" in data.dims:
            raise UserError("from_result: is the result of an ensemble: simulate the member alone, and start from that")
        out = {name: data["position"].values for name in ("position",) if name in data}
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
        if "angle" in data:  # of a rigid body
            out["angle"] = data["angle"].values[instant]
            out["angular_velocity"] = data["angular_velocity"].values[instant]
        return {name: np.asarray(values, dtype=float) for name, values in out.items()}

    def check(self, part: Part) -> None:
        """Raise `UserError` where a part of this name has other nodes, or its state was not recorded."""
        recorded = self.parts[part.name]
        position, here = recorded["position"], part.positions
        if position.shape != here.shape:
            raise UserError(
                f"from_result: part '{part.name}' has {_nodes(position)} there and {_nodes(here)} here: give it the "
                "same mesh"
            )
        apart = float(np.abs(position - here).max(initial=0.0))
        if apart > _SAME * float(np.ptp(here, axis=0).max() or np.abs(here).max()):
            raise UserError(
                f"from_result: the nodes of part '{part.name}' are up to {apart:.3g} m from those there: give it the "
                "same mesh"
            )
        turns = part.components - min(part.components, here.shape[1])
        if turns != (recorded["rotation"].shape[1] if "rotation" in recorded else 0):
            raise UserError(f"from_result: part '{part.name}' has rotations only here or only there: keep its kind")
        for what in ("displacement", "velocity"):
            if not np.isfinite(recorded[what]).all():
                raise UserError(
                    f"from_result: the {what} of part '{part.name}' is not finite in frame {self.number}: take a frame "
                    "in which it is"
                )

    def field(self, what: str, part: Part) -> Array:
        """The "displacement" or "velocity" of the part's nodes (nodal,), m or m/s, with the rotations of beams."""
        recorded = self.parts[part.name]
        if "rotation" not in recorded:
            return recorded[what].ravel()
        return np.hstack(
            [recorded[what], recorded["rotation" if what == "displacement" else "angular_velocity"]]
        ).ravel()

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
        virgin = assembled.fresh()
        if not assembled.dissipates:
            return virgin
        recorded = self.parts[part.name]
        if "point_memory" not in recorded:
            raise UserError(
                f"from_result: the internal variables of part '{part.name}' are not recorded there: run it with "
                "record=Record(point_memory=True)"
            )
        weighs = assembled.everywhere(np.ones(len(virgin))) > 0.0
        values = recorded["point_memory"]
        if values.shape != (weighs.size, *virgin.shape[1:]):
            raise UserError(
                f"from_result: part '{part.name}' has internal variables of shape {values.shape} there, "
                f"{(weighs.size, *virgin.shape[1:])} here: give it the same material and junctions"
            )
        return np.ascontiguousarray(values[weighs])

    def flowed(self, name: str) -> bool:
        """Whether a part has flowed plastically."""
        return bool(self.parts[name].get("plastic_strain", np.zeros(1)).any())

    def points(self, name: str, positions: Array) -> Mapping[str, Array] | None:
        """The variables of an interface with contact points at these positions (k, a), by name; None without it."""
        recorded = self.interfaces.get(name)
        if recorded is None:
            return None
        recorded_positions = recorded["point_position"]
        if recorded_positions.shape != positions.shape or (
            np.abs(recorded_positions - positions).max(initial=0.0) > _SAME * np.abs(positions).max(initial=0.0)
        ):
            raise UserError(
                f"from_result: interface '{name}' has other contact points there ({len(recorded_positions)}) than here "
                f"({len(positions)}): give it the same surfaces"
            )
        return recorded


def _nodes(positions: Array) -> str:
    return f"{len(positions)} nodes on {positions.shape[1]} axes"
