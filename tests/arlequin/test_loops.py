"""Steps in one compiled loop, on a sparse factor or of central differences, against the same steps one by one."""

from collections.abc import Callable
from dataclasses import fields, replace
from operator import attrgetter
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.schemes.central_loop import CentralLoopStepper
from arlequin.schemes.central_steps import CentralStepper
from arlequin.schemes.factored_loop import FactoredStepper, factored_stepper, suits_loop
from arlequin.schemes.loop_pairing import SurfacePairing
from arlequin.schemes.sparse_steps import OneStepStepper
from arlequin.schemes.stable_step import stable_step
from arlequin.solvers.initial_state import start_fields
from arlequin.system.assembly import Assembly, assemble
from arlequin.system.contact import Contact

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
FLOOR = aq.RigidPlane(point=(0.0, -2.1e-6), normal=(0.0, 1.0))
AT_SPEED = aq.Unilateral(level="velocity")
AT_GAP = aq.Unilateral("gap")
WEAR = aq.Archard(1e-11)  # wears off 1e-8 m in the runs here
LAYER = aq.Asperities(stiffness=1e15, exponent=1.5, height=1e-5)


def block(name: str = "block", x: Any = (0.0, 0.02), cells: Any = (6, 3), **own: Any) -> aq.Solid:
    mesh = aq.mesh.rectangle(x, (0.0, 0.01), cells=cells)
    return aq.Solid(name, mesh, STEEL, plane="strain", **own)


def on_floor(part: aq.Solid, law: Any = AT_SPEED, friction: Any = None, wear: Any = None, **own: Any) -> aq.System:
    rub = aq.Interface("rub", part.boundary("bottom"), FLOOR, law, friction=friction, wear=wear)
    return aq.System([part], interfaces=[rub], velocity=(3.0, -5.0), **own)


def glued(law: Any = AT_GAP, of_fine: Any = MappingProxyType({}), **own: Any) -> aq.System:
    """A junction, and springs with dashpots beside the solids."""
    coarse, fine = block("coarse", (0.0, 0.012), (3, 2), **own), block("fine", (0.008, 0.02), (6, 4), **own, **of_fine)
    glue = aq.Junction(coarse, fine, weights=aq.weights.Linear(), coupling=aq.L2(), mediator="coarse")
    rub = aq.Interface("rub", fine.boundary("bottom"), FLOOR, law, friction=aq.Coulomb(0.3))
    held = aq.Spring("held", coarse.boundary("left"), stiffness=(1e7, 2e7), damping=(1e2, 1e2))
    return aq.System([coarse, fine], junctions=[glue], interfaces=[rub], springs=[held], velocity=(3.0, -5.0))


def absorbing() -> aq.System:
    """A junction that absorbs what the coarse mesh, of reduced dispersion, cannot carry."""
    coarse, fine = block("coarse", (0.0, 0.012), (3, 2), mass="dispersion"), block("fine", (0.008, 0.02), (6, 4))
    glue = aq.Junction(coarse, fine, weights=aq.weights.Linear(), coupling=aq.L2(), mediator="coarse", absorbing=True)
    rub = aq.Interface("rub", fine.boundary("bottom"), FLOOR, AT_SPEED, friction=aq.Coulomb(0.3))
    return aq.System([coarse, fine], junctions=[glue], interfaces=[rub], velocity=(3.0, -5.0))


def imposed() -> aq.System:
    """A block whose top is moved, damping, a layer with friction springs."""
    moved = {"top": {"x": lambda t: 1e-5 * np.sin(2e5 * t), "y": lambda t: -5.0 * t}}
    part = block(imposed=moved, damping=aq.Rayleigh(1e3, 1e-9))
    return on_floor(part, [LAYER], aq.Coulomb(0.3, stiffness=5e12))


def loaded(**own: Any) -> aq.System:
    """A load that changes with time."""
    return on_floor(block(**own), friction=aq.Coulomb(0.2), gravity=lambda t: (0.0, -1e6 * (1.0 + np.sin(1e6 * t))))


