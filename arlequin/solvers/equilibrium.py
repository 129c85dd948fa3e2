"""Equilibrium under given loads: proximal steps, or Newton's iterations."""

import contextlib
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.linalg.anderson import Mixing
from arlequin.linalg.line_search import Watch, search
from arlequin.models.errors import UserError
from arlequin.models.linalg.matrix import symmetric_part
from arlequin.models.part import MeshedPart, Nonlinear, PathDependent
from arlequin.models.types import Array
from arlequin.solvers.condensed import Condensed, Predictor
from arlequin.solvers.contact_step import ContactStep, Motion, solve_contact_step
from arlequin.solvers.tangents import Tangents
from arlequin.step.acceptance import Failed
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.internal_forces import Memory
from arlequin.system.lengths import displacement_per_unit
from arlequin.system.locate import locate_maximum

_PASSES = 100  # proximal steps at most, where contact alone holds a part
_NEWTON = 40  # passes of Newton's iterations at most
_SLOW = 16  # of them after which the next ones have a smaller proximal term
_SOFTER = 5  # times that it is made so, at most: round-off grows with it
_SETTLED = 1e-12  # largest motion of a proximal step, relative to the displacement, that ends them
_ROUND_OFF = 1e-11  # likewise, where the next one is no smaller
_SHIFT = 1e-1  # s of the proximal term, in units of (wave speed / extent)²
_HELD = 1.0  # lowest eigenvalue of K, in units of the proximal term, below which a motion counts as free
_LEAST = 1e-9  # share of a change that turns a cell inside out, below which it is not taken at all


@dataclass(frozen=True)
class Found:
    """The contact forces, Δu (d,) and φ (m,) at the end of a load step, the displacement there and the passes."""

    meeting: ContactStep
    du: Array
    multipliers: Array
    passes: int


@dataclass(frozen=True)
class _Kept:
    """Where the last tangent was made, u (d,) and the memory of the points, None: at rest; the columns made with it."""

    u: Array | None
    memory: Memory
    columns: Any


