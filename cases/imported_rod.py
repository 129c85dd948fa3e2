"""Fuel rod held by two dimples of a grid cell, from an Abaqus input file in millimetres as a user would bring it.

A clad rod is clamped at its foot and shaken at its free end; between them two dimples of the grid, a clearance away,
hold it on both sides. The file has parts, instances (the second dimple is the first one, turned), sets and surfaces;
the same model of the library's own meshes must move alike to round-off, and the rod without grid has the first
bending frequency of beam theory.
"""

import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.comparison import comparison
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.figures import tip_figure
from arlequin.cases.shared.impact import energy_checks
from arlequin.cases.shared.vocabulary import FieldsEvery, Young
from arlequin.models.checks import positive, positive_integer
from arlequin.models.errors import ModelWarning
from arlequin.models.types import Array

GENERATED = "own meshes"  # name of the comparison run
MM = 1e-3  # m
DIMPLE = (4e-3, 3e-3)  # length and height of a dimple, m


@dataclass(frozen=True)
class Parameters:
    """Default: a rod of 300 × 9.5 mm held 200 mm above its foot, clearance 0.05 mm, shaken at 55 Hz."""

    source: Annotated[Literal["file", "generators"], Quantity("", "Abaqus file, or meshes of the library")] = "file"
    length: Annotated[float, Quantity("m", "length of the rod", positive)] = 0.3
    width: Annotated[float, Quantity("m", "width of the rod", positive)] = 9.5e-3
    height: Annotated[float, Quantity("m", "height of the grid above the foot", positive)] = 0.2
    clearance: Annotated[float, Quantity("m", "clearance of each dimple", positive)] = 5e-5
    young: Young = 9.9e10
    density: Annotated[float, Quantity("kg/m³", "density of the rod with its pellets", positive)] = 9800.0
    grid_young: Annotated[float, Quantity("Pa", "Young's modulus of the grid", positive)] = 2.0e11
    force: Annotated[float, Quantity("N/m", "amplitude of the force on the free end", positive)] = 4000.0
    frequency: Annotated[float, Quantity("Hz", "frequency of the force", positive)] = 55.0
    cells: Annotated[int, Quantity("", "cells of second order over the width", positive_integer)] = 1
    step: Annotated[float, Quantity("s", "time step", positive)] = 2e-5
    duration: Annotated[float, Quantity("s", "duration of the run", positive)] = 0.04
    fields_every: FieldsEvery = 10

    def __post_init__(self) -> None:
        if not DIMPLE[0] < self.height < self.length - DIMPLE[0]:
            rule = f"must lie between {DIMPLE[0]:g} and {self.length - DIMPLE[0]:g} m"
            raise aq.UserError.parameter("height", self.height, rule)


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rod_in_grid.inp"
        path.write_text(abaqus_file(p), encoding="ascii")
        with warnings.catch_warnings():  # of the nodes that CPE8 elements get in their centres
            warnings.simplefilter("ignore", ModelWarning)
            system = system_of(path, p)
    return aq.Study(system, aq.Theta(0.5), p.duration, p.step, p.fields_every)


def system_of(path: Path, parameters: Parameters) -> aq.System:
    """The study of a user: parts of the file (or of the library's meshes), contact at the dimples."""
    p = parameters
    zircaloy = aq.LinearElastic(young=p.young, poisson=0.3, density=p.density)
    inconel = aq.LinearElastic(young=p.grid_young, poisson=0.3, density=8200.0)
    omega = 2.0 * np.pi * p.frequency
    shaken = {"tip": lambda x, t: (0.0, p.force / p.width * np.sin(omega * t))}
    options: dict[str, dict[str, Any]] = {
        "rod": {"imposed": {"foot": {"x": 0.0, "y": 0.0}}, "tractions": shaken},
        "grid": {"imposed": {"frame": {"x": 0.0, "y": 0.0}}},
    }
    if p.source == "file":
        parts = aq.solids(path, {"rod": zircaloy, "grid": inconel}, scaled=MM, plane="strain", options=options).parts
    else:
        meshes, materials = generated_meshes(p), {"rod": zircaloy, "grid": inconel}
        parts = {
            name: aq.Solid(name, mesh, materials[name], plane="strain", **options[name])
            for name, mesh in meshes.items()
        }
    law = aq.Unilateral("velocity")
    contacts = [
        aq.Interface(side, parts["grid"].boundary(f"dimple_{side}"), parts["rod"].boundary(f"rod_{side}"), law)
        for side in ("lower", "upper")
    ]
    return aq.System(list(parts.values()), interfaces=contacts)


