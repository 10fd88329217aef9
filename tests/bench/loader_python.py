#!/usr/bin/python3
"""Loader of rue_tuner beside the same loader in C, beside other loaders, and in a training loop: ratios of one run.

  tests/bench/loader_python.py PHOTOS [--tensors FILE,...] [--only NAME,...] [--repeats N] [--program build/bench/rue]

Sides run in turn, each in processes that stand still while the others run; the medians count. Run it with a Python that has the peers:

  python3 -m venv build/peers; build/peers/bin/pip install torch torchvision nvidia-dali-cuda120 spdl simplejpeg opencv-python-headless

A peer that is not installed has a row that says so; SPDL needs the shared libraries of FFmpeg. Fields have tabs between them, as run.py reads them.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from side_by_side import Side, absent, compare, compare_best, processes, row

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
SIDES = pathlib.Path(__file__).with_name("loader_sides.py")


def pss_mb(root, kind="Pss"):
    """Memory of a process and its descendants; pages that several share count once."""
    total = 0
    for pid in processes(root):
        try:
            lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith(f"{kind}:"))
    return total / 1024


def python_side(name, data, batch_size, workers, *dtype):
    return Side(batch_size, workers, sys.executable, SIDES, name, data, batch_size, workers, *dtype)


# ---- the loop in Python beside the loop in C ----

def loop(options):
    program = options.program.parent / "tests/bench_loader_stream"
    for data in [options.photos, *options.tensors]:
        for dtype in ("float32", "uint8") if data.is_dir() else (data.stem,):
            for batch_size in (32, 256) if data.is_dir() else (1, 32, 256):
                for workers in (0, 2):
                    put_loop(options, program, data, dtype, batch_size, workers)


def put_loop(options, program, data, dtype, batch_size, workers):
    """Medians over pairs of processes: two of the same program differ by up to 7 %, for as long as they live, by where their memory lies."""
    images, runs = (1 if data.is_dir() else 10 if batch_size > 1 else 5) * 1024, {"python": [], "C": []}
    for _ in range(options.repeats):
        sides = dict(python=python_side("rue", data, batch_size, workers, dtype), C=Side(batch_size, workers, program, data, batch_size, workers, dtype))
        for name, (rate, _) in compare(sides, 2, images).items():
            runs[name].append(rate)
    what = f"Python loop, {'raw' if data.is_dir() else 'tensors'}, {dtype}, batch_size {batch_size}, num_workers {workers}"
    python, c = (statistics.median(runs[name]) for name in ("python", "C"))
    row(what, "images/s", python, "loop in C", c, ">= 0.97" if batch_size > 1 else ">= 0.8")


# ---- other loaders ----

GOALS = {"PyTorch's DataLoader": ">= 4", "DALI": ">= 2.7", "SPDL": ">= 3", "simplejpeg + OpenCV": ">= 1.4"}


def peers(options):
    cpus, batch_size = len(os.sched_getaffinity(0)), 64
    candidates = {name: [cpus, cpus + 1, 2 * cpus] for name in ["rue", *GOALS]}
    medians, best, absences = compare_best(lambda name, workers: python_side(name, options.photos, batch_size, workers), candidates, options.repeats, 1024)
    for name, goal in GOALS.items():
        what = f"Loader, raw, batch_size {batch_size}, num_workers {best['rue']}"
        if name in absences:
            absent(what, "images/s", name, absences[name])
            continue
        peer = f"{name}, {best[name]} workers"
        row(what, "images/s", medians["rue"][0], peer, medians[name][0], goal)
        row("its CPU time an image", "ms", medians["rue"][1], peer, medians[name][1])


# ---- the beginning, the pause, memory ----

def start(options):
    from rue_tuner import Loader
    for batch_size in (32, 128):
        for workers in (1, 2):
            knobs = dict(batch_size=batch_size, num_workers=workers, shuffle=True)
            runs = []
            for _ in range(options.repeats):
                one = batch_ms(Loader(options.photos, **{**knobs, "num_workers": 1}))
                runs.append((one, first_ms(options.photos, knobs), pause_ms(options.photos, knobs, one / 1e3)))
            one, first, pause = map(statistics.median, zip(*runs))
            text = f"batch_size {batch_size}, num_workers {workers}"
            row(f"Loader, construction and first batch, {text}", "ms", first, "one worker's time for a batch", one, "<= 1.3")
            row(f"Loader, pause between epochs, {text}", "ms", pause, "one worker's time for a batch", one, "<= 1")


def batch_ms(loader, skip=3, count=6):
    """What one worker needs for a batch: the consumer takes no time."""
    iterator = iter(loader)
    for _ in range(skip):
        next(iterator)
    begin = time.perf_counter()
    for _ in range(count):
        next(iterator)
    elapsed = time.perf_counter() - begin
    loader.close()
    return 1e3 * elapsed / count


def first_ms(data, knobs):
    from rue_tuner import Loader
    begin = time.perf_counter()
    loader = Loader(data, **knobs)
    next(iter(loader))
    elapsed = time.perf_counter() - begin
    loader.close()
    return 1e3 * elapsed


def pause_ms(data, knobs, step_s):
    """The wait for the first batch of the second epoch, by a consumer that needs `step_s` for a batch."""
    from rue_tuner import Loader
    ranks = max(len(Loader(data, **knobs)) // 6, 1)  # short epochs
    loader = Loader(data, **knobs, rank=0, world_size=ranks)
    for _ in loader:
        time.sleep(step_s)
    begin = time.perf_counter()
    next(iter(loader))
    elapsed = time.perf_counter() - begin
    loader.close()
    return 1e3 * elapsed


def memory(options):
    for workers in (2, 4):
        peaks = {}
        for name in ("rue", "PyTorch's DataLoader"):
            side = python_side(name, options.photos, 64, workers)
            try:
                peaks[name] = peak_mb(side)
            except RuntimeError as error:
                absent("peak memory (PSS)", "MB", name, str(error))
            finally:
                side.close()
        if len(peaks) == 2:
            row(f"peak memory (PSS), raw, batch_size 64, num_workers {workers}", "MB", peaks["rue"], "PyTorch's DataLoader", peaks["PyTorch's DataLoader"],
                "<= 0.45")


def peak_mb(side, batches=30):
    side.ask(0, 1)
    side.seconds()
    side.ask(0, batches)
    peak, done = 0.0, False
    os.set_blocking(side.process.stdout.fileno(), False)
    while not done:
        peak = max(peak, pss_mb(side.process.pid))
        time.sleep(0.05)
        done = bool(side.process.stdout.readline()) or side.process.poll() is not None
    return peak


def growth(options):
    """Memory, threads and descriptors after 1,000 epochs beside those after 100."""
    from rue_tuner import Loader
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder, "photos.tensor")
        photos = pathlib.Path(folder, "photos")
        settings = {name: value for name, value in os.environ.items() if name != "RUE_LOADER"}  # of which rue warns
        subprocess.run([options.program, "prepare", "--synthetic", "16", photos, "--quiet"], check=True, env=settings)
        subprocess.run([options.program, "prepare", photos, data, "--dtype", "uint8", "--quiet"], check=True, env=settings)
        for name, path in (("photos", photos), ("tensors", data)):
            loader, seen = Loader(path, batch_size=4, num_workers=2), {}
            for epoch in range(1000):
                for i, batch in enumerate(loader):
                    if epoch % 3 == 0 and i == 2:
                        break
                del batch
                if epoch in (99, 999):
                    seen[epoch] = own_state()
            loader.close()
            for i, (what, unit) in enumerate((("anonymous memory", "MB"), ("threads", "threads"), ("descriptors", "descriptors"))):
                row(f"{what} after 1,000 epochs of {name}", unit, seen[999][i], "after 100", seen[99][i], "<= 1.02" if i == 0 else "<= 1")


def own_state():
    return pss_mb(os.getpid(), "Pss_Anon"), len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))


# ---- a training loop ----

def training(options):
    """One worker and one step at a time, so each has a CPU; the step takes about as long as a batch. What the two CPUs take from each other
    shows where the same steps, on a batch that stays, run beside another process that loads."""
    import torch
    torch.set_num_threads(1)
    from rue_tuner import Loader
    loader = Loader(options.photos, batch_size=32, num_workers=1, shuffle=True, drop_last=True)
    step = make_step(torch, batch_ms(loader.with_()) / 1e3)
    resident = next(iter(loader.with_()))
    runs = []
    for _ in range(options.repeats):
        alone = timed(lambda: [step(*resident) for _ in range(20)]) / 20
        loading = batch_ms(loader.with_(), 3, 20) / 1e3
        iterator = iter(loader)
        for _ in range(3):
            step(*next(iterator))
        together = timed(lambda: [step(*next(iterator)) for _ in range(20)]) / 20
        iterator = None
        beside = python_side("rue", options.photos, 32, 1)
        beside.warm_up()
        beside.ask(0, 10 ** 6)
        apart = timed(lambda: [step(*resident) for _ in range(20)]) / 20
        beside.close()
        runs.append((alone, loading, together, max(alone, loading) / together, apart))
    alone, loading, together, share, apart = map(statistics.median, zip(*runs))
    row("training on the CPU, raw, batch_size 32, num_workers 1", "images/s", 32 / together, "the slower of steps alone and Loader alone",
        32 / together / share, ">= 0.95")
    row("training on the CPU, raw, batch_size 32, num_workers 1", "images/s", 32 / together, "steps beside a process that loads", 32 / apart)


def timed(function):
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def make_step(torch, seconds):
    """A training step of a small network that takes about so long, on one CPU."""
    weights = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 7, 4), torch.nn.ReLU(), torch.nn.Conv2d(8, 16, 3, 2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1),
                                  torch.nn.Flatten(), torch.nn.Linear(16, 1000))
    optimizer = torch.optim.SGD(weights.parameters(), 0.01)

    def once(images, labels):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(weights(images), labels).backward()
        optimizer.step()
    images, labels = torch.zeros(32, 3, 224, 224), torch.zeros(32, dtype=torch.int64)
    once(images, labels)
    times = max(round(seconds / statistics.median(timed(lambda: once(images, labels)) for _ in range(5))), 1)
    return lambda images, labels: [once(images, labels) for _ in range(times)]


# ---- import ----

def importing(options):
    for code in ("import rue_tuner", "from rue_tuner import Loader"):
        program = f"import time; begin = time.perf_counter(); {code}; print(1e3 * (time.perf_counter() - begin))"
        runs = [float(subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
                      .stdout) for _ in range(3 * options.repeats)]
        row(code, "ms", statistics.median(runs), "limit", 60, "<= 1")


PARTS = dict(loop=loop, peers=peers, start=start, memory=memory, growth=growth, training=training, importing=importing)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=pathlib.Path, help="a folder of JPEG files")
    parser.add_argument("--tensors", default="", help="tensor files, float32.tensor and uint8.tensor [none]")
    parser.add_argument("--only", default=",".join(PARTS), help=", ".join(PARTS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/bench/rue")
    options = parser.parse_args()
    options.tensors = [pathlib.Path(path) for path in options.tensors.split(",") if path]
    os.environ.update(PYTHONPATH=str(ROOT / "python"), RUE_LOADER=str(options.program.parent / "_rue_loader.so"))
    for name in options.only.split(","):
        print(f"{name} ...", file=sys.stderr)
        PARTS[name](options)


if __name__ == "__main__":
    main()
