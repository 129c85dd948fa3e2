"""The rocking block of SDNV105: Arlequin, the exact rigid motion, and the values that V5.03.105 prints for LMGC90."""

from page import Section

from arlequin.cases import sdnv105
from arlequin.cases.sdnv105.checks import landings, reference

TEXT = """A rigid block of 0.36 × 0.80 m rocks on a table from 0.01 rad, without restitution (SDNV105 of Code_Aster):
instants of its impacts, s. Published: document V5.03.105 of Code_Aster, which gives the values of LMGC90 (θ-scheme,
0.1 ms)."""
LMGC90 = (0.0546, 0.1324, 0.1929, 0.2359, 0.2693)  # s


def section() -> Section:
    """Located events at 1 ms, and contact at the ends of steps of 0.05 ms."""
    columns = {}
    for name, parameters in {
        "Arlequin, located, 1 ms": sdnv105.Parameters(step=1e-3),
        "Arlequin, at the ends of steps of 0.05 ms": sdnv105.Parameters(step=5e-5, events="step", theta=1.0),
    }.items():
        result = sdnv105.build(parameters).run()
        columns[name] = [landing.time for landing in landings(result, parameters)]
    exact = reference(sdnv105.Parameters()).impacts
    columns |= {"LMGC90 (published)": list(LMGC90), "exact": [impact.time for impact in exact]}
    rows = [(str(n + 1), *(f"{times[n]:.6g}" for times in columns.values())) for n in range(len(LMGC90))]
    return Section("Rocking block", TEXT, ("impact", *columns), rows)
