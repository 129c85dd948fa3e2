"""Central differences of glued parts, many steps a pass: against the recurrence with dense constraints."""

from dataclasses import replace

import numpy as np
import pytest

import arlequin as aq
from arlequin.linalg.field_rows import FieldRows
from arlequin.schemes.central_bulk import BulkCentralStepper
from arlequin.schemes.central_steps import CentralStepper
from arlequin.solvers.initial_state import start_fields
from arlequin.system.assembly import assemble

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
CENTRAL = aq.CentralDifference()


def pulled(x, t):
    return np.stack([1e9 * np.sin(1e6 * t) * (1.0 + x[1]), 3e8 + 0.0 * x[1]])


def plates(kind="quad", **given):
    coarse = aq.mesh.rectangle((0.0, 0.2), (0.0, 0.1), cells=(8, 4), kind=kind)
    fine = aq.mesh.rectangle((0.1, 0.3), (0.0, 0.1), cells=(16, 8), kind=kind)
    return [
        aq.Solid("coarse", coarse, STEEL, plane="strain", mass="lumped", **given),
        aq.Solid("fine", fine, STEEL, plane="strain", mass="lumped", tractions={"right": pulled}),
    ]


def cubes():
    side = (0.0, 0.1)
    coarse = aq.mesh.box((0.0, 0.1), side, side, cells=(3, 3, 3))
    fine = aq.mesh.box((0.1 / 3, 0.1 * 4 / 3), side, side, cells=(6, 6, 6))
    return [aq.Solid(name, mesh, STEEL, mass="lumped") for name, mesh in (("coarse", coarse), ("fine", fine))]


def bars():
    coarse, fine = aq.mesh.interval(0.0, 1.0, cells=20), aq.mesh.interval(0.5, 1.5, cells=80)
    return [aq.Bar(name, mesh, STEEL, mass="lumped") for name, mesh in (("coarse", coarse), ("fine", fine))]


def thrown(parts, absorbing=None, **given):
    rng = np.random.default_rng(0)
    speeds = {part.name: rng.normal(size=(part.node_count, part.components)) for part in parts}
    speed = {name: (lambda x, own=own: own) for name, own in speeds.items()}
    return aq.System(parts, [aq.Junction(*parts, absorbing=absorbing)], velocity=speed, **given)


SYSTEMS = {
    "plane": lambda: thrown(plates()),
    "triangles": lambda: thrown(plates("tri"), gravity=(0.0, -9e6)),
    "held": lambda: aq.System(p := plates(imposed={"left": {"x": 0.0, "y": 0.0}}), [aq.Junction(*p)]),
    "space": lambda: thrown(cubes()),
    "bars": lambda: thrown(bars()),
    "absorbing": lambda: thrown(plates(), aq.Absorber()),
    "absorbing, held": lambda: thrown(
        plates(imposed={"bottom": {"x": 0.0, "y": 0.0}}), aq.Absorber(), gravity=(0.0, -9e6)
    ),
}


