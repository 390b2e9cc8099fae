#!/bin/sh
# portable.sh VERSION PREFIX: builds Hawser for systems with that glibc or a newer one, and installs it in PREFIX.
# Called by `make wheel`. The libraries and tools are compiled as `make build` compiles them; they are linked with an old
# glibc's names, and lie in a folder of their own beside those of `make build`.
set -eu

[ $# -eq 2 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
cd "$root"
glibc=$root/build/glibc-$1
"$here/old-glibc.sh" "$glibc" "$1"
triple=$(rustc -vV | sed -n 's/^host: //p')
target=${CARGO_TARGET_DIR:-target}/portable
# The compiler's own libgcc_s needs a newer glibc than that; the user's system has one of its own.
flags="-C link-arg=-B$glibc -C link-arg=-L$glibc -C link-arg=-Wl,--allow-shlib-undefined"
variable=CARGO_TARGET_$(echo "$triple" | tr 'a-z-' 'A-Z_')_RUSTFLAGS
env -u MAKEFLAGS "$variable=$flags" CARGO_TARGET_DIR="$target" cargo build --release --target "$triple" \
    -p hawser-abi-std -p hawser-abi-mpich -p hawser-launch -p hawser-bench
artefacts=$target/$triple/release
CC="${CC:-cc} -B$glibc -L$glibc -Wl,--allow-shlib-undefined" scripts/bench-workers.sh "$artefacts"
rm -rf "$2"
"$here/install.sh" "$artefacts" "$2"
