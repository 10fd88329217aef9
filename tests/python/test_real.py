"""The benchmark on real loaders: that its estimates are right where the truth is known, and that it continues what was interrupted."""
import json
import math
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import HANG_S, ROOT, clean_environment, finish
from small_data import small  # noqa: F401: a fixture

pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
pytest.importorskip("torchvision", reason="torchvision is not installed (python3-torchvision)")
numpy = pytest.importorskip("numpy")
sys.path.append(str(ROOT / "tests/bench"))
from real_truth import Truth  # noqa: E402

CONFIGS = [(batch, workers) for batch in (16, 32, 64, 128) for workers in range(5)]


def true_log(model, config):
    """Half of the models wait for the loader, which has an optimum at 32/2; an interaction beside the main effects."""
    batch, workers = config
    load = 0.1 * abs(math.log2(batch / 32)) + 0.15 * abs(workers - 2) ** 0.5 + 0.02 * math.log2(batch / 32) * (workers - 2)
    return math.log(3 + model) + load * (1 if model < 2 else 0.2)


def loops(dice, noise, rounds=3):
    return [(str(model), config, number, math.exp(true_log(model, config) + 0.2 * number + noise * dice.standard_normal()))
            for number in range(rounds) for model in range(4) for config in CONFIGS]


def true_excess(config):
    def regret(other):
        return sum(math.exp(true_log(m, other) - min(true_log(m, c) for c in CONFIGS)) for m in range(4)) / 4
    return 100 * (regret(config) - min(map(regret, CONFIGS)))


def test_without_noise_the_truth_is_exact_whatever_the_levels_of_the_rounds():
    truth = Truth(loops(numpy.random.default_rng(1), 0))
    assert truth.ranked[0] == (32, 2)
    for config in CONFIGS:
        assert truth.excess(config)[0] == pytest.approx(true_excess(config), abs=1e-6)
    assert truth.seconds("1", (64, 3)) == pytest.approx(math.exp(true_log(1, (64, 3)) + 0.2))


def test_errors_of_differences_are_as_large_as_they_say():
    off = []
    for seed in range(40):
        points, error = Truth(loops(numpy.random.default_rng(seed), 0.06)).difference((16, 1), (32, 2))
        off.append((points - true_excess((16, 1))) / error)
    assert 0.7 < numpy.sqrt(numpy.mean(numpy.square(off))) < 1.3


def test_the_least_of_equal_cells_is_not_far_below_them():
    raw, shrunk = [], []
    for seed in range(20):
        dice = numpy.random.default_rng(seed)
        truth = Truth([("m", config, number, math.exp(0.06 * dice.standard_normal())) for number in range(3) for config in CONFIGS])
        raw.append(min(truth.raw.values()))
        shrunk.append(min(truth.log.values()))
    assert numpy.mean(raw) < -0.05 and numpy.mean(shrunk) > 0.7 * numpy.mean(raw)


def start(release, photos, out, *words):
    return subprocess.Popen([sys.executable, ROOT / "tests/bench/real.py", photos, "--out", out, "--loaders", "tensor", "--steps", "sleep",
                             "--batch-size", "2,4", "--num-workers", "0", "--repeats", "2", "--studies", "1", "--budgets", "5s", "--busy", "9",
                             "--beside", "1", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=clean_environment(RUE_PROGRAM=release, RUE_LOADER=os.environ["RUE_LOADER"], PYTHONDONTWRITEBYTECODE=1))


def test_a_killed_run_continues_and_measures_what_was_spoiled_again(release, small, tmp_path):
    first = start(release, small / "photos", tmp_path)
    file, deadline = tmp_path / "tensor-sleep/measurements.jsonl", time.monotonic() + HANG_S
    while not (file.exists() and file.read_text().count("\n") > 4):
        assert first.poll() is None and time.monotonic() < deadline, first.communicate()[1]
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    begun = file.read_text()
    begun = begun[:begun.rfind("\n") + 1]
    spoiled = json.loads(begun.splitlines()[1])
    file.write_text(begun.replace('"spoiled": false', '"spoiled": true', 1) + '{"kind": "loop", "mod')  # and the disk was full
    code, out, error = finish(start(release, small / "photos", tmp_path, "--cells"))
    assert code == 0, error
    records = [json.loads(line) for line in file.read_text().splitlines()[1:]]
    kept = [(r["kind"], r["round"], r["model"], *r["config"]) for r in records if r["kind"] in ("loop", "trial") and not r["spoiled"]]
    assert len(kept) == len(set(kept)) == 2 * 2 * 4 * 2, "each cell has a loop and a trial in each round"
    assert (spoiled["kind"], spoiled["round"], spoiled["model"], *spoiled["config"]) in kept
    assert len([r for r in records if r["kind"] == "study"]) == 1 and "5s: 1 answers" in out and "1 measurements discarded" in out
    assert "trial / plain loop, 16 pairs" in out and (tmp_path / "tensor-sleep/cells.csv").read_text().count("\n") == 9


def test_the_grid_of_another_run_is_refused(release, small, tmp_path):
    assert finish(start(release, small / "photos", tmp_path, "--time", "0s"))[0] == 0
    code, _, error = finish(start(release, small / "photos", tmp_path, "--num-workers", "1"))
    assert code == 1 and "give another --out" in error
