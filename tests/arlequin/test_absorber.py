"""Absorbing junctions: what they take away, what they leave, and that the audit shows it."""

from typing import Any

import numpy as np
import pytest
import xarray

import arlequin as aq
from arlequin.schemes.central import stable_step
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


@pytest.mark.parametrize("field", [lambda x: 1.0 + 0.0 * x, lambda x: 0.7 - 0.3 * x])
def test_what_both_meshes_carry_is_not_lost(field: Any) -> None:
    assembly = assemble(bars())
    v = np.concatenate([field(part.positions[:, 0]) for part in assembly.system.parts])
    assert abs(v @ (assembly.absorber @ v)) <= 1e-12 * (v * v) @ assembly.absorber.diagonal()


def test_motion_that_both_plates_carry_is_not_lost() -> None:
    fine = aq.Solid("fine", aq.mesh.rectangle((0, 2), (0, 1), cells=(17, 9), kind="tri"), UNIT, plane="strain")
    coarse = aq.Solid("coarse", aq.mesh.rectangle((1, 3), (0, 1), cells=(6, 3)), UNIT, plane="strain")
    assembly = assemble(aq.System([coarse, fine], [aq.Junction(coarse, fine, absorbing=aq.Absorber())]))
    x = np.concatenate([part.positions for part in assembly.system.parts])
    size = assembly.absorber.diagonal()
    for motion in (x @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + 1.0, x @ np.array([[0.3, -0.2], [0.5, 1.0]])):
        v = motion.ravel()
        assert abs(v @ (assembly.absorber @ v)) <= 1e-12 * (v * v) @ size
    v = np.sin(9.0 * x).ravel()
    assert v @ (assembly.absorber @ v) > 1e-3 * (v * v) @ size


def crossing(wave: float, width: float, spread: float) -> tuple[float, float]:
    """Shares reflected into the fine bar, and lost, of a packet with k = 2π/wave and standard deviation `spread`."""
    h, k, inner = 0.1, 2.0 * np.pi / wave, round(11.0 * spread)
    step = 0.35 * h

    def frequency(k: float) -> float:
        exact = np.sqrt(6.0 * (1.0 - np.cos(k * h)) / (2.0 + np.cos(k * h))) / h
        return float(2.0 / step * np.arctan(0.5 * step * exact))

    speed = (frequency(1.001 * k) - frequency(0.999 * k)) / (0.002 * k)
    fine = aq.Bar("fine", aq.mesh.interval(0.0, inner + width, cells=round((inner + width) / h)), UNIT)
    long = round(10.0 * spread + width)
    coarse = aq.Bar("coarse", aq.mesh.interval(inner, inner + long, cells=long), UNIT)
    start = inner - 5.0 * spread

    def wavy(x: Any) -> Any:
        s = x[:, 0] - start
        return np.exp(-0.5 * (s / spread) ** 2) * np.sin(k * s)

    def rate(x: Any) -> Any:
        s = x[:, 0] - start
        slope = k * np.cos(k * s) - s / spread**2 * np.sin(k * s)
        return -frequency(k) / k * np.exp(-0.5 * (s / spread) ** 2) * slope

    system = aq.System(
        [coarse, fine], [aq.Junction(coarse, fine, absorbing=aq.Absorber())], displacement=wavy, velocity=rate
    )
    duration = (9.0 * spread + width) / speed
    result = aq.simulate(system, aq.Theta(0.5), duration=duration, step=step, fields_every=10**6)
    group = result["part/fine"].dataset
    x = group["position"].values[:, 0]
    u, v = (group[name].values[-1, :, 0] for name in ("displacement", "velocity"))
    d = np.diff(x)
    cells = 0.5 * np.diff(u) ** 2 / d + d / 6.0 * (v[1:] ** 2 + v[1:] * v[:-1] + v[:-1] ** 2)
    energy = column(result, "kinetic")[0] + column(result, "strain")[0]
    return float(cells[x[1:] <= inner + 1e-9].sum() / energy), float(column(result, "absorbed")[-1] / energy)


@pytest.mark.parametrize(("wave", "zone"), in_turn((0.7, 1.0, 1.4, 1.7), ((4.0, 2e-2), (8.0, 1e-3))))
def test_waves_that_the_coarse_mesh_cannot_carry_do_not_come_back(wave: float, zone: tuple[float, float]) -> None:
    width, limit = zone
    back, lost = crossing(wave, width, 12.0)
    assert back <= limit
    assert lost == pytest.approx(1.0 - back, abs=1e-3)


@pytest.mark.parametrize("width", [4.0, pytest.param(8.0, marks=pytest.mark.slow)])
def test_resolved_waves_pass(width: float) -> None:
    back, lost = crossing(10.0, width, 20.0)
    assert back <= 1e-5
    assert 0.0 < lost <= 5e-4


@pytest.mark.parametrize("strength", [0.0, -1.0, float("nan")])
def test_a_strength_is_positive(strength: float) -> None:
    with pytest.raises(aq.UserError, match="strength"):
        aq.Absorber(strength)
