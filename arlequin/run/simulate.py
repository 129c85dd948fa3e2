"""`simulate`, `simulate_ensemble` and `Study`: the time integration of a system or of an ensemble."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from arlequin.models.checks import instance, positive
from arlequin.models.errors import ModelWarning, UserError, UserTypeError, short_repr
from arlequin.models.signatures import checked_call
from arlequin.results.recorder import Record, as_record, checked_attributes
from arlequin.run.parallel import together
from arlequin.run.progress import reporting
from arlequin.run.run import Ensemble, Progress, Run
from arlequin.schemes import Scheme
from arlequin.system.system import System

MAX_STEPS = 50_000_000


@checked_call
@dataclass(frozen=True)
class Study:
    """A system, a scheme, duration and time step (s), and the number of steps per frame.

    >>> import arlequin as aq
    >>> stone = aq.PointMasses("stone", (0.0, 0.0), 2.0)  # m, kg
    >>> system = aq.System([stone], gravity=(0.0, -10.0), velocity=(3.0, 0.0))  # m/s², m/s
    >>> study = aq.Study(system, aq.Theta(0.5), duration=1.0, step=0.1)
    >>> study.steps
    10
    >>> round(float(study.run()["energy"].sel(kind="kinetic")[-1]), 9)  # ½ m (3² + 10²), J
    109.0
    """

    system: System
    scheme: Scheme
    duration: float
    step: float
    fields_every: int = 1

    __repr__ = short_repr

    def _repr_html_(self) -> str:
        """Summary of the study and the system with a sketch, for notebooks."""
        about = f"{self.steps:,} steps of {self.step:g} s, {self.duration:g} s in all, by {self.scheme!r}"
        return f"<p>{escape(about)}</p>{self.system._repr_html_()}"

    @property
    def steps(self) -> int:
        """Number of steps."""
        return steps_of(positive("duration", self.duration), positive("step", self.step))

    def run(
        self,
        record: Record | str | Path | None = None,
        attributes: Mapping[str, Any] | None = None,
        progress: Progress | bool | None = None,
    ) -> xarray.DataTree:
        """Run the study; arguments as of `simulate`."""
        run_record = as_record(record, self.fields_every)
        return run_study(self.system, self.scheme, self.duration, self.step, run_record, attributes, progress)


@checked_call
def simulate(
    system: System,
    scheme: Scheme,
    *,
    duration: float,
    step: float,
    record: Record | str | Path | None = None,
    fields_every: int = 1,
    attributes: Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
) -> xarray.DataTree:
    """Integrate a system from 0 to `duration` (s) with the constant `step` (s); returns an xarray.DataTree.

    The last step ends at or after `duration`; times are n·Δt from integers. record: a path (Zarr), a `Record`, or
    None (memory). fields_every: steps per frame of the fields (a `Record` has its own).
    progress: True shows a progress bar on terminals and in notebooks, False none, None one after a second; a function
    is called as progress(done, total) between blocks of steps.

    On Ctrl-C, or if a step fails, the recorded part stays readable and the exception propagates. A record on disk
    has a checkpoint, written every ten seconds and when a run stops early: the same call with `Record(path,
    resume=True)` resumes from it, with bitwise-identical results.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=10), steel)
    >>> contact = aq.Interface("end", bar.boundary("right"), aq.RigidPlane(point=0.1, normal=-1.0), aq.Unilateral())
    >>> system = aq.System([bar], interfaces=[contact], velocity=10.0)  # m/s
    >>> result = aq.simulate(system, aq.Theta(0.5), duration=1e-4, step=1e-6)  # s
    >>> bool(abs(result["balance"]).max() < 1e-12)
    True
    >>> round(float(result["part/bar"]["momentum"].diff("time").sum() / result["interface/end"]["impulse"].sum()), 9)
    -1.0
    """
    return Study(system, scheme, duration, step, fields_every).run(record, attributes, progress)


def run_study(
    system: System | Ensemble,
    scheme: Scheme,
    duration: float,
    step: float,
    record: Record,
    attributes: Mapping[str, Any] | None,
    progress: Progress | bool | None,
) -> xarray.DataTree:
    """Run a system or an ensemble; see `simulate`."""
    instance("system", system, System | Ensemble, "must be a System, as System([part])")
    instance("scheme", scheme, Scheme, "must be a scheme, as arlequin.Theta(0.5)")
    rule = "must be True, False, None or a function of the steps done and all steps"
    instance("progress", progress, Callable | bool | None, rule)
    checked_attributes({} if attributes is None else attributes)
    duration, step = positive("duration", duration), positive("step", step)
    steps = steps_of(duration, step)
    run_attributes = {"duration": duration, **(attributes or {})}
    title = "" if record.path is None else Path(record.path).stem
    # overflow ends the run with one error line instead of NumPy's warnings
    quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore")
    with together(), reporting(progress, title) as report, quiet:
        run = Run(
            system,
            scheme,
            step=step,
            steps=steps,
            record=record,
            attributes=run_attributes,
            progress=report,
        )
        if step > duration * (1.0 + 1e-9):  # after the limits of the scheme, which are errors
            line = f"step = {step:g} s: is longer than the duration of {duration:g} s: one step is taken"
            # run_study ← Study.run ← simulate ← checked_call ← the user
            warnings.warn(line, ModelWarning, stacklevel=5)
        if not run.complete:
            with run.recorded():
                run.to(steps)
    return run.result


def steps_of(duration: float, step: float) -> int:
    """Number of steps of `step` (s), of which the last ends at or after `duration` (s)."""
    count = duration / step
    check_count(step, count)
    return max(1, int(np.ceil(count - 1e-9)))


def check_count(step: float, count: float) -> None:
    """Raise `UserError` for a step (s) that gives too many steps."""
    if not count <= MAX_STEPS:
        raise UserError.parameter("step", step, f"gives {count:.3g} steps; at most {MAX_STEPS} are taken")


@checked_call
def simulate_ensemble(
    systems: Sequence[System],
    scheme: Scheme,
    *,
    duration: float,
    step: float,
    record: Record | str | Path | None = None,
    fields_every: int = 1,
    attributes: Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
) -> xarray.DataTree:
    """Integrate systems that differ in initial conditions and loads to `duration` (s); results over `member`.

    The members i share M, D, K, C and the kinematics and laws of contact, H, and differ in initial conditions, loads,
    gravity and values of imposed motions (create them by `dataclasses.replace(system, velocity=…)`). Each obeys

        M v̇ᵢ + K uᵢ + D vᵢ = fᵢ(t) + Cᵀφᵢ + Hᵀrᵢ,   C vᵢ = 0,   rᵢ ∈ laws(H uᵢ, H vᵢ)

    and its result equals that of `simulate` up to round-off: with Y = (y₁ … y_n) a step (`Theta`, `Newmark`, `HHT`,
    `ModifiedMeanAcceleration`, `GeneralisedAlpha`) is

        A Y = B + λμ (CᵀΦ + HᵀP),   A = μM + bD + aK factored once (see `arlequin.step.coefficients`),

    each pass over the factor solving some tens of columns; contact and the energy balance are computed per member.
    Small systems of bars, beams, masses and modes run in one compiled loop per member, in parallel, with results
    bitwise equal to separate runs. Members with nonlinear parts, with wear, restitution or changing pairings in
    contact, and of other schemes have no common matrices: they are stepped one after the other, with results bitwise
    equal to separate runs and in the same time. The other parameters are those of `simulate`. If a member does not
    converge the run ends with an error that names the member.

    >>> from dataclasses import replace
    >>> import arlequin as aq
    >>> ball = aq.PointMasses("ball", 0.1, 2.0)  # m, kg
    >>> contact = aq.Interface("floor", ball.boundary("all"), aq.RigidPlane(point=0.0, normal=1.0), aq.Unilateral())
    >>> system = aq.System([ball], interfaces=[contact])
    >>> members = [replace(system, velocity=-v) for v in (1.0, 2.0, 4.0)]  # m/s
    >>> result = aq.simulate_ensemble(members, aq.Theta(0.5), duration=0.2, step=0.01)
    >>> result["interface/floor"]["impulse"].sum("time").values.round(9).tolist()  # m v of each member, N·s
    [2.0, 4.0, 8.0]
    """
    iterable = isinstance(systems, Iterable) and not isinstance(systems, System)
    members = tuple(systems) if iterable else ()
    rule = "must be a list of at least one System"
    if not iterable:
        raise UserTypeError.parameter("systems", systems, rule)
    for system in members:
        instance("systems", system, System, rule)
    if not members:
        raise UserError.parameter("systems", systems, rule)
    run_record = as_record(record, fields_every)
    result = run_study(Ensemble(members), scheme, duration, step, run_record, attributes, progress)
    return result.map_over_datasets(_members_first)


def _members_first(dataset: xarray.Dataset) -> xarray.Dataset:
    return dataset.transpose("member", ..., missing_dims="ignore")