def cells_of_two_kinds() -> aq.System:
    """Distorted triangles glued to quadrilaterals."""
    mesh = aq.mesh.rectangle((0.0, 0.012), (0.0, 0.01), cells=(3, 3), kind="tri")
    inner = np.all((mesh.p > 1e-9) & (mesh.p < np.array([[0.012], [0.01]]) - 1e-9), axis=0)
    places = np.where(inner, mesh.p + 3e-4 * np.sin(1e3 * mesh.p[::-1]), mesh.p)
    coarse = aq.Solid("coarse", replace(mesh, doflocs=places), STEEL, plane="stress")
    fine = aq.Solid("fine", aq.mesh.rectangle((0.004, 0.02), (0.0, 0.01), cells=(8, 3)), STEEL, plane="stress")
    rub = aq.Interface("rub", coarse.boundary("bottom"), FLOOR, AT_SPEED, friction=aq.Coulomb(0.3))
    return aq.System([coarse, fine], [aq.Junction(coarse, fine)], [rub], velocity=(3.0, -5.0))


def on_plane(kind: str, **own: Any) -> aq.System:
    """A box of hexahedra or tetrahedra on a plane."""
    mesh = aq.mesh.box((0.0, 0.02), (0.0, 0.01), (0.0, 0.01), cells=(4, 2, 2), kind=kind)
    part = aq.Solid("box", mesh, STEEL, **own)
    plane = aq.RigidPlane(point=(0.0, 0.0, -2e-6), normal=(0.0, 0.0, 1.0))
    rub = aq.Interface("rub", part.boundary("back"), plane, AT_SPEED, friction=aq.Coulomb(0.3))
    return aq.System([part], interfaces=[rub], velocity=(3.0, 1.0, -5.0))


def held_by_constraints() -> aq.System:
    """Bars end to end: the middle one is held by its junctions alone."""
    bars = [
        aq.Bar(f"bar {i}", aq.mesh.interval(a, b, cells=n), STEEL, section=1e-4)
        for i, (a, b, n) in enumerate([(0.0, 0.05, 10), (0.04, 0.1, 6)])
    ]
    glue = aq.Junction(*bars, weights=aq.weights.Linear(), coupling=aq.H1(length=0.005))
    wall = aq.RigidPlane(point=0.1 + 1e-6, normal=-1.0)
    wall = aq.Interface("wall", bars[1].boundary("right"), wall, aq.Unilateral())
    return aq.System(bars, junctions=[glue], interfaces=[wall], velocity=5.0)


def on_foundation(
    law: Any = AT_SPEED,
    friction: Any = None,
    multiplier: Any = None,
    wear: Any = None,
    foundation: Any = "consistent",
    **own: Any,
) -> aq.System:
    """A block that slides on another one, whose foot is held; one of its nodes passes one of this after five steps."""
    part = block(**own)
    mesh = aq.mesh.rectangle((-0.00999, 0.03001), (-0.01003, -2.1e-6), cells=(9, 2))
    held = {"bottom": {"x": 0.0, "y": 0.0}}
    base = aq.Solid("foundation", mesh, STEEL, plane="strain", imposed=held, mass=foundation)
    top, bottom = base.boundary("top"), part.boundary("bottom")
    rub = aq.Interface("rub", bottom, top, law, friction=friction, multiplier=multiplier, wear=wear)
    return aq.System([part, base], interfaces=[rub], velocity={"block": (10.0, -5.0)})


def glued_on_foundation(mass: Any = "consistent") -> aq.System:
    """A junction of parts of which one meets a foundation that moves and a wall, with damping."""
    coarse, fine = (block(*of, mass=mass) for of in (("coarse", (0.0, 0.012), (3, 2)), ("fine", (0.008, 0.02), (6, 4))))
    glue = aq.Junction(coarse, fine, weights=aq.weights.Linear(), coupling=aq.L2(), mediator="coarse")
    mesh = aq.mesh.rectangle((-0.00999, 0.03001), (-0.01003, -2.1e-6), cells=(9, 2))
    moved = {"bottom": {"x": lambda t: 1e-5 * np.sin(2e5 * t), "y": 0.0}}
    foundation = aq.Solid(
        "foundation", mesh, STEEL, plane="strain", imposed=moved, damping=aq.Rayleigh(1e3, 1e-10), mass=mass
    )  # fmt: skip
    top, bottom = foundation.boundary("top"), fine.boundary("bottom")
    rub = aq.Interface("rub", bottom, top, [LAYER, AT_SPEED], friction=aq.Coulomb(0.3))
    wall = aq.RigidPlane(point=(0.02 + 3.1e-6, 0.0), normal=(-1.0, 0.0))
    stop = aq.Interface("stop", fine.boundary("right"), wall, aq.Unilateral("gap"))
    velocity = {"coarse": (3.0, -5.0), "fine": (3.0, -5.0)}
    return aq.System([coarse, fine, foundation], junctions=[glue], interfaces=[rub, stop], velocity=velocity)


