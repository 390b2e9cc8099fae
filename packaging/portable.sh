#!/bin/sh
# portable.sh VERSION PREFIX OPTION...: builds Hawser for systems with that glibc or a newer one, and installs it in PREFIX.
# Called by `make wheel`, with the options of cargo that say what is built. The libraries and tools are compiled as `make build` compiles them; they are linked with an old
# glibc's names, and lie in a folder of their own beside those of `make build`.
set -eu

[ $# -gt 2 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
mkdir -p "$2"
prefix=$(cd "$2" && pwd)
cd "$root"
old=build/glibc-$1
"$here/old-glibc.sh" "$old" "$1"
shift 2
triple=$(rustc -vV | sed -n 's/^host: //p')
target=${CARGO_TARGET_DIR:-target}/portable
# A name that the old glibc does not have is an error (-z defs). The compiler's own libgcc_s needs a newer glibc; the
# user's system has one of its own. Cargo takes the words of this variable, separated by 0x1f, instead of RUSTFLAGS.
flags=
for word in "-B$root/$old" "-L$root/$old" -Wl,--allow-shlib-undefined -Wl,-z,defs; do
    flags="$flags${flags:+$(printf '\037')}-Clink-arg=$word"
done
env -u MAKEFLAGS -u MFLAGS CARGO_ENCODED_RUSTFLAGS="$flags" CARGO_TARGET_DIR="$target" cargo build --release --target "$triple" "$@"
artefacts=$target/$triple/release
# The command of a compiler is words: this one has no space in its name.
printf '#!/bin/sh\nexec %s "-B%s" "-L%s" -Wl,--allow-shlib-undefined "$@"\n' "${CC:-cc}" "$root/$old" "$root/$old" >"$old/cc"
chmod 755 "$old/cc"
CC=$old/cc scripts/bench-workers.sh "$artefacts"
"$here/install.sh" "$artefacts" "$prefix"
