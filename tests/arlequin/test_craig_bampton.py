"""Reductions to superelements: frequencies, statics and impacts of the full part, glued systems, errors."""

import numpy as np
import pytest
import scipy.linalg
import scipy.signal

import arlequin as aq

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)


def bar(cells=40, **more):
    return aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=cells), STEEL, section=1e-4, **more)


def block(cells=(20, 6), **more):
    mesh = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.03), cells=cells)
    return aq.Solid("block", mesh, STEEL, **{"plane": "strain", **more})


def frequencies(part, count):
    return aq.natural_frequencies(aq.System([part]), count=count).frequencies


def test_fixed_modes_of_a_bar():
    """The generalised coordinates of a bar between fixed ends: ω = (c/h) √(6 (1 − cos kh)/(2 + cos kh)), k = jπ/L."""
    part = bar()
    short = aq.craig_bampton(part, [part.boundary("left"), part.boundary("right")], modes=4, boundary="fixed")
    kh = np.arange(1, 5) * np.pi / 40
    exact = np.sqrt(2e11 / 7800.0) * 40 * np.sqrt(6 * (1 - np.cos(kh)) / (2 + np.cos(kh)))
    matrix = short.stiffness.toarray()
    np.testing.assert_allclose(np.sqrt(matrix.diagonal()[2:]), exact, rtol=1e-13)
    # EA/L between the ends, and no coupling with the modes
    np.testing.assert_allclose(matrix[:2, :2], 2e11 * 1e-4 * np.array([[1.0, -1.0], [-1.0, 1.0]]), rtol=1e-13)
    assert not matrix[:2, 2:].any()
    assert short.total_mass == pytest.approx(7800.0 * 1e-4, rel=1e-12)


@pytest.mark.parametrize("boundary", ["free", "both"])
def test_frequencies_below_the_cut_off(boundary):
    part = block()
    short = aq.craig_bampton(part, [part.boundary("right")], modes=40, boundary=boundary)
    taken = 40 if boundary == "free" else 20
    np.testing.assert_allclose(
        frequencies(short, taken)[3:], frequencies(part, taken)[3:], rtol=1e-11
    )  # of both, too: the modes of the free boundary come first
    assert frequencies(short, 3).max() < 1e-6 * frequencies(part, 4)[3]


def test_modes_of_both_boundaries_span_no_more_than_the_model():
    """Of 39 modes of each boundary, whose directions are nearly all dependent, the 40 inner coordinates are left, and
    the reduction is the bar: ω = (c/h) √(6 (1 − cos kh)/(2 + cos kh)), k = jπ/L."""
    part = bar()
    short = aq.craig_bampton(part, [part.boundary("left")], modes=78)
    assert short.generalised.size == 40
    kh = np.arange(1, 41) * np.pi / 40
    exact = np.sqrt(2e11 / 7800.0) * 40 * np.sqrt(6 * (1 - np.cos(kh)) / (2 + np.cos(kh)))
    squares = scipy.linalg.eigh(short.stiffness.toarray(), short.mass.toarray(), eigvals_only=True)
    np.testing.assert_allclose(np.sqrt(squares[1:]), exact, rtol=1e-10)


def test_modes_below_a_frequency():
    part = bar(imposed={"left": {"x": 0.0}})
    kh = (np.arange(1, 12) - 0.5) * np.pi / 40
    exact = np.sqrt(2e11 / 7800.0) * 40 * np.sqrt(6 * (1 - np.cos(kh)) / (2 + np.cos(kh))) / (2 * np.pi)
    limit = 0.5 * (exact[6] + exact[7])
    short = aq.craig_bampton(part, [part.boundary("right")], below=limit, boundary="free")
    np.testing.assert_allclose(frequencies(short, 7), exact[:7], rtol=1e-12)
    assert short.generalised.size <= 7


