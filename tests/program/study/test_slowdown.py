"""rue tune on machines that become slower on the way: it is noticed, told, and corrected."""
import contextlib
import csv
import json
import math
import sqlite3

import jsonschema
import pytest

import wording
from conftest import ROOT, finish, make_table, read_plan, read_json, true_regrets, unwrap, without_maps

BATCHES, WORKERS, MODELS = [16, 32, 64, 128], [1, 2, 4, 8], ["ape", "bee", "cow"]


def plain_ns(model, batch, workers):
    """All like the same, by a little."""
    return 100000 + 1000 * abs(workers - 4) + 20 * abs(batch - 64) + 500 * MODELS.index(model)


TABLE = make_table(MODELS, BATCHES, WORKERS, plain_ns)


def found(rue):
    document = read_json(rue.folder / "out/recommendation.json")
    jsonschema.validate(document, json.loads((ROOT / "reports/recommendation.schema.json").read_text()))
    return document


def tune(rue, one, *words):
    done = rue("tune", "--runner", one.command, "--out", "out", *words)
    assert done.returncode == 0, done.stderr
    return done


def times(document):
    return {tuple(row["config"].values()): row["end_to_end_ns"] for row in document["recommendations"][0]["configs"]}


def test_a_stable_machine_gets_no_notice(rue, script):
    one = script(TABLE, load_ns=100000)
    done = tune(rue, one)
    assert found(rue)["notices"] == [] and wording.SINCE_TRIAL not in done.stdout + done.stderr
    assert found(rue)["disturbance"] is None


@pytest.mark.quick
@pytest.mark.parametrize("measures", [["joint", "load", "compute"], ["joint"]])
def test_a_slow_down_is_detected_within_ten_trials_and_corrected(rue, script, measures):
    one = script(TABLE, load_ns=100000, measures=measures)
    tune(rue, one)
    before = times(found(rue))
    (rue.folder / "out").rename(rue.folder / "first")
    one.log_path.unlink()
    one.write(slower_from=[41, 1.3])
    done = tune(rue, one)
    (notice,) = found(rue)["notices"]
    assert 41 < notice["noticed_after_trials"] <= 50 and notice["cause"] is None
    assert abs(notice["load_slowdown_ratio"] - 1.3) < 0.01 and notice["text"] in " ".join(done.stderr.split())
    assert wording.SINCE_TRIAL_OF_TRIALS.format(notice["trial"], "1.30") in " ".join(done.stdout.split())
    assert notice["text"] in " ".join(rue("show", "out").stdout.split())
    for config, models in times(found(rue)).items():
        for model, ns in models.items():
            assert abs(ns / before[config][model] - 1) < 0.01, (config, model)


def corrected(rue, strategy):
    """Whether the times are those of a machine that never changed: of grid every cell, of duel those it tried."""
    rows = [row for row in found(rue)["recommendations"][0]["configs"] if row["source"] != "predicted"]
    assert strategy == "duel" or len(rows) == len(BATCHES) * len(WORKERS)
    for row in rows:
        batch, workers = row["config"]["batch_size"], row["config"]["num_workers"]
        for model, ns in row["end_to_end_ns"].items():
            assert abs(ns / 1000 / TABLE[model][f"{batch}/{workers}"] - 1) < (0.01 if strategy == "grid" else 0.06), (row, model)


def discard_study(rue, one):
    """The study, and what the runner was asked for."""
    (rue.folder / "out").rename(rue.folder / f"out-{len(list(rue.folder.iterdir()))}")
    one.log_path.unlink()


def doubted(rue):
    """The trials of which nobody knows whether they were made before the first change: [from, up to]."""
    with contextlib.closing(sqlite3.connect(rue.folder / "out/study.db")) as db:
        return db.execute("SELECT unsure_from, unsure_until FROM change ORDER BY run_id DESC, id").fetchone()


def marked(rue):
    """The times of the disturbed trials of the last run."""
    with open(rue.folder / "out/trials.csv", newline="") as file:
        times = [row["end_to_end_ns"] for row in csv.DictReader(file) if row["disturbed"] == "1"]
    assert found(rue)["recommendations"][0]["evidence"]["trials_disturbed"] == len(times)
    return times


