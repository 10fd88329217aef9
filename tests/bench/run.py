#!/usr/bin/python3
"""Runs every benchmark of the engine and prints one table: the value, the limit or peer of the same run, the ratio, the goal.

  tests/bench/run.py [--photos FOLDER] [--repeats N] [--only NAME,...] [--python PATH]

Builds build/bench first. Without --photos it makes 2,000 synthetic photos there; tensor files of both types are made of
what is measured. The machine should have nothing else to do. PyTorch's rows need python3-torch and python3-torchvision.
`predictions` takes an hour or more and runs where --only names it. `python` is loader_python.py, by the Python of --python.
"""
import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "bench"
HEADER = ["what", "unit", "value", "limit or peer", "its value", "ratio", "goal"]


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, **options)


def build():
    run("cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DRUE_TESTS=ON", "-Wno-dev",
        "--log-level=WARNING", stdout=sys.stderr)
    run("cmake", "--build", BUILD, "--", "--quiet", stdout=sys.stderr)


def data(photos):
    """(photos, float32 tensor file, uint8 tensor file)"""
    rue = BUILD / "rue"
    if not photos:
        photos = BUILD / "photos"
        if not photos.exists():
            run(rue, "prepare", "--synthetic", "2000", photos)
    tensors = [BUILD / "float32.tensor", BUILD / "uint8.tensor"]
    made_of = BUILD / "tensors-of"
    if not made_of.exists() or made_of.read_text() != str(photos):
        for path in tensors:
            run(rue, "prepare", photos, path, "--dtype", path.stem, "--force")
        made_of.write_text(str(photos))
    return photos, *tensors


def rows(name, *arguments):
    """The lines that a benchmark prints, taken apart."""
    print(f"{name} {' '.join(map(str, arguments))}", file=sys.stderr)
    done = run(BUILD / "tests" / f"bench_{name}", *arguments, stdout=subprocess.PIPE, text=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def holds(row):
    """'yes' or 'no'; '' where there is no goal."""
    if not row[6]:
        return ""
    relation, bound = row[6].split()
    ratio = float(row[5])
    return "yes" if (ratio >= float(bound) if relation == ">=" else ratio <= float(bound)) else "no"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=pathlib.Path, help="a folder of JPEG files")
    parser.add_argument("--repeats", type=int, default=0, help="of each side; default: the benchmark's own")
    parser.add_argument("--only", default="", help="benchmarks, such as image_pipeline,overheads")
    parser.add_argument("--python", default="/usr/bin/python3", help="for rue_tuner's loader, with the loaders that it is compared with")
    options = parser.parse_args()
    build()
    photos, float32, uint8 = data(options.photos and options.photos.resolve())
    runs = [("image_pipeline", photos), ("entropy", photos), ("raw_loader", photos), ("tensor_loader", float32), ("tensor_loader", uint8),
            ("cold", float32), ("cold", uint8), ("epochs", photos), ("epochs", uint8), ("overheads",), ("memory",), ("queue",), ("batches",), ("thinking",), ("null_test",), ("host_model",),
            ("augment",)]
    repeats = [options.repeats] if options.repeats else []
    rounds = ["-r", options.repeats] if options.repeats else []
    only = options.only.split(",") if options.only else []
    print("| " + " | ".join(HEADER + ["met"]) + " |")
    print("|" + "---|" * (len(HEADER) + 1), flush=True)
    for name, *arguments in runs:
        if not only or name in only:
            show(rows(name, *arguments, *(repeats if name not in ("memory", "queue", "batches", "thinking", "null_test") else [])))
    for path in (photos, float32):
        if "predictions" in only:
            show(rows("predictions", *rounds, path))
    for path in (photos, float32, uint8):
        if not only or "torch" in only:
            show(torch_rows(path, options.repeats or 5))
    if not only or "python" in only:
        print("loader_python", file=sys.stderr)
        done = run(options.python, ROOT / "tests/bench/loader_python.py", photos, "--tensors", f"{float32},{uint8}", "--repeats", options.repeats or 5,
                   stdout=subprocess.PIPE, text=True)
        show(line.split("\t") for line in done.stdout.splitlines())


def show(table):
    for row in table:
        print("| " + " | ".join(row + [holds(row)]) + " |", flush=True)


def torch_rows(path, repeats):
    """rue beside PyTorch's DataLoader, each at its best number of workers."""
    print(f"loader_against_torch {path}", file=sys.stderr)
    cpus = len(os.sched_getaffinity(0))
    workers = ",".join(map(str, sorted({0, 1, cpus, cpus + 1, 2 * cpus})))
    done = run("/usr/bin/python3", ROOT / "tests" / "bench" / "loader_against_torch.py", path, "--rows", "--program", BUILD / "rue",
               "--num-workers", workers, "--repeats", repeats, stdout=subprocess.PIPE, text=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


if __name__ == "__main__":
    main()