@pytest.mark.sampled(1)
@pytest.mark.kernels
@pytest.mark.parametrize("make", SYSTEMS.values(), ids=SYSTEMS)
def test_motion_is_the_recurrence_with_the_stiffness(make):
    """v_{n+½} minimises |v − v_{n−½} − Δt M⁻¹(f_ext − K u)|² in M on C v = 0; works by their definitions.

    With absorbing junctions in M + ½ Δt D_a, and with the force −D_a v_{n−½}.
    """
    system, step, count = make(), 2e-7, 30
    result = aq.simulate(system, CENTRAL, duration=count * step, step=step, fields_every=7)
    assembly = assemble(system)
    mass, K, free = assembly.mass.diagonal(), assembly.stiffness.toarray(), assembly.free
    C = assembly.constraints.toarray() * free
    m = len(C)
    D = np.zeros_like(K) if assembly.absorber is None else assembly.absorber.toarray()
    at_free = np.ix_(free, free)
    bare, implicit = np.zeros_like(K), np.zeros_like(K)
    bare[at_free] = np.diag(1.0 / mass[free])
    implicit[at_free] = np.linalg.inv((np.diag(mass) + 0.5 * step * D)[at_free])
    u, v = start_fields(assembly, step, False)

    def projected(force, target, inverse=implicit):
        """A⁻¹(F + Cᵀφ) with C a = target, and φ, by the saddle point matrix."""
        schur = C @ inverse @ C.T
        scale = 1.0 / np.sqrt(schur.diagonal())
        found = (
            scale
            * np.linalg.lstsq(schur * scale * scale[:, None], scale * (target - C @ (inverse @ force)), rcond=1e-12)[0]
        )
        return inverse @ (force + C.T @ found), found

    half = v - 0.5 * step * projected(assembly.load(0.0) - K @ u - D @ v, np.zeros(m), bare)[0]
    a, push = projected(assembly.load(0.0) - K @ u - D @ half, np.zeros(m))
    u_all, v_all, kinetic, pulls, joined, absorbed = [u], [], [], [], [0.0], [0.0]
    for n in range(count + 1):
        force = assembly.load(n * step) - K @ u
        kinetic.append(0.5 * half @ (mass * half + step * force))
        if n:
            a, push = projected(force - D @ half, -C @ half / step)
        v_all.append(half + 0.5 * step * a)
        absorbed.append(absorbed[-1] + step * v_all[-1] @ (D @ v_all[-1]))
        joined.append(joined[-1] + step * push @ (C @ (half + 0.5 * step * a)))
        pulls.append(push)
        half = half + step * a
        u = u + step * half
        u_all.append(u)
    shown = np.append(np.arange(0, count, 7), count)
    for part, at in zip(system.parts, assembly.places, strict=True):
        group = result[f"part/{part.name}"]
        for name, expected in (("displacement", u_all), ("velocity", v_all)):
            exact = np.array(expected)[shown][:, at]
            np.testing.assert_allclose(
                group[name].values.reshape(exact.shape), exact, rtol=0.0, atol=1e-10 * np.abs(exact).max()
            )
        momenta = (mass * np.array(v_all))[:, at].reshape(count + 1, -1, part.components).sum(axis=1)
        scale = np.abs(mass * np.array(v_all)).sum(axis=1).max()
        np.testing.assert_allclose(group["momentum"].values, momenta, rtol=0.0, atol=1e-11 * scale)
    energy, most = result["energy"], np.abs(result["energy"].values).max()
    strain = [0.5 * u @ (K @ u) for u in u_all[:-1]]
    expected_energies = {"kinetic": kinetic, "strain": strain, "junction": joined[:-1]}
    if D.any():
        expected_energies["absorbed"] = absorbed[:-1]
        assert absorbed[-2] > 1e-3 * kinetic[0]
    for kind, expected in expected_energies.items():
        np.testing.assert_allclose(energy.sel(kind=kind).values, expected, rtol=0.0, atol=1e-10 * most)
    assert np.abs(result["balance"].values).max() <= 1e-12
    (rest,) = (result[group] for group in result.groups if group.startswith("/junction/"))
    assert np.abs(rest["mismatch"].values[2:]).max() <= 1e-12 * np.abs(v_all).max()


def one_by_one(stepper, state, count):
    batches = []
    for _ in range(count):
        state, batch = stepper.advance(state)
        batches.append(batch)
    return state, batches


@pytest.mark.sampled(3)
@pytest.mark.parametrize("short", [1, 10**9])
@pytest.mark.parametrize("name", SYSTEMS)
def test_steps_are_those_of_the_general_scheme(name, short, monkeypatch):
    """short: nodes of the shortest run that is stepped before the constraints are solved; all nodes come after it."""
    monkeypatch.setattr("arlequin.schemes.central_bulk._SHORT", short)
    assembly = assemble(SYSTEMS[name]())
    stepper, general = BulkCentralStepper(assembly, 2e-7), CentralStepper(assembly, 2e-7)
    free = sum(np.diff(runs).sum() for runs, _ in stepper._spans)
    assert (free > 0) == (short == 1)
    start = start_fields(assembly, 2e-7, False)
    whole, seen = stepper.advance(stepper.start(*start), 20)
    state, batches = one_by_one(general, general.start(*start), 20)
    for field in ("u", "v", "internal"):
        expected = getattr(state, field)
        np.testing.assert_allclose(getattr(whole, field), expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())
    works, multipliers = (np.array([getattr(batch, name)[0] for batch in batches]) for name in ("works", "multipliers"))
    np.testing.assert_allclose(seen.works, works, rtol=0.0, atol=1e-11 * np.abs(works).max())
    np.testing.assert_allclose(seen.multipliers, multipliers, rtol=0.0, atol=1e-9 * np.abs(multipliers).max())
    # and from there on, by either
    for other in (stepper.advance(whole, 5), one_by_one(general, whole, 5)):
        expected = one_by_one(general, state, 5)[0]
        np.testing.assert_allclose(other[0].u, expected.u, rtol=0.0, atol=1e-11 * np.abs(expected.u).max())