def on_cylinder(mass: Any = "consistent") -> aq.System:
    """A box of hexahedra slides on a rigid cylinder."""
    mesh = aq.mesh.box((0.0, 0.02), (0.0, 0.01), (0.0, 0.01), cells=(4, 2, 2))
    part = aq.Solid("box", mesh, STEEL, mass=mass)
    log = aq.RigidCylinder((0.009, 0.0, -0.05 - 2.1e-6), radius=0.05, axis=(0.0, 1.0, 0.0))
    rub = aq.Interface("rub", part.boundary("back"), log, AT_SPEED, friction=aq.Coulomb(0.3), multiplier="nodes")
    return aq.System([part], interfaces=[rub], velocity=(10.0, 1.0, -5.0))


def boxes(mass: Any = "consistent") -> aq.System:
    """A box of hexahedra slides on another one."""
    meshes = (
        aq.mesh.box((0.0, 0.02), (0.0, 0.01), (0.0, 0.01), cells=(4, 2, 2)),
        aq.mesh.box((-0.01, 0.03), (-0.005, 0.015), (-0.01003, -2.1e-6), cells=(5, 3, 1)),
    )
    upper, lower = (
        aq.Solid(name, mesh, STEEL, mass=mass) for name, mesh in zip(("upper", "lower"), meshes, strict=True)
    )
    rub = aq.Interface("rub", upper.boundary("back"), lower.boundary("front"), AT_SPEED, friction=aq.Coulomb(0.3))
    return aq.System([upper, lower], interfaces=[rub], velocity={"upper": (10.0, 4.0, -5.0)})


SYSTEMS: dict[str, Callable[[], aq.System]] = {
    "foundation": on_foundation,
    "foundation, friction": lambda: on_foundation(friction=aq.Coulomb(0.3)),
    "foundation, gap": lambda: on_foundation(aq.Unilateral("gap"), aq.Coulomb(0.3)),
    "foundation, nodes": lambda: on_foundation(friction=aq.Coulomb(0.3), multiplier="nodes"),
    "foundation, layer": lambda: on_foundation([LAYER], aq.Coulomb(0.3)),
    "foundation, wear": lambda: on_foundation(friction=aq.Coulomb(0.3), wear=WEAR),
    "foundation, layer and wear": lambda: on_foundation([LAYER, AT_SPEED], aq.Coulomb(0.3), wear=WEAR),
    "wear": lambda: on_floor(block(), friction=aq.Coulomb(0.3), wear=WEAR),
    "wear, gap": lambda: on_floor(block(), aq.Unilateral("gap"), aq.Coulomb(0.3), WEAR),
    "wear, layer with friction springs": lambda: on_floor(block(), [LAYER], aq.Coulomb(0.3, stiffness=5e12), WEAR),
    "foundation, lumped mass": lambda: on_foundation(friction=aq.Coulomb(0.3), mass="lumped"),
    "foundation, junction and wall": glued_on_foundation,
    "cylinder": on_cylinder,
    "boxes": boxes,
    "held": lambda: aq.System([block(imposed={"left": {"x": 0.0}})], velocity=(1.0, 0.0)),
    "contact": lambda: on_floor(block()),
    "friction": lambda: on_floor(block(), friction=aq.Coulomb(0.3)),
    "friction of the slip rate": lambda: on_floor(block(), friction=aq.Stribeck(0.5, 0.2, 1.0)),
    "layer and multiplier": lambda: on_floor(block(), [LAYER, AT_SPEED]),
    "junction and springs": glued,
    "imposed motion, damping, friction springs": imposed,
    "load": loaded,
    "bars": held_by_constraints,
    "dispersion": lambda: on_floor(block(mass="dispersion"), friction=aq.Coulomb(0.3)),
    "absorbing junction": absorbing,
    "triangles and quadrilaterals": cells_of_two_kinds,
    "hexahedra": lambda: on_plane("hex"),
    "hexahedra, dispersion": lambda: on_plane("hex", mass="dispersion"),
    "tetrahedra": lambda: on_plane("tet"),
    "lumped mass": lambda: on_floor(block(mass="lumped"), friction=aq.Coulomb(0.3)),
}
SCHEMES = {
    "theta 0.5": aq.Theta(0.5),
    "theta 0.8": aq.Theta(0.8),
    "Newmark": aq.Newmark(),
    "HHT": aq.HHT(alpha=-0.1),
    "generalised alpha": aq.GeneralisedAlpha.with_radius(0.7),
}


