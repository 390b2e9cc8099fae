#!/bin/sh
# fuzz.sh [SECONDS [PATTERN]]: runs each fuzz target whose CRATE/FILE/TEST fits the pattern, for SECONDS (60), with
# libFuzzer, which follows what code an input reaches. What a target had not seen before is added to its corpus; an
# input that fails ends the run and is left in `crashes` beside it. SANITIZER=address finds wrong accesses too.
# `fuzz.sh shrink [PATTERN]` leaves in each corpus the fewest inputs that reach the same code.
set -eu
seconds=${1:-60}
pattern=${2:-.}
cd "$(dirname "$0")/.."

# As `cargo bolero test` does it, which would build and run every other test of the crate besides. Programs that are
# built along with a test lack what instrumented code calls; nobody runs them here.
RUSTFLAGS="--cfg fuzzing --cfg fuzzing_libfuzzer -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Clink-arg=-Wl,--unresolved-symbols=ignore-all"
if [ -n "${SANITIZER:-}" ]; then
    # Not in the stable compiler's promise, but in the compiler.
    RUSTFLAGS="$RUSTFLAGS -Zsanitizer=$SANITIZER"
    export RUSTC_BOOTSTRAP=1
fi
export RUSTFLAGS BOLERO_FUZZER=libfuzzer BOLERO_LIBTEST_HARNESS=1
machine=$(rustc -vV | sed -n 's/^host: //p')
build=${CARGO_TARGET_DIR:-target}/fuzz-${SANITIZER:-plain}

# CRATE/FILE/TEST of every target.
targets() {
    awk '/^fn / { test = $2; sub(/\(.*/, "", test) }
         /check!\(\)/ { split(FILENAME, part, "/"); sub(/\.rs$/, "", part[4]); print part[2] "/" part[4] "/" test }' \
        crates/*/tests/fuzz_*.rs
}

# run CRATE FILE TEST ARGUMENT...: the target under libFuzzer with these arguments.
run() {
    crate=$1 file=$2 test=$3
    shift 3
    BOLERO_LIBFUZZER_ARGS="$* -artifact_prefix=$kept/crashes/ -timeout=10 -print_final_stats=1" BOLERO_TEST_NAME=$test \
        cargo test --profile fuzz --target "$machine" --target-dir "$build" -p "hawser-$crate" --test "$file" \
        "$test" -- --exact --nocapture --test-threads 1 </dev/null
}

targets | grep -E "$pattern" | while IFS=/ read -r crate file test; do
    printf '\n== %s/%s/%s\n' "$crate" "$file" "$test"
    kept=$PWD/crates/$crate/tests/__fuzz__/$test
    mkdir -p "$kept/corpus" "$kept/crashes"
    if [ "$seconds" = shrink ]; then
        mkdir "$kept/shrunk"
        run "$crate" "$file" "$test" "$kept/shrunk" "$kept/corpus" -merge=1 -use_counters=0
        rm -r "$kept/corpus"
        mv "$kept/shrunk" "$kept/corpus"
    else
        run "$crate" "$file" "$test" "$kept/corpus" "$kept/crashes" "-max_total_time=$seconds"
    fi
    rmdir "$kept/crashes" 2>/dev/null || true
done
