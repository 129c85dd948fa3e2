"""Loads on cells and borders that the zone of a junction crosses: resultant and moment are those on the body alone."""

import itertools

import numpy as np
import pytest

import arlequin as aq
from arlequin.system.weights import weights_of

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)


def plane_parts(kinds, orders, start=0.37, **loads):
    """A coarse and a fine body of 1 m × 0.2 m together."""
    coarse = aq.mesh.rectangle((0, 0.6), (0, 0.2), cells=(6, 2), kind=kinds[0])
    fine = aq.mesh.rectangle((start, 1.0), (0, 0.2), cells=(23, 7), kind=kinds[1])
    return [
        aq.Solid(name, mesh, STEEL, plane="stress", order=order, **loads)
        for name, mesh, order in (("coarse", coarse, orders[0]), ("fine", fine, orders[1]))
    ]


def spatial_parts(kinds, start=0.37, **loads):
    coarse = aq.mesh.box((0, 0.6), (0, 0.3), (0, 0.3), cells=(4, 2, 1), kind=kinds[0])
    fine = aq.mesh.box((start, 1.0), (0, 0.3), (0, 0.3), cells=(11, 3, 3), kind=kinds[1])
    return [aq.Solid(name, mesh, STEEL, **loads) for name, mesh in (("coarse", coarse), ("fine", fine))]


def resultants(parts, junctions):
    """∫ f and ∫ x f (axis,) of the load along y over all parts."""
    weights = weights_of(junctions)
    force, moment = 0.0, 0.0
    for part in parts:
        load = part.assemble(weights[part.name]).load(1.0).reshape(-1, part.components)[:, 1]
        force, moment = force + load.sum(), moment + load @ part.positions
    return force, moment


ZONES = [None, aq.zones.Strip(0.42, 0.58), aq.zones.HalfSpace((0.435, 0.0), (1.0, 0.3), 0.14)]
PLANE = [
    (kinds, orders, zone, load)
    for kinds, orders, zone, load in itertools.product(
        [("quad", "quad"), ("tri", "tri"), ("quad", "tri")], [(1, 1), (2, 1), (2, 2)], ZONES, ["traction", "body"]
    )
]


@pytest.mark.sampled(7)
@pytest.mark.filterwarnings("ignore::arlequin.junctions.base.JunctionWarning")
@pytest.mark.parametrize(("kinds", "orders", "zone", "load"), PLANE)
def test_resultant_and_moment_in_the_plane(kinds, orders, zone, load):
    """A pressure of 1 + x Pa on the top, or a body force of 1 N/m³, on 1 m × 0.2 m."""
    given = {"tractions": {"top": lambda x, t: (0.0, 1 + x[0])}} if load == "traction" else {"body_force": (0.0, 1.0)}
    parts = plane_parts(kinds, orders, **given)
    glue = aq.Junction(*parts, **({} if zone is None else {"zone": zone}))
    force, moment = resultants(parts, [glue])
    exact = (1.5, (0.5 + 1 / 3, 1.5 * 0.2)) if load == "traction" else (0.2, (0.1, 0.02))
    assert force == pytest.approx(exact[0], rel=1e-12)
    np.testing.assert_allclose(moment, exact[1], rtol=1e-12)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kinds", [("hex", "hex"), ("tet", "hex"), ("hex", "tet")])
@pytest.mark.parametrize("load", ["traction", "body"])
def test_resultant_and_moment_in_space(kinds, load):
    given = {"tractions": {"top": (0.0, 1.0, 0.0)}} if load == "traction" else {"body_force": (0.0, 1.0, 0.0)}
    parts = spatial_parts(kinds, **given)
    force, moment = resultants(parts, [aq.Junction(*parts, zone=aq.zones.Strip(0.41, 0.57))])
    exact = (0.3, (0.15, 0.3 * 0.3, 0.045)) if load == "traction" else (0.09, (0.045, 0.0135, 0.0135))
    assert force == pytest.approx(exact[0], rel=1e-12)
    np.testing.assert_allclose(moment, exact[1], rtol=1e-12)


