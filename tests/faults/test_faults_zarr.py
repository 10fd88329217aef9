"""Faults of Zarr stores between and during trials: a chunk that is missing, cut, of another size, or changed while it is read."""
import os
import threading
import time

import pytest

from test_faults_data import Hand, hand  # noqa: F401 (a fixture)

CONFIG = dict(batch_size=4, num_workers=2, prefetch_factor=2, parallelism="batch")
WORKLOAD = dict(shuffle=True, cache="as-is")


@pytest.fixture(params=["none", "blosc", "zstd", "gzip"])
def store(request, rue, photos):
    done = rue("prepare", photos, "s.zarr", "--dtype", "uint8", "--codec", request.param, "--chunks", "4", "--quiet")
    assert done.returncode == 0, done.stderr
    return rue.folder / "s.zarr"


def variant(store):
    return dict(path=str(store), mode="preprocessed", format="zarr")


def load(hand, store, images=48, **more):
    return hand.ask(op="trial", id=1, measure="load", variant=variant(store), config=CONFIG, images=images, job_images=images,
                    workload=dict(WORKLOAD, **more))


def replace(path, content):
    other = path.with_name("other")
    other.write_bytes(content)
    other.rename(path)


FAULTS = {
    "deleted": (lambda path: path.unlink(), "was deleted since it was opened"),
    "cut": (lambda path: os.truncate(path, path.stat().st_size - 7), "has changed since it was opened"),
    "larger": (lambda path: path.write_bytes(path.read_bytes() + b"x"), "has changed since it was opened"),
    "rewritten": (lambda path: path.write_bytes(bytes(path.stat().st_size)), "has changed since it was opened"),
    "replaced": (lambda path: replace(path, path.read_bytes()), "has changed since it was opened"),
    "a link": (lambda path: (path.rename(path.with_name("other")), path.symlink_to("other")), "is a symbolic link"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_chunk_that_changes_between_trials_is_a_failed_trial(hand, store, fault):  # noqa: F811
    change, why = FAULTS[fault]
    assert hand.ask(op="open", variant=variant(store), workload=WORKLOAD)["status"] == "ok"
    assert load(hand, store)["status"] == "ok"
    change(store / "images/1.0.0.0")
    said = load(hand, store)
    assert said["status"] == "failed" and f"{store}/images/1.0.0.0" in said["reason"] and why in said["reason"], said


def test_a_chunk_that_is_rewritten_while_trials_read_it_never_gives_other_values(hand, store):  # noqa: F811
    chunk, stopped = store / "images/0.0.0.0", threading.Event()
    content = chunk.read_bytes()
    assert hand.ask(op="open", variant=variant(store), workload=WORKLOAD)["status"] == "ok"

    def rewrite():
        while not stopped.is_set():
            chunk.write_bytes(content[:len(content) // 2])
            chunk.write_bytes(content)
            time.sleep(0.001)

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        said = [load(hand, store, seed=seed) for seed in range(20)]
    finally:
        stopped.set()
        writer.join()
    assert said[-1]["status"] == "failed" and "images/0.0.0.0" in said[-1]["reason"]


def test_a_damaged_item_is_replaced_if_asked(hand, store):  # noqa: F811
    chunk = store / "images/1.0.0.0"
    os.truncate(chunk, chunk.stat().st_size - 7)
    assert hand.ask(op="open", variant=variant(store), workload=WORKLOAD)["status"] == "ok"
    assert load(hand, store)["status"] == "failed"
    said = load(hand, store, bad_images="replace")
    assert said["status"] == "ok" and said["bad_images"] == 4, said
