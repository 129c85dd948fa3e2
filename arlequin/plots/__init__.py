"""Figures of results (from their DataTree), of sweeps, and of rough surfaces.

Functions return a matplotlib `Figure` without a window; `animation` writes a file. Matplotlib is imported by the
functions.

    import arlequin as aq

    aq.plots.energies(result).savefig("energies.png")
"""

from arlequin.plots.animation import animation
from arlequin.plots.argand import argand
from arlequin.plots.confidence import confidence_ellipse
from arlequin.plots.contact import contact
from arlequin.plots.contact_map import contact_map
from arlequin.plots.convergence import convergence, fitted_order
from arlequin.plots.energies import energies
from arlequin.plots.fatigue import load_spectrum
from arlequin.plots.frequency import bode, nyquist, response_spectrum
from arlequin.plots.histogram import force_histogram
from arlequin.plots.levels import levels
from arlequin.plots.orbit import orbit
from arlequin.plots.overview import overview
from arlequin.plots.periodic import backbone, frequency_response, periodic_orbits
from arlequin.plots.profile import profile
from arlequin.plots.rough import spectrum, topography
from arlequin.plots.shape import shape
from arlequin.plots.spectra import displacement_spectrum, force_spectrum
from arlequin.plots.sweep_figures import sweep_figures
from arlequin.plots.sweep_lines import sweep_lines
from arlequin.plots.sweep_map import sweep_map
from arlequin.plots.sweep_scatter import sweep_effects, sweep_scatter
from arlequin.plots.uncertainty import distribution, level_convergence, tornado
from arlequin.plots.unrolled import unrolled
from arlequin.plots.wear import friction_heat, worn
from arlequin.plots.wear_life import wear_life

__all__ = [
    "animation",
    "argand",
    "backbone",
    "bode",
    "confidence_ellipse",
    "contact",
    "contact_map",
    "convergence",
    "displacement_spectrum",
    "distribution",
    "energies",
    "fitted_order",
    "force_histogram",
    "force_spectrum",
    "frequency_response",
    "friction_heat",
    "level_convergence",
    "levels",
    "load_spectrum",
    "nyquist",
    "orbit",
    "overview",
    "periodic_orbits",
    "profile",
    "response_spectrum",
    "shape",
    "spectrum",
    "sweep_effects",
    "sweep_figures",
    "sweep_lines",
    "sweep_map",
    "sweep_scatter",
    "topography",
    "tornado",
    "unrolled",
    "wear_life",
    "worn",
]
