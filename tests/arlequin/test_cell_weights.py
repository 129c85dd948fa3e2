"""Cells of negligible weight: recorded by their weight, and left out of stresses, exports, figures and views."""

from typing import Any

import meshio
import numpy as np
import pytest
import xarray

import arlequin as aq
from arlequin.plots.moving import moving
from arlequin.results.cell_weights import NEGLIGIBLE, counting_cells, counting_nodes
from arlequin.results.paraview import cells_of, faces_of
from arlequin.viewer.scene import scene_of

UNIT = aq.LinearElastic(young=1.0, density=1.0, poisson=0.3)
END = 0.801  # of the zone: 1 % of a coarse cell of 0.1


def parts(axes: int, kind: str = "quad", material: Any = UNIT, order: int = 1) -> tuple[Any, Any]:
    """A coarse part from 0 to 1.2 and a fine one from 0.35 to 1.6, pulled to and fro at its end."""
    pull = {"right": lambda x, t: (1e-3 * np.sin(6 * t) ** 2, *(0.0,) * (axes - 1))}
    if axes == 1:
        coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 1.2, cells=12), UNIT, order=order)
        return coarse, aq.Bar(
            "fine",
            aq.mesh.interval(0.35, 1.6, cells=50),
            UNIT,
            tractions={"right": lambda x, t: pull["right"](x, t)[0]},
        )
    mesh = {2: aq.mesh.rectangle, 3: aq.mesh.box}[axes]
    across, options = ((0.0, 0.2),) * (axes - 1), {"plane": "strain"} if axes == 2 else {}
    coarse_mesh = mesh((0.0, 1.2), *across, cells=(12, *(2,) * (axes - 1)), kind=kind)
    fine_mesh = mesh((0.35, 1.6), *across, cells=(25, *(4,) * (axes - 1)))
    coarse = aq.Solid("coarse", coarse_mesh, material, order=order, **options)
    return coarse, aq.Solid("fine", fine_mesh, UNIT, tractions=pull, **options)


def run(coarse: Any, fine: Any, steps: int = 100, **record: Any) -> xarray.DataTree:
    system = aq.System([coarse, fine], [aq.Junction(coarse, fine, zone=aq.zones.Strip(0.4, END))])
    options = {"stress": True, "fields_every": 10} | record
    return aq.simulate(
        system, aq.Theta(0.5), duration=0.02 * steps, step=0.02, progress=False, record=aq.Record(**options)
    )


KINDS = [(1, "line"), (2, "quad"), (2, "tri"), (3, "hex"), (3, "tet")]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("axes", "kind"), KINDS)
def test_weights_are_shares_of_the_matter(axes: int, kind: str) -> None:
    """In the mean over a cell 1 − α of the strip, and both parts together weigh as much as their union."""
    coarse, fine = parts(axes, kind)
    result = run(coarse, fine, steps=1)
    volume, found = 0.0, {}
    for part in (coarse, fine):
        found[part.name] = result[f"part/{part.name}/weight"].values
        volume += float(found[part.name] @ part.basis.dx.sum(axis=1))
    assert abs(volume - 1.6 * 0.2 ** (axes - 1)) <= 1e-12
    if kind in ("line", "quad", "hex"):
        x = coarse.positions[coarse.connectivity][..., 0]
        low, high = x.min(axis=1), x.max(axis=1)

        def integral(at: Any) -> Any:  # of α from its start
            s = np.clip((at - 0.4) / (END - 0.4), 0.0, 1.0)
            return 0.5 * s**2 * (END - 0.4) + np.maximum(at - END, 0.0)

        expected = 1.0 - (integral(high) - integral(low)) / (high - low)
        np.testing.assert_allclose(found["coarse"], expected, atol=1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("axes", "kind"), KINDS)
def test_stresses_of_cells_that_do_not_count(axes: int, kind: str) -> None:
    """nan where the weight is negligible, recorded and computed alike; what is left is of the size of the load."""
    coarse, fine = parts(axes, kind)
    result = run(coarse, fine)
    for part in (coarse, fine):
        group = result[f"part/{part.name}"].dataset
        gone = group["weight"].values < NEGLIGIBLE
        assert gone.any() and not gone.all()
        np.testing.assert_array_equal(counting_cells(group), ~gone)
        for stress in (group["mises_stress"].values, aq.results.stress(result, part)["mises_stress"].values):
            np.testing.assert_array_equal(np.isnan(stress), np.broadcast_to(gone, stress.shape))
    largest = {name: float(result[f"part/{name}/mises_stress"].max()) for name in ("coarse", "fine")}
    assert largest["coarse"] <= 1.2 * largest["fine"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("axes", "kind", "order"), [*((*each, 1) for each in KINDS), (2, "tri", 2), (2, "quad", 3)])
