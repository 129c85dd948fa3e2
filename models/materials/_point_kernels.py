"""Kirchhoff stress, energy, tangent and memory at a point, of the laws of `hyperelastic` and `plastic`.

Arguments: H = ∂u/∂X = F − 1 (3, 3), of axes = 2 (H_xz = H_yz = H_zx = H_zy = 0: plane strain, or around the axis
H_zz = u_r/r) or 3, the memory of the step's start (9,), the step Δt (s) and the coefficients of the material. With H
instead of F, stress and energy are exact to round-off of the strain, however small. The memory, zero at the start:

    0–5  C_p⁻¹ − 1 (large strains) or ε_p (small) as xx, yy, zz, yz, xz, xy
    6    α, equivalent plastic strain     7    T − T_0, K     8    plastic work ∫ σ_y dα, J/m³

`respond` writes τ_dev (3, 3) in Pa and the memory of the end, and returns the isochoric energy ψ_iso in J/m³;
`linearise` also writes c_ijkl = ∂τ_dev,ij/∂h_kl for δF = h F (small strains: δ∇u = h). Neither changes the memory of
the start, nor reads its outputs. The volumetric part: `volume_change`, `volumetric`.

The yield stress σ_y(x), x = Δα, is that at the end of the step. Its work is Δw = ∫ σ_y dα: exact for the strain
hardening, at the rate x/Δt of the step; the heating T′ = χ/(ρ c) σ_y(T) is integrated by the midpoint rule. A step
Δt = 0 has no rate effect.

Kernels of other files import `respond` and `linearise`, which are inlined in them, and pass the `kind` of the material,
the same for all points, or a constant.
"""

import math

from arlequin.models.kernel_cache import njit
from arlequin.models.materials.hyperelastic import NEO_HOOKE
from arlequin.models.materials.plastic import (
    EXPONENT,
    HEAT_EXPONENT,
    HEATING,
    LINEAR,
    PER_KELVIN,
    POWER,
    RATE,
    REFERENCE_RATE,
    SATURATION,
    SATURATION_RATE,
    SHEAR,
    SMALL_J2,
    START,
    YIELD,
)

ALPHA, RISE, WORK = 6, 7, 8  # places in the memory, after the tensor
MEMORY = 9

_CLOSE = 1e-13  # |q − σ_y|/σ_y at which the return has converged
_ITERATIONS = 200  # bisection alone needs some 60
_THIRD = 1.0 / 3.0
_SMALL_RATIO, _SMALL_POWER = 1.0 / 32.0, 1.0 / 64.0  # bounds of the series for logarithms and exponentials
_NO_PLASTIC_STRAIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
# of the arithmetic only a·b + c may be fused: the sums are written in the order that keeps small strains exact
_kernel = njit(cache=True, error_model="numpy", fastmath={"contract"})
# helpers of points of two axes: without inlining, calls take a third of the time
_small = njit(cache=True, error_model="numpy", fastmath={"contract"}, forceinline=True)
# inlined, so that unused outputs are removed from the caller's loop: a quarter of the time of a point
_inlined = njit(cache=True, error_model="numpy", fastmath={"contract"}, inline="always")


@_small
def _strength(m, alpha):
    """Cold, slow yield stress h(α), its slope and ∫ h dα."""
    h = m[YIELD] + m[LINEAR] * alpha
    slope = m[LINEAR]
    work = alpha * (m[YIELD] + 0.5 * m[LINEAR] * alpha)
    if m[SATURATION] > 0.0:
        b = m[SATURATION_RATE]
        saturation = -math.expm1(-b * alpha)
        h += m[SATURATION] * saturation
        slope += m[SATURATION] * b * (1.0 - saturation)
        work += m[SATURATION] * (alpha - saturation / b)
    if m[POWER] > 0.0 and alpha > 0.0:
        n = m[EXPONENT]
        power = m[POWER] * alpha**n
        h += power
        slope += n * power / alpha
        work += power * alpha / (n + 1.0)
    return h, slope, work


@_kernel
def _softening(m, rise):
    """1 − T*^m and its derivative in T, at the temperature T_0 + rise."""
    t = m[START] + m[PER_KELVIN] * rise
    if t <= 0.0:
        return 1.0, 0.0
    if t >= 1.0:
        return 0.0, 0.0
    power = t ** m[HEAT_EXPONENT]
    return 1.0 - power, -m[HEAT_EXPONENT] * power / t * m[PER_KELVIN]


