"""Power spectra of the force of an interface and of the motion of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arlequin.models.checks import integer
from arlequin.plots import histories, style
from arlequin.results.members import one_member
from arlequin.results.reading import of_result
from arlequin.results.signals import power_spectrum

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

    from arlequin.models.types import Array


_SHOWN = 1e-12  # densities below this share of the largest are round-off and not shown


@of_result
def force_spectrum(
    result: xarray.DataTree,
    interface: str | None = None,
    *,
    component: int | None = None,
    segments: int = 8,
    member: int | None = None,
) -> Figure:
    """One-sided power spectral density (N²/Hz) of a contact force less its mean, by Welch's method.

    interface: its name, the only one by default; component: None takes the length of the force vector;
    segments: as of `arlequin.results.signals.power_spectrum`; member: of an ensemble, from 0.
    """
    result = one_member(result, member, "a spectrum")
    time, force = histories.force(result, interface, component)
    name = "Contact force" if component is None else f"Contact force {histories.AXES[component]}"
    # a force at t_n is the mean over the step before: the start of the run has none
    unit = histories.force_unit(result, interface)
    return _figure(*power_spectrum(time[1:], force[1:], segments), name, "N²/Hz" if unit == "N" else f"({unit})²/Hz")


@of_result
def displacement_spectrum(
    result: xarray.DataTree,
    part: str,
    node: int,
    *,
    component: int = 0,
    segments: int = 8,
    member: int | None = None,
) -> Figure:
    """One-sided power spectral density (m²/Hz) of a node's displacement less its mean, from the recorded frames.

    member: of an ensemble, from 0.
    """
    result = one_member(result, member, "a spectrum")
    time, u = histories.even(*histories.displacement(result, part, node))
    motion = u[:, integer("component", component, 0, u.shape[1] - 1)]
    name = f"Displacement {histories.AXES[component]}, {part}, node {node}"
    return _figure(*power_spectrum(time, motion, segments), name, "m²/Hz")


def _figure(frequencies: Array, density: Array, name: str, unit: str) -> Figure:
    """The density over the frequencies; f = 0 is left out, as the mean is cut off."""
    with style.panels(1, 3.2) as (figure, (axes,)):
        axes.semilogy(frequencies[1:], density[1:], color=style.COLOURS[0], linewidth=1.2)
        top = density[1:].max()
        if top > 0.0:
            axes.set_ylim(max(0.5 * density[1:].min(), _SHOWN * top), 2.0 * top)
        axes.set_title(name, loc="left")
        axes.set_xlabel(style.label("Frequency", "Hz"))
        axes.set_ylabel(style.label("Power spectral density", unit))
        axes.margins(x=0.01)
    return figure
