"""What a ranking tells beside its winner: the smallest set, leave-one-out, time against memory, intervals."""
import json

import pytest

import wording
from conftest import expect_failure, make_table, read_json

HEADER = "mode,model,batch_size,num_workers,time_s\n"
TENSOR_BYTES = 3 * 224 * 224 * 4
# Regrets of ape, bee, cow, dog: 16/1 0, 0, .1, .1; 32/1 .1, .1, 0, .01; 64/1 .04 each; 128/1 .3 each
TIMES = {16: (100, 100, 110, 110), 32: (110, 110, 100, 101), 64: (104, 104, 104, 104), 128: (130, 130, 130, 130), 256: (200, 200, 200, 100)}
MODELS = ("ape", "bee", "cow", "dog")
CSV = HEADER + "".join(f"day,{m},{b},1,{t}\n" for b, times in TIMES.items() for m, t in zip(MODELS, times))


def plain(text):
    return " ".join(text.split())


def analyze(rue, text, *words):
    (rue.folder / "t.csv").write_text(text)
    done = rue("analyze", "t.csv", "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["recommendations"][0], plain(rue("analyze", "t.csv", *words).stdout)


def members(mode):
    return {c["config"]["batch_size"]: c["models"] for c in mode["smallest_set"]["configs"]}


def test_the_smallest_set_follows_its_epsilon(rue):
    mode, shown = analyze(rue, CSV)
    assert members(mode) == {16: ["ape", "bee"], 32: ["cow", "dog"]}
    assert mode["smallest_set"]["exact"] and mode["smallest_set"]["epsilon_ratio"] == 0.02
    assert mode["smallest_set"]["mean_regret_ratio"] == pytest.approx(0.0025)
    assert wording.WITH_THESE_CONFIGURATIONS_EVERY.format(2, 2, 16, 1, 32, 1) in shown
    mode, shown = analyze(rue, CSV, "--set-epsilon", "0.5%")
    assert members(mode) == {16: ["ape", "bee"], 32: ["cow"], 256: ["dog"]}
    mode, shown = analyze(rue, CSV, "--set-epsilon", "5%")
    assert members(mode) == {64: list(MODELS)}
    assert wording.WITH_THE_RECOMMENDED_CONFIGURATION.format(5) in shown
    mode, shown = analyze(rue, CSV, "--set-epsilon", "5%", "--weights", "ape=50,bee=50")
    assert wording.WITH_EVERY_MODEL_IS_WITHIN.format(64, 1, 5) in shown


def test_an_invalid_set_epsilon_is_a_usage_error(rue):
    (rue.folder / "t.csv").write_text(CSV)
    for bad in ("0%", "2", "-1%", "200%", "much"):
        expect_failure(rue("analyze", "t.csv", f"--set-epsilon={bad}"), 2, "--set-epsilon")


def test_the_best_of_each_model_is_in_the_json(rue):
    mode, _ = analyze(rue, CSV)
    assert {row["model"]: row["config"]["batch_size"] for row in mode["best_by_model"]} == {"ape": 16, "bee": 16, "cow": 32, "dog": 256}


def test_unmeasured_models_are_estimated_by_leaving_out_each_model(rue):
    mode, shown = analyze(rue, CSV)
    left = {row["model"]: (row["config"]["batch_size"], row["regret_ratio"]) for row in mode["leave_one_out"]["models"]}
    # Sums without ape: 16 .2, 32 .11, 64 .12; without cow: 16 .1, 32 .21, 64 .12
    assert left == {"ape": (32, pytest.approx(0.1)), "bee": (32, pytest.approx(0.1)),
                    "cow": (16, pytest.approx(0.1)), "dog": (16, pytest.approx(0.1))}
    assert mode["leave_one_out"]["mean_regret_ratio"] == pytest.approx(0.1)
    assert wording.EXPECT_REGRET_ON_AVERAGE.format("10.0", "10.0") in shown
    two = "".join(line for line in CSV.splitlines(True) if "cow" not in line and "dog" not in line)
    mode, shown = analyze(rue, two)
    assert mode["leave_one_out"] is None and wording.NOT_MEASURED not in shown


def test_a_table_has_no_memory_and_one_repeat_gives_no_interval(rue):
    mode, shown = analyze(rue, CSV)
    assert mode["pareto_front"] is None and mode["interval"] is None and "CI" not in shown and wording.LOADED_BATCHES not in shown


def test_repeats_give_an_interval(rue):
    scattered = HEADER + "".join(f"day,{m},{b},1,{t * (1 + r)}\n" for r in (-0.01, 0, 0.01)
                                 for b, times in TIMES.items() for m, t in zip(MODELS, times))
    mode, shown = analyze(rue, scattered)
    interval = mode["interval"]
    assert interval["confidence"] == 0.95
    assert 0 < interval["mean_low_ratio"] < 0.04 < interval["mean_high_ratio"] < 0.08
    assert 0 < interval["max_low_ratio"] < 0.04 < interval["max_high_ratio"] < 0.12
    low, high = (f"{100 * interval[f'mean_{end}_ratio']:.1f}" for end in ("low", "high"))
    assert wording.MEAN_REGRET_OVER_MODELS_CI.format("4.0", 4, 95, low, high, "4.0") in shown


def front(told):
    return [(c["config"]["batch_size"], c["config"]["num_workers"], c["memory_bytes"]) for c in told["pareto_front"]]


def test_rue_s_loader_offers_less_memory_for_more_regret(rue, script):
    """Twice the batch in a tenth less time; two workers a hundredth faster than one."""
    times = make_table(MODELS[:2], [16, 32], [0, 1, 2], lambda model, b, w: 1000 - (b - 16) * 6 - 10 * (w == 2) + 500 * (w == 0))
    one = script(times, hello=dict(loader="rue"), images=256)
    done = rue("tune", "--runner", one.command, "--quiet", "--out", "out")
    assert done.returncode == 0, done.stderr
    (told,) = read_json(rue.folder / "out/recommendation.json")["recommendations"]
    # min(workers * 2, batches) in flight, and one that the consumer holds
    assert front(told) == [(32, 2, 5 * 32 * TENSOR_BYTES), (32, 1, 3 * 32 * TENSOR_BYTES), (16, 2, 5 * 16 * TENSOR_BYTES),
                           (16, 1, 3 * 16 * TENSOR_BYTES), (32, 0, 32 * TENSOR_BYTES), (16, 0, 16 * TENSOR_BYTES)]
    foreign = script(times, hello=dict(loader="torch"), images=256)
    assert rue("tune", "--runner", foreign.command, "--quiet", "--out", "foreign").returncode == 0
    assert read_json(rue.folder / "foreign/recommendation.json")["recommendations"][0]["pareto_front"] is None


def test_show_has_the_memory_of_rue_s_loader(rue, photos):
    done = rue("tune", photos, "--mode", "raw", "--batch-size", "4,8", "--num-workers", "0,1", "--images", "16",
               "--model", "sleep:1ms/image,resnet18", "--budget", "5m", "--quiet", "--out", "out")
    assert done.returncode == 0, done.stderr
    (told,) = read_json(rue.folder / "out/recommendation.json")["recommendations"]
    (mode,) = json.loads(rue("show", "out", "--json").stdout)["recommendations"]
    assert front(mode) == front(told) and front(told)[-1][2] == 4 * TENSOR_BYTES


def test_a_configuration_that_needs_much_less_memory_is_named(rue, script):
    times = make_table(MODELS[:2], [16, 32, 64], [1], lambda model, b, w: 1000 - b)
    one = script(times, hello=dict(loader="rue"), images=256)
    done = rue("tune", "--runner", one.command, "--quiet", "--out", "out", "--details")
    assert wording.NEEDS_MB_FOR_LOADED.format(32, 1, 58, 116, "3.4") in plain(done.stdout)


@pytest.mark.parametrize("repeats", [1, 3])
def test_repeats_of_all_configurations_give_a_bound(rue, script, repeats):
    times = make_table(MODELS[:2], [16, 32], [0, 1], lambda model, b, w: 10**6 - b * 300 + 5 * 10**5 * (w == 0))
    one = script(times, repeats=[1, 1.02, 0.99])
    done = rue("tune", "--runner", one.command, "--strategy", "grid", "--quiet", "--out", "out", "--repeats", repeats)
    assert done.returncode == 0, done.stderr
    (told,) = read_json(rue.folder / "out/recommendation.json")["recommendations"]
    words = "No other measured configuration is more than"
    assert bool(told["certificate"]) == (words in plain(done.stdout)) == (repeats > 1), done.stdout
    if repeats > 1:
        assert told["certificate"]["confidence"] == 0.95 and 0 < told["certificate"]["bound_ratio"] < 0.1


def test_a_strategy_that_predicts_gives_a_credible_interval(rue, script):
    times = make_table(MODELS[:2], [16, 32, 64], [0, 1, 2], lambda model, b, w: 10**6 - b * 3000 + 5 * 10**5 * (w == 0))
    one = script(times, images=2048)
    done = rue("tune", "--runner", one.command, "--strategy", "duel", "--quiet", "--out", "out", "--budget", "10m")
    assert done.returncode == 0, done.stderr
    (told,) = read_json(rue.folder / "out/recommendation.json")["recommendations"]
    interval = told["interval"]
    assert interval["confidence"] == told["certificate"]["confidence"] == 0.95
    assert interval["mean_low_ratio"] <= told["mean_regret_ratio"] <= interval["mean_high_ratio"] < 1
    assert interval["max_low_ratio"] <= told["max_regret_ratio"] <= interval["max_high_ratio"] < 1
    assert interval["mean_low_ratio"] < interval["mean_high_ratio"] <= interval["max_high_ratio"]
    assert "(95 % CI " in plain(done.stdout)
