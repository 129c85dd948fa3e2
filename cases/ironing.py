"""Ironing: a cylindrical slider dragged over an elastic block; smoothness of the contact forces.

Quasi-static, with or without friction; contact pairs are updated in each step. Far from the ends of the block the exact
forces are independent of the position of the slider: the vertical force is constant, and the horizontal force is μ
times it up to the surface strain (slip = displacement of the slider times 1 + ε). The remaining ripple is caused by
nodes that pass over each other.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.comparison import comparison
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.figures import ironing_forces
from arlequin.cases.shared.impact import worst_balance
from arlequin.cases.shared.meshes import half_disc
from arlequin.models.checks import non_negative, positive, positive_integer, within
from arlequin.models.types import Array

Multiplier = Literal["default", "P1", "P0", "nodes", "gauss"]

PRESSING = 0.2  # time (of 0 to 1) at which sliding starts

METHODS = ("P1", "nodes")  # multipliers of the figure: mortar method, nodal collocation


@dataclass(frozen=True)
class Parameters:
    """Default: slider of 10 mm radius, indentation 0.1 mm, block of 30 × 5 mm, sliding distance 8 mm; plane strain."""

    friction: Annotated[float, Quantity("", "coefficient of friction", non_negative)] = 0.3
    multiplier: Annotated[Multiplier, Quantity("", "discretisation of the contact pressure")] = "default"
    slave: Annotated[Literal["slider", "block"], Quantity("", "body whose surface carries the multipliers")] = "block"
    radius: Annotated[float, Quantity("m", "radius of the slider", positive)] = 0.01
    slider_young: Annotated[float, Quantity("Pa", "Young's modulus of the slider", positive)] = 5e9
    block_young: Annotated[float, Quantity("Pa", "Young's modulus of the block", positive)] = 1e9
    poisson: Annotated[float, Quantity("", "Poisson's ratio of both", within, 0.0, 0.499)] = 0.3
    depth: Annotated[float, Quantity("m", "imposed indentation", positive)] = 1e-4
    distance: Annotated[float, Quantity("m", "sliding distance", positive)] = 8e-3
    length: Annotated[float, Quantity("m", "length of the block", positive)] = 0.03
    height: Annotated[float, Quantity("m", "height of the block", positive)] = 0.005
    slider_size: Annotated[float, Quantity("m", "cell size of the slider in the contact", positive)] = 1.7e-4
    block_size: Annotated[float, Quantity("m", "cell size of the block", positive)] = 3e-4
    order: Annotated[int, Quantity("", "order of the elements", within, 1, 2)] = 1
    steps: Annotated[int, Quantity("", "load steps of the sliding phase", positive_integer)] = 160

    def __post_init__(self) -> None:
        if not self.distance < self.length - 4 * self.height:
            raise aq.UserError.parameter(
                "distance", self.distance, f"must be less than length − 4 height = {self.length - 4 * self.height:g}"
            )


def build(parameters: Parameters) -> aq.Study:
    """Statics, 0 ≤ t ≤ 1: indentation until `PRESSING`, then sliding at constant indentation."""
    p = parameters
    # whole number of steps of the same size for the indentation
    pressing = max(1, round(p.steps * PRESSING / (1.0 - PRESSING)))
    return aq.Study(system(p), aq.Static(), duration=1.0, step=1.0 / (p.steps + pressing))


def system(parameters: Parameters) -> aq.System:
    """System of the slider, at x = 0 in the middle of its path, and the block with a fixed base."""
    p = parameters
    zone = 2.0 * np.sqrt(p.radius * p.depth)
    count = round(p.length / p.block_size), max(1, round(0.5 * p.height / p.block_size))
    middle = 0.5 * p.distance
    mesh = aq.mesh.rectangle((middle - 0.5 * p.length, middle + 0.5 * p.length), (-p.height, 0.0), cells=count)
    soft, hard = (aq.LinearElastic(young=e, poisson=p.poisson, density=1.0) for e in (p.block_young, p.slider_young))
    options: dict[str, Any] = {"plane": "strain", "order": int(p.order)}
    block = aq.Solid("block", mesh, soft, imposed={"bottom": {"x": 0.0, "y": 0.0}}, **options)
    motion = {"x": lambda t: drag(p, t), "y": lambda t: -p.depth * min(t / PRESSING, 1.0)}
    disc = half_disc(p.radius, zone, p.slider_size, order=int(p.order))
    slider = aq.Solid("slider", disc, hard, imposed={"top": motion}, **options)
    sides = (slider.boundary("contact"), block.boundary("top"))
    slave, master = sides if p.slave == "slider" else sides[::-1]
    contact = aq.Interface(
        "contact", slave, master, aq.Unilateral(level="gap"),
        friction=aq.Coulomb(p.friction) if p.friction > 0.0 else None,
        multiplier=None if p.multiplier == "default" else p.multiplier,
    )  # fmt: skip
    return aq.System([block, slider], interfaces=[contact])


def drag(parameters: Parameters, t: float) -> float:
    """Displacement of the slider's top along x at the time t, m."""
    return parameters.distance * max(t - PRESSING, 0.0) / (1.0 - PRESSING)


