"""Parts of spectral elements in junctions, contact, explicit dynamics, files and drawings."""

import math

import meshio
import numpy as np
import pytest

import arlequin as aq
from arlequin.models.errors import UserError

UNIT = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)
ROD = aq.LinearElastic(young=1.0, poisson=0.0, density=1.0)
STATIC = {"duration": 1.0, "step": 1.0}


def off_uniform(result, parts, strains):
    """Largest distance of the final displacements from x_i ε_i, relative to the largest of them."""
    exact = {part.name: part.positions * np.array(strains) for part in parts}
    size = max(np.abs(field).max() for field in exact.values())
    found = {part.name: result[f"part/{part.name}"]["displacement"].values[-1] for part in parts}
    return max(np.abs(found[name] - exact[name]).max() for name in exact) / size


@pytest.mark.parametrize(("coarse", "fine"), [(3, 1), (4, 4), (6, 1), (1, 5)])
def test_bars_pass_the_patch_test_through_a_junction(coarse, fine):
    """Uniform tension of two bars with cells that are not nested: exact displacements."""
    parts = [
        aq.Bar("coarse", aq.mesh.interval(0.0, 0.6, cells=6), ROD, order=coarse, imposed={"left": {"x": 0.0}}),
        aq.Bar(
            "fine", aq.mesh.interval(0.337, 1.0, cells=11), ROD, order=fine, tractions={"right": lambda x, t: 1e-3 * t}
        ),
    ]
    result = aq.simulate(aq.System(parts, [aq.Junction(*parts)]), aq.Static(), **STATIC)
    assert off_uniform(result, parts, [1e-3]) < 1e-12


def halves(axes, orders, start, **options):
    """Two blocks on [0, 0.6] and [start, 1] under uniaxial tension, held without hindering the contraction."""
    cells = (((5, 2), (7, 3)), ((3, 1, 1), (4, 2, 2)))[axes - 2]
    sides = [(0.0, 0.3)] * (axes - 1)
    grid = aq.mesh.rectangle if axes == 2 else aq.mesh.box
    plane = "stress" if axes == 2 else None
    held = {"bottom": {"y": 0.0}} | ({"back": {"z": 0.0}} if axes == 3 else {})
    pull = {"right": lambda x, t: (1e-3 * t,) + (0.0,) * (axes - 1)}
    return [
        aq.Solid(
            "coarse", grid((0.0, 0.6), *sides, cells=cells[0]), UNIT, plane, order=orders[0],
            imposed=held | {"left": {"x": 0.0}}, **options,
        ),
        aq.Solid(
            "fine", grid((start, 1.0), *sides, cells=cells[1]), UNIT, plane, order=orders[1], imposed=held,
            tractions=pull, **options,
        ),
    ]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("axes", "orders"), [(2, (3, 1)), (2, (4, 4)), (2, (6, 2)), (2, (1, 5)), (3, (3, 1)), (3, (1, 3))]
)
def test_solids_pass_the_patch_test_through_a_junction(axes, orders):
    parts = halves(axes, orders, 0.337)
    result = aq.simulate(aq.System(parts, [aq.Junction(*parts)]), aq.Static(), **STATIC)
    assert off_uniform(result, parts, [1e-3, -3e-4, -3e-4][:axes]) < 1e-12


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("axes", "orders"), [(2, (4, 1)), (2, (1, 5)), (3, (3, 4))])
def test_mortar_ties_pass_the_patch_test(axes, orders):
    parts = halves(axes, orders, 0.6)
    tie = aq.Mortar(parts[0].boundary("right"), parts[1].boundary("left"))
    result = aq.simulate(aq.System(parts, [tie]), aq.Static(), **STATIC)
    assert off_uniform(result, parts, [1e-3, -3e-4, -3e-4][:axes]) < 1e-12


