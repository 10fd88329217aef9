#!/usr/bin/python3
"""How often a strategy finds what a table of recorded times says is best, and what it spends of the table's time.

  tests/bench/tables.py TABLE [--map mode=dataset_type,time_s=end_to_end_s] [--strategies duel,grid] [--shares 2,5,10]
                        [--seeds 1..20] [--right imagenette=128/12,128/16 --right preprocessed_ssd=256/2]

Runs `rue tune --table` for each strategy, share and seed, and prints a line for each mode of the table: in how many seeds
the answer was right (one that --right names, else the best of the table), percentage points of mean regret above the best
of the table, how often the bound that was claimed held, and what was spent.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import statistics
import subprocess
import tempfile

from strategies import ROOT, quantile


def config_name(config):
    return f"{config['batch_size']}/{config['num_workers']}" if config else "none"


def replay(options, strategy, share, seed):
    """{mode: its recommendation}"""
    words = ["--map", options.map] if options.map else []
    words += ["--images", options.images] if options.images else []
    with tempfile.TemporaryDirectory(prefix="rue-bench-") as folder:
        done = subprocess.run([options.program, "tune", "--table", options.table, "--strategy", strategy, "--seed", str(seed),
                               "--budget", f"{share}%", "--quiet", "--out", folder, *words], capture_output=True, text=True)
        file = pathlib.Path(folder) / "recommendation.json"
        if not file.exists():
            raise SystemExit(done.stderr)
        return {found["variant"]["label"] or found["variant"]["mode"]: found
                for found in json.loads(file.read_text())["recommendations"]}


def line(strategy, share, mode, right, found):
    best = [config_name(one["replay"]["best"]["config"]) for one in found if one["replay"]["best"]]
    wanted = right.get(mode) or set(best)
    answers = collections.Counter(config_name(one["config"]) for one in found)
    excesses = [100 * (one["replay"]["mean_regret_ratio"] - one["replay"]["best"]["mean_regret_ratio"])
                if one["config"] else math.inf for one in found]
    bounds = [(e, 100 * one["certificate"]["bound_ratio"]) for e, one in zip(excesses, found) if one["certificate"]]
    held = f"{sum(e <= b for e, b in bounds)} of {len(bounds)}"
    spent = [100 * one["replay"]["spent_ratio"] for one in found]
    told = ", ".join(f"{name} x {count}" for name, count in answers.most_common(4))
    print(f"| {strategy} | {share:g} % | {mode} | {sum(answers[name] for name in wanted)} of {len(found)} | "
          f"{statistics.median(excesses):.2f} | {quantile(excesses, 0.9):.2f} | {held} | {statistics.median(spent):.1f} %, at most "
          f"{max(spent):.1f} % | {told} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "rue"))
    parser.add_argument("--right", action="append", default=[])
    for name, default in (("map", None), ("images", None), ("strategies", "duel"), ("shares", "10"), ("seeds", "1..20")):
        parser.add_argument(f"--{name}", default=default)
    options = parser.parse_args()
    right = {mode: set(names.split(",")) for mode, names in (text.split("=") for text in options.right)}
    first, last = map(int, options.seeds.split(".."))
    print("| strategy | share of the table's time | mode | right | excess: median | p90 | bound held | spent | answers |\n|"
          + "---|" * 9)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for strategy in options.strategies.split(","):
            for share in map(float, options.shares.split(",")):
                played = list(pool.map(lambda seed: replay(options, strategy, share, seed), range(first, last + 1)))
                for mode in played[0]:
                    line(strategy, share, mode, right, [one[mode] for one in played])


if __name__ == "__main__":
    main()
