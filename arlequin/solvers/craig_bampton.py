"""Reduction of a linear part or system, junctions included, to a superelement (Craig–Bampton, Herting)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError

from arlequin.models import checks
from arlequin.models.beams.beam import Beam
from arlequin.models.errors import UserError
from arlequin.models.linalg.lowest import lowest_modes
from arlequin.models.nodal import LoadFunction
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.parallel.ranks import refuse_ranks
from arlequin.models.part import MeshedPart, Part, Surface
from arlequin.models.reduction.static_shapes import signs
from arlequin.models.reduction.superelement import Superelement
from arlequin.models.reduction.superelement_coordinates import AXES, ROTATIONS
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.natural_frequencies import assembled_modes
from arlequin.system.assembly import Assembly, assemble
from arlequin.system.densities import check_densities
from arlequin.system.flow import refuse_flows
from arlequin.system.system import System

_DENSE = 300  # inner coordinates up to which all modes are computed
_RIGID_SHARE = 1e-10  # kinetic energy of a free mode beyond the static shapes, below which it is a rigid motion
BOUNDARIES = ("fixed", "free", "both")
_ROUNDING = 1e-12  # stiffness of a motion of the boundary, relative to that of its nodes alone, which is round-off
_RIGID = 6  # rigid motions, at most
_FIRST = 20  # modes computed first where they are chosen by their frequency
_COLUMNS = 64  # right-hand sides of a solve


@checked_call
def craig_bampton(
    model: System | Part,
    interface: Sequence[Surface],
    *,
    modes: int | None = None,
    below: float | None = None,
    boundary: Literal["fixed", "free", "both"] = "both",
    name: str | None = None,
    recovery: bool = True,
) -> Superelement:
    """A part or a system of parts, glued ones included, reduced to the nodes of boundaries and vibration modes.

    With the coordinates of the boundary b and the others i, u_i = Ψ u_b + Φ q under the constraints C u = 0:

        K_ii Ψ + C_iᵀ λ = −K_ib,   C_i Ψ = −C_b,   Φ: modes of (K_ii, M_ii), C_i Φ = 0, at rest on the boundary.

    Statics under forces on the boundaries is exact. interface: `part.boundary("name")`, whose nodes are retained with
    all their components; the boundaries keep their names (of several parts "part name" where names coincide). modes:
    number of modes; below: all modes up to this frequency, Hz; one of them. boundary: "fixed", modes at rest on the
    boundary (Craig & Bampton), good in contact; "free", the vibration modes of the free model less Ψ u_b, which gives
    its natural frequencies exactly, up to the highest one taken (Herting), but is poor under hard impacts; "both", half
    of the number each, or both up to `below`: the free modes, and what those of the fixed boundary add to them.
    recovery: whether to record the displacements of all nodes, as `inner_displacement`, or `PART_displacement` of
    several parts; the matrix is full, 8 B × displacements × coordinates.

    What the modes leave out is only carried statically: the force of an impact is that of the full model up to about
    half of the highest frequency, and the momentum of the impact with it; above, filter it.

    Springs, relations, damping, supports at rest and loads of the model are reduced with it, gravity is not: give it to
    the new system. UserError for nonlinear parts, contact and imposed motions, and for a boundary that does not hold
    the model.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=100), steel)
    >>> short = aq.craig_bampton(bar, [bar.boundary("left"), bar.boundary("right")], modes=10)
    >>> short
    Superelement('bar', 2 nodes, 2 + 10 generalised coordinates, 780 kg)
    >>> of = [aq.natural_frequencies(aq.System([part]), count=3).frequencies for part in (bar, short)]
    >>> bool(abs(of[1] / of[0] - 1.0)[1:].max() < 1e-9)
    True

    Source: Craig & Bampton, AIAA J. 6, 1968; Herting, Finite Elem. Anal. Des. 1, 1985.
    """
    checks.one_of("boundary", boundary, BOUNDARIES)
    checks.flag("recovery", recovery)
    if (modes is None) == (below is None):
        raise UserError("craig_bampton: give modes=, their number, or below=, their highest frequency in Hz")
    if modes is not None:
        checks.non_negative_integer("modes", modes)
    if below is not None:
        checks.positive("below", below)
    system = model if isinstance(model, System) else System([model])
    surfaces = checks.items("interface", interface, Surface, 'must be a list of part.boundary("name")')
    _check(system, surfaces)
    assembly = assemble(system)
    _check_linear(assembly)
    partition = Partition.of(assembly, surfaces)
    reduction = Reduction(partition)
    families = reduction.modes(boundary, modes, below)
    label = name or (system.parts[0].name if len(system.parts) == 1 else "superelement")
    return _superelement(label, partition, reduction, families, recovery)


def _check(system: System, surfaces: Sequence[Surface]) -> None:
    """UserError for what has no reduction."""
    check_densities(system.parts, "to reduce a part")
    if system.levels or system.interfaces:
        what = "levels" if system.levels else "contact interfaces"
        raise UserError(f"craig_bampton: a system with {what} has no linear reduction: leave them to the new system")
    refuse_flows(
        system.flows, "craig_bampton reduces no flows: give MatrixFlow.of(flow, superelement) to the new system"
    )
    if not surfaces:
        raise UserError("interface = []: must name at least one boundary")
    parts = {id(part) for part in system.parts}
    for surface in surfaces:
        if id(surface.part) not in parts:
            raise UserError(f"interface: '{surface.name}' is a boundary of '{surface.part.name}', which is not reduced")


def _check_linear(assembly: Assembly) -> None:
    if isinstance(assembly.mass, DistributedMatrix):
        refuse_ranks("craig_bampton")
    if not assembly.linear:
        raise UserError("craig_bampton: needs linear parts: a part has finite strains, rotations or plasticity")
    moved = [item.label for part in assembly.parts for item in part.imposed if not item.rest]
    if moved:
        raise UserError(
            f"craig_bampton: {moved[0]}: leave moving boundaries free, name them in interface= and move them"
        )


@dataclass(frozen=True, eq=False)
class Partition:
    """The coordinates of a model: those of the retained nodes (b,), and the other free ones (i,).

    surfaces with the names of the boundaries; nodes: (part index, node) of each retained node, in order.
    """

    assembly: Assembly
    surfaces: dict[str, Surface]
    nodes: tuple[tuple[int, int], ...]
    components: int
    retained: Indices
    inner: Indices

    @classmethod
    def of(cls, assembly: Assembly, surfaces: Sequence[Surface]) -> "Partition":
        """The partition by the nodes of surfaces; UserError where they are supported or taken over by another part."""
        parts = list(assembly.system.parts)
        index = {id(part): i for i, part in enumerate(parts)}
        names = [surface.name for surface in surfaces]
        named = {
            surface.name if names.count(surface.name) == 1 else f"{surface.part.name} {surface.name}": surface
            for surface in surfaces
        }
        nodes = sorted({(index[id(surface.part)], int(node)) for surface in surfaces for node in surface.nodes})
        components = {parts[i].components for i, _ in nodes}
        axes = {parts[i].positions.shape[1] for i, _ in nodes}
        if len(components) > 1 or len(axes) > 1:
            raise UserError("interface: the boundaries belong to parts with other components: reduce them one by one")
        dofs = []
        for i, node in nodes:
            part = parts[i]
            rows = assembly.layout.shapes[part.name]
            own = node * part.components + np.arange(part.components)
            rows = rows[own] if isinstance(rows, sp.csr_array) else None
            if rows is None or (np.diff(rows.indptr) != 1).any() or (rows.data != 1.0).any():
                raise UserError(
                    f"interface: '{part.name}' is reduced or rigid: displacements of its node {node} are no "
                    "coordinates: name another part"
                )
            dofs.append(assembly.start[i] + rows.indices)
        retained = np.concatenate(dofs)
        held = ~assembly.free
        if held[retained].any():
            i, node = nodes[int(np.flatnonzero(held[retained])[0] // components.pop())]
            why = "has no weight in its overlap" if assembly.ghost[retained].any() else "is supported"
            raise UserError(f"interface: node {node} of '{parts[i].name}' {why}: retain nodes that are free")
        others = assembly.free.copy()
        others[retained] = False
        return cls(assembly, named, tuple(nodes), components.pop(), retained, np.flatnonzero(others))


class Reduction:
    """Static shapes Ψ and modes of the inner coordinates of a partition."""

    def __init__(self, partition: Partition) -> None:
        """UserError where the boundary does not hold the inner coordinates."""
        self.partition, inner = partition, partition.inner
        assembly = partition.assembly
        self.mass, self.stiffness = (
            sp.csr_array(matrix)[inner][:, inner] for matrix in (assembly.mass, assembly.stiffness)
        )
        self.constraints = sp.csr_array(assembly.constraints)
        self._rows = sp.csr_array(self.constraints[:, inner])
        filled, filled_inner = (abs(rows).sum(axis=1) > 0.0 for rows in (self.constraints, self._rows))
        if (filled & ~filled_inner).any():
            raise UserError("interface: constraints act on the retained nodes alone: retain other nodes")

    @cached_property
    def _system(self) -> Condensed:
        """K_ii y + C_iᵀ λ = f, C_i y = c, factored."""
        assembly, inner = self.partition.assembly, np.zeros(self.partition.assembly.dof_count, dtype=bool)
        inner[self.partition.inner] = True
        try:
            return Condensed(assembly, assembly.stiffness, inner, contact=False)
        except UserError:
            raise UserError(
                "interface: the retained nodes do not hold the model: with them at rest it still moves freely; retain "
                "more nodes (three that are not in line, or two of a beam)"
            ) from None

    def solve(self, forces: Array, values: Array | None = None) -> Array:
        """Static displacements (i, k) of forces (i, k), with C_i y = values (m, k), 0 by default."""
        assembly, inner = self.partition.assembly, self.partition.inner
        out = np.zeros(forces.shape)
        if values is None:
            values = np.zeros((self._rows.shape[0], forces.shape[1]))
        for first in range(0, forces.shape[1], _COLUMNS):
            columns = slice(first, first + _COLUMNS)
            load = np.zeros((assembly.dof_count, out[:, columns].shape[1]))
            load[inner] = forces[:, columns]
            rest = np.zeros((assembly.imposed_dofs.size, load.shape[1]))
            out[:, columns] = self._system.predict(load, values[:, columns], rest).y[inner]
        return out

    @cached_property
    def static(self) -> Array:
        """Ψ (i, b): inner displacements under unit displacements of the retained coordinates."""
        partition = self.partition
        coupling = sp.csr_array(partition.assembly.stiffness)[partition.inner][:, partition.retained].toarray()
        values = self.constraints[:, partition.retained].toarray()
        return self.solve(-coupling, -values)

    def modes(self, boundary: str, modes: int | None, below: float | None) -> tuple[Array, ...]:
        """Inner shapes (i, k) of the modes of a fixed or free boundary; of both: half of their number each, those of
        the free boundary first."""
        if boundary == "fixed":
            return (self.fixed_modes(modes, below),)
        if boundary == "free":
            return (self.free_modes(modes, below),)
        halves = (None, None) if modes is None else (modes - modes // 2, modes // 2)
        return self.free_modes(halves[0], below), self.fixed_modes(halves[1], below)

    def fixed_modes(self, modes: int | None, below: float | None) -> Array:
        """Φ (i, k), modes with the boundary at rest."""
        if modes is None:
            return self._below(below, self._modes)
        return self._modes(modes)[1]

    def free_modes(self, modes: int | None, below: float | None) -> Array:
        """Φ (i, k) = φ_i − Ψ φ_b of the modes φ of the model with a free boundary."""
        partition = self.partition

        def free(count: int) -> tuple[Array, Array]:
            found = assembled_modes(partition.assembly, min(count + _RIGID, max(count, self._largest)))
            shapes = found.shapes[partition.inner] - self.static @ found.shapes[partition.retained]
            # rigid motions are those of the boundary
            strained = np.einsum("ik,ik->k", shapes, self.mass @ shapes) > _RIGID_SHARE
            return (2.0 * np.pi * found.frequencies[strained][:count]) ** 2, shapes[:, strained][:, :count]

        if modes is None:
            return self._below(below, free)
        return free(modes)[1] if modes else np.zeros((partition.inner.size, 0))

    @property
    def _largest(self) -> int:
        """Number of modes of the model up to which Lanczos' method computes them."""
        return int(self.partition.inner.size + self.partition.retained.size - self._rows.shape[0] - 2)

    def _below(self, below: float | None, modes: Any) -> Array:
        """The modes up to the frequency `below`, Hz; their number is doubled until it suffices."""
        limit = (2.0 * np.pi * float(below or 0.0)) ** 2
        largest = self._largest
        count = min(_FIRST, largest)
        while True:
            try:
                squares, shapes = modes(count)
            except UserError:
                if count <= 1:
                    raise
                largest = count = count // 2
                continue
            if (squares.size and squares[-1] > limit) or count >= largest:
                return np.asarray(shapes[:, squares <= limit])
            count = min(2 * count, largest)

    def _modes(self, count: int) -> tuple[Array, Array]:
        """The lowest ω² (k,) and modes (i, k) with the boundary at rest."""
        size, rows = self.partition.inner.size, self._rows
        free = size - rows.shape[0]
        if not count:
            return np.zeros(0), np.zeros((size, 0))
        if count > free:
            raise UserError.parameter("modes", count, f"must be at most {free}, the free inner coordinates")
        if size <= _DENSE or count >= free - 1:
            basis = scipy.linalg.null_space(rows.toarray()) if rows.shape[0] else np.eye(size)
            matrices = (basis.T @ (matrix @ basis) for matrix in (self.stiffness, self.mass))
            values, vectors = scipy.linalg.eigh(*matrices)
            return values[:count], basis @ vectors[:, :count]
        unit = float((self.stiffness.diagonal() / self.mass.diagonal()).mean())
        try:
            return lowest_modes(self.stiffness, self.mass, count, lambda b: self.solve(b[:, None])[:, 0], unit=unit)
        except ArpackError as error:
            raise UserError(f"craig_bampton: the modes do not converge: {error}", code=1) from None

    def orthonormal(self, families: Sequence[Array]) -> tuple[Array, Array]:
        """Φ (i, k) with ΦᵀM_iiΦ = 1, ΦᵀK_iiΦ = diag(ω²), and ω² (k,), of families of inner shapes.

        Of each family only what those before it do not contain is added, and directions of it that are round-off are
        left out (`_spanning`): the first family is represented whatever follows it.
        """
        size = self.partition.inner.size
        basis = np.zeros((size, 0))
        for shapes in families:
            basis = np.hstack([basis, self._spanning(shapes, basis)])
        if not basis.shape[1]:
            return np.zeros(0), basis
        stiffness, mass = (basis.T @ (matrix @ basis) for matrix in (self.stiffness, self.mass))
        squares, rotation = scipy.linalg.eigh(0.5 * (stiffness + stiffness.T), 0.5 * (mass + mass.T))
        shapes = basis @ rotation
        return squares, shapes * signs(shapes, np.abs(shapes).max(axis=0))

    def _spanning(self, shapes: Array, basis: Array) -> Array:
        """M-orthonormal directions (i, r) of shapes (i, k) beyond an M-orthonormal basis (i, b).

        The shapes are scaled to unit mass. The Gram matrix of what is left of them without the basis has round-off of
        (b + k) ε in its eigenvalues λ, so that a direction has a relative error of (b + k) ε/λ in its products with
        the others. Directions with λ < (b + k)² ε are left out: of the others it is below 1/(b + k), and a second pass
        removes it. Their motion is known to √ε, half of the digits.
        Source: Golub & Van Loan, Matrix Computations, 2013, §5.4 (numerical rank), §5.2.8 (Gram–Schmidt twice).
        """
        count = basis.shape[1] + shapes.shape[1]
        least = count**2 * np.finfo(float).eps
        sizes = np.sqrt(np.maximum(np.einsum("ik,ik->k", shapes, self.mass @ shapes), 0.0))
        kept = sizes > math.sqrt(least) * sizes.max(initial=0.0)
        directions = shapes[:, kept] / sizes[kept]
        for limit in (least, 0.0):
            for _ in range(2):
                directions = directions - basis @ (basis.T @ (self.mass @ directions))
            gram = directions.T @ (self.mass @ directions)
            values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
            chosen = values > limit
            directions = directions @ (vectors[:, chosen] / np.sqrt(values[chosen]))
        return directions