def taken(stepper: Any, start: Any, steps: int) -> tuple[Any, list[Any]]:
    """The state after so many steps, and the batches of these."""
    state, batches = stepper.start(*start), []
    while state.n < steps:
        state, batch = stepper.advance(state, steps - state.n)
        batches.append(batch)
    return state, batches


def compare(found: Any, expected: Any, size: float, name: str) -> None:
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=2e-11 * size, err_msg=name)


def largest(values: Any) -> float:
    return float(np.abs(values).max(initial=0.0))


def compare_steps(loop: Any, single: Any, assembly: Assembly, start: tuple[Any, Any], count: int) -> None:
    """Compares states and all that is recorded of `count` steps: to 2e-11 of each field, statuses as they are."""
    (end, found), (last, expected) = taken(loop, start, count), taken(single, start, count)
    for name in ("u", "v", "internal", "impulse"):
        wanted = getattr(last, name)
        compare(getattr(end, name), wanted, largest(wanted), name)
    forces, rows = largest(last.internal), largest(np.abs(assembly.constraints).sum(axis=1))
    round_off = {"constraint_sum": rows * largest(last.v)}  # of terms that cancel
    for field in fields(last.scheme_state):
        wanted = getattr(last.scheme_state, field.name)
        if wanted is None:
            continue
        of_force = field.name not in ("momentum", "constraint_sum", "lead", "half", "lift", "a")
        size = round_off.get(field.name, max(forces if of_force else 0.0, largest(wanted)))
        compare(getattr(end.scheme_state, field.name), wanted, size, field.name)

    def joined(path: str) -> tuple[Any, Any]:
        of = attrgetter(path)
        whole = [np.concatenate([np.asarray(of(batch)) for batch in batches]) for batches in (found, expected)]
        return whole[0], whole[1]

    both = joined("works")
    compare(*both, largest(both[1]), "works")
    assert not assembly.contact_count or largest(joined("contact.normal")[1]) > 0.0
    paths = [f"contact.{field.name}" for field in fields(expected[0].contact)]
    for path in (*paths, "gaps", "multipliers", "reactions", "friction_state", "spring_traction", "worn"):
        if attrgetter(path)(expected[0]) is not None:
            both = joined(path)
            if both[1].dtype == float:
                compare(*both, largest(both[1]), path)
            else:
                assert np.array_equal(*both)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("system", SYSTEMS)
def test_steps_are_those_taken_one_by_one(system: str, scheme: str) -> None:
    step = 2e-7
    assembly = assemble(SYSTEMS[system]())
    assert suits_loop(assembly)
    row, start = SCHEMES[scheme].coefficients(step), start_fields(assembly, step)
    loop, single = factored_stepper(assembly, row, "direct"), OneStepStepper(assembly, row)
    assert isinstance(loop, FactoredStepper)
    compare_steps(loop, single, assembly, start, 60)