def counts(parameters: Parameters) -> tuple[int, int]:
    """Cells along the rod and across."""
    p = parameters
    return max(4, round(p.length / p.width * p.cells)), p.cells


# --- the file


def _grid(columns: Array, rows: Array) -> tuple[list[str], list[str], dict[str, list[int]]]:
    """Lines of nodes (mm) and of CPE8 elements of a rectangle; elements and nodes (`…_nodes`) at its sides.

    columns (m,), rows (n,): coordinates of the nodes of second order; nodes in the middle of cells are left out.
    """
    number, nodes = dict[tuple[int, int], int](), []
    for j, y in enumerate(rows):
        for i, x in enumerate(columns):
            if i % 2 == 0 or j % 2 == 0:
                number[i, j] = len(number) + 1
                nodes.append(f"{number[i, j]}, {x:.17g}, {y:.17g}")
    around = ((0, 0), (2, 0), (2, 2), (0, 2), (1, 0), (2, 1), (1, 2), (0, 1))
    elements, sides = (
        list[str](),
        {"bottom": list[int](), "top": list[int](), "left": list[int](), "right": list[int]()},
    )
    for j in range(0, len(rows) - 1, 2):
        for i in range(0, len(columns) - 1, 2):
            elements.append(f"{len(elements) + 1}, " + ", ".join(str(number[i + a, j + b]) for a, b in around))
            ends = {"bottom": j == 0, "top": j == len(rows) - 3, "left": i == 0, "right": i == len(columns) - 3}
            for side, here in ends.items():
                if here:
                    sides[side].append(len(elements))
    left = [number[0, j] for j in range(len(rows))]
    return nodes, elements, sides | {"left_nodes": left, "bottom_nodes": [number[i, 0] for i in range(len(columns))]}


def abaqus_file(parameters: Parameters) -> str:
    """The Abaqus input file, in mm: a rod along x and a dimple, of which the grid has two instances."""
    p = parameters
    along, across = counts(p)
    x, y = p.length / MM, p.width / MM
    nodes, elements, sides = _grid(np.linspace(0, x, 2 * along + 1), np.linspace(-y / 2, y / 2, 2 * across + 1))

    def listed(numbers: list[int]) -> list[str]:
        return [", ".join(map(str, numbers[k : k + 12])) for k in range(0, len(numbers), 12)]

    lines = ["*Heading", " Fuel rod in a grid cell, mm", "*Part, name=Rod-Part", "*Node", *nodes]
    lines += ["*Element, type=CPE8, elset=rod", *elements, "*Nset, nset=foot", *listed(sides["left_nodes"])]
    for name, side, face in (("rod_lower", "bottom", "S1"), ("rod_upper", "top", "S3"), ("tip", "right", "S2")):
        lines += [f"*Elset, elset=_{name}_{face}, internal", *listed(sides[side])]
        lines += [f"*Surface, type=ELEMENT, name={name}", f"_{name}_{face}, {face}"]
    lines.append("*End Part")
    # the dimple stands on the frame, its contact face up
    length, height = DIMPLE[0] / MM, DIMPLE[1] / MM
    nodes, elements, sides = _grid(np.linspace(-length / 2, length / 2, 5), np.linspace(-height, 0.0, 5))
    lines += ["*Part, name=Dimple", "*Node", *nodes, "*Element, type=CPE8, elset=Dimple-All", *elements]
    lines += ["*Nset, nset=base", *listed(sides["bottom_nodes"]), "*Elset, elset=face", *listed(sides["top"])]
    lines.append("*End Part")
    at, place = p.height / MM, (p.width / 2 + p.clearance) / MM
    lines += ["*Assembly, name=Assembly", "*Instance, name=rod-1, part=Rod-Part", "*End Instance"]
    lines += ["*Instance, name=dimple-1, part=Dimple", f"{at:.17g}, {-place:.17g}, 0.", "*End Instance"]
    turn = f"{at:.17g}, {place:.17g}, 0., {at:.17g}, {place:.17g}, 1., 180."
    lines += ["*Instance, name=dimple-2, part=Dimple", f"{at:.17g}, {place:.17g}, 0.", turn, "*End Instance"]
    lines += ["*Elset, elset=grid", "dimple-1.Dimple-All, dimple-2.Dimple-All"]
    lines += ["*Nset, nset=frame, instance=dimple-1", "base", "*Nset, nset=frame, instance=dimple-2", "base"]
    for number, name in ((1, "dimple_lower"), (2, "dimple_upper")):
        lines += [f"*Surface, type=ELEMENT, name={name}", f"dimple-{number}.face, S3"]
    return "\n".join([*lines, "*End Assembly", ""])


