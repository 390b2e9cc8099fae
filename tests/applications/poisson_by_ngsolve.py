"""Poisson's equation on a square, whose elements NGSolve distributes among the ranks behind the first.

Netgen asks mpi4py for the vendor of the library, and chooses its own part for MPI by it.
"""

from math import pi

from mpi4py import MPI
from netgen.occ import unit_square
from ngsolve import (
    H1,
    BilinearForm,
    GridFunction,
    Integrate,
    LinearForm,
    Mesh,
    Preconditioner,
    dx,
    grad,
    sin,
    sqrt,
    x,
    y,
)
from ngsolve.krylovspace import CGSolver

comm = MPI.COMM_WORLD
mesh = Mesh(unit_square.GenerateMesh(maxh=0.05, comm=comm))
space = H1(mesh, order=3, dirichlet=".*")
trial, test = space.TnT()
stiffness = BilinearForm(grad(trial) * grad(test) * dx)
local = Preconditioner(stiffness, "local")
stiffness.Assemble()
exact = sin(pi * x) * sin(pi * y)
load = LinearForm(2 * pi**2 * exact * test * dx).Assemble()
solution = GridFunction(space)
inverse = CGSolver(stiffness.mat, local.mat, printrates=False, tol=1e-13, maxiter=600)
solution.vec.data = inverse * load.vec
error = sqrt(Integrate((solution - exact) ** 2, mesh))
elements = comm.allgather(mesh.ne)
if comm.rank == 0:
    print(f"unknowns {space.ndofglobal} iterations {inverse.iterations} error {error:.4e}")
    print("elements", *elements, flush=True)