def test_statics_is_exact():
    """Under forces on the boundary no mode is needed: static condensation."""
    part = block(imposed={"left": {"x": 0.0, "y": 0.0}})
    short = aq.craig_bampton(part, [part.boundary("right")], modes=0)
    force = (3e4, -2e4)
    loaded = aq.Superelement(
        "block",
        mass=short.mass,
        stiffness=short.stiffness,
        positions=short.positions,
        interface={"right": short.boundary("right")},
        recovery=short.recovery,
        forces={"right": lambda t: np.array(force) * t},
        grounded=True,
    )
    full = block(
        imposed={"left": {"x": 0.0, "y": 0.0}},
        tractions={"right": lambda x, t: tuple(value / 0.03 * t for value in force)},
    )
    results = [aq.simulate(aq.System([each]), aq.Static(), duration=1.0, step=1.0) for each in (full, loaded)]
    expected = results[0]["part/block"]["displacement"].values
    found = results[1]["part/block"]["inner_displacement"].values
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=5e-12 * abs(expected).max())


def test_glued_system():
    """Two overlapping bars and their junction: the frequencies of the glued system below the cut-off."""
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.6, cells=12), STEEL)
    fine = aq.Bar("fine", aq.mesh.interval(0.4, 1.0, cells=60), STEEL)
    system = aq.System([coarse, fine], [aq.Junction(coarse, fine)])
    short = aq.craig_bampton(system, [coarse.boundary("left"), fine.boundary("right")], modes=20, name="glued")
    expected = aq.natural_frequencies(system, count=10).frequencies
    np.testing.assert_allclose(frequencies(short, 10)[1:], expected[1:], rtol=5e-9)
    assert sorted(field.name for field in short.recovered_fields) == ["coarse_displacement", "fine_displacement"]
    # a rigid motion moves all nodes of both
    for field in short.recovered_fields:
        np.testing.assert_allclose(field.matrix @ short.translations[:, 0], 1.0, rtol=1e-12)
    assert short.total_mass == pytest.approx(7800.0, rel=1e-12)


def test_glued_plane_system_in_motion():
    """All inner modes of a glued system: the run of the system itself."""
    coarse = block((6, 2))
    mesh = aq.mesh.rectangle((0.0666666666666667, 0.15), (0.0, 0.03), cells=(10, 4))
    fine = aq.Solid("fine", mesh, STEEL, plane="strain")
    system = aq.System([coarse, fine], [aq.Junction(coarse, fine)], velocity=(1.0, 0.2))
    assembly_size = coarse.dof_count + fine.dof_count
    junction_rows = system.junctions[0].operator().gram.shape[0]
    ends = [coarse.boundary("left"), fine.boundary("right")]
    retained = 2 * sum(end.nodes.size for end in ends)
    with pytest.raises(aq.UserError, match="modes = 10000: must be at most") as caught:
        aq.craig_bampton(system, ends, modes=10000, boundary="fixed")
    count = int(str(caught.value).split("at most ")[1].split(",")[0])
    assert count == assembly_size - junction_rows - retained or count < assembly_size
    short = aq.craig_bampton(system, ends, modes=count, boundary="fixed", name="glued")
    spring, results = {}, []
    for parts, junctions, left in (
        ([coarse, fine], system.junctions, ends[0]),
        ([short], (), short.boundary("left")),
    ):
        spring = aq.Spring("spring", left, stiffness=1e9)
        model = aq.System(parts, junctions, springs=[spring], velocity=(1.0, 0.2))
        results.append(aq.simulate(model, aq.Theta(0.5), duration=4e-5, step=1e-6))
    expected = results[0]["part/fine"]["displacement"].values
    found = results[1]["part/glued"]["fine_displacement"].values
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * abs(expected).max())


def test_beam():
    """Rotations are retained with their displacements."""
    part = aq.Beam.between("beam", (0.0, 0.0), (1.0, 0.0), 20, STEEL, aq.Section.circle(0.01))
    short = aq.craig_bampton(part, [part.boundary("left"), part.boundary("right")], modes=16)
    assert short.retained == (("x", "y", "rz"),) * 2
    np.testing.assert_allclose(frequencies(short, 8)[3:], frequencies(part, 8)[3:], rtol=2e-7)
    result = aq.simulate(aq.System([short], velocity=(0.0, 1.0, 0.0)), aq.Theta(0.5), duration=1e-3, step=1e-4)
    np.testing.assert_allclose(result["part/beam"]["displacement"][-1, :, 1], 1e-3, rtol=1e-12)


