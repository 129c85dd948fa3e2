"""Impact of two bars with four contact formulations: contact pressures against the exact solution.

Formulations: penalty and Lagrange multipliers in an explicit scheme, displacement-level multipliers in an implicit
Newmark scheme, and the velocity-level law in the θ-scheme; each is one run of `two_bars` with the same time step.

** Penalty: at the default size its stiffness is half that of an element, the largest power of ten that is stable with
  the explicit step; the end nodes bounce. A tenth of it avoids this, but the contact is soft (L1 error 10 %).
* Explicit multiplier: acts on the velocity at half steps with a lumped mass, thus also at velocity level, and does not
  chatter. Its front is smoother and less accurate than that of the θ-scheme.
* Newmark with β = 1/4, γ = 1/2 equals the θ-scheme with θ = 1/2 in the bulk; the two differ only in the contact law. A
  gap closed at the end of every step lets velocity and acceleration of the end alternate. Constants that damp short
  waves, such as the thesis's β = 0.3025, γ = 0.6, damp the chatter (total variation 2.5 to 17, depending on the instant
  of impact within a step), but also energy and the sharpness of the front.

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
from arlequin.cases.shared.figures import variants_figure
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
    Measure("", "pressure", "Pa", "mean contact pressure over the step", over="time"),
    Measure("", "gap", "m", "gap", over="time"),
    Measure("", "stored_energy", "J", "kinetic, strain and penalty energy", over="time"),
    Measure("ends", "rebound", "m/s", "velocity of the right bar's centre"),
    Measure("ends", "worst_balance", "1", "largest energy balance"),
)


@dataclass(frozen=True)
class Parameters:
    """Parameters of `two_bars` for all variants, at the time step of least phase error."""

    length: Annotated[float, Quantity("m", "length of each bar", positive)] = 0.1
    young: Young = 2.0e11
    density: Density = 7800.0
    velocity: Annotated[float, Quantity("m/s", "speed of each bar, in opposite directions", positive)] = 10.0
    gap: Annotated[float, Quantity("m", "initial gap between the bars", non_negative)] = 1e-4
    elements: Annotated[int, Quantity("", "elements per bar", positive_integer)] = 100
    courant: Annotated[float, Quantity("", "Courant number c Δt/h, also of the explicit schemes", positive)] = 0.7071
    penalty_stiffness: Annotated[float, Quantity("Pa/m", "penalty stiffness", positive)] = 1e14
    newmark_beta: Annotated[float, Quantity("", "β of Newmark's scheme", within, 0.25, 1.0)] = 0.25
    newmark_gamma: Annotated[float, Quantity("", "γ of Newmark's scheme", within, 0.5, 1.0)] = 0.5
    theta: ThetaValue = 0.5


def as_bars(parameters: Parameters) -> two_bars.Parameters:
    """Parameters of `two_bars` for the velocity-level law with the θ-scheme."""
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
    """Studies of the variants, by name."""
    p, bars = parameters, as_bars(parameters)
    explicit = replace(bars, scheme="central-difference", mass="lumped")
    implicit = two_bars.build(replace(bars, law="unilateral"))
    variant_studies = (
        two_bars.build(replace(explicit, law="penalty")),
        two_bars.build(replace(explicit, law="unilateral")),
        replace(implicit, scheme=aq.Newmark(p.newmark_beta, p.newmark_gamma)),
        two_bars.build(bars),
    )
    return dict(zip(VARIANTS, variant_studies, strict=True))


def run(parameters: Parameters, record: Record, progress: Progress | None) -> xarray.DataTree:
    """Run of all variants: `pressure`, `gap` and `stored_energy` (time, variant), `rebound` velocity of the right
    bar."""
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
    """Measures of one variant, in the order of `MEASURES`."""
    pressure = np.concatenate([[0.0], mean_pressures(result)[1]])  # no initial pressure
    gap = result["interface/contact/gap_min"].values
    measured = (pressure, gap, stored_energy(result), rigid_velocity(result, "right"), worst_balance(result))
    return {measure.key: values for measure, values in zip(MEASURES, measured, strict=True)}


def reference(parameters: Parameters) -> Any:
    """Exact solution under unilateral contact."""
    return two_bars.reference(as_bars(parameters))


def variations(result: xarray.DataTree, exact: Any) -> dict[str, float]:
    """Total variation of the pressure of each variant, over the exact pressure (exact solution: 2)."""
    scale = float(np.max(exact.mean_pressure(result.dataset["time"].values)))
    return _of_each(result, lambda pressure: total_variation(pressure, scale))


def errors(result: xarray.DataTree, exact: Any) -> dict[str, float]:
    """L1 error of the pressure of each variant, relative to the impulse."""
    edges = result.dataset["time"].values
    return _of_each(result, lambda pressure: l1_error(edges, pressure, exact))


def _of_each(result: xarray.DataTree, measure: Callable[[Any], float]) -> dict[str, float]:
    """A measure of the pressure of each variant; nan for variants not computed."""
    pressures = {name: result.dataset["pressure"].sel(variant=name).values[1:] for name in VARIANTS}
    return {name: measure(pressure) if np.isfinite(pressure).all() else np.nan for name, pressure in pressures.items()}


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """The velocity-level law has the smallest error and no chatter, in contrast to the penalty and Newmark."""
    exact = reference(parameters)
    error, variation = errors(result, exact), variations(result, exact)
    law, others = VARIANTS[-1], VARIANTS[:-1]
    checks = [
        Check(f"{law}: L1 error against the least of the others", error[law], min(error[name] for name in others),
              0.0, "1", "at most"),
        Check(f"{law}: L1 error", error[law], 0.0, two_bars.tolerance(as_bars(parameters)), "1", "at most"),
    ]  # fmt: skip
    checks.append(Check(f"{law}: total variation", variation[law], 1.3 * 2.0, 0.0, "1", "at most"))
    checks += [
        Check(
            f"{law}: total variation against {name}",
            variation[law],
            variation[name],
            0.0,
            "1",
            "at most",
        )
        for name in ("penalty, explicit", "Lagrange, implicit Newmark")
    ]
    energy = result.dataset["stored_energy"].sel(variant=law).values
    growth = float(energy.max() / energy[0]) - 1.0
    balance = float(result["ends/worst_balance"].max())
    return [
        *checks,
        Check(f"{law}: energy over its initial value, largest less 1", growth, 0.0, 1e-12, "1", "at most"),
        Check("energy balance of all, worst step", balance, 0.0, BALANCE_LIMIT, "1", "absolute"),
    ]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Scalars of each variant with its name as a prefix (`lagrange_explicit_peak_pressure`); the largest imbalance."""
    edges, ends, approach_velocity = result.dataset["time"].values, result["ends"].dataset, 2.0 * parameters.velocity
    scalars_by_name = {
        "balance": aq.Scalar(
            float(ends["worst_balance"].max()), "1", "largest relative energy imbalance of all variants"
        )
    }
    for name in VARIANTS:
        variant, variant_ends = (group.sel(variant=name) for group in (result.dataset, ends))
        pressure, energy = variant["pressure"].values[1:], variant["stored_energy"].values
        start, stop = contact_ends(edges, pressure)
        # equal bars: mirror images
        rebound = 2.0 * float(variant_ends["rebound"]) if stop < edges[-1] else np.nan
        variant_scalars = {
            "peak_pressure": aq.Scalar(pressure.max(), "Pa", "largest contact pressure"),
            "least_gap": aq.Scalar(float(variant["gap"].min()), "m", "smallest gap"),
            "contact_span": aq.Scalar(stop - start, "s", "from the first contact to the end of the last"),
            "force_variation": aq.Scalar(roughness(pressure), "1", "total variation of the contact force / 2 peak"),
            "rebound_velocity": aq.Scalar(rebound, "m/s", "rebound velocity"),
            "restitution": aq.Scalar(rebound / approach_velocity, "1", "rebound velocity over approach velocity"),
            "energy_loss": aq.Scalar(1.0 - energy[-1] / energy[0], "1", "lost fraction of the energy"),
        }
        scalars_by_name |= {
            f"{identifier(name)}_{key}": replace(scalar, text=f"{scalar.text} ({name})")
            for key, scalar in variant_scalars.items()
        }
    return scalars_by_name


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    exact = reference(parameters)
    return {"comparison": variants_figure(result, exact, variations(result, exact), errors(result, exact))}