class Equilibrium:
    """Finds Δu with f_int(u₀ + Δu) = f_ext + Cᵀφ + Bᵀr, C u = 0, by K Δu = f_ext − f_int(u₀) + Cᵀφ + Bᵀr.

    Where K leaves rigid motions free, K + s M takes its place and the solution is repeated from where it led, until
    nothing moves: the proximal point method, whose limit has no s in it. Where parts are nonlinear, K is the tangent
    at the point from which a solution starts: Newton's method. Its changes are taken whole, or halved until no cell is
    inside out; where they lead nowhere (`Watch`), they go on from the smallest one so far, each as far as `search`
    says.
    """

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._condensed, self._soft = _condense(assembly)
        self._lengths = displacement_per_unit(assembly)
        self._softer = {0: (self._condensed, self._soft)}
        self._tangents = None if assembly.linear else Tangents(assembly, self._soft, 1.0)
        self._at: tuple[Array | None, Memory] = None, ()

    def state_dict(self) -> _Kept:
        """The tangent, which serves on where the next one is not definite."""
        return _Kept(*self._at, self._condensed.compliance.state_dict)

    def load_state_dict(self, state: _Kept) -> None:
        """Restore from `state_dict()`."""
        if state.u is not None:
            self._linearise(state.memory, state.u)
        self._condensed.compliance.load_state_dict(state.columns)

    def find(self, state: State, external: Array, t0: float, t1: float) -> Found:
        """The equilibrium at the end of the load step from the state at t0, under the loads (d,) of t1.

        Parts that remember go on as in the step before at first: from Δu = 0 all would answer elastically, then all
        would flow, K not definite past the largest load.
        """
        assembly, basis = self._assembly, self._assembly.contact.basis
        dofs = assembly.imposed_dofs
        values = assembly.imposed(t1)
        target = np.where(assembly.imposes_displacement, values - state.u[dofs], (t1 - t0) * values)
        place, guess, used = basis @ state.u, state.impulse, 0
        du = (t1 - t0) * state.own.rate if assembly.path_dependent else np.zeros_like(state.u)
        share, force = self._sound(state, np.zeros_like(du), du)
        du, missing = share * du, external - force
        last, mixing, watch, best, searching = np.inf, Mixing(self._lengths), Watch(), du, False
        self._soften(0)
        former = np.inf
        for passes in range(1, (_NEWTON if self._soft is None else _PASSES) + 1):
            if self._soft is not None and passes % _SLOW == 0:
                self._soften(min(passes // _SLOW, _SOFTER))
                mixing = Mixing(self._lengths)
            self._linearise(state.memory, state.u + du)
            free = self._free(state, du, external - force, target - du[dofs])
            path = basis @ du + free.contact
            meeting = solve_contact_step(
                assembly.contact,
                self._condensed.compliance,
                Motion(place, 0.0 * place, place + path, path, 0.0 * place),
                gap_per_velocity=1.0,
                step=1.0,
                theta=1.0,
                history=state.history,
                worn=state.worn,
                guess=guess,
                static=True,
            )
            change, constraint = self._condensed.correct(free, meeting.impulse)
            guess = meeting.solution.impulse
            used += meeting.solution.iterations
            moved = np.abs(self._lengths * change).max()
            reached = np.abs(self._lengths * (state.u + du + change)).max()
            # stiff laws feel the round-off of the gaps: there the motion does not fall as far
            still = moved <= _SETTLED * reached or last <= moved <= _ROUND_OFF * reached
            still = (still or (assembly.linear and self._soft is None)) and self._in_balance(change, external, meeting)
            # and no motion falls below the round-off of coordinates far from the origin
            if still or last <= 2.0 * moved <= 2.0 * assembly.contact.scale.round_off:
                whole = replace(meeting, solution=replace(meeting.solution, iterations=used))
                return Found(whole, *self._refined(state, external, whole, (du + change, constraint)), passes)
            last, size = moved, float(np.linalg.norm(self._lengths * change))
            if not np.isfinite(size):
                break
            forces = external + assembly.generalised_force(constraint, meeting.impulse)
            missing = forces - force
            if not searching and watch.least(size):
                best = du
            elif not searching and self._soft is None and watch.lost(size):
                du, searching = best, True
                force = self._force(state, state.u + du)
                continue
            if self._soft is not None:
                if moved > former:  # a contact opened or closed: a plain proximal step never leads away
                    mixing = Mixing(self._lengths)
                former = moved
                change = mixing.next(du + change, change) - du
            share, force = self._sound(state, du, change)
            if searching:
                less = search(partial(self._left, state, du, change, forces, target), size, share)
                share, force = less, force if less == share else self._force(state, state.u + du + less * change)
            du = du + share * change
        if self._soft is None:
            where = locate_maximum(assembly, np.where(assembly.free, missing, 0.0))
            raise Failed(f"statics did not converge at t = {t1:.6g} s ({where} misses most)")
        raise UserError(
            f"statics at t = {t1:.6g} s: a part that contact alone holds finds no equilibrium: hold its rigid motions, "
            "or let the loads press it against its partner",
            code=1,
        )

    def _soften(self, times: int) -> None:
        """The proximal term at 10^−times of its size: contacts far softer than it settle slowly under it.

        The proximal point method converges for every sequence of s, the faster the smaller s is; large ones keep the
        round-off of stiff contacts low. Nonlinear parts have their tangent with the first one.
        """
        if self._soft is None or self._tangents is not None:
            return
        if times not in self._softer:
            first = self._softer[0][1]
            assert first is not None
            soft = sp.csr_array(0.1**times * first)
            self._softer[times] = Condensed(self._assembly, sp.csr_array(self._assembly.stiffness + soft)), soft
        self._condensed, self._soft = self._softer[times]

    def _refined(
        self, state: State, external: Array, meeting: ContactStep, found: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """Δu and φ by one refinement: the forces are those of the strains, whose round-off is below that of K u in
        slender parts."""
        (du, constraint), assembly = found, self._assembly
        missing = external - self._force(state, state.u + du) + assembly.generalised_force(constraint, meeting.impulse)
        better = self._free(state, du, missing, 0.0 * du[assembly.imposed_dofs])
        return du + better.y, constraint + better.multipliers

    def _free(self, state: State, du: Array, missing: Array, left: Array) -> Predictor:
        """The change from Δu without contact; left (p,): of the motions imposed."""
        return self._condensed.predict(missing, -(self._assembly.constraints @ (state.u + du)), left)

    def _sound(self, state: State, du: Array, change: Array) -> tuple[float, Array]:
        """The first of 1, ½, … of a change of Δu that turns no cell inside out, and the force (d,) there."""
        share = 1.0
        force = self._force(state, state.u + du + change)
        while not np.isfinite(force).all():
            share = 0.5 * share if share > _LEAST else 0.0
            force = self._force(state, state.u + du + share * change)
            if not share:
                break
        return share, force

    def _left(self, state: State, du: Array, change: Array, forces: Array, target: Array, share: float) -> float:
        """The size of what the tangent would still change at a share of a change of Δu, under the forces (d,)."""
        end = du + share * change
        missing = forces - self._force(state, state.u + end)
        if not np.isfinite(missing).all():
            return np.inf
        change = self._free(state, end, missing, target - end[self._assembly.imposed_dofs]).y
        return float(np.linalg.norm(self._lengths * change))

    def _force(self, state: State, u: Array) -> Array:
        """Internal force (d,) at u, from the state; nan where a cell is inside out."""
        bulk = self._assembly.respond(u, state.memory, 0.0)
        return bulk.force if max(bulk.inverted, default=-1) < 0 else np.full_like(u, np.nan)

    def _linearise(self, memory: Memory, u: Array) -> None:
        """K at u where parts are nonlinear; far from equilibrium it may not be definite: the former serves then."""
        if self._tangents is None:
            return
        parts = self._assembly.parts

        def tangent(i: int, at: slice) -> sp.csr_array:
            part = parts[i]
            if isinstance(part, PathDependent):
                return symmetric_part(part.tangent(u[at], memory[i], 0.0))
            assert isinstance(part, Nonlinear)
            return part.tangent(u[at])

        matrix = self._tangents.matrix(tangent)
        with contextlib.suppress(UserError):
            self._condensed = Condensed(self._assembly, matrix)
            self._at = u, memory

    def _in_balance(self, change: Array, external: Array, meeting: ContactStep) -> bool:
        """Whether the proximal term, which equilibrium has not, is nothing beside the forces."""
        if self._soft is None:
            return True
        forces = np.maximum(np.abs(external), abs(self._assembly.contact.basis.T) @ np.abs(meeting.impulse))
        missing = np.abs(self._soft @ change)
        return bool((missing / self._lengths).max() <= 1e-9 * (forces / self._lengths).max())


def _condense(assembly: Assembly) -> tuple[Condensed, sp.csr_array | None]:
    """K condensed, and None; where it leaves a rigid motion free that contact may hold, K + s M, and s M."""
    if not assembly.contact_count:
        return Condensed(assembly, assembly.stiffness), None
    soft = _proximal_term(assembly)
    try:
        condensed = Condensed(assembly, assembly.stiffness)
        # round-off may let a factorisation pass: one inverse iteration bounds the lowest eigenvalue of (K, s M)
        load = soft @ np.random.default_rng(0).standard_normal(assembly.dof_count)
        moved = condensed.spread(load)
        if float(load @ moved) > _HELD * float(moved @ (soft @ moved)):
            return condensed, None
    except UserError:
        pass
    return Condensed(assembly, sp.csr_array(assembly.stiffness + soft)), soft


def _proximal_term(assembly: Assembly) -> sp.csr_array:
    """s M, s = (c/3L)² of each part: it holds every rigid motion, about as softly as the lowest vibration does."""
    scale, first = [], 0
    mass = assembly.mass.diagonal()
    squares = np.divide(assembly.stiffness.diagonal(), mass, out=np.zeros_like(mass), where=mass > 0.0)
    for part, own in zip(assembly.system.parts, assembly.parts, strict=True):
        last = first + own.mass.shape[0]
        if isinstance(part, MeshedPart):
            square = (part.wave_speed / float(np.ptp(part.positions, axis=0).max())) ** 2
        else:  # as soft against its own springs, those of the system or its layers; without any, s may be any number
            layers = float(assembly.laws.stiffness_bound().max() / mass.max())
            square = float(squares[first:last].max()) or float(squares.max()) or layers or 1.0
        scale.append(np.full(last - first, _SHIFT * square))
        first = last
    root = sp.diags_array(np.sqrt(np.concatenate(scale)))
    return sp.csr_array(root @ assembly.mass @ root)
