#!/bin/sh
# clean-root.sh DIR [RELEASE]: the smallest system of this machine's distribution in DIR/system, of this machine's release
# or of an older one, by debootstrap, made once: tests install packages in copies of it (tests/clean_system.py). Needs
# root. If it cannot be made, DIR/failed has the reason, and those tests are skipped.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
dir=$1
[ ! -e "$dir/ready" ] || exit 0
cannot() {
    echo "clean-root.sh: $1; nothing is tested in a clean system"
    echo "$1" >"$dir/failed"
    exit 0
}
rm -rf --one-file-system "$dir"
mkdir -p "$dir"
[ "$(id -u)" = 0 ] || cannot "this needs root"
command -v apt-get >/dev/null || cannot "there is no apt-get"
"$root/scripts/debian.sh" "$root/build/debootstrap" usr/sbin/debootstrap debootstrap
own=$(. /etc/os-release && echo "$VERSION_CODENAME")
release=${2:-$own}
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Codename: $own" | head -n 1)
[ -n "$mirror" ] || cannot "apt has no package lists of $own"
# What debootstrap mounts is gone with it.
if ! DEBOOTSTRAP_DIR=$root/build/debootstrap/usr/share/debootstrap unshare --mount \
    "$root/build/debootstrap/usr/sbin/debootstrap" --variant=minbase "$release" "$dir/system" "$mirror" >"$dir/log" 2>&1
then
    cannot "debootstrap failed ($(tail -n 1 "$dir/log"))"
fi
# The way to the packages is the machine's.
cp /etc/resolv.conf /etc/hosts "$dir/system/etc"
apt-config dump | grep '^Acquire::' >"$dir/system/etc/apt/apt.conf.d/00machine"
chroot "$dir/system" apt-get -qq update >>"$dir/log" 2>&1 || cannot "apt-get update fails in it"
touch "$dir/ready"
