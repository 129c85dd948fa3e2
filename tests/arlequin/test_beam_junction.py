"""Beam-solid junction: rigid motions, uniform strains and curvatures, patches, weights, energy, statics, messages."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh, null_space
from scipy.sparse import block_array
from scipy.sparse.linalg import splu

import arlequin as aq
from arlequin.junctions.beam_solid import BeamJunction
from arlequin.junctions.junction import dual_condition
from arlequin.junctions.weights import Constant, Cubic, Linear
from arlequin.models.beams.beam import Beam
from arlequin.models.beams.section import Section
from arlequin.models.errors import UserError
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.mesh import box, interval, rectangle
from arlequin.run.simulate import simulate
from arlequin.solvers.natural_frequencies import natural_frequencies
from arlequin.system.assembly import assemble

STEEL = LinearElastic(young=2.0e11, poisson=0.3, density=7800.0)
SIDE = 0.08
SECTION = Section.rectangle(SIDE, SIDE, 0.3)
THIN = Section.rectangle(SIDE, 1.0, 0.3)
CLAMP = {"left": dict.fromkeys(("x", "y", "z", "rx", "ry", "rz"), 0.0)}
FLAT = {"left": dict.fromkeys(("x", "y", "rz"), 0.0)}


def parts(kind="hex", inner=0.4, end=0.7, order=1, turn=None, mirrored=False, cells=None, **options):
    """A beam on [0, end] and a solid on [inner, 1.1] in 2D or 3D, turned about the origin, or mirrored in x."""
    h = SIDE / 2
    span = (-1.1, -inner) if mirrored else (inner, 1.1)
    plane = kind in ("quad", "tri")
    cells = cells or ((14, 2) if plane else (14, 2, 2))
    mesh = rectangle(span, (-h, h), cells=cells, kind=kind) if plane else box(span, (-h, h), (-h, h), cells, kind)
    size = 2 if plane else 3
    if turn is None:
        turn = np.eye(size)
    mesh = type(mesh)(turn @ mesh.p, mesh.t, _boundaries=mesh.boundaries)
    line = interval(-end, 0.0, cells=7) if mirrored else interval(0.0, end, cells=7)
    beam = Beam(
        "beam", line, STEEL, THIN if plane else SECTION, dimension=size, direction=tuple(turn[:, 0]),
        up=None if plane else tuple(turn[:, 1]), **options,
    )  # fmt: skip
    return beam, Solid("solid", mesh, STEEL, "stress" if plane else None, order=order)


def rotation(size):
    q, _ = np.linalg.qr(np.random.default_rng(4).normal(size=(size, size)))
    return q * np.linalg.det(q)


def rigid(beam, solid):
    """Rigid motions as (displacements of the beam, of the solid)."""
    size = beam.dimension
    for i in range(size):
        yield tuple(np.tile(np.eye(part.components)[i], part.node_count) for part in (beam, solid))
    for k in range(beam.components - size):
        fields = []
        for part in (beam, solid):
            x = part.positions - 0.3
            u = np.zeros((part.node_count, part.components))
            u[:, :size] = np.stack([-x[:, 1], x[:, 0]], axis=1) if size == 2 else np.cross(np.eye(3)[k], x)
            if part is beam:
                u[:, size + k] = 1.0
            fields.append(u.ravel())
        yield tuple(fields)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("mediator", ["linear", "beam"])
@pytest.mark.parametrize("inner", [0.4, 0.4321, 0.4999])
@pytest.mark.parametrize(("kind", "order"), [("quad", 1), ("tri", 2), ("hex", 1), ("hex", 2), ("tet", 1), ("tet", 2)])
def test_rigid_motions_agree_in_any_direction(kind, order, inner, mediator):
    for turn in (None, rotation(2 if kind in ("quad", "tri") else 3)):
        beam, solid = parts(kind, inner, order=order, turn=turn)
        C = BeamJunction(beam, solid, mediator=mediator).operator()
        for on_beam, on_solid in rigid(beam, solid):
            left, right = C.coarse @ on_beam, C.fine @ on_solid
            np.testing.assert_allclose(left + right, 0, atol=1e-12 * np.abs(left).max())
        assert np.linalg.eigvalsh(C.gram.toarray()).min() > 0


@pytest.mark.parametrize("mediator", ["linear", "beam"])
@pytest.mark.parametrize("kind", ["hex", "tet"])
def test_uniform_stretch_twist_and_curvature_agree(kind, mediator):
    """Saint-Venant's stretching and pure bending of a square prism, which quadratic cells hold exactly."""
    beam, solid = parts(kind, 0.4321, order=2)
    C = BeamJunction(beam, solid, mediator=mediator).operator()
    nu, s, zero = STEEL.poisson, beam.positions[:, 0], np.zeros(beam.node_count)
    x, y, z = solid.positions.T
    cases = [
        ([s, zero, zero, zero, zero, zero], [x, -nu * y, -nu * z]),
        ([zero, s**2 / 2, zero, zero, zero, s], [-x * y, (x**2 + nu * (y**2 - z**2)) / 2, nu * y * z]),
        ([zero, zero, s**2 / 2, zero, -s, zero], [-x * z, nu * y * z, (x**2 + nu * (z**2 - y**2)) / 2]),
        ([zero, zero, zero, s, zero, zero], [0 * x, -x * z, x * y]),
    ]
    for on_beam, on_solid in cases:
        left, right = C.coarse @ np.stack(on_beam, 1).ravel(), C.fine @ np.stack(on_solid, 1).ravel()
        np.testing.assert_allclose(left + right, 0, atol=1e-12 * np.abs(left).max())


