#!/bin/sh
# Builds an installation for systems with an older glibc than this one's: packaging/portable.sh PREFIX
#
# Zig's linker and its stubs of old versions of glibc (from PyPI) stand in for the system's; the compiler is the same.
# What is built needs glibc 2.28, that of RHEL 8 and Debian 10. Called by `make wheel`.
set -eu

[ $# -eq 1 ] || { sed -n '2p' "$0" | sed 's/^# //' >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
prefix=$1
glibc=2.28
machine=$(uname -m)
target=$machine-unknown-linux-gnu
"$root/scripts/venv.sh" "$root/build/zig" ziglang cargo-zigbuild
artefacts=${CARGO_TARGET_DIR:-$root/target}/$target/release
cd "$root"
PATH=$root/build/zig/bin:$PATH env -u MAKEFLAGS cargo zigbuild --release --target "$target.$glibc" \
    -p hawser-abi-std -p hawser-abi-mpich -p hawser-launch -p hawser-bench
CC="$root/build/zig/bin/python -m ziglang cc -target $machine-linux-gnu.$glibc" scripts/bench-workers.sh "$artefacts"
packaging/install.sh "$artefacts" "$prefix"
