"""Kernels of the delay equation of a contact point; equations and method: `interface`."""

import math

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.multilevel._interrupts import check_interrupts

FREE, LOADING, UNLOADING, CRUSHED = 0, 1, 2, 3
DONE, FULL, STALLED = 0, 1, 2


@njit(cache=True)
def _rate(mode, g, history, law, z):
    """Gap rate f(g, R) of a mode and its derivative in g; R = `history`, z = 1/z1 + 1/z2.

    The asperity terms are extended as odd functions beyond g = a, so that trial steps across it stay smooth.
    """
    if mode == FREE:
        return history, 0.0
    if mode == CRUSHED:
        return 0.0, 0.0
    kappa, m, a, c, mp = law[0], law[1], law[2], law[3], law[4]
    x = a - g
    r = abs(x)
    asperity_pressure, asperity_slope = 0.0, 0.0
    if kappa > 0.0 and r > 0.0:
        asperity_pressure = math.copysign(kappa * r**m, x)
        asperity_slope = -kappa * m * r ** (m - 1.0)
    elif kappa > 0.0 and m == 1.0:
        asperity_slope = -kappa
    f = history + z * asperity_pressure
    if mode == UNLOADING:
        return f, z * asperity_slope
    damping, ddamping = c, 0.0
    if mp > 0.0:
        damping = c * x**mp if x > 0.0 else 0.0
        ddamping = -mp * damping / x if x > 0.0 else 0.0
    f = f / (1.0 + z * damping)
    return f, z * (asperity_slope - f * ddamping) / (1.0 + z * damping)


@called_njit()
def _delayed_pressure(s, side, times, nodes, n):
    """Pressure at an earlier time s, from the quadratic of its segment; `side`: before or after a breakpoint."""
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if times[middle] <= s + side:
            low = middle
        else:
            high = middle
    theta = (s - times[low]) / (times[low + 1] - times[low])
    l0 = 3.0 * (theta - 1.0 / 3.0) * (theta - 1.0)
    l1 = -4.5 * theta * (theta - 1.0)
    l2 = 1.5 * theta * (theta - 1.0 / 3.0)
    return l0 * nodes[low, 0] + l1 * nodes[low, 1] + l2 * nodes[low, 2]


@njit(cache=True)
def _history(t, side, pair, times, nodes, n):
    """R(t) = ġ₀ + 2 Σ_i Σ_k p(t − kT_i)/z_i."""
    total = pair[0]
    if n == 0:
        return total
    for i in range(2):
        if pair[1 + i] > 0.0:
            k = 1
            if t > 1000.0 * pair[3 + i]:  # the sum grows with time
                check_interrupts()
            while t - k * pair[3 + i] + side >= 0.0:
                total += 2.0 * pair[1 + i] * _delayed_pressure(t - k * pair[3 + i], side, times, nodes, n)
                k += 1
    return total


@njit(cache=True)
def _solve(mode, g, h, r1, r2, law, z, out):
    """Radau IIA, two stages (order 3, L-stable): stages into out = (g1, g2, f1, f2); whether it converged."""
    f0, _ = _rate(mode, g, r1, law, z)
    g1, g2 = g + h * f0 / 3.0, g + h * f0
    previous = math.inf
    for _ in range(40):
        f1, d1 = _rate(mode, g1, r1, law, z)
        f2, d2 = _rate(mode, g2, r2, law, z)
        e1 = g1 - g - h * (5.0 * f1 - f2) / 12.0
        e2 = g2 - g - h * (0.75 * f1 + 0.25 * f2)
        a11, a12 = 1.0 - 5.0 * h * d1 / 12.0, h * d2 / 12.0
        a21, a22 = -0.75 * h * d1, 1.0 - 0.25 * h * d2
        determinant = a11 * a22 - a12 * a21
        s1 = (e1 * a22 - e2 * a12) / determinant
        s2 = (e2 * a11 - e1 * a21) / determinant
        g1, g2 = g1 - s1, g2 - s2
        size = abs(s1) + abs(s2)
        # to round-off: the corrections no longer fall
        if size <= 1e-15 * (abs(g) + h * abs(f0)) or (
            size >= 0.5 * previous and size <= 1e-12 * (abs(g) + h * abs(f0))
        ):
            f1, _ = _rate(mode, g1, r1, law, z)
            f2, _ = _rate(mode, g2, r2, law, z)
            out[0], out[1], out[2], out[3] = g1, g2, f1, f2
            return True
        previous = size
    return False


