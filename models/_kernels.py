"""Internal force and stored energy of linear elasticity from the strains at the quadrature points, in a pass.

Every kernel takes nodes (c, n), gradients (c, q, axis, n), weight (c, q) (the weighted measure), the Lamé
constants and u (d,), adds the internal force to force (d,) and returns the energy ½ ∫ σ:ε. Displacements are
taken relative to the cell's first node (Σ_n ∂φ_n = 0), so that a translation gives exactly nothing, whatever
its size.
"""

import numba
import numpy as np

# sums may be reordered and fused (that is what lets them vectorise); nan and inf keep their meaning
FAST = {"reassoc", "contract", "nsz"}


@numba.njit(cache=True, fastmath=FAST)
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


@numba.njit(cache=True, fastmath=FAST)
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


@numba.njit(cache=True, fastmath=FAST)
def internal_four(nodes, gradients, weight, lam, mu, u, force):
    """`internal_plane` of cells with four nodes, in half the time: their loops are written out.

    The first node's gradient is −Σ of the others and is not read; the forces of a cell so add up to nothing.
    """
    cells, points = weight.shape
    energy = 0.0
    for c in range(cells):
        a, i, j, k = 2 * nodes[c, 0], 2 * nodes[c, 1], 2 * nodes[c, 2], 2 * nodes[c, 3]
        xi, xj, xk = u[i] - u[a], u[j] - u[a], u[k] - u[a]
        yi, yj, yk = u[i + 1] - u[a + 1], u[j + 1] - u[a + 1], u[k + 1] - u[a + 1]
        fi = fj = fk = hi = hj = hk = 0.0
        for q in range(points):
            gxi, gxj, gxk = gradients[c, q, 0, 1], gradients[c, q, 0, 2], gradients[c, q, 0, 3]
            gyi, gyj, gyk = gradients[c, q, 1, 1], gradients[c, q, 1, 2], gradients[c, q, 1, 3]
            xx = gxi * xi + gxj * xj + gxk * xk
            yy = gyi * yi + gyj * yj + gyk * yk
            xy = gyi * xi + gyj * xj + gyk * xk + gxi * yi + gxj * yj + gxk * yk
            w = weight[c, q]
            pressure = lam * (xx + yy) * w
            sxx = pressure + 2 * mu * w * xx
            syy = pressure + 2 * mu * w * yy
            sxy = mu * w * xy
            energy += 0.5 * (sxx * xx + syy * yy + sxy * xy)
            fi += gxi * sxx + gyi * sxy
            fj += gxj * sxx + gyj * sxy
            fk += gxk * sxx + gyk * sxy
            hi += gxi * sxy + gyi * syy
            hj += gxj * sxy + gyj * syy
            hk += gxk * sxy + gyk * syy
        force[a] -= fi + fj + fk
        force[a + 1] -= hi + hj + hk
        force[i] += fi
        force[i + 1] += hi
        force[j] += fj
        force[j + 1] += hj
        force[k] += fk
        force[k + 1] += hk
    return energy


@numba.njit(cache=True, fastmath=FAST)
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


@numba.njit(cache=True, fastmath=FAST)
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
