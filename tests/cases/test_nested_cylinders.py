"""The case nested_cylinders at small size: its meshes, energies and checks."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.cases import nested_cylinders
from arlequin.cases.nested_cylinders.meshes import regions
from arlequin.cases.shared.waves import total_energy

SMALL = nested_cylinders.Parameters(
    law="linear", velocity=5.0, size=0.02, step=2e-6, duration=1e-4, cut=1.2e4, fields_every=50
)
LARGE = replace(SMALL, law="neo-hooke", velocity=35.0)


@cache
def run(parameters: nested_cylinders.Parameters) -> Any:
    return nested_cylinders.build(parameters).run()


@pytest.mark.parametrize("size", [0.02, 0.011])
def test_the_regions_have_the_volumes_of_cylinders(size: float) -> None:
    """Closed forms, for any size; the cells of a region are within its circles."""
    layout = SMALL.layout
    meshed = regions(layout, size, 0.5 * size)
    volume = aq.Solid("all", meshed.mesh, aq.LinearElastic(1.0, 0.0, 1.0)).cells.dx.sum(axis=1)
    core, inner, outer, filler, shell = np.pi * np.square(layout.radii)
    z = layout.planes
    exact = {
        "shell": shell * z[8] - filler * (z[8] - z[1]),
        "core": core * (z[5] - z[4]),
        "free": inner * (z[6] - z[3]),
        "patch": outer * (z[7] - z[2]),
    }
    for name, value in exact.items():
        assert volume[getattr(meshed, name)].sum() == pytest.approx(value, rel=1e-12), name


@pytest.mark.parametrize("model", ["arlequin", "fine"])
def test_all_nodes_of_common_surfaces_are_tied(model: Any) -> None:
    system = nested_cylinders.build(replace(SMALL, model=model)).system
    for tie in system.junctions[:2]:
        assert isinstance(tie, aq.Tie)
        assert len(tie.operator().positions) == tie.fine_surface.nodes.size
        first, second = (surface.areas.sum() for surface in (tie.coarse_surface, tie.fine_surface))
        assert first == pytest.approx(second, rel=1e-12)


def test_weights_keep_the_mass() -> None:
    """The masses of both models are those of the cylinders, but for the chords of the zone's outer border."""
    glued, fine = run(SMALL), run(replace(SMALL, model="fine"))
    total = [sum(float(part.dataset["mass"]) for part in tree["part"].children.values()) for tree in (glued, fine)]
    assert total[0] == pytest.approx(total[1], rel=2e-4)
    for name in ("shell", "core"):
        masses = [float(tree[f"part/{name}"].dataset["mass"]) for tree in (glued, fine)]
        assert masses[0] == pytest.approx(masses[1], rel=1e-12)


def test_free_vibration_keeps_its_energy() -> None:
    """Ties, closed zone and mean dilatation without contact: kinetic and strain energy to round-off."""
    system = nested_cylinders.build(SMALL).system
    size = SMALL.radius
    shape = lambda x: 1e-3 * np.stack([x[:, 2] * x[:, 0], x[:, 1] ** 2, x[:, 2] ** 2], axis=1) / size  # noqa: E731
    free = aq.System(system.parts, system.junctions, displacement=shape)
    result = aq.simulate(free, aq.CentralDifference(), duration=1.2e-4, step=SMALL.step)
    energy = total_energy(result).values
    assert float(np.abs(energy / energy[0] - 1.0).max()) < 1e-12
    assert float(result.dataset["energy"].sel(kind="kinetic").max()) > 0.1 * energy[0]


@pytest.mark.slow
def test_an_impact_and_the_flight_after_it() -> None:
    """All checks but those of the accuracy, for which the cells are too large; and the check sees a change of 1e-9."""
    parameters = replace(SMALL, step=2.4e-6, duration=1.4e-3)
    result = run(parameters)
    failed = [item.name for item in nested_cylinders.check(result, parameters) if not item.passed]
    assert all("L2 error" in name for name in failed)
    without = np.flatnonzero(nested_cylinders.contact_force(result) == 0.0)
    assert without.size > 20  # flights
    spoiled = result.copy(deep=True)
    energy = spoiled.dataset["energy"]
    energy[int(without[-1]) + 1, 0] += 1e-9 * float(energy[0].sum())
    assert nested_cylinders.flight_change(spoiled) > nested_cylinders.FLIGHT_LIMIT


@pytest.mark.parametrize("model", ["arlequin", "fine"])
def test_large_strains(model: Any) -> None:
    """The balance is closed, and energy only lost."""
    parameters = replace(LARGE, model=model)
    result = run(parameters)
    energy = [item for item in nested_cylinders.check(result, parameters) if "all fine" not in item.name]
    assert len(energy) >= 2 and all(item.passed for item in energy)
    assert nested_cylinders.scheme_change(result) < 5e-4


def test_momentum_of_the_impact() -> None:
    """Impulse of the contact and change of the momentum of all parts."""
    result = run(SMALL)
    found = nested_cylinders.scalars(result, SMALL)
    start = sum(float(part.dataset["momentum"].sel(component="z")[0]) for part in result["part"].children.values())
    assert found["final_momentum"].value - start == pytest.approx(found["contact_impulse"].value, rel=1e-12)


def test_errors_see_a_change_of_one_per_cent() -> None:
    result = run(SMALL)
    assert max(nested_cylinders.errors(result, result, SMALL.cut).values()) == 0.0
    other = result.copy(deep=True)
    other["interface/contact"].dataset["force"].values[:] *= 1.01
    other["part/core"].dataset["momentum"].values[:] *= 1.01
    for error in nested_cylinders.errors(other, result, SMALL.cut).values():
        assert error == pytest.approx(0.01, rel=1e-6)


def test_figures() -> None:
    assert set(nested_cylinders.figures(run(SMALL), SMALL)) == {"energies", "section", "motion"}


@pytest.mark.parametrize(("options", "line"), [({"ratio": 0.3}, "ratio = 0.3"), ({"cut": 3e5}, "cut = 300000")])
def test_misuses(options: dict[str, float], line: str) -> None:
    with pytest.raises(aq.UserError, match=line):
        replace(SMALL, **options)  # type: ignore[arg-type]
