"""The impact of `block_impact_data.py` with Akantu: central differences, lumped masses, contact with penalty.

The wall is a fixed column of cells of the size of the block's, half a cell higher than the block at both ends: with a
wall of one cell the contact detector finds a single node of the block.
"""

import math
import tempfile
from pathlib import Path
from time import process_time

import akantu
import block_impact_data as impact
import numpy as np

SIZE = impact.LENGTH / impact.CELLS[0]
PENALTY = impact.YOUNG / SIZE  # Pa/m
STABLE_SHARE = 0.8  # of the stable step without penalty; 0.95 is unstable with it
INPUT = f"""
material elastic [
  name = steel
  rho = {impact.DENSITY}
  E = {impact.YOUNG}
  nu = 0.0
  Plane_Stress = 0
]
contact_detector [
  type = explicit
  master = wall
  slave = surface
  projection_tolerance = 1e-10
  max_iterations = 100
  extension_tolerance = 1e-5
]
contact_resolution penalty_linear [
  name = surface
  mu = 0.0
  epsilon_n = {PENALTY}
  epsilon_t = {PENALTY}
  is_master_deformable = false
]
"""


def grid(x: np.ndarray, y: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the nodes, column by column, and the cells, whose nodes are counted from `first`."""
    nodes = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    number = first + np.arange(len(nodes)).reshape(len(x), len(y))
    corners = number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]
    return nodes, np.stack(corners, axis=-1).reshape(-1, 4)


def write_mesh(path: Path) -> int:
    """Write block and wall in Gmsh's format 2.2; the number of nodes of the block, which are the first."""
    nx, ny = impact.CELLS
    block, block_cells = grid(np.linspace(0.0, impact.LENGTH, nx + 1), np.linspace(0.0, impact.HEIGHT, ny + 1), first=1)
    wall, wall_cells = grid(
        np.array([impact.LENGTH, impact.LENGTH + SIZE]),
        np.linspace(-SIZE / 2, impact.HEIGHT + SIZE / 2, ny + 2),
        first=len(block) + 1,
    )
    # edges in the direction that has the body on their left
    groups = [
        (1, "surface", block_cells[-ny:, [1, 2]]),
        (1, "wall", wall_cells[:, [3, 0]]),
        (2, "block", block_cells),
        (2, "support", wall_cells),
    ]
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", f"{len(groups)}"]
    lines += [f'{dimension} {tag} "{name}"' for tag, (dimension, name, _) in enumerate(groups, 1)]
    nodes = np.concatenate([block, wall]).tolist()
    lines += ["$EndPhysicalNames", "$Nodes", f"{len(nodes)}"]
    lines += [f"{i} {x!r} {y!r} 0" for i, (x, y) in enumerate(nodes, 1)]
    elements = [
        f"{1 if dimension == 1 else 3} 2 {tag} 1 " + " ".join(map(str, element))
        for tag, (dimension, _, members) in enumerate(groups, 1)
        for element in members.tolist()
    ]
    lines += ["$EndNodes", "$Elements", f"{len(elements)}"]
    lines += [f"{i} {element}" for i, element in enumerate(elements, 1)]
    path.write_text("\n".join([*lines, "$EndElements", ""]))
    return len(block)


mesh = akantu.Mesh(2)
with tempfile.TemporaryDirectory() as folder:
    materials, meshed = Path(folder) / "materials.dat", Path(folder) / "block.msh"
    materials.write_text(INPUT)
    count = write_mesh(meshed)
    akantu.parseInput(str(materials))
    mesh.read(str(meshed))

coupler = akantu.CouplerSolidContact(mesh)
solid, contact = coupler.getSolidMechanicsModel(), coupler.getContactMechanicsModel()
coupler.initFull(_analysis_method=akantu._explicit_lumped_mass)
contact.getContactDetector().setSurfaceSelector(akantu.PhysicalSurfaceSelector(mesh))
steps = math.ceil(impact.END / (STABLE_SHARE * solid.getStableTimeStep()))
coupler.setTimeStep(impact.END / steps)
solid.getBlockedDOFs()[count:] = True
solid.getVelocity()[:count, 0] = impact.VELOCITY
solid.assembleMassLumped()
weights = solid.getMass()[:count, 0] / solid.getMass()[:count, 0].sum()
nodal = solid.getVelocity()

velocity = [float(weights @ nodal[:count, 0])]
for n in range(steps):
    coupler.solveStep()
    if n == 0:
        start_up = process_time()
    velocity.append(float(weights @ nodal[:count, 0]))
stepping = process_time() - start_up

impact.report(
    "Akantu",
    akantu.getVersion(),
    f"explicit, central differences, {STABLE_SHARE} of the stable step, contact by a penalty of E over the cell size",
    start_up=start_up,
    stepping=stepping,
    velocity=velocity,
    energy=solid.getEnergy("kinetic") + solid.getEnergy("potential"),
)
