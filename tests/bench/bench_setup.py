"""What comes before the first step: assembly, factor, compliance of the contact points, the record's room."""

from collections.abc import Callable

from timing import STEEL, Report

import arlequin as aq


def plane() -> tuple[aq.System, float]:
    """A block of 200 × 40 quadrilaterals and a wall, 41 contact points."""
    block = aq.Solid("block", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.02), cells=(200, 40)), STEEL, plane="strain")
    wall = aq.RigidPlane(point=(0.1, 0.0), normal=(-1.0, 0.0))
    contact = aq.Interface("contact", block.boundary("right"), wall, aq.Unilateral())
    return aq.System([block], interfaces=[contact], velocity=(10.0, 0.0)), 5e-7


def glued_plane() -> tuple[aq.System, float]:
    """60 × 20 and 180 × 80 quadrilaterals, glued."""
    coarse = aq.Solid("coarse", aq.mesh.rectangle((0.0, 0.06), (0.0, 0.02), cells=(60, 20)), STEEL, plane="strain")
    fine = aq.Solid("fine", aq.mesh.rectangle((0.055, 0.1), (0.0, 0.02), cells=(180, 80)), STEEL, plane="strain")
    return aq.System([coarse, fine], [aq.Junction(coarse, fine)], velocity=(1.0, 0.0)), 1e-7


def space() -> tuple[aq.System, float]:
    """A cube of 16³ hexahedra and a wall, 289 contact points."""
    side = (0.0, 0.1)
    block = aq.Solid("block", aq.mesh.box(side, side, side, cells=(16, 16, 16)), STEEL)
    wall = aq.RigidPlane(point=(0.1, 0.0, 0.0), normal=(-1.0, 0.0, 0.0))
    contact = aq.Interface("contact", block.boundary("right"), wall, aq.Unilateral())
    return aq.System([block], interfaces=[contact], velocity=(10.0, 0.0, 0.0)), 1e-6


def setups(rounds: int = 3) -> Report:
    """Seconds from the description of the parts to the first step, meshes excluded."""
    models: dict[str, Callable[[], tuple[aq.System, float]]] = {
        "2D block and wall": plane,
        "2D, glued": glued_plane,
        "3D block and wall": space,
    }
    found: Report = {}
    for name, make in models.items():
        runs = []
        for _ in range(rounds):
            system, step = make()
            runs.append(aq.simulate(system, aq.Theta(0.5), duration=step, step=step).attrs)
        found[name] = {"dofs": runs[0]["dofs"], "set-up (s)": min(float(run["setup_time"]) for run in runs)}
    return found
