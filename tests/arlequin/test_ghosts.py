"""Coarse dofs under the fine part's free zone: left out, as if the coarse mesh were cut there."""

from typing import Any

import numpy as np
import pytest
import xarray

import arlequin as aq
from arlequin.system.assembly import assemble

UNIT = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)
SCHEMES = {
    "theta": aq.Theta(0.5),
    "newmark": aq.Newmark(0.25, 0.5),
    "central": aq.CentralDifference(),
    "several": aq.Multirate(3),
    "several central": aq.Multirate(3, aq.CentralDifference(), aq.CentralDifference()),
}


def pulse(x: Any) -> Any:
    return np.exp(-(((x[:, 0] - 0.7) / 0.2) ** 2))


def bars(end: float, mass: str = "consistent", imposed: Any = None, floor: float = 0.0) -> aq.System:
    """Coarse bar from 0 to `end`, fine one from 1 to 3, glued from 1 to 1.4."""
    coarse_mesh = aq.mesh.interval(0.0, end, cells=round(10 * end))
    coarse = aq.Bar("coarse", coarse_mesh, UNIT, mass=mass, **({"imposed": imposed} if imposed else {}))
    fine = aq.Bar("fine", aq.mesh.interval(1.0, 3.0, cells=74), UNIT, mass=mass, imposed={"right": {"x": 0.0}})
    junction = aq.Junction(coarse, fine, zone=aq.zones.Strip(1.0, 1.4), floor=floor)
    return aq.System([coarse, fine], [junction], displacement=pulse)


def plates(end: float) -> aq.System:
    options: dict[str, Any] = {"plane": "strain"}
    coarse = aq.Solid("coarse", aq.mesh.rectangle((0.0, end), (0.0, 0.4), cells=(round(10 * end), 4)), UNIT, **options)
    fine_mesh = aq.mesh.rectangle((1.0, 2.5), (0.0, 0.4), cells=(55, 14), kind="tri")
    fine = aq.Solid("fine", fine_mesh, UNIT, **options)
    junction = aq.Junction(coarse, fine, zone=aq.zones.Strip(1.0, 1.4))
    return aq.System([coarse, fine], [junction], velocity=lambda x: np.stack((pulse(x), 0.3 * pulse(x)), axis=1))


def agree(whole: xarray.DataTree, cut: xarray.DataTree) -> None:
    """The same motion of the fine part and of the coarse nodes that both have; ghosts rest; energy stays."""
    places = [result["part/coarse/position"].values for result in (whole, cut)]
    near = [int(np.argmin(np.abs(places[0] - x).sum(axis=1))) for x in places[1]]
    for name in ("displacement", "velocity"):
        fine, expected = (result[f"part/fine/{name}"].values for result in (whole, cut))
        size = np.abs(expected).max()
        assert np.abs(fine - expected).max() <= 1e-10 * size
        coarse, expected = (result[f"part/coarse/{name}"].values for result in (whole, cut))
        assert np.abs(coarse[:, near] - expected).max() <= 1e-10 * size
        ghosts = np.setdiff1d(np.arange(coarse.shape[1]), near)
        assert ghosts.size and np.abs(coarse[:, ghosts]).max() == 0.0
    energy = [result.dataset["energy"] for result in (whole, cut)]
    assert np.abs(energy[0] - energy[1]).max() <= 1e-10 * np.abs(energy[1]).max()
    assert np.abs(whole.dataset["balance"]).max() <= 1e-12


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", SCHEMES)
def test_a_bar_moves_as_if_the_coarse_mesh_were_cut(name: str) -> None:
    mass = "lumped" if "central" in name else "consistent"
    step = {"several": 0.03, "several central": 0.03}.get(name, 0.01)
    whole, cut = (
        aq.simulate(bars(end, mass), SCHEMES[name], duration=2.4, step=step, fields_every=20) for end in (2.2, 1.4)
    )
    agree(whole, cut)


def test_a_plate_moves_as_if_the_coarse_mesh_were_cut() -> None:
    whole, cut = (
        aq.simulate(plates(end), aq.Theta(0.5), duration=1.0, step=0.02, fields_every=10) for end in (2.0, 1.4)
    )
    agree(whole, cut)


def test_ghosts_are_the_nodes_without_a_cell_that_weighs() -> None:
    system = bars(2.2)
    assembly = assemble(system)
    x = np.concatenate([part.positions[:, 0] for part in system.parts])
    coarse = np.arange(x.size) < system.parts[0].node_count
    assert np.array_equal(assembly.ghost, coarse & (x > 1.4 + 1e-9))
    assert not (assembly.free & assembly.ghost).any() and not (assembly.massless & assembly.ghost).any()
    assert not assembly.constraints[:, assembly.ghost].toarray().any()


def test_a_fine_bar_inside_a_coarse_one() -> None:
    """The pulse crosses a fine stretch with ghosts below it; the balance holds and the ghosts rest."""
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 4.0, cells=40), UNIT)
    fine = aq.Bar("fine", aq.mesh.interval(1.5, 2.7, cells=60), UNIT)
    system = aq.System(
        [coarse, fine], [aq.Junction(coarse, fine, zone=aq.zones.Box(width=0.4))], displacement=pulse, velocity=pulse
    )
    ghosts = assemble(system).ghost
    assert ghosts.sum() == 3  # 2.0, 2.1 and 2.2 between the bands that end at 1.9 and 2.3
    result = aq.simulate(system, aq.Theta(0.5), duration=3.0, step=0.01)
    assert np.abs(result.dataset["balance"]).max() <= 1e-12
    assert np.abs(result["part/coarse/displacement"].values[:, ghosts[:41]]).max() == 0.0
    assert np.abs(result["part/fine/displacement"].values[-1]).max() > 0.05


def test_a_motion_imposed_on_ghosts_does_no_work() -> None:
    moved = {"right": {"x": lambda t: 0.1 * np.sin(3.0 * t)}}
    results = [
        aq.simulate(bars(2.2, imposed=imposed), aq.Theta(0.5), duration=2.0, step=0.01) for imposed in (moved, None)
    ]
    one, other = (result["part/fine/displacement"].values for result in results)
    assert np.abs(one - other).max() <= 1e-12
    assert np.abs(results[0].dataset["energy"].sel(kind="external_work")).max() <= 1e-14


def test_figures_of_a_run_with_ghosts() -> None:
    from arlequin import plots

    result = aq.simulate(bars(2.2), aq.Theta(0.5), duration=0.2, step=0.02)
    for part in ("coarse", "fine"):
        assert np.isfinite(result[f"part/{part}/displacement"].values).all()
    assert plots.profile(result, "displacement").axes


def test_a_floor_is_warned_of_and_keeps_the_dofs() -> None:
    with pytest.warns(aq.JunctionWarning, match=r"floor 0.001 > 1e-06.*take 0"):
        system = bars(2.2, floor=1e-3)
    assert not assemble(system).ghost.any()
