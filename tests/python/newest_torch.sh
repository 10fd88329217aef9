#!/usr/bin/env bash
# newest_torch.sh [WORD...]: installs the newest torch, torchvision and libraries of tests/run.sh's peer_tests into
# build/newest_torch, about 7 GB, and runs tests/python with them. RUE_PROGRAM names the program [build/release/rue];
# WORDs are for pytest. Remove the folder to get newer versions.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
environment=build/newest_torch
if [ ! -e "$environment/complete" ]; then
    rm -rf "$environment"
    python3 -m venv "$environment"
    "$environment/bin/pip" install -q torch torchvision numpy pytest pytest-xdist pytest-timeout webdataset timm \
        pytorch-lightning transformers accelerate jax datasets pandas monai torch_geometric matplotlib rich addict \
        termcolor yapf threadpoolctl scipy opencv-python-headless
    "$environment/bin/pip" install -q --no-deps mmengine ultralytics batchgenerators 'fastai<2.8' 'fastcore<1.8' 'fastprogress<1.1'
    touch "$environment/complete"
fi
"$environment/bin/python" -c 'import torch, torchvision; print("torch", torch.__version__, "torchvision", torchvision.__version__)'
RUE_PROGRAM=${RUE_PROGRAM:-$PWD/build/release/rue} exec "$environment/bin/python" -m pytest -q -rsfE -p no:cacheprovider \
    --rootdir tests --timeout 900 -n 2 tests/python --ignore tests/python/test_wheel.py "$@"
