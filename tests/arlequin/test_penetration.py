"""Which starts are refused as interpenetrated: curved surfaces that just touch are not, however their gaps are weighed.

A disc or ball of radius 1 stands with a node on the crown of its partner, all points elsewhere being apart: the depth
is what it is lowered by, and the place is the crown.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import skfem

import arlequin as aq
from arlequin.cases.shared.meshes import half_ball, half_disc
from arlequin.models.part import Surface
from arlequin.solvers.initial_state import check_apart
from arlequin.system.assembly import assemble

SOFT = aq.LinearElastic(young=1e3, poisson=0.3, density=1.0)
SPACES = ["nodes", "gauss", "P0", "P1", "P2"]


def ball(axes: int) -> Any:
    mesh = half_disc(1.0, 0.3, 0.1, order=2) if axes == 2 else half_ball(1.0, 0.2, 0.2, growth=2.0, order=2)
    return aq.Solid("ball", mesh, SOFT, order=2, plane="strain" if axes == 2 else None)


def hill(axes: int, curvature: float) -> Any:
    """A block of second-order cells with the top y = −½ curvature (x² + z²); below 0 it is a bowl."""
    across = (-0.5, 0.5)
    if axes == 2:
        plain = aq.mesh.rectangle(across, (-0.5, 0.0), cells=(8, 2))
        mesh: Any = skfem.MeshQuad2.from_mesh(plain)
    else:
        plain = aq.mesh.box(across, (-0.5, 0.0), across, cells=(4, 1, 4))
        mesh = skfem.MeshHex2.from_mesh(plain)
    p = mesh.doflocs.copy()
    p[1] -= curvature * (p[1] + 0.5) * (np.delete(p, 1, axis=0) ** 2).sum(axis=0)
    mesh = replace(mesh, doflocs=p, _boundaries=plain.boundaries)
    return aq.Solid("hill", mesh, SOFT, order=2, plane="strain" if axes == 2 else None)


def start(slave: Any, master: Any, multiplier: Any) -> Callable[[float], None]:
    """The check of the start with the slave's part displaced by (0, −u, 0)."""
    parts = [side.part for side in (slave, master) if isinstance(side, Surface)]
    touch = aq.Interface("touch", slave, master, aq.Unilateral(), multiplier=multiplier)
    assembly = assemble(aq.System(parts, interfaces=[touch]))

    def check(u: float) -> None:
        field = np.zeros(assembly.dof_count)
        field[: slave.part.dof_count].reshape(-1, slave.positions.shape[1])[:, 1] = -u
        check_apart(assembly, field)

    return check


MASTERS = ("plane", "hill", "bowl")


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("axes", "master", "multiplier"),
    [
        pytest.param(axes, master, multiplier, marks=() if (axes + i + j) % 3 == 0 else pytest.mark.slow)
        for axes in (2, 3)
        for i, master in enumerate(MASTERS)
        for j, multiplier in enumerate(SPACES)
    ],
)
def test_a_ball_that_just_touches_starts_and_a_lower_one_is_refused(axes: int, master: str, multiplier: str) -> None:
    curvature = {"hill": 0.25, "bowl": -0.25}.get(master)
    partner: Any = aq.RigidPlane((0.0,) * axes, (0.0, 1.0, 0.0)[:axes])
    if curvature is not None:
        partner = hill(axes, curvature).boundary("top")
    check = start(ball(axes).boundary("contact"), partner, multiplier)
    check(0.0)
    with pytest.raises(aq.UserError, match="'touch': starts interpenetrated by") as caught:
        check(0.02)
    numbers = [float(word) for word in re.findall(r"[-\d.][\d.e-]*", str(caught.value).split("by")[1])]
    amount, (across, height, *_) = numbers[0], numbers[1:]
    if multiplier == "gauss":  # its points are beside the crown and see less; facets differ from the circle by 7e-6
        assert 0.01 < amount <= 0.02 and height == pytest.approx(0.5 * across**2 * (axes - 1) - 0.02, abs=1e-5)
    else:
        assert (amount, across, height) == pytest.approx((0.02, 0.0, -0.02), abs=1e-12)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("multiplier", ["P0", "P1", "P2"])
@pytest.mark.parametrize("axes", [2, 3])
def test_a_narrow_master_between_the_points_of_the_slave(axes: int, multiplier: str) -> None:
    """No node nor Gauss point of the wide facets lies inside the small block that stands into them."""

    def block(name: str, x: tuple[float, float], y: tuple[float, float]) -> Any:
        if axes == 2:
            return aq.Solid(name, aq.mesh.rectangle(x, y, cells=(2, 1)), SOFT, order=2, plane="strain")
        return aq.Solid(name, aq.mesh.box(x, y, x, cells=(2, 1, 2)), SOFT, order=2)

    slave, small = block("slave", (0.0, 2.0), (0.0, 1.0)), block("small", (0.18, 0.3), (-0.1, 0.01))
    with pytest.raises(aq.UserError, match=r"interpenetrated by 0.01 m at \(0\.\d+, 0\.01"):
        start(slave.boundary("bottom"), small.boundary("top"), multiplier)(0.0)
