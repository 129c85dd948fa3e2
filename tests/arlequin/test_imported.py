"""Parts and ties of a mesh file against the one mesh of the whole body."""

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.errors import ModelWarning

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)


def plate(path, sets):
    """6 × 4 cells of a plate 0.6 × 0.4 m; sets: name → predicate of the middle of a cell."""
    mesh = aq.mesh.rectangle((0.0, 0.6), (0.0, 0.4), cells=(6, 4))
    lines = ["*NODE", *(f"{k}, {x:.17g}, {y:.17g}" for k, (x, y) in enumerate(mesh.p.T, 1))]
    lines += ["*ELEMENT, TYPE=CPS4", *(f"{k}, " + ", ".join(map(str, cell + 1)) for k, cell in enumerate(mesh.t.T, 1))]
    middle = mesh.p[:, mesh.t].mean(axis=1)
    for name, inside in sets.items():
        members = np.flatnonzero(inside(*middle)) + 1
        lines += [f"*ELSET, ELSET={name}", *map(str, members)]
    for name, x in (("left", 0.0), ("right", 0.6)):
        lines += [f"*NSET, NSET={name}", *map(str, np.flatnonzero(np.isclose(mesh.p[0], x)) + 1)]
    path.write_text("\n".join(lines))
    return mesh


SETS = {
    "low": lambda x, y: y < 0.2,
    "upper_left": lambda x, y: (y > 0.2) & (x < 0.3),
    "upper_right": lambda x, y: (y > 0.2) & (x > 0.3),
}


def test_three_tied_parts_are_the_whole(tmp_path):
    """Pulled statically and in its frequencies; the three parts meet at a node."""
    path = tmp_path / "plate.inp"
    mesh = plate(path, SETS)
    model = aq.solids(path, dict.fromkeys(SETS, STEEL), plane="stress", options={name: hold(name) for name in SETS})
    assert [tie.name for tie in model.ties] == ["low_upper_left", "low_upper_right", "upper_left_upper_right"]
    assert sum(part.cells.dx.sum() for part in model.parts.values()) == pytest.approx(0.24, rel=1e-12)
    whole = aq.Solid("whole", mesh, STEEL, plane="stress", **pulled())
    tied = aq.System(list(model.parts.values()), junctions=model.ties)
    results = [aq.simulate(system, aq.Static(), duration=1.0, step=1.0) for system in (aq.System([whole]), tied)]
    exact = field(results[0], ["whole"])
    found = field(results[1], SETS)
    assert found.keys() == exact.keys()
    for place, u in exact.items():
        assert found[place] == pytest.approx(u, abs=1e-14 * 7e-4)
    frequencies = [aq.natural_frequencies(system, count=4).frequencies for system in (aq.System([whole]), tied)]
    assert frequencies[1] == pytest.approx(frequencies[0], rel=1e-12)


def pulled():
    return {"imposed": {"left": {"x": 0.0, "y": 0.0}}, "tractions": {"right": lambda x, t: (1e8 * t, 2e7 * t)}}


def hold(name):
    sides = {"low": ("left", "right"), "upper_left": ("left",), "upper_right": ("right",)}[name]
    return {key: {side: acts[side] for side in sides if side in acts} for key, acts in pulled().items()}


def field(result, parts):
    """Displacement at the end by position."""
    out = {}
    for name in parts:
        part = result[f"part/{name}"]
        for x, u in zip(part["position"].values, part["displacement"].values[-1], strict=True):
            out[tuple(np.round(x, 9))] = u
    return out


def test_what_is_left_out_and_what_is_wrong(tmp_path):
    path = tmp_path / "plate.inp"
    plate(path, SETS | {"all": lambda x, y: x > 0})
    with pytest.warns(ModelWarning, match="12 cells in none of the sets low are left out"):
        aq.solids(path, {"low": STEEL}, plane="stress")
    with pytest.raises(aq.UserError, match="the sets 'low' and 'all' have cells in common"):
        aq.solids(path, {"low": STEEL, "all": STEEL}, plane="stress")
    with pytest.raises(aq.UserError, match=r"no element set with cells is named 'lwo'.*sets: low, upper_left"):
        aq.solids(path, {"lwo": STEEL}, plane="stress")
    with pytest.raises(aq.UserError, match=r"options = 'top': must name parts \(all\)"):
        aq.solids(path, {"all": STEEL}, plane="stress", options={"top": {}})
