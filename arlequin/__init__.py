"""Multiscale contact dynamics by the Arlequin method.

Models of different resolution coupled by the Arlequin method, contact laws between deformable bodies and rigid
obstacles, implicit and explicit time schemes, and an energy balance at every step:

    import arlequin as aq

    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=100), steel)
    wall = aq.RigidPlane(point=0.101, normal=-1.0)
    contact = aq.Interface("end", bar.boundary("right"), wall, aq.Unilateral())
    system = aq.System([bar], interfaces=[contact], velocity=10.0)
    result = aq.simulate(system, aq.Theta(0.5), duration=2e-4, step=2e-7)
    result["energy"].plot(hue="kind")

Zones and weights of junctions are in `aq.zones` and `aq.weights`, laws of springs in `aq.springs`, levels of models in
`aq.levels`, the evaluation of results in `aq.results`, fatigue in `aq.fatigue`, figures in `aq.plots`, meshes in
`aq.mesh`, rough surfaces in `aq.rough`.

Public names are listed in `__init__.pyi` and imported on first use, so that `import arlequin` is fast.
"""

from typing import Any

from arlequin._lazy import attach

__version__ = "0.2.0"
_load, _modules = attach(__name__, __file__, globals())
# names of version 0.2, which give a warning
_MOVED = {
    "zones": "Box Cells HalfSpace LevelSet Strip",
    "weights": "Constant Cubic Function Linear Weight",
    "levels": "ContactIndicator ErrorIndicator Level MovingPatch StateIndicator SwitchTimes",
    "results": "contact_ratio export_netcdf export_vtu impact_peaks mean_power open power_spectrum stress worn_depth "
    "worn_volume",
}

__all__ = sorted(_modules)


def __getattr__(name: str) -> Any:
    for namespace, names in _MOVED.items():
        if name in names.split():
            import warnings

            text = f"arlequin.{name} is now arlequin.{namespace}.{name}; the short name is removed in version 0.4"
            warnings.warn(text, FutureWarning, stacklevel=2)
            return getattr(_load(namespace), name)
    return _load(name)


def __dir__() -> list[str]:
    return __all__