@pytest.mark.parametrize("kind", ["quad", "tri"])
def test_a_turning_block_keeps_its_energy(kind: str) -> None:
    """The strain of a small rotation that has become large leaves the round-off of the rotation, not that of the
    displacement over the cells."""
    mesh = aq.mesh.rectangle((0.0, 0.02), (0.0, 0.01), cells=(6, 3), kind=kind)
    part = aq.Solid("block", mesh, STEEL, plane="strain")
    system = aq.System([part], velocity=lambda x: 300.0 * np.stack([-x[:, 1], x[:, 0]], axis=1))
    assert suits_loop(assemble(system))
    stepper = factored_stepper(assemble(system), SCHEMES["theta 0.5"].coefficients(1e-5), "direct")
    _, batches = taken(stepper, start_fields(assemble(system), 1e-5), 10_000)  # 30 times its size
    works = np.concatenate([batch.works for batch in batches])
    energy = works[:, 0] + works[:, 1]
    assert np.abs(energy - energy[0]).max() < 1e-12 * energy[0]


@pytest.mark.parametrize("plane", ["strain", "axisymmetric"])
def test_cells_without_tables_are_stepped_one_by_one(plane: Any) -> None:
    part = aq.Solid("block", aq.mesh.rectangle((0.0, 0.02), (0.0, 0.01), cells=(6, 3)), STEEL, plane=plane)
    assert suits_loop(assemble(aq.System([part]))) == (plane == "strain")


def test_rows_that_outgrow_their_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop ends and goes on with more room, to the same bits."""
    assembly, row = assemble(on_foundation(friction=aq.Coulomb(0.3))), SCHEMES["theta 0.5"].coefficients(2e-7)
    start = start_fields(assembly, 2e-7)
    expected, _ = taken(factored_stepper(assembly, row, "direct"), start, 40)
    make_room, asked = SurfacePairing._allocate_rows, []

    def narrow(self: SurfacePairing, entries: int) -> None:
        asked.append(entries)
        make_room(self, entries if len(asked) > 1 else 5)

    monkeypatch.setattr(SurfacePairing, "_allocate_rows", narrow)
    found, _ = taken(factored_stepper(assembly, row, "direct"), start, 40)
    assert len(asked) > 1
    assert np.array_equal(found.u, expected.u)
    assert np.array_equal(found.v, expected.v)


@pytest.mark.parametrize("error", [KeyboardInterrupt, aq.UserError])
def test_what_the_pairing_raises_ends_the_run(error: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the steps before it."""
    assembly, row = assemble(on_foundation()), SCHEMES["theta 0.5"].coefficients(2e-7)
    loop = factored_stepper(assembly, row, "direct")
    state = loop.start(*start_fields(assembly, 2e-7))
    pair, calls = Contact.kinematics, []

    def failing(self: Contact, *given: Any, **named: Any) -> Any:
        calls.append(given)
        if len(calls) == 9:
            raise error("here")
        return pair(self, *given, **named)

    monkeypatch.setattr(Contact, "kinematics", failing)
    state, batch = loop.advance(state, 40)
    assert 0 < len(batch) < 9
    with pytest.raises(error, match="here"):
        loop.advance(state, 40)
    assert len(calls) == 9


