"""Frequency and random responses of systems in a flow: against dense equations, complex modes, Lyapunov's equation, and
runs in time."""

import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import arlequin as aq
from arlequin.frequency import (
    BaseAcceleration,
    ContactForce,
    CrossSpectrum,
    Displacement,
    Force,
    SectionForce,
    Spectrum,
    SupportForce,
    SupportMotion,
    Velocity,
)
from arlequin.frequency.linearised import linearised

CLAMPED, PINNED = {"x": 0.0, "y": 0.0, "rz": 0.0}, {"x": 0.0, "y": 0.0}
SUPPORTS: dict[str, Any] = {"clamped-free": {"left": CLAMPED}, "pinned": {"left": PINNED, "right": {"y": 0.0}}}
RUBBER = aq.LinearElastic(young=2e9, poisson=0.3, density=1000.0)
SECTION = aq.Section.circle(0.01)
MASS = 0.25 * 1000.0 * SECTION.area  # β = 0.2
UNIT = np.sqrt(2e9 * SECTION.inertia_z / MASS)  # √(EI/M)/L, L = 1 m
METHODS = ("direct", "modal")


def responses(*arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return aq.frequency_response(*arguments, progress=False, **options)


def random(*arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return aq.random_response(*arguments, progress=False, **options)


def rod(u: float, kind: str = "axial", cells: int = 6, held: str = "clamped-free", **options: Any) -> Any:
    """A beam and the system in a flow of u √(EI/M)/L."""
    part = aq.Beam(
        "rod", aq.mesh.interval(0.0, 1.0, cells=cells), RUBBER, SECTION, dimension=2, imposed=SUPPORTS[held],
        added_mass=MASS, shear=False, rotary_inertia=False, **options,
    )  # fmt: skip
    return part, aq.System([part], flows=[flow_of(part, u, kind)])


def flow_of(part: Any, u: float, kind: str = "axial", towards: Any = "right") -> Any:
    if kind == "pipe":
        return aq.flow.PipeFlow("water", part, u * UNIT, fluid_mass=MASS, towards=towards)
    return aq.flow.AxialFlow(
        "water", part, u * UNIT, density=1000.0, diameter=0.01, normal_friction=0.02, longitudinal_friction=0.02,
        tail=0.8, towards=towards,
    )  # fmt: skip


def dense(system: aq.System, f: float, forces: Any, eta: float = 0.0) -> tuple[Any, Any]:
    """Solutions u (d, k) and multipliers of the dense equations under forces (d, k), and the matrix A of all
    coordinates, built from the assembled matrices alone."""
    from arlequin.system.assembly import assemble

    a = assemble(system)
    assert a.flow is not None
    omega = 2.0 * np.pi * f
    viscous = 0.0 if a.viscous is None else a.viscous.toarray()
    matrix = (
        (1.0 + 1j * eta) * a.stiffness.toarray() - omega**2 * a.mass.toarray() + 1j * omega * viscous
        + a.flow.stiffness.toarray() + 1j * omega * a.flow.damping.toarray()
    )  # fmt: skip
    free, rows = a.free, a.constraints.toarray()
    border = np.zeros((rows.shape[0],) * 2)
    whole = np.block([[matrix[free][:, free], rows[:, free].T], [rows[:, free], border]])
    right = np.concatenate([np.asarray(forces)[free], np.zeros((rows.shape[0], np.shape(forces)[1]))])
    u = np.zeros(np.shape(forces), dtype=complex)
    u[free] = np.linalg.solve(whole, right)[: np.count_nonzero(free)]
    return u, matrix


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind, u", [("pipe", 5.0), ("axial", 1.5)])
@pytest.mark.parametrize("eta", [0.0, 0.05])
def test_dense_equations(kind: str, u: float, eta: float, method: Any) -> None:
    """Motions and forces of a rod in a flow, under a force, a moved support and a shaken frame; the flow acts on the
    support, too."""
    part, system = rod(u, kind, damping=aq.Rayleigh(1.0, 1e-5))
    end, root, f = part.boundary("right"), part.boundary("left"), np.array([0.0, 3.0, 22.0, 60.0])
    load = {"force": Force(end, (0.0, 1.0)), "moved": SupportMotion(root, "y"), "shaken": BaseAcceleration((0.0, 1.0))}
    of = {"tip": Displacement(end, "y"), "root": SupportForce(root, "y"), "moment": SectionForce(part, 0, "M")}
    found = responses(system, load, of, f, structural=eta, method=method)
    d = part.dof_count
    tip, up = d - 2, np.arange(d) % 3 == 1
    unit = np.zeros((d, 1))
    unit[tip] = 1.0
    inertia = linearised(system).mass @ up[:, None].astype(float)
    for k, frequency in enumerate(f):
        matrix = dense(system, frequency, unit, eta)[1]
        moved = np.zeros((d, 1))
        moved[1] = 1.0
        cases = {"force": (unit, 0.0 * moved), "moved": (0.0 * unit, moved), "shaken": (-inertia, 0.0 * moved)}
        for name, (force, motion) in cases.items():
            solution = dense(system, frequency, force - matrix @ motion, eta)[0] + motion
            shape = (matrix @ solution - force)[1]
            here = found.sel(load=name).isel(frequency=k)
            bound = 1e-10 if method == "direct" else 1e-9
            assert here["tip"].item() == pytest.approx(solution[tip].item(), rel=bound, abs=1e-14)
            assert here["root"].item() == pytest.approx(shape.item(), rel=bound, abs=1e-8)
            bending = part.end_resultants(solution[:, 0].real)[0, 0, 2]
            assert here["moment"].item().real == pytest.approx(bending, rel=10 * bound, abs=1e-8)


def test_more_loads_than_outputs_are_solved_by_the_transposed_equations() -> None:
    """The matrices are not symmetric: the responses by adjoints are those of each load by itself."""
    part, system = rod(5.0, "pipe")
    end = part.boundary("right")
    loads = {name: Force(end, value) for name, value in (("x", (1.0, 0.0)), ("y", (0.0, 1.0)), ("rz", (0.0, 0.0, 1.0)))}
    of, f = Displacement(end, "y"), [1.0, 20.0]
    together = responses(system, loads, of, f)["response"]
    for name, load in loads.items():
        alone = responses(system, load, {"a": of, "b": of, "c": of}, f)["a"].values
        np.testing.assert_allclose(together.sel(load=name), alone, rtol=1e-11, atol=1e-22)


def test_reciprocity_fails_by_the_flow() -> None:
    """H − Hᵀ = −A⁻¹ (A − Aᵀ) A⁻ᵀ; of a pinned pipe, whose Coriolis matrix is skew, H of the reversed flow is Hᵀ."""
    part, system = rod(2.0, "pipe", held="pinned", damping=aq.Rayleigh(1.0))
    back = replace(system, flows=[flow_of(part, 2.0, "pipe", towards="left")])
    ends, f = [part.boundary(name) for name in ("left", "right")], 7.0
    load = {name: Force(end, (0.0, 0.0, 1.0)) for name, end in zip("ab", ends, strict=True)}
    of = {name: Displacement(end, "rz") for name, end in zip("ab", ends, strict=True)}

    def transfer(of_system: aq.System) -> Any:
        found = responses(of_system, load, of, [f]).isel(frequency=0)
        return np.array([[found[o].sel(load=i).item() for i in "ab"] for o in "ab"])

    there, reversed_flow = transfer(system), transfer(back)
    d = part.dof_count
    inverse, matrix = dense(system, f, np.eye(d))
    expected = -(inverse @ (matrix - matrix.T) @ inverse.T)[np.ix_([2, d - 1], [2, d - 1])]
    assert abs(expected[0, 1]) > 0.05 * abs(there[0, 1])
    assert there - there.T == pytest.approx(expected, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(reversed_flow, there.T, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_peaks_move_with_the_velocity_as_the_complex_modes(method: Any) -> None:
    """Near a resonance the receptance is that of its pole: it is largest at the frequency Im λ, and its half width is
    −Re λ; the first frequency of a pinned pipe falls as ω₁ √(1 − u²/π²), less the Coriolis force."""
    frequencies = []
    for u in (0.0, 1.5, 2.5):
        part, system = rod(u, "pipe", held="pinned", damping=aq.Rayleigh(0.3))
        end = part.boundary("left")
        value = aq.complex_modes(system, count=1).eigenvalues[0]
        peak, half = value.imag / (2.0 * np.pi), -value.real / (2.0 * np.pi)
        f = peak + half * np.linspace(-2.0, 2.0, 401)
        rate = responses(system, Force(end, (0.0, 0.0, 1.0)), Velocity(end, "rz"), f, method=method)["response"].values
        size = np.abs(rate) ** 2
        assert f[size.argmax()] == pytest.approx(peak, abs=0.02 * half)
        inside = f[size >= 0.5 * size.max()]
        assert np.ptp(inside) == pytest.approx(2.0 * half, rel=0.02)
        frequencies.append(peak)
    assert frequencies[1] / frequencies[0] == pytest.approx(np.sqrt(1.0 - 1.5**2 / np.pi**2), rel=0.05)
    assert frequencies[0] > frequencies[1] > frequencies[2]


def test_modal_solutions_converge_to_the_direct_one() -> None:
    """At 0.9 of the velocity of flutter: with four modes and the static shapes of the flow 1e-6, eight by default."""
    part, system = rod(5.0, "pipe", cells=24)
    end, f = part.boundary("right"), np.linspace(0.0, 60.0, 31)
    arguments = system, Force(end, (0.0, 1.0)), Displacement(end, "y"), f
    exact = responses(*arguments)["response"].values
    for modes, used, bound in ((4, 4, 1e-6), (None, 8, 1e-7)):
        modal = responses(*arguments, method="modal", modes=modes)
        assert modal.attrs["modes"] == used
        assert np.abs(modal["response"].values - exact).max() < bound * np.abs(exact).max()


def cross_flow(u: float, structural: bool = False, **options: Any) -> aq.System:
    """Three tubes of a row, detuned by 1 %, of 20 Hz, in a flow of u m/s."""
    tubes = [aq.PointMasses(f"tube{j}", (0.0, 0.03 * j), 0.5) for j in range(3)]
    k = 0.5 * (2.0 * np.pi * 20.0) ** 2
    damping = 0.0 if structural else 2.0 * 0.01 * np.sqrt(0.5 * k)
    held = [
        aq.Spring(tube.name, tube.boundary("all"), stiffness=k * (1.0 + 0.01 * j), damping=damping)
        for j, tube in enumerate(tubes)
    ]
    row = aq.flow.TubeRow(
        "row", [tube.boundary("all") for tube in tubes], u, density=1000.0, length=1.0, flow_direction=(1.0, 0.0),
        row_direction=(0.0, 1.0), constant=4.0,
    )  # fmt: skip
    return aq.System(tubes, springs=held, flows=[row], **options)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["axial", "row"])
def test_densities_are_those_of_the_dense_formula(kind: str, method: Any) -> None:
    """S_yy = H S Hᴴ, with loads in and out of phase, 1e-10."""
    if kind == "axial":
        part, system = rod(1.5, damping=aq.Rayleigh(1.0))
        end = part.boundary("right")
        loads = [Force(end, (0.0, 1.0)), Force(end, (0.0, 0.0, 1.0)), Force(end, (0.5, 0.0))]
        of = {"y": Displacement(end, "y"), "rz": Displacement(end, "rz")}
        d = part.dof_count
        columns = np.zeros((d, 3))
        columns[d - 2, 0] = columns[d - 1, 1] = 1.0
        columns[d - 3, 2] = 0.5
        places, f = (d - 2, d - 1), np.array([1.0, 3.5, 22.0, 60.0])
    else:
        system = cross_flow(0.5)
        at = [tube.boundary("all") for tube in system.parts]
        loads = [Force(at[0], (1.0, 0.0)), Force(at[1], (0.0, 1.0)), Force(at[2], (0.0, 2.0))]
        of = {"y": Displacement(at[2], "x"), "rz": Displacement(at[0], "y")}
        columns = np.zeros((6, 3))
        columns[0, 0] = columns[3, 1] = 1.0
        columns[5, 2] = 2.0
        places, f = (4, 1), np.array([1.0, 19.5, 20.3, 60.0])
    coherence = np.array([[1.0, 0.4 + 0.3j, 0.1j], [0.4 - 0.3j, 1.0, -0.2], [-0.1j, -0.2, 1.0]])
    levels = [lambda f: 1.0, lambda f: 2.0 / (1.0 + f), lambda f: 3.0]
    options: dict[str, Any] = {"method": method} | (
        {"modes": 18 if kind == "axial" else 6} if method == "modal" else {}
    )
    found = random(system, CrossSpectrum(loads, levels, coherence), of, f, tolerance=1e-3, **options)
    for k, frequency in enumerate(f):
        h = dense(system, frequency, columns)[0][list(places)]
        root = np.sqrt([1.0, 2.0 / (1.0 + frequency), 3.0])
        exact = (h @ (coherence * np.outer(root, root)) @ h.conj().T).real
        for i, name in enumerate(of):
            assert found[name].values[k] == pytest.approx(exact[i, i], rel=1e-10)


def variance(mass: Any, damping: Any, stiffness: Any, forces: Any, density: float) -> Any:
    """Covariances of the coordinates under white forces (d, k) of a one-sided density, by Lyapunov's equation."""
    n = len(mass)
    inverse = np.linalg.inv(mass)
    state = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ stiffness, -inverse @ damping]])
    noise = np.concatenate([np.zeros_like(forces), inverse @ forces])
    return scipy.linalg.solve_continuous_lyapunov(state, -0.5 * density * noise @ noise.T)[:n, :n]


