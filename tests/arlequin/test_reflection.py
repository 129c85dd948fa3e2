"""What a run tells of waves that a junction reflects: on short ones, and on nothing else."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve

import arlequin as aq
from arlequin.junctions.zone_sample import ZoneSample
from arlequin.models.errors import ModelWarning
from arlequin.run.reflection import Reflection, _SampledZone
from arlequin.system.assembly import assemble

UNIT = aq.LinearElastic(young=1.0, density=1.0, poisson=0.3)
ROD = aq.LinearElastic(young=1.0, density=1.0)


def bars(wave: float = 1.0, absorbing: Any = None, mass: str = "consistent", **fields: Any) -> aq.System:
    """Fine cells of 0.1 in [0, 20], coarse ones of 1 beyond, glued over 4: a packet of this wavelength runs to them."""
    fine = aq.Bar("fine", aq.mesh.interval(0.0, 20.0, cells=200), ROD, mass=mass)
    coarse = aq.Bar("coarse", aq.mesh.interval(16.0, 36.0, cells=20), ROD, mass=mass)
    middle, width = 8.0, 0.5 * wave + 1.0
    x = np.linspace(0.0, 36.0, 36001)
    v = np.exp(-(((x - middle) / width) ** 2)) * np.cos(2 * np.pi * (x - middle) / wave)
    u = -np.concatenate([[0.0], np.cumsum(0.5 * (v[1:] + v[:-1]) * np.diff(x))])  # runs to the right: u' = −v/c
    moving = {
        "velocity": lambda at: np.interp(at[:, 0], x, v) * (at[:, 0] < 16.0),
        "displacement": lambda at: np.interp(at[:, 0], x, u),
    }
    return aq.System([coarse, fine], [aq.Junction(coarse, fine, name="glue", absorbing=absorbing)], **(moving | fields))


def told(system: aq.System, scheme: Any = None, duration: float = 20.0, step: float = 0.05, **options: Any) -> Any:
    """Lines of a run, and its attribute `reflecting`."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = aq.simulate(system, scheme or aq.Theta(0.5), duration=duration, step=step, progress=False, **options)
    lines = [str(each.message) for each in found if issubclass(each.category, ModelWarning)]
    return lines, result.attrs.get("reflecting")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.CentralDifference(), aq.Newmark(0.25, 0.5)], ids=repr)
@pytest.mark.parametrize("wave", [0.7, 1.2])
def test_a_wave_shorter_than_two_coarse_cells_is_told_in_one_line(wave: float, scheme: Any) -> None:
    lines, stored = told(bars(wave, mass="lumped"), scheme)
    assert len(lines) == 1 and "\n" not in lines[0]
    assert "junction 'glue'" in lines[0] and "'coarse' (1 m)" in lines[0] and "absorbing=True" in lines[0]
    assert stored.startswith("glue (") and 85.0 < float(stored[6:-3]) <= 100.0
    assert f"{stored[6:-3]} % of the energy" in lines[0]


@pytest.mark.parametrize("wave", [6.0, 8.0])
def test_a_wave_that_the_coarse_mesh_carries_is_not_told(wave: float) -> None:
    assert told(bars(wave)) == ([], None)


def test_a_junction_that_absorbs_is_not_told() -> None:
    assert told(bars(0.7, absorbing=True)) == ([], None)


@pytest.mark.parametrize("wave", [8.0, 5.0, 3.0, 0.7])
def test_the_share_of_a_wave(wave: float) -> None:
    """ε/(2 − ε), ε what the projection on linear functions leaves of a wave, in an all but endless zone."""
    fine = aq.Bar("fine", aq.mesh.interval(0.0, 30.0, cells=900), ROD)
    coarse = aq.Bar("coarse", aq.mesh.interval(10.0, 40.0, cells=30), ROD)
    system = aq.System([coarse, fine], [aq.Junction(coarse, fine)])
    assembly = assemble(system)
    zone, operator = _SampledZone.of(system.junctions[0], assembly.layout), assembly.operators[0]
    inside, shares = np.flatnonzero(coarse.positions[:, 0] <= 30.0 + 1e-9), []
    for phase in np.linspace(0.0, np.pi, 8, endpoint=False):
        v, of_coarse = np.cos(2 * np.pi * fine.positions[:, 0] / wave + phase), np.zeros(coarse.node_count)
        of_coarse[inside] = spsolve(operator.coarse[:, inside].tocsc(), -(operator.fine @ v))
        left, whole = zone.energies(np.concatenate([of_coarse, v])[None])
        shares.append(float(left[0] / whole[0]))
    left_over = 1.0 - 3.0 * np.sinc(1.0 / wave) ** 4 / (2.0 + np.cos(2 * np.pi / wave))
    assert abs(np.mean(shares) / (left_over / (2.0 - left_over)) - 1.0) <= 0.1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("order", [1, 2])