@pytest.mark.parametrize("strategy", ["grid", "duel"])
@pytest.mark.parametrize("recovers", [False, True])
def test_a_study_continued_after_a_slow_down_stays_corrected(rue, script, strategy, recovers):
    one = script(TABLE, load_ns=100000)
    one.write(slower_from=[25, 1.3])
    words = ["--strategy", strategy, *(["--epsilon", "0.01%"] if strategy == "duel" else [])]
    tune(rue, one, *words, "--num-workers", "1,2,4", "--budget", "90trials")
    (notice,) = found(rue)["notices"]
    one.write(slower_from=[10000 if recovers else 1, 1.3])
    made = len(one.requests())
    tune(rue, one, *words, "--budget", "120trials")
    notices = found(rue)["notices"]
    assert notices[0] == notice
    assert len(notices) == 1 + recovers and all(n["load_slowdown_ratio"] < 1 and n["trial"] > made for n in notices[1:])
    corrected(rue, strategy)


def test_a_change_is_remembered_after_a_run_in_another_order(rue, script):
    one = script(TABLE, load_ns=100000, slower_from=[25, 1.3])
    tune(rue, one, "--strategy", "grid", "--num-workers", "1,2,4", "--budget", "90trials")
    (notice,) = found(rue)["notices"]
    one.write(slower_from=[1, 1.3])
    tune(rue, one, "--strategy", "grid", "--seed", "2")
    assert found(rue)["notices"] == []
    tune(rue, one, "--strategy", "grid", "--budget", "120trials")
    assert found(rue)["notices"] == [notice]
    corrected(rue, "grid")


def test_a_change_is_remembered_after_a_killed_run(rue, script):
    one = script(TABLE, load_ns=100000, slower_from=[25, 1.3], delay_s=0.01)
    process = rue.start("tune", "--runner", one.command, "--quiet", "--out", "out", "--strategy", "grid")
    one.wait_for(40, process)
    process.kill()
    finish(process)
    text = rue("show", "out").stdout
    assert wording.THE_LAST_RUN_ENDED in text and wording.TIMES_SLOWER not in text
    tune(rue, one.write(slower_from=[1, 1.3], delay_s=0), "--strategy", "grid")
    (notice,) = found(rue)["notices"]
    assert 20 < notice["trial"] <= 26 and abs(notice["load_slowdown_ratio"] - 1.3) < 0.01
    corrected(rue, "grid")


def test_the_start_of_a_small_change_is_found(rue, script):
    """The first references behind it are not suspicious yet."""
    one = script(TABLE, load_ns=100000, slower_from=[41, 1.128])
    tune(rue, one, "--strategy", "grid", "--repeats", "3")
    first, end = doubted(rue)
    assert first < end and first <= 41 <= end
    asked = one.requests()
    again = [r for r in asked[end:] if r["measure"] == "joint" and (r["model"], r["cell"]) in
             {(r["model"], r["cell"]) for r in asked[first - 1:end - 1] if r["measure"] == "joint"}]
    assert len(one.joint()) > 144 and again, "what is in doubt is measured again"


def test_a_second_change_of_computing_is_reported_in_full(rue, script):
    """The model that is timed again is a new one, which was never seen at full speed."""
    one = script(TABLE, load_ns=100000, slower_from=[25, 1.3])
    words = ["--strategy", "duel", "--epsilon", "0.01%", "--budget"]
    tune(rue, one, *words, "60trials", "--model", "ape,bee")
    assert len(found(rue)["notices"]) == 1
    slow = {model: {cell: 1.3 * ns for cell, ns in cells.items()} for model, cells in TABLE.items()}
    one.write(ns_per_image=slow, load_ns=130000, slower_from=[30, 1.3])
    tune(rue, one, *words, "90trials")
    (_, notice) = found(rue)["notices"]
    for part in ("load", "compute"):
        assert abs(notice[f"{part}_slowdown_ratio"] - 1.3) < 0.02, notice


