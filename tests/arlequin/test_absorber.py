"""Absorbing junctions: what they take away, what they leave, and that the audit shows it."""

from typing import Any

import numpy as np
import pytest
import xarray
from scipy.sparse.linalg import eigsh

import arlequin as aq
from arlequin.schemes.stable_step import stable_step
from arlequin.system.assembly import assemble

UNIT = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)
SCHEMES = {
    "theta": aq.Theta(0.5),
    "newmark": aq.Newmark(0.25, 0.5),
    "hht": aq.HHT(-0.1),
    "central": aq.CentralDifference(),
}


def bars(width: float = 4.0, mass: str = "consistent", absorbing: bool = True, **fields: Any) -> aq.System:
    """Fine cells of 0.1 in [0, 20], coarse ones of 1 beyond, glued over the width."""
    fine = aq.Bar("fine", aq.mesh.interval(0.0, 20.0, cells=200), UNIT, mass=mass)
    inner = 20.0 - width
    coarse = aq.Bar("coarse", aq.mesh.interval(inner, inner + 20.0, cells=20), UNIT, mass=mass)
    junction = aq.Junction(coarse, fine, absorbing=aq.Absorber() if absorbing else None)
    return aq.System([coarse, fine], [junction], **fields)


def noise(x: Any) -> Any:
    return np.sin(2.0 * np.pi / 1.3 * x[:, 0]) * np.exp(-(((x[:, 0] - 12.0) / 3.0) ** 2))


def column(result: xarray.DataTree, kind: str) -> Any:
    return result.dataset["energy"].sel(kind=kind).values


def in_turn(things: Any, others: Any) -> list[Any]:
    """Pairs: of each of `things` one, in turn with another of `others`, is quick."""
    return [
        pytest.param(one, other, marks=() if i % len(others) == j else pytest.mark.slow)
        for i, one in enumerate(things)
        for j, other in enumerate(others)
    ]


@pytest.mark.parametrize(("name", "width"), in_turn(SCHEMES, (4.0, 8.0)))
def test_the_loss_never_decreases_and_is_audited(name: str, width: float) -> None:
    mass = "lumped" if name == "central" else "consistent"
    system = bars(width, mass, velocity=noise)
    step = 0.99 * stable_step(assemble(system)) if name == "central" else 0.05
    result = aq.simulate(system, SCHEMES[name], duration=12.0, step=step, fields_every=10**6)
    lost, start = column(result, "absorbed"), column(result, "kinetic")[0]
    assert np.diff(lost).min() >= 0.0
    assert 0.2 * start < lost[-1] < start
    assert np.abs(result.dataset["balance"]).max() <= 1e-12
    assert np.abs(column(result, "junction")).max() <= 1e-12 * start


def glued(fine: Any, coarse: Any, **fields: Any) -> Any:
    """The absorbing matrix of two parts, and their nodes."""
    system = aq.System([coarse, fine], [aq.Junction(coarse, fine, **{"absorbing": aq.Absorber(), **fields})])
    return assemble(system).absorber, np.concatenate([part.positions for part in system.parts])


def plates(kind: str = "quad", **fields: Any) -> Any:
    fine = aq.Solid("fine", aq.mesh.rectangle((0, 2), (0, 1), cells=(17, 9), kind="tri"), UNIT, plane="strain")
    coarse_mesh = aq.mesh.rectangle((1, 3), (0, 1), cells=(6, 3), kind=kind)
    return glued(fine, aq.Solid("coarse", coarse_mesh, UNIT, plane="strain"), **fields)


def revolved() -> Any:
    """A hollow cylinder around the axis, fine above."""
    fine = aq.mesh.rectangle((0.5, 1.5), (1.0, 3.0), cells=(9, 17))
    coarse = aq.mesh.rectangle((0.5, 1.5), (0.0, 2.0), cells=(3, 6))
    return glued(
        *(aq.Solid(name, mesh, UNIT, plane="axisymmetric") for name, mesh in (("fine", fine), ("big", coarse)))
    )


def blocks(kind: str) -> Any:
    fine = aq.mesh.box((0.0, 2.0), (0.0, 1.0), (0.0, 1.0), cells=(9, 5, 5), kind=kind)
    coarse = aq.mesh.box((1.0, 3.0), (0.0, 1.0), (0.0, 1.0), cells=(4, 2, 2), kind=kind)
    return glued(*(aq.Solid(name, mesh, UNIT) for name, mesh in (("fine", fine), ("coarse", coarse))))


def patch() -> Any:
    """A fine patch within a coarse plate, glued along all its four sides."""
    fine = aq.Solid("fine", aq.mesh.rectangle((2, 6), (2, 6), cells=(13, 13)), UNIT, plane="strain")
    coarse = aq.Solid("coarse", aq.mesh.rectangle((0, 8), (0, 8), cells=(8, 8)), UNIT, plane="strain")
    return glued(fine, coarse, zone=aq.zones.Box(width=1.0))


