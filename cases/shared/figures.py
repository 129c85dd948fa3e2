"""Figures of the cases: generic figures with reference curves, contact of deformable bodies, plasticity."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from arlequin import plots
from arlequin.models.types import Array
from arlequin.plots import style
from arlequin.plots.inset import magnified

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
        line.set_drawstyle("default")  # statics: instantaneous pressure, not the mean over a step
    figures = {"energies": plots.energies(result), "contact": contact}
    for figure in figures.values():
        figure.axes[-1].set_xlabel(f"Fraction of the imposed displacement of {1e3 * displacement:.4g} mm")
    return figures


def multiscale_figures(
    result: xarray.DataTree,
    reference: Any,
    fine: xarray.DataTree | None = None,
    instant: float | None = None,
) -> Figures:
    """Energies, contact against the all-fine model and the 1D solution, velocity along the bar and on the mesh.

    Where the curves of the contact coincide, insets magnify the rise to the plateau of the pressure and the release.

    instant: time of the figure of the overlap, s (None: no such figure).
    """
    runs = {"Arlequin": result} if fine is None else {"Arlequin": result, "all fine": fine}
    curves = {} if reference is None else _curves(result, reference)
    frames = result.sizes["frame"]
    shape = plots.shape(result, "velocity", frame=frames // 3, component=0)
    figures = {
        "energies": plots.energies(result),
        "contact": plots.contact(runs, "contact", area=_area(result), **curves),
        "velocity": plots.profile(result, "velocity"),
        "shape": shape,
    }
    _magnify(figures["contact"], result)
    if instant is not None:
        figures["junction"] = _junction(result, instant)
    return figures


def _magnify(figure: "Figure", result: xarray.DataTree) -> None:
    """Insets of a figure of the contact, in the units of its panels: the first tenth of the plateau of the force, ±12 %
    of it, and the 6 % of the time about the release."""
    contact = result["interface/contact"].dataset
    time, force = contact["time"].values, np.abs(contact["force"].values).max(axis=1)
    pressed = np.flatnonzero(force > 0.5 * force.max(initial=0.0))
    if len(figure.axes) < 2 or pressed.size < 2:
        return
    pressure, gap = figure.axes
    (curve,) = [line for line in pressure.lines if line.get_label() == "Arlequin"]
    x, y = (np.asarray(values, dtype=float) for values in curve.get_data())
    begin, end, duration = x[pressed[0]], x[pressed[-1]], x[-1] - x[0]
    plateau = float(np.median(y[pressed]))
    magnified(pressure, (begin - 0.01 * duration, begin + 0.1 * duration), (0.88 * plateau, 1.12 * plateau))
    if time[pressed[-1]] < time[-1]:
        magnified(gap, (end - 0.03 * duration, end + 0.03 * duration))


def _junction(result: xarray.DataTree, instant: float) -> "Figure":
    """Axial velocity on the tip and the overlap at the frame nearest to `instant` (s)."""
    frame = int(np.abs(result.dataset["frame_time"].values - instant).argmin())
    coarse, fine = (_places(result, part, frame) for part in ("coarse", "fine"))
    figure = plots.shape(result, "velocity", frame=frame, component=0)
    axes = figure.axes[0]
    # unit of the axis
    scale = 10.0 ** round(np.log10(axes.dataLim.x1 / fine.max()))
    width = fine.max() - fine.min()
    axes.set_xlim(scale * (fine.min() - 0.5 * width), scale * (fine.max() + 0.1 * width))
    for x in (fine.min(), coarse.max()):
        axes.axvline(scale * x, color="#D55E00", linestyle="--", linewidth=1.2)
    title = f"{axes.get_title(loc='left')}; overlap between the dashed lines"
    axes.set_title(title, loc="left", fontsize=10)
    (left, right), heights = axes.get_xlim(), scale * result["part/fine"].dataset["position"].values[:, 1]
    middle, half = 0.5 * (heights.min() + heights.max()), 0.8 * float(np.ptp(heights))
    axes.set_ylim(middle - half, middle + half)
    figure.set_figheight(0.9 * style.WIDTH * 2.0 * half / (right - left) + 1.7)
    return figure


def _places(result: xarray.DataTree, part: str, frame: int) -> np.ndarray:
    """Positions along the bar (n,) at the frame, m."""
    group = result[f"part/{part}"].dataset
    return group["position"].values[:, 0] + group["displacement"].values[frame, :, 0]


def beam_figures(result: xarray.DataTree, parts: dict[str, Any], theory: tuple[Any, Any]) -> Figures:
    """Energies; deflection of the axis of every part against the theory."""
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
    """Reflected and absorbed energy and the lag of the transmitted wave over the wavelength, from both sides."""
    from arlequin.plots import style

    spectrum = result["spectrum"].dataset
    waves = spectrum["wavelength"].values
    styles = {"": "o-", "_plain": "--", "_point": ":", "_single": "-."}
    names = {"": "junction", "_plain": "plain Arlequin", "_point": "point junction", "_single": "one mesh"}
    with style.panels(3, 6.4) as (figure, axes):
        for n, side in enumerate(("fine", "coarse")):
            colour = style.COLOURS[n]
            for key, line in styles.items():
                values = spectrum[f"{side}{key}"]
                if np.isfinite(values).any():
                    label = f"{names[key]}, from the {side} side"
                    axes[0].loglog(waves, np.maximum(values, 1e-9), line, color=colour, markersize=3, label=label)
            absorbed = np.maximum(spectrum[f"{side}_absorbed"], 1e-9)
            axes[1].loglog(waves, absorbed, "o-", color=colour, markersize=3)
            axes[2].semilogx(waves, spectrum[f"{side}_phase"], "o-", color=colour, markersize=3)
        axes[0].set_ylabel("Reflected energy")
        axes[1].set_ylabel("Absorbed energy")
        axes[2].set_ylabel("Lag (rad)")
        axes[2].set_xlabel("Wavelength / coarse cell")
        for panel in axes:
            panel.set_xlim(waves[0], waves[-1])
        axes[0].legend(fontsize="x-small", ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def bounces_figure(shares: np.ndarray) -> "Figure":
    """Plateau pressure of each bounce over the exact one."""
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
    """Contact pressure of each variant with total variation and L1 error, one panel each."""
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
            is_computed = np.isfinite(variation[name])
            axes.set_title(figures if is_computed else "not computed", loc="right", fontsize=9)
            axes.set_ylim(-0.05 * top, top)
        panels[-1].set_xlabel(style.label("Time", second))
        panels[0].set_xlim(0.0, clock * time[-1])
        figure.supylabel("Contact pressure / exact pressure ρcV (dashed: exact)", fontsize=10)
    return figure


def tip_figure(motions: dict[str, Any]) -> "Figure":
    """Tip deflection over time, one curve (times, s; deflections, m) per model."""
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
    """Final displacement along the bar, one panel per model, with the energy left before the overlap."""
    from arlequin.plots import style

    with style.panels(len(finals), 1.6 * len(finals), sharex=True, sharey=True) as (figure, panels):
        for axes, (name, (result, fraction)) in zip(panels, finals.items(), strict=True):
            for n, part in enumerate(result["part"].children):
                group = result[f"part/{part}"].dataset
                x, u = group["position"].values[:, 0], group["displacement"].values[-1][:, 0]
                order = np.argsort(x)
                axes.plot(x[order], u[order], color=style.COLOURS[n], linewidth=1.0)
            axes.set_title(f"{name}: {fraction:.2g} of the energy left before the overlap", fontsize="medium")
            axes.set_ylabel("u (m)")
        panels[-1].set_xlabel("x (m)")
    return figure


FLOOR = 1e-16  # plotted value of an error of exactly zero


def patch_survey(errors: Mapping[Any, tuple[float | None, float | None]], cells: str, order: int) -> "Figure":
    """Largest stress error of each multiplier and slave, plain and stabilised forms; refused combinations marked."""
    with style.panels(1, 0.3 * len(errors) + 1.4) as (figure, (axes,)):
        marks = (("o", "plain form", style.COLOURS[0]), ("x", "stabilised form", style.COLOURS[1]))
        for form, (mark, name, colour) in enumerate(marks):
            form_errors = [(row, pair[form]) for row, pair in enumerate(errors.values())]
            points = [(max(error, FLOOR), row) for row, error in form_errors if error is not None]
            axes.plot([error for error, _ in points], [row for _, row in points], mark, color=colour, label=name)
        for row, pair in enumerate(errors.values()):
            if pair[0] is None:
                axes.text(2 * FLOOR, row, "refused", color=style.COLOURS[0], va="center", fontsize=8)
        axes.axvline(1e-10, color=style.REFERENCE, linestyle="--", linewidth=1.0)
        axes.set_xscale("log")
        axes.set_xlim(FLOOR, 2.0)
        axes.set_yticks(range(len(errors)), [f"{multiplier}, slave {slave}" for multiplier, slave in errors])
        axes.invert_yaxis()
        axes.set_xlabel("Largest stress error / pressure")
        axes.set_title(f"{cells}, order {order}; dashed: tolerance", loc="left")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return figure


def patch_errors(result: xarray.DataTree, errors: Mapping[str, Any]) -> "Figure":
    """Stress error of each cell over the pressure, logarithmic scale."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import LogNorm

    with style.panels(1, 5.6) as (figure, (axes,)):
        for name, values in errors.items():
            group = result[f"part/{name}"].dataset
            position = group["position"].values + group["displacement"].values[-1]
            corners = position[group["connectivity"].values]
            image = PolyCollection(list(corners), array=np.maximum(values, FLOOR), cmap="viridis", edgecolors="white")
            image.set(norm=LogNorm(FLOOR, 1.0), linewidths=0.5)
            axes.add_collection(image)
        axes.autoscale_view()
        axes.set_aspect("equal")
        axes.grid(False)
        axes.set_xlabel("x (m)")
        axes.set_ylabel("y (m)")
        figure.colorbar(image, ax=axes, shrink=0.8, label="Stress error / pressure")
    return figure


