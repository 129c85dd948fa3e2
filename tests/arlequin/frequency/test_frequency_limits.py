"""Limits of meshes, unstable systems, undamped resonances, bad input: one line each."""

import warnings
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.frequency import (
    BaseAcceleration,
    ContactForce,
    CorrelatedForce,
    CrossSpectrum,
    Displacement,
    Force,
    RainOnTheRoof,
    SectionForce,
    Spectrum,
    SpringForce,
    Stress,
    SupportForce,
    SupportMotion,
    TurbulentFlow,
)
from arlequin.frequency.linearised import linearised
from arlequin.frequency.resolution import longest_edge, resolutions

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
SHEAR_WAVE = np.sqrt(STEEL.shear / 7800.0)
SECTION = aq.Section.rectangle(0.02, 0.01)
MASS = aq.PointMasses("mass", 0.0, 2.0)
AT = MASS.boundary("all")
SPRING = aq.Spring("spring", AT, stiffness=800.0)
OSCILLATOR = aq.System([MASS], springs=[SPRING])
BAR = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=4), STEEL, imposed={"left": {"x": 0.0}})
OTHER = aq.Bar("other", aq.mesh.interval(0.0, 1.0, cells=4), STEEL)
BEAM = aq.Beam.between("beam", (0.0, 0.0), (1.0, 0.0), 8, STEEL, SECTION)
WALL = aq.Interface("wall", AT, aq.RigidPlane(point=-1.0, normal=1.0), aq.Unilateral())
PUSH, SHIFT, WHITE = Force(AT, 1.0), Displacement(AT, "x"), Spectrum(Force(AT, 1.0), lambda f: 1.0)


def response(system: Any = OSCILLATOR, load: Any = PUSH, of: Any = SHIFT, f: Any = (1.0, 2.0), **options: Any) -> Any:
    return aq.frequency_response(system, load, of, f, progress=False, **options)


def random(psd: Any = WHITE, of: Any = SHIFT, f: Any = (1.0, 2.0), system: Any = OSCILLATOR, **options: Any) -> Any:
    return aq.random_response(system, psd, of, f, progress=False, **options)


