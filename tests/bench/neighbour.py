#!/usr/bin/python3
"""A simulated machine of two CPUs that another program shares, as a runner of rue.runner/1 on a virtual clock.

  tests/bench/strategies.py tests/bench/neighbour.py --scenarios base,neighbour --shares 30

  neighbour.py [--mode raw|preprocessed] [--seed K] [--noise-seed J] [--neighbour SHARE] [--start-noise SD] [--no-cpu|--no-idle]

--seed draws the loader and the models, --noise-seed the noise. --neighbour: the share of the time in which another program takes one
CPU, in bursts of 2 to 6 s. Workers share what is left, so loading becomes up to twice as slow, and sleeping models do not.
--start-noise: the standard deviation of the logarithm of the time that a loader needs to start. --no-cpu: replies have no CPU times; --no-idle: those of the
process alone.
--truth prints the true regrets without noise and neighbour, and the cost of the whole grid, as JSON, and ends.
"""
import argparse
import bisect
import json
import math
import random
import sys

CPUS, PREFETCH, BURST_S = 2, 2, 4.0
BATCH, WORKERS = [16, 32, 64, 128, 256], [1, 2, 3, 4, 6, 8]
OVERHEAD_S, SWITCH_S = 0.1, 0.5  # of a trial; of a change of model
TRIAL_NOISE, BATCH_NOISE, CELL_NOISE = 0.012, 0.1, 0.012  # of logarithms
TRUTH_RUNS = 4


class Neighbour:
    """When the other program takes a CPU."""

    def __init__(self, share, seed):
        self.share, self.dice, self.ends = share, random.Random(f"neighbour {seed}"), [0.0]

    def at(self, second):
        """CPUs that are left, and until when."""
        if not self.share:
            return CPUS, math.inf
        while self.ends[-1] <= second:
            mean_s = BURST_S if len(self.ends) % 2 == 0 else BURST_S * (1 - self.share) / self.share
            self.ends.append(self.ends[-1] + mean_s * self.dice.uniform(0.5, 1.5))
        index = bisect.bisect_right(self.ends, second)
        return CPUS - (index % 2 == 0), self.ends[index]


class Work:
    """CPU work on a shared machine, from second `start` on."""

    def __init__(self, neighbour, start):
        self.neighbour, self.start, self.now = neighbour, start, 0.0
        self.left, self.used_s, self.idle_s = {}, 0.0, 0.0  # left: {worker: CPU seconds of its batch}

    def advance(self, until):
        """Works until then, or until a worker is done: that worker, or None."""
        while True:
            cpus, change = self.neighbour.at(self.start + self.now)
            rate = min(1, cpus / len(self.left)) if self.left else 0
            first = min(self.left, key=self.left.get) if self.left else None
            done = self.now + self.left[first] / rate if self.left else math.inf
            end = min(done, until, change - self.start)
            for worker in self.left:
                self.left[worker] -= rate * (end - self.now)
            self.used_s += rate * len(self.left) * (end - self.now)
            self.idle_s += max(0, cpus - rate * len(self.left)) * (end - self.now)
            self.now = end
            if end == done:
                del self.left[first]
                return first
            if end == until:
                return None

    def alone(self, seconds):
        """The consumer's own work."""
        self.left[None] = seconds
        self.advance(math.inf)


class Machine:
    def __init__(self, mode, seed):
        dice = random.Random(f"{seed} {mode}")
        vary = lambda sd: math.exp(sd * dice.gauss(0, 1))
        self.images = dice.choice([1500, 2000, 3000])
        self.item_s = (0.003 if mode == "raw" else 0.0004) * vary(0.4)
        self.batch_s, self.hand_over_s = 0.002 * vary(0.4), 0.001 * vary(0.3)
        self.start_s, self.worker_s, self.stop_s = 0.05 * vary(0.3), 0.02 * vary(0.4), 0.005 * vary(0.3)
        ratios = sorted(math.exp(dice.uniform(-1.2, 1.2)) for _ in range(dice.randint(4, 8)))
        self.models = {f"model{m:02d}": (0.003 * vary(0.5), ratio * self.item_s / CPUS) for m, ratio in enumerate(ratios)}
        self.off = {(m, b, w): CELL_NOISE * dice.gauss(0, 1) for m in self.models for b in BATCH for w in WORKERS}

    def run(self, config, model, images, work, start_factor, dice):
        """Seconds of the trial's parts."""
        batch, workers = config
        step_s, image_s = self.models[model] if model else (0, 0)
        off = math.exp(self.off.get((model, *config), 0))
        sizes = [min(batch, images - at) for at in range(0, images, batch)]
        work.alone(start_factor * (self.start_s + self.worker_s * workers))
        costs = [off * (self.batch_s + self.item_s * size) * math.exp(dice.gauss(0, BATCH_NOISE)) for size in sizes]
        loaded, waiting = set(), {w: list(range(w, len(sizes), workers))[::-1] for w in range(workers)}
        wait_s = compute_s = first_s = 0.0

        def begin(delivered):
            for w, queue in waiting.items():
                if queue and w not in work.left and queue[-1] < delivered + PREFETCH * workers:
                    work.left[w] = costs[queue[-1]]

        def pass_time(until):
            worker = work.advance(until)
            if worker is not None:
                loaded.add(waiting[worker].pop())

        for at, size in enumerate(sizes):
            asked = work.now
            begin(at)
            while at not in loaded:
                pass_time(math.inf)
                begin(at)
            wait_s += work.now - asked
            first_s = first_s or work.now
            taken, until = work.now, work.now + off * (step_s + image_s * size) + self.hand_over_s
            begin(at + 1)
            while work.now < until:
                pass_time(until)
                begin(at + 1)
            compute_s += work.now - taken
        stopping = work.now
        work.alone(self.stop_s * workers)
        return dict(end=work.now, first=first_s, load_wait=wait_s, compute=compute_s, shutdown=work.now - stopping)

    def truth(self):
        """True regrets, as sim_runner.py --truth prints them."""
        calm, whole_s, times = Neighbour(0, 0), 0, {}
        for b in BATCH:
            for w in WORKERS:
                times[b, w] = [sum(self.run((b, w), m, self.images, Work(calm, 0), 1, random.Random(f"{m} {k}"))["end"]
                                   for k in range(TRUTH_RUNS)) / TRUTH_RUNS for m in self.models]
                whole_s += sum(times[b, w]) + OVERHEAD_S * len(self.models)
        best = [min(each) for each in zip(*times.values())]
        regrets = {cell: [t / s - 1 for t, s in zip(row, best)] for cell, row in times.items()}
        return dict(exhaustive_cost_ns=round(1e9 * (whole_s + SWITCH_S * len(self.models))),
                    configs=[dict(batch_size=b, num_workers=w, mean_regret_ratio=sum(each) / len(each), end_to_end_s=times[b, w])
                             for (b, w), each in regrets.items()])


