"""What touches: obstacles, interface laws at several levels (surface and asperities), and the nonsmooth solvers."""
