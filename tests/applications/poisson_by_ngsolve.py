"""Poisson's equation on a square, whose elements NGSolve distributes among the ranks behind the first.

Netgen asks mpi4py for the vendor of the library to choose its own part for MPI, and knows no name but those of others:
by its MPICH ABI, Hawser works with the part for MPICH.
"""

from math import pi

from mpi4py import MPI

MPI.get_vendor = lambda: ("MPICH", (5, 0, 0))

from netgen.occ import unit_square  # noqa: E402
from ngsolve import (  # noqa: E402
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
from ngsolve.krylovspace import CGSolver  # noqa: E402

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
