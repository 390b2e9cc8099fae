#!/bin/sh
# bench.sh PREFIX: Hawser beside its peers on this machine, in turns, and the raw floors. Leave the machine alone
# meanwhile. COMPARE names the tool that runs the peers (../shared/peers/compare beside the checkout).
set -eu
prefix=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
compare=${COMPARE:-$root/../shared/peers/compare}
"$prefix/bin/hawser-bench" run --out "$root/build/bench/memory"
if [ ! -x "$compare" ]; then
    echo "bench: no $compare; the peers are left out" >&2
    exit 0
fi
"$compare" shm --hawser "$prefix" --rounds "${ROUNDS:-5}"
"$compare" oversub -n 4 --hawser "$prefix" --rounds "${ROUNDS:-5}"
"$compare" oversub -n 16 --hawser "$prefix" --skip mpich --rounds "${ROUNDS:-5}"
"$compare" start -n 64 --hawser "$prefix" --skip mpich --rounds "${ROUNDS:-5}"
