"""Studies whose steps have derivatives, and their models with the derivatives of their data."""

from collections.abc import Callable, Mapping, Sequence

from arlequin.models.errors import UserError
from arlequin.run.simulate import Study
from arlequin.schemes.central_steps import CentralStepper
from arlequin.schemes.sparse_steps import OneStepStepper
from arlequin.schemes.static import StaticStepper
from arlequin.sensitivity.models_at import ModelDerivative, StudyModel
from arlequin.sensitivity.sliding_friction import is_derived
from arlequin.sensitivity.step_equations import coefficients_of
from arlequin.system.assembly import Assembly


def derived(
    study: Callable[..., Study], at: Mapping[str, float], scales: Mapping[str, float], wrt: Sequence[str]
) -> tuple[StudyModel, list[ModelDerivative]]:
    """The model of study(**at) and its derivatives by each parameter of `wrt`; UserError where the run has no
    derivatives."""
    base_study = study(**at)
    if isinstance(base_study, Study) and coefficients_of(base_study.scheme, base_study.step) is None:
        rule = (
            "has no gradients: take Theta without located events, one of the generalised-alpha family, "
            "CentralDifference, or Static"
        )
        raise UserError.parameter("scheme", base_study.scheme, rule)
    model = StudyModel.of(base_study)
    _check_equations(model.assembly)
    if isinstance(model.stepper, StaticStepper):
        if not model.stepper.held:
            raise UserError(
                "gradients of statics need parts that are held without contact, by imposed motions, springs, …"
            )
    elif isinstance(model.stepper, CentralStepper):
        _check_explicit(model.assembly)
    elif not isinstance(model.stepper, OneStepStepper):
        raise UserError.parameter(
            "scheme", base_study.scheme, "has no gradients where it condenses nodes without mass: take Theta"
        )

    def near(name: str) -> Callable[[float], Study]:
        return lambda value: study(**{**at, name: value})

    return model, [ModelDerivative.of(name, at[name], scales[name], model, near(name)) for name in wrt]


def _check_explicit(assembly: Assembly) -> None:
    """UserError where steps of central differences have no derivatives."""
    if assembly.absorption is not None:
        raise UserError("gradients of CentralDifference take no absorbing junctions: take Newmark")
    if any(not item.rest for part in assembly.parts for item in part.imposed if item.kind == "velocity"):
        raise UserError("gradients of CentralDifference take no imposed velocities: give imposed displacements")


def _check_equations(assembly: Assembly) -> None:
    """UserError where the equations of a system have no derivatives."""
    if not assembly.linear:
        raise UserError("gradients need linear parts: a part has finite strains or rotations")
    if not assembly.contact.fixed:
        raise UserError("gradients need contact with fixed normals and partners (planes, point to point)")
    if not is_derived(assembly.laws):
        raise UserError(
            "gradients need a coefficient of friction that is constant, or one of the slip rate and the pressure alone:"
            " take Coulomb, Stribeck, StaticDynamic without slip_distance, VelocityFriction or PressureFriction"
        )
