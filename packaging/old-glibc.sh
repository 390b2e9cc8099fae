#!/bin/sh
# old-glibc.sh DIR VERSION: what programs are linked with to run on that glibc and all newer ones, in DIR, made once: its
# start files, and libraries that hold names alone. The compiler takes them by -B DIR -L DIR.
#
# They come from Zig's compiler (PyPI's ziglang), which knows the names of every glibc since 2.17. It compiles nothing of
# Hawser, because its linker has no -Bsymbolic-functions. Called by packaging/portable.sh.
set -eu

[ $# -eq 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
version=$2
mkdir -p "$1"
dir=$(cd "$1" && pwd)
[ ! -e "$dir/ready" ] || exit 0
"$root/scripts/venv.sh" "$root/build/zig" 'ziglang>=0.15'
work=$dir/work
rm -rf "$work"
mkdir "$work"
echo 'int main(void) { return 0; }' >"$work/empty.c"
# Zig makes the files for a program that it links, and keeps them in its cache.
for kind in '-pie -fPIE' '-no-pie'; do
    # shellcheck disable=SC2086 # a list of words
    ZIG_LOCAL_CACHE_DIR=$work/cache ZIG_GLOBAL_CACHE_DIR=$work/cache "$root/build/zig/bin/python" -m ziglang cc $kind \
        -target "$(uname -m)-linux-gnu.$version" "$work/empty.c" -o "$work/empty"
done
find "$work/cache/o" \( -name '*crt1.o' -o -name 'libc_nonshared.a' -o -name 'lib*.so.*' \) -exec mv -f {} "$dir" \;
for file in Scrt1.o crt1.o libc_nonshared.a libc.so.6 libld.so.2; do
    [ -f "$dir/$file" ] || { echo "old-glibc.sh: this version of ziglang has made no $file; name another in old-glibc.sh" >&2; exit 1; }
done
for file in "$dir"/lib*.so.*; do
    name=${file##*/}
    ln -sf "$name" "$dir/${name%.so.*}.so"
done
rm "$dir/libc.so"
# Linkers look for them in the folders of -L.
echo "GROUP(libc.so.6 libc_nonshared.a AS_NEEDED(libld.so.2))" >"$dir/libc.so"
rm -rf "$work"
touch "$dir/ready"
