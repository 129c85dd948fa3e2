"""Transfer of a part's nodal displacements and velocities from one mesh to another.

With the shape functions of both meshes on the common pieces of their cells (`arlequin.overlap`), a displacement y of
the former mesh becomes the displacement x whose elastic strains differ from its own by the least energy, a velocity the
one that differs least in mass norm and has its momenta:

    displacement:  min ½ ∫ δ:C:δ dΩ, δ = e(x) − e'(y),   ∫ ρ r·(x − y) dΩ = 0 for the rigid motions r of free bodies
    velocity:      min ½ ∫ ρ |x − y|² dΩ,                rᵀM x = r'ᵀM'y for all rigid motions r

The strains e are those of the model: with the mean dilatation of each cell where the pressure is that of the cell, and,
in small strains, without the plastic strains. At supports x is the interpolated field. In large deformations the arms
of r are those of the deformed body.

Both are solved for the difference from the field that is interpolated at the new nodes: a field that the new mesh can
represent is transferred to round-off, so that refinement is exact (where the pressure is that of the cells, smaller
cells follow the mean dilatations of the former ones). On nested meshes the first is the Galerkin projection:
equilibrium under loads on the former mesh is equilibrium on the coarser one. A beam takes the displacements and
rotations at its new nodes (of prismatic beams the field of least energy with these values), and its velocities as
above, with the inertia of its sections.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.polynomial import legendre

from arlequin.junctions.coupling import Shapes, assemble, local_products, scatter
from arlequin.models.beams.beam import Beam
from arlequin.models.errors import UserError
from arlequin.models.fem.continuum import Continuum
from arlequin.models.linalg.factor import Factor, factorise
from arlequin.models.linalg.rigid_modes import rigid_modes
from arlequin.models.part import Part
from arlequin.models.types import Array, Indices
from arlequin.overlap.intersect import MAX_DEGREE, Overlap, intersect
from arlequin.transfer.fields import field_at, model_of, section_rotations
from arlequin.transfer.former_part import former_part
from arlequin.transfer.point_values import CellPolynomials

_LEAST_COVERED = 0.5  # of a cell
_SCALE = 2.0  # ratio of the extents of both meshes above which the units are in doubt
_INDEPENDENT = 1e-10
_TENSOR = np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2]])  # number of a component of xx, yy, zz, yz, xz, xy
_HERMITE_POINTS = 4  # per piece of a beam: exact for products of two cubics


@dataclass(frozen=True, eq=False)
class MeshTransfer:
    """Transfer of nodal fields (nodal,) of a part from the mesh `former` to its own.

    whole: whether both are the same body; else the part is a piece of the former one, and has no momenta to keep.
    """

    name: str
    former: Continuum | Beam
    model: Continuum | Beam
    whole: bool = True

    @classmethod
    def of(cls, part: Part, recorded: Any, whole: bool = True) -> "MeshTransfer":
        """The transfer from the mesh of a result (see `former_part`); UserError where the bodies differ."""
        model: Any = model_of(part)
        here, there = part.positions, recorded["position"]
        extents = np.ptp(there, axis=0).max(), np.ptp(here, axis=0).max()
        ratio = float(extents[1] / extents[0])
        if whole and not 1.0 / _SCALE < ratio < _SCALE:
            raise UserError(
                f"from_result: part '{part.name}' extends over {extents[0]:.3g} m there and {extents[1]:.3g} m here: "
                "give the same body, in the same units"
            )
        transfer = cls(part.name, former_part(part, recorded), model, whole)
        transfer._check_covered()
        return transfer

    def _check_covered(self) -> None:
        """UserError where one mesh extends beyond the other."""
        covered = self._interpolation[1]
        if not covered.all():
            place = ", ".join(f"{x:.6g}" for x in self.model.positions[~covered][0])
            raise UserError(
                f"from_result: part '{self.name}' has nodes outside its former mesh ({int((~covered).sum())} of "
                f"{covered.size}, as that at ({place}) m): give the same body"
            )
        if isinstance(self.model, Beam):
            ends = [np.sort(beam.basis.doflocs[0])[[0, -1]] for beam in (self.former, self.model)]
            if self.whole and np.abs(ends[0] - ends[1]).max() > 1e-9 * np.ptp(ends[0]):
                raise UserError(
                    f"from_result: beam '{self.name}' is {np.ptp(ends[0]):.6g} m long there and {np.ptp(ends[1]):.6g} "
                    "m here: give the same body"
                )
            return
        pieces = self.pieces
        each: list[tuple[Any, Indices, str]] = [(self.model, pieces.fine_cells, "outside its former mesh")]
        if self.whole:
            each.append((self.former, pieces.coarse_cells, "of its former mesh outside the new one"))
        for model, cells, where in each:
            measure = np.abs(model.basis.dx).sum(axis=1)
            share = np.bincount(cells, pieces.dx.sum(axis=1), measure.size) / measure
            if share.min() < _LEAST_COVERED:
                cell = int(np.argmin(share))
                place = ", ".join(f"{x:.6g}" for x in model.mesh.p[:, model.mesh.t[:, cell]].mean(axis=1))
                raise UserError(
                    f"from_result: part '{self.name}' has cells {where}, as that at ({place}) m: give the same body"
                )

    @cached_property
    def _interpolation(self) -> tuple[sp.csr_array, Any]:
        """E (nodal, former nodal): the former field at the nodes; and which of these it covers (n,)."""
        rows, covered = field_at(self.former, self.model.positions)
        if not isinstance(self.model, Beam) or not covered.all():
            return rows, covered
        assert isinstance(self.former, Beam)
        return self._nodewise(rows, section_rotations(self.former, self.model.positions)), covered

    def _nodewise(self, displacements: sp.csr_array, rotations: sp.csr_array) -> sp.csr_array:
        """Rows of displacements (n·axis, …) and rotations (n·turn, …), node by node."""
        axes, components = self.model.dimension, self.model.components  # type: ignore[union-attr]
        count, turns = displacements.shape[0] // axes, components - axes
        first = np.arange(count * axes).reshape(count, axes)
        order = np.concatenate([first, count * axes + np.arange(count * turns).reshape(count, turns)], axis=1)
        return sp.csr_array(sp.csr_array(sp.vstack([displacements, rotations], format="csr"))[order.ravel()])

    @cached_property
    def pieces(self) -> Overlap:
        """Common pieces of the cells of both meshes: `coarse_cells` of the former one, `fine_cells` of the new one."""
        models: Any = self.former, self.model
        axes = models[0].mesh.dim()
        orders = [model.finite_element.order for model in models]
        factors = [1 if model.mesh.t.shape[0] == axes + 1 else axes for model in models]
        degree = 2 * max(order * factor for order, factor in zip(orders, factors, strict=True)) + models[1].axisymmetric
        if axes == 3:
            degree = min(degree, MAX_DEGREE)
        return intersect(models[0].mesh, models[1].mesh, degree, axis_order=2 * max(orders))

    @cached_property
    def _shapes(self) -> tuple[Shapes, Shapes, Array, Array | None]:
        """Shape functions of the former and the new mesh, quadrature weights, and radii of a body of revolution."""
        models: Any = self.former, self.model
        pieces = self.pieces
        former = Shapes.at(models[0].basis, pieces.coarse_cells, pieces.points)
        shapes = Shapes.at(models[1].basis, pieces.fine_cells, pieces.points)
        if not models[1].axisymmetric:
            return former, shapes, pieces.dx, None
        return former, shapes, pieces.dx * pieces.points[0], pieces.points[0]

    @cached_property
    def _mass(self) -> tuple[sp.csr_array, sp.csr_array]:
        """∫ φ·φ (nodal, nodal) of the new mesh, and ∫ φ·φ' with the former one, up to the density."""
        if isinstance(self.model, Beam):
            return self._beam_mass
        former, shapes, dx, _ = self._shapes
        unit = sp.eye_array(self.model.components)
        forms = (assemble(shapes, trial, local_products(shapes.values, trial.values, dx)) for trial in (shapes, former))
        own, mixed = (sp.csr_array(sp.kron(form, unit, format="csr")) for form in forms)
        return own, mixed

    @cached_property
    def _beam_mass(self) -> tuple[sp.csr_array, sp.csr_array]:
        """∫ ρA U·U + ρI Θ·Θ ds, with the mean rotary inertia of the section about its axes."""
        beams: Any = self.former, self.model
        model = beams[1]
        breaks = np.unique(np.concatenate([beam.basis.doflocs[0] for beam in beams]))
        breaks = breaks[np.append(True, np.diff(breaks) > 1e-12 * np.ptp(breaks))]
        x, w = legendre.leggauss(_HERMITE_POINTS)
        lengths = np.diff(breaks)
        places = model.place((breaks[:-1, None] + 0.5 * (1.0 + x) * lengths[:, None]).ravel()).T
        weights = (0.5 * lengths[:, None] * w).ravel()
        density, section = model.material.density, model.section
        rotary = density * 0.5 * (section.inertia_y + section.inertia_z)
        scale = [density * section.area + model.carried_mass] * model.dimension
        scale += [rotary] * (model.components - model.dimension)
        samples = [self._nodewise(field_at(beam, places)[0], section_rotations(beam, places)) for beam in beams]
        weighted = sp.csr_array(samples[1].T @ sp.diags_array(np.multiply.outer(weights, scale).ravel()))
        return sp.csr_array(weighted @ samples[1]), sp.csr_array(weighted @ samples[0])

    @cached_property
    def _stiffness(self) -> tuple[sp.csr_array, sp.csr_array]:
        """∫ ε(φ):C:ε(φ) (nodal, nodal) of the new mesh, and that with the former one."""
        former, shapes, dx, radius = self._shapes
        if self._means:
            return self._mean_stiffness
        components, lame = self.model.components, self.model.lame  # type: ignore[union-attr]
        own, mixed = (elastic_form(shapes, trial, dx, components, radius, lame) for trial in (shapes, former))
        return own, mixed

    @property
    def _means(self) -> bool:
        """Whether the pressure is that of the mean dilatation of the cell."""
        return bool(getattr(self.model, "mean_dilatation", False))

    @property
    def _mean_stiffness(self) -> tuple[sp.csr_array, sp.csr_array]:
        """The forms of the stiffness with the mean dilatation of the cells of either mesh."""
        former, shapes, dx, radius = self._shapes
        models: Any = self.former, self.model
        components, (lam, mu) = models[1].components, models[1].lame
        bulk, deviatoric = lam + 2.0 * mu / 3.0, (-2.0 * mu / 3.0, mu)
        forms = [elastic_form(shapes, trial, dx, components, radius, deviatoric) for trial in (shapes, former)]
        pieces = self.pieces
        cells = pieces.coarse_cells, pieces.fine_cells
        first, second = (mean_dilatations(model, at, dx.sum(axis=1)) for model, at in zip(models, cells, strict=True))
        own, mixed = (
            sp.csr_array(form + bulk * (second[1].T @ trial[0]))
            for form, trial in zip(forms, (second, first), strict=True)
        )
        return own, mixed

    @cached_property
    def _free(self) -> Indices:
        """Dofs without support."""
        free = np.ones(self.model.dof_count, dtype=bool)
        for motion in self.model.motions:
            free[motion.dofs] = False
        return np.flatnonzero(free)

    def _modes(self, model: Continuum | Beam, displacement: Array | None) -> Array:
        """Rigid motions (r, nodal) of a mesh about the centre of the nodes of the new one; of a body of revolution that
        along its axis."""
        arm = model.positions - self.model.positions.mean(axis=0)
        if displacement is not None:
            arm = arm + displacement.reshape(model.node_count, -1)[:, : arm.shape[1]]
        modes = rigid_modes(arm, model.components)
        return modes[1:2] if getattr(model, "axisymmetric", False) else modes

    @cached_property
    def inertias(self) -> tuple[sp.csr_array, sp.csr_array]:
        """Mass matrices (nodal, nodal) of the former and the new mesh, kg."""
        models: Any = self.former, self.model
        first, second = (sp.csr_array(model.assemble().inertia) for model in models)
        return first, second

    def displacement(self, field: Array, plastic: tuple[Array, Array] | None = None) -> Array:
        """The displacement (nodal,), m, of one of the former mesh (former nodal,).

        plastic: plastic strains (c, q, 6) at the points of the former and of the new mesh, xx, yy, zz, yz, xz, xy, of
        which the difference is added to that of the strains: energy is stored by the elastic strains.
        """
        start, free = np.asarray(self._interpolation[0] @ field), self._free
        if isinstance(self.model, Beam) or not free.size:
            return start
        (own, mixed), (mass, mixed_mass) = self._stiffness, self._mass
        load = self._plastic_load(plastic) - np.asarray(own @ start - mixed @ field)
        modes, unpinned, factor = self._pinned
        weights = modes @ mass
        gram = weights @ modes.T
        load = load - weights.T @ np.linalg.solve(gram, modes @ load)  # in equilibrium: pins have no reaction
        start[unpinned] += factor.solve(load[unpinned])
        return start + modes.T @ np.linalg.solve(gram, modes @ (mixed_mass @ field) - weights @ start)

    def _plastic_load(self, plastic: tuple[Array, Array] | None) -> Array:
        """∫ 2μ (ε_p − ε_p'):ε(φ) (nodal,) of the plastic strains of the new and the former mesh."""
        model: Any = self.model
        load = np.zeros((model.node_count, model.components))
        if plastic is None:
            return load.ravel()
        models: Any = self.former, model
        _, shapes, dx, radius = self._shapes
        cells = self.pieces.coarse_cells, self.pieces.fine_cells
        before, after = (
            CellPolynomials(each).interpolate(at, self.pieces.points, values)
            for each, at, values in zip(models, cells, plastic, strict=True)
        )
        change = 2.0 * model.lame[1] * dx[..., None] * (after - before)
        for i in range(model.components):
            local = np.einsum("ajpk,pkj->pa", shapes.gradients, change[..., _TENSOR[i, : model.components]])
            if radius is not None and i == 0:
                local += np.einsum("apk,pk->pa", shapes.values, change[..., _TENSOR[2, 2]] / radius)
            np.add.at(load[:, i], shapes.nodes.T, local)
        return load.ravel()

    @cached_property
    def _pinned(self) -> tuple[Array, Indices, Factor]:
        """Rigid motions (c, nodal) that supports allow, the free dofs without c pins, and the factor of K on them."""
        modes, free = self._allowed(self._modes(self.model, None)), self._free
        if len(modes):
            pivots = scipy.linalg.qr(modes[:, free], mode="r", pivoting=True)[1]
            free = np.sort(np.delete(free, pivots[: len(modes)]))
        return modes, free, factorise(sp.csr_array(self._stiffness[0][free][:, free]))

    def _allowed(self, modes: Array) -> Array:
        """Combinations of the rigid motions of each connected piece of the mesh that are zero at all supports."""
        count, components = self.model.node_count, self.model.components
        pieces, of_node = sp.csgraph.connected_components(abs(self._mass[0])[::components, ::components])
        imposed = np.setdiff1d(np.arange(count * components), self._free)
        allowed = []
        for piece in range(pieces):
            each = modes * np.repeat(of_node == piece, components)
            each = each / np.linalg.norm(each, axis=1, keepdims=True)
            if imposed.size:
                _, sizes, vectors = np.linalg.svd(each[:, imposed] @ each[:, imposed].T)
                each = vectors[sizes <= _INDEPENDENT] @ each
                each[:, imposed] = 0.0
            allowed.append(each)
        return np.concatenate(allowed)

    def velocity(self, field: Array, displacements: tuple[Array, Array] | None = None) -> Array:
        """The velocity (nodal,), m/s, of one of the former mesh; displacements: of the former and the new mesh where
        the arms of the angular momenta are those of the deformed body."""
        start, free = np.asarray(self._interpolation[0] @ field), self._free
        if not free.size:
            return start
        own, mixed = self._mass
        factor = factorise(sp.csr_array(own[free][:, free]))
        start[free] -= factor.solve(np.asarray(own @ start - mixed @ field)[free])
        former_rows, rows = self._momentum_rows(displacements)
        sizes = np.linalg.norm(rows[:, free], axis=1)
        acting = sizes > _INDEPENDENT * np.linalg.norm(rows, axis=1)
        if not acting.any():
            return start
        free_rows = rows[acting][:, free] / sizes[acting, None]
        columns = factor.solve(np.asfortranarray(free_rows.T))
        for _ in range(2):  # the rows are large numbers: the second change takes the round-off
            missing = (former_rows @ field - rows @ start)[acting] / sizes[acting]
            start[free] += columns @ np.linalg.lstsq(free_rows @ columns, missing, rcond=_INDEPENDENT)[0]
        return start

    def _momentum_rows(self, displacements: tuple[Array, Array] | None) -> tuple[Array, Array]:
        """rᵀM of both meshes; none of a piece of a body."""
        first, second = (None, None) if displacements is None else displacements
        each = zip((self.former, self.model), self.inertias, (first, second), strict=True)
        former, own = (self._modes(model, u) @ inertia for model, inertia, u in each)
        return (former, own) if self.whole else (former[:0], own[:0])

    def momentum_error(self, fields: tuple[Array, Array], displacements: tuple[Array, Array] | None = None) -> float:
        """Largest error of the linear and angular momenta of two velocities, relative to Σ m |v|."""
        former, own = self._momentum_rows(displacements)
        if not len(own):
            return 0.0
        size = np.abs(former) @ np.abs(fields[0])
        change = np.abs(own @ fields[1] - former @ fields[0])
        return float(np.divide(change, size, out=np.zeros_like(size), where=size > 0.0).max())