MISUSES: list[tuple[Any, str]] = [
    (lambda: response(f=[2.0, 1.0]), "frequencies = (.*): must be increasing frequencies ≥ 0, Hz"),
    (lambda: response(f=[-1.0]), "frequencies = (.*): must be increasing frequencies ≥ 0, Hz"),
    (lambda: response(load=1.0), r"load = 1.0: must be of aq.frequency, as Force\("),
    (lambda: response(load=Force), "load = Force: must be of aq.frequency"),
    (lambda: response(load={"a": 3}), r"load\['a'\] = 3: must be of aq.frequency"),
    (lambda: response(load=[PUSH, 2]), r"load\[1\] = 2: must be of aq.frequency"),
    (lambda: response(of=AT), "of = <boundary 'all' of part 'mass', 1 node>: must be of aq.frequency, as Displacement"),
    (lambda: response(of={}), "of = {}: must not be empty"),
    (lambda: response(of={"frequency": SHIFT}), "of: no output may be named 'frequency'"),
    (lambda: response(method="fast"), "method = 'fast': must be one of direct, modal"),
    (lambda: response(modes=3), "modes and modal_damping: need method='modal'"),
    (lambda: response(method="modal", modes=0), "modes = 0"),
    (lambda: response(method="modal", modal_damping=[0.1, 0.2]), "modal_damping = (.*): must be one number ≥ 0, or 1"),
    (lambda: response(contact="closed"), "contact = 'closed': must be one of open, stuck, sliding"),
    (lambda: response(structural=-0.1), "structural = -0.1"),
    (lambda: response(structural={"sprung": 0.1}), "structural: no part or spring is named 'sprung'"),
    (lambda: response(load=Force(BAR.boundary("right"), 1.0)), "load: 'right' is a boundary of 'bar', which is not in"),
    (lambda: response(of=Displacement(BAR.boundary("right"), "x")), "of: 'right' is a boundary of 'bar', which is not"),
    (lambda: response(of=SpringForce(aq.Spring("s", AT, stiffness=1.0))), "of: the spring 's' is not in the system"),
    (lambda: response(of=ContactForce(WALL)), "of: the interface 'wall' is not in the system"),
    (lambda: response(of=Stress(OTHER, 0, "xx")), "of: the part 'other' is not in the system"),
    (lambda: response(of=SupportForce(AT, "x")), "of: 'x' is not imposed on 'all' at all nodes"),
    (lambda: response(load=SupportMotion(AT, "x")), "load: 'x' of 'all' is not imposed on 'mass' at all nodes: give"),
    (lambda: response(load=BaseAcceleration((1.0, 0.0))), "amplitude = (.*): must have 1 component"),
    (lambda: Force(AT, (1.0, 2.0)), r"amplitude = \(1.0, 2.0\): must have 1 components"),
    (lambda: Force(AT, np.nan), "amplitude = nan: must be finite numbers"),
    (lambda: Force("tip", 1.0), r"surface = 'tip': must be a part.boundary\(\"name\"\)"),
    (lambda: Displacement(AT, "y"), "component = 'y': must be one of x"),
    (lambda: Stress(BEAM, 0, "xx"), r"part = Beam\(.*\): must be a Solid or a Bar \(of a beam take SectionForce\)"),
    (lambda: SectionForce(BAR, 0, "M"), r"part = Bar\(.*\): must be a Beam"),
    (lambda: SectionForce(BEAM, 8, "M"), "cell = 8"),
    (lambda: SectionForce(BEAM, 0, "Mz"), "component = 'Mz': must be one of N, V, M"),
    (lambda: ContactForce(WALL, "tangential"), "component = 'tangential': must be one of normal, x"),
    (lambda: random(PUSH), r"psd = Force\(.*: must be of aq.frequency: Spectrum"),
    (lambda: random([]), r"psd = \[\]: must hold at least one random load"),
    (lambda: random(f=[1.0]), "frequencies = (.*): must be at least two"),
    (lambda: random(TurbulentFlow()), "psd: no part of the system has a turbulence"),
    (lambda: random(RainOnTheRoof(BEAM, lambda f: 1.0)), "psd: the beam 'beam' is not in the system"),
    (lambda: random(Spectrum(PUSH, lambda f: -1.0)), r"density at 1 Hz = \[-1.0\]: must be one finite number ≥ 0"),
    (lambda: Spectrum(PUSH, ([-1.0, 1.0], [1.0, 1.0])), "density: has frequencies below 0, so it is two-sided: give"),
    (lambda: Spectrum(PUSH, ([1.0, 2.0], [1.0, -1.0])), "density: densities = -1.0: must not be negative"),
    (lambda: Spectrum(PUSH, 3.0), "density = 3.0: must be a function of f, Hz, or a table"),
    (lambda: Spectrum(PUSH, lambda f: 1.0, rms=1.0), "rms: the check of the variance needs the density as a table"),
    (lambda: CrossSpectrum([PUSH], [], [[1.0]]), "densities: 0 are given for 1 loads"),
    (
        lambda: CrossSpectrum([PUSH, PUSH], 2 * [lambda f: 1.0], [[1.0, 1.5], [1.5, 1.0]]),
        "coherence at 1 Hz = (.*): must be Hermitian and positive semidefinite",
    ),
    (lambda: CorrelatedForce(BEAM, lambda f: 1.0, correlation=1e-5), "correlation = 1e-05: must be at least 0.00025 m"),
    (lambda: RainOnTheRoof(BAR, lambda f: 1.0), r"beam = Bar\(.*\): must be a Beam"),
]


@pytest.mark.parametrize(("call", "line"), MISUSES)
def test_misuses(call: Any, line: str) -> None:
    with pytest.raises(aq.UserError, match=line) as error:
        call()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("factor", "text"), [(0.5, "as of a two-sided density"), (2.0, "that was doubled again")])
