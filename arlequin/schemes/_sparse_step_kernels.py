"""Operations on every dof of a step of several members, in one pass each."""

from arlequin.models.kernel_cache import njit

FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath={"contract"})
def push(factor, momentum, external, internal, out):
    """out (n, d) = p + h (f − f_int), h the factor; external (n, d), or (1, d) for all."""
    for m in range(out.shape[0]):
        load = external[m] if external.shape[0] > 1 else external[0]
        for d in range(out.shape[1]):
            out[m, d] = momentum[m, d] + factor * (load[d] - internal[m, d])


@njit(cache=True, nogil=True, fastmath={"contract"})
def move(step, weight, y, flow, before_u, before_v, u, v):
    """u₁ = u₀ + Δt flow, v₁ = v₀ + (y − v₀)/λ, all (n, d)."""
    for m in range(u.shape[0]):
        for d in range(u.shape[1]):
            u[m, d] = before_u[m, d] + step * flow[m, d]
            v[m, d] = before_v[m, d] + (y[m, d] - before_v[m, d]) / weight


@njit(cache=True, nogil=True, fastmath=FAST)
def settle(
    step, gamma, flow, before_v, v, before, after, external, damping, momentum, inertia, moving, end_momentum, sums
):
    """Momentum (n, d) at the end of the step, without the impulses of constraints and contact, and works of the bulk.

    flow (n, d): (u₁ − u₀)/Δt; before, after (n, d): internal forces at the ends of the step, or averages of them, with
    the mean (1 − γ) before + γ after; damping (n, d), N, or none, (0, d); momentum at the start and inertia, M v₁
    (n, d). moving (d,): dofs whose momentum is the sum of the impulses.
    sums (n, 5): ½ v₁·M v₁, external forces on Δt flow, and on the path Δt (v₀ + v₁)/2 external, internal and damping
    forces.
    """
    for m in range(flow.shape[0]):
        load = external[m] if external.shape[0] > 1 else external[0]
        kinetic, external_work, external_path_work, internal_work, damping_work = 0.0, 0.0, 0.0, 0.0, 0.0
        for d in range(flow.shape[1]):
            mean = (1.0 - gamma) * before[m, d] + gamma * after[m, d]
            path = 0.5 * step * (before_v[m, d] + v[m, d])
            kinetic += v[m, d] * inertia[m, d]
            external_work += load[d] * (step * flow[m, d])
            external_path_work += load[d] * path
            internal_work += mean * path
            summed = momentum[m, d] - step * (mean - load[d])
            end_momentum[m, d] = summed if moving[d] else inertia[m, d]
        if damping.shape[0]:
            for d in range(flow.shape[1]):
                damping_work += damping[m, d] * (0.5 * step * (before_v[m, d] + v[m, d]))
                if moving[d]:
                    end_momentum[m, d] -= step * damping[m, d]
        sums[m, 0], sums[m, 1], sums[m, 2] = 0.5 * kinetic, external_work, external_path_work
        sums[m, 3], sums[m, 4] = internal_work, damping_work