def pad_base(base: Any, threshold: float) -> "Figure":
    """Slip velocity and traction of the base of a pad (means over steps), computed and exact."""
    clock, second = style.prefix(base.edges, "s")
    panels = (
        ("Slip velocity", "m/s", base.slip, base.exact_slip),
        ("Traction", "Pa", base.traction, base.exact_traction),
    )
    with style.panels(2, 4.8, sharex=True) as (figure, axes):
        for panel, (title, unit, computed, exact) in zip(axes, panels, strict=True):
            factor, prefixed_unit = style.prefix(np.concatenate([computed, exact]), unit)
            panel.stairs(factor * computed, clock * base.edges, baseline=None, color=style.COLOURS[0], label="computed")
            middle = 0.5 * clock * (base.edges[1:] + base.edges[:-1])
            panel.plot(middle, factor * exact, "--", color=style.COLOURS[1], linewidth=1.2, label="exact")
            panel.set_ylabel(style.label(title, prefixed_unit))
        for sign in (-1.0, 1.0):
            axes[1].axhline(factor * sign * threshold, color=style.REFERENCE, linestyle=":", linewidth=1.0)
        axes[1].set_title("dotted: ± μ p", loc="right", fontsize=9)
        axes[1].set_xlabel(style.label("Time", second))
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def ironing_forces(forces: Mapping[str, Any], friction: float) -> "Figure":
    """Vertical force, its deviation from the mean and the force ratio over the sliding distance, per multiplier."""
    with style.panels(3, 6.2, sharex=True) as (figure, (force_panel, deviation_panel, ratio_panel)):
        largest = np.concatenate([f.slider.ravel() for f in forces.values()])
        factor, unit = style.prefix(largest, "N")
        for n, (name, f) in enumerate(forces.items()):
            sliding_steps = np.flatnonzero(f.displacement > 0.0)
            distance, horizontal, vertical = (
                1e3 * f.displacement[sliding_steps],
                f.slider[sliding_steps, 0],
                f.slider[sliding_steps, 1],
            )
            style_of: dict[str, Any] = {"color": style.COLOURS[n], "linestyle": style.DASHES[n], "linewidth": 1.3}
            force_panel.plot(distance, factor * vertical, label=f"multiplier {name}", **style_of)
            force_panel.plot(distance, -factor * horizontal, **style_of)
            in_second_half = distance >= 0.5 * distance[-1]
            deviation_panel.plot(distance, 100 * (vertical / vertical[in_second_half].mean() - 1.0), **style_of)
            ratio_panel.plot(distance, -horizontal / vertical, **style_of)
        ratio_panel.axhline(friction, color=style.REFERENCE, linestyle=":", linewidth=1.2, label="μ")
        force_panel.set_ylabel(style.label("Vertical and\nhorizontal force", f"{unit}"))
        deviation_panel.set_ylabel("Deviation of vertical\nforce from mean (%)")
        deviation_panel.set_ylim(-1.5, 1.5)
        ratio_panel.set_ylabel("Horizontal\n/ vertical force")
        ratio_panel.legend(loc="lower right")
        ratio_panel.set_xlabel("Displacement of the slider (mm)")
        figure.legend(*force_panel.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def pull_figure(pull: Any, radius: float, sliced: tuple[Array, Array]) -> "Figure":
    """Load and radius of the neck over the elongation; sliced: elongations, m, and loads, N, of the slices."""
    with style.panels(2, 4.8, sharex=True) as (figure, (load, neck)):
        middles = 0.5 * (pull.elongation[1:] + pull.elongation[:-1])
        load.plot(1e3 * middles, 1e-3 * pull.load[1:], label="computed")
        load.plot(
            1e3 * sliced[0], 1e-3 * sliced[1], "--", color=style.REFERENCE, label="slices up to their largest load"
        )
        load.set_ylabel(style.label("Load", "kN"))
        load.set_ylim(bottom=0.0)
        load.legend()
        neck.plot(1e3 * pull.at, pull.neck / radius)
        neck.set_ylabel("Radius at the middle / radius")
        neck.set_xlabel(style.label("Elongation", "mm"))
    return figure


def deflection_figure(force: Array, tip: Array, limits: tuple[float, float] | None) -> "Figure":
    """Displacement of the corner (t,), m, over the force (t,), N; limits: published final values, m."""
    with style.panels(1, 3.2) as (figure, (axes,)):
        axes.plot(1e-3 * force, 1e3 * tip, "o-", markersize=3, label="computed")
        if limits is not None:
            ends = [1e-3 * force[-1]] * 2
            axes.plot(ends, 1e3 * np.array(limits), "k_-", markersize=12, label="published limits")
        axes.set_xlabel(style.label("Force", "kN"))
        axes.set_ylabel(style.label("Displacement of the corner", "mm"))
        axes.legend()
    return figure
