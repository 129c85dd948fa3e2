"""Figures of the cases: the generic ones with the case's reference curves."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from arlequin import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Figures = dict[str, "Figure"]


def bar_figures(result: xarray.DataTree, reference: Any, law: str) -> Figures:
    """Energies, contact pressure and gap against the exact solution, velocity along the bars."""
    return {
        "energies": plots.energies(result),
        "contact": plots.contact(result, "contact", area=_area(result), **_curves(result, reference)),
        "velocity": plots.profile(result, "velocity"),
    }


def press_figures(result: xarray.DataTree, reference: Any, displacement: float) -> Figures:
    """Energies; pressure and gap against the closed form."""
    time = np.linspace(0.0, 1.0, 401)
    imposed = displacement * time
    contact = plots.contact(
        result,
        "contact",
        area=_area(result),
        force={"closed form": (time, reference.pressure(imposed))},
        gap={"closed form": (time, reference.gap_at(imposed))},
    )
    for line in contact.axes[0].lines:
        line.set_drawstyle("default")  # statics: the pressure at an instant, no mean over a step
    figures = {"energies": plots.energies(result), "contact": contact}
    for figure in figures.values():
        figure.axes[-1].set_xlabel(f"Share of the imposed displacement of {1e3 * displacement:.4g} mm")
    return figures


def multiscale_figures(
    result: xarray.DataTree,
    reference: Any,
    fine: xarray.DataTree | None = None,
    instant: float | None = None,
) -> Figures:
    """Energies, contact against the all-fine model and the 1D solution, velocity along and on the parts.

    instant: when the gluing zone is shown, s (None: there is none).
    """
    both = {"Arlequin": result} if fine is None else {"Arlequin": result, "all fine": fine}
    curves = {} if reference is None else _curves(result, reference)
    frames = result.sizes["frame"]
    shape = plots.shape(result, "velocity", frame=frames // 3, component=0, magnify=5.0)
    shape.set_figheight(1.6)
    figures = {
        "energies": plots.energies(result),
        "contact": plots.contact(both, "contact", area=_area(result), **curves),
        "velocity": plots.profile(result, "velocity"),
        "shape": shape,
    }
    if instant is not None:
        figures["junction"] = _junction(result, instant)
    return figures


def _junction(result: xarray.DataTree, instant: float) -> "Figure":
    """The tip with the gluing zone at the frame next to `instant` (s), coloured by the velocity along the bar."""
    frame = int(np.abs(result.dataset["frame_time"].values - instant).argmin())
    coarse, fine = (_places(result, part, frame) for part in ("coarse", "fine"))
    figure = plots.shape(result, "velocity", frame=frame, component=0)
    axes = figure.axes[0]
    # metres to the unit of the axis
    scale = 10.0 ** round(np.log10(axes.dataLim.x1 / fine.max()))
    width = fine.max() - fine.min()
    axes.set_xlim(scale * (fine.min() - 0.5 * width), scale * (fine.max() + 0.1 * width))
    for x in (fine.min(), coarse.max()):
        axes.axvline(scale * x, color="#D55E00", linestyle="--", linewidth=1.2)
    title = f"{axes.get_title(loc='left')}; the parts are glued between the dashed lines"
    axes.set_title(title, loc="left", fontsize=10)
    figure.set_figheight(2.45)
    return figure


def _places(result: xarray.DataTree, part: str, frame: int) -> np.ndarray:
    """Positions along the bar (n,) at the frame, m."""
    group = result[f"part/{part}"].dataset
    return group["position"].values[:, 0] + group["displacement"].values[frame, :, 0]


def beam_figures(result: xarray.DataTree, parts: dict[str, Any], theory: tuple[Any, Any]) -> Figures:
    """Energies; the deflected axis (x, deflection) of every part against the theory's."""
    from arlequin.plots import style

    with style.panels(1, 3.0) as (figure, (axes,)):
        factor, unit = style.prefix(theory[1], "m")
        axes.plot(theory[0], factor * theory[1], "-", color=style.REFERENCE, label="theory")
        for n, (name, (x, y)) in enumerate(parts.items()):
            axes.plot(x, factor * y, "o+x"[n % 3], color=style.COLOURS[n], markersize=5, label=name)
        axes.set_xlabel("x (m)")
        axes.set_ylabel(style.label("Deflection", unit))
        axes.legend()
    return {"energies": plots.energies(result), "deflection": figure}


def _area(result: xarray.DataTree) -> float:
    return float(result["interface/contact/area"].sum())


def _curves(result: xarray.DataTree, reference: Any) -> dict[str, Any]:
    time = np.linspace(0.0, float(result.dataset["time"][-1]), 4001)
    return {
        "force": {"exact": (time, reference.pressure(time))},
        "gap": {"exact": (time, reference.gap(time))},
    }


