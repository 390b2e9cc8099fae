#!/bin/sh
# netpipe.sh DIR: Debian's NetPIPE for MPICH, DIR/usr/bin/NPmpich2, unpacked beside the system, made once.
# Where that cannot be had (no apt, no network) it says so and the tests that need it are skipped.
set -eu
dir=$1
[ ! -x "$dir/usr/bin/NPmpich2" ] || exit 0
mkdir -p "$dir"
get() { (cd "$dir" && apt-get -qq download netpipe-mpich2 2>/dev/null); }
if ! command -v apt-get >/dev/null 2>&1; then
    echo "netpipe: there is no apt-get, NetPIPE is not tested"
elif get || { [ "$(id -u)" = 0 ] && apt-get -qq update >/dev/null && get; }; then
    dpkg -x "$dir"/netpipe-mpich2_*.deb "$dir"
else
    echo "netpipe: apt-get cannot download netpipe-mpich2, NetPIPE is not tested"
fi
