"""Fine patch coupled to a coarse mesh along a curved border: Lamé's ring and Kirsch's plate with a hole.

Quadrant in plane strain with symmetry about x = 0 and y = 0; the patch is at the hole, from the angle `start` to 90°,
with nodes independent of the coarse mesh. Second-order cells are curved. The plate is bounded by r = b, where the
tractions of the infinite plate are applied.

    σ_r, σ_θ = p a²/(b² − a²) (1 ∓ b²/r²)                                                                  (Lamé)
    σ_θ = S/2 (1 + a²/r²) − S/2 (1 + 3a⁴/r⁴) cos 2θ, 3S at the hole's top                                 (Kirsch)

Errors in the patch are compared with those of the coarse mesh alone in the same region. Largest displacement error and
rms stress error over the largest values in the patch, for 8 → 16 coarse cells around, start=0; in brackets the coarse
mesh alone:

                        displacement                        stress                              K
    plate, order 1      9.2e-3 → 2.4e-3 (2.1e-2, 5.6e-3)    1.1e-2 → 5.6e-3 (3.7e-2, 1.9e-2)    2.945 → 3.003
    plate, order 2      1.0e-3 → 1.8e-5 (1.5e-4, 9.7e-6)    3.0e-4 → 6.2e-5 (2.7e-3, 6.8e-4)    3.000 → 3.000
    ring, order 1       3.2e-3 → 9.5e-4 (4.6e-3, 1.6e-3)    2.5e-2 → 1.3e-2 (7.8e-2, 4.3e-2)
    ring, order 2       1.1e-3 → 1.9e-4 (7.1e-6, 5.5e-7)    7.2e-4 → 1.2e-4 (3.2e-6, 2.5e-7)

The second-order ring needs no refinement: curved cells represent Lamé's field to 1e-5, so that the error of the
junction itself is visible, 1e-3 for an overlap of 1.3 coarse cells.

Source: S. P. Timoshenko and J. N. Goodier, Theory of Elasticity, McGraw-Hill, 3rd ed. (1970), sections 28 and 35.
"""

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import skfem
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.comparison import comparison
from arlequin.cases.glued_ring.parameters import RADIUS, Parameters
from arlequin.cases.shared.impact import worst_balance
from arlequin.models.types import Array

PATCH, ZONE = 2.0, 0.5
CONCENTRATION = 3.0
NEAR = {1: 2e-2, 2: 5e-3}  # relative tolerance of the concentration, by order
JUNCTION = 0.2  # stress error of the junction over (1/elements)²
BALANCE = 1e-12
ALONE = "coarse mesh alone"  # name of the comparison run of the checks
MODELS = {"arlequin": "with the patch", "single": "coarse mesh alone"}
COUNTS = (8, 12, 16)  # cells around the quadrant in the figure of the errors


def _sector(outer: float, start: float, size: float, kind: str, order: int) -> Any:
    """Mesh between the radii RADIUS and `outer`, of nearly square cells of angle `size`; curved for order 2."""
    inner, low = np.log(RADIUS), np.radians(start)
    counts = tuple(max(1, round(length / size)) for length in (np.log(outer) - inner, 0.5 * np.pi - low))
    mesh = aq.mesh.rectangle((inner, np.log(outer)), (low, 0.5 * np.pi), cells=counts, kind=kind)
    names = mesh.boundaries
    if order == 2:
        mesh = (skfem.MeshQuad2 if kind == "quad" else skfem.MeshTri2).from_mesh(mesh)
    r, angle = np.exp(mesh.doflocs[0]), mesh.doflocs[1]
    return replace(mesh, doflocs=np.stack([r * np.cos(angle), r * np.sin(angle)])).with_boundaries(names)


def _polar(x: Array) -> tuple[Array, Array]:
    """r and θ of points (axis, …)."""
    return np.hypot(x[0], x[1]), np.arctan2(x[1], x[0])


def _turned(polar: tuple[Array, Array], angle: Array) -> Array:
    """x and y components (axis, …) of radial and circumferential ones."""
    (radial, hoop), c, s = polar, np.cos(angle), np.sin(angle)
    return np.stack([radial * c - hoop * s, radial * s + hoop * c])


