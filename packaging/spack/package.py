"""Spack's recipe: copy it to packages/hawser/package.py of a repository of packages."""

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Hawser(MakefilePackage):
    """MPI for clusters of commodity computers: runs programs built for MPICH, Intel MPI, MVAPICH
    or the standard ABI of MPI 5.0 as they are, over shared memory and plain Ethernet."""

    homepage = "https://example.invalid/hawser"
    git = "https://example.invalid/hawser.git"

    license("Apache-2.0")

    version("main", branch="main")

    provides("mpi@:5.0")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("rust@1.88:", type="build")

    requires("platform=linux", msg="Hawser uses interfaces of Linux")

    def build(self, spec, prefix):
        make("build")

    def install(self, spec, prefix):
        make("install", f"PREFIX={prefix}")

    def compilers(self):
        return {"MPICC": self.prefix.bin.mpicc, "MPICXX": join_path(self.prefix.bin, "mpic++")}

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        for name, path in self.compilers().items():
            env.set(name, path)

    def setup_dependent_build_environment(
        self, env: EnvironmentModifications, dependent_spec: Spec
    ) -> None:
        self.setup_run_environment(env)
        # The wrappers run Spack's own compilers, of the languages that the package uses.
        module = dependent_spec.package.module
        for variable, compiler in (("HAWSER_CC", "spack_cc"), ("HAWSER_CXX", "spack_cxx")):
            if hasattr(module, compiler):
                env.set(variable, getattr(module, compiler))

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = self.compilers()["MPICC"]
        self.spec.mpicxx = self.compilers()["MPICXX"]
