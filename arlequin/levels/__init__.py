"""Levels of models, as `aq.levels`: models of a part between which a run switches, and the indicators that choose."""

from arlequin._lazy import attach

__getattr__, _modules = attach(__name__, __file__, globals())

__all__ = sorted(_modules)


def __dir__() -> list[str]:
    return __all__
