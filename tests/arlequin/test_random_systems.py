"""Random small systems: every recorded step against the equations of the θ-scheme, written down anew in dense NumPy."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import xarray

import arlequin as aq
from arlequin.schemes import compiled_loop as small_theta
from arlequin.schemes import sparse_steps

STEP, STEPS = 1e-3, 40
PATHS = ("compiled", "audited together", "one by one")
LAWS: dict[str, Any] = {
    "velocity": aq.Unilateral(),
    "gap": aq.Unilateral(level="gap"),
    "layer": aq.Penalty(1e5),
    "dashpot": aq.VelocityPenalty(100.0),
    "soft": aq.PerturbedLagrangian(1e6),
}


@dataclass
class Case:
    """A system and what it is made of: M (d,), K and D (d, d), loads f(t) (d,), driven dofs → (kind, value(t)), and the
    interfaces: mass, normal, gap at the start, law, coefficient of friction (None without, "springs" where it has)."""

    system: aq.System
    theta: float
    mass: Any
    stiffness: Any
    damping: Any
    load: Callable[[float], Any]
    driven: dict[int, tuple[str, Callable[[float], float]]] = field(default_factory=dict)
    touches: list[tuple[int, Any, float, str, Any]] = field(default_factory=list)


def made(seed: int) -> Case:
    """Up to six masses in one to three dimensions on springs, before planes in any direction."""
    draw = np.random.default_rng(seed)
    axes, count = int(draw.integers(1, 4)), int(draw.integers(1, 7))
    d = axes * count
    places = np.zeros((count, axes))
    places[:, 0] = 3.0 * np.arange(count)
    mass = 10.0 ** draw.uniform(-1.0, 1.0, count)
    pushes = draw.normal(0.0, 30.0, (count, axes)) * (draw.random((count, 1)) < 0.5)
    pace, gravity = draw.uniform(10.0, 200.0), draw.normal(0.0, 10.0, axes)
    driven: dict[int, tuple[str, Callable[[float], float]]] = {}
    imposed: dict[str, dict[str, dict[str, Any]]] = {"u": {}, "v": {}}
    for i in np.flatnonzero(draw.random(count) < 0.15).tolist():
        axis, kind = int(draw.integers(axes)), str(draw.choice(["u", "v"]))

        def way(t: float, size: float = 10.0 ** draw.uniform(-3.0, -1.0), kind: str = kind) -> float:
            return size * (1.0 - np.cos(80.0 * t) if kind == "u" else np.sin(80.0 * t))

        driven[i * axes + axis] = kind, way
        imposed[kind][f"p{i}"] = {"xyz"[axis]: way}

    def push(i: int) -> Any:
        return lambda t: pushes[i] * np.sin(pace * t)

    part = aq.PointMasses(
        "m", places, mass, names={f"p{i}": i for i in range(count)}, forces={f"p{i}": push(i) for i in range(count)},
        imposed=imposed["u"], imposed_velocity=imposed["v"],
    )  # fmt: skip
    springs, matrices = [], np.zeros((2, d, d))
    for s in range(int(draw.integers(0, 5))):
        i, j = draw.integers(0, count, 2)
        values = 10.0 ** draw.uniform((0.0, -1.0), (6.0, 3.0), (axes, 2)).T * [[1.0], [draw.random() < 0.5]]
        ends = [part.boundary(f"p{i}"), *([part.boundary(f"p{j}")] if i != j else [])]
        springs.append(aq.Spring(f"s{s}", *ends, stiffness=tuple(values[0]), damping=tuple(values[1])))
        for axis in range(axes):
            row = np.zeros(d)
            row[i * axes + axis] = 1.0
            row[j * axes + axis] -= float(i != j)
            matrices += values[:, axis, None, None] * np.outer(row, row)
    touches, interfaces = [], []
    for q in range(int(draw.integers(0, 4))):
        i, normal = int(draw.integers(count)), draw.normal(0.0, 1.0, axes)
        normal /= np.linalg.norm(normal)
        gap, law = float(draw.choice([0.0, 1e-4, 1e-2])), str(draw.choice(list(LAWS)))
        friction, kind = None, None
        if axes > 1 and draw.random() < 0.6:
            kind = float(draw.choice([0.0, 0.1, 0.4]))
            friction = aq.Coulomb(kind)
            if draw.random() < 0.3:
                kind, friction = "springs", aq.Coulomb(0.4, stiffness=1e4, damping=10.0)
        plane = aq.RigidPlane(tuple(places[i] - gap * normal), tuple(normal))
        interfaces.append(aq.Interface(f"c{q}", part.boundary(f"p{i}"), plane, LAWS[law], friction=friction))
        touches.append((i, normal, gap, law, kind))
    system = aq.System(
        [part], springs=springs, interfaces=interfaces, gravity=lambda t: tuple(gravity * np.cos(60.0 * t)),
        velocity=tuple(draw.normal(0.0, 1.0, axes)),
    )  # fmt: skip

    def load(t: float) -> Any:
        return (pushes * np.sin(pace * t) + mass[:, None] * gravity * np.cos(60.0 * t)).ravel()

    theta = float(draw.choice([0.5, 0.6, 1.0]))
    return Case(system, theta, np.repeat(mass, axes), *matrices, load, driven, touches)


def stepped(case: Case, path: str, patch: Any, blocks: Any) -> xarray.DataTree:
    with patch.context() as own, blocks:
        own.setattr(small_theta, "LARGEST", 500 if path == "compiled" else -1)
        if path == "one by one":
            own.setattr(sparse_steps, "is_steady", lambda assembly: False)
        return aq.simulate(case.system, aq.Theta(case.theta), duration=STEPS * STEP, step=STEP)


def check_motion(case: Case, result: xarray.DataTree) -> None:
    """Momentum, motion, driven dofs; kinetic and strain energy, work of loads and guides, loss of dashpots."""
    theta, axes, table = case.theta, result["part/m"].sizes["component"], result["energy"]
    u, v = (result["part/m"].dataset[name].values.reshape(STEPS + 1, -1) for name in ("displacement", "velocity"))
    y, f = theta * v[1:] + (1.0 - theta) * v[:-1], np.array([case.load(n * STEP) for n in range(STEPS + 1)])
    np.testing.assert_allclose(np.diff(u, axis=0), STEP * y, atol=1e-12 * max(1.0, np.abs(u).max()))
    f = theta * f[1:] + (1.0 - theta) * f[:-1]
    pulled = y @ case.damping + (theta * u[1:] + (1.0 - theta) * u[:-1]) @ case.stiffness
    rest = case.mass * np.diff(v, axis=0) / STEP + pulled - f
    for q, (i, normal, *_, friction) in enumerate(case.touches):
        found, own = result[f"interface/c{q}"].dataset, slice(i * axes, (i + 1) * axes)
        rest[:, own] -= found["pressure"].values[1:] * normal
        if friction is not None:
            rest[:, own] -= found["traction"].values[1:, 0]
    free = np.setdiff1d(np.arange(u.shape[1]), list(case.driven))
    size = max(np.abs(pulled).max(), np.abs(f).max(), np.abs(case.mass * v).max() / STEP)
    assert np.abs(rest[:, free]).max(initial=0.0) < 1e-11 * size
    for dof, (kind, way) in case.driven.items():
        wanted = [way(n * STEP) for n in range(1, STEPS + 1)]
        np.testing.assert_allclose((u if kind == "u" else v)[1:, dof], wanted, atol=1e-12)
    guided = np.zeros_like(rest)
    guided[:, list(case.driven)] = rest[:, list(case.driven)]
    own = {
        "kinetic": 0.5 * v[1:] ** 2 @ case.mass,
        "strain": 0.5 * np.vecdot(u[1:], u[1:] @ case.stiffness),
        "external_work": np.cumsum(STEP * np.vecdot(f + guided, y)),
    }
    if case.damping.any():
        own["damping"] = np.cumsum(STEP * np.vecdot(y, y @ case.damping))
    largest = np.abs(table.values).max()
    for kind, values in own.items():
        np.testing.assert_allclose(table.sel(kind=kind).values[1:], values, atol=1e-11 * largest, err_msg=kind)
    assert np.abs(result["balance"]).max() < 1e-12
    assert theta > 0.5 or np.abs(table.sel(kind="scheme")).max() < 1e-11 * largest


def check_contact(case: Case, result: xarray.DataTree) -> None:
    """Each point's law, and Coulomb's where it has no springs; of round-off what decides is left open."""
    axes = result["part/m"].sizes["component"]
    u, v = (result["part/m"].dataset[name].values.reshape(STEPS + 1, -1, axes) for name in ("displacement", "velocity"))
    for q, (i, normal, gap, law, friction) in enumerate(case.touches):
        found = result[f"interface/c{q}"].dataset
        p, g, rate = found["pressure"].values[1:, 0], gap + u[:, i] @ normal, v[1:, i] @ normal
        ahead = g[:-1] + 0.5 * STEP * v[:-1, i] @ normal
        closed, sure = ahead <= 0.0, np.abs(ahead) > 1e-10
        size = max(p.max(), 1.0)
        assert p.min() >= -1e-9 * size
        if law == "velocity":
            assert not p[sure & ~closed].any()
            assert (rate[sure & closed] > -1e-9).all() and np.abs((p * rate)[sure]).max(initial=0.0) < 1e-7 * size
        elif law == "gap":
            assert g[1:].min() > -1e-11 and np.abs(p * g[1:]).max() < 1e-10 * size
        elif law == "dashpot":
            np.testing.assert_allclose(p[sure], (100.0 * np.maximum(-rate, 0.0) * closed)[sure], atol=1e-8 * size)
        elif law == "soft":
            np.testing.assert_allclose(p, 1e6 * np.maximum(-g[1:], 0.0), atol=1e-8 * size)
        if friction is None:
            continue
        traction, slip = found["traction"].values[1:, 0], v[1:, i] - rate[:, None] * normal
        edge = (0.4 if friction == "springs" else friction) * p
        assert (np.linalg.norm(traction, axis=1) <= edge * (1.0 + 1e-9) + 1e-9 * size).all()
        speed = np.linalg.norm(slip, axis=1)
        slides = (speed > 1e-6) & (friction != "springs")
        way = slip / np.maximum(speed, 1e-300)[:, None]
        np.testing.assert_allclose(traction[slides], -(edge[:, None] * way)[slides], atol=1e-6 * size)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(12))
def test_steps_obey_the_equations_and_are_the_same_in_blocks(
    seed: int, monkeypatch: pytest.MonkeyPatch, blocks_of: Any
) -> None:
    """Where one way of stepping refuses a contact that is not determined, all of them do, at the same time."""
    case = made(seed)
    found, errors = {}, set()
    for path in PATHS:
        try:
            found[path] = stepped(case, path, monkeypatch, blocks_of(STEPS))
        except aq.UserError as error:
            errors.add(str(error))
    assert len(errors) <= 1 and len(found) == (0 if errors else 3), errors
    for result in found.values():
        check_motion(case, result)
        check_contact(case, result)
    for path in [path for path in PATHS[:2] if path in found]:
        other = stepped(case, path, monkeypatch, blocks_of(7, 2, 1))
        for node in found[path].subtree:
            for name, values in node.data_vars.items():
                assert values.values.tobytes() == other[node.path][name].values.tobytes(), (path, node.path, name)
