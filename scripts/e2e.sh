#!/bin/sh
# e2e.sh PREFIX [pytest options]: the end-to-end tests against the Hawser installed in PREFIX. Without options all of
# them run: files side by side where there are cores, then those that measure, alone. With options pytest runs as they
# say.
set -eu
HAWSER_PREFIX=$(cd "$1" && pwd)
export HAWSER_PREFIX
shift
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/scripts/e2e-tools.sh"
if [ -n "${HAWSER_WHOLE:-}" ]; then
    "$root/scripts/mpi4py-std.sh" "$root/build/mpi4py-std" "$root/build/e2e/bin/python" "$HAWSER_PREFIX"
fi
pytest() { "$root/build/e2e/bin/python" -m pytest -q "$@"; }
[ $# -eq 0 ] || { pytest "$root/tests" "$@"; exit; }
failed=0
# A file stays with one worker, which compiles its programs once; the files that take longest come first (conftest.py).
# Many tests wait: half as many workers again as there are cores. Twice as many were no faster, and tests that wait for
# other hosts met loaded ones. Those of the benchmark measure, all but those of its report.
workers=$(($(nproc) * 3 / 2))
[ "$workers" -le 6 ] || workers=6
pytest "$root/tests" --ignore-glob '*/test_bench_[!r]*.py' --ignore-glob '*/test_bench_run.py' \
    -n "$workers" --dist loadfile --no-loadscope-reorder --durations 30 || failed=1
pytest "$root"/tests/test_bench_doctor.py "$root"/tests/test_bench_run.py "$root"/tests/test_bench_tune.py || failed=1
exit $failed
