"""The protocol of junctions, their operator, and the checks of their parts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array, eye_array, kron
from skfem import CellBasis, LinearForm

from arlequin.models import checks
from arlequin.models.errors import UserError, warn_user
from arlequin.models.fem.bar import Bar
from arlequin.models.fem.continuum import Continuum
from arlequin.models.fem.solid import Solid
from arlequin.models.part import MeshedPart, Weighting
from arlequin.models.types import Array, Indices

_ROUND_OFF = 1e-15  # of the largest entry of a block
_UNBALANCED = 2e-4  # share of a uniform stress
_BESIDE = 4.0  # stress error in neighbouring cells relative to it (measured: 2.5 to 4)


class JunctionWarning(UserWarning):
    """Warning of a choice in a junction that reduces accuracy, order or conditioning, with a better choice.

    >>> import warnings
    >>> import arlequin as aq
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", aq.JunctionWarning)  # a study that accepts none
    """


def warn(message: str) -> None:
    """Issue a `JunctionWarning` at the line that builds the junction."""
    warn_user(message, JunctionWarning)


def warn_of_slivers(junctions: list[str], part: MeshedPart, error: Array) -> None:
    """Warn once where the errors of the weights of a part, Δw (c, q), violate the balance of a uniform stress.

    The unbalanced forces are F_ij = Σ_q Δw dx ∂N_i/∂x_j for stresses of size 1, compared with Σ_q dx |∂N_i/∂x_j|, dx
    with thickness or 2πr. Those of neighbours in a band along an axis cancel, except at its ends.
    """
    if not error.any():
        return
    basis, across = part.basis, np.asarray(depth(part, part.quadrature_points())) * np.ones_like(part.basis.dx)
    forces = _nodal(basis, lambda slope, values: values * slope, error * across)
    sizes = _nodal(basis, lambda slope, values: values * np.abs(slope), across)
    share = (np.abs(forces) / sizes).max(axis=0)
    worst = int(np.argmax(share))
    if share[worst] <= _UNBALANCED:
        return
    place = ", ".join(f"{x:.6g}" for x in basis.doflocs[:, worst])
    names = " and ".join(f"'{name}'" for name in junctions)
    who = f"junction {names}: its zone" if len(junctions) == 1 else f"junctions {names}: a border of their zones"
    simplices = "triangles" if part.mesh.dim() == 2 else "tetrahedra"
    warn(
        f"{who} leaves a sliver of a cell of '{part.name}' at ({place}), whose weights hold its mean but not its "
        f"moments: stresses along the border err by about {_BESIDE * share[worst]:.1%} beside it, more in it; let the "
        f"zone and the other part end at nodes of '{part.name}', or take {simplices}"
    )


def _nodal(basis: CellBasis, term: Callable[[Array, Array], Array], values: Array) -> Array:
    """∫ term(∂N_i/∂x_j, values (c, q)) for all j and i: (axis, n)."""
    return np.array(
        [
            LinearForm(lambda v, w, axis=axis: term(np.asarray(v.grad[axis]), np.asarray(w["values"]))).assemble(
                basis, values=values
            )
            for axis in range(basis.mesh.dim())
        ]
    )


@dataclass(frozen=True, eq=False)
class JunctionOperator:
    """The constraint C v = coarse @ v_coarse + fine @ v_fine = 0 of a junction (the sign is in `fine`).

    coarse (m, d_coarse), fine (m, d_fine): c(ψ_m, φ_d); gram (m, m): c(ψ_m, ψ_m'), symmetric positive
    definite; components: m = mediator function × components, function-major; positions (function, axis):
    their nodes, m.
    """

    coarse: csr_array
    fine: csr_array
    gram: csr_array
    components: int
    positions: Array


@dataclass(frozen=True)
class AbsorbingMatrix:
    """Damping D of an absorbing junction on nodal velocities, N·s/m, with the loss vᵀD v, W.

    coarse (d_coarse, d_coarse), cross (d_coarse, d_fine), fine (d_fine, d_fine): its blocks.
    """

    coarse: csr_array
    cross: csr_array
    fine: csr_array


@dataclass(frozen=True, eq=False)
class AbsorbingForm:
    """Damping D of an absorbing junction by its factors, with the loss

        vᵀD v = r·(G ⊗ 1) r + q·q,   r = R ((v_f)_n − (E ⊗ 1) v_c),   q = Q (F ⊗ 1) v_c,

    of the nodal velocities v_f, v_c, with n fine nodes in the zone. In three dimensions products with the factors need
    far fewer operations than those with D, which couples each coarse node with those at up to six cells.

    interpolation E (n, N_coarse), gram G (n, n), kg/s per unit of R², root R (nk, nk), symmetric, k components; nodes
    (n,): numbers of the fine ones of N_fine; high_pass F (p, N_coarse), filtered Q (pk, pk), symmetric.
    """

    interpolation: csr_array
    gram: csr_array
    root: csr_array
    nodes: Indices
    high_pass: csr_array
    filtered: csr_array
    components: int
    fine_count: int

    def matrix(self) -> AbsorbingMatrix:
        """D, assembled."""
        unit = eye_array(self.components)
        interpolation = csr_array(self.root @ kron(self.interpolation, unit, format="csr"))
        restriction = csr_array(eye_array(self.fine_count, format="csr")[self.nodes])
        restriction = csr_array(self.root @ kron(restriction, unit, format="csr"))
        gram = csr_array(kron(self.gram, unit, format="csr"))
        high_pass = csr_array(self.filtered @ kron(self.high_pass, unit, format="csr"))
        return AbsorbingMatrix(
            without_zeros(interpolation.T @ (gram @ interpolation) + high_pass.T @ high_pass),
            without_zeros(-(interpolation.T @ (gram @ restriction))),
            without_zeros(restriction.T @ (gram @ restriction)),
        )


def without_zeros(matrix: csr_array) -> csr_array:
    """The matrix without entries of round-off size: uncoupled components, sums that cancel."""
    result = csr_array(matrix)
    result.data[np.abs(result.data) <= _ROUND_OFF * np.abs(result.data).max(initial=0.0)] = 0.0
    result.eliminate_zeros()
    return result


class JunctionProtocol(Protocol):
    """A junction of two parts: the weights of their energies and the constraint that couples them."""

    @property
    def name(self) -> str: ...

    @property
    def coarse(self) -> MeshedPart: ...

    @property
    def fine(self) -> MeshedPart: ...

    def weighting(self) -> dict[str, Weighting]:
        """Weights by name of part; empty for parts that do not overlap."""
        ...

    def operator(self) -> JunctionOperator:
        """The constraint of both parts, and the Gram matrix of the multipliers."""
        ...

    def absorbing_form(self) -> AbsorbingForm | None:
        """Damping of the absorbing term; None without one."""
        ...


def check_parts(name: str, coarse: MeshedPart, fine: MeshedPart) -> None:
    """Both parts must differ in name and agree in dimension, kind of problem and depth."""
    if coarse.name == fine.name:
        raise UserError(f"junction '{name}': two parts named '{fine.name}'")
    first, second = kind(coarse), kind(fine)
    if coarse.mesh.dim() != fine.mesh.dim() and "bar" not in (first[0], second[0]):
        raise UserError(
            f"junction '{name}': '{coarse.name}' is of dimension {coarse.mesh.dim()} and '{fine.name}' of "
            f"{fine.mesh.dim()}: parts of different dimension need a beam's displacement field (a beam junction)"
        )
    for what, of_coarse, of_fine in zip(("kind", "thickness or section"), first, second, strict=True):
        if of_coarse != of_fine:
            cure = ": parts of different dimension need a beam's displacement field (a beam junction)"
            raise UserError(
                f"junction '{name}': {what} of '{coarse.name}' is {of_coarse}, of '{fine.name}' {of_fine}"
                + (cure if coarse.mesh.dim() != fine.mesh.dim() else ": both parts must agree")
            )


def check_kinds(junction: object, **kinds: type) -> None:
    """Raise `UserError` where a field of a junction is not of its kind."""
    for which, expected in kinds.items():
        example = {
            "Coupling": ", as L2()",
            "Zone": ", as Strip(0.4, 0.6)",
            "MeshedPart": ": a Bar, a Solid or a Modal of one; other parts are connected by Tie, Mortar or Relation",
        }.get(expected.__name__, "")
        checks.instance(which, getattr(junction, which), expected, f"must be a {expected.__name__}{example}")


def kind(part: MeshedPart) -> tuple[str, float]:
    """Kind of problem that a part solves, and its thickness (m) or section (m²)."""
    model = part.model
    if isinstance(model, Bar):
        return "bar", model.depth
    if isinstance(model, Solid):
        plane = model.plane
        return f"plane {plane}" if plane in ("strain", "stress") else str(plane or "solid"), model.depth
    raise UserError.parameter("part of a junction", part, "must be a Bar or a Solid (a beam and a solid: BeamJunction)")


def revolves(part: MeshedPart) -> bool:
    """Whether the part is a body of revolution (x is the radius)."""
    return isinstance(part.model, Continuum) and part.model.axisymmetric


def depth(part: MeshedPart, points: Array) -> Array | float:
    """Section (m²), thickness (m) or 2πr (m) at points (axis, …): the factor from a length or an area to a volume."""
    return 2 * np.pi * points[0] if revolves(part) else kind(part)[1]


def wave_impedances(part: MeshedPart) -> tuple[float, float]:
    """(ρc_p, ρc_s) of the part's material, Pa·s/m: of waves of compression and of shear."""
    model = part.model
    if not isinstance(model, Continuum):
        raise UserError.parameter("part of an absorbing junction", part, "must be a Bar or a Solid")
    density = model.material.density
    return density * model.wave_speed, float(np.sqrt(density * model.lame[1]))


def extent(part: MeshedPart) -> tuple[Array, Array]:
    """Lowest and highest coordinate (axis,) of a part, m."""
    return part.mesh.p.min(axis=1), part.mesh.p.max(axis=1)


def extents(*parts: MeshedPart) -> str:
    """The parts with their extents, for messages."""
    texts = []
    for part in parts:
        ranges = " × ".join(f"[{low:.6g}, {high:.6g}]" for low, high in zip(*extent(part), strict=True))
        texts.append(f"'{part.name}' {ranges}")
    return " and ".join(texts)
