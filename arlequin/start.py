"""The start of a run: given fields made consistent with imposed motions, massless nodes and junctions."""

import numpy as np
import scipy.sparse as sp

from arlequin.assembly import Assembly
from arlequin.condensed import Condensed
from arlequin.penetration import check_apart
from arlequin.rigid_condensed import RigidCondensed
from models.errors import UserError
from models.factor import factorise
from models.types import Array


def start_fields(assembly: Assembly, step: float, static: bool = False) -> tuple[Array, Array]:
    """Initial u and v (d,):

    * as given by the system (a reduced part takes what its shapes hold of it), imposed motions at their values at
    t = 0 (a velocity is the derivative of an imposed displacement, order 2 in Δt),
    * u and v are projected on C u = 0 and C v = 0, M-orthogonally: u ← u − M⁻¹Cᵀ (C M⁻¹ Cᵀ)⁻¹ C u; rigid parts are
    placed before, and their v is projected on G(u) v = 0 with it,
    * massless nodes are in equilibrium, K_cc u_c = f_c − K_ci u_i, so that no spurious energy is stored in
    their cells.
    """
    system = assembly.system
    fields = {what: [system.initial(what, part) for part in system.parts] for what in ("displacement", "velocity")}
    if static and any(field.any() for every in fields.values() for field in every):
        raise UserError("statics starts from rest without displacement: leave velocity and displacement out")
    now, one, two = (assembly.imposed(i * step) for i in range(3))
    displaced = assembly.imposes_displacement
    given = {
        "displacement": np.where(displaced, now, np.nan),
        "velocity": np.where(displaced, (-3.0 * now + 4.0 * one - two) / (2.0 * step), now) * (not static),
    }
    bounds = np.cumsum([sum(item.dofs.size for item in own.imposed) for own in assembly.parts])[:-1]
    u, v = (
        np.concatenate(
            [
                own.coordinates(field, values)
                for own, field, values in zip(assembly.parts, fields[what], np.split(given[what], bounds), strict=True)
            ]
        )
        for what in ("displacement", "velocity")
    )
    u[assembly.ghost] = v[assembly.ghost] = 0.0
    if not static:
        placed = assembly.rigidity.placed(u)
        u = _project(assembly, placed, placed)
        v = _project(assembly, v, u, rigid=True)
        if np.abs(assembly.rigidity.strains(u)).max(initial=0.0) > 2.0 * assembly.rigidity.rounding(u):
            raise UserError("the displacements given to rigid parts contradict a relation or junction at the start")
    u = _settle(assembly, u)
    _agree(assembly, u, v)
    check_apart(assembly, u)
    return u, v


def _project(assembly: Assembly, field: Array, u: Array, rigid: bool = False) -> Array:
    """The field (d,) nearest to the given one with C x = 0, and with G(u) x = 0 where it is to be rigid."""
    rows = assembly.constraints
    inner = assembly.rigidity.gradient(u) if rigid else sp.csr_array((0, rows.shape[1]))
    both = sp.csr_array(sp.vstack([rows, inner], format="csr"))
    size = abs(both) @ np.ones(rows.shape[1])
    if not (np.abs(both @ field) > 1e-14 * size * max(np.abs(field).max(), 1e-300)).any():
        return field
    inertia = RigidCondensed(Condensed(assembly, assembly.mass, assembly.free & ~assembly.massless), inner)
    given = field[assembly.imposed_dofs] if assembly.imposed_dofs.size else None
    massive = inertia.free(assembly.mass @ field, np.zeros(rows.shape[0]), np.zeros(inner.shape[0]), given).y
    return np.where(assembly.massless, field, massive)


def _agree(assembly: Assembly, u: Array, v: Array) -> None:
    """Imposed motions on both sides of a junction must agree with it."""
    rows = assembly.constraints
    size = abs(rows) @ np.ones(rows.shape[1])
    for name, field in (("displacements", u), ("velocities", v)):
        if (np.abs(rows @ field) > 1e-6 * size * np.abs(field).max(initial=0.0)).any():
            raise UserError(f"the {name} imposed at the start contradict a junction: both parts must move alike there")


def _settle(assembly: Assembly, u: Array) -> Array:
    c = assembly.massless & assembly.free
    if not c.any():
        return u
    u = u.copy()
    interior = sp.csr_array(assembly.stiffness[c]) @ np.where(c, 0.0, u)
    force = assembly.load(0.0)[c] - interior
    if force.any():
        u[c] = factorise(assembly.stiffness[c][:, c]).solve(force)
    return u