@pytest.mark.parametrize(("order", "near"), [(3, 0.08), (4, 0.03), (6, 0.02)])
def test_junction_hardly_lowers_the_stable_step(order, near):
    """Largest frequency of both weighted parts with diagonal mass, relative to that without weights; all masses > 0."""
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.6, cells=6), ROD, order=order, mass="lumped")
    fine = aq.Bar("fine", aq.mesh.interval(0.35, 1.0, cells=14), ROD, order=order, mass="lumped")
    for name, weighting in aq.Junction(coarse, fine).weighting().items():
        part = {"coarse": coarse, "fine": fine}[name]
        weighted = part.assemble(weighting)
        inside = np.asarray(weighted.stiffness.diagonal()) > 0
        assert weighted.mass.diagonal()[inside].min() > 0
        assert weighted.highest_frequency() < (1 + near) * part.assemble().highest_frequency()


def test_hexahedra_that_are_no_boxes_are_refused_in_junctions():
    coarse, fine = halves(3, (3, 1), 0.3)
    moved = coarse.mesh.p + 0.02 * np.sin(9.0 * coarse.mesh.p[[1, 2, 0]])
    skewed = type(coarse.mesh)(moved, coarse.mesh.t)
    part = aq.Solid("coarse", skewed, UNIT, order=3)
    with pytest.raises(UserError, match="hexahedra of order 3 and more must all be boxes along the axes"):
        _ = aq.Junction(part, fine).overlap


@pytest.mark.slow
def test_glued_bars_ring_at_their_frequency():
    """v = cos(πx) cos(πct) of a free bar of two parts, explicit; the coarse cells have a fifth of the length."""
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.6, cells=6), ROD, order=4, mass="lumped")
    fine = aq.Bar("fine", aq.mesh.interval(0.35, 1.0, cells=100), ROD, mass="lumped")
    wave = dict.fromkeys(("coarse", "fine"), lambda x: np.cos(np.pi * x))
    system = aq.System([coarse, fine], [aq.Junction(coarse, fine)], velocity=wave)
    for scheme, step in ((aq.CentralDifference(), 2e-3), (aq.Multirate(2), 4e-3), (aq.Theta(0.5), 2e-3)):
        result = aq.simulate(system, scheme, duration=2.0, step=step)
        assert np.abs(result["balance"].values).max() < 1e-12
        velocity = result["part/coarse"]["velocity"].values[-1, :, 0]
        assert np.abs(velocity - np.cos(np.pi * coarse.positions[:, 0])).max() < 2e-3


def thrown_bar(order, step, duration):
    """A free bar whose velocity has all frequencies, with central differences at a multiple of the stable step."""
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=5), ROD, order=order, mass="lumped")
    rates = np.random.default_rng(3).normal(size=(bar.node_count, 1))
    limit = 2.0 / bar.assemble().highest_frequency()
    system = aq.System([bar], velocity=lambda x: rates)
    return aq.simulate(system, aq.CentralDifference(), duration=duration * limit, step=step * limit)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("order", [3, 4, 6])
def test_stable_step_is_the_largest(order):
    """Bounded at 0.999 of 2/ω, refused above it (that ω is the largest one is in `tests/models/test_spectral.py`)."""
    speed = np.abs(thrown_bar(order, 0.999, 2000.0)["part/bar"]["velocity"].values)
    assert speed.max() < 40.0 * speed[0].max()
    with pytest.raises(UserError, match="step"):
        thrown_bar(order, 1.001, 20.0)


