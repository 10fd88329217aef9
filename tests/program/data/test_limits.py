"""rue tune: how long the job is, what it may take, and what is minimised."""
import jsonschema
import pytest

import wording
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


def test_a_job_of_batches_counts_the_largest_batches(rue, tune):
    done = tune("--batches", "7", "--budget", "1h")
    assert done.returncode == 0 and wording.JOB_OF_IMAGES.format(224) in done.stdout, done.stderr
    assert recommendation(rue)["job_images"] == 7 * 32
    assert {r["images"] for r in tune.runner.requests() if r["measure"] == "joint"} == {224}
    assert tune("--batches", "7", "--batch-size", "8", "--out", "small", "--budget", "1h").returncode == 0
    assert recommendation(rue, "small")["job_images"] == 56


def test_a_job_has_one_length(rue, tune):
    expect_failure(tune("--batches", "7", "--images", "100"), 2, "--images 100", "--batches 7", "give one")
    expect_failure(tune("--epochs", "2", "--images", "500"), 2, "--images 500 and --epochs 2 both set the length of the job: give one")
    expect_failure(rue("tune", "--table", "times.csv", "--epochs", "2"), 2, "--epochs cannot be used with --table", "how many images an epoch has")
    expect_failure(tune(env=dict(RUE_BATCHES="7", RUE_IMAGES="100")), 2, "RUE_IMAGES 100", "RUE_BATCHES 7")
    done = tune("--images", "64", "--dry-run", env=dict(RUE_BATCHES="7"))
    assert done.returncode == 0 and "64 images" in done.stdout, "a flag wins over a setting"
    done = tune("--batches", "7", "--dry-run", env=dict(RUE_IMAGES="64"))
    assert done.returncode == 0 and "224 images" in done.stdout


def test_more_workers_than_allowed_are_not_tried(rue, tune):
    assert tune("--max-workers", "2", "--budget", "1h").returncode == 0
    assert {row["config"]["num_workers"] for row in recommendation(rue)["configs"]} == {0, 2}
    assert {int(r["cell"].split("/")[1]) for r in tune.runner.requests()} == {0, 2}


def test_contradictory_limits_of_workers_are_named(tune):
    expect_failure(tune("--max-workers", "2", "--num-workers", "0,4"), 2, "--num-workers: 4", "--max-workers 2")
    only_many = make_table(["ape"], [8], [4, 8], one_time)
    expect_failure(tune("--max-workers", "2", table=only_many), 2, "--max-workers 2", "at least 4 workers")


def late(cell, first_ns):
    """A fault by which the cell's first batch comes then."""
    return dict(when=dict(cell=cell), do="late", first_batch_ns=first_ns)


def find_row(found, batch, workers):
    return next(r for r in found["configs"] if (r["config"]["batch_size"], r["config"]["num_workers"]) == (batch, workers))


def faster_with_workers(model, batch, workers):
    return 8000000 // max(workers, 1)


def test_a_late_first_batch_is_ruled_out_with_its_reason(rue, tune):
    words = ("--budget", "1h", "--images", "3200")
    faults = [late("8/4", 900_000_000), late("32/4", 700_000_000), dict(when=dict(cell="8/2", model="bee"), do="late",
                                                                       first_batch_ns=800_000_000)]
    table = make_table(["ape", "bee"], [8, 32], [0, 2, 4], faster_with_workers)
    assert tune(*words, table=table, faults=faults).returncode == 0
    assert recommendation(rue)["config"]["num_workers"] == 4 and recommendation(rue)["max_first_batch_ns"] is None
    done = tune(*words, "--max-first-batch", "500ms", table=table, faults=faults)
    found = recommendation(rue)
    assert done.returncode == 0 and (found["config"]["batch_size"], found["config"]["num_workers"]) == (32, 2)
    assert found["max_first_batch_ns"] == 500_000_000 and wording.FIRST_BATCH_ARRIVES_WITHIN in " ".join(done.stdout.split())
    row = find_row(found, 8, 4)
    assert not row["ranked"] and [m["status"] for m in row["misses"]] == ["infeasible"] * 2
    assert "900 ms" in row["misses"][0]["reason"] and wording.LIMIT_IS_MS.format(500) in row["misses"][0]["reason"]
    assert row["first_batch_ns"] == dict(ape=900_000_000, bee=900_000_000) and row["end_to_end_ns"]["ape"] > 0
    assert [m["model"] for m in find_row(found, 8, 2)["misses"]] == ["bee"], "one model is enough"
    assert wording.WITHIN_THE_LIMITS in done.stdout and wording.LIMIT_IS_MS.format(500) in " ".join(done.stdout.split())


