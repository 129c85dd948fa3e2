"""The reference: a page for each group of public names, generated from `arlequin.__all__` and the modules listed here.

The package loads its names on first use, so that autodoc does not find them. A name of `__all__` that is in no group is
put on the page `more`, so that the reference is complete.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from plain import restructured
from sphinx.application import Sphinx


@dataclass(frozen=True)
class Group:
    """A page: file, title, introduction, names of `arlequin`, and (module, its names or None for all)."""

    file: str
    title: str
    text: str
    names: tuple[str, ...] = ()
    modules: tuple[tuple[str, tuple[str, ...] | None], ...] = ()


GROUPS = (
    Group(
        "studies",
        "Studies",
        "Systems and runs; results are evaluated by [`aq.results`](results.md).",
        (
            "System",
            "simulate",
            "Study",
            "simulate_cycles",
            "CycleJump",
            "Record",
            "ranks",
            "view",
            "natural_frequencies",
            "complex_modes",
            "UserError",
        ),
    ),
    Group(
        "results",
        "Results",
        "Evaluation and export of results: see [how to](../how-to/results.md).",
        (),
        (("arlequin.results", None),),
    ),
    Group(
        "levels",
        "Levels",
        "Models of a piece of a body that are switched during a run: see [how to](../how-to/levels.md) and "
        "[theory](../theory/levels.md).",
        ("Levels",),
        (
            ("arlequin.levels", None),
            ("arlequin.levels.indicators", ("LevelView",)),
        ),
    ),
    Group(
        "orbits",
        "Periodic motions",
        "Branches, stability, modes: see [how to](../how-to/periodic.md) and [theory](../theory/periodic.md).",
        ("periodic",),
    ),
    Group(
        "frequency",
        "Frequency domain and random response",
        "Harmonic and stationary random responses of the linearised system, and statistics of records: see "
        "[how to](../how-to/frequency.md), [with gaps and friction](../how-to/statistical-linearisation.md).",
        ("frequency_response", "random_response", "statistical_linearisation", "psd", "rms", "peak_factor"),
        (("arlequin.frequency", None),),
    ),
    Group(
        "sweeps",
        "Sweeps, convergence and ensembles",
        "Many runs: see [how to sweep](../how-to/sweep.md) and [how to verify](../how-to/convergence.md).",
        ("sweep", "open_sweep", "Scalar", "SweepWarning", "convergence", "simulate_ensemble"),
    ),
    Group(
        "uncertainty",
        "Uncertainty",
        "Means, rare events and shares of uncertain inputs: see [how to](../how-to/uncertainty.md) and "
        "[theory](../theory/uncertainty.md).",
        ("estimate", "probability", "rank_correlations", "sobol_indices"),
    ),
    Group(
        "fatigue",
        "Fatigue",
        "Cycles, S–N curves, damage of histories and of spectra: see [how to](../how-to/fatigue.md).",
        (),
        (("arlequin.fatigue", None),),
    ),
    Group(
        "wear-life",
        "Wear life",
        "Depth over the service life, time to a limit and its distribution: see [how to](../how-to/wear-life.md).",
        ("wear_life", "wear_life_distribution", "wear_table"),
    ),
    Group(
        "gradients",
        "Gradients and fits",
        "Derivatives by parameters, least squares: see [how to](../how-to/gradients.md) and "
        "[theory](../theory/gradients.md).",
        ("gradient", "Response", "smoothed_gradient", "fit"),
    ),
    Group(
        "parts",
        "Parts",
        "Deformable and rigid bodies, masses, springs and loads.",
        (
            "Solid",
            "Bar",
            "Beam",
            "Section",
            "SectionPoints",
            "PointMasses",
            "RigidBody",
            "Rigid",
            "Modal",
            "Superelement",
            "craig_bampton",
            "read_superelement",
            "solids",
            "Spring",
            "Bushing",
            "Pretension",
            "Relation",
            "Turbulence",
            "PlateauSpectrum",
            "SpanForce",
        ),
        (
            ("arlequin.models.fem.continuum", ("Continuum",)),
            ("arlequin.models.part", ("Surface",)),
            ("arlequin.models.mesh", None),
        ),
    ),
    Group(
        "materials",
        "Materials",
        "Elasticity, damping and plasticity. Stress laws of your own: see [how to](../how-to/point-material.md).",
        ("LinearElastic", "Rayleigh", "NeoHooke", "J2", "LinearHardening", "Voce", "JohnsonCook", "AdiabaticHeat"),
    ),
    Group(
        "junctions",
        "Junctions",
        "Coupling of parts: see [the theory](../theory/junctions.md).",
        (
            "Junction",
            "BeamJunction",
            "Tie",
            "Mortar",
            "L2",
            "H1",
            "Coupling",
            "Mediator",
            "Absorber",
            "dual_condition",
            "JunctionWarning",
        ),
    ),
    Group(
        "zones",
        "Zones of junctions",
        "Where two superposed parts are coupled: see [the theory](../theory/junctions.md).",
        (),
        (("arlequin.zones", None),),
    ),
    Group(
        "weights",
        "Weights of junctions",
        "Shares of both parts in the overlap: see [the theory](../theory/junctions.md) and "
        "[how to](../how-to/weight.md).",
        (),
        (("arlequin.weights", None),),
    ),
    Group(
        "springs",
        "Laws of springs",
        "Force over elongation of `Spring(…, law=…)` and `Bushing`: see [how to](../how-to/springs.md).",
        (),
        (("arlequin.springs", None),),
    ),
    Group(
        "flow",
        "Flows",
        "Axial and cross flow on beams and tubes, and its stability: see [how to](../how-to/flow.md).",
        ("critical_velocity",),
        (("arlequin.flow", None),),
    ),
    Group(
        "interfaces",
        "Interfaces",
        "Contact interfaces, laws and obstacles: see [the theory](../theory/contact.md).",
        (
            "Interface",
            "ContactMethod",
            "Unilateral",
            "Asperities",
            "AsperityTable",
            "Penalty",
            "VelocityPenalty",
            "PerturbedLagrangian",
            "ImpactElement",
            "SqueezeFilm",
            "Coulomb",
            "StaticDynamic",
            "Stribeck",
            "VelocityFriction",
            "PressureFriction",
            "RateAndState",
            "Orthotropic",
            "Archard",
            "check_law",
            "RigidPlane",
            "RigidPlanes",
            "RigidSphere",
            "RigidCylinder",
            "RigidBox",
            "RigidPolyline",
            "RigidSurface",
            "Guides",
        ),
    ),
    Group(
        "schemes",
        "Time schemes",
        "Time integration: see [the theory](../theory/schemes.md).",
        (
            "Theta",
            "Midpoint",
            "Newmark",
            "HHT",
            "ModifiedMeanAcceleration",
            "GeneralisedAlpha",
            "CentralDifference",
            "Multirate",
            "Static",
            "SymplecticEuler",
            "DeVogelaere",
            "RungeKutta",
        ),
    ),
    Group(
        "rough",
        "Rough surfaces",
        "Contact laws from measured surfaces: `aq.rough`, see [the theory](../theory/rough.md).",
        (),
        (("arlequin.rough", None),),
    ),
    Group(
        "plots",
        "Figures",
        "Each function draws a matplotlib figure of a result: `aq.plots.energies(result)`.",
        (),
        (("arlequin.plots", None),),
    ),
    Group(
        "cases",
        "Cases",
        "Cases in Python, and the classes used in a case: see [how to write a case](../how-to/case.md).",
        (),
        (
            ("arlequin.cases", None),
            ("arlequin.cases.case.parameters", ("Quantity",)),
            ("arlequin.cases.case.checks", ("Check",)),
            ("arlequin.cases.case.comparison", ("comparison", "Variant")),
            ("arlequin.cases.case.scalars", ("of", "errors")),
        ),
    ),
    Group(
        "contracts",
        "Extension points",
        "Protocols and base classes of laws, elements, materials, parts, junctions and schemes; see also the pages in "
        "[how to](../how-to/index.md).",
        (),
        (
            ("arlequin.multilevel.laws.base", ("RegularLaw", "SetValuedLaw")),
            ("arlequin.multilevel.laws.friction", ("FrictionLaw", "VariableFriction", "SlidingState")),
            ("arlequin.multilevel.obstacles.base", ("Obstacle",)),
            ("arlequin.models.fem.elements", ("FiniteElement", "register")),
            ("arlequin.models.materials.elastic", ("Material",)),
            ("arlequin.models.materials.point", ("PointMaterial", "PointResponse")),
            ("arlequin.models.part", ("Part", "Assembled")),
            ("arlequin.junctions.base", ("JunctionProtocol", "JunctionOperator")),
            ("arlequin.junctions.coupling", ("Coupling", "Shapes")),
            ("arlequin.junctions.mediator", ("Mediator", "GluingZone", "MultiplierSpace")),
            ("arlequin.junctions.weights", ("Weight",)),
            ("arlequin.junctions.zone", ("Zone",)),
            ("arlequin.step.scheme", ("Scheme", "EnsembleScheme", "Stepper")),
            ("arlequin.step.state", ("State",)),
            ("arlequin.step.batch", ("StepBatch",)),
            ("arlequin.step.impulses", ("ContactImpulses",)),
            ("arlequin.step.imposed", ("reaction",)),
            ("arlequin.step.acceptance", ("accept",)),
            ("arlequin.system.assembly", ("Assembly",)),
            ("arlequin.solvers.condensed", ("Condensed", "Predictor")),
            ("arlequin.solvers.contact_step", ("ContactMotion", "solve_contact_step", "ContactStep")),
            ("arlequin.energy", ("Forces", "WorkPaths", "BulkWork", "Work")),
        ),
    ),
)
ARRAY = re.compile(r"~?numpy\.ndarray\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[~?(?:numpy|typing)\.(\w+)\]\]")
SHORT = {"float64": "Array", "int64": "Indices"}  # names of array types in `arlequin.models.types`
AS_MODULES = (
    "fatigue",
    "flow",
    "frequency",
    "levels",
    "mesh",
    "plots",
    "results",
    "rough",
    "springs",
    "weights",
    "zones",
)  # names of `arlequin` that are modules, with pages or parts of pages of their own


def public(module: str) -> list[str]:
    """The public names of a module: its `__all__`, otherwise the names that it defines."""
    found = import_module(module)
    if hasattr(found, "__all__"):
        return [name for name in found.__all__ if not inspect.ismodule(getattr(found, name))]
    own = [(name, value) for name, value in vars(found).items() if getattr(value, "__module__", "") == module]
    return [name for name, _ in own if not name.startswith("_")]


_CONTRACTS = next(group for group in GROUPS if group.file == "contracts")
# members that a study calls; of extension points, which a study implements, all are documented
CALLED = {
    "Assembly": (
        "linear",
        "dof_count",
        "places",
        "viscous",
        "laws",
        "fresh",
        "respond",
        "load",
        "kinetic",
        "generalised_force",
        "imposed",
        "imposed_dofs",
        "imposes_displacement",
        "free",
        "massless",
    ),
    "AsperityTable": ("height", "slope"),
    "Beam": ("between", "boundary", "resultants", "stress"),
    "GeneralisedAlpha": ("with_radius",),
    "Junction": ("condition",),
    "LinearElastic": ("lame", "lame_plane_stress", "shear"),
    "Modal": ("frequencies",),
    "PointMasses": ("boundary",),
    "Rigid": ("mass", "centre"),
    "RigidBody": ("boundary",),
    "RigidPlane": ("gap",),
    "Section": ("rectangle", "circle", "tube"),
    "SNCurve": ("basquin", "eurocode", "read", "scaled", "lives", "stress"),
    "Condensed": ("predict", "correct", "solve", "spread"),
    "Continuum": ("boundary", "positions"),
    "Solid": ("stress", "stress_components"),
    "Bar": ("stress",),
    "Study": ("run", "steps"),
    "Surface": ("positions", "areas", "normals"),
    "Turbulence": ("frequencies", "rms"),
    "View": ("save", "show"),
}
IMPLEMENTED = ("Weight", "Coupling", "Mediator", "MeanStress")


def members(module: str, name: str) -> str:
    """The option of autodoc for the members of a class that the reference documents; empty for none."""
    if name in CALLED:
        return f"   :members: {', '.join(CALLED[name])}"
    extension = any(module == own and name in (names or ()) for own, names in _CONTRACTS.modules)
    return "   :members:" if extension or name in IMPLEMENTED else ""


def directive(module: str, name: str) -> Iterator[str]:
    """The lines that document one name."""
    value = getattr(import_module(module), name)
    kind = "autoclass" if inspect.isclass(value) else "autofunction" if callable(value) else "autodata"
    yield f".. {kind}:: {module}.{name}"
    if kind == "autoclass" and (option := members(module, name)):
        yield option
    yield ""


def page(group: Group) -> str:
    """A page in Markdown, its directives in reStructuredText."""
    out = [f"# {group.title}", "", group.text, ""]
    if group.names:
        out += ["```{eval-rst}", *(line for name in group.names for line in directive("arlequin", name)), "```", ""]
    for module, names in group.modules:
        text = (import_module(module).__doc__ or "").strip()
        out += [f"## `{module}`", "", "```{eval-rst}", *restructured(text.split("\n")), "", "```", ""]
        chosen = public(module) if names is None else list(names)
        out += ["```{eval-rst}", *(line for name in chosen for line in directive(module, name)), "```", ""]
    return "\n".join(out)


def groups() -> list[Group]:
    """The groups with the names of `arlequin`, and a further group of the names that are in none of them."""
    import arlequin

    made = [replace(group, names=tuple(name for name in group.names if name in arlequin.__all__)) for group in GROUPS]
    listed = {name for group in made for name in group.names}
    rest = tuple(name for name in arlequin.__all__ if name not in listed and name not in AS_MODULES)
    return [*made, *([Group("more", "More", "Other names of `arlequin`.", rest)] if rest else [])]


def build(app: Sphinx) -> None:
    """Write the pages into docs/api."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    made = groups()
    text = "Public names of `import arlequin as aq` and its modules. Units are SI. `Array` is a NumPy array of float64."
    out = ["# Reference", "", text, ""]
    pages = {f"{group.file}.md": page(group) for group in made}
    pages["index.md"] = "\n".join([*out, "```{toctree}", *(group.file for group in made), "```", ""])
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.iterdir():
        if path.name not in pages:
            path.unlink()


def plain_text(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """autodoc's hook: docstrings are plain text."""
    lines[:] = restructured(lines)


def plain_signature(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """autodoc's hook: short names of array types, no signature of protocols.

    A default that is no expression, such as `<factory>`, would make the signature unreadable for Sphinx.
    """

    def short(text: str | None) -> str | None:
        return ARRAY.sub(lambda match: SHORT.get(match[1], f"NDArray[{match[1]}]"), text) if text else text

    if what == "class" and signature == "(*args, **kwargs)":
        return "", result
    return short(re.sub(r"= ?<[^<>]*>", "= ...", signature) if signature else signature), short(result)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", build)
    app.connect("autodoc-process-docstring", plain_text)
    app.connect("autodoc-process-signature", plain_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
