"""What a step of a member costs in an ensemble, against that of a run alone: impacts of blocks and of bars."""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from xarray import DataTree

import arlequin as aq

STEEL = aq.LinearElastic(young=2e11, density=7800.0)


def impacts(count: int) -> list[aq.System]:
    """A 200 × 40 Q4 block on a wall, as in `bench_block`, each member with a speed and a spin of its own."""
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


def bars(count: int, cells: int) -> list[aq.System]:
    """A bar on a wall, each member with a speed of its own."""
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells), STEEL, section=1e-4)
    contact = aq.Interface("contact", bar.boundary("right"), aq.RigidPlane(1.0, -1.0), aq.Unilateral())
    system = aq.System([bar], interfaces=[contact])
    return [replace(system, velocity=speed) for speed in np.linspace(1.0, 20.0, count)]


def seconds(action: Callable[[], DataTree]) -> tuple[float, float, DataTree]:
    """Wall time and time of all processors."""
    wall, own = time.perf_counter(), time.process_time()
    result = action()
    return time.perf_counter() - wall, time.process_time() - own, result


def compared(systems: list[aq.System], step: float, steps: int, rounds: int = 3, alone: int = 4) -> dict[str, float]:
    """The systems together against one by one, set-up included and without it; medians of runs taken in turns.

    One by one: `alone` of them a round, for the mean of a run. The processors' time tells of the work alone; the wall
    time of the ensemble has what two threads spare of it, too.
    """
    count, theta, given = len(systems), aq.Theta(0.5), {"step": step, "fields_every": 50}
    for some in (lambda: aq.simulate_ensemble(systems[:2], theta, duration=4 * step, **given),
                 lambda: aq.simulate(systems[0], theta, duration=4 * step, **given)):  # fmt: skip
        some()  # compiled
    given["duration"] = steps * step
    found: dict[str, list[float]] = {}
    for i in range(rounds):
        wall, own, result = seconds(lambda: aq.simulate_ensemble(systems, theta, **given))
        each = [
            seconds(lambda s=systems[(alone * i + j) % count]: aq.simulate(s, theta, **given)) for j in range(alone)
        ]
        walls, owns = (float(np.mean([run[k] for run in each])) for k in (0, 1))
        bare = float(np.mean([run[2].attrs["wall_time"] for run in each]))
        for name, value in {
            "together, a member's step (s)": wall / (steps * count),
            "alone, a step (s)": walls / steps,
            "alone / together": walls * count / wall,
            "alone / together, without set-up": bare * count / float(result.attrs["wall_time"]),
            "alone / together, processors' time": owns * count / own,
        }.items():
            found.setdefault(name, []).append(value)
    return {"members": count, **{name: float(np.median(values)) for name, values in found.items()}}


def ensemble(count: int = 64, steps: int = 200) -> dict[str, dict[str, float]]:
    """Blocks by one factor; bars of so many cells by their compiled loops."""
    found = {"block, 200 × 40": compared(impacts(count), 5e-7, steps)}
    for cells in (100, 400):
        found[f"bar, {cells} cells"] = compared(bars(count, cells), 2e-4 / cells, 5 * steps)
    return found


if __name__ == "__main__":
    for case, figures in ensemble().items():
        print(case)
        for what, number in figures.items():
            print(f"    {what}: {number:.4g}")
