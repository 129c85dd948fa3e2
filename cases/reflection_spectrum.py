"""Reflected energy of a junction against wavelength, from the fine and from the coarse side.

One run of `wave_junction` for each wavelength; beside it the same for a single mesh whose cells jump from fine to
coarse at a node, which is what the junction has to beat.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases import wave_junction
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.waves import stretch_energy
from arlequin.models.checks import integer, positive, within
from arlequin.results.recorder import Record
from arlequin.run.multi_run import Measure, collect_runs
from arlequin.run.run import Progress

Start = Literal["fine", "coarse"]
STARTS: tuple[Start, ...] = get_args(Start)
MEASURES = tuple(
    measure
    for start in STARTS
    for measure in (
        Measure("spectrum", start, "1", f"reflected energy, wave from the {start} side"),
        Measure("spectrum", f"{start}_single", "1", "the same in one mesh with the jump of cell size"),
    )
)


@dataclass(frozen=True)
class Parameters:
    """Wavelengths of 0.7 to 20 coarse cells through the default junction."""

    ratio: Annotated[float, Quantity("", "coarse over fine cell", positive)] = 10.0
    coarse_size: Annotated[float, Quantity("m", "coarse cell H", positive)] = 0.1
    overlap: Annotated[float, Quantity("m", "length of the gluing zone", positive)] = 0.4
    weights: Annotated[Literal["linear", "constant", "cubic"], Quantity("", "weights in the zone")] = "linear"
    coupling: Annotated[Literal["L2", "H1"], Quantity("", "coupling (H1 with the length H)")] = "L2"
    mediator: Annotated[Literal["coarse", "fine", "own"], Quantity("", "multiplier space")] = "coarse"
    absorbing: Annotated[bool, Quantity("", "take away what the coarse cells cannot carry")] = False
    shortest: Annotated[float, Quantity("H", "shortest wavelength, in coarse cells", within, 0.5, 100.0)] = 0.7
    longest: Annotated[float, Quantity("H", "longest wavelength, in coarse cells", within, 0.5, 100.0)] = 20.0
    count: Annotated[int, Quantity("", "wavelengths", integer, 2, 100)] = 9

    def __post_init__(self) -> None:
        if self.longest <= self.shortest:
            raise aq.UserError.parameter("longest", self.longest, f"must be above shortest = {self.shortest:g}")


def wavelengths(parameters: Parameters) -> np.ndarray:
    """In coarse cells, evenly on a logarithmic scale."""
    return np.geomspace(parameters.shortest, parameters.longest, parameters.count)


def one(parameters: Parameters, waves: float, start: Start) -> wave_junction.Parameters:
    """The run of one wavelength."""
    p = parameters
    return wave_junction.Parameters(
        ratio=p.ratio,
        coarse_size=p.coarse_size,
        overlap=p.overlap,
        weights=p.weights,
        coupling=p.coupling,
        mediator=p.mediator,
        absorbing=p.absorbing,
        wavelength=waves * p.coarse_size,
        start=start,
        fields_every=10**6,
    )


def graded(parameters: wave_junction.Parameters) -> float:
    """Reflected energy of one mesh with the same jump of cell size, in the middle of the zone."""
    p, where = parameters, wave_junction.layout(parameters)
    joint = where.coarse_start + 0.5 * p.overlap
    h = p.coarse_size / p.ratio
    x = np.concatenate(
        [
            np.linspace(0.0, joint, round(joint / h) + 1),
            np.linspace(joint, where.end, round((where.end - joint) / p.coarse_size) + 1)[1:],
        ]
    )
    material = aq.LinearElastic(young=wave_junction.YOUNG, density=wave_junction.DENSITY)
    bar = aq.Bar("bar", aq.mesh.line(x), material, imposed={"left": {"x": 0.0}, "right": {"x": 0.0}})
    system = aq.System(
        [bar],
        displacement=lambda y: where.packet.displacement(y[:, 0]),
        velocity=lambda y: where.packet.velocity(y[:, 0]),
    )
    study = wave_junction.build(p)
    result = aq.simulate(system, aq.Theta(0.5), duration=study.duration, step=study.step, fields_every=10**6)
    low, high = (0.0, where.coarse_start) if p.start == "fine" else (where.fine_end, where.end)
    energy = float(result.dataset["energy"].sel(kind=["kinetic", "strain"])[0].sum())
    return stretch_energy(result, "bar", low, high, wave_junction.YOUNG, wave_junction.DENSITY) / energy


def run(parameters: Parameters, record: Record, progress: Progress | None) -> xarray.DataTree:
    """All wavelengths from both sides; the result holds the fractions over `wavelength`, in coarse cells."""
    waves = [float(length) for length in wavelengths(parameters)]
    return collect_runs(
        lambda i: _reflected(parameters, waves[i]),
        MEASURES,
        ("wavelength", waves),
        of=parameters,
        record=record,
        progress=progress,
    )


def _reflected(parameters: Parameters, length: float) -> dict[tuple[str, str], float]:
    """The fractions at one wavelength; nan from the coarse side, whose bar carries no wave below two cells."""
    found = {measure.key: np.nan for measure in MEASURES}
    for start in STARTS:
        if start == "fine" or length >= 2.0:
            own = one(parameters, length, start)
            found["spectrum", start] = wave_junction.reflected(wave_junction.build(own).run(), own)
            found["spectrum", f"{start}_single"] = graded(own)
    return found


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Where the coarse cells carry the wave well hardly anything comes back, and less than in one mesh."""
    spectrum = result["spectrum"].dataset
    waves = spectrum["wavelength"].values
    checks = []
    for start in ("fine", "coarse"):
        long = waves >= 9.999
        if long.any():
            worst = float(spectrum[start].values[long].max())
            single = float(spectrum[f"{start}_single"].values[long].max())
            if start == "fine":
                checks.append(Check("reflected from 10 H on, fine side", worst, 0.0, 1e-5, "1", "at most"))
            checks.append(Check(f"the same against one mesh, {start} side", worst, single, 0.0, "1", "at most"))
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Of each side the worst wavelength; of the coarse side those that its cells carry."""
    out = {}
    for name, text in (("", "worst wavelength"), ("_single", "the same in one mesh")):
        for start in ("fine", "coarse"):
            values = result["spectrum"].dataset[f"{start}{name}"].values
            known = values[np.isfinite(values)]
            about = f"reflected energy, {start} side: {text}"
            out[f"reflected_energy_{start}{name}"] = aq.Scalar(known.max() if known.size else np.nan, "1", about)
    return out


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin.cases.shared.figures import spectrum_figure

    return {"spectrum": spectrum_figure(result)}
