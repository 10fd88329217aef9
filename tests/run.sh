#!/usr/bin/env bash
# Runs every test: installs what they need with apt (as root, or with sudo), builds with -Werror under ASan and UBSan, and
# the threaded tests under TSan too; memory limits and injected faults need a release build beside them. Ends with
# "N passed, N failed, N skipped"; exit code 0 only when none failed.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
. .ci/packages.sh
need_packages "to build rue and its tests" "${build_packages[@]}" libcriterion-dev g++ python3 python3-pytest python3-numpy \
    python3-pil python3-lmdb python3-protobuf python3-crc32c python3-jsonschema libarchive-tools strace "${test_packages[@]}" || exit 1

passed=0 failed=0 skipped=0

# count PASSED FAILED SKIPPED
count() { passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3)); }

# The first number before WORD in the text, or 0.
number_of() { grep -oE "[0-9]+ $1" <<<"$2" | tail -n 1 | grep -oE '^[0-9]+' || echo 0; }

build() {
    cmake --preset "$1" -Wno-dev >/dev/null && cmake --build --preset "$1" >build/"$1".log 2>&1 && return
    tail -n 40 build/"$1".log
    echo "The $1 build failed."
    count 0 1 0
    return 1
}

# A binary of Criterion cases; one that dies without its summary counts as a failure.
run_criterion() {
    local output line
    output=$(timeout 300 "$1" --color=never --verbose=1 2>&1 | grep -vE '^\[(RUN |PASS)')
    line=$(grep -oE 'Tested: .*' <<<"$output" | tail -n 1)
    if [ -z "$line" ]; then
        echo "$output" && echo "$1 ended without a summary." && count 0 1 0
        return
    fi
    local tested passing skips
    tested=$(grep -oE 'Tested: [0-9]+' <<<"$line" | grep -oE '[0-9]+')
    passing=$(grep -oE 'Passing: [0-9]+' <<<"$line" | grep -oE '[0-9]+')
    skips=$(grep -c '^\[SKIP\]' <<<"$output")
    [ "$tested" -eq "$passing" ] || echo "$output"
    count $((passing)) $((tested - passing)) $((skips))
    echo "$(basename "$1"): $passing of $tested passed"
}

# A plain program that ends with "N passed, M failed".
run_plain() {
    local output
    output=$(timeout 600 "$1" 2>&1)
    local status=$? passes fails
    passes=$(number_of passed "$output") fails=$(number_of failed "$output")
    [ $status -eq 0 ] || fails=$((fails > 0 ? fails : 1))
    [ "$fails" -eq 0 ] || echo "$output"
    count "$passes" "$fails" 0
    echo "$1: $passes passed, $fails failed"
}

# One process a core, each with its share of the files.
run_pytest() {
    local files=(tests/{faults,house,program/*}/test_*.py) shards part i
    shards=$(nproc)
    [ "$shards" -le 4 ] || shards=4
    for ((part = 0; part < shards; part++)); do
        local own=()
        for ((i = part; i < ${#files[@]}; i += shards)); do own+=("${files[$i]}"); done
        RUE_PROGRAM=$PWD/build/asan/rue RUE_RELEASE=$PWD/build/release/rue timeout 2400 /usr/bin/python3 -m pytest -q -rs \
            -p no:cacheprovider "${own[@]}" >"build/pytest.$part.log" 2>&1 &
    done
    wait
    for ((part = 0; part < shards; part++)); do
        local line fails
        cat "build/pytest.$part.log"
        line=$(tail -n 1 "build/pytest.$part.log")
        fails=$(($(number_of failed "$line") + $(number_of errors? "$line")))
        grep -qE 'passed|skipped' <<<"$line" || fails=$((fails + 1))
        count "$(number_of passed "$line")" "$fails" "$(number_of skipped "$line")"
    done
}

mkdir -p build
if build release && build asan; then
    for test in build/asan/tests/test_*; do [ -f "$test" ] && run_criterion "$test"; done
    for test in build/asan/tests/race_*; do [ -f "$test" ] && run_plain "$test"; done
    run_pytest
fi
if build tsan; then
    for test in build/tsan/tests/race_*; do [ -f "$test" ] && TSAN_OPTIONS=halt_on_error=1 run_plain "$test"; done
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
