"""Natural frequencies of systems with nodes that others have taken over, lumped, rigid, massless or tied ones."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import arlequin as aq
from arlequin.system.assembly import assemble

UNIT = aq.LinearElastic(young=1.0, density=1.0)  # Poisson's ratio 0


def glued(axes: int, end: float, refine: int = 1, mass: str = "consistent") -> aq.System:
    """A coarse part from 0 to `end`, held at 0, and a fine one from 1 to 5.5, glued from 2 to 3."""
    box = {1: aq.mesh.interval, 2: aq.mesh.rectangle, 3: aq.mesh.box}[axes]

    def part(name: str, low: float, high: float, size: int, **fields: Any) -> Any:
        count = round((high - low) * size) * refine
        if axes == 1:
            return aq.Bar(name, box(low, high, cells=count), UNIT, mass=mass, **fields)
        across = ((0.0, 1.0),) * (axes - 1)
        mesh = box((low, high), *across, cells=(count, *(size * refine,) * (axes - 1)))
        return aq.Solid(name, mesh, UNIT, mass=mass, **fields, **({"plane": "strain"} if axes == 2 else {}))

    coarse = part("coarse", 0.0, end, 1, imposed={"left": dict.fromkeys("xyz"[:axes], 0.0)})
    fine = part("fine", 1.0, 5.5, 2)
    return aq.System([coarse, fine], [aq.Junction(coarse, fine, zone=aq.zones.Strip(2.0, 3.0))])


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("axes", "refine", "mass"),
    [(1, 1, "consistent"), (2, 1, "lumped"), (3, 1, "consistent"), (1, 40, "consistent"), (2, 4, "lumped")],
)
def test_coarse_nodes_below_a_fine_part_have_no_frequencies(axes: int, refine: int, mass: str) -> None:
    """The same as of a coarse mesh that is cut where the zone ends; 1D: those of a bar, c/(4L) (2k − 1), too."""
    whole, cut = (aq.natural_frequencies(glued(axes, end, refine, mass), 3) for end in (5.0, 3.0))
    np.testing.assert_allclose(whole.frequencies, cut.frequencies, rtol=1e-9)
    assert not whole.shapes[assemble(glued(axes, 5.0, refine, mass)).ghost].any()
    if axes == 1 and refine > 1:
        np.testing.assert_allclose(whole.frequencies, (2 * np.arange(1, 4) - 1) / 22.0, rtol=1e-4)


def test_every_frequency_of_a_small_system() -> None:
    """As many as coordinates that move less constraints, against the dense problem on their null space."""
    system = glued(1, 5.0)
    assembly = assemble(system)
    free = np.flatnonzero(assembly.free)
    basis = scipy.linalg.null_space(assembly.constraints[:, free].toarray())
    mass, stiffness = (
        basis.T @ matrix[free][:, free].toarray() @ basis for matrix in (assembly.mass, assembly.stiffness)
    )
    expected = np.sqrt(scipy.linalg.eigvalsh(stiffness, mass)) / (2 * np.pi)
    found = aq.natural_frequencies(system, expected.size)
    np.testing.assert_allclose(found.frequencies, expected, rtol=1e-10)
    np.testing.assert_allclose(found.shapes.T @ (assembly.mass @ found.shapes), np.eye(expected.size), atol=1e-9)
    with pytest.raises(aq.UserError, match=f"must be at most {expected.size} "):
        aq.natural_frequencies(system, expected.size + 1)


def test_masses_on_springs() -> None:
    """One mass, √(k/m); two that a relation ties, √(k/(m₁ + m₂)); a free one, 0."""
    first, second = aq.PointMasses("p", 0.0, 2.0), aq.PointMasses("q", 0.0, 3.0)
    spring = aq.Spring("s", first.boundary("all"), stiffness=8.0)
    tied = aq.Relation("r", [(first.boundary("all"), "x", 1.0), (second.boundary("all"), "x", -1.0)])
    for system, expected in (
        (aq.System([first], springs=[spring]), 2.0),
        (aq.System([first, second], springs=[spring], relations=[tied]), np.sqrt(8.0 / 5.0)),
        (aq.System([first]), 0.0),
    ):
        assert abs(2 * np.pi * aq.natural_frequencies(system, 1).frequencies[0] - expected) <= 1e-12


def test_a_rigid_body_beside_glued_parts() -> None:
    """Three frequencies of 0, and those of the glued parts."""
    system = glued(2, 5.0)
    body = aq.RigidBody("body", [(6.0, 0.0), (7.0, 0.0), (7.0, 1.0), (6.0, 1.0)], mass=2.0)
    both = aq.System([*system.parts, body], system.junctions)
    found, alone = aq.natural_frequencies(both, 5).frequencies, aq.natural_frequencies(system, 2).frequencies
    assert found[:3].max() <= 1e-6 * alone[0]
    np.testing.assert_allclose(found[3:], alone, rtol=1e-9)


def test_nothing_that_moves() -> None:
    held = aq.PointMasses("p", 0.0, 2.0, imposed={"all": {"x": 0.0}})
    with pytest.raises(aq.UserError, match="no coordinate of the system has mass and is free"):
        aq.natural_frequencies(aq.System([held]), 1)


@pytest.mark.parametrize("cells", [9, 400])
def test_nodes_without_mass_follow(cells: int) -> None:
    """Contact nodes of redistributed mass, with nodes that are left out: K_cc u_c = −K_ci u_i condensed by hand.

    What a glued part weighs stays what it is, and nodes that are left out get no mass.
    """
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 5.0, cells=5), UNIT, imposed={"left": {"x": 0.0}})
    fine = aq.Bar("fine", aq.mesh.interval(1.0, 5.5, cells=cells), UNIT, mass="redistributed")
    wall = aq.Interface("wall", fine.boundary("right"), aq.RigidPlane(point=8.0, normal=-1.0), aq.Unilateral("gap"))
    system = aq.System([coarse, fine], [aq.Junction(coarse, fine, zone=aq.zones.Strip(2.0, 3.0))], [wall])
    assembly = assemble(system)
    plain = assemble(aq.System(system.parts, system.junctions))
    assert assembly.massless.sum() == 1 and np.array_equal(assembly.ghost, plain.ghost) and assembly.ghost.sum() >= 4
    for power in (0, 1):  # mass and its first moment
        moments = [
            float(np.sum(own.mass @ np.concatenate([part.positions[:, 0] for part in system.parts]) ** power))
            for own in (assembly, plain)
        ]
        assert abs(moments[0] - moments[1]) <= 1e-12 * moments[1]
    c, i = assembly.massless, assembly.free & ~assembly.massless
    mass, stiffness = assembly.mass.toarray(), assembly.stiffness.toarray()
    follow = np.linalg.solve(stiffness[np.ix_(c, c)], -stiffness[np.ix_(c, i)])
    rows = assembly.constraints.toarray()
    basis = scipy.linalg.null_space(rows[:, i] + rows[:, c] @ follow)
    condensed = stiffness[np.ix_(i, i)] + stiffness[np.ix_(i, c)] @ follow
    squares = scipy.linalg.eigvalsh(basis.T @ condensed @ basis, basis.T @ mass[np.ix_(i, i)] @ basis)
    found = aq.natural_frequencies(system, 4)
    np.testing.assert_allclose(found.frequencies, np.sqrt(squares[:4]) / (2 * np.pi), rtol=1e-8)
    np.testing.assert_allclose(found.shapes[c], follow @ found.shapes[i], atol=1e-7)


@pytest.mark.parametrize(
    "scheme", [aq.SymplecticEuler(), aq.RungeKutta(), aq.DeVogelaere()], ids=lambda s: type(s).__name__
)
def test_explicit_schemes_step_glued_bars_with_nodes_left_out(scheme: Any) -> None:
    """The same motion as of a coarse bar that is cut where the zone ends."""
    found = []
    for end in (5.0, 3.0):
        bar = aq.Bar("coarse", aq.mesh.interval(0.0, end, cells=round(end)), UNIT)
        fine = aq.Bar("fine", aq.mesh.interval(1.0, 5.5, cells=9), UNIT)
        glue = aq.Junction(bar, fine, zone=aq.zones.Strip(2.0, 3.0))
        system = aq.System([bar, fine], [glue], velocity=lambda x: np.sin(x))
        found.append(aq.simulate(system, scheme, duration=1.0, step=0.01, progress=False))
    whole, cut = (result["part/fine/displacement"].values for result in found)
    assert np.abs(whole - cut).max() <= 1e-10 * np.abs(cut).max()
    assert not found[0]["part/coarse/displacement"].values[:, 4:].any()