@pytest.mark.parametrize("method", METHODS)
def test_variance_of_tubes_by_lyapunovs_equation(method: Any) -> None:
    """Under white noise, near the velocity of flutter, where the variance is several times that in still fluid."""
    still, near = (np.zeros(2), np.zeros(2))
    for out, u in ((still, 0.0), (near, 0.55)):
        system = cross_flow(u)
        linear = linearised(system)
        mass, damping, stiffness = (m.toarray() for m in (linear.mass, linear.damping, linear.stiffness))
        forces = np.eye(6)[:, [0]]
        exact = variance(mass, damping, stiffness, forces, 0.3)
        at = [tube.boundary("all") for tube in system.parts]
        of = {"x": Displacement(at[0], "x"), "y": Displacement(at[1], "y")}
        white = Spectrum(Force(at[0], (1.0, 0.0)), lambda f: 0.3)
        found = random(system, white, of, np.linspace(0.0, 4000.0, 3), method=method)
        out[:] = exact[0, 0], exact[3, 3]
        assert found["rms_x"].item() ** 2 == pytest.approx(exact[0, 0], rel=1e-6)
        if u:
            assert found["rms_y"].item() ** 2 == pytest.approx(exact[3, 3], rel=1e-6)
    assert near[0] > 1.2 * still[0] and near[1] > 0.1 * near[0]


