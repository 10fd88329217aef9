#!/usr/bin/env python3
"""What a trial costs the tuner as its study grows: the time of the last 1,000 of 10,000 trials over that of the first 1,000.

  tests/bench/trial_cost.py build/release/rue [TRIALS]

The runner answers at once, so the time is that of starting none, asking, storing (with an fsync) and telling. One figure for
a fresh study of many cells and one for a study that goes on, where every trial is found in the store."""
import contextlib
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

RUNNER = r"""
import json, sys
hello = {"protocol": "rue.runner/1", "runner": "instant 1", "machine": {}, "measures": ["joint"], "images": 1000, "clock": "real",
         "models": MODELS, "variants": [{"path": "", "mode": "raw", "format": "none"}],
         "space": {"batch_size": BATCHES, "num_workers": [0, 1, 2, 3, 4]}}
for line in sys.stdin:
    ask = json.loads(line)
    answer = hello if ask["op"] == "hello" else {"status": "ok", "images": 1000, "bytes": 1, "digest": "d", "cache": "warm"}
    if ask["op"] == "trial":
        n = ask["images"]
        answer = {"id": ask["id"], "status": "ok", "config": ask["config"], "images": n, "end_to_end_ns": n * 1000, "batches": 1,
                  "first_batch_ns": 1000, "load_wait_ns": n * 1000, "compute_ns": 0, "shutdown_ns": 0}
    print(json.dumps(answer), flush=True)
"""


def started_s(folder):
    with contextlib.closing(sqlite3.connect(folder / "out/study.db")) as db:
        return [ns / 1e9 for (ns,) in db.execute("SELECT started_ns FROM trial ORDER BY id")]


def main():
    program, trials = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models, batches = [f"m{i}" for i in range(40)], list(range(1, trials // 200 + 1))
        (folder / "runner.py").write_text(RUNNER.replace("MODELS", json.dumps(models)).replace("BATCHES", json.dumps(batches)))
        words = [program, "tune", "--runner", f"{sys.executable} -S runner.py", "--budget", "10h", "--out", "out", "--quiet"]
        subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times = started_s(folder)
        first, last = times[1000] - times[0], times[-1] - times[-1001]
        print(f"{len(times)} trials in {times[-1] - times[0]:.1f} s; the last 1,000 over the first 1,000: {last / first:.2f}")
        begin = time.monotonic()
        subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert len(started_s(folder)) == len(times)
        print(f"found in the store again: {time.monotonic() - begin:.1f} s in all")


main()
