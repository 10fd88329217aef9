#!/usr/bin/env bash
# Builds rue and finds the loader configuration of this machine, for raw and preprocessed data and four models:
#
#   examples/quickstart.sh            tunes 512 synthetic photos, which it makes
#   examples/quickstart.sh FOLDER     tunes the images in FOLDER
#
# Installs missing packages with apt (as root, or with sudo). The rest takes less than three minutes on two cores.
set -euo pipefail

data=${1:+$(realpath -e -- "$1")}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. .ci/packages.sh
need_packages "to build rue" "${build_packages[@]}"

mkdir -p build
echo "Building rue (build/release/rue)" >&2
cmake --preset release -Wno-dev >build/configure.log 2>&1 || { cat build/configure.log >&2; exit 1; }
cmake --build --preset release >build/build.log 2>&1 || { cat build/build.log >&2; exit 1; }

if [ -z "$data" ]; then
    data=build/synthetic-photos
    [ -d "$data" ] || build/release/rue prepare --synthetic 512 "$data"
fi
exec build/release/rue tune "$data" --budget "${RUE_BUDGET:-100s}"
