"""Jobs that are smaller than a batch: one batch of all images, unless drop_last drops it."""
import contextlib
import sqlite3

import pytest

from conftest import expect_failure, flat, has_answer, make_table, read_json

IMAGES = 20
NOTE = f"the job of {IMAGES} images is one batch of 32, so larger batches are not measured"
TABLE = make_table(["ape"], [8, 32, 64], [0, 2], lambda model, batch, workers: 100_000 + 10_000 * batch - 1000 * workers)


def configs(rue):
    (part,) = read_json(rue.folder / "out/recommendation.json")["recommendations"]
    return sorted((row["config"]["batch_size"], row["config"]["num_workers"]) for row in part["configs"])


def batches(rue):
    """{batch size: {(status, images, batches)}} of the trials of both."""
    with contextlib.closing(sqlite3.connect(rue.folder / "out/study.db")) as db:
        found = {}
        for size, *row in db.execute("SELECT config ->> 'batch_size', status, images, batches FROM trial WHERE measure = 'joint'"):
            found.setdefault(size, set()).add(tuple(row))
        return found


@pytest.mark.parametrize("strategy", ["duel", "grid"])
@pytest.mark.parametrize("given, measured", [("512", [512]), ("8,32,64,512", [8, 32]), ("20,32", [20])])
def test_a_batch_larger_than_the_job_is_all_of_it(rue, own_photos, strategy, given, measured):
    done = rue("tune", own_photos, "--mode", "raw", "--model", "none", "--batch-size", given, "--num-workers", "0,1", "--strategy", strategy,
               "--budget", "20trials", "--out", "out")
    assert has_answer(done), done.stderr
    assert {size for size, _ in configs(rue)} == set(measured) == set(batches(rue))
    assert batches(rue)[measured[-1]] == {("ok", IMAGES, 1)}
    assert (NOTE in flat(done.stderr)) == (given == "8,32,64,512")
    check = rue("check", "out/recommendation.json", "--budget", "5s")
    assert check.returncode in (0, 5), check.stderr
    assert rue("why", "out").returncode == 0


def test_a_runner_gets_the_batch_size_as_given(rue, script):
    """Also where its own space has no smaller one."""
    for words, sizes in ((["--batch-size", "32,64"], {32}), ([], {8}), (["--images", "5"], {8})):
        one = script(TABLE, hello=dict(images=IMAGES))
        done = rue("tune", "--runner", one.command, "--strategy", "grid", "--fresh", "--out", "out", *words)
        assert done.returncode == 0, done.stderr
        assert {size for size, _ in configs(rue)} == sizes


def test_a_baseline_may_be_larger_than_the_job(rue, script):
    done = rue("tune", "--runner", script(TABLE, hello=dict(images=IMAGES)).command, "--baseline", "batch_size=64", "--out", "out")
    assert done.returncode == 0 and "64/0" in done.stdout + done.stderr, done.stderr


@pytest.mark.parametrize("words", [["--batch-size", "64"], ["--batch-size", "8,64"], ["--baseline", "batch_size=64"]], ids=" ".join)
def test_with_drop_last_there_is_no_batch(rue, script, words):
    done = rue("tune", "--runner", script(TABLE, hello=dict(images=IMAGES)).command, "--drop-last", "--out", "out", *words)
    expect_failure(done, 2, f"with drop_last, a job of {IMAGES} images has no batch of 64: use smaller batches or more images, or keep the last batch")


def test_curves_of_a_job_of_one_batch(rue, own_photos):
    done = rue("scale", own_photos, "--batch-size", "64", "--num-workers", "0,1", "--images", "10", "--model", "none", "--out", "out")
    assert done.returncode == 0, done.stderr
