"""Acceptance of a step: convergence of contact, finite motion, no inverted cells."""

import numpy as np

from arlequin.models.errors import FAILURE, ModelWarning, UserError, warn_user
from arlequin.models.types import Array
from arlequin.multilevel.solvers.contact import ContactSolution
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.multilevel.solvers.sliding import may_branch
from arlequin.system.assembly import Assembly
from arlequin.system.internal_forces import BulkResponse
from arlequin.system.locate import locate_maximum

RESIDUAL_LIMIT = 1e-10  # of the contact problem, relative to its largest impulse


class Failed(UserError):
    """Error of a step that is not accepted: cause and remedy."""

    def __init__(self, what: str, remedy: str = "a smaller step") -> None:
        super().__init__(f"{what}: try {remedy}", FAILURE)
        self.what, self.remedy = what, remedy

    def __reduce__(self) -> tuple[type["Failed"], tuple[str, str]]:  # type: ignore[override]
        return type(self), (self.what, self.remedy)


class Unheld(Failed):
    """Error of an unsupported part under an unbalanced force, which smaller steps do not cure."""


def undetermined_multipliers(t: float) -> UserError:
    """The error of a contact problem with more multipliers than the displacements determine."""
    return UserError(
        f"contact at t = {t:.6g} s: the displacements do not determine all multipliers: take fewer of them "
        '(multiplier="P1" or "P0") or ContactMethod(stabilised=True)',
        code=1,
    )


def accept(
    contact: ContactSolution,
    u: Array,
    t: float,
    remedy: str = "a smaller step or softer asperities",
    assembly: Assembly | None = None,
) -> None:
    """Raises `Failed` or UserError if a step must not be accepted: steps that did not converge are never recorded.

    assembly: that of the displacement u (d,), to locate a value that is not finite.
    """
    if contact.singular:
        raise undetermined_multipliers(t)
    if not contact.residual <= RESIDUAL_LIMIT:
        if assembly is not None and assembly.laws.state_dependent:
            remedy = f"{remedy}, or friction that changes less with the slip rate"
        raise Failed(
            f"contact did not converge at t = {t:.6g} s (residual {contact.residual:.2g}, allowed {RESIDUAL_LIMIT:g})",
            remedy,
        )
    if not np.isfinite(u).all():
        where = "" if assembly is None else f" ({locate_maximum(assembly, u)})"
        raise Failed(f"the motion is no longer finite at t = {t:.6g} s{where}")


def warn_of_branches(laws: PointLaws, normal: Array, response: Array, share: float) -> None:
    """Issues a `ModelWarning`, once, if steps may have several solutions; see `arlequin.multilevel.solvers.sliding`."""
    if may_branch(laws, normal, response, share):
        warn_user(
            "friction falls so fast with the slip rate that a step may have several solutions: the one that continues "
            "the motion is taken (stick stays stick while it can); a smaller step makes it unique, see "
            "docs/theory/contact.md",
            ModelWarning,
        )  # fmt: skip


def accept_shape(assembly: Assembly, u: Array, t: float) -> None:
    """Raises `Failed` for an inverted cell of a nonlinear part: a solution of the equations without physical
    meaning."""
    for name, part, at in assembly.nonlinear:
        least_volume, cell = part.least_volume(u[at])
        if not least_volume > 0.0:
            raise _inside_out(name, cell, t, "material")


def accept_cells(assembly: Assembly, bulk: BulkResponse, t: float) -> None:
    """Raises `Failed` for an inverted cell of a path-dependent part."""
    for part, cell in zip(assembly.system.parts, bulk.inverted, strict=False):
        if cell >= 0:
            raise _inside_out(part.name, cell, t, "mesh")


def _inside_out(name: str, cell: int, t: float, limit: str) -> Failed:
    return Failed(
        f"part '{name}': cell {cell} is turned inside out at t = {t:.6g} s",
        f"a smaller step; if it stays, the strains are too large for the {limit}",
    )
