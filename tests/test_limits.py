"""rue tune: how long the job is, what it may take, and what is minimised."""
import jsonschema
import pytest

from conftest import ROOT, expect_failure, make_table, read_json


def recommendation(rue, folder="out"):
    document = read_json(rue.folder / folder / "recommendation.json")
    jsonschema.validate(document, read_json(ROOT / "reports/recommendation.schema.json"))
    return document["recommendations"][0]


def one_time(model, batch, workers):
    return 1000000


@pytest.fixture
def tune(rue, script):
    def run(*words, table=None, env=None, **more):
        run.runner = script(table or make_table(["ape", "bee"], [8, 32], [0, 2, 4], one_time), **more)
        return rue("tune", "--runner", run.runner.command, "--strategy", "grid", "--out", "out", *words, env=env)
    return run


def test_a_job_of_batches_is_so_many_of_the_largest(rue, tune):
    done = tune("--batches", "7", "--budget", "1h")
    assert done.returncode == 0 and "job of 224 images" in done.stdout, done.stderr
    assert recommendation(rue)["job_images"] == 7 * 32
    assert {r["images"] for r in tune.runner.requests() if r["measure"] == "joint"} == {224}
    assert tune("--batches", "7", "--batch-size", "8", "--out", "small", "--budget", "1h").returncode == 0
    assert recommendation(rue, "small")["job_images"] == 56


def test_a_job_of_images_and_of_batches_is_too_much(tune):
    expect_failure(tune("--batches", "7", "--images", "100"), 2, "--images 100", "--batches 7", "give one of them")
    expect_failure(tune(env=dict(RUE_BATCHES="7", RUE_IMAGES="100")), 2, "RUE_IMAGES 100", "RUE_BATCHES 7")
    done = tune("--images", "64", "--dry-run", env=dict(RUE_BATCHES="7"))
    assert done.returncode == 0 and "64 images" in done.stdout, "a flag wins over a setting"
    done = tune("--batches", "7", "--dry-run", env=dict(RUE_IMAGES="64"))
    assert done.returncode == 0 and "224 images" in done.stdout


def test_more_workers_than_allowed_are_not_looked_at(rue, tune):
    assert tune("--max-workers", "2", "--budget", "1h").returncode == 0
    assert {row["config"]["num_workers"] for row in recommendation(rue)["configs"]} == {0, 2}
    assert {int(r["cell"].split("/")[1]) for r in tune.runner.requests()} == {0, 2}


def test_contradictory_limits_of_workers_are_named(tune):
    expect_failure(tune("--max-workers", "2", "--num-workers", "0,4"), 2, "--num-workers: 4", "--max-workers 2")
    only_many = make_table(["ape"], [8], [4, 8], one_time)
    expect_failure(tune("--max-workers", "2", table=only_many), 2, "--max-workers 2", "no fewer than 4")
