#!/bin/sh
# mpi4py-std.sh DIR PYTHON PREFIX: a Python environment with the mpi4py that PYTHON has, built with PREFIX's mpicc_abi, made once: minutes.
set -eu
dir=$1 python=$2 prefix=$3
[ ! -d "$dir/lib" ] || exit 0
version=$("$python" -c 'import mpi4py; print(mpi4py.__version__)')
"$python" -m venv "$dir"
MPICC="$prefix/bin/mpicc_abi" "$dir/bin/python" -m pip install -q --disable-pip-version-check --no-cache-dir --no-binary mpi4py \
    "mpi4py==$version" numpy cffi || { rm -r "$dir"; exit 1; }
