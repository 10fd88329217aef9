#!/usr/bin/env bash
# run.sh [quick]: runs every test: installs what they use (install.sh), builds with -Werror under ASan and UBSan, and the
# threaded tests under TSan too; memory limits and injected faults need a release build beside them.
# `quick` builds the first of these alone, and runs the unit tests and those of the program that are marked as its main
# paths. Ends with a line for each failed test and "N passed, N failed, N skipped"; exit code 0 only when none failed.
# RUE_JOBS says how many tests run at the same time (five on two cores: many of them wait for a clock most of the time).
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
tests/install.sh apt || exit 1

quick=${1:-}
jobs=${RUE_JOBS:-$((5 * $(nproc) / 2))}
passed=0 failed=0 skipped=0
broken=()
# Whole searches on many simulated machines: a quarter of the time of all unit tests.
left_out=()
[ "$quick" != quick ] || left_out=(! -name test_strategy_duel ! -name test_strategies)

# count PASSED FAILED SKIPPED
count() { passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3)); }

fail() { count 0 1 0 && broken+=("$1"); }

# The last number before WORD in the text, or 0.
number_of() { grep -oE "[0-9]+ $1" <<<"$2" | tail -n 1 | grep -oE '^[0-9]+' || echo 0; }

# build PRESET [TARGET...]
build() {
    local preset=$1 begin=$SECONDS
    shift
    if cmake --preset "$preset" -Wno-dev >/dev/null && cmake --build --preset "$preset" ${1:+--target "$@"} >"build/$preset.log" 2>&1; then
        echo "built $preset in $((SECONDS - begin)) s"
        return
    fi
    tail -n 40 "build/$preset.log"
    fail "the $preset build"
    return 1
}

# One program of tests, whose output ends with Criterion's summary or with "N passed, N failed". Leaves beside it a file
# of its counts, and a line for each failed case. One that dies without its summary counts as a failure.
run_program() {
    local output status line passes=0 fails=1 skips=0 words=()
    [[ $1 == */race_* ]] || words=(--color=never --verbose=1 --jobs 1)
    output=$(TSAN_OPTIONS=halt_on_error=1 timeout 600 "$1" "${words[@]}" 2>&1)
    status=$?
    output=$(grep -vE '^\[(RUN |PASS)' <<<"$output")
    if [[ $1 == */race_* ]]; then
        passes=$(number_of passed "$output") fails=$(number_of failed "$output")
        [ $status -eq 0 ] || fails=$((fails > 0 ? fails : 1))
    elif line=$(grep -oE 'Tested: .*' <<<"$output"); then
        passes=$(grep -oP 'Passing: \K[0-9]+' <<<"$line")
        fails=$(($(grep -oP 'Tested: \K[0-9]+' <<<"$line") - passes))
        skips=$(grep -c '^\[SKIP\]' <<<"$output")
    fi
    [ "$fails" -eq 0 ] || echo "$output"
    echo "$1: $passes passed, $fails failed"
    {
        echo "$passes $fails $skips"
        [ "$fails" -eq 0 ] || grep -oP '^\[FAIL\] \K[a-z0-9_:]+(?=:)' <<<"$output" || echo "$1"
    } >"$1.counts"
}
export -f run_program number_of

# The longest of them come last by name.
run_programs() {
    local begin=$SECONDS file counts
    find build/*/tests -name '*.counts' -delete
    find "$@" -maxdepth 1 -type f -perm -u+x \( -name 'test_*' -o -name 'race_*' \) "${left_out[@]}" | sort -r |
        xargs -P "$(nproc)" -I {} bash -c 'run_program {}'
    for file in build/*/tests/*.counts; do
        { read -r -a counts && mapfile -t -O ${#broken[@]} broken; } <"$file"
        count "${counts[@]}"
    done
    echo "ran programs of tests in $((SECONDS - begin)) s"
}

# Tests with the libraries of build/peers.
peer_tests=(tests/python/test_peers.py tests/python/test_reach.py tests/python/test_loader_frameworks.py
            tests/python/test_tracking.py tests/python/test_lightning.py tests/python/test_ray.py)

# run_pytest LOG PYTHON WORD...
run_pytest() {
    local begin=$SECONDS log=$1 python=$2
    shift 2
    RUE_PROGRAM=$PWD/build/asan/rue RUE_RELEASE=$PWD/build/release/rue timeout 2400 "$python" -m pytest -q -rsfE \
        --dist loadgroup --tb=short --timeout 900 --timeout-method thread -p no:cacheprovider "$@" 2>&1 | tee "$log"
    echo "ran pytest in $((SECONDS - begin)) s"
}

# count_pytest LOG
count_pytest() {
    local line fails
    line=$(tail -n 1 "$1")
    fails=$(($(number_of failed "$line") + $(number_of errors? "$line")))
    grep -qE 'passed|skipped' <<<"$line" || fail "pytest ended early"
    count "$(number_of passed "$line")" "$fails" "$(number_of skipped "$line")"
    mapfile -t -O ${#broken[@]} broken < <(grep -oP '^(FAILED|ERROR) \K\S+' "$1" | sed -E 's/@\w+$//')
}

# run_peers PROCESS: waits for it to install the libraries.
run_peers() {
    local peers=/usr/bin/python3
    tail --pid="$1" -f /dev/null
    [ ! -e build/peers/complete ] || peers=$PWD/build/peers/bin/python
    run_pytest build/pytest_peers.log "$peers" -n 2 "${peer_tests[@]}"
}

mkdir -p build
if [ "$quick" = quick ]; then
    build asan && run_programs build/asan/tests && run_pytest build/pytest.log /usr/bin/python3 -n "$jobs" -m quick tests &&
        count_pytest build/pytest.log
else
    tests/install.sh tools &
    tools=$!
    tests/install.sh peers &
    peers=$!
    if build release && build asan && build tsan; then
        run_programs build/asan/tests build/tsan/tests
        wait "$tools"
        run_peers "$peers" >build/peers_output.log &
        # Folders of long tests come first: at the end all workers have work until the last moment.
        run_pytest build/pytest.log /usr/bin/python3 -n "$jobs" "${peer_tests[@]/#/--ignore=}" \
            tests/python tests/faults tests/program/study tests
        wait
        cat build/peers_output.log
        count_pytest build/pytest.log
        count_pytest build/pytest_peers.log
    fi
fi
[ ${#broken[@]} -eq 0 ] || printf 'failed: %s\n' "${broken[@]}"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
