#!/bin/sh
# check-long.sh PREFIX: what takes longer than a change should wait for. Results go into docs/measurements and
# docs/long-runs.md by hand.
# SEEDS=1000000: so many seeds of link's simulation, not 100000; a million take half an hour on two cores.
set -eu
seeds=${SEEDS:-100000}
prefix=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

step() { printf '\n== %s\n' "$*"; }

step "matching: four operations, every interleaving"
cargo test --release -p hawser-p2p --test interleavings -- --ignored --nocapture four_operations precedence
step "matching: 10000 random runs"
HAWSER_RUNS=10000 cargo test --release -p hawser-p2p --test random_runs -- --nocapture
step "link: $seeds seeds of its simulation, behind those of every test"
SIM_SEED=10001 SIM_SEEDS=$seeds cargo test --release -p hawser-link --test simulation
step "every decoder fuzzed, a minute each (crates/*/tests/fuzz_*.rs: of the network link's frames, dev-ether's cards, packets and streams)"
scripts/fuzz.sh 60
step "mpi4py's own tests at 1 to 5 ranks and between hosts, by its wheel and built with mpicc_abi, and beside MPICH; IMB whole"
HAWSER_WHOLE=1 scripts/e2e.sh "$prefix" -s -k "mpi4pys_own or mpich_runs or imb_whole"
step "100000 random programs on one host, by both ABIs"
HAWSER_RANDOM_SEEDS=100000 scripts/e2e.sh "$prefix" -s -k many_more_seeds
step "24 jobs on labs whose networks go wrong at random, for ten minutes"
HAWSER_SOAK_S=600 scripts/e2e.sh "$prefix" -s -k test_soak
step "jobs of 64, 256, 512 and 1,000 ranks"
scripts/many-ranks.py "$prefix"
step "end to end, three times over"
for _ in 1 2 3; do HAWSER_LONG=1 scripts/e2e.sh "$prefix"; done
step "the wheel for old systems, in Debian 11 and in the image for Kubernetes (where there is buildah)"
make wheel
scripts/clean-root.sh build/old-root bullseye
HAWSER_PORTABLE=$root/build/portable scripts/e2e.sh "$prefix" -s -k "test_old_system or test_image"