def test_variance_of_a_two_sided_density(factor: float, text: str) -> None:
    with pytest.warns(UserWarning, match=text):
        Spectrum(PUSH, ([0.0, 50.0], [0.02 * factor] * 2), rms=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Spectrum(PUSH, ([0.0, 50.0], [0.02, 0.02]), rms=1.04)


@pytest.mark.parametrize("method", ["direct", "modal"])
def test_undamped_resonance(method: Any) -> None:
    resonance = 20.0 / (2.0 * np.pi)
    with pytest.raises(aq.UserError, match=r"at 3.1831 Hz the equations are singular: an undamped resonance"):
        response(f=[resonance], method=method)
    assert abs(response(f=[resonance * (1 + 1e-4)], method=method)["response"].item()) > 1.0
    with pytest.raises(aq.UserError, match=r"singular|does not converge"):
        random(f=[0.0, 20.0], method=method)


@pytest.mark.parametrize("cells", [8, 100, 400])
def test_buckled_beam_is_refused(cells: int) -> None:
    """Under an axial force beyond Euler's π²EI/L² a pinned beam is unstable; just below it is soft, not unstable."""
    critical = np.pi**2 * 2e11 * 0.01 * 0.02**3 / 12.0
    ends = {"left": {"x": 0.0, "y": 0.0}, "right": {"y": 0.0}}

    def pinned(tension: float) -> tuple[aq.System, Any]:
        beam = aq.Beam.between(
            "beam", (0.0, 0.0), (1.0, 0.0), cells, STEEL, SECTION, imposed=ends, tension=tension, shear=False
        )
        return aq.System([beam]), beam.boundary("left")

    for share in (1.02, 30.0):
        system, end = pinned(-share * critical)
        for method in ("direct", "modal"):
            with pytest.raises(aq.UserError, match="the system is unstable at rest"):
                response(system, Force(end, (0.0, 0.0, 1.0)), Displacement(end, "rz"), [1.0], method=method)
    system, end = pinned(-0.98 * critical)
    found = response(system, Force(end, (0.0, 0.0, 1.0)), Displacement(end, "rz"), [0.0])["response"].item().real
    u = 0.5 * np.pi * np.sqrt(0.98)  # L/(EI) (1 − 2u cot 2u)/(4u²) of a beam-column under an end moment
    stiffness = critical / np.pi**2
    assert found == pytest.approx((1 - 2 * u / np.tan(2 * u)) / (4 * u**2 * stiffness), rel=3e-3)


def test_negative_stiffness_of_a_spring_law_is_unstable() -> None:
    """A mass at the unstable equilibrium of a buckled spring −k e + k₃ e³; in its trough it oscillates with 2 k."""
    spring = aq.Spring("spring", AT, law=aq.springs.Cubic(-1000.0, cubic=1e7))
    with pytest.raises(aq.UserError, match="unstable at rest"):
        response(aq.System([MASS], springs=[spring]))
    trough = aq.System([MASS], springs=[spring], displacement=1e-2)
    assert response(trough, f=[0.0])["response"].item().real == pytest.approx(1.0 / 2000.0, rel=1e-9)


def first_axial_error(part: Any, frequency: float) -> float:
    """Relative error of the natural frequency next to a frequency, Hz, of a fixed-free bar of 1 m."""
    exact = np.sqrt(2e11 / 7800.0) / 4.0 * (2 * np.arange(60) + 1)
    found = aq.natural_frequencies(aq.System([part]), 40).frequencies
    number = int(np.abs(exact - frequency).argmin())
    return float(abs(found[number] / exact[number] - 1.0))


@pytest.mark.parametrize(("order", "bound"), [(1, 0.06), (2, 0.02), (4, 0.01)])
def test_accurate_frequencies_of_bars(order: int, bound: float) -> None:
    """At the frequency that counts as accurate, 6/p cells to a wave, natural frequencies are right to the bound."""
    bar = aq.Bar(
        "bar", aq.mesh.interval(0.0, 1.0, cells=60 // order), STEEL, imposed={"left": {"x": 0.0}},
        **({"order": order} if order > 1 else {}),
    )  # fmt: skip
    (limit,) = resolutions(linearised(aq.System([bar])))
    assert limit.accurate == pytest.approx(np.sqrt(2e11 / 7800.0) / 6.0 * 60.0, rel=1e-12)
    assert 1e-5 < first_axial_error(bar, limit.accurate) < bound


@pytest.mark.parametrize("kind", ["quad", "tri"])
def test_limits_of_solids(kind: str) -> None:
    """The longest edge counts, of triangles the diagonal, halved by order 2; error and warning name the part."""
    mesh = aq.mesh.rectangle((0.0, 0.4), (0.0, 0.1), cells=(8, 2), kind=kind)
    longest = 0.05 * (np.sqrt(2.0) if kind == "tri" else 1.0)
    assert longest_edge(mesh) == pytest.approx(longest, rel=1e-12)
    for order in (1, 2):
        part = aq.Solid("plate", mesh, STEEL, plane="strain", order=order, imposed={"left": {"x": 0.0, "y": 0.0}})
        highest = SHEAR_WAVE / (2.0 * longest) * order
        load, of = Force(part.boundary("right"), (0.0, 1.0)), Displacement(part.boundary("right"), "y")
        system = aq.System([part])
        with pytest.raises(aq.UserError, match=r"frequencies up to .* Hz: must be at most .* Hz, which has two nodes"):
            response(system, load, of, [1.01 * highest], structural=0.1)
        with pytest.warns(UserWarning, match=r"part 'plate' is accurate up to .* Hz, above which"):
            response(system, load, of, [0.99 * highest], structural=0.1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            response(system, load, of, [0.99 * highest / 3.0], structural=0.1)


def test_longest_edge_in_space_and_on_a_line() -> None:
    for kind, expected in (("hex", 0.05), ("tet", None)):
        mesh = aq.mesh.box((0.0, 0.1), (0.0, 0.1), (0.0, 0.1), cells=(2, 4, 5), kind=kind)
        diagonals = np.sqrt([0.05**2 + 0.025**2, 0.05**2 + 0.025**2 + 0.02**2])
        found = longest_edge(mesh)
        assert found == pytest.approx(expected) if expected else diagonals[0] - 1e-12 <= found <= diagonals[1] + 1e-12
    assert longest_edge(aq.mesh.interval(0.0, 1.0, cells=4)) == pytest.approx(0.25)


def test_limit_of_beams() -> None:
    """At 4 cells to a bending wave natural frequencies are right to 1 %, at the highest, 2 cells, to 15 %."""
    ends = {"left": {"x": 0.0, "y": 0.0}, "right": {"y": 0.0}}
    beam = aq.Beam.between(
        "beam", (0.0, 0.0), (1.0, 0.0), 16, STEEL, aq.Section.rectangle(0.002, 0.01), imposed=ends, shear=False,
        rotary_inertia=False,
    )  # fmt: skip
    (limit,) = resolutions(linearised(aq.System([beam])))
    rigidity, line = 2e11 * 0.01 * 0.002**3 / 12.0, 7800.0 * 0.01 * 0.002
    exact = np.sqrt(rigidity / line) * (np.arange(1, 17) * np.pi) ** 2 / (2 * np.pi)
    found = aq.natural_frequencies(aq.System([beam]), 16).frequencies
    assert limit.accurate == pytest.approx(exact[7], rel=1e-9) and limit.highest == pytest.approx(exact[15], rel=1e-9)
    assert abs(found[7] / exact[7] - 1.0) < 0.01 and abs(found[15] / exact[15] - 1.0) < 0.15


def test_boundaries_below_another_part_have_no_motion() -> None:
    """The end of a coarse bar that a glued fine one has taken over takes no force, and shows no displacement."""
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 1.0, cells=10), STEEL, imposed={"left": {"x": 0.0}})
    fine = aq.Bar("fine", aq.mesh.interval(0.4, 1.2, cells=32), STEEL)
    system = aq.System([coarse, fine], [aq.Junction(coarse, fine, zone=aq.zones.Strip(0.4, 0.7))])
    ends = coarse.boundary("right"), fine.boundary("right")
    for load, of in ((ends[0], ends[1]), (ends[1], ends[0])):
        with pytest.raises(aq.UserError, match="'right' of 'coarse' has nodes without weight, where a part"):
            response(system, Force(load, 1.0), Displacement(of, "x"), [10.0])


def test_reduced_parts_up_to_their_highest_mode() -> None:
    modal = aq.Modal(BEAM, 6, static=[BEAM.boundary("right")])
    end = modal.boundary("right")
    highest = modal.frequencies[5]
    arguments = aq.System([modal]), Force(end, (0.0, 1.0)), Displacement(end, "y")
    with pytest.raises(aq.UserError, match="which is the highest of its modes in 'beam'"):
        response(*arguments, [1.1 * highest], structural=0.1)
    with pytest.warns(UserWarning, match="part 'beam' is accurate up to"):
        response(*arguments, [0.9 * highest], structural=0.1)
