#!/bin/sh
# e2e.sh PREFIX [pytest options]: the end-to-end tests against the Hawser installed in PREFIX.
set -eu
HAWSER_PREFIX=$(cd "$1" && pwd)
export HAWSER_PREFIX
shift
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/scripts/venv.sh" "$root/build/e2e" pytest pytest-timeout mpi4py
"$root/scripts/venv.sh" "$root/build/imb" impi-rt
"$root/scripts/netpipe.sh" "$root/build/netpipe"
"$root/scripts/sshd.sh" "$root/build/openssh"
exec "$root/build/e2e/bin/python" -m pytest -q "$root/tests" "$@"
