"""Internal force and stored energy of linear elasticity from the strains at the quadrature points.

Every kernel takes nodes (c, n), gradients (c, q, axis, n), weight (c, q) (the weighted measure), the Lamé
constants and u (d,), adds the internal force to force (d,) and returns the energy ½ ∫ σ:ε. Displacements are
taken relative to the cell's first node (Σ_n ∂φ_n = 0), so that a translation of any size gives exactly
zero.
"""

import numba
import numpy as np

# sums may be reordered and fused (that is what lets them vectorise); nan and inf keep their meaning
FAST = {"reassoc", "contract", "nsz"}
SIDE = 16  # displacement vectors per vectorised block


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def internal_line(nodes, gradients, weight, modulus, u, force):
    """Uniaxial: stress = modulus · u′."""
    cells, points, _, size = gradients.shape
    energy = 0.0
    local = np.empty(size)
    out = np.empty(size)
    for c in range(cells):
        for n in range(size):
            local[n] = u[nodes[c, n]] - u[nodes[c, 0]]
            out[n] = 0.0
        for q in range(points):
            strain = 0.0
            for n in range(size):
                strain += gradients[c, q, 0, n] * local[n]
            stress = modulus * strain * weight[c, q]
            energy += 0.5 * stress * strain
            for n in range(size):
                out[n] += gradients[c, q, 0, n] * stress
        for n in range(size):
            force[nodes[c, n]] += out[n]
    return energy


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def internal_plane(nodes, gradients, weight, lam, mu, u, force):
    """Plane strain, or plane stress with λ*."""
    cells, points, _, size = gradients.shape
    energy = 0.0
    ux = np.empty(size)
    uy = np.empty(size)
    fx = np.empty(size)
    fy = np.empty(size)
    for c in range(cells):
        first = 2 * nodes[c, 0]
        for n in range(size):
            ux[n] = u[2 * nodes[c, n]] - u[first]
            uy[n] = u[2 * nodes[c, n] + 1] - u[first + 1]
            fx[n] = 0.0
            fy[n] = 0.0
        for q in range(points):
            xx = 0.0
            yy = 0.0
            xy = 0.0
            for n in range(size):
                gx = gradients[c, q, 0, n]
                gy = gradients[c, q, 1, n]
                xx += gx * ux[n]
                yy += gy * uy[n]
                xy += gy * ux[n] + gx * uy[n]
            w = weight[c, q]
            pressure = lam * (xx + yy) * w
            sxx = pressure + 2 * mu * w * xx
            syy = pressure + 2 * mu * w * yy
            sxy = mu * w * xy
            energy += 0.5 * (sxx * xx + syy * yy + sxy * xy)
            for n in range(size):
                gx = gradients[c, q, 0, n]
                gy = gradients[c, q, 1, n]
                fx[n] += gx * sxx + gy * sxy
                fy[n] += gx * sxy + gy * syy
        for n in range(size):
            force[2 * nodes[c, n]] += fx[n]
            force[2 * nodes[c, n] + 1] += fy[n]
    return energy


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def internal_axisymmetric(nodes, gradients, hoop, weight, lam, mu, u, force):
    """Axisymmetric, components (r, z); hoop (c, q, n) = φ_n/r gives ε_θθ = u_r/r."""
    cells, points, _, size = gradients.shape
    energy = 0.0
    ur = np.empty(size)
    uz = np.empty(size)
    fr = np.empty(size)
    fz = np.empty(size)
    for c in range(cells):
        first = 2 * nodes[c, 0]
        for n in range(size):
            ur[n] = u[2 * nodes[c, n]]
            uz[n] = u[2 * nodes[c, n] + 1] - u[first + 1]
            fr[n] = 0.0
            fz[n] = 0.0
        for q in range(points):
            rr = 0.0
            zz = 0.0
            rz = 0.0
            tt = 0.0
            for n in range(size):
                gr = gradients[c, q, 0, n]
                gz = gradients[c, q, 1, n]
                rr += gr * ur[n]
                zz += gz * uz[n]
                rz += gz * ur[n] + gr * uz[n]
                tt += hoop[c, q, n] * ur[n]
            w = weight[c, q]
            pressure = lam * (rr + zz + tt) * w
            srr = pressure + 2 * mu * w * rr
            szz = pressure + 2 * mu * w * zz
            stt = pressure + 2 * mu * w * tt
            srz = mu * w * rz
            energy += 0.5 * (srr * rr + szz * zz + stt * tt + srz * rz)
            for n in range(size):
                gr = gradients[c, q, 0, n]
                gz = gradients[c, q, 1, n]
                fr[n] += gr * srr + gz * srz + hoop[c, q, n] * stt
                fz[n] += gr * srz + gz * szz
        for n in range(size):
            force[2 * nodes[c, n]] += fr[n]
            force[2 * nodes[c, n] + 1] += fz[n]
    return energy


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def internal_solid(nodes, gradients, weight, lam, mu, u, force):
    """Three dimensions."""
    cells, points, _, size = gradients.shape
    energy = 0.0
    ux = np.empty(size)
    uy = np.empty(size)
    uz = np.empty(size)
    fx = np.empty(size)
    fy = np.empty(size)
    fz = np.empty(size)
    for c in range(cells):
        first = 3 * nodes[c, 0]
        for n in range(size):
            d = 3 * nodes[c, n]
            ux[n] = u[d] - u[first]
            uy[n] = u[d + 1] - u[first + 1]
            uz[n] = u[d + 2] - u[first + 2]
            fx[n] = 0.0
            fy[n] = 0.0
            fz[n] = 0.0
        for q in range(points):
            xx = 0.0
            yy = 0.0
            zz = 0.0
            yz = 0.0
            xz = 0.0
            xy = 0.0
            for n in range(size):
                gx = gradients[c, q, 0, n]
                gy = gradients[c, q, 1, n]
                gz = gradients[c, q, 2, n]
                xx += gx * ux[n]
                yy += gy * uy[n]
                zz += gz * uz[n]
                yz += gz * uy[n] + gy * uz[n]
                xz += gz * ux[n] + gx * uz[n]
                xy += gy * ux[n] + gx * uy[n]
            w = weight[c, q]
            pressure = lam * (xx + yy + zz) * w
            sxx = pressure + 2 * mu * w * xx
            syy = pressure + 2 * mu * w * yy
            szz = pressure + 2 * mu * w * zz
            syz = mu * w * yz
            sxz = mu * w * xz
            sxy = mu * w * xy
            energy += 0.5 * (sxx * xx + syy * yy + szz * zz + syz * yz + sxz * xz + sxy * xy)
            for n in range(size):
                gx = gradients[c, q, 0, n]
                gy = gradients[c, q, 1, n]
                gz = gradients[c, q, 2, n]
                fx[n] += gx * sxx + gy * sxy + gz * sxz
                fy[n] += gx * sxy + gy * syy + gz * syz
                fz[n] += gx * sxz + gy * syz + gz * szz
        for n in range(size):
            d = 3 * nodes[c, n]
            force[d] += fx[n]
            force[d + 1] += fy[n]
            force[d + 2] += fz[n]
    return energy


