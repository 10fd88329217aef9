#!/usr/bin/python3
"""What a short study recommends on this machine, against the whole grid measured here: no simulation.

  tests/bench/exhaustive.py DATA --out FOLDER [--batch-size 8,16,32,64,128,256] [--num-workers 0..4,6] [--model LIST]
                            [--mode raw|preprocessed] [--repeats 3] [--strategies auto] [--shares 5,10] [--seeds 1..10]
                            [--runner CMD] [--options "..."]

Measures every cell so often, a whole round of the grid after the other, then runs each strategy with each share of the
time of one round, in as many seeds. All of it is kept below FOLDER: what was measured there is not measured again.
Prints what the grid is like (by how much a job is off those of the other rounds, median and p95; how many configurations
cost more than 5 % of mean regret; how many models wait for the loader at their best configuration, and how many hardly
do), then a line for each strategy and share: percentage points of mean regret above the best of the means (median, p90,
worst; the standard error that the repeats leave in the mean), how often the bound that was claimed held, give or take two
standard errors, and as measured; and by how much the times that were predicted of configurations that were not tried are
off (median, p95).
It takes long, and the machine should have nothing else to do.
"""
import argparse
import collections
import csv
import json
import math
import pathlib
import shlex
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
from strategies import ROOT, quantile  # noqa: E402

WAITS = 0.2  # of a job's time, for the loader: more is loader-bound, less than half of that compute-bound


def tune(options, folder, *words):
    """The trials and the recommendations of a study; of one that was made earlier, what it found."""
    file = folder / "recommendation.json"
    if not file.exists() or json.loads(file.read_text())["partial"]:
        runner = ["--runner", options.runner] if options.runner else []
        done = subprocess.run([options.program, "tune", options.data, "--batch-size", options.batch_size, "--num-workers",
                               options.num_workers, "--model", options.model, "--mode", options.mode, "--quiet", "--out", folder,
                               *runner, *shlex.split(options.options), *words], capture_output=True, text=True)
        if not file.exists():
            raise SystemExit(done.stderr)
    with open(folder / "trials.csv", newline="") as trials:
        return list(csv.DictReader(trials)), json.loads(file.read_text())["recommendations"]


def config_key(row):
    return int(row["batch_size"]), int(row["num_workers"])


class Truth:
    """Means of the grid, and what is best by them."""

    def __init__(self, trials):
        rows = [row for row in trials if row["measure"] == "joint" and row["status"] == "ok"
                and row["requested_images"] == row["job_images"]]  # no reference that is shorter
        self.times, self.waits = collections.defaultdict(list), collections.defaultdict(list)
        for row in rows:
            self.times[config_key(row), row["model"]].append(int(row["end_to_end_ns"]) / 1e9)
            if row["load_wait_ns"]:
                self.waits[config_key(row), row["model"]].append(int(row["load_wait_ns"]) / int(row["end_to_end_ns"]))
        self.models = sorted({model for _, model in self.times})
        self.configs = sorted({config for config, _ in self.times})
        self.rounds = min(map(len, self.times.values()))
        self.mean = mean = {cell: statistics.mean(times) for cell, times in self.times.items()}
        self.least = {m: min(mean[c, m] for c in self.configs) for m in self.models}
        self.regret = {c: statistics.mean(mean[c, m] / self.least[m] - 1 for m in self.models) for c in self.configs}
        self.best = min(self.regret, key=self.regret.get)
        overhead = [int(row["cost_ns"]) / 1e9 for row in rows if row["cost_ns"]]
        self.round_s = sum(overhead) / self.rounds

    def excess(self, config):
        """Percentage points above the best, and the standard error of that."""
        rounds = [100 * statistics.mean((self.times[config, m][r] - self.times[self.best, m][r]) / self.least[m]
                                        for m in self.models) for r in range(self.rounds)]
        error = statistics.stdev(rounds) / math.sqrt(self.rounds) if self.rounds > 1 else math.nan
        return statistics.mean(rounds), error

    def again(self):
        """By how many percent a job is off the mean of the other rounds: median, p95."""
        off = [100 * abs(time / statistics.mean(times[:i] + times[i + 1:]) - 1)
               for times in self.times.values() if len(times) > 1 for i, time in enumerate(times)] or [math.nan]
        return statistics.median(off), quantile(off, 0.95)

    def describe(self):
        best = {m: min(self.configs, key=lambda c: self.mean[c, m]) for m in self.models}
        waits = [statistics.mean(self.waits[best[m], m]) for m in self.models if self.waits[best[m], m]]
        again, far = self.again()
        print(f"{len(self.configs)} configurations x {len(self.models)} models x {self.rounds} rounds of "
              f"{self.round_s:.0f} s; a job of another round is off by {again:.1f}, {far:.1f} %; best "
              f"{self.best[0]}/{self.best[1]} with {100 * self.regret[self.best]:.2f} % mean regret; {sum(r > 0.05 for r in self.regret.values())} "
              f"configurations above 5 %; loader-bound at their best {sum(w > WAITS for w in waits)}, compute-bound "
              f"{sum(w < WAITS / 2 for w in waits)}", flush=True)
        ranked = sorted(self.regret, key=self.regret.get)
        print("  " + ", ".join(f"{b}/{w} {100 * self.regret[b, w]:.1f} %" for b, w in ranked[:8]), flush=True)