@_kernel
def _flow_stress(m, x, step, alpha, work, rise, soft):
    """σ_y and dσ_y/dx after x of flow from α, where ∫ h = work, T − T_0 = rise, 1 − T*^m = soft; T − T_0 and Δw."""
    h, slope, total = _strength(m, alpha + x)
    faster, dfaster = 1.0, 0.0
    if m[RATE] > 0.0 and x > step * m[REFERENCE_RATE] and step > 0.0:
        faster += m[RATE] * math.log(x / (step * m[REFERENCE_RATE]))
        dfaster = m[RATE] / x
    cold = faster * (total - work)
    slope = slope * faster + h * dfaster
    h *= faster
    if m[PER_KELVIN] == 0.0:
        return h, slope, rise, cold
    dcold = h + dfaster * (total - work)
    half = 0.5 * m[HEATING] * soft
    mean, dmean = _softening(m, rise + half * cold)
    dw = mean * cold
    ddw = (mean + dmean * half * cold) * dcold
    after = rise + m[HEATING] * dw
    end, dend = _softening(m, after)
    return h * end, slope * end + h * dend * m[HEATING] * ddw, after, dw


@_kernel
def _flow(m, trial, stiffness, first, step, alpha, work, rise, soft):
    """The return q + 3μ x = q_trial, q = σ_y(x), from q = first: q, x, dσ_y/dx, T − T_0 and Δw.

    The unknown is the smaller of q and 3μ x, so that both are exact to round-off of themselves. σ_y − q ≥ 0 at q = 0
    and < 0 at q_trial: Newton's iteration is kept in the bracket, and bisects where it does not halve its steps.
    """
    low, high, x_low, x_high = 0.0, trial, trial / stiffness, 0.0  # q and x at the ends
    q, x, change = first, (trial - first) / stiffness, trial
    slope, after, dw = 0.0, rise, 0.0
    for _ in range(_ITERATIONS):
        stress, slope, after, dw = _flow_stress(m, x, step, alpha, work, rise, soft)
        residual = stress - q
        if abs(residual) <= _CLOSE * stress:
            break
        if residual > 0.0:
            low, x_low = q, x
        else:
            high, x_high = q, x
        move = residual / (1.0 + slope / stiffness)
        if q <= 0.5 * trial:
            q += move
            x = (trial - q) / stiffness
            inside = low < q < high
        else:
            x -= move / stiffness
            q = trial - stiffness * x
            inside = x_high < x < x_low
        if not (inside and abs(move) <= 0.5 * change):
            move = 0.5 * (high - low)
            q, x = 0.5 * (low + high), 0.5 * (x_low + x_high)
        change = abs(move)
    return q, x, slope, after, dw


@_small
def _radial_return(m, norm, before, step, after):
    """(q/q_trial, dq/dq_trial) of the trial strain of norm |ε|; writes α, T − T_0 and work; (1, 1) where elastic."""
    alpha, rise = before[ALPHA], before[RISE]
    after[ALPHA] = alpha
    after[RISE] = rise
    after[WORK] = before[WORK]
    stiffness = 3.0 * m[SHEAR]
    trial = math.sqrt(6.0) * m[SHEAR] * norm
    h, slope, work = _strength(m, alpha)
    soft = 1.0
    if m[PER_KELVIN] > 0.0:
        soft, _ = _softening(m, rise)
    if not trial > h * soft:
        return 1.0, 1.0
    slope = min(slope * soft, 1e3 * stiffness)  # a power of α may start upright
    first = h * soft + (trial - h * soft) * slope / (stiffness + slope)  # exact where the slope is constant
    q, x, slope, new_rise, dw = _flow(m, trial, stiffness, first, step, alpha, work, rise, soft)
    after[ALPHA] = alpha + x
    after[RISE] = new_rise
    after[WORK] += dw
    return q / trial, slope / (stiffness + slope)


