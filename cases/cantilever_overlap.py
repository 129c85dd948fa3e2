"""Cantilever of two overlapping meshes, implicit or explicit: its energy over 10⁴ steps, and the motion of its tip.

Benchmark of the overlapping Schwarz couplings of Norma (`cases/reference/schwarz_cantilever.py`): a beam in 3D, clamped
at x = 0 and released at rest from u_y = bend x². Both halves overlap about the middle; the clamped one has cells of
size / ratio, the free one of `size`. Each takes steps of Theta(0.5) or of central differences, the free one `steps` for
each of the clamped one. The junction keeps the energy to round-off for each overlap, ratio, pair of schemes and number
of steps, where the published drifts at 1 ms are −91 to +275 %.

Planes of nodes lie at both ends of the overlap, so that the clamped part has cells of at most the width of the overlap
there. Reference of the motion: the model of one mesh with the cells of the free part. The initial state excites shear
waves, which the meshes disperse differently: motions are compared below five times the first frequency.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.comparison import comparison
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference import schwarz_cantilever
from arlequin.cases.shared.cantilever import LEAST_FRAMES, cut_frequency, motion_error, tip_motion
from arlequin.cases.shared.figures import tip_figure
from arlequin.cases.shared.impact import energy_checks
from arlequin.cases.shared.vocabulary import Density, FieldsEvery, Poisson, Young
from arlequin.cases.shared.waves import drift
from arlequin.models.checks import finite, positive, positive_integer, within

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FINE, COARSE = "fine mesh", "coarse mesh"  # names of the comparison runs
DRIFT_LIMIT, MULTIRATE_LIMIT = 1e-12, 1e-11
SchemeOfPart = Literal["implicit", "explicit"]


@dataclass(frozen=True)
class Parameters:
    """Default: the published beam with an overlap of 25.4 mm and mesh ratio 1 : 0.8, 10 ms with steps of 1 µs."""

    model: Annotated[Literal["arlequin", "single"], Quantity("", "Arlequin model, or one mesh")] = "arlequin"
    overlap: Annotated[float, Quantity("m", "width of the overlap", positive)] = 0.0254
    ratio: Annotated[float, Quantity("", "cell size of the free over the clamped part", within, 0.05, 1.0)] = 0.8
    clamped: Annotated[SchemeOfPart, Quantity("", "scheme of the clamped part, or of one mesh")] = "implicit"
    free: Annotated[SchemeOfPart, Quantity("", "scheme of the free part")] = "implicit"
    steps: Annotated[int, Quantity("", "steps of the free part in one of the clamped part", positive_integer)] = 1
    size: Annotated[float, Quantity("m", "cell size of the free part", positive)] = 6.35e-3
    length: Annotated[float, Quantity("m", "length of the cantilever", positive)] = 0.254
    height: Annotated[float, Quantity("m", "height of its section, along y", positive)] = 0.0254
    width: Annotated[float, Quantity("m", "width of its section, along z", positive)] = 0.0127
    young: Young = 6.895e9
    poisson: Poisson = 0.25
    density: Density = 2768.0
    bend: Annotated[float, Quantity("1/m", "initial deflection u_y/x²", finite)] = 0.393701
    step: Annotated[float, Quantity("s", "time step of the clamped part", positive)] = 1e-6
    duration: Annotated[float, Quantity("s", "duration of the run", positive)] = 1e-2
    fields_every: FieldsEvery = 20

    def __post_init__(self) -> None:
        if self.model == "arlequin" and not self.overlap < self.length:
            raise aq.UserError.parameter("overlap", self.overlap, f"must be below the length of {self.length:g} m")

    @property
    def zone(self) -> tuple[float, float]:
        """Ends of the overlap, m."""
        return 0.5 * (self.length - self.overlap), 0.5 * (self.length + self.overlap)

    @property
    def pair(self) -> str:
        """Published abbreviation of the schemes: of the clamped and of the free part."""
        return self.clamped[0].upper() + self.free[0].upper()

    @property
    def coarse_size(self) -> float:
        """Cell size of the clamped part, m."""
        return self.size / self.ratio

    @property
    def cut(self) -> float:
        """Frequency below which motions are compared, Hz."""
        return cut_frequency(self.young, self.density, self.height, self.length)


def _part(p: Parameters, name: str, planes: tuple[float, ...], size: float, scheme: SchemeOfPart) -> aq.Solid:
    """Part with planes of nodes at the given x, m, and cells of about `size`; clamped where it starts at x = 0."""
    counts = [max(1, round((end - start) / size)) for start, end in pairwise(planes)]
    across = [max(1, round(extent / size)) for extent in (p.height, p.width)]
    y, z = ((-0.5 * extent, 0.5 * extent) for extent in (p.height, p.width))
    mesh = aq.mesh.box((0.0, float(sum(counts))), y, z, cells=(sum(counts), across[0], across[1]))
    points = mesh.p.copy()
    points[0] = np.interp(points[0], np.cumsum([0, *counts]), planes)
    imposed = {"left": {"x": 0.0, "y": 0.0, "z": 0.0}} if planes[0] == 0.0 else {}
    material = aq.LinearElastic(young=p.young, poisson=p.poisson, density=p.density)
    mass: Any = "lumped" if scheme == "explicit" else "consistent"
    return aq.Solid(name, replace(mesh, doflocs=points), material, imposed=imposed, mass=mass)


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    schemes: dict[str, Any] = {"implicit": aq.Theta(0.5), "explicit": aq.CentralDifference()}
    scheme, junctions = schemes[p.clamped], []
    if p.model == "single":
        parts = [_part(p, "free", (0.0, *p.zone, p.length), p.coarse_size, p.clamped)]
    else:
        clamped = _part(p, "clamped", (0.0, *p.zone), p.coarse_size, p.clamped)
        free = _part(p, "free", (*p.zone, p.length), p.size, p.free)
        parts, junctions = [clamped, free], [aq.Junction(clamped, free)]
        if p.steps > 1 or p.clamped != p.free:
            scheme = aq.Multirate(p.steps, coarse=scheme, fine=schemes[p.free])
    shape = lambda x: np.stack([0.0 * x[:, 0], p.bend * x[:, 0] ** 2, 0.0 * x[:, 0]], axis=1)  # noqa: E731
    return aq.Study(aq.System(parts, junctions, displacement=shape), scheme, p.duration, p.step, p.fields_every)


def comparisons(result: xarray.DataTree, parameters: Parameters) -> dict[str, Parameters]:
    """Models of one mesh: with the cells of the free part, and with those of the clamped part if they are larger."""
    p = replace(parameters, model="single", free=parameters.clamped, steps=1)
    meshes = {FINE: replace(p, ratio=1.0, clamped=parameters.free)}
    return meshes | ({COARSE: p} if parameters.ratio < 1.0 else {})


def _errors(result: xarray.DataTree, parameters: Parameters) -> dict[str, float]:
    """Error of the filtered motion of the tip against the fine mesh: of this model, and of the coarse mesh."""
    runs = comparisons(result, parameters)
    motion = tip_motion(result, "free")
    fine = comparison(build, runs, FINE) if motion[0].size > LEAST_FRAMES else None
    if fine is None:
        return {}
    exact = tip_motion(fine, "free")
    errors = {"this model": motion_error(motion, exact, parameters.cut)}
    coarse = comparison(build, runs, COARSE) if COARSE in runs else None
    if coarse is not None:
        errors[COARSE] = motion_error(tip_motion(coarse, "free"), exact, parameters.cut)
    return errors


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Energy to 1e-12, with different steps to 1e-11; motion of the tip nearer to the fine mesh than the coarse one."""
    p = parameters
    limit = DRIFT_LIMIT if p.steps == 1 else MULTIRATE_LIMIT
    checks = [Check("drift of kinetic and strain energy", drift(result), 0.0, limit, "1", "at most")]
    errors = _errors(result, p) if p.model == "arlequin" else {}
    if COARSE in errors:
        name = "tip motion against the fine mesh, low-pass filtered (limit: coarse mesh)"
        checks.append(Check(name, errors["this model"], 0.0, errors[COARSE], "1", "at most"))
    return checks + energy_checks(result)


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    deflection = tip_motion(result, "free")[1]
    energy = result.dataset["energy"].isel(time=0)
    return {
        "initial_energy": aq.Scalar(float(energy.sel(kind="strain")), "J", "strain energy of the initial shape"),
        "energy_drift": aq.Scalar(drift(result), "1", "largest change of the kinetic and strain energy"),
        "tip_displacement": aq.Scalar(deflection[-1], "m", "deflection of the free end at the end"),
        "peak_tip_displacement": aq.Scalar(np.abs(deflection).max(), "m", "largest deflection of the free end"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    runs = comparisons(result, parameters) if parameters.model == "arlequin" else {}
    motions = {"this model": tip_motion(result, "free")}
    for name in runs:
        single = comparison(build, runs, name)
        if single is not None:
            motions[name] = tip_motion(single, "free")
    drawn = {
        "energies": plots.energies(result),
        "tip": tip_figure(motions),
        "shape": plots.shape(result, "displacement", component=1),
    }
    if parameters.model == "arlequin" and parameters.overlap in schwarz_cantilever.OVERLAPS:
        drawn["drift"] = drift_figure({parameters.ratio: drift(result)}, parameters.overlap, parameters.pair)
    return drawn


def drift_figure(drifts: dict[float, float], overlap: float, pair: str) -> "Figure":
    """Sizes of the published drifts at 1 ms over the mesh ratio, for an overlap (m) and a pair of schemes, with the
    drifts of Arlequin by ratio."""
    from arlequin.plots import style

    published = schwarz_cantilever.drifts(overlap, pair)
    with style.panels(1, 3.2) as (figure, (axes,)):
        grows = {ratio: value for ratio, value in published.items() if value > 0.0}
        falls = {ratio: value for ratio, value in published.items() if value <= 0.0}
        axes.semilogy(grows.keys(), grows.values(), "^", color=style.COLOURS[1], label="Norma at 1 ms, gain")
        axes.semilogy(falls.keys(), np.abs([*falls.values()]), "v", color=style.COLOURS[2], label="Norma at 1 ms, loss")
        axes.semilogy(
            drifts.keys(), np.maximum([*drifts.values()], 1e-16), "o", color=style.COLOURS[0], label="Arlequin"
        )
        axes.set_xlabel("Mesh ratio (cells of the free over the clamped part)")
        axes.set_ylabel("Change of energy (relative)")
        axes.set_ylim(1e-16, 1e1)
        axes.legend(loc="center left")
        axes.set_title(f"Overlap {1e3 * overlap:g} mm, schemes {pair}", loc="left")
    return figure
