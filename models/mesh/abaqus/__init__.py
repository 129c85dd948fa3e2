"""Abaqus input files (CalculiX writes and reads the same): the keywords of the mesh, with its sets and surfaces.

Read are *NODE, *ELEMENT, *NSET, *ELSET, *SURFACE of element faces and of nodes and their combinations, *PART,
*INSTANCE with its translation and rotation, *ASSEMBLY and *INCLUDE, and what hand-written decks generate: *NGEN,
*NFILL, *NCOPY, *ELGEN, *ELCOPY. Keywords that would change the mesh in another way give one line; all others are
passed over.
Source: Abaqus Keywords Reference Guide; element library for the numbers of nodes and faces.
"""

from arlequin.models.mesh.abaqus.reader import load

__all__ = ["load"]
