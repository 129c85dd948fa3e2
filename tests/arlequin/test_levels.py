"""Levels that are switched during a run: rest and free flight, momenta, ledger, history of contact, resume, oracles."""

from dataclasses import replace

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.errors import ModelWarning, UserError

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
SPEED = float(np.sqrt(2e11 / 7800.0))  # of waves in a bar, m/s
STEP = 1e-6
HALF = 0.1
SECTION = aq.Section.rectangle(2 * HALF, 2 * HALF, 0.3)
SCHEMES = {
    "theta 0.5": aq.Theta(0.5),
    "theta 0.6": aq.Theta(0.6),
    "newmark": aq.Newmark(),
    "hht": aq.HHT(-0.1),
    "alpha": aq.GeneralisedAlpha.with_radius(0.8),
}


def energy(result, kind):
    return result["energy"].sel(kind=kind).values


def balance(result):
    return np.abs(result["balance"].values).max()


def momenta(result):
    """Linear and angular momentum (t, component), summed over the parts that are active."""
    groups = [node.dataset for name, node in result["part"].children.items()]
    names = [name for name in ("momentum", "angular_momentum") if name in groups[0]]
    return [
        np.nansum([group[name].values.reshape(group.sizes["time"], -1) for group in groups], axis=0) for name in names
    ]


def times_of(result):
    return result["levels"]["body"]["level"].values


def bars(choose, cells=(4, 7, 16), hold=0.0, **options):
    """A bar of 1 m with several meshes."""
    parts = [aq.Bar(f"bar {n}", aq.mesh.interval(0.0, 1.0, cells=n), STEEL, **options) for n in cells]
    return aq.Levels("body", [aq.Level([part]) for part in parts], choose, hold=hold)


def plates(choose):
    meshes = [
        aq.mesh.rectangle((0.0, 1.0), (0.0, 0.5), cells=cells, kind=kind)
        for cells, kind in (((3, 2), "quad"), ((6, 4), "quad"), ((10, 7), "tri"))
    ]
    parts = [aq.Solid(f"plate {i}", mesh, STEEL, "stress") for i, mesh in enumerate(meshes)]
    return aq.Levels("body", [aq.Level([part]) for part in parts], choose)


def block(name, cells, span=(0.0, 1.0)):
    return aq.Solid(name, aq.mesh.box(span, (-HALF, HALF), (-HALF, HALF), cells=cells), STEEL)


def beam(name, span, cells, **options):
    return aq.Beam(name, aq.mesh.interval(*span, cells=cells), STEEL, SECTION, dimension=3, up=(0, 1, 0), **options)


def beam_and_solid(choose):
    """A beam, and the same beam with its end glued to a solid."""
    coarse, rest = beam("beam", (0.0, 1.0), 5), beam("rest", (0.0, 0.7), 7)
    end = block("end", (6, 2, 2), (0.4, 1.0))
    glued = aq.Level([rest, end], junctions=[aq.BeamJunction(rest, end)])
    return aq.Levels("body", [aq.Level([coarse]), glued], choose)


def beams_and_solids(choose):
    """A beam, a solid, and a finer solid."""
    parts = beam("beam", (0.0, 1.0), 5), block("solid", (6, 1, 1)), block("finer", (12, 2, 2))
    return aq.Levels("body", [aq.Level([part]) for part in parts], choose)


BODIES = {"bars": bars, "plates": plates, "glued": beam_and_solid, "beam and solids": beams_and_solids}

LAST = {"glued": 1}


def often(count, wait=2):
    """A level drawn anew every so many steps, by a hash of the time."""

    def function(state):
        n = round(state.time / state.step) // wait
        return ((n + 1) * 2654435761 % 2**32 >> 8) % count

    return aq.StateIndicator(function)


def flying(x):
    """Translation and small rotation: velocities of a rigid motion (n, component)."""
    axes = x.shape[1]
    v = np.tile(np.array([2.0, -3.0, 1.0])[:axes], (len(x), 1))
    if axes == 2:
        v += 5.0 * np.column_stack([-x[:, 1], x[:, 0]])
    if axes == 3:
        v += np.cross((5.0, -3.0, 2.0), x)
    return v


