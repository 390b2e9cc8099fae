#!/bin/sh
# Lays out an installation: packaging/install.sh ARTEFACTS PREFIX [PART...]
#
# ARTEFACTS is the folder with what cargo built (target/release), PREFIX where it goes; DESTDIR, if set, is put
# before PREFIX. Parts: lib-std lib-mpich include wrappers mpiexec tools man; all of them without PART. Nothing is built
# here. Called by `make install`, by the demonstration and by the end-to-end test.
set -eu

[ $# -ge 2 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
artefacts=$1
prefix=${DESTDIR:-}$2
shift 2
[ $# -gt 0 ] || set -- lib-std lib-mpich include wrappers mpiexec tools man

version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)

# One file, replaced as a whole: a program that runs from the old one keeps it.
put() { # MODE FROM TO
    mkdir -p "$(dirname "$3")"
    [ -f "$2" ] || { echo "install.sh: $2 is missing; build it first (cargo build --release)" >&2; exit 1; }
    case $2 in
    *.so|*/mpiexec|*/hawser-info|*/hawser-bench|*/bench-*) cp "$2" "$3.new" ;;
    *) sed "s/@VERSION@/$version/g" "$2" >"$3.new" ;;
    esac
    chmod "$1" "$3.new"
    mv -f "$3.new" "$3"
}

link() { # TARGET NAME, beside each other
    ln -sfn "$1" "$2"
}

for part; do
    case $part in
    lib-std)
        put 755 "$artefacts/libmpi_abi.so" "$prefix/lib/libmpi_abi.so.1"
        link libmpi_abi.so.1 "$prefix/lib/libmpi_abi.so"
        link libmpi_abi.so.1 "$prefix/lib/libmpi_abi.so.0" # what programs built before the ABI was final ask for
        put 644 "$here/pkgconfig/mpi_abi.pc" "$prefix/lib/pkgconfig/mpi_abi.pc"
        ;;
    lib-mpich)
        put 755 "$artefacts/libmpi.so" "$prefix/lib/libmpi.so.12"
        link libmpi.so.12 "$prefix/lib/libmpi.so"
        link libmpi.so.12 "$prefix/lib/libmpich.so.12" # what Debian's MPICH programs ask for
        for pc in mpi mpich; do
            put 644 "$here/pkgconfig/$pc.pc" "$prefix/lib/pkgconfig/$pc.pc"
        done
        ;;
    include)
        put 644 "$root/include/std/mpi.h" "$prefix/include/hawser-std/mpi.h"
        put 644 "$root/include/mpich/mpi.h" "$prefix/include/hawser-mpich/mpi.h"
        # For whoever compiles with -IPREFIX/include: the ABI of mpicc.
        link hawser-mpich/mpi.h "$prefix/include/mpi.h"
        ;;
    wrappers)
        put 755 "$here/mpicc" "$prefix/bin/mpicc"
        for name in mpicxx mpic++ mpiCC mpicc_abi mpicxx_abi; do
            link mpicc "$prefix/bin/$name"
        done
        ;;
    mpiexec)
        put 755 "$artefacts/mpiexec" "$prefix/bin/mpiexec"
        link mpiexec "$prefix/bin/mpirun"
        ;;
    tools)
        put 755 "$artefacts/hawser-info" "$prefix/bin/hawser-info"
        put 644 "$here/man/hawser-info.1" "$prefix/share/man/man1/hawser-info.1"
        if [ -f "$artefacts/hawser-bench" ]; then
            put 755 "$artefacts/hawser-bench" "$prefix/bin/hawser-bench"
            for page in "$here"/man/hawser-bench*.1; do
                put 644 "$page" "$prefix/share/man/man1/${page##*/}"
            done
        fi
        for abi in mpich std; do
            [ ! -f "$artefacts/bench-$abi" ] || put 755 "$artefacts/bench-$abi" "$prefix/libexec/hawser/bench-$abi"
        done
        ;;
    man)
        for page in mpiexec mpicc; do
            put 644 "$here/man/$page.1" "$prefix/share/man/man1/$page.1"
        done
        for name in mpicxx mpic++ mpiCC mpicc_abi mpicxx_abi; do
            link mpicc.1 "$prefix/share/man/man1/$name.1"
        done
        link mpiexec.1 "$prefix/share/man/man1/mpirun.1"
        ;;
    *)
        echo "install.sh: there is no part $part" >&2
        exit 2
        ;;
    esac
done
