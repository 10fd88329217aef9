#!/usr/bin/env python3
"""How good rue.tune's answers are on real loaders of this machine: studies beside an exhaustive grid of plain loops, without rue in them.

  build/peers/bin/python tests/bench/real.py --out FOLDER [PHOTOS] [--loaders torch,tensor,web,timm,rue] [--steps sleep,compute]
      [--batch-size 16,32,64,128] [--num-workers 0..4] [--repeats 3] [--budgets 10%,2m] [--studies 10] [--beside 0.25]
      [--time 8h] [--busy 0.1] [--cells] [--report]

A row is a loader with a kind of steps. Loaders (real_loaders.py): torch, DataLoader on ImageFolder with JPEG files; tensor, on a file of
tensors; web, WebLoader over shards; timm, create_loader; rue, rue.Loader. Steps sleep, or train small networks on the CPU.

Each round measures every cell of each row once, in random order: a plain loop makes the loader, iterates, and steps, for one epoch. Beside
a share of the loops (--beside), rue's runner makes a trial of the same cell, before or after it. After each round come its part of the
studies, so that grid and studies see the same hours. A budget in % is a share of the time that a round of the row takes.

Every measurement is appended to FOLDER/ROW/measurements.jsonl at once, and a study keeps its folder there. The same command continues;
--report only prints. A measurement during which other processes or guests use more than --busy of all CPUs is discarded, and made
again once the machine is quiet; after three times it is left to the next start. --busy 1 keeps all.

real_truth.py says how the truth is estimated: nothing is judged by single loops, or by minima of noisy cells. What is printed:
- excess: points of mean regret that the recommendation has more than the best configuration of the grid; its error: the standard error
  of that. held: bounds that held, less two standard errors; as measured: without them.
- against workers = CPUs, and torch's default: points that the recommendation has more than 32/CPUs and 32/0.
- predictions: estimate / plain loop - 1, in logarithms, of cells that the study did not measure, and of cells that it did: mean, then
  median and 95 % quantile of the absolute values. start: until the first batch; rest: after it; whole: both.
- trial / plain loop: mean log ratio (trimmed) and its standard error, of pairs side by side, and of whole jobs in studies against the cells.
- time: shares of a study. A probe or reference measures the loader or a step alone; what was measured before counts as reference.
--cells prints, or else FOLDER/ROW/cells.csv has: each cell with its standard error, and what studies predicted for it."""
import argparse
import collections
import csv
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
import time
import warnings

sys.dont_write_bytecode = True
from strategies import ROOT, quantile  # noqa: E402

sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("RUE_PROGRAM", str(ROOT / "build/release/rue"))
os.environ.setdefault("RUE_LOADER", str(pathlib.Path(os.environ["RUE_PROGRAM"]).with_name("_rue_loader.so")))
import busy  # noqa: E402
import real_loaders  # noqa: E402
import real_truth  # noqa: E402
import rue_tuner  # noqa: E402
from rue_tuner import machine, random_state  # noqa: E402
from rue_tuner.serve import Runner, quiet_about_workers  # noqa: E402
from rue_tuner.subjects import make_subject  # noqa: E402

TRIES, PATIENCE_S = 3, 60  # for a quiet machine
KINDS = ("start", "rest", "whole")


class TimeIsUp(Exception):
    pass


