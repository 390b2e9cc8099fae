#!/bin/sh
# Makes a tarball of the sources that builds without a network: packaging/dist.sh OUT
#
# OUT gets hawser-VERSION.tar.xz: the files of HEAD, and in vendor/ the sources of every crate that Cargo.lock names,
# which .cargo/config.toml makes cargo take from there. Called by `make dist`, in a git checkout.
set -eu

[ $# -eq 1 ] || { sed -n '2p' "$0" | sed 's/^# //' >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)
name=hawser-$version
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
git -C "$root" archive --prefix="$name/" --output="$work/head.tar" HEAD
tar -xf "$work/head.tar" -C "$work"
cd "$work/$name"
mkdir -p .cargo
env -u MAKEFLAGS cargo vendor --locked --versioned-dirs vendor >.cargo/config.toml 2>"$work/log" ||
    { cat "$work/log" >&2; exit 1; }
printf '\n[net]\noffline = true\n' >>.cargo/config.toml
grep -q '^directory = "vendor"' .cargo/config.toml || { echo "dist.sh: cargo vendor has named no folder" >&2; exit 1; }
XZ_OPT=${XZ_OPT:--T0} tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@$(git -C "$root" log -1 --format=%ct)" -cJf "$out/$name.tar.xz" "$name"
echo "$out/$name.tar.xz"
