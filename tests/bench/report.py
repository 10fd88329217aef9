#!/usr/bin/python3
"""Time and memory of `rue report` for a study of many trials, beside their limits, and beside `rue show` of the same study.

  tests/bench/report.py [--trials 100000] [--repeats R] [--program build/release/rue]

Makes a study from a table of 1,000 cells (ten models, a hundred configurations) with repeats, below TMPDIR.
"""
import argparse
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIMIT_S, LIMIT_MB = 5, 300


def make_table(path, trials):
    random.seed(1)
    with path.open("w") as table:
        table.write("mode,model,batch_size,num_workers,time_s\n")
        for cell in range(1000):
            model, batch, workers = cell // 100, 16 << cell // 10 % 10, 2 * (cell % 10)
            for _ in range(trials // 1000):
                time_s = (10 + model + abs(batch - 100) / 50 + abs(workers - 6)) * random.uniform(0.97, 1.03)
                table.write(f"raw,model{model},{batch},{workers},{time_s:.4f}\n")


def measure(*words):
    """(seconds, MB of the largest process)"""
    begin = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(map(str, words))} failed")
    return time.monotonic() - begin, usage.ru_maxrss / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--program", default=ROOT / "build/release/rue")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        table, study = pathlib.Path(place, "times.csv"), pathlib.Path(place, "study")
        make_table(table, options.trials)
        subprocess.run([options.program, "tune", "--table", table, "--strategy", "grid", "--repeats", str(options.trials // 1000), "--budget",
                        "100000h", "--out", study, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        runs = [(measure(options.program, "report", study, "--quiet"), measure(options.program, "show", study)) for _ in range(options.repeats)]
        bytes_written = (study / "report.html").stat().st_size
    seconds, memory = (statistics.median(report[i] for report, _ in runs) for i in (0, 1))
    shown = statistics.median(show[0] for _, show in runs)
    print(f"{options.trials} trials, page of {bytes_written / 1000:.0f} KB, {options.repeats} runs\n")
    print("| what | value | limit or peer | its value | ratio |\n|---|---|---|---|---|")
    print(f"| rue report | {seconds:.2f} s | limit | {LIMIT_S} s | {seconds / LIMIT_S:.2f} |")
    print(f"| rue report | {seconds:.2f} s | rue show | {shown:.2f} s | {seconds / shown:.2f} |")
    print(f"| its memory | {memory:.0f} MB | limit | {LIMIT_MB} MB | {memory / LIMIT_MB:.2f} |")


if __name__ == "__main__":
    main()
