"""How the contact problem of a step is solved."""

from dataclasses import dataclass
from typing import Literal

from arlequin.models.checks import non_negative, one_of, positive

METHODS = ("newton", "augmented", "gauss-seidel", "projected-gradient")
Method = Literal["newton", "augmented", "gauss-seidel", "projected-gradient"]


@dataclass(frozen=True)
class ContactMethod:
    """The way to the impulses of a step; none of its numbers moves the solution, nor needs tuning.

    method "newton": the Lagrangian form with statuses, by semismooth Newton, which falls back on the others where it
    cycles. "augmented": the augmented Lagrangian (method of multipliers) around it. "gauss-seidel" and
    "projected-gradient": these alone. augmentation: number of the augmented forms, in units of their default.
    stabilised: a mass-like term on the multipliers, in units of their compliance (True: 1e-3), iterated away, for
    multipliers that the displacements do not determine; the plain forms refuse those.
    """

    method: Method = "newton"
    augmentation: float = 1.0
    stabilised: bool | float = False

    def __post_init__(self) -> None:
        one_of("method", self.method, METHODS)
        positive("augmentation", self.augmentation)
        if not isinstance(self.stabilised, bool):
            non_negative("stabilised", self.stabilised)

    @property
    def numbers(self) -> tuple[int, float, float]:
        """As the kernels of the contact problem take them: the method's place in METHODS, ρ, the proximal term."""
        term = proximal_term(self.method, self.augmentation, self.stabilised)
        return METHODS.index(self.method), self.augmentation, term


def proximal_term(method: Method, augmentation: float, stabilised: bool | float) -> float:
    """Size of the term on the multipliers, in units of their compliance; 0 for none."""
    if method == "augmented":
        return 1.0 / positive("augmentation", augmentation)
    return 1e-3 if stabilised is True else non_negative("stabilised", float(stabilised))
