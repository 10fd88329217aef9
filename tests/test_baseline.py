"""rue tune --baseline: what is gained over what people use anyway, from whole jobs of both, one after the other."""
import csv
import json
import signal

import pytest

from conftest import expect_failure, make_table, read_json, stop

BATCHES, WORKERS, MODELS = [16, 32, 64], [0, 1, 2, 4], ["ape", "bee", "cow"]


def time_ns(model, batch, workers):
    """64/2 is the best; 32/4, with the runner's 4 CPUs, takes 1.3125 times as long, 32/0 twice as long."""
    base = 1000000 + MODELS.index(model) * 1000000
    return int(base * (1 + {0: 1, 1: 0.6, 2: 0, 4: 0.25}[workers]) * (1 if workers == 0 or batch == 64 else 1 + abs(batch - 64) / 640))


def near_ns(model, batch, workers):
    """64/2 is the best, and 32/4 takes 1.01 times as long."""
    return int(time_ns(model, batch, workers) if (batch, workers) != (32, 4) else 1.01 * time_ns(model, 64, 2))


@pytest.fixture
def runner(script):
    return lambda time=time_ns, **more: script(make_table(MODELS, BATCHES, WORKERS, time), **more)


def tune(rue, runner, *words, code=0):
    done = rue("tune", "--runner", runner.command, "--out", "out", "--baseline", "usual", "--budget", "9999s", *words)
    assert done.returncode == code, (done.stdout, done.stderr)
    return " ".join(done.stdout.split())


def found(rue):
    return read_json(rue.folder / "out/recommendation.json")["recommendations"][0]


def label(config):
    return f"{config['batch_size']}/{config['num_workers']}"


def gains(part):
    return {row["name"]: row["gain"] and row["gain"]["speedup_ratio"] for row in part["baselines"]["rows"]}


@pytest.mark.parametrize("strategy", ["grid", "duel", "random", "halving"])
def test_the_gain_is_told_with_an_interval(rue, runner, strategy):
    text = tune(rue, runner(), "--strategy", strategy)
    part = found(rue)
    assert label(part["config"]) == "64/2" and part["baselines"]["replaced"] is None, text
    assert gains(part) == {"no workers": pytest.approx(2, rel=0.01), "workers = CPUs": pytest.approx(1.3125, rel=0.01)}
    for row in part["baselines"]["rows"]:
        gain = row["gain"]
        assert gain["low_ratio"] < gain["speedup_ratio"] < gain["high_ratio"] and gain["proven"] and gain["confidence"] == 0.95
        assert not row["recommended"]
    assert "It is 2.00 times as fast as no workers, 32/0 (95 % CI 1." in text and "It is 1.31 times as fast as workers = CPUs, 32/4" in text
    shown = " ".join(rue("show", "out").stdout.split())
    assert text[text.index("Use batch_size"):text.index("The times are")] in shown


def test_whole_jobs_take_turns_on_each_model(rue, runner):
    runner = runner()
    tune(rue, runner, "--strategy", "grid")
    cells = len(BATCHES) * len(WORKERS) * len(MODELS)
    turn = ["64/2", "32/0", "32/4"]
    rounds = [[(model, cell) for model in MODELS for cell in order] for order in (turn, turn[::-1])]
    assert runner.joint()[cells:] == [*rounds[0], *rounds[1]]
    assert {request["images"] for request in runner.requests()[-18:] if request["measure"] == "joint"} == {1000}


def test_pairs_of_an_earlier_run_count_again(rue, runner):
    runner = runner()
    tune(rue, runner, "--strategy", "grid")
    first, asked = found(rue), len(runner.joint())
    tune(rue, runner, "--strategy", "grid")
    assert len(runner.joint()) == asked
    assert gains(found(rue)) == gains(first)
    assert [row["gain"]["pairs"] for row in found(rue)["baselines"]["rows"]] == [6, 6]


