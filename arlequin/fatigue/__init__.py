"""Fatigue, as `aq.fatigue`: cycles of a history, S–N curves, mean stress, Miner's sum, damage of a spectrum.

import arlequin as aq

curve = aq.fatigue.SNCurve.basquin(amplitude=160e6, cycles=2e6, slope=5)  # Pa
cycles = aq.fatigue.rainflow(stress)  # a variable of a result, along its `time` or `frame`
life = aq.fatigue.damage(cycles, curve, aq.fatigue.Goodman(600e6))["life"]  # s
spectral = aq.fatigue.spectral_damage(psd, curve, method="dirlik")  # one-sided, Pa²/Hz
"""

from arlequin._lazy import attach

__getattr__, _modules = attach(__name__, __file__, globals())

__all__ = sorted(_modules)


def __dir__() -> list[str]:
    return __all__
