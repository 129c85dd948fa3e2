"""Wave packet too short for the coarse mesh: reflection by four couplings of a fine and a coarse bar.

The packet starts in the fine part. A point junction and an Arlequin junction reflect it completely, an absorbing
Arlequin junction absorbs it, the all-fine model transmits it: the couplings are compared by the energy left in the fine
part.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args

import xarray

import arlequin as aq
from arlequin.cases import wave_junction
from arlequin.cases.case.checks import Check
from arlequin.cases.case.comparison import comparison
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.figures import four_models
from arlequin.cases.shared.impact import energy_checks
from arlequin.cases.shared.vocabulary import FieldsEvery
from arlequin.cases.shared.waves import stretch_energy
from arlequin.cases.wave_junction import DENSITY, YOUNG, BarLayout
from arlequin.models.checks import positive

Model = Literal["point", "arlequin", "absorbing", "fine"]
MODELS: tuple[Model, ...] = get_args(Model)


@dataclass(frozen=True)
class Parameters:
    """Default: wavelength equal to the coarse cell size, fine cells of a tenth of it."""

    model: Annotated[Model, Quantity("", "coupling of the parts")] = "absorbing"
    ratio: Annotated[float, Quantity("", "coarse over fine cell size", positive)] = 10.0
    coarse_size: Annotated[float, Quantity("m", "coarse cell size H", positive)] = 0.1
    overlap: Annotated[float, Quantity("m", "length of the overlap", positive)] = 0.4
    wavelength: Annotated[float, Quantity("m", "wavelength of the packet", positive)] = 0.1
    courant: Annotated[float, Quantity("", "Courant number c Δt/h of the fine cells", positive)] = 0.35
    fields_every: FieldsEvery = 50


def as_wave(parameters: Parameters) -> wave_junction.Parameters:
    """Equivalent parameters of `wave_junction`."""
    p = parameters
    return wave_junction.Parameters(
        ratio=p.ratio,
        coarse_size=p.coarse_size,
        overlap=p.overlap,
        wavelength=p.wavelength,
        absorbing=p.model == "absorbing",
        courant=p.courant,
        fields_every=p.fields_every,
    )


def layout(parameters: Parameters) -> BarLayout:
    """Positions of the bars and the packet."""
    return wave_junction.layout(as_wave(parameters))


def build(parameters: Parameters) -> aq.Study:
    p, bar_layout = parameters, layout(parameters)
    study = wave_junction.build(as_wave(p))
    if p.model in ("arlequin", "absorbing"):
        return study
    material = aq.LinearElastic(young=YOUNG, density=DENSITY)
    h = p.coarse_size / p.ratio
    if p.model == "fine":
        mesh = aq.mesh.interval(0.0, bar_layout.end, cells=round(bar_layout.end / h))
        parts = [aq.Bar("fine", mesh, material, imposed={"left": {"x": 0.0}, "right": {"x": 0.0}})]
        junctions: list[Any] = []
    else:
        interface = bar_layout.coarse_start
        fine_mesh = aq.mesh.interval(0.0, interface, cells=round(interface / h))
        coarse_mesh = aq.mesh.interval(
            interface, bar_layout.end, cells=round((bar_layout.end - interface) / p.coarse_size)
        )
        fine = aq.Bar("fine", fine_mesh, material, imposed={"left": {"x": 0.0}})
        coarse = aq.Bar("coarse", coarse_mesh, material, imposed={"right": {"x": 0.0}})
        parts, junctions = [coarse, fine], [aq.Tie(coarse.boundary("left"), fine.boundary("right"))]
    return replace(study, system=replace(study.system, parts=parts, junctions=junctions))


def remaining_fraction(result: xarray.DataTree, parameters: Parameters) -> float:
    """Final energy before the overlap over the initial energy."""
    bar_layout = layout(parameters)
    start = float(result.dataset["energy"].sel(kind=["kinetic", "strain"])[0].sum())
    return stretch_energy(result, "fine", 0.0, bar_layout.coarse_start, YOUNG, DENSITY) / start


def comparisons(result: xarray.DataTree, parameters: Parameters) -> dict[str, Parameters]:
    """Other models, with final fields only."""
    other_models = [model for model in MODELS if model != parameters.model]
    return {model: replace(parameters, model=model, fields_every=10**6) for model in other_models}


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Energy left before the overlap: none if transmitted (fine) or absorbed, all for the two other couplings."""
    fraction = remaining_fraction(result, parameters)
    if parameters.model in ("fine", "absorbing"):
        energy_check = Check("energy left before the overlap", fraction, 0.0, 2e-2, "1", "at most")
    else:
        energy_check = Check("reflected energy (none resolved by the coarse cells)", fraction, 1.0, 0.05, "1")
    return [energy_check, *energy_checks(result)]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    fraction = remaining_fraction(result, parameters)
    return {"reflected_energy": aq.Scalar(fraction, "1", "fraction of the energy left before the overlap")}


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    """Final displacements of the four models."""
    from arlequin import plots

    finals: dict[str, Any] = {}
    variants = comparisons(result, parameters)
    for model in MODELS:
        run = result if model == parameters.model else comparison(build, variants, model)
        if run is not None:
            finals[model] = (run, remaining_fraction(run, variants.get(model, parameters)))
    return {"energies": plots.energies(result), "models": four_models(finals)}
