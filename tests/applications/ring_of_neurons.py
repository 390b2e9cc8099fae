"""Sixteen cells in a ring, divided among the ranks: each spike of one sets off the next. Rank 0 prints them all.

The cells and their arithmetic are the same for any number of ranks.
"""

from neuron import h

CELLS = 16
DURATION_MS = 100

h.nrnmpi_init()
context = h.ParallelContext()
rank, size = int(context.id()), int(context.nhost())
h.load_file("stdrun.hoc")

cells = {}
for cell in range(rank, CELLS, size):
    soma = h.Section(name=f"soma{cell}")
    soma.L = soma.diam = 12.6
    soma.insert("hh")
    synapse = h.ExpSyn(soma(0.5))
    synapse.tau = 2
    spikes = h.NetCon(soma(0.5)._ref_v, None, sec=soma)
    spikes.threshold = 10
    context.set_gid2node(cell, rank)
    context.cell(cell, spikes)
    cells[cell] = soma, synapse, spikes

links = []
for cell, (_, synapse, _) in cells.items():
    link = context.gid_connect((cell - 1) % CELLS, synapse)
    link.weight[0], link.delay = 0.05, 1 + 0.1 * (cell % 3)
    links.append(link)
if 0 in cells:
    first = h.NetStim()
    first.number, first.start = 1, 2
    link = h.NetCon(first, cells[0][1])
    link.weight[0], link.delay = 0.05, 1
    links.append(link)

times, senders = h.Vector(), h.Vector()
context.spike_record(-1, times, senders)
context.set_maxstep(10)
h.celsius, h.dt = 6.3, 0.025
h.finitialize(-65)
context.psolve(DURATION_MS)

mine = [(time, int(cell)) for time, cell in zip(times, senders, strict=True)]
everyones = context.py_gather(mine, 0)
assert context.allreduce(size * 10 + rank, 1) == sum(size * 10 + other for other in range(size))
if rank == 0:
    print("ranks", size)
    for time, cell in sorted(spike for part in everyones for spike in part):
        print("spike", time, cell)
context.barrier()
context.done()
h.quit()
