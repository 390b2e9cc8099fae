"""An array that dask sums on the ranks behind the first two, which are its scheduler and this client.

Its arguments are a folder for the workers, and their number.
"""

import sys

import dask_mpi

dask_mpi.initialize(nthreads=1, local_directory=sys.argv[1], dashboard=False, worker_class="distributed.Worker")

import dask.array as da  # noqa: E402
from distributed import Client  # noqa: E402

with Client() as client:
    client.wait_for_workers(int(sys.argv[2]))
    random = da.random.default_rng(1).integers(0, 1000, (400, 400), chunks=(200, 100))
    print("transposed", (random - random.T).sum().compute())
    print("sum", da.arange(1_000_000, chunks=50_000).sum().compute())
    print("workers", len(client.scheduler_info(n_workers=-1)["workers"]), flush=True)