def test_rigid_and_linear_motions_have_no_share(axes: int, order: int) -> None:
    """R of a linear velocity is 0 where both parts have it; masses are those of the zone."""
    across = ((0.0, 1.0),) * (axes - 1)
    parts = []
    for name, (low, high), count in (("coarse", (0.0, 2.0), 2), ("fine", (1.0, 3.0), 5)):
        if axes == 1:
            parts.append(aq.Bar(name, aq.mesh.interval(low, high, cells=2 * count), UNIT, order=order))
        else:
            mesh = {2: aq.mesh.rectangle, 3: aq.mesh.box}[axes](
                (low, high), *across, cells=(2 * count, *(count,) * (axes - 1))
            )
            parts.append(aq.Solid(name, mesh, UNIT, order=order, **({"plane": "strain"} if axes == 2 else {})))
    junction = aq.Junction(*parts)
    assert abs(ZoneSample.of(junction).masses.sum() - 1.0) <= 1e-12
    zone = _SampledZone.of(junction, assemble(aq.System(parts, [junction])).layout)
    gradient = np.random.default_rng(axes).normal(size=(axes, axes))
    for shift in (0.0, 100.0):
        v = np.concatenate([(part.positions @ gradient + shift).ravel() for part in parts])
        left, whole = zone.energies(v[None])
        assert left[0] <= 1e-20 * (1.0 + shift) ** 2 and whole[0] > 1e-3
    rigid = np.full((1, v.size), 3.0)
    assert zone.energies(rigid)[0][0] <= 1e-24 and abs(zone.energies(rigid)[1][0]) <= 1e-12


def cantilever(load: Any = None, **fields: Any) -> aq.System:
    mesh, options = aq.mesh.rectangle, {"plane": "stress"}
    coarse = aq.Solid(
        "coarse", mesh((0.0, 6.0), (0.0, 1.0), cells=(12, 2)), UNIT, imposed={"left": {"x": 0.0, "y": 0.0}}, **options
    )
    tractions = {} if load is None else {"tractions": {"right": load}}
    fine = aq.Solid("fine", mesh((4.0, 10.0), (0.0, 1.0), cells=(48, 8)), UNIT, **options, **tractions)
    return aq.System([coarse, fine], [aq.Junction(coarse, fine)], **fields)


def quiet_motions() -> dict[str, Any]:
    def first_mode(x: Any) -> Any:
        return np.outer(1.0 - np.cos(0.5 * np.pi * x[:, 0] / 10.0), (0.0, 1e-3))

    slow = cantilever(lambda x, t: (0.0, 1e-6 * t))
    far = bars(0.7)
    return {
        "statics": (slow, aq.Static(), 10.0, 1.0),
        "quasi-static": (slow, aq.Theta(0.5), 2000.0, 10.0),
        "first mode": (cantilever(velocity=first_mode), aq.Theta(0.5), 400.0, 1.0),
        "step load": (cantilever(lambda x, t: (0.0, 1e-6)), aq.Theta(0.5), 200.0, 0.5),
        "rigid motion": (bars(velocity=100.0, displacement=None), aq.Theta(0.5), 20.0, 0.1),
        "at rest": (bars(velocity=None, displacement=None), aq.Theta(0.5), 5.0, 0.1),
        "far from the zone": (far, aq.Theta(0.5), 4.0, 0.05),
        "weak waves of a fast body": (bars(velocity=lambda x: 1e3 + np.cos(7.0 * x)), aq.Theta(0.5), 5.0, 0.05),
    }


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", quiet_motions())
def test_no_false_alarm(name: str) -> None:
    system, scheme, duration, step = quiet_motions()[name]
    assert told(system, scheme, duration, step) == ([], None)


def test_batches_and_checkpoints_do_not_change_it(blocks_of: Any) -> None:
    """Sampled are steps of the run, however many a batch has; the sums are restored."""
    found = []
    for size in (1, 7, 400):
        with blocks_of(size):
            found.append(told(bars(1.0))[1])
    assert len(set(found)) == 1 and found[0] is not None


def test_an_ensemble_tells_its_largest_share() -> None:
    systems = [bars(wave) for wave in (8.0, 0.7)]
    with pytest.warns(ModelWarning, match="absorbing=True"):
        result = aq.simulate_ensemble(systems, aq.Theta(0.5), duration=20.0, step=0.05)
    assert float(result.attrs["reflecting"][6:-3]) > 80.0


def test_the_sums_are_restored() -> None:
    assembly = assemble(bars())
    one, other = Reflection(assembly, 100), Reflection(assembly, 100)
    one._sums["glue"] = np.array(2.0), np.array(4.0), np.array(1.0)
    other.load_state_dict(one.state_dict())
    assert other.shares(1.0) == {"glue": 0.5} and other.shares(1e4) == {}
