"""Recommendations that somebody damaged: rue tune --prior, rue check and the C example end with a code that is documented.
RUE_LONG_TESTS=1 tries hundreds of each; a failure names its seed (RUE_SEED)."""
import json
import os
import random
import re
import subprocess

import pytest

from conftest import HANG_S, clean_environment, make_table, read_json
from mutants import mutant

LONG = bool(os.environ.get("RUE_LONG_TESTS"))
SEED = int(os.environ.get("RUE_SEED", random.randrange(1 << 30)))
MUTANTS = 400 if LONG else 12
TABLE = make_table(["ape", "bee"], [16, 32], [1, 2, 4], lambda m, b, w: 1000000 + abs(w - 2) * 90000 + 9000000 // b)
RAW = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def expect_documented(done, codes, why):
    assert done.returncode in codes, (why, done.returncode, done.stderr)
    assert "Sanitizer" not in done.stderr and not RAW.search(done.stdout + done.stderr), (why, done.stdout, done.stderr)
    assert done.returncode in (0, 5) or done.stderr.strip(), (why, "it says why")


@pytest.fixture
def runner(script):
    return script(TABLE, load_ns=800000)


@pytest.fixture
def study(rue, runner):
    """A study that predicts, so that there is much to damage."""
    done = rue("tune", "--runner", runner.command, "--strategy", "duel", "--out", "earlier", "--budget", "60s", "--quiet")
    assert done.returncode == 0, done.stderr
    return read_json(rue.folder / "earlier/recommendation.json")


def write_mutants(path, document):
    draw = random.Random(SEED)
    for i in range(MUTANTS):
        path.write_bytes(mutant(draw, document))
        yield f"RUE_SEED={SEED}, mutant {i}"


def test_a_damaged_prior_is_refused_or_used(rue, runner, study):
    for why in write_mutants(rue.folder / "prior.json", study):
        done = rue("tune", "--runner", runner.command, "--strategy", "duel", "--prior", "prior.json", "--budget", "12trials", "--trial-timeout", "5s",
                   "--out", "out", "--fresh")
        expect_documented(done, (0, 3, 5), why)


def test_a_damaged_recommendation_is_refused_or_checked(rue, runner, study):
    for why in write_mutants(rue.folder / "damaged.json", study):
        done = rue("check", "damaged.json", "--runner", runner.command, "--budget", "2s", "--trial-timeout", "5s", "--quiet")
        expect_documented(done, (0, 2, 3, 4, 5), why)


def test_rue_s_own_runner_and_the_c_example_refuse_damaged_recommendations(rue, own_photos, load_images):
    done = rue("tune", own_photos, "--mode", "raw", "--model", "none", "--batch-size", "4,8", "--num-workers", "0,1",
               "--budget", "60s", "--out", "earlier", "--quiet")
    assert done.returncode == 0, done.stderr
    for why in write_mutants(rue.folder / "damaged.json", read_json(rue.folder / "earlier/recommendation.json")):
        expect_documented(rue("check", "damaged.json", "--budget", "2s", "--quiet"), (0, 2, 3, 4, 5), why)
        done = subprocess.run([load_images, own_photos, "damaged.json"], cwd=rue.folder, text=True, capture_output=True,
                              timeout=HANG_S, env=clean_environment())
        expect_documented(done, (0, 1), why)


@pytest.mark.parametrize("change, says", [
    (lambda part: part.pop("decode"), None), (lambda part: part.update(decode=None), "word"), (lambda part: part.update(decode="slow"), "word"),
    (lambda part: part.update(batch_dtype=8), "word"), (lambda part: part["config"].update(num_workers=2**32), "out of range"),
    (lambda part: part["config"].update(batch_size=2**32 + 4), "out of range"), (lambda part: part["config"].update(batch_size=4.0), "out of range"),
    (lambda part: part["config"].update(parallelism=7), "word"),
    (lambda part: part["config"].update(batch_size=0), "out of range"), (lambda part: part.update(config=[]), "no recommendation"),
    (lambda part: part["config"].clear(), None), (lambda part: part["config"].update(max_queue_size=-1), "out of range"),
    (lambda part: part["config"].update(read="both"), "word"), (lambda part: part["config"].update(batch_strategy="robin"), "word"),
    (lambda part: part["config"].update(max_queue_size=1, read="item", batch_strategy="adaptive"), None),
], ids=range(15))
def test_the_c_example_names_unusable_values(rue, own_photos, load_images, change, says):
    part = dict(variant=dict(mode="raw"), config=dict(batch_size=4, num_workers=1), decode="exact", batch_dtype="float32")
    change(part)
    (rue.folder / "changed.json").write_text(json.dumps(dict(recommendations=[part])))
    done = subprocess.run([load_images, own_photos, "changed.json"], cwd=rue.folder, text=True, capture_output=True, timeout=HANG_S)
    assert done.returncode == (1 if says else 0) and (says or "") in done.stderr, done.stderr
    assert says or done.stdout.startswith("20 images")
