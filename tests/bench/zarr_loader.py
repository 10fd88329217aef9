#!/usr/bin/python3
"""Images a second from Zarr stores, beside a tensor file and python-zarr (zarr 2, as in Debian), in the same run.

  tests/bench/zarr_loader.py PHOTOS [--chunk N] [--repeats R] [--program build/release/rue]

Has `rue prepare` make a tensor file of float32 and a store for each codec, below TMPDIR (about 3 MB a photograph, removed at the
end). Then loads all images R times from each in turn, warm, shuffled, on all CPUs, after one round that does not count.
python-zarr loads one image after another in rue's order of chunks, as a Dataset does, and in whole chunks, the fastest way that
it has; both in one process. Prints a table of medians.
"""
import argparse
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import zarr

sys.dont_write_bytecode = True
from loader_against_torch import Runner  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CODECS = ["none", "blosc", "zstd", "gzip"]


def python_rate(path, by_chunk, images):
    """Images a second of python-zarr, which reads chunks in a random order."""
    array = zarr.open_group(str(path), "r")["images"]
    size, order = array.chunks[0], list(range(0, len(array), array.chunks[0]))
    batch = np.empty((size, *array.shape[1:]), array.dtype)
    random.Random(1).shuffle(order)
    begin, done = time.monotonic(), 0
    for first in order:
        count = min(size, len(array) - first)
        if by_chunk:
            batch[:count] = array[first:first + count]
        else:
            for i in range(count):
                batch[i] = array[first + i]
        done += count
        if done >= images:
            break
    return done / (time.monotonic() - begin)


class Stored:
    def __init__(self, program, photos, folder, codec, chunk):
        self.path = folder / (f"{codec}.zarr" if codec else "images.tensor")
        words = ["--format", "zarr", "--codec", codec, "--chunks", str(chunk)] if codec else []
        subprocess.run([program, "prepare", photos, self.path, "--mode", "preprocessed", "--quiet", *words], check=True)
        self.variant = dict(path=str(self.path), mode="preprocessed", format="zarr" if codec else "tensor")
        self.runner = Runner(self.path.name, [program, "runner"])
        self.images = self.runner.ask(op="open", variant=self.variant, workload=dict(cache="warm"))["images"]
        self.rates, self.python = [], {True: [], False: []}

    def load(self, workers, seed):
        config = dict(batch_size=64, num_workers=workers, prefetch_factor=2, parallelism="batch")
        reply = self.runner.ask(op="trial", id=1, measure="load", variant=self.variant, config=config, images=self.images,
                                job_images=self.images, workload=dict(shuffle=True, seed=seed, cache="warm"))
        self.rates.append(1e9 * reply["images"] / reply["end_to_end_ns"])

    def close(self):
        self.runner.process.stdin.close()
        self.runner.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=pathlib.Path)
    parser.add_argument("--chunk", type=int, default=16, help="images of a chunk")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--num-workers", type=int, default=2)
    parser.add_argument("--program", default=str(ROOT / "build/release/rue"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rue-bench-") as folder:
        made = [Stored(options.program, options.photos, pathlib.Path(folder), codec, options.chunk) for codec in [None, *CODECS]]
        for turn in range(options.repeats + 1):
            for stored in made:
                stored.load(options.num_workers, turn)
                for by_chunk in (True, False) if stored is not made[0] else ():
                    stored.python[by_chunk].append(python_rate(stored.path, by_chunk, stored.images if by_chunk else 8 * options.chunk))
        for stored in made:
            stored.close()
    medians = [statistics.median(stored.rates[1:]) for stored in made]
    print(f"{made[0].images} images of 602 KB, chunks of {options.chunk}, {options.num_workers} workers, {options.repeats} rounds\n")
    print("| data | images/s | of tensor | python-zarr by item | ratio | python-zarr by chunk | ratio |\n|---|---|---|---|---|---|---|")
    for stored, rate in zip(made, medians):
        row = [stored.path.name, f"{rate:,.0f}", f"{rate / medians[0]:.2f}"]
        for by_chunk in (False, True):
            python = statistics.median(stored.python[by_chunk][1:]) if stored.python[by_chunk] else 0
            row += [f"{python:,.0f}", f"{rate / python:.1f}"] if python else ["", ""]
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