def test_an_interrupted_comparison_goes_on(rue, runner):
    runner = runner(faults=[dict(when=dict(joint=40), do="hang")])
    words = ["tune", "--runner", runner.command, "--out", "out", "--baseline", "usual", "--budget", "9999s", "--strategy", "grid"]
    process = rue.start(*words)
    runner.wait_for(40, process)
    code, out, _ = stop(process, signal.SIGINT)
    assert code == 130 and "Partial results: interrupted before all baselines were compared" in " ".join(out.split())
    assert label(found(rue)["config"]) == "64/2" and found(rue)["baselines"] is None
    runner.write(faults=[])
    assert rue(*words).returncode == 0
    assert gains(found(rue))["workers = CPUs"] == pytest.approx(1.3125, rel=0.01)
    assert len(runner.joint()) == 40 + 15, "the trials of the first model count"


@pytest.mark.parametrize("strategy", ["grid", "random"])
def test_a_gain_that_is_not_proven_leaves_the_baseline(rue, runner, strategy):
    runner = runner(near_ns)
    text = tune(rue, runner, "--strategy", strategy)
    part = found(rue)
    assert label(part["config"]) == "32/4" and label(part["baselines"]["replaced"]["config"]) == "64/2", text
    assert not part["baselines"]["replaced"]["gain"]["proven"]
    assert [row["recommended"] for row in part["baselines"]["rows"]] == [False, True]
    assert gains(part) == {"no workers": pytest.approx(2 / 1.01, rel=0.01), "workers = CPUs": None}
    assert "The recommendation stays workers = CPUs, 32/4: the search found 64/2, which is not proven to be faster; it is 1.01 times" in text
    assert "It is 1.98 times as fast as no workers, 32/0" in text
    shown = rue("show", "out")
    assert text[text.index("Use batch_size 32"):text.index("The times are")] in " ".join(shown.stdout.split())
    checked = rue("check", "out", "--runner", runner.command)
    assert checked.returncode == 0, checked.stdout


def test_other_rules_rank_without_the_comparison(rue, runner):
    tune(rue, runner(near_ns), "--strategy", "grid")
    shown = " ".join(rue("show", "out", "--objective", "worst").stdout.split())
    assert "Use batch_size 64, num_workers 2" in shown and "workers = CPUs" not in shown


