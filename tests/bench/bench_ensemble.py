"""What a step of a member costs in an ensemble, against that of a run alone: the impact of `bench_block`."""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from xarray import DataTree

import arlequin as aq

STEEL = aq.LinearElastic(young=2e11, density=7800.0)
GIVEN = {"step": 5e-7, "fields_every": 50}


def impacts(count: int) -> list[aq.System]:
    """A 200 × 40 Q4 block on a wall, at about 10 m/s, each member with a speed and a spin of its own."""
    block = aq.Solid("block", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.02), cells=(200, 40)), STEEL, plane="strain")
    wall = aq.RigidPlane(point=(0.1, 0.0), normal=(-1.0, 0.0))
    contact = aq.Interface("contact", block.boundary("right"), wall, aq.Unilateral())
    system = aq.System([block], interfaces=[contact])

    def thrown(speed: float, spin: float) -> aq.System:
        def velocity(at: np.ndarray) -> np.ndarray:
            return np.column_stack([speed - spin * (at[:, 1] - 0.01), spin * (at[:, 0] - 0.05)])

        return replace(system, velocity=velocity)

    spins = 50.0 * np.random.default_rng(0).normal(size=count)
    return [thrown(10.0 + 0.1 * i, spin) for i, spin in enumerate(spins)]


def seconds(action: Callable[[], DataTree]) -> tuple[float, float, DataTree]:
    """Wall time and time of all processors."""
    wall, own = time.perf_counter(), time.process_time()
    result = action()
    return time.perf_counter() - wall, time.process_time() - own, result


def ensemble(count: int = 64, duration: float = 1e-4, rounds: int = 3, alone: int = 4) -> dict[str, float]:
    """`count` impacts together against one by one, set-up included and without it; medians of runs taken in turns.

    One by one: `alone` of them a round, for the mean of a run. The processors' time tells of the work alone; the wall
    time of the ensemble has what two threads spare of it, too.
    """
    systems, theta = impacts(count), aq.Theta(0.5)
    for some in (lambda: aq.simulate_ensemble(systems[:2], theta, duration=2e-6, **GIVEN),
                 lambda: aq.simulate(systems[0], theta, duration=2e-6, **GIVEN)):  # fmt: skip
        some()  # compiled
    found: dict[str, list[float]] = {}
    for i in range(rounds):
        wall, own, result = seconds(lambda: aq.simulate_ensemble(systems, theta, duration=duration, **GIVEN))
        steps = float(result.attrs["wall_time"])
        each = [
            seconds(lambda s=systems[(alone * i + j) % count]: aq.simulate(s, theta, duration=duration, **GIVEN))
            for j in range(alone)
        ]
        walls, owns = (float(np.mean([run[k] for run in each])) for k in (0, 1))
        bare = float(np.mean([run[2].attrs["wall_time"] for run in each]))
        taken = result.attrs["steps"] * count
        for name, value in {
            "together, a member's step (s)": wall / taken,
            "alone, a step (s)": walls / result.attrs["steps"],
            "alone / together": walls * count / wall,
            "alone / together, without set-up": bare * count / steps,
            "alone / together, processors' time": owns * count / own,
        }.items():
            found.setdefault(name, []).append(value)
    return {"members": count, **{name: float(np.median(values)) for name, values in found.items()}}


if __name__ == "__main__":
    for what, number in ensemble().items():
        print(f"{what}: {number:.4g}")
