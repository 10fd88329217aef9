#!/usr/bin/env python3
"""How good rue_tuner's answers are on pipelines of other people: torchvision's ImageFolder with RandomResizedCrop, WebLoader over 4
shards, timm's create_loader. A plain loop outside rue measures a grid of configurations, whole jobs, --repeats times each; then rue gets a
share of the time that one pass of the grid took.

    build/peers/bin/python tests/bench/python_regret.py photos/ [--pipelines torchvision,webdataset,timm]

Prints for each pipeline: regret of rue's answer, of torch's default (no workers), of workers = CPUs, and of 4 workers, against the best of
the grid; whether rue's bound held; the median error of its predictions; and the measured times of both for the winner. Before that: rue's trial beside the plain
loop, with fork and spawn; and persistent_workers for 50 short epochs."""
import argparse
import itertools
import os
import pathlib
import statistics
import sys
import tempfile
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("RUE_PROGRAM", str(ROOT / "build/release/rue"))
import rue_tuner as rue  # noqa: E402
import torch  # noqa: E402
from rue_tuner.consumers import Sleep  # noqa: E402
from rue_tuner.subjects import make_subject  # noqa: E402
from rue_tuner.trial import Trial  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402
from torchvision import datasets, transforms  # noqa: E402

BATCH_SIZES, WORKERS = [16, 32, 64, 128], [0, 1, 2, 3, 4]
MODELS = {"fast": 0.0005, "slow": 0.006}  # seconds that a step takes for an image


def torchvision_factory(photos, shards):
    transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor()])
    data = datasets.ImageFolder(photos, transform)
    return lambda batch_size, num_workers: DataLoader(data, batch_size=batch_size, num_workers=num_workers, shuffle=True)