@pytest.mark.parametrize("boundary, modes", [("fixed", 30), ("free", 30), ("both", 10)])
def test_shapes_of_nearly_equal_parts_are_nearly_equal(boundary, modes):
    """No shape changes its sign with a parameter, so that gradients go through a reduction: of E, shapes of unit mass
    do not depend on it."""
    fields = []
    for young in 2e11 * (1.0 + 1e-7 * np.arange(4)):
        steel = aq.LinearElastic(young=young, poisson=0.3, density=7800.0)
        part = aq.Solid("block", block().mesh, steel, plane="strain")
        (field,) = aq.craig_bampton(part, [part.boundary("right")], modes=modes, boundary=boundary).recovered_fields
        fields.append(field.matrix)
    for other in fields[1:]:
        np.testing.assert_allclose(other, fields[0], rtol=0.0, atol=5e-11 * abs(fields[0]).max())


def test_reduction_of_a_superelement():
    """Foreign matrices of many coordinates are reduced further."""
    part = block((8, 3))
    ends = [part.boundary("left"), part.boundary("right")]
    large = aq.craig_bampton(part, ends, modes=30)
    small = aq.craig_bampton(large, [large.boundary("right")], modes=14)
    np.testing.assert_allclose(frequencies(small, 6)[3:], frequencies(large, 6)[3:], rtol=2e-7)


def test_loads_and_damping_are_reduced():
    part = bar(damping=aq.Rayleigh(10.0, 1e-6), tractions={"right": lambda x, t: 1e6 * np.sin(3e3 * t)})
    short = aq.craig_bampton(part, [part.boundary("left"), part.boundary("right")], modes=39, boundary="fixed")
    results = [aq.simulate(aq.System([each]), aq.Theta(0.5), duration=1e-3, step=1e-5) for each in (part, short)]
    expected = results[0]["part/bar"]["displacement"].values
    found = results[1]["part/bar"]["inner_displacement"].values
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=0.0, atol=1e-12 * abs(expected).max())


def test_generalised_pencil():
    """ΦᵀMΦ = 1 and the couplings are those of the shapes: the reduced pencil has the shapes' Rayleigh quotients."""
    part = block((6, 2))
    short = aq.craig_bampton(part, [part.boundary("right")], modes=12, boundary="fixed")
    assembled = part.assemble()
    (field,) = short.recovered_fields
    shapes = np.asarray(field.matrix)
    np.testing.assert_allclose(shapes.T @ (assembled.mass @ shapes), short.mass.toarray(), atol=1e-13)
    stiffness = shapes.T @ (assembled.stiffness @ shapes)
    np.testing.assert_allclose(stiffness, short.stiffness.toarray(), atol=1e-13 * abs(stiffness).max())
    values = scipy.linalg.eigvalsh(short.stiffness.toarray(), short.mass.toarray())
    # rigid motions, but for the round-off of the largest eigenvalue
    np.testing.assert_allclose(values[:3], 0.0, atol=values.size * np.finfo(float).eps * values[-1])


@pytest.mark.slow
def test_impact_of_a_large_part():
    """200 coordinates for 5,103: frequencies 1e-10, forces of an impact on a layer 0.5 %."""
    size, count, step = 0.04, (20, 8), 5e-7
    near = size / count[1] * 2.01
    mesh = aq.mesh.box((0.0, 0.1), (0.0, size), (0.0, size), cells=(count[0], count[1], count[1]))
    mesh = mesh.with_boundaries(
        {"tip": lambda x: (x[0] > 0.1 - 1e-9) & (abs(x[1] - size / 2) < near) & (abs(x[2] - size / 2) < near)}
    )
    part = aq.Solid("block", mesh, STEEL)
    short = aq.craig_bampton(part, [part.boundary("tip")], modes=125, recovery=False)
    assert short.stiffness.shape[0] <= 200
    np.testing.assert_allclose(frequencies(short, 60)[6:], frequencies(part, 60)[6:], rtol=1e-10)
    wall, law = aq.RigidPlane(point=(0.1 + 1e-6, 0.0, 0.0), normal=(-1.0, 0.0, 0.0)), aq.Penalty(1e9 / 0.02**2)
    forces = []
    for each in (part, short):
        system = aq.System(
            [each], interfaces=[aq.Interface("tip", each.boundary("tip"), wall, law)], velocity=(1.0, 0.0, 0.0)
        )
        result = aq.simulate(system, aq.Theta(0.5), duration=2.5e-4, step=step, record=aq.Record(fields_every=10**6))
        assert abs(result["balance"]).max() < 1e-12
        forces.append(result["interface/tip"]["force"].values[:, 0])
    assert np.linalg.norm(forces[1] - forces[0]) < 0.005 * np.linalg.norm(forces[0])
    assert abs(forces[1] - forces[0]).max() < 0.005 * abs(forces[0]).max()


