"""Predictor of rotations: initial guesses of Newton's iterations that do not stretch rotating parts."""

import numpy as np
import scipy.linalg

from arlequin.models.part import Constrained, Nonlinear, PathDependent
from arlequin.models.types import Array
from arlequin.system.assembly import Assembly


class RotationPredictor:
    """Guesses of v̄ (d,), m/s, in a step that rotates each nonlinear part as the midpoint rule rotates a rigid body:

        v̄ = V + (1 − ½Δt Ω)⁻¹ Ω r [+ v − V − Ω r],    Ω S + S Ω = Σ m (v rᵀ − r vᵀ),    S = Σ m r rᵀ,

    r from the part's centre of mass, V its velocity, Ω the spin with its angular momentum; with the deformation rate
    in brackets, or without it: in stiff parts it is vibration. u + Δt v stretches by ½(Δt Ω)², there a force far above
    all others.
    """

    def __init__(self, assembly: Assembly, step: float) -> None:
        self._step = step
        self._bodies = []
        for part, assembled, at in zip(assembly.system.parts, assembly.parts, assembly.places, strict=True):
            if isinstance(assembled, Nonlinear | PathDependent):
                masses = np.asarray(assembled.mass.sum(axis=1)).reshape(-1, part.components)[:, 0]
                positions = assembled.points if isinstance(assembled, Constrained) else part.positions
                self._bodies.append((at, positions, masses / masses.sum()))

    def guesses(self, u: Array, v: Array) -> tuple[Array, Array]:
        """v̄ with the deformation rate of v and without it, from u and v (d,)."""
        with_vibration, rigid = v.copy(), v.copy()
        for at, positions, mass_share in self._bodies:
            r = _about(mass_share, positions + u[at].reshape(positions.shape))
            rates = v[at].reshape(positions.shape)
            spin = _spin(mass_share, r, rates)
            midpoint_spin = _midpoint(spin, self._step)
            with_vibration[at] += (r @ (midpoint_spin - spin).T).ravel()
            rigid[at] = (mass_share @ rates + r @ midpoint_spin.T).ravel()
        return with_vibration, rigid

    def end_rotation(self, u: Array, y: Array, change: Array) -> Array:
        """A change (d,) of y that rotates the parts at the end u + Δt y of the step from u, where `change` would shear.

        For a symmetric tangent Ω r_½ is a rigid rotation, r_½ the mean of the step; a rotation of its end is that of
        the midpoint rule on r₁.
        """
        out = change.copy()
        for at, positions, mass_share in self._bodies:
            start = positions + u[at].reshape(positions.shape)
            velocity = y[at].reshape(positions.shape)
            middle = _about(mass_share, start + 0.5 * self._step * velocity)
            end = _about(mass_share, start + self._step * velocity)
            spin = _spin(mass_share, middle, change[at].reshape(positions.shape))
            out[at] += (end @ _midpoint(spin, self._step).T - middle @ spin.T).ravel()
        return out


def _about(mass_share: Array, x: Array) -> Array:
    """Positions (n, axis) relative to the centre of mass."""
    return np.asarray(x - mass_share @ x)


def _spin(mass_share: Array, r: Array, rates: Array) -> Array:
    """Spin Ω (axis, axis) of the rates (n, axis)."""
    weighted = (mass_share[:, None] * r).T
    about = weighted @ (rates - mass_share @ rates)
    return np.asarray(scipy.linalg.solve_sylvester(weighted @ r, weighted @ r, about.T - about))


def _midpoint(spin: Array, step: float) -> Array:
    """Spin of the midpoint rule, (1 − ½Δt Ω)⁻¹ Ω."""
    return np.asarray(np.linalg.solve(np.eye(len(spin)) - 0.5 * step * spin, spin))
