#!/bin/sh
# debian.sh DIR FILE PACKAGE...: Debian's packages, unpacked in DIR beside the system (installing some would start them), made
# once: until there is DIR/FILE. Where they cannot be had it says so, and the tests that need them are skipped.
set -eu
dir=$1 file=$2
shift 2
[ ! -x "$dir/$file" ] || exit 0
mkdir -p "$dir"
get() { (cd "$dir" && apt-get -qq download "$@" 2>/dev/null); }
if ! command -v apt-get >/dev/null 2>&1; then
    echo "debian.sh: there is no apt-get, nothing is tested with $1"
elif get "$@" || { [ "$(id -u)" = 0 ] && apt-get -qq update >/dev/null && get "$@"; }; then
    for package in "$dir"/*.deb; do dpkg -x "$package" "$dir"; done
else
    echo "debian.sh: apt-get cannot download $*, nothing is tested with $1"
fi
