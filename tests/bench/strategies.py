#!/usr/bin/python3
"""How good what a strategy recommends is, and what it claims, for a share of the time that the whole grid takes, on
simulated machines that speak the runner's protocol and tell the truth on request.

  tests/bench/strategies.py SIMULATOR [--machines N] [--first SEED] [--strategies duel,grid,optuna,irace] [--shares 1,2,5,10]
                            [--scenarios base,discrepancy,cliff] [--modes raw,preprocessed]
                            [--prior none|same|other]

SIMULATOR is a command such as 'python3 sim_runner.py', which takes --mode, --seed, --noise-seed, --discrepancy, --cliff,
--first-free, --speed, --contend, --start-up, --slow-at SECONDS:FACTOR, and --truth for the true mean regrets and the cost of the whole grid.
neighbour.py beside this file is another, for the scenarios base and neighbour.
Prints one line for each strategy, share, scenario and mode: percentage points of mean regret above the true best, median and p90 with the 95 %
interval of a bootstrap; how often nothing was recommended; the median of the bounds that were claimed, how often there was none, how often they
held, with the lower limit of its 95 % interval, and how often where the recommendation was not the best one; and the CPU seconds that the strategy thought in one study, without those
of the simulator. --prior: what a study starts from; same, a study of the same machine for 5 % of its grid's time; other,
such a study of the next machine. Beside rue's own strategies: `optuna` (TPE with median pruning) and `irace`,
where they are installed.
"""
import argparse
import concurrent.futures
import itertools
import json
import math
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import peers  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCENARIOS = {"base": [], "discrepancy": ["--discrepancy", "3"], "cliff": ["--cliff"], "first-free": ["--first-free"],
             "slow": ["--speed", "0.33"], "fast": ["--speed", "3"], "slow-down": ["--slow-at"],
             "contend-2": ["--contend", "0.2"], "contend-5": ["--contend", "0.5"],
             "start-up-3": ["--start-up", "3"], "start-up-9": ["--start-up", "9"], "neighbour": ["--neighbour", "0.25"]}
SLOW_AT, SLOWER = 0.45, 1.3  # of the budget, and by how much: scenario slow-down


def simulated_truth(simulator, words, cache):
    """{(batch_size, num_workers): mean regret}, seconds of the whole grid"""
    kept = cache / (" ".join([*simulator, *words]).replace("/", "_") + ".json")
    if not kept.exists():
        told = subprocess.run([*simulator, *words, "--truth"], capture_output=True, text=True, check=True).stdout
        kept.with_suffix(f".{os.getpid()}").write_text(told)
        kept.with_suffix(f".{os.getpid()}").rename(kept)
    told = json.loads(kept.read_text())
    regrets = {(c["batch_size"], c["num_workers"]): c["mean_regret_ratio"] for c in told["configs"]}
    return regrets, told["exhaustive_cost_ns"] / 1e9


def study_before(simulator, words, seed, prior, program, cache, folder):
    """The options to start from what was found earlier."""
    if prior == "none":
        return []
    machine = [str(seed + 1) if word == str(seed) and prior == "other" else word for word in words]
    command = " ".join([*simulator, *machine, "--noise-seed", str(seed + 500000)])
    budget_s = 0.05 * simulated_truth(simulator, machine, cache)[1]
    subprocess.run([program, "tune", "--runner", command, "--strategy", "duel", "--quiet", "--out", folder, "--budget",
                    f"{round(1000 * budget_s)}ms"], capture_output=True, check=False)
    return ["--prior", folder]


