"""Moving fine patch below a cylinder that slides over a long coarse block, compared with fine cells everywhere.

An elastic half-cylinder is pressed by a given depth into an elastic block on a fixed base and dragged along it, with or
without friction; plane strain, dynamics of the θ-scheme with damping of the initial transient. The surface of the block
has fine cells only in a patch of a few contact widths: coupled to the coarse block by an Arlequin junction at its sides
and its bottom, it is shifted by one coarse cell when the contact has moved by 0.6 of it (`aq.levels.MovingPatch`).
With patch=everywhere the fine cells extend along the complete block.

In steady sliding the exact force is constant and the horizontal one μ times the vertical one, up to the surface strain.
The energy change by shifts of the patch is the column `switch`.

    block, coarse cells along it       40      80     160     320
    dofs, moving patch              3,616   4,336   5,776   8,656
    a step, over that at 40          1.00    1.02    1.09    1.15
    a move, steps' worth               15      16      17      18
    a step with the patch everywhere 1.12    1.48    3.3       –

The cost of a step is that of patch and contact; that of the track is the coarse part of one back-substitution.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.comparison import comparison
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.impact import worst_balance
from arlequin.cases.shared.meshes import half_disc
from arlequin.cases.shared.vocabulary import FieldsEvery
from arlequin.models.checks import integer, non_negative, positive, within
from arlequin.models.types import Array

EVERYWHERE = "patch everywhere"
NEAR = 0.01  # relative tolerance of forces and largest pressure, by the patch everywhere
SWITCH_ENERGY = 1e-4  # limit of the total energy change by shifts of the patch over the external work


@dataclass(frozen=True)
class Parameters:
    """Default: half-cylinder of 10 mm radius, pressed by 0.1 mm, on a block of 40 × 8 mm, dragged by some 3.5 mm."""

    patch: Annotated[
        Literal["moving", "everywhere"], Quantity("", "fine cells that follow the contact, or all along")
    ] = "moving"
    friction: Annotated[float, Quantity("", "coefficient of friction", non_negative)] = 0.3
    radius: Annotated[float, Quantity("m", "radius of the cylinder", positive)] = 0.01
    cylinder_young: Annotated[float, Quantity("Pa", "Young's modulus of the cylinder", positive)] = 5e9
    block_young: Annotated[float, Quantity("Pa", "Young's modulus of the block", positive)] = 1e9
    poisson: Annotated[float, Quantity("", "Poisson's ratio of both", within, 0.0, 0.499)] = 0.3
    density: Annotated[float, Quantity("kg/m^3", "density of both", positive)] = 1000.0
    damping: Annotated[float, Quantity("1/s", "damping over the mass", non_negative)] = 2e4
    depth: Annotated[float, Quantity("m", "imposed depth", positive)] = 1e-4
    pressing: Annotated[float, Quantity("s", "time of pressing, and of starting to slide", positive)] = 1e-3
    speed: Annotated[float, Quantity("m/s", "speed of sliding", positive)] = 1.0
    duration: Annotated[float, Quantity("s", "duration", positive)] = 5e-3
    step: Annotated[float, Quantity("s", "time step", positive)] = 1e-5
    length: Annotated[float, Quantity("m", "length of the block", positive)] = 0.04
    before: Annotated[float, Quantity("m", "length of the block behind the start", positive)] = 0.01
    height: Annotated[float, Quantity("m", "height of the block", positive)] = 8e-3
    size: Annotated[float, Quantity("m", "coarse cells of the block", positive)] = 1e-3
    ratio: Annotated[int, Quantity("", "coarse over fine cells", integer, 2, 20)] = 4
    width: Annotated[int, Quantity("", "width of the patch in coarse cells", integer, 4, 100)] = 8
    deep: Annotated[int, Quantity("", "depth of the patch in coarse cells", integer, 2, 100)] = 4
    zone: Annotated[int, Quantity("", "gluing zone in coarse cells", integer, 1, 20)] = 2
    cylinder_size: Annotated[float, Quantity("m", "cells of the cylinder in the contact", positive)] = 1.7e-4
    fields_every: FieldsEvery = 20

    def __post_init__(self) -> None:
        if not 2 * self.zone < self.width:
            raise aq.UserError.parameter("width", self.width, f"must be more than twice the zone, {self.zone} cells")
        if not self.zone < self.deep < round(self.height / self.size):
            rows = round(self.height / self.size)
            raise aq.UserError.parameter("deep", self.deep, f"must be between the zone and the height, {rows} cells")
        low, high = 0.5 * self.width * self.size, self.length - 0.5 * self.width * self.size
        start, end = self.before, self.before + self.sliding_distance(self.duration)
        if not (low <= start and end + self.size <= high):
            rule = f"must hold the patch on its way from {start:g} to {end:g} m behind the end of the block"
            raise aq.UserError.parameter("length", self.length, rule)

    def sliding_distance(self, t: float) -> float:
        """Displacement of the cylinder at the time t, m: at rest while it is pressed, then uniformly accelerated."""
        s = max(t - self.pressing, 0.0) / self.pressing
        return self.speed * self.pressing * (s - 0.5 if s > 1.0 else 0.5 * s * s)

    def press(self, t: float) -> float:
        """Depth at the time t, m."""
        s = min(t / self.pressing, 1.0)
        return self.depth * s * s * (3.0 - 2.0 * s)


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    return aq.Study(system(p), aq.Theta(0.5), p.duration, p.step, p.fields_every)


def system(parameters: Parameters) -> aq.System:
    """System of the cylinder at x = 0, the block and the patch."""
    p = parameters
    options: dict[str, Any] = {"plane": "strain", "mass": "lumped", "damping": aq.Rayleigh(mass=p.damping)}
    soft, hard = (
        aq.LinearElastic(young=young, poisson=p.poisson, density=p.density)
        for young in (p.block_young, p.cylinder_young)
    )
    cells = round(p.length / p.size), round(p.height / p.size)
    block = aq.Solid(
        "block", aq.mesh.rectangle((-p.before, p.length - p.before), (-p.height, 0.0), cells=cells), soft,
        imposed={"bottom": {"x": 0.0, "y": 0.0}}, **options,
    )  # fmt: skip
    disc = half_disc(p.radius, 2.0 * np.sqrt(p.radius * p.depth), p.cylinder_size)
    motion = {"x": p.sliding_distance, "y": lambda t: -p.press(t)}
    cylinder = aq.Solid("cylinder", disc, hard, imposed={"top": motion}, **options)

    def patch_at(k: int) -> aq.levels.Level:
        half = 0.5 * p.width * p.size
        low, high = k * p.size - half, k * p.size + half
        if p.patch == "everywhere":
            low, high = p.size - p.before, p.length - p.before - p.size
        fine = round((high - low) / p.size) * p.ratio, p.deep * p.ratio
        mesh = aq.mesh.rectangle((low, high), (-p.deep * p.size, 0.0), cells=fine)
        patch = aq.Solid("patch", mesh, soft, **options)
        junction = aq.Junction(block, patch, name="rim", zone=aq.zones.Box(width=p.zone * p.size))
        contact = aq.Interface(
            "contact", cylinder.boundary("contact"), patch.boundary("top"), aq.Unilateral(level="gap"),
            friction=aq.Coulomb(p.friction) if p.friction else None,
        )  # fmt: skip
        return aq.levels.Level([patch], junctions=[junction], interfaces=[contact])

    def cylinder_position(state: Any) -> float:
        return float(state.displacement("cylinder")[:, 0].mean())

    moving_patch = aq.levels.MovingPatch("patch", patch_at, cylinder_position, pitch=p.size)
    full_system = aq.System([block, cylinder], levels=[moving_patch])
    return full_system if p.patch == "moving" else full_system.at({"patch": 0})


def comparisons(result: xarray.DataTree, parameters: Parameters) -> dict[str, Parameters]:
    """Model with the patch everywhere."""
    return {EVERYWHERE: replace(parameters, patch="everywhere")} if parameters.patch == "moving" else {}


def reference(parameters: Parameters) -> float:
    """Ratio of horizontal to vertical force in sliding: μ."""
    return parameters.friction


def forces(result: xarray.DataTree) -> Array:
    """Contact forces on the cylinder (t, component), N per metre, means over steps."""
    return np.asarray(result["interface/contact"].dataset["force"].values)


def sliding(result: xarray.DataTree, parameters: Parameters, dim: str = "time") -> Any:
    """Whether an instant (t,) is in sliding at full speed."""
    values = result.dataset["time" if dim == "time" else "frame_time"].values
    return values > 2.0 * parameters.pressing


def deviations(result: xarray.DataTree, fine_everywhere: xarray.DataTree, parameters: Parameters) -> dict[str, float]:
    """Largest difference of the forces over the largest force, and of the largest pressure over the largest one."""
    computed, reference_forces = forces(result), forces(fine_everywhere)
    largest = np.abs(reference_forces).max()
    peaks = [tree["interface/contact"].dataset["pressure"].values.max(axis=1) for tree in (result, fine_everywhere)]
    return {
        "horizontal force": float(np.abs(computed - reference_forces)[:, 0].max() / largest),
        "vertical force": float(np.abs(computed - reference_forces)[:, 1].max() / largest),
        "largest pressure": float(np.abs(peaks[0] - peaks[1]).max() / peaks[1].max()),
    }


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p, in_sliding = parameters, sliding(result, parameters)
    checks = []
    if in_sliding.any() and p.friction:
        mean = forces(result)[in_sliding].mean(axis=0)
        ratio = float(-mean[0] / mean[1])
        allowed = 0.05 * p.friction + 1e-3  # surface strain
        checks.append(Check("horizontal over vertical force", ratio, reference(p), allowed, "1", "absolute"))
    fine_everywhere = comparison(build, comparisons(result, p), EVERYWHERE)
    if fine_everywhere is not None:
        for name, value in deviations(result, fine_everywhere, p).items():
            checks.append(Check(f"{name}, from the patch everywhere", value, 0.0, NEAR, "1", "at most"))
    if p.patch == "moving":
        energy = result.dataset["energy"]
        switch_energy = np.abs(np.diff(energy.sel(kind="switch").values)).sum()
        share = float(switch_energy / np.abs(energy.sel(kind="external_work").values).max())
        checks.append(Check("energy that moves of the patch change", share, 0.0, SWITCH_ENERGY, "1", "at most"))
    checks.append(Check("energy balance, worst step", worst_balance(result), 0.0, 1e-12, "1", "absolute"))
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Scalars of forces in sliding, pressure and shifts of the patch."""
    in_sliding = sliding(result, parameters)
    mean = forces(result)[in_sliding].mean(axis=0) if in_sliding.any() else np.full(2, np.nan)
    pressure = float(result["interface/contact"].dataset["pressure"].values.max())
    moves = 0
    if "levels" in result.children:
        moves = int((np.diff(result["levels/patch"].dataset["level"].values) != 0.0).sum())
    return {
        "normal_force": aq.Scalar(float(mean[1]), "N", "mean vertical force in sliding"),
        "drag_force": aq.Scalar(float(-mean[0]), "N", "mean horizontal force in sliding"),
        "peak_pressure": aq.Scalar(pressure, "Pa", "largest contact pressure"),
        "moves": aq.Scalar(moves, "1", "moves of the patch"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots
    from arlequin.plots import style

    fine_everywhere = comparison(build, comparisons(result, parameters), EVERYWHERE)
    time = result.dataset["time"].values
    runs = {"patch": result} if fine_everywhere is None else {"patch": result, "patch everywhere": fine_everywhere}
    with style.panels(2, 5.0, sharex=True) as (figure, (above, below)):
        for i, (name, tree) in enumerate(runs.items()):
            force, line = forces(tree) / 1e3, "-" if i else "--"
            colour = style.REFERENCE if i else style.COLOURS[0]
            width = 3.0 if i else 1.5
            above.plot(
                1e3 * time,
                force[:, 1],
                line,
                color=colour,
                linewidth=width,
                alpha=0.6 if i else 1.0,
                label=name,
                zorder=2 - i,
            )
            above.plot(
                1e3 * time, -force[:, 0], line, color=colour, linewidth=width, alpha=0.6 if i else 1.0, zorder=2 - i
            )
        above.set_ylabel("Vertical and\nhorizontal force (kN/m)")
        above.legend()
        if "levels" in result.children:
            group = result["levels/patch"].dataset
            below.plot(1e3 * time[1:], 1e3 * group["indicator"].values[1:], color=style.REFERENCE, label="cylinder")
            below.step(1e3 * time, 1e3 * parameters.size * group["level"].values, where="pre", label="patch")
            below.legend()
        below.set_ylabel("Position (mm)")
        below.set_xlabel("Time (ms)")
    return {"energies": plots.energies(result), "forces": figure}
