"""Rough surfaces, from a measured or made map to its spectrum and moments, as `aq.rough`.

import arlequin as aq

measured = aq.rough.read("sample.sur", fill=True).levelled()
print(measured.report)
print(aq.rough.moments(measured.windowed()).rms_slope, aq.rough.hurst_of(measured.windowed(), cutoff=2e-6))
alike = aq.rough.self_affine((512, 512), (1e-3, 1e-3), hurst=0.8, cutoff=16e-6, rolloff=2.5e-4, rms_slope=0.1)
"""

from multilevel.rough.hurst import HurstFit, hurst_of
from multilevel.rough.moments import Differences, Moments, difference_moments, moments, texture
from multilevel.rough.reading import read
from multilevel.rough.self_affine import SelfAffine, self_affine
from multilevel.rough.spectrum import Spectrum, spectrum_of
from multilevel.rough.topography import Topography, TopographyWarning
from multilevel.rough.trend import Trend

__all__ = [
    "Differences",
    "HurstFit",
    "Moments",
    "SelfAffine",
    "Spectrum",
    "Topography",
    "TopographyWarning",
    "Trend",
    "difference_moments",
    "hurst_of",
    "moments",
    "read",
    "self_affine",
    "spectrum_of",
    "texture",
]
