"""Consistent initial state of a run: fields, accelerations, and the rejection of initial interpenetration.

Initial fields are made consistent with imposed motions, massless nodes and junctions; the accelerations include the
contact forces of bodies that rest on each other.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.linalg.compliance import ComplianceOperator
from arlequin.models.errors import UserError
from arlequin.models.linalg.factor import factorise
from arlequin.models.part import MeshedPart, Recovering, Surface
from arlequin.models.phases import phase
from arlequin.models.types import Array
from arlequin.multilevel.interface import Interface
from arlequin.multilevel.obstacles.base import Obstacle
from arlequin.multilevel.pairing.collocation import REACH
from arlequin.multilevel.pairing.interference import facet_size
from arlequin.multilevel.pairing.kinematics import Kinematics, Pairing, faces
from arlequin.multilevel.pairing.multipliers import Facets
from arlequin.multilevel.search.facets import FacetMesh, in_space
from arlequin.multilevel.search.search import FacetTree
from arlequin.multilevel.solvers.contact import solve_contact
from arlequin.multilevel.solvers.orthotropic import OrthotropicRows
from arlequin.multilevel.solvers.problem import FreeMotion
from arlequin.overlap.geometry import inside, inside_outline
from arlequin.solvers.closed_contact import close_contact
from arlequin.solvers.condensed import RigidCondensed
from arlequin.solvers.solver_choice import mass_system
from arlequin.step.imposed import initial_acceleration
from arlequin.system.assembly import Assembly
from arlequin.system.contact import ContactSide
from arlequin.system.contact_kinematics import ContactKinematics
from arlequin.system.contact_start import former_points
from arlequin.system.facing import inside_out, turned

_DEPTH_TOLERANCE = 1e-10  # depth, relative to the part, that counts as zero


def check_apart(assembly: Assembly, u: Array, static: bool = False) -> None:
    """Reject initial interpenetration of surfaces under unilateral contact: interface, amount and position.

    The mean gap of a function, (1/A) ∫ψ g dΓ, may be negative where g ≥ 0: where ψ changes its sign (P2 on a curved
    surface), or where g, along the slave's normal, extends past the end of the master. So it is only an indicator: a
    start is refused where points of one surface also lie behind the other. In statics an interference may be as large
    as a facet.
    """
    contact, allowed = assembly.contact, _allowed_depths(assembly)
    each = zip(contact.interfaces, contact.pairings, contact.reference, pairwise(contact.start), strict=False)
    for interface, pairing, reference, (a, b) in each:
        if _closes_interference(assembly, interface, static):
            _refuse_large(interface, reference, pairing)
            continue
        if not (assembly.laws.level[a:b] > 0).any():
            continue
        slave, master = _node_positions(assembly, interface.slave, u), _node_positions(assembly, interface.master, u)
        kinematics = pairing.at(slave, master)
        gap = kinematics.gap + allowed[a:b]
        size = float(np.ptp(interface.slave.part.positions, axis=0).max())
        margin = _DEPTH_TOLERANCE * (size or contact.scale.extent) + contact.scale.round_off  # a point has no size
        if not interface.weak or interface.interference is not None:
            _refuse_behind(interface, kinematics.positions, gap, margin)
        elif gap.min() < -margin:
            _refuse_points(interface, slave, master, margin + float(allowed[a:b].max()))
        _refuse_inside(interface, kinematics.positions[~kinematics.paired & (faces(pairing) >= 0)])


def _closes_interference(assembly: Assembly, interface: Interface, static: bool) -> bool:
    """Whether the run closes an interference of the interface; UserError in dynamics."""
    interference = assembly.open_interference
    if interference is None or interface.name not in interference.names:
        return False
    if not static:
        raise UserError(
            f"interface '{interface.name}': Static closes an interference: simulate that first, and start from its "
            "result, System(…, from_result=result)"
        )
    return True


def _refuse_large(interface: Interface, kin: Kinematics, pairing: Pairing) -> None:
    """Refuse an interference that is larger than a facet, beyond which points have no or wrong partners."""
    size = facet_size(interface.slave, interface.master)
    depth = np.where(kin.paired, -kin.gap, 0.0)
    if isinstance(interface.interference, float) and interface.interference > size:
        depth = np.full(depth.size, interface.interference)
    deep, lost = int(depth.argmax()), ~kin.paired & (faces(pairing) >= 0)
    inside_master = _inside_master(interface, kin.positions[lost])
    if inside_master is not None:
        _refuse_interference(interface, *inside_master, size)
    if depth[deep] > size:
        _refuse_interference(interface, depth[deep], kin.positions[deep], size)


def _refuse_interference(interface: Interface, amount: float, position: Array, size: float) -> None:
    place = ", ".join(f"{x:.6g}" for x in position)
    raise UserError(
        f"interface '{interface.name}': the interference of {amount:.3g} m at ({place}) m is larger than the largest "
        f"facet, {size:.3g} m: move the parts, or give coarser facets or less interference"
    )


def _allowed_depths(assembly: Assembly) -> Array:
    """Depths (k,), m, of the points at the end of a former result, which are admissible at the start.

    The worn depth; under laws on the velocity, which do not separate points, the depth there; under laws on the gap the
    compression of the compliance.
    """
    contact, laws, frame = assembly.contact, assembly.laws, assembly.system.from_result
    out = np.zeros(contact.count)
    if frame is None:
        return out
    for _, points, last_frame in former_points(contact, frame):
        depth = np.maximum(-last_frame["gap"], 0.0)
        out[points] = np.where(
            laws.level[points] == 2, depth, np.minimum(depth, laws.compliance[points] * last_frame["pressure"])
        )
        out[points] += last_frame.get("worn_depth", 0.0)
    return out


def _refuse_points(interface: Interface, slave: Array, master: Array, margin: float) -> None:
    """Refuse nodes or quadrature points of the slave behind the master, and nodes of the master behind the slave."""
    points = Facets.of(interface.slave).sample_positions(slave)
    if isinstance(interface.master, Obstacle):
        _refuse_behind(interface, points, interface.master.closest(points)[0], margin)
        return
    assert isinstance(interface.master, Surface)
    distances = _distances(points, interface.master, master)
    _refuse_behind(interface, points, distances, margin)
    _refuse_behind(interface, master, _distances(master, interface.slave, slave), margin)
    _refuse_inside(interface, points[~np.isfinite(distances)])


def _node_positions(assembly: Assembly, surface: Any, u: Array) -> Array:
    """Positions (n, a) of the nodes of a surface; none of an obstacle."""
    if not isinstance(surface, Surface):
        return np.zeros((0, 1))
    side = ContactSide.of(surface, assembly.layout)
    return side.positions(side.rows @ u)


def _distances(points: Array, surface: Surface, positions: Array) -> Array:
    """Signed distances (k,) of the points from a surface of node positions (n, a), +inf where it is not near."""
    mesh = FacetMesh.of(surface)
    return FacetTree.build(mesh, positions).closest(in_space(points), REACH * float(mesh.size.max())).gap


def _refuse_behind(interface: Interface, points: Array, distances: Array, margin: float) -> None:
    deepest = float(distances.min())
    if deepest < -margin:  # the first of those equally deep, whatever their round-off
        _refuse(interface, -deepest, points[int(np.argmax(distances <= deepest + margin))])


def _refuse_inside(interface: Interface, points: Array) -> None:
    """Refuse points that lie too deep inside the master to have a partner."""
    deepest = _inside_master(interface, points)
    if deepest is not None:
        _refuse(interface, *deepest)


def _inside_master(interface: Interface, points: Array) -> tuple[float, Array] | None:
    """Depth, m, and position (a,) of the deepest of the points inside the master; None where there is none."""
    if not isinstance(interface.master, Surface) or not len(points):
        return None
    part = interface.master.part
    within = inside(part.mesh, points) if isinstance(part, MeshedPart) else inside_outline(interface.master, points)
    deep = points[within]
    if not len(deep):
        return None
    depth = np.linalg.norm(deep[:, None] - interface.master.positions[None], axis=2).min(axis=1)
    return float(depth.max()), deep[int(np.argmax(depth))]


def _refuse(interface: Interface, amount: float, position: Array) -> None:
    place = ", ".join(f"{x:.6g}" for x in position)
    if inside_out(interface):
        cure = f", and faces away from its slave: {turned(interface.master)}"
    elif interface.interference is not None:
        cure = ": its interference is not closed there: take a later frame of the static result"
    else:
        cure = '; an overlap on purpose, of a press fit, is closed in statics by interference="resolve"'
    raise UserError(f"interface '{interface.name}': starts interpenetrated by {amount:.3g} m at ({place}) m{cure}")


def start_fields(assembly: Assembly, step: float, static: bool = False) -> tuple[Array, Array]:
    """Initial u and v (d,):

    * those of the system (projected on the shapes of a reduced part), imposed motions at their values at t = 0 (a
    velocity is the derivative of an imposed displacement, order 2 in Δt),
    * u and v are projected on C u = 0 and C v = 0, M-orthogonally: u ← u − M⁻¹Cᵀ (C M⁻¹ Cᵀ)⁻¹ C u; rigid parts are
    positioned before, and their v is projected on G(u) v = 0 as well,
    * massless nodes are in equilibrium, K_cc u_c = f_c − K_ci u_i, so that no spurious energy is stored in
    their cells; those of parts from a former result keep their displacements, under their contact,
    * contact that a former result had on another mesh is closed (`arlequin.solvers.closed_contact`).
    """
    system = assembly.system
    fields = {what: [system.initial(what, part) for part in system.parts] for what in ("displacement", "velocity")}
    if static:
        _check_at_rest(assembly, fields)
    w0, w1, w2 = (assembly.imposed(i * step) for i in range(3))
    displaced = assembly.imposes_displacement
    imposed = {
        "displacement": np.where(displaced, w0, np.nan),
        "velocity": np.where(displaced, (-3.0 * w0 + 4.0 * w1 - w2) / (2.0 * step), w0) * (not static),
    }
    bounds = np.cumsum([sum(motion.dofs.size for motion in part.imposed) for part in assembly.parts])[:-1]
    u, v = (
        np.concatenate(
            [
                _coordinates(assembly, i, what, field, values)
                for i, (field, values) in enumerate(zip(fields[what], np.split(imposed[what], bounds), strict=True))
            ]
        )
        for what in ("displacement", "velocity")
    )
    u[assembly.ghost] = v[assembly.ghost] = 0.0
    with phase("initial state"):
        return _consistent(assembly, u, v, static)


def _check_at_rest(assembly: Assembly, fields: dict[str, list[Array]]) -> None:
    """UserError for initial fields in statics; of a former result, the velocity is left out."""
    for what, part_fields in fields.items():
        for part, field in zip(assembly.system.parts, part_fields, strict=True):
            if not assembly.system.starts_from_result(what, part):
                if field.any():
                    raise UserError(
                        "statics starts from rest without displacement: leave velocity and displacement out"
                    )
            elif what == "velocity":
                field[:] = 0.0


def _coordinates(assembly: Assembly, index: int, what: str, field: Array, imposed: Array) -> Array:
    """Coordinates of a part, or their rates, of a nodal field (nodal,), m or m/s; imposed: imposed values, nan
    elsewhere."""
    part, assembled = assembly.system.parts[index], assembly.parts[index]
    values, frame = assembled.coordinates(field, imposed), assembly.system.from_result
    if not assembly.system.starts_from_result(what, part):
        return values
    without_imposed = assembled.coordinates(field, np.full_like(imposed, np.nan))
    if isinstance(assembled, Recovering) and assembled.generalised.size:
        recorded = frame.generalised(what, part, assembled.generalised.size)
        values[assembled.generalised] = without_imposed[assembled.generalised] = recorded
    angle = frame.angle(what, part)
    if angle is not None:  # of any size: nodal displacements determine only small angles
        if values[-1] == without_imposed[-1]:
            values[-1] = angle
        without_imposed[-1] = angle
    if what == "displacement":
        jump = np.abs(values - without_imposed).max(initial=0.0)
        if jump > 1e-6 * np.abs(without_imposed).max(initial=0.0):
            raise UserError(
                f"from_result: part '{part.name}' is displaced by other values than are imposed on it at t = 0, by up "
                f"to {jump:.3g}: let the imposed motion start from where the result ends"
            )
    return values


def _consistent(assembly: Assembly, u: Array, v: Array, static: bool) -> tuple[Array, Array]:
    """Fields (d,) consistent with constraints, rigid parts, and the equilibrium of massless nodes."""
    if not static or assembly.system.from_result is not None:
        placed = assembly.rigidity.placed(u)
        u = _project(assembly, placed, placed)
        v = _project(assembly, v, u, rigid=True)
        if np.abs(assembly.rigidity.strains(u)).max(initial=0.0) > 2.0 * assembly.rigidity.rounding(u):
            raise UserError("the displacements given to rigid parts contradict a relation or junction at the start")
    u = _settle(assembly, u)
    if assembly.contact.count and assembly.system.from_result is not None:
        u = close_contact(assembly, u, _allowed_depths(assembly))
    _agree(assembly, u, v)
    check_apart(assembly, u, static)
    return u, v


def _project(assembly: Assembly, field: Array, u: Array, rigid: bool = False) -> Array:
    """The M-orthogonal projection of a field (d,) on C x = 0 and, if rigid, on G(u) x = 0."""
    rows = assembly.constraints
    inner = assembly.rigidity.gradient(u) if rigid else sp.csr_array((0, rows.shape[1]))
    both = sp.csr_array(sp.vstack([rows, inner], format="csr"))
    size = abs(both) @ np.ones(rows.shape[1])
    if not (np.abs(both @ field) > 1e-14 * size * max(np.abs(field).max(), 1e-300)).any():
        return field
    mass = mass_system(assembly, assembly.free & ~assembly.massless, contact=False)
    inertia = RigidCondensed(mass, inner)
    imposed = field[assembly.imposed_dofs] if assembly.imposed_dofs.size else None
    massive = inertia.predict(assembly.mass @ field, np.zeros(rows.shape[0]), np.zeros(inner.shape[0]), imposed).y
    return np.where(assembly.massless, field, massive)


def _agree(assembly: Assembly, u: Array, v: Array) -> None:
    """UserError where motions imposed on both sides of a junction contradict it."""
    rows = assembly.constraints
    size = abs(rows) @ np.ones(rows.shape[1])
    for name, field in (("displacements", u), ("velocities", v)):
        if (np.abs(rows @ field) > 1e-6 * size * np.abs(field).max(initial=0.0)).any():
            raise UserError(f"the {name} imposed at the start contradict a junction: both parts must move alike there")


def _settle(assembly: Assembly, u: Array) -> Array:
    """u (d,) with massless nodes in equilibrium."""
    c = assembly.massless & assembly.free & ~assembly.from_former_result
    if not c.any():
        return u
    u = u.copy()
    interior = sp.csr_array(assembly.stiffness[c]) @ np.where(c, 0.0, u)
    force = assembly.load(0.0)[c] - interior
    if force.any():
        u[c] = factorise(assembly.stiffness[c][:, c]).solve(force)
    return u


_AT_REST = 1e-9  # approaching velocity, relative to the largest, that counts as zero


def start_accelerations(
    assembly: Assembly,
    kinematics: ContactKinematics,
    force: Array,
    motion: tuple[Array, Array],
    step: float,
    n: int = 0,
) -> tuple[Array, Array, Array]:
    """a (d,), m/s², of M a = force + Cᵀφ + Hᵀr, C a = 0; φ (m,), and r on the rows of the contact's basis (q,), N.

    n: number of the following step.
    """
    imposed = initial_acceleration(assembly, step, n)
    if not force.any() and (imposed is None or not imposed.any()):
        return np.zeros_like(force), np.zeros(assembly.constraints.shape[0]), np.zeros(kinematics.basis.shape[0])
    inertia = mass_system(assembly, assembly.free & ~assembly.massless)

    def impulses(rows: Array, _: Array | None) -> tuple[Array, Array, None]:
        forces = _initial_forces(assembly, inertia.compliance, rows, kinematics, motion, step)
        row_forces = kinematics.apply_local_transposed(forces)
        return row_forces, row_forces, None

    return inertia.solve(force, np.zeros(assembly.constraints.shape[0]), imposed, impulses)


def _initial_forces(
    assembly: Assembly,
    compliance: ComplianceOperator,
    free: Array,
    kinematics: ContactKinematics,
    motion: tuple[Array, Array],
    step: float,
) -> Array:
    """Contact forces (r,), N, at which closed points do not accelerate into each other: 0 ≤ r ⊥ (H a)_n ≥ 0, friction
    too.

    compliance: of the mass; free (q,): accelerations of the basis without these forces; motion: u and v (d,).
    Approaching points are left to the impact of the first step. Solved as the impulses of a step on H (v + Δt a).
    """
    contact = assembly.contact
    u, v = motion
    rates = kinematics.rates(v)
    closed = contact.closed(kinematics.gaps(kinematics.basis @ u), np.zeros(kinematics.basis.shape[0]))
    closed &= np.abs(rates[kinematics.first]) <= _AT_REST * np.abs(v).max(initial=0.0)
    laws = contact.laws
    if laws.state_dependent:
        laws = laws.at(laws.sliding(laws.start_history(kinematics.gap), laws.slip_size(rates)))
    orthotropic = laws
    laws = laws.multipliers()
    rows_of = contact.laws.rows_of
    points = np.flatnonzero(closed & (laws.level > 0) & kinematics.paired)
    forces = np.zeros(kinematics.rows)
    if points.size:
        points = points[np.diag(kinematics.delassus(compliance, kinematics.first[points])) > 0.0]
    if points.size:
        rows = rows_of(points)
        free_motion = FreeMotion(
            kinematics.delassus(compliance, rows), 1.0, np.zeros(points.size),
            rates[rows] + step * kinematics.apply_local(free)[rows], np.ones(points.size, dtype=bool),
            step, 1.0, step,
        )  # fmt: skip
        history, no_impulse = laws.start_history(kinematics.gap), np.zeros(rows.size)
        scaled = OrthotropicRows.of(orthotropic.chosen(points), kinematics.tangents[points])
        if scaled is None:
            solution = solve_contact(laws.chosen(points), free_motion, history, no_impulse)
        else:
            scaled_motion = scaled.motion(free_motion)
            solution = scaled.solve(
                lambda scaled_laws, guess: solve_contact(scaled_laws, scaled_motion, history, guess),
                laws.chosen(points),
                no_impulse,
            )
        forces[rows] = solution.impulse / step
    return forces