def flight(levels):
    """Velocities of all parts in rigid motion, those of beams with the rotation of their sections."""
    out = {}
    for level in levels.levels:
        for part in level.parts:
            x = part.positions
            v = flying(x)
            if part.components == 6:
                v = np.hstack([v, np.tile((5.0, -3.0, 2.0), (len(x), 1))])
            out[part.name] = v
    return out


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_free_flight(body, scheme):
    """Every level goes on in the same rigid motion: x(t) = X + v(X) t, and no energy is lost."""
    last = LAST.get(body, 2)
    levels = BODIES[body](aq.SwitchTimes({2e-6: 1, 4e-6: last, 6e-6: 0, 8e-6: last, 10e-6: 1, 12e-6: 0}))
    velocity = flight(levels)
    system = aq.System([], levels=[levels], velocity=velocity)
    result = aq.simulate(system, scheme, duration=14e-6, step=STEP)
    assert set(times_of(result)) == set(range(last + 1))
    time = result["frame_time"].values
    for name, v in velocity.items():
        u = result[f"part/{name}"]["displacement"].values
        active = np.isfinite(u).all(axis=(1, 2))
        assert active.any()
        exact = time[active, None, None] * v[:, : u.shape[2]]
        assert np.abs(u[active] - exact).max() <= 1e-12 * np.abs(v).max() * time[-1]
    kinetic = energy(result, "kinetic")
    assert np.abs(energy(result, "strain")).max() <= 1e-12 * kinetic[0]
    assert np.abs(energy(result, "switch")).max() <= 1e-12 * kinetic[0] + np.ptp(kinetic)
    assert balance(result) <= 1e-12


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_momenta(body, scheme):
    """A vibrating free body keeps its momenta through switches, and loses no energy but in `switch`."""
    levels = BODIES[body](often(LAST.get(body, 2) + 1))
    start = levels.levels[0].parts[0]
    x = start.positions[:, :1]
    wave = np.zeros((start.node_count, start.components))
    wave[:] = np.cos(np.pi * x) * np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])[: start.components]
    velocity = flight(levels)[start.name] + wave
    result = aq.simulate(
        aq.System([], levels=[levels], velocity={start.name: velocity}), scheme, duration=40e-6, step=STEP
    )
    assert np.count_nonzero(np.diff(times_of(result))) > 6
    for values in momenta(result):
        assert np.abs(values - values[0]).max() <= 1e-12 * np.abs(values).max()
    assert balance(result) <= 1e-12


@pytest.mark.parametrize("steps", [2000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_switches(steps):
    """The energy that is there is that of the start less what the ledger names."""
    velocity = lambda x: np.sin(7 * x)  # noqa: E731
    system = aq.System([], levels=[bars(often(3, wait=1))], velocity=velocity)
    with pytest.warns(ModelWarning, match="hold"):
        result = aq.simulate(system, aq.Theta(0.5), duration=steps * STEP, step=STEP)
    assert np.count_nonzero(np.diff(times_of(result))) > 0.6 * steps
    total = energy(result, "kinetic") + energy(result, "strain")
    assert np.abs(total + energy(result, "switch") - total[0]).max() <= 1e-10 * total[0]
    assert balance(result) <= 1e-10


def replaced(level, pressure):
    (part,) = level.parts
    return replace(level, reference={part.name: pressure * part.positions / 2e11})


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_rest_under_a_constant_load(scheme):
    """u = p x/E is in both levels exactly: nothing moves, nothing is lost."""
    pressure = 1e6
    levels = bars(
        aq.SwitchTimes({2e-6: 2, 4e-6: 0, 6e-6: 1, 8e-6: 0}), tractions={"right": pressure}, imposed={"left": {"x": 0.0}}
    )
    levels = replace(levels, levels=[replaced(level, pressure) for level in levels.levels])
    system = aq.System([], levels=[levels], displacement=lambda x: pressure * x / 2e11)
    result = aq.simulate(system, scheme, duration=10e-6, step=STEP)
    stored = energy(result, "strain")
    assert stored[0] == pytest.approx(0.5 * pressure**2 / 2e11, rel=1e-12)
    assert np.abs(stored / stored[0] - 1.0).max() <= 1e-11
    assert np.abs(energy(result, "switch")).max() <= 1e-11 * stored[0]
    assert energy(result, "kinetic").max() <= 1e-12 * stored[0]
    assert balance(result) <= 1e-12
