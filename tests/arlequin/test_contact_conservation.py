"""Free-flying collisions: momentum is kept, contact forces have no resultant and no moment, friction only takes."""

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.energy import KINDS
from arlequin.run.audit import Audit
from arlequin.schemes.loop_pairing import MovingPairing
from arlequin.solvers.initial_state import start_fields
from arlequin.solvers.velocity_projection import VelocityProjection
from arlequin.system.assembly import Assembly, assemble

SOFT = aq.LinearElastic(young=1e3, poisson=0.3, density=1.0)
MULTIPLIERS = ("nodes", "gauss", "P0", "P1")
SCHEMES = {
    "theta 0.5": aq.Theta(0.5),
    "theta 1": aq.Theta(1.0),
    "newmark": aq.Newmark(),
    "hht": aq.HHT(-0.1),
    "alpha": aq.GeneralisedAlpha.with_radius(0.8),
    "central": aq.CentralDifference(),
}
CONSERVING = ("theta 0.5", "newmark")
STEP = 4e-3  # s; explicit runs take less


@dataclass
class Flight:
    """What a run violates: drift of the linear momentum, relative to Σ m|v|; resultant and moment of the recorded
    contact impulses of each pair, relative to Σ|P| and Σ|P| × size, about the positions in the middle of the step,
    those of the velocity projection about the positions at its end; what the change of the parts' momenta lacks of the
    recorded impulses, relative to Σ m|v| (systems without constraints); the least work of friction in a step, and
    |balance| and |scheme|, relative to the largest energy. touching: steps with contact; slid: work of friction."""

    momentum: float = 0.0
    resultant: float = 0.0
    moment: float = 0.0
    recorded: float = 0.0
    friction: float = 0.0
    balance: float = 0.0
    scheme: float = 0.0
    touching: int = 0
    slid: float = 0.0

    def check(self, conserving: bool = False) -> None:
        assert self.touching >= 5
        assert self.momentum <= 1e-12
        assert self.resultant <= 1e-12
        assert self.moment <= 1e-12
        assert self.recorded <= 1e-12
        assert self.friction >= 0.0
        assert self.balance <= 1e-10
        if conserving:
            assert self.scheme <= 1e-12


def moment(positions: Any, forces: Any) -> float:
    """Norm of Σ x × f; positions, forces (n, a)."""
    if positions.shape[1] == 2:
        return abs(float((positions[:, 0] * forces[:, 1] - positions[:, 1] * forces[:, 0]).sum()))
    return float(np.linalg.norm(np.cross(positions, forces).sum(axis=0)))


LATE: list[Any] = []  # impulses (q,) at the ends of the steps since it was cleared


@pytest.fixture(autouse=True)
def _end_impulses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the impulses (q,) of the projections of the velocities, of steps one by one and of loops: they act at the
    end of a step, all others in its middle."""
    project, end_impulses = VelocityProjection.of, MovingPairing.end_impulses

    def of(self: Any, *args: Any) -> Any:
        found = project(self, *args)
        if found is not None:
            LATE.append(found.kinematics.apply_local_transposed(found.impulse))
        return found

    def of_steps(self: Any, *args: Any) -> Any:
        found = end_impulses(self, *args)
        LATE.extend(found.contact.spread)
        return found

    monkeypatch.setattr(VelocityProjection, "of", of)
    monkeypatch.setattr(MovingPairing, "end_impulses", of_steps)


def on_nodes(assembly: Assembly, spread: Any, axes: int) -> list[Any]:
    """Impulses (n, a) of each interface on all nodes, from those on the rows (q,) of the contact's basis."""
    contact = assembly.contact
    out = []
    for a, b in zip(contact.span[:-1], contact.span[1:], strict=True):
        own = np.zeros_like(spread)
        own[a:b] = spread[a:b]
        out.append((contact.basis.T @ own).reshape(-1, axes))
    return out


