"""The 24 jobs: unlike programs, each of which looks at every byte and result that it gets and ends with another code than 0 if one
is wrong.

One-sided communication, files and MPI_Comm_spawn are not among them: Hawser has none yet.
"""

import sys
from dataclasses import dataclass, field

from harness import HERE

TWO, FEW, MANY = (2,), (2, 3), (3, 4, 5, 8)
NONBLOCKING, PERSISTENT = ("-DWAY=1",), ("-DWAY=2",)


@dataclass(frozen=True)
class Job:
    """A program of tests/c, or of Python, and the numbers of ranks that it may have."""
    name: str
    words: tuple
    ranks: tuple
    options: tuple = ()
    env: dict = field(default_factory=dict)

    def command(self, build, abi):
        program, *words = self.words
        return [build(program, abi, *self.options) if program.endswith(".c") else sys.executable, *words]


JOBS = [
    Job("ping-pong of all lengths to 9 MiB", ("p2p_sizes.c", "private"), FEW),
    Job("one message of 48 MiB", ("bulk.c", str(48 << 20), "1"), TWO),
    Job("long ones both ways, odd addresses, gaps, cut off", ("long_both_ways.c", "2"), TWO),
    Job("short ones, one by one", ("volume.c", "300", "8000", "one by one"), TWO),
    Job("a flood", ("p2p_flood.c", "large"), FEW),
    Job("short and long in order", ("p2p_order.c",), FEW),
    Job("synchronous, ready, buffered", ("p2p_modes.c",), FEW),
    Job("probes", ("p2p_probe.c",), (2, 4)),
    Job("20000 under way, any source, any tag", ("p2p_outstanding.c", "unexpected"), FEW),
    Job("longer than there is room for", ("p2p_truncate.c",), FEW),
    Job("partitioned", ("p2p_partitioned.c", "types"), FEW),
    Job("derived datatypes", ("type_wire.c",), FEW),
    Job("a ring, trees and halves", ("traffic.c",), MANY),
    Job("alltoall, -v, -w", ("coll_alltoall.c",), MANY),
    Job("gather and scatter, nonblocking", ("coll_gather.c",), MANY, NONBLOCKING),
    Job("bcast, persistent", ("coll_bcast.c",), MANY, PERSISTENT),
    Job("allreduce, reduce, scan", ("coll_reduce.c",), MANY),
    Job("neighbourhoods, nonblocking", ("coll_neighbor.c",), (3, 4), NONBLOCKING),
    Job("collectives between groups", ("coll_inter.c",), MANY),
    Job("many at once, beside a thread that moves them", ("nb_many.c", "waitany"), MANY, (), {"HAWSER_PROGRESS": "on"}),
    Job("threads on one communicator", ("threads.c", "shared"), FEW),
    Job("sessions that end and begin again", ("sessions.c", "again"), (3, 5)),
    Job("mpi4py's objects", (sys.executable, HERE / "python/objects.py"), (3, 4)),
    Job("random", ("random.c", "5", "300"), (3, 4, 6)),
]
assert len({job.words for job in JOBS}) == len(JOBS) == 24
