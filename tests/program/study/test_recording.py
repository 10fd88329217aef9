"""rue tune --table: a strategy on recorded times, in virtual time."""
import csv
import json
import os
import pathlib

import jsonschema
import pytest

import wording
from conftest import ROOT, expect_failure, has_answer, rankings, read_json

SIZES, WORKERS, JOB = [64, 256, 1024], [1, 2, 4, 8], 6000
MODELS = {"light": 0.0004, "heavy": 0.004}


def seconds(model, batch, workers, scale=1.0):
    """Workers that share nothing, a cost for each batch and for starting each worker."""
    load = JOB * 0.003 / workers + 0.4 * workers + batch * 0.003
    compute = JOB * MODELS[model] + JOB / batch * 0.003
    return scale * (max(load, compute) + 0.5)


def write_table(path, rows=None, more=(), header=("mode", "model", "batch_size", "num_workers", "time_s"), **cells):
    """`rows(model, batch, workers)` says what stands in place of a time; None leaves the row out."""
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow([*header, *more])
        for mode in ("raw", "preprocessed"):
            for model in MODELS:
                for batch in SIZES:
                    for workers in WORKERS:
                        time = seconds(model, batch, workers, 1 if mode == "raw" else 0.5)
                        value = rows(model, batch, workers, time) if rows else f"{time:.6f}"
                        for one in value if isinstance(value, list) else [value]:
                            if one is not None:
                                out.writerow([mode, model, batch, workers, one, *cells.values()])
    return path


def tune(rue, table, *words, out="out", **more):
    return rue("tune", "--table", table, "--out", out, *words, **more)


def recommendations(rue, out="out"):
    document = read_json(rue.folder / out / "recommendation.json")
    jsonschema.validate(document, json.loads((ROOT / "reports/recommendation.schema.json").read_text()))
    return document["recommendations"]