def spectrum_figure(result: xarray.DataTree) -> "Figure":
    """Reflected energy over wavelength, from both sides, beside one mesh with the same jump of cell size."""
    from arlequin.plots import style

    spectrum = result["spectrum"].dataset
    waves = spectrum["wavelength"].values
    labels = {"fine": "from the fine side", "coarse": "from the coarse side"}
    with style.panels(1, 4.0) as (figure, (axes,)):
        for n, (name, label) in enumerate(labels.items()):
            colour = style.COLOURS[n]
            axes.loglog(waves, spectrum[name], "o-", color=colour, label=f"junction, {label}")
            axes.loglog(waves, spectrum[f"{name}_single"], "--", color=colour, label=f"one mesh, {label}")
        axes.set_xlabel("Wavelength / coarse cell")
        axes.set_ylabel("Reflected energy / incoming energy")
        axes.legend()
    return figure


def bounces_figure(shares: np.ndarray) -> "Figure":
    """Pressure of each bounce over the exact one."""
    from matplotlib.ticker import MaxNLocator

    from arlequin.plots import style

    with style.panels(1, 3.0) as (figure, (axes,)):
        axes.axhline(1.0, color=style.REFERENCE, linestyle="--", label="exact")
        axes.plot(1 + np.arange(len(shares)), shares, "o" if len(shares) <= 60 else "-", markersize=5, label="computed")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("Bounce")
        axes.set_ylabel("Plateau / exact pressure")
        axes.legend()
    return figure


def variants_figure(
    result: xarray.DataTree, exact: Any, variation: dict[str, float], error: dict[str, float]
) -> "Figure":
    """Contact pressure of each variant over the exact one, a panel each, with its total variation and L1 error."""
    from arlequin.plots import style

    time = result.dataset["time"].values
    pressure = result.dataset["pressure"]
    fine = np.linspace(0.0, time[-1], 4001)
    expected = exact.pressure(fine)
    scale = float(expected.max())
    clock, second = style.prefix(time, "s")
    top = 1.08 * max(1.25, float(pressure.max()) / scale)
    names = list(variation)
    with style.panels(len(names), 1.45 * len(names) + 0.6, sharex=True, sharey=True) as (figure, panels):
        for n, (axes, name) in enumerate(zip(panels, names, strict=True)):
            axes.plot(clock * fine, expected / scale, color=style.REFERENCE, linestyle="--", linewidth=1.2, zorder=3)
            values = pressure.sel(variant=name).values / scale
            axes.plot(clock * time, values, color=style.COLOURS[n], drawstyle="steps-pre", linewidth=1.0)
            axes.set_title(name, loc="left")
            figures = f"total variation {variation[name]:.3g} (exact 2), L1 error {100 * error[name]:.2g} %"
            done = np.isfinite(variation[name])
            axes.set_title(figures if done else "not computed", loc="right", fontsize=9)
            axes.set_ylim(-0.05 * top, top)
        panels[-1].set_xlabel(style.label("Time", second))
        panels[0].set_xlim(0.0, clock * time[-1])
        figure.supylabel("Contact pressure / exact pressure ρcV (dashed: exact)", fontsize=10)
    return figure


def tip_figure(motions: dict[str, Any]) -> "Figure":
    """Deflection of a tip over time, one curve a model: (times in s, deflections in m)."""
    from arlequin.plots import style

    with style.panels(1, 3.2) as (figure, (axes,)):
        for n, (name, (time, values)) in enumerate(motions.items()):
            dash = style.DASHES[n % len(style.DASHES)]
            axes.plot(1e3 * time, 1e3 * values, linestyle=dash, color=style.COLOURS[n], label=name)
        axes.set_xlabel("Time (ms)")
        axes.set_ylabel("Tip deflection (mm)")
        axes.legend()
    return figure


def four_models(finals: dict[str, Any]) -> "Figure":
    """Displacement along the bar at the end of the run, a panel a model; the title gives the energy before the zone."""
    from arlequin.plots import style

    with style.panels(len(finals), 1.6 * len(finals), sharex=True, sharey=True) as (figure, panels):
        for axes, (name, (result, fraction)) in zip(panels, finals.items(), strict=True):
            for n, part in enumerate(result["part"].children):
                group = result[f"part/{part}"].dataset
                x, u = group["position"].values[:, 0], group["displacement"].values[-1][:, 0]
                order = np.argsort(x)
                axes.plot(x[order], u[order], color=style.COLOURS[n], linewidth=1.0)
            axes.set_title(f"{name}: {fraction:.2g} of the energy before the zone", fontsize="medium")
            axes.set_ylabel("u (m)")
        panels[-1].set_xlabel("x (m)")
    return figure
