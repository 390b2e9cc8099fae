#!/bin/sh
# sshd.sh DIR: Debian's OpenSSH server, DIR/usr/sbin/sshd, unpacked beside the system, made once; installing it would
# start it. Nothing to do where the system has one. Where it cannot be had it says so and its test is skipped.
set -eu
dir=$1
PATH=$PATH:/usr/sbin:/sbin
! command -v sshd >/dev/null 2>&1 || exit 0
[ ! -x "$dir/usr/sbin/sshd" ] || exit 0
mkdir -p "$dir"
get() { (cd "$dir" && apt-get -qq download openssh-server libwrap0 2>/dev/null); }
if ! command -v apt-get >/dev/null 2>&1; then
    echo "sshd: there is no apt-get, starting through a real sshd is not tested"
elif get || { [ "$(id -u)" = 0 ] && apt-get -qq update >/dev/null && get; }; then
    for package in "$dir"/*.deb; do dpkg -x "$package" "$dir"; done
else
    echo "sshd: apt-get cannot download openssh-server, starting through a real sshd is not tested"
fi
