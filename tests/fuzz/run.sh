#!/usr/bin/env bash
# run.sh SECONDS [NOUN...]: builds every fuzz target with clang, and runs each for so long (or those that are named)
# from a small corpus that rue itself makes. Fails on any finding; what brought it about lies in build/fuzz/found then.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${1:?"give the seconds for each target"}
shift
. .ci/packages.sh
need_packages "to fuzz" "${build_packages[@]}" clang libclang-rt-dev || exit 1
mkdir -p build/fuzz/found
cmake --preset fuzz -Wno-dev >/dev/null && cmake --build --preset fuzz >build/fuzz.log 2>&1 || {
    tail -n 40 build/fuzz.log
    echo "The fuzz targets do not build."
    exit 1
}

failed=0
for target in build/fuzz/tests/fuzz/fuzz_*; do
    [ -f "$target" ] && [ -x "$target" ] || continue
    noun=${target##*/fuzz_}
    [ $# -eq 0 ] || [[ " $* " == *" $noun "* ]] || continue
    corpus=build/fuzz/corpus/$noun
    rm -rf "$corpus" && mkdir -p "$corpus"
    if [ -f "tests/fuzz/corpus_$noun.sh" ] && ! bash "tests/fuzz/corpus_$noun.sh" build/fuzz/rue "$corpus"; then
        echo "$noun: its corpus cannot be made"
        failed=1
        continue
    fi
    seeds=$(find "$corpus" -type f | wc -l)
    if "$target" -max_total_time="$seconds" -max_len=65536 -timeout=25 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix=build/fuzz/found/ "$corpus" >"build/fuzz/$noun.log" 2>&1; then
        runs=$(grep -oE 'number_of_executed_units: +[0-9]+' "build/fuzz/$noun.log" | grep -oE '[0-9]+$')
        echo "$noun: $runs inputs in $seconds s from $seeds, nothing found"
    else
        grep -vE '^#[0-9]+' "build/fuzz/$noun.log" | tail -n 60
        echo "$noun: FOUND something, see build/fuzz/found"
        failed=1
    fi
done
exit $failed