def reduced(u: float, **options: Any) -> tuple[Any, aq.System]:
    """The clamped rod as a superelement of its free end, in the flow given by its matrices."""
    part, _ = rod(u, cells=12, **options)
    short = aq.craig_bampton(part, [part.boundary("right")], modes=12, boundary="fixed")
    flow = aq.flow.MatrixFlow.of(flow_of(part, u), short)
    return short, aq.System([short], flows=[flow])


@pytest.mark.parametrize("method", METHODS)
def test_a_superelement_in_a_flow(method: Any) -> None:
    """Its response is that of the beam below its cut-off, and its variance under white noise that of its matrices."""
    options = {"damping": aq.Rayleigh(1.0, 1e-4)}
    short, system = reduced(1.5, **options)
    part, full = rod(1.5, cells=12, **options)
    f = np.array([0.0, 3.0, 20.0, 60.0])
    expected, found = (
        responses(s, Force(p.boundary("right"), (0.0, 1.0)), Displacement(p.boundary("right"), "y"), f, method=method)
        for p, s in ((part, full), (short, system))
    )
    np.testing.assert_allclose(found["response"], expected["response"], rtol=3e-4)
    linear = linearised(system)
    mass, damping, stiffness = (m.toarray() for m in (linear.mass, linear.damping, linear.stiffness))
    end = short.boundary("right")
    force = Force(end, (0.0, 1.0))
    column = force.amplitudes(linear)[0].real[:, None]
    free = linear.free
    exact = variance(
        *(matrix[np.ix_(free, free)] for matrix in (mass, damping, stiffness)), column[free], 2.0
    )  # fmt: skip
    covariance = float((column[free].T @ exact @ column[free]).item())
    psd = random(system, Spectrum(force, lambda f: 2.0), Displacement(end, "y"), [0.0, 3000.0], method=method)
    assert psd["rms_response"].item() ** 2 == pytest.approx(covariance, rel=1e-5)


