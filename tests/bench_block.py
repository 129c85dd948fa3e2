"""What the impact of a plane block on a wall costs: its steps in back-substitutions, its run in seconds.

A steel block of 0.1 × 0.02 m, ν = 0, 200 × 40 Q4 cells in plane strain, hits a rigid wall at 10 m/s, in 200 steps of
0.5 µs.
"""

import json
import time

import numpy as np

import arlequin as aq
from models.factor import Factor, factorise

STEEL = aq.LinearElastic(young=2e11, poisson=0.0, density=7800.0)
STEP, STEPS = 5e-7, 200
FIELDS = 50  # steps between two frames


def block() -> aq.Solid:
    """The block."""
    return aq.Solid("block", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.02), cells=(200, 40)), STEEL, plane="strain")


def study() -> aq.Study:
    """Its impact, set up from nothing."""
    part = block()
    wall = aq.RigidPlane(point=(0.1, 0.0), normal=(-1.0, 0.0))
    contact = aq.Interface("contact", part.boundary("right"), wall, aq.Unilateral(level="velocity"))
    system = aq.System([part], interfaces=[contact], velocity=(10.0, 0.0))
    return aq.Study(system, aq.Theta(0.5), STEPS * STEP, STEP, fields_every=FIELDS)


def bare_factor() -> Factor:
    """The factor of its step, M + θ²Δt² K."""
    part = block().assemble()
    return factorise(part.mass + 0.25 * STEP**2 * part.stiffness)


def seconds(action: object, count: int) -> float:
    """Mean time of an action, taken so many times."""
    assert callable(action)
    begin = time.perf_counter()
    for _ in range(count):
        action()
    return (time.perf_counter() - begin) / count


def block_impact(rounds: int = 5) -> dict[str, float]:
    """Shortest of some rounds, in each of which the run and the bare back-substitutions take turns."""
    factor = bare_factor()
    b = np.random.default_rng(0).normal(size=factor.shape[0])
    found = {"solve": np.inf, "step": np.inf, "run": np.inf, "set-up": np.inf}
    study().run()  # loads libraries and kernels
    for _ in range(rounds):
        found["solve"] = min(found["solve"], seconds(lambda: factor.solve(b), STEPS))
        begin = time.perf_counter()
        attributes = study().run().attrs
        found["run"] = min(found["run"], time.perf_counter() - begin)
        found["step"] = min(found["step"], float(attributes["wall_time_per_step"]))
        found["set-up"] = min(found["set-up"], float(attributes["setup_time"]))
    return {
        "solve (s)": found["solve"],
        "step (s)": found["step"],
        "step / solve": found["step"] / found["solve"],
        "run, libraries loaded (s)": found["run"],
        "set-up / run": found["set-up"] / found["run"],
    }


if __name__ == "__main__":
    print(json.dumps(block_impact(), indent=2))