def _superelement(
    name: str, partition: Partition, reduction: Reduction, families: Sequence[Array], recovery: bool
) -> Superelement:
    """The superelement of Ψ and of families of modes (i, k)."""
    assembly, static = partition.assembly, reduction.static
    squares, modes = reduction.orthonormal(families)
    count = partition.retained.size
    shapes = np.zeros((assembly.dof_count, count + modes.shape[1]))
    shapes[partition.retained, np.arange(count)] = 1.0
    shapes[partition.inner, :count] = static
    shapes[partition.inner, count:] = modes

    def reduced(matrix: Any) -> Array:
        product = shapes.T @ (matrix @ shapes)
        return np.asarray(0.5 * (product + product.T))

    mass = reduced(assembly.mass)
    mass[count:, count:] = np.eye(modes.shape[1])
    stiffness = np.zeros_like(mass)
    stiffness[:count, :count] = _without_round_off(
        reduced(assembly.stiffness)[:count, :count], assembly.stiffness.diagonal()[partition.retained]
    )
    stiffness[count:, count:] = np.diag(squares)
    steady = all(part.steady for part in assembly.parts)
    loads = replace(assembly.system, gravity=None) if assembly.system.gravity is not None else assembly.system
    unloaded = replace(assembly, system=loads)
    load: Any = None
    if not steady:
        load = LoadFunction(lambda t: shapes.T @ unloaded.load(t))
    elif unloaded.load(0.0).any():
        load = shapes.T @ unloaded.load(0.0)
    parts = assembly.system.parts
    positions = np.array([parts[i].positions[node] for i, node in partition.nodes])
    numbers = {key: number for number, key in enumerate(partition.nodes)}
    interface: dict[str, Any] = {}
    for label, surface in partition.surfaces.items():
        i = next(k for k, part in enumerate(parts) if part is surface.part)
        renumbered = np.full(surface.part.node_count, -1)
        for node in surface.nodes.tolist():
            renumbered[node] = numbers[i, node]
        # nodes of a surface are in increasing order, here as there
        interface[label] = {
            "facets": renumbered[surface.facets],
            "areas": surface.areas,
            "normals": surface.normals,
        }
    axes = positions.shape[1]
    superelement = Superelement(
        name,
        mass=mass,
        stiffness=stiffness,
        damping=None if assembly.damping is None else reduced(assembly.damping),
        positions=positions,
        components=(AXES[:axes] + ROTATIONS[axes])[: partition.components],
        interface=interface,
        recovery=_recovery(assembly, shapes) if recovery else None,
        grounded=bool(assembly.imposed_dofs.size) or bool(assembly.links.any) or bool(assembly.system.relations),
        load=load,
    )
    for part, assembled, (a, b) in zip(parts, assembly.parts, pairwise(assembly.start.tolist()), strict=True):
        if isinstance(part, MeshedPart) and isinstance(part.model, Beam):
            superelement.beam_shapes[part.name] = np.asarray(assembled.shapes @ shapes[a:b])
    return superelement


