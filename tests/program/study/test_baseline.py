"""rue tune --baseline: what is gained over what people use anyway, from whole jobs of both."""
import csv
import json

import pytest

import wording
from conftest import expect_failure, make_table, read_json, unwrap, without_maps

BATCHES, WORKERS, MODELS = [16, 32, 64], [0, 1, 2, 4], ["ape", "bee", "cow"]


def time_ns(model, batch, workers):
    """64/2 is the best; 32/4, with the runner's 4 CPUs, takes 1.3125 times as long, 32/0 twice as long."""
    base = 1000000 + MODELS.index(model) * 1000000
    return int(base * (1 + {0: 1, 1: 0.6, 2: 0, 4: 0.25}[workers]) * (1 if workers == 0 or batch == 64 else 1 + abs(batch - 64) / 640))


def near_ns(model, batch, workers):
    """64/2 is the best, and 32/4 takes 1.003 times as long."""
    return int(time_ns(model, batch, workers) if (batch, workers) != (32, 4) else 1.003 * time_ns(model, 64, 2))


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


@pytest.mark.parametrize("strategy", ["grid", "duel"])
def test_the_gain_has_an_interval(rue, runner, strategy):
    text = tune(rue, runner(), "--strategy", strategy, *["--repeats", "3"] * (strategy == "grid"))
    part = found(rue)
    assert label(part["config"]) == "64/2" and part["baselines"]["replaced"] is None, text
    near = 0.05 if strategy == "duel" else 0.01
    assert gains(part) == {"no workers": pytest.approx(2, rel=near), "workers = CPUs": pytest.approx(1.3125, rel=near)}
    for row, truth in zip(part["baselines"]["rows"], (2, 1.3125)):
        gain = row["gain"]
        assert gain["low_ratio"] < truth < gain["high_ratio"] and gain["proven"] and gain["confidence"] == 0.95
        assert not row["recommended"]
    for name, told in gains(part).items():
        assert wording.IS_TIMES_AS_FAST_AS_CI.format(told, name, 32, "0" if name == "no workers" else "4", 95, 1) in text
    shown = unwrap(without_maps(rue("show", "out").stdout))
    assert text[text.index("Use batch_size"):text.index("More: ")] in shown


def test_single_trials_give_a_gain_without_an_interval(rue, runner):
    text = tune(rue, runner(), "--strategy", "grid")
    assert gains(found(rue)) == {"no workers": pytest.approx(2, rel=0.01), "workers = CPUs": pytest.approx(1.3125, rel=0.01)}
    for row in found(rue)["baselines"]["rows"]:
        gain = row["gain"]
        assert gain["low_ratio"] is gain["high_ratio"] is gain["confidence"] is None and not gain["proven"]
    shown = unwrap(without_maps(rue("show", "out").stdout))
    for said in (text, shown):
        assert wording.IS_TIMES_AS_FAST_AS_NO_WORKERS.format("2.00", 32, 0) + wording.MEASURED_ONCE in said
        assert "CI" not in said and wording.UNCERTAINTY_IS_UNKNOWN in said


def test_a_search_runs_whole_jobs_of_both_on_every_model(rue, runner):
    tune(rue, runner(), "--strategy", "duel")
    with open(rue.folder / "out/trials.csv") as file:
        whole = {(row["model"], f"{row['batch_size']}/{row['num_workers']}") for row in csv.DictReader(file)
                 if row["measure"] == "joint" and row["images"] == "1000"}
    assert {(model, cell) for model in MODELS for cell in ("64/2", "32/0", "32/4")} <= whole


def test_a_large_gain_needs_no_proof(rue, runner):
    runner = runner(lambda m, b, w: int(time_ns(m, b, w) if (b, w) != (32, 4) else 1.02 * time_ns(m, 64, 2)), repeats=[1, 1.1, 0.9])
    text = tune(rue, runner, "--strategy", "grid", "--repeats", "3")
    part = found(rue)
    assert label(part["config"]) == "64/2" and part["baselines"]["replaced"] is None
    assert wording.IS_NOT_PROVEN_TO_BE.format(32, 4, "1.02") in text


def test_the_baseline_stays_recommended_without_a_proven_gain(rue, runner):
    runner = runner(near_ns)
    text = tune(rue, runner, "--strategy", "grid")
    part = found(rue)
    assert label(part["config"]) == "32/4" and label(part["baselines"]["replaced"]["config"]) == "64/2", text
    assert not part["baselines"]["replaced"]["gain"]["proven"]
    assert [row["recommended"] for row in part["baselines"]["rows"]] == [False, True]
    assert gains(part) == {"no workers": pytest.approx(2 / 1.003, rel=0.01), "workers = CPUs": None}
    assert wording.STAYS_WORKERS_CPUS_THE_BEST.format(32, 4, 64, 2, "1.003") in text
    assert wording.IS_TIMES_AS_FAST_AS_NO_WORKERS.format("1.99", 32, 0) in text
    shown = unwrap(without_maps(rue("show", "out").stdout))
    assert text[text.index("Use batch_size 32"):text.index("More: ")] in shown
    checked = rue("check", "out", "--runner", runner.command)
    assert checked.returncode == 0, checked.stdout


