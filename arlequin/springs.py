"""Laws of springs, as `aq.springs`: the force of a `Spring(…, law=…)` as a function of its elongation."""

from arlequin.multilevel.laws.springs import Backlash, Bilinear, BoucWen, Cubic, Iwan, SpringLaw, Table

__all__ = ["Backlash", "Bilinear", "BoucWen", "Cubic", "Iwan", "SpringLaw", "Table"]
