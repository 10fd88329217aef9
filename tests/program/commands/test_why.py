"""rue why: what bounds a configuration, what it loses against the best one, and what would have to change."""
import csv
import json
import math
import os
import pathlib
import statistics

import pytest

import wording
from conftest import cluster, expect_failure, make_table, read_json, unwrap

MODELS = ["ape", "bee", "cow"]
TIMES = make_table(MODELS, [16, 32, 64], [0, 1, 2], lambda m, b, w: 1000 + 10 * abs(b - 32) + 300 * abs(w - 2) + 100 * MODELS.index(m))
GRID = ["--strategy", "grid", "--budget", "5m", "--images", "128", "--quiet", "--out", "out"]


def tune(rue, one, *words):
    done = rue("tune", "--runner", one.command, *GRID, *words)
    assert done.returncode == 0, done.stderr
    return rue.folder / "out"


def explain(rue, *words):
    done = rue("why", *words, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["format"] == "rue.why/1"
    return document["variants"]


def mean_regret(times, best):
    return statistics.mean(t / b - 1 for t, b in zip(times, best))


@pytest.mark.quick
def test_times_regrets_and_parts_are_those_of_the_trials(rue, script):
    tune(rue, script(TIMES, images=1000))
    found = explain(rue, "out", "--batch-size", "32", "--num-workers", "1")[0]
    assert (found["config"]["batch_size"], found["config"]["num_workers"], found["recommended"]) == (32, 1, False)
    own, best = ([128 * TIMES[m][cell] for m in MODELS] for cell in ("32/1", "32/2"))
    assert [m["model"] for m in found["models"]] == MODELS
    assert [m["time_ns"] for m in found["models"]] == own and [m["other_time_ns"] for m in found["models"]] == best
    assert [m["regret_ratio"] for m in found["models"]] == pytest.approx([o / b - 1 for o, b in zip(own, best)])
    assert found["mean_regret_ratio"] == pytest.approx(mean_regret(own, best))
    assert found["time_ratio"] == pytest.approx(statistics.geometric_mean(o / b for o, b in zip(own, best)))
    for model, parts in zip(found["models"], found["parts"]):
        assert parts["source"] == "measured" and parts["bound"] == "loading"  # the scripted loader takes all of the time
        assert parts["first_batch_ns"] + parts["load_wait_ns"] == pytest.approx(model["time_ns"], abs=2)
        assert parts["first_batch_ns"] == pytest.approx(model["time_ns"] / 4, abs=2)  # 32 of 128 images
        assert model["first_batch_difference_ns"] + model["load_wait_difference_ns"] == pytest.approx(model["time_ns"] - model["other_time_ns"], abs=4)


@pytest.mark.quick
def test_loading_so_many_times_as_fast_makes_it_as_good_as_the_best(rue, script):
    tune(rue, script(TIMES, images=1000))
    found = explain(rue, "out", "--batch-size", "16", "--num-workers", "1")[0]
    own, best = ([128 * TIMES[m][cell] for m in MODELS] for cell in ("16/1", "32/2"))
    ratio = found["loading_speedup_ratio"]
    assert found["faster_loading"] == "possible" and ratio > 1
    assert mean_regret([t / ratio for t in own], best) == pytest.approx(0, abs=1e-6)
    assert wording.ITS_LOADING_WOULD_HAVE.format(ratio) in unwrap(rue("why", "out", "--batch-size", "16", "--num-workers", "1").stdout)


def test_the_best_value_of_each_knob_is_named(rue, script):
    tune(rue, script(TIMES, images=1000))
    changes = {c["knob"]: c for c in explain(rue, "out", "--batch-size", "64", "--num-workers", "1")[0]["changes"]}
    cell = lambda c: (c["config"]["batch_size"], c["config"]["num_workers"])
    assert cell(changes["batch_size"]) == (32, 1) and cell(changes["num_workers"]) == (64, 2)
    gain = statistics.geometric_mean(TIMES[m]["64/1"] / TIMES[m]["64/2"] for m in MODELS)
    assert changes["num_workers"]["speedup_ratio"] == pytest.approx(gain)
    assert wording.WITH_WORKERS_IN_PLACE.format(2, 1, gain) in rue("why", "out", "--batch-size", "64", "--num-workers", "1").stdout
    assert wording.NO_OTHER_NUM_WORKERS.format(2) in rue("why", "out", "--batch-size", "64").stdout


@pytest.mark.quick
def test_without_knobs_it_is_the_recommended_one(rue, script):
    folder = tune(rue, script(TIMES, images=1000))
    found = explain(rue, "out")[0]
    assert found["recommended"] and found["rank"] == 1 and found["config"] == read_json(folder / "recommendation.json")["recommendations"][0]["config"]
    assert found["compared_with"]["batch_size"] in (16, 64) and found["compared_with"]["num_workers"] == 2
    text = rue("why", "out").stdout
    assert wording.IS_THE_RECOMMENDED_CONFIGURATION in text and wording.WHAT_WOULD_HAVE_TO_CHANGE not in text


def test_noise_is_measured_only_by_repeats(rue, script):
    one = script(TIMES, images=1000)
    tune(rue, one)
    found = explain(rue, "out", "--num-workers", "0")[0]
    assert found["noise"] == {"source": "assumed", "within": False}
    assert wording.NOISE_IS_UNKNOWN_NOTHING_WAS_MEASURED_TWICE in rue("why", "out", "--num-workers", "0").stdout
    tune(rue, script(TIMES, images=1000, repeats=[1, 1.01, 0.99]), "--repeats", "3", "--fresh")
    assert explain(rue, "out", "--num-workers", "0")[0]["noise"] == {"source": "measured", "within": False}
    close = {m: {cell: 1000 if cell != "32/2" else 999 for cell in TIMES[m]} for m in MODELS}
    tune(rue, script(close, images=1000, repeats=[1, 1.05, 0.95]), "--repeats", "3", "--fresh")
    found = explain(rue, "out", "--num-workers", "0")[0]
    assert found["noise"] == {"source": "measured", "within": True}
    assert wording.THE_DIFFERENCE_IS_WITHIN in rue("why", "out", "--num-workers", "0").stdout


@pytest.mark.quick
def test_what_bounds_real_trials(rue, photos):
    words = ["--mode", "raw", "--model", "sleep:100ms/image,none", "--batch-size", "4,8", "--num-workers", "0,1", "--images", "12"]
    assert rue("tune", photos, *words, *GRID[:4], "--quiet", "--out", "out").returncode == 0
    slow, none = sorted(explain(rue, "out", "--batch-size", "4", "--num-workers", "1")[0]["parts"], key=lambda p: -p["time_ns"])
    assert (slow["model"], slow["bound"]) == ("sleep:100ms/image", "computing") and slow["compute_ns"] >= 12 * 100e6
    assert none["bound"] in ("loading", "start")
    for parts in (slow, none):
        known = sum(parts[key] or 0 for key in ("first_batch_ns", "load_wait_ns", "h2d_ns", "compute_ns", "shutdown_ns"))
        assert known == pytest.approx(parts["time_ns"], rel=0.05)


def test_what_was_not_measured_is_predicted(rue, photos):
    words = ["--mode", "raw", "--model", "sleep:1ms/image,sleep:2ms/image", "--batch-size", "1,2,4,8,16,24,48", "--num-workers", "0..4",
             "--images", "4800", "--strategy", "duel", "--budget", "6s", "--quiet", "--out", "out"]
    done = rue("tune", photos, *words)
    assert done.returncode in (0, 5), done.stderr
    report = read_json(rue.folder / "out/recommendation.json")["recommendations"][0]
    predicted = [c["config"] for c in report["configs"] if c["source"] == "predicted" and not c["verified"]]
    if not predicted:
        pytest.skip("skipped: everything was measured")
    parts = [p for c in predicted for p in explain(rue, "out", "--batch-size", c["batch_size"], "--num-workers", c["num_workers"])[0]["parts"]]
    assert "predicted" in {p["source"] for p in parts}
    for p in parts:
        assert all(p[key] >= 0 for key in ("first_batch_ns", "load_wait_ns", "compute_ns", "shutdown_ns"))


def test_a_runner_that_reports_no_parts(rue, tmp_path):
    launch = cluster(tmp_path, ranks=2, play={"ns_per_image": {"16/1": 4_000_000, "16/2": 2_000_000}})
    assert rue("tune", "--strategy", "grid", "--budget", "100h", "--out", "out", "--launch", launch).returncode == 0
    shown = unwrap(rue("why", "out", "--batch-size", 16, "--num-workers", 1).stdout)
    assert wording.UNKNOWN_THE_RUNNER_DOES in shown and "bounds" not in shown


@pytest.mark.quick
def test_a_configuration_that_cannot_be_explained_is_one_sentence(rue, script):
    faults = [dict(when=dict(cell=cell), do="answer", answer=dict(status=status, reason="no room"))
              for cell, status in (("32/2", "infeasible"), ("16/1", "failed"))]
    tune(rue, script(TIMES, images=1000, faults=faults))
    expect_failure(rue("why", "out", "--batch-size", "32", "--num-workers", "2"), 4, "batch_size 32, num_workers 2 is infeasible on", "no room")
    expect_failure(rue("why", "out", "--batch-size", "16", "--num-workers", "1"), 5, "batch_size 16, num_workers 1 failed on", "no room")
    expect_failure(rue("why", "out", "--batch-size", "7"), 2, "batch_size 7 is not in", "which has only 16, 32, 64")
    expect_failure(rue("why", "out", "--batch-size", "16,32"), 2, "--batch-size", "one value")
    expect_failure(rue("why", "out", "--batch-size", "0"), 2, "--batch-size")
    expect_failure(rue("why", "out", "--knob", "colour=3"), 2, "--knob", "colour")
    expect_failure(rue("why", "nowhere"), 3, "nowhere")


def test_without_a_change_of_one_knob_it_says_so(rue, script):
    faults = [dict(when=dict(cell=cell, model="ape"), do="answer", answer=dict(status="infeasible", reason="no room"))
              for cell in TIMES["ape"] if cell.startswith("64/") or cell.endswith("/2")]
    tune(rue, script(TIMES, images=1000, faults=faults))
    text = unwrap(rue("why", "out", "--batch-size", "64", "--num-workers", "2").stdout)
    assert wording.BATCH_SIZE_NUM_WORKERS_IS_NOT.format(64, 2) in text
    assert wording.NO_RANKED_CONFIGURATION_DIFFERS in text and wording.NEVER_THE_BEST not in text
    assert wording.NO_RANKED_CONFIGURATION not in rue("why", "out", "--batch-size", "64", "--num-workers", "1").stdout


@pytest.mark.parametrize("device, copying", [(None, 40), (0, 40), (60, 40), (70, 30), (110, 0)])
def test_a_copy_counts_as_far_as_kernels_do_not_hide_it(rue, script, device, copying):
    times = dict(load_wait_ns=28_000, compute_ns=100_000, h2d_ns=40_000, **({} if device is None else dict(device_ns=1000 * device)))
    tune(rue, script({"ape": {"16/0": 1000, "16/1": 1000}}, images=1000,
                     faults=[dict(when=dict(measure="joint"), do="answer", answer=times)]))
    parts = explain(rue, "out")[0]["parts"][0]
    assert (parts["h2d_ns"] or 0, parts["compute_ns"]) == (1000 * copying, 1000 * (100 - copying))
    assert (parts["first_batch_ns"], parts["load_wait_ns"]) == (16_000, 12_000)
    assert parts["bound"] == ("copying" if copying else "computing")


@pytest.mark.quick
def test_what_bounds_is_counted_over_models(rue, photos):
    words = ["--mode", "raw", "--model", "sleep:500ms/image,none", "--batch-size", "4", "--num-workers", "0", "--images", "8"]
    assert rue("tune", photos, *words, *GRID[:4], "--quiet", "--out", "out").returncode == 0
    parts = [p["bound"] for p in explain(rue, "out")[0]["parts"]]
    assert sorted(parts) == ["computing", "loading"]
    assert " bounds 1 model, " in rue("why", "out").stdout


# ---- tables ----

@pytest.fixture
def published():
    path = pathlib.Path(os.environ.get("RUE_SHARED", "/nowhere")) / "data/end_to_end_grid.csv"
    if not path.exists():
        pytest.skip("skipped: no published table, set RUE_SHARED")
    return path


@pytest.mark.parametrize("batch, workers", [(256, 2), (32, 12), (1024, 64)])
def test_three_cells_of_the_published_table(rue, published, batch, workers):
    words = ["--map", "mode=dataset_type,time_s=end_to_end_s", "--strategy", "grid", "--budget", "2000trials"]
    assert rue("tune", "--table", published, *words, "--quiet", "--out", "out").returncode == 0
    times = {}
    for row in csv.DictReader(published.open()):
        if row["dataset_type"] == "imagenette":
            times.setdefault(row["model"], {})[int(row["batch_size"]), int(row["num_workers"])] = float(row["end_to_end_s"])
    raw = next(v for v in explain(rue, "out", "--batch-size", batch, "--num-workers", workers) if v["variant"] == "imagenette")
    best = {m: min(t.values()) for m, t in times.items()}
    regrets = {c: statistics.mean(times[m][c] / best[m] - 1 for m in times) for c in times["resnet18"]}
    winner = min(regrets, key=regrets.get)
    assert winner == (128, 12) and (raw["compared_with"]["batch_size"], raw["compared_with"]["num_workers"]) == winner
    assert raw["mean_regret_ratio"] == pytest.approx(regrets[batch, workers], rel=1e-6)
    assert raw["rank"] == 1 + sum(r < regrets[batch, workers] for r in regrets.values())
    for model in raw["models"]:
        own = times[model["model"]]
        assert model["time_ns"] == pytest.approx(1e9 * own[batch, workers]) and model["other_time_ns"] == pytest.approx(1e9 * own[winner])
        assert model["regret_ratio"] == pytest.approx(own[batch, workers] / best[model["model"]] - 1, abs=1e-8)
    assert raw["time_ratio"] == pytest.approx(math.exp(statistics.mean(math.log(times[m][batch, workers] / times[m][winner]) for m in times)))
    assert raw["parts"] == [] and raw["faster_loading"] == "unknown" and raw["noise"]["source"] == "assumed"
    for change in raw["changes"]:
        knob, cell = change["knob"], (change["config"]["batch_size"], change["config"]["num_workers"])
        others = [c for c in regrets if c != (batch, workers) and c[knob == "batch_size"] == (batch, workers)[knob == "batch_size"]]
        assert cell == min(others, key=regrets.get)
    text = unwrap(rue("why", "out", "--batch-size", batch, "--num-workers", workers).stdout)
    assert wording.WHERE_THE_TIME_GOES in text and wording.NOISE_IS_UNKNOWN in text
