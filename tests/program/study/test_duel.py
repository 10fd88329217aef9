"""rue tune --strategy duel: the whole space from a few probes, and what decides is measured."""
import csv
import json
import random
import re

import jsonschema
import pytest

import wording
from conftest import ROOT, expect_failure, has_answer, make_table, read_json, true_regrets

SPACE = ["--batch-size", "4,8,16", "--num-workers", "0,1,2", "--model", "sleep:1ms/image,sleep:8ms/image"]


def tune(rue, photos, *words):
    return rue("tune", photos, "--strategy", "duel", "--mode", "raw", "--images", "80", *SPACE, "--out", "out", *words)


def enough(done, *words):
    """The budget that a refusal names."""
    line = expect_failure(done, 2, "is too small", *words)
    return re.search(r"at least --budget (\w+)", line).group(1)


def recommendation(rue):
    document = read_json(rue.folder / "out/recommendation.json")
    jsonschema.validate(document, json.loads((ROOT / "reports/recommendation.schema.json").read_text()))
    return document["recommendations"][0]


def test_the_recommendation_is_measured_on_every_model_and_has_a_bound(rue, photos):
    done = tune(rue, photos, "--budget", "24trials")
    assert has_answer(done), done.stderr
    found = recommendation(rue)
    best = next(row for row in found["configs"] if row["config"] == found["config"])
    assert best["repeats"] >= 1 and len(found["configs"]) == 9
    assert all(row["end_to_end_ns"].values() for row in found["configs"]), "every cell has a time, measured or predicted"
    if found["certificate"]:
        assert found["certificate"]["confidence"] == 0.95 and found["certificate"]["bound_ratio"] >= 0
        assert wording.POINTS_BETTER_CONFIDENCE.format(95) in done.stdout.replace("\n", " ")


def test_a_duel_continues_with_stored_trials(rue, photos):
    def ids():
        return {line.split(",")[0] for line in (rue.folder / "out/trials.csv").read_text().splitlines()[1:]}

    assert has_answer(tune(rue, photos, "--budget", "14trials"))
    first = ids()
    again = tune(rue, photos, "--budget", "14trials")
    assert has_answer(again) and wording.CONTINUING_THE_STUDY in again.stderr
    assert len(first & ids()) >= 8, "the probes at least"


def three_models(script, **more):
    def time(model, batch, workers):
        return 4000000 // workers + 9000000 // batch + (model == "bee") * 300000

    return script(make_table(["ape", "bee", "cow"], [16, 32, 64, 128], [1, 2, 4, 8], time), **more)


@pytest.mark.quick
def test_a_budget_of_trials_is_respected_and_includes_verification(rue, script):
    one = three_models(script)
    done = rue("tune", "--runner", one.command, "--strategy", "duel", "--out", "out", "--budget", "30trials", "--epsilon", "0.01%")
    assert has_answer(done), done.stderr
    trials = [entry for entry in one.requests() if entry["op"] == "trial"]
    assert 20 < len(trials) <= 30 and recommendation(rue)["certificate"], len(trials)
    assert wording.OF_AT_MOST.format(30) in done.stderr


def test_a_duel_ends_at_epsilon_and_confidence(rue, script):
    """All configurations are nearly tied: any of them is good enough, or none for long."""
    one = script(make_table(["ape", "bee"], [16, 32, 64], [1, 2, 4], lambda m, b, w: 10**6 + 100 * w + b))
    asked = []
    for epsilon in ("20%", "0.01%"):
        done = rue("tune", "--runner", one.command, "--strategy", "duel", "--out", "out", "--fresh", "--budget", "60trials", "--epsilon",
                   epsilon, "--confidence", "80%")
        assert done.returncode == 0 and recommendation(rue)["certificate"]["confidence"] == 0.8, done.stderr
        asked.append(recommendation(rue)["evidence"]["trials_ok"])
    assert asked[0] < asked[1]


def test_a_duel_continues_with_all_stored_trials(rue, script):
    """Whatever made the trials: none is measured twice, none is left unused."""
    one = script(make_table(["ape", "bee"], [16, 32, 64], [1, 2, 4], lambda m, b, w: 10**6 + 100 * w + b))
    run = ["tune", "--runner", one.command, "--out", "out", "--epsilon", "0.01%", "--strategy"]
    assert rue(*run, "duel", "--budget", "40trials").returncode == 0
    first = len(one.requests())
    assert rue("tune", "--runner", one.command, "--out", "out", "--strategy", "grid", "--budget", "4trials").returncode == 0
    before = len(one.requests())
    done = rue(*run, "duel", "--budget", "10trials")
    assert done.returncode == 0 and len(one.requests()) - before <= 10 + 2, done.stderr
    lines = (rue.folder / "out/trials.csv").read_text().splitlines()[1:]
    assert len({line.split(",")[0] for line in lines}) == len(lines) >= before - 2 > first - 2


