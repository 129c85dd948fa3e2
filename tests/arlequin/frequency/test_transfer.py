"""Frequency responses of glued systems against the eigen-expansion of the same matrices; methods against each other."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import arlequin as aq
from arlequin.frequency import (
    Acceleration,
    ContactForce,
    Displacement,
    Force,
    Spectrum,
    SpringForce,
    SupportForce,
    SupportMotion,
)
from arlequin.frequency.complex_factor import Factors
from arlequin.frequency.linearised import linearised
from arlequin.frequency.modes import natural_modes
from arlequin.frequency.outputs import OutputRows
from arlequin.frequency.resolution import resolutions
from arlequin.frequency.response import output_rows
from arlequin.frequency.transfer import DirectTransfer, LoadColumns

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)


def responses(*arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return aq.frequency_response(*arguments, progress=False, **options)


def bars() -> tuple[aq.System, Any, str]:
    held = {"left": {"x": 0.0}}
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.6, cells=6), STEEL, section=1e-4, imposed=held)
    fine = aq.Bar("fine", aq.mesh.interval(0.4, 1.0, cells=24), STEEL, section=1e-4)
    return aq.System([coarse, fine], [aq.Junction(coarse, fine)]), fine, "x"


def solids() -> tuple[aq.System, Any, str]:
    held = {"left": {"x": 0.0, "y": 0.0}}
    coarse, fine = (
        aq.Solid(name, aq.mesh.rectangle(x, (0.0, 0.1), cells=n), STEEL, plane="strain", **more)
        for name, x, n, more in (
            ("coarse", (0.0, 0.5), (10, 2), {"imposed": held}),
            ("fine", (0.3, 0.8), (20, 4), {}),
        )
    )
    return aq.System([coarse, fine], [aq.Junction(coarse, fine)]), fine, "y"


def beam_and_solid() -> tuple[aq.System, Any, str]:
    side = 0.08
    clamp = {"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}
    section = aq.Section.rectangle(side, 1.0, 0.3)
    beam = aq.Beam("beam", aq.mesh.interval(0.0, 0.7, cells=7), STEEL, section, dimension=2, imposed=clamp)
    mesh = aq.mesh.rectangle((0.4, 1.1), (-side / 2, side / 2), cells=(14, 2))
    solid = aq.Solid("solid", mesh, STEEL, "stress")
    return aq.System([beam, solid], [aq.BeamJunction(beam, solid)]), solid, "y"


@pytest.mark.parametrize("build", [bars, solids, beam_and_solid])
def test_eigen_expansion_of_glued_systems(build: Any) -> None:
    """Σ φ φᵀf/(ω_r² (1 + iη) + iω b ω_r² − ω²) with all modes of the dense problem on the null space of C, and the
    static support force −Σ f; K, M and C are those of the assembly, η the loss factor of all parts."""
    system, part, component = build()
    end, loss = part.boundary("right"), 0.03
    linear = linearised(system, "stuck", loss)
    assembly = linear.assembly
    free = np.flatnonzero(assembly.free)
    inside = scipy.linalg.null_space(assembly.constraints[:, free].toarray())
    mass, stiffness = (inside.T @ m[free][:, free].toarray() @ inside for m in (assembly.mass, assembly.stiffness))
    squares, vectors = scipy.linalg.eigh(stiffness, mass)
    shapes = np.zeros((assembly.dof_count, squares.size))
    shapes[free] = inside @ vectors
    axes = "xy"[: end.positions.shape[1]]
    force = np.array([1.0 if axis == component else 0.2 for axis in axes])
    load = Force(end, force)
    row = load.amplitudes(linear)[0].real @ shapes
    at = output_rows(linear, {"u": Displacement(end, component)}).motion[0] @ shapes
    frequencies = np.sqrt(squares[:6]) / (2 * np.pi)
    f = np.sort(np.concatenate([[0.0], frequencies, 0.5 * (frequencies[1:] + frequencies[:-1])]))
    omega = 2 * np.pi * f
    exact = (at.ravel() * row) @ (1.0 / (squares[:, None] * (1 + 1j * loss) - omega**2))
    found = responses(system, load, Displacement(end, component), f, structural=loss)["response"].values
    np.testing.assert_allclose(found, exact, rtol=1e-8)
    modal = responses(
        system, load, Displacement(end, component), f, structural=loss, method="modal", modes=squares.size
    )["response"].values
    np.testing.assert_allclose(modal, exact, rtol=1e-8)


def test_glued_solids_against_the_fine_one() -> None:
    """A cantilever of coarse and fine cells of order 4 against one of fine cells, up to the frequency that the coarse
    mesh counts as accurate for (24 kHz, shear waves on 1.5 cells): 0.5 % of the norm, and of the peaks below half that.

    Poisson's ratio 0, so that the clamped corners are not singular.
    """
    straight = aq.LinearElastic(young=2e11, poisson=0.0, density=7800.0)
    held = {"left": {"x": 0.0, "y": 0.0}}

    def solid(name: str, x: tuple[float, float], cells: tuple[int, int], **more: Any) -> aq.Solid:
        mesh = aq.mesh.rectangle(x, (0.0, 0.1), cells=cells)
        return aq.Solid(name, mesh, straight, plane="strain", order=4, **more)

    coarse, fine = solid("coarse", (0.0, 0.5), (6, 1), imposed=held), solid("fine", (0.3, 0.8), (12, 2))
    whole = solid("whole", (0.0, 0.8), (19, 2), imposed=held)
    glued = aq.System([coarse, fine], [aq.Junction(coarse, fine)])
    limit = min(each.accurate for each in resolutions(linearised(glued)))
    peaks = aq.natural_frequencies(aq.System([whole]), 8).frequencies
    peaks = peaks[peaks < 0.5 * limit]
    f = np.unique(np.concatenate([peaks, np.linspace(100.0, limit, 25)]))
    found, exact = (
        responses(system, Force(end, (0.3, 1.0)), {c: Displacement(end, c) for c in "xy"}, f, structural=0.03)
        for system, end in ((glued, fine.boundary("right")), (aq.System([whole]), whole.boundary("right")))
    )
    at_peaks = np.isin(f, peaks)
    assert limit > 23e3 and at_peaks.sum() >= 6
    for component in "xy":
        a, b = found[component].values, exact[component].values
        assert np.linalg.norm(a - b) < 5e-3 * np.linalg.norm(b)
        assert (np.abs(np.abs(a[at_peaks]) - np.abs(b[at_peaks])) < 5e-3 * np.abs(b[at_peaks])).all()


def test_absorbing_junction_and_dense_equations() -> None:
    """Response with the absorber of a junction, Rayleigh damping and dashpots against the dense saddle-point system."""
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.6, cells=6), STEEL, section=1e-4, damping=aq.Rayleigh(20.0, 1e-7))
    fine = aq.Bar("fine", aq.mesh.interval(0.4, 1.0, cells=24), STEEL, section=1e-4)
    junction = aq.Junction(coarse, fine, absorbing=aq.Absorber())
    spring = aq.Spring("end", coarse.boundary("left"), stiffness=1e6, damping=30.0)
    system = aq.System([coarse, fine], [junction], springs=[spring])
    end = fine.boundary("right")
    linear = linearised(system)
    a = linear.assembly
    assert a.absorber is not None and a.viscous is not None
    f = np.array([400.0, 3000.0, 9000.0])
    of = {"u": Acceleration(end, "x"), "f": SpringForce(spring)}
    found = responses(system, Force(end, 1.0), of, f)
    ghost = ~a.ghost
    for k, omega in enumerate(2 * np.pi * f):
        matrix = (a.stiffness + 1j * omega * a.viscous - omega**2 * a.mass).toarray()[ghost][:, ghost]
        rows = a.constraints.toarray()[:, ghost]
        whole = np.block([[matrix, rows.T], [rows, np.zeros((rows.shape[0],) * 2)]])
        right = np.zeros(len(whole))
        right[np.count_nonzero(ghost) - 1] = 1.0
        u = np.linalg.solve(whole, right)
        assert found["u"].values[k] == pytest.approx(-(omega**2) * u[np.count_nonzero(ghost) - 1], rel=1e-8)
        assert found["f"].values[k] == pytest.approx(-(1e6 + 30j * omega) * u[0], rel=1e-8)


def outputs(system: aq.System) -> dict[str, Any]:
    bar = system.parts[0]
    return {
        "u": Displacement(bar.boundary("right"), "x"),
        "a": Acceleration(bar.boundary("left"), "x"),
        "support": SupportForce(bar.boundary("left"), "x"),
        "wall": ContactForce(system.interfaces[0]),
        "spring": SpringForce(system.springs[0]),
    }


def bar_between_all() -> aq.System:
    """A bar held at the left, in contact at the right, glued to a second one with a spring."""
    held = {"left": {"x": 0.0}}
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.6, cells=6), STEEL, section=1e-4, imposed=held)
    fine = aq.Bar("fine", aq.mesh.interval(0.4, 1.0, cells=24), STEEL, section=1e-4)
    wall = aq.Interface("wall", fine.boundary("right"), aq.RigidPlane(point=1.0, normal=-1.0), aq.Unilateral())
    spring = aq.Spring("spring", bar.boundary("right"), stiffness=1e7, damping=20.0)
    return aq.System([bar, fine], [aq.Junction(bar, fine)], interfaces=[wall], springs=[spring])


def test_all_modes_are_the_direct_solution() -> None:
    """Motions, and forces of supports, constraints and springs, under forces and moved supports: 1e-8."""
    system = bar_between_all()
    end, f = system.parts[0].boundary("right"), np.array([10.0, 900.0, 2600.0, 7000.0])
    load = {"force": Force(end, 1.0), "moved": SupportMotion(system.parts[0].boundary("left"), "x")}
    of = outputs(system)
    direct = responses(system, load, of, f, structural=0.02)
    modal = responses(system, load, of, f, structural=0.02, method="modal", modes=1000)
    for name in of:
        for case in load:
            a, b = (result[name].sel(load=case).values for result in (direct, modal))
            assert np.abs(a - b).max() <= 1e-8 * np.abs(a).max(), (name, case)


def test_static_shapes_make_statics_exact_with_two_modes() -> None:
    system = bar_between_all()
    load, of = Force(system.parts[0].boundary("right"), 1.0), outputs(system)
    direct, modal = (
        responses(system, load, of, [0.0, 50.0], **options) for options in ({}, {"method": "modal", "modes": 2})
    )
    for name in ("u", "support", "wall", "spring"):
        assert modal[name].values[0] == pytest.approx(direct[name].values[0], rel=1e-9)
        assert modal[name].values[1] == pytest.approx(direct[name].values[1], rel=2e-5)
    assert modal.attrs["modes"] == 2 and modal.attrs["static_shapes"] == 3


@pytest.mark.parametrize("modes, bound", [(None, 2e-6), (10, 1e-9)])
def test_a_moved_support_by_modes_and_static_shapes(modes: int | None, bound: float) -> None:
    """Force and density of the support of a short bar by the dense equations, A_pp − A_pf A_ff⁻¹ A_fp: with two modes
    the error is the product of those of the load and of the output, with all round-off."""
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=10), steel, imposed={"left": {"x": 0.0}})
    system, left = aq.System([bar]), bar.boundary("left")
    f = np.array([1000.0, 5000.0, 11000.0, 14000.0])
    options: dict[str, Any] = {"structural": 0.02, "method": "modal", "modes": modes}
    found = responses(system, SupportMotion(left, "x"), SupportForce(left, "x"), f, **options)["response"].values
    white = Spectrum(SupportMotion(left, "x"), lambda f: 3.0)
    density = aq.random_response(
        system, white, SupportForce(left, "x"), f, **options, tolerance=0.1, progress=False
    )["response"].values  # fmt: skip
    linear = linearised(system, "stuck", 0.02)
    exact = []
    for frequency in f:
        a = linear.dynamic_stiffness(frequency).toarray()
        free, p = linear.free, linear.imposed
        exact.append(
            (a[np.ix_(p, p)] - a[np.ix_(p, free)] @ np.linalg.solve(a[np.ix_(free, free)], a[free][:, p])).item()
        )
    size = np.abs(exact)
    assert np.abs(found - exact).max() < bound * size.max()
    np.testing.assert_allclose(density, 3.0 * size**2, rtol=10 * bound, atol=bound * 3.0 * size.max() ** 2)


def test_many_loads_by_the_transposed_equations() -> None:
    """Responses to more loads than outputs: those of each load by itself."""
    system, part, _ = solids()
    linear = linearised(system, "stuck", 0.05)
    factors = Factors(linear)
    rows = OutputRows.stacked([Displacement(part.boundary("right"), "y").rows(linear)])
    rng = np.random.default_rng(1)
    forces = rng.normal(size=(linear.dof_count, 5))
    forces[~linear.assembly.free] = 0.0
    columns = LoadColumns.of(forces, np.zeros((linear.imposed.size, 5)))
    many = DirectTransfer(factors, rows, [columns]).at(700.0)[0]
    for k in range(5):
        one = LoadColumns.of(forces[:, [k]], np.zeros((linear.imposed.size, 1)))
        np.testing.assert_allclose(DirectTransfer(factors, rows, [one]).at(700.0)[0], many[:, [k]], rtol=1e-10)


def test_modal_damping() -> None:
    """ζ of a mass on a spring: 1/(k (1 − r² + 2iζr)), also one ratio for each mode; of all modes it is no dashpot."""
    mass = aq.PointMasses("mass", 0.0, 2.0)
    spring = aq.Spring("spring", mass.boundary("all"), stiffness=800.0)
    system, at = aq.System([mass], springs=[spring]), mass.boundary("all")
    f = np.array([1.0, 20 / (2 * np.pi), 9.0])
    r = 2 * np.pi * f / 20.0
    for ratio in (0.07, [0.07]):
        found = responses(system, Force(at, 1.0), Displacement(at, "x"), f, method="modal", modal_damping=ratio)
        np.testing.assert_allclose(found["response"].values, 1 / (800.0 * (1 - r**2 + 0.14j * r)), rtol=1e-12)


def test_modes_of_supported_and_floating_systems() -> None:
    """Lanczos' and the dense modes agree with `natural_frequencies`; rigid motions have a frequency of exactly 0."""
    for cells in (20, 400):
        beam = aq.Beam.between("beam", (0.0, 0.0), (0.5, 0.0), cells, STEEL, aq.Section.rectangle(0.02, 0.01))
        for part in (beam, replace(beam, imposed={"left": {"x": 0.0, "y": 0.0, "rz": 0.0}})):
            omega, shapes = natural_modes(Factors(linearised(aq.System([part]))), 8)
            expected = aq.natural_frequencies(aq.System([part]), 8).frequencies
            rigid = 3 if part is beam else 0
            assert not omega[:rigid].any() and omega[rigid] > 0.0
            np.testing.assert_allclose(omega[rigid:] / (2 * np.pi), expected[rigid:], rtol=1e-7)
            assert shapes.shape == (part.dof_count, 8)
