"""Partial slip of Cattaneo and Mindlin in closed form: Hertzian contact under P, then Q < μP.

Full slip, q = μp, produces a displacement quadratic in x, as does p; a similar traction over a smaller half-width c
compensates it, so that the middle |x| < c has a uniform displacement (stick):

    q(x) = μ p0 √(1 − x²/b²) − μ p0 (c/b) √(1 − x²/c²)        (the second term where |x| < c)
    line:    c = b √(1 − Q'/(μP')),        sphere:  c = a (1 − Q/(μP))^{1/3}.

Exact if normal and tangential problems do not couple: identical materials, or a rigid body and ν = 1/2; for spheres
also ν = 0 or slip assumed along Q (Mindlin).

The stick width follows from tractions as the contact width does from pressures: the deficit μp − q has the shape
μ p0 (c/b) √(1 − x²/c²), so `fit_pressure(x, μp − q)` gives c without counting nodes.

Sources: C. Cattaneo, 1938; R. D. Mindlin, 1949; K. L. Johnson, Contact Mechanics, 1985, §7.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from arlequin.cases.reference.hertz import LineContact, SphereContact
from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.types import Array


@dataclass(frozen=True)
class PartialSlip:
    """A Hertz contact of friction μ under the tangential load Q (N/m on a line, N on a sphere), 0 ≤ Q ≤ μP."""

    contact: LineContact | SphereContact
    friction: float
    shear: float

    def __post_init__(self) -> None:
        checks.positive("friction", self.friction)
        checks.within("shear", self.shear, 0.0, self.friction * self.contact.load)

    @property
    def stick_share(self) -> float:
        """1 − Q/(μP): 1 before shear, 0 at full slip."""
        return 1.0 - self.shear / (self.friction * self.contact.load)

    @property
    def stick_half_width(self) -> float:
        """c, m."""
        exponent = 0.5 if isinstance(self.contact, LineContact) else 1 / 3
        return self.contact.half_width * self.stick_share**exponent

    def traction(self, x: ArrayLike) -> Array:
        """q at the distance x (m) from the centre, Pa, in the direction of Q; μp where it slips."""
        x = np.asarray(x, dtype=float)
        slip = self.friction * self.contact.pressure(x)
        c, b = self.stick_half_width, self.contact.half_width
        if c == 0.0:
            return slip
        return slip - self.friction * self.contact.peak * c / b * np.sqrt(np.maximum(1 - (x / c) ** 2, 0.0))

    def displacement(self, *bodies: LinearElastic) -> float:
        """Tangential displacement of distant points of two spheres (or one, on a rigid body), m.

        3μP/(16a) Σ (2 − ν_i)/G_i (1 − (1 − Q/μP)^{2/3}). Lines have none: it grows like the logarithm of the size.
        """
        if not isinstance(self.contact, SphereContact):
            raise UserError("tangential displacement: a line contact's depends on the size of the bodies")
        compliance = math.fsum((2 - body.poisson) / body.shear for body in bodies)
        factor = 3 * self.friction * self.contact.load / (16 * self.contact.half_width)
        return factor * compliance * (1 - self.stick_share ** (2 / 3))
