"""Plane waves through a junction: reflected and absorbed energy and phase against wavelength and angle.

Each wavelength is one solution in the frequency domain (`aq.PlaneWaves`), for waves from either side, with infinite
fine and coarse lattices. The junction of the parameters is compared with the plain Arlequin junction (consistent mass,
multipliers on the coarse mesh, no absorption) and, in one dimension, with a point junction (`Tie`) and one mesh whose
cell size jumps at a node. Waves below two cells of the lattice of the incident wave are omitted (nan).

Reflected energy of waves along the axis from the fine side, mesh ratios 3.3 and 7.3, by the defaults (`plain`: as
above, also in a zone of six cells), and energy absorbed by the defaults:

    wavelength   defaults        plain          one mesh       absorbed
    1 H          1e-4, 4e-4      1              1              1
    2.1 H        8e-4            0.03, 0.05     0.1            1
    2.6 H        4e-4, 2e-4      5e-4           0.03           1
    2.9 H        6e-5, 5e-4      2e-5, 1e-5     0.01, 0.02     0.9
    5 H          7e-5            1e-5           1e-3           0.01
    10 H         1e-5            2e-6           8e-5           2e-5

The largest are 1e-3 for all waves of at least 2.9 fine cells, and 4e-6 above 10 H; from 2.9 down to 2.4 fine cells,
with nearly zero group velocity in the fine lattice, 1.5e-3. Obliquely, in plane strain, at most 1e-2 at 30° and 60°,
but for P waves of 2 H at 60°: 0.03.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.figures import spectrum_figure
from arlequin.cases.wave_junction import DENSITY, YOUNG
from arlequin.models.checks import integer, positive, within
from arlequin.results.recorder import Record
from arlequin.run.multi_run import Measure, collect_runs
from arlequin.run.run import Progress

Start = Literal["fine", "coarse"]
STARTS: tuple[Start, ...] = ("fine", "coarse")
OTHERS = {
    "plain": "plain Arlequin junction",
    "point": "point junction",
    "single": "one mesh with the jump of cell size",
}
POISSON = 0.3  # Poisson's ratio of the plane models
STRIP = 6  # coarse cells over the height of the plane models
MEASURES = tuple(
    measure
    for start in STARTS
    for measure in (
        Measure("spectrum", start, "1", f"reflected energy, wave from the {start} side"),
        Measure("spectrum", f"{start}_absorbed", "1", f"absorbed energy, wave from the {start} side"),
        Measure("spectrum", f"{start}_amplitude", "1", f"transmitted amplitude, wave from the {start} side"),
        Measure("spectrum", f"{start}_phase", "rad", f"lag of the transmitted wave, wave from the {start} side"),
        *(
            Measure("spectrum", f"{start}_{key}", "1", f"reflected energy, wave from the {start} side: {name}")
            for key, name in OTHERS.items()
        ),
    )
)


@dataclass(frozen=True)
class Parameters:
    """Default: wavelengths of 0.5 to 40 coarse cells along the axis, absorbing junction, reduced dispersion."""

    ratio: Annotated[float, Quantity("", "coarse over fine cell size", positive)] = 7.3
    coarse_size: Annotated[float, Quantity("m", "coarse cell size H", positive)] = 0.1
    overlap: Annotated[float, Quantity("m", "length of the overlap", positive)] = 0.6
    wave: Annotated[Literal["P", "S"], Quantity("", "wave of compression or of shear; S: plane strain")] = "P"
    angle: Annotated[float, Quantity("deg", "angle of incidence; not 0: plane strain", within, 0.0, 80.0)] = 0.0
    coarse_mass: Annotated[Literal["dispersion", "consistent", "lumped"], Quantity("", "mass of the coarse part")] = (
        "dispersion"
    )
    weights: Annotated[Literal["linear", "constant", "cubic"], Quantity("", "weight functions in the overlap")] = (
        "linear"
    )
    coupling: Annotated[Literal["L2", "H1"], Quantity("", "coupling form; H1 with the length H")] = "L2"
    mediator: Annotated[
        Literal["grid", "coarse", "fine"], Quantity("", "multiplier space; grid: cells of 1.2 H or a little more")
    ] = "grid"
    absorbing: Annotated[bool, Quantity("", "absorb waves that the coarse mesh cannot resolve")] = True
    shortest: Annotated[float, Quantity("H", "shortest wavelength, in coarse cells", within, 0.1, 100.0)] = 0.5
    longest: Annotated[float, Quantity("H", "longest wavelength, in coarse cells", within, 0.1, 100.0)] = 40.0
    count: Annotated[int, Quantity("", "number of wavelengths", integer, 2, 1000)] = 41

    def __post_init__(self) -> None:
        if self.longest <= self.shortest:
            raise aq.UserError.parameter("longest", self.longest, f"must be above shortest = {self.shortest:g}")


def wavelengths(parameters: Parameters) -> np.ndarray:
    """Wavelengths over the coarse cell size, geometrically spaced."""
    return np.geomspace(parameters.shortest, parameters.longest, parameters.count)


def is_plane(parameters: Parameters) -> bool:
    """Whether the model is a strip in plane strain instead of bars."""
    return parameters.wave == "S" or parameters.angle > 0.0


def part(parameters: Parameters, name: str, ends: tuple[float, float], size: float, mass: str) -> Any:
    """Bar, or strip in plane strain, with cells of about `size` (m)."""
    p = parameters
    material = aq.LinearElastic(young=YOUNG, poisson=POISSON if is_plane(p) else 0.0, density=DENSITY)
    cells = max(3, round((ends[1] - ends[0]) / size))
    if not is_plane(p):
        return aq.Bar(name, aq.mesh.interval(*ends, cells=cells), material, mass=mass)
    height = STRIP * p.coarse_size
    mesh = aq.mesh.rectangle(ends, (0.0, height), cells=(cells, max(1, round(height / size))))
    return aq.Solid(name, mesh, material, plane="strain", mass=mass)


def glued(parameters: Parameters, configured: bool = True) -> aq.System:
    """System with the junction of the parameters, or with the plain junction if not `configured`."""
    p, coarse_size, fine_size = parameters, parameters.coarse_size, parameters.coarse_size / parameters.ratio
    fine = part(p, "fine", (-3.0 * coarse_size, p.overlap), fine_size, "consistent")
    end = coarse_size * np.ceil(p.overlap / coarse_size + 8.0)
    coarse = part(p, "coarse", (0.0, end), coarse_size, p.coarse_mass if configured else "consistent")
    weights = {"linear": aq.weights.Linear, "constant": aq.weights.Constant, "cubic": aq.weights.Cubic}[p.weights]()
    coupling = aq.L2() if p.coupling == "L2" else aq.H1(p.coarse_size)
    if not configured:
        return aq.System([coarse, fine], [aq.Junction(coarse, fine)])
    junction = aq.Junction(coarse, fine, weights=weights, coupling=coupling, mediator=p.mediator, absorbing=p.absorbing)
    return aq.System([coarse, fine], [junction])


def point(parameters: Parameters) -> aq.System:
    """System of both bars, connected at their ends."""
    p, coarse_size = parameters, parameters.coarse_size
    fine = part(p, "fine", (-3.0 * coarse_size, 0.0), coarse_size / p.ratio, "consistent")
    coarse = part(p, "coarse", (0.0, 8.0 * coarse_size), coarse_size, "consistent")
    return aq.System([coarse, fine], [aq.Tie(coarse.boundary("left"), fine.boundary("right"))])


def single(parameters: Parameters) -> aq.System:
    """System of one mesh with the jump of cell size at a node."""
    p, coarse_size = parameters, parameters.coarse_size
    fine = np.linspace(-3.0 * coarse_size, 0.0, max(3, round(3.0 * p.ratio)) + 1)
    x = np.concatenate([fine, coarse_size * np.arange(1.0, 9.0)])
    material = aq.LinearElastic(young=YOUNG, density=DENSITY)
    return aq.System([aq.Bar("bar", aq.mesh.line(x), material)])


def scattering(parameters: Parameters) -> dict[str, aq.PlaneWaves]:
    """Models by name; "": with the junction of the parameters."""
    models: dict[str, Callable[[], aq.System]] = {
        "": lambda: glued(parameters),
        "plain": lambda: glued(parameters, configured=False),
    }
    if not is_plane(parameters):
        models |= {"point": lambda: point(parameters), "single": lambda: single(parameters)}
    return {name: aq.PlaneWaves(model()) for name, model in models.items()}


def run(parameters: Parameters, record: Record, progress: Progress | None) -> xarray.DataTree:
    """Solutions of all wavelengths from both sides, over `wavelength` in coarse cells."""
    waves = [float(length) for length in wavelengths(parameters)]
    models = scattering(parameters)
    return collect_runs(
        lambda i: _scattered(parameters, models, waves[i]),
        MEASURES,
        ("wavelength", waves),
        of=parameters,
        record=record,
        progress=progress,
    )


def _scattered(parameters: Parameters, models: dict[str, aq.PlaneWaves], length: float) -> dict[tuple[str, str], float]:
    """Energy fractions and phases at one wavelength; nan if it cannot propagate in the lattice of the incident wave."""
    p = parameters
    fractions = {measure.key: np.nan for measure in MEASURES}
    axial_wavelength = length / max(np.cos(np.deg2rad(p.angle)), 1e-3)
    for start in STARTS:
        if axial_wavelength <= 2.05 / (p.ratio if start == "fine" else 1.0):
            continue
        for name, model in models.items():
            side: Literal["left", "right"] = "left" if start == "fine" else "right"
            wave = model.scatter(length * p.coarse_size, p.wave, p.angle, side)
            if name:
                fractions["spectrum", f"{start}_{name}"] = wave.reflected
                continue
            fractions["spectrum", start] = wave.reflected
            fractions["spectrum", f"{start}_absorbed"] = wave.absorbed
            fractions["spectrum", f"{start}_amplitude"] = wave.amplitude
            fractions["spectrum", f"{start}_phase"] = wave.phase
    return fractions


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of the reflection from the fine side: all waves if absorbing, resolved waves, comparison with one mesh."""
    p, spectrum = parameters, result["spectrum"].dataset
    waves = spectrum["wavelength"].values
    # near the shortest wave of the fine lattice the group velocity vanishes: no damping is gradual for it
    resolved = waves * p.ratio >= 2.9 / np.cos(np.deg2rad(p.angle))
    checks = []

    def largest(name: str, where: np.ndarray) -> float:
        return float(np.nanmax(np.abs(spectrum[name].values[where])))

    if p.absorbing and p.mediator == "grid" and p.coarse_mass == "dispersion" and resolved.any():
        limit = 1e-3 if not is_plane(p) else 4e-2 if p.angle else 3e-3
        checks.append(Check("reflected energy, fine side", largest("fine", resolved), 0.0, limit, "1", "at most"))
        long = waves >= 7.999
        if long.any():
            name = "absorbed energy for wavelengths ≥ 8 H, fine side"
            checks.append(Check(name, largest("fine_absorbed", long), 0.0, 1e-3 if p.angle else 1e-4, "1", "at most"))
    long = waves >= 9.999
    if long.any():
        name = "reflected energy for wavelengths ≥ 10 H, fine side"
        worst = largest("fine", long)
        checks.append(Check(name, worst, 0.0, 1e-5 if not p.angle else 1e-4, "1", "at most"))
        checks.append(Check("lag of the transmitted wave", largest("fine_phase", long), 0.0, 1e-2, "rad", "at most"))
        middle = long & (waves <= 20.001)  # for longer waves both are below 1e-6
        if not is_plane(p) and middle.any():
            worst, single = largest("fine", middle), largest("fine_single", middle)
            checks.append(Check("the reflection over that of one mesh, 10 to 20 H", worst, single, 0.0, "1", "at most"))
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Scalars: largest reflection from each side."""
    scalars_by_name = {}
    spectrum = result["spectrum"].dataset
    for key, text in (("", "junction"), *((f"_{key}", name) for key, name in OTHERS.items())):
        for start in STARTS:
            values = spectrum[f"{start}{key}"].values
            finite = values[np.isfinite(values)]
            text_of_scalar = f"largest reflected energy, {start} side: {text}"
            scalars_by_name[f"reflected_energy_{start}{key}"] = aq.Scalar(
                finite.max() if finite.size else np.nan, "1", text_of_scalar
            )
    return scalars_by_name


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    return {"spectrum": spectrum_figure(result)}