def test_a_run_goes_on_after_the_pairing_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever in a step it failed, to the same bits: at the start, between two passes, at the end."""
    assembly, row = assemble(on_foundation(friction=aq.Coulomb(0.3), wear=WEAR)), SCHEMES["HHT"].coefficients(2e-7)
    loop, pair, calls = factored_stepper(assembly, row, "direct"), Contact.kinematics, []

    def run(failing_call: int) -> Any:
        def failing(self: Contact, *given: Any, **named: Any) -> Any:
            calls.append(given)
            if len(calls) == failing_call:
                raise KeyboardInterrupt
            return pair(self, *given, **named)

        state = loop.start(*start_fields(assembly, 2e-7))
        calls.clear()
        monkeypatch.setattr(Contact, "kinematics", failing)
        while state.n < 12:
            try:
                state, _ = loop.advance(state, 12 - state.n)
            except KeyboardInterrupt:
                assert len(calls) == failing_call
        return state

    expected = run(0)
    assert expected.contact_flags is not None
    assert expected.contact_flags.any()
    assert len(calls) > 30  # three a step
    for failing_call in range(1, len(calls) + 1):
        found = run(failing_call)
        for name in ("u", "v", "impulse", "internal", "history", "contact_flags", "worn.depth"):
            assert np.array_equal(attrgetter(name)(found), attrgetter(name)(expected)), name
        for field in fields(expected.scheme_state):
            assert np.array_equal(
                getattr(found.scheme_state, field.name), getattr(expected.scheme_state, field.name)
            ), field.name


def test_steps_of_one_run_in_blocks_of_any_length() -> None:
    """To the same bits: what a block starts from is in the state."""
    assembly, row = assemble(on_foundation(friction=aq.Coulomb(0.3))), SCHEMES["Newmark"].coefficients(2e-7)
    loop = factored_stepper(assembly, row, "direct")
    start = loop.start(*start_fields(assembly, 2e-7))
    whole, _ = loop.advance(start, 40)
    state = start
    for count in (1, 2, 30, 7):
        state, _ = loop.advance(state, count)
    for name in ("u", "v", "impulse", "internal"):
        assert np.array_equal(getattr(state, name), getattr(whole, name))


RUBS = aq.Coulomb(0.3)
PULLED: Any = {"right": {"x": lambda t: 3.0 * t, "y": 0.0}}


def lumped(**own: Any) -> aq.Solid:
    return block(mass="lumped", **own)


def moved_top() -> aq.System:
    """A block whose top is moved, sideways by a displacement and downwards at a speed, with damping."""
    moved, pushed = {"top": {"x": lambda t: 1e-5 * np.sin(2e5 * t)}}, {"top": {"y": lambda t: -5.0 - 1e5 * t}}
    return on_floor(
        lumped(imposed=moved, imposed_velocity=pushed, damping=aq.Rayleigh(1e3, 1e-10)), [LAYER, AT_SPEED], RUBS
    )


def chain() -> aq.System:
    """Two masses on springs, of which the second meets a stop."""
    masses = aq.PointMasses("masses", [[0.0], [1.0]], 1.0, names={"first": 0, "last": 1})  # m, kg
    first, last = masses.boundary("first"), masses.boundary("last")
    springs = [aq.Spring("held", first, stiffness=1e3, damping=2.0), aq.Spring("pair", first, last, stiffness=1e3)]
    stop = aq.Interface("stop", last, aq.RigidPlane(point=1.01, normal=-1.0), AT_SPEED)
    return aq.System([masses], interfaces=[stop], springs=springs, velocity=1.0)


CENTRAL: dict[str, Callable[[], aq.System]] = {
    "contact": lambda: on_floor(lumped()),
    "contact on the gap": lambda: on_floor(lumped(), aq.Unilateral("gap"), RUBS),
    "friction": lambda: on_floor(lumped(), friction=RUBS),
    "friction of the slip rate": lambda: on_floor(lumped(), friction=aq.Stribeck(0.5, 0.2, 1.0)),
    "layer": lambda: on_floor(lumped(), [LAYER], RUBS),
    "layer and multiplier": lambda: on_floor(lumped(), [LAYER, AT_SPEED]),
    "wear": lambda: on_floor(lumped(), friction=RUBS, wear=WEAR),
    "layer and wear": lambda: on_floor(lumped(), [LAYER, AT_SPEED], RUBS, WEAR),
    "load": lambda: loaded(mass="lumped"),
    "damping": lambda: on_floor(lumped(damping=aq.Rayleigh(1e3, 1e-10)), friction=RUBS),
    "imposed motions": moved_top,
    "junction and springs": lambda: glued([LAYER, AT_SPEED], mass="lumped"),
    "junction of an imposed part": lambda: glued(
        of_fine={"imposed": {"right": {"x": lambda t: 3.0 * t, "y": 0.0}}}, mass="lumped"
    ),
    "hexahedra": lambda: on_plane("hex", mass="lumped"),
    "tetrahedra": lambda: on_plane("tet", mass="lumped"),
    "masses": chain,
    "foundation": lambda: on_foundation(friction=RUBS, mass="lumped", foundation="lumped"),
    "foundation, gap": lambda: on_foundation(AT_GAP, RUBS, mass="lumped", foundation="lumped"),
    "foundation, nodes": lambda: on_foundation(friction=RUBS, multiplier="nodes", mass="lumped", foundation="lumped"),
    "foundation, layer": lambda: on_foundation([LAYER], RUBS, mass="lumped", foundation="lumped"),
    "foundation, layer and wear": lambda: on_foundation(
        [LAYER, AT_SPEED], RUBS, wear=WEAR, mass="lumped", foundation="lumped"
    ),
    "foundation, junction and wall": lambda: glued_on_foundation("lumped"),
    "cylinder": lambda: on_cylinder("lumped"),
    "boxes": lambda: boxes("lumped"),
}


COMPILED_OR_NOT = "layer and wear", "junction and springs", "foundation, layer"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "system", [pytest.param(name, marks=pytest.mark.kernels if name in COMPILED_OR_NOT else ()) for name in CENTRAL]
)
def test_central_differences_are_those_taken_one_by_one(system: str) -> None:
    assembly = assemble(CENTRAL[system]())
    step = min(0.5 * stable_step(assembly), 1e-2)
    loop, start = aq.CentralDifference().prepare(assembly, step), start_fields(assembly, step)
    assert isinstance(loop, CentralLoopStepper)
    compare_steps(loop, CentralStepper(assembly, step), assembly, start, 120)


def test_central_differences_in_blocks_of_any_length() -> None:
    """To the same bits: what a block starts from is in the state."""
    assembly = assemble(glued(mass="lumped"))
    step = 0.5 * stable_step(assembly)
    loop = CentralLoopStepper(assembly, step)
    start = loop.start(*start_fields(assembly, step))
    whole, _ = loop.advance(start, 60)
    state = start
    for count in (1, 2, 50, 7):
        state, _ = loop.advance(state, count)
    for name in ("u", "v", "impulse", "internal", "history"):
        assert np.array_equal(getattr(state, name), getattr(whole, name))


def test_sums_do_not_depend_on_where_arrays_are_in_memory() -> None:
    """Of so few degrees of freedom that arrays beside each other are nearer than what is added up at once."""
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=9), STEEL, section=1e-4, mass="lumped")
    wall = aq.Interface("wall", bar.boundary("right"), aq.RigidPlane(point=0.1, normal=-1.0), AT_SPEED)
    assembly = assemble(aq.System([bar], interfaces=[wall], velocity=1.0))
    step = 0.5 * stable_step(assembly)
    loop = CentralLoopStepper(assembly, step)
    start, rng, kept = loop.start(*start_fields(assembly, step)), np.random.default_rng(0), []
    _, expected = loop.advance(start, 30)
    for _ in range(100):
        kept.append(np.zeros(rng.integers(1, 60)))
        if len(kept) > 20:
            kept.pop(int(rng.integers(20)))
        _, found = loop.advance(start, 30)
        assert found.works.tobytes() == expected.works.tobytes()


def test_a_bar_on_a_wall_leaves_as_it_came() -> None:
    """At the Courant number 1 a linear bar moves as in the exact solution: it touches for 2L/c."""
    length, cells, speed = 1.0, 50, 1.0
    bar = aq.Bar("bar", aq.mesh.interval(0.0, length, cells=cells), STEEL, section=1e-4, mass="lumped")
    wall = aq.Interface("wall", bar.boundary("right"), aq.RigidPlane(point=length, normal=-1.0), AT_SPEED)
    step = 0.9999999 * length / cells / bar.wave_speed
    system = aq.System([bar], interfaces=[wall], velocity=speed)
    result = aq.simulate(system, aq.CentralDifference(), duration=150 * step, step=step, fields_every=150)
    force = np.abs(result["interface/wall"]["force"].values[:, 0])
    touches = force > 0.0
    assert abs(touches.sum() - 2 * cells) <= 1
    exact = 1e-4 * STEEL.density * bar.wave_speed * speed  # ρ A c v, N
    np.testing.assert_allclose(force[5 : 2 * cells - 5], exact, rtol=1e-4)
    assert float(abs(result["balance"]).max()) < 1e-12
