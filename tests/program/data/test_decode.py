"""Decoding fast instead of exactly: an option of the job, said wherever its results stand."""
import json

import pytest

import wording
from conftest import count_joint_trials, expect_failure, unwrap

QUICK = ["--batch-size", "2,4", "--num-workers", "1", "--model", "none", "--budget", "5m", "--quiet", "--out", "out"]


@pytest.fixture
def large_photos(own_photos):
    image = pytest.importorskip("PIL.Image")
    for file in own_photos.rglob("*.jpg"):
        photo = image.open(file)
        photo.resize((photo.width * 2, photo.height * 2)).save(file, quality=90)
    return own_photos


def test_fast_and_exact_decoding_are_jobs_of_their_own(rue, large_photos):
    modes, scenarios, measured = {}, [], []
    for decode in "fast", "exact", "fast":
        done = rue("tune", large_photos, *QUICK, "--decode", decode)
        assert done.returncode == 0, done.stderr
        assert (wording.DECODED_FAST in unwrap(done.stdout)) == (decode == "fast")
        report = json.loads((rue.folder / "out/recommendation.json").read_text())
        modes[decode] = {mode["variant"]["mode"]: mode["decode"] for mode in report["recommendations"]}
        for count, counts in zip(count_joint_trials(rue.folder / "out"), (scenarios, measured)):
            counts.append(count)
    assert modes["fast"] == {"raw": "fast", "preprocessed": "exact"} and modes["exact"]["raw"] == "exact"
    assert scenarios == [2, 4, 4]
    assert measured[2] < 2 <= measured[1], f"the third run found what it needs, but a disturbed trial: {measured}"
    done = rue("show", "out")
    assert done.returncode == 0 and wording.DECODED_FAST in unwrap(done.stdout)


def test_an_unknown_decode_value_is_refused(rue, photos):
    expect_failure(rue("tune", photos, *QUICK, "--decode", "fats"), 2, "--decode: 'fats'", "did you mean 'fast'")
