#!/usr/bin/python3
"""How fast each format is written and loaded from, beside the plainest of its kind: a folder of JPEG files, a tensor file.

  tests/bench/formats.py PHOTOS [--images N] [--repeats R] [--only folder,lmdb] [--program build/release/rue]

Has `rue prepare` make every variant of PHOTOS in a folder of its own below TMPDIR (some 4 MB a photograph, removed in the
end), once, from memory. Then rue's loader loads from each of them in turn, shuffled and in the data's own order, R rounds of
it after one that does not count: data in memory, nothing that consumes the batches, so that what is slow is the format (and,
of raw data, decoding). A trial loads N images, of preprocessed data ten times as many. Rates are medians of the rounds. The
ratio is that to `folder`, or to `tensor` of the same dtype, in the same round: median, least and greatest. "in order" is the
rate without shuffling over the rate with it, likewise.
"""
import argparse
import collections
import contextlib
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from loader_against_torch import Runner  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Format(collections.namedtuple("Format", "kind format")):
    """What is made; `kind` is raw, or the dtype of preprocessed data."""

    @property
    def name(self):
        return " ".join(self)


RAW = [Format("raw", "folder"), Format("raw", "webdataset"), Format("raw", "tfrecord"),
       Format("raw", "lmdb")]
PREPROCESSED = [Format(dtype, format) for dtype in ("float32", "uint8") for format in ("tensor", "zarr", "webdataset", "tfrecord", "lmdb")]
PLAINEST = {"raw": "folder", "float32": "tensor", "uint8": "tensor"}
ORDERS = {"shuffled": True, "in order": False}
PREPROCESSED_IMAGES = 10  # decoded images come so many times faster: trials should not be too short to time
HEADER = ["variant", "bytes", "built, images/s", "loaded, images/s", "ratio", "its range", "in order", "its range"]


class Variant:
    """One format of the photographs, made, and a runner that loads from it."""

    def __init__(self, program, what, photos, folder):
        self.what, self.rates = what, {order: [] for order in ORDERS}
        self.path, mode = folder / what.name.replace(" ", "-"), "raw" if what.kind == "raw" else "preprocessed"
        words = ["--format", what.format, "--mode", mode]
        words += [] if what.kind == "raw" else ["--dtype", what.kind]
        begin = time.monotonic()
        subprocess.run([program, "prepare", photos, self.path, *words, "--quiet"], check=True)
        self.build_s = time.monotonic() - begin
        files = [self.path] if self.path.is_file() else [path for path in self.path.rglob("*") if path.is_file()]
        self.bytes = sum(path.stat().st_size for path in files)
        self.variant = dict(path=str(self.path), mode=mode, format=what.format)
        self.runner = Runner(what.name, [program, "runner"])

    def open(self):
        """The photographs that it holds, all of which are in memory then."""
        opened = self.runner.ask(op="open", variant=self.variant, workload=dict(cache="warm"))
        if opened["cache"] != "warm":
            raise SystemExit(f"{self.path}: not all of it stays in memory: {opened.get('cache_reason', 'no reason is told')}")
        self.images = opened["images"]

    def load(self, options, order):
        images = options.images * (1 if self.what.kind == "raw" else PREPROCESSED_IMAGES)
        config = dict(batch_size=options.batch_size, num_workers=options.num_workers, prefetch_factor=2, parallelism="batch")
        workload = dict(shuffle=ORDERS[order], seed=1 + len(self.rates[order]), cache="warm")
        reply = self.runner.ask(op="trial", id=1, measure="load", variant=self.variant, config=config, images=images,
                                job_images=images, workload=workload)
        if reply.get("cache_missed"):
            print(f"{self.what.name}: a trial was not warm", file=sys.stderr)
        self.rates[order].append(1e9 * reply["images"] / reply["end_to_end_ns"])

    def close(self):
        self.runner.process.stdin.close()
        self.runner.process.stdout.close()
        self.runner.process.wait()


def ratios(rates, others):
    """Median, and least to greatest, of the ratios of each round."""
    found = [rate / other for rate, other in zip(rates, others)]
    return [f"{statistics.median(found):.2f}", f"{min(found):.2f} to {max(found):.2f}"]


def row(variant, plainest):
    shuffled, in_order = variant.rates["shuffled"], variant.rates["in order"]
    compared = ratios(shuffled, plainest.rates["shuffled"]) if plainest else ["", ""]
    return [variant.what.name, f"{variant.bytes:,}",
            f"{variant.images / variant.build_s:,.0f}", f"{statistics.median(shuffled):,.0f}", *compared,
            *ratios(in_order, shuffled)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=pathlib.Path, help="raw data of any format")
    parser.add_argument("--images", type=int, default=1000, help="of a trial of raw data")
    parser.add_argument("--repeats", type=int, default=5, help="rounds")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--num-workers", type=int, default=2)
    parser.add_argument("--only", default="", help="formats, such as folder,lmdb")
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "rue"))
    options = parser.parse_args()
    only = options.only.split(",") if options.only else []
    wanted = [what for what in RAW + PREPROCESSED if not only or what.format in only]
    if not wanted:
        parser.error(f"--only {options.only}: formats are {', '.join(sorted({what.format for what in RAW + PREPROCESSED}))}")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    subprocess.run([options.program, "inspect", options.photos], check=True, stdout=subprocess.DEVNULL)
    for path in options.photos.rglob("*"):  # the first variant is not to be the one that reads them from storage
        if path.is_file():
            path.read_bytes()
    with contextlib.ExitStack() as stack:
        folder, made = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rue-bench-"))), []
        for what in wanted:
            print(f"making {what.name}", file=sys.stderr)
            made.append(Variant(options.program, what, options.photos, folder))
            stack.callback(made[-1].close)
            made[-1].open()
        for number in range(options.repeats + 1):
            print(f"round {number} of {options.repeats}", file=sys.stderr)
            for variant in made:
                for order in ORDERS:
                    variant.load(options, order)
        for variant in made:
            for rates in variant.rates.values():
                del rates[0]
    print(f"{made[0].images} photographs, batch_size {options.batch_size}, num_workers {options.num_workers}, "
          f"{options.repeats} rounds, {len(os.sched_getaffinity(0))} CPUs\n")
    print("| " + " | ".join(HEADER) + " |\n|" + "---|" * len(HEADER))
    found = {variant.what: variant for variant in made}
    for variant in made:
        kind = variant.what.kind
        print("| " + " | ".join(row(variant, found.get(Format(kind, PLAINEST[kind])))) + " |")


if __name__ == "__main__":
    main()
