"""A linear elastic part assembled under given weights."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array

from arlequin.models.errors import UserError
from arlequin.models.fem.cell_forces import CellForces
from arlequin.models.fem.cells import CellArrays
from arlequin.models.fem.continuum_model import ContinuumModel
from arlequin.models.fem.frequency import highest_frequency
from arlequin.models.fem.mass import CORRECTED, element_lumped, lumped, node_major, redistributed
from arlequin.models.fem.quads import Quads, are_quads
from arlequin.models.fem.short_waves import ShortWaveDamping
from arlequin.models.fem.stiffness import scalar_mass, stiffness_matrix
from arlequin.models.fem.tiles import HexahedronProduct, Tiles, fit_tiles
from arlequin.models.nodal import ExternalLoads, LoadedCoordinates
from arlequin.models.part import Imposed, Weighting
from arlequin.models.types import Array, Indices


@dataclass(frozen=True, eq=False, repr=False)
class ElasticAssembled(LoadedCoordinates):
    """M, K, D, internal force, load and imposed motions of a linear elastic part.

    kernel: element arrays for the internal force (one point per cell where the strain is uniform in it), with
    the weighted measure kernel_weight (c, q); mass_weight (c, q) is ρ × mass weight × measure.
    """

    mass: csr_array
    stiffness: csr_array
    damping: csr_array | None
    imposed: tuple[Imposed, ...]
    loads: ExternalLoads
    components: int
    lame: tuple[float, float]
    kernel: CellArrays
    kernel_weight: Array
    cells: CellArrays
    stiffness_weight: Array
    mass_weight: Array
    mass_kind: str
    order: int

    def internal(self, u: Array) -> tuple[Array, float]:
        """Internal force (d,) in N and stored energy in J, from the strains at the quadrature points.

        f = ∫ Bᵀ σ(B u), E = ½ ∫ σ:ε: a rigid translation gives 0, where K u leaves round-off of its size.
        """
        from arlequin.models.fem import _kernels

        u = np.ascontiguousarray(u, dtype=float)
        if u.shape != (self.stiffness.shape[0],):
            raise UserError(f"displacement of shape {u.shape}, expected ({self.stiffness.shape[0]},)")
        if self.cell_forces is not None:
            return self.cell_forces.internal(u)
        lam, mu = self.lame
        force = np.zeros_like(u)
        cells, weight = self.kernel, self.kernel_weight
        if self.components == 1:
            energy = _kernels.internal_line(cells.nodes, cells.gradients, weight, lam + 2 * mu, u, force)
        elif self.components == 3:
            energy = _kernels.internal_solid(cells.nodes, cells.gradients, weight, lam, mu, u, force)
        elif cells.hoop is not None:
            energy = _kernels.internal_axisymmetric(cells.nodes, cells.gradients, cells.hoop, weight, lam, mu, u, force)
        else:
            energy = _kernels.internal_plane(cells.nodes, cells.gradients, weight, lam, mu, u, force)
        return force, float(energy)

    @cached_property
    def cell_forces(self) -> CellForces | None:
        """The internal forces by ranges of nodes, for linear cells except axisymmetric ones and bars."""
        arguments = self.kernel, self.kernel_weight, self.lame, self.stiffness.shape[0] // self.components
        if are_quads(self.kernel, self.components):
            return Quads.of(*arguments)
        return Tiles.of(*arguments) if fit_tiles(self.kernel, self.components) else None

    def strains_beyond_cells(self) -> tuple[csr_array, Array] | None:
        """Strains B (s, d) and stiffnesses w (s,) of the part of K that is not in `cell_forces`: Bᵀ diag(w) B."""
        return None

    def product(self, inertia: float, stiffness: float) -> HexahedronProduct | None:
        """aK of hexahedra whose stiffness is that of tiles, plus μM if their mass is consistent; None for other cells.

        inertia: μ; stiffness: a.
        """
        tiles = self.cell_forces
        if not isinstance(tiles, Tiles) or tiles.nodes.shape[1] != 8 or self.strains_beyond_cells() is not None:
            return None
        stiff = self.stiffness_weight.any(axis=1)
        inertial = self.mass_kind == "consistent" and not self.mass_weight[~stiff].any()
        return HexahedronProduct.of(
            tiles, self.kernel, stiffness, inertia * self.mass_weight[stiff] if inertial else None
        )

    def internal_each(self, u: Array, force: Array) -> Array:
        """Internal forces of each u (n, d), written to force (n, d), N; stored energies (n,), J."""
        from arlequin.models.fem import _kernels

        if self.cell_forces is not None:
            return self.cell_forces.internal_each(u, force)
        force[:], energies = 0.0, np.zeros(len(u))
        lam, mu = self.lame
        cells, weight = self.kernel, self.kernel_weight
        out = u, force, energies
        if self.components == 1:
            _kernels.each_line(cells.nodes, cells.gradients, weight, lam + 2 * mu, *out)
        elif self.components == 3:
            _kernels.each_solid(cells.nodes, cells.gradients, weight, lam, mu, *out)
        elif cells.hoop is not None:
            _kernels.each_axisymmetric(cells.nodes, cells.gradients, cells.hoop, weight, lam, mu, *out)
        else:
            _kernels.each_plane(cells.nodes, cells.gradients, weight, lam, mu, *out)
        return energies

    def strain_form(self) -> tuple[csr_array, Array] | None:
        """The strains B (s, d) of a bar at its quadrature points, and E A dx (s,); None for solids."""
        if self.components != 1:
            return None
        cells, points, _, size = self.kernel.gradients.shape
        rows = np.arange(cells * points).reshape(cells, points, 1) + np.zeros(size, dtype=np.int64)
        columns = np.broadcast_to(self.kernel.nodes[:, None, :], rows.shape)
        entries = (self.kernel.gradients[:, :, 0].ravel(), (rows.ravel(), columns.ravel()))
        strains = csr_array(coo_array(entries, shape=(cells * points, self.stiffness.shape[0])))
        return strains, (self.lame[0] + 2 * self.lame[1]) * self.kernel_weight.ravel()

    def highest_frequency(self) -> float:
        """Bound of the largest angular frequency, rad/s; the central difference needs Δt < 2/ω.

        With the element masses of the part's own kind (lumped, or consistent); infinite with massless nodes.
        """
        if self.mass_kind == "massless":
            return math.inf

        def masses(subset: np.ndarray) -> Array:
            if self.mass_kind == "lumped":
                dx = np.ascontiguousarray(self.cells.dx[subset])
                part = CellArrays(self.cells.nodes[subset], self.cells.values, self.cells.gradients, dx)
                return element_lumped(part, self.mass_weight[subset], self.order)
            values = self.cells.values
            products = (values[:, :, None] * values[:, None, :]).reshape(values.shape[0], -1)
            return (self.mass_weight[subset] @ products).reshape(len(subset), values.shape[1], values.shape[1])

        moduli = (*self.lame, self.mean_bulk)
        return highest_frequency(self.cells, self.stiffness_weight, masses, self.components, moduli)

    @property
    def mean_bulk(self) -> float:
        """Bulk modulus that acts on the mean dilatation of each cell, beside `lame`, Pa."""
        return 0.0

    def frequency_at(self, u: Array) -> float:
        """The largest angular frequency of the cells deformed by u (d,), rad/s; lumped mass."""
        from arlequin.models.fem import _frequency_kernels

        cells = self.cells
        hoop = np.empty((0, 0, 0)) if cells.hoop is None else np.ascontiguousarray(cells.hoop)
        arrays = np.ascontiguousarray(cells.gradients), hoop, np.ascontiguousarray(self.stiffness_weight)
        square = _frequency_kernels.largest_square(cells.nodes, *arrays, self._lumped, *self.lame, u)
        return math.sqrt(square)

    @cached_property
    def _lumped(self) -> Array:
        """Lumped masses (c, n) of the cells, kg."""
        return np.ascontiguousarray(element_lumped(self.cells, self.mass_weight, self.order))


def assemble_elastic(
    part: ContinuumModel, weighting: Weighting, massless: Indices | None, lame: tuple[float, float] | None = None
) -> ElasticAssembled:
    """Assemble a continuum part under the weights; lame: (λ, μ), Pa, in the place of the part's."""
    cells, basis = part.cells, part.basis
    lam, mu = part.lame if lame is None else lame
    # scikit-fem multiplies by basis.dx: the remaining factor of the measure is thickness, section or 2πr
    depth = cells.dx / basis.dx
    stiffness = stiffness_matrix(basis, weighting.stiffness * depth, part.components, lam, mu, cells.radius)
    mass_weight = weighting.mass * cells.dx * part.material.density
    kind = part.mass
    if kind == "lumped":
        scalar = lumped(cells, mass_weight, part.finite_element.order, part.node_count)
    else:
        scalar = scalar_mass(basis, weighting.mass * depth * part.material.density)
        if kind == CORRECTED:
            scalar = csr_array(0.5 * (scalar + diags_array(scalar.sum(axis=1))))
        if kind == "redistributed" and massless is not None and len(massless):
            scalar = redistributed(scalar, part.positions, massless)
            kind = "massless"
    mass = node_major(scalar, part.components)
    kernel, kernel_weight = _for_kernel(part, weighting.stiffness * cells.dx)
    return ElasticAssembled(
        mass=mass,
        stiffness=stiffness,
        damping=part_damping(part, mass, stiffness, mass_weight),
        imposed=part.motions,
        loads=part.loads(weighting),
        components=part.components,
        lame=(lam, mu),
        kernel=kernel,
        kernel_weight=kernel_weight,
        cells=cells,
        stiffness_weight=weighting.stiffness * cells.dx,
        mass_weight=mass_weight,
        mass_kind=kind,
        order=part.finite_element.order,
    )