def test_the_earliest_is_named_if_every_first_batch_is_late(rue, tune):
    faults = [late(f"{b}/{w}", 600_000_000 + b * 1_000_000 + w) for b in (8, 32) for w in (0, 2, 4)]
    line = expect_failure(tune("--max-first-batch", "500ms", "--budget", "1h", faults=faults), 4, "608 ms", "8/0",
                          "raise --max-first-batch")
    assert "500 ms" in line and recommendation(rue)["config"] is None
    assert wording.LIMIT_IS in recommendation(rue)["reason"]


def test_a_runner_without_first_batches_cannot_keep_the_limit(tune):
    faults = [dict(when={}, do="answer", answer=dict(first_batch_ns=None))]
    expect_failure(tune("--max-first-batch", "500ms", "--budget", "1h", faults=faults), 4, "reports no first_batch_ns")


def test_no_time_for_a_first_batch_is_refused(tune):
    expect_failure(tune("--max-first-batch", "0s"), 2, "--max-first-batch", "not a time")


@pytest.mark.parametrize("goal, workers, key", [("time", 0, "end_to_end_ns"), ("throughput", 4, "steady_ns_per_image"),
                                                ("first-batch", 0, "first_batch_ns")])
def test_the_goal_decides_the_best_configuration(rue, tune, goal, workers, key):
    """Workers are quick and slow to start: they pay off in the long run."""
    table = make_table(["ape", "bee"], [8], [0, 2, 4], lambda m, b, w: [500000, 0, 450000, 0, 400000][w])
    done = tune("--goal", goal, "--images", "160", "--budget", "1h", table=table, start_ns=50_000_000)
    found = recommendation(rue)
    assert done.returncode == 0 and (found["goal"], found["config"]["num_workers"]) == (goal, workers)
    assert all(key in best for best in found["best_by_model"]) and find_row(found, 8, 4)[key]["ape"] > 0
    if goal == "throughput":
        assert find_row(found, 8, 4)[key] == dict(ape=400000, bee=400000)
    assert (wording.STEADY_STATE in " ".join(done.stdout.split())) == (goal == "throughput")


def test_a_strategy_that_predicts_has_one_goal(tune):
    expect_failure(tune("--goal", "throughput", "--strategy", "duel"), 2, "--goal throughput", "--strategy grid")


def test_a_duel_does_not_recommend_a_late_first_batch(rue, tune):
    """Workers are quick and slow to start."""
    table = make_table(["ape", "bee"], [8, 32], [0, 1, 2, 4], faster_with_workers)
    words = ("--strategy", "duel", "--images", "4000", "--budget", "150s")
    assert tune(*words, "--out", "free", table=table, start_ns=500_000_000, measures=["joint"]).returncode == 0
    assert recommendation(rue, "free")["config"]["num_workers"] == 4
    done = tune(*words, "--max-first-batch", "1500ms", table=table, start_ns=500_000_000, measures=["joint"])
    found = recommendation(rue)
    assert done.returncode == 0 and found["config"]["num_workers"] == 2, done.stdout
    assert all(first <= 1_500_000_000 for first in find_row(found, found["config"]["batch_size"], 2)["first_batch_ns"].values())
    assert not find_row(found, 8, 4)["ranked"] and wording.LIMIT_IS_S.format("1.5") in find_row(found, 8, 4)["misses"][0]["reason"]


def test_a_duel_reports_that_every_first_batch_is_late(tune):
    table = make_table(["ape", "bee"], [8, 32], [1, 2, 4], faster_with_workers)
    expect_failure(tune("--strategy", "duel", "--images", "4000", "--budget", "150s", "--max-first-batch", "20ms", table=table,
                        start_ns=500_000_000, measures=["joint"]), 4, "within 20 ms", "with 8/1", "raise --max-first-batch")