def fly(system: aq.System, scheme: Any, steps: int, step: float = STEP) -> Flight:
    """Steps a system without supports and loads."""
    assembly = assemble(system)
    stepper = scheme.prepare(assembly, step)
    state = stepper.start(*start_fields(assembly, step))
    audit = Audit(state.kinetic, *state.stored)
    axes = system.parts[0].positions.shape[1]
    reference = np.concatenate([part.positions for part in system.parts])
    size = float(np.ptp(reference, axis=0).max())
    middle = reference.mean(axis=0)

    def momentum(state: Any) -> Any:
        return (assembly.mass @ state.v).reshape(-1, axes)

    def of_parts(values: Any) -> Any:
        """Sums (part, a) over the nodes of each part."""
        ends = np.cumsum([len(part.positions) for part in system.parts])[:-1]
        return np.array([own.sum(axis=0) for own in np.split(values, ends)])

    # central differences keep velocities between the instants: a step's change mixes the impulses of two
    complete = not assembly.constraints.shape[0] and not isinstance(scheme, aq.CentralDifference)
    start = momentum(state)
    scale = np.abs(start).sum()
    out, largest = Flight(), state.kinetic
    for _ in range(steps):
        before = state
        LATE.clear()
        state, batch = stepper.advance(state)
        table, balance = audit.add(batch.works)
        out.balance = max(out.balance, abs(float(balance[0])))
        out.momentum = max(out.momentum, float(np.abs((momentum(state) - start).sum(axis=0)).max()) / scale)
        total = batch.contact.spread[0]
        late = sum(LATE, np.zeros_like(total))
        for spread, u in ((total - late, 0.5 * (before.u + state.u)), (late, state.u)):
            positions = reference + u.reshape(-1, axes) - middle
            for forces in on_nodes(assembly, spread, axes):
                amount = float(np.abs(forces).sum())
                if amount > 0.0:
                    out.resultant = max(out.resultant, float(np.abs(forces.sum(axis=0)).max()) / amount)
                    out.moment = max(out.moment, moment(positions, forces) / (amount * size))
        if complete:
            change = of_parts(momentum(state) - momentum(before))
            given = sum(of_parts(forces) for forces in on_nodes(assembly, total, axes))
            out.recorded = max(out.recorded, float(np.abs(change - given).max()) / scale)
        out.touching += bool((batch.contact.spread != 0.0).any())
        out.friction = min(out.friction, float(batch.work["friction"][0]) / largest)
        out.slid += float(batch.work["friction"][0])
        largest = max(largest, state.kinetic)
    out.scheme = abs(float(table[-1, KINDS.index("scheme")])) / largest
    return out


def turned(mesh: Any, angles: tuple[float, ...], above: float) -> Any:
    """The mesh turned about its middle (in 3D about z, then x) and moved so that it starts at the height `above`."""
    p = mesh.p - mesh.p.mean(axis=1, keepdims=True)
    for angle, (i, j) in zip(angles, ((0, 1), (1, 2)), strict=False):
        rotation = np.eye(len(p))
        rotation[[i, i, j, j], [i, j, i, j]] = np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)
        p = rotation @ p
    p += mesh.p.mean(axis=1, keepdims=True)
    p[1] += above - p[1].min()
    return replace(mesh, doflocs=p)


def blocks(kind: str, angle: float, mass: str) -> tuple[aq.Solid, aq.Solid]:
    """A plate, and a smaller turned block of another mesh closely above it."""
    if kind in ("tri", "quad"):
        low = aq.mesh.rectangle((0.0, 1.0), (0.0, 0.4), cells=(8, 3), kind=kind)
        high = turned(aq.mesh.rectangle((0.25, 0.8), (0.41, 0.8), cells=(5, 3), kind=kind), (angle,), 0.41)
        plane = "strain"
    else:
        low = aq.mesh.box((0.0, 1.0), (0.0, 0.3), (0.0, 0.8), cells=(4, 2, 3), kind=kind)
        block = aq.mesh.box((0.25, 0.8), (0.31, 0.7), (0.2, 0.65), cells=(3, 2, 2), kind=kind)
        high, plane = turned(block, (angle, 0.6 * angle), 0.31), None
    return aq.Solid("low", low, SOFT, plane=plane, mass=mass), aq.Solid("high", high, SOFT, plane=plane, mass=mass)


def collision(kind: str, multiplier: str, friction: float, scheme: str, angle: float = 0.15, law: Any = None) -> Flight:
    mass = "lumped" if scheme == "central" else "consistent"
    low, high = blocks(kind, angle, mass)
    interface = aq.Interface(
        "touch",
        high.boundary("bottom"),
        low.boundary("top"),
        law or aq.Unilateral(),
        friction=aq.Coulomb(friction) if friction else None,
        multiplier=multiplier,
    )
    axes = low.positions.shape[1]
    method = aq.ContactMethod(stabilised=multiplier == "gauss")  # more points than the displacements determine
    velocity = {"high": (0.8, -1.0, 0.5)[:axes]}
    system = aq.System([low, high], interfaces=[interface], velocity=velocity, contact=method)
    if scheme == "central":
        return fly(system, SCHEMES[scheme], steps=120, step=0.4 * STEP)
    return fly(system, SCHEMES[scheme], steps=60)


def is_conserving(scheme: str) -> bool:
    return scheme in CONSERVING


