"""Rough surfaces: topographies, their spectra and moments, and theories of their contact; independent of meshes."""
