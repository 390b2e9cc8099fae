#!/bin/sh
# demo.sh PREFIX: other people's MPI programs, unmodified, on the Hawser installed in PREFIX.
# Intel's IMB binaries come from the PyPI package impi-rt (nothing else of it is used), mpi4py from its wheel.
set -eu
prefix=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
imb=$root/build/imb
python=$root/build/mpi4py
"$root/scripts/venv.sh" "$imb" impi-rt
"$root/scripts/venv.sh" "$python" mpi4py
PATH=$prefix/bin:$PATH
export PATH

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "The machine, and what Hawser chose"
mpiexec --info

say "Intel's IMB-MPI1 PingPong, built by Intel against Intel MPI: 2 ranks"
mpiexec -n 2 "$imb/bin/IMB-MPI1" -msglog 2:22 PingPong | grep -vE '^#( |$)*$' | tail -n +5

say "Intel's IMB-MPI1 Allreduce: 4 ranks"
mpiexec -n 4 "$imb/bin/IMB-MPI1" -npmin 4 -msglog 2:16 Allreduce | grep -E '^ +[0-9]|#bytes'

say "A Python program under the mpi4py wheel: 4 ranks"
mpiexec -n 4 "$python/bin/python" "$root/scripts/demo.py"
