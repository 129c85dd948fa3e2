"""Compiles kernels that many tests need, once: two processes of tests would each do it, side by side.

Those that have signatures are compiled when they are imported, the loops of linear systems by a step of each kind.
"""

import importlib
import pkgutil

import arlequin as aq


def compile_loops() -> None:
    """The loop of small systems and that on a sparse factor, without friction that depends on the state and with it."""
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    masses = aq.PointMasses("masses", (0.0, 0.0), 1.0)
    block = aq.Solid("block", aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(16, 16)), steel, plane="strain")
    for part, side in ((masses, "all"), (block, "bottom")):
        for friction in (None, aq.Stribeck(0.5, 0.2, 1.0)):
            rub = aq.Interface("rub", part.boundary(side), floor, aq.Unilateral(), friction=friction)
            system = aq.System([part], interfaces=[rub], velocity=(1.0, 0.0))
            aq.simulate(system, aq.Theta(0.5), duration=2e-5, step=1e-5, progress=False)


if __name__ == "__main__":
    for package in ("arlequin",):
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if module.name.endswith("_kernels"):
                importlib.import_module(module.name)
    compile_loops()
