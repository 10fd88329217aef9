"""Decoding fast instead of exactly: an option of the job, said wherever its results stand."""
import contextlib
import json
import sqlite3

import pytest

from conftest import expect_failure

QUICK = ["--batch-size", "2,4", "--num-workers", "1", "--model", "none", "--budget", "5m", "--quiet", "--out", "out"]


@pytest.fixture
def large_photos(own_photos):
    image = pytest.importorskip("PIL.Image")
    for file in own_photos.rglob("*.jpg"):
        photo = image.open(file)
        photo.resize((photo.width * 2, photo.height * 2)).save(file, quality=90)
    return own_photos


def trials(rue):
    with contextlib.closing(sqlite3.connect(rue.folder / "out/study.db")) as db:
        return db.execute("SELECT count(*) FROM trial WHERE measure = 'joint' AND mode = 'raw'").fetchone()[0]


def test_fast_and_exact_decoding_are_jobs_of_their_own(rue, large_photos):
    modes, stored = {}, []
    for decode in "fast", "exact", "fast":
        done = rue("tune", large_photos, *QUICK, "--decode", decode)
        assert done.returncode == 0, done.stderr
        assert (", decoded fast" in done.stdout) == (decode == "fast")
        report = json.loads((rue.folder / "out/recommendation.json").read_text())
        modes[decode] = {mode["variant"]["mode"]: mode["decode"] for mode in report["recommendations"]}
        stored.append(trials(rue))
    assert modes["fast"] == {"raw": "fast", "preprocessed": "exact"} and modes["exact"]["raw"] == "exact"
    assert stored[0] > 0 and stored[1:] == [2 * stored[0]] * 2, "the third run found all that it needs"
    done = rue("show", "out")
    assert done.returncode == 0 and ", decoded fast" in done.stdout


def test_an_unknown_decode_value_is_refused(rue, photos):
    expect_failure(rue("tune", photos, *QUICK, "--decode", "fats"), 2, "--decode: 'fats'", "did you mean 'fast'")