@_kernel
def _spectral(xx, yy, zz, yz, xz, xy):
    """Eigenvalues and eigenvectors of a symmetric (3, 3) of trace 0, exact to round-off of its norm.

    The eigenvalue that is farthest from the others, a root of 4y³ − 3y = |cos 3θ| scaled, is well conditioned, and so
    is its vector, a column of the adjugate; a rotation in the plane across it separates the other two, near or not.
    Sources: Scherzinger & Dohrmann, CMAME 197, 2008; Duff et al., J. Comput. Graph. Tech. 6, 2017 (the plane).
    """
    size = math.sqrt((0.5 * (xx * xx + yy * yy + zz * zz) + yz * yz + xz * xz + xy * xy) * _THIRD)
    if not size > 1e-150:  # its square would be lost
        return (xx, yy, zz), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    det = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz)
    cosine = min(abs(0.5 * det / (size * size * size)), 1.0)
    y = 0.8660254 + cosine * (0.16663 - 0.03266 * cosine)  # within 1e-3
    for _ in range(3):
        y -= ((4.0 * y * y - 3.0) * y - cosine) / (12.0 * y * y - 3.0)
    isolated = math.copysign(2.0 * size * y, det)
    a, b, c = xx - isolated, yy - isolated, zz - isolated
    axx, ayy, azz = b * c - yz * yz, a * c - xz * xz, a * b - xy * xy
    ayz, axz, axy = xz * xy - a * yz, xy * yz - b * xz, yz * xz - c * xy
    if axx >= ayy and axx >= azz:
        px, py, pz = axx, axy, axz
    elif ayy >= azz:
        px, py, pz = axy, ayy, ayz
    else:
        px, py, pz = axz, ayz, azz
    scale = 1.0 / math.sqrt(px * px + py * py + pz * pz)
    px *= scale
    py *= scale
    pz *= scale
    sign = math.copysign(1.0, pz)
    a = -1.0 / (sign + pz)
    b = px * py * a
    ux, uy, uz = 1.0 + sign * px * px * a, sign * b, -sign * px
    vx, vy, vz = b, sign + py * py * a, -py
    dux, duy, duz = xx * ux + xy * uy + xz * uz, xy * ux + yy * uy + yz * uz, xz * ux + yz * uy + zz * uz
    dvx, dvy, dvz = xx * vx + xy * vy + xz * vz, xy * vx + yy * vy + yz * vz, xz * vx + yz * vy + zz * vz
    uu = ux * dux + uy * duy + uz * duz
    uv = ux * dvx + uy * dvy + uz * dvz
    vv = vx * dvx + vy * dvy + vz * dvz
    mean, radius, cos, sin = _rotation_2(uu, vv, uv)
    q = (cos * ux + sin * vx, cos * uy + sin * vy, cos * uz + sin * vz)
    r = (cos * vx - sin * ux, cos * vy - sin * uy, cos * vz - sin * uz)
    return (-2.0 * mean, mean + radius, mean - radius), (px, py, pz), q, r


@_kernel
def _rotation_2(xx, yy, xy):
    """Eigenvalues mean ± radius of a symmetric (2, 2), and the first's vector (cos, sin)."""
    mean, half = 0.5 * (xx + yy), 0.5 * (xx - yy)
    radius = math.sqrt(half * half + xy * xy)
    if not radius > 0.0:
        return mean, 0.0, 1.0, 0.0
    if half >= 0.0:
        cos = math.sqrt(0.5 + 0.5 * half / radius)
        return mean, radius, cos, 0.5 * xy / (radius * cos)
    sin = math.sqrt(0.5 - 0.5 * half / radius)
    return mean, radius, 0.5 * xy / (radius * sin), sin


@_small
def _deviator(xx, yy, zz):
    """A third of the trace, and the diagonal less it, from differences."""
    return (
        (xx + yy + zz) * _THIRD,
        ((xx - yy) + (xx - zz)) * _THIRD,
        ((yy - xx) + (yy - zz)) * _THIRD,
        ((zz - xx) + (zz - yy)) * _THIRD,
    )


@_small
def _log_ratio(s):
    """ln((1 + s)/(1 − s)) = 2 artanh s; the series of small s costs a fifth of `log1p`, its rest is below 1e-19."""
    if abs(s) > _SMALL_RATIO:
        return math.log1p(2.0 * s / (1.0 - s))
    z = s * s
    return 2.0 * s * (1.0 + z * (_THIRD + z * (0.2 + z * (1.0 / 7.0 + z * (1.0 / 9.0 + z / 11.0)))))


@_small
def _expm1(x):
    """e^x − 1; the series of small x, whose rest is below 1e-17 of it, costs a fifth of `expm1`."""
    if abs(x) > _SMALL_POWER:
        return math.expm1(x)
    tail = 1.0 + x * 0.25 * (1.0 + x * 0.2 * (1.0 + x / 6.0 * (1.0 + x / 7.0)))
    return x * (1.0 + x * 0.5 * (1.0 + x * _THIRD * tail))


@_small
def _artanh_and_log(z):
    """artanh √z/√z and ½ ln(1 − z), 0 ≤ z < 1."""
    if z > _SMALL_RATIO * _SMALL_RATIO:
        r = math.sqrt(z)
        return 0.5 * _log_ratio(r) / r, 0.5 * math.log1p(-z)
    quotient = 1.0 + z * (_THIRD + z * (0.2 + z * (1.0 / 7.0 + z * (1.0 / 9.0 + z / 11.0))))
    return quotient, -0.5 * z * (1.0 + z * (0.5 + z * (_THIRD + z * (0.25 + z * 0.2))))