def mean_dilatations(model: Any, cells: Indices, volumes: Array) -> tuple[sp.csr_array, sp.csr_array]:
    """Mean dilatation (p, nodal) of the cells (p,) of pieces, and the same times the volume of the pieces (p,)."""
    basis, components = model.basis, model.components
    dx, hoop = np.asarray(basis.dx), None
    if model.axisymmetric:
        radius = np.asarray(basis.global_coordinates())[0]
        dx, hoop = dx * radius, 1.0 / radius
    share = dx / dx.sum(axis=1, keepdims=True)
    nodes = basis.element_dofs
    means = np.empty((basis.Nbfun, components, nodes.shape[1]))
    for a in range(basis.Nbfun):
        function = basis.basis[a][0]
        means[a] = np.einsum("icq,cq->ic", np.broadcast_to(function.grad, (components, *share.shape)), share)
        if hoop is not None:
            means[a, 0] += (np.asarray(function.value) * hoop * share).sum(axis=1)
    rows = np.arange(cells.size)
    columns = nodes[:, None] * components + np.arange(components)[:, None]
    dilatation = scatter(rows, columns[:, :, cells], means[:, :, cells], (cells.size, model.dof_count))
    return dilatation, sp.csr_array(sp.diags_array(volumes) @ dilatation)