class Row:
    """A loader with a kind of steps, and what was measured of it."""

    def __init__(self, loader, kind, photos, options):
        self.loader, self.kind, self.photos, self.options = loader, kind, photos, options
        self.name, self.folder = f"{loader}-{kind}", options.out / f"{loader}-{kind}"
        self.file, self.records, self.runner = self.folder / "measurements.jsonl", [], None
        self.workers = [workers for workers in options.num_workers if loader != "web" or workers <= real_loaders.SHARDS]
        self.configs = list(itertools.product(options.batch_size, self.workers))
        self.models = list(real_loaders.make_steps(kind))
        self.images = None

    def open(self):
        """Reads what earlier starts measured; refuses that of another grid or machine."""
        self.folder.mkdir(parents=True, exist_ok=True)
        head = dict(kind="row", photos=str(self.photos), batch_size=self.options.batch_size, num_workers=self.workers,
                    machine=machine.machine_facts(), torch=real_loaders.torch.__version__)
        if not self.file.exists():
            self.append(**head)
        text = self.file.read_text()
        if not text.endswith("\n"):  # the disk was full, or the machine went down
            text = text[:text.rfind("\n") + 1]
            self.file.write_text(text)
        self.records = list(map(json.loads, text.splitlines()))
        if {**self.records[0], "at": 0} != json.loads(json.dumps({**head, "at": 0})):
            sys.exit(f"{self.file} is of another grid, other photos, PyTorch or machine: give another --out")

    def append(self, **record):
        with open(self.file, "a") as file:
            file.write(json.dumps(dict(record, at=round(time.time(), 1))) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def prepare(self):
        if self.runner is None:
            self.make = real_loaders.make_loader(self.loader, self.photos, self.folder / "data")
            self.steps = real_loaders.make_steps(self.kind)
            self.runner = Runner(make_subject(self.tuned(), self.space()), self.steps)
            self.runner.subject.examine()
            self.images = self.runner.subject.images
            self.plain_loop(32, 0, self.models[0])  # reads the data, so that the first cell does not

    def tuned(self):
        return real_loaders.tuned(self.loader, self.make)

    def space(self):
        return dict(batch_size=self.options.batch_size, num_workers=self.workers)

    def kept(self, kind):
        return [record for record in self.records if record["kind"] == kind and not record["spoiled"]]

    def measure(self, kind, key, function):
        """Calls `function`, which returns a dict, until nobody disturbs it, and keeps what it returns. `key` says which it is."""
        if any(all(record.get(name) == value for name, value in key.items()) for record in self.kept(kind)):
            return
        self.prepare()
        for _ in range(TRIES):
            if time.monotonic() > self.options.end:
                raise TimeIsUp
            before = busy.snapshot()
            found = function()
            shares = busy.disturbance(before)
            record = dict(kind=kind, **key, **found, **shares, spoiled=busy.is_disturbed(shares, self.options.busy))
            self.append(**record)
            self.records.append(record)
            if not record["spoiled"]:
                return
            busy.wait_until_quiet(self.options.busy, PATIENCE_S)

    def plain_loop(self, batch_size, workers, model):
        with quiet_about_workers():
            seconds, first_s, images = real_loaders.plain_loop(self.make, batch_size, workers, self.steps[model])
        assert images == self.images, f"{self.name} {batch_size}/{workers}: {images} images in place of {self.images}"
        return dict(seconds=round(seconds, 5), first_s=round(first_s, 5))

    def trial(self, batch_size, workers, model):
        """The same by rue's runner."""
        config = self.runner.subject.default_config(batch_size=batch_size, num_workers=workers)
        answer = self.runner.answer(json.dumps(dict(op="trial", id=1, measure="joint", model=model, config=config, images=self.images,
                                                    job_images=self.images)))
        if answer["status"] != "ok":
            raise RuntimeError(f"{self.name} {batch_size}/{workers} {model}: {answer['reason']}")
        return dict(seconds=answer["end_to_end_ns"] / 1e9, first_s=answer["first_batch_ns"] / 1e9)

    def run_round(self, number):
        dice = random.Random(f"{self.name} {number}")
        cells = list(itertools.product(self.models, self.configs))
        dice.shuffle(cells)
        beside = 0
        for model, config in cells:
            pair, key = [("loop", self.plain_loop)], dict(round=number, model=model, config=list(config))
            if dice.random() < self.options.beside:
                pair.append(("trial", self.trial))
                beside += 1
            for kind, function in pair[::1 if beside % 2 else -1]:  # as often first as second
                self.measure(kind, key, lambda: function(*config, model))

    def round_s(self):
        """Mean time of a round."""
        cells = collections.defaultdict(list)
        for record in self.kept("loop"):
            cells[record["model"], *record["config"]].append(record["seconds"])
        return sum(map(statistics.mean, cells.values()))

    def study_folder(self, budget, number):
        return self.folder / f"study-{budget.replace('%', '-percent')}-{number}"

    def study(self, budget, number):
        """The study lies in its folder. A share becomes seconds by the loops so far."""
        folder = self.study_folder(budget, number)
        shutil.rmtree(folder, ignore_errors=True)
        seconds = f"{float(budget[:-1]) / 100 * self.round_s():.1f}s" if budget.endswith("%") else budget
        begin = time.monotonic()
        answer, failure = None, None
        try:
            result = rue_tuner.tune(self.tuned(), self.steps, budget=seconds, space=self.space(), out=folder, quiet=True, seed=number + 1)
            if result.interrupted:
                raise KeyboardInterrupt
            answer = [result.config["batch_size"], result.config["num_workers"]]
        except rue_tuner.TuneError as error:
            failure = str(error)
        return dict(seconds=time.monotonic() - begin, given=seconds, answer=answer, failure=failure)

    def run_studies(self, number):
        """The part of the studies that belongs to a round."""
        for budget in self.options.budgets:
            for study in range(number, self.options.studies, self.options.repeats):
                self.measure("study", dict(budget=budget, number=study), lambda: self.study(budget, study))


# ---- what is found ----

def describe(values, unit=100):
    """Mean, then median and 95 % quantile of the absolute values, in percent."""
    if not values:
        return "-"
    sizes = [abs(value) for value in values]
    return f"{unit * statistics.mean(values):+.1f}, {unit * statistics.median(sizes):.1f}, {unit * quantile(sizes, 0.95):.1f}"


def mean_and_error(values):
    """The mean without the lowest and highest fifth, in percent, and its standard error (Yuen): a neighbour disturbs a few much."""
    cut = len(values) // 5
    if len(values) - 2 * cut < 2:
        return "-"
    values = sorted(values)
    inner = values[cut:len(values) - cut]
    clipped = [min(max(value, inner[0]), inner[-1]) for value in values]
    error = statistics.stdev(clipped) * math.sqrt((len(values) - 1) / len(inner) / (len(inner) - 1))
    return f"{100 * statistics.mean(inner):+.1f} ± {100 * error:.1f} %"


def parts(seconds, first_s):
    return dict(start=first_s, rest=seconds - first_s, whole=seconds)


class Found:
    """What a row's measurements say."""

    def __init__(self, row):
        self.row, loops = row, row.kept("loop")
        keys = [(record["model"], tuple(record["config"]), record["round"]) for record in loops]
        self.truths = {kind: real_truth.Truth([(*key, parts(loop["seconds"], loop["first_s"])[kind]) for key, loop in zip(keys, loops)])
                       for kind in KINDS}
        self.truth = self.truths["whole"]
        self.loops = dict(zip(keys, loops))
        self.off = {tried: {kind: collections.defaultdict(list) for kind in KINDS} for tried in (False, True)}
        self.in_studies, self.answers = {kind: [] for kind in KINDS}, collections.defaultdict(list)
        self.times = collections.defaultdict(collections.Counter)
        for record in row.kept("study"):
            self.add_study(record)

    def add_study(self, record):
        folder = self.row.study_folder(record["budget"], record["number"])
        if record["answer"] is None:
            self.answers[record["budget"]].append((None, None))
            return
        best = json.loads((folder / "recommendation.json").read_text())["recommendations"][0]
        self.answers[record["budget"]].append((tuple(record["answer"]), best["certificate"]))
        for entry in best["configs"]:
            config = entry["config"]["batch_size"], entry["config"]["num_workers"]
            for model, cell in entry["cells"].items():
                whole_ns, first_ns = entry["end_to_end_ns"].get(model), (entry["first_batch_ns"] or {}).get(model)
                if whole_ns and first_ns and (model, config) in self.truth.log:
                    tried = bool(cell.get("trials") or cell.get("times_ns"))
                    for kind, ns in parts(whole_ns, first_ns).items():
                        self.off[tried][kind][model, config].append(math.log(ns / 1e9) - self.truths[kind].log[model, config])
        with open(folder / "trials.csv", newline="") as file:
            self.add_trials(record, [trial for trial in csv.DictReader(file) if trial["status"] == "ok"])

    def add_trials(self, record, trials):
        times, seen = self.times[record["budget"]], set()
        for trial in trials:
            config, images = (int(trial["batch_size"]), int(trial["num_workers"])), trial["requested_images"]
            is_whole, key = images == trial["job_images"], (trial["measure"], trial["model"], config)
            kind = {"load": "load probes", "compute": "step probes", "joint": "whole jobs" if is_whole else "short trials"}[trial["measure"]]
            times["references" if key in seen and trial["measure"] != "joint" else kind] += int(trial["cost_ns"]) / 1e9
            seen.add(key)
            cell = trial["model"], config
            if trial["measure"] == "joint" and cell in self.truth.log:
                for kind, ns in parts(int(trial["end_to_end_ns"]), int(trial["first_batch_ns"])).items():
                    if is_whole or kind == "start":
                        self.in_studies[kind].append(math.log(ns / 1e9) - self.truths[kind].log[cell])
        times["outside of trials"] += record["seconds"] - sum(int(trial["cost_ns"]) for trial in trials) / 1e9

    def pairs(self, kind):
        """Log ratios of trials to the plain loops beside them."""
        ratios = []
        for trial in self.row.kept("trial"):
            loop = self.loops.get((trial["model"], tuple(trial["config"]), trial["round"]))
            if loop:
                ratios.append(math.log(parts(trial["seconds"], trial["first_s"])[kind] / parts(loop["seconds"], loop["first_s"])[kind]))
        return ratios


def name_of(config):
    return f"{config[0]}/{config[1]}"


def print_grid(found):
    row, truth, loops = found.row, found.truth, found.row.kept("loop")
    spoiled = sum(record.get("spoiled", False) for record in row.records)
    noise = ", ".join(f"{model} {100 * truth.noise[model]:.1f}" for model in truth.models)
    print(f"\n{row.name}: {len(truth.configs)} configurations x {len(truth.models)} models; {len(loops)} loops in "
          f"{len({loop['round'] for loop in loops})} rounds of {row.round_s():.0f} s; {spoiled} measurements discarded; others used "
          f"{100 * statistics.mean(loop['others'] + loop['steal'] for loop in loops):.0f} % of the CPUs")
    print(f"  noise of a loop, %: {noise}; standard error of a cell: {100 * statistics.mean(truth.error.values()):.1f} %"
          + (" (nan: needs a second round)" if math.isnan(sum(truth.noise.values())) else ""))
    print("  mean regret, points: " + ", ".join(f"{name_of(config)} {100 * truth.regret[config]:.1f}" + (
        "" if config == truth.ranked[0] else " ({:+.1f} ± {:.1f})".format(*truth.excess(config))) for config in truth.ranked[:6]))
    for title, config in others(found).items():
        if config in truth.regret:
            print("  {}, {}: {:+.1f} ± {:.1f} points above the best".format(title, name_of(config), *truth.excess(config)))


def others(found):
    cpus = machine.usable_cpus()
    return {"workers = CPUs": (32, cpus), "torch's default": (32, 0)}


def print_answers(found, budget):
    truth, given = found.truth, found.answers[budget]
    if not given:
        return
    nothing, given = sum(config is None for config, _ in given), [one for one in given if one[0]]
    print(f"  {budget}: {len(given)} answers" + (f", {nothing} studies without one" if nothing else ""))
    if not given:
        return
    excess = [truth.excess(config) for config, _ in given]
    bounds = [(points, error, 100 * claim["bound_ratio"]) for (points, error), (_, claim) in zip(excess, given) if claim]
    points, errors = [e for e, _ in excess], [error for _, error in excess]
    names = collections.Counter(name_of(config) for config, _ in given).most_common(4)
    middle = statistics.median([bound for *_, bound in bounds] or [math.nan])
    print(f"    excess median {statistics.median(points):.1f}, p90 {quantile(points, 0.9):.1f}, its error "
          f"{statistics.mean(errors):.1f}; bound median {middle:.1f}, largest {max([b for *_, b in bounds] or [math.nan]):.1f}, held "
          f"{sum(e - 2 * error <= b for e, error, b in bounds)}, as measured {sum(e <= b for e, _, b in bounds)} of {len(bounds)}; "
          + ", ".join(f"{name} x {count}" for name, count in names))
    for title, config in others(found).items():
        if config in truth.regret:
            differences = [truth.difference(answer, config)[0] for answer, _ in given]
            print(f"    against {title}: median {statistics.median(differences):+.1f}, worst {max(differences):+.1f} points")
    total = sum(found.times[budget].values())
    print("    time: " + ", ".join(f"{kind} {100 * s / total:.0f} %" for kind, s in found.times[budget].most_common()))


def print_row(row):
    found = Found(row)
    print_grid(found)
    for budget in row.options.budgets:
        print_answers(found, budget)
    for tried, title in ((False, "not tried"), (True, "tried")) if row.kept("study") else ():
        off = {kind: [value for values in found.off[tried][kind].values() for value in values] for kind in KINDS}
        print(f"  predictions, % ({title}, {len(off['whole'])}): " + "; ".join(f"{kind} {describe(off[kind])}" for kind in KINDS))
    for title, ratios in ((f"{len(found.pairs('whole'))} pairs", {kind: found.pairs(kind) for kind in KINDS}),
                          (f"{len(found.in_studies['whole'])} whole jobs of studies", found.in_studies)):
        if ratios["start"]:
            print(f"  trial / plain loop, {title}: " + "; ".join(f"{kind} {mean_and_error(ratios[kind])}" for kind in KINDS), flush=True)
    write_cells(found)


def write_cells(found):
    """A line for each cell: seconds, its standard error, and by how much estimates are off, of studies without and with a trial of it."""
    header = ["model", "batch_size", "num_workers", "loops", "seconds", "error_percent", "mean_seconds", "first_s", "off_start_percent",
              "off_rest_percent", "off_whole_percent", "predicted", "off_tried_percent", "tried"]
    table = []
    for model, config in sorted(found.truth.log):
        predicted, tried = ([found.off[was][kind][model, config] for kind in KINDS] for was in (False, True))
        percents = [f"{100 * statistics.mean(values):.1f}" if values else "" for values in (*predicted, tried[2])]
        table.append([model, *config, found.truth.count[model, config], f"{found.truth.seconds(model, config):.3f}",
                      f"{100 * found.truth.error[model, config]:.1f}", f"{math.exp(found.truth.raw[model, config]):.3f}",
                      f"{found.truths['start'].seconds(model, config):.3f}", *percents[:3], len(predicted[2]), percents[3], len(tried[2])])
    with open(found.row.folder / "cells.csv", "w", newline="") as file:
        csv.writer(file).writerows([header, *table])
    if found.row.options.cells:
        for line in [header, *table]:
            print("  " + "\t".join(map(str, line)))


# ---- the command ----

def numbers(text):
    """0,2,4 or 0..4, or both."""
    ranges = [part.partition("..") for part in text.split(",")]
    return [value for first, _, last in ranges for value in range(int(first), int(last or first) + 1)]


def seconds(text):
    return float(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", nargs="?", type=pathlib.Path, help="folder of classes with JPEG files [640 synthetic ones in --out]")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder of the results, which the same command continues")
    parser.add_argument("--loaders", type=lambda text: text.split(","), default=list(real_loaders.LOADERS), help="[all]")
    parser.add_argument("--steps", type=lambda text: text.split(","), default=["sleep", "compute"], help="[sleep,compute]")
    parser.add_argument("--batch-size", type=numbers, default=[16, 32, 64, 128], help="[16,32,64,128]")
    parser.add_argument("--num-workers", type=numbers, default=[0, 1, 2, 3, 4], help="[0..4]")
    parser.add_argument("--repeats", type=int, default=3, help="rounds of the grid [3]")
    parser.add_argument("--budgets", type=lambda text: text.split(","), default=["10%", "2m"], help="of the studies [10%%,2m]")
    parser.add_argument("--studies", type=int, default=10, help="of each row and budget [10]")
    parser.add_argument("--beside", type=float, default=0.25, help="share of the loops with a trial beside them [0.25]")
    parser.add_argument("--time", type=seconds, default=8 * 3600, help="end after this time; the last measurement is finished [8h]")
    parser.add_argument("--busy", type=float, default=0.1, help="share of all CPUs that others may use during a measurement [0.1]")
    parser.add_argument("--cells", action="store_true", help="print each cell")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    options = parser.parse_args()
    options.end = time.monotonic() + options.time
    return options


def main():
    options = parse()
    warnings.filterwarnings("ignore", "Palette images|Truncated File Read|.*is not a subclass")
    photos = options.photos or options.out / "photos"
    if not photos.exists():
        subprocess.run([os.environ["RUE_PROGRAM"], "prepare", "--quiet", "--synthetic", "640", photos], check=True)
    rows = [Row(loader, kind, photos.resolve(), options) for loader in options.loaders for kind in options.steps]
    for row in rows:
        row.open()
    try:
        for number in range(0 if options.report else options.repeats):
            for row in rows:
                with random_state.kept():
                    row.run_round(number)
                    row.run_studies(number)
    except TimeIsUp:
        print("The time is up; the same command continues.")
    except KeyboardInterrupt:
        print("Interrupted; the same command continues.")
    for row in rows:
        if row.kept("loop"):
            print_row(row)


if __name__ == "__main__":
    main()