def test_impact_of_a_bar_with_central_differences():
    """Order 4, diagonal mass: contact lasts 2L/c with the mean pressure ρcv, the bar leaves with −v; energy balance."""
    speed, cells = 0.01, 20
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=cells), ROD, order=4, mass="lumped")
    wall = aq.RigidPlane(point=(0.0,), normal=(1.0,))
    contact = aq.Interface("contact", bar.boundary("left"), wall, aq.Unilateral())
    step = 0.9 * 2.0 / bar.assemble().highest_frequency()
    system = aq.System([bar], interfaces=[contact], velocity=(-speed,))
    result = aq.simulate(system, aq.CentralDifference(), duration=3.0, step=step)
    assert np.abs(result["balance"].values).max() < 1e-12
    time, force = result["time"].values, result["interface/contact"]["force"].values[:, 0]
    assert force[(time > 0.2) & (time < 1.8)].mean() == pytest.approx(speed, rel=0.01)
    assert np.abs(force[time > 2.2]).max() < 1e-12
    momentum = result["part/bar"]["momentum"].values[:, 0]
    assert momentum[-1] == pytest.approx(speed, rel=0.03)


BLOCKS = [(2, 4, None), (2, 6, "P1"), (2, 3, "P0"), (3, 3, None), (3, 3, "P0"), (3, 4, "P1")]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("axes", "order", "multiplier"), BLOCKS)
def test_block_on_a_plane_has_a_uniform_pressure(axes, order, multiplier):
    sides = [(0.0, 1.0)] * axes
    grid = aq.mesh.rectangle(*sides, cells=(3, 2)) if axes == 2 else aq.mesh.box(*sides, cells=(2, 1, 2))
    held = {"left": {"x": 0.0}} | ({"back": {"z": 0.0}} if axes == 3 else {})
    press = {"top": lambda x, t: (0.0, -1e-3 * t, 0.0)[:axes]}
    block = aq.Solid("block", grid, UNIT, "stress" if axes == 2 else None, order=order, imposed=held, tractions=press)
    floor = aq.RigidPlane(point=(0.0,) * axes, normal=(0.0, 1.0, 0.0)[:axes])
    foot = aq.Interface("foot", block.boundary("bottom"), floor, aq.Unilateral("gap"), multiplier=multiplier)
    result = aq.simulate(aq.System([block], interfaces=[foot]), aq.Static(), **STATIC)
    assert np.abs(result["interface/foot"]["pressure"].values[-1] / 1e-3 - 1).max() < 1e-11
    assert off_uniform(result, [block], [3e-4, -1e-3, 3e-4][:axes]) < 1e-12


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("orders", "cells", "multiplier"),
    [((4, 4), (3, 3), "nodes"), ((4, 1), (3, 5), "P1"), ((1, 4), (5, 3), "P0"), ((3, 6), (4, 3), None)],
)
def test_block_on_a_block_has_a_uniform_pressure(orders, cells, multiplier):
    """Patch test of contact: matching nodes, and mortar on other meshes and orders."""
    held, press = {"left": {"x": 0.0}}, {"top": lambda x, t: (0.0, -1e-3 * t)}
    upper, lower = (
        aq.mesh.rectangle((0.0, 1.0), y, cells=(n, 2)) for y, n in zip(((1, 2), (0, 1)), cells, strict=True)
    )
    above = aq.Solid("above", upper, UNIT, "stress", order=orders[0], imposed=held, tractions=press)
    below = aq.Solid("below", lower, UNIT, "stress", order=orders[1], imposed=held | {"bottom": {"y": 0.0}})
    pair = above.boundary("bottom"), below.boundary("top")
    contact = aq.Interface("contact", *pair, aq.Unilateral("gap"), multiplier=multiplier)
    result = aq.simulate(aq.System([above, below], interfaces=[contact]), aq.Static(), **STATIC)
    assert np.abs(result["interface/contact"]["pressure"].values[-1] / 1e-3 - 1).max() < 1e-11
    assert off_uniform(result, [above, below], [3e-4, -1e-3]) < 1e-12


def test_quadratic_multipliers_are_refused_on_other_orders():
    block = aq.Solid("block", aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(1, 1)), UNIT, "strain", order=4)
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    with pytest.raises(UserError, match="space = 'P2': needs quadratic elements"):
        aq.Interface("foot", block.boundary("bottom"), floor, aq.Unilateral(), multiplier="P2").pairing()


