#!/usr/bin/env bash
# run.sh [quick]: runs every test: installs what they need with apt (as root, or with sudo), builds with -Werror under ASan
# and UBSan, and the threaded tests under TSan too; memory limits and injected faults need a release build beside them.
# `quick` builds the first of these alone, and runs the unit tests and those of the program that are marked as its main
# paths. Ends with a line for each failed test and "N passed, N failed, N skipped"; exit code 0 only when none failed.
# RUE_JOBS says how many tests run at the same time (five on two cores: many of them wait for a clock most of the time).
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
. .ci/packages.sh
need_packages "to build rue and its tests" "${build_packages[@]}" libcriterion-dev g++ python3 python3-pytest python3-pytest-xdist python3-pytest-timeout python3-venv \
    python3-numpy python3-pil python3-lmdb python3-zarr python3-protobuf python3-crc32c python3-jsonschema libarchive-tools strace "${test_packages[@]}" || exit 1

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

# Tests with libraries from PyPI.
peer_tests=(tests/python/test_peers.py tests/python/test_reach.py tests/python/test_loader_frameworks.py)

# Those libraries, in the newest versions that work with Debian's PyTorch 1.13. Of the last ones, most dependencies are for
# training, so only those of their loaders are installed.
install_peers() {
    local torch
    torch=$(/usr/bin/python3 -c 'import torch; print(torch.__version__.split("+")[0])' 2>/dev/null) || return 1
    [ -e build/peers/complete ] && return
    rm -rf build/peers
    /usr/bin/python3 -m venv --system-site-packages build/peers &&
        timeout 600 build/peers/bin/pip install -q -c <(echo "torch==$torch") 'numpy<2' 'pyarrow<20' webdataset 'timm<1.1' \
            'pytorch-lightning==2.1.4' 'transformers==4.36.2' 'accelerate<0.30' 'jax<0.5' 'datasets<4' pandas \
            'monai<1.4' torch_geometric 'dgl<2' matplotlib rich addict termcolor yapf threadpoolctl 'opencv-python-headless<4.12' &&
        timeout 600 build/peers/bin/pip install -q --no-deps mmengine ultralytics batchgenerators 'fastai<2.8' 'fastcore<1.8' 'fastprogress<1.1' &&
        touch build/peers/complete
}

# zarr 3 from PyPI, for tests/program/data/test_zarr.py.
install_zarr_3() {
    [ -e build/zarr3/complete ] && return
    rm -rf build/zarr3
    /usr/bin/python3 -m venv build/zarr3 && timeout 600 build/zarr3/bin/pip install -q 'zarr>=3' && touch build/zarr3/complete
}

# run_pytest LOG PYTHON WORD...
run_pytest() {
    local begin=$SECONDS log=$1 python=$2
    shift 2
    RUE_PROGRAM=$PWD/build/asan/rue RUE_RELEASE=$PWD/build/release/rue timeout 2400 "$python" -m pytest -q -rsfE \
        --tb=short --timeout 900 --timeout-method thread -p no:cacheprovider "$@" 2>&1 | tee "$log"
    echo "ran pytest in $((SECONDS - begin)) s"
}

# count_pytest LOG
count_pytest() {
    local line fails
    line=$(tail -n 1 "$1")
    fails=$(($(number_of failed "$line") + $(number_of errors? "$line")))
    grep -qE 'passed|skipped' <<<"$line" || fail "pytest ended early"
    count "$(number_of passed "$line")" "$fails" "$(number_of skipped "$line")"
    mapfile -t -O ${#broken[@]} broken < <(grep -oP '^(FAILED|ERROR) \K\S+' "$1")
}

# run_peers PROCESS: waits for it to install the libraries.
run_peers() {
    local peers=/usr/bin/python3
    tail --pid="$1" -f /dev/null
    if [ -e build/peers/complete ]; then
        peers=$PWD/build/peers/bin/python
    else
        echo "The libraries of ${peer_tests[*]} cannot be had (build/peers.log): their tests are skipped."
    fi
    run_pytest build/pytest_peers.log "$peers" -n 2 "${peer_tests[@]}"
}

mkdir -p build
if [ "$quick" = quick ]; then
    build asan && run_programs build/asan/tests && run_pytest build/pytest.log /usr/bin/python3 -n "$jobs" -m quick tests &&
        count_pytest build/pytest.log
else
    install_zarr_3 >build/zarr3.log 2>&1 &
    install_peers >build/peers.log 2>&1 &
    installing=$!
    if build release && build asan && build tsan; then
        run_programs build/asan/tests build/tsan/tests
        run_peers "$installing" >build/peers_output.log &
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