@called_njit()
def _mode_after_stage(mode, g, f, history, law, z, tolerances):
    """Mode of the point (g, ġ = f) coming from `mode`; tolerances: (gap, rate), the hysteresis of a change."""
    a, unilateral = law[2], law[5] > 0.0
    gap_tolerance, rate_tolerance = tolerances
    if mode == FREE:
        if g < a - gap_tolerance:
            return LOADING
        return FREE
    if mode == CRUSHED:
        full = _rate(UNLOADING, 0.0, history, law, z)[0]
        if full > rate_tolerance:
            return UNLOADING if a > 0.0 else FREE
        return CRUSHED
    if unilateral and g < -gap_tolerance:
        return CRUSHED
    if g > a + gap_tolerance:
        return FREE
    if mode == LOADING and f > rate_tolerance:
        return UNLOADING
    if mode == UNLOADING and law[3] > 0.0 and f < -rate_tolerance:
        return LOADING
    return mode


@called_njit()
def _choose(g, history, law, z, tolerances):
    """Mode from gap and history only, at the start and after an arrival."""
    a, c, unilateral = law[2], law[3], law[5] > 0.0
    gap_tolerance, rate_tolerance = tolerances
    if g > a + gap_tolerance or (g >= a - gap_tolerance and history >= -rate_tolerance):
        return FREE
    f, _ = _rate(UNLOADING, g, history, law, z)
    if unilateral and g <= gap_tolerance and f < rate_tolerance:
        return CRUSHED
    return LOADING if c > 0.0 and f < -rate_tolerance else UNLOADING


@called_njit()
def _crossed(mode, out, r, law, z, tolerances):
    """Whether a stage of the step left the mode."""
    if _mode_after_stage(mode, out[0], out[2], r[1], law, z, tolerances) != mode:
        return True
    return _mode_after_stage(mode, out[1], out[3], r[2], law, z, tolerances) != mode


@called_njit()
def _attempt(mode, t, g, h, shift, pair, law, times, nodes, n, out):
    """One step of length h: whether it converged, and R (3,) at θ = 0, 1/3, 1."""
    r0 = _history(t, shift, pair, times, nodes, n)
    r1 = _history(t + h / 3.0, 0.0, pair, times, nodes, n)
    r2 = _history(t + h, -shift, pair, times, nodes, n)
    return _solve(mode, g, h, r1, r2, law, pair[1] + pair[2], out), (r0, r1, r2)


@called_njit()
def _defect(mode, g, h, r, middle, law, z, out, period):
    """Estimated errors of a step, m/s: of the law and its integration, of R(t) on three nodes.

    At θ = 2/3: the quadratics through θ = 0, 1/3, 1 against the law and `middle` = R(2/3). At θ = 0: the defect of
    the collocation (a line in the rate), whose effect on the gap is at most h times it.
    """
    r0, r1, r2 = r
    f0, slope = _rate(mode, g, r0, law, z)
    f1, f2 = out[2], out[3]
    wf = -f0 / 3.0 + f1 + f2 / 3.0
    wr = -r0 / 3.0 + r1 + r2 / 3.0
    # the line through f1, f2 integrates to 2/3 f1 over [0, 2/3]
    f, _ = _rate(mode, g + h * f1 * 2.0 / 3.0, wr, law, z)
    slope = max(abs(slope), abs(_rate(mode, out[1], r2, law, z)[1]))
    drift = h * abs(f0 - 1.5 * f1 + 0.5 * f2) * (1.0 / period + slope / (1.0 + h * slope))
    return max(abs(wf - f), drift), abs(wr - middle)


@njit(cache=True)
def _trial(mode, t, g, step, shift, pair, law, times, nodes, n, out, allowed):
    """One step: its error over the allowed one (inf: not converged), and R (3,) at θ = 0, 1/3, 1."""
    z, period = pair[1] + pair[2], min(pair[3], pair[4])
    converged, r = _attempt(mode, t, g, step, shift, pair, law, times, nodes, n, out)
    if not converged:
        return math.inf, r
    middle = _history(t + step * 2.0 / 3.0, 0.0, pair, times, nodes, n)
    error, history_error = _defect(mode, g, step, r, middle, law, z, out, period)
    # the stored history itself is accurate to a few tolerances only
    if step > 1e-6 * period:
        error = max(error, 0.05 * history_error)
    return error / allowed, r


@njit(cache=True)
def _store(n, mode, g, r, law, z, out, nodes, gaps, rates, modes):
    """Store the data of segment n."""
    r0, r1, r2 = r
    f0, _ = _rate(mode, g, r0, law, z)
    if mode == FREE:
        nodes[n] = 0.0
    else:
        nodes[n, 0], nodes[n, 1], nodes[n, 2] = (f0 - r0) / z, (out[2] - r1) / z, (out[3] - r2) / z
    gaps[n, 0], gaps[n, 1], rates[n, 0], rates[n, 1], modes[n] = g, out[1], f0, out[3], mode