@_small
def _even(y):
    """cosh r − 1 and sinh r/r of y = r² ≥ 0."""
    if y > _SMALL_POWER:
        r = math.sqrt(y)
        half = math.sinh(0.5 * r)
        return 2.0 * half * half, math.sinh(r) / r
    cosh = 0.5 * y * (1.0 + y / 12.0 * (1.0 + y / 30.0 * (1.0 + y / 56.0 * (1.0 + y / 90.0))))
    return cosh, 1.0 + y / 6.0 * (1.0 + y / 20.0 * (1.0 + y / 42.0 * (1.0 + y / 72.0 * (1.0 + y / 110.0))))


@_kernel
def _log_strains(mean, d):
    """ε_i = ½ ln λ_i less their mean, λ_i = 1 + mean + d_i, and the λ_i."""
    first, second, third = 1.0 + mean + d[0], 1.0 + mean + d[1], 1.0 + mean + d[2]
    a = _log_ratio((d[0] - d[2]) / (first + third))
    b = _log_ratio((d[1] - d[2]) / (second + third))
    return ((2.0 * a - b) / 6.0, (2.0 * b - a) / 6.0, -(a + b) / 6.0), (first, second, third)


@_kernel
def _across(v, p, q, r, i, j):
    """Component ij of Σ v_a n_a ⊗ n_a."""
    return v[0] * p[i] * p[j] + v[1] * q[i] * q[j] + v[2] * r[i] * r[j]


@_kernel
def _trial_3(H, before):
    """K = F C_p⁻¹ and the trial b_e − 1 (xx, yy, zz, yz, xz, xy), exact where H and C_p⁻¹ − 1 are small."""
    pxx, pyy, pzz, pyz, pxz, pxy = before[0], before[1], before[2], before[3], before[4], before[5]
    hxx, hxy, hxz = H[0, 0], H[0, 1], H[0, 2]
    hyx, hyy, hyz = H[1, 0], H[1, 1], H[1, 2]
    hzx, hzy, hzz = H[2, 0], H[2, 1], H[2, 2]
    fxx, fyy, fzz = 1.0 + hxx, 1.0 + hyy, 1.0 + hzz
    # F (C_p⁻¹ − 1)
    kxx, kxy, kxz = (
        fxx * pxx + hxy * pxy + hxz * pxz,
        fxx * pxy + hxy * pyy + hxz * pyz,
        fxx * pxz + hxy * pyz + hxz * pzz,
    )
    kyx, kyy, kyz = (
        hyx * pxx + fyy * pxy + hyz * pxz,
        hyx * pxy + fyy * pyy + hyz * pyz,
        hyx * pxz + fyy * pyz + hyz * pzz,
    )
    kzx, kzy, kzz = (
        hzx * pxx + hzy * pxy + fzz * pxz,
        hzx * pxy + hzy * pyy + fzz * pyz,
        hzx * pxz + hzy * pyz + fzz * pzz,
    )
    b = (
        2.0 * hxx + (hxx * hxx + hxy * hxy + hxz * hxz + kxx * fxx + kxy * hxy + kxz * hxz),
        2.0 * hyy + (hyx * hyx + hyy * hyy + hyz * hyz + kyx * hyx + kyy * fyy + kyz * hyz),
        2.0 * hzz + (hzx * hzx + hzy * hzy + hzz * hzz + kzx * hzx + kzy * hzy + kzz * fzz),
        hyz + hzy + (hyx * hzx + hyy * hzy + hyz * hzz + kyx * hzx + kyy * hzy + kyz * fzz),
        hxz + hzx + (hxx * hzx + hxy * hzy + hxz * hzz + kxx * hzx + kxy * hzy + kxz * fzz),
        hxy + hyx + (hxx * hyx + hxy * hyy + hxz * hyz + kxx * hyx + kxy * fyy + kxz * hyz),
    )
    k = (fxx + kxx, hxy + kxy, hxz + kxz, hyx + kyx, fyy + kyy, hyz + kyz, hzx + kzx, hzy + kzy, fzz + kzz)
    return k, b


