#!/usr/bin/env bash
# pictures.sh WHEEL: makes the pictures of README and docs anew, on an idle machine with PyTorch and chromium:
#   examples/quickstart.svg   what rue tune prints
#   examples/quickstart.png   the first screen of the page that it writes
#   examples/session.svg      from the wheel to a training script with the recommended loader
set -euo pipefail

wheel=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD folder=$(mktemp -d)
trap 'cat "$folder/errors" >&2; rm -rf "$folder"' EXIT
cd "$folder"
/usr/bin/python3 -m venv --system-site-packages venv
export PATH=$folder/venv/bin:$PATH PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONFIG_FILE=/dev/null PIP_FIND_LINKS=
cp "$wheel" .

cat >train.py <<'PYTHON'
import torch
from rue_tuner import Loader
from torchvision.models import mobilenet_v3_small

loader = Loader.from_recommendation("rue-out/photos")
model = mobilenet_v3_small(num_classes=len(loader.classes))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loader.stats}")
PYTHON

run() { # run COMMAND: the command and what it prints in a terminal
    printf '\e[1m$ %s\e[0m\n' "$1"
    script -qec "stty cols 84; $1 2>>errors" /dev/null | sed "s|$folder/||g; s/\r$//"
}

{
    run "pip install rue_tuner-*.whl"
    rue prepare --synthetic 512 photos --quiet
    run "rue tune photos/ --transform train" | tee tune
    run "cat train.py"
    run "python3 train.py"
} >session
"$root/.ci/picture.py" <session >"$root/examples/session.svg"
"$root/.ci/picture.py" <tune >"$root/examples/quickstart.svg"
chromium --headless --no-sandbox --hide-scrollbars --window-size=1400,800 --screenshot="$root/examples/quickstart.png" \
    "file://$folder/rue-out/photos/report.html" 2>/dev/null
