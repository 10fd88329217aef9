#!/usr/bin/python3
"""Time from `rue tune --launch` to the first trial, beside the launcher's own `true`, with Slurm, Open MPI, MPICH and torchrun;
and how late ranks start a trial together.

  tests/bench/launch.py [--ranks 2] [--repeats R] [--program build/release/rue]

Goal: at most 2 s more than `true`. Launchers that are not installed are skipped.
"""
import argparse
import contextlib
import json
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / "tests"), str(ROOT / "tests/fixtures")]
import pytest
from conftest import Script, clean_environment
from launchers import mpich, open_mpi, slurm_cluster, torchrun

LIMIT_S = 2
TUNE = ["--budget", "4trials", "--quiet", "--fresh", "--out", "out"]


def run(words, folder, env):
    """Seconds."""
    begin = time.monotonic()
    subprocess.run([str(word) for word in words], cwd=folder, env=env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return time.monotonic() - begin


def first_trial(program, launch, folder, env):
    """Seconds from the start of the program until a runner reads its first trial."""
    script = Script(folder, {"ape": {"16/1": 1000, "16/2": 900}})
    script.log_path.unlink(missing_ok=True)
    words = [program, "tune", "--runner", script.command, *TUNE, "--launch", launch]
    begin = time.monotonic()
    process = subprocess.Popen(words, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not script.requests() and process.poll() is None:
        time.sleep(0.002)
    seconds = time.monotonic() - begin
    if process.wait() or not script.requests():
        sys.exit(f"rue tune --launch '{launch}' failed")
    return seconds


def start_skews(program, launch, folder, env):
    """Microseconds between the first and the last rank, of each trial of rue's own runner."""
    if not (folder / "photos").exists():
        run([program, "prepare", "--synthetic", "64", "photos"], folder, env)
    run([program, "tune", "photos", "--mode", "raw", "--model", "resnet18", "--device", "h100", "--batch-size", "4,8", "--num-workers", "0,1",
         *TUNE, "--launch", launch], folder, env)
    with contextlib.closing(sqlite3.connect(folder / "out/study.db")) as db:
        trials = [json.loads(row[0]) for row in db.execute("SELECT ranks FROM trial WHERE status = 'ok' AND ranks IS NOT NULL")]
    late = [[rank["start_late_ns"] for rank in ranks] for ranks in trials]
    return [(max(times) - min(times)) / 1000 for times in late]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--program", default=ROOT / "build/release/rue", type=pathlib.Path)
    options = parser.parse_args()
    program, missed = options.program.resolve(), 0
    print(f"{options.ranks} ranks, medians of {options.repeats} runs; the skew is that of a trial's start, over ranks\n")
    print("| launcher | true s | first trial s | difference s | limit s | median skew us | largest skew us |\n|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        folder = pathlib.Path(place)
        for open_launcher in (lambda: stack.enter_context(slurm_cluster()), open_mpi, mpich, lambda: torchrun(folder)):
            try:
                launcher = open_launcher()
            except pytest.skip.Exception as why:
                print(why, file=sys.stderr)
                continue
            env = clean_environment(**launcher.env)
            pairs = [(run([*launcher.words(options.ranks), "true"], folder, env), first_trial(program, launcher.command(options.ranks), folder, env))
                     for _ in range(options.repeats)]
            skews = start_skews(program, launcher.command(options.ranks), folder, env)
            alone, tuned = map(statistics.median, zip(*pairs))
            missed += tuned - alone > LIMIT_S
            print(f"| {launcher.name} | {alone:.2f} | {tuned:.2f} | {tuned - alone:.2f} | {LIMIT_S} | {statistics.median(skews):.0f} | {max(skews):.0f} |",
                  flush=True)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
