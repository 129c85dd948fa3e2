"""How often statics orders and factors its matrices: once, for parts that junctions or contact alone hold too."""

from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.linalg import bordered

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)
ONCE = ["fill_reducing_order", "CholeskyFactor"]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Orders and factors of the stiffness with its border, as they are made."""
    made: list[str] = []

    def count(name: str) -> None:
        whole = getattr(bordered, name)

        def counted(*given: Any) -> Any:
            made.append(name)
            return whole(*given)

        monkeypatch.setattr(bordered, name, counted)

    count("fill_reducing_order")
    count("CholeskyFactor")
    return made


def block(name: str, x: tuple[float, float], cells: int, **options: Any) -> Any:
    mesh = aq.mesh.rectangle(x, (0.0, 1.0), cells=(round((x[1] - x[0]) * cells), cells))
    return aq.Solid(name, mesh, STEEL, plane="strain", **options)


def run(parts: list[Any], junctions: list[Any], floor: bool, **options: Any) -> Any:
    contact = []
    if floor:
        plane = aq.RigidPlane((0.0, 0.0), (0.0, 1.0))
        laws = {"normal": aq.Unilateral(level="gap"), "friction": aq.Coulomb(0.3)}
        contact = [aq.Interface(f"floor {p.name}", p.boundary("bottom"), plane, **laws) for p in parts]
    system = aq.System(parts, junctions, contact, gravity=lambda t: (0.0, -9.81 * t), **options)
    return aq.simulate(system, aq.Static(), duration=1.0, step=0.5, progress=False)


def glued(**held: Any) -> tuple[list[Any], list[Any]]:
    coarse, fine = block("coarse", (0.0, 3.0), 4, **held), block("fine", (2.0, 4.0), 12)
    return [coarse, fine], [aq.Junction(coarse, fine)]


def test_glued_parts(calls: list[str]) -> None:
    """The left end is clamped: the reaction is the weight."""
    parts, junctions = glued(imposed={"left": {"x": 0.0, "y": 0.0}})
    result = run(parts, junctions, floor=False)
    assert calls == ONCE
    weight = 4.0 * 7800 * 9.81
    assert result["part/coarse/reaction"].values[-1].sum(axis=0)[1] == pytest.approx(weight, rel=1e-9)


def test_a_part_on_the_floor(calls: list[str]) -> None:
    result = run([block("block", (0.0, 2.0), 6)], [], floor=True)
    assert calls == ONCE
    assert result["interface/floor block/force"].values[-1] == pytest.approx([0.0, 2.0 * 7800 * 9.81], abs=1e-6)


def test_glued_parts_on_the_floor(calls: list[str]) -> None:
    result = run(*glued(), floor=True)
    assert calls == ONCE
    force = sum(result[f"interface/floor {name}/force"].values[-1] for name in ("coarse", "fine"))
    assert np.asarray(force) == pytest.approx([0.0, 4.0 * 7800 * 9.81], abs=1e-5)