def exact_stress(parameters: Parameters, x: Array) -> Array:
    """σ_xx, σ_yy, σ_xy (3, …), Pa, at points (axis, …)."""
    (r, angle), load = _polar(x), parameters.stress
    if parameters.problem == "ring":
        q = parameters.outer**2 / r**2
        scale = load * RADIUS**2 / (parameters.outer**2 - RADIUS**2)
        radial, hoop, shear = scale * (1 - q), scale * (1 + q), 0.0 * r
    else:
        q, cos, sin = RADIUS**2 / r**2, np.cos(2 * angle), np.sin(2 * angle)
        radial = 0.5 * load * (1 - q + (1 - 4 * q + 3 * q * q) * cos)
        hoop = 0.5 * load * (1 + q - (1 + 3 * q * q) * cos)
        shear = -0.5 * load * (1 + 2 * q - 3 * q * q) * sin
    c, s = np.cos(angle), np.sin(angle)
    return np.stack(
        [
            radial * c * c + hoop * s * s - 2 * shear * s * c,
            radial * s * s + hoop * c * c + 2 * shear * s * c,
            (radial - hoop) * s * c + shear * (c * c - s * s),
        ]
    )


def exact_displacement(parameters: Parameters, x: Array) -> Array:
    """u (axis, …), m, at points (axis, …); plane strain, κ = 3 − 4ν."""
    (r, angle), p = _polar(x), parameters
    shear = p.young / (2 * (1 + p.poisson))
    if p.problem == "ring":
        scale = p.stress * RADIUS**2 / (p.outer**2 - RADIUS**2) / (2 * shear)
        return _turned((scale * ((1 - 2 * p.poisson) * r + p.outer**2 / r), 0.0 * r), angle)
    kappa, a, cos, sin = 3 - 4 * p.poisson, RADIUS, np.cos(2 * angle), np.sin(2 * angle)
    scale = p.stress / (8 * shear)
    radial = scale * (r * (kappa - 1 + 2 * cos) + 2 * a**2 / r * (1 + (1 + kappa) * cos) - 2 * a**4 / r**3 * cos)
    hoop = -2 * scale * (r + (kappa - 1) * a**2 / r + a**4 / r**3) * sin
    return _turned((radial, hoop), angle)


def level(parameters: Parameters, x: Array) -> Array:
    """Signed distance (…), m, of points (axis, …) from the inner border of the patch, positive in the patch."""
    (r, angle), start = _polar(x), np.radians(parameters.start)
    depth = PATCH * RADIUS - r
    return depth if parameters.start == 0.0 else np.minimum(depth, r * np.sin(angle - start))


def system(parameters: Parameters) -> aq.System:
    p = parameters
    size = 0.5 * np.pi / p.elements
    material = aq.LinearElastic(young=p.young, poisson=p.poisson, density=1.0)  # statics: the density is irrelevant

    def border(x: Array, t: float) -> Array:
        """Exact tractions on the inner or outer circle about the origin, Pa."""
        (r, _), (xx, yy, xy) = _polar(x), exact_stress(p, x)
        outward_sign = np.where(r > 0.5 * (RADIUS + p.outer), 1.0, -1.0) / r
        return t * outward_sign * np.stack([xx * x[0] + xy * x[1], xy * x[0] + yy * x[1]])

    options: dict[str, Any] = {"order": int(p.order), "plane": "strain"}
    planes: dict[str, Any] = {"bottom": {"y": 0.0}, "top": {"x": 0.0}}
    mesh = _sector(p.outer, 0.0, size, p.cells, int(p.order))
    coarse = aq.Solid("coarse", mesh, material, imposed=planes, tractions={"left": border, "right": border}, **options)
    if p.model == "single":
        return aq.System([coarse])
    if p.start != 0.0:
        del planes["bottom"]
    mesh = _sector(PATCH * RADIUS, p.start, size / p.ratio, p.patch_cells, int(p.order))
    fine = aq.Solid("fine", mesh, material, imposed=planes, tractions={"left": border}, **options)
    zone = aq.zones.LevelSet(lambda x: level(p, x), ZONE * RADIUS)
    return aq.System([coarse, fine], [aq.Junction(coarse, fine, zone=zone)])


def build(parameters: Parameters) -> aq.Study:
    """Statics in one step."""
    return aq.Study(system(parameters), aq.Static(), duration=1.0, step=1.0)


@dataclass(frozen=True)
class PatchErrors:
    """Relative errors in the patch outside the overlap: largest displacement error, rms stress error; and K."""

    displacement: float
    stress: float
    concentration: float


