#!/bin/sh
# measure.sh PREFIX [ROUNDS]: makes the example reports in docs/examples anew: Hawser and its peers (peers.sh) in
# memory, and over a cable (needs root). Leave the machine alone meanwhile. Each report begins with the machine, the
# date, the command and the libraries' versions; its command is run in build/measure, where the libraries have short
# names.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "$1" && pwd)
rounds=${2:-5}
peers=$("$root/scripts/peers.sh")
work=$root/build/measure
rm -rf "$work"
mkdir -p "$work"
ln -s "$prefix" "$work/hawser"
ln -s "$peers" "$work/peers"
cd "$work"

# report NAME OPTION...
report() {
    name=$1
    shift
    hawser/bin/hawser-bench run "$@" --rounds "$rounds" --pattern pingpong,stream,bidirectional --out "$name"
    mkdir -p "$root/docs/examples/$name"
    rm -f "$root/docs/examples/$name"/*
    cp "$name"/*.svg "$name/report.html" "$root/docs/examples/$name"
}

report shared-memory --lib hawser=hawser --lib mpich=peers/mpich --lib openmpi=peers/openmpi --lib impi=peers/impi
report tcp --cable --lib hawser=hawser --lib mpich=peers/mpich --lib impi=peers/impi
