"""Members without common matrices, or of schemes of one system, against runs of each alone, to the bit."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray

import arlequin as aq

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
SOFT = {"young": 1e7, "poisson": 0.3, "density": 1000.0}
FLOOR = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
STARTS = ((0.02, 0.0), (0.2, -0.05), (-0.4, -0.1))  # m/s


def thrown(system: aq.System) -> list[aq.System]:
    still = (0.0,) * (system.parts[0].positions.shape[1] - 2)
    return [replace(system, velocity=(*start, *still)) for start in STARTS]


def masses(law: Any = None, floor: Any = FLOOR, **touching: Any) -> list[aq.System]:
    """Two on springs, thrown onto a floor."""
    two = aq.PointMasses("masses", [(0.0, 1e-4), (0.1, 2e-4)], [1.0, 2.0])
    base = aq.Spring("base", two.boundary("all"), stiffness=(200.0, 50.0), damping=(1.0, 2.0))
    touch = aq.Interface("floor", two.boundary("all"), floor, law or aq.Unilateral(), **touching)
    return thrown(aq.System([two], interfaces=[touch], springs=[base], gravity=(0.0, -9.81)))


def block(law: Any = None, cells: Any = (3, 2), friction: Any = None, **options: Any) -> list[aq.System]:
    mesh = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.05), cells)
    part = aq.Solid("block", mesh, **{"material": aq.LinearElastic(**SOFT), "plane": "strain"} | options)
    touch = aq.Interface(
        "floor", part.boundary("bottom"), FLOOR, law or aq.Unilateral(), friction=friction or aq.Coulomb(0.3)
    )
    return thrown(aq.System([part], interfaces=[touch], gravity=(0.0, -9.81)))


def brick() -> list[aq.System]:
    """In space, on a ball."""
    part = aq.Solid("brick", aq.mesh.box((0, 0.1), (0, 0.05), (0.0, 0.05), (2, 1, 1)), aq.LinearElastic(**SOFT))
    ball = aq.RigidSphere(centre=(0.05, 0.025, -1.0), radius=1.0)
    touch = aq.Interface("ball", part.boundary("bottom"), ball, aq.Asperities(stiffness=1e8))
    return thrown(aq.System([part], interfaces=[touch], gravity=(0.0, 0.0, -9.81)))


def bars(mass: str = "lumped") -> list[aq.System]:
    """Glued, each thrown at a wall with its own velocity; the last one away from it."""
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.6, cells=6), STEEL, mass=mass)
    fine = aq.Bar("fine", aq.mesh.interval(0.4, 1.0, cells=12), STEEL, mass=mass)
    wall = aq.RigidPlane(point=1.00001, normal=-1.0)
    touch = aq.Interface("wall", fine.boundary("right"), wall, aq.ImpactElement(1e10))
    system = aq.System([coarse, fine], [aq.Junction(coarse, fine)], [touch])
    return [replace(system, velocity=speed) for speed in (1.0, 3.0, -2.0)]


def tumbling() -> list[aq.System]:
    body = aq.RigidBody("body", np.array([(0.0, 0.0), (0.1, 0.0), (0.1, 0.05), (0.0, 0.05)]), density=100.0)
    touch = aq.Interface("floor", body.boundary("outline"), FLOOR, aq.Asperities(stiffness=1e5, damping=10.0))
    return thrown(aq.System([body], interfaces=[touch], gravity=(0.0, -9.81)))


def pressed() -> list[aq.System]:
    """Blocks that yield under loads of their own, in statics."""

    def one(size: float) -> aq.System:
        metal = aq.J2(2e4, 0.3, 1000.0, yield_stress=100.0, hardening=aq.LinearHardening(2e3))
        mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), (2, 2))
        held = {"bottom": {"x": 0.0, "y": 0.0}}
        pull = {"top": lambda at, t: np.broadcast_to([[0.0], [size * t]], np.shape(at))}
        return aq.System([aq.Solid("block", mesh, metal, plane="strain", imposed=held, tractions=pull)])

    return [one(size) for size in (50.0, 150.0, -200.0)]


YIELDING = aq.J2(1e7, 0.3, 1000.0, yield_stress=1e3, hardening=aq.LinearHardening(1e6))
RUNS: dict[str, tuple[Callable[[], list[aq.System]], Any, float, int]] = {
    "wear": (lambda: masses(friction=aq.Coulomb(0.3), wear=aq.Archard(1e-6)), aq.Theta(0.5), 1e-3, 60),
    "restitution": (lambda: masses(aq.Unilateral(restitution=0.5)), aq.Newmark(), 1e-3, 60),
    "moving partners": (
        lambda: masses(aq.Asperities(stiffness=1e5), aq.RigidSphere(centre=(0.05, -2.0), radius=2.0)),
        aq.HHT(-0.1), 1e-3, 60,
    ),
    "ball": (brick, aq.Midpoint(), 2e-4, 30),
    "located events": (lambda: masses(friction=aq.Coulomb(0.3)), aq.Theta(0.5, events="locate"), 1e-3, 60),
    "finite strain": (lambda: block(kinematics="finite"), aq.Theta(0.6), 2e-4, 25),
    "plasticity": (lambda: block(material=YIELDING), aq.GeneralisedAlpha.with_radius(0.8), 2e-4, 25),
    "friction of the slip rate": (
        lambda: block(friction=aq.Stribeck(static=0.4, dynamic=0.2, velocity=0.1)), aq.Newmark(), 2e-4, 25,
    ),
    "iterative": (block, aq.Theta(0.5, solver="iterative"), 2e-4, 25),
    "central differences": (bars, aq.CentralDifference(), 5e-6, 60),
    "explicit": (bars, aq.SymplecticEuler(), 2e-6, 60),
    "adaptive": (bars, aq.RungeKutta(), 2e-6, 30),
    "two steps": (bars, aq.Multirate(2), 2e-6, 30),
    "rotation": (tumbling, aq.Theta(0.5), 1e-3, 60),
    "statics": (pressed, aq.Static(), 0.1, 10),
}  # fmt: skip


def run(name: str, **options: Any) -> tuple[xarray.DataTree, list[xarray.DataTree]]:
    """Of all members, and of each alone."""
    make, scheme, step, steps = RUNS[name]
    systems, given = make(), {"duration": steps * step, "step": step, "fields_every": 7, **options}
    return aq.simulate_ensemble(systems, scheme, **given), [aq.simulate(own, scheme, **given) for own in systems]


@pytest.mark.sampled(1)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RUNS)
def test_members_have_the_bits_of_runs_alone(name: str) -> None:
    together, each = run(name)
    names = {node.path: set(node.dataset.data_vars) for node in together.subtree}
    for i, alone in enumerate(each):
        assert {node.path: set(node.dataset.data_vars) for node in alone.subtree} == names
        for node in alone.subtree:
            for key, values in node.dataset.data_vars.items():
                twin = together[node.path].dataset[key]
                own = twin.isel(member=i) if "member" in twin.dims else twin
                assert own.dims == values.dims and own.attrs == values.attrs
                assert own.values.tobytes() == values.values.tobytes(), (i, node.path, key)
    energies = together["energy"].values[:, -1]
    assert np.ptp(energies, axis=0).max() > 1e-3 * np.abs(energies).max()  # members differ


@pytest.mark.sampled(1)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["wear", "plasticity", "central differences", "located events", "adaptive"])
def test_they_are_recorded_and_go_on_as_runs_do(name: str, goes_on: Any) -> None:
    make, scheme, step, _ = RUNS[name]
    systems = make()

    def simulate(record: Any, progress: Any) -> xarray.DataTree:
        return aq.simulate_ensemble(
            systems, scheme, duration=30 * step, step=step, record=record, progress=progress
        )  # fmt: skip

    assert dict(goes_on(simulate, [15]).sizes)["member"] == 3


def test_start_from_results_of_their_own() -> None:
    """What surfaces wore off is each member's."""
    law = {"friction": aq.Coulomb(0.3), "wear": aq.Archard(1e-6)}
    systems, given = masses(**law), {"duration": 0.03, "step": 1e-3}
    first = [aq.simulate(own, aq.Theta(0.5), **given) for own in systems]
    on = [replace(own, velocity=0.0, from_result=result) for own, result in zip(systems, first, strict=True)]
    together = aq.simulate_ensemble(on, aq.Theta(0.5), **given)
    for i, own in enumerate(on):
        alone = aq.simulate(own, aq.Theta(0.5), **given)
        for name in ("worn_depth", "slip", "force"):
            found, wanted = together[f"interface/floor/{name}"].values[i], alone[f"interface/floor/{name}"].values
            assert found.tobytes() == wanted.tobytes()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_steps_before_one_that_fails_are_kept(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all members as many, and the line names the member."""
    monkeypatch.setattr("arlequin.models.checks.LARGEST", np.inf)
    first, second, _ = masses(aq.Unilateral(restitution=0.5))
    late, path = replace(second, gravity=lambda t: (0.0, 1e308 if t > 0.0205 else -9.81)), tmp_path / "run.zarr"
    with pytest.raises(aq.UserError, match=r"^member 1: .* t = 0\.02[123] s"):
        aq.simulate_ensemble([first, late], aq.Theta(0.5), duration=0.1, step=1e-3, record=path)
    kept = aq.results.open(path)
    assert 20 <= kept.sizes["time"] <= 22 and kept.attrs["complete"] == 0


def test_what_is_not_of_one_system_is_refused() -> None:
    def line(*systems: aq.System, scheme: Any = None) -> str:
        with pytest.raises(aq.UserError) as error:
            aq.simulate_ensemble(systems, scheme or aq.Theta(0.5), duration=1e-3, step=1e-4)
        return str(error.value)

    bounces, finite = masses(aq.Unilateral(restitution=0.5))[0], block(kinematics="finite")[0]
    assert line(bounces, finite).startswith("member 1: its list of parts is not that of member 0")
    assert line(bounces, masses()[0]).startswith("member 1: its contact is not")
    assert line(finite, block(kinematics="finite", cells=(2, 2))[0]).startswith("member 1: its mesh is not")
    assert line(block()[0], scheme=aq.CentralDifference()).startswith("member 0: central difference needs")