# the same for each row of u (n, d), added to the rows of force (n, d) and to energies (n,)


@numba.njit(cache=True, nogil=True)
def each_line(nodes, gradients, weight, modulus, u, force, energies):
    """`internal_line`."""
    for m in range(u.shape[0]):
        energies[m] += internal_line(nodes, gradients, weight, modulus, u[m], force[m])


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def each_plane(nodes, gradients, weight, lam, mu, u, force, energies):
    """`internal_plane` in blocks of SIDE rows, over which the inner loops vectorise."""
    cells, points, _, size = gradients.shape
    local, out = np.empty((2 * size, SIDE)), np.empty((2 * size, SIDE))
    strain, total = np.empty((3, SIDE)), np.empty(SIDE)
    for first in range(0, u.shape[0], SIDE):
        count = min(SIDE, u.shape[0] - first)
        total[:] = 0.0
        local[:] = 0.0
        for c in range(cells):
            base = 2 * nodes[c, 0]
            for n in range(size):
                d = 2 * nodes[c, n]
                for b in range(count):
                    local[2 * n, b] = u[first + b, d] - u[first + b, base]
                    local[2 * n + 1, b] = u[first + b, d + 1] - u[first + b, base + 1]
            out[:] = 0.0
            for q in range(points):
                strain[:] = 0.0
                for n in range(size):
                    gx = gradients[c, q, 0, n]
                    gy = gradients[c, q, 1, n]
                    ux, uy = local[2 * n], local[2 * n + 1]
                    for b in range(SIDE):
                        strain[0, b] += gx * ux[b]
                        strain[1, b] += gy * uy[b]
                        strain[2, b] += gy * ux[b] + gx * uy[b]
                w = weight[c, q]
                for b in range(SIDE):
                    xx, yy, xy = strain[0, b], strain[1, b], strain[2, b]
                    pressure = lam * (xx + yy) * w
                    sxx = pressure + 2 * mu * w * xx
                    syy = pressure + 2 * mu * w * yy
                    sxy = mu * w * xy
                    total[b] += 0.5 * (sxx * xx + syy * yy + sxy * xy)
                    strain[0, b], strain[1, b], strain[2, b] = sxx, syy, sxy
                for n in range(size):
                    gx = gradients[c, q, 0, n]
                    gy = gradients[c, q, 1, n]
                    fx, fy = out[2 * n], out[2 * n + 1]
                    for b in range(SIDE):
                        fx[b] += gx * strain[0, b] + gy * strain[2, b]
                        fy[b] += gx * strain[2, b] + gy * strain[1, b]
            for n in range(size):
                d = 2 * nodes[c, n]
                for b in range(count):
                    force[first + b, d] += out[2 * n, b]
                    force[first + b, d + 1] += out[2 * n + 1, b]
        for b in range(count):
            energies[first + b] += total[b]


@numba.njit(cache=True, nogil=True)
def each_axisymmetric(nodes, gradients, hoop, weight, lam, mu, u, force, energies):
    """`internal_axisymmetric`."""
    for m in range(u.shape[0]):
        energies[m] += internal_axisymmetric(nodes, gradients, hoop, weight, lam, mu, u[m], force[m])


@numba.njit(cache=True, nogil=True)
def each_solid(nodes, gradients, weight, lam, mu, u, force, energies):
    """`internal_solid`."""
    for m in range(u.shape[0]):
        energies[m] += internal_solid(nodes, gradients, weight, lam, mu, u[m], force[m])
