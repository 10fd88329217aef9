# Sourced by the scripts: installs Debian packages that are missing, and says which and why.

# need_packages WHY PACKAGE...
need_packages() {
    local why=$1 package missing=()
    shift
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    echo "Installing with apt, $why: ${missing[*]}" >&2
    local root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { echo "Not root, and there is no sudo: run 'apt-get install ${missing[*]}' as root first." >&2; return 1; }
        root=(sudo)
    fi
    "${root[@]}" apt-get update -q >&2
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" >&2
}

build_packages=(gcc libc6-dev cmake ninja-build pkg-config libjpeg62-turbo-dev libpng-dev libwebp-dev liburing-dev liblmdb-dev libarchive-dev libjansson-dev zlib1g-dev libzstd-dev libblosc-dev libsqlite3-dev libgsl-dev)
# What a wheel is linked with besides.
wheel_packages=(g++ libbz2-dev liblz4-dev liblzma-dev libsnappy-dev)