def saddle(assembly, force):
    """The static solution by the saddle-point matrix."""
    free = np.flatnonzero(assembly.free)
    K, C = assembly.stiffness[free][:, free], assembly.constraints[:, free]
    scale = abs(K).max()
    full = block_array([[K / scale, C.T], [C, None]], format="csc")
    u = np.zeros(assembly.dof_count)
    u[free] = splu(full).solve(np.concatenate((force[free] / scale, np.zeros(C.shape[0]))))[: free.size]
    return u


@pytest.mark.sampled(2)
@pytest.mark.parametrize("inner", [0.4, 0.4321])
@pytest.mark.parametrize("load", ["stretch", "bend"])
@pytest.mark.parametrize("kind", ["hex", "tet"])
def test_patch_of_stretching_and_of_pure_bending(kind, load, inner):
    """With linear weights the multipliers hold what the taper takes: the uniform states are exact."""
    beam, solid = parts(kind, inner, order=2, imposed=CLAMP)
    traction = {"stretch": lambda x, t: (1e6 + 0 * x[0], 0, 0), "bend": lambda x, t: (-1e6 * x[1] / SIDE, 0, 0)}[load]
    solid = Solid("solid", solid.mesh, STEEL, order=2, tractions={"right": traction})
    system = aq.System([beam, solid], [BeamJunction(beam, solid)])
    assembly = assemble(system)
    u, v = assembly.split(saddle(assembly, assembly.load(0.0)))
    s, (x, y, z), nu = beam.positions[:, 0], solid.positions.T, STEEL.poisson
    if load == "stretch":
        strain = 1e6 / STEEL.young
        exact = strain * np.stack([x, -nu * y, -nu * z], axis=1)
        axis = np.stack([strain * s, 0 * s], axis=1)
    else:
        curve = 1e6 / SIDE / STEEL.young
        exact = curve * np.stack([-x * y, (x**2 + nu * (y**2 - z**2)) / 2, nu * y * z], axis=1)
        axis = curve * np.stack([0 * s, s**2 / 2], axis=1)
    scale = np.abs(exact).max()
    assert np.abs(u.reshape(-1, 6)[:, :2] - axis).max() < 3e-9 * scale
    assert np.abs(v.reshape(-1, 3) - exact).max() < 3e-9 * scale


@pytest.mark.sampled(7)
@pytest.mark.parametrize("weights", [Linear(), Cubic(), Constant(0.4)])
@pytest.mark.parametrize("inner", [0.4, 0.4321])
@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("kind", ["quad", "tri", "hex", "tet"])
def test_weights_sum_to_one_and_both_weigh_as_much_as_their_union(kind, mirrored, inner, weights):
    beam, solid = parts(kind, inner, end=0.69, mirrored=mirrored)
    weighting = BeamJunction(beam, solid, weights).weighting()
    area = SIDE if beam.dimension == 2 else SIDE**2
    masses = [part.assemble(weighting[part.name]).mass for part in (beam, solid)]
    total = sum(m[:: p.components, :: p.components].sum() for m, p in zip(masses, (beam, solid), strict=True))
    assert total == pytest.approx(STEEL.density * area * 1.1, rel=1e-12)
    on_beam, on_solid = weighting["beam"], weighting["solid"]
    assert min(w.min() for w in (on_beam.mass, on_solid.mass, on_beam.stiffness, on_solid.stiffness)) >= 0
    # away from the cells that an end of the zone cuts, the weights are the functions themselves
    shape = {Linear: lambda t: t, Cubic: lambda t: 3 * t**2 - 2 * t**3, Constant: lambda t: 0.4 + 0 * t}[type(weights)]
    s = np.abs(solid.quadrature_points()[0])
    inside = (s > inner) & (s < 0.69 - 0.06)
    np.testing.assert_allclose(on_solid.load[inside], shape((s[inside] - inner) / (0.69 - inner)), atol=1e-12)
    np.testing.assert_allclose(on_solid.load[s > 0.69 + 0.06], 1.0, atol=1e-12)