def test_a_slow_down_of_loading_does_not_change_computing(rue, script):
    one = script(TABLE, load_ns=100000, faults=[])
    one.write(slower_from=[41, 1.5])
    one.write(faults=[dict(when=dict(measure="compute"), do="answer", answer=dict(compute_ns=1000000, cost_ns=1000000))])
    done = tune(rue, one)
    (notice,) = found(rue)["notices"]
    assert notice["compute_slowdown_ratio"] == 1 and wording.LOADING_IS_TIMES_SLOWER.format("1.50") in " ".join(done.stderr.split())


def test_a_recovery_is_reported_too(rue, script):
    one = script(TABLE, load_ns=100000)
    one.write(slower_from=[41, 0.7])
    tune(rue, one)
    (notice,) = found(rue)["notices"]
    assert notice["load_slowdown_ratio"] < 1 and "faster" in notice["text"]


@pytest.mark.parametrize(("strategy", "seed"), [("grid", 0), ("duel", 0), ("duel", 1)])
def test_errors_of_many_changes_do_not_add_up(rue, script, strategy, seed):
    """Each change is noisy, and the machine returns to its first speed again and again."""
    one = script(TABLE, load_ns=100000, swings=[30, 1.6, ["joint", "load", "compute"]], noise=0.04, noise_seed=seed)
    words = ["--repeats", "7"] if strategy == "grid" else ["--epsilon", "0.01%", "--budget", "400trials"]
    done = rue("tune", "--runner", one.command, "--out", "out", "--strategy", strategy, *words,
               env=dict(RUE_ACCEPT_BUSY="false"))
    notices, level = found(rue)["notices"], 1
    assert len(notices) >= 10
    for notice in notices:
        level *= notice["load_slowdown_ratio"]
        assert abs(math.log(level)) < 1e-6 or abs(level / 1.6 - 1) < 0.12, [n["load_slowdown_ratio"] for n in notices]
    for models in times(found(rue)).values():
        for model, ns in models.items():
            assert abs(ns / 1000 / plain_ns(model, 64, 4) - 1) < 0.2, (model, ns)
    (answer,), contention = found(rue)["recommendations"], found(rue)["contention"]
    assert 0.2 < contention["affected_ratio"] < 0.8 and contention["contended_ratio"] == 0 and contention["has_clean_pair"]
    half = contention["affected_ratio"] > 0.5
    assert found(rue)["low_confidence"] == half == (answer["interval"] is None) != found(rue)["decided"]
    assert done.returncode == (5 if half else 0), done.stderr
    said = " ".join(done.stdout.split())
    assert said.startswith(wording.NOT_RELIABLE_OTHER_PROGRAMS if half else "Use")
    assert wording.CHANGED_ITS_SPEED_TIMES.format(len(notices)) in said or half
    assert unwrap(without_maps(rue("show", "out").stdout)) == said


def test_no_job_is_shorter_than_its_computing(rue, script):
    """Loading alone becomes slow, and trials with models do not: the change says nothing about them."""
    one = script(TABLE, load_ns=50000, computes=True, swings=[60, 8, ["load"]])
    tune(rue, one, "--strategy", "duel", "--epsilon", "0.01%", "--budget", "120trials")
    assert [n["load_slowdown_ratio"] > 4 for n in found(rue)["notices"]] == [True]
    for models in times(found(rue)).values():
        for model, ns in models.items():
            assert ns / 1000 / plain_ns(model, 64, 4) > 0.95, (model, ns)


def test_few_trials_have_no_references(rue, script):
    one = script(make_table(["ape"], [16, 32], [1, 2], lambda m, b, w: 1000))
    tune(rue, one)
    assert [r["images"] for r in one.requests() if r["measure"] == "load"] == [128, 1000], "probes for the plan"
    assert "references" not in read_plan(rue("tune", "--runner", one.command, "--out", "other", "--dry-run"))


def far_off(joint, ns=900000000):
    """A fault: that joint trial takes so long."""
    return dict(when=dict(joint=joint), do="answer", answer=dict(end_to_end_ns=ns, load_wait_ns=ns))


def test_a_trial_far_from_its_repeats_is_marked_and_not_dropped(rue, script):
    one = script(TABLE, load_ns=100000, repeats=[1, 1.01, 0.99], faults=[far_off(20)])
    for _ in range(2):
        done = tune(rue, one, "--repeats", "3")
        assert marked(rue) == ["900000000"], "also where all of it is in the store"
        assert wording.OF_TRIALS_WAS_FAR.format(1, 144) in " ".join(done.stdout.split())
    assert len(one.joint()) == 144


