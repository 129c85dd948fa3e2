"""Protocol of a beam, as its elements, loads, section points and assembly require it; `Beam` implements it."""

from collections.abc import Mapping
from typing import Any, Protocol

from arlequin.models.part import Imposed, MeshedPart
from arlequin.models.types import Array, Indices


class BeamModel(MeshedPart, Protocol):
    """A straight beam on a mesh of lines; see `Beam`."""

    @property
    def dimension(self) -> int: ...

    @property
    def mass(self) -> str: ...

    @property
    def damping(self) -> Any: ...

    @property
    def tension(self) -> float: ...

    @property
    def added_mass(self) -> float: ...

    @property
    def fluid_damping(self) -> float: ...

    @property
    def turbulence(self) -> Any: ...

    @property
    def distributed(self) -> Any: ...

    @property
    def end_loads(self) -> Mapping[str, Any]: ...

    @property
    def points(self) -> Mapping[str, Any]: ...

    @property
    def frame(self) -> Array: ...

    @property
    def nodes(self) -> Indices: ...

    @property
    def xi(self) -> Array: ...

    @property
    def elements(self) -> Any: ...

    @property
    def rigidities(self) -> Array: ...

    @property
    def inertias(self) -> Array: ...

    @property
    def motions(self) -> tuple[Imposed, ...]: ...

    def loads(self, weight: Array) -> Any: ...

    def place(self, s: Array) -> Array: ...

    def end(self, name: str) -> Indices: ...