@pytest.mark.parametrize("kind", ["quad", "tri", "hex", "tet"])
def test_pieces_tile_the_zone(kind):
    beam, solid = parts(kind, 0.4321, turn=rotation(2 if kind in ("quad", "tri") else 3))
    pieces = BeamJunction(beam, solid).zone.inside
    section = SIDE if beam.dimension == 2 else SIDE**2
    assert pieces.dx.sum() == pytest.approx((0.7 - 0.4321) * section, rel=1e-12)
    s = beam.arc_length(pieces.points)
    cell = s.mean(axis=1) // 0.1
    assert (s.min(axis=1) > 0.1 * cell - 1e-9).all() and (s.max(axis=1) < 0.1 * (cell + 1) + 1e-9).all()
    moment = float((s**2 * pieces.dx).sum())
    assert moment == pytest.approx(section * (0.7**3 - 0.4321**3) / 3, rel=1e-12)


@pytest.mark.parametrize("inner", [0.3, 0.4321, 0.4999])
@pytest.mark.parametrize("kind", ["quad", "hex"])
def test_dual_operator_is_well_conditioned(kind, inner):
    beam, solid = parts(kind, inner)
    junction = BeamJunction(beam, solid)
    weighting = junction.weighting()
    masses = [part.assemble(weighting[part.name]).mass for part in (beam, solid)]
    assert dual_condition(junction.operator(), *masses) < 25


@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Newmark()])
@pytest.mark.parametrize("kind", ["tri", "hex"])
def test_energy_is_kept_and_the_junction_does_no_work(kind, scheme):
    beam, solid = parts(kind, 0.4321, imposed=FLAT if kind == "tri" else CLAMP)
    system = aq.System([beam, solid], [BeamJunction(beam, solid)], velocity=_flick(beam, solid))
    result = simulate(system, scheme, duration=4e-3, step=2e-5, fields_every=100)
    assert np.abs(result["balance"]).max() < 1e-12
    energy = result["energy"]
    assert np.abs(energy.sel(kind="junction")).max() < 1e-12 * energy.max()
    assert energy.sel(kind="strain").max() > 0.1 * energy.max()
    assert result["junction/junction/mismatch"].max() < 1e-12


def test_explicit_steps_keep_the_energy_too():
    beam, solid = parts("quad", mass="lumped", imposed=FLAT)
    solid = Solid("solid", solid.mesh, STEEL, "stress", mass="lumped")
    junction = BeamJunction(beam, solid)
    weighting = junction.weighting()
    highest = max(part.assemble(weighting[part.name]).highest_frequency() for part in (beam, solid))
    system = aq.System([beam, solid], [junction], velocity=_flick(beam, solid))
    step = 1.9 / highest
    result = simulate(system, aq.CentralDifference(), duration=400 * step, step=step, fields_every=100)
    assert np.abs(result["balance"]).max() < 1e-12


def _flick(beam, solid):
    """A velocity across the axis that grows along it."""
    return {part.name: np.outer(part.positions[:, 0], np.eye(part.components)[1]) for part in (beam, solid)}


def test_statics_of_a_floating_solid_is_the_saddle_point_solution():
    beam, solid = parts("hex", 0.4321, imposed=CLAMP)
    solid = Solid("solid", solid.mesh, STEEL, tractions={"right": lambda x, t: (0, 1e6 * t, 3e5 * t)})
    system = aq.System([beam, solid], [BeamJunction(beam, solid)])
    result = simulate(system, aq.Static(), duration=1.0, step=0.5)
    assembly = assemble(system)
    expected = assembly.split(saddle(assembly, assembly.load(1.0)))[1].reshape(-1, 3)
    found = result["part/solid/displacement"].values[-1]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    # the force through the junction is the load
    force = result["junction/junction/force"].values[-1]
    np.testing.assert_allclose(force, -np.array([0.0, 1e6, 3e5]) * SIDE**2, rtol=1e-6, atol=1e-3)