def trials(rue, out="out"):
    with open(rue.folder / out / "trials.csv", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def table(rue):
    return write_table(rue.folder / "times.csv")


@pytest.mark.quick
def test_a_strategy_spends_a_share_of_the_table_and_reports_its_regret(rue, table):
    done = tune(rue, table, "--strategy", "duel", "--budget", "60%", "--images", JOB)
    assert done.returncode == 0, done.stderr
    told = done.stdout.replace("\n ", "")
    for found in recommendations(rue):
        replay, best = found["replay"], found["replay"]["best"]
        assert 0 < replay["spent_ratio"] <= 0.6
        assert replay["mean_regret_ratio"] <= best["mean_regret_ratio"] + 0.03
        assert found["job_images"] == JOB and found["measured_with"] == "imported"
    assert wording.OF_THE_TABLE_S in told and wording.THE_RECOMMENDATION_HAS in told and wording.THE_TIMES_ARE_THOSE in told
    assert all(row["measure"] == "joint" and row["requested_images"] == str(JOB) for row in trials(rue))


def test_the_whole_table_ranks_as_rue_analyze_does(rue, table):
    assert tune(rue, table, "--strategy", "grid", "--budget", "120%").returncode == 0
    analyzed = rankings(json.loads(rue("analyze", table, "--json").stdout))
    for found in recommendations(rue):
        best = analyzed[found["variant"]["mode"]]["configs"][0]
        assert best["config"] == found["config"]
        assert abs(found["mean_regret_ratio"] - best["mean_regret_ratio"]) < 1e-9
        assert found["replay"]["spent_ratio"] == pytest.approx(1)
        assert found["replay"]["best"]["mean_regret_ratio"] == pytest.approx(found["mean_regret_ratio"])


def test_an_unknown_job_length_is_assumed_and_not_reported(rue, table):
    plan = tune(rue, table, "--strategy", "duel", "--dry-run")
    assert plan.returncode == 0 and "assumed" in plan.stdout and not (rue.folder / "out").exists(), plan.stderr
    assert "10%" in plan.stdout, "the budget is a tenth of the table"
    assert tune(rue, table, "--strategy", "duel", "--budget", "50%").returncode == 0
    assert all(found["job_images"] is None and found["by_job_images"] is None for found in recommendations(rue))


def test_variants_of_one_name_count_their_own_trials(rue):
    path = rue.folder / "times.csv"
    path.write_text("mode,format,dtype,model,batch_size,num_workers,time_s\n" + "".join(
        f"preprocessed,tensor,{dtype},{model},{batch},{workers},{batch / 10 + workers + more}\n"
        for dtype, more in (("float32", 1), ("uint8", 0)) for model in MODELS for batch in (16, 32) for workers in (1, 2)))
    done = tune(rue, path, "--strategy", "grid", "--budget", "120%")
    assert done.returncode == 0, done.stderr
    found = recommendations(rue)
    assert {part["variant"]["dtype"] for part in found} == {"float32", "uint8"}
    for part in found:
        assert part["evidence"]["trials_ok"] == part["replay"]["trials"] == 8
        assert part["replay"]["spent_ratio"] == pytest.approx(1)


def test_the_same_run_repeated_spends_and_answers_the_same(rue, table):
    assert tune(rue, table, "--strategy", "duel", "--budget", "50%").returncode == 0
    first, rows = recommendations(rue), trials(rue)
    again = tune(rue, table, "--strategy", "duel", "--budget", "50%")
    assert again.returncode == 0 and wording.CONTINUING_THE_STUDY in again.stderr
    assert recommendations(rue) == first and [row["id"] for row in trials(rue)] == [row["id"] for row in rows]


def test_stored_trials_of_another_strategy_do_not_change_the_answer(rue, table):
    assert tune(rue, table, "--strategy", "grid", "--budget", "120%").returncode == 0
    assert tune(rue, table, "--strategy", "duel", "--budget", "30%").returncode in (0, 5)
    assert all(0 < found["replay"]["spent_ratio"] < 0.5 for found in recommendations(rue)), "a trial more at most"
    assert tune(rue, table, "--strategy", "duel", "--budget", "30%", out="alone").returncode in (0, 5)
    assert [found["config"] for found in recommendations(rue)] == [found["config"] for found in recommendations(rue, "alone")]


def test_a_configuration_without_times_for_a_model_is_infeasible(rue):
    def lacking(model, batch, workers, time):
        return None if (model, batch) == ("heavy", 64) else time

    table = write_table(rue.folder / "times.csv", lacking)
    for strategy, out in (("grid", "a"), ("duel", "b")):
        done = tune(rue, table, "--strategy", strategy, "--budget", "200%", out=out)
        assert done.returncode == 0, done.stderr
        assert all(found["config"]["batch_size"] != 64 for found in recommendations(rue, out))
        missed = [row for row in trials(rue, out) if row["status"] == "infeasible"]
        assert missed and all(wording.NO_TIME_FOR_HEAVY.format(64) in row["reason"] for row in missed)


def test_failed_trials_of_the_table_fail(rue):
    table = write_table(rue.folder / "times.csv", lambda model, batch, workers, time: "OOM" if batch == 1024 else time)
    assert tune(rue, table, "--strategy", "duel", "--budget", "200%").returncode == 0
    assert all(found["config"]["batch_size"] < 1024 for found in recommendations(rue))


def test_repeats_of_a_cell_are_answered_in_turn(rue):
    table = write_table(rue.folder / "times.csv", lambda model, batch, workers, time: [time, 2 * time, 3 * time])
    done = tune(rue, table, "--strategy", "grid", "--repeats", "3", "--budget", "1000%", "--batch-size", "64", "--num-workers", "2,4")
    assert has_answer(done), done.stderr
    times = {}
    for row in trials(rue):
        times.setdefault((row["mode"], row["model"], row["num_workers"]), []).append(int(row["end_to_end_ns"]))
    assert len(times) == 8
    for each in times.values():
        assert [round(time / min(each)) for time in sorted(each)] == [1, 2, 3]


@pytest.mark.parametrize("words,code,named", [
    (["--table", "times.csv", "photos"], 2, ["photos", "--table"]),
    (["--table", "times.csv", "--runner", "true"], 2, ["--runner", "--table"]),
    (["--map", "time_s=x", "photos"], 2, ["--map", "--table"]),
    (["--table", "times.csv", "--goal", "throughput"], 2, ["--goal", "whole jobs"]),
    (["--table", "times.csv", "--max-first-batch", "1s"], 2, ["--max-first-batch", "whole jobs"]),
    (["--table", "-"], 2, ["-", "file"]),
    (["--table", "missing.csv"], 3, ["missing.csv"]),
    (["--table", "."], 3, ["."]),
    (["--table", "times.csv", "--budget", "0%"], 2, ["--budget"]),
    (["--table", "times.csv", "--budget", "-5%"], 2, ["--budget"]),
    (["--table", "times.csv", "--model", "unknown"], 2, ["unknown"]),
    (["--table", "times.csv", "--batch-size", "17"], 4, ["has no times for the requested models and configurations"]),
    (["--table", "times.csv", "--prefetch-factor", "4"], 2, ["--prefetch-factor"]),
    (["photos", "--budget", "10%"], 2, ["10%", "--table"]),
])
def test_invalid_tables_are_refused_in_one_line(rue, table, photos, words, code, named):
    words = [str(photos) if word == "photos" else word for word in words]
    named = [str(photos) if word == "photos" else word for word in named]
    expect_failure(rue("tune", *words), code, *named)
    assert not (rue.folder / "rue-out").exists()


def test_a_table_without_a_knob_is_refused(rue):
    path = rue.folder / "times.csv"
    path.write_text("model,batch_size,time_s\na,16,1\na,32,2\n")
    expect_failure(rue("tune", "--table", path), 3, "num_workers", "--map")


def test_jobs_of_different_lengths_are_not_mixed(rue):
    path = rue.folder / "times.csv"
    lines = [f"a,{batch},{workers},{job / 100 / workers},{job}" for job in (1000, 2000) for batch in (16, 32) for workers in (1, 2)]
    path.write_text("\n".join(["model,batch_size,num_workers,time_s,job_images", *lines]) + "\n")
    expect_failure(rue("tune", "--table", path), 2, "1000, 2000", "--images")
    expect_failure(rue("tune", "--table", path, "--images", "7"), 2, "1000, 2000", "--images")
    done = tune(rue, path, "--images", "2000", "--strategy", "grid", "--budget", "100%")
    assert done.returncode in (0, 5) and {row["job_images"] for row in trials(rue)} == {"2000"}, done.stderr


@pytest.mark.skipif(not os.environ.get("RUE_SHARED"), reason="skipped: RUE_SHARED names no folder of measured tables")
def test_a_tenth_of_a_measured_table_is_enough(release_rue):
    table = pathlib.Path(os.environ["RUE_SHARED"]) / "data/end_to_end_grid.csv"
    done = tune(release_rue, table, "--map", "mode=dataset_type,time_s=end_to_end_s", "--seed", "3")
    assert done.returncode == 0, done.stderr
    raw, preprocessed = recommendations(release_rue)
    assert raw["config"]["batch_size"] == 128 and raw["config"]["num_workers"] in (12, 16)
    assert (preprocessed["config"]["batch_size"], preprocessed["config"]["num_workers"]) == (256, 2)
    assert raw["replay"]["spent_ratio"] <= 0.1 and preprocessed["replay"]["spent_ratio"] <= 0.1