def test_vtu_files_leave_them_out(tmp_path: Any, axes: int, kind: str, order: int) -> None:
    coarse, fine = parts(axes, kind, order=order)
    result = run(coarse, fine, steps=20)
    group = result["part/coarse"].dataset
    kept = counting_cells(group)
    assert aq.results.export_vtu(result, tmp_path / "some") and aq.results.export_vtu(
        result, tmp_path / "all", all_cells=True
    )
    some, every = (meshio.read(tmp_path / name / "part-coarse" / "2.vtu") for name in ("some", "all"))
    pieces = cells_of(group).pieces
    assert len(some.cells[0].data) == kept.sum() * pieces and len(every.cells[0].data) == kept.size * pieces
    np.testing.assert_array_equal(np.unique(some.cells[0].data), np.arange(len(some.points)))  # no node without a cell
    np.testing.assert_array_equal(some.cell_data["weight"][0], np.repeat(group["weight"].values[kept], pieces))
    np.testing.assert_array_equal(every.cell_data["weight"][0], np.repeat(group["weight"].values, pieces))
    assert np.isfinite(some.cell_data["stress"][0]).all() and np.isnan(every.cell_data["stress"][0]).any()
    # the same cells at the same places, with the same displacements
    chosen = np.repeat(kept, pieces)
    np.testing.assert_array_equal(some.points[some.cells[0].data], every.points[every.cells[0].data[chosen]])
    np.testing.assert_array_equal(
        some.point_data["displacement"][some.cells[0].data],
        every.point_data["displacement"][every.cells[0].data[chosen]],
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("axes", "kind"), KINDS)
def test_views_and_figures_leave_them_out(axes: int, kind: str) -> None:
    """No node beyond the last cell that counts; in space what is left is closed."""
    result = run(*parts(axes, kind), steps=20)
    group = result["part/coarse"].dataset
    last = group["position"].values[group["connectivity"].values[counting_cells(group)], 0].max()
    assert last < 0.9
    found = moving(group, "velocity", np.array([0, 1]), 1.0, axes, 0)
    assert found.places[0, :, 0].max() == pytest.approx(last) and found.values.shape == (2, len(found.pieces))
    viewed = next(part for part in scene_of(result).parts if part.name == "coarse")
    assert viewed.places[:, 0].max() == pytest.approx(last)
    assert all(np.isfinite(field.values).all() for field in viewed.fields.values())
    if axes == 3:
        faces, _ = faces_of(cells_of(group).counting(group))
        edges = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1).reshape(-1, 2), axis=1)
        assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()
    if axes == 1:
        lines = aq.plots.profile(result, "velocity").axes[0].lines
        assert max(lines[0].get_xdata()) == pytest.approx(last)
    else:
        assert aq.plots.shape(result, "mises_stress").axes


def test_colours_are_those_of_what_is_seen() -> None:
    """A node of which no cell counts does not set the limits of a figure."""
    result = run(*parts(2, "tri"), steps=20)
    group = result["part/coarse"].dataset
    lost = ~counting_nodes(group)
    assert lost.any()
    wild = group["velocity"].copy()
    wild[:, lost] = 1e6
    result["part/coarse"].dataset = group.assign(velocity=wild)
    assert max(abs(x) for x in aq.plots.shape(result, "velocity", component=0).axes[1].get_xlim()) < 1e3
    viewed = next(part for part in scene_of(result).parts if part.name == "coarse")
    assert np.abs(viewed.fields["velocity"].values).max() < 1.0


def test_modal_and_plastic_parts() -> None:
    """Reduced parts have cells that do not count, too, and so have the variables that metals record by themselves."""
    coarse, fine = parts(2)
    result = run(aq.Modal(coarse, 6), fine, steps=20)
    weights = result["part/coarse/weight"].values
    np.testing.assert_array_equal(np.isnan(result["part/coarse/mises_stress"].values[-1]), weights < NEGLIGIBLE)
    metal = aq.J2(young=1.0, poisson=0.3, density=1.0, yield_stress=1e-4)
    result = run(*parts(2, "tri", metal), steps=10)
    group = result["part/coarse"].dataset
    for name in ("mises_stress", "plastic_strain", "pressure"):
        np.testing.assert_array_equal(np.isnan(group[name].values[-1]), group["weight"].values < NEGLIGIBLE)


def test_parts_that_share_nothing_have_no_weights() -> None:
    coarse, _ = parts(2)
    result = aq.simulate(aq.System([coarse]), aq.Theta(0.5), duration=0.02, step=0.02)
    assert "weight" not in result["part/coarse"] and counting_cells(result["part/coarse"].dataset).all()


def test_results_of_earlier_versions() -> None:
    """Without weights, cells with a node that is left out do not count."""
    result = run(*parts(2), steps=1)
    group = result["part/coarse"].dataset
    old = group.drop_vars("weight")
    gone = (old["left_out"].values > 0)[old["connectivity"].values].any(axis=1)
    assert gone.any()
    np.testing.assert_array_equal(counting_cells(old), ~gone)
