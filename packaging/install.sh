#!/bin/sh
# Lays out an installation: packaging/install.sh ARTEFACTS PREFIX [PART...]
#
# ARTEFACTS is the folder with what cargo built (target/release), PREFIX where it goes; DESTDIR, if set, is put
# before PREFIX. Parts: lib-std lib-mpich fortran include wrappers mpiexec tools man; all of them without PART. Nothing is
# built here but the module files of MPI, where there is a Fortran compiler. Called by `make install`, by the demonstration and by the end-to-end test.
set -eu

[ $# -ge 2 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
artefacts=$1
prefix=${DESTDIR:-}$2
shift 2
[ $# -gt 0 ] || set -- lib-std lib-mpich fortran include wrappers mpiexec tools man

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
    fortran)
        put 755 "$artefacts/libmpifort_abi.so" "$prefix/lib/libmpifort_abi.so.1"
        link libmpifort_abi.so.1 "$prefix/lib/libmpifort_abi.so"
        put 755 "$artefacts/libmpifort.so" "$prefix/lib/libmpifort.so.12"
        link libmpifort.so.12 "$prefix/lib/libmpifort.so"
        link libmpifort.so.12 "$prefix/lib/libmpichfort.so.12" # what Debian's MPICH programs ask for
        for pc in mpifort mpifort_abi; do
            put 644 "$here/pkgconfig/$pc.pc" "$prefix/lib/pkgconfig/$pc.pc"
        done
        for source in mpi mpi_f08; do
            put 644 "$root/include/fortran/$source.f90" "$prefix/include/hawser-fortran/$source.f90"
        done
        put 755 "$here/fortran-modules" "$prefix/libexec/hawser/fortran-modules"
        for abi in std mpich; do
            for file in mpif.h hawser_mpi_types.f90 mpi_values.inc mpi_f08_values.inc; do
                put 644 "$root/include/$abi/$file" "$prefix/include/hawser-$abi/$file"
            done
            for compiler in gfortran flang-new flang; do
                ! command -v "$compiler" >/dev/null 2>&1 ||
                    "$prefix/libexec/hawser/fortran-modules" "$abi" "$compiler" >/dev/null ||
                    echo "install.sh: there are no module files of MPI for $compiler (the line above)" >&2
            done
        done
        mkdir -p "$prefix/bin" "$prefix/share/man/man1"
        for name in mpifort mpif77 mpif90 mpifort_abi mpif77_abi mpif90_abi; do
            link mpicc "$prefix/bin/$name"
            link mpicc.1 "$prefix/share/man/man1/$name.1"
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