def test_frequencies_are_those_of_the_constrained_matrices():
    beam, solid = parts("quad", imposed=FLAT)
    system = aq.System([beam, solid], [BeamJunction(beam, solid)])
    assembly = assemble(system)
    free = assembly.free
    basis = null_space(assembly.constraints[:, free].toarray())
    K, M = (basis.T @ m[free][:, free].toarray() @ basis for m in (assembly.stiffness, assembly.mass))
    exact = np.sqrt(eigh(K, M, eigvals_only=True)[:6]) / (2 * np.pi)
    modes = natural_frequencies(system, 6)
    np.testing.assert_allclose(modes.frequencies, exact, rtol=1e-7)
    assert np.abs(assembly.constraints @ modes.shapes).max() < 1e-12 * np.abs(modes.shapes).max()
    np.testing.assert_allclose(modes.shapes.T @ (assembly.mass @ modes.shapes), np.eye(6), atol=1e-8)


def test_free_systems_have_their_rigid_modes():
    beam, solid = parts("quad")
    found = natural_frequencies(aq.System([beam, solid], [BeamJunction(beam, solid)]), 4).frequencies
    assert found[:3].max() < 1e-5 * found[3]


@pytest.mark.parametrize("kind", ["quad", "hex"])
def test_parts_with_other_loads_take_the_junction_over(kind):
    beam, solid = parts(kind, 0.4321)
    junction = BeamJunction(beam, solid, name="j")
    loaded, _ = parts(kind, 0.4321, end_loads={"left": lambda t: (1.0,) * beam.components})
    heavy = replace(solid, body_force=lambda x, t: np.ones_like(x))
    found, own = junction.carrying(loaded, heavy), BeamJunction(loaded, heavy, name="j")
    assert found.coarse is loaded and found.fine is heavy and junction.coarse is beam
    for field in ("coarse", "fine", "gram"):
        assert (getattr(found.operator(), field) != getattr(own.operator(), field)).nnz == 0
    for name, weighting in own.weighting().items():
        assert (found.weighting()[name].mass == weighting.mass).all()
    for others in (parts(kind, 0.4321, end=0.71)[0], solid), (beam, parts(kind, 0.4321)[1]):
        with pytest.raises(UserError, match="junction 'j': the parts differ in more than their loads"):
            junction.carrying(*others)


def raises(message, beam, solid, **options):
    with pytest.raises(UserError, match=message) as caught:
        BeamJunction(beam, solid, **options)
    assert "\n" not in str(caught.value) and caught.value.code == 2


def test_messages():
    beam, solid = parts("hex")
    flat, plate = parts("quad")
    raises("beam in 3D, 'solid' a solid in 2D", beam, plate)
    raises("beam in 2D, 'solid' a solid in 3D", flat, solid)
    raises("must be a Beam", aq.Bar("beam", interval(0, 1, cells=4), STEEL), solid)
    raises("must be a Solid", beam, aq.Bar("solid", interval(0, 1, cells=4), STEEL))
    raises("two parts named 'beam'", beam, Solid("beam", solid.mesh, STEEL))
    raises("mediator = 'fine'", beam, solid, mediator="fine")
    raises("do not overlap", *parts("hex", inner=0.8))
    raises(r"overlap over 0.05 m, less than one cell of 'beam' \(0.1 m\)", *parts("hex", inner=0.65))
    raises("each must reach beyond the other", *parts("hex", end=1.2))
    h = SIDE / 2
    raises("runs 1 m off", beam, Solid("solid", box((0.4, 1.1), (1 - h, 1 + h), (-h, h), (7, 1, 1)), STEEL))
    round_body = Solid("solid", rectangle((0.4, 1.1), (0, h), cells=(7, 1)), STEEL, "axisymmetric")
    raises("not of revolution", flat, round_body)
    with pytest.raises(UserError, match="junction 'j'"):
        BeamJunction(flat, round_body, name="j")


def test_a_section_that_is_not_the_beams_warns():
    h = SIDE / 2
    beam, solid = parts("hex")
    with pytest.warns(UserWarning, match=r"the solid's section is 0.0128 m2, the beam's 0.0064 m2"):
        BeamJunction(beam, Solid("solid", box((0.4, 1.1), (-2 * h, 2 * h), (-h, h), (14, 2, 2)), STEEL))
    with pytest.warns(UserWarning, match="off the centroid"):
        BeamJunction(beam, Solid("solid", box((0.4, 1.1), (-h / 2, 1.5 * h), (-h, h), (14, 2, 2)), STEEL))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BeamJunction(beam, solid)
