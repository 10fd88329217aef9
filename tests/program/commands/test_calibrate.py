"""rue calibrate and device tables, and what a request says of a model's costs."""
import json
import os
import re
import subprocess

import pytest
import wording
from conftest import HANG_S, clean_environment, expect_failure, make_table, read_json


def device_table(models, **more):
    return dict(dict(format="rue.device/1", title="a toaster", models=models), **more)


def write_table(folder, name="toaster.json", **more):
    models = [dict(model="resnet18", batch_size=[1, 4, 8], batch_ns=[200000, 300000, 500000], largest_batch=8),
              dict(model="vit_b_16", batch_size=[4], batch_ns=[800000])]
    (folder / name).write_text(json.dumps(device_table(models, **more)))
    return name


def calibrate(rue, *words):
    done = rue("calibrate", *words, "--batches", "3", "--out", "out.json", "--json", "--quiet")
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)
    assert table == json.loads((rue.folder / "out.json").read_text())
    return {one["model"]: one for one in table["models"]}, table


@pytest.mark.quick
def test_a_device_table_has_the_times_of_batches(rue):
    models, table = calibrate(rue, "ResNet18,sleep:300us/image", "--device", "h100:bf16", "--batch-size", "1,2")
    assert table["format"] == "rue.device/1" and table["precision"] == "bf16" and "NVIDIA H100" in table["title"]
    assert table["machine"]["usable_cpus"] >= 1 and table["device"] == "h100:bf16"
    assert list(models) == ["resnet18", "sleep:300us/image"]
    told = {one["model"]: one for one in json.loads(rue("models", "--device", "h100:bf16", "--batch-size", "1,2", "--json").stdout)}
    meant = {"resnet18": told["resnet18"]["batch_ns"], "sleep:300us/image": [300000, 600000]}
    for name, model in models.items():
        assert model["batch_size"] == [1, 2] and model["infeasible"] == [] and model["largest_batch"] is None
        assert all(took >= ns for took, ns in zip(model["batch_ns"], meant[name])), (model, meant)


def test_a_batch_size_that_does_not_fit_ends_the_row_of_a_model(rue, tmp_path):
    models, table = calibrate(rue, "resnet18,vit_b_16", "--device", write_table(tmp_path), "--batch-size", "4,8,16,32")
    assert models["resnet18"]["batch_size"] == [4, 8] and models["resnet18"]["infeasible"] == [16, 32]
    assert models["resnet18"]["largest_batch"] == 8 and wording.DOES_NOT_FIT in models["resnet18"]["reason"]
    assert models["vit_b_16"]["batch_size"] == [4, 8, 16, 32] and models["vit_b_16"]["reason"] is None
    assert table["title"] == "a toaster"
    done = rue("calibrate", "resnet18", "--device", "toaster.json", "--batch-size", "8,16", "--batches", "1", "--out", "again.json")
    assert "a toaster:" in done.stdout and wording.DOES_NOT_FIT_INTO in " ".join(done.stdout.split())
    expect_failure(rue("calibrate", "resnet18", "--device", "toaster.json", "--batch-size", "16"), 4, "at most 8 of resnet18")


def test_models_are_simulated_with_the_times_of_a_table(rue, tmp_path):
    done = rue("models", "--device", write_table(tmp_path), "--batch-size", "4,6,16", "--json")
    models = {one["model"]: one for one in json.loads(done.stdout)}
    assert list(models) == ["resnet18", "vit_b_16"]
    assert models["resnet18"]["batch_ns"] == [300000, 400000, None]
    assert models["resnet18"]["device"] == "a toaster" and models["resnet18"]["measured"] == [True, True, False]
    assert models["vit_b_16"]["largest_batch"] is None and models["vit_b_16"]["batch_ns"][2] == 3200000
    assert "~" not in rue("models", "--device", "toaster.json", "--batch-size", "4").stdout


def test_all_models_of_a_table_are_listed_even_unknown_ones(rue, tmp_path):
    models = [dict(model="my_ape", batch_size=[4, 8], batch_ns=[1000, 2000]), dict(model="eff_net_v2_s", batch_size=[4], batch_ns=[9000])]
    (tmp_path / "t.json").write_text(json.dumps(device_table(models)))
    ape, known = json.loads(rue("models", "--device", "t.json", "--batch-size", "4", "--json").stdout)
    assert ape["model"] == "my_ape" and ape["parameters"] is None and (ape["batch_size"], ape["batch_ns"]) == ([4], [1000])
    assert known["model"] == "efficientnet_v2_s" and known["parameters"] == 21458488 and known["weight_bytes"] is None
    row = next(line for line in rue("models", "--device", "t.json", "--batch-size", "4,16").stdout.splitlines() if "my_ape" in line)
    assert row.split()[1] == "-" and row.split()[-4:] == ["1", "us", "~4", "us"], row
    (tmp_path / "t.json").write_text(json.dumps(device_table([])))
    expect_failure(rue("models", "--device", "t.json"), 2, "t.json lists no models")