def _without_round_off(matrix: Array, sizes: Array) -> Array:
    """A reduced stiffness (b, b) without what is round-off beside that of the nodes (b,): that of rigid motions."""
    root = np.sqrt(np.where(sizes > 0.0, sizes, 1.0))
    values, vectors = np.linalg.eigh(matrix / np.outer(root, root))
    rounding = values < _ROUNDING
    if not rounding.any():
        return matrix
    strained = vectors[:, ~rounding] * root[:, None]
    out = (strained * values[~rounding]) @ strained.T
    return np.asarray(0.5 * (out + out.T))


def _recovery(assembly: Assembly, shapes: Array) -> dict[str, Any]:
    """Displacements (n·axis, d) of all nodes of each part."""
    parts, out = assembly.system.parts, {}
    for part, assembled, (a, b) in zip(parts, assembly.parts, pairwise(assembly.start.tolist()), strict=True):
        axes = min(part.components, part.positions.shape[1])
        dofs = (np.arange(part.node_count)[:, None] * part.components + np.arange(axes)).ravel()
        matrix = np.asarray(sp.csr_array(assembled.shapes)[dofs] @ shapes[a:b])
        label = "inner_displacement" if len(parts) == 1 else f"{part.name}_displacement"
        out[label] = (matrix, part.positions, "m")
    return out
