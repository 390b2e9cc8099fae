#!/bin/sh
# mpi4py-source.sh DIR PYTHON: the source package of the mpi4py that PYTHON has, unpacked in DIR, made once: its tests are in no wheel.
set -eu
dir=$1 python=$2
[ ! -d "$dir/test" ] || exit 0
version=$("$python" -c 'import mpi4py; print(mpi4py.__version__)')
mkdir -p "$dir"
if "$python" -m pip download -q --disable-pip-version-check --no-deps --no-binary mpi4py -d "$dir" "mpi4py==$version"; then
    tar -xzf "$dir/mpi4py-$version.tar.gz" -C "$dir" --strip-components 1
else
    echo "mpi4py-source.sh: pip cannot download mpi4py $version, its own tests are not run"
fi
