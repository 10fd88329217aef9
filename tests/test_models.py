"""rue models: what is simulated, on which device, and what a batch takes there; --device of the commands that tune."""
import json
import subprocess
import sys

import pytest
from conftest import ROOT, expect_failure


def listed(rue, *words):
    done = rue("models", *words, "--json")
    assert done.returncode == 0, done.stderr
    return {one["model"]: one for one in json.loads(done.stdout)}


def test_measured_times_are_told_as_they_are_and_others_as_estimates(rue):
    models = listed(rue, "--batch-size", "32,128")
    assert len(models) == 18
    resnet = models["resnet50"]
    assert resnet["source"] == "measured" and resnet["times"][1] == {"batch_size": 128, "batch_ns": 85028096}
    assert resnet["parameters"] == 25557032 and resnet["multiply_adds"] == 4089184256
    assert models["convnext_tiny"]["source"] == "estimated"
    text = rue("models", "--batch-size", "32").stdout
    line = {text.split()[0]: text for text in text.splitlines() if text.startswith("  ")}
    assert "22.9 ms" in line["resnet50"] and "~" in line["convnext_tiny"] and "11.6 %" in " ".join(text.split())


def test_another_device_is_faster_and_takes_what_its_memory_holds(rue):
    slow, fast = listed(rue, "--device", "t4"), listed(rue, "--device", "h100:bf16")
    for name in slow:
        assert slow[name]["largest_batch"] < fast[name]["largest_batch"]
        for one, other in zip(slow[name]["times"], fast[name]["times"]):
            assert one["batch_ns"] is None or one["batch_ns"] > other["batch_ns"], name
    # 7.2 MB of activations an image in fp32 leave room for no 4,096 of them in 16 GB.
    assert listed(rue, "--device", "t4", "--batch-size", "4096")["resnet50"]["times"][0]["batch_ns"] is None


def test_devices_are_listed(rue):
    done = rue("models", "--devices", "--json")
    assert {one["device"]: one["flops_per_s"]["bf16"] for one in json.loads(done.stdout)}["t4"] is None
    assert "NVIDIA H100" in rue("models", "--devices").stdout


@pytest.mark.parametrize("words, said", [
    (["--device", "h1000"], ["unknown device 'h1000'", "h100"]),
    (["--device", "h100:fp8"], ["unknown precision 'fp8'"]),
    (["--device", "t4:bf16"], ["t4 has no bf16"]),
    (["--device", ""], ["--device", "empty"]),
    (["--batch-size", "0"], ["--batch-size: '0'"]),
    (["--batch-size", "1,2,3,4,5,6,7,8,9,10,11,12"], ["--batch-size", "more than 11 values"])])
def test_what_is_not_known_is_refused(rue, words, said):
    expect_failure(rue("models", *words), 2, *said)


def test_a_study_is_made_on_the_device_that_is_asked_for(rue, photos):
    done = rue("tune", photos, "--model", "resnet18,sleep:1ms,resnet50@l4:fp16", "--device", "h100:bf16", "--mode", "raw",
               "--batch-size", "8", "--num-workers", "1,2", "--strategy", "grid", "--images", "16", "--json", "--quiet", "--out", "out")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["recommendations"][0]
    assert found["models"] == ["resnet18@h100:bf16", "sleep:1ms", "resnet50@l4:fp16"]
    assert rue("show", "out").returncode == 0


def test_layers_are_those_of_torchvision(rue):
    """The tables are what their generator writes, and that traces torchvision's own definitions."""
    pytest.importorskip("torchvision", reason="skipped: no torchvision")
    names = ["resnet18", "mobilenet_v2", "vit_b_32", "swin_t"]
    done = subprocess.run([sys.executable, ROOT / "models/trace_layers.py", *names], capture_output=True, text=True, check=True)
    squeeze = lambda text: "".join(text.split())
    tables = squeeze("".join(path.read_text() for path in (ROOT / "models").glob("architecture_*.c")))
    for part in done.stdout.split("static const")[1:]:
        assert squeeze(part.split("};")[0]).rstrip(",") in tables, part[:60]
