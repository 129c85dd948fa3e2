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
    """A form between two parts, whose nodes have the components of their velocities from these dofs on."""

    form: AbsorbingForm
    coarse: int
    fine: int

    @cached_property
    def coarse_nodes(self) -> Indices:
        """Those on which the form acts (n,), ascending."""
        return np.union1d(self.form.interpolation.indices, self.form.high_pass.indices).astype(np.int64)

    @cached_property
    def coarse_dofs(self) -> Indices:
        return _dofs(self.coarse, self.coarse_nodes, self.form.components)

    @cached_property
    def fine_dofs(self) -> Indices:
        return _dofs(self.fine, self.form.nodes, self.form.components)


Form = tuple[AbsorbingForm, Part, Part]


class Absorption:
    """D (d, d), N·s/m, of all absorbing junctions, from a matrix or from forms of which it is assembled on demand."""

    def __init__(
        self, matrix: sp.csr_array | None, layout: DofLayout | None = None, forms: Sequence[Form] = ()
    ) -> None:
        """matrix: D, or None where it is that of the forms, each with its coarse and its fine part."""
        self._given, self._layout, self._forms = matrix, layout, tuple(forms)
        self._terms: tuple[_Term, ...] = ()
        if layout is not None and all(layout.nodal(part) for _, *parts in self._forms for part in parts):
            places = layout.first
            self._terms = tuple(_Term(form, places[one.name], places[other.name]) for form, one, other in self._forms)

    @cached_property
    def matrix(self) -> sp.csr_array:
        """D, assembled."""
        if self._given is not None:
            return self._given
        assert self._layout is not None
        first, *others = (self._layout.widened_square(form.matrix(), *parts) for form, *parts in self._forms)
        return sp.csr_array(sum(others, start=first))

    @cached_property
    def dofs(self) -> Indices:
        """Those on which D acts (z,), ascending."""
        if not self._terms:
            return np.unique(self.matrix.indices).astype(np.int64)
        return np.unique(np.concatenate([each for term in self._terms for each in (term.coarse_dofs, term.fine_dofs)]))

    def drag(self, v: Array) -> Array:
        """D v (d,), N."""
        if isinstance(self._given, DistributedMatrix):
            return np.asarray(self._given @ v)
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
        self._coarse, self._fine = _Places.of(term.coarse_dofs, dofs), _Places.of(term.fine_dofs, dofs)
        fits = sp.csr_array(sp.vstack([form.interpolation[:, nodes], form.high_pass[:, nodes]], format="csr"))
        self._fits = FieldRows.alike(fits, form.components)  # [E; F]
        self._gram, self._root = FieldRows.alike(form.gram, form.components), form.root
        self._square = sp.csr_array(form.filtered @ form.filtered)

    def add(self, v: Array, out: Array) -> None:
        """Adds D v (z,) to `out`."""
        coarse, fine = self._coarse.taken(v), self._fine.taken(v)
        fitted = self._fits.product(coarse)
        followed, short = fitted[: fine.size], fitted[fine.size :]
        force = self._root @ self._gram.product(self._root @ (fine - followed))
        self._fine.add(force, out)
        back = np.zeros(coarse.size)
        self._fits.write_transposed(np.concatenate([-force, self._square @ short]), back)
        self._coarse.add(back, out)


@dataclass(frozen=True, eq=False)
class _Places:
    """Where `count` values stand among others: those that are there, and their places."""

    count: int
    present: Indices
    at: Indices

    @classmethod
    def of(cls, own: Indices, among: Indices) -> "_Places":
        """Of dofs among ascending ones."""
        at = np.minimum(np.searchsorted(among, own), among.size - 1)
        present = np.flatnonzero(among[at] == own)
        return cls(own.size, present, at[present])

    def taken(self, v: Array) -> Array:
        """The values, 0 where there is none."""
        out = np.zeros(self.count)
        out[self.present] = v[self.at]
        return out

    def add(self, values: Array, out: Array) -> None:
        out[self.at] += values[self.present]


def _dofs(first: int, nodes: Indices, components: int) -> Indices:
    return (first + components * nodes[:, None] + np.arange(components)).ravel()