def test_pressure_on_a_cylinder():
    """A pressure of 1 Pa along r on the outer border r = 1.2 of a tube in two models along its axis."""
    meshes = (
        aq.mesh.rectangle((1.0, 1.2), (0, 0.6), cells=(2, 6)), aq.mesh.rectangle((1.0, 1.2), (0.37, 1), cells=(5, 17))
    )  # fmt: skip
    parts = [
        aq.Solid(name, mesh, STEEL, plane="axisymmetric", tractions={"right": (1.0, 0.0)})
        for name, mesh in zip(("coarse", "fine"), meshes, strict=True)
    ]
    weights = weights_of([aq.Junction(*parts)])
    loads = [part.assemble(weights[part.name]).load(0.0).reshape(-1, 2)[:, 0] for part in parts]
    assert sum(load.sum() for load in loads) == pytest.approx(2 * np.pi * 1.2, rel=1e-12)
    moment = sum(load @ part.positions[:, 1] for load, part in zip(loads, parts, strict=True))
    assert moment == pytest.approx(np.pi * 1.2, rel=1e-12)


def test_a_body_force_on_bars():
    coarse = aq.Bar("coarse", aq.mesh.interval(0, 0.6, cells=6), STEEL, body_force=lambda x, t: x)
    fine = aq.Bar("fine", aq.mesh.interval(0.37, 1, cells=23), STEEL, body_force=lambda x, t: x)
    weights = weights_of([aq.Junction(coarse, fine, zone=aq.zones.Strip(0.42, 0.58))])
    loads = [part.assemble(weights[part.name]).load(0.0) for part in (coarse, fine)]
    assert sum(load.sum() for load in loads) == pytest.approx(0.5, rel=1e-12)
    moment = sum(load @ part.positions[:, 0] for load, part in zip(loads, (coarse, fine), strict=True))
    assert moment == pytest.approx(1 / 3, rel=1e-12)


@pytest.mark.parametrize(
    ("kinds", "orders"), [(("tri", "tri"), (1, 1)), (("quad", "tri"), (1, 2)), (("tri", "quad"), (2, 1))]
)
def test_uniform_stress_under_tractions_across_the_zone(kinds, orders):
    """Hydrostatic stress in the plane: tractions on three sides, symmetry on two; u = (1 − ν) σ x / E."""
    push = {"right": lambda x, t: (1e6 * t, 0.0), "top": lambda x, t: (0.0, 1e6 * t)}
    symmetry = {"left": {"x": 0.0}, "bottom": {"y": 0.0}}
    meshes = [part.mesh for part in plane_parts(kinds, orders)]
    given = (
        {"tractions": {"top": push["top"]}, "imposed": symmetry},
        {"tractions": push, "imposed": {"bottom": {"y": 0.0}}},
    )
    coarse, fine = (
        aq.Solid(name, mesh, STEEL, plane="stress", order=order, **own)
        for name, mesh, order, own in zip(("coarse", "fine"), meshes, orders, given, strict=True)
    )
    glue = aq.Junction(coarse, fine)
    result = aq.simulate(aq.System([coarse, fine], [glue]), aq.Static(), duration=1.0, step=1.0, progress=False)
    for part in (coarse, fine):
        exact = 0.7 * 1e6 / 2e11 * part.positions
        np.testing.assert_allclose(result[f"part/{part.name}/displacement"].values[-1], exact, atol=1e-12 * exact.max())


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind", ["quad", "tri"])
def test_a_line_load_across_the_zone_of_a_beam_and_a_solid(kind, turned):
    """1 N/m along 1 m: on the beam, and on the top of the solid; the zone ends inside cells of both."""
    mesh = aq.mesh.rectangle((0.37, 1.0), (-0.05, 0.05), cells=(13, 3), kind=kind)
    nodes = aq.mesh.interval(0.0, 0.63, cells=5)
    if turned:  # the solid stands before the beam
        mesh = aq.mesh.rectangle((0.0, 0.63), (-0.05, 0.05), cells=(13, 3), kind=kind)
        nodes = aq.mesh.interval(0.37, 1.0, cells=5)
    solid = aq.Solid("solid", mesh, STEEL, plane="stress", tractions={"top": (0.0, 1.0)})
    beam = aq.Beam("beam", nodes, STEEL, aq.Section.rectangle(0.1, 1.0), dimension=2, distributed=(0.0, 1.0))
    weights = weights_of([aq.BeamJunction(beam, solid)])
    on_solid = solid.assemble(weights["solid"]).load(0.0).reshape(-1, 2)[:, 1]
    on_beam = beam.assemble(weights["beam"]).load(0.0).reshape(-1, 3)
    assert on_solid.sum() + on_beam[:, 1].sum() == pytest.approx(1.0, rel=1e-12)
    moment = on_solid @ solid.positions[:, 0] + on_beam[:, 1] @ beam.positions[:, 0] + on_beam[:, 2].sum()
    assert moment == pytest.approx(0.5, rel=1e-12)
