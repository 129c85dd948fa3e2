"""Accelerations at the start, with the contact forces of bodies that rest on each other."""

import numpy as np

from arlequin.assembly import Assembly
from arlequin.condensed import Condensed, Free
from arlequin.schemes.scheme import initial_acceleration
from arlequin.touch import Touch
from models.types import Array
from multilevel.solver import solve_contact

_AT_REST = 1e-9  # approaching velocity, relative to the largest, that is none


def start_accelerations(
    assembly: Assembly, touch: Touch, force: Array, motion: tuple[Array, Array], step: float
) -> tuple[Array, Array, Array]:
    """a (d,), m/s², of M a = force + Cᵀφ + Hᵀr, C a = 0; φ (m,), and r on the rows of the contact's basis (q,), N."""
    given = initial_acceleration(assembly, step)
    if not force.any() and (given is None or not given.any()):
        return np.zeros_like(force), np.zeros(assembly.constraints.shape[0]), np.zeros(touch.basis.shape[0])
    inertia = Condensed(assembly, assembly.mass, assembly.free & ~assembly.massless)
    free = inertia.free(force, np.zeros(assembly.constraints.shape[0]), given)
    resting = touch.spread(_resting_forces(assembly, inertia, free, touch, motion, step))
    return *inertia.react(free, resting), resting


def _resting_forces(
    assembly: Assembly, inertia: Condensed, free: Free, touch: Touch, motion: tuple[Array, Array], step: float
) -> Array:
    """Contact forces (r,), N, with which closed points accelerate out of each other: 0 ≤ r ⊥ (H a)_n ≥ 0, friction too.

    free: accelerations without them, inertia: the mass condensed; motion: u and v (d,). Points that approach are left
    to the impact of the first step. Solved as the impulses of a step on H (v + Δt a).
    """
    contact = assembly.contact
    u, v = motion
    rates = touch.rates(v)
    closed = contact.closed(touch.gaps(touch.basis @ u), np.zeros(touch.basis.shape[0]))
    closed &= np.abs(rates[touch.first]) <= _AT_REST * np.abs(v).max(initial=0.0)
    laws = contact.laws.multipliers()
    rows_of = contact.laws.rows_of
    points = np.flatnonzero(closed & (laws.level > 0) & touch.paired)
    forces = np.zeros(touch.rows)
    if points.size:
        points = points[np.diag(touch.delassus(inertia.compliance, touch.first[points])) > 0.0]
    if points.size:
        rows = rows_of(points)
        solution = solve_contact(
            laws.chosen(points),
            touch.delassus(inertia.compliance, rows),
            lever=1.0,
            gap_free=np.zeros(points.size),
            rate_free=rates[rows] + step * touch.turn(free.contact)[rows],
            closed=np.ones(points.size, dtype=bool),
            history=laws.start_history(touch.gap),
            step=step,
            theta=1.0,
            impulse_factor=step,
            guess=np.zeros(rows.size),
        )
        forces[rows] = solution.impulse / step
    return forces
