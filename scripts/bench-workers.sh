#!/bin/sh
# bench-workers.sh ARTEFACTS: compiles hawser-bench's program on MPI (crates/bench/worker/mpi.c) against the libraries in ARTEFACTS,
# once for each ABI. It is tied to no library's folder: hawser-bench runs it on any library that has the ABI.
set -eu
artefacts=$1
root=$(cd "$(dirname "$0")/.." && pwd)
compile() { # ABI LIBRARY
    ${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -Werror -I"$root/include/$1" -o "$artefacts/bench-$1.new" "$root/crates/bench/worker/mpi.c" -L"$artefacts" -l"$2"
    mv -f "$artefacts/bench-$1.new" "$artefacts/bench-$1"
}
compile mpich mpi
compile std mpi_abi