def glued(u: float) -> tuple[aq.System, Any]:
    """A clamped rod in axial flow whose end is a solid."""
    side = 0.08
    elastic = aq.LinearElastic(young=2e9, poisson=0.3, density=1000.0)
    section = aq.Section.rectangle(side, 1.0, 0.3)
    beam = aq.Beam(
        "beam", aq.mesh.interval(0.0, 0.7, cells=7), elastic, section, dimension=2, imposed={"left": CLAMPED},
        added_mass=20.0,
    )  # fmt: skip
    mesh = aq.mesh.rectangle((0.4, 1.1), (-side / 2, side / 2), cells=(14, 2))
    solid = aq.Solid("solid", mesh, elastic, "stress")
    water = aq.flow.PipeFlow("water", beam, u, fluid_mass=20.0)
    return aq.System([beam, solid], [aq.BeamJunction(beam, solid)], flows=[water]), solid


@pytest.mark.parametrize("method", METHODS)
def test_a_glued_system_in_a_flow(method: Any) -> None:
    system, solid = glued(40.0)
    end, f = solid.boundary("right"), np.array([1.0, 15.0, 100.0])
    force, shown = Force(end, (0.0, 1.0)), Displacement(end, "y")
    found = responses(system, force, shown, f, structural=0.02, method=method)["response"].values
    still = responses(replace(system, flows=[]), force, shown, f, structural=0.02)["response"].values
    assert np.abs(found / still - 1.0).max() > 1e-2
    linear = linearised(system)
    right = force.amplitudes(linear)[0].real[:, None]
    for k, frequency in enumerate(f):
        u = dense(system, frequency, right, 0.02)[0]
        exact = (shown.rows(linear).at(frequency) @ u).item()
        assert found[k] == pytest.approx(exact, rel=1e-9 if method == "direct" else 1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("contact", ["open", "stuck", "sliding"])
def test_contact_in_a_flow(contact: Any, method: Any) -> None:
    """A tube pressed on a plane, with a layer and elastic friction: its 2 × 2 equations; its force on the plane."""
    tube = aq.PointMasses("tube", (0.0, 0.0), 0.5)
    at, k = tube.boundary("all"), 5e3
    held = aq.Spring("held", at, stiffness=(k, 0.5 * k), damping=(3.0, 2.0))
    plane = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    touch = aq.Interface("touch", at, plane, aq.Penalty(4e3), friction=aq.Coulomb(0.3, stiffness=1e3), area=1.0)
    flow = aq.flow.QuasiSteadyTube(
        "flow", at, 0.7, density=1000.0, diameter=0.02, length=1.0, drag=1.0, lift_slope=3.0, delay=1.0,
        flow_direction=(0.8, 0.6), lift_direction=(-0.6, 0.8),
    )  # fmt: skip
    gyroscopic = aq.flow.MatrixFlow(
        "swirl", tube, 1.0, damping=[[0.0, 4.0], [-4.0, 0.0]], stiffness=[[0, 99], [-80, 0]]
    )
    system = aq.System([tube], springs=[held], interfaces=[touch], flows=[flow, gyroscopic])
    of = {"x": Displacement(at, "x"), "y": Displacement(at, "y"), "p": ContactForce(touch)}
    load = Force(at, (1.0, 2.0))
    f = np.array([0.0, 12.0, 17.0])
    found = responses(system, load, of, f, contact=contact, method=method)
    turn = np.array([[0.8, 0.6], [-0.6, 0.8]])
    rate = 0.5 * 1000.0 * 0.7 * 0.02
    damping = np.diag([3.0, 2.0]) + turn.T @ np.diag([2.0 * rate, rate * (1.0 + 3.0)]) @ turn + [[0, 4], [-4, 0]]
    stiffness = np.diag([k, 0.5 * k]) + turn.T @ np.diag([0.0, -0.5 * 1000.0 * 0.7**2 * 3.0]) @ turn
    normal = 0.0 if contact == "open" else 4e3
    stiffness += [[1e3 if contact == "stuck" else 0.0, 99.0], [-80.0, normal]]
    for j, omega in enumerate(2.0 * np.pi * f):
        u = np.linalg.solve(stiffness + 1j * omega * damping - 0.5 * omega**2 * np.eye(2), [1.0, 2.0])
        for name, exact in (("x", u[0]), ("y", u[1]), ("p", -normal * u[1])):
            assert found[name].values[j] == pytest.approx(exact, rel=1e-11)


def test_a_run_in_time_reaches_the_amplitude() -> None:
    """The last period of a run under a harmonic force, whose start is forgotten (e⁻¹⁷), by the θ-scheme: the error is
    of second order in the step, 2e-3 with 80 steps to a period."""
    hertz, periods, errors = 12.0, 14, []
    part, _ = rod(1.5, cells=4, damping=aq.Rayleigh(20.0))
    loaded = replace(part, end_loads={"right": lambda t: (0.0, np.sin(2.0 * np.pi * hertz * t), 0.0)})
    system, end = aq.System([loaded], flows=[flow_of(loaded, 1.5)]), loaded.boundary("right")
    exact = responses(system, Force(end, (0.0, 1.0)), Displacement(end, "y"), [hertz])["response"].item()
    for steps in (40, 80):
        result = aq.simulate(system, aq.Theta(0.5), duration=periods / hertz, step=1.0 / (hertz * steps))
        tip = result["part/rod/displacement"].values[-steps:, -1, 1]
        amplitude = 2j / steps * (np.exp(-2j * np.pi * np.arange(1, steps + 1) / steps) @ tip)  # of sin = Im e^{iωt}
        errors.append(abs(amplitude / exact - 1.0))
    assert errors[1] < 2e-3 and errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


def test_structural_damping_keeps_tubes_from_flutter() -> None:
    """Tubes without other damping flutter in any flow; with the loss factor η = 2ζ from the velocity of dashpots of the
    ratio ζ."""
    critical = aq.critical_velocity(cross_flow(1.0), np.linspace(0.0, 2.0, 9), count=6).attrs["critical_velocity"]
    eta = 0.02
    for method in METHODS:
        for u, stable in ((0.97 * critical, True), (1.03 * critical, False)):
            system = cross_flow(u, structural=True)
            at = system.parts[0].boundary("all")
            arguments = system, Force(at, (1.0, 0.0)), Displacement(at, "x"), [20.0]
            if stable:
                assert abs(responses(*arguments, structural=eta, method=method)["response"].item()) > 0.0
            else:
                with pytest.raises(aq.UserError, match=r"flow 'row' of .* m/s: the system is unstable"):
                    responses(*arguments, structural=eta, method=method)
            with pytest.raises(aq.UserError, match=r"flow 'row' of .* m/s: the system is unstable"):
                responses(*arguments, method=method)
            if method == "modal" and stable:  # modal damping, too
                responses(*arguments, method=method, modal_damping=0.0105)


def test_velocity_of_flutter_with_structural_damping() -> None:
    """λ²m + k (1 + iη) + U² K₂ = 0: flutter where an eigenvalue μ of the stiffness has Re √−μ = 0, Im √−μ > 0."""
    system, eta = cross_flow(1.0, structural=True), 0.02
    scan = aq.critical_velocity(system, [0.0, 0.4, 1.2], count=6, structural=eta)
    still = linearised(replace(system, flows=[flow.at(0.0) for flow in system.flows])).stiffness.toarray()
    flow = linearised(system).stiffness.toarray() - still

    def growth(u: float) -> float:
        root = np.sqrt(-np.linalg.eigvals((1.0 + 1j * eta) * still + u**2 * flow).astype(complex))
        return float(np.where(root.imag < 0.0, -root, root).real.max())

    assert scan["onset_kind"].values[0] == "flutter"
    assert scan.attrs["critical_velocity"] == pytest.approx(scipy.optimize.brentq(growth, 0.2, 1.2), rel=1e-5)


@pytest.mark.parametrize("u, kind", [(6.0, "flutter"), (np.pi, "divergence")])
def test_structural_damping_leaves_a_divergence(u: float, kind: str) -> None:
    """A pinned pipe buckles at u = π with and without; of a cantilevered one, a loss factor moves the flutter."""
    system = rod(1.0, "pipe", held="pinned" if kind == "divergence" else "clamped-free")[1]
    velocities = u * UNIT * np.array([0.0, 0.8, 1.1])
    plain, damped = (aq.critical_velocity(system, velocities, structural=eta) for eta in (0.0, 0.05))
    assert plain["onset_kind"].values.tolist() == damped["onset_kind"].values.tolist() == [kind]
    moved = abs(damped.attrs["critical_velocity"] / plain.attrs["critical_velocity"] - 1.0)
    assert moved < 2e-6 if kind == "divergence" else 1e-3 < moved < 0.1


@pytest.mark.parametrize("cells", [8, 60])
@pytest.mark.parametrize("method", METHODS)
def test_unstable_systems_are_refused(cells: int, method: Any) -> None:
    """Beyond flutter (u = 5.59) and divergence, naming flow, frequency and growth; not below."""
    for kind, u in (("pipe", 6.0), ("axial", 3.0)):
        part, system = rod(u, kind, cells)
        end = part.boundary("right")
        value = max(aq.complex_modes(system, 4).eigenvalues, key=lambda value: value.real)
        line = (
            f"flow 'water' of {u * UNIT:.6g} m/s: the system is unstable in it, a mode of (.*) Hz grows by (.*) 1/s, so"
        )
        load, of = Force(end, (0.0, 1.0)), Displacement(end, "y")
        with pytest.raises(aq.UserError, match=line) as error:
            responses(system, load, of, [1.0, 30.0], method=method)
        told = re.match(line, str(error.value))
        assert told is not None and "\n" not in str(error.value)
        assert float(told[1]) == pytest.approx(value.imag / (2.0 * np.pi), rel=1e-3)
        assert float(told[2]) == pytest.approx(value.real, rel=1e-3)
        with pytest.raises(aq.UserError, match=line):
            random(system, Spectrum(load, lambda f: 1.0), of, [1.0, 30.0], method=method)
    part, system = rod(5.5, "pipe", cells)
    end = part.boundary("right")
    assert abs(responses(system, Force(end, (0.0, 1.0)), Displacement(end, "y"), [1.0], method=method)["response"]) > 0


def test_a_buckled_column_that_a_flow_holds() -> None:
    """A mass on a negative spring is unstable; the stiffness of a flow holds it: 1/(k + k_f) in statics."""
    mass = aq.PointMasses("mass", 0.0, 2.0)
    at = mass.boundary("all")
    spring = aq.Spring("spring", at, law=aq.springs.Cubic(-1000.0, cubic=1e7))
    flow = aq.flow.MatrixFlow("flow", mass, velocity=2.0, stiffness=[[400.0]], damping=[[1.0]])
    system = aq.System([mass], springs=[spring], flows=[flow])
    arguments = Force(at, 1.0), Displacement(at, "x"), [0.0]
    assert responses(system, *arguments)["response"].item() == pytest.approx(1.0 / 600.0, rel=1e-12)
    with pytest.raises(aq.UserError, match="take method='direct'"):
        responses(system, *arguments, method="modal")
    with pytest.raises(aq.UserError, match="flow 'flow' of 1 m/s: the system is unstable in it, a mode of 0 Hz"):
        responses(replace(system, flows=[flow.at(1.0)]), *arguments)


def test_complex_modes_in_contact_and_with_structural_damping() -> None:
    """λ = i ω √(1 + iη) of an oscillator, and k + k_c with its layer stuck."""
    mass = aq.PointMasses("mass", 0.0, 2.0)
    spring = aq.Spring("spring", mass.boundary("all"), stiffness=800.0)
    wall = aq.Interface("wall", mass.boundary("all"), aq.RigidPlane(point=0.0, normal=1.0), aq.Penalty(450.0), area=1.0)
    system = aq.System([mass], springs=[spring], interfaces=[wall])
    assert aq.complex_modes(system, 1).eigenvalues[0] == pytest.approx(20j, rel=1e-12)
    assert aq.complex_modes(system, 1, contact="stuck").eigenvalues[0] == pytest.approx(25j, rel=1e-12)
    damped = aq.complex_modes(system, 1, structural=0.1).eigenvalues[0]
    assert damped == pytest.approx(20j * np.sqrt(1.0 + 0.1j), rel=1e-12)
    fine, coarse = (aq.complex_modes(rod(5.0, "pipe", cells)[1], 2, structural=0.05).eigenvalues for cells in (60, 20))
    np.testing.assert_allclose(fine, coarse, rtol=1e-4)  # by Arnoldi's iteration, and all of them
