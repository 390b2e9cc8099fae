#!/bin/sh
# demo.sh PREFIX: other people's MPI programs, unmodified, on the Hawser installed in PREFIX.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/scripts/demo-programs.sh"

say "The machine, and what Hawser chose"
mpiexec --info

say "Intel's IMB-MPI1 PingPong, built by Intel against Intel MPI: 2 ranks"
mpiexec -n 2 "$imb/bin/IMB-MPI1" -msglog 2:22 PingPong | grep -vE '^#( |$)*$' | tail -n +5

say "Intel's IMB-MPI1 Allreduce: 4 ranks"
mpiexec -n 4 "$imb/bin/IMB-MPI1" -npmin 4 -msglog 2:16 Allreduce | grep -E '^ +[0-9]|#bytes'

say "A Python program under the mpi4py wheel: 4 ranks"
mpiexec -n 4 "$python/bin/python" "$root/scripts/demo.py"

say "Next: $1/bin/mpiexec runs programs of yours; make lab runs jobs on four hosts inside this machine"
