"""Wave packet through a junction of a coarse and a fine bar: reflected energy and energy conservation.

Two coupled bars of unit modulus and density; a packet starts in one of them and runs through the junction. A uniform
bar does not reflect: any reflection is caused by the junction. Waves too short for the coarse mesh are reflected
completely unless the junction absorbs them.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.impact import energy_checks
from arlequin.cases.shared.vocabulary import FieldsEvery
from arlequin.cases.shared.waves import WavePacket, drift, stretch_energy
from arlequin.models.checks import positive, positive_integer, within

YOUNG, DENSITY = 1.0, 1.0
GHOST_CELLS = 8


@dataclass(frozen=True)
class Parameters:
    """Default: coarse cells of 0.1, fine cells of 0.01, overlap of four coarse cells, wavelength of ten."""

    ratio: Annotated[float, Quantity("", "coarse over fine cell size, not necessarily an integer", positive)] = 10.0
    coarse_size: Annotated[float, Quantity("m", "coarse cell size H", positive)] = 0.1
    overlap: Annotated[float, Quantity("m", "length of the overlap", positive)] = 0.4
    weights: Annotated[Literal["linear", "constant", "cubic"], Quantity("", "weight functions in the overlap")] = (
        "linear"
    )
    coupling: Annotated[Literal["L2", "H1"], Quantity("", "coupling form; H1 with the length H")] = "L2"
    mediator: Annotated[
        Literal["coarse", "fine", "grid", "own"],
        Quantity("", "multiplier space; grid: cells of about 1.2H, own: of 2H"),
    ] = "coarse"
    coarse_mass: Annotated[
        Literal["consistent", "dispersion"], Quantity("", "mass of the coarse bar; dispersion: waves of fourth order")
    ] = "consistent"
    wavelength: Annotated[float, Quantity("m", "wavelength of the packet", positive)] = 1.0
    start: Annotated[Literal["fine", "coarse"], Quantity("", "side on which the packet starts")] = "fine"
    absorbing: Annotated[bool, Quantity("", "absorb waves that the coarse mesh cannot resolve")] = False
    time_ratio: Annotated[int, Quantity("", "steps of the fine part per step of the coarse part", positive_integer)] = 1
    courant: Annotated[float, Quantity("", "Courant number c Δt/h of the fine cells", positive)] = 0.35
    duration: Annotated[
        float | None, Quantity("s", "duration of the run; none: until the packet has passed", positive)
    ] = None
    floor: Annotated[
        float, Quantity("", "weight of the coarse cells below the fine part; 0: none", within, 0.0, 0.5)
    ] = 0.0
    fields_every: FieldsEvery = 50


@dataclass(frozen=True)
class BarLayout:
    """Positions, m: fine bar [0, fine_end], coarse bar [coarse_start, end]."""

    fine_end: float
    coarse_start: float
    end: float
    packet: WavePacket


def layout(parameters: Parameters) -> BarLayout:
    """Bars long enough for the packet to start and end outside the overlap."""
    p = parameters
    width = max(2.0 * p.wavelength, 4.0 * p.coarse_size)
    fine_end = p.overlap + 14.0 * width
    cells = int(np.ceil((14.0 * width + p.overlap) / p.coarse_size))
    coarse_start = fine_end - p.overlap
    end = coarse_start + cells * p.coarse_size
    speed = float(np.sqrt(YOUNG / DENSITY))
    if p.start == "fine":
        packet = WavePacket(coarse_start - 5.0 * width, width, p.wavelength, 1.0, speed)
    else:
        packet = WavePacket(fine_end + 5.0 * width, width, p.wavelength, -1.0, speed)
    return BarLayout(fine_end, coarse_start, end, packet)


def build(parameters: Parameters) -> aq.Study:
    p, bars = parameters, layout(parameters)
    material = aq.LinearElastic(young=YOUNG, density=DENSITY)
    h = p.coarse_size / p.ratio
    fine_cells = max(1, round(bars.fine_end / h))
    # with a floor the coarse bar extends below the fine one
    coarse_low = bars.coarse_start - (GHOST_CELLS * p.coarse_size if p.floor > 0.0 else 0.0)
    coarse_cells = round((bars.end - coarse_low) / p.coarse_size)
    fine = aq.Bar(
        "fine", aq.mesh.interval(0.0, bars.fine_end, cells=fine_cells), material, imposed={"left": {"x": 0.0}}
    )
    coarse = aq.Bar(
        "coarse",
        aq.mesh.interval(coarse_low, bars.end, cells=coarse_cells),
        material,
        imposed={"right": {"x": 0.0}},
        mass=p.coarse_mass,
    )
    system = aq.System(
        [coarse, fine],
        [junction(p, coarse, fine, bars)],
        displacement=lambda x: bars.packet.displacement(x[:, 0]),
        velocity=lambda x: bars.packet.velocity(x[:, 0]),
    )
    fine_step = p.courant * bars.fine_end / fine_cells / bars.packet.speed
    scheme = aq.Theta(0.5) if p.time_ratio == 1 else aq.Multirate(p.time_ratio)
    duration = (10.0 * bars.packet.width + p.overlap) / bars.packet.speed if p.duration is None else p.duration
    return aq.Study(system, scheme, duration, fine_step * p.time_ratio, p.fields_every)


def junction(parameters: Parameters, coarse: Any, fine: Any, bars: BarLayout) -> Any:
    """Junction of the parameters."""
    p = parameters
    weights = {"linear": aq.weights.Linear, "constant": aq.weights.Constant, "cubic": aq.weights.Cubic}[p.weights]()
    coupling = aq.L2() if p.coupling == "L2" else aq.H1(p.coarse_size)
    mediator: Any = p.mediator
    if mediator == "own":
        cells = max(1, round(p.overlap / (2.0 * p.coarse_size)))
        mediator = aq.mesh.interval(bars.coarse_start, bars.fine_end, cells=cells)
    options: dict[str, Any] = {"absorbing": p.absorbing}
    if p.floor > 0.0:
        options |= {"zone": aq.zones.Strip(start=bars.fine_end, end=bars.coarse_start), "floor": p.floor}
    return aq.Junction(coarse, fine, weights=weights, coupling=coupling, mediator=mediator, **options)


def reflected(result: xarray.DataTree, parameters: Parameters) -> float:
    """Final energy on the side of the start over the initial energy."""
    bars = layout(parameters)
    start = float(result.dataset["energy"].sel(kind=["kinetic", "strain"])[0].sum())
    if parameters.start == "fine":
        reflected_energy = stretch_energy(result, "fine", 0.0, bars.coarse_start, YOUNG, DENSITY)
    else:
        reflected_energy = stretch_energy(result, "coarse", bars.fine_end, bars.end, YOUNG, DENSITY)
    return reflected_energy / start


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Reflected energy (exact: 0) and, without an absorber, energy conservation."""
    p = parameters
    checks = []
    if p.duration is None:
        fraction = reflected(result, p)
        waves = p.wavelength / p.coarse_size
        if p.absorbing and waves < 2.0:
            limit = 2e-2 if p.overlap < 7.9 * p.coarse_size else 1e-3
        else:
            limit = 1e-5 if waves >= 10.0 else 1.0
        checks.append(Check("reflected energy", fraction, 0.0, limit, "1", "at most"))
    if not p.absorbing:
        checks.append(Check("drift of kinetic and strain energy", drift(result), 0.0, 1e-12, "1", "at most"))
    return checks + energy_checks(result)


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Scalars; with a given duration the reflected energy is nan, as the packet may not have returned."""
    fraction = reflected(result, parameters) if parameters.duration is None else np.nan
    return {
        "reflected_energy": aq.Scalar(fraction, "1", "fraction of the energy reflected by the junction"),
        "energy_drift": aq.Scalar(drift(result), "1", "largest change of the kinetic and strain energy"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    return {"energies": plots.energies(result), "displacement": plots.profile(result, "displacement")}
