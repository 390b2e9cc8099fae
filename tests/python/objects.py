"""mpi4py's lower-case methods: Python objects of all kinds and lengths, point-to-point and collective."""

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
following, previous = (rank + 1) % size, (rank - 1) % size


def thing(owner, length=3):
    return {"owner": owner, "list": list(range(length)), "text": "é" * length, "nested": [(owner, None), {1.5, 2j}]}


for length in (0, 3, 500, 20000):
    request = comm.isend(thing(rank, length), following, tag=length)
    assert comm.recv(source=previous, tag=length) == thing(previous, length)
    request.wait()
    assert comm.sendrecv(thing(rank, length), following, source=previous) == thing(previous, length)

status = MPI.Status()
request = comm.issend("hello", following, tag=7)
message = comm.mprobe(status=status)
assert (status.source, status.tag) == (previous, 7)
assert message.recv() == "hello"
request.wait()
request = comm.irecv(source=previous, tag=9)
comm.send(rank, following, tag=9)
assert request.wait() == previous

for root in range(size):
    assert comm.bcast(thing(root) if rank == root else None, root) == thing(root)
    gathered = comm.gather(thing(rank), root)
    assert gathered == ([thing(i) for i in range(size)] if rank == root else None)
    assert comm.scatter([thing(i) for i in range(size)] if rank == root else None, root) == thing(rank)
    total = comm.reduce(rank + 1, MPI.SUM, root)
    assert total == (size * (size + 1) // 2 if rank == root else None)
assert comm.allgather(thing(rank)) == [thing(i) for i in range(size)]
assert comm.alltoall([(rank, i) for i in range(size)]) == [(i, rank) for i in range(size)]
assert comm.allreduce(rank + 1, MPI.PROD) == __import__("math").factorial(size)
assert comm.allreduce({rank}, op=lambda a, b: a | b) == set(range(size))
assert comm.allreduce((rank * 7 % 5, rank), MPI.MAXLOC)[0] == max(i * 7 % 5 for i in range(size))
assert comm.scan(rank + 1) == (rank + 1) * (rank + 2) // 2
assert comm.exscan(rank + 1) == (rank * (rank + 1) // 2 if rank else None)
comm.barrier()

half = comm.Split(rank % 2, rank)
assert half.allgather(rank) == list(range(rank % 2, size, 2))
half.Free()

# Below several hosts the next level is the host, and it says so; below a host there is none.
info = MPI.Info.Create()
host = comm.Split_type(MPI.COMM_TYPE_SHARED)
level = comm.Split_type(MPI.COMM_TYPE_HW_UNGUIDED, info=info)
if host.size == size:
    assert level == MPI.COMM_NULL and info.Get_nkeys() == 0
else:
    assert level.size == host.size and info["mpi_hw_resource_type"] == "mpi_shared_memory"
    level.Free()
host.Free()
info.Free()
