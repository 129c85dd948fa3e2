"""The one numba signature of a regular normal law, shared by the laws that declare it and the solvers that call it.

    kernel(coefficients, history, gap, step, theta, trial) -> (stored, d stored/dg, dissipated, d
    dissipated/dg)

`coefficients` (m,) are the law's constants, padded to those of the longest law, `history` (h,) what it remembers at the
last accepted step (entry 0 is always the gap there, m), `gap` (m) the trial gap at the end of the step, `step` (s),
`theta` the scheme's weight on the end of the step, `trial` (h,) receives the trial history. The four numbers are the
mean tractions over the step (Pa; their derivatives by the end gap Pa/m): the part that derives from a stored energy,
and the part that dissipates.

Kernels are passed as first-class functions of this declared type: a bare jitted function as an argument would make
the solver recompile in every process.
"""

from numba import float64, types

REGULAR = types.UniTuple(float64, 4)(float64[::1], float64[::1], float64, float64, float64, float64[::1])
REGULAR_KERNEL = types.FunctionType(REGULAR)

HISTORY = 4  # room for what a law, or a spring of friction, remembers (3), and of the first law the account:
ACCOUNT = 3  # energy that changes of pairing took so far and may give back, J; see `PointLaws.carried`
