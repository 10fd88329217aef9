#!/usr/bin/env bash
# wheel.sh SOURCE FOLDER: makes in FOLDER an sdist of a checkout, and from it a wheel that auditwheel accepts as manylinux_2_28.
# The Python of PATH has the packages of build/tools (tests/install.sh tools).
set -euo pipefail

source=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
export CC=$source/packaging/cc.sh RUE_ARCHIVES=$made/archives
python3 -m build -n -o "$made" "$source"
auditwheel repair --plat "manylinux_2_28_$(uname -m)" -w "$folder" "$made"/*.whl
mv "$made"/*.tar.gz "$folder"
python3 "$source/packaging/sbom.py" wheel "$folder"/*.whl "$RUE_ARCHIVES"
