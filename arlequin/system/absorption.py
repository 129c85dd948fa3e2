"""Damping of the absorbing junctions of a system: as a matrix, or by products with its factors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from arlequin.junctions.base import AbsorbingForm
from arlequin.models.linalg.threads import map_pieces, slices
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
        out = np.zeros_like(v)
        out[self.dofs] = self.among(self.dofs)(v[self.dofs])
        return out

    def among(self, dofs: Indices) -> Callable[[Array], Array]:
        """v ↦ D v on some dofs (z,), ascending, with the others at rest."""
        if not self._terms:
            return RowBlocks(sp.csr_array(self.matrix[dofs][:, dofs]))
        products = [_FormProduct(term, dofs) for term in self._terms]

        def product(v: Array) -> Array:
            out = np.zeros(dofs.size)
            for each in products:
                each.add(v, out)
            return out

        return product


class RowBlocks:
    """Products A x of a sparse A (m, n), x (n,) or (n, k), by threads; each row is one sum, whatever their number."""

    def __init__(self, matrix: sp.csr_array) -> None:
        self._count = matrix.shape[0]
        self._pieces = [(at, sp.csr_array(matrix[at])) for at in slices(self._count)]

    def __call__(self, x: Array) -> Array:
        out = np.empty((self._count, *x.shape[1:]))

        def rows(piece: tuple[slice, sp.csr_array]) -> None:
            at, block = piece
            out[at] = block @ x

        map_pieces(rows, self._pieces)
        return out


class _FormProduct:
    """D v by the factors of a form:

    D_ff v_f + D_fc v_c = s,   D_cf v_f + D_cc v_c = −Eᵀ s + FᵀQ² F v_c,   s = R G R (v_f − E v_c).
    """

    def __init__(self, term: _Term, dofs: Indices) -> None:
        form = term.form
        self._components = form.components
        self._coarse, self._fine = _Places.of(term.coarse_dofs, dofs), _Places.of(term.fine_dofs, dofs)
        interpolation = sp.csr_array(form.interpolation[:, term.coarse_nodes])
        high_pass = sp.csr_array(form.high_pass[:, term.coarse_nodes])
        self._interpolation, self._spread = RowBlocks(interpolation), RowBlocks(sp.csr_array(interpolation.T))
        self._high_pass, self._filtered = RowBlocks(high_pass), RowBlocks(sp.csr_array(high_pass.T))
        self._gram, self._root = RowBlocks(form.gram), form.root
        self._square = sp.csr_array(form.filtered @ form.filtered)

    def add(self, v: Array, out: Array) -> None:
        """Adds D v (z,) to `out`."""
        coarse, fine = self._nodal(self._coarse.taken(v)), self._nodal(self._fine.taken(v))
        difference = self._root @ (fine - self._interpolation(coarse)).ravel()
        force = self._root @ self._gram(self._nodal(difference)).ravel()
        high = self._filtered(self._nodal(self._square @ self._high_pass(coarse).ravel()))
        self._fine.add(force, out)
        self._coarse.add((high - self._spread(self._nodal(force))).ravel(), out)

    def _nodal(self, v: Array) -> Array:
        return v.reshape(-1, self._components)


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
