"""Units of plane models: per metre of thickness where it is the default of 1 m, absolute ones where it is given."""

import pytest

import arlequin as aq
from arlequin import plots
from arlequin.cases.case.scalars import common
from arlequin.cases.cli.command import main
from arlequin.results.history import PER_METRE
from arlequin.results.reading import summary

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)


def run(record=None, **options):
    block = aq.Solid("block", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.04), (4, 2)), STEEL, **options)
    wall = aq.RigidPlane(point=(0.1, 0.0), normal=(-1.0, 0.0))
    touch = aq.Interface("wall", block.boundary("right"), wall, aq.Unilateral(), friction=aq.Coulomb(0.3))
    system = aq.System([block], interfaces=[touch], velocity=(10.0, 1.0))
    return aq.simulate(system, aq.Theta(0.5), duration=4e-5, step=4e-7, record=record)


def units(result) -> dict[str, str]:
    paths = ("energy", "part/block/mass", "part/block/momentum", "interface/wall/force", "interface/wall/area")
    return {path.split("/")[-1]: result[path].attrs["units"] for path in paths}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("plane", ["strain", "stress"])
def test_a_plane_model_of_one_metre_is_per_metre(plane, tmp_path, capsys):
    """kg/m is the mass of one metre, as ρ A is; the same model of 1 m or 0.5 m thickness halves the numbers."""
    result = run(tmp_path / "run.zarr", plane=plane)
    assert units(result) == {"energy": "J/m", "mass": "kg/m", "momentum": "kg/s", "force": "N/m", "area": "m^2/m"}
    assert float(result["part/block/mass"]) == pytest.approx(7800.0 * 0.1 * 0.04)
    assert result["interface/wall/pressure"].attrs["units"] == "Pa"
    labels = [axes.get_ylabel() for figure in (plots.energies(result), plots.contact(result)) for axes in figure.axes]
    assert {"Energy (kJ/m)", "Contact force (MN/m)"} <= set(labels)
    assert "N/m" in plots.force_histogram(result).axes[1].get_xlabel()
    assert "(N/m)²/Hz" in plots.force_spectrum(result, segments=2).axes[0].get_ylabel()
    assert summary(result).unit == "J/m"
    main(["show", str(tmp_path / "run.zarr")])
    assert "energy (J/m)" in capsys.readouterr().out
    # scalars of sweeps, which may vary the thickness, are those of the body of 1 m
    assert common(result)["peak_force"].unit == "N"


@pytest.mark.parametrize("options", [{"plane": "strain", "thickness": 0.5}, {"plane": "axisymmetric"}])
def test_other_models_have_the_units_of_bodies(options):
    result = run(**options)
    assert units(result) == {"energy": "J", "mass": "kg", "momentum": "kg m/s", "force": "N", "area": "m^2"}
    assert any(axes.get_ylabel() == "Contact force (MN)" for axes in plots.contact(result).axes)
    assert summary(result).unit == "J"


def test_thickness_scales_the_numbers():
    one, half = run(plane="strain"), run(plane="strain", thickness=0.5)
    for path in ("energy", "interface/wall/force", "part/block/mass"):
        assert half[path].values == pytest.approx(0.5 * one[path].values, rel=1e-9, abs=1e-9)


def test_masses_beside_a_plane_part_are_masses():
    """A mass in kg makes the model that of a body."""
    block = aq.Solid("block", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.04), (4, 2)), STEEL, plane="strain")
    mass = aq.PointMasses("mass", [[0.0, 1.0]], [1.0])
    result = aq.simulate(aq.System([block, mass]), aq.Theta(0.5), duration=1e-6, step=1e-6)
    assert result["energy"].attrs["units"] == "J" and result["part/mass/mass"].attrs["units"] == "kg"


def test_every_unit_of_a_force_has_its_own_per_metre():
    assert set(PER_METRE) == {"N", "N s", "N m", "J", "W", "kg", "kg m/s", "m^2", "m^3"}
