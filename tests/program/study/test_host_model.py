"""Models that are computed on this machine's CPUs: NAME@host:CORES."""
import json

import pytest

import wording
from conftest import expect_failure, read_plan, read_json

SMALL = ["--images", "2", "--batch-size", "1", "--num-workers", "0,1", "--strategy", "grid", "--mode", "raw"]


def test_a_small_study_computes_its_model_and_names_the_cpus(rue, own_photos):
    done = rue("tune", own_photos, *SMALL, "--model", "mobilenet_v2@host:1", "--budget", "2m", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert wording.MODEL_TIMES_ARE_THOSE_OF_THIS_MACHINES_CPUS.format(1) in " ".join(done.stdout.split())
    report = read_json(rue.folder / "out/recommendation.json")
    assert report["provenance"]["consumer"].startswith("this machine's CPUs (1 core, ")
    times = [row["end_to_end_ns"]["mobilenet_v2@host:1"] for row in report["recommendations"][0]["configs"]]
    assert len(times) == 2 and all(time > 0 for time in times)
    trials = (rue.folder / "out/trials.csv").read_text()
    assert "compute" in trials, "the plan asked what an image takes"
    again = rue("tune", own_photos, *SMALL, "--model", "mobilenet_v2@host:1", "--budget", "2m", "--out", "out")
    assert again.returncode == 0 and (rue.folder / "out/trials.csv").read_text().count("\n") == trials.count("\n"), again.stderr


def test_the_option_applies_to_all_models_without_a_device(rue, own_photos):
    done = rue("tune", own_photos, *SMALL, "--device", "host:1", "--model", "mobilenet_v2,vit_b_32@l4", "--dry-run",
               "--budget", "6trials")
    assert read_plan(done)["models"] == "mobilenet_v2@host:1, vit_b_32@l4"


@pytest.mark.parametrize("cores", ["0", "9999", "x"])
def test_more_cores_than_the_machine_has_are_refused(rue, own_photos, cores):
    done = rue("tune", own_photos, "--model", f"resnet18@host:{cores}", "--dry-run")
    expect_failure(done, 2, f"resnet18@host:{cores}", "a number of usable CPUs", "resnet18@host uses all of them")


def test_other_runners_do_not_compute_host_models(rue, own_photos, script):
    runner = script({"resnet18@host:1": {"1/1": 1}}, hello={"models": []})
    done = rue("tune", own_photos, "--runner", runner.command, "--model", "resnet18@host:1", "--dry-run")
    expect_failure(done, 2, "does not compute resnet18@host:1")


def test_models_are_listed_with_estimates_for_the_host(rue):
    done = rue("models", "--device", "host:1", "--json", "--batch-size", "8")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert all(row["measured"] == [False] and row["batch_ns"][0] > 0 for row in rows)
    assert wording.RUE_TUNE_MEASURES_THEM in " ".join(rue("models", "--device", "host").stdout.split())
