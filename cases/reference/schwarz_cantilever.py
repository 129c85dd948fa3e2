"""Published energy drifts of overlapping Schwarz couplings of the cantilever released from a parabola.

Code Norma of Sandia National Laboratories, note "Schwarz Coupling in Norma" (docs/notes/schwarz-coupling of
github.com/sandialabs/Norma.jl, state of 8 August 2026): table "Energy drift at 1 ms across the mesh-ratio family",
impedance overlap coupling with variational transfer; section "Long-horizon behavior": at 10 ms 74 of the 108 runs had
ended by element inversion after exponential growth of their energy, most others decayed towards zero, and only the
three of conforming meshes with implicit steps on both sides (+0.64, +0.61, +0.16 %) stayed accurate.

Beam of 254 × 25.4 × 12.7 mm, E = 6.895 GPa, ν = 0.25, ρ = 2,768 kg/m³, steps of 1 µs, free part with cells of 6.35 mm,
clamped part with cells of 6.35 mm / ratio.
"""

from arlequin.models.errors import UserError

RATIOS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
OVERLAPS = (0.0508, 0.0254, 0.0127)  # m
PAIRS = ("II", "IE", "EI", "EE")  # schemes of the clamped and of the free part: implicit, explicit
FAILED_AT_10_MS = 74  # of 108

# E(1 ms)/E(0) − 1, %, of each ratio: the pairs at the first overlap, the second, the third
_DRIFTS = (
    (-0.1, -8.9, -0.2, 8.7, -0.1, 5.0, -0.4, 10.2, -0.0, -15.7, -6.1, 3.6),
    (7.6, -11.7, -5.5, 8.5, -4.4, -8.1, 4.4, 9.1, 0.1, -14.8, -1.0, 4.3),
    (29.8, -15.3, 5.5, -9.5, 20.4, 45.1, -2.4, -1.9, -3.1, -20.3, -5.4, 4.7),
    (19.2, -12.8, 2.7, -11.6, 11.8, -18.6, 0.7, -5.4, 11.1, 7.3, -9.8, -17.9),
    (-61.1, -54.0, -57.7, -40.4, 2.1, -18.6, -63.9, -53.4, -4.5, -34.2, -57.1, -52.7),
    (-50.6, -32.3, -36.4, -56.8, -11.0, -17.6, -55.7, -54.3, -29.2, -54.0, -56.8, -52.0),
    (-12.4, 3.9, -43.1, -53.1, -52.7, -50.2, -57.0, -63.8, -36.6, -52.4, -78.2, -76.2),
    (-65.0, -44.5, -78.3, -57.4, 173.7, 274.7, -81.2, -78.8, -30.5, -58.6, -79.5, -79.4),
    (-79.1, -76.8, -80.8, -78.9, -66.5, -66.2, -86.3, -87.4, -22.2, -45.8, -91.2, -90.3),
)


def drifts(overlap: float, pair: str) -> dict[float, float]:
    """Published drift E(1 ms)/E(0) − 1 by ratio, for an overlap, m, and a pair of schemes; UserError for others."""
    if overlap not in OVERLAPS:
        raise UserError.parameter("overlap", overlap, f"must be one of {', '.join(f'{value:g}' for value in OVERLAPS)}")
    column = len(PAIRS) * OVERLAPS.index(overlap) + PAIRS.index(pair)
    return {ratio: row[column] / 100.0 for ratio, row in zip(RATIOS, _DRIFTS, strict=True)}
