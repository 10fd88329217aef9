#!/usr/bin/env bash
# run.sh SECONDS [NOUN...]: builds every fuzz target with clang, and runs each for so long (or those that are named), one a
# core at a time, from a small corpus that build/release/rue makes. Fails on any finding; what brought it about lies in
# build/fuzz/found then.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export seconds=${1:?"give the seconds for each target"}
shift
. .ci/packages.sh
need_packages "to fuzz" "${build_packages[@]}" clang libclang-rt-dev || exit 1
mkdir -p build/fuzz/found
build() { # build PRESET TARGET...
    cmake --preset "$1" -Wno-dev >/dev/null && cmake --build --preset "$1" --target "${@:2}"
}
{ build release rue && build fuzz $(basename -s .c tests/fuzz/fuzz_*.c) make_jpeg; } >build/fuzz.log 2>&1 || {
    tail -n 40 build/fuzz.log
    echo "The fuzz targets do not build."
    exit 1
}

# fuzz NOUN
fuzz() {
    local noun=$1 corpus=build/fuzz/corpus/$1 log=build/fuzz/$1.log seeds runs
    rm -rf "$corpus" && mkdir -p "$corpus"
    if [ -f "tests/fuzz/corpus_$noun.sh" ] && ! bash "tests/fuzz/corpus_$noun.sh" build/release/rue "$corpus"; then
        echo "$noun: its corpus cannot be made"
        return 1
    fi
    seeds=$(find "$corpus" -type f | wc -l)
    if "build/fuzz/tests/fuzz/fuzz_$noun" -max_total_time="$seconds" -max_len=65536 -timeout=25 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix=build/fuzz/found/ "$corpus" >"$log" 2>&1; then
        runs=$(grep -oE 'number_of_executed_units: +[0-9]+' "$log" | grep -oE '[0-9]+$')
        echo "$noun: $runs inputs in $seconds s from $seeds, nothing found"
    else
        grep -vE '^#[0-9]+' "$log" | tail -n 60
        echo "$noun: FOUND something, see build/fuzz/found"
        return 1
    fi
}
export -f fuzz

if [ $# -eq 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do set -- "$@" "$(basename "${source##*/fuzz_}" .c)"; done
fi
printf '%s\n' "$@" | xargs -P "$(nproc)" -I {} bash -c 'fuzz {}'
