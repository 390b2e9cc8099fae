#!/bin/sh
# bench.sh PREFIX: Hawser beside its peers on this machine, in turns, and the raw layers. Leave the machine alone
# meanwhile. COMPARE names the tool that runs the peers (docs/measuring.md).
set -eu
prefix=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
compare=${COMPARE:-$HOME/.cache/hawser-peers/compare}
"$prefix/bin/hawser-bench" run --out "$root/build/bench/memory"
if [ ! -x "$compare" ]; then
    echo "bench: no $compare (COMPARE names another one); Hawser alone was measured" >&2
    exit 1
fi
"$compare" shm --hawser "$prefix" --rounds "${ROUNDS:-5}"
"$compare" oversub -n 4 --hawser "$prefix" --rounds "${ROUNDS:-5}"
"$compare" oversub -n 16 --hawser "$prefix" --skip mpich --rounds "${ROUNDS:-5}"
"$compare" start -n 64 --hawser "$prefix" --skip mpich --rounds "${ROUNDS:-5}"