def test_measured_times_fit_a_narrow_window(rue):
    done = rue("calibrate", "efficientnet_v2_s,sleep:1ms", "--device", "h100", "--batches", "1", "--quiet", env=dict(COLUMNS=60))
    rows = [line for line in done.stdout.splitlines() if line.startswith("  efficientnet_v2_s ")]
    assert len(re.findall(r"[\d.]+ [um]?s\b", " ".join(rows))) == 7 and len(rows) == 2 and "…" not in done.stdout, done.stdout


def test_a_table_that_cannot_be_written_is_reported_before_the_trials(rue, tmp_path):
    (tmp_path / "folder.json").mkdir()
    for path in "nowhere/x.json", "folder.json":
        done = rue("calibrate", "resnet18", "--device", "h100", "--batch-size", "1", "--batches", "1", "--out", path)
        expect_failure(done, 6, "cannot write", path)
        assert wording.BATCH_SIZE.format(1) not in done.stderr


@pytest.mark.quick
def test_a_study_uses_the_models_of_a_table(rue, photos, tmp_path):
    done = rue("tune", photos, "--device", write_table(tmp_path), "--mode", "raw", "--batch-size", "4,16", "--images", "16",
               "--num-workers", "1", "--strategy", "grid", "--json", "--quiet", "--out", "out")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    part = found["recommendations"][0]
    assert part["models"] == ["resnet18@toaster.json", "vit_b_16@toaster.json"]
    assert part["config"]["batch_size"] == 4 and part["evidence"]["trials_infeasible"] == 1
    assert part["evidence"]["sleep_overshoot_ratio"] >= 0
    assert found["provenance"]["consumer"] == "a toaster"
    assert json.loads(rue("show", "out", "--json").stdout)


@pytest.mark.parametrize("text, said", [
    ("", ["is not JSON"]),
    ("[]", ["the document is not an object"]),
    (json.dumps(device_table([], format="rue.recommendation/1")), ["format is not rue.device/1"]),
    (json.dumps(device_table([dict(model="a", batch_size=[2, 1], batch_ns=[1, 2])])), ["models[0].batch_size[1]", "rue calibrate"]),
    (json.dumps(device_table([dict(model="a", per_batch_ns=1)] * 2)), ["models[1].model", "is not unique"]),
    (json.dumps(device_table([dict(batch_size=[1], batch_ns=[2])])), ["models[0].model is not a text"]),
    *((json.dumps(device_table([dict(model=name, per_batch_ns=1)])), ["models[0].model is not a model name without a device"])
      for name in ("", "resnet18@h100", "a,b")),
    (json.dumps(device_table([dict(model=name, per_batch_ns=1) for name in ("ResNet18", "resnet18")])), ["models[1].model", "is not unique"]),
    (json.dumps(device_table([], title="")), ["title is not a text that names"]),
    (json.dumps(device_table([], title=None)), ["title"])])
def test_an_invalid_device_table_is_refused_with_the_field(rue, tmp_path, text, said):
    (tmp_path / "t.json").write_text(text)
    expect_failure(rue("models", "--device", "t.json"), 3, "t.json", *said)


def test_a_fifo_as_table_is_refused_at_once(rue, tmp_path):
    os.mkfifo(tmp_path / "t.json")
    expect_failure(rue("models", "--device", "t.json"), 3, "not a regular file of at most 64 MiB")
    expect_failure(rue("models", "--device", "none.json"), 3, "cannot open none.json")


@pytest.mark.parametrize("words, said", [
    (["resnet18"], ["--device is missing", "host:1"]),
    (["resnet18@l4", "--device", "h100"], ["names a device"]),
    (["resnet18,ResNet18", "--device", "h100"], ["resnet18 is listed twice"]),
    (["resnet19", "--device", "h100"], ["unknown model", "resnet18"]),
    (["--device", "h101"], ["unknown device 'h101'"]),
    (["--device", "h100", "--out", "table.txt"], ["ends in .json"]),
    (["--device", "h100", "--batch-size", "1..20"], ["more than 15 values"])])
