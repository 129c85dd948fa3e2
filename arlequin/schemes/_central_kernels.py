"""Central differences of the nodes of a piece, `axes` degrees of freedom each.

spans (s, 2): runs of nodes, first ≤ n < last. F = external − force; mass (n,), inverse (d,): M⁻¹, 0 on dofs that are
not free. Added to sums (8,): the kinetic energy ½ half·(M half + Δt F), the products of half with force and external
before the update, those after it, and the momentum of v = half + ½ Δt M⁻¹F, three components. pull (d,): forces of
constraints, N, in addition to F.
"""

from arlequin.models.kernel_cache import njit

# sums may be reordered and fused, so that they vectorise; nan and inf keep their meaning
FAST = {"reassoc", "contract", "nsz"}


@njit(inline="always")
def _over(axes, loaded, joined, spans, step, force, external, pull, mass, inverse, half, u, following, sums):
    """`over_piece` with constant axes, with or without loads (loaded) and constraint forces (joined)."""
    inner, outer, twice, inner_after, outer_after = 0.0, 0.0, 0.0, 0.0, 0.0
    px, py, pz = 0.0, 0.0, 0.0
    for s in range(spans.shape[0]):
        for n in range(spans[s, 0], spans[s, 1]):
            m = mass[n]
            for i in range(axes):
                d = axes * n + i
                resisting, h = force[d], half[d]
                a = -resisting
                if loaded:
                    load = external[d]
                    a += load
                    outer += load * h
                if joined:
                    a += pull[d]
                a *= inverse[d]
                inner += resisting * h
                twice += m * h * h
                p = m * (h + 0.5 * step * a)
                if i == 0:
                    px += p
                elif i == 1:
                    py += p
                else:
                    pz += p
                h += step * a
                half[d] = h
                following[d] = u[d] + step * h
                inner_after += resisting * h
                if loaded:
                    outer_after += external[d] * h
    sums[0] += 0.5 * (twice + step * (outer - inner))
    sums[1] += inner
    sums[2] += outer
    sums[3] += inner_after
    sums[4] += outer_after
    sums[5] += px
    sums[6] += py
    sums[7] += pz


@njit(inline="always")
def _either(axes, loaded, joined, spans, step, force, external, pull, mass, inverse, half, u, following, sums):
    """`over_piece` with constant axes."""
    if joined:  # one version, loaded or not: such steps are dominated by other costs
        _over(axes, True, True, spans, step, force, external, pull, mass, inverse, half, u, following, sums)
    elif loaded:
        _over(axes, True, False, spans, step, force, external, pull, mass, inverse, half, u, following, sums)
    else:
        _over(axes, False, False, spans, step, force, external, pull, mass, inverse, half, u, following, sums)


@njit(cache=True, fastmath=FAST, nogil=True)
def over_piece(axes, loaded, joined, spans, step, force, external, pull, mass, inverse, half, u, following, sums):
    """Adds the sums and updates half += Δt M⁻¹(F + pull), following = u + Δt half.

    loaded, joined: whether external and pull are other than 0.
    """
    if axes == 2:
        _either(2, loaded, joined, spans, step, force, external, pull, mass, inverse, half, u, following, sums)
    elif axes == 3:
        _either(3, loaded, joined, spans, step, force, external, pull, mass, inverse, half, u, following, sums)
    else:
        _either(1, loaded, joined, spans, step, force, external, pull, mass, inverse, half, u, following, sums)


@njit(cache=True, fastmath=FAST, nogil=True)
def free_velocities(axes, spans, step, force, external, inverse, half, free):
    """Velocities free = half + Δt M⁻¹F without constraints."""
    for s in range(spans.shape[0]):
        for d in range(axes * spans[s, 0], axes * spans[s, 1]):
            free[d] = half[d] + step * inverse[d] * (external[d] - force[d])