def test_a_baseline_that_is_the_best_is_named(rue, runner):
    text = tune(rue, runner(lambda m, b, w: time_ns(m, b, w) if (b, w) != (32, 4) else time_ns(m, 64, 2) // 2), "--strategy", "grid")
    assert "Use batch_size 32, num_workers 4" in text and "It is the same as workers = CPUs, 32/4." in text
    part = found(rue)
    assert gains(part)["no workers"] == pytest.approx(4, rel=0.01) and gains(part)["workers = CPUs"] is None
    assert part["baselines"]["replaced"] is None and part["baselines"]["rows"][1]["recommended"]


def test_one_model_gets_enough_pairs_to_tell_noise(rue, runner):
    runner = runner()
    tune(rue, runner, "--strategy", "grid", "--model", "bee", "--batch-size", "32,64", "--num-workers", "2,4")
    assert [row["name"] for row in found(rue)["baselines"]["rows"]] == ["workers = CPUs"], "the space has no 0 workers"
    assert found(rue)["baselines"]["rows"][0]["gain"]["pairs"] >= 4
    assert runner.joint()[4:] == [("bee", cell) for cell in ["64/2", "32/4", "32/4", "64/2"] * 2]


def test_a_baseline_of_ones_own_may_lie_outside_of_the_grid(rue, runner):
    runner = runner()
    text = tune(rue, runner, "--strategy", "grid", "--batch-size", "64", "--num-workers", "1,2", "--baseline", "batch_size=16,num_workers=4")
    assert "It is 1.34 times as fast as the baseline, 16/4" in text
    assert gains(found(rue)) == {"the baseline": pytest.approx(1.344, rel=0.01)}
    assert {cell for _, cell in runner.joint()} == {"64/1", "64/2", "16/4"}


def test_what_a_baseline_does_not_name_is_as_nobody_sets_it(rue, runner):
    tune(rue, runner(), "--strategy", "grid", "--baseline", "num_workers=2")
    (row,) = found(rue)["baselines"]["rows"]
    assert label(row["config"]) == "32/2" and row["config"]["prefetch_factor"] == 2


def test_one_that_is_infeasible_is_told_with_its_reason(rue, runner):
    runner = runner(infeasible_above=64, faults=[dict(when=dict(measure="joint", cell="32/0"), do="answer",
                                                      answer=dict(status="infeasible", reason="no room for 32"))])
    text = tune(rue, runner, "--strategy", "duel")
    assert "It was not compared with no workers, 32/0, which is infeasible for" in text and "no room for 32" in text
    assert gains(found(rue)) == {"no workers": None, "workers = CPUs": pytest.approx(1.3125, rel=0.01)}
    assert sum(cell == "32/0" for _, cell in runner.joint()) == 1, "it is not tried on every model"


@pytest.mark.parametrize("limit, best", [("198ms", "64/2"), ("300ms", "64/4")])
def test_a_baseline_that_starts_too_late_is_not_recommended(rue, runner, limit, best):
    runner = runner(lambda m, b, w: time_ns(m, 64, 2), start_ns=2000000)
    text = tune(rue, runner, "--strategy", "grid", "--max-first-batch", limit, "--baseline", "batch_size=64,num_workers=4",
                "--batch-size", "64", "--num-workers", "2,4")
    assert label(found(rue)["config"]) == best, text


@pytest.mark.parametrize("strategy", ["grid", "duel"])
def test_a_budget_that_is_too_small_leaves_it_out_with_a_sentence(rue, runner, strategy):
    runner = runner()
    text = tune(rue, runner, "--strategy", strategy, "--budget", "20trials")
    assert len(runner.requests()) <= 20 + 6, "beside the plan's probes"
    reason = "whole jobs of both on every model are 6 trials"
    if found(rue)["baselines"]["reason"]:
        assert found(rue)["baselines"]["reason"] == reason and f": {reason}; give a larger --budget." in text
    else:
        assert all(gain or row["recommended"] for gain, row in zip(gains(found(rue)).values(), found(rue)["baselines"]["rows"]))


def test_room_for_it_is_kept_of_a_number_of_trials(rue, runner):
    runner = runner()
    text = tune(rue, runner, "--strategy", "duel", "--budget", "60trials")
    assert len(runner.requests()) <= 60
    assert gains(found(rue))["workers = CPUs"] > 1.2, text


def test_time_is_kept_and_not_exceeded(rue, runner):
    runner = runner()
    jobs_s = sum(time_ns(m, b, w) for m in MODELS for b in BATCHES for w in WORKERS) * 1000 / 1e9
    tune(rue, runner, "--strategy", "duel", "--budget", f"{int(jobs_s)}s")
    with open(rue.folder / "out/trials.csv") as file:
        spent_s = sum(int(row["cost_ns"]) for row in csv.DictReader(file)) / 1e9
    assert spent_s <= int(jobs_s) + 4, "no more than a trial beyond"
    assert gains(found(rue))["workers = CPUs"] > 1.2


def test_each_variant_has_its_own_comparison(rue, runner):
    runner = runner(hello=dict(variants=[dict(path=mode, mode=mode, format="scripted") for mode in ("raw", "preprocessed")]))
    tune(rue, runner, "--strategy", "grid")
    parts = read_json(rue.folder / "out/recommendation.json")["recommendations"]
    assert [part["variant"]["mode"] for part in parts] == ["raw", "preprocessed"]
    for part in parts:
        assert gains(part) == {"no workers": pytest.approx(2, rel=0.01), "workers = CPUs": pytest.approx(1.3125, rel=0.01)}


def test_a_table_is_asked_for_it(rue):
    rows = [f"raw,{m},{b},{w},{near_ns(m, b, w) / 1e6}" for m in MODELS for b in BATCHES for w in WORKERS if (b, w) != (32, 0)]
    (rue.folder / "times.csv").write_text("\n".join(["mode,model,batch_size,num_workers,time_s", *rows]) + "\n")
    done = rue("tune", "--table", "times.csv", "--out", "out", "--budget", "1000s", "--strategy", "grid", "--baseline", "batch_size=32,num_workers=4")
    assert done.returncode == 0, done.stderr
    assert gains(found(rue)) == {"the baseline": None} and found(rue)["baselines"]["rows"][0]["recommended"]
    assert found(rue)["baselines"]["replaced"]["gain"]["speedup_ratio"] == pytest.approx(1.01, rel=0.001)
    done = rue("tune", "--table", "times.csv", "--out", "other", "--budget", "1000s", "--strategy", "grid", "--baseline", "batch_size=32,num_workers=0")
    assert "It was not compared with the baseline, 32/0, which is infeasible" in " ".join(done.stdout.split()), done.stdout


def test_the_plan_names_them_and_what_they_may_cost(rue, runner):
    done = rue("tune", "--runner", runner().command, "--out", "out", "--baseline", "usual", "--strategy", "grid", "--budget", "9999s", "--dry-run")
    assert "32/0 (no workers), 32/4 (workers = CPUs)" in done.stdout and "of the budget are for whole jobs" in " ".join(done.stdout.split())
    done = rue("tune", "--runner", runner().command, "--out", "out", "--baseline", "usual", "--strategy", "duel", "--budget", "100trials", "--dry-run", "--json")
    told = json.loads(done.stdout)["plan"]["baselines"]
    assert [row["name"] for row in told["rows"]] == ["no workers", "workers = CPUs"] and told["reserved_trials"] == 22, "18 and their references"


def test_none_is_measured_where_none_is_wanted(rue, runner):
    runner = runner()
    text = tune(rue, runner, "--strategy", "grid", "--baseline", "none")
    assert found(rue)["baselines"] is None and "workers = CPUs" not in text
    assert len(runner.joint()) == len(BATCHES) * len(WORKERS) * len(MODELS)


@pytest.mark.parametrize("given, words", [
    ("32/2", ["'32/2' is not KNOB=VALUE", "batch_size=32,num_workers=2"]),
    ("batchsize=32", ["'batchsize' is not a knob", "did you mean 'batch_size'"]),
    ("batch_size=many", ["batch_size is a whole number from 1 to 65536, not 'many'"]),
    ("num_workers=2,,", ["'' is not KNOB=VALUE"]),
    ("parallelism=both", ["parallelism is batch or sample, not 'both'"]),
    ("prefetch_factor=4", ["cannot vary prefetch_factor"]),
    ("batch_size=2000", ["batch_size=2000 is more than the job of 1000 images", "raise --images"]),
    ("num_workers=16", ["num_workers=16 is more than --max-workers 8 allows"]),
])
def test_one_that_cannot_be_measured_is_refused_by_the_name_of_its_knob(rue, runner, given, words):
    runner = runner()
    done = rue("tune", "--runner", runner.command, "--out", "out", "--max-workers", "8", "--baseline", given)
    expect_failure(done, 2, "--baseline", *words)
    assert not runner.requests()


def test_check_tries_the_recommendation_beside_the_baseline(rue, runner):
    runner = runner()
    tune(rue, runner, "--strategy", "grid")
    done = rue("check", "out", "--runner", runner.command, "--budget", "9999s")
    assert done.returncode == 0 and "it is 1.31 times as fast as workers = CPUs, 32/4 (95 % CI" in " ".join(done.stdout.split()), done.stdout
    told = json.loads(rue("check", "out", "--runner", runner.command, "--budget", "9999s", "--json").stdout)["checks"][0]
    assert label(told["baseline"]) == "32/4" and told["baseline_speedup_ratio"] == pytest.approx(1.3125, rel=0.01)
