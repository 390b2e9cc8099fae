#!/bin/sh
# demo-fetch.sh: fetches what the demonstrations run, into build/. Intel's IMB binaries come from the PyPI package impi-rt
# (nothing else of it is used), mpi4py from its wheel. Called by `make demo` beside the build, and by demo-programs.sh.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/scripts/venv.sh" "$root/build/imb" impi-rt
"$root/scripts/venv.sh" "$root/build/mpi4py" mpi4py
