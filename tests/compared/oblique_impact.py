"""Oblique impact of identical balls against the curve of Maw, Barber and Fawcett."""

from page import Section

from arlequin.cases import oblique_impact as case

ANGLES = (0.7, 2.0, 3.0, 6.0)  # ψ₁
TEXT = """Identical balls, ν = 0.3, μ = 0.1, a/R = 0.005, {cells} cells of second order over the contact radius:
tangential velocity after the impact, ψ₂, and tangential impulse over μ m V_n, against the theory of Maw, Barber and
Fawcett (Wear 38, 1976)."""


def section(cells: int = 2) -> Section:
    """Each angle is a run of its own."""
    rows = []
    for angle in ANGLES:
        parameters = case.Parameters(incidence=angle, cells=cells)
        result = case.build(parameters).run()
        computed = case.scalars(result, parameters)
        theory = case.exact(case.reference(parameters), angle)
        rows.append(
            (
                f"{angle:g}",
                f"{float(computed['reflection'].value):.3f}",
                f"{theory.reflection:.3f}",
                f"{float(computed['tangential_impulse'].value):.3f}",
                f"{float(theory.impulse[1]):.3f}",
            )
        )
    headings = ("ψ₁", "ψ₂, Arlequin", "ψ₂, theory", "impulse, Arlequin", "impulse, theory")
    return Section("Oblique impact", TEXT.format(cells=cells), headings, rows)
