"""Damping of the last octave of a mesh: decay of standing waves, what it leaves alone, and where it is refused."""

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.errors import UserError
from arlequin.system.assembly import assemble

UNIT = aq.LinearElastic(young=4.0, poisson=0.0, density=1.0)  # c = 2 m/s
SPEED, SIZE, STRENGTH = 2.0, 0.5, 0.3
CELLS = 240


def wave(cells, count=CELLS):
    """A damped bar, k of waves of so many cells, the middle of the bar, and their angular frequency in the lattice."""
    mesh = aq.mesh.interval(0.0, count * SIZE, cells=count)
    bar = aq.Bar("bar", mesh, UNIT, mass="lumped", damping=aq.ShortWaveDamping(STRENGTH))
    k, middle = 2.0 * np.pi / (cells * SIZE), 0.5 * count * SIZE
    return bar, k, middle, 2.0 * SPEED / SIZE * np.sin(0.5 * k * SIZE)


@pytest.mark.parametrize("cells", [2.5, 3.0, 4.0])
def test_a_standing_wave_decays_as_the_formula_says(cells):
    """exp(−½ strength f² c t/H), f = (20/924)(2 sin(πH/Λ))⁶, in the middle of a bar, before its ends are felt there."""
    bar, k, middle, omega = wave(cells)
    system = aq.System([bar], displacement=lambda x: np.cos(k * (x[:, 0] - middle)))
    f = 20.0 / 924.0 * (2.0 * np.sin(np.pi / cells)) ** 6
    rate = 0.5 * STRENGTH * f**2 * SPEED / SIZE
    # whole periods of the damped wave
    duration = 10 * 2.0 * np.pi / np.sqrt(omega**2 - rate**2)
    assert SPEED * duration < 0.45 * CELLS * SIZE
    result = aq.simulate(system, aq.Theta(0.5), duration=duration, step=duration / 2000, fields_every=2000)
    u = result["part/bar"]["displacement"].values[:, CELLS // 2, 0]
    assert -np.log(u[-1] / u[0]) == pytest.approx(rate * duration, rel=0.02)
    assert np.abs(result["balance"]).max() <= 1e-12


def test_waves_of_ten_cells_lose_next_to_nothing():
    """strength f² c t/H = 9e-6 of the energy in two periods, of a packet away from the ends, a little more of its
    shorter waves."""
    bar, k, middle, omega = wave(10.0, 600)

    def packet(x):
        s = x[:, 0] - middle
        return np.exp(-0.5 * (s / (40.0 * SIZE)) ** 2) * np.cos(k * s)

    system = aq.System([bar], displacement=packet)
    duration = 4.0 * np.pi / omega
    result = aq.simulate(system, aq.Theta(0.5), duration=duration, step=duration / 200, fields_every=10**6)
    energy = result["energy"]
    lost = float(energy.sel(kind="damping")[-1] / energy.sel(kind="strain")[0])
    f = 20.0 / 924.0 * (2.0 * np.sin(np.pi / 10.0)) ** 6
    assert lost == pytest.approx(STRENGTH * f**2 * SPEED * duration / SIZE, rel=0.1)
    assert lost < 1e-5


@pytest.mark.parametrize("mesh", ["lines", "triangles", "boxes"])
def test_rigid_and_linear_motions_are_not_damped(mesh):
    damping = aq.ShortWaveDamping()
    if mesh == "lines":
        part = aq.Bar("part", aq.mesh.interval(0.0, 2.0, cells=9), UNIT, damping=damping)
    elif mesh == "triangles":
        plate = aq.mesh.rectangle((0.0, 2.0), (0.0, 1.0), cells=(9, 5), kind="tri")
        part = aq.Solid("part", plate, UNIT, plane="strain", damping=damping)
    else:
        part = aq.Solid("part", aq.mesh.box((0, 1), (0, 1), (0, 1), cells=(5, 4, 4)), UNIT, damping=damping)
    matrix, x = assemble(aq.System([part])).damping, part.positions
    axes = x.shape[1]
    values = np.linalg.eigvalsh(matrix.toarray())
    assert values.min() >= -1e-12 * values.max()
    for motion in (np.ones_like(x), x @ np.random.default_rng(1).uniform(-1.0, 1.0, (axes, axes))):
        v = motion.ravel()
        assert abs(v @ (matrix @ v)) <= 1e-13 * values.max() * (v @ v)


def test_refused():
    damping = aq.ShortWaveDamping()
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(4, 4))
    with pytest.raises(UserError, match=r"^damping = .*: must be a Rayleigh or None in finite kinematics$"):
        aq.Solid("a", mesh, UNIT, plane="strain", kinematics="finite", damping=damping)
    with pytest.raises(UserError, match=r"^part 'a': a modal part takes no ShortWaveDamping: it has no short waves$"):
        aq.Modal(aq.Solid("a", mesh, UNIT, plane="strain", damping=damping), modes=3)
    with pytest.raises(UserError, match=r"strength = 0.0: must be positive"):
        aq.ShortWaveDamping(0.0)


def test_a_rigid_part_is_not_damped():
    """A spinning square keeps its energy to the last digits, with this damping of its solid as without."""
    mesh = aq.mesh.rectangle((-1.0, 1.0), (-1.0, 1.0), cells=(6, 6))
    found = []
    for damping in (None, aq.ShortWaveDamping(10.0)):
        part = aq.Rigid(aq.Solid("square", mesh, UNIT, plane="strain", damping=damping))
        spin = aq.System([part], velocity=lambda x: np.stack([1.0 - x[:, 1], x[:, 0]], axis=1))
        result = aq.simulate(spin, aq.Theta(0.5), duration=0.5, step=0.05)
        assert "damping" not in result["energy"]["kind"]
        found.append(result["energy"].sel(kind="kinetic").values)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[0], found[0][0], rtol=1e-10)
