"""Finite rotations in time: energy and momenta, a pendulum, small strains, contact, junctions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ellipk

import arlequin as aq
from arlequin.energy import KINDS
from arlequin.models.part import Surface
from arlequin.run.audit import Audit
from arlequin.solvers.initial_state import start_fields
from arlequin.system.assembly import Assembly, assemble

SOFT = aq.LinearElastic(young=2.0, poisson=0.3, density=1.5)
GRAVITY = 9.81


def block(
    name: str = "block", low: Any = (0.0, 0.0), high: Any = (1.0, 0.8), cells: Any = (3, 2), **options: Any
) -> Any:
    """A finite solid of quadrilaterals, or of hexahedra."""
    given = {"kinematics": "finite", "plane": "strain", **options}
    material = given.pop("material", SOFT)
    if len(low) == 3:
        given["plane"] = None
        shape = aq.mesh.box(*zip(low, high, strict=True), cells=cells)
    else:
        shape = aq.mesh.rectangle(*zip(low, high, strict=True), cells=cells)
    return aq.Solid(name, shape, material, **given)


def stretched(size: float) -> Any:
    """x → displacement: stretched along the last axes."""
    return lambda x: size * x * np.arange(1, x.shape[1] + 1) / x.shape[1]


def bent(size: float) -> Any:
    """x → displacement: stretched along x and bent towards −y."""
    return lambda x: size * np.stack([x[:, 0], -(x[:, 0] ** 2)], axis=1)


def spinning(rate: float, stretch: float = 0.0, drift: float = 0.3) -> Any:
    """x → velocity of a body, stretched as above, that spins in its first two axes and flies."""

    def velocity(x: Any) -> Any:
        now = x + stretched(stretch)(x)
        out = np.full_like(x, drift)
        out[:, 0] -= rate * now[:, 1]
        out[:, 1] += rate * now[:, 0]
        return out

    return velocity


def momenta(assembly: Assembly, state: Any) -> Any:
    """Linear and angular momentum of all parts about the origin."""
    axes = assembly.system.parts[0].components
    reference = np.concatenate([part.positions for part in assembly.system.parts])
    p = (assembly.mass @ state.v).reshape(-1, axes)
    moment = (reference + state.u.reshape(-1, axes)).T @ p
    return np.array([*p.sum(axis=0), *(moment - moment.T)[np.triu_indices(axes, 1)]])


class Run:
    """Steps of a system, with what they violate."""

    def __init__(self, system: aq.System, scheme: Any, step: float, steps: int) -> None:
        self.assembly = assemble(system)
        self.stepper = scheme.prepare(self.assembly, step)
        self.states = [self.stepper.start(*start_fields(self.assembly, step))]
        start = self.states[0]
        audit = Audit(start.kinetic, *start.stored)
        self.batches: list[Any] = []
        self.energies = [audit.start]
        for _ in range(steps):
            state, batch = self.stepper.advance(self.states[-1])
            table, _ = audit.add(batch.works)
            self.states.append(state)
            self.batches.append(batch)
            self.energies.append(table[0])
        self.balance = float(np.abs(audit.balance).max())
        self.momenta = np.array([momenta(self.assembly, state) for state in self.states])

    @property
    def drift(self) -> float:
        """Largest change of the momenta, relative to the largest of them."""
        return float(np.abs(self.momenta - self.momenta[0]).max() / np.abs(self.momenta).max())

    def energy(self, *kinds: str) -> Any:
        """Sum of energies or works over the steps, relative to the largest of all."""
        table = np.array(self.energies)
        return table[:, [KINDS.index(kind) for kind in kinds]].sum(axis=1) / table.max()

    @property
    def newton(self) -> float:
        """Mean number of passes of a step."""
        return float(np.mean([int(batch.newton[0]) for batch in self.batches]))


BODIES = {
    "quad": lambda **options: block(**options),
    "stress tri 2": lambda **options: replace(
        block(cells=(2, 1), plane="stress", **options), mesh=aq.mesh.rectangle((0, 1), (0, 0.8), (2, 1), "tri"), order=2
    ),
    "hex": lambda **options: block(low=(0, 0, 0), high=(1, 0.8, 0.5), cells=(2, 2, 1), **options),
}


CONSERVING = {"midpoint": aq.Midpoint(), "theta": aq.Theta(0.5)}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("kind", "scheme"),
    [
        pytest.param(kind, scheme, id=f"{kind}-{name}", marks=() if i % 2 == j else pytest.mark.slow)
        for i, kind in enumerate(BODIES)
        for j, (name, scheme) in enumerate(CONSERVING.items())
    ],
)
def test_a_stretched_block_that_spins_freely(kind: str, scheme: Any) -> None:
    """Energy and both momenta are kept, at strains of 0.2 and 0.1 rad a step."""
    system = aq.System([BODIES[kind]()], displacement=stretched(0.2), velocity=spinning(2.0, 0.2))
    run = Run(system, scheme, step=0.05, steps=60)
    total = run.energy("kinetic", "strain")
    assert np.abs(total - total[0]).max() <= 1e-12
    assert run.drift <= 1e-12
    assert np.abs(run.energy("scheme")).max() <= 1e-12 and run.balance <= 1e-12
    assert np.ptp(run.energy("strain")) > 0.01 and run.newton < 20


def test_a_block_that_turns_half_a_radian_a_step() -> None:
    system = aq.System([block()], displacement=stretched(0.2), velocity=spinning(2.0, 0.2))
    run = Run(system, aq.Midpoint(), step=0.25, steps=20)
    total = run.energy("kinetic", "strain")
    assert np.abs(total - total[0]).max() <= 1e-12 and run.drift <= 1e-12


def test_a_viscous_block_loses_only_what_damping_takes() -> None:
    """The Kelvin–Voigt stress takes the vibration, and keeps the momenta; the mass term takes both."""
    part = block(damping=aq.Rayleigh(stiffness=0.2))
    system = aq.System([part], displacement=stretched(0.2), velocity=spinning(1.0, 0.2))
    run = Run(system, aq.Midpoint(), step=0.1, steps=60)
    lost = run.energy("damping")
    assert np.all(np.diff(lost) >= 0.0) and lost[-1] > 1e-2
    total = run.energy("kinetic", "strain", "damping")
    assert np.abs(total - total[0]).max() <= 1e-12 and run.drift <= 1e-12
    assert np.abs(run.energy("scheme")).max() <= 1e-12 and run.balance <= 1e-12
    # rigid in the end: it spins on with what its momentum asks for, and loses no more
    assert lost[-1] - lost[-11] < 1e-3 * lost[-1]
    heavy = replace(part, damping=aq.Rayleigh(mass=0.5, stiffness=0.2))
    run = Run(replace(system, parts=[heavy]), aq.Midpoint(), step=0.1, steps=20)
    # p' = −a p, exactly so for the midpoint rule
    factor = ((1 - 0.025) / (1 + 0.025)) ** 20
    assert run.momenta[-1][:2] == pytest.approx(factor * run.momenta[0][:2], rel=1e-12)
    assert run.balance <= 1e-12


def corner(part: Any) -> Surface:
    """The node at the origin, as a boundary."""
    node = np.flatnonzero(~part.positions.any(axis=1))
    return Surface(part, "corner", node, np.ones(1), np.zeros((1, 2)), np.zeros((0, 2), dtype=np.int64))


def angle_of_a_pendulum(quarter: int) -> tuple[float, float, Any]:
    """Angle from the vertical after a quarter of the period, in so many steps; it starts at 1.5 rad, at rest."""
    a, b, start = 0.4, 0.3, 1.5
    stiff = aq.LinearElastic(young=1e9, poisson=0.3, density=1000.0)
    part = block(high=(a, b), cells=(2, 2), material=stiff)
    hinge = [aq.Relation(f"hinge {axis}", [(corner(part), axis, 1.0)]) for axis in "xy"]
    middle, direction = np.hypot(a, b) / 2, np.arctan2(b, a) - start
    gravity = (GRAVITY * np.cos(direction), GRAVITY * np.sin(direction))
    period = 4 * np.sqrt((a**2 + b**2) / 3 / (GRAVITY * middle)) * ellipk(np.sin(start / 2) ** 2)
    run = Run(aq.System([part], relations=hinge, gravity=gravity), aq.Midpoint(), period / 4 / quarter, quarter)
    far = np.argmax(part.positions.sum(axis=1))
    x = part.positions[far] + run.states[-1].u.reshape(-1, 2)[far]
    return float(np.arctan2(x[1], x[0]) - direction), period, run


def test_a_stiff_block_hinged_at_a_corner_is_the_compound_pendulum() -> None:
    """The period at large angles by the elliptic integral, of order 2 in the step."""
    angles = [abs(angle_of_a_pendulum(count)[0]) for count in (10, 20, 40)]
    orders = np.log2(np.array(angles[:-1]) / angles[1:])
    assert angles[-1] < 1e-3 and np.all(np.abs(orders - 2) < 0.1), (angles, orders)
    run = angle_of_a_pendulum(20)[2]
    assert run.balance <= 1e-10 and np.abs(run.energy("scheme")).max() <= 1e-10


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "scheme",
    [aq.Midpoint(), *(pytest.param(aq.Theta(theta), marks=pytest.mark.slow) for theta in (0.5, 1.0)), aq.Theta(0.7)],
)
def test_small_motions_are_those_of_the_linear_part(scheme: Any) -> None:
    """The difference falls as the square of the amplitude, for every θ, damping of both kinds and a spring."""
    part = block(imposed={"left": {"x": 0.0, "y": 0.0}}, damping=aq.Rayleigh(mass=0.1, stiffness=0.1))
    differences = []
    for size in (1e-3, 1e-4):
        ends = []
        for own in (part, replace(part, kinematics="small")):
            spring = aq.Spring("hold", own.boundary("right"), None, stiffness=0.3, damping=0.1)
            system = aq.System([own], springs=[spring], displacement=bent(size))
            ends.append(Run(system, scheme, 0.2, 20))
        finite, small = (run.states[-1].u for run in ends)
        differences.append(np.abs(finite - small).max())
        assert ends[0].balance <= 1e-10
        assert ends[0].energy("damping")[-1] == pytest.approx(ends[1].energy("damping")[-1], rel=3 * size)
        assert ends[0].energy("scheme")[-1] == pytest.approx(ends[1].energy("scheme")[-1], rel=3 * size, abs=1e-12)
    assert differences[0] < 1e-6 and 80 < differences[0] / differences[1] < 120


def test_the_theta_scheme_only_takes_energy_beyond_a_half() -> None:
    system = aq.System([block()], displacement=stretched(0.2), velocity=spinning(1.0, 0.2))
    run = Run(system, aq.Theta(0.8), step=0.1, steps=60)
    lost = run.energy("scheme")
    assert np.all(np.diff(lost) >= 0.0) and lost[-1] > 0.01
    assert run.balance <= 1e-12


def test_parts_of_finite_rotations_are_refused_where_they_would_be_linear() -> None:
    system = aq.System([block("plate", mass="lumped")])
    line = (
        r"^part 'plate' has finite rotations, which {} does not step: take Theta, Midpoint or, without inertia, Static$"
    )
    with pytest.raises(aq.UserError, match=line.format("Multirate")):
        aq.simulate(system, aq.Multirate(2), duration=1.0, step=1e-3)
    with pytest.raises(aq.UserError, match=r'^mass="redistributed" is for parts of small rotations'):
        plate = block(mass="redistributed")
        floor = aq.RigidPlane(point=(0.0, -0.1), normal=(0.0, 1.0))
        touch = aq.Interface("floor", plate.boundary("bottom"), floor, aq.Unilateral())
        aq.simulate(aq.System([plate], interfaces=[touch]), aq.Theta(), duration=1.0, step=0.1)


def moment(x: Any, f: Any) -> Any:
    """Σ x × f of positions and forces (n, axis), as a vector."""
    m = x.T @ f
    return (m - m.T)[np.triu_indices(x.shape[1], 1)]


def check_contact(run: Run) -> None:
    """Momenta change by the contact impulses and their moments alone, friction only takes; the balance closes."""
    assembly = run.assembly
    axes = assembly.system.parts[0].components
    reference = np.concatenate([part.positions for part in assembly.system.parts])
    size = np.abs(run.momenta).max()
    for n in range(len(run.batches)):
        u = 0.5 * (run.states[n].u + run.states[n + 1].u)
        kinematics = assembly.contact.kinematics(assembly.contact.basis_product(u))
        # on the middle of the step, where neither those of the step nor those on the end velocity have a moment
        pushed = kinematics.generalised_force(run.states[n + 1].impulse).reshape(-1, axes)
        middle = reference + u.reshape(-1, axes)
        change = np.array([*pushed.sum(axis=0), *moment(middle, pushed)])
        assert np.abs(run.momenta[n + 1] - run.momenta[n] - change).max() <= 1e-12 * size
    assert sum(bool(batch.contact.spread.any()) for batch in run.batches) >= 5
    assert np.all(np.diff(run.energy("friction")) >= 0.0)
    assert run.balance <= 1e-10 and np.abs(run.energy("scheme")).max() <= 1e-12


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("kind", "friction", "scheme"),
    [
        pytest.param(
            kind, friction, scheme, id=f"{kind}-{friction}-{name}", marks=() if i ^ j == k else pytest.mark.slow
        )
        for i, kind in enumerate(("quad", "hex"))
        for j, friction in enumerate((0.0, 0.4))
        for k, (name, scheme) in enumerate(CONSERVING.items())
    ],
)
def test_a_spinning_block_that_bounces(kind: str, friction: float, scheme: Any) -> None:
    part = BODIES[kind]()
    axes = part.components
    floor = aq.RigidPlane(point=(0.0, -0.2, 0.0)[:axes], normal=(0.0, 1.0, 0.0)[:axes])
    surfaces = ["bottom", "right"]
    interfaces = [
        aq.Interface(
            name, part.boundary(name), floor, aq.Unilateral(), friction=aq.Coulomb(friction) if friction else None
        )
        for name in surfaces
    ]
    fall = np.array([0.2, -0.4, 0.0][:axes])
    system = aq.System([part], interfaces=interfaces, velocity=lambda x: spinning(0.5, drift=0.0)(x) + fall)
    run = Run(system, scheme, step=0.04, steps=60)
    check_contact(run)
    assert run.momenta[-1][1] > 0.0  # it has left upwards
    assert (run.energy("friction")[-1] > 1e-3) == bool(friction)


def blocks(kind: str, multiplier: str, friction: float) -> aq.System:
    """A plate, and a block above it that falls on it with a spin; the meshes do not match."""
    if kind == "quad":
        low = block("low", (0.0, 0.0), (1.0, 0.4), (5, 2))
        high = block("high", (0.25, 0.42), (0.8, 0.8), (4, 3))
    else:
        low = block("low", (0.0, 0.0, 0.0), (1.0, 0.3, 0.8), (3, 1, 2))
        high = block("high", (0.25, 0.32, 0.2), (0.8, 0.7, 0.65), (2, 2, 2))
    touch = aq.Interface(
        "touch",
        high.boundary("bottom"),
        low.boundary("top"),
        aq.Unilateral(),
        friction=aq.Coulomb(friction) if friction else None,
        multiplier=multiplier,
    )
    axes = low.components
    velocity = {"high": lambda x: spinning(0.2, drift=0.0)(x) + np.array([0.3, -0.5, 0.1][:axes])}
    return aq.System([low, high], interfaces=[touch], velocity=velocity)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("kind", "multiplier", "friction"),
    [
        ("quad", "P1", 0.4),
        ("quad", "nodes", 0.0),
        ("hex", "P1", 0.0),
        ("hex", "nodes", 0.4),
        pytest.param("quad", "P1", 0.0, marks=pytest.mark.slow),
        pytest.param("quad", "nodes", 0.4, marks=pytest.mark.slow),
        pytest.param("hex", "P1", 0.4, marks=pytest.mark.slow),
        pytest.param("hex", "nodes", 0.0, marks=pytest.mark.slow),
    ],
)
def test_colliding_blocks_keep_both_momenta(kind: str, multiplier: str, friction: float) -> None:
    run = Run(blocks(kind, multiplier, friction), aq.Midpoint(), step=0.04, steps=40)
    check_contact(run)
    assert run.drift <= 1e-12
    assert np.ptp(run.energy("strain")) > 1e-3


def glued(**options: Any) -> tuple[Any, Any, Any]:
    coarse = block("coarse", (0.0, 0.0), (1.0, 0.4), (5, 2), **options)
    fine = block("fine", (0.6, 0.0), (1.6, 0.4), (10, 4), **options)
    return coarse, fine, aq.Junction(coarse, fine)


def test_glued_parts_that_spin_keep_energy_and_momenta() -> None:
    coarse, fine, junction = glued()
    system = aq.System([coarse, fine], [junction], displacement=stretched(0.1), velocity=spinning(1.0, 0.1))
    run = Run(system, aq.Midpoint(), step=0.05, steps=60)
    total = run.energy("kinetic", "strain")
    assert np.abs(total - total[0]).max() <= 1e-12 and run.drift <= 1e-12
    assert np.abs(run.energy("junction")).max() <= 1e-12 and run.balance <= 1e-12
    assert np.ptp(run.energy("strain")) > 1e-3
    apart = run.assembly.constraints @ run.states[-1].u
    assert np.abs(apart).max() <= 1e-12 * abs(run.assembly.constraints).sum(axis=1).max()


def test_every_tangent_is_factored_on_one_analysis() -> None:
    system = aq.System([block()], displacement=stretched(0.2), velocity=spinning(2.0, 0.2))
    run = Run(system, aq.Midpoint(), step=0.05, steps=8)
    whole = run.stepper._with(1)
    factor = whole._bulk.condensed.bordered.factor
    assert factor.analyses == 1
    # and so are those of steps in parts, and of whole ones after them
    state = run.states[-1]
    for stepper in (run.stepper._with(2), whole):
        stepper.advance(replace(state, n=state.n * (2 if stepper is not whole else 1)))
        assert stepper._bulk.condensed.bordered.factor is factor and factor.analyses == 1