def test_a_budget_of_fewer_trials_than_models_is_refused(rue, script):
    done = rue("tune", "--runner", three_models(script).command, "--strategy", "duel", "--out", "out", "--budget", "2trials")
    expect_failure(done, 2, "the budget of 2 trials is too small", "--budget 6trials")


@pytest.mark.parametrize("trials", [3, 5, 8, 9, 13])
def test_few_trials_are_enough_to_recommend_something(rue, script, trials):
    one = three_models(script)
    done = rue("tune", "--runner", one.command, "--strategy", "duel", "--out", "out", "--budget", f"{trials}trials")
    assert has_answer(done), done.stderr
    best = recommendation(rue)
    assert best["config"] and best["verified"]
    with open(rue.folder / "out/trials.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) <= trials


def test_a_simulated_machine_is_answered_in_twenty_trials(rue, simulator):
    command = f"/usr/bin/python3 {simulator} --seed 12"
    done = rue("tune", "--runner", command, "--strategy", "duel", "--out", "out", "--budget", "20trials")
    assert done.returncode == 0, done.stderr
    chosen, (regrets, _) = recommendation(rue), true_regrets(command)
    config = chosen["config"]["batch_size"], chosen["config"]["num_workers"]
    assert chosen["evidence"]["trials_ok"] <= 20 and regrets[config] < sorted(regrets.values())[len(regrets) // 2]


def test_a_dry_run_has_no_number_of_trials_and_writes_no_file(rue, photos):
    done = tune(rue, photos, "--dry-run")
    assert done.returncode == 0 and wording.AS_MANY_TRIALS_AS_THE_DECISION in done.stdout
    assert not (rue.folder / "out").exists()


def test_a_runner_of_only_joint_trials_is_enough(rue, script):
    def time(model, batch, workers):
        return 4000000 // workers + 9000000 // batch + (model == "bee") * 300000

    one = script(make_table(["ape", "bee"], [16, 32, 64], [1, 2, 4], time), measures=["joint"])
    done = rue("tune", "--runner", one.command, "--strategy", "duel", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert recommendation(rue)["config"]["num_workers"] == 4


@pytest.mark.parametrize("strategy, small", [("duel", "2s"), ("auto", "1s")])
def test_a_budget_that_the_runners_own_models_exceed_is_refused_when_they_are_probed(rue, script, strategy, small):
    one = script(make_table(["ape", "bee"], [16, 32, 64], [1, 2], lambda m, b, w: 10**7))
    run = ["tune", "--runner", one.command, "--strategy", strategy, "--out", "out", "--fresh", "--budget"]
    budget = enough(rue(*run, small), "(measured by the first probes)")
    assert one.joint() == []
    done = rue(*run, budget)
    if "is too small" in done.stderr:  # what later probes told
        done = rue(*run, enough(done, "(measured by the first probes)"))
    assert wording.IS_TOO_SMALL not in done.stderr and one.joint(), done.stderr


@pytest.mark.parametrize("strategy", ["auto", "duel", "grid"])
def test_a_budget_below_the_models_own_time_is_refused_before_any_trial(rue, script, strategy):
    models = ["sleep:1ms/image", "sleep:3ms/image"]
    one = script(make_table(models, [16, 32, 64], [1, 2, 4], lambda m, b, w: 4 * 10**6), hello=dict(models=[]))
    run = ["tune", "--runner", one.command, "--strategy", strategy, "--model", ",".join(models), "--out", "out", "--budget"]
    budget = enough(rue(*run, "300ms"), "(the models alone)", "--images")
    assert one.requests() == [] and not (rue.folder / "out").exists()
    assert enough(rue(*run, "300ms", "--dry-run"), "(the models alone)") == budget
    rue(*run, budget)
    assert one.requests(), "what it names is no longer refused"


def test_a_budget_that_is_too_small_is_refused_before_a_sample_is_converted(rue, photos):
    done = rue("tune", photos, *SPACE, "--out", "out", "--budget", "100ms")
    enough(done, "(the models alone)")
    assert "converted" not in done.stderr and not (rue.folder / "out").exists()


@pytest.mark.parametrize("strategy", ["auto", "duel"])
def test_a_budget_that_the_loader_exceeds_is_refused_after_its_first_trial(rue, script, strategy):
    one = three_models(script, load_ns=4 * 10**6)
    run = ["tune", "--runner", one.command, "--strategy", strategy, "--out", "out", "--fresh", "--budget"]
    budget = enough(rue(*run, "800ms"), "(measured by the first probes)")
    assert len(one.requests()) == 1
    rue(*run, budget)
    assert len(one.requests()) > 2, "what it names is no longer refused at once"


def test_a_small_budget_continues_with_stored_trials(rue, script):
    one = three_models(script, load_ns=4 * 10**6)
    run = ["tune", "--runner", one.command, "--strategy", "duel", "--out", "out", "--budget"]
    assert rue(*run, "60s").returncode == 0
    assert rue(*run, "800ms").returncode == 0


def test_a_damaged_photo_is_named(rue, own_photos):
    damaged = sorted(own_photos.rglob("*.jpg"))[0]
    damaged.write_bytes(damaged.read_bytes()[:2000])
    expect_failure(tune(rue, own_photos, "--budget", "20s"), 3, damaged.name, "--bad-images replace")


def test_a_limit_that_no_configuration_fits_is_named(rue, photos):
    expect_failure(tune(rue, photos, "--budget", "20s", "--max-memory", "1M"), 4, "the limit is", "--max-memory")


@pytest.mark.parametrize("mode", ["raw", "preprocessed"])
def test_a_twentieth_of_the_cost_is_enough_on_a_simulated_machine(rue, simulator, mode):
    command = f"/usr/bin/python3 {simulator} --mode {mode} --seed 12"
    regrets, whole_s = true_regrets(command)
    assert rue("tune", "--runner", command, "--strategy", "duel", "--out", "out", "--budget", f"{int(whole_s / 20)}s").returncode == 0
    chosen = recommendation(rue)["config"]
    assert regrets[chosen["batch_size"], chosen["num_workers"]] - min(regrets.values()) < 0.02


def misleading_ns(model, batch, workers):
    """64/2 is the best by 5 %; without workers, where the models alone are measured, everything takes twice as long."""
    base = 1000000 + ["ape", "bee", "cow"].index(model) * 1000000
    return int(base * (1 + {0: 1, 1: 0.6, 2: 0, 4: 0.25}[workers]) * (1 if workers == 0 or batch == 64 else 1 + abs(batch - 64) / 640))


def scattered_ns(model, batch, workers):
    """A configuration is not like its neighbours, and jointly not like its parts."""
    return int(1000000 * (1 + (model == "bee")) * 4 ** random.Random(f"{batch}/{workers}").uniform(-1, 1))


def test_wrong_predictions_give_no_bound_for_unmeasured_configurations(rue, script):
    runner = script(make_table(["ape", "bee"], [8, 16, 32, 64, 128], [0, 1, 2, 4, 8], scattered_ns))
    told = rue("tune", "--runner", runner.command, "--out", "out", "--budget", "9999s", "--strategy", "duel", "--baseline", "none")
    assert told.returncode == 0, told.stderr
    certificate = read_json(rue.folder / "out/recommendation.json")["recommendations"][0]["certificate"]
    assert certificate["prediction_error_ratio"] > 2 and certificate["bound_ratio"] < 0.5, certificate
    said = " ".join(told.stdout.split())
    assert wording.NO_OTHER_MEASURED_CONFIGURATION in said and wording.PREDICTIONS_WERE_UNRELIABLE in said


@pytest.mark.parametrize("seed", range(4))
def test_misleading_compute_times_find_the_best_or_widen_the_bound(rue, script, seed):
    """The models alone seem to need twice as long at batch size 64 as they do: all that says otherwise are joint trials."""
    runner = script(make_table(["ape", "bee", "cow"], [16, 32, 64], [0, 1, 2, 4], misleading_ns))
    rue("tune", "--runner", runner.command, "--out", "out", "--budget", "9999s", "--strategy", "duel", "--seed", seed)
    part = read_json(rue.folder / "out/recommendation.json")["recommendations"][0]
    assert part["config"]["batch_size"] == 64 or part["certificate"]["bound_ratio"] > 0.05


@pytest.mark.parametrize("budget", [8, 12, 20, 40])
@pytest.mark.parametrize("models, fails", [
    ("ape,bee", [dict(model="bee")]),
    ("bee", [dict(model="bee")]),
    ("ape,bee", [dict(measure="load"), dict(measure="joint")]),
], ids=["a model", "the only model", "the loader"])
def test_what_always_fails_is_not_predicted(rue, script, budget, models, fails):
    failed = dict(status="failed", reason="ValueError: wrong")
    one = three_models(script, faults=[dict(when=when, do="answer", answer=failed) for when in fails])
    done = rue("tune", "--runner", one.command, "--strategy", "duel", "--model", models, "--out", "out", "--budget", f"{budget}trials")
    expect_failure(done, 4, "ValueError: wrong", "run the same command")
    assert recommendation(rue)["config"] is None and "predicted" not in done.stdout