def test_a_trial_far_from_its_prediction_stays_marked(rue, script):
    """Also where there are too few trials for references, and behind a run of other trials."""
    one = script(TABLE, load_ns=100000, faults=[far_off(10)])
    words = ["--strategy", "duel", "--epsilon", "0.01%", "--budget"]
    tune(rue, one, *words, "40trials")
    before = marked(rue)
    assert "900000000" in before
    tune(rue, one, "--strategy", "grid", "--num-workers", "8", "--batch-size", "16")
    for _ in range(2):
        tune(rue, one, *words, "60trials")
        assert set(before) <= set(marked(rue))


def test_repeated_trials_are_marked_on_their_own(rue, script):
    one = script(TABLE, load_ns=100000, repeats=[1, 1.01, 0.99], slower_from=[41, 1.3])
    tune(rue, one, "--strategy", "grid", "--repeats", "3")
    (first, end), (notice,), asked = doubted(rue), found(rue)["notices"], one.requests()
    cells = [(r["model"], r["cell"]) for r in asked[first - 1:end - 1] if r["measure"] == "joint"]
    joint = sum(r["measure"] == "joint" for r in asked[:notice["noticed_after_trials"]]) + 1
    assert one.joint()[joint - 1] == cells[0], "the first of those in doubt comes first"
    discard_study(rue, one)
    tune(rue, one.write(faults=[far_off(joint)]), "--strategy", "grid", "--repeats", "3")
    assert marked(rue) == ["900000000"]


def test_references_count_in_a_budget_of_trials(rue, script):
    one = script(TABLE, load_ns=100000)
    tune(rue, one, "--strategy", "grid", "--budget", "50trials")
    asked = one.requests()[5:]  # behind the probes for the plan
    assert len(one.joint()) < len(asked) <= 50 and any(r["measure"] == "load" for r in asked)


def test_references_of_all_variants_do_not_displace_whole_configurations(rue, script):
    """Each has its own, and one more that is too short."""
    variants = [dict(path="", mode=mode, format="scripted") for mode in ("raw", "preprocessed")]
    one = script(make_table(["ape", "bee"], [8, 16, 32, 64, 128], [0, 1, 2, 3, 4], plain_ns), hello=dict(variants=variants))
    tune(rue, one, "--strategy", "grid", "--budget", "100trials")
    for part in found(rue)["recommendations"]:
        ranked = [row for row in part["configs"] if row["mean_regret_ratio"] is not None]
        assert part["evidence"]["trials_ok"] == 2 * len(ranked) > 30
    plan = read_plan(rue("tune", "--runner", one.command, "--out", "other", "--strategy", "grid", "--budget", "100trials", "--dry-run"))
    assert wording.EVERY_TRIALS_ONE_LOAD.format(5) in plan["references"]


def test_a_change_at_the_end_of_a_budget_of_trials_adds_no_trials(rue, script):
    for since, budget in ((48, 51), (48, 52), (50, 53)):
        one = script(TABLE, load_ns=100000, slower_from=[since, 1.3])
        tune(rue, one, "--strategy", "duel", "--epsilon", "0.01%", "--budget", f"{budget}trials")
        assert len(one.requests()) <= budget
        discard_study(rue, one)


@pytest.mark.parametrize("mode", ["raw", "preprocessed"])
def test_a_slow_down_by_a_fifth_is_detected_on_a_simulated_machine(rue, simulator, mode):
    command = f"/usr/bin/python3 {simulator} --mode {mode} --seed 12"
    budget = true_regrets(command)[1] / 20
    done = rue("tune", "--runner", f"{command} --slow-at {budget / 4:.1f}:1.2", "--strategy", "duel", "--out", "out",
               "--budget", f"{round(1000 * budget)}ms")
    assert done.returncode == 0, done.stderr
    (notice,) = found(rue)["notices"]
    assert abs(notice["load_slowdown_ratio"] - 1.2) < 0.1