def test_other_rules_rank_without_the_comparison(rue, runner):
    tune(rue, runner(near_ns), "--strategy", "grid")
    shown = " ".join(rue("show", "out", "--objective", "worst").stdout.split())
    assert wording.USE_BATCH_SIZE_NUM_WORKERS.format(64, 2) in shown and "workers = CPUs" not in shown


def test_a_baseline_that_is_the_best_is_named(rue, runner):
    text = tune(rue, runner(lambda m, b, w: time_ns(m, b, w) if (b, w) != (32, 4) else time_ns(m, 64, 2) // 2), "--strategy", "grid")
    assert wording.USE_BATCH_SIZE_NUM_WORKERS.format(32, 4) in text and wording.THE_SAME_AS_WORKERS in text
    part = found(rue)
    assert gains(part)["no workers"] == pytest.approx(4, rel=0.01) and gains(part)["workers = CPUs"] is None
    assert part["baselines"]["replaced"] is None and part["baselines"]["rows"][1]["recommended"]


def test_a_given_baseline_may_be_outside_the_grid(rue, runner):
    runner = runner()
    text = tune(rue, runner, "--strategy", "grid", "--batch-size", "64", "--num-workers", "1,2", "--baseline", "batch_size=16,num_workers=4")
    assert wording.IS_TIMES_AS_FAST_AS_THE_BASELINE.format("1.34", 16, 4) in text
    assert gains(found(rue)) == {"the baseline": pytest.approx(1.344, rel=0.01)}
    assert {cell for _, cell in runner.joint()} == {"64/1", "64/2", "16/4"}


def test_knobs_that_a_baseline_does_not_name_have_their_default(rue, runner):
    space = dict(batch_size=BATCHES, num_workers=WORKERS, prefetch_factor=[2, 4])
    tune(rue, runner(space=space), "--strategy", "grid", "--baseline", "num_workers=2")
    (row,) = found(rue)["baselines"]["rows"]
    assert label(row["config"]) == "32/2" and row["config"]["prefetch_factor"] == 2


def test_an_infeasible_baseline_is_reported_with_its_reason(rue, runner):
    runner = runner(infeasible_above=64, faults=[dict(when=dict(measure="joint", cell="32/0"), do="answer",
                                                      answer=dict(status="infeasible", reason="no room for 32"))])
    text = tune(rue, runner, "--strategy", "duel")
    assert wording.THE_RECOMMENDATION_WAS_NOT_COMPARED_WITH_NO_WORKERS.format(32, 0) in text and wording.NO_ROOM_FOR.format(32) in text
    assert gains(found(rue)) == {"no workers": None, "workers = CPUs": pytest.approx(1.3125, rel=0.01)}
    assert sum(cell == "32/0" for _, cell in runner.joint()) == 1, "it is not tried on every model"


@pytest.mark.parametrize("limit, best", [("198ms", "64/2"), ("300ms", "64/4")])
def test_a_baseline_that_starts_too_late_is_not_recommended(rue, runner, limit, best):
    runner = runner(lambda m, b, w: time_ns(m, 64, 2), start_ns=2000000)
    text = tune(rue, runner, "--strategy", "grid", "--max-first-batch", limit, "--baseline", "batch_size=64,num_workers=4",
                "--batch-size", "64", "--num-workers", "2,4")
    assert label(found(rue)["config"]) == best, text


def test_the_gain_is_predicted_if_the_budget_is_too_small(rue, runner):
    """Of a machine whose parts tell what both take together."""
    load_ns = 400000
    runner = runner(lambda m, b, w: time_ns(m, 64, 2) + (load_ns if w == 0 else 0), load_ns=load_ns)
    text = tune(rue, runner, "--strategy", "duel", "--budget", "25trials")
    assert len(runner.requests()) <= 25
    assert gains(found(rue))["no workers"] == pytest.approx(1.24, rel=0.05)
    assert wording.NO_WORKERS.format(32, 0) in text and ", predicted)." in text


def test_a_budget_of_trials_reserves_some_for_baselines(rue, runner):
    runner = runner()
    text = tune(rue, runner, "--strategy", "duel", "--budget", "60trials")
    assert len(runner.requests()) <= 60
    part = found(rue)
    (gain,) = (row["gain"] for row in part["baselines"]["rows"] if row["name"] == "workers = CPUs")
    truth = time_ns("ape", 32, 4) / time_ns("ape", part["config"]["batch_size"], part["config"]["num_workers"])
    assert gain["low_ratio"] < truth < gain["high_ratio"], text


def test_baselines_use_at_most_a_tenth_of_the_budget(rue, runner):
    runner = runner()
    tune(rue, runner, "--strategy", "duel", "--budget", "300s")
    with open(rue.folder / "out/trials.csv") as file:
        rows = [row for row in csv.DictReader(file) if row["measure"] == "joint"]
    spent_s = sum(int(row["cost_ns"]) for row in rows) / 1e9
    baselines_s = sum(int(row["cost_ns"]) for row in rows if row["batch_size"] == "32" and row["num_workers"] in "04") / 1e9
    assert spent_s <= 300 and 0 < baselines_s
    assert gains(found(rue))["workers = CPUs"] > 1.2


def test_each_variant_has_its_own_comparison(rue, runner):
    runner = runner(hello=dict(variants=[dict(path=mode, mode=mode, format="scripted") for mode in ("raw", "preprocessed")]))
    tune(rue, runner, "--strategy", "grid")
    parts = read_json(rue.folder / "out/recommendation.json")["recommendations"]
    assert [part["variant"]["mode"] for part in parts] == ["raw", "preprocessed"]
    for part in parts:
        assert gains(part) == {"no workers": pytest.approx(2, rel=0.01), "workers = CPUs": pytest.approx(1.3125, rel=0.01)}


def test_a_table_has_the_times_of_the_baseline(rue):
    rows = [f"raw,{m},{b},{w},{near_ns(m, b, w) / 1e6}" for m in MODELS for b in BATCHES for w in WORKERS if (b, w) != (32, 0)]
    (rue.folder / "times.csv").write_text("\n".join(["mode,model,batch_size,num_workers,time_s", *rows]) + "\n")
    done = rue("tune", "--table", "times.csv", "--out", "out", "--budget", "1000s", "--strategy", "grid", "--baseline", "batch_size=32,num_workers=4")
    assert done.returncode == 0, done.stderr
    assert gains(found(rue)) == {"the baseline": None} and found(rue)["baselines"]["rows"][0]["recommended"]
    assert found(rue)["baselines"]["replaced"]["gain"]["speedup_ratio"] == pytest.approx(1.003, rel=0.0001)
    done = rue("tune", "--table", "times.csv", "--out", "other", "--budget", "1000s", "--strategy", "grid", "--baseline", "batch_size=32,num_workers=0")
    assert wording.THE_RECOMMENDATION_WAS_NOT_COMPARED_WITH_THE_BASELINE.format(32, 0) in " ".join(done.stdout.split()), done.stdout


def test_the_plan_names_the_baselines(rue, runner):
    words = ["tune", "--runner", runner().command, "--out", "out", "--strategy", "grid", "--budget", "9999s", "--dry-run"]
    assert wording.NO_WORKERS_WORKERS_CPUS.format(32, 0, 32, 4) in rue(*words).stdout


def test_baseline_none_measures_no_baseline(rue, runner):
    runner = runner()
    text = tune(rue, runner, "--strategy", "grid", "--baseline", "none")
    assert found(rue)["baselines"] is None and "workers = CPUs" not in text
    assert len(runner.joint()) == len(BATCHES) * len(WORKERS) * len(MODELS)


@pytest.mark.parametrize("given, words", [
    ("32/2", ["'32/2' is not KNOB=VALUE", "batch_size=32,num_workers=2"]),
    ("batchsize=32", ["'batchsize' is not a knob", "did you mean 'batch_size'"]),
    ("batch_size=many", ["batch_size must be a whole number from 1 to 65536, not 'many'"]),
    ("num_workers=2,,", ["'' is not KNOB=VALUE"]),
    ("parallelism=both", ["parallelism must be batch or sample, not 'both'"]),
    ("prefetch_factor=4", ["cannot vary prefetch_factor"]),
    ("num_workers=16", ["num_workers=16 exceeds --max-workers 8"]),
])
def test_one_that_cannot_be_measured_is_refused_by_the_name_of_its_knob(rue, runner, given, words):
    runner = runner()
    done = rue("tune", "--runner", runner.command, "--out", "out", "--max-workers", "8", "--baseline", given)
    expect_failure(done, 2, "--baseline", *words)
    assert not runner.requests()


def test_check_compares_the_recommendation_with_the_baseline(rue, runner):
    runner = runner()
    tune(rue, runner, "--strategy", "grid")
    done = rue("check", "out", "--runner", runner.command, "--budget", "9999s")
    assert done.returncode == 0 and wording.IT_IS_TIMES_AS_FAST.format("1.31", 32, 4, 95) in " ".join(done.stdout.split()), done.stdout
    told = json.loads(rue("check", "out", "--runner", runner.command, "--budget", "9999s", "--json").stdout)["checks"][0]
    assert label(told["baseline"]) == "32/4" and told["baseline_speedup_ratio"] == pytest.approx(1.3125, rel=0.01)