@pytest.mark.slow
def test_impact_on_a_rigid_wall_below_the_cut_off():
    """The force of the full part where it is in the modes, and its impulse: a table of the page on superelements."""
    part, step = aq.Solid("b", aq.mesh.rectangle((0.0, 0.09), (0.0, 0.03), (36, 12)), STEEL, plane="strain"), 1e-7
    short = aq.craig_bampton(part, [part.boundary("right")], modes=74, recovery=False)
    assert short.stiffness.shape[0] <= 100
    wall, low_pass, forces = aq.RigidPlane(point=(0.09 + 1e-9, 0.0), normal=(-1.0, 0.0)), [], []
    for each in (part, short):
        touch = aq.Interface("wall", each.boundary("right"), wall, aq.Unilateral("velocity"))
        system = aq.System([each], interfaces=[touch], velocity=(1.0, 0.0))
        result = aq.simulate(system, aq.Theta(0.5), duration=5e-5, step=step, record=aq.Record(fields_every=10**6))
        forces.append(np.pad(result["interface/wall"]["force"].values[1:, 0], 1500))
        sections = scipy.signal.butter(4, 6e4, fs=1.0 / step, output="sos")
        low_pass.append(scipy.signal.sosfiltfilt(sections, forces[-1]))
    assert forces[1].sum() == pytest.approx(forces[0].sum(), rel=1e-3)
    assert np.linalg.norm(low_pass[1] - low_pass[0]) < 0.005 * np.linalg.norm(low_pass[0])


def contact_system():
    part = bar()
    wall = aq.RigidPlane(1.001, -1.0)
    return aq.System([part], interfaces=[aq.Interface("end", part.boundary("right"), wall, aq.Unilateral())])


def soft():
    return block(kinematics="finite")


def moved():
    return bar(imposed={"left": {"x": lambda t: t}})


def refused(part, name="right", **options):
    return lambda: aq.craig_bampton(part, [part.boundary(name)], **({"modes": 4} | options))


WRONG = {
    "neither": (lambda: aq.craig_bampton(bar(), [bar().boundary("left")]), "give modes=, their number, or below="),
    "other part": (lambda: aq.craig_bampton(bar(), [bar().boundary("left")], modes=2), "which is not reduced"),
    "no boundary": (lambda: aq.craig_bampton(bar(), [], modes=2), r"interface = \[\]: must name at least one boundary"),
    "contact": (
        lambda: aq.craig_bampton(contact_system(), [bar().boundary("left")], modes=2),
        "a system with contact interfaces has no linear reduction",
    ),
    "finite": (refused(soft()), "needs linear parts"),
    "moved": (refused(moved()), "leave moving boundaries free"),
    "supported": (refused(bar(imposed={"left": {"x": 0.0}}), "left"), "node 0 of 'bar' is supported"),
    "too many": (refused(bar(), modes=100, boundary="fixed"), "modes = 100: must be at most 40"),
    "which boundary": (refused(bar(), boundary="loose"), "boundary = 'loose': must be one of fixed, free, both"),
    "modal": (refused(aq.Modal(block(), 10)), "is reduced or rigid: displacements of its node"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input(case):
    call, message = WRONG[case]
    with pytest.raises(aq.UserError, match=message):
        call()


def test_boundary_that_does_not_hold():
    """One node of a plane part leaves its rotation free."""
    part = aq.Beam.between("beam", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), 4, STEEL, aq.Section.circle(0.01))
    held = aq.craig_bampton(part, [part.boundary("left")], modes=6)  # with its rotations one node holds a beam
    assert held.generalised.size and len(held.rigid_motions) == 6 and max(held.rigid_energies.values()) < 1e-12
    mass = aq.PointMasses("mass", [[0.0, 0.0], [1.0, 0.0]], 1.0, names={"one": 0})
    with pytest.raises(aq.UserError, match="the retained nodes do not hold the model"):
        aq.craig_bampton(mass, [mass.boundary("one")], modes=0)