# --- the same model of the library's meshes


def generated_meshes(parameters: Parameters) -> dict[str, Any]:
    """The meshes of the rod and of both dimples (one mesh), m, with the boundaries of the file."""
    p = parameters
    rod = aq.mesh.rectangle((0.0, p.length), (-0.5 * p.width, 0.5 * p.width), cells=counts(p))
    names = {"foot": "left", "tip": "right", "rod_lower": "bottom", "rod_upper": "top"}
    rod = replace(rod, _boundaries={name: rod.boundaries[side] for name, side in names.items()})
    x = (p.height - 0.5 * DIMPLE[0], p.height + 0.5 * DIMPLE[0])
    near, far = p.width / 2 + p.clearance, p.width / 2 + p.clearance + DIMPLE[1]
    dimples = aq.mesh.rectangle(x, (-far, -near), cells=(2, 2)) + aq.mesh.rectangle(x, (near, far), cells=(2, 2))
    facets = dimples.boundary_facets()
    y = dimples.p[1, dimples.facets[:, facets]]
    at = {"dimple_lower": -near, "dimple_upper": near}
    boundaries = {name: facets[(np.abs(y - value) < 1e-9 * far).all(axis=0)] for name, value in at.items()}
    boundaries["frame"] = facets[(np.abs(np.abs(y) - far) < 1e-9 * far).all(axis=0)]
    return {"rod": _second_order(rod), "grid": _second_order(replace(dimples, _boundaries=boundaries))}


def _second_order(mesh: Any) -> Any:
    import skfem

    curved = skfem.MeshQuad2.from_mesh(mesh)
    return replace(curved, _boundaries=mesh.boundaries)


# --- reference, checks, figures


def first_frequency(parameters: Parameters) -> float:
    """First bending frequency of the rod without grid, Hz, plane strain: 1.8751² √(E'I/ρA)/(2π L²)."""
    p = parameters
    modulus = p.young / (1.0 - 0.3**2)
    return float(1.87510407**2 / (2 * np.pi) * p.width / np.sqrt(12.0) * np.sqrt(modulus / p.density) / p.length**2)


def comparisons(result: xarray.DataTree, parameters: Parameters) -> dict[str, Parameters]:
    """The model of the library's meshes with the same parameters."""
    return {GENERATED: replace(parameters, source="generators")}


def tip(result: xarray.DataTree) -> tuple[Array, Array]:
    """Frame times (t,), s, and deflections (t,) of the middle of the free end, m."""
    part = result["part/rod"].dataset
    x = part["position"].values
    end = np.flatnonzero(np.isclose(x[:, 0], x[:, 0].max()))
    node = end[np.argmin(np.abs(x[end, 1]))]
    return part["frame_time"].values, part["displacement"].sel(component="y").values[:, node]


def contact_forces(result: xarray.DataTree) -> Array:
    """Contact forces (2, t) of the dimples, N/m."""
    groups = [result[f"interface/{side}"].dataset for side in ("lower", "upper")]
    return np.stack([group["force"].sel(component="y").values for group in groups])


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """First frequency within 1 % of beam theory; equal to the model of the library's own meshes."""
    frequency = float(aq.natural_frequencies(build(parameters).system, count=1).frequencies[0])
    exact = first_frequency(parameters)
    checks = [Check("first bending frequency without contact, beam theory", frequency, exact, 0.01, "Hz")]
    own = comparison(build, comparisons(result, parameters), GENERATED)
    if own is not None:
        motion = tip(own)[1]
        error = float(np.abs(tip(result)[1] - motion).max() / np.abs(motion).max())
        checks.append(Check("tip motion against the library's own meshes", error, 0.0, 1e-9, "1", "at most"))
    return checks + energy_checks(result)


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    force = np.abs(np.nan_to_num(contact_forces(result)))
    return {
        "peak_tip_displacement": aq.Scalar(np.abs(tip(result)[1]).max(), "m", "largest deflection of the free end"),
        "peak_contact_force": aq.Scalar(force.max(), "N/m", "largest contact force of a dimple"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    own = comparison(build, comparisons(result, parameters), GENERATED)
    motions = {"Abaqus file": tip(result)} | ({} if own is None else {GENERATED: tip(own)})
    return {
        "energies": plots.energies(result),
        "tip": tip_figure(motions),
        "shape": plots.shape(result, "displacement", component=1),
    }
