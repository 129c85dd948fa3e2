"""Weights of junctions, as `aq.weights`: α of the fine part, 1 − α of the coarse part."""

from arlequin.junctions.weights import Constant, Cubic, Function, Linear, Weight

__all__ = ["Constant", "Cubic", "Function", "Linear", "Weight"]
