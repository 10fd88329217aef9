#!/usr/bin/env python3
"""The smallest useful runner: threads that read whole files, and a model that sleeps. docs/protocol.md explains it.

    rue tune photos/ --mode raw --runner examples/runner_minimal.py
"""
import concurrent.futures, json, pathlib, sys, time


def trial(files, request):
    size, workers = request["config"]["batch_size"], request["config"]["num_workers"]
    files = [files[i % len(files)] for i in range(request["images"])]
    batches = [files[i:i + size] for i in range(0, len(files), size)]
    profile, wait_ns, compute_ns, first_ns = request.get("profile", {}), 0, 0, 0
    points = list(zip(profile.get("batch_size", [1]), profile.get("batch_ns", [0])))
    start = time.monotonic_ns()
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        loads = pool.map(lambda batch: [path.read_bytes() for path in batch], batches)
        for i, batch in enumerate(batches):
            before = time.monotonic_ns()
            next(loads)
            loaded = time.monotonic_ns()
            if request["measure"] == "joint":
                time.sleep(len(batch) * min(ns / n for n, ns in points) / 1e9)
            wait_ns, compute_ns = wait_ns + loaded - before, compute_ns + time.monotonic_ns() - loaded
            first_ns = first_ns or loaded - start
    return {"id": request["id"], "status": "ok", "config": request["config"], "images": len(files), "batches": len(batches),
            "end_to_end_ns": time.monotonic_ns() - start, "first_batch_ns": first_ns, "load_wait_ns": wait_ns,
            "compute_ns": compute_ns}


for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "hello":
        answer = {"protocol": "rue.runner/1", "runner": "minimal 1.0", "measures": ["joint", "load"],
                  "space": {"batch_size": [8, 16, 32], "num_workers": [1, 2, 4]}}
    else:
        files = sorted(path for path in pathlib.Path(request["variant"]["path"]).rglob("*") if path.is_file())
        answer = {"status": "ok", "images": len(files)} if request["op"] == "open" else trial(files, request)
    print(json.dumps(answer), flush=True)
