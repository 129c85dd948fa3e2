"""Points in concave corners: against Moreau's impact, solved here for all of its cases."""

import itertools

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import arlequin as aq

STEPS = (2.2e-3, 1.3e-3, 6.1e-4)


def moreau(normals: np.ndarray, before: np.ndarray, restitution: float) -> np.ndarray:
    """Velocity of 1 kg after 0 ≤ P ⊥ n·v⁺ + e n·v⁻ ≥ 0 on the closed faces of normals (f, a)."""
    rows = np.asarray(normals, dtype=float)
    free = (1.0 + restitution) * rows @ before
    for size in range(len(rows) + 1):
        for some in itertools.combinations(range(len(rows)), size):
            on, impulse = list(some), np.zeros(len(rows))
            impulse[on] = np.linalg.lstsq(rows[on] @ rows[on].T, -free[on])[0]
            if (impulse >= -1e-12).all() and (rows @ rows.T @ impulse + free >= -1e-12).all():
                return before + rows.T @ impulse
    raise AssertionError("no solution")


def thrown(obstacle, place, velocity, law, scheme, step, gravity, duration=0.104, friction=None):
    mass = aq.PointMasses("mass", [tuple(place)], mass=1.0)
    wall = aq.Interface("wall", mass.boundary("all"), obstacle, law, friction=friction)
    system = aq.System([mass], interfaces=[wall], gravity=tuple(gravity), velocity={"mass": tuple(velocity)})
    return aq.simulate(system, scheme, duration=round(duration / step) * step, step=step, progress=False)


def rotation(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Newmark()], ids=["theta", "newmark"])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("kink", [30, 60, 90, 120])
def test_a_kink(kink, restitution, scheme, step):
    along = rotation(np.deg2rad(kink))[:, 0]
    normals = np.array([(0.0, 1.0), (-along[1], along[0])])
    turn = rotation(0.7)
    ramp = aq.RigidPolyline(np.array([2.0 * along + (1.0, 0.0), (1.0, 0.0), (0.4, 0.0), (0.0, 0.0)]) @ turn.T)
    result = thrown(
        ramp, turn @ (0.8, 0.0), turn @ (2.0, 0.0), aq.Unilateral(restitution=restitution), scheme, step,
        turn @ (0.0, -1e-3),
    )  # fmt: skip
    found = turn.T @ result["part/mass/velocity"].values[-1, 0]
    # 4e-6 m/s: gravity after the impact
    assert np.abs(found - moreau(normals, np.array([2.0, 0.0]), restitution)).max() < 1e-5


@pytest.mark.sampled(1)
@pytest.mark.parametrize("step", [3.3e-3, 1.3e-3])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("kind", ["box", "surface"])
def test_a_corner_of_a_room(kind, restitution, step):
    low, high = np.zeros(3), np.array([1.0, 0.75, 1.0])
    room = aq.RigidBox(low, high, inside=True)
    if kind == "surface":
        corners = np.array(list(itertools.product(*zip(low, high, strict=True))))
        hull = ConvexHull(corners)
        towards = np.einsum(
            "fa,fa->f", hull.equations[:, :3], np.cross(*np.diff(corners[hull.simplices], axis=1).swapaxes(0, 1))
        )
        inward = np.where(towards[:, None] > 0.0, hull.simplices[:, ::-1], hull.simplices)
        room = aq.RigidSurface(corners, inward)
        assert room.closest(np.array([[0.5, 0.4, 0.1]]))[0] == pytest.approx(0.1)
    # both walls are met at the same time, on the floor
    result = thrown(
        room, (0.5, 0.5, 0.0), (2.0, 1.0, 0.0), aq.Unilateral(restitution=restitution), aq.Theta(0.5), step,
        (0.0, 0.0, -9.81), 0.27,
    )  # fmt: skip
    assert result["part/mass/velocity"].values[-1, 0] == pytest.approx([-2 * restitution, -restitution, 0.0], abs=1e-9)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("step", [1e-3, 3e-4])
