"""Result datasets as other tools read them: units of every variable by pint, `Conventions` and `history`."""

import importlib.util
import re

import numpy as np
import pytest
import xarray

import arlequin as aq

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ arlequin \S+: \S.*")
ONE = r"(?:[a-zA-Z°]+(?:\^-?\d+)?|1)"  # of a unit both UDUNITS and pint read
UNIT = re.compile(rf"\(?{ONE}(?: {ONE})*\)?(?:\^2)?(?:/{ONE}(?: {ONE})*)?")


def sliding():
    """Contact with friction and wear; thickness 0.5 m, so that values are not per metre."""
    mesh = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.04), (4, 2))
    block = aq.Solid("block", mesh, STEEL, plane="strain", thickness=0.5)
    wall = aq.RigidPlane(point=(0.1, 0.0), normal=(-1.0, 0.0))
    touch = aq.Interface(
        "wall", block.boundary("right"), wall, aq.Unilateral(), friction=aq.Coulomb(0.3), wear=aq.Archard(1e-12)
    )
    return aq.System([block], interfaces=[touch], velocity=(10.0, 1.0))


def run(record=None, members=1):
    system = sliding()
    steps = {"duration": 4e-6, "step": 4e-7, "record": record}
    if members == 1:
        return aq.simulate(system, aq.Theta(0.5), **steps)
    return aq.simulate_ensemble([system] * members, aq.Theta(0.5), **steps)


def metal():
    """Stresses, plastic strain, beams with rotations, a support and a spring, per metre and not."""
    law = aq.J2(young=2e11, poisson=0.3, density=7800.0, yield_stress=2e8, hardening=aq.LinearHardening(1e9))
    held = {"left": {"x": 0.0, "y": 0.0}}
    block = aq.Solid("block", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.04), (4, 2)), law, plane="strain", imposed=held)
    record = aq.Record(stress=True)
    return aq.simulate(aq.System([block], velocity=(1.0, 0.0)), aq.Theta(0.5), duration=2e-6, step=1e-6, record=record)


