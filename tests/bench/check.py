#!/usr/bin/python3
"""How often 'rue check' says that a recommendation holds: on the machine that it was made on, and on others, beside how much
worse the recommended configuration truly is there than the best.

  tests/bench/check.py SIMULATOR [--machines N] [--first SEED] [--modes raw,preprocessed] [--budget 30s]

SIMULATOR is a command such as 'python3 sim_runner.py', as for strategies.py. Prints a line for each mode and kind of
machine: same, slow and fast (--speed), grid (the same, but the recommendation is of the exhaustive grid) and other (the
next seed).
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from strategies import make_parser, truth_cache, simulated_truth

CLASSES = ((0.5, "up to 0.5"), (2, "0.5 to 2"), (float("inf"), "more than 2"))


def check(program, recommendation, command, budget):
    done = subprocess.run([program, "check", recommendation, "--runner", command, "--budget", budget, "--json", "--quiet"],
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 5):
        return done.returncode, done.stderr.strip()
    found = json.loads(done.stdout)["checks"][0]
    return done.returncode, found["verdict"]


def recommend(program, simulator, words, seed, strategy, share, folder, cache):
    command = " ".join([*simulator, *words, "--noise-seed", str(seed + 500000)])
    budget = round(1000 * share * simulated_truth(simulator, words, cache)[1])
    subprocess.run([program, "tune", "--runner", command, "--strategy", strategy, "--quiet", "--out", folder, "--budget",
                    f"{budget}ms"], capture_output=True, check=False)
    return pathlib.Path(folder) / "recommendation.json"


def play(program, simulator, mode, seed, budget, cache):
    """[(kind, excess in points there, exit code, verdict)]"""
    folder, results = tempfile.mkdtemp(prefix="rue-bench-"), []
    own = ["--mode", mode, "--seed", str(seed)]
    kinds = {"same": own, "slow": [*own, "--speed", "0.33"], "fast": [*own, "--speed", "3"],
             "other": ["--mode", mode, "--seed", str(seed + 1)], "grid": own}
    try:
        for kind, words in kinds.items():
            made = ("grid", 1.2) if kind == "grid" else ("duel", 0.05)
            out = f"{folder}/{made[0]}"
            found = pathlib.Path(out) / "recommendation.json"
            if not found.exists():
                recommend(program, simulator, own, seed, *made, out, cache)
            config = json.loads(found.read_text())["recommendations"][0]["config"]
            regrets = simulated_truth(simulator, words, cache)[0]
            excess = 100 * (regrets[config["batch_size"], config["num_workers"]] - min(regrets.values()))
            command = " ".join([*simulator, *words, "--noise-seed", str(seed + 1000)])
            results.append((kind, excess, *check(program, found, command, budget)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return results


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--budget", default="30s")
    options, cache = parser.parse_args(), truth_cache()
    print("| mode | machine | excess there, points | checks | holds | does not | verdicts |\n|" + "---|" * 7)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for mode in options.modes.split(","):
            tried = [pool.submit(play, options.program, options.simulator, mode, seed, options.budget, cache)
                     for seed in range(options.first, options.first + options.machines)]
            told = collections.defaultdict(list)
            for one in tried:
                for kind, excess, code, verdict in one.result():
                    told[kind, next(name for most, name in CLASSES if excess <= most)].append((code, verdict))
            for (kind, name), found in sorted(told.items()):
                verdicts = collections.Counter(verdict for _, verdict in found)
                words = ", ".join(f"{word} {count}" for word, count in verdicts.most_common())
                codes = collections.Counter(code for code, _ in found)
                print(f"| {mode} | {kind} | {name} | {len(found)} | {codes[0]} | {codes[5]} | {words} |", flush=True)


if __name__ == "__main__":
    main()
