"""Flows around and inside beams and tubes, as `aq.flow`: forces of `System(…, flows=[…])`, and their coefficients."""

from arlequin.models.flow.axial import AxialFlow, PipeFlow, added_mass
from arlequin.models.flow.cross import CONNORS, ConnorsConstant, QuasiSteadyTube, TubeRow, connors_velocity
from arlequin.models.flow.given import MatrixFlow

__all__ = [
    "CONNORS",
    "AxialFlow",
    "ConnorsConstant",
    "MatrixFlow",
    "PipeFlow",
    "QuasiSteadyTube",
    "TubeRow",
    "added_mass",
    "connors_velocity",
]
