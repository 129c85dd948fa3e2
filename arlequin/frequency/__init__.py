"""Linear dynamics in the frequency domain, as `aq.frequency`: loads, outputs, and the matrices at a state."""

from arlequin._lazy import attach

__getattr__, _modules = attach(__name__, __file__, globals())

__all__ = sorted(_modules)


def __dir__() -> list[str]:
    return __all__
