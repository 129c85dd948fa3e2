"""Four ways to impose contact on the same two bars: their pressures side by side against the exact one.

A penalty and multipliers in an explicit scheme, displacement-level multipliers in an implicit Newmark scheme, and the
velocity law in the θ-scheme, each one run of `two_bars` at the same step.

* The penalty has, at the default size, half the stiffness of an element, the stiffest power of ten that the explicit
  step carries: the end nodes bounce on it. At a tenth of it they do not, and the contact is soft (L1 error 10 %).
* The explicit multiplier acts on the velocity at half steps, on a lumped mass: a velocity law too, which does not
  chatter either. Its front is smoother than that of the θ-scheme, and less exact.
* Newmark's β = 1/4, γ = 1/2 is the θ-scheme of θ = 1/2 in the bulk, so that the two differ by the law alone: a closed
  gap at the end of every step leaves the velocity and acceleration of the end to alternate. Constants that damp short
  waves, as the thesis's β = 0.3025, γ = 0.6, let the chatter die out (its total variation is 2.5 to 17, by where in a
  step the bars meet), and energy and the front's sharpness with it.

Source of the comparison: C. Zammali, thesis, École Centrale Paris, 2005, chapter 1.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases import two_bars
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.case.scalars import identifier
from arlequin.cases.reference.measures import l1_error, total_variation
from arlequin.cases.shared.impact import (
    BALANCE_LIMIT,
    contact_ends,
    mean_pressures,
    rigid_velocity,
    roughness,
    stored_energy,
    worst_balance,
)
from arlequin.cases.shared.vocabulary import Density, ThetaValue, Young
from arlequin.models.checks import non_negative, positive, positive_integer, within
from arlequin.results.recorder import Record
from arlequin.run.multi_run import Measure, collect_runs
from arlequin.run.run import Progress

VARIANTS = ("penalty, explicit", "Lagrange, explicit", "Lagrange, implicit Newmark", "velocity law, θ")
MEASURES = (
    Measure("", "pressure", "Pa", "mean contact pressure over the step", on_time=True),
    Measure("", "gap", "m", "gap", on_time=True),
    Measure("", "stored_energy", "J", "kinetic, strain and penalty energy", on_time=True),
    Measure("ends", "rebound", "m/s", "velocity of the right bar's centre"),
    Measure("ends", "worst_balance", "1", "largest energy balance"),
)


@dataclass(frozen=True)
class Parameters:
    """The bars of `two_bars`, all variants at its step of least phase error."""

    length: Annotated[float, Quantity("m", "length of each bar", positive)] = 0.1
    young: Young = 2.0e11
    density: Density = 7800.0
    velocity: Annotated[float, Quantity("m/s", "each bar moves at ± this", positive)] = 10.0
    gap: Annotated[float, Quantity("m", "initial distance between the ends", non_negative)] = 1e-4
    elements: Annotated[int, Quantity("", "elements of each bar", positive_integer)] = 100
    courant: Annotated[float, Quantity("", "c Δt/h, of the explicit schemes too", positive)] = 0.7071
    penalty_stiffness: Annotated[float, Quantity("Pa/m", "of the penalty", positive)] = 1e14
    newmark_beta: Annotated[float, Quantity("", "β of Newmark's scheme", within, 0.25, 1.0)] = 0.25
    newmark_gamma: Annotated[float, Quantity("", "γ of Newmark's scheme", within, 0.5, 1.0)] = 0.5
    theta: ThetaValue = 0.5


def as_bars(parameters: Parameters) -> two_bars.Parameters:
    """The bars of all variants, under the velocity law with θ."""
    p = parameters
    return two_bars.Parameters(
        length_left=p.length,
        length_right=p.length,
        young_left=p.young,
        young_right=p.young,
        density_left=p.density,
        density_right=p.density,
        velocity=p.velocity,
        gap=p.gap,
        elements=p.elements,
        theta=p.theta,
        penalty_stiffness=p.penalty_stiffness,
        courant=p.courant,
    )


def studies(parameters: Parameters) -> dict[str, aq.Study]:
    """The study of each variant."""
    p, bars = parameters, as_bars(parameters)
    explicit = replace(bars, scheme="central-difference", mass="lumped")
    implicit = two_bars.build(replace(bars, law="unilateral"))
    found = (
        two_bars.build(replace(explicit, law="penalty")),
        two_bars.build(replace(explicit, law="unilateral")),
        replace(implicit, scheme=aq.Newmark(p.newmark_beta, p.newmark_gamma)),
        two_bars.build(bars),
    )
    return dict(zip(VARIANTS, found, strict=True))


def run(parameters: Parameters, record: Record, progress: Progress | None) -> xarray.DataTree:
    """All variants; `pressure`, `gap` and `stored_energy` over time and variant, `rebound` of the right bar."""
    variants = list(studies(parameters).values())
    return collect_runs(
        lambda i: _measured(variants[i].run()),
        MEASURES,
        ("variant", VARIANTS),
        of=parameters,
        record=record,
        time=variants[-1].step * np.arange(variants[-1].steps + 1),
        progress=progress,
    )


def _measured(result: xarray.DataTree) -> dict[tuple[str, str], Any]:
    """Of one variant, in the order of `MEASURES`."""
    pressure = np.concatenate([[0.0], mean_pressures(result)[1]])  # none at the start
    gap = result["interface/contact/gap_min"].values
    found = (pressure, gap, stored_energy(result), rigid_velocity(result, "right"), worst_balance(result))
    return {measure.key: values for measure, values in zip(MEASURES, found, strict=True)}


def reference(parameters: Parameters) -> Any:
    """The exact collision under unilateral contact."""
    return two_bars.reference(as_bars(parameters))


def variations(result: xarray.DataTree, exact: Any) -> dict[str, float]:
    """Total variation of each variant's pressure over the exact pressure (2 is the exact one)."""
    scale = float(np.max(exact.mean_pressure(result.dataset["time"].values)))
    return _of_each(result, lambda pressure: total_variation(pressure, scale))


