"""Starts from a result on another mesh: what it can represent is exact, momenta are kept, energies converge."""

import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.run.run import Run
from arlequin.system.part_handover import PartHandover
from arlequin.transfer.former_part import former_part
from arlequin.transfer.mesh_transfer import MeshTransfer
from arlequin.transfer.surface_values import SurfaceTransfer, distribute

SOFT = aq.LinearElastic(young=1e7, poisson=0.3, density=1000.0)
METAL = aq.J2(1e7, 0.3, 1000.0, yield_stress=1e4, hardening=aq.LinearHardening(1e5))
THETA = aq.Theta(0.5)
MEMORY = aq.Record(point_memory=True)
GRAVITY = 9.81


def plane(cells: Any, x0: float = 0.0, triangles: bool = False, **options: Any) -> aq.Solid:
    mesh = aq.mesh.rectangle((x0, x0 + 0.3), (0.0, 0.1), cells=cells)
    mesh = mesh.to_meshtri() if triangles else mesh
    return aq.Solid("body", mesh, options.pop("material", SOFT), plane=options.pop("plane", "strain"), **options)


def solid(cells: Any, tetrahedra: bool = False, **options: Any) -> aq.Solid:
    mesh = aq.mesh.box((0.0, 0.2), (0.0, 0.1), (0.0, 0.1), cells=cells)
    return aq.Solid("body", mesh.to_meshtet() if tetrahedra else mesh, SOFT, **options)


def bar(cells: int, **options: Any) -> aq.Bar:
    return aq.Bar("body", aq.mesh.interval(0.0, 1.0, cells=cells), SOFT, **options)


def beam(cells: int, dimension: int = 2, **options: Any) -> aq.Beam:
    section = aq.Section.rectangle(0.02, 0.01)
    return aq.Beam("body", aq.mesh.interval(0.0, 1.0, cells=cells), SOFT, section, dimension=dimension, **options)


def ring(cells: Any, **options: Any) -> aq.Solid:
    return plane(cells, 0.1, plane="axisymmetric", **options)


MESHES: dict[str, tuple[Any, Any]] = {
    "finer": (plane((6, 2)), plane((12, 4))),
    "coarser": (plane((12, 4)), plane((6, 2))),
    "not nested": (plane((7, 3)), plane((10, 4))),
    "second order": (plane((6, 2), order=2), plane((5, 3), order=2)),
    "to second order": (plane((6, 2)), plane((4, 3), order=2)),
    "spectral": (plane((3, 1), order=4), plane((5, 2), order=2)),
    "triangles": (plane((6, 2)), plane((5, 2), triangles=True)),
    "from triangles": (plane((6, 2), triangles=True), plane((5, 2), order=2)),
    "axisymmetric": (ring((7, 3)), ring((5, 4))),
    "to the axis": (plane((7, 3), plane="axisymmetric"), plane((5, 4), plane="axisymmetric")),
    "hexahedra": (solid((4, 2, 2)), solid((5, 3, 3))),
    "tetrahedra": (solid((3, 2, 2)), solid((2, 2, 2), tetrahedra=True)),
    "space of second order": (solid((2, 1, 1)), solid((2, 2, 2), order=2)),
    "bar": (bar(7), bar(5)),
    "bar of third order": (bar(4, order=2), bar(3, order=3)),
}
BEAMS = {
    "plane beam": (beam(7), beam(5)),
    "beam in space": (beam(4, 3), beam(9, 3)),
    "Euler beam": (beam(5, shear=False, rotary_inertia=False), beam(8, shear=False, rotary_inertia=False)),
}


