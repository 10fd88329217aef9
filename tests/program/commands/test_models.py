"""rue models: what is simulated, on which device, and what a batch takes there; --device of the commands that tune."""
import json
import re
import subprocess
import sys

import pytest
import wording
from conftest import ROOT, expect_failure


def listed(rue, *words):
    done = rue("models", *words, "--json")
    assert done.returncode == 0, done.stderr
    return {one["model"]: one for one in json.loads(done.stdout)}


@pytest.mark.quick
def test_measured_times_are_shown_as_measured_and_others_as_estimates(rue):
    models = listed(rue, "--batch-size", "32,128")
    assert len(models) == 18
    resnet = models["resnet50"]
    assert resnet["batch_size"] == [32, 128] and resnet["measured"] == [True, True] and resnet["batch_ns"][1] == 85028096
    assert resnet["parameters"] == 25557032 and resnet["multiply_adds"] == 4089184256
    assert models["convnext_tiny"]["measured"] == [False, False]
    text = rue("models", "--batch-size", "32").stdout
    line = {text.split()[0]: text for text in text.splitlines() if text.startswith("  ")}
    assert "  22.9 ms" in line["resnet50"] and "~" in line["convnext_tiny"] and "11.6 %" in " ".join(text.split())
    assert wording.NEAREST_TWO not in text


def test_times_outside_of_the_measured_batch_sizes_are_marked(rue):
    """The A5000's times begin with batches of 32 and end with those of 1,024."""
    text = rue("models", "--batch-size", "1,32,100,2048").stdout
    row = next(line for line in text.splitlines() if "resnet18" in line)
    assert [time.startswith("~") for time in row.split()[-8::2]] == [True, False, False, True], row
    assert wording.NEAREST_TWO in text
    assert listed(rue)["resnet18"]["measured"] == [False, True, True, True]


@pytest.mark.parametrize("columns", [40, 50, 80])
def test_all_times_fit_a_narrow_window(rue, columns):
    """Those of all eleven sizes that there may be: in several tables, none of them cut."""
    text = rue("models", "--device", "l4", "--batch-size", "1,2,4,8,16,32,64,128,256,512,1024", env=dict(COLUMNS=columns)).stdout
    rows = [line for line in text.splitlines() if line.startswith("  resnet50 ")]
    times = [word for row in rows for word in row.split() if "~" in word]
    assert len(rows) > 1 and len(times) == 11 and "…" not in text, text
    assert max(map(len, text.splitlines())) <= columns


def test_weights_and_activations_are_shown_in_bytes_of_the_precision(rue):
    for device, element in (("rtx-a5000", 4), ("h100:bf16", 2), ("host:1", 4)):
        resnet = listed(rue, "--device", device)["resnet18"]
        assert resnet["weight_bytes"] == 11689512 * element and resnet["peak_activation_bytes"] == 1605632 * element


def test_another_device_is_faster_and_limits_batches_by_its_memory(rue):
    slow, fast = listed(rue, "--device", "t4"), listed(rue, "--device", "h100:bf16")
    for name in slow:
        assert slow[name]["largest_batch"] < fast[name]["largest_batch"]
        for one, other in zip(slow[name]["batch_ns"], fast[name]["batch_ns"]):
            assert one is None or one > other, name
    # 7.2 MB of activations an image in fp32 leave room for no 4,096 of them in 16 GB.
    assert listed(rue, "--device", "t4", "--batch-size", "4096")["resnet50"]["batch_ns"] == [None]


def test_devices_are_listed(rue):
    done = rue("models", "--devices", "--json")
    assert {one["device"]: one["bf16_flops_per_s"] for one in json.loads(done.stdout)}["t4"] is None
    h100 = {one["device"]: one for one in json.loads(done.stdout)}["h100"]
    assert h100["launch_ns"] == 4000 and h100["fp32_convolution_flops_per_s"] == 494.7e12
    text = rue("models", "--devices").stdout
    assert "NVIDIA H100" in text and "host:2" in text and "4 us" in rue("models", "--devices", env=dict(COLUMNS=120)).stdout


def test_names_of_devices_are_those_of_models_in_any_letters(rue):
    assert listed(rue, "--device", "RTX_A5000:fp16") == listed(rue, "--device", "rtx-a5000:fp16")


@pytest.mark.parametrize("words, said", [
    (["--device", "h1000"], ["unknown device 'h1000'", "h100"]),
    (["--device", "h100:fp8"], ["unknown precision 'fp8'"]),
    (["--device", "t4:bf16"], ["t4 does not support bf16"]),
    (["--device", ""], ["--device", "empty"]),
    (["--batch-size", "0"], ["--batch-size: '0'"]),
    (["--batch-size", "1..16"], ["--batch-size", "more than 15 values"])])
def test_unknown_models_and_devices_are_refused(rue, words, said):
    expect_failure(rue("models", *words), 2, *said)


def test_a_study_simulates_the_given_device(rue, photos):
    done = rue("tune", photos, "--model", "resnet18,sleep:1ms,resnet50@l4:fp16", "--device", "h100:bf16", "--mode", "raw",
               "--batch-size", "8", "--num-workers", "1,2", "--strategy", "grid", "--images", "16", "--json", "--quiet", "--out", "out")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["recommendations"][0]
    assert found["models"] == ["resnet18@h100:bf16", "sleep:1ms", "resnet50@l4:fp16"]
    assert rue("show", "out").returncode == 0


def test_the_error_of_the_roofline_is_as_documented(rue):
    done = subprocess.run([sys.executable, ROOT / "tests/bench/roofline_error.py"], capture_output=True, text=True, check=True)
    errors = dict(re.findall(r"^(as it is|\w+ left out): (.* %) at most$", done.stdout, re.MULTILINE))
    assert {kind: re.findall(r"[\d.]+ %", text) for kind, text in errors.items()} == {
        "as it is": ["5.4 %", "11.6 %"], "model left out": ["5.8 %", "13.3 %"], "family left out": ["19.0 %", "26.7 %"]}
    told = rue("models", "--device", "h100").stdout + (ROOT / "docs/models.md").read_text()
    for text in ("5.4 %", "11.6 %", "5.8 %", "13.3 %"):
        assert told.count(text) == 2, text
    ratio = dict(re.findall(r"(\w+_efficiency) = (0\.\d+)", (ROOT / "models/roofline.c").read_text()))
    as_it_is = re.search(r"AS_IT_IS = \((.*)\)", (ROOT / "tests/bench/roofline_error.py").read_text()).group(1)
    assert as_it_is == ", ".join([*ratio.values(), "4000"])


def test_layers_are_those_of_torchvision(rue):
    """The tables are what their generator writes, and that traces torchvision's own definitions."""
    pytest.importorskip("torchvision", reason="skipped: no torchvision")
    names = ["resnet18", "mobilenet_v2", "vit_b_32", "swin_t"]
    done = subprocess.run([sys.executable, ROOT / "models/trace_layers.py", *names], capture_output=True, text=True, check=True)
    squeeze = lambda text: "".join(text.split())
    tables = squeeze("".join(path.read_text() for path in (ROOT / "models").glob("architecture_*.c")))
    for part in done.stdout.split("static const")[1:]:
        assert squeeze(part.split("};")[0]).rstrip(",") in tables, part[:60]
