"""Oblique impact of identical spheres (Maw, Barber and Fawcett) by reduction to independent springs.

Without coupling of normal and tangential tractions, partial slip of a sphere of radius R is equivalent to a row of
independent springs under the profile x²/R (Jäger's superposition of circles; Popov's and Heß's reduction of
dimensionality): per length

    f_n = E* ⟨δ − x²/R⟩₊,      ḟ_t = −k s where |f_t| < μ f_n,   k = (k_t/k_n) E*,   s the velocity along the plane,

with Coulomb's law for each spring. With m δ̈ = −P, P = ∫f_n dx, and s' = (1 + m R²/I)/m ∫f_t dx this is Maw's problem,
which he solved with concentric annuli under the same assumption that slip is along the tangential velocity and the
transverse displacement is neglected. In the units of `oblique`; at ν = 0.3 and ψ₁ = 0.7 the tangential impulse is
0.2345 μ m V_n, so that ψ₂ = 0.0242.

Sources: N. Maw, J. R. Barber, J. N. Fawcett, Wear 38 (1976) 101–114; J. Jäger, Arch. Appl. Mech. 65 (1995) 478–487;
V. L. Popov, M. Heß, Method of Dimensionality Reduction in Contact Mechanics and Friction, 2015.
"""

from __future__ import annotations

import numpy as np

from arlequin.cases.reference.oblique import Oblique, ObliqueImpact
from arlequin.models.errors import UserError
from arlequin.models.types import Array


def maw(body: Oblique, psi: float, *, springs: int = 400, steps: int = 4000) -> ObliqueImpact:
    """Impact at ψ₁, by `springs` over the half-width and `steps` (Störmer and Verlet) of the duration."""
    if not body.sphere or body.partner != "like":
        raise UserError("Maw's problem is that of alike spheres: others have no such springs")
    x = 1.02 * body.half_width * (np.arange(springs) + 0.5) / springs
    stiffness = 2 * body.modulus * (x[1] - x[0])  # springs of both halves, x and −x
    step = body.duration / steps
    count = round(1.05 * steps)
    force: Array = np.zeros((count + 1, 2))
    tangential = np.zeros(springs)
    displacement, rate = np.zeros(2), np.array([body.velocity, body.tangential(psi)])  # approach, slip
    for n in range(1, count + 1):
        rate += 0.5 * step / body.mass * force[n - 1] * [-1.0, body.lever]
        displacement += step * rate
        normal = np.maximum(displacement[0] - x * x, 0.0)
        limit = body.friction * normal
        tangential = np.clip(tangential - body.ratio * step * rate[1], -limit, limit)
        force[n] = stiffness * normal.sum(), stiffness * tangential.sum()
        rate += 0.5 * step / body.mass * force[n] * [-1.0, body.lever]
    return ObliqueImpact(body, psi, np.asarray(step * np.arange(count + 1), dtype=float), force)