@pytest.mark.parametrize("name", SYSTEMS)
def test_equal_bits_of_any_batches_on_any_number_of_threads(name, monkeypatch):
    monkeypatch.setattr("arlequin.schemes.central_bulk._SHORT", 1)
    assembly = assemble(SYSTEMS[name]())
    stepper = CENTRAL.prepare(assembly, 2e-7)
    start = stepper.start(*start_fields(assembly, 2e-7, False))
    whole, seen = stepper.advance(start, 12)
    for threads in (1, 3):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, threads=threads: set(range(threads)), raising=False)
        state, batches = one_by_one(stepper, start, 12)
        assert state.u.tobytes() == whole.u.tobytes() and state.v.tobytes() == whole.v.tobytes()
        assert np.concatenate([batch.works for batch in batches])[:, 1:].tobytes() == seen.works[:, 1:].tobytes()
        assert np.concatenate([batch.multipliers for batch in batches]).tobytes() == seen.multipliers.tobytes()


@pytest.mark.kernels(slow=True)
def test_steps_with_a_compiled_solution_of_the_constraints(monkeypatch):
    """Those with CHOLMOD's, and equal bits on any number of threads; 1,701 constraints."""
    monkeypatch.setattr("arlequin.models.linalg.supernodal._MIN_ENTRIES", 1)
    side = (0.0, 0.1)
    parts = [
        aq.Solid(name, aq.mesh.box((x, x + 0.1), side, side, cells=(n,) * 3), STEEL, mass="lumped")
        for name, x, n in (("coarse", 0.0, 8), ("fine", 0.025, 9))
    ]
    assembly = assemble(thrown(parts))
    start = start_fields(assembly, 2e-7, False)

    def run():
        stepper = CENTRAL.prepare(assembly, 2e-7)
        return stepper.advance(stepper.start(*start), 10)

    state, seen = run()
    for threads in (1, 3):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, threads=threads: set(range(threads)), raising=False)
        again, batch = run()
        assert again.v.tobytes() == state.v.tobytes() and batch.multipliers.tobytes() == seen.multipliers.tobytes()
    monkeypatch.setattr("arlequin.models.linalg.components.SupernodalSolver.of", lambda _: None)
    other, expected = run()
    np.testing.assert_allclose(state.v, other.v, rtol=0.0, atol=1e-12 * np.abs(other.v).max())
    np.testing.assert_allclose(seen.works, expected.works, rtol=0.0, atol=1e-12 * np.abs(expected.works).max())
    assert (
        np.abs(seen.constraint_rates).max()
        <= 1e-12 * np.abs(assembly.constraints).sum(axis=1).max() * np.abs(state.v).max()
    )


@pytest.mark.kernels
@pytest.mark.parametrize("name", SYSTEMS)
def test_rows_are_those_of_the_matrix(name):
    C = assemble(SYSTEMS[name]()).constraints
    rows, rng = FieldRows.of(C), np.random.default_rng(1)
    assert rows.components == {"space": 3, "bars": 1}.get(name, 2)
    x, force = rng.normal(size=C.shape[1]), rng.normal(size=C.shape[0])
    np.testing.assert_allclose(rows.product(x), C @ x, rtol=0.0, atol=1e-14 * np.abs(C @ x).max())
    out = np.zeros(C.shape[1])
    rows.write_transposed(force, out)
    np.testing.assert_allclose(out, C.T @ force, rtol=0.0, atol=1e-14 * np.abs(out).max())
    y = rng.normal(size=C.shape[1])
    both = rows.products(x, y)
    assert both[0].tobytes() == rows.product(x).tobytes() and both[1].tobytes() == rows.product(y).tobytes()
    cut, pieced = rows.components * (C.shape[1] // rows.components // 3), np.zeros(C.shape[1])
    for at in (slice(0, cut), slice(cut, C.shape[1])):
        rows.write_transposed(force, pieced, at)
    assert pieced.tobytes() == out.tobytes()
    assert not out[~rows.touched].any() and rows.touched.sum() == rows.components * rows.places.size
    other = C.copy()
    other.data[0] *= 1.0 + 1e-15
    assert FieldRows.of(other).components == 1


def test_a_motion_that_is_not_finite_is_refused():
    parts = plates()
    load = {"right": lambda x, t: np.stack([np.full(x.shape[1], 1e308 if t > 1e-6 else 0.0), 0.0 * x[0]])}
    parts[1] = replace(parts[1], tractions=load)
    with pytest.raises(aq.UserError, match=r"no longer finite at t = 1\.\d+e-06 s"), np.errstate(all="ignore"):
        aq.simulate(thrown(parts), CENTRAL, duration=4e-6, step=2e-7, fields_every=100)
