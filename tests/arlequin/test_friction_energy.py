"""Friction that sticks, stops and reverses within steps makes no energy: random sliders, and closed forms."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import arlequin as aq

SCHEMES = {
    "theta": aq.Theta(0.5),
    "newmark": aq.Newmark(),
    "hht": aq.HHT(-0.1),
    "alpha": aq.GeneralisedAlpha.with_radius(0.8),
}
CONSERVING = ("theta", "newmark")
RISE = {"theta": 1e-10, "newmark": 1e-10, "hht": 0.02, "alpha": 0.045}  # in a step, see docs/theory/contact.md


def _wavy(mesh: Any, depth: float, turns: int) -> Any:
    """The mesh of a block with its lower face, at height 0 of 1, bent into waves of this depth along the first axis."""
    p = mesh.p.copy()
    low = depth * (1.0 - np.cos(2.0 * np.pi * turns * p[0]))
    p[-1] = low + p[-1] / p[-1].max() * (p[-1].max() - low)
    return replace(mesh, doflocs=p)


def _obstacle(kind: str, dimensions: int, size: float, material: Any, rng: np.random.Generator) -> Any:
    """A rigid obstacle under a block of this size whose lower face is at height 0, or the boundary of a soft base."""
    middle, up = np.zeros(dimensions), np.eye(dimensions)[-1]
    middle[:-1] = 0.5 * size
    if kind == "plane":
        return aq.RigidPlane(point=tuple(np.zeros(dimensions)), normal=tuple(up))
    if kind == "curved":
        radius = size * 10.0 ** rng.uniform(1.0, 5.0)
        return aq.RigidSphere(centre=tuple(middle - radius * up), radius=radius)
    x = size * np.linspace(-4.0, 5.0, 19)
    heights = 0.02 * size * rng.uniform(-1.0, 0.0, x.size)
    heights[8:13] = 0.0  # under the block
    if kind == "faceted":
        if dimensions == 2:
            return aq.RigidPolyline(np.stack([x, heights], axis=1)[::-1])
        at, depth = np.meshgrid(x, size * np.array([-4.0, 5.0]), indexing="ij")
        points = np.stack([at.ravel(), depth.ravel(), np.repeat(heights, 2)], axis=1)
        i = 2 * np.arange(x.size - 1)
        triangles = np.concatenate([np.stack([i, i + 2, i + 3], axis=1), np.stack([i, i + 3, i + 1], axis=1)])
        return aq.RigidSurface(points, triangles)
    spans = [(-0.5 * size, 1.5 * size)] * (dimensions - 1) + [(-0.3 * size, 0.0)]
    mesh = (aq.mesh.rectangle if dimensions == 2 else aq.mesh.box)(*spans, cells=(7,) * (dimensions - 1) + (2,))
    plane = {"plane": "strain"} if dimensions == 2 else {}
    held = {"bottom": dict.fromkeys("xyz"[:dimensions], 0.0)}
    return aq.Solid("base", mesh, material, imposed=held, **plane)


def slider(seed: int) -> tuple[str, aq.Study]:
    """A soft slider with a wavy face that is thrown, pulled and pressed on something with friction."""
    rng = np.random.default_rng(seed)
    draw = rng.choice
    scheme = str(draw(["theta", "theta", "newmark", "newmark", "hht", "alpha"]))
    dimensions = int(draw([2, 2, 2, 3]))
    kind = str(draw(["plane", "plane", "curved", "faceted", "soft"]))
    size, speed = 10.0 ** rng.uniform(-3.0, 1.0), 10.0 ** rng.uniform(0.0, 3.0)  # m, m/s of waves
    density = 10.0 ** rng.uniform(-1.0, 4.0)
    material = aq.LinearElastic(young=0.9 * density * speed**2, poisson=0.2, density=density)
    cells = (10, 3) if dimensions == 2 else (4, 2, 2)
    spans = [(0.0, 1.0)] * (dimensions - 1) + [(0.0, 0.3)]
    plain = (aq.mesh.rectangle if dimensions == 2 else aq.mesh.box)(*spans, cells=cells)
    mesh = _wavy(plain, 10.0 ** rng.uniform(-3.0, -1.7), int(draw([1, 2, 3])))
    mesh = replace(mesh, doflocs=mesh.p * size)
    pressure = density * speed**2 * 10.0 ** rng.uniform(-3.0, -1.5)
    pull = pressure * rng.uniform(-0.3, 0.3, dimensions - 1)
    top = {"top": (*pull, -pressure)}
    plane = {"plane": "strain"} if dimensions == 2 else {}
    block = aq.Solid("slider", mesh, material, tractions=top, **plane)
    face = block.boundary("bottom")
    partner = _obstacle(kind, dimensions, size, material, rng)
    parts = [block]
    if kind == "soft":
        parts.append(partner)
        partner = partner.boundary("top")
    level = str(draw(["velocity", "velocity", "gap"]))
    options: dict[str, Any] = {"multiplier": str(draw(["nodes", "P1"]))} if kind in ("plane", "soft") else {}
    rough = aq.Coulomb(float(rng.uniform(0.05, 0.9)))
    contact = aq.Interface("contact", face, partner, aq.Unilateral(level), friction=rough, **options)
    throw = np.append(rng.uniform(-1.0, 1.0, dimensions - 1), -0.2 * rng.uniform()) * 10.0 ** rng.uniform(-3.0, -1.5)
    system = aq.System(parts, interfaces=[contact], velocity={"slider": tuple(speed * throw)})
    step = 10.0 ** rng.uniform(np.log10(0.5), np.log10(50.0)) * size / cells[0] / speed
    words = f"{seed}: {scheme} {dimensions}D {kind} {level} {options} step {step:.3g}"
    return words, aq.Study(system, SCHEMES[scheme], duration=60 * step, step=step)


def energies(study: aq.Study) -> dict[str, Any]:
    """Of a run: largest gain of kinetic + stored − external work in a step, least friction of a step, and largest
    change of `scheme` in a step, all over the largest energy."""
    result = study.run(progress=False, record=aq.Record(fields_every=10**6))
    energy = {str(kind): result["energy"].sel(kind=kind).values for kind in result["kind"].values}
    own = energy["kinetic"] + energy["strain"]
    size = max(own.max(), np.abs(energy["external_work"]).max())
    changes = {kind: np.diff(energy[kind]) / size for kind in ("friction", "scheme")}
    gain = np.diff(own - energy["external_work"]).max() / size
    return {"gain": gain, "friction": changes["friction"].min(), "scheme": np.abs(changes["scheme"]).max()}


def check(seed: int) -> dict[str, Any]:
    """The energies of a random slider, asserted."""
    words, study = slider(seed)
    found = energies(study)
    assert found["friction"] > -1e-12, (words, found)
    assert found["gain"] < RISE[words.split()[1]], (words, found)
    if words.split()[1] in CONSERVING:
        assert found["scheme"] < 1e-12, (words, found)
    return found


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(24))
def test_random_sliders_gain_no_energy(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(24, 1000, 61))
def test_more_random_sliders_gain_no_energy(first: int) -> None:
    for seed in range(first, min(first + 61, 1000)):
        check(seed)


SOLVERS: tuple[Any, Any] = ("auto", "iterative")  # compiled steps, sparse matrices
STIFFNESS = 100.0  # N/m, of the spring on a mass of 1 kg: ω = 10 rad/s


def _rubbing(mu: float, **given: Any) -> aq.System:
    """A mass of 1 kg that 10 N press on a rough floor."""
    mass = aq.PointMasses("mass", (0.0, 0.0), 1.0)
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    contact = aq.Interface("floor", mass.boundary("all"), floor, aq.Unilateral(), friction=aq.Coulomb(mu))
    stiffness = given.pop("stiffness", None)
    springs = [] if stiffness is None else [aq.Spring("spring", mass.boundary("all"), stiffness=(stiffness, 0.0))]
    return aq.System([mass], interfaces=[contact], springs=springs, gravity=(0.0, -10.0), **given)


def _oscillator(scheme: Any, duration: float, step: float, start: float = 1.0, mu: float = 0.1) -> aq.Study:
    """That mass on a spring, let go at `start`, m; μN/k = 0.01 m."""
    system = _rubbing(mu, stiffness=STIFFNESS, displacement={"mass": (start, 0.0)})
    return aq.Study(system, scheme, duration=duration, step=step)


def _exact(phase: float) -> tuple[float, float]:
    """Place of the oscillator, m, at ωt, and its loss over ½kx₀²: x = (x₀ − (2n + 1)d) cos ωt + (−1)ⁿ d in the half
    period n, with d = μN/k."""
    n = int(phase / np.pi)
    amplitude = 1.0 - (2 * n + 1) * 0.01
    x, v = amplitude * np.cos(phase) + (-1) ** n * 0.01, amplitude * np.sin(phase)  # v over ω
    return x, 1.0 - x**2 - v**2


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", SCHEMES)
def test_a_rubbing_oscillator_follows_its_closed_form(name: str) -> None:
    """Reversals fall anywhere in a step: place and loss are of order 2, but for the phase at which they do."""
    parts, errors = np.array([12.0, 48.0, 192.0]), []
    for steps in parts:
        worst = np.zeros(2)
        for share in (1.01, 1.03, 1.05, 1.07):
            step = 0.1 * np.pi / (steps * share)
            count = round(2.4 / step)
            result = _oscillator(SCHEMES[name], count * step, step).run(progress=False)
            lost = result["energy"].sel(kind="friction").values / (0.5 * STIFFNESS)
            assert (np.diff(lost) >= 0.0).all()
            if name in CONSERVING:
                assert np.abs(result["energy"].sel(kind="scheme")).max() < 1e-13 * 0.5 * STIFFNESS
            found = float(result["part/mass/displacement"][-1, 0, 0]), float(lost[-1])
            worst = np.maximum(worst, np.abs(np.subtract(found, _exact(10.0 * count * step))))
        errors.append(worst)
    orders = -np.polyfit(np.log(parts), np.log(errors), 1)[0]
    assert (orders > 1.7).all(), errors
    assert (errors[-1] < [1.2e-3, 3.5e-5]).all(), errors


def test_sparse_steps_reverse_as_compiled_ones() -> None:
    step = 0.1 * np.pi / 49.0
    runs = [_oscillator(aq.Theta(0.5, solver=solver), 300 * step, step).run(progress=False) for solver in SOLVERS]
    np.testing.assert_allclose(*(own["part/mass/displacement"].values for own in runs), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("name", SCHEMES)
def test_a_thrown_mass_comes_to_rest_exactly(name: str) -> None:
    result = aq.simulate(_rubbing(0.3, velocity=(2.0, 0.0)), SCHEMES[name], duration=1.0, step=0.013)
    assert np.abs(result["part/mass/velocity"][-1]).max() < 1e-14
    assert float(result["energy"].sel(kind="friction")[-1]) == pytest.approx(2.0, rel=1e-12)
    assert float(result["part/mass/displacement"][-1, 0, 0]) == pytest.approx(2.0 / 3.0, rel=1e-3)


@pytest.mark.parametrize("method", ["tangent", "adjoint"])
def test_derivatives_through_released_reversals(method: Any) -> None:
    """At the statuses of the run: those of differences of runs."""

    def study(start: float, mu: float) -> aq.Study:
        return _oscillator(aq.Theta(0.5), 1.0, 1.0 / 80.0, start, mu)

    def end(result: Any) -> float:
        return float(result["part/mass/displacement"][-1, 0, 0])

    at = {"start": 1.05, "mu": 0.1}
    response: Any = aq.Response("part/mass/displacement", "final", component="x") if method == "adjoint" else end
    found = aq.gradient(study, response, at, method=method, events=False)["gradient"].values.ravel()
    for own, name in zip(found, at, strict=True):
        ends = [end(study(**{**at, name: at[name] + change}).run(progress=False)) for change in (1e-6, -1e-6)]
        assert own == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-7)
