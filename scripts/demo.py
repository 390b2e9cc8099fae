"""What the demonstration runs under mpi4py: objects and buffers, point-to-point and collective."""

import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
news = comm.bcast({"from": "rank 0", "library": MPI.Get_library_version().split(" (")[0].split(", ")[-1]} if rank == 0 else None)
ring = comm.sendrecv(("hello", rank), dest=(rank + 1) % size, source=(rank - 1) % size)
assert ring == ("hello", (rank - 1) % size)
ranks = comm.gather(rank)
total = array.array("d", [0.0])
comm.Allreduce(array.array("d", [rank + 0.5]), total)
assert total[0] == size * size / 2
if rank == 0:
    assert ranks == list(range(size))
    print(f"{size} ranks said hello around the ring on {news['library']}; Allreduce says {total[0]}")
