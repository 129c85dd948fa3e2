"""Zones of junctions, as `aq.zones`: where two superposed parts are coupled, and where the fine part stands alone."""

from arlequin.junctions.zone import Box, Cells, HalfSpace, LevelSet, Strip, Zone

__all__ = ["Box", "Cells", "HalfSpace", "LevelSet", "Strip", "Zone"]
