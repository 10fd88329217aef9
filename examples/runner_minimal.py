#!/usr/bin/env python3
"""The smallest useful runner: threads read whole files, and the model sleeps. docs/protocol.md explains the protocol.

    rue tune photos/ --mode raw --runner examples/runner_minimal.py
"""
import concurrent.futures, json, pathlib, sys, time


def measure(files, request):
    size, workers = request["config"]["batch_size"], request["config"]["num_workers"]
    files = [files[i % len(files)] for i in range(request["images"])]
    batches = [files[i:i + size] for i in range(0, len(files), size)]
    profile = request.get("profile", {"batch_size": [1], "batch_ns": [0]})  # absent for the measure load
    image_ns = min(ns / images for images, ns in zip(profile["batch_size"], profile["batch_ns"]))
    start, first_ns = time.monotonic_ns(), 0
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for loaded in pool.map(lambda batch: [path.read_bytes() for path in batch], batches):
            first_ns = first_ns or time.monotonic_ns() - start
            time.sleep(len(loaded) * image_ns / 1e9)
    return {"id": request["id"], "status": "ok", "config": request["config"], "images": len(files),
            "end_to_end_ns": time.monotonic_ns() - start, "first_batch_ns": first_ns}


for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "hello":
        answer = {"protocol": "rue.runner/1", "runner": "minimal 1.0", "measures": ["joint", "load"],
                  "space": {"batch_size": [8, 16, 32], "num_workers": [1, 2, 4]}}
    else:
        files = sorted(path for path in pathlib.Path(request["variant"]["path"]).rglob("*") if path.is_file())
        answer = {"status": "ok", "images": len(files)} if request["op"] == "open" else measure(files, request)
    print(json.dumps(answer), flush=True)
