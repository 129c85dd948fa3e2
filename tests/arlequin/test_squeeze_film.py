"""Squeeze films: descent by Stefan's equation, against SciPy's integration, in all schemes; loss in `film`."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import arlequin as aq

VISCOSITY, RADIUS, MASS, LOAD, THICKNESS = 0.05, 0.01, 0.02, 1.0, 5e-4  # Pa·s, m, kg, N, m
AREA = np.pi * RADIUS**2
FILM = aq.SqueezeFilm.disc(VISCOSITY, RADIUS)


def descent(scheme, film=FILM, step=2.5e-4, duration=0.1, velocity=0.0, mass=MASS, area=AREA, others=(), **options):
    disc = aq.PointMasses("disc", THICKNESS, mass)
    touch = aq.Interface(
        "film", disc.boundary("all"), aq.RigidPlane(0.0, 1.0), [film, *others] if others else film, area=area
    )
    system = aq.System([disc], interfaces=[touch], gravity=-LOAD / mass, velocity=velocity)
    return aq.simulate(system, scheme, duration=duration, step=step, **options)


def height(result):
    return THICKNESS + result["part/disc/displacement"].values[:, 0, 0]


def exact(time, film=FILM, velocity=0.0, mass=MASS, area=AREA):
    """m ḧ = −F − A C ḣ/hⁿ by an implicit Runge–Kutta method."""
    c, n, offset, cavitates = film.coefficients()

    def rates(t, state):
        h, v = state
        force = -area * c * v / (h + offset) ** n
        return [v, (-LOAD + (max(force, 0.0) if cavitates else force)) / mass]

    solution = solve_ivp(
        rates, (0.0, time[-1]), [THICKNESS, velocity], method="Radau", t_eval=time, rtol=1e-10, atol=1e-14
    )
    return solution.y[0]


SCHEMES = {
    "theta": (aq.Theta(0.5), 1e-3),
    "newmark": (aq.Newmark(), 1e-3),
    "hht": (aq.HHT(-0.05), 1e-2),
    "generalised alpha": (aq.GeneralisedAlpha.with_radius(0.8), 1e-2),
    "central": (aq.CentralDifference(), 1e-2),
}


@pytest.mark.parametrize("scheme, miss", SCHEMES.values(), ids=SCHEMES)
def test_a_disc_sinks_as_the_differential_equation_says(scheme, miss):
    result = descent(scheme)
    reference = exact(result["time"].values)
    assert np.abs(height(result) - reference).max() < miss * THICKNESS
    assert np.abs(result["balance"]).max() < 1e-12
    loss = result["energy"].sel(kind="film").values
    assert np.diff(loss).min() >= 0.0 and loss[-1] > 0.9 * LOAD * (THICKNESS - height(result)[-1]) - 1e-9
    assert "asperity_damping" not in result["energy"]["kind"].values


def test_slow_descent_is_stefans():
    """1/h² = 1/h₀² + 2Ft/(CA) where inertia is small."""
    result = descent(aq.Theta(0.5), mass=1e-4, step=1e-3)
    time = result["time"].values
    stefan = (1.0 / THICKNESS**2 + 2.0 * LOAD * time / (AREA * 1.5 * VISCOSITY * RADIUS**2)) ** -0.5
    assert np.abs(height(result)[1:] / stefan[1:] - 1.0).max() < 1e-3


FILMS = {
    "strip": (aq.SqueezeFilm.strip(VISCOSITY, 0.01), 0.01 * 0.05),
    "cylinder": (aq.SqueezeFilm.cylinder(VISCOSITY, 0.02), 0.05),
    "sphere": (aq.SqueezeFilm.sphere(100.0 * VISCOSITY, 0.02), 1.0),
    "rough": (aq.SqueezeFilm(2e-3, 2.0, offset=1e-5), 1e-3),
}


@pytest.mark.parametrize("film, area", FILMS.values(), ids=FILMS)
def test_other_films_sink_as_the_differential_equation_says(film, area):
    result = descent(aq.Newmark(), film, area=area, duration=0.05, step=2.5e-4)
    reference = exact(result["time"].values, film, area=area)
    inside = reference > -0.5 * film.offset if film.offset else reference > 0.0
    assert np.abs(height(result) - reference)[inside].max() < 2e-3 * THICKNESS
    assert np.abs(result["balance"]).max() < 1e-12


@pytest.mark.parametrize("step", [1e-3, 0.02, 0.1])
def test_the_film_is_never_closed_and_never_gives_energy(step):
    """Steps of any size against a fast approach: the impulse is Φ(h₀) − Φ(h₁), so that h₁ > 0."""
    result = descent(aq.Theta(0.5), velocity=-5.0, step=step, duration=20.0 * step)
    assert height(result).min() > 0.0
    assert np.diff(result["energy"].sel(kind="film").values).min() >= -1e-12
    assert np.abs(result["balance"]).max() < 1e-12


def test_impulse_of_a_step_is_the_difference_of_the_potential():
    """Of one step of any size: momentum and film exchange exactly m Δv = −F Δt + A [Φ(h₀) − Φ(h₁)], Φ = −C/(2h²)."""
    result = descent(aq.Theta(0.5), velocity=-1.0, step=0.05, duration=0.05)
    h, v = height(result), result["part/disc/velocity"].values[:, 0, 0]
    c = AREA * 1.5 * VISCOSITY * RADIUS**2
    impulse = 0.5 * c * (1.0 / h[1] ** 2 - 1.0 / h[0] ** 2)
    assert MASS * (v[1] - v[0]) + LOAD * 0.05 == pytest.approx(impulse, rel=1e-9)


def test_a_film_that_cavitates_lets_go():
    up = {"velocity": 0.1, "duration": 1.6e-3, "step": 2e-5}
    sucked, free = (height(descent(aq.Newmark(), film, **up)) for film in
                    (FILM, aq.SqueezeFilm.disc(VISCOSITY, RADIUS, cavitates=True)))  # fmt: skip
    time = 2e-5 * np.arange(sucked.size)
    ballistic = THICKNESS + 0.1 * time - 0.5 * LOAD / MASS * time**2
    assert np.abs(free - ballistic).max() < 1e-12
    assert (sucked[5:] < ballistic[5:]).all()


def test_a_film_acts_beside_unilateral_contact_and_layers():
    """A rough film does not keep surfaces apart for ever: the contact law then carries the load."""
    film = aq.SqueezeFilm(2e-3, 2.0, offset=1e-5)
    result = descent(aq.Theta(0.5), film, area=1e-3, duration=0.3, step=1e-3, others=[aq.Unilateral("gap")])
    assert abs(height(result)[-1]) < 1e-9
    # closed on the displacement, the velocity alternates in sign: two steps together
    assert result["interface/film/force"].values[-2:, 0].mean() == pytest.approx(LOAD, rel=1e-3)
    assert np.abs(result["balance"]).max() < 1e-12


def test_a_tube_on_a_filled_support_loses_its_energy_in_the_film():
    """A beam over a film at its tip: column `film` beside that of the damping, in compiled loops of a Modal as well."""
    rubber = aq.LinearElastic(young=2e9, poisson=0.3, density=1000.0)
    held = {"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}
    beam = aq.Beam("rod", aq.mesh.interval(0.0, 0.5, cells=4), rubber, aq.Section.circle(0.005), dimension=2,
                   imposed=held, damping=aq.Rayleigh(stiffness=1e-5))  # fmt: skip
    part = aq.Modal(beam, 4)
    wall = aq.RigidPlane(point=(0.5, -1e-3), normal=(0.0, 1.0))
    film = aq.Interface("film", part.boundary("right"), wall, aq.SqueezeFilm.cylinder(0.01, 0.005), area=0.01)
    system = aq.System(
        [part], interfaces=[film], velocity=lambda x: np.stack([0 * x[:, 0], -x[:, 0], -np.ones(len(x))], 1)
    )
    result = aq.simulate(system, aq.Theta(0.5), duration=0.1, step=2e-4)
    energy = result["energy"]
    assert np.abs(result["balance"]).max() < 1e-12
    assert energy.sel(kind="film")[-1] > 1e-3 * energy.sel(kind="kinetic")[0]
    assert energy.sel(kind="damping")[-1] > 0.0


@pytest.mark.parametrize("exponent", [1.0, 1.5, 3.0])
def test_kernel_is_the_mean_of_the_pressure_on_the_path(exponent):
    """Against Gauss's quadrature of C/hⁿ, with its derivative by differences; in short steps `damping_pressure`."""
    law = aq.SqueezeFilm(2e-5, exponent, offset=1e-4)
    kernel, x, w = law.kernel(), *np.polynomial.legendre.leggauss(40)

    def pressure(a, b):
        trial = np.zeros(4)
        found = kernel(law.coefficients(), np.array([a, 0.0, 0.0, 0.0]), b, 1e-3, 0.5, trial)
        assert found[:2] == (0.0, 0.0) and trial[0] == b
        return found[2:]

    for a, b in ((1e-4, 1e-4), (1e-4, 1.0001e-4), (2e-4, 5e-5), (5e-5, 4e-4)):
        h = 0.5 * (a + b) + 0.5 * (b - a) * x + 1e-4
        exact = -2e-5 * 0.5 * (w @ h**-exponent) * (b - a) / 1e-3
        value, slope = pressure(a, b)
        assert value == pytest.approx(exact, rel=1e-9, abs=1e-300)
        difference = (pressure(a, b + 1e-9)[0] - pressure(a, b - 1e-9)[0]) / 2e-9
        assert slope == pytest.approx(difference, rel=1e-4)
    assert pressure(1e-4, 1e-4 + 1e-10)[0] == pytest.approx(
        law.damping_pressure(np.array([1e-4]), np.array([1e-7]))[0], rel=1e-5
    )


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: aq.SqueezeFilm(0.0), "coefficient = 0.0"),
        (lambda: aq.SqueezeFilm(1.0, 0.5), "exponent = 0.5"),
        (lambda: aq.SqueezeFilm(1.0, offset=-1e-6), "offset = -1e-06"),
        (lambda: aq.SqueezeFilm.disc(-1.0, 0.01), "viscosity = -1.0"),
        (
            lambda: descent(aq.Theta(0.5), others=[aq.Asperities(1e9, height=1e-5, damping=1.0)]),
            "another law with damping",
        ),
        (lambda: descent(aq.Static()), "statics takes laws on the gap alone"),
    ],
)
def test_errors_are_one_line(make, text):
    with pytest.raises(aq.UserError) as error:
        make()
    assert text in str(error.value) and "\n" not in str(error.value)
