"""Central differences of the nodes piece[0] … piece[1] − 1 of a piece, `axes` degrees of freedom each.

F = external − force; mass (n,), inverse (d,): M⁻¹, 0 where nothing moves. What is summed, sums (8,): the kinetic energy
½ half·(M half + Δt F) and the products of half with force and external before the push, those after it, and the
momentum of v = half + ½ Δt M⁻¹F, three components.
"""

from arlequin.models.kernel_cache import njit

# sums may be reordered and fused (that is what lets them vectorise); nan and inf keep their meaning
FAST = {"reassoc", "contract", "nsz"}


@njit(inline="always")
def _over(axes, loaded, piece, step, force, external, mass, inverse, half, u, following, sums):
    """`over_piece` with constant axes, of a piece that is loaded or not."""
    inner, outer, twice, inner_after, outer_after = 0.0, 0.0, 0.0, 0.0, 0.0
    px, py, pz = 0.0, 0.0, 0.0
    for n in range(piece[0], piece[1]):
        m = mass[n]
        for i in range(axes):
            d = axes * n + i
            resisting, h = force[d], half[d]
            a = -resisting
            if loaded:
                pull = external[d]
                a += pull
                outer += pull * h
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
    sums[0] = 0.5 * (twice + step * (outer - inner))
    sums[1], sums[2], sums[3], sums[4] = inner, outer, inner_after, outer_after
    sums[5], sums[6], sums[7] = px, py, pz


@njit(inline="always")
def _either(axes, loaded, piece, step, force, external, mass, inverse, half, u, following, sums):
    """`over_piece` with constant axes."""
    if loaded:
        _over(axes, True, piece, step, force, external, mass, inverse, half, u, following, sums)
    else:
        _over(axes, False, piece, step, force, external, mass, inverse, half, u, following, sums)


@njit(cache=True, fastmath=FAST, nogil=True)
def over_piece(axes, loaded, piece, step, force, external, mass, inverse, half, u, following, sums):
    """The sums, and the push: half += Δt M⁻¹F, following = u + Δt half. loaded: whether external is other than 0."""
    if axes == 2:
        _either(2, loaded, piece, step, force, external, mass, inverse, half, u, following, sums)
    elif axes == 3:
        _either(3, loaded, piece, step, force, external, mass, inverse, half, u, following, sums)
    else:
        _either(1, loaded, piece, step, force, external, mass, inverse, half, u, following, sums)
