"""Measures and figures of impacts of solids: contact force, release, vibration in flight, nodal pressures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray
from numpy.typing import NDArray

from arlequin.cases.case.checks import Check
from arlequin.cases.shared.impact import contact_ends
from arlequin.models.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def force_panels(
    panels: Mapping[str, Mapping[str, xarray.DataTree]],
    *,
    component: str,
    exact: Mapping[str, tuple[Any, Any]] | None = None,
) -> "Figure":
    """Contact force of several results over time, one panel per title; exact: curves (s, N) by label."""
    from arlequin.plots import style

    with style.panels(len(panels), 0.6 + 2.2 * len(panels), sharex=True, sharey=True) as (figure, rows):
        curves_by_title = {
            title: {name: _force(tree, component) for name, tree in runs.items()} for title, runs in panels.items()
        }
        curves = [curve for by_name in curves_by_title.values() for curve in by_name.values()]
        factor, unit = style.prefix(np.concatenate([force for _, force in curves]), "N")
        clock, second = style.prefix(np.concatenate([time for time, _ in curves]), "s")
        for axes, (title, by_name) in zip(rows, curves_by_title.items(), strict=True):
            for n, (name, (time, force)) in enumerate((exact or {}).items()):
                dash = style.DASHES[(1 + n) % len(style.DASHES)]
                axes.plot(clock * time, factor * force, dash, color=style.REFERENCE, label=name, zorder=3)
            for n, (name, (time, force)) in enumerate(by_name.items()):
                # the force at t_n is the mean over the step
                axes.plot(
                    clock * time,
                    factor * force,
                    color=style.COLOURS[n],
                    linestyle=style.DASHES[n % len(style.DASHES)],
                    drawstyle="steps-pre",
                    linewidth=1.1,
                    label=name,
                )
            axes.set_title(title, loc="left", fontsize=10)
            axes.set_ylabel(style.label("Contact force", unit))
            if len(by_name) + len(exact or {}) > 1:
                axes.legend()
        rows[-1].set_xlabel(style.label("Time", second))
    return figure


def pressure_panels(panels: "Mapping[str, NodePressures]", shares: tuple[float, ...] = (0.0, 0.4, 0.8)) -> "Figure":
    """Pressure of some contact nodes over time, one panel per title.

    shares: positions of the nodes over the largest contact half-width of the first result.
    """
    from arlequin.plots import style

    offsets = next(iter(panels.values())).chosen(shares).offset
    with style.panels(len(panels), 0.6 + 1.9 * len(panels), sharex=True, sharey=True) as (figure, rows):
        factor, unit = style.prefix(np.concatenate([nodes.pressure.ravel() for nodes in panels.values()]), "Pa")
        clock, second = style.prefix(np.concatenate([nodes.time for nodes in panels.values()]), "s")
        for axes, (title, nodes) in zip(rows, panels.items(), strict=True):
            for n, offset in enumerate(offsets):
                values = nodes.pressure[:, int(np.abs(nodes.offset - offset).argmin())]
                axes.plot(
                    clock * nodes.time,
                    factor * values,
                    color=style.COLOURS[n],
                    drawstyle="steps-pre",
                    linewidth=1.0,
                    label=f"node at x = {1e3 * offset:.3g} mm",
                )
            axes.set_title(title, loc="left", fontsize=10)
            axes.set_ylabel(style.label("Pressure", unit))
        rows[0].legend()
        rows[-1].set_xlabel(style.label("Time", second))
    return figure


def _force(result: xarray.DataTree, component: str) -> tuple[Any, Any]:
    return result.dataset["time"].values, result["interface/contact"].dataset["force"].sel(component=component).values


LATER = 1.25  # end of the comparison of forces and start of the flight, over the release time
PERIODS = 20  # periods needed for the frequency of the flight


def force_means(result: xarray.DataTree, steps: int = 1) -> NDArray[np.float64]:
    """Normal contact force (n,), N/m: means over groups of steps."""
    force = result["interface/contact"].dataset["force"].sel(component="y").values[1:]
    padded = np.pad(force, (0, -force.size % steps))
    return np.asarray(padded.reshape(-1, steps).mean(axis=1))


def released(result: xarray.DataTree) -> float:
    """End of the last step with contact, s; 0 without contact."""
    end = contact_ends(result.dataset["time"].values, force_means(result))[1]
    return 0.0 if np.isnan(end) else end


def height_change(result: xarray.DataTree) -> NDArray[np.float64]:
    """Change of height (frame,), m: displacement of the highest minus that of the lowest node."""
    ends = []
    for sign in (1.0, -1.0):
        parts = [part.dataset for part in result["part"].children.values()]
        part = max(parts, key=lambda group: float((sign * group["position"].values[:, 1]).max()))
        position = part["position"].values
        node = int((sign * position[:, 1] - 1e-6 * np.abs(position[:, 0])).argmax())
        ends.append(part["displacement"].values[:, node, 1])
    return np.asarray(ends[0] - ends[1])


def frequency(time: NDArray[np.float64], values: NDArray[np.float64], near: float) -> float:
    """Frequency (Hz) within 5 % of `near` with the best least-squares fit of a harmonic to the values."""
    angle = 2 * np.pi * np.multiply.outer(np.linspace(0.95, 1.05, 1001) * near, time - time.mean())
    taper = np.hanning(time.size)
    power = np.abs(np.exp(1j * angle) @ (taper * (values - values.mean())))
    return float(np.linspace(0.95, 1.05, 1001)[int(power.argmax())] * near)


def vibration(result: xarray.DataTree, exact: float) -> list[Check]:
    """Check of the oval vibration in a sufficiently long and well recorded flight; exact: frequency, Hz."""
    time = result.dataset["frame_time"].values
    start = LATER * released(result)
    flight = time > start
    if (time[-1] - start) * exact < PERIODS or (time[1] - time[0]) * exact > 0.25:
        return []
    computed = frequency(time[flight], height_change(result)[flight], exact)
    return [Check("frequency of the oval vibration in flight", computed, exact, 0.005, "Hz")]


@dataclass(frozen=True)
class NodePressures:
    """Nodal contact pressures (f, k), Pa, means over steps: time (f,), s; offset (k,): first coordinate, m."""

    time: Array
    offset: Array
    pressure: Array

    @classmethod
    def of(cls, result: xarray.DataTree, interface: str = "contact") -> "NodePressures":
        """Nodal pressures of the recorded frames."""
        group = result[f"interface/{interface}"].dataset
        offset = np.asarray(group["point_position"].values[:, 0], dtype=float)
        return cls(group["frame_time"].values.copy(), offset.copy(), group["pressure"].values.copy())

    def chosen(self, shares: tuple[float, ...]) -> "NodePressures":
        """Nodes nearest to the given fractions of the largest contact half-width."""
        pressed = self.pressure.any(axis=0)
        half = float(np.abs(self.offset[pressed]).max(initial=0.0))
        nodes = [int(np.abs(self.offset - share * half).argmin()) for share in shares]
        return NodePressures(self.time, self.offset[nodes], self.pressure[:, nodes])
