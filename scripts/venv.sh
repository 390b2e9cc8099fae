#!/bin/sh
# venv.sh DIR PACKAGE...: a Python environment with these packages from PyPI, made once.
set -eu
dir=$1
shift
[ -x "$dir/bin/python" ] || python3 -m venv "$dir"
if ! "$dir/bin/python" -m pip install -q --disable-pip-version-check --no-index "$@" 2>/dev/null; then
    "$dir/bin/python" -m pip install -q --disable-pip-version-check "$@"
fi
