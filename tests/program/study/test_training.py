"""--transform train and --augment: trials load as a training job does, and other recipes share no trials."""
import csv
import sys

import pytest
import wording
from conftest import ROOT, expect_failure, make_table, read_json

SMALL = ["--model", "none", "--batch-size", "4", "--num-workers", "0,1", "--strategy", "grid", "--budget", "5m", "--out", "out"]
TABLE = make_table(["ape"], [16, 32], [0, 2], lambda m, b, w: 1000 + b + 100 * w)
CROP = "area 0.08 1 ratio 0.75 1.33333 flip 0.5"


def tune(rue, data, *words):
    done = rue("tune", data, *SMALL, *words)
    assert done.returncode == 0, done.stderr
    with open(rue.folder / "out/trials.csv", newline="") as file:
        return done, read_json(rue.folder / "out/recommendation.json")["recommendations"], len(list(csv.DictReader(file)))


@pytest.mark.quick
def test_the_recipe_is_part_of_the_workload(rue, own_photos, tmp_path):
    (tmp_path / "mine.json").write_text('{"area": [0.5, 0.5]}')
    found = {}
    for words in ([], ["--transform", "train"], ["--transform", "train", "--augment", "mild"], ["--transform", "train", "--augment", "mine.json"]):
        done, parts, trials = tune(rue, own_photos, "--mode", "raw", *words)
        assert (wording.AUGMENTED_FOR_TRAINING in " ".join(done.stdout.split())) == bool(words)
        workload = parts[0]["workload"]
        found[" ".join(words)] = workload["transform"], workload.get("augment"), "measured" in done.stderr
        assert trials > 0
    assert [value[:2] for value in found.values()] == [
        ("eval", None), ("train", CROP), ("train", CROP), ("train", "area 0.5 0.5 ratio 0.75 1.33333 flip 0.5")]
    done = rue("check", "out/recommendation.json", "--budget", "20s", "--quiet")
    assert done.returncode in (0, 5), done.stderr


@pytest.mark.quick
def test_several_views_are_part_of_the_workload(rue, own_photos, tmp_path):
    (tmp_path / "views.json").write_text('["mild", {"image_size": 96, "views": 2}]')
    views = f"{CROP}; views 2 image_size 96x96 {CROP}"
    for words in ("mild,2*mild@96", "views.json", views):
        done, parts, _ = tune(rue, own_photos, "--mode", "raw", "--transform", "train", "--augment", words)
        assert wording.AUGMENTED_FOR_TRAINING_VIEWS.format(3) in " ".join(done.stdout.split())
        assert parts[0]["workload"]["augment"] == views and parts[0]["workload"]["item_values"] == 3 * (224 ** 2 + 2 * 96 ** 2)
    assert wording.THE_STORE_HOLDS_ALL in " ".join(done.stderr.split())
    other = rue("augment", "--preset", "mild,2*mild", "--view", "2", "--count", "3")
    assert other.returncode == 0 and other.stdout != rue("augment", "--count", "3").stdout
    expect_failure(rue("augment", "--preset", "dino", "--view", "10"), 2, "--view 10 is out of range: the last view of the recipe is 9")
    expect_failure(rue("augment", "--preset", "dino", "--view", "1", "--per-rank"), 2, "--view and --per-rank exclude each other")


def test_runners_without_views_are_refused(rue, script, own_photos):
    runner = script(TABLE, opened=dict(transform="train")).command
    for augment, said in (("mild,mild", "2 views"), ("mild@96", "1 view")):
        done = rue("tune", own_photos, "--runner", runner, "--transform", "train", "--augment", augment, "--out", "out")
        expect_failure(done, 2, f"--augment: the runner scripted 1.0 does not report that it makes {said} with their sizes")
    done = rue("tune", own_photos, "--transform", "train", "--augment", "2*mild@16384", "--mode", "raw", "--out", "out")
    expect_failure(done, 2, "the views of an image have 1610612736 values, and the limit is 1073741824: use fewer or smaller ones")
    done = rue("tune", own_photos, "--device", "host", "--transform", "train", "--augment", "4*mild@112", "--mode", "raw", "--out", "out")
    expect_failure(done, 2, "models that compute take one view of an image, and --augment asks for 4: use simulated models")


def test_the_same_recipe_continues_and_another_one_does_not(rue, own_photos):
    words = [own_photos, *SMALL, "--mode", "raw", "--transform", "train"]
    assert rue("tune", *words).returncode == 0
    again = rue("tune", *words, "--augment", "mild")
    other = rue("tune", *words, "--augment", "moderate")
    kept = "the store holds all trials"
    assert kept in " ".join(again.stderr.split()) and kept not in " ".join(other.stderr.split()), (again.stderr, other.stderr)


@pytest.mark.quick
def test_preprocessed_data_are_not_compared(rue, own_photos):
    done, parts, _ = tune(rue, own_photos, "--transform", "train")
    assert len(parts) == 1 and wording.PREPROCESSED_DATA_ARE_SKIPPED in done.stderr
    assert rue("prepare", own_photos, "tensors.tensor").returncode == 0
    for command, *more in (["tune"], ["compare", own_photos], ["scale"]):
        expect_failure(rue(command, *more, "tensors.tensor", "--transform", "train"), 2,
                       "--transform train: tensors.tensor holds preprocessed images, whose crop is fixed: give the images themselves")


@pytest.mark.quick
@pytest.mark.parametrize("words,said", [
    (["--augment", "mild"], "--augment has no effect without --transform train"),
    (["--transform", "trian"], "--transform: 'trian' is not one of eval, train: did you mean 'train'?"),
    (["--transform", "train", "--augment", "mid"], "--augment: unknown preset 'mid': did you mean 'mild'?"),
    (["--transform", "train", "--augment", "8*dino-locl@96"], "--augment: unknown preset 'dino-locl': did you mean 'dino-local'?"),
    (["--transform", "train", "--augment", "33*mild"], "--augment: 33 views: the limit is 32 in all"),
    (["--transform", "train", "--augment", "no.json"], "--augment: cannot open no.json"),
    (["--transform", "train", "--decode", "fast"], "--decode fast cannot be used with --transform train")])
def test_wrong_options_are_one_clear_line(rue, own_photos, words, said):
    for command, *more in (["tune"], ["compare", own_photos], ["scale"]):
        expect_failure(rue(command, *more, own_photos, *words), 2, said)


def test_a_runner_that_does_not_augment_is_refused(rue, script, own_photos):
    words = ["--transform", "train", "--out", "out"]
    done = rue("tune", own_photos, "--runner", script(TABLE).command, *words)
    expect_failure(done, 2, "--transform train: the runner scripted 1.0 does not report that it augments", "leave out the option")


def test_the_pytorch_runner_augments(rue, own_photos):
    pytest.importorskip("torchvision", reason="torchvision is not installed (python3-torchvision)")
    _, parts, _ = tune(rue, own_photos, "--mode", "raw", "--transform", "train", "--augment", "aggressive", "--runner",
                       f"env PYTHONPATH={ROOT}/python {sys.executable} -m rue_tuner.runner")
    assert parts[0]["measured_with"] == "torch" and parts[0]["workload"]["augment"].startswith(CROP)
