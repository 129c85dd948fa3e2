"""Contact search and overlap of meshes."""

from functools import partial

import numpy as np
from timing import STEEL, Report, best

import arlequin as aq
from arlequin.multilevel.search.facets import FacetMesh
from arlequin.multilevel.search.search import FacetProjections, FacetTree
from arlequin.overlap.intersect import intersect


def partners(flat: FacetMesh, nodes: np.ndarray, points: np.ndarray) -> FacetProjections:
    """One search as a pairing does it, tree included."""
    return FacetTree.build(flat, nodes).closest(points, 0.02)


def contact_search() -> Report:
    """Seconds to build the tree and find the partners of 10⁴ nodes on 10⁴ facets of a slightly rough square, in 3D."""
    times: Report = {}
    for cell, order, cells in (("hex", 1, 100), ("tet", 1, 71), ("hex", 2, 100), ("tet", 2, 71)):
        mesh = aq.mesh.box((0, 1), (0, 1), (0, 0.1), (cells, cells, 1), cell)
        surface = aq.Solid("block", mesh, STEEL, order=order).boundary("front")
        flat, rng = FacetMesh.of(surface), np.random.default_rng(0)
        rough = surface.positions + 1e-4 * rng.standard_normal(surface.positions.shape)
        x, y = (a.ravel() for a in np.meshgrid(*[np.linspace(0, 1, 100)] * 2))
        points = np.column_stack([x, y, 0.1 + 0 * x])
        search = partial(partners, flat, rough, points)
        times[f"{cell}, order {order}, {len(surface.facets)} facets (s)"] = best(search)
    return times


def overlaps() -> Report:
    """Seconds to cut two meshes that do not match into pieces inside one cell of each, and pieces a second."""
    plane, space = ((0.0, 1.0), (0.0, 1.0)), ((0.0, 1.0),) * 3
    inner = (0.303, 0.811)
    pairs = {
        "quad in quad, 2D": (
            aq.mesh.rectangle(*plane, cells=(60, 60)),
            aq.mesh.rectangle(inner, inner, cells=(200, 200)),
        ),
        "tri in tri, 2D": (
            aq.mesh.rectangle(*plane, cells=(40, 40), kind="tri"),
            aq.mesh.rectangle(inner, inner, cells=(130, 130), kind="tri"),
        ),
        "hex in hex, 3D": (aq.mesh.box(*space, cells=(12,) * 3), aq.mesh.box(inner, inner, inner, cells=(24,) * 3)),
        "tet in tet, 3D": (
            aq.mesh.box(*space, cells=(5,) * 3, kind="tet"),
            aq.mesh.box(inner, inner, inner, cells=(8,) * 3, kind="tet"),
        ),
    }
    found: Report = {}
    for name, (coarse, fine) in pairs.items():
        pieces = intersect(coarse, fine, 3)
        assert abs(pieces.measure / (inner[1] - inner[0]) ** coarse.dim() - 1.0) < 1e-9
        seconds, count = best(partial(intersect, coarse, fine, 3)), pieces.dx.shape[0]
        found[name] = {"seconds": seconds, "pieces": count, "pieces / s": count / seconds}
    return found