def elastic_form(
    test: Shapes, trial: Shapes, dx: Array, components: int, radius: Array | None, lame: tuple[float, float]
) -> sp.csr_array:
    """∫ λ tr ε(ψ) tr ε(φ) + 2μ ε(ψ):ε(φ) as (test.size · components, trial.size · components), node-major.

    radius (p, q): distance to the axis of revolution, m, with the hoop strain u_r/r; None without one. lame: λ and μ,
    Pa; a bar has λ = 0, μ = E/2.
    """
    lam, mu = lame
    axes = range(components)
    products = [[local_products(test.gradients[:, i], trial.gradients[:, j], dx) for j in axes] for i in axes]
    rows, columns, values = [], [], []
    for i in axes:
        for j in axes:
            local = lam * products[i][j] + mu * products[j][i]
            if i == j:
                local = local + mu * sum(products[k][k] for k in axes)
            if radius is not None and i == 0:  # hoop strain of the test function
                local = local + lam * local_products(test.values, trial.gradients[:, j], dx / radius)
            if radius is not None and j == 0:
                local = local + lam * local_products(test.gradients[:, i], trial.values, dx / radius)
            if radius is not None and i == j == 0:
                local = local + (lam + 2.0 * mu) * local_products(test.values, trial.values, dx / radius**2)
            rows.append(np.broadcast_to(test.nodes.T[:, :, None] * components + i, local.shape).ravel())
            columns.append(np.broadcast_to(trial.nodes.T[:, None, :] * components + j, local.shape).ravel())
            values.append(local.ravel())
    shape = test.size * components, trial.size * components
    return scatter(np.concatenate(rows), np.concatenate(columns), np.concatenate(values), shape)
