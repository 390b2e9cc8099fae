#!/bin/sh
# Makes a Python wheel of an installation: packaging/wheel.sh PREFIX OUT
#
# PREFIX is what install.sh has laid out. OUT gets hawser-VERSION-py3-none-PLATFORM.whl and, apart from it,
# hawser-VERSION-PLATFORM-debug.tar.xz (unpack it in a debug-file-directory of gdb). The files lie in the wheel as in
# the wheels of other MPI libraries: bin, lib, include and share of the environment that it is installed in, which is
# where mpi4py looks for libmpi.so.12. PLATFORM names the oldest glibc that has every function which the files call.
# Called by `make wheel` and by tests/test_wheel.py. Nothing is built here but the libraries that stand for links.
set -eu

[ $# -eq 2 ] || { sed -n '2p' "$0" | sed 's/^# //' >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
prefix=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
version=$(sed -n 's/^Version: //p' "$prefix/lib/pkgconfig/mpi.pc")
python=$("$root/scripts/venv.sh" "$root/build/wheel-tools" wheel >&2 && echo "$root/build/wheel-tools/bin/python")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
tree=$work/hawser-$version
data=$tree/hawser-$version.data/data
info=$tree/hawser-$version.dist-info
mkdir -p "$data" "$info/licenses"
cp -a "$prefix/." "$data"
# Module files are for one version of a compiler: mpifort makes those of the user's.
rm -rf "$data/lib/hawser"

# A wheel holds no links. A library under the name that some programs ask for becomes one that loads the real one from
# its own folder, so that a process never has two copies; what only the linker reads becomes a line for the linker; a
# header includes the real one; a script is copied.
stand_for() { # NAME FILE, in lib
    rm "$data/lib/$1"
    ${CC:-cc} -shared -nostdlib -o "$data/lib/$1" "-Wl,-soname,$1" -Wl,--no-as-needed -Wl,--build-id=none -Wl,-z,noexecstack \
        -L "$data/lib" "-l:$2" '-Wl,-rpath,$ORIGIN' -Wl,--enable-new-dtags
}
stand_for libmpich.so.12 libmpi.so.12
stand_for libmpi_abi.so.0 libmpi_abi.so.1
stand_for libmpichfort.so.12 libmpifort.so.12
for name in libmpi.so.12 libmpi_abi.so.1 libmpifort.so.12 libmpifort_abi.so.1; do
    link=$data/lib/${name%.*}
    rm "$link"
    echo "INPUT($name)" >"$link"
done
rm "$data/include/mpi.h"
echo '#include "hawser-mpich/mpi.h"' >"$data/include/mpi.h"
rm "$data/bin/mpirun"
printf '#!/bin/sh\nexec "$(dirname "$(readlink -f "$0")")/mpiexec" "$@"\n' >"$data/bin/mpirun"
chmod 755 "$data/bin/mpirun"
find "$data" -type l | while read -r link; do
    file=$(readlink -f "$link")
    rm "$link"
    case $link in
    */man1/*) echo ".so man1/$(basename "$file")" >"$link" ;;
    *) cp -p "$file" "$link" ;;
    esac
done

# The highest version of glibc's symbols that a file needs.
"$here/split-debug.sh" "$data" "$work/debug" >"$work/files"
xargs readelf --dyn-syms -W <"$work/files" >"$work/symbols"
glibc=$(sed -n 's/.*@GLIBC_2\.\([0-9]*\).*/\1/p' "$work/symbols" | sort -n | tail -n 1)
[ -n "$glibc" ] || { echo "wheel.sh: no file in $prefix needs glibc: is it an installation?" >&2; exit 1; }
# Rust's own library is for glibc 2.17 and newer.
[ "$glibc" -ge 17 ] || glibc=17
platform=manylinux_2_${glibc}_$(uname -m)

cp "$root/LICENSE" "$info/licenses"
cat >"$info/WHEEL" <<END
Wheel-Version: 1.0
Generator: hawser packaging/wheel.sh
Root-Is-Purelib: false
Tag: py3-none-$platform
END
{
    cat <<END
Metadata-Version: 2.4
Name: hawser
Version: $version
Summary: MPI for clusters of commodity computers: runs programs built for MPICH and the MPI 5.0 ABI as they are
License-Expression: Apache-2.0
License-File: LICENSE
Keywords: MPI,message passing,cluster,ethernet
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: System :: Distributed Computing
Description-Content-Type: text/markdown

END
    sed -n '1,/^\*\*Why/p' "$root/README.md" | grep -v '^\*\*Why'
    cat <<END
\`pip install\` puts \`mpiexec\`, \`mpicc\`, \`hawser-bench\` and the libraries into the environment; mpi4py finds them there:

    mpiexec -n 4 python -m mpi4py.bench helloworld
END
} >"$info/METADATA"

# A wheel of another platform in the folder would be in the way of `pip install hawser-*.whl`.
rm -f "$out"/hawser-*.whl "$out"/hawser-*-debug.tar.xz
"$python" -m wheel pack --dest-dir "$out" "$tree" >/dev/null
tar -C "$work/debug" -cJf "$out/hawser-$version-$platform-debug.tar.xz" .
echo "$out/hawser-$version-py3-none-$platform.whl"
