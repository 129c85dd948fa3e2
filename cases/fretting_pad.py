"""Fretting wear of a cylindrical pad on a plane over many cycles, with cycle jumps.

Plane strain, quasi-static. The pad is a half-cylinder whose flat top does not rotate and is pressed by the soft spring
of an arm; the top oscillates with the given amplitude. The load is applied in a few steps before the cycles. Most
cycles are extrapolated (`arlequin.CycleJump`); `jumps=0` computes all of them.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.hertz import LineContact, effective_modulus
from arlequin.cases.shared.impact import worst_balance
from arlequin.cases.shared.meshes import half_disc
from arlequin.cases.shared.vocabulary import Density, Poisson, Young
from arlequin.cases.shared.worn import scar_width, worn_profile
from arlequin.models.checks import integer, positive, positive_integer, within
from arlequin.models.types import Array
from arlequin.results.recorder import Record
from arlequin.run.run import Progress

_PRESSING = 4  # steps of the loading
_ZONE = 2.2  # half-width of the refined surface over that of the initial contact
_ARM = 200.0  # compression of the arm's spring over the Hertzian approach, so that wear hardly changes the force


@dataclass(frozen=True)
class Parameters:
    """Default: steel pad of R = 50 mm under 200 N/mm, ± 10 µm, 1000 cycles; worn depth 0.15 µm."""

    radius: Annotated[float, Quantity("m", "radius of the pad", positive)] = 0.05
    force: Annotated[float, Quantity("N/m", "normal force per depth", positive)] = 2e5
    amplitude: Annotated[float, Quantity("m", "amplitude of the tangential motion", positive)] = 1e-5
    friction: Annotated[float, Quantity("", "coefficient of friction", positive)] = 0.6
    wear: Annotated[float, Quantity("m^3/J", "Archard's coefficient", positive)] = 1e-14
    young: Young = 2.1e11
    poisson: Poisson = 0.3
    density: Density = 7800.0
    cycles: Annotated[int, Quantity("", "number of cycles", positive_integer)] = 1000
    steps: Annotated[int, Quantity("", "steps per cycle", within, 4, 10000)] = 16
    tolerance: Annotated[float, Quantity("", "tolerance on the estimated error of a cycle jump", positive)] = 2e-2
    jumps: Annotated[int | None, Quantity("", "cycles per jump; none: from the tolerance", integer, 0)] = None
    cells: Annotated[int, Quantity("", "cells over the initial half-width", positive_integer)] = 12

    @property
    def lead(self) -> float:
        """Duration of the loading, in periods."""
        return _PRESSING / self.steps


def reference(parameters: Parameters) -> LineContact:
    """Hertzian contact of the unworn pad."""
    p = parameters
    return LineContact(p.radius, effective_modulus(_material(p)), p.force)


def _material(p: Parameters) -> aq.LinearElastic:
    return aq.LinearElastic(young=p.young, poisson=p.poisson, density=p.density)


def system(parameters: Parameters) -> aq.System:
    """System of the pad, its holder, and the support that presses it through the arm; period 1 s."""
    p, theory = parameters, reference(parameters)
    b = theory.half_width
    mesh = half_disc(p.radius, _ZONE * b, b / p.cells)
    swing = {"x": lambda t: p.amplitude * np.sin(2.0 * np.pi * max(t - p.lead, 0.0))}
    pad = aq.Solid("pad", mesh, _material(p), plane="strain", imposed={"top": swing})
    arm_compression = _ARM * b**2 / p.radius
    mass = p.density * p.radius**2
    holder = aq.PointMasses("holder", (0.0, p.radius), mass, imposed={"all": {"x": 0.0}})
    press: dict[str, Any] = {"x": 0.0, "y": lambda t: -arm_compression * min(t / p.lead, 1.0)}
    support = aq.PointMasses("support", (0.0, 1.1 * p.radius), mass, imposed={"all": press})
    ends = holder.boundary("all"), support.boundary("all")
    contact = aq.Interface(
        "contact", pad.boundary("contact"), aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0)),
        aq.Unilateral(level="gap"), friction=aq.Coulomb(p.friction), multiplier="nodes",
        wear=aq.Archard(p.wear, density=p.density), sliding="small",
    )  # fmt: skip
    return aq.System(
        [pad, holder, support],
        interfaces=[contact],
        relations=[aq.Relation("level", [(pad.boundary("top"), "y", 1.0), (holder.boundary("all"), "y", -1.0)])],
        springs=[aq.Spring("arm", *ends, stiffness=p.force / arm_compression, direction=(0.0, 1.0))],
    )


def run(parameters: Parameters, record: Record | None = None, progress: Progress | None = None) -> xarray.DataTree:
    p, record = parameters, record or Record()
    return aq.simulate_cycles(
        system(p), aq.Static(), period=1.0, step=1.0 / p.steps, cycles=p.cycles, lead=p.lead,
        jumps=aq.CycleJump(p.tolerance, p.jumps),
        # fields of every step would be large with jumps=0
        record=replace(record, fields_every=p.steps) if p.jumps == 0 else record,
        progress=progress,
    )  # fmt: skip


@dataclass(frozen=True)
class FrettingHistory:
    """Computed cycles (c,); friction (c,): dissipation of each, J/m; volume (c,): worn volume after each, m²;
    x (k,), m, sorted, and final worn depth (k,), m."""

    cycles: Array
    friction: Array
    volume: Array
    x: Array
    depth: Array

    @classmethod
    def of(cls, result: xarray.DataTree, parameters: Parameters) -> "FrettingHistory":
        p = parameters
        group = result["interface/contact"].dataset
        cycles = np.array(result.attrs["cycles_stepped"].split(), dtype=float)
        ends = np.searchsorted(result.dataset["time"].values, p.lead + cycles - 0.5 / p.steps)
        friction_energy = result.dataset["energy"].sel(kind="friction").values
        x, depth = worn_profile(result)
        return cls(
            cycles=cycles,
            friction=friction_energy[ends] - friction_energy[ends - p.steps],
            volume=group["worn_volume"].values[ends],
            x=x,
            depth=depth,
        )

    def expected(self, parameters: Parameters) -> float:
        """Expected volume k/μ Σ E over all cycles, m²; dissipation E of a cycle, linear between computed cycles."""
        dissipation = np.interp(np.arange(1.0, self.cycles[-1] + 1.0), self.cycles, self.friction)
        return float(parameters.wear / parameters.friction * dissipation.sum())


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p, history = parameters, FrettingHistory.of(result, parameters)
    uneven = float(np.abs(history.depth - history.depth[::-1]).max() / history.depth.max())
    return [
        # wear uses the force at the end of a step, friction its mean: first-order difference at reversals
        Check(
            "worn volume against k/μ of the friction work",
            float(history.volume[-1]),
            history.expected(p),
            1 / p.steps,
            "m^3",
        ),
        Check("asymmetry of the worn depth, relative", uneven, 0.0, 0.02, "1", "at most"),
        Check(
            "error estimate of a jump over its tolerance",
            result.attrs["jump_error"] / p.tolerance,
            0.0,
            2.0,
            "1",
            "at most",
        )
        if p.jumps is None
        else Check("computed cycles", history.cycles.size, 1.0, 0.0, "1", "at least"),
        Check("energy balance, worst step", worst_balance(result), 0.0, 1e-10, "1", "absolute"),
    ]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    history = FrettingHistory.of(result, parameters)
    return {
        "scar_width": scar_width(result),
        "cycle_friction_energy": aq.Scalar(
            history.friction[-1], "J", "energy dissipated by friction in the last cycle"
        ),
        "cycles_stepped": aq.Scalar(history.cycles.size, "1", "number of computed cycles"),
        "jump_error": aq.Scalar(result.attrs["jump_error"], "1", "largest error estimate of a jump"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    return {
        "worn": plots.worn(result, "contact"),
        "heat": plots.friction_heat(result, "contact"),
        "energies": plots.energies(result),
    }
