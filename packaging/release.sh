#!/usr/bin/env bash
# release.sh [--check] [FOLDER]: makes in FOLDER (dist) all packages of the last commit: a wheel, an sdist, packages of Debian 12,
# an SBOM and SHA256SUMS. The same commit, compiler and tools of PyPI give the same bytes.
# --check makes them twice and compares them, then installs each on a bare system and uses it there (tests/packaging).
set -euo pipefail

check=no
[ "${1:-}" != --check ] || { check=yes && shift; }
folder=$(realpath -m "${1:-dist}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. .ci/packages.sh
. /etc/os-release
if [ "${VERSION_CODENAME:-}" != bookworm ]; then
    echo "packaging/release.sh: this is $PRETTY_NAME, and packages of Debian 12 need its libraries: run it on Debian 12" >&2
    exit 1
fi
if [ -e "$folder" ]; then
    echo "packaging/release.sh: $folder exists: remove it, or name another folder" >&2
    exit 1
fi
need_packages "to make packages" "${build_packages[@]}" "${wheel_packages[@]}" dpkg-dev git python3-venv
tests/install.sh tools
[ "$check" = no ] || tests/install.sh bare
commit=$(git rev-parse HEAD)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC PATH=$PWD/build/tools/bin:$PATH
umask 022

make_packages() { # make_packages FOLDER
    local source=$work/$RANDOM/rue
    git clone -q . "$source" && git -C "$source" checkout -q "$commit"
    "$source/packaging/wheel.sh" "$source" "$1"
    cmake -S "$source" -B "$source/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DRUE_CUDA=OFF -DCMAKE_INSTALL_PREFIX=/usr
    cmake --build "$source/build"
    cpack -G DEB --config "$source/build/CPackConfig.cmake" -B "$source/made"
    mv "$source"/made/*.deb "$1"
    "$source/packaging/sbom.py" release "$1" >"$work/sbom"
    mv "$work/sbom" "$1/rue.spdx.json"
    (cd "$1" && sha256sum -- * >SHA256SUMS)
    rm -rf "$source"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$(dirname "$folder")/$(basename "$folder").log
make_packages "$folder" >"$log" 2>&1 || { tail -n 30 "$log" >&2 && exit 1; }
cat "$folder/SHA256SUMS"
[ "$check" = yes ] || exit 0
make_packages "$work/again" >>"$log" 2>&1 || { tail -n 30 "$log" >&2 && exit 1; }
if ! diff "$folder/SHA256SUMS" "$work/again/SHA256SUMS"; then
    echo "packaging/release.sh: the same commit gave other bytes the second time" >&2
    exit 1
fi
echo "made twice: the same bytes"
RUE_PACKAGES=$folder /usr/bin/python3 -m pytest -q -s -rs --durations 0 -p no:cacheprovider tests/packaging/test_release.py
