"""Cheap models with known means, for tests in other processes too."""

from pathlib import Path

import arlequin as aq


def growth(rate, noise, steps):
    """Explicit Euler of ẏ = rate y over 1 s in whole steps, and noise."""
    return {"value": aq.Scalar((1.0 + rate / steps) ** steps + 0.3 * noise, "m", "length")}


def growth_noted(rate, noise, steps, folder):
    """`growth`, with a line for each call."""
    with (Path(folder) / "calls").open("a") as file:
        file.write(f"{steps} {rate!r}\n")
    return growth(rate, noise, steps)


def fall(height, gravity=10.0):
    """A stone that falls from a height, m, on a floor: its run."""
    stone = aq.PointMasses("stone", (0.0, height), 2.0)
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    contact = aq.Interface("floor", stone.boundary("all"), floor, aq.Unilateral())
    system = aq.System([stone], interfaces=[contact], gravity=(0.0, -gravity))
    return aq.Study(system, aq.Theta(0.5), duration=0.4, step=0.01)