def by_cells() -> Any:
    """As `plates`, but the zone is made of the first three columns of coarse cells."""
    fine = aq.Solid("fine", aq.mesh.rectangle((0, 2), (0, 1), cells=(17, 9)), UNIT, plane="strain")
    mesh = aq.mesh.rectangle((1, 3), (0, 1), cells=(6, 3))
    columns = np.flatnonzero(mesh.p[0, mesh.t].max(axis=0) < 2.0 + 1e-9)
    coarse = aq.Solid("coarse", mesh, UNIT, plane="strain")
    return glued(fine, coarse, zone=aq.zones.Cells(glue=columns.tolist(), inner="left"))


SHAPES = {
    "bars": lambda: (assemble(bars()).absorber, np.concatenate([part.positions for part in bars().parts])),
    "plates": plates,
    "triangles": lambda: plates("tri"),
    "around an axis": revolved,
    "hexahedra": lambda: blocks("hex"),
    "tetrahedra": lambda: blocks("tet"),
    "grid": lambda: plates(mediator="grid"),
    "box": patch,
    "cells": by_cells,
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("shape", SHAPES)
def test_motion_that_both_parts_carry_is_not_lost(shape: str) -> None:
    """Rigid motion and uniform strain rates; all other motion loses energy, or none."""
    matrix, x = SHAPES[shape]()
    axes = x.shape[1]
    assert abs(matrix - matrix.T).max() <= 1e-14 * abs(matrix).max()
    largest = eigsh(matrix, k=1, which="LA", return_eigenvectors=False, v0=np.ones(matrix.shape[0]))[0]
    for gradient in (np.zeros((axes, axes)), np.random.default_rng(2).uniform(-1.0, 1.0, (axes, axes))):
        v = (x @ gradient + 1.0).ravel()
        assert abs(v @ (matrix @ v)) <= 1e-12 * largest * (v @ v)
    alive = np.flatnonzero(matrix.diagonal() > 0.0)
    lowest = np.linalg.eigvalsh(matrix[alive][:, alive].toarray())[0]
    assert lowest >= -1e-12 * largest
    v = np.sin(9.0 * x).ravel()
    assert v @ (matrix @ v) > 1e-4 * largest * (v @ v)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("absorbing", [True, False, None, aq.Absorber()], ids=str)
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Newmark(0.25, 0.5), aq.CentralDifference()], ids=repr)
def test_who_absorbs(scheme: Any, absorbing: Any) -> None:
    """True is `Absorber()`; a junction that is not told to absorb conserves the energy of what it reflects."""
    mesh, options = aq.mesh.rectangle, {"plane": "strain", "mass": "lumped"}
    fine = aq.Solid("fine", mesh((0, 1), (0, 1), cells=(8, 8)), UNIT, **options)
    coarse = aq.Solid("coarse", mesh((0.5, 1.5), (0, 1), cells=(4, 4)), UNIT, **options)
    glue = aq.Junction(coarse, fine, absorbing=absorbing)
    rough = np.cos(9.0 * np.pi * fine.positions)
    system = aq.System([coarse, fine], [glue], velocity={"coarse": (0.0, 0.0), "fine": rough})
    result = aq.simulate(system, scheme, duration=1.0, step=0.01, progress=False)
    energy = result["energy"]
    stored = energy.sel(kind=["kinetic", "strain"]).sum("kind").values
    if absorbing:
        assert result.attrs["absorbing"] == "junction"
        assert energy.sel(kind="absorbed").values[-1] > 0.01 * stored[0]
        assert abs(stored[0] - stored[-1] - energy.sel(kind="absorbed").values[-1]) <= 0.02 * stored[0]
    else:
        assert "absorbed" not in energy["kind"] and "absorbing" not in result.attrs
        assert abs(result["balance"]).max() <= 1e-12


def test_the_default_conserves() -> None:
    junction = aq.Junction(*bars(absorbing=False).parts)
    assert junction.absorbing is None and junction.absorbing_form() is None
    with pytest.raises(aq.UserError, match="absorbing = 'auto': must be True, an Absorber, or None"):
        aq.Junction(*bars(absorbing=False).parts, absorbing="auto")  # type: ignore[arg-type]


def test_a_vibrating_cantilever_keeps_its_energy() -> None:
    """Coarse with a fine end, bent and let go: over 1 ms its energy is that of the start."""
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
    mesh = aq.mesh.rectangle
    coarse = aq.Solid(
        "coarse",
        mesh((0.0, 0.06), (0.0, 0.01), cells=(12, 2)),
        steel,
        plane="stress",
        imposed={"left": {"x": 0.0, "y": 0.0}},
    )
    fine = aq.Solid("fine", mesh((0.04, 0.1), (0.0, 0.01), cells=(48, 8)), steel, plane="stress")
    system = aq.System(
        [coarse, fine], [aq.Junction(coarse, fine)], velocity=lambda x: np.outer(x[:, 0] ** 2, (0.0, 1e2))
    )
    energy = aq.simulate(system, aq.Theta(0.5), duration=1e-3, step=1e-6, progress=False)["energy"]
    stored = energy.sel(kind=["kinetic", "strain"]).sum("kind").values
    assert np.abs(stored - stored[0]).max() <= 1e-11 * stored[0]


