"""Every scheme under every law goes on to the same bits; what a scheme does not take is refused, and listed here."""

from dataclasses import fields

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.errors import UserError
from arlequin.system.assembly import assemble

FLOOR = aq.RigidPlane(point=(0.0, -8e-3), normal=(0.0, 1.0))
STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7900.0)
UNIT = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)
GAPS, PRESSURES = [-4e-3, 0.0, 2e-3, 5e-3], [40.0, 12.0, 5.0, 0.5]
ROUGH = aq.Coulomb(0.2)
# name: normal laws, friction, wear
LAWS = {
    "unilateral": (aq.Unilateral(), ROUGH, None),
    "gap": (aq.Unilateral(level="gap"), ROUGH, None),
    "velocity penalty": (aq.VelocityPenalty(80.0), None, None),
    "perturbed": (aq.PerturbedLagrangian(900.0), ROUGH, None),
    "penalty": (aq.Penalty(900.0), None, None),
    "asperities": (aq.Asperities(2e5, 2.0, 2e-3), None, None),
    "damped asperities": (aq.Asperities(900.0, 1.0, 2e-3, 4.0, 0.5), None, None),
    "shock": (aq.ImpactElement(900.0, 4.0), None, None),
    "table": (aq.AsperityTable(GAPS, PRESSURES), None, None),
    "table, loss": (aq.AsperityTable(GAPS, PRESSURES, 0.2, 30.0), None, None),
    "film": (aq.SqueezeFilm(2e-7, 3.0, offset=2e-3), None, None),
    "several": ([aq.Asperities(300.0, 1.0, 2e-3), aq.Unilateral()], ROUGH, None),
    "compliant friction": (aq.Penalty(900.0), aq.Coulomb(0.2, compliance=0.01), None),
    "elastic friction": (aq.Penalty(900.0), aq.Coulomb(0.2, stiffness=1600.0), None),
    "damped friction": (aq.Penalty(900.0), aq.Coulomb(0.2, stiffness=1600.0, damping=3.0), None),
    "static and dynamic": (aq.Unilateral(), aq.StaticDynamic(0.4, 0.1), None),
    "slip distance": (aq.Unilateral(level="gap"), aq.StaticDynamic(0.4, 0.1, slip_distance=1e-3), None),
    "rate and state": (aq.Asperities(900.0, 1.0, 2e-3), aq.RateAndState(0.2, 0.02, 0.03, 1e-3, 1e-2), None),
    "wear": (aq.Unilateral(level="gap"), ROUGH, aq.Archard(1e-2)),
    "asperities that wear": (aq.Asperities(900.0, 1.0, 2e-3), ROUGH, aq.Archard(1e-2)),
}
SCHEMES = {
    "theta": aq.Theta(0.6),
    "located": aq.Theta(0.5, events="locate"),
    "midpoint": aq.Midpoint(),
    "newmark": aq.Newmark(),
    "hht": aq.HHT(-0.1),
    "mean acceleration": aq.ModifiedMeanAcceleration(-0.1),
    "alpha": aq.GeneralisedAlpha.with_radius(0.8),
    "central": aq.CentralDifference(),
    "multirate": aq.Multirate(2),
    "multirate, explicit": aq.Multirate(2, aq.CentralDifference(), aq.CentralDifference()),
    "static": aq.Static(),
    "euler": aq.SymplecticEuler(),
    "de vogelaere": aq.DeVogelaere(),
    "adaptive": aq.RungeKutta(1e-8),
}
# what each does not take: events of more than rigid laws, unilateral contact without an energy, springs of friction on
# a diagonal mass, wear in several time steps, rates in statics, all but some regular laws in compiled explicit steps
SPRUNG, WEARING = {"elastic friction", "damped friction"}, {"wear", "asperities that wear"}
EXPLICIT = {"penalty", "asperities", "damped asperities", "shock", *SPRUNG}
RATES = {
    "film",
    "unilateral",
    "static and dynamic",
    "several",
    "velocity penalty",
    "damped asperities",
    "shock",
    "table, loss",
}
WITHOUT = {
    "located": LAWS.keys() - {"unilateral", "static and dynamic"},
    "midpoint": {
        "unilateral",
        "gap",
        "static and dynamic",
        "slip distance",
        "velocity penalty",
        "perturbed",
        "several",
        "wear",
    },
    "central": SPRUNG,
    "multirate": WEARING,
    "multirate, explicit": WEARING | SPRUNG,
    "static": RATES,
    "euler": LAWS.keys() - EXPLICIT,
    "de vogelaere": LAWS.keys() - EXPLICIT,
    "adaptive": LAWS.keys() - EXPLICIT,
}