@_small
def _trial_2(H, before):
    """K = F C_p⁻¹ (xx, xy, yx, yy, zz) and the trial b_e − 1 (xx, yy, zz, xy): see `_trial_3`."""
    pxx, pyy, pzz, pxy = before[0], before[1], before[2], before[5]
    hxx, hxy, hyx, hyy, hzz = H[0, 0], H[0, 1], H[1, 0], H[1, 1], H[2, 2]
    fxx, fyy, fzz = 1.0 + hxx, 1.0 + hyy, 1.0 + hzz
    kxx, kxy, kyx, kyy = fxx * pxx + hxy * pxy, fxx * pxy + hxy * pyy, hyx * pxx + fyy * pxy, hyx * pxy + fyy * pyy
    kzz = fzz * pzz
    b = (
        2.0 * hxx + (hxx * hxx + hxy * hxy + kxx * fxx + kxy * hxy),
        2.0 * hyy + (hyx * hyx + hyy * hyy + kyx * hyx + kyy * fyy),
        2.0 * hzz + (hzz * hzz + kzz * fzz),
        hxy + hyx + (hxx * hyx + hxy * hyy + kxx * hyx + kxy * fyy),
    )
    return (fxx + kxx, hxy + kxy, hyx + kyx, fyy + kyy, fzz + kzz), b


@_kernel
def _apply(xx, yy, zz, yz, xz, xy, x, y, z):
    """A symmetric (3, 3) on a vector."""
    return xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z


@_small
def _finite_j2_2(H, before, step, m, tau, after):
    """`_finite_j2_3` of two axes and a third, in the plane without directions; returns ψ_iso, q/q_trial, dq/dq_trial.

    With b = μ̄ 1 + N of the plane, N of trace 0 and N² = ρ² 1, λ₃ across it and z = (ρ/μ̄)²,

        ε = (h/3) 1 + G N in the plane, −2h/3 across,  h = ½ ln(μ̄/λ₃) + ¼ ln(1 − z),  G = artanh √z/(2 μ̄ √z),
        e^(kε) − 1 = α 1 + β N,  b⁻¹ (α 1 + β N) = [(α μ̄ − β ρ²) 1 + (β μ̄ − α) N]/(μ̄² − ρ²).
    """
    for i in range(6):
        after[i] = before[i]
    k2, (xx, yy, zz, xy) = _trial_2(H, before)
    third, dxx, dyy, dzz = _deviator(xx, yy, zz)
    mean, across, half = 1.0 + third - 0.5 * dzz, 1.0 + third + dzz, 0.5 * (dxx - dyy)
    square = half * half + xy * xy
    area = mean * mean - square
    artanh, shrink = _artanh_and_log(square / (mean * mean))
    h, g = 0.5 * (_log_ratio(-1.5 * dzz / (mean + across)) + shrink), 0.5 * artanh / mean
    norm = 2.0 * (_THIRD * h * h + g * g * square)
    scale, rate = _radial_return(m, math.sqrt(norm), before, step, after)
    s = 2.0 * m[SHEAR] * scale
    tau[0, 0] = s * (_THIRD * h + g * half)
    tau[1, 1] = s * (_THIRD * h - g * half)
    tau[2, 2] = -2.0 * _THIRD * s * h
    tau[0, 1] = tau[1, 0] = s * g * xy
    tau[0, 2] = tau[2, 0] = tau[1, 2] = tau[2, 1] = 0.0
    if scale < 1.0:
        k = 2.0 * (scale - 1.0)
        kg = k * g
        cosh, sinh = _even(kg * kg * square)
        growth = _expm1(_THIRD * k * h)
        alpha, beta = growth + (1.0 + growth) * cosh, (1.0 + growth) * sinh * kg
        on_identity, on_deviator = (alpha * mean - beta * square) / area, (beta * mean - alpha) / area
        zxx, zyy, zxy = on_identity + on_deviator * half, on_identity - on_deviator * half, on_deviator * xy
        z2 = _expm1(-2.0 * _THIRD * k * h) / across
        ux, uy = zxx * k2[0] + zxy * k2[2], zxy * k2[0] + zyy * k2[2]
        vx, vy = zxx * k2[1] + zxy * k2[3], zxy * k2[1] + zyy * k2[3]
        after[0] += k2[0] * ux + k2[2] * uy
        after[1] += k2[1] * vx + k2[3] * vy
        after[2] += k2[4] * z2 * k2[4]
        after[5] += k2[0] * vx + k2[2] * vy
    return m[SHEAR] * scale * scale * norm, scale, rate


@_kernel
def _directions_2(H, before):
    """λ_i and ε_i of the trial and their directions: two in the plane and the one across it."""
    _, (xx, yy, zz, xy) = _trial_2(H, before)
    third, dxx, dyy, dzz = _deviator(xx, yy, zz)
    mean, radius, cos, sin = _rotation_2(dxx, dyy, xy)
    e, lam = _log_strains(third, (mean + radius, mean - radius, dzz))
    return lam, e, (cos, sin, 0.0), (-sin, cos, 0.0), (0.0, 0.0, 1.0)


