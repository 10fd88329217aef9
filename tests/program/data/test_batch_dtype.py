"""Batches of 8-bit levels in place of normalised values: an option of the job, said wherever its results stand."""
import csv
import json

import pytest

import wording
from conftest import count_joint_trials, expect_failure, read_json, unwrap

QUICK = ["--batch-size", "2,4", "--num-workers", "1", "--model", "none", "--budget", "5m", "--quiet", "--out", "out"]
TABLE = {"a": {"8/1": 100, "16/1": 90}}


def modes(rue):
    return {mode["variant"]["mode"]: mode for mode in read_json(rue.folder / "out/recommendation.json")["recommendations"]}


@pytest.fixture
def tensors(rue, photos):
    for dtype in "float32", "uint8":
        assert rue("prepare", photos, f"{dtype}.tensor", "--dtype", dtype, "--quiet").returncode == 0
    return rue.folder / "float32.tensor", rue.folder / "uint8.tensor"


def test_levels_and_values_are_jobs_of_their_own(rue, photos):
    scenarios, measured, image_bytes = [], [], dict(uint8=150528, float32=602112)
    for dtype in "uint8", "float32", "uint8":
        done = rue("tune", photos, *QUICK, "--batch-dtype", dtype)
        assert done.returncode == 0, done.stderr
        assert unwrap(done.stdout).count(", batches of uint8") == (2 if dtype == "uint8" else 0), done.stdout
        found = modes(rue)
        assert {mode["batch_dtype"] for mode in found.values()} == {dtype}
        front = [(point["config"]["batch_size"], point["memory_bytes"]) for point in found["raw"]["pareto_front"]]
        assert front and all(memory == 3 * batch * image_bytes[dtype] for batch, memory in front), "two in flight, one held"
        assert found["preprocessed"]["variant"]["dtype"] == dtype, "the sample is of what batches are to be"
        assert found["raw"]["workload"].get("batch_dtype") == (dtype if dtype == "uint8" else None), "old studies stay what they are"
        for count, counts in zip(count_joint_trials(rue.folder / "out"), (scenarios, measured)):
            counts.append(count)
    assert scenarios == [2, 4, 4]
    assert measured[2] < 2 <= measured[1], f"the third run found what it needs, but a disturbed trial: {measured}"
    done = rue("show", "out")
    assert done.returncode == 0 and wording.BATCHES_OF_UINT8 in unwrap(done.stdout)


def test_batches_of_levels_fit_where_those_of_values_do_not(rue, photos):
    for dtype, fits in ("float32", [True, False]), ("uint8", [True, True]):
        done = rue("tune", photos, *QUICK, "--mode", "raw", "--max-memory", str(3 * 2 * 602112), "--batch-dtype", dtype, "--fresh")
        assert done.returncode == 0, done.stderr
        with open(rue.folder / "out/trials.csv", newline="") as file:
            assert [row["status"] == "ok" for row in csv.DictReader(file) if row["measure"] == "joint"] == fits


def test_normalised_tensors_have_no_levels(rue, photos, tensors):
    float32, uint8 = tensors
    expect_failure(rue("tune", float32, *QUICK, "--batch-dtype", "uint8"), 2, "--batch-dtype uint8", "float32.tensor",
                   "prepare the images again with --dtype uint8", "or leave out --batch-dtype")
    for command in "tune", "compare":
        done = rue(command, photos, uint8, float32, "--batch-dtype", "uint8", "--out", "out")
        expect_failure(done, 2, "float32.tensor holds float32 values")
    expect_failure(rue("scale", float32, "--batch-dtype", "uint8", "--out", "out"), 2, "float32.tensor", "--dtype uint8")
    assert not (rue.folder / "out").exists(), "nothing was begun"
    done = rue("tune", uint8, *QUICK, "--batch-dtype", "uint8")
    assert done.returncode == 0 and wording.BATCHES_OF_UINT8 in unwrap(done.stdout), done.stderr
    assert modes(rue)["preprocessed"]["batch_dtype"] == "uint8"


def test_compare_and_scale_show_the_batch_dtype(rue, photos, tensors):
    quick = ["--batch-size", "2", "--num-workers", "0", "--model", "none", "--quiet", "--batch-dtype", "uint8"]
    done = rue("compare", photos, tensors[1], *quick, "--sample", "4", "--out", "out")
    assert done.returncode == 0 and wording.IMAGES_IN_BATCHES_OF_UINT8 in done.stdout, done.stdout + done.stderr
    done = rue("scale", photos, *quick, "--images", "4", "--out", "scale", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["batch_dtype"] == "uint8", done.stderr
    done = rue("scale", photos, *quick, "--images", "4", "--out", "scale")
    assert done.returncode == 0 and wording.BATCHES_OF_UINT8_2 in " ".join(done.stdout.split())


def test_all_trials_and_checks_use_the_batch_dtype(rue, script, photos):
    runner = script(TABLE, opened=dict(batch_dtype="uint8"), images=100)
    words = ["--runner", runner.command, "--quiet"]
    done = rue("tune", photos, *words, "--batch-dtype", "uint8", "--strategy", "duel", "--budget", "40trials", "--mode", "raw",
               "--out", "out")
    assert done.returncode == 0, done.stderr
    before = len(runner.requests())
    assert rue("check", "out/recommendation.json", *words).returncode in (0, 5) and len(runner.requests()) > before
    assert {asked["measure"] for asked in runner.requests()} == {"joint", "load", "compute"}
    assert {asked["workload"].get("batch_dtype") for asked in runner.requests()} == {"uint8"}


def test_a_runner_that_ignores_batch_dtype_is_refused(rue, script, photos):
    runner = script(TABLE)
    done = rue("tune", photos, "--runner", runner.command, "--batch-dtype", "uint8", "--out", "out")
    expect_failure(done, 2, "--batch-dtype uint8", "the runner scripted 1.0 does not report batches of uint8",
                   "leave out the option")
    assert runner.requests() == []
    runner = script(TABLE, opened=dict(batch_dtype="uint8"))
    expect_failure(rue("tune", photos, "--runner", runner.command, "--out", "out"), 2, "--batch-dtype float32")


def test_a_table_refuses_batch_dtype(rue):
    (rue.folder / "times.csv").write_text("batch_size,num_workers,time_s\n8,1,2\n")
    expect_failure(rue("tune", "--table", "times.csv", "--batch-dtype", "uint8"), 2, "--batch-dtype", "--table times.csv")


def test_an_unknown_type(rue, photos):
    expect_failure(rue("tune", photos, *QUICK, "--batch-dtype", "uint"), 2, "--batch-dtype: 'uint'", "did you mean 'uint8'")