def webdataset_factory(photos, shards):
    import webdataset as wds
    data = datasets.ImageFolder(photos)
    transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])
    with wds.ShardWriter(f"{shards}/shard-%02d.tar", maxcount=-(-len(data) // 4), verbose=0) as writer:
        for i, (path, label) in enumerate(data.samples):
            writer.write({"__key__": f"{i:06}", "jpg": pathlib.Path(path).read_bytes(), "cls": label})

    def make_loader(batch_size, num_workers):
        dataset = (wds.WebDataset(f"{shards}/shard-{{00..03}}.tar", shardshuffle=False).shuffle(100).decode("pil").to_tuple("jpg", "cls")
                   .map_tuple(transform, lambda label: label).batched(batch_size))
        return wds.WebLoader(dataset, batch_size=None, num_workers=num_workers)
    return make_loader


def timm_factory(photos, shards):
    from timm.data import create_dataset, create_loader
    data = create_dataset("", root=photos, split="train")
    return lambda batch_size, num_workers: create_loader(data, input_size=(3, 224, 224), batch_size=batch_size, is_training=True,
                                                         num_workers=num_workers, persistent_workers=False, use_prefetcher=False)


def make_step(seconds):
    return lambda batch: time.sleep(seconds * len(batch[0]))


def plain_loop(loader, step):
    """Seconds of an epoch, from before its iterator is made until its workers are gone."""
    start = time.perf_counter()
    iterator = iter(loader)
    for batch in iterator:
        step(batch)
    del iterator, batch, loader
    return time.perf_counter() - start


def regret(times, config):
    """Mean over the models of the extra time against each one's own best."""
    return statistics.mean(times[model, config] / min(t for (m, _), t in times.items() if m == model) - 1 for model in MODELS)


def measure_grid(make_loader, repeats):
    cells = list(itertools.product(MODELS, itertools.product(BATCH_SIZES, WORKERS)))
    runs, begin = {cell: [] for cell in cells}, time.perf_counter()
    for repeat in range(repeats):
        for model, config in cells[::1 if repeat % 2 else -1]:
            runs[model, config].append(plain_loop(make_loader(*config), make_step(MODELS[model])))
    return {cell: statistics.median(times) for cell, times in runs.items()}, (time.perf_counter() - begin) / repeats


def percent(ratio):
    return "unknown" if ratio is None else f"{100 * ratio:5.1f} %"


def report(name, make_loader, options):
    times, grid_s = measure_grid(make_loader, options.repeats)
    budget_s = options.share * grid_s
    steps = {model: make_step(seconds) for model, seconds in MODELS.items()}
    result = rue.tune(make_loader, steps, budget=f"{budget_s:.0f}s", space=dict(batch_size=BATCH_SIZES, num_workers=WORKERS), quiet=True)
    chosen = (result.config["batch_size"], result.config["num_workers"])
    best = min(regret(times, config) for config in itertools.product(BATCH_SIZES, WORKERS))
    excess = regret(times, chosen) - best
    others = {"torch's default 32/0": (32, 0), "workers = CPUs": (32, min(4, os.cpu_count())), "4 per GPU": (32, 4)}
    print(f"{name}: grid of {len(BATCH_SIZES) * len(WORKERS)} configurations x {len(MODELS)} models: {grid_s:.0f} s; rue got {budget_s:.0f} s")
    print(f"  rue {chosen[0]}/{chosen[1]}: mean regret {percent(regret(times, chosen))}, {percent(excess)} above the best")
    for title, config in others.items():
        print(f"  {title}: {percent(regret(times, config))}")
    print(f"  bound {percent(result.bound)}: {'held' if result.bound is not None and excess <= result.bound + options.noise else 'FAILED'}")
    cells = {(row["batch_size"], row["num_workers"]): row["mean_regret"] for row in result.rows}
    errors = [abs(cells[config] - regret(times, config)) for config in cells if config in itertools.product(BATCH_SIZES, WORKERS)]
    print(f"  predicted mean regret: median error {100 * statistics.median(errors):.1f} points over {len(errors)} configurations")
    own = {entry["model"]: entry for entry in result.best["best_by_model"]}
    for model, entry in own.items():
        config = (entry["config"]["batch_size"], entry["config"]["num_workers"])
        print(f"  {model} {config[0]}/{config[1]}: rue's time / plain loop's {entry['end_to_end_ns'] / 1e9 / times[model, config]:.3f}")


def compare_loops(photos, repeats):
    """A trial of rue beside the plain loop, with fork and spawn: medians of pairs."""
    data = torchvision_factory(photos, None)(32, 0).dataset
    for method in ("fork", "spawn"):
        loader = DataLoader(data, batch_size=32, num_workers=2, shuffle=True, multiprocessing_context=method)
        subject = make_subject(loader)
        subject.examine()
        ratios = []
        for _ in range(repeats):
            plain_s = plain_loop(subject.make(subject.default_config(num_workers=2), len(data)), lambda batch: None)
            trial = Trial(Sleep(), subject.count, len(data))
            trial.run(subject.load(subject.default_config(num_workers=2), len(data)).loader)
            ratios.append(trial.elapsed_ns() / 1e9 / plain_s)
        print(f"{method}: time of rue's trial / plain loop {statistics.median(ratios):.3f} (median of {repeats})")


def short_epochs(budget):
    """persistent_workers for 50 epochs of 64 small images."""
    data = torch.utils.data.TensorDataset(torch.zeros(64, 3, 8, 8), torch.zeros(64))
    result = rue.tune(DataLoader(data, batch_size=16), {"mine": make_step(0.0005)}, epochs=50, budget=budget, space=dict(num_workers=[1, 2]), quiet=True)
    print(f"50 epochs of 64 images: rue chose {result.dataloader_kwargs}; bound {percent(result.bound)}")
    for persistent in (False, True):
        loader, start = DataLoader(data, batch_size=16, num_workers=1, persistent_workers=persistent), time.perf_counter()
        for _ in range(50):
            for batch in loader:
                time.sleep(0.0005 * len(batch[0]))
        del loader
        print(f"  plain loop, 1 worker, persistent_workers={persistent}: {time.perf_counter() - start:.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos")
    parser.add_argument("--pipelines", default="torchvision,webdataset,timm")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--share", type=float, default=0.1, help="of the grid's time, for rue [0.1]")
    parser.add_argument("--noise", type=float, default=0.02, help="of the plain loop's regrets [0.02]")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", "This DataLoader will create")
    factories = dict(torchvision=torchvision_factory, webdataset=webdataset_factory, timm=timm_factory)
    compare_loops(options.photos, 2 * options.repeats + 1)
    short_epochs("30s")
    for name in filter(None, options.pipelines.split(",")):
        with tempfile.TemporaryDirectory() as shards:
            report(name, factories[name](options.photos, shards), options)


if __name__ == "__main__":
    main()
