"""Right-hand sides of a step by the row of coefficients (`arlequin.step.coefficients`), in compiled loops."""

from collections import namedtuple

from arlequin.models.kernel_cache import called_njit
from arlequin.schemes._system_kernels import add_product, forces_of_parts, internal_forces

ALLOWED = 1e-10  # largest accepted residual of a contact problem

# Mean velocity y (d,), m/s, and multipliers φ (m,), N·s, of a step; the rest is work space: right (free,), force,
# drag, relative, before and drag_before (d,).
Prediction = namedtuple("Prediction", "y multipliers right force drag relative before drag_before")

# Fields of the system, see `CompiledSystem`, and, in loops of small systems, of the operators.
FreeMotion = namedtuple(
    "FreeMotion",
    "row free imposed imposes_displacement inertial strains viscous factor by_imposed constraints velocity multiplier",
)


@called_njit(forceinline=True)
def right_hand_side(motion, solids, push, imposed, state, prediction):
    """The right-hand side of the b-equation of `arlequin.step.coefficients` on the free degrees of freedom, `right`,
    and y on the imposed ones.

    push (d,): the term of the external forces in it, N·s; imposed: values of the imposed degrees of freedom at the end
    of the step; solids: None, or `SolidTables` of parts without short strains.
    """
    row, imposed_dofs, free = motion.row, motion.imposed, motion.free
    y, right, force = prediction.y, prediction.right, prediction.force
    momentum, internal, u, v, lead = state.momentum, state.internal, state.u, state.v, state.lead
    for d in range(y.size):
        force[d] = row.inertia * momentum[d] + (push[d] - row.displacement * internal[d])
        y[d] = 0.0
    if lead.size:
        _carry(motion, solids, state, prediction)
    for g in range(imposed_dofs.size):
        d = imposed_dofs[g]
        if motion.imposes_displacement[g]:
            y[d] = (imposed[g] - u[d]) / row.step
            if lead.size:
                y[d] -= row.step * lead[d]
        else:
            y[d] = row.weight * imposed[g] + (1.0 - row.weight) * v[d]
    for i in range(free.size):
        right[i] = force[free[i]]
    if imposed_dofs.size:
        starts, columns, values = motion.by_imposed
        for i in range(free.size):
            for e in range(starts[i], starts[i + 1]):
                right[i] -= values[e] * y[imposed_dofs[columns[e]]]


@called_njit()
def _carry(motion, solids, state, prediction):
    """Adds the terms of the lead and the averaged forces to the b-equation: −kₗ K l₀ − d D v₀ + c F₀; massless degrees
    of freedom, whose total force is zero, have −Q₀ for F₀."""
    row, force, drag = motion.row, prediction.force, prediction.drag
    if solids is None:
        internal_forces(motion.strains, state.lead, prediction.relative, drag)
    else:
        forces_of_parts(motion.strains, solids, state.lead, prediction.relative, drag)
    for d in range(force.size):
        force[d] -= row.lead * drag[d]
        if motion.inertial[d]:
            force[d] -= row.on_force * (state.internal_average[d] + state.damping_average[d])
        else:
            force[d] -= row.on_force * state.pulled[d]
    if motion.viscous.starts.size > 1:
        drag[:] = 0.0
        add_product(motion.viscous, state.v, drag)
        for d in range(force.size):
            force[d] -= row.velocity * drag[d]


@called_njit()
def constraint_rates(motion, v, constraint_sum, rates):
    """Writes the required C y (m,) of a step to `rates`."""
    if motion.row.summed:
        for i in range(rates.size):
            rates[i] = -constraint_sum[i]
        return
    rates[:] = 0.0
    add_product(motion.constraints, v, rates)
    for i in range(rates.size):
        rates[i] *= 1.0 - motion.row.weight
