"""Central differences of the nodes piece[0] … piece[1] − 1 of a piece, `axes` degrees of freedom each.

F = external − force; mass (n,), inverse (d,): M⁻¹, 0 where nothing moves. What is summed, sums (8,): the kinetic energy
½ half·(M half + Δt F) and the products of half with force and external before the push, those after it, and the
momentum of v = half + ½ Δt M⁻¹F, three components. pull (d,): forces of constraints, N, which are not in F but push
as well.
"""

from arlequin.models.kernel_cache import njit

# sums may be reordered and fused (that is what lets them vectorise); nan and inf keep their meaning
FAST = {"reassoc", "contract", "nsz"}


@njit(inline="always")
def _over(axes, loaded, joined, piece, step, force, external, pull, mass, inverse, half, u, following, sums):
    """`over_piece` with constant axes, of a piece that is loaded or not, pulled by constraints or not."""
    inner, outer, twice, inner_after, outer_after = 0.0, 0.0, 0.0, 0.0, 0.0
    px, py, pz = 0.0, 0.0, 0.0
    for n in range(piece[0], piece[1]):
        m = mass[n]
        for i in range(axes):
            d = axes * n + i
            resisting, h = force[d], half[d]
            a = -resisting
            if loaded:
                given = external[d]
                a += given
                outer += given * h
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
    sums[0] = 0.5 * (twice + step * (outer - inner))
    sums[1], sums[2], sums[3], sums[4] = inner, outer, inner_after, outer_after
    sums[5], sums[6], sums[7] = px, py, pz


@njit(inline="always")
def _either(axes, loaded, joined, piece, step, force, external, pull, mass, inverse, half, u, following, sums):
    """`over_piece` with constant axes."""
    if joined:  # for both, loaded or not: such steps cost more elsewhere
        _over(axes, True, True, piece, step, force, external, pull, mass, inverse, half, u, following, sums)
    elif loaded:
        _over(axes, True, False, piece, step, force, external, pull, mass, inverse, half, u, following, sums)
    else:
        _over(axes, False, False, piece, step, force, external, pull, mass, inverse, half, u, following, sums)


@njit(cache=True, fastmath=FAST, nogil=True)
def over_piece(axes, loaded, joined, piece, step, force, external, pull, mass, inverse, half, u, following, sums):
    """The sums, and the push: half += Δt M⁻¹(F + pull), following = u + Δt half.

    loaded, joined: whether external and pull are other than 0.
    """
    if axes == 2:
        _either(2, loaded, joined, piece, step, force, external, pull, mass, inverse, half, u, following, sums)
    elif axes == 3:
        _either(3, loaded, joined, piece, step, force, external, pull, mass, inverse, half, u, following, sums)
    else:
        _either(1, loaded, joined, piece, step, force, external, pull, mass, inverse, half, u, following, sums)


@njit(cache=True, fastmath=FAST, nogil=True)
def free_velocities(first, last, step, force, external, inverse, half, free):
    """Velocities free = half + Δt M⁻¹F without constraints, of the degrees of freedom first … last − 1."""
    for d in range(first, last):
        free[d] = half[d] + step * inverse[d] * (external[d] - force[d])
