"""Parts assembled by pieces: the pieces of all ranks together are the part."""

import numpy as np
import pytest
import scipy.sparse as sp

import arlequin as aq
from arlequin.models.fem.piece import assemble_piece
from arlequin.models.parallel.partition import cells_of
from arlequin.models.parallel.ranks import OneRank
from arlequin.models.part import Weighting

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
BOX = (0.0, 1.0), (0.0, 0.6), (0.0, 0.4)


class Share(OneRank):
    """One of some ranks without the others: what they hold is summed by the test."""

    def __init__(self, index: int, count: int) -> None:
        self.index, self.count, self.root = index, count, index == 0


def parts():
    rectangle = aq.mesh.rectangle(*BOX[:2], cells=(6, 5))
    return {
        "bar": aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=9), STEEL, damping=aq.Rayleigh(mass=3.0, stiffness=1e-6)),
        "quadrilaterals": aq.Solid("part", rectangle, STEEL, plane="strain", mass="lumped"),
        "second order": aq.Solid("part", rectangle, STEEL, plane="stress", order=2),
        "spectral": aq.Solid("part", rectangle, STEEL, plane="strain", order=4, mass="lumped"),
        "triangles": aq.Solid("part", aq.mesh.rectangle(*BOX[:2], cells=(5, 4), kind="tri"), STEEL, plane="strain"),
        "axisymmetric": aq.Solid("part", rectangle, STEEL, plane="axisymmetric"),
        "dispersion": aq.Solid("part", rectangle, STEEL, plane="strain", mass="dispersion"),
        "hexahedra": aq.Solid("part", aq.mesh.box(*BOX, cells=(4, 3, 3)), STEEL),
        "tetrahedra": aq.Solid("part", aq.mesh.box(*BOX, cells=(3, 2, 2), kind="tet"), STEEL),
    }


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", parts())
@pytest.mark.parametrize("count", (1, 3))
def test_pieces_sum_to_the_part(name, count):
    """Matrices, forces and energy of a weighted part are the sums of its pieces, round-off apart."""
    part, rng = parts()[name], np.random.default_rng(1)
    shape = part.cells.dx.shape
    weighting = Weighting(*(rng.uniform(0.2, 1.0, shape) for _ in range(3)))
    error = 1e-9 if name == "dispersion" else 0.0
    whole = part.assemble(weighting, time_error=error)
    pieces = [assemble_piece(part, weighting, error, Share(i, count)) for i in range(count)]
    for what in ("mass", "stiffness", "damping"):
        expected = getattr(whole, what)
        if expected is None:
            assert all(getattr(piece, what) is None for piece in pieces)
            continue
        total = sum(getattr(piece, what).local for piece in pieces)
        assert abs(total - expected).max() < 1e-14 * abs(expected).max()
    u = rng.standard_normal(part.dof_count)
    force, energy = whole.internal(u)
    found = [piece.internal(u) for piece in pieces]
    np.testing.assert_allclose(sum(own for own, _ in found), force, atol=1e-13 * np.abs(force).max())
    assert sum(own for _, own in found) == pytest.approx(energy, rel=1e-13)
    assert all(np.array_equal(piece.load(0.0), whole.load(0.0)) for piece in pieces)
    if count > 1:  # each holds a share of the cells
        assert all(piece.mass.local.nnz < 0.7 * sp.csr_array(whole.mass).nnz for piece in pieces)


def test_cells_are_divided_evenly():
    """Each cell has one rank, the numbers differ by one at most, and the pieces of a long body follow its axis."""
    centres = np.random.default_rng(0).uniform(size=(101, 3)) * (10.0, 1.0, 1.0)
    pieces = [cells_of(centres, 7, i) for i in range(7)]
    assert np.array_equal(np.sort(np.concatenate(pieces)), np.arange(101))
    sizes = [len(piece) for piece in pieces]
    assert max(sizes) - min(sizes) <= 1
    lengths = [np.ptp(centres[piece], axis=0)[0] for piece in pieces]
    assert max(lengths) < 3.0
