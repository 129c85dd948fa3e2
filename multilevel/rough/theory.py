"""Protocol of theories of rough elastic contact: pressure, contact area and stiffness at a mean gap."""

from typing import Protocol

from arlequin.models.types import Array


class ContactTheory(Protocol):
    """Two nominally flat rough solids pressed together: a smooth elastic one, of E*, on a rigid composite roughness.

    **The gap** of all theories and of the numerical solution is the same length: the mean of the local gap over the
    nominal area, i.e. the distance between the mean plane of the roughness and the mean plane of the *deformed*
    smooth surface, m. (E* and the composite heights h = h₁ + h₂ stand for both solids; the mean compression of the
    solids themselves, p times their thickness over a modulus, is theirs and no part of the gap.)

    * Persson's theory and `halfspace_curve` use it as it is: mean(u − h) with u = h in contact.
    * Asperity theories (Greenwood and Williamson; Bush, Gibson and Thomas; Kogut and Etsion) are written with the
      distance d between the *undeformed* mean planes. Each summit is pressed alone into a solid that is at rest far
      from it, so that the mean plane does not move with the load: d is the gap. They neglect the displacement of each
      summit by the load of the others, which is their known error, not a matter of definition.

    Source: Persson, Phys. Rev. Lett. 99 (2007) 125502; Carbone & Bottiglione, J. Mech. Phys. Solids 56 (2008)
    2555–2572; Ciavarella, Greenwood & Paggi, Wear 265 (2008) 729–734 (effect of the interaction).
    """

    def pressure(self, gap: Array) -> Array:
        """Mean pressure (k,) at the mean gaps (k,), Pa."""

    def area(self, gap: Array) -> Array:
        """Real contact area (k,) over the nominal area. Asperity theories may pass 1 at small gaps, past their use."""

    def stiffness(self, gap: Array) -> Array:
        """−dp/d(gap) (k,), Pa/m."""
