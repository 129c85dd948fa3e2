"""A turbulent force belongs to the arc length: on any mesh, on pieces of a beam, on a solid in the place of one."""

from dataclasses import replace

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.loads.turbulence import Stations
from arlequin.models.part import Weighting

STEEL = aq.LinearElastic(young=2.1e11, poisson=0.3, density=7800.0)
SIDE = 0.02
SECTION = aq.Section.rectangle(SIDE, SIDE, 0.3)
FLOW = aq.Turbulence(aq.PlateauSpectrum(4.0, cutoff=20.0), highest=50.0, correlation=0.1, duration=2.0, seed=(3, 1))
TIMES = np.linspace(0.0, 1.9, 7)
TILTED = {"direction": (2.0, 3.0, 6.0), "origin": (0.1, -0.2, 0.3)}


def beam(low, high, cells, dimension=3, **options):
    options = {"turbulence": FLOW} | options
    return aq.Beam("beam", aq.mesh.interval(low, high, cells=cells), STEEL, SECTION, dimension=dimension, **options)


def block(low, high, cells, kind="hex", order=1, turn=None, shift=(0.0, 0.0, 0.0), **options):
    h = SIDE / 2
    mesh = aq.mesh.box((low, high), (-h, h), (-h, h), cells, kind)
    turned = mesh.p if turn is None else turn.T @ mesh.p
    mesh = type(mesh)(turned + np.array(shift)[:, None], mesh.t, _boundaries=mesh.boundaries)
    force = aq.SpanForce(FLOW, SIDE**2, **options)
    return aq.Solid("block", mesh, STEEL, order=order, body_force=force)


def forces(part, weighting=None):
    """Forces (t, n, axis) on the nodes; of a beam those of displacements."""
    axes = part.positions.shape[1]
    return part.assemble(weighting).loads_at(TIMES).reshape(TIMES.size, part.node_count, -1)[:, :, :axes]


def force_of(low, high):
    """∫ f ds (t, direction): trapezoids between stations are exact, with the ends as further points."""
    inner = FLOW.spacing * np.arange(np.ceil(low / FLOW.spacing), np.ceil(high / FLOW.spacing))
    s = np.unique(np.concatenate([[low], inner, [high]]))
    angles = 2 * np.pi * np.outer(TIMES, FLOW.frequencies)
    series = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
    return np.trapezoid(np.einsum("tk,kdp->tdp", series, FLOW.harmonics(s)), s)


def test_each_station_has_one_value_however_it_is_asked_for():
    numbers = np.arange(-700, 900, 7)
    whole = FLOW.at_stations(numbers)
    for chosen in (slice(0, 1), slice(90, 140), slice(None, None, 31)):
        np.testing.assert_array_equal(FLOW.at_stations(numbers[chosen]), whole[:, :, chosen])


@pytest.mark.slow
def test_panels_join():
    """Steps from station to station have the variance 2 (1 − ρ) across the ends of panels as inside them."""
    flow = replace(FLOW, spectrum=lambda f: 2.0 + 0 * f, highest=5000.0, seed=8)
    steps = np.diff(flow.at_stations(np.arange(-322, 323)), axis=2) / flow.rms * np.sqrt(flow.frequencies.size)
    exact = 2 * (1 - np.exp(-1 / 16))
    spread = exact * np.sqrt(2 / steps[:, :, 0].size)
    assert np.abs((steps**2).mean(axis=(0, 1)) - exact).max() < 5 * spread  # of 644 steps
    # neighbouring steps: 2ρ − 1 − ρ² = −(1 − ρ)²
    lagged = (steps[:, :, 1:] * steps[:, :, :-1]).mean(axis=(0, 1))
    assert np.abs(lagged + (1 - np.exp(-1 / 16)) ** 2).max() < 5 * exact / np.sqrt(steps[:, :, 0].size)


@pytest.mark.parametrize("wave, low, high", [(np.inf, 3.2e-4, 3.4e-4), (1.0, -1.3e-2, -1.2e-2), (5.6, -1e-4, 1e-4)])
def test_variance_along_waves(wave, low, high):
    """Of waves much longer than h the field has the variance of exp(−|s|/λ) to (1/λ² − κ²) h²/12: no random numbers."""
    count, ratio = 4096, 1 / 16
    s = np.arange(-count, count + 1) * ratio  # in λ
    kappa = 2 * np.pi / wave
    # of a field linear between stations: Σ ρ^|j| cos κ j h × (sin x/x)⁴, x = κh/2
    found = ratio * (np.exp(-np.abs(s)) * np.cos(kappa * s)).sum() * np.sinc(kappa * ratio / 2 / np.pi) ** 4
    exact = 2 / (1 + kappa**2)
    assert low < found / exact - 1 < high
    assert found / exact - 1 == pytest.approx((1 - kappa**2) * ratio**2 / 12, abs=3e-4)


