"""Periodic motions: shooting, continuation of branches, stability by Floquet multipliers, bifurcations."""