def errors(result: xarray.DataTree, exact: Any) -> dict[str, float]:
    """L1 error of each variant's pressure, of the impulse."""
    edges = result.dataset["time"].values
    return _of_each(result, lambda pressure: l1_error(edges, pressure, exact))


def _of_each(result: xarray.DataTree, measure: Callable[[Any], float]) -> dict[str, float]:
    """A measure of the pressures of each variant; nan of one that is not computed."""
    found = {name: result.dataset["pressure"].sel(variant=name).values[1:] for name in VARIANTS}
    return {name: measure(pressure) if np.isfinite(pressure).all() else np.nan for name, pressure in found.items()}


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """The velocity law is nearest to the exact pressure and does not chatter; the penalty and Newmark do beside it."""
    exact = reference(parameters)
    error, variation = errors(result, exact), variations(result, exact)
    own, others = VARIANTS[-1], VARIANTS[:-1]
    checks = [
        Check(f"{own}: L1 error against the least of the others", error[own], min(error[name] for name in others),
              0.0, "1", "at most"),
        Check(f"{own}: L1 error", error[own], 0.0, two_bars.tolerance(as_bars(parameters)), "1", "at most"),
    ]  # fmt: skip
    checks.append(Check(f"{own}: total variation", variation[own], 1.3 * 2.0, 0.0, "1", "at most"))
    checks += [
        Check(f"{own}: total variation against {name}", variation[own], variation[name], 0.0, "1", "at most")
        for name in ("penalty, explicit", "Lagrange, implicit Newmark")
    ]
    energy = result.dataset["stored_energy"].sel(variant=own).values
    growth = float(energy.max() / energy[0]) - 1.0
    balance = float(result["ends/worst_balance"].max())
    return [
        *checks,
        Check(f"{own}: energy over its start, largest less 1", growth, 0.0, 1e-12, "1", "at most"),
        Check("energy balance of all, worst step", balance, 0.0, BALANCE_LIMIT, "1", "absolute"),
    ]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Of each variant, its name in front: `lagrange_explicit_peak_pressure`; the balance of the worst."""
    edges, ends, came = result.dataset["time"].values, result["ends"].dataset, 2.0 * parameters.velocity
    out = {"balance": aq.Scalar(float(ends["worst_balance"].max()), "1", "largest energy balance of all variants")}
    for name in VARIANTS:
        own, end = (data.sel(variant=name) for data in (result.dataset, ends))
        pressure, energy = own["pressure"].values[1:], own["stored_energy"].values
        start, stop = contact_ends(edges, pressure)
        # of equal bars, each other's mirror images
        rebound = 2.0 * float(end["rebound"]) if stop < edges[-1] else np.nan
        found = {
            "peak_pressure": aq.Scalar(pressure.max(), "Pa", "largest contact pressure"),
            "least_gap": aq.Scalar(float(own["gap"].min()), "m", "smallest gap"),
            "contact_span": aq.Scalar(stop - start, "s", "from the first contact to the end of the last"),
            "force_variation": aq.Scalar(roughness(pressure), "1", "total variation of the contact force / 2 peak"),
            "rebound_velocity": aq.Scalar(rebound, "m/s", "velocity of the rebound"),
            "restitution": aq.Scalar(rebound / came, "1", "velocity of the rebound over that of the approach"),
            "energy_loss": aq.Scalar(1.0 - energy[-1] / energy[0], "1", "share of the energy that is lost"),
        }
        out |= {f"{identifier(name)}_{key}": replace(one, text=f"{one.text} ({name})") for key, one in found.items()}
    return out


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin.cases.shared.figures import variants_figure

    exact = reference(parameters)
    return {"comparison": variants_figure(result, exact, variations(result, exact), errors(result, exact))}