def test_polynomials_next_to_the_force_do_its_work():
    """∫ p f̂ = ∫ p f of piecewise linear f and any cubic p, by a rule exact for f̂ p; f̂ = f where f is linear."""
    low, high = np.array([-0.3, 0.05, 0.4]), np.array([0.05, 0.4, 0.41])
    roots, weights = np.polynomial.legendre.leggauss(4)
    half = (high - low)[:, None] / 2
    points = low[:, None] + half * (1 + roots)
    found = Stations.in_cells(0.07, low, high, points, 3)
    values = np.random.default_rng(1).normal(size=found.numbers.size)
    places = 0.07 * found.numbers
    close = (found.operator @ values).reshape(3, 4)
    for p in (lambda s: 1 + 0 * s, lambda s: s**3 - s**2, lambda s: (s - 0.2) ** 3):
        for c in range(3):
            cuts = np.unique(np.concatenate([[low[c], high[c]], places[(places > low[c]) & (places < high[c])]]))
            s, w = (cuts[:-1, None] + np.diff(cuts)[:, None] * (1 + roots) / 2), np.diff(cuts)[:, None] * weights / 2
            exact = (w * p(s) * np.interp(s, places, values)).sum()
            assert (half[c] * weights * p(points[c]) * close[c]).sum() == pytest.approx(exact, rel=1e-12, abs=1e-15)
    np.testing.assert_allclose(found.operator @ places, points.ravel(), atol=1e-14)


@pytest.mark.parametrize("dimension", [2, 3])
def test_one_force_on_any_mesh(dimension):
    """Resultant and first moment of nodal forces and moments are those of the force, on meshes far too coarse."""
    options = {} if dimension == 2 else TILTED
    resultants = []
    for cells in (1, 3, 7, 40):
        part = beam(-0.2, 0.7, cells, dimension, **options)
        total = forces(part).sum(axis=1) @ part.frame[:dimension, :dimension].T
        assert np.abs(total[:, 0]).max() < 1e-12
        np.testing.assert_allclose(total[:, 1:], force_of(-0.2, 0.7)[:, : dimension - 1], atol=1e-12)
        nodal = part.assemble().loads_at(TIMES).reshape(TIMES.size, part.node_count, -1)
        turned = nodal[:, :, dimension:] @ (part.frame[2] if dimension == 3 else np.ones(1))
        across = nodal[:, :, :dimension] @ part.frame[1, :dimension]
        resultants.append(across @ part.arc_length(part.positions.T) + turned.sum(axis=1))
    np.testing.assert_allclose(resultants, np.broadcast_to(resultants[-1], (4, TIMES.size)), atol=1e-12)


def test_the_plane_has_the_first_direction_of_space():
    flat, deep = beam(0.0, 0.3, 4, 2), beam(0.0, 0.3, 4)
    np.testing.assert_allclose(forces(flat)[:, :, 1], forces(deep)[:, :, 1], atol=1e-14)


def test_a_beam_in_two_pieces():
    whole, left, right = beam(0.1, 0.9, 16, **TILTED), beam(0.1, 0.5, 8, **TILTED), beam(0.5, 0.9, 8, **TILTED)
    a, b, c = forces(whole), forces(left), forces(right)
    np.testing.assert_allclose(b[:, :-1], a[:, :8], atol=1e-13)
    np.testing.assert_allclose(c[:, 1:], a[:, 9:], atol=1e-13)
    np.testing.assert_allclose(b[:, -1] + c[:, 0], a[:, 8], atol=1e-13)


