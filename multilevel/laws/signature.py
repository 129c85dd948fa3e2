"""Numba signatures of the kernels of laws, shared by the laws that declare them and the solvers that call them.

A regular law:

    kernel(coefficients, history, gap, step, theta, trial) -> (stored, d stored/dg, dissipated, d
    dissipated/dg)

`coefficients` (m,): constants of the law, padded to the length of the longest law; `history` (h,): its state at the
last accepted step, entry 0 the gap, m; `gap`, m: trial gap at the end of the step; `step`, s; `theta`: weight of the
end of the step in the scheme; `trial` (h,) receives the trial history. The result are the mean tractions over the step,
Pa, with their derivatives by the gap at its end, Pa/m: the part that derives from a stored energy, and the dissipative
part.

A friction law whose coefficient depends on the state, see `arlequin.multilevel.laws.friction.VariableFriction`:

    kernel(coefficients, rate, pressure, slip, increment, elapsed, stuck, variables, out) -> μ

μ after the time `elapsed`, s, from the start of a step at the constant slip rate `rate`, m/s, under the mean normal
pressure `pressure`, Pa: `slip`, m, is the accumulated slip by then, of which `increment` in the step; `variables` (v,)
the internal variables at the start, `out` (v,) receives those after the time elapsed. `stuck`: whether the point
sticks; the coefficient is then the threshold of stick.

Kernels are passed as first-class functions of this declared type: a bare jitted function as an argument would make
the solver recompile in every process.
"""

from numba import boolean, float64, types

REGULAR = types.UniTuple(float64, 4)(float64[::1], float64[::1], float64, float64, float64, float64[::1])
REGULAR_KERNEL = types.FunctionType(REGULAR)

FRICTION = float64(
    float64[::1], float64, float64, float64, float64, float64, boolean, float64[::1], float64[::1]
)  # fmt: skip
FRICTION_KERNEL = types.FunctionType(FRICTION)

HISTORY = 4  # length h of a history; entry ACCOUNT of the first row is the energy account of `PointLaws.carry_gaps`:
ACCOUNT = 3  # energy that changes of the pairing have removed so far and may return, J