def run_rue(strategy, command, budget_s, program, start):
    """The recommendation or None, CPU seconds of rue itself"""
    folder = tempfile.mkdtemp(prefix="rue-bench-")
    try:
        process = subprocess.Popen([program, "tune", "--runner", " ".join(command), "--strategy", strategy, "--quiet",
                                    *start, "--out", folder, "--budget", f"{round(1000 * budget_s)}ms"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        thought_s = peers.own_cpu_s(process)
        return json.loads((pathlib.Path(folder) / "recommendation.json").read_text())["recommendations"][0], thought_s
    except (OSError, ValueError, IndexError):
        return None, thought_s
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_peer(strategy, command, budget_s, seed):
    machine = peers.Machine(command, budget_s)
    try:
        config, thought_s = peers.PEERS[strategy](machine, seed)
    finally:
        machine.close()
    return {"config": config, "certificate": None}, thought_s


def play(simulator, words, seed, strategy, share, prior, program, cache):
    """(excess in points or infinity, bound in points or None, CPU seconds of thinking)"""
    regrets, whole_s = simulated_truth(simulator, [word for word in words if word != "--slow-at"], cache)
    if "--slow-at" in words:
        at = words.index("--slow-at") + 1
        words = [*words[:at], f"{SLOW_AT * share * whole_s:.1f}:{SLOWER}", *words[at:]]
    command = [*simulator, *words, "--noise-seed", str(seed + 1000)]
    if strategy in peers.PEERS:
        found, thought_s = run_peer(strategy, command, share * whole_s, seed)
    else:
        with tempfile.TemporaryDirectory(prefix="rue-bench-") as before:
            start = study_before(simulator, words, seed, prior, program, cache, before)
            found, thought_s = run_rue(strategy, command, share * whole_s, program, start)
    if not found or not found["config"]:
        return math.inf, None, thought_s
    excess = 100 * (regrets[found["config"]["batch_size"], found["config"]["num_workers"]] - min(regrets.values()))
    return excess, 100 * found["certificate"]["bound_ratio"] if found["certificate"] else None, thought_s


def quantile(values, share):
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low, high = ordered[math.floor(at)], ordered[math.ceil(at)]
    return low if low == high else low + (high - low) * (at - math.floor(at))


def bootstrap(values, share, rounds=1000):
    """The 95 % interval of a quantile."""
    dice = random.Random(1)
    drawn = [quantile(dice.choices(values, k=len(values)), share) for _ in range(rounds)]
    return quantile(drawn, 0.025), quantile(drawn, 0.975)


def lower_limit(held, count):
    """Of a share, one side of Wilson's 95 % interval."""
    if not count:
        return math.nan
    z, p = 1.96, held / count
    return (p + z * z / 2 / count - z * math.sqrt(p * (1 - p) / count + z * z / 4 / count / count)) / (1 + z * z / count)


def line(strategy, share, scenario, mode, results):
    excesses, bounds = [e for e, _, _ in results], [(e, b) for e, b, _ in results if b is not None]
    thought = statistics.median(t for _, _, t in results)
    low, high = bootstrap(excesses, 0.9)
    held, missed = sum(e <= b for e, b in bounds), [e <= b for e, b in bounds if e > 0]
    bound = f"{statistics.median(b for _, b in bounds):.2f}" if bounds else ""
    print(f"| {strategy} | {100 * share:g} % | {scenario} | {mode} | {len(results)} | {statistics.median(excesses):.2f} | "
          f"{quantile(excesses, 0.9):.2f} ({low:.2f} to {high:.2f}) | {sum(math.isinf(e) for e in excesses)} | {bound} | {len(results) - len(bounds)} | "
          f"{held / len(bounds) if bounds else math.nan:.3f} | {lower_limit(held, len(bounds)):.3f} | "
          f"{sum(missed)}/{len(missed)} | {thought:.2g} |", flush=True)


def make_parser(description):
    """The options of every benchmark on simulated machines."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("simulator", help="a command", type=str.split)
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "rue"))
    parser.add_argument("--machines", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--modes", default="raw,preprocessed")
    return parser


def truth_cache():
    cache = pathlib.Path(tempfile.gettempdir()) / f"rue-bench-truth-{os.getuid()}"
    cache.mkdir(exist_ok=True)
    return cache


def main():
    parser = make_parser(__doc__)
    for name, default in (("strategies", "duel,grid"), ("shares", "1,2,5,10"), ("scenarios", "base,discrepancy,cliff")):
        parser.add_argument(f"--{name}", default=default)
    parser.add_argument("--prior", choices=["none", "same", "other"], default="none")
    options = parser.parse_args()
    simulator, cache = options.simulator, truth_cache()
    print("| strategy | share of the grid's time | scenario | mode | machines | excess: median | p90 (95 % interval) | nothing "
          "recommended | bound: median | none | held | at least | where not the best | thinking, s |\n|" + "---|" * 14)
    strategies = options.strategies.split(",")
    for strategy in [name for name in strategies if name in peers.PEERS and peers.missing(name)]:
        print(f"{strategy} is left out: {peers.missing(strategy)}", file=sys.stderr)
        strategies.remove(strategy)
    cases = itertools.product(strategies, options.scenarios.split(","), options.modes.split(","), options.shares.split(","))
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for strategy, scenario, mode, percent in cases:
            seeds = range(options.first, options.first + options.machines)
            words = [["--mode", mode, "--seed", str(seed), *SCENARIOS[scenario]] for seed in seeds]
            share = float(percent) / 100
            tried = [pool.submit(play, simulator, w, s, strategy, share, options.prior, options.program, cache)
                     for w, s in zip(words, seeds)]
            line(strategy, share, scenario, mode, [one.result() for one in tried])


if __name__ == "__main__":
    main()