def test_memory_of_the_matrices_counts_the_functions(monkeypatch):
    """4 hexahedra of order 4: 300 bytes for each of 125² pairs, 19 MB."""
    block = aq.Solid("block", aq.mesh.box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), cells=(2, 2, 1)), UNIT, order=4)
    monkeypatch.setattr("arlequin.models.limits.memory", lambda: 1.5e7)
    with pytest.raises(UserError, match=r"4 cells together, whose matrices take about 0\.0187 GB"):
        aq.simulate(aq.System([block]), aq.Static(), **STATIC)


def stretched(axes, order):
    sides = [(0.0, 1.0)] * axes
    held = {"left": dict.fromkeys("xyz"[:axes], 0.0)}
    pull = {"right": lambda x, t: (0.1 * t, 0.02 * t, 0.0)[:axes]}
    if axes == 1:
        return aq.Bar("part", aq.mesh.interval(*sides[0], cells=3), ROD, order=order, imposed=held, tractions=pull)
    grid = aq.mesh.rectangle(*sides, cells=(3, 2)) if axes == 2 else aq.mesh.box(*sides, cells=(1, 2, 1))
    return aq.Solid("part", grid, UNIT, "strain" if axes == 2 else None, order=order, imposed=held, tractions=pull)


@pytest.mark.parametrize(
    ("axes", "order", "kind", "cells"), [(1, 5, "line", 3), (2, 4, "quad", 6), (3, 3, "hexahedron", 2)]
)
def test_files_have_linear_cells_between_the_nodes(tmp_path, axes, order, kind, cells):
    """They fill the part, p^axes in each cell, with the displacements of its nodes and the stresses of its cells."""
    part = stretched(axes, order)
    result = aq.simulate(aq.System([part]), aq.Static(), record=aq.Record(stress=True), **STATIC)
    aq.results.export_vtu(result, tmp_path)
    file = meshio.read(tmp_path / "part-part" / "1.vtu")
    (block,) = file.cells
    x = file.points[block.data]
    assert (block.type, len(block.data)) == (kind, cells * order**axes)
    if axes == 1:
        content = np.linalg.norm(x[:, 1] - x[:, 0], axis=1)
    elif axes == 2:
        content = 0.5 * np.abs(np.cross(x[:, 2] - x[:, 0], x[:, 3] - x[:, 1])[:, 2])
    else:
        content = np.linalg.det(x[:, [1, 3, 4]] - x[:, :1])
    assert content.min() > 0
    assert content.sum() == pytest.approx(1.0, rel=1e-12)
    assert np.array_equal(file.points[:, :axes], part.positions)
    found = result["part/part"]
    assert np.array_equal(file.point_data["displacement"][:, :axes], found["displacement"].values[-1])
    stress = found["mises_stress"].values[-1]
    assert np.array_equal(file.cell_data["mises_stress"][0], np.repeat(stress, order**axes))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("axes", "field"), [(2, "displacement"), (2, "mises_stress"), (3, "displacement")])
def test_drawings_show_the_cells(axes, field):
    result = aq.simulate(aq.System([stretched(axes, 4)]), aq.Static(), record=aq.Record(stress=True), **STATIC)
    figure = aq.plots.shape(result, field)
    assert any(collection.get_array() is not None for collection in figure.axes[0].collections)


def test_pressure_waves_are_those_of_long_thin_cells():
    """First frequency of a block of one cell of order 6, ν = 0, free: ω = π c/L to 1e-6, by the schemes' own system."""
    block = aq.Solid(
        "block", aq.mesh.rectangle((0.0, 1.0), (0.0, 0.1), cells=(1, 1)), ROD, "strain", order=6, mass="lumped"
    )
    found = aq.natural_frequencies(aq.System([block]), count=12).frequencies * 2 * math.pi
    assert np.abs(found / math.pi - 1).min() < 1e-6