@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_a_corner_with_a_rough_floor(restitution, step):
    """v² = v₀² − 2 μ g s until the wall after 0.4 m, e of it back, and so on to the end."""
    friction, duration = 0.3 * 9.81, 0.3
    hit = (2.0 - np.sqrt(4.0 - 2.0 * friction * 0.4)) / friction
    exact = -restitution * (2.0 - friction * hit) + friction * (duration - hit)
    faces = [aq.RigidPlane((0.0, 0.0), (0.0, 1.0)), aq.RigidPlane((1.0, 0.0), (-1.0, 0.0))]
    mass = aq.PointMasses("mass", [(0.6, 0.0)], mass=1.0)
    law = aq.Unilateral(restitution=restitution)
    contacts = [
        aq.Interface(name, mass.boundary("all"), face, law, friction=rough)
        for name, face, rough in zip("ab", faces, (aq.Coulomb(0.3), None), strict=True)
    ]
    system = aq.System([mass], interfaces=contacts, gravity=(0.0, -9.81), velocity={"mass": (2.0, 0.0)})
    result = aq.simulate(system, aq.Theta(0.5), duration=duration, step=step, progress=False)
    assert result["part/mass/velocity"].values[-1, 0] == pytest.approx([exact, 0.0], abs=4.0 * step)


@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Newmark()], ids=["theta", "newmark"])
def test_more_rows_than_freedoms(scheme):
    """Stuck by friction on the floor and held by the wall: three rows of two velocities."""
    room = aq.RigidBox((0.0, 0.0), (1.0, 1.0), inside=True)
    result = thrown(
        room, (0.9, 0.0), (2.0, 0.0), aq.Unilateral(), scheme, 1e-3, (0.0, -9.81), 0.09, aq.Coulomb(0.3)
    )  # fmt: skip
    assert np.abs(result["part/mass/velocity"].values[-1]).max() < 1e-12
    assert np.abs(result["energy"].sel(kind="scheme").values).max() < 1e-13


