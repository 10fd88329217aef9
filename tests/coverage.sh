#!/usr/bin/env bash
# Which lines and branches the tests reach: a table of all files on standard output, build/coverage/report/index.html to
# click through. Installs gcovr with apt where it is missing.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
. .ci/packages.sh
need_packages "to count what the tests reach" gcovr
cmake --preset coverage -Wno-dev >/dev/null
cmake --build --preset coverage >build/coverage.log 2>&1 || { tail -n 40 build/coverage.log; exit 1; }
find build/coverage -name '*.gcda' -delete
for test in build/coverage/tests/test_* build/coverage/tests/race_*; do
    [ -f "$test" ] && { timeout 300 "$test" >/dev/null 2>&1 || echo "$test failed" >&2; }
done
# Programs that somebody without rights runs cannot save their counts and say so, which fails a few of these tests.
RUE_PROGRAM=$PWD/build/coverage/rue RUE_RELEASE=$PWD/build/coverage/rue /usr/bin/python3 -m pytest -q -p no:cacheprovider tests | tail -n 12 >&2 || true
mkdir -p build/coverage/report
# A branch that only an exception or an assertion can take is none of the program's.
count() { gcovr --root . --object-directory build/coverage --exclude tests/ --exclude examples/ --exclude-throw-branches "$@"; }
count --html-details build/coverage/report/index.html
count
echo
count --branches | tail -n 4
