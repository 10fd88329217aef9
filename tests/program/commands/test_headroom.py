"""rue headroom: what a perfect loader would gain, on simulated machines whose truth is known."""
import argparse
import json
import random
import sys

import pytest

import wording
from conftest import ROOT, expect_failure, make_table

sys.path.insert(0, str(ROOT / "tests/bench"))
import neighbour  # noqa: E402

COMMAND = f"/usr/bin/python3 {ROOT}/tests/bench/neighbour.py --mode raw --seed 2"
MODEL = "model03"


def headroom(rue, *words, options=""):
    return rue("headroom", "--runner", f"{COMMAND} {options}", "--json", *words)


def true_loss(batch, workers, model=MODEL):
    machine = neighbour.Machine("raw", 2)
    step_s, image_s = machine.models[model]
    steps_s = -(-machine.images // batch) * (step_s + batch * image_s)
    ends = [machine.run((batch, workers), model, machine.images, neighbour.Work(neighbour.Neighbour(0, 0), 0), 1, random.Random(k))["end"]
            for k in range(8)]
    return 1 - steps_s / (sum(ends) / len(ends))


@pytest.mark.parametrize("batch, workers, limit", [(32, 1, "workers"), (64, 2, "CPUs"), (128, 8, "waiting")])
def test_the_loss_is_within_three_points_of_the_truth(rue, batch, workers, limit):
    done = headroom(rue, "--model", MODEL, "--batch-size", str(batch), "--num-workers", str(workers), "--budget", "9999s")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    (row,) = document["models"]
    assert document["format"] == "rue.headroom/1" and document["config"]["batch_size"] == batch and document["within"]
    assert abs(row["loss_ratio"] - true_loss(batch, workers)) < 0.03
    assert row["loss_low_ratio"] <= row["loss_ratio"] <= row["loss_high_ratio"] and row["trials"] >= 6
    assert row["first_batch_ns"] is None, "the runner does not say it"
    assert row["limit"] == limit and not (rue.folder / "rue-out").exists()


def test_every_model_has_a_row_and_the_usual_configuration_is_measured(rue):
    document = json.loads(headroom(rue, "--budget", "9999s").stdout)
    assert [row["model"] for row in document["models"]] == list(neighbour.Machine("raw", 2).models)
    assert document["config"]["batch_size"] == 32 and document["config"]["num_workers"] == neighbour.CPUS
    worst = max(document["models"], key=lambda row: row["loss_ratio"])
    assert document["sentences"][0].startswith(wording.LOADING_COSTS) and worst["model"] in document["sentences"][0]


def test_a_loss_above_the_limit_is_exit_code_5(rue):
    words = "--model", MODEL, "--num-workers", "1", "--budget", "9999s"
    done = headroom(rue, *words, "--max-loss", "10%")
    assert done.returncode == 5 and wording.MORE_THAN_MAX_LOSS in done.stderr and not json.loads(done.stdout)["within"]
    done = headroom(rue, *words, "--max-loss", "90%")
    assert done.returncode == 0 and json.loads(done.stdout)["within"]


def test_other_programs_are_named(rue):
    done = headroom(rue, "--model", MODEL, "--num-workers", "8", "--budget", "9999s", options="--neighbour 0.97")
    assert json.loads(done.stdout)["models"][0]["limit"] == "other programs"


@pytest.mark.parametrize("words, text", [
    (["--num-workers", "1,2"], wording.GIVE_ONE_VALUE),
    (["--model", "none"], wording.HAS_NO_STEPS),
])
def test_what_cannot_be_measured_is_refused(rue, words, text):
    expect_failure(rue("headroom", "--runner", COMMAND, *words), 2, text)


def test_a_runner_that_cannot_compute_alone_is_refused(rue, script):
    runner = script(make_table(["ape"], [32], [2], lambda *_: 1000), measures=["joint"])
    expect_failure(rue("headroom", "--runner", runner.command), 2, wording.CANNOT_MEASURE_STEPS)


def test_data_of_one_batch(rue, photos):
    done = rue("headroom", photos, "--subset", "0:3", "--model", "sleep:20ms/image", "--budget", "3s", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["images"] == 3 and 0 <= document["models"][0]["loss_ratio"] < 1
