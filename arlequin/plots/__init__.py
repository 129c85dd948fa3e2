"""Figures of a result, read from its DataTree, never from a live solver; and of rough surfaces.

Every function gives a matplotlib `Figure` that belongs to no window; matplotlib is imported when one is made.

    energies(result).savefig("energies.png")
"""

from arlequin.plots.contact import contact
from arlequin.plots.convergence import convergence, fitted_order
from arlequin.plots.energies import energies
from arlequin.plots.overview import overview
from arlequin.plots.profile import profile
from arlequin.plots.rough import spectrum, topography
from arlequin.plots.shape import shape
from arlequin.plots.wear import friction_heat, worn

__all__ = [
    "contact",
    "convergence",
    "energies",
    "fitted_order",
    "friction_heat",
    "overview",
    "profile",
    "shape",
    "spectrum",
    "topography",
    "worn",
]
