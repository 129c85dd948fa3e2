"""Protocols of the finite-element model of a continuum, as assembly, surfaces, damping and stresses require it.

`Continuum` and `Solid` implement them; the modules that these import refer to the protocols.
"""

from typing import Any, Protocol

from arlequin.models.fem.cells import CellArrays
from arlequin.models.fem.elements import FiniteElement
from arlequin.models.nodal import ExternalLoads
from arlequin.models.part import Imposed, MeshedPart, Weighting


class ContinuumModel(MeshedPart, Protocol):
    """Mesh, material and finite element of a continuum; see `Continuum`."""

    @property
    def material(self) -> Any: ...

    @property
    def mass(self) -> str: ...

    @property
    def damping(self) -> Any: ...

    @property
    def lame(self) -> tuple[float, float]: ...

    @property
    def axisymmetric(self) -> bool: ...

    @property
    def finite_element(self) -> FiniteElement: ...

    @property
    def cells(self) -> CellArrays: ...

    def loads(self, weighting: Weighting) -> ExternalLoads: ...

    @property
    def motions(self) -> tuple[Imposed, ...]: ...


class SolidModel(ContinuumModel, Protocol):
    """A continuum in the plane or in space; see `Solid`."""

    @property
    def plane(self) -> str | None: ...

    @property
    def kinematics(self) -> str: ...

    @property
    def mean_dilatation(self) -> bool: ...

    @property
    def stress_components(self) -> tuple[str, ...]: ...
