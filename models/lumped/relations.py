"""Linear relations between displacements."""

from collections.abc import Sequence
from dataclasses import dataclass

from arlequin.models import checks
from arlequin.models.errors import UserError, short_repr
from arlequin.models.part import Surface
from arlequin.models.signatures import checked_call
from arlequin.models.types import Indices


@checked_call
@dataclass(frozen=True, eq=False)
class Relation:
    """A linear relation between displacements: Σ_i a_i u_i = 0 for terms (boundary, component, a_i).

    A boundary has one node or n nodes; with n nodes there are n relations, one per node, and a term of one node enters
    all of them (a platen that moves a face). Components: "x", "y", "z", and of nodes with rotations "rx", "ry", "rz".

    >>> import arlequin as aq
    >>> loads = aq.PointMasses("loads", [[0.0], [0.0]], [1.0, 3.0], names={"light": 0, "heavy": 1})  # kg, on a pulley
    >>> rope = aq.Relation("rope", [(loads.boundary("light"), "x", 1.0), (loads.boundary("heavy"), "x", 1.0)])
    >>> system = aq.System([loads], relations=[rope], gravity=-10.0)  # m/s²
    >>> result = aq.simulate(system, aq.Theta(0.5), duration=1.0, step=0.1)
    >>> result["part/loads"]["velocity"][-1, :, 0].values.round(9).tolist()  # ± g t (3 − 1)/(3 + 1), m/s
    [5.0, -5.0]
    """

    name: str
    terms: Sequence[tuple[Surface, str, float]]

    __repr__ = short_repr

    def __post_init__(self) -> None:
        checks.valid_name(self.name, "name of a relation")
        rule = 'must be a list of (part.boundary("name"), component, coefficient)'
        if not checks.items(f"relation '{self.name}': terms", self.terms, tuple | list, rule):
            raise UserError(f"relation '{self.name}': needs at least one term")
        for term in self.terms:
            if len(term) != 3 or not isinstance(term[0], Surface):
                rule = 'must be (part.boundary("name"), component, coefficient)'
                raise UserError.parameter(f"relation '{self.name}': term", term, rule)
            checks.finite("coefficient", term[2])
            _ = self.dofs(term[0], term[1])
        sizes = {surface.nodes.size for surface, *_ in self.terms} - {1}
        if len(sizes) > 1:
            raise UserError(f"relation '{self.name}': boundaries of {sorted(sizes)} nodes: one, or all the same number")

    @property
    def count(self) -> int:
        """Number of relations."""
        return max(surface.nodes.size for surface, *_ in self.terms)

    def dofs(self, surface: Surface, component: str) -> Indices:
        """Dofs (k,) of a component of a boundary's nodes, in its part."""
        axes = ("x", "y", "z")[: surface.positions.shape[1]]
        rotations = surface.part.components - len(axes)
        names = axes + ("rx", "ry", "rz")[3 - rotations :] if rotations > 0 else axes
        checks.one_of(f"relation '{self.name}': component", component, names)
        return surface.dofs[:, names.index(component)]