def in_turn(names: Any, count: int = 1) -> list[Any]:
    """Pairs of a name and a multiplier; `count` multipliers of each name, in turn, are quick, all others slow."""
    quick = {(i, (i + n) % len(MULTIPLIERS)) for i in range(len(names)) for n in range(count)}
    return [
        pytest.param(name, multiplier, marks=() if (i, m) in quick else pytest.mark.slow)
        for i, name in enumerate(names)
        for m, multiplier in enumerate(MULTIPLIERS)
    ]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("scheme", "multiplier"), in_turn(SCHEMES, 2))
def test_collision_of_plane_blocks(scheme: str, multiplier: str) -> None:
    kind = "tri" if multiplier in ("nodes", "P1") else "quad"
    flight = collision(kind, multiplier, 0.4, scheme)
    flight.check(is_conserving(scheme))
    assert flight.slid > 1e-3


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("bodies", "multiplier"), in_turn([("hex", "theta 0.5"), ("tet", "newmark"), ("tet", "central")], 2)
)
def test_collision_of_blocks_in_space(bodies: tuple[str, str], multiplier: str) -> None:
    kind, scheme = bodies
    flight = collision(kind, multiplier, 0.4, scheme)
    flight.check(is_conserving(scheme))
    assert flight.slid > 1e-3


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "multiplier"), in_turn(["tri", "quad", "tet"], 2))
def test_collision_without_friction(kind: str, multiplier: str) -> None:
    flight = collision(kind, multiplier, 0.0, "theta 0.5", angle=0.1)
    flight.check(conserving=True)
    assert flight.slid == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tri", "quad", "tet", "hex"])
@pytest.mark.parametrize("angle", [0.0, 0.05, 0.4])
def test_every_collision(kind: str, angle: float) -> None:
    for multiplier, friction, scheme in product(MULTIPLIERS, (0.0, 0.4), SCHEMES):
        collision(kind, multiplier, friction, scheme, angle).check(is_conserving(scheme))