class Runner:
    def __init__(self, machine, options):
        self.machine, self.options, self.now, self.model, self.trials = machine, options, 0.0, None, 0
        self.noise_seed = options.seed if options.noise_seed is None else options.noise_seed
        self.neighbour = Neighbour(options.neighbour, self.noise_seed)

    def hello(self):
        return dict(protocol="rue.runner/1", runner="shared machine", clock="virtual", measures=["joint", "load", "compute"],
                    machine=dict(cpu="simulated", usable_cpus=CPUS), models=list(self.machine.models), images=self.machine.images,
                    variants=[dict(path="", mode=self.options.mode, format="simulated")],
                    space=dict(batch_size=BATCH, num_workers=WORKERS))

    def spend(self, seconds, model):
        switch_s = SWITCH_S if model and model != self.model else 0
        self.model = model or self.model
        self.now += seconds + OVERHEAD_S + switch_s
        return round(1e9 * (seconds + OVERHEAD_S + switch_s))

    def trial(self, request):
        machine, model, batch = self.machine, request.get("model") or None, request["config"]["batch_size"]
        self.trials += 1
        dice = random.Random(f"{self.noise_seed} {self.trials}")
        pace = math.exp(TRIAL_NOISE * dice.gauss(0, 1))
        if request["measure"] == "compute":
            step_s, image_s = machine.models[model]
            one_s, batches = pace * (step_s + batch * image_s), request["batches"]
            return dict(status="ok", config=request["config"], images=batches * batch, batches=batches, warmup_ns=round(1e9 * one_s),
                        compute_ns=round(1e9 * one_s * batches), cpu_ratio=0.0, cost_ns=self.spend(one_s * (batches + 1), model))
        images = min(machine.images, request["images"])
        if images < machine.images:
            images = max(1, images // batch) * batch
        work = Work(self.neighbour, self.now)
        start_factor = math.exp(self.options.start_noise * dice.gauss(0, 1))
        parts = machine.run((batch, request["config"]["num_workers"]), model if request["measure"] == "joint" else None, images, work,
                            start_factor, dice)
        answer = {f"{name}_ns": round(1e9 * pace * s) for name, s in parts.items() if name != "end"}
        if not self.options.no_cpu:
            answer["cpu_ratio"] = work.used_s / parts["end"]
            if not self.options.no_idle:
                answer["cpu_idle_ratio"] = work.idle_s / parts["end"]
        return dict(status="ok", config=request["config"], images=images, batches=-(-images // batch),
                    end_to_end_ns=round(1e9 * pace * parts["end"]), cost_ns=self.spend(pace * parts["end"], model), **answer)

    def answer(self, request):
        if request["op"] == "hello":
            return self.hello()
        if request["op"] == "open":
            return dict(status="ok", images=self.machine.images)
        return dict(id=request["id"], **self.trial(request))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=["raw", "preprocessed"], default="raw")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--noise-seed", type=int)
    parser.add_argument("--neighbour", type=float, default=0)
    parser.add_argument("--start-noise", type=float, default=0.15)
    parser.add_argument("--no-cpu", action="store_true")
    parser.add_argument("--no-idle", action="store_true")
    parser.add_argument("--truth", action="store_true")
    options = parser.parse_args()
    machine = Machine(options.mode, options.seed)
    if options.truth:
        print(json.dumps(machine.truth()))
        return
    runner = Runner(machine, options)
    for line in sys.stdin:
        print(json.dumps(runner.answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