@_kernel
def _finite_j2_3(H, before, step, m, tau, after):
    """`respond` of large plastic strains; returns the arguments of `linearise`: ψ_iso, q/q_trial, dq/dq_trial, λ, ε, n.

    C_p⁻¹ grows by F⁻¹ (b_e − b_trial) F⁻ᵀ = Kᵀ [Σ (e^(2ε_i − 2ε_i,trial) − 1)/λ_i n_i ⊗ n_i] K, as F⁻¹ = Kᵀ b_trial⁻¹.
    """
    for i in range(6):
        after[i] = before[i]
    k, (xx, yy, zz, yz, xz, xy) = _trial_3(H, before)
    third, dxx, dyy, dzz = _deviator(xx, yy, zz)
    d, p, q, r = _spectral(dxx, dyy, dzz, yz, xz, xy)
    e, lam = _log_strains(third, d)
    scale, rate = _radial_return(m, math.sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]), before, step, after)
    s = 2.0 * m[SHEAR] * scale
    t = (s * e[0], s * e[1], s * e[2])
    tau[0, 0] = _across(t, p, q, r, 0, 0)
    tau[1, 1] = _across(t, p, q, r, 1, 1)
    tau[2, 2] = _across(t, p, q, r, 2, 2)
    tau[1, 2] = tau[2, 1] = _across(t, p, q, r, 1, 2)
    tau[0, 2] = tau[2, 0] = _across(t, p, q, r, 0, 2)
    tau[0, 1] = tau[1, 0] = _across(t, p, q, r, 0, 1)
    if scale < 1.0:
        exponent = 2.0 * (scale - 1.0)
        z = (
            _expm1(exponent * e[0]) / lam[0],
            _expm1(exponent * e[1]) / lam[1],
            _expm1(exponent * e[2]) / lam[2],
        )
        zxx, zyy, zzz = _across(z, p, q, r, 0, 0), _across(z, p, q, r, 1, 1), _across(z, p, q, r, 2, 2)
        zyz, zxz, zxy = _across(z, p, q, r, 1, 2), _across(z, p, q, r, 0, 2), _across(z, p, q, r, 0, 1)
        ux, uy, uz = _apply(zxx, zyy, zzz, zyz, zxz, zxy, k[0], k[3], k[6])
        vx, vy, vz = _apply(zxx, zyy, zzz, zyz, zxz, zxy, k[1], k[4], k[7])
        wx, wy, wz = _apply(zxx, zyy, zzz, zyz, zxz, zxy, k[2], k[5], k[8])
        after[0] += k[0] * ux + k[3] * uy + k[6] * uz
        after[1] += k[1] * vx + k[4] * vy + k[7] * vz
        after[2] += k[2] * wx + k[5] * wy + k[8] * wz
        after[3] += k[1] * wx + k[4] * wy + k[7] * wz
        after[4] += k[0] * wx + k[3] * wy + k[6] * wz
        after[5] += k[0] * vx + k[3] * vy + k[6] * vz
    energy = m[SHEAR] * scale * scale * (e[0] * e[0] + e[1] * e[1] + e[2] * e[2])
    return energy, scale, rate, lam, e, p, q, r


@_kernel
def _small_j2(H, before, step, m, tau, after):
    """`respond` of small plastic strains; returns ψ_iso, q/q_trial, dq/dq_trial and |ε| of the trial."""
    _, xx, yy, zz = _deviator(H[0, 0] - before[0], H[1, 1] - before[1], H[2, 2] - before[2])
    yz = 0.5 * (H[1, 2] + H[2, 1]) - before[3]
    xz = 0.5 * (H[0, 2] + H[2, 0]) - before[4]
    xy = 0.5 * (H[0, 1] + H[1, 0]) - before[5]
    square = xx * xx + yy * yy + zz * zz + 2.0 * (yz * yz + xz * xz + xy * xy)
    norm = math.sqrt(square)
    scale, rate = _radial_return(m, norm, before, step, after)
    s, flow = 2.0 * m[SHEAR] * scale, 1.0 - scale
    tau[0, 0] = s * xx
    tau[1, 1] = s * yy
    tau[2, 2] = s * zz
    tau[1, 2] = tau[2, 1] = s * yz
    tau[0, 2] = tau[2, 0] = s * xz
    tau[0, 1] = tau[1, 0] = s * xy
    after[0] = before[0] + flow * xx
    after[1] = before[1] + flow * yy
    after[2] = before[2] + flow * zz
    after[3] = before[3] + flow * yz
    after[4] = before[4] + flow * xz
    after[5] = before[5] + flow * xy
    return m[SHEAR] * scale * scale * square, scale, rate, norm