def test_partners_that_change_back_and_forth_are_kept() -> None:
    """A node behind a fold of the master, as close to one facet as to the other: the pairing has no fixed point."""
    collision("tri", "nodes", 0.0, "theta 0.5").check(conserving=True)
    collision("hex", "nodes", 0.4, "newmark").check(conserving=True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("multiplier", ["P1", "nodes"])
@pytest.mark.parametrize("kind", ["quad", "tri", "hex"])
def test_redistributed_mass(kind: str, multiplier: str) -> None:
    low, high = blocks(kind, 0.15, "redistributed")
    friction, bottom = aq.Coulomb(0.4), high.boundary("bottom")
    touch = aq.Interface("touch", bottom, low.boundary("top"), aq.Unilateral(), friction, multiplier=multiplier)
    velocity = {"high": (0.8, -1.0, 0.5)[: low.positions.shape[1]]}
    fly(aq.System([low, high], interfaces=[touch], velocity=velocity), aq.Theta(0.5), 60).check(conserving=True)


@pytest.mark.parametrize("law", [aq.Penalty(1e4), [aq.Asperities(1e4, 2.0, 0.02), aq.Unilateral()]])
def test_other_laws(law: Any) -> None:
    collision("quad", "P1", 0.4, "theta 0.5", law=law).check()


def plate(
    name: str, x: tuple[float, float], y: tuple[float, float], cells: tuple[int, int], **options: Any
) -> aq.Solid:
    mesh = aq.mesh.rectangle(x, y, cells=cells, kind=options.pop("kind", "quad"))
    angle = options.pop("angle", 0.0)
    return aq.Solid(name, turned(mesh, (angle,), y[0]) if angle else mesh, SOFT, plane="strain", **options)


def test_three_bodies_and_two_interfaces() -> None:
    """The pairs are checked one by one; the block in the middle is slave in both."""
    low = plate("low", (0.0, 1.0), (0.0, 0.3), (8, 3))
    middle = plate("middle", (0.2, 0.8), (0.305, 0.6), (5, 3), kind="tri", angle=0.05)
    high = plate("high", (0.1, 0.9), (float(middle.positions[:, 1].max()) + 0.01, 0.9), (7, 2), angle=-0.04)
    law, friction = aq.Unilateral(), aq.Coulomb(0.3)
    interfaces = [
        aq.Interface("below", middle.boundary("bottom"), low.boundary("top"), law, friction),
        aq.Interface("above", middle.boundary("top"), high.boundary("bottom"), law, multiplier="nodes"),
    ]
    velocity = {"high": (0.5, -1.0), "low": (0.0, 0.7)}
    system = aq.System([low, middle, high], interfaces=interfaces, velocity=velocity)
    fly(system, aq.Theta(0.5), 60).check(conserving=True)


ZONES = {"patch with one side": aq.zones.Box(0.1, sides=("bottom",)), "patch inside": aq.zones.Box(0.1)}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("multiplier", ["P1", "P0", "nodes"])
@pytest.mark.parametrize("zone", ["end", *ZONES])
def test_glued_parts_in_contact(zone: str, multiplier: str) -> None:
    """A block falls on a fine part at the end of a coarse one, or on a fine patch inside its surface."""
    if zone == "end":
        coarse, fine = plate("coarse", (0.0, 1.0), (0.0, 0.4), (8, 3)), plate("fine", (0.6, 1.4), (0.0, 0.4), (17, 9))
        junction = aq.Junction(coarse, fine)
    else:
        coarse = plate("coarse", (0.0, 1.6), (-0.4, 0.4), (16, 8))
        fine = plate("fine", (0.3, 1.3), (0.0, 0.4), (37, 15))
        junction = aq.Junction(coarse, fine, zone=ZONES[zone])
    block = plate("block", (0.7, 1.2), (0.41, 0.8), (5, 3), angle=0.1)
    sides = block.boundary("bottom"), fine.boundary("top")
    touch = aq.Interface("touch", *sides, aq.Unilateral(), aq.Coulomb(0.3), multiplier=multiplier)
    system = aq.System([coarse, fine, block], [junction], [touch], velocity={"block": (0.8, -1.0)})
    flight = fly(system, aq.Theta(0.5), 60)
    flight.check(conserving=True)
    assert flight.slid > 1e-3


@pytest.mark.sampled(2)
@pytest.mark.parametrize("friction", [0.0, 0.4])
@pytest.mark.parametrize("multiplier", ["nodes", "P0", "P1"])
def test_self_contact(multiplier: str, friction: float) -> None:
    """The jaws of a C-shaped part shut."""
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 0.5), cells=(20, 10))
    x, y = mesh.p[:, mesh.t].mean(axis=1)
    mesh = mesh.remove_elements(np.flatnonzero((x > 0.3) & (np.abs(y - 0.25) < 0.05)))
    facets = mesh.boundary_facets()
    x, y = mesh.p[:, mesh.facets[:, facets]].mean(axis=1)
    jaws = {"below": 0.2, "above": 0.3}
    names = {name: facets[(x > 0.3) & (x < 1.0) & (np.abs(y - at) < 1e-9)] for name, at in jaws.items()}
    part = aq.Solid("c", replace(mesh, _boundaries=names), SOFT, plane="strain")
    law = aq.Coulomb(friction) if friction else None
    sides = part.boundary("above"), part.boundary("below")
    touch = aq.Interface("jaws", *sides, aq.Unilateral(), law, multiplier=multiplier)

    def shutting(p: Any) -> Any:
        arm = np.maximum(p[:, 0] - 0.3, 0.0)
        upper = p[:, 1] > 0.25
        return np.stack([0.3 + 0.5 * upper * arm, np.where(upper, -4.0, 4.0) * arm], axis=1)

    system = aq.System([part], interfaces=[touch], velocity=shutting)
    flight = fly(system, aq.Theta(0.5), 60, step=2e-3)
    flight.check(conserving=True)
    assert (flight.slid > 1e-5) == (friction > 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Newmark(), aq.CentralDifference()], ids=str)
@pytest.mark.parametrize("damping", [0.0, 20.0])
def test_layers_on_turning_normals(scheme, damping):
    """A mass that slides on a layered ball: energies balance in each step, and the work of the scheme vanishes."""
    ball = aq.RigidSphere(centre=(0.0, -2.0), radius=2.0)

    def runs(steps):
        mass = aq.PointMasses("mass", (0.0, 0.0), 1.0)
        layer = aq.Asperities(stiffness=4e3, damping=damping)
        touch = aq.Interface("ball", mass.boundary("all"), ball, layer)
        spring = aq.Spring("back", mass.boundary("all"), stiffness=(5.0, 0.0), damping=(0.5, 0.0))
        system = aq.System(
            [mass], springs=[spring], interfaces=[touch], gravity=(0.0, -10.0), velocity=(1.0, 0.0),
            displacement=(0.0, -10.0 / 4e3),
        )  # fmt: skip
        return aq.simulate(system, scheme, duration=1.0, step=1.0 / steps)

    lost = []
    for steps in (150, 300):
        result = runs(steps)
        assert np.abs(result["part/mass/displacement"].values[:, 0, 0]).max() > 0.3
        assert np.abs(result["balance"].values).max() < 1e-12
        energy = result["energy"]
        lost.append(np.abs(energy.sel(kind="scheme").values).max() / energy.sel(kind="kinetic").values.max())
    if isinstance(scheme, aq.CentralDifference):  # of first order: the layers' pressures of t_n on later normals
        assert lost[1] < 0.55 * lost[0] and lost[1] < 0.012
    else:
        assert lost[1] < 1e-12
