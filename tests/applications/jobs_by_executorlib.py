"""Functions that executorlib starts by mpiexec, each on several ranks."""

import sys

from executorlib import SingleNodeExecutor


def sum_of_ranks(first):
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    return comm.rank, comm.allreduce(first + comm.rank), "Hawser" in MPI.Get_library_version()


if __name__ == "__main__":
    ranks = int(sys.argv[1])
    with SingleNodeExecutor(max_workers=1, resource_dict={"cores": ranks}, block_allocation=True) as executor:
        for result in [executor.submit(sum_of_ranks, first) for first in (10, 20)]:
            print(result.result(), flush=True)