def errors(result: xarray.DataTree, parameters: Parameters) -> PatchErrors:
    """Errors of the fine part, or of the coarse mesh in the same region."""
    p = parameters
    part = system(p).parts[-1]
    assert isinstance(part, aq.Solid)
    u = result[f"part/{part.name}"].dataset["displacement"].values[-1]
    x = part.positions.T
    in_patch = level(p, x) >= (1 - 1e-9) * ZONE * RADIUS
    exact = exact_displacement(p, x)
    displacement_error = float(
        np.linalg.norm(u.T - exact, axis=0)[in_patch].max() / np.linalg.norm(exact, axis=0)[in_patch].max()
    )
    points = part.quadrature_points()
    computed_stress = part.stress(u.ravel())[..., [part.stress_components.index(name) for name in ("xx", "yy", "xy")]]
    stress = exact_stress(p, points)
    free = level(p, points) >= ZONE * RADIUS
    stress_error = float(
        np.sqrt(np.mean((np.moveaxis(computed_stress, -1, 0) - stress)[:, free] ** 2)) / np.abs(stress[:, free]).max()
    )
    return PatchErrors(displacement_error, stress_error, _at_top(points, computed_stress[..., 0], p.order) / p.stress)


def _at_top(points: Array, stress: Array, order: int) -> float:
    """Stress at the top of the hole by least squares over nearby points, as an even function of x."""
    x, y = points[0].ravel() / RADIUS, points[1].ravel() / RADIUS - 1.0
    distance = np.hypot(x, y)
    nearest = np.argsort(distance)[:40]
    x, y = x[nearest], y[nearest]
    # the O(h) jumps of stress between first-order cells allow only the lower terms
    terms = np.stack([y**0, y, y**2, x**2, y**3, y * x**2][: 4 if order == 1 else 6], axis=1)
    return float(np.linalg.lstsq(terms, stress.ravel()[nearest])[0][0])


def comparisons(result: xarray.DataTree, parameters: Parameters) -> dict[str, Parameters]:
    """Coarse mesh alone; for the figure, three meshes with and without the patch."""
    if parameters.model == "single":
        return {}
    variants: list[Parameters] = [
        replace(parameters, model=model, elements=n)  # type: ignore[arg-type]
        for model, n in product(MODELS, COUNTS)
    ]
    return {ALONE: replace(parameters, model="single")} | {
        f"{MODELS[p.model]}, {p.elements} cells": p for p in variants
    }


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of the stress error in the patch, by that of the coarse mesh plus the error of the junction, and of the
    stress concentration of the plate."""
    p, patch_errors = parameters, errors(result, parameters)
    checks = []
    if p.model == "arlequin":
        variants = comparisons(result, p)
        coarse_alone = comparison(build, variants, ALONE)
        if coarse_alone is not None:
            limit, junction_error = errors(coarse_alone, variants[ALONE]).stress, JUNCTION / p.elements**2
            checks.append(
                Check(
                    "stress error in the patch (limit: coarse mesh)",
                    patch_errors.stress,
                    limit,
                    junction_error,
                    "1",
                    "at most",
                )
            )
        if p.problem == "plate":
            checks.append(Check("stress concentration", patch_errors.concentration, CONCENTRATION, NEAR[p.order], "1"))
    return [*checks, Check("energy balance, worst step", worst_balance(result), 0.0, BALANCE, "1", "absolute")]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    patch_errors = errors(result, parameters)
    return {
        "displacement_error": aq.Scalar(patch_errors.displacement, "1", "largest error outside the overlap"),
        "stress_error": aq.Scalar(patch_errors.stress, "1", "rms error outside the overlap"),
        "stress_concentration": aq.Scalar(
            patch_errors.concentration, "1", "hoop stress at the hole's top over the load"
        ),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots
    from arlequin.cases.glued_ring.plots import convergence_figure

    figures_by_name = {"shape": plots.shape(result, "displacement", component=0)}
    surveyed = survey(result, parameters)
    if surveyed:
        figures_by_name["errors"] = convergence_figure(surveyed)
    return figures_by_name


def survey(result: xarray.DataTree, parameters: Parameters) -> dict[str, tuple[Array, Array, Array]]:
    """Errors on three meshes, with and without the patch: cells around, displacement and stress, by model.

    Absent comparison runs are omitted.
    """
    variants = comparisons(result, parameters)
    rows_of: dict[str, list[tuple[int, float, float]]] = {}
    for name, p in variants.items():
        run = comparison(build, variants, name) if name != ALONE else None
        if run is not None:
            run_errors = errors(run, p)
            rows_of.setdefault(MODELS[p.model], []).append((p.elements, run_errors.displacement, run_errors.stress))
    return {label: tuple(np.array(rows).T) for label, rows in rows_of.items()}
