"""Blocks and columns under Coulomb friction: equations of motion, energy, a grid of characteristics."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from arlequin.cases.reference.blocks import DraggedBlock, HeldColumn, PushedBlock, ShearColumn


def test_a_pushed_block_stops_after_its_energy_is_spent():
    block = PushedBlock(mass=2.0, threshold=3.0, speed=5.0)
    assert block.position(1e3) == pytest.approx(0.5 * 2.0 * 25 / 3.0, rel=1e-14)
    assert block.dissipated(1e3) == pytest.approx(25.0, rel=1e-14)
    assert block.velocity(block.stop + 1e-9) == 0.0
    assert PushedBlock(2.0, 3.0, 0.0, 2.9).position(10.0) == 0.0
    assert PushedBlock(2.0, 3.0, 0.0, 5.0).position(2.0) == pytest.approx(2.0, rel=1e-14)
    assert PushedBlock(2.0, 3.0, 1.0, 3.0).velocity(10.0) == 1.0


def test_dragged_block_obeys_its_equation_and_its_energy():
    block = DraggedBlock(mass=2.0, stiffness=50.0, threshold=3.0, speed=0.4)
    t, d = np.linspace(0.0, 6.0, 2001), 1e-4
    assert np.all(block.position(t[t <= block.start]) == 0.0)
    assert np.all(block.velocity(t) >= 0)
    inside = t[t > block.start + d]
    acceleration = (block.velocity(inside + d) - block.velocity(inside - d)) / (2 * d)
    np.testing.assert_allclose(2.0 * acceleration, block.spring_force(inside) - 3.0, atol=1e-6)
    end = 5.3
    work = quad(lambda s: 0.4 * float(block.spring_force(s)), 0, end, points=[block.start])[0]
    stored = 0.5 * 2.0 * block.velocity(end) ** 2 + 0.5 * block.spring_force(end) ** 2 / 50.0
    assert work == pytest.approx(stored + block.dissipated(end), rel=1e-9)


def column_on_a_grid(column, duration, cells):
    """Shear waves moved a cell a step; base velocity and traction at the middle of the steps."""
    dt = 0.5 * column.transit / cells
    down, up = np.zeros(cells), np.zeros(cells)
    rows = []
    for n in range(round(duration / dt)):
        arriving, returning = down[-1], up[-1]
        traction = np.clip(2 * column.impedance * arriving, -column.threshold, column.threshold)
        velocity = 2 * arriving - traction / column.impedance
        rows.append((velocity, traction))
        down = np.concatenate([[float(column.drive(np.array((n + 0.5) * dt))) - returning], down[:-1]])
        up = np.concatenate([[velocity - arriving], up[:-1]])
    return (np.arange(len(rows)) + 0.5) * dt, np.array(rows)


def test_column_against_a_grid_of_characteristics():
    column = ShearColumn(0.3, 8e10, 7800.0, 5e6, lambda t: 0.3 * np.sin(2e4 * t) + 0.05)
    t, rows = column_on_a_grid(column, 12.3 * column.transit, 200)
    velocity, traction = column.base(t)
    np.testing.assert_allclose(velocity, rows[:, 0], atol=1e-12)
    np.testing.assert_allclose(traction, rows[:, 1], atol=1e-5)
    moving = velocity != 0
    assert 0.1 < moving.mean() < 0.9  # it sticks and slips
    np.testing.assert_array_equal(traction[moving], np.sign(velocity[moving]) * 5e6)
    assert np.abs(traction).max() <= 5e6


def test_column_under_a_constant_drive():
    column = ShearColumn(0.3, 8e10, 7800.0, 1.0, lambda t: np.full(np.shape(t), 1e-9))
    step = 2 * column.impedance * 1e-9
    column = ShearColumn(0.3, 8e10, 7800.0, 3.3 * step, column.drive)
    _, traction = column.base((np.arange(6) + 1.0) * column.transit)
    np.testing.assert_allclose(traction, np.minimum(np.arange(1, 7), 3.3) * step, rtol=1e-12)
    velocity, _ = column.base((np.arange(10, 30) + 1.0) * column.transit)
    assert velocity.mean() == pytest.approx(1e-9, rel=1e-12)
    assert np.all(velocity >= 0)


def test_column_dissipates_what_friction_takes():
    column = ShearColumn(1.0, 1.0, 1.0, 0.2, lambda t: np.where(t % 7.0 < 3.5, 0.3, -0.3))
    edges = np.arange(0.0, 60.0, 0.25)  # holds every jump
    spent, slip = column.dissipated(edges), column.slip(edges)
    assert np.all(np.diff(spent) >= 0)
    np.testing.assert_allclose(spent[-1], 0.2 * np.abs(np.diff(slip)).sum(), rtol=1e-12)


def test_held_column_by_rigid_springs_is_driven():
    """The springs lag by z/κ: half of it with twice the stiffness."""
    column = ShearColumn(0.3, 8e10, 7800.0, 5e6, lambda t: 0.3 * np.sin(2e4 * t))
    t = np.linspace(0.0, 6 * column.transit, 3001)
    exact, errors = column.base(t)[0], []
    for ratio in (1000, 2000):
        held = HeldColumn(0.3, 8e10, 7800.0, 5e6, column.drive, ratio * column.impedance / column.transit)
        errors.append(np.abs(held.base(t)[0] - exact).mean() / np.abs(exact).max())
    assert errors[0] < 0.02
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.2)


def test_held_column_of_no_threshold_swings():
    """A free base under springs: u = φ(y) sin ωt with φ = cos(ωy/c) and tan(ωH/c) = κc/(Gω), after a push."""
    height, shear, density, kappa = 0.5, 4e6, 1000.0, 3e7
    c = np.sqrt(shear / density)
    omega = brentq(
        lambda w: kappa * np.cos(w * height / c) - shear * w / c * np.sin(w * height / c), 1.0, 0.5 * np.pi * c / height
    )
    # a push of 1 ms: what swings afterwards has the frequency of the first mode
    column = HeldColumn(height, shear, density, 0.0, lambda t: np.where(t < 1e-3, 1.0, 0.0), kappa)
    t = np.linspace(0.0, 40 * 2 * np.pi / omega, 40001)
    velocity, _ = column.base(t)
    spectrum = np.abs(np.fft.rfft(velocity * np.hanning(t.size)))
    peak = 2 * np.pi * np.fft.rfftfreq(t.size, t[1])[spectrum.argmax()]
    assert peak == pytest.approx(omega, abs=2 * np.pi / t[-1])


def test_held_column_with_a_stiff_body_is_a_dragged_block():
    """Soft springs: the column moves as one, m = ρH and k = κ a unit of area."""
    height, density, kappa, speed, threshold = 0.05, 1200.0, 1e6, 0.1, 500.0
    column = HeldColumn(height, 4e8, density, threshold, lambda t: np.full(np.shape(t), speed), kappa)
    block = DraggedBlock(density * height, kappa, threshold, speed)
    t = np.linspace(0.0, block.start + 4 * np.pi / block.frequency, 2001)
    moved = column.slip(t)
    assert np.abs(moved - block.position(t)).max() < 0.01 * block.position(t).max()