def part_damping(part: ContinuumModel, mass: csr_array, stiffness: csr_array, mass_weight: Array) -> csr_array | None:
    """Damping (d, d) of a part, N·s/m; None where it has none. mass_weight (c, q): mass of the points, kg."""
    damping = part.damping
    if isinstance(damping, ShortWaveDamping):
        return damping.matrix(part, mass_weight)
    if damping is None or not (damping.mass or damping.stiffness):
        return None
    return csr_array(damping.mass * mass + damping.stiffness * stiffness)


def _for_kernel(part: ContinuumModel, weight: Array) -> tuple[CellArrays, Array]:
    """Element arrays of the internal force: cells with weight only, with one point where the strain is uniform."""
    cells = part.cells
    active = np.flatnonzero(weight.any(axis=1))
    uniform = not part.axisymmetric and part.finite_element.order == 1 and cells.nodes.shape[1] == part.mesh.dim() + 1
    if active.size == cells.count and not uniform:
        return cells, weight
    points = slice(0, 1) if uniform else slice(None)
    gradients = np.ascontiguousarray(cells.gradients[active][:, points])
    hoop = None if cells.hoop is None else cells.hoop[active]
    radius = None if cells.radius is None else cells.radius[active]
    point_weight = weight[active].sum(axis=1, keepdims=True) if uniform else np.ascontiguousarray(weight[active])
    nodes = np.ascontiguousarray(cells.nodes[active])
    return CellArrays(nodes, cells.values[points], gradients, point_weight, radius, hoop), point_weight