def test_models_that_cannot_be_calibrated_are_refused(rue, words, said):
    expect_failure(rue("calibrate", *words), 2, *said)


def test_a_model_that_a_table_lacks_is_refused_with_a_list(rue, photos, tmp_path):
    words = ["tune", photos, "--mode", "raw", "--device", write_table(tmp_path), "--out", "out", "--model"]
    expect_failure(rue(*words, "resnet50"), 2, "toaster.json has no model 'resnet50'")
    expect_failure(rue(*words, "bert_base_128"), 2, "resnet18, vit_b_16")
    long = tmp_path / ("x" * 100)
    long.mkdir()
    write_table(long)
    expect_failure(rue(*words, f"resnet18@{long}/toaster.json"), 2, "too long")


# ---- what a request says of a model's costs ----

def ask(rue, **request):
    """The answer of rue's own runner."""
    line = json.dumps(dict(op="trial", id=1, measure="compute", batches=2, config=dict(batch_size=2, num_workers=0), **request))
    done = subprocess.run([str(rue.program), "runner"], input=line + "\n", text=True, capture_output=True, timeout=HANG_S,
                          env=clean_environment())
    return json.loads(done.stdout)


def test_the_runner_simulates_the_profile_of_the_request(rue):
    told = dict(batch_size=[1, 3], batch_ns=[1000000, 3000000])
    answer = ask(rue, model="a model of nobody", profile=told)
    assert answer["status"] == "ok" and min(answer["batch_compute_ns"]) >= 2000000
    # What the catalogue knows of the name counts less.
    answer = ask(rue, model="sleep:9s", profile=dict(per_batch_ns=1000000, per_image_ns=0))
    assert answer["status"] == "ok" and sum(answer["batch_compute_ns"]) < 9e9
    assert ask(rue, model="sleep:1us", profile=None)["status"] == "ok"
    # One that really works is known by its name.
    assert ask(rue, model="sleep:1us", profile=dict(consumer="host", cores=2))["status"] == "ok"
    # Where the profile tells times, they are slept, also those of one that works by its name.
    answer = ask(rue, model="vit_b_16@host:1", profile=dict(per_batch_ns=1000000, per_image_ns=0))
    assert answer["status"] == "ok" and min(answer["batch_compute_ns"]) < 1e8


def test_a_batch_that_does_not_fit_is_infeasible_on_the_named_device(rue):
    told = dict(batch_size=[1], batch_ns=[1000], largest_batch=1)
    answer = ask(rue, model="resnet50@h100", profile=told)
    assert answer["status"] == "infeasible" and wording.MEMORY_OF_AN_NVIDIA in answer["reason"]
    assert wording.MEMORY_OF_ITS_DEVICE in ask(rue, model="ape", profile=told)["reason"]


@pytest.mark.parametrize("profile, said", [
    (5, "profile is not an object"),
    ({}, "profile.batch_size is not a list"),
    (dict(batch_size=[2, 1], batch_ns=[1, 2]), "profile.batch_size[1]"),
    (dict(batch_size=list(range(1, 18)), batch_ns=list(range(17))), "profile.batch_size is not a list of at most 16 values"),
    (dict(batch_size=[1], batch_ns=[-1]), "profile.batch_ns[0]")])
def test_a_request_with_an_invalid_profile_is_refused(rue, profile, said):
    answer = ask(rue, model="resnet50", profile=profile)
    assert answer["status"] == "failed" and said in answer["reason"], answer


# ---- sleep that is late ----

def test_a_study_reports_that_its_models_slept_too_long(rue, script):
    times = make_table(["ape"], [16, 32], [0, 2], lambda m, b, w: 1000 + b + w)
    late = dict(when=dict(measure="joint"), do="answer", answer=dict(load_wait_ns=0, compute_ns=900000, sleep_overshoot_ns=100000))
    for name, fault, said in (("late", [late], True), ("sharp", [], False)):
        done = rue("tune", "--runner", script(times, faults=fault).command, "--strategy", "grid", "--quiet", "--out", name)
        assert done.returncode == 0, done.stderr
        shown = " ".join(rue("show", name).stdout.split())
        assert (wording.SLEPT_TOO_LONG.format("12.5") in " ".join(done.stdout.split())) == (wording.SLEPT_TOO_LONG.format("12.5") in shown) == said
        evidence = read_json(rue.folder / name / "recommendation.json")["recommendations"][0]["evidence"]
        assert evidence["sleep_overshoot_ratio"] == (0.125 if said else None)
