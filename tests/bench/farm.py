#!/usr/bin/python3
"""How much time a farm of like nodes saves (`rue tune --launch ... --farm`): the regret of what is recommended and how often
its bound holds, on simulated machines that speak the runner's protocol and tell the truth on request.

  tests/bench/farm.py SIMULATOR [--machines N] [--first SEED] [--nodes 1,2,4,8] [--share PERCENT] [--efficiency RATIO] [--like RATIO]

SIMULATOR: as for strategies.py. One machine has --share of the time that the whole grid takes. N nodes have that time divided by
N x --efficiency (and at least 1), on nodes whose loaders differ by --like (a standard deviation). Prints one line for each number
of nodes and mode: the speed-up, percentage points of mean regret above the true best, and the bounds that were claimed. 0 nodes: one
machine without --farm."""
import json
import math
import pathlib
import random
import shlex
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import strategies  # noqa: E402

CLUSTER = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "cluster.py"


def words_of_farm(simulator, words, seed, nodes, like, folder):
    dice = random.Random(seed)
    script = folder / "cluster.json"
    environment = {rank: {"SPEED": f"{math.exp(dice.gauss(0, like)):.4f}"} for rank in range(nodes)}
    script.write_text(json.dumps(dict(ranks=nodes, per_node=1, environment=environment)))
    runner = shlex.join([*simulator, *words]) + f" --noise-seed $(({seed} + 1000 * (SLURM_PROCID + 1))) --speed $SPEED"
    return ["--runner", runner, "--farm", "--launch", shlex.join([sys.executable, str(CLUSTER), str(script)])]


def play(options, mode, seed, nodes, cache):
    """(excess in points or infinity, bound in points or None, share of the budget that was used)"""
    words = ["--mode", mode, "--seed", str(seed)]
    regrets, whole_s = strategies.simulated_truth(options.simulator, words, cache)
    budget_s = options.share / 100 * whole_s / max(1, nodes * options.efficiency)
    with tempfile.TemporaryDirectory(prefix="rue-bench-") as folder:
        folder = pathlib.Path(folder)
        command = (words_of_farm(options.simulator, words, seed, nodes, options.like, folder) if nodes else
                   ["--runner", shlex.join([*options.simulator, *words, "--noise-seed", str(seed + 1000)])])
        subprocess.run([options.program, "tune", *command, "--strategy", "duel", "--quiet", "--out", str(folder / "out"), "--budget",
                        f"{round(1000 * budget_s)}ms"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        try:
            found = json.loads((folder / "out" / "recommendation.json").read_text())["recommendations"][0]
        except (OSError, ValueError, IndexError):
            return math.inf, None
    if not found["config"]:
        return math.inf, None
    excess = 100 * (regrets[found["config"]["batch_size"], found["config"]["num_workers"]] - min(regrets.values()))
    return excess, 100 * found["certificate"]["bound_ratio"] if found["certificate"] else None


def main():
    parser = strategies.make_parser(__doc__)
    parser.add_argument("--nodes", default="0,1,2,4,8")
    parser.add_argument("--share", type=float, default=5)
    parser.add_argument("--efficiency", type=float, default=0.75)
    parser.add_argument("--like", type=float, default=0.02)
    options = parser.parse_args()
    cache = strategies.truth_cache()
    print("| nodes | mode | machines | speed-up | excess: mean | p90 | nothing recommended | bound: median | held |\n|" + "---|" * 9)
    for mode in options.modes.split(","):
        for nodes in map(int, options.nodes.split(",")):
            results = [play(options, mode, seed, nodes, cache) for seed in range(options.first, options.first + options.machines)]
            excesses, bounds = [e for e, _ in results if e < math.inf], [(e, b) for e, b in results if b is not None]
            print(f"| {nodes} | {mode} | {len(results)} | {max(1, nodes * options.efficiency):g} | {statistics.mean(excesses):.2f} | "
                  f"{strategies.quantile(excesses, 0.9):.2f} | {len(results) - len(excesses)} | "
                  f"{statistics.median(b for _, b in bounds):.2f} | {sum(e <= b for e, b in bounds)} of {len(bounds)} |", flush=True)


if __name__ == "__main__":
    main()