def beam():
    held = {"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}
    mesh, section = aq.mesh.interval(0.0, 2.0, cells=4), aq.Section.circle(0.05)
    part = aq.Beam("beam", mesh, STEEL, section, dimension=2, imposed=held)
    record = aq.Record(stress=True)
    return aq.simulate(
        aq.System([part], gravity=lambda t: (0.0, -9.81 * t)), aq.Static(), duration=1.0, step=1.0, record=record
    )


def swept(velocity, angle, law):
    about = {"units": "N", "long_name": "force"}
    return {
        "peak": aq.Scalar(velocity, "N/m2"),
        "pure": 1.0,
        "force": xarray.DataArray([1.0], dims="time", attrs=about),
    }


def sweep():
    over = {"velocity": [1.0, 2.0], "angle": [0.0], "law": ["a", "b"]}
    return aq.sweep(swept, over, workers=0, progress=False, units={"velocity": "m/s", "angle": "°"})


def fallen(height):
    return {"time": aq.Scalar(np.sqrt(2.0 * height / 9.81), "s", "time of fall")}


def estimate():
    return aq.estimate(fallen, "time", {"height": aq_uniform()}, samples=20, workers=0, progress=False)


def aq_uniform():
    from scipy import stats

    return stats.uniform(1.0, 1.0)


def periodic():
    part = aq.PointMasses("mass", 0.0, 1.0, forces={"all": lambda t: [np.cos(2.0 * np.pi * t)]})
    spring = aq.Spring("spring", part.boundary("all"), stiffness=100.0)
    return aq.periodic(aq.System([part], springs=[spring]), aq.Theta(0.5), period=1.0, steps=40)


RESULTS = {
    "contact": run,
    "ensemble": lambda: run(members=2),
    "metal": metal,
    "beam": beam,
    "sweep": sweep,
    "estimate": estimate,
    "periodic": periodic,
}


def variables(result):
    """Path and variable, coordinates included, of a tree or a dataset."""
    nodes = result.subtree if isinstance(result, xarray.DataTree) else [result]
    for node in nodes:
        for name, array in node.variables.items():
            yield f"{getattr(node, 'path', '')}/{name}", array


@pytest.mark.parametrize("kind", RESULTS)
def test_units_are_those_that_other_tools_read(kind):
    result = RESULTS[kind]()
    assert result.attrs["Conventions"] == "Arlequin-1" and "arlequin " in result.attrs["history"]
    found = {}
    for path, array in variables(result):
        if array.dtype.kind in "UOTb":
            assert "units" not in array.attrs, path
        elif array.dtype.kind == "f":
            found[path] = array.attrs["units"]
            assert UNIT.fullmatch(found[path]), (path, found[path])
    assert found
    if importlib.util.find_spec("pint"):
        registry = importlib.import_module("pint").UnitRegistry()
        for path, unit in found.items():
            assert registry.parse_units(unit) is not None, path


def test_quantify():
    """pint-xarray multiplies with units: the impulse is the sum of forces times the step."""
    pytest.importorskip("pint_xarray")
    contact = run()["interface/wall"].to_dataset().pint.quantify()
    impulse = contact["impulse"].sum()
    force = -contact["force"].sel(component="x").isel(time=slice(1, None)).sum()
    registry = force.data._REGISTRY
    ratio = (force * registry.Quantity(4e-7, "s") / impulse).pint.to("dimensionless")
    assert abs(float(ratio.pint.magnitude)) == pytest.approx(1.0, rel=1e-9)
    assert contact["area"].pint.units == registry.Unit("m**2")


def test_dimensions_of_dependent_variables_agree():
    """N · m = J, J/s = W: units, not only their notation, are those of the quantities."""
    registry = pytest.importorskip("pint").UnitRegistry()
    contact = run()["interface/wall"]
    unit = {
        str(name): registry.Unit(array.attrs["units"])
        for name, array in contact.data_vars.items()
        if array.dtype.kind == "f"
    }
    assert unit["impulse"] == unit["force"] * registry.s or unit["impulse"].is_compatible_with(
        unit["force"] * registry.s
    )
    assert unit["pressure"].is_compatible_with(unit["force"] / unit["area"])
    assert unit["wear_work"].is_compatible_with(unit["pressure"] * unit["slip"])
    assert unit["worn_volume"].is_compatible_with(unit["area"] * unit["worn_depth"])


def test_units_of_symbolic_exponents_are_in_the_name():
    over = {"stiffness": [1.0, 2.0], "density": [1.0]}
    units = {"stiffness": "Pa/m^m", "density": "kg/m3"}
    found = aq.sweep(lambda stiffness, density: {"f": stiffness}, over, workers=0, progress=False, units=units)
    assert found["stiffness"].attrs == {"long_name": "stiffness (Pa/m^m)"}
    assert found["density"].attrs["units"] == "kg/m^3"
    figure = aq.plots.sweep_lines(found, "f", x="stiffness")
    assert "Pa/m^m" in figure.axes[0].get_xlabel()


def test_history_has_a_line_for_each_command(tmp_path, monkeypatch):
    """Also of one that resumes, and of an export; the program without its folder."""
    monkeypatch.setattr("sys.argv", ["/home/somebody/study.py", "--cells", "20"])

    def stop(done, total):
        if done >= total // 2:
            raise KeyboardInterrupt

    system = sliding()
    steps = {"duration": 4e-6, "step": 4e-7}
    with pytest.raises(KeyboardInterrupt):
        aq.simulate(system, aq.Theta(0.5), record=tmp_path / "a.zarr", progress=stop, **steps)
    monkeypatch.setattr("sys.argv", ["arlequin", "resume", "a.zarr"])
    result = aq.simulate(system, aq.Theta(0.5), record=aq.Record(tmp_path / "a.zarr", resume=True), **steps)
    lines = result.attrs["history"].splitlines()
    assert all(map(LINE.fullmatch, lines))
    assert [line.split(": ", 1)[1] for line in lines] == ["study.py --cells 20", "arlequin resume a.zarr"]
    assert aq.results.open(tmp_path / "a.zarr").attrs["history"] == result.attrs["history"]
    monkeypatch.setattr("sys.argv", [""])
    aq.results.export_netcdf(result, tmp_path / "a.nc")
    engine = {"engine": "scipy"} if aq.results.export_netcdf(result, tmp_path / "a.nc") == "netCDF-3" else {}
    with xarray.open_dataset(tmp_path / "a.nc", **engine) as there:
        assert there.attrs["history"].splitlines()[:2] == lines
        assert there.attrs["history"].splitlines()[2].endswith(": python")
        assert there.attrs["Conventions"] == "Arlequin-1"


def test_what_is_computed_twice_has_equal_attributes():
    assert sweep().attrs == sweep().attrs and estimate().attrs == estimate().attrs
    assert sweep().attrs["history"].endswith(": sweep of swept")
