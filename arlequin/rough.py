"""Rough surfaces, from a measured or generated topography to a contact law, as `aq.rough`.

import arlequin as aq

measured = aq.rough.read("sample.sur", fill=True).levelled()
print(measured.report)
print(aq.rough.moments(measured.windowed()).rms_slope, aq.rough.hurst_of(measured.windowed(), cutoff=2e-6))
alike = aq.rough.self_affine((512, 512), (1e-3, 1e-3), hurst=0.8, cutoff=16e-6, rolloff=2.5e-4, rms_slope=0.1)
pressures = 1.1e10 * np.geomspace(1e-4, 0.2, 30)
curve = aq.rough.halfspace_curve(alike.heights, alike.size, modulus=1.1e11, pressures=pressures)
fit = aq.rough.fit_table(curve.gaps, curve.pressures)
print(fit)  # range and error of the law, which an interface takes: normal=[fit.law, aq.Unilateral()]
"""

from arlequin.multilevel.rough.bush_gibson_thomas import BushGibsonThomas
from arlequin.multilevel.rough.calibration import LawFit, fit_power, fit_table, mean_curve
from arlequin.multilevel.rough.greenwood_williamson import GreenwoodWilliamson
from arlequin.multilevel.rough.halfspace import HalfspaceCurve, halfspace_curve
from arlequin.multilevel.rough.hurst import HurstFit, hurst_of
from arlequin.multilevel.rough.kogut_etsion import KogutEtsion
from arlequin.multilevel.rough.moments import Differences, Moments, difference_moments, moments, texture
from arlequin.multilevel.rough.persson import Persson
from arlequin.multilevel.rough.profile import Profile
from arlequin.multilevel.rough.reading import read, read_profile
from arlequin.multilevel.rough.self_affine import SelfAffine, self_affine
from arlequin.multilevel.rough.spectrum import Spectrum, spectrum_of
from arlequin.multilevel.rough.summits import SummitStatistics
from arlequin.multilevel.rough.theory import ContactTheory
from arlequin.multilevel.rough.topography import Topography, TopographyWarning
from arlequin.multilevel.rough.trend import Trend

__all__ = [
    "BushGibsonThomas",
    "ContactTheory",
    "Differences",
    "GreenwoodWilliamson",
    "HalfspaceCurve",
    "HurstFit",
    "KogutEtsion",
    "LawFit",
    "Moments",
    "Persson",
    "Profile",
    "SelfAffine",
    "Spectrum",
    "SummitStatistics",
    "Topography",
    "TopographyWarning",
    "Trend",
    "difference_moments",
    "fit_power",
    "fit_table",
    "halfspace_curve",
    "hurst_of",
    "mean_curve",
    "moments",
    "read",
    "read_profile",
    "self_affine",
    "spectrum_of",
    "texture",
]