@pytest.mark.parametrize(
    "kind, order, miss", [("hex", 1, 1e-12), ("hex", 2, 1e-12), ("tet", 1, 3e-3), ("tet", 2, 1e-3)]
)
def test_a_solid_carries_what_the_beam_does(kind, order, miss):
    """Resultant along the axes of a beam that points anywhere, and the moment of the force about the origin."""
    part = beam(0.3, 0.6, 5, **TILTED)
    solid = block(0.3, 0.6, (11, 2, 2), kind, order, part.frame, TILTED["origin"], **TILTED)
    a, b = forces(part), forces(solid)
    exact, size = a.sum(axis=1), np.abs(force_of(0.3, 0.6)).max()
    np.testing.assert_allclose(b.sum(axis=1), exact, atol=miss * size)
    np.testing.assert_allclose(b.sum(axis=1) @ part.frame.T[:, 1:], force_of(0.3, 0.6), atol=miss * size)
    nodal = part.assemble().loads_at(TIMES).reshape(TIMES.size, part.node_count, 6)
    moments = np.cross(part.positions, nodal[:, :, :3]).sum(axis=1) + nodal[:, :, 3:].sum(axis=1)
    np.testing.assert_allclose(np.cross(solid.positions, b).sum(axis=1), moments, atol=miss * size)


def test_a_plane_solid_of_some_thickness():
    mesh = aq.mesh.rectangle((0.0, 0.25), (-SIDE / 2, SIDE / 2), cells=(9, 2))
    force = aq.SpanForce(FLOW, SIDE * 0.003)
    solid = aq.Solid("flat", mesh, STEEL, "stress", thickness=0.003, body_force=force)
    total = forces(solid).sum(axis=1)
    np.testing.assert_allclose(total[:, 1], force_of(0.0, 0.25)[:, 0], atol=1e-13)
    assert np.abs(total[:, 0]).max() == 0.0


@pytest.mark.parametrize("inner, miss", [(0.4, 1e-12), (0.37, 2e-3)])
def test_two_beams_and_a_solid_between_carry_what_one_beam_does(inner, miss):
    """The weights of the glued zones share the force; a zone that cuts a cell of the beam shares it nearly."""
    left, right = beam(0.0, 0.5, 5), replace(beam(0.8, 1.3, 5), name="right")
    solid = block(inner, 1.3 - inner, (30, 2, 2))
    weights = [aq.BeamJunction(part, solid, name=part.name).weighting() for part in (left, right)]
    shared = weights[0]["block"] * weights[1]["block"]
    total = forces(left, weights[0]["beam"]).sum(axis=1) + forces(right, weights[1]["right"]).sum(axis=1)
    total += forces(solid, shared).sum(axis=1)
    exact = forces(beam(0.0, 1.3, 13)).sum(axis=1)
    np.testing.assert_allclose(total, exact, atol=miss * np.abs(exact).max())


def test_a_modal_solid_has_the_projected_force():
    held = {"left": {"x": 0.0, "y": 0.0, "z": 0.0}}
    solid = replace(block(0.0, 0.3, (9, 2, 2)), imposed=held, tractions={"right": lambda x, t: (t, 0.0, 2.0)})
    own, modal = solid.assemble(), aq.Modal(solid, 4).assemble()
    assert not own.steady and not modal.steady
    exact = own.loads_at(TIMES) @ modal.shapes
    size = np.abs(exact).max()
    np.testing.assert_allclose(modal.loads_at(TIMES), exact, atol=1e-12 * size)
    np.testing.assert_allclose([modal.load(t) for t in TIMES], exact, atol=1e-12 * size)
    np.testing.assert_allclose([own.load(t) for t in TIMES], own.loads_at(TIMES), atol=1e-12 * size)
    half = Weighting(*(np.full(solid.cells.dx.shape, value) for value in (1.0, 1.0, 0.5)))
    np.testing.assert_allclose(forces(solid, half)[:, :, 1], 0.5 * forces(solid)[:, :, 1], atol=1e-14)


def test_messages():
    with pytest.raises(aq.UserError, match=r"turbulence = 3: must be a Turbulence"):
        aq.SpanForce(3, 1.0)
    with pytest.raises(aq.UserError, match=r"area = 0.0: must be positive"):
        aq.SpanForce(FLOW, 0.0)
    force = aq.SpanForce(FLOW, 1e-4)
    with pytest.raises(aq.UserError, match=r"bar: body_force = .*must not be a SpanForce on a bar"):
        aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=2), STEEL, section=1e-4, body_force=force)
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(1, 1))
    with pytest.raises(aq.UserError, match="or a body of revolution"):
        aq.Solid("round", mesh, STEEL, "axisymmetric", body_force=force)
    with pytest.raises(aq.UserError, match=r"direction = .*must be finite numbers"):
        aq.Solid("flat", mesh, STEEL, "strain", body_force=replace(force, direction=(0.0, 0.0, 1.0)))
    with pytest.raises(aq.UserError, match="traction on 'top'"):
        aq.Solid("flat", mesh, STEEL, "strain", tractions={"top": force})
