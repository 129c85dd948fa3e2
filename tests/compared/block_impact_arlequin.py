"""The impact of `block_impact_data.py` with Arlequin: θ-scheme, contact law on the velocity; recorded in memory."""

from time import process_time

import block_impact_data as impact

import arlequin as aq
from arlequin.run.run import Run

block = aq.Solid(
    "block",
    aq.mesh.rectangle((0.0, impact.LENGTH), (0.0, impact.HEIGHT), cells=impact.CELLS),
    aq.LinearElastic(young=impact.YOUNG, poisson=0.0, density=impact.DENSITY),
    plane="strain",
)
wall = aq.RigidPlane(point=(impact.LENGTH, 0.0), normal=(-1.0, 0.0))
contact = aq.Interface("contact", block.boundary("right"), wall, aq.Unilateral(level="velocity"))
system = aq.System([block], interfaces=[contact], velocity=(impact.VELOCITY, 0.0))

# what `Study.run` does, in two parts: set-up and steps
steps = round(impact.END / impact.STEP)
run = Run(system, aq.Theta(0.5), step=impact.STEP, steps=steps, record=aq.Record(fields_every=50), attributes={})
with run.recorded():
    run.to(1)
    start_up = process_time()
    run.to(steps)
    stepping = process_time() - start_up

part = run.result["part/block"]
energy = run.result["energy"].isel(time=-1)
impact.report(
    "Arlequin",
    aq.__version__,
    "implicit, Theta(0.5), complementarity of velocity and impulse; all energies and the balance at each step",
    start_up=start_up,
    stepping=stepping,
    velocity=part["momentum"].sel(component="x").values / float(part["mass"]),
    energy=float(energy.sel(kind="kinetic") + energy.sel(kind="strain")),
)
