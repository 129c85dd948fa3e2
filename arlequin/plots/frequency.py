"""Figures of frequency responses and of spectral densities: Bode and Nyquist diagrams, response spectra."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arlequin.models.checks import instance
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.plots import style

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from arlequin.models.types import Array

_SHOWN = 1e-12  # densities below this share of the largest are not shown
_LETTERS = 42  # of a label in a legend


@checked_call
def bode(response: xarray.Dataset, name: str | None = None) -> Figure:
    """Magnitude, on logarithmic axes, and phase, degrees, of responses over the frequency (`aq.frequency_response`).

    name: of the output, by default all of the unit of the first one; a line for each load case.
    """
    lines, unit = _lines(response, name)
    with style.panels(2, 4.6, (2.0, 1.0), sharex=True) as (figure, (above, below)):
        for colour, (text, frequency, values) in zip(np.resize(style.COLOURS, len(lines)), lines, strict=True):
            shown = frequency > 0.0
            above.loglog(frequency[shown], np.abs(values[shown]), color=str(colour), label=text)
            below.semilogx(frequency[shown], np.degrees(np.angle(values[shown])), color=str(colour))
        above.set_ylabel(style.label("Magnitude", unit))
        below.set_ylabel(style.label("Phase", "°"))
        below.set_xlabel(style.label("Frequency", "Hz"))
        below.set_yticks([-180, -90, 0, 90, 180])
        below.set_ylim(-190.0, 190.0)
        _title(above, lines, response)
    return figure


@checked_call
def nyquist(response: xarray.Dataset, name: str | None = None) -> Figure:
    """Imaginary over real part of responses (`aq.frequency_response`), with the frequency of the largest magnitude.

    name: of the output, by default all of the unit of the first one; a line for each load case.
    """
    lines, unit = _lines(response, name)
    factor, unit = style.prefix(np.concatenate([np.abs(values) for _, _, values in lines]), unit)
    with style.panels(1, 5.0) as (figure, (axes,)):
        for colour, (text, frequency, values) in zip(np.resize(style.COLOURS, len(lines)), lines, strict=True):
            axes.plot(factor * values.real, factor * values.imag, color=str(colour), label=text)
            peak = int(np.abs(values).argmax())
            at = factor * values[peak]
            axes.plot(at.real, at.imag, "o", color=str(colour), markersize=4)
            axes.annotate(
                f"{frequency[peak]:.4g} Hz", (at.real, at.imag), xytext=(6, 6), textcoords="offset points", fontsize=8
            )
        axes.set_aspect("equal", "datalim")
        axes.set_xlabel(style.label("Real part", unit))
        axes.set_ylabel(style.label("Imaginary part", unit))
        _title(axes, lines, response)
    return figure


@checked_call
def response_spectrum(
    response: xarray.Dataset, name: str | None = None, *, measured: xarray.Dataset | xarray.DataArray | None = None
) -> Figure:
    """One-sided spectral densities of responses over the frequency, with their rms (`aq.random_response`).

    name: of the output, by default all of the unit of the first one. measured: a density of a record of the same
    quantity, `aq.psd(variable)`, with `confidence=` together with its band.
    """
    instance("response", response, _dataset_type(), "must be the Dataset of aq.random_response")
    names = [str(key) for key, values in response.data_vars.items() if values.dims == ("frequency",)]
    chosen = _chosen(response, names, name)
    unit = str(response[chosen[0]].attrs.get("units", "1"))
    with style.panels(1, 3.4) as (figure, (axes,)):
        top, least = 0.0, np.inf
        for colour, key in zip(np.resize(style.COLOURS, len(chosen)), chosen, strict=True):
            values, text = response[key].values, _short(response[key])
            if f"rms_{key}" in response:
                rms = response[f"rms_{key}"]
                factor, of_rms = style.prefix([float(rms)], str(rms.attrs.get("units", "1")))
                text = f"{text}: rms {factor * float(rms):.4g} {of_rms}"
            axes.semilogy(response["frequency"].values, values, color=str(colour), label=text)
            top, least = max(top, float(values.max())), min(least, float(values[values > 0.0].min(initial=np.inf)))
        if measured is not None:
            top = max(top, _draw_measured(axes, measured))
        if top > 0.0:
            axes.set_ylim(max(0.3 * min(least, top), _SHOWN * top), 3.0 * top)
        axes.set_xlabel(style.label("Frequency", "Hz"))
        axes.set_ylabel(style.label("One-sided spectral density", unit))
        axes.margins(x=0.01)
        axes.legend(loc="best")
    return figure


def _draw_measured(axes: Axes, measured: xarray.Dataset | xarray.DataArray) -> float:
    """Draw a density of `aq.psd`; its largest value."""
    import xarray

    if isinstance(measured, xarray.Dataset):
        if not {"psd", "low", "high"} <= set(map(str, measured)):
            raise UserError("measured: must be a density of aq.psd")
        band = f"{100.0 * float(measured.attrs.get('confidence', 0.0)):g} % band"
        hertz = measured["frequency"].values[1:]
        low, high = (measured[key].values[1:] for key in ("low", "high"))
        axes.fill_between(hertz, low, high, color=style.REFERENCE, alpha=0.25, linewidth=0.0, label=band)
        measured = measured["psd"]
    if measured.dims != ("frequency",):
        raise UserError(f"measured: must have the dimension frequency alone, not {', '.join(map(str, measured.dims))}")
    hertz, values = measured["frequency"].values[1:], measured.values[1:]
    axes.semilogy(hertz, values, color=style.REFERENCE, linewidth=0.9, label="measured")
    return float(values.max())


def _lines(response: xarray.Dataset, name: str | None) -> tuple[list[tuple[str, Array, Array]], str]:
    """Label, frequencies (k,) and complex values (k,) of each line, and the unit."""
    instance("response", response, _dataset_type(), "must be the Dataset of aq.frequency_response")
    names = [str(key) for key, values in response.data_vars.items() if values.dtype.kind == "c"]
    chosen = _chosen(response, names, name)
    frequency, lines = response["frequency"].values, []
    for key in chosen:
        values = response[key]
        loads = [str(load) for load in values["load"].values] if "load" in values.dims else [None]
        for load in loads:
            text = _short(values) if load is None else f"{_short(values)}, {load}"
            lines.append((text, frequency, np.asarray(values.values if load is None else values.sel(load=load).values)))
    return lines, str(response[chosen[0]].attrs.get("units", "1"))


def _chosen(response: xarray.Dataset, names: list[str], name: str | None) -> list[str]:
    if not names:
        raise UserError("response: has no such outputs over the frequency")
    if name is not None:
        if name not in names:
            raise UserError.parameter("name", name, f"must be one of {', '.join(names)}")
        return [name]
    return [key for key in names if response[key].attrs.get("units") == response[names[0]].attrs.get("units")]


def _short(values: xarray.DataArray) -> str:
    text = str(values.attrs.get("long_name", values.name)).removeprefix("PSD of ")
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"


def _title(axes: Axes, lines: list[tuple[str, Array, Array]], response: xarray.Dataset) -> None:
    """The name of a single line as title, with the unit of the load; of several a legend."""
    units = {str(values.attrs["load_units"]) for values in response.data_vars.values() if "load_units" in values.attrs}
    load = f"load in {style.typeset_unit(', '.join(sorted(units)))}" if units else ""
    if len(lines) == 1:
        axes.set_title(", ".join(filter(None, (lines[0][0], load))), loc="left")
    else:
        axes.set_title(load, loc="left")
        axes.legend(loc="best")


def _dataset_type() -> type:
    import xarray

    return xarray.Dataset