def pushed(laws, glued=False):
    """A mass for each law, all on springs, pushed along, on and off the floor; beside them bars that are glued."""
    names = list(laws)
    some = aq.PointMasses(
        "m", [(float(i), 0.0) for i in range(len(names))], np.linspace(1.0, 1.5, len(names)),
        names={name: [i] for i, name in enumerate(names)},
        forces={"all": lambda t: (8.0 * np.sin(90 * t), -40.0 * np.sin(60 * t))},
    )  # fmt: skip
    spring = aq.Spring("base", some.boundary("all"), stiffness=(900.0, 400.0), damping=(2.0, 0.1))
    touches = [
        aq.Interface(name, some.boundary(name), FLOOR, normal, friction=friction, wear=wear)
        for name, (normal, friction, wear) in laws.items()
    ]
    if not glued:
        return aq.System([some], springs=[spring], interfaces=touches)
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.7, cells=7), UNIT, mass="lumped")
    fine = aq.Bar("fine", aq.mesh.interval(0.4, 1.0, cells=18), UNIT, mass="lumped", tractions={"right": 0.1})
    return aq.System([some, coarse, fine], [aq.Junction(coarse, fine)], springs=[spring], interfaces=touches)


def fallen(law, friction):
    """A rod that falls aside through rings."""
    rod = aq.Beam.between(
        "rod", (0.0, 1.0), (0.0, 0.0), 8, STEEL, aq.Section.tube(4.85e-3, 4.35e-3, 0.3), mass="lumped"
    )
    rings = aq.Guides([(5e-5, 0.6), (-5e-5, 0.35), (5e-5, -0.01)], 1e-4, (0.0, -1.0))
    cards = aq.Interface("cards", rod.boundary("axis"), rings, law, friction=friction)
    return aq.System([rod], interfaces=[cards], velocity=(0.1, -10.0, 0.0))


QUICK = ("located", "euler")  # others in short: test_resume.py, test_block_sizes.py


@pytest.mark.slow
@pytest.mark.parametrize(
    "scheme", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in SCHEMES]
)
def test_equal_bits(scheme, goes_on):
    laws = {name: law for name, law in LAWS.items() if name not in WITHOUT.get(scheme, ())}
    system = lambda: pushed(laws, glued="multirate" in scheme)  # noqa: E731

    def simulate(record, progress):
        return aq.simulate(system(), SCHEMES[scheme], duration=0.08, step=1e-3, record=record, progress=progress)

    whole = goes_on(simulate, (20, 60), size=7)
    for name in laws:
        assert np.abs(whole[f"interface/{name}/force"].values).max() > 0.0, name


@pytest.mark.sampled(7)
@pytest.mark.parametrize("scheme, law", [(scheme, law) for scheme in WITHOUT for law in sorted(WITHOUT[scheme])])
def test_refused(scheme, law):
    """What has no such test is no run."""
    with pytest.raises(UserError):
        SCHEMES[scheme].prepare(assemble(pushed({law: LAWS[law]}, glued="multirate" in scheme)), 1e-3)


GUIDED = {
    "theta": (aq.Theta(0.5), aq.Unilateral(), 1e-4),
    "midpoint": (aq.Midpoint(), aq.ImpactElement(1e6), 1e-4),
    "newmark": (aq.Newmark(), aq.ImpactElement(1e6), 1e-4),
    "alpha": (aq.GeneralisedAlpha.with_radius(0.8), aq.Unilateral(), 1e-4),
}


@pytest.mark.slow
@pytest.mark.parametrize("scheme, law, step", GUIDED.values(), ids=GUIDED)
def test_guides(scheme, law, step, goes_on):
    def simulate(record, progress):
        system = fallen(law, ROUGH)
        return aq.simulate(system, scheme, duration=60 * step, step=step, record=record, progress=progress)

    assert np.abs(goes_on(simulate, (20, 50))["interface/cards/force"].values).max() > 0.0


def test_nothing_is_missing():
    """All schemes, laws of normal contact and constants of friction that there are."""
    public = [getattr(aq, name) for name in aq.__all__]
    steps = {kind for kind in public if isinstance(kind, type) and hasattr(kind, "prepare")}
    assert steps == {type(scheme) for scheme in SCHEMES.values()}
    kinds = {kind for kind in public if isinstance(kind, type) and ({"level", "pressure"} & set(dir(kind)))}
    kinds -= {aq.Levels, aq.levels.MovingPatch}  # of models
    used = [law for normal, _, _ in LAWS.values() for law in (normal if isinstance(normal, list) else [normal])]
    assert kinds == {type(law) for law in used}
    coulomb = [friction for _, friction, _ in LAWS.values() if isinstance(friction, aq.Coulomb)]
    for field in fields(aq.Coulomb):
        assert len({getattr(friction, field.name) for friction in coulomb}) > (field.name != "coefficient")
