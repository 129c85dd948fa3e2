"""Free vibration of a cantilever of a coarse and a fine mesh: tip motion and energy over 10⁴ steps.

Plane stress, clamped at x = 0, released at rest from u_y = bend x². For any mesh ratio and overlap the motion of the
tip must equal that of the model of one mesh. The initial state also excites shear and axial waves, so that motions are
compared after a low-pass filter.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.comparison import comparison
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.cantilever import LEAST_FRAMES, cut_frequency, motion_error, tip_motion
from arlequin.cases.shared.figures import tip_figure
from arlequin.cases.shared.impact import energy_checks
from arlequin.cases.shared.vocabulary import Density, FieldsEvery, Poisson, Young
from arlequin.cases.shared.waves import drift
from arlequin.models.checks import finite, positive, positive_integer, within

ONE_MESH = "one mesh"  # name of the comparison run


@dataclass(frozen=True)
class Parameters:
    """Default: polymer cantilever of 254 mm, initial curvature 0.79 1/m, 10 ms with steps of 1 µs."""

    model: Annotated[Literal["arlequin", "single"], Quantity("", "Arlequin model, or one mesh")] = "arlequin"
    ratio: Annotated[float, Quantity("", "fine over coarse cell size", within, 0.05, 1.0)] = 0.5
    overlap: Annotated[float, Quantity("m", "width of the overlap", positive)] = 0.0254
    length: Annotated[float, Quantity("m", "length of the cantilever", positive)] = 0.254
    height: Annotated[float, Quantity("m", "height of the cantilever", positive)] = 0.0254
    young: Young = 6.895e9
    poisson: Poisson = 0.25
    density: Density = 2768.0
    bend: Annotated[float, Quantity("1/m", "initial deflection u_y/x²", finite)] = 0.393701
    cells: Annotated[int, Quantity("", "coarse cells over the height", positive_integer)] = 2
    order: Annotated[int, Quantity("", "order of the elements", within, 1, 2)] = 2
    step: Annotated[float, Quantity("s", "time step", positive)] = 1e-6
    duration: Annotated[float, Quantity("s", "duration of the run", positive)] = 1e-2
    fields_every: FieldsEvery = 20


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    size = p.height / p.cells
    material = aq.LinearElastic(young=p.young, poisson=p.poisson, density=p.density)
    options: dict[str, Any] = {"plane": "stress", "order": int(p.order)}
    clamp = {"left": {"x": 0.0, "y": 0.0}}
    y = (-0.5 * p.height, 0.5 * p.height)
    junctions = []
    if p.model == "single":
        mesh = aq.mesh.rectangle((0.0, p.length), y, cells=(round(p.length / size), p.cells))
        parts = [aq.Solid("fine", mesh, material, imposed=clamp, **options)]
    else:
        middle = 0.5 * p.length
        ends = middle + 0.5 * p.overlap, middle - 0.5 * p.overlap
        if not ends[1] > 0.0:
            raise aq.UserError.parameter("overlap", p.overlap, f"must be less than the length of {p.length:g} m")
        counts = _cells(ends[0], size), _cells(p.length - ends[1], size * p.ratio)
        across = max(1, round(p.cells / p.ratio))
        coarse = aq.Solid(
            "coarse",
            aq.mesh.rectangle((0.0, ends[0]), y, cells=(counts[0], p.cells)),
            material,
            imposed=clamp,
            **options,
        )
        fine = aq.Solid(
            "fine", aq.mesh.rectangle((ends[1], p.length), y, cells=(counts[1], across)), material, **options
        )
        parts, junctions = [coarse, fine], [aq.Junction(coarse, fine)]
    system = aq.System(
        parts, junctions, displacement=lambda x: np.stack([0.0 * x[:, 0], p.bend * x[:, 0] ** 2], axis=1)
    )
    return aq.Study(system, aq.Theta(0.5), p.duration, p.step, p.fields_every)


def _cells(length: float, size: float) -> int:
    """Number of cells of at most `size`."""
    return int(np.ceil(length / size - 1e-9))


def comparisons(result: xarray.DataTree, parameters: Parameters) -> dict[str, Parameters]:
    """Model of one mesh with the same parameters."""
    return {ONE_MESH: replace(parameters, model="single", ratio=1.0, overlap=Parameters.overlap)}


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Energy conservation; filtered tip motion within 1 % of the largest deflection of the single mesh."""
    p, motion = parameters, tip_motion(result, "fine")
    cut = cut_frequency(p.young, p.density, p.height, p.length)
    checks = [Check("drift of kinetic and strain energy", drift(result), 0.0, 1e-10, "1", "at most")]
    filtered = motion[0].size > LEAST_FRAMES
    single = comparison(build, comparisons(result, parameters), ONE_MESH) if filtered else None
    if single is not None:
        error = motion_error(motion, tip_motion(single, "fine"), cut)
        checks.append(Check("tip motion against the single mesh, low-pass filtered", error, 0.0, 0.01, "1", "at most"))
    return checks + energy_checks(result)


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    deflection = tip_motion(result, "fine")[1]
    return {
        "tip_displacement": aq.Scalar(deflection[-1], "m", "deflection of the free end at the end"),
        "peak_tip_displacement": aq.Scalar(np.abs(deflection).max(), "m", "largest deflection of the free end"),
        "energy_drift": aq.Scalar(drift(result), "1", "largest change of the kinetic and strain energy"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    single = comparison(build, comparisons(result, parameters), ONE_MESH)
    motions = {"this model": tip_motion(result, "fine")}
    if single is not None:
        motions[ONE_MESH] = tip_motion(single, "fine")
    return {
        "energies": plots.energies(result),
        "tip": tip_figure(motions),
        "shape": plots.shape(result, "displacement", component=1),
    }