@dataclass(frozen=True)
class SliderForces:
    """Contact forces on the slider from its own stresses and from those of the block, (t, component), N; displacement
    of the slider (t,), m; resultant moment of the pair in the current configuration (t,), N·m."""

    displacement: Array
    slider: Array
    block: Array
    moment: Array

    @classmethod
    def of(cls, result: xarray.DataTree, parameters: Parameters) -> "SliderForces":
        """Sums of the internal forces of each body at the nodes of its contact surface."""
        p = parameters
        parts = {part.name: part for part in system(p).parts}
        time = result.dataset["frame_time"].values
        totals, moments = {}, np.zeros(time.size)
        for name, boundary in (("slider", "arc"), ("block", "top")):
            part, assembled = parts[name], parts[name].assemble()
            nodes = part.boundary(boundary).nodes
            nodes = nodes[part.positions[nodes, 1] < p.radius * (1 - 1e-9)]  # the ends of the arc belong to the top
            displacements = result[f"part/{name}"].dataset["displacement"].values
            forces = np.array([assembled.internal(u.ravel())[0].reshape(-1, 2)[nodes] for u in displacements])
            positions = part.positions[nodes] + displacements[:, nodes]
            totals[name] = forces.sum(axis=1)
            moments += (positions[..., 0] * forces[..., 1] - positions[..., 1] * forces[..., 0]).sum(axis=1)
        displacement = np.array([drag(p, t) for t in time])
        return cls(displacement, totals["slider"], totals["block"], moments)

    def sliding(self, distance: float) -> Any:
        """Steps of the second half of the sliding phase, in full slip."""
        return self.displacement >= 0.5 * distance

    @property
    def imbalance(self) -> float:
        """Largest sum of the two resultants over the largest force."""
        return float(np.abs(self.slider + self.block).max() / np.abs(self.slider).max())

    def ripple(self, distance: float) -> tuple[float, float]:
        """Peak-to-peak variation of the horizontal and vertical force in sliding, over the mean vertical force."""
        in_sliding = self.slider[self.sliding(distance)]
        horizontal, vertical = np.ptp(in_sliding, axis=0) / in_sliding[:, 1].mean()
        return float(horizontal), float(vertical)

    def ratio(self, distance: float) -> float:
        """Mean horizontal over mean vertical force in sliding, against the motion."""
        mean = self.slider[self.sliding(distance)].mean(axis=0)
        return float(-mean[0] / mean[1])


def reference(parameters: Parameters) -> float:
    """Horizontal over vertical force in full sliding: μ."""
    return parameters.friction


def comparisons(result: xarray.DataTree, parameters: Parameters) -> dict[str, Parameters]:
    """Nodal collocation and the mortar method, unless the result is by it."""
    variants: list[Parameters] = [replace(parameters, multiplier=name) for name in METHODS]  # type: ignore[arg-type]
    return {p.multiplier: p for p in variants if p.multiplier != method(parameters)}


def method(parameters: Parameters) -> str:
    """The multiplier; the default one between two bodies is P1."""
    return "P1" if parameters.multiplier == "default" else parameters.multiplier


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p = parameters
    forces = SliderForces.of(result, p)
    horizontal, vertical = forces.ripple(p.distance)
    moment = float(np.abs(forces.moment).max() / (np.abs(forces.slider).max() * p.length))
    # work of friction: the surface strain of the block is about −0.5 p/E
    strained = 0.05 * p.friction + 1e-3
    checks = [
        # stresses from strains under 8 mm of translation: round-off of E u per node
        Check("sum of the resultants on both bodies, relative", forces.imbalance, 0.0, 1e-11, "1", "at most"),
        Check("resultant moment of the contact forces", moment, 0.0, 1e-11, "1", "at most"),
        Check("horizontal over vertical force", forces.ratio(p.distance), reference(p), strained, "1", "absolute"),
        Check("ripple of the vertical force", vertical, 0.0, 0.01, "1", "at most"),
        Check("ripple of the horizontal force", horizontal, 0.0, 0.01, "1", "at most"),
        Check("energy balance, worst step", worst_balance(result), 0.0, 1e-10, "1", "absolute"),
    ]
    if p.friction > 0.0:
        group, friction_energy = (
            result["interface/contact"].dataset,
            result.dataset["energy"].sel(kind="friction").values,
        )
        pressure, traction = group["pressure"].values, np.linalg.norm(group["traction"].values, axis=2)
        sliding = forces.sliding(p.distance)[:, None] & (pressure > 0.0)
        traction_error = float(np.abs(traction - p.friction * pressure)[sliding].max() / (p.friction * pressure.max()))
        checks += [
            Check("traction of sliding points, deviation from μ p", traction_error, 0.0, 1e-10, "1", "at most"),
            Check(
                "friction energy, largest decrease", float(-np.diff(friction_energy).min()), 0.0, 0.0, "J", "at most"
            ),
        ]
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Means over the second half of the sliding phase, in full slip."""
    p, forces = parameters, SliderForces.of(result, parameters)
    across, down = forces.slider[forces.sliding(p.distance)].mean(axis=0)
    horizontal, vertical = forces.ripple(p.distance)
    return {
        "drag_force": aq.Scalar(-across, "N", "mean horizontal force in sliding"),
        "normal_force": aq.Scalar(down, "N", "mean vertical force in sliding"),
        "force_ratio": aq.Scalar(forces.ratio(p.distance), "1", "horizontal over vertical force in sliding"),
        "drag_ripple": aq.Scalar(horizontal, "1", "ripple of the horizontal force over the mean vertical force"),
        "normal_ripple": aq.Scalar(vertical, "1", "ripple of the vertical force over its mean"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    """Forces of this run, of nodal collocation and of the mortar method."""
    from arlequin import plots

    multiplier, variants = method(parameters), comparisons(result, parameters)
    forces_by_multiplier = {}
    for name in dict.fromkeys((*METHODS, multiplier)):
        run = result if name == multiplier else comparison(build, variants, name)
        if run is not None:
            forces_by_multiplier[name] = SliderForces.of(run, variants.get(name, parameters))
    return {
        "energies": plots.energies(result),
        "forces": ironing_forces(forces_by_multiplier, parameters.friction),
        "shape": plots.shape(result, "displacement", component=1),
    }
