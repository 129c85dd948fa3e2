"""The impact of `block_impact_data.py` with GetFEM: trapezoidal rule, its contact brick with nodal multipliers, MUMPS.

Forces are in units of E. GetFEM stops Newton's method by one absolute residual of forces and, in the rows of the
multipliers, of displacements; in newtons the latter are lost in the round-off of the former, and the wall pulls.
"""

from time import process_time

import block_impact_data as impact
import getfem
import numpy as np

DENSITY = impact.DENSITY / impact.YOUNG
LINEAR_SOLVER = "mumps"

mesh = getfem.Mesh(
    "cartesian",
    np.linspace(0.0, impact.LENGTH, impact.CELLS[0] + 1),
    np.linspace(0.0, impact.HEIGHT, impact.CELLS[1] + 1),
)
SURFACE = 1
mesh.set_region(SURFACE, mesh.outer_faces_with_direction([1.0, 0.0], 0.1))
displacements, scalars = getfem.MeshFem(mesh, 2), getfem.MeshFem(mesh, 1)
displacements.set_classical_fem(1)
scalars.set_classical_fem(1)
quadrature = getfem.MeshIm(mesh, getfem.Integ("IM_GAUSS_PARALLELEPIPED(2,2)"))

model = getfem.Model("real")
model.add_fem_variable("u", displacements)
model.add_Newmark_scheme("u", 0.25, 0.5)
model.add_initialized_data("density", [DENSITY])
model.add_initialized_data("lambda", [0.0])
model.add_initialized_data("mu", [0.5])
model.add_initialized_data("augmentation", [1.0])  # about Young's modulus
model.add_mass_brick(quadrature, "Dot2_u", "density")
model.add_isotropic_linearized_elasticity_brick(quadrature, "u", "lambda", "mu")
model.add_variable("force", displacements.basic_dof_on_region(SURFACE).size // 2)
model.add_nodal_contact_with_rigid_obstacle_brick(
    quadrature, "u", "force", "augmentation", SURFACE, f"{impact.LENGTH}-x", 1
)
model.set_time_step(impact.STEP)

start = np.zeros(displacements.nbdof())
start[::2] = impact.VELOCITY
model.set_variable("Previous_Dot_u", start)
mass = getfem.asm_mass_matrix(quadrature, displacements)
weights = mass.mult(start) / (impact.LENGTH * impact.HEIGHT * impact.VELOCITY)  # of velocities in that of the centre

velocity = [float(weights @ start)]
for n in range(round(impact.END / impact.STEP)):
    _, converged = model.solve("max_res", 1e-12, "max_iter", 50, "lsolver", LINEAR_SOLVER)
    if not converged:
        raise RuntimeError("Newton's method does not converge")
    velocity.append(float(weights @ model.variable("Dot_u")))
    model.shift_variables_for_time_integration()
    if n == 0:
        start_up = process_time()
stepping = process_time() - start_up

u, v = model.variable("u"), model.variable("Dot_u")
zero, half = np.zeros(scalars.nbdof()), np.full(scalars.nbdof(), 0.5)
stiffness = getfem.asm_linear_elasticity(quadrature, displacements, scalars, zero, half)
impact.report(
    "GetFEM",
    getfem.getfem_env("package_version"),
    f"implicit, trapezoidal rule, contact of displacements by an augmented Lagrangian, {LINEAR_SOLVER}",
    start_up=start_up,
    stepping=stepping,
    velocity=velocity,
    energy=0.5 * impact.YOUNG * float(DENSITY * v @ mass.mult(v) + u @ stiffness.mult(u)),
)