def elastic_corner(cells: int) -> aq.Solid:
    """An L of floor y = 0 and wall x = 1, clamped below and on the right; the boundary "corner" is both."""
    mesh = aq.mesh.rectangle((0.0, 1.5), (-0.5, 0.5), cells=(3 * cells // 2, cells))
    middle = mesh.p[:, mesh.t].mean(axis=1)
    kept = mesh.restrict(np.flatnonzero((middle[0] > 1.0) | (middle[1] < 0.0)))
    kept = type(mesh)(kept.p, kept.t).with_boundaries(
        {
            "corner": lambda x: ((np.abs(x[1]) < 1e-9) & (x[0] < 1.0)) | ((np.abs(x[0] - 1.0) < 1e-9) & (x[1] > 0.0)),
            "held": lambda x: (x[1] < -0.5 + 1e-9) | (x[0] > 1.5 - 1e-9),
        }
    )
    material = aq.LinearElastic(young=1e9, poisson=0.2, density=1000.0)
    return aq.Solid("L", kept, material, plane="strain", imposed={"held": {"x": 0.0, "y": 0.0}})


@pytest.mark.sampled(1)
@pytest.mark.parametrize("step", [2.2e-3, 6e-4])
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_an_elastic_corner(restitution, step):
    """As from one elastic wall alone, within what the wall itself gives back, 0.05 m/s."""
    corner = elastic_corner(8)
    mass = aq.PointMasses("mass", [(0.8, 0.0)], mass=1.0, forces={"all": (0.0, -9.81)})
    law = aq.Unilateral(restitution=restitution)
    contact = aq.Interface("contact", mass.boundary("all"), corner.boundary("corner"), law)
    system = aq.System([mass, corner], interfaces=[contact], velocity={"mass": (2.0, 0.0)})
    result = aq.simulate(system, aq.Theta(0.5), duration=round(0.13 / step) * step, step=step, progress=False)
    assert result["part/mass/velocity"].values[-1, 0] == pytest.approx([-2.0 * restitution, 0.0], abs=0.05)
    assert np.abs(result["energy"].sel(kind="scheme").values).max() < 1e-15


def test_no_partner_on_the_other_side_of_thin_walls():
    """A channel of walls of 1 mm: outside of it, and above its rims, the continuations of its inner faces are none."""
    outline = np.array([(0, 0), (0.1, 0), (0.1, 0.05), (0.099, 0.05), (0.099, 0.001), (0.001, 0.001), (0.001, 0.05),
                        (0, 0.05)])  # fmt: skip
    channel = aq.RigidPolyline(outline, closed=True)
    points = np.random.default_rng(1).uniform((-0.02, -0.02), (0.12, 0.07), (4000, 2))
    gaps, _ = channel.closest(points)
    smallest = np.min([patch.closest(points)[0] for patch in channel.patches()], axis=0)
    outside = gaps > 0.0
    assert outside.any() and smallest[outside] == pytest.approx(gaps[outside], abs=1e-12)
    # inside the solid some patch is at least as deep as the surface
    assert (smallest[~outside] <= gaps[~outside] + 1e-12).all()


def test_faces_of_a_saw_are_few():
    """However many teeth: two layers, so that a contact point has two rows at most."""
    saw = aq.RigidPolyline(np.array([(0.5 * i, 0.3 * (i % 2)) for i in range(400)])[::-1])
    assert len(saw.patches()) == 2
    assert not aq.RigidPolyline([(1.0, 0.0), (0.5, 0.1), (0.0, 0.0)]).patches()


def momenta(result, parts):
    """Linear (t, 2) and angular momentum (t,) about the origin, of rigid bodies and masses in the plane."""
    linear, angular = 0.0, 0.0
    for part in parts:
        of = result[f"part/{part.name}"].dataset
        body = isinstance(part, aq.RigidBody)
        mass = part.mass if body else float(of["mass"])
        place = part.positions[0] + of["displacement"].values[:, 0]
        velocity = of["velocity"].values[:, 0]
        linear = linear + mass * velocity
        angular = angular + mass * (place[:, 0] * velocity[:, 1] - place[:, 1] * velocity[:, 0])
        if body:
            angular = angular + part.inertias[2] * of["angular_velocity"].values
    return linear, angular


@pytest.mark.slow
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("friction", [None, 0.3])
@pytest.mark.parametrize("kind", ["mass", "box"])
def test_momenta_in_a_free_corner(kind, friction, restitution):
    """A mass, and a turning box, thrown into the corner of a free L: both momenta are kept."""
    corner = aq.RigidBody("L", [(0, 0), (1, 0), (1, 0.2), (0.2, 0.2), (0.2, 1), (0, 1)], mass=2.0)
    if kind == "mass":
        thrown_in = aq.PointMasses("thrown", [(0.5, 0.4)], mass=0.7)
    else:
        outline = np.array([(-0.1, -0.1), (0.1, -0.1), (0.1, 0.1), (-0.1, 0.1)]) @ rotation(0.3).T + (0.6, 0.5)
        thrown_in = aq.RigidBody("thrown", [tuple(corner) for corner in outline], mass=0.7)
    law = aq.Unilateral(restitution=restitution)
    side = "all" if kind == "mass" else "outline"
    rubs = friction and aq.Coulomb(friction)
    contact = aq.Interface("contact", thrown_in.boundary(side), corner.boundary("outline"), law, friction=rubs)
    system = aq.System([corner, thrown_in], interfaces=[contact], velocity={"thrown": (-1.5, -1.0)})
    result = aq.simulate(system, aq.Theta(0.5), duration=0.6, step=1e-3, progress=False)
    impulse = float(result["interface/contact/impulse"].sum())
    assert impulse > 0.5
    for found in momenta(result, (corner, thrown_in)):
        np.testing.assert_allclose(found, np.broadcast_to(found[0], found.shape), rtol=0.0, atol=1e-13 * impulse)
