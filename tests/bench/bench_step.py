"""A linear step, condensed on its contact, in back-substitutions."""

import numpy as np
from timing import BAR_STEEL as STEEL
from timing import Report, best

import arlequin as aq
from arlequin.models.linalg.factor import factorise


def condensed_step(rounds: int = 5) -> Report:
    """A step of a 200 × 40 Q4 block on a wall, 41 contact points, against one back-substitution of its factor.

    The same run and the same factor in turns; record and audit included.
    """
    block = aq.Solid("block", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.02), cells=(200, 40)), STEEL, plane="strain")
    wall = aq.RigidPlane(point=(0.1, 0.0), normal=(-1.0, 0.0))
    contact = aq.Interface("contact", block.boundary("right"), wall, aq.Unilateral())
    system = aq.System([block], interfaces=[contact], velocity=(10.0, 0.0))
    step = 5e-7
    part = block.assemble()
    factor = factorise(part.mass + 0.25 * step**2 * part.stiffness)
    b = np.random.default_rng(0).normal(size=block.dof_count)
    study = aq.Study(system, aq.Theta(0.5), 1e-4, step, fields_every=50)
    steps, solves = [], []
    for _ in range(rounds):
        solves.append(best(lambda: factor.solve(b), 0.2))
        steps.append(float(study.run().attrs["wall_time_per_step"]))
    return {"step (s)": min(steps), "solve (s)": min(solves), "step / solve": min(steps) / min(solves)}
