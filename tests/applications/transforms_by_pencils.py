"""Transforms of mpi4py-fft, in slabs and in pencils, beside numpy's of the whole array."""

import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

comm = MPI.COMM_WORLD
SHAPE = 24, 20, 36
whole = np.random.default_rng(7).standard_normal(SHAPE)
expected = np.fft.rfftn(whole) / whole.size

for grid in (-1,), (0, 0, 1):
    transform = PFFT(comm, SHAPE, dtype=float, axes=(0, 1, 2), grid=grid)
    values, there, back = (newDistArray(transform, forward) for forward in (False, True, False))
    values[:] = whole[values.local_slice()]
    transform.forward(values, there)
    assert np.allclose(there, expected[there.local_slice()], rtol=0, atol=1e-15)
    transform.backward(there, back)
    assert np.allclose(back, whole[back.local_slice()], rtol=0, atol=1e-13)
    divided = [int(part.Get_size()) for part in transform.subcomm]
    transform.destroy()
    if comm.rank == 0:
        print("divided by", *divided, flush=True)