@_kernel
def _neo_hooke(H, before, m, tau, after):
    """`respond` of the neo-Hookean law; returns ψ_iso and J^(−2/3).

    With B = b − 1 and D its deviator, tr b̄ = 3 [(1 + N/J²)]^(1/3), N = ½ D:D (1 + tr B/3) − det D: no 3 is subtracted.
    """
    for i in range(MEMORY):
        after[i] = before[i]
    _, (xx, yy, zz, yz, xz, xy) = _trial_3(H, _NO_PLASTIC_STRAIN)
    third, dxx, dyy, dzz = _deviator(xx, yy, zz)
    half = 0.5 * (dxx * dxx + dyy * dyy + dzz * dzz) + yz * yz + xz * xz + xy * xy
    det = dxx * (dyy * dzz - yz * yz) - xy * (xy * dzz - yz * xz) + xz * (xy * yz - dyy * xz)
    J = 1.0 + volume_change(H)
    excess = math.expm1(_THIRD * math.log1p((half * (1.0 + third) - det) / (J * J)))
    isochoric = (1.0 + excess) / (1.0 + third)
    s = m[SHEAR] * isochoric
    tau[0, 0] = s * dxx
    tau[1, 1] = s * dyy
    tau[2, 2] = s * dzz
    tau[1, 2] = tau[2, 1] = s * yz
    tau[0, 2] = tau[2, 0] = s * xz
    tau[0, 1] = tau[1, 0] = s * xy
    return 1.5 * m[SHEAR] * excess, isochoric


@_small
def volume_change(H):
    """J − 1 of F = 1 + H, exact to round-off of the strain."""
    trace = H[0, 0] + H[1, 1] + H[2, 2]
    xx = H[1, 1] * H[2, 2] - H[1, 2] * H[2, 1]
    yy = H[0, 0] * H[2, 2] - H[0, 2] * H[2, 0]
    zz = H[0, 0] * H[1, 1] - H[0, 1] * H[1, 0]
    det = (
        H[0, 0] * xx
        - H[0, 1] * (H[1, 0] * H[2, 2] - H[1, 2] * H[2, 0])
        + H[0, 2] * (H[1, 0] * H[2, 1] - H[1, 1] * H[2, 0])
    )
    return trace + (xx + yy + zz + det)


@_small
def volumetric(bulk, change):
    """U = ½ K (ln J)² in J/m³ (reference), U′ = K ln J/J and U″ = K (1 − ln J)/J² in Pa, at J = 1 + change."""
    J = 1.0 + change
    log = _log_ratio(change / (1.0 + J))
    return 0.5 * bulk * log * log, bulk * log / J, bulk * (1.0 - log) / (J * J)


@_inlined
def respond(kind, axes, H, before, step, m, tau, after):
    """Write τ_dev (3, 3) and the memory of the end (9,); returns ψ_iso. See the head of this file."""
    if kind == NEO_HOOKE:
        return _neo_hooke(H, before, m, tau, after)[0]
    if kind == SMALL_J2:
        return _small_j2(H, before, step, m, tau, after)[0]
    if axes == 2:
        return _finite_j2_2(H, before, step, m, tau, after)[0]
    return _finite_j2_3(H, before, step, m, tau, after)[0]


@_inlined
def linearise(kind, axes, H, before, step, m, tau, after, c):
    """`respond` that also writes c (3, 3, 3, 3); with 2 axes not where ij or kl holds just one z."""
    if kind == NEO_HOOKE:
        energy, isochoric = _neo_hooke(H, before, m, tau, after)
        _neo_hooke_tangent(H, m[SHEAR] * isochoric, tau, c)
        return energy
    if kind == SMALL_J2:
        energy, scale, rate, norm = _small_j2(H, before, step, m, tau, after)
        _small_tangent(m[SHEAR], scale, rate, norm, tau, c)
        return energy
    if axes == 2:
        energy, scale, rate = _finite_j2_2(H, before, step, m, tau, after)
        lam, e, p, q, r = _directions_2(H, before)
    else:
        energy, scale, rate, lam, e, p, q, r = _finite_j2_3(H, before, step, m, tau, after)
    _hencky_tangent(axes, m[SHEAR], scale, rate, lam, e, p, q, r, c)
    return energy


