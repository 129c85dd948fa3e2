"""Time series from a result: force of an interface, displacement of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arlequin.models.checks import integer
from arlequin.models.errors import UserError
from arlequin.models.types import Array, Indices
from arlequin.plots import style

if TYPE_CHECKING:
    import xarray


AXES = "xyz"
_EVEN = 1e-6  # of a step: what equal steps may differ by


def interface_of(result: xarray.DataTree, interface: str | None) -> xarray.Dataset:
    """The interface of that name, or the only one."""
    there = list(result["interface"].children) if "interface" in result.children else []
    if interface is None and len(there) == 1:
        interface = there[0]
    if interface is None and there:
        raise UserError(f"the result has several interfaces: choose interface=, one of {', '.join(there)}")
    if interface not in there:
        raise UserError(f"interface {interface}: not in the result; there are {', '.join(there) or 'none'}")
    return result[f"interface/{interface}"].to_dataset()


def force(result: xarray.DataTree, interface: str | None, component: int | None) -> tuple[Array, Array]:
    """Instants (t,), s, and the contact force (t,), N: a component, or the length of the vector."""
    group = interface_of(result, interface)
    vectors = group["force"].values
    if component is None:
        return group["time"].values, magnitude(vectors)
    return group["time"].values, vectors[:, integer("component", component, 0, vectors.shape[1] - 1)]


def force_unit(result: xarray.DataTree, interface: str | None) -> str:
    """Unit of the contact force: N, or N/m of plane models of 1 m thickness."""
    return str(interface_of(result, interface)["force"].attrs.get("units", "N"))


def displacement(result: xarray.DataTree, part: str, node: int) -> tuple[Array, Array]:
    """Instants of the frames (f,), s, and the displacement of a node (f, component), m."""
    there = list(result["part"].children) if "part" in result.children else []
    if part not in there:
        raise UserError(f"part {part}: not in the result; there are {', '.join(there) or 'none'}")
    group = result[f"part/{part}"].to_dataset()
    if "displacement" not in group:
        raise UserError(f"part {part}: its displacement is not recorded")
    node = integer("node", node, 0, group.sizes["node"] - 1)
    return result.dataset["frame_time"].values, group["displacement"].isel(node=node).values


def even(time: Array, values: Array) -> tuple[Array, Array]:
    """The series without its last instant if that is not equidistant with the others."""
    steps = np.diff(time)
    uneven = steps.size > 1 and abs(steps[-1] - steps[0]) > _EVEN * steps[0]
    return (time[:-1], values[:-1]) if uneven else (time, values)


def magnitude(vectors: Array) -> Array:
    """Length of vectors (t, i) → (t,)."""
    return np.asarray(np.sqrt((vectors.reshape(len(vectors), -1) ** 2).sum(axis=1)))


def is_static(result: xarray.DataTree) -> bool:
    """Whether the run was one of `Static`, whose forces are at the ends of the steps, not means over them."""
    return str(result.attrs.get("scheme", "")).startswith("Static")


def instants(result: xarray.DataTree, frames: Indices, digits: str = ".4g") -> list[str]:
    """Names of frames (f,): «t = 1.5 ms», all with the same prefix; of a static run «load step 3 of 5»."""
    root = result.dataset
    times = np.asarray(root["frame_time"].values[frames], dtype=float)
    if is_static(result) and "time" in root.coords:
        steps = np.asarray(root["time"].values, dtype=float)
        numbers = np.abs(steps[:, None] - times).argmin(axis=0)
        return [f"load step {number} of {steps.size - 1}" for number in numbers]
    clock, second = style.prefix(times, "s")
    return [f"t = {clock * time:{digits}} {second}" for time in times]


def size_of(result: xarray.DataTree) -> float:
    """Largest extent of the parts along an axis, m; 0 where no positions are recorded."""
    groups = [node.dataset for node in result["part"].children.values()] if "part" in result.children else []
    places = [group["position"].values for group in groups if "position" in group.variables]
    if not places or len({each.shape[1] for each in places}) > 1:
        return max((float(np.ptp(each, axis=0).max()) for each in places), default=0.0)
    return float(np.ptp(np.concatenate(places), axis=0).max())
