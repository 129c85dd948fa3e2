"""Runs on 2 and 3 ranks whose matrices are spread: they give what one rank gives."""

import pickle

import numpy as np
import pytest

pytest.importorskip("mumps", reason="PyMUMPS is not installed", exc_type=ImportError)

# two solids glued by a junction, the fine one pressed or thrown against an obstacle or a third solid
PROGRAM = '''
import pickle, sys
import numpy as np
import arlequin as aq
from arlequin.models.parallel.ranks import ranks
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.system.assembly import assemble

steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)

def thrown(scheme, layers, dimension=2):
    """Glued bodies against an oblique wall, with friction."""
    if dimension == 2:
        coarse = aq.Solid("coarse", aq.mesh.rectangle((0, 0.06), (0, 0.02), cells=(24, 8)), steel, plane="strain")
        fine = aq.Solid("fine", aq.mesh.rectangle((0.04, 0.1), (0, 0.02), cells=(72, 24)), steel, plane="strain",
                        damping=aq.Rayleigh(stiffness=1e-9), tractions={"top": (0.0, -1e6)})
        wall, velocity = aq.RigidPlane(point=(0.10005, 0), normal=(-1, 0)), (50.0, 20.0)
    else:
        coarse = aq.Solid("coarse", aq.mesh.box((0, 0.06), (0, 0.02), (0, 0.02), cells=(12, 4, 4)), steel)
        fine = aq.Solid("fine", aq.mesh.box((0.04, 0.1), (0, 0.02), (0, 0.02), cells=(24, 8, 8)), steel)
        wall, velocity = aq.RigidPlane(point=(0.10005, 0, 0), normal=(-1, 0, 0)), (50.0, 20.0, 10.0)
    laws = [aq.Asperities(stiffness=1e14, exponent=1, height=1e-5), aq.Unilateral(level="velocity")]
    contact = aq.Interface("contact", fine.boundary("right"), wall, normal=laws if layers else laws[1:],
                           friction=aq.Coulomb(0.2))
    system = aq.System([coarse, fine], junctions=[aq.Junction(coarse, fine)], interfaces=[contact], velocity=velocity)
    return system, scheme, 3e-6, 1e-7

def pressed():
    """A glued punch is pressed on a base and drawn along it: statics with stick and slip."""
    base = aq.Solid("coarse", aq.mesh.rectangle((-0.02, 0.04), (-0.01, 0), cells=(60, 12)), steel, plane="strain",
                    imposed={"bottom": {"x": 0.0, "y": 0.0}})
    fine = aq.Solid("fine", aq.mesh.rectangle((0, 0.02), (0.0, 0.01), cells=(60, 24)), steel, plane="strain")
    top = aq.Solid("top", aq.mesh.rectangle((0, 0.02), (0.006, 0.02), cells=(10, 7)), steel, plane="strain",
                   imposed={"top": {"y": lambda t: -1e-5 * t, "x": lambda t: 4e-6 * t}})
    contact = aq.Interface("contact", fine.boundary("bottom"), base.boundary("top"),
                           normal=aq.Unilateral(level="gap"), friction=aq.Coulomb(0.3))
    system = aq.System([base, fine, top], junctions=[aq.Junction(top, fine)], interfaces=[contact])
    return system, aq.Static(), 1.0, 0.25

STUDIES = {
    "theta": lambda: thrown(aq.Theta(0.5), True),
    "theta, dissipative, iterative": lambda: thrown(aq.Theta(0.6, solver="iterative"), False),
    "newmark": lambda: thrown(aq.Newmark(), False),
    "hht, iterative": lambda: thrown(aq.HHT(solver="iterative"), True),
    "solids": lambda: thrown(aq.Theta(0.5), True, 3),
    "statics": pressed,
}
found = {}
for name in sys.argv[2:]:
    system, scheme, duration, step = STUDIES[name]()
    result = aq.simulate(system, scheme, duration=duration, step=step)
    if ranks().count > 1:
        assert isinstance(assemble(system).mass, DistributedMatrix), name
    found[name] = {
        "balance": float(abs(result["balance"]).max()),
        **{key: result[key].values for key in (
            "energy", "part/coarse/displacement", "part/fine/displacement", "part/fine/velocity",
            "interface/contact/force", "interface/contact/pressure", "interface/contact/slip")},
    }
if ranks().root:
    pickle.dump(found, open(sys.argv[1], "wb"))
'''
NAMES = "theta", "theta, dissipative, iterative", "newmark", "hht, iterative", "solids", "statics"


@pytest.fixture
def found(tmp_path, mpiexec):
    """found(ranks): what the studies give on so many ranks."""
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(count):
        out = tmp_path / f"{count}.pkl"
        done = mpiexec(count, [tmp_path / "program.py", out, *NAMES], timeout=120)
        assert done.returncode == 0, done.stderr
        with open(out, "rb") as file:
            return pickle.load(file)

    return run


@pytest.mark.slow
@pytest.mark.parametrize("count", (2, pytest.param(4, marks=pytest.mark.slow)))
def test_results_are_those_of_one_rank(found, count):
    """θ-scheme, Newmark's family and statics; junction, friction, layers; direct and iterative: to 1e-10 of the
    largest value, with closed balances."""
    one, several = found(1), found(count)
    for name in NAMES:
        assert several[name].pop("balance") < 1e-10
        for key, expected in one[name].items():
            if key != "balance":
                error = np.nanmax(np.abs(several[name][key] - expected))
                assert error <= 1e-10 * np.nanmax(np.abs(expected)), (count, name, key)