def recorded(part: Any) -> dict[str, Any]:
    """Nodes and cells as a result has them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = aq.simulate(aq.System([part]), THETA, duration=1e-9, step=1e-9)
    return aq.ResultFrame(result).parts["body"]


def transfer(name: str) -> tuple[Any, Any, MeshTransfer]:
    former, part = (MESHES | BEAMS)[name]
    return former, part, MeshTransfer.of(part, recorded(former))


def polynomial(part: Any, degree: int, seed: int) -> Callable[[Any], Any]:
    """A field (n, component) of all monomials up to a degree; of a body of revolution without motion at the axis."""
    generator = np.random.default_rng(seed)
    axes = part.positions.shape[1]
    powers = [p for p in np.ndindex(*(degree + 1,) * axes) if sum(p) <= degree]
    factors = generator.normal(size=(len(powers), part.components))
    radial = getattr(part, "axisymmetric", False)

    def field(x: Any) -> Any:
        values = np.stack([np.prod((5.0 * x) ** np.array(p), axis=1) for p in powers], axis=1) @ factors
        if radial:
            values[:, 0] = 5.0 * x[:, 0] * factors[0, 0]
        return values

    return field


@pytest.mark.parametrize("name", MESHES)
def test_polynomials_of_the_element_are_transferred_exactly(name: str) -> None:
    former, part, mesh_transfer = transfer(name)
    degree = min(former.finite_element.order, part.finite_element.order)
    field = polynomial(part, degree, 1)
    before, exact = field(former.positions).ravel(), field(part.positions).ravel()
    for moved in (mesh_transfer.displacement(before), mesh_transfer.velocity(before)):
        assert np.abs(moved - exact).max() < 1e-12 * np.abs(exact).max()


def rough(part: Any) -> Any:
    """A field (nodal,) that no coarser mesh represents."""
    x = part.positions
    values = np.stack([np.sin(11.0 * x @ np.arange(1, x.shape[1] + 1) + k) for k in range(part.components)], axis=1)
    return (values + 0.5).ravel()


def momenta(part: Any, velocity: Any, displacement: Any = None) -> Any:
    """Linear momenta, and the angular one about z (or x, y, z), written out: Σ m v, Σ x × m v + θ-components."""
    impulse = (part.assemble().inertia @ velocity).reshape(part.node_count, -1)
    x = part.positions if displacement is None else part.positions + displacement.reshape(part.positions.shape)
    axes = x.shape[1]
    linear = impulse[:, :axes].sum(axis=0)
    if axes == 1:
        return linear
    if getattr(part, "axisymmetric", False):
        return linear[1:]
    turning = impulse[:, axes:].sum(axis=0) if impulse.shape[1] > axes else 0.0
    if axes == 2:
        return np.append(linear, (x[:, 0] * impulse[:, 1] - x[:, 1] * impulse[:, 0]).sum() + np.sum(turning))
    return np.append(linear, np.cross(x, impulse[:, :3]).sum(axis=0) + turning)


@pytest.mark.parametrize("name", [*MESHES, *BEAMS])
def test_momenta_are_kept(name: str) -> None:
    former, part, mesh_transfer = transfer(name)
    before = rough(former)
    after = mesh_transfer.velocity(before)
    first, second = momenta(former, before), momenta(part, after)
    scale = np.abs(momenta(former, np.abs(before))).max()
    assert np.abs(second - first).max() < 1e-13 * scale
    assert mesh_transfer.momentum_error((before, after)) < 1e-13


def test_momenta_of_a_deformed_body_are_those_about_its_deformed_places() -> None:
    former, part = plane((7, 3), kinematics="finite"), plane((5, 4), kinematics="finite")
    result = aq.simulate(
        aq.System([former], velocity=lambda x: np.stack([40.0 * x[:, 1], -90.0 * x[:, 0] ** 2], axis=1)),
        THETA, duration=2e-2, step=5e-4,
    )  # fmt: skip
    handover = PartHandover.of(part, aq.ResultFrame(result).parts["body"])
    u, v = (result["part/body"][what].values[-1].ravel() for what in ("displacement", "velocity"))
    assert np.abs(u).max() > 0.05  # m, of a body 0.3 m long
    before, after = momenta(former, v, u), momenta(part, handover.field("velocity"), handover.field("displacement"))
    assert np.abs(after - before).max() < 1e-13 * np.abs(momenta(former, np.abs(v))).max()


NESTED = {
    "plane": (plane((6, 2)), plane((12, 4))),
    "order": (plane((3, 1)), plane((3, 1), order=2)),
    "axisymmetric": (ring((3, 2)), ring((6, 4))),
    "space": (solid((2, 1, 1)), solid((4, 2, 2))),
    "tetrahedra": (solid((1, 1, 1), True), solid((1, 1, 1), True, order=2)),
    "bar": (bar(4), bar(12)),
    "beam": (beam(4), beam(8)),
    "beam in space": (beam(3, 3), beam(6, 3)),
}


@pytest.mark.parametrize("name", NESTED)
def test_refinement_is_exact_and_coarsening_undoes_it(name: str) -> None:
    coarse, fine = NESTED[name]
    up, down = MeshTransfer.of(fine, recorded(coarse)), MeshTransfer.of(coarse, recorded(fine))
    field = 1e-3 * rough(coarse)
    u, v = up.displacement(field), up.velocity(field)
    energies = [
        (part.assemble().internal(f)[1], f @ (part.assemble().mass @ f)) for part, f in ((coarse, field), (fine, u))
    ]
    changes = np.abs(np.array(energies[1]) / np.array(energies[0]) - 1.0)
    if name == "axisymmetric":  # hoop strains are u/r, which the rule of the cells integrates to 1e-3 only
        assert changes[0] < 1e-3
        changes = changes[1:]
    assert changes.max() < 1e-12
    assert np.abs(u - v).max() < 1e-11 * np.abs(u).max()
    assert np.abs(down.displacement(u) - field).max() < 1e-12 * np.abs(field).max()
    assert np.abs(down.velocity(v) - field).max() < 1e-12 * np.abs(field).max()
    # coarser and finer again is a projection
    for there, back in ((down.displacement, up.displacement), (down.velocity, up.velocity)):
        once = back(there(1e-3 * rough(fine)))
        assert np.abs(back(there(once)) - once).max() < 1e-12 * np.abs(once).max()


@pytest.mark.parametrize("order", [1, 2])
def test_equilibrium_on_a_fine_mesh_is_equilibrium_on_a_coarser_one(order: int) -> None:
    """Under loads that both have alike: the Galerkin projection of the fine solution is the coarse solution."""
    held = {"left": {"x": 0.0, "y": 0.0}}
    pulled: Any = {"right": lambda x, t: (1e4 * t, 2e3 * t)}

    def bent(cells: Any) -> Any:
        part = plane(cells, order=order, imposed=held, tractions=pulled)
        return part, aq.simulate(aq.System([part]), aq.Static(), duration=1.0, step=1.0)

    (_, fine), (part, coarse) = bent((12, 4)), bent((6, 2))
    moved = PartHandover.of(part, aq.ResultFrame(fine).parts["body"]).field("displacement")
    exact = coarse["part/body"]["displacement"].values[-1].ravel()
    assert np.abs(moved - exact).max() < 1e-11 * np.abs(exact).max()


def test_order_of_the_change_of_energy() -> None:
    """Of a smooth state on a mesh that is not nested: strain energy h², kinetic energy h⁴."""
    changes = []
    for count in (6, 12, 24):
        former, part = plane((3 * count, count)), plane((2 * count, 2 * count // 3))
        x = former.positions
        field = np.stack(
            [np.sin(9.0 * x[:, 0]) * np.cos(7.0 * x[:, 1]), np.cos(8.0 * x[:, 0] + 5.0 * x[:, 1])], 1
        ).ravel()
        mesh_transfer = MeshTransfer.of(part, recorded(former))
        u, v = mesh_transfer.displacement(field), mesh_transfer.velocity(field)
        first, second = former.assemble(), part.assemble()
        strain = 1.0 - second.internal(u)[1] / first.internal(field)[1]
        kinetic = 1.0 - (v @ (second.mass @ v)) / (field @ (first.mass @ field))
        changes.append((strain, kinetic))
    orders = np.log2(np.array(changes)[:-1] / np.array(changes)[1:])
    assert (np.array(changes) > 0.0).all()  # energy is lost, never won
    assert np.abs(orders[-1] - (2.0, 4.0)).max() < 0.25


@pytest.mark.parametrize(
    "part",
    [
        plane((3, 2), order=2), plane((3, 2), triangles=True), plane((3, 2), triangles=True, order=2),
        plane((2, 1), order=5), solid((2, 1, 1)), solid((1, 1, 1), True, order=2), solid((1, 1, 1), order=3),
        bar(4, order=2), bar(3, order=4), beam(5, 3),
    ],
    ids=repr,
)  # fmt: skip
def test_the_mesh_of_a_result_is_found_again(part: Any) -> None:
    former = former_part(part, recorded(part))
    assert np.abs(former.positions - part.positions).max() < 1e-14
    first, second = former.assemble(), part.assemble()
    assert abs(first.stiffness - second.stiffness).max() < 1e-12 * abs(second.stiffness).max()


def test_a_curved_mesh_of_second_order() -> None:
    """A ring sector with curved edges, finer: the rotation is exact, the momenta are kept."""
    import skfem

    def sector(cells: Any) -> aq.Solid:
        mesh = aq.mesh.rectangle((1.0, 2.0), (0.0, 1.0), cells=cells)
        second = skfem.MeshQuad2.from_mesh(mesh)
        r, angle = second.doflocs
        mesh = skfem.MeshQuad2(np.stack([r * np.cos(angle), r * np.sin(angle)]), second.t)
        return aq.Solid("body", mesh, SOFT, plane="strain")

    former, part = sector((2, 2)), sector((3, 4))
    mesh_transfer = MeshTransfer.of(part, recorded(former))
    turned = [np.stack([-p.positions[:, 1], p.positions[:, 0]], axis=1).ravel() for p in (former, part)]
    assert np.abs(mesh_transfer.displacement(turned[0]) - turned[1]).max() < 1e-11
    v = mesh_transfer.velocity(rough(former))
    assert np.abs(momenta(part, v) - momenta(former, rough(former))).max() < 1e-12


def floor_of(part: Any, *laws: Any, **options: Any) -> aq.Interface:
    rigid = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    return aq.Interface("floor", part.boundary("bottom"), rigid, laws or (aq.Unilateral(),), **options)


def sliding(cells: Any, *laws: Any, part: Any = None, start: Any = None, **options: Any) -> aq.System:
    body = part or plane(cells)
    motion: dict[str, Any] = {"velocity": (0.4, -0.05)} if start is None else {"from_result": start}
    return aq.System([body], interfaces=[floor_of(body, *laws, **options)], gravity=(0.0, -GRAVITY), **motion)


CONTACTS: dict[str, dict[str, Any]] = {
    "frictionless": {},
    "Coulomb": {"friction": aq.Coulomb(0.3)},
    "stick": {"friction": aq.Coulomb(0.3, stiffness=1e8)},
    "rate and state": {"friction": aq.RateAndState(0.3, 0.01, 0.02, 1e-2, 1e-2)},
    "wear": {"friction": aq.Coulomb(0.3), "wear": aq.Archard(1e-4)},
}


@pytest.mark.parametrize("cells", [(12, 4), (4, 3)], ids=["finer", "coarser"])
@pytest.mark.parametrize("name", CONTACTS)
def test_contact_goes_on(name: str, cells: Any) -> None:
    options = CONTACTS[name]
    first = aq.simulate(sliding((6, 2), **options), THETA, duration=1.2e-3, step=2e-4)
    second = aq.simulate(sliding(cells, start=first, **options), THETA, duration=4e-3, step=2e-4)
    assert abs(second["balance"]).max() < 1e-12
    floors = [run["interface/floor"] for run in (first, second)]
    assert floors[0]["active"].values[-1] > 0
    depths = [group["gap"].values[i].min() for group, i in zip(floors, (-1, 0), strict=True)]
    assert depths[0] < 0.0 and abs(depths[1] / depths[0] - 1.0) < 1e-9
    whole = aq.simulate(sliding((6, 2), **options), THETA, duration=5.2e-3, step=2e-4)
    ends = [run["part/body"]["momentum"].values[-1] for run in (second, whole)]
    assert np.abs(ends[0] - ends[1]).max() < 0.02 * np.abs(ends[1]).max()
    cost = json.loads(second.attrs["handover"])
    assert np.abs(np.subtract(cost["momentum_after"], cost["momentum_before"])).max() < 1e-13 * 12.0
    assert cost["remeshed"]["body"]["momentum_error"] < 1e-13
    assert cost["before"]["kinetic"] == first["energy"].sel(kind="kinetic").values[-1]
    assert cost["after"]["strain"] == second["energy"].sel(kind="strain").values[0]
    if "friction" in options:
        slips = [group["slip"].values[i].mean() for group, i in zip(floors, (-1, 0), strict=True)]
        assert abs(slips[1] / slips[0] - 1.0) < 5e-3


@pytest.mark.parametrize("cells", [(4, 4, 2), (3, 1, 1)], ids=["finer", "coarser"])
def test_contact_in_space_goes_on(cells: Any) -> None:
    def slid(cells: Any, **start: Any) -> aq.System:
        part = aq.Solid("body", aq.mesh.box((0.0, 0.2), (0.0, 0.1), (0.0, 0.1), cells=cells), SOFT)
        rigid = aq.RigidPlane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))
        friction = aq.Coulomb(0.3, stiffness=1e8)
        floor = aq.Interface("floor", part.boundary("bottom"), rigid, aq.Unilateral(), friction=friction)
        return aq.System([part], interfaces=[floor], gravity=(0.0, 0.0, -GRAVITY), **start)

    first = aq.simulate(slid((2, 2, 1), velocity=(0.3, 0.1, -0.05)), THETA, duration=4e-3, step=2e-4)
    second = aq.simulate(slid(cells, from_result=first), THETA, duration=2e-3, step=2e-4)
    assert abs(second["balance"]).max() < 1e-12
    cost = json.loads(second.attrs["handover"])
    momenta = np.array([cost["momentum_before"], cost["momentum_after"]])
    assert np.abs(np.diff(momenta, axis=0)).max() < 1e-13 * 2.0  # kg m/s
    slips = [run["interface/floor"]["slip"].values[i] for run, i in ((first, -1), (second, 0))]
    assert slips[0].min() - 1e-15 <= slips[1].min() and slips[1].max() <= slips[0].max() + 1e-15


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_beam_of_other_cells_swings_on(dimension: int) -> None:
    """A cantilever: its motion after the handover is that of the run without it, up to the error of the mesh."""
    names = ("x", "y", "rz") if dimension == 2 else ("x", "y", "z", "rx", "ry", "rz")

    def swinging(cells: int, **start: Any) -> aq.System:
        return aq.System([beam(cells, dimension, imposed={"left": dict.fromkeys(names, 0.0)})], **start)

    def bending(x: Any) -> Any:
        out = np.zeros((len(x), len(names)))
        out[:, 1], out[:, -1] = x[:, 0] ** 2, 2.0 * x[:, 0]
        return out

    first = aq.simulate(swinging(8, velocity={"body": bending}), THETA, duration=0.1, step=1e-3)
    whole = aq.simulate(swinging(8, velocity={"body": bending}), THETA, duration=0.2, step=1e-3)
    for cells in (16, 11):
        second = aq.simulate(swinging(cells, from_result=first), THETA, duration=0.1, step=1e-3)
        tips = [run["part/body"]["displacement"].values[-1, -1, 1] for run in (second, whole)]
        assert abs(tips[0] / tips[1] - 1.0) < 2e-3
        assert abs(second["balance"]).max() < 1e-12


@pytest.mark.parametrize("cells", [(12, 24), (3, 12), (6, 18)], ids=["both finer", "coarse", "fine"])
def test_glued_parts_keep_their_momentum(cells: tuple[int, int]) -> None:
    def glued(cells: tuple[int, int], **start: Any) -> aq.System:
        coarse, fine = (
            aq.Solid(name, aq.mesh.rectangle(x, (0.0, 0.1), cells=(n, 2)), SOFT, plane="strain")
            for name, x, n in (("coarse", (0.0, 0.6), cells[0]), ("fine", (0.4, 1.0), cells[1]))
        )
        glue = aq.Junction(coarse, fine, weights=aq.weights.Linear(), coupling=aq.L2(), mediator="coarse")
        return aq.System([coarse, fine], junctions=[glue], **start)

    first = aq.simulate(glued((6, 12), velocity={"coarse": (1.0, 0.2)}), THETA, duration=1e-2, step=2e-4)
    second = aq.simulate(glued(cells, from_result=first), THETA, duration=1e-3, step=2e-4)
    cost = json.loads(second.attrs["handover"])
    assert np.abs(np.subtract(cost["momentum_after"], cost["momentum_before"])).max() < 1e-13 * 50.0  # kg m/s
    for kind, share in (("kinetic", 3e-3), ("strain", 0.05)):
        assert abs(cost["after"][kind] / cost["before"][kind] - 1.0) < share
    assert abs(second["balance"]).max() < 1e-12


@pytest.mark.parametrize("cells", [(12, 4), (4, 3)], ids=["finer", "coarser"])
def test_worn_volume_is_kept(cells: Any) -> None:
    options = CONTACTS["wear"]
    first = aq.simulate(sliding((6, 2), **options), THETA, duration=8e-3, step=2e-4)
    second = aq.simulate(sliding(cells, start=first, **options), THETA, duration=2e-4, step=2e-4)
    worn = first["interface/floor"]["worn_volume"].values[-1], second["interface/floor"]["worn_volume"].values[0]
    assert worn[0] > 0.0 and abs(worn[1] / worn[0] - 1.0) < 1e-13
    assert (second["interface/floor"]["worn_depth"].values[0] >= 0.0).all()


def test_values_along_a_surface_are_of_second_order() -> None:
    """A worn profile over a curved line, and a plane in space: linear values exact, smooth ones with h², sums kept."""
    errors = []
    for count in (20, 40, 80):
        s, t = np.linspace(0.0, 1.0, count), np.linspace(0.0, 1.0, int(1.3 * count))
        line, other = (np.stack([np.cos(angle), np.sin(angle)], axis=1) for angle in (s, t))
        depth = 1.0 + np.cos(7.0 * s)
        areas = [np.gradient(x) * np.where((np.arange(x.size) % (x.size - 1)) == 0, 0.5, 1.0) for x in (s, t)]
        values = distribute(other, line, "tip", depth, (areas[0], areas[1]))
        assert abs(areas[1] @ values / (areas[0] @ depth) - 1.0) < 1e-14 and (values >= 0.0).all()
        errors.append(np.abs(values - (1.0 + np.cos(7.0 * t))).max())
        back = distribute(line, other, "tip", values, (areas[1], areas[0]))
        assert abs(areas[0] @ back / (areas[0] @ depth) - 1.0) < 1e-14 and (back >= 0.0).all()
    assert np.log2(np.array(errors[:-1]) / errors[1:]).min() > 1.8
    grid = np.stack(np.meshgrid(*2 * (np.linspace(0.0, 1.0, 7),), [0.3]), axis=-1).reshape(-1, 3)
    finer = np.stack(np.meshgrid(*2 * (np.linspace(0.0, 1.0, 12),), [0.3]), axis=-1).reshape(-1, 3)
    interpolated = SurfaceTransfer.of(grid, finer, "pad").interpolate(grid @ [1.0, -2.0, 3.0])
    assert np.abs(interpolated - finer @ [1.0, -2.0, 3.0]).max() < 1e-13


@pytest.mark.parametrize("cells", [(16, 16), (12, 12), (6, 6)], ids=["nested", "finer", "coarser"])
@pytest.mark.parametrize("level", ["gap", "velocity"])
def test_rest_on_another_mesh_is_rest_up_to_the_error_of_the_mesh(level: Any, cells: Any) -> None:
    """A block pressed and pushed on a floor: it swings about the equilibrium of its mesh, by no more than twice the
    distance of both equilibria; the energy of the swing is a small part of that stored."""

    def pushed(cells: Any, gravity: Any, level: Any = "gap", **options: Any) -> aq.System:
        mesh = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.1), cells=cells)
        part = aq.Solid("body", mesh, SOFT, plane="strain")
        floor = floor_of(part, aq.Unilateral(level=level), friction=aq.Coulomb(0.3, stiffness=1e9))
        return aq.System([part], interfaces=[floor], gravity=gravity, **options)

    def pressed(cells: Any) -> Any:
        return aq.simulate(pushed(cells, lambda t: (2.0 * t, -GRAVITY * t)), aq.Static(), duration=1.0, step=0.5)

    former, exact = pressed((8, 8)), pressed(cells)["part/body"]["displacement"].values[-1]
    system = pushed(cells, (2.0, -GRAVITY), level, from_result=former)
    result = aq.simulate(system, THETA, duration=1e-2, step=1e-4)
    assert (result["interface/floor"]["active"].values[1:] == cells[0] + 1).all()
    u = result["part/body"]["displacement"].values
    assert abs(result["balance"]).max() < 1e-12
    start = np.abs(u[0] - exact).max()
    assert np.abs(u - exact).max() <= 2.0 * start < 0.08 * np.abs(exact).max()
    assert result["energy"].sel(kind="kinetic").max() <= 0.01 * result["energy"].sel(kind="strain").max()


def flowing(cells: Any, kinematics: Any, **options: Any) -> aq.System:
    part = plane(cells, material=METAL, kinematics=kinematics, imposed={"bottom": {"x": 0.0, "y": 0.0}})
    return aq.System([part], **options)


def yielded(kinematics: Any, cells: Any = (6, 3)) -> Any:
    start = flowing(cells, kinematics, velocity=lambda x: np.stack([30 * x[:, 1], -20 * x[:, 1] * x[:, 0]], axis=1))
    return aq.simulate(start, THETA, duration=4e-3, step=2e-4, record=MEMORY)


@pytest.mark.parametrize("cells", [(12, 6), (4, 2), (5, 4)], ids=["finer", "coarser", "not nested"])
@pytest.mark.parametrize("kinematics", ["small", "finite"])
def test_plastic_strains_are_taken_over_and_stresses_are_admissible(kinematics: Any, cells: Any) -> None:
    from arlequin.system.assembly import assemble

    first = yielded(kinematics)
    system = flowing(cells, kinematics, from_result=first)
    result = aq.simulate(system, THETA, duration=1e-3, step=2e-4, record=MEMORY)
    assert abs(result["balance"]).max() < 1e-12
    memory = result["part/body"]["point_memory"].values[0]
    alpha, before = memory[..., 6], first["part/body"]["point_memory"].values[-1, ..., 6]
    assert before.max() > 0.01 and (alpha >= 0.0).all() and alpha.max() < 1.3 * before.max()
    if kinematics == "small":
        assert np.abs(memory[..., :3].sum(axis=-1)).max() < 1e-15
    else:
        xx, yy, zz, yz, xz, xy = np.moveaxis(memory[..., :6], -1, 0)
        determinant = (1 + xx) * (1 + yy) * (1 + zz) - (1 + zz) * xy**2 - (1 + yy) * xz**2 - (1 + xx) * yz**2
        assert np.abs(determinant + 2.0 * xy * yz * xz - 1.0).max() < 1e-12
    assembly = assemble(system)
    u = result["part/body"]["displacement"].values[0].ravel()
    again = assembly.parts[0].respond(u, memory, 0.0)
    assert again.dissipated <= 1e-12 * first["energy"].sel(kind="plastic").values[-1]  # f ≤ 0 at all points


def test_plastic_strain_of_a_bilinear_field_is_exact_and_its_mean_kept() -> None:
    from arlequin.transfer.point_values import transfer_points

    former, part = plane((6, 3)), plane((5, 4))
    mesh_transfer = MeshTransfer.of(part, recorded(former))
    x, y = (np.asarray(each.quadrature_points()) for each in (former, part))
    linear = np.stack([x[0], 2.0 + x[1] - 3.0 * x[0]], axis=-1)
    moved = transfer_points(former, part, mesh_transfer.pieces, linear)
    assert np.abs(moved - np.stack([y[0], 2.0 + y[1] - 3.0 * y[0]], axis=-1)).max() < 1e-13
    values = np.random.default_rng(3).random((*x.shape[1:], 2))
    moved = transfer_points(former, part, mesh_transfer.pieces, values)
    sums = [np.einsum("cq,cqm->m", each.basis.dx, field) for each, field in ((former, values), (part, moved))]
    assert np.abs(sums[1] / sums[0] - 1.0).max() < 1e-13 and moved.min() >= 0.0


def test_the_energy_of_a_plastic_start_converges() -> None:
    """What plastic flow takes at the start, and the change of the stored energy, fall with the mesh."""
    costs = []
    for count in (2, 4, 8):
        first = yielded("small", (3 * count, count))
        system = flowing((2 * count, count), "small", from_result=first)
        cost = json.loads(aq.simulate(system, THETA, duration=2e-4, step=2e-4).attrs["handover"])
        plastic = float(first["energy"].sel(kind="plastic")[-1])
        costs.append((cost["yielded"] / plastic, abs(cost["after"]["strain"] - cost["before"]["strain"]) / plastic))
    assert (np.diff(np.array(costs), axis=0) < 0.0).all() and max(costs[-1]) < 0.05


def test_statics_in_two_pieces_is_statics_in_one() -> None:
    """Friction with elastic stick and plastic flow depend on the path, which the second piece goes on."""

    def pressed(gravity: Any, **options: Any) -> aq.System:
        part = plane((6, 2), material=METAL)
        floor = floor_of(part, aq.Unilateral(level="gap"), friction=aq.Coulomb(0.5, stiffness=1e9))
        return aq.System([part], interfaces=[floor], gravity=gravity, **options)

    def run(gravity: Any, duration: float, **options: Any) -> Any:
        return aq.simulate(pressed(gravity, **options), aq.Static(), duration=duration, step=0.25, record=MEMORY)

    def load(t: float) -> tuple[float, float]:
        return 40.0 * t * (2.0 - t), -200.0 * t

    whole, first = run(load, 2.0), run(load, 1.0)
    second = run(lambda t: load(1.0 + t), 1.0, from_result=first)
    for group, what in (
        ("part/body", "displacement"),
        ("part/body", "plastic_strain"),
        ("interface/floor", "pressure"),
    ):
        values = whole[group][what].values[4:]
        skipped = 1 if what == "pressure" else 0  # means over a step, of which the first has none
        assert np.abs(second[group][what].values - values)[skipped:].max() <= 1e-9 * np.abs(values).max()
    assert whole["part/body"]["plastic_strain"].values[-1].max() > 1e-3
    assert abs(second["balance"]).max() < 1e-10


def test_statics_from_dynamics_is_the_equilibrium_under_its_loads() -> None:
    def hung(**options: Any) -> aq.System:
        part = plane((6, 2), imposed={"left": {"x": 0.0, "y": 0.0}})
        return aq.System([part], **options)

    moving = aq.simulate(hung(gravity=(0.0, -10.0)), THETA, duration=5e-3, step=5e-4)
    still = aq.simulate(hung(gravity=(0.0, -10.0), from_result=moving), aq.Static(), duration=1.0, step=1.0)
    exact = aq.simulate(hung(gravity=lambda t: (0.0, -10.0 * t)), aq.Static(), duration=1.0, step=1.0)
    u = still["part/body"]["displacement"].values
    assert np.abs(u - exact["part/body"]["displacement"].values[-1]).max() < 1e-12 * np.abs(u).max()
    assert json.loads(still.attrs["handover"])["after"]["kinetic"] == 0.0


def test_modes_and_rigid_bodies_on_another_mesh() -> None:
    held = {"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}
    bending = {"body": lambda x: np.stack([0 * x[:, 0], x[:, 0] ** 2, 2 * x[:, 0]], axis=1)}
    modes = [aq.System([aq.Modal(beam(n, imposed=held), 4)], velocity=bending) for n in (8, 12)]
    first = aq.simulate(modes[0], THETA, duration=4e-3, step=2e-4)
    for part in (aq.Modal(beam(12, imposed=held), 4), beam(12, imposed=held)):
        second = aq.simulate(aq.System([part], from_result=first), THETA, duration=4e-3, step=2e-4)
        ends = first["energy"].sum("kind").values[-1], second["energy"].sum("kind").values[0]
        assert abs(ends[1] / ends[0] - 1.0) < 1e-3

    def spun(cells: Any, **options: Any) -> aq.System:
        return aq.System([aq.Rigid(plane(cells))], **options)

    spin = {"body": lambda x: np.stack([1.0 - 30.0 * (x[:, 1] - 0.05), 30.0 * (x[:, 0] - 0.15)], axis=1)}
    first = aq.simulate(spun((3, 2), velocity=spin), THETA, duration=0.05, step=1e-3)
    second = aq.simulate(spun((5, 4), from_result=first), THETA, duration=0.05, step=1e-3)
    whole = aq.simulate(spun((3, 2), velocity=spin), THETA, duration=0.1, step=1e-3)
    corners = [run["part/body"]["displacement"].values[-1][[0]] for run in (second, whole)]
    assert np.abs(corners[0] - corners[1]).max() < 1e-11


def test_a_patch_starts_from_the_part_that_it_lies_in() -> None:
    """The motion of a plate, with a fine patch where there was none: the same field in both, and the balance closes."""

    def plate() -> aq.Solid:
        return aq.Solid("plate", aq.mesh.rectangle((0.0, 1.0), (0.0, 0.1), cells=(10, 2)), SOFT, plane="strain")

    def patched(start: Any) -> aq.System:
        coarse = plate()
        fine = aq.Solid("patch", aq.mesh.rectangle((0.3, 0.7), (0.0, 0.1), cells=(16, 8)), SOFT, plane="strain")
        glue = aq.Junction(
            coarse, fine, weights=aq.weights.Linear(), coupling=aq.L2(), mediator="coarse", zone=aq.zones.Box(0.1)
        )
        return aq.System([coarse, fine], junctions=[glue], from_result=start)

    bent = {"plate": lambda x: np.stack([x[:, 0] ** 2, 0.3 * x[:, 0]], axis=1)}
    first = aq.simulate(aq.System([plate()], velocity=bent), THETA, duration=1e-2, step=2e-4)
    start = aq.ResultFrame(first, parts={"plate": "plate", "patch": "plate"})
    second = aq.simulate(patched(start), THETA, duration=4e-3, step=2e-4)
    cost = json.loads(second.attrs["handover"])
    for kind in ("kinetic", "strain"):
        assert abs(cost["after"][kind] / cost["before"][kind] - 1.0) < 1e-11
    assert abs(second["balance"]).max() < 1e-12


def test_only_some_parts_are_taken() -> None:
    lower = plane((6, 2))
    upper = aq.Solid("upper", aq.mesh.rectangle((0.0, 0.3), (0.11, 0.2), cells=(6, 2)), SOFT, plane="strain")
    first = aq.simulate(aq.System([lower, upper], velocity=(1.0, -1.0)), THETA, duration=2e-3, step=2e-4)
    start = aq.ResultFrame(first, parts=["body"])
    finer = plane((12, 4))
    system = aq.System([finer, upper], from_result=start, velocity={"upper": (0.0, 0.0)})
    result = aq.simulate(system, THETA, duration=2e-4, step=2e-4)
    assert np.abs(result["part/body"]["velocity"].values[0] - (1.0, -1.0)).max() < 1e-12
    assert not result["part/upper"]["velocity"].values[0].any()
    assert not result["part/upper"]["displacement"].values[0].any()


def test_from_a_store_of_second_order(tmp_path: Any) -> None:
    """A result on disk has all that its mesh needs."""
    first = aq.simulate(
        aq.System([plane((3, 1), order=2)], velocity=lambda x: 1.0 + x), THETA, duration=2e-3, step=2e-4,
        record=tmp_path / "first.zarr",
    )  # fmt: skip
    runs = [
        aq.simulate(aq.System([plane((6, 2))], from_result=start), THETA, duration=4e-4, step=2e-4)
        for start in (first, aq.results.open(tmp_path / "first.zarr"))
    ]
    assert np.array_equal(*(run["part/body"]["displacement"] for run in runs))


def test_a_run_that_was_stopped_between_two_frames_is_refused(tmp_path: Any) -> None:
    """Its last frame is older than its last step; with the frame named it is a start."""
    path = tmp_path / "run.zarr"
    run = Run(
        aq.System([plane((3, 1))], velocity=(1.0, 0.0)), THETA, step=1e-4, steps=20,
        record=aq.Record(path, fields_every=8), attributes={},
    )  # fmt: skip
    with pytest.raises(KeyboardInterrupt), run.recorded():
        run.to(13)
        raise KeyboardInterrupt
    stopped = aq.results.open(path)
    finer = plane((6, 2))
    with pytest.raises(aq.UserError, match=r"last frame is at 0.0008 s, and the run went to 0.0013 s: resume it"):
        aq.System([finer], from_result=stopped)
    aq.System([finer], from_result=aq.ResultFrame(stopped, -1))


def test_bodies_that_differ_are_refused_in_one_line() -> None:
    first = aq.simulate(sliding((6, 2), friction=aq.Coulomb(0.3)), THETA, duration=1e-3, step=2e-4)

    def message(part: Any, **options: Any) -> str:
        with pytest.raises(aq.UserError) as caught:
            start = aq.System([part], from_result=first, **options)
            aq.simulate(start, THETA, duration=2e-4, step=2e-4)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    shifted = aq.Solid("body", aq.mesh.rectangle((0.05, 0.35), (0.0, 0.1), cells=(6, 2)), SOFT, plane="strain")
    assert "'body' has nodes outside its former mesh (3 of 21, as that at (0.35, 0) m)" in message(shifted)
    scaled = aq.Solid("body", aq.mesh.rectangle((0.0, 300.0), (0.0, 100.0), cells=(6, 2)), SOFT, plane="strain")
    assert "extends over 0.3 m there and 300 m here: give the same body, in the same units" in message(scaled)
    assert "1 axes here: keep its dimension" in message(bar(3))
    part = plane((4, 2))
    ceiling = aq.RigidPlane(point=(0.0, 0.5), normal=(0.0, -1.0))
    upper = aq.Interface("floor", part.boundary("top"), ceiling, aq.Unilateral(), friction=aq.Coulomb(0.3))
    assert "interface 'floor' has contact points up to 0.1 m from those there" in message(part, interfaces=[upper])
    flowed = aq.simulate(
        flowing((3, 2), "small", velocity=lambda x: 9.0 * x[:, [1, 1]]), THETA, duration=4e-3, step=2e-4
    )
    metal = plane((6, 2), material=METAL)
    with pytest.raises(aq.UserError, match=r"internal variables of part 'body' are not recorded there: run it with"):
        aq.simulate(aq.System([metal], from_result=flowed), THETA, duration=2e-4, step=2e-4)
    held = sliding((6, 2), **CONTACTS["wear"])
    worn = aq.simulate(held, THETA, duration=2e-3, step=2e-4)
    assert "wore there: give it wear" in _refused(lambda: sliding((4, 3), start=worn, friction=aq.Coulomb(0.3)))


def _refused(system: Callable[[], aq.System]) -> str:
    with pytest.raises(aq.UserError) as caught:
        aq.simulate(system(), THETA, duration=2e-4, step=2e-4)
    return str(caught.value)