@njit(cache=True)
def _locate(mode, t, g, step, shift, pair, law, times, nodes, n, out, tolerances):
    """Step at which the mode changes, by bisection, and R (3,) at its θ = 0, 1/3, 1; `out` holds its stages."""
    z, period = pair[1] + pair[2], min(pair[3], pair[4])
    low, high = 0.0, step
    for _ in range(200):
        middle = 0.5 * (low + high)
        if high - low <= 1e-15 * period or middle <= low or middle >= high:
            break
        converged, r = _attempt(mode, t, g, middle, shift, pair, law, times, nodes, n, out)
        if not converged or _crossed(mode, out, r, law, z, tolerances):
            high = middle
        else:
            low = middle
    converged, r = _attempt(mode, t, g, high, shift, pair, law, times, nodes, n, out)
    return high, r


@called_njit()
def _after_event(mode, out, r, law, z, tolerances):
    """Mode and gap after the event at the end of a located step."""
    if mode == FREE:
        if law[5] > 0.0 and law[2] == 0.0:
            return CRUSHED, 0.0
        return (LOADING if law[3] > 0.0 and r[2] < 0.0 else UNLOADING), law[2]
    new = _mode_after_stage(mode, out[1], out[3], r[2], law, z, tolerances)
    if new == mode:
        new = _mode_after_stage(mode, out[0], out[2], r[1], law, z, tolerances)
    if new == CRUSHED:
        return new, 0.0
    return new, (law[2] if new == FREE else out[1])


@njit(cache=True)
def integrate(pair, law, gap, duration, tolerance, times, nodes, gaps, rates, modes):
    """Integration of the delay equation up to `duration`: status and number n of segments.

    pair = (ġ₀, 1/z1, 1/z2, T1, T2), law = (κ, m, a, c, m', unilateral);
    times (n + 1,), nodes (n, 3) pressure at θ = 0, 1/3, 1, gaps and rates (n, 2) at both ends, modes (n,).
    """
    z, speed, period = pair[1] + pair[2], -pair[0], min(pair[3], pair[4])
    merge, longest, shortest = 1e-10 * period, period / 256.0, 1e-9 * period
    shift, tolerances = 2.0 * merge, (1e-12 * speed * period, 1e-10 * speed)
    breakpoints = np.full(times.size + 2, math.inf)  # breakpoints, whose delayed images are the arrivals
    breakpoints[0], count, next1, next2 = 0.0, 1, 0, 0
    out, null_steps = np.zeros(4), 0
    n, t, g, h = 0, 0.0, gap, longest / 16.0
    times[0] = 0.0
    mode = _choose(g, pair[0], law, z, tolerances)
    while t < duration - merge:
        check_interrupts()
        if n >= modes.size or count >= breakpoints.size:
            return FULL, n
        arrival = min(breakpoints[next1] + pair[3], breakpoints[next2] + pair[4])
        if arrival <= t + merge:
            while breakpoints[next1] + pair[3] <= t + merge:
                next1 += 1
            while breakpoints[next2] + pair[4] <= t + merge:
                next2 += 1
            if breakpoints[count - 1] < t:
                breakpoints[count], count = t, count + 1
            mode, null_steps = _choose(g, _history(t, shift, pair, times, nodes, n), law, z, tolerances), 0
            h = min(h, longest / 16.0)
            continue
        remaining = min(arrival, duration) - t
        step = min(h, longest, remaining)
        if step < remaining < 2.0 * step:
            step = 0.5 * remaining
        error, r = _trial(mode, t, g, step, shift, pair, law, times, nodes, n, out, tolerance * speed)
        if error > 1.0 and step > shortest:
            h = max(shortest, step * max(0.2, 0.8 * error ** (-1.0 / 3.0)))
            continue
        if error == math.inf:
            return STALLED, n
        event = null_steps < 3 and _crossed(mode, out, r, law, z, tolerances)
        if event:
            step, r = _locate(mode, t, g, step, shift, pair, law, times, nodes, n, out, tolerances)
        if event and step <= merge:
            null_steps += 1
        else:
            _store(n, mode, g, r, law, z, out, nodes, gaps, rates, modes)
            t = min(arrival, duration) if step == remaining else t + step
            g, n, null_steps = out[1], n + 1, 0
            times[n] = t
        if event:
            mode, g = _after_event(mode, out, r, law, z, tolerances)
            if breakpoints[count - 1] < t:
                breakpoints[count], count = t, count + 1
            h = min(h, longest / 16.0)
        else:
            h = step * min(2.0, max(0.3, 0.9 * max(error, 1e-3) ** (-1.0 / 3.0)))
    times[n] = duration
    return DONE, n