@_kernel
def _neo_hooke_tangent(H, s, tau, c):
    """c_ijkl = s (δ_ik b_jl + δ_jk b_il − ⅔ δ_ij b_kl) − ⅔ τ_ij δ_kl, s = μ J^(−2/3)."""
    _, (xx, yy, zz, yz, xz, xy) = _trial_3(H, _NO_PLASTIC_STRAIN)
    b = ((1.0 + xx, xy, xz), (xy, 1.0 + yy, yz), (xz, yz, 1.0 + zz))
    for i in range(3):
        for j in range(3):
            for k in range(3):
                for l in range(3):  # noqa: E741
                    value = 0.0
                    if i == k:
                        value += s * b[j][l]
                    if j == k:
                        value += s * b[i][l]
                    if i == j:
                        value -= 2.0 * _THIRD * s * b[k][l]
                    if k == l:
                        value -= 2.0 * _THIRD * tau[i, j]
                    c[i, j, k, l] = value


@_kernel
def _small_tangent(shear, scale, rate, norm, tau, c):
    """c = 2μ [k (1_sym − ⅓ 1 ⊗ 1) + (k′ − k) n ⊗ n], n the direction of τ_dev, k = q/q_trial, k′ = dq/dq_trial."""
    size = 2.0 * shear * scale * norm
    normal_factor = 2.0 * shear * (rate - scale) / (size * size) if size > 0.0 else 0.0
    for i in range(3):
        for j in range(3):
            for k in range(3):
                for l in range(3):  # noqa: E741
                    value = normal_factor * tau[i, j] * tau[k, l]
                    if i == k and j == l:
                        value += shear * scale
                    if i == l and j == k:
                        value += shear * scale
                    if i == j and k == l:
                        value -= 2.0 * _THIRD * shear * scale
                    c[i, j, k, l] = value


@_kernel
def _hencky_tangent(axes, shear, scale, rate, lam, e, p, q, r, c):
    """c by principal directions: δε_a = h_aa, and for two directions δτ_ab = g_ab (λ_b h_ab + λ_a h_ba).

    ∂τ_a/∂ε_b = 2μ [k (δ_ab − ⅓) + (k′ − k) n_a n_b], n = ε/|ε|, k = q/q_trial, k′ = dq/dq_trial, and
    g_ab = (τ_a − τ_b)/(λ_a − λ_b), λ_b g_ab = μ k ln(λ_a/λ_b)/(λ_a/λ_b − 1): no limit to take at equal λ.
    """
    square = e[0] * e[0] + e[1] * e[1] + e[2] * e[2]
    normal_factor = (rate - scale) / square if square > 0.0 else 0.0
    g_lam_b = (
        shear * scale * _secant(lam[0], lam[1]),
        shear * scale * _secant(lam[0], lam[2]),
        shear * scale * _secant(lam[1], lam[2]),
    )
    g_lam_a = (g_lam_b[0] * lam[0] / lam[1], g_lam_b[1] * lam[0] / lam[2], g_lam_b[2] * lam[1] / lam[2])
    for k in range(3):
        for l in range(3):  # noqa: E741
            if axes == 2 and (k == 2) != (l == 2):
                continue
            product = (p[k] * p[l], q[k] * q[l], r[k] * r[l])
            part = scale * _THIRD * (product[0] + product[1] + product[2])
            normal_part = normal_factor * (e[0] * product[0] + e[1] * product[1] + e[2] * product[2])
            y = (
                2.0 * shear * (scale * product[0] - part + normal_part * e[0]),
                2.0 * shear * (scale * product[1] - part + normal_part * e[1]),
                2.0 * shear * (scale * product[2] - part + normal_part * e[2]),
            )
            z0 = g_lam_b[0] * p[k] * q[l] + g_lam_a[0] * q[k] * p[l]
            z1 = g_lam_b[1] * p[k] * r[l] + g_lam_a[1] * r[k] * p[l]
            z2 = g_lam_b[2] * q[k] * r[l] + g_lam_a[2] * r[k] * q[l]
            for i in range(3):
                for j in range(i, 3):
                    if axes == 2 and j == 2 and i != 2:
                        continue
                    value = _across(y, p, q, r, i, j)
                    value += z0 * (p[i] * q[j] + q[i] * p[j])
                    value += z1 * (p[i] * r[j] + r[i] * p[j])
                    value += z2 * (q[i] * r[j] + r[i] * q[j])
                    c[i, j, k, l] = value
                    c[j, i, k, l] = value


@_kernel
def _secant(a, b):
    """ln(a/b)/(a/b − 1)."""
    d = (a - b) / b
    return math.log1p(d) / d if abs(d) > 1e-9 else 1.0 - 0.5 * d