def line(strategy, share, truth, found):
    """Of a strategy's recommendations, one a seed."""
    given = [one for one in found if one["config"]]
    excess = [truth.excess((one["config"]["batch_size"], one["config"]["num_workers"])) for one in given]
    points = [e for e, _ in excess] + [math.inf] * (len(found) - len(given))
    bounds = [(e, error, 100 * one["certificate"]["bound_ratio"])
              for (e, error), one in zip(excess, given) if one["certificate"]]
    errors = [error for _, error in excess]
    answers = collections.Counter(f"{one['config']['batch_size']}/{one['config']['num_workers']}" for one in given)
    off = [100 * abs(ns / 1e9 / truth.mean[config_key(config["config"]), model] - 1)
           for one in given for config in one["configs"] if config["source"] == "predicted"
           for model, ns in config["end_to_end_ns"].items()] or [math.nan]
    print(f"| {strategy} | {share:g} % | {statistics.median(points):.2f} | {quantile(points, 0.9):.2f} | "
          f"{max(points):.2f} | {statistics.mean(errors or [math.nan]):.2f} | "
          f"{statistics.median([b for *_, b in bounds] or [math.nan]):.2f} | "
          f"{sum(e - 2 * error <= b for e, error, b in bounds)}, {sum(e <= b for e, _, b in bounds)} of {len(bounds)} | "
          f"{statistics.median(off):.1f}, {quantile(off, 0.95):.1f} % | "
          f"{', '.join(f'{name} x {count}' for name, count in answers.most_common(5))} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--batch-size", default="8,16,32,64,128,256")
    parser.add_argument("--num-workers", default="0..4,6")
    parser.add_argument("--model", default="sleep:0.1ms/image+2ms,sleep:0.3ms/image+5ms,sleep:0.5ms/image+2ms,"
                                           "sleep:0.8ms/image+5ms,sleep:1.2ms/image+2ms,sleep:1.6ms/image+10ms")
    parser.add_argument("--mode", choices=("raw", "preprocessed"), default="raw", help="of the data")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--strategies", default="auto")
    parser.add_argument("--shares", default="5,10")
    parser.add_argument("--seeds", default="1..10")
    parser.add_argument("--runner", default="")
    parser.add_argument("--options", default="")
    parser.add_argument("--program", default=ROOT / "build/release/rue")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split(".."))
    options.out.mkdir(parents=True, exist_ok=True)
    trials, _ = tune(options, options.out / "grid", "--strategy", "grid", "--repeats", str(options.repeats), "--budget",
                     "48h")
    truth = Truth(trials)
    truth.describe()
    print("| strategy | share | excess median | p90 | worst | its standard error | bound median | held | "
          "predictions off | answers |\n|---|---|---|---|---|---|---|---|---|---|")
    for strategy in options.strategies.split(","):
        for share in map(float, options.shares.split(",")):
            budget = f"{share / 100 * truth.round_s:.1f}s"
            found = [tune(options, options.out / f"{strategy}-{share:g}-{seed}", "--strategy", strategy, "--seed", str(seed),
                          "--budget", budget)[1][0] for seed in range(first, last + 1)]
            line(strategy, share, truth, found)


if __name__ == "__main__":
    main()
