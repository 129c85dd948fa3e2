"""Damping of the absorbing junctions of a system: as a matrix, or by products with its factors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from arlequin.junctions.base import AbsorbingForm
from arlequin.linalg.field_rows import FieldRows
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.part import Part
from arlequin.models.types import Array, Indices
from arlequin.system.dofs import DofLayout


@dataclass(frozen=True, eq=False)
class _Term:
    """A form between two parts; coarse, fine: the first dof of each part."""

    form: AbsorbingForm
    coarse: int
    fine: int

    @cached_property
    def coarse_nodes(self) -> Indices:
        """Coarse nodes on which the form acts (n,), ascending."""
        return np.union1d(self.form.interpolation.indices, self.form.high_pass.indices).astype(np.int64)

    @cached_property
    def coarse_dofs(self) -> Indices:
        return _dofs(self.coarse, self.coarse_nodes, self.form.components)

    @cached_property
    def fine_dofs(self) -> Indices:
        return _dofs(self.fine, self.form.nodes, self.form.components)


Form = tuple[AbsorbingForm, Part, Part]


class Absorption:
    """D (d, d), N·s/m, of all absorbing junctions, from a matrix or from forms that are assembled on demand."""

    def __init__(
        self, matrix: sp.csr_array | None, layout: DofLayout | None = None, forms: Sequence[Form] = ()
    ) -> None:
        """matrix: D, or None for that of the forms, each with its coarse and its fine part."""
        self._matrix, self._layout, self._forms = matrix, layout, tuple(forms)
        self._terms: tuple[_Term, ...] = ()
        if layout is not None and all(layout.nodal(part) for _, *parts in self._forms for part in parts):
            places = layout.first
            self._terms = tuple(
                _Term(form, places[coarse.name], places[fine.name]) for form, coarse, fine in self._forms
            )

    @cached_property
    def matrix(self) -> sp.csr_array:
        """D, assembled."""
        if self._matrix is not None:
            return self._matrix
        assert self._layout is not None
        first, *others = (self._layout.widened_square(form.matrix(), *parts) for form, *parts in self._forms)
        return sp.csr_array(sum(others, start=first))

    @cached_property
    def dofs(self) -> Indices:
        """Dofs on which D acts (z,), ascending."""
        if not self._terms:
            return np.unique(self.matrix.indices).astype(np.int64)
        return np.unique(np.concatenate([each for term in self._terms for each in (term.coarse_dofs, term.fine_dofs)]))

    def drag(self, v: Array) -> Array:
        """D v (d,), N."""
        if isinstance(self._matrix, DistributedMatrix):
            return np.asarray(self._matrix @ v)
        out = np.zeros_like(v)
        out[self.dofs] = self.among(self.dofs)(v[self.dofs])
        return out

    def among(self, dofs: Indices) -> Callable[[Array], Array]:
        """v ↦ D v on some dofs (z,), ascending, with the others at rest."""
        if not self._terms:
            return FieldRows.of(sp.csr_array(self.matrix[dofs][:, dofs])).product
        products = [_FormProduct(term, dofs) for term in self._terms]

        def product(v: Array) -> Array:
            out = np.zeros(dofs.size)
            for each in products:
                each.add(v, out)
            return out

        return product


class _FormProduct:
    """D v by the factors of a form:

    D_ff v_f + D_fc v_c = s,   D_cf v_f + D_cc v_c = −Eᵀ s + FᵀQ² F v_c,   s = R G R (v_f − E v_c).
    """

    def __init__(self, term: _Term, dofs: Indices) -> None:
        form, nodes = term.form, term.coarse_nodes
        self._coarse, self._fine = _Gather.of(term.coarse_dofs, dofs), _Gather.of(term.fine_dofs, dofs)
        fits = sp.csr_array(sp.vstack([form.interpolation[:, nodes], form.high_pass[:, nodes]], format="csr"))
        self._fits = FieldRows.alike(fits, form.components)  # [E; F]
        self._gram, self._root = FieldRows.alike(form.gram, form.components), form.root
        self._square = sp.csr_array(form.filtered @ form.filtered)

    def add(self, v: Array, out: Array) -> None:
        """Adds D v (z,) to `out`."""
        coarse, fine = self._coarse.gather(v), self._fine.gather(v)
        fitted = self._fits.product(coarse)
        interpolated, short_waves = fitted[: fine.size], fitted[fine.size :]
        force = self._root @ self._gram.product(self._root @ (fine - interpolated))
        self._fine.add(force, out)
        reaction = np.zeros(coarse.size)
        self._fits.write_transposed(np.concatenate([-force, self._square @ short_waves]), reaction)
        self._coarse.add(reaction, out)


@dataclass(frozen=True, eq=False)
class _Gather:
    """Map from `count` values to a longer vector: the values present in it, and their indices `at` there."""

    count: int
    present: Indices
    at: Indices

    @classmethod
    def of(cls, dofs: Indices, among: Indices) -> "_Gather":
        """The map of dofs to a vector on ascending dofs."""
        at = np.minimum(np.searchsorted(among, dofs), among.size - 1)
        present = np.flatnonzero(among[at] == dofs)
        return cls(dofs.size, present, at[present])

    def gather(self, v: Array) -> Array:
        """The values, 0 where absent."""
        out = np.zeros(self.count)
        out[self.present] = v[self.at]
        return out

    def add(self, values: Array, out: Array) -> None:
        out[self.at] += values[self.present]


def _dofs(first: int, nodes: Indices, components: int) -> Indices:
    return (first + components * nodes[:, None] + np.arange(components)).ravel()
