"""Options of the solver of the contact problem of a step."""

from dataclasses import dataclass
from typing import Literal

from arlequin.models.checks import non_negative, one_of, positive
from arlequin.models.signatures import checked_call

METHODS = ("newton", "augmented", "gauss-seidel", "projected-gradient")
Method = Literal["newton", "augmented", "gauss-seidel", "projected-gradient"]


@checked_call
@dataclass(frozen=True)
class ContactMethod:
    """Method of solution for the contact impulses of a step; no option changes the solution or needs tuning.

    method "newton": semismooth Newton on the Lagrangian form, with the other methods as fallbacks where it cycles.
    "augmented": the augmented Lagrangian (method of multipliers) around it. "gauss-seidel" and "projected-gradient":
    these methods alone. augmentation: parameter ρ of the augmented forms, relative to its default. stabilised: proximal
    term on the multipliers, relative to their compliance (True: 1e-3), iterated away, for multipliers that the
    displacements do not determine; without it such problems are refused.
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
        """Index of the method in METHODS, ρ and the proximal term."""
        term = proximal_term(self.method, self.augmentation, self.stabilised)
        return METHODS.index(self.method), self.augmentation, term


def proximal_term(method: Method, augmentation: float, stabilised: bool | float) -> float:
    """Proximal term on the multipliers, relative to their compliance; 0 for none."""
    if method == "augmented":
        return 1.0 / positive("augmentation", augmentation)
    return 1e-3 if stabilised is True else non_negative("stabilised", float(stabilised))
