#!/bin/sh
# Installs what building and testing need and is missing: a C compiler, CMake, Python, iproute2, Rust. Says nothing
# when all is there. Never touches what is installed already.
set -eu

packages=
need() { command -v "$1" >/dev/null 2>&1 || packages="$packages $2"; }
need cc gcc
need g++ g++
need make make
need cmake cmake
need pkg-config pkg-config
need python3 python3
need gdb gdb
need valgrind valgrind
need ip iproute2
need nsenter util-linux
need ssh openssh-client
need chromium chromium
python3 -c 'import venv, ensurepip' 2>/dev/null || packages="$packages python3-venv"
command -v cargo >/dev/null 2>&1 || need curl "curl ca-certificates"

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

# Rust 1.88 or later: edition 2024 with let chains.
rust_is_new_enough() {
    version=$(cargo --version 2>/dev/null | sed -n 's/^cargo 1\.\([0-9]*\).*/\1/p')
    [ -n "$version" ] && [ "$version" -ge 88 ]
}
if ! rust_is_new_enough; then
    if command -v rustup >/dev/null 2>&1; then
        rustup toolchain install stable --profile minimal
    else
        echo "setup: installing Rust by rustup"
        curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal
    fi
    # shellcheck disable=SC1091
    . "$HOME/.cargo/env" 2>/dev/null || true
    rust_is_new_enough || { echo "setup: Rust 1.88 or later is needed; see https://rustup.rs" >&2; exit 1; }
fi

# What `make lint` runs. A Rust that is not rustup's has them in packages of the distribution.
component() {
    cargo "$1" --version >/dev/null 2>&1 || rustup component add "$2" 2>/dev/null || echo "setup: please install $2" >&2
}
component fmt rustfmt
component clippy clippy
