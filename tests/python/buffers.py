"""mpi4py's upper-case methods: buffers, derived types, user operations, requests, attributes, errors."""

from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
following, previous = (rank + 1) % size, (rank - 1) % size

assert "Hawser" in MPI.Get_library_version()
assert MPI.Is_initialized() and not MPI.Is_finalized()

for length in (0, 1, 10, 1000, 200000):
    out, got = array("i", range(rank, rank + length)), array("i", [0] * length)
    comm.Sendrecv(out, following, recvbuf=got, source=previous)
    assert got == array("i", range(previous, previous + length))
    requests = [comm.Irecv(got, previous), comm.Isend(out, following)]
    MPI.Request.Waitall(requests)
    assert got == array("i", range(previous, previous + length))

sums = array("d", [0.0] * 1000)
comm.Allreduce(array("d", [rank + i for i in range(1000)]), sums)
assert all(sums[i] == size * (size - 1) / 2 + size * i for i in range(1000))
comm.Allreduce(MPI.IN_PLACE, sums, MPI.MAX)

everything = array("i", [0] * size * 3)
comm.Allgather(array("i", [rank] * 3), everything)
assert everything == array("i", [i // 3 for i in range(3 * size)])
counts = [i + 1 for i in range(size)]
ragged = array("i", [-1] * sum(counts))
comm.Allgatherv(array("i", [rank] * counts[rank]), [ragged, counts])
assert list(ragged) == [i for i in range(size) for _ in range(i + 1)]
swapped = array("i", [0] * size)
comm.Alltoall(array("i", [rank * 100 + i for i in range(size)]), swapped)
assert list(swapped) == [i * 100 + rank for i in range(size)]

column = MPI.INT.Create_vector(4, 1, 5).Commit()
matrix, back = array("i", range(20)), array("i", [-1] * 20)
comm.Sendrecv([matrix, 1, column], following, recvbuf=[back, 1, column], source=previous)
assert [v for v in back if v >= 0] == [0, 5, 10, 15]
column.Free()


def add(one, two, datatype):
    ours, theirs = memoryview(one).cast("i"), memoryview(two).cast("i")
    for i in range(len(ours)):
        theirs[i] += 10 * ours[i]


op = MPI.Op.Create(add, commute=False)
result = array("i", [0, 0])
comm.Allreduce(array("i", [1, rank]), result, op)
op.Free()

persistent = [comm.Recv_init(everything, previous), comm.Send_init(array("i", [rank]), following)]
for _ in range(3):
    MPI.Prequest.Startall(persistent)
    MPI.Request.Waitall(persistent)
    assert everything[0] == previous
for request in persistent:
    request.Free()

try:
    comm.Send(array("i", [1]), size + 3)
    raise SystemExit("a wrong rank was taken")
except MPI.Exception as error:
    assert error.Get_error_class() == MPI.ERR_RANK

key = MPI.Comm.Create_keyval(copy_fn=lambda comm, keyval, value: value + 1)
dup = comm.Dup()
dup.Set_attr(key, 41)
again = dup.Dup()
assert (dup.Get_attr(key), again.Get_attr(key)) == (41, 42)
again.Free()
dup.Free()
info = MPI.Info.Create({"a": "1", "b": "2"})
assert dict(info.items()) == {"a": "1", "b": "2"}
info.Free()
