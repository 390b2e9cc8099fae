#!/bin/sh
# setup.sh [PART...]: installs what is missing of what the parts need: build (a C compiler, Rust), demo (Python), test
# (CMake, debuggers, a browser and so on); all parts without PART. It says nothing when all is there, and never touches
# what is installed.
#
# Rust may come from the distribution or from rustup; RUST=FOLDER names one that lies elsewhere, FOLDER/bin/cargo.
set -eu

[ $# -gt 0 ] || set -- build demo test
[ -z "${RUST:-}" ] || PATH=$RUST/bin:$PATH

# Edition 2024 with let chains. The version of the cargo that is found, or nothing.
least=88
version() { cargo --version 2>/dev/null | sed -n 's/^cargo \(1\.[0-9.]*\).*/\1/p'; }
is_new_enough() {
    minor=$(version | cut -d . -f 2)
    [ -n "$minor" ] && [ "$minor" -ge $least ]
}

packages=
need() { command -v "$1" >/dev/null 2>&1 || packages="$packages $2"; }
for part; do
    case $part in
    build)
        compiler=${CC:-cc}
        need "${compiler%% *}" gcc
        need make make
        # rustup's installer comes by curl.
        is_new_enough || [ -n "${RUST:-}" ] || command -v rustup >/dev/null 2>&1 || need curl "curl ca-certificates"
        ;;
    demo)
        need python3 python3
        python3 -c 'import venv, ensurepip' 2>/dev/null || packages="$packages python3-venv"
        ;;
    test)
        need g++ g++
        need gfortran gfortran
        need cmake cmake
        need pkg-config pkg-config
        need gdb gdb
        need valgrind valgrind
        need ip iproute2
        need nsenter util-linux
        need ssh openssh-client
        need chromium chromium
        # The Debian package is tested on Debian alone.
        ! command -v apt-get >/dev/null 2>&1 || need dpkg-shlibdeps dpkg-dev
        ;;
    *)
        echo "setup.sh: there is no part $part (build, demo, test)" >&2
        exit 2
        ;;
    esac
done

if [ -n "$packages" ]; then
    sudo=
    [ "$(id -u)" = 0 ] || sudo=sudo
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "setup: please install:$packages" >&2
        exit 1
    fi
    echo "setup: installing$packages"
    $sudo apt-get update -qq
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $packages >/dev/null
fi

if [ -n "${RUST:-}" ]; then
    if ! [ -x "$RUST/bin/cargo" ] || ! is_new_enough; then
        echo "setup: RUST=$RUST has $([ -x "$RUST/bin/cargo" ] && echo "Rust $(version)" || echo "no bin/cargo")," \
            "but Rust 1.$least or later is needed: name a folder with a newer one, or leave RUST out" >&2
        exit 1
    fi
elif ! is_new_enough; then
    found=$(version)
    if command -v rustup >/dev/null 2>&1; then
        echo "setup: Rust 1.$least or later is needed${found:+, $found is here}: updating it by rustup"
        rustup toolchain install stable --profile minimal
    else
        echo "setup: Rust 1.$least or later is needed${found:+, $found is here}: installing it by rustup, for this user alone"
        curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal
    fi
    PATH=$HOME/.cargo/bin:$PATH
    if ! is_new_enough; then
        echo "setup: Rust 1.$least or later is needed${found:+, $found is here}: install it (https://rustup.rs, or the" \
            "packages of a newer release of your distribution), or name its folder by RUST=FOLDER" >&2
        exit 1
    fi
fi

# What `make lint` runs. A Rust that is not rustup's has them in packages of the distribution.
component() {
    cargo "$1" --version >/dev/null 2>&1 || rustup component add "$2" 2>/dev/null || echo "setup: please install $2" >&2
}
case " $* " in
*" test "*)
    component fmt rustfmt
    component clippy clippy
    ;;
esac
