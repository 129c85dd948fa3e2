"""A block pulled through a spring with rate-and-state friction: stable and unstable slip on either side of the critical
stiffness.

The spring's end moves at V; the block starts close to steady sliding, in the slowest small motion about it, which
grows or decays as e^{λt} with λ of the eigenvalues (`arlequin.cases.reference.spring_slider`). Small motions grow on
springs softer than

    k_c = N(b − a)/D_c (1 + mV²/(N a D_c)).

The measured growth rate is that of the component of the motion along this eigenvector, (u − Vt, u̇ − V, ln θ). With a
large `perturbation`, or a long run on a soft spring, stick-slip develops with slip rates over orders of magnitude; it
is compared with an integration of the ordinary differential equation.

Source: Ruina, J. Geophys. Res. 88 (1983) 10359–10370.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.spring_slider import SpringSlider
from arlequin.cases.shared.impact import BALANCE_LIMIT, worst_balance
from arlequin.cases.shared.vocabulary import ThetaValue
from arlequin.models.checks import positive, positive_integer
from arlequin.models.types import Array


@dataclass(frozen=True)
class Parameters:
    """Default: a block of 1 kg pressed by 1 kN on a spring 10 % softer than the critical one: slip is unstable."""

    stiffness_ratio: Annotated[float, Quantity("", "stiffness over the critical stiffness", positive)] = 0.9
    mass: Annotated[float, Quantity("kg", "mass of the block", positive)] = 1.0
    force: Annotated[float, Quantity("N", "normal force N", positive)] = 1e3
    velocity: Annotated[float, Quantity("m/s", "velocity V of the spring's end", positive)] = 1e-3
    coefficient: Annotated[float, Quantity("", "coefficient μ₀ at the reference velocity", positive)] = 0.6
    direct: Annotated[float, Quantity("", "direct effect a", positive)] = 0.01
    evolution: Annotated[float, Quantity("", "evolution effect b", positive)] = 0.015
    distance: Annotated[float, Quantity("m", "slip distance D_c", positive)] = 1e-4
    reference_velocity: Annotated[float, Quantity("m/s", "reference velocity V₀", positive)] = 1e-3
    law: Annotated[Literal["ageing", "slip"], Quantity("", "law of the state")] = "ageing"
    perturbation: Annotated[
        float, Quantity("", "amplitude of the slip rate about V at the start, relative to V", positive)
    ] = 1e-5
    theta: ThetaValue = 0.5
    steps: Annotated[int, Quantity("", "steps while V slides over D_c", positive_integer)] = 100
    slides: Annotated[float, Quantity("", "slip V t of the run over D_c", positive)] = 40.0


def reference(parameters: Parameters) -> SpringSlider:
    """Spring-slider with the stiffness of the parameters."""
    p = parameters
    unit_slider = SpringSlider(
        p.mass, p.force, 1.0, p.velocity, p.coefficient, p.direct, p.evolution, p.distance, p.reference_velocity,
        p.law == "slip",
    )  # fmt: skip
    if unit_slider.critical_stiffness <= 0.0:
        raise aq.UserError.parameter("evolution", p.evolution, f"must be above the direct effect, {p.direct:g}")
    return SpringSlider(**(vars(unit_slider) | {"stiffness": p.stiffness_ratio * unit_slider.critical_stiffness}))


def start(parameters: Parameters) -> Array:
    """(u, u̇, ψ) at the start: steady sliding and the real part of the eigenvector of λ."""
    p, exact = parameters, reference(parameters)
    eigenvector = exact.eigenvectors[0]
    shape = (eigenvector / eigenvector[1] * p.perturbation * p.velocity).real
    return np.array([0.0, p.velocity, exact.steady[1]]) + shape


def build(parameters: Parameters) -> aq.Study:
    p, exact = parameters, reference(parameters)
    u, v, psi = start(p)
    law = aq.RateAndState(
        p.coefficient, p.direct, p.evolution, p.distance, p.reference_velocity, p.law,
        state=p.distance / p.reference_velocity * float(np.exp(psi)),
    )  # fmt: skip
    initial_force = exact.force * exact.steady[0]

    def pull(t: float) -> tuple[float, float]:
        return initial_force + exact.stiffness * p.velocity * t, -p.force

    block = aq.PointMasses("block", [[0.0, 0.0]], mass=p.mass, forces={"all": pull})
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    contact = aq.Interface("contact", block.boundary("all"), floor, aq.Unilateral(), friction=law)
    spring = aq.Spring("spring", block.boundary("all"), stiffness=(exact.stiffness, 0.0))
    system = aq.System(
        [block], springs=[spring], interfaces=[contact], displacement=(float(u), 0.0), velocity=(float(v), 0.0)
    )
    slide = p.distance / p.velocity
    return aq.Study(system, aq.Theta(p.theta), p.slides * slide, slide / p.steps)


def motion(result: xarray.DataTree, parameters: Parameters) -> tuple[Array, Array]:
    """Times (t,) of the frames and (u − Vt, u̇, ψ) (t, 3) there."""
    p, part = parameters, result["part/block"].dataset
    times = part["frame_time"].values
    u, v = (part[name].values[:, 0, 0] for name in ("displacement", "velocity"))
    theta = result["interface/contact"].dataset["friction_state"].values[:, 0]
    return times, np.column_stack([u - p.velocity * times, v, np.log(p.reference_velocity * theta / p.distance)])


def growth(result: xarray.DataTree, parameters: Parameters) -> complex:
    """λ, 1/s, fitted to the component of the motion along the eigenvector over the run."""
    p, exact = parameters, reference(parameters)
    times, states = motion(result, p)
    deviation = states - np.array([0.0, p.velocity, exact.steady[1]])
    amplitude = deviation @ exact.eigenvectors[1]
    return complex(
        np.polyfit(times, np.unwrap(np.angle(amplitude)), 1)[0] * 1j
        + np.polyfit(times, np.log(np.abs(amplitude)), 1)[0]
    )


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of the growth rate of small motions, or of the motion itself if it is large; energy balance."""
    p, exact = parameters, reference(parameters)
    times, states = motion(result, p)
    limit = max(BALANCE_LIMIT, 2.0**-50 * result.sizes["time"])
    balance = Check("energy balance, worst step", worst_balance(result), 0.0, limit, "1", "absolute")
    order = 1e-3 * max(1.0, (100.0 / p.steps) ** (2 if p.theta == 0.5 else 1))
    if np.abs(states[:, 1] / p.velocity - 1.0).max() < 1e-2:
        rate, exact_growth = growth(result, p), exact.growth
        # near the critical stiffness the growth is small beside the frequency
        growth_limit = order * max(abs(exact_growth.real), 0.02 * abs(exact_growth))
        return [
            Check("growth rate of small motions", rate.real, exact_growth.real, growth_limit, "1/s", "absolute"),
            Check("angular frequency", abs(rate.imag), exact_growth.imag, order * abs(exact_growth), "1/s", "absolute"),
            balance,
        ]
    samples = np.unique(np.linspace(0, times.size - 1, 400).astype(int))
    exact_states = exact.motion(start(p), times[samples])
    size = float(np.abs(exact_states[:, 0]).max())
    error = float(np.abs(states[samples, 0] - exact_states[:, 0]).max())
    return [
        Check("largest error of the displacement, relative", error / size, 0.0, 20.0 * order, "1", "absolute"),
        balance,
    ]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Growth rate and largest slip rate."""
    _, states = motion(result, parameters)
    rate = growth(result, parameters)
    return {
        "growth_rate": aq.Scalar(rate.real, "1/s", "growth rate of the motion about steady sliding"),
        "angular_frequency": aq.Scalar(abs(rate.imag), "1/s", "angular frequency about steady sliding"),
        "largest_slip_rate": aq.Scalar(float(states[:, 1].max()), "m/s", "largest slip rate"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    return {"energies": plots.energies(result), "slip": _slip_figure(result, parameters)}


def _slip_figure(result: xarray.DataTree, parameters: Parameters) -> Any:
    """Mean slip rates of the steps over time, and friction over slip rate."""
    from arlequin.plots import style

    p, exact = parameters, reference(parameters)
    times, states = motion(result, p)
    exact_states = exact.motion(start(p), times)
    contact = result["interface/contact"].dataset
    friction = contact["force"].values[1:, 0] / -p.force
    slid, middle = times * p.velocity / p.distance, 0.5 * (times[1:] + times[:-1]) * p.velocity / p.distance
    rate = (np.diff(states[:, 0]) / np.diff(times)) / p.velocity + 1.0
    steady = np.array([rate.min(), rate.max()])
    line = [exact.friction(v * p.velocity, -np.log(v * p.velocity / p.reference_velocity)) for v in steady]
    is_small, start_mu = rate.max() < 1.1, exact.steady[0]
    with style.panels(2, 6.0, ratios=(1.0, 1.0)) as (figure, (history, friction_panel)):
        offset = 1.0 if is_small else 0.0
        history.plot(slid, exact_states[:, 1] / p.velocity - offset, color=style.REFERENCE, linewidth=3.0, alpha=0.5)
        history.plot(middle, rate - offset, color=style.COLOURS[0])
        friction_panel.plot(rate - offset, friction - offset * start_mu, color=style.COLOURS[0], label="steps")
        friction_panel.plot(
            steady - offset, np.array(line) - offset * start_mu, "--", color=style.REFERENCE, label="steady sliding"
        )
        history.plot([], [], color=style.REFERENCE, linewidth=3.0, alpha=0.5, label="differential equation")
        text = "Slip rate / V − 1 (1)" if is_small else "Slip rate / V (1)"
        history.set_xlabel("Slip of the spring's end, $Vt/D_c$ (1)")
        history.set_ylabel(text)
        friction_panel.set_xlabel(text)
        friction_panel.set_ylabel("Friction coefficient − steady one (1)" if is_small else "Friction coefficient (1)")
        if not is_small:
            history.set_yscale("log")
            friction_panel.set_xscale("log")
        handles = [*friction_panel.get_legend_handles_labels()[0], *history.get_legend_handles_labels()[0]]
        labels = [*friction_panel.get_legend_handles_labels()[1], *history.get_legend_handles_labels()[1]]
        figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return figure