def crossing(wave: float, spread: float, mass: str, mediator: Any) -> tuple[float, float]:
    """Shares reflected into the fine bar, and lost, of a packet with k = 2π/wave and standard deviation `spread`.

    The zone has six coarse cells of 1.
    """
    h, k, inner, width = 0.1, 2.0 * np.pi / wave, round(11.0 * spread), 6.0
    step = 0.35 * h

    def frequency(k: float) -> float:
        exact = np.sqrt(6.0 * (1.0 - np.cos(k * h)) / (2.0 + np.cos(k * h))) / h
        return float(2.0 / step * np.arctan(0.5 * step * exact))

    speed = (frequency(1.001 * k) - frequency(0.999 * k)) / (0.002 * k)
    fine = aq.Bar("fine", aq.mesh.interval(0.0, inner + width, cells=round((inner + width) / h)), UNIT)
    long = round(10.0 * spread + width)
    coarse = aq.Bar("coarse", aq.mesh.interval(inner, inner + long, cells=long), UNIT, mass=mass)
    start = inner - 5.0 * spread

    def wavy(x: Any) -> Any:
        s = x[:, 0] - start
        return np.exp(-0.5 * (s / spread) ** 2) * np.sin(k * s)

    def rate(x: Any) -> Any:
        s = x[:, 0] - start
        slope = k * np.cos(k * s) - s / spread**2 * np.sin(k * s)
        return -frequency(k) / k * np.exp(-0.5 * (s / spread) ** 2) * slope

    junction = aq.Junction(coarse, fine, mediator=mediator, absorbing=aq.Absorber())
    system = aq.System([coarse, fine], [junction], displacement=wavy, velocity=rate)
    duration = (9.0 * spread + width) / speed
    result = aq.simulate(system, aq.Theta(0.5), duration=duration, step=step, fields_every=10**6)
    group = result["part/fine"].dataset
    x = group["position"].values[:, 0]
    u, v = (group[name].values[-1, :, 0] for name in ("displacement", "velocity"))
    d = np.diff(x)
    cells = 0.5 * np.diff(u) ** 2 / d + d / 6.0 * (v[1:] ** 2 + v[1:] * v[:-1] + v[:-1] ** 2)
    energy = column(result, "kinetic")[0] + column(result, "strain")[0]
    return float(cells[x[1:] <= inner + 1e-9].sum() / energy), float(column(result, "absorbed")[-1] / energy)


CHOICES = [("consistent", "coarse", 3e-3), ("dispersion", "grid", 1.5e-3)]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("mass", "mediator", "limit"), CHOICES)
@pytest.mark.parametrize("wave", [0.7, 1.0, 1.4, 1.7])
def test_waves_that_the_coarse_mesh_cannot_carry_do_not_come_back(
    wave: float, mass: str, mediator: Any, limit: float
) -> None:
    back, lost = crossing(wave, 12.0, mass, mediator)
    assert back <= limit
    assert lost == pytest.approx(1.0 - back, abs=1e-3)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("mass", "mediator", "limit"), [("consistent", "coarse", 1e-5), ("dispersion", "grid", 2e-5)])
def test_resolved_waves_pass(mass: str, mediator: Any, limit: float) -> None:
    back, lost = crossing(10.0, 20.0, mass, mediator)
    assert back <= limit
    assert 0.0 < lost <= 1e-4


@pytest.mark.parametrize("strength", [0.0, -1.0, float("nan")])
def test_a_strength_is_positive(strength: float) -> None:
    with pytest.raises(aq.UserError, match="strength"):
        aq.Absorber(strength)


def test_absorption_does_not_depend_on_round_off():
    """The density of the loss is no polynomial: the triangles on which it is integrated must not turn with the last
    digits of coordinates, where edges of both meshes coincide. Impedances are per length: D grows as the size."""

    def damping(size):
        steel, mesh = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0), aq.mesh.rectangle
        coarse = aq.Solid("coarse", mesh((0, 0.6 * size), (0, 0.3 * size), cells=(3, 2)), steel, plane="strain")
        fine = aq.Solid("fine", mesh((0.4 * size, size), (0, 0.3 * size), cells=(6, 4)), steel, plane="strain")
        return assemble(aq.System([coarse, fine], junctions=[aq.Junction(coarse, fine, absorbing=True)])).viscous / size

    one = damping(0.02)
    for change in (1e-10, 1e-9, 1e-7, 0.7, 999.0):
        np.testing.assert_allclose(damping(0.02 * (1.0 + change)).toarray(), one.toarray(), atol=1e-12 * abs(one).max())
