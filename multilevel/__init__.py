"""Contact: obstacles, pairings, interface laws at several levels (surface and asperities) and nonsmooth solvers."""
