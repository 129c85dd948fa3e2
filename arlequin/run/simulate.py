"""Studies: a system stepped over some time.

Ensembles: many starts, loads or seeds of one system stepped together.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from arlequin.models.checks import instance, positive
from arlequin.models.errors import UserError
from arlequin.results.recorder import Record, as_record, checked_attributes
from arlequin.run.run import Ensemble, Progress, Run
from arlequin.schemes import Scheme
from arlequin.system.system import System

MOST_STEPS = 50_000_000


@dataclass(frozen=True)
class Study:
    """What `simulate` takes: a system, a scheme, the duration and step (s), and how often fields are kept."""

    system: System
    scheme: Scheme
    duration: float
    step: float
    fields_every: int = 1

    @property
    def steps(self) -> int:
        """How many steps it takes."""
        return steps_of(positive("duration", self.duration), positive("step", self.step))

    def run(
        self,
        record: Record | str | Path | None = None,
        attributes: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> xarray.DataTree:
        """Runs the study."""
        own = as_record(record, self.fields_every)
        return run_study(self.system, self.scheme, self.duration, self.step, own, attributes, progress)


def simulate(
    system: System,
    scheme: Scheme,
    *,
    duration: float,
    step: float,
    record: Record | str | Path | None = None,
    fields_every: int = 1,
    attributes: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> xarray.DataTree:
    """Steps the system from 0 to `duration` (s) with the constant `step` (s); the result is an xarray.DataTree.

    The last step ends at or after `duration`; times are n·Δt from integers. record: a path (Zarr), a `Record`, or
    None (memory). fields_every: one frame of the fields every so many steps (a `Record` has its own).
    progress(done, total): called between blocks of steps.

    On Ctrl-C, or where a step fails, what was recorded stays readable and the error goes on. A record on
    disk has a checkpoint, written every ten seconds and where a run stops early: the same call with `Record(path,
    resume=True)` goes on from it, to the same result, bit by bit, as if nothing had happened.
    """
    return Study(system, scheme, duration, step, fields_every).run(record, attributes, progress)


def run_study(
    system: System | Ensemble,
    scheme: Scheme,
    duration: float,
    step: float,
    record: Record,
    attributes: Mapping[str, Any] | None,
    progress: Progress | None,
) -> xarray.DataTree:
    """Runs a system, or the members of an ensemble; see `simulate`."""
    instance("system", system, System | Ensemble, "must be a System")
    instance("scheme", scheme, Scheme, "must be a scheme, as Theta(0.5)")
    instance("progress", progress, Callable | None, "must be a function of the steps done and all steps, or None")
    checked_attributes({} if attributes is None else attributes)
    duration, step = positive("duration", duration), positive("step", step)
    steps = steps_of(duration, step)
    about = {"duration": duration, **(attributes or {})}
    run = Run(
        system,
        scheme,
        step=step,
        steps=steps,
        record=record,
        attributes=about,
        progress=progress,
    )
    if not run.complete:
        with run.recorded():
            run.to(steps)
    return run.result


def steps_of(duration: float, step: float) -> int:
    """Steps (s) that cover a duration (s), the last of which ends at or after it."""
    count = duration / step
    check_count(step, count)
    return max(1, int(np.ceil(count - 1e-9)))


def check_count(step: float, count: float) -> None:
    """Refuses a step (s) that gives too many steps."""
    if not count <= MOST_STEPS:
        raise UserError.parameter("step", step, f"gives {count:.3g} steps; at most {MOST_STEPS} are taken")


def simulate_ensemble(
    systems: Sequence[System],
    scheme: Scheme,
    *,
    duration: float,
    step: float,
    record: Record | str | Path | None = None,
    fields_every: int = 1,
    attributes: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> xarray.DataTree:
    """Steps many systems of the same matrices from 0 to `duration` (s); the result has the dimension `member`.

    The members i share M, D, K, C and the kinematics and laws of contact, H; their starts, loads, gravity and the
    values of imposed motions are their own (`dataclasses.replace(system, velocity=…)` makes one). Each obeys

        M v̇ᵢ + K uᵢ + D vᵢ = fᵢ(t) + Cᵀφᵢ + Hᵀrᵢ,   C vᵢ = 0,   rᵢ ∈ laws(H uᵢ, H vᵢ)

    and gets what `simulate` gives it alone, but for round-off: with Y = (y₁ … y_n) a step of the θ-scheme (`Theta`) is

        A Y = B + θ (CᵀΦ + HᵀP),   A = M + θΔt D + θ²Δt² K factored once,

    each pass over the factor serving some tens of columns; contact is solved and energy audited member by member. Small
    systems of bars, beams, masses and modes go each through the compiled loop of a run alone, to the bit. The other
    parameters are those of `simulate`. Linear parts, junctions, springs, relations and contact of fixed pairings
    without wear are stepped so; all else is refused. A member that does not converge ends the run and is named.
    """
    iterable = isinstance(systems, Iterable) and not isinstance(systems, System)
    members = tuple(systems) if iterable else ()
    if not members or not all(isinstance(system, System) for system in members):
        raise UserError.parameter("systems", systems, "simulate_ensemble takes a list of at least one System")
    own = as_record(record, fields_every)
    result = run_study(Ensemble(members), scheme, duration, step, own, attributes, progress)
    return result.map_over_datasets(_members_first)


def _members_first(dataset: xarray.Dataset) -> xarray.Dataset:
    return dataset.transpose("member", ..., missing_dims="ignore")
