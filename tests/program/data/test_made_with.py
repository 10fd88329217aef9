"""What preprocessed data were made with: kept by each format, shown, and compared with the options that they are opened with."""
import json
import shutil

import pytest

import wording
from conftest import expect_failure

OPTIONS = ["--image-size", "32x48", "--interpolation", "bicubic", "--orientation", "apply"]
PIXELS = "resize 36 interpolation bicubic layout nchw orientation apply"
NORMAL = "mean 0.485,0.456,0.406 std 0.229,0.224,0.225"
TUNE = ["--model", "none", "--batch-size", "4", "--num-workers", "0", "--budget", "1trials", "--images", "4", "--out", "out"]


def prepare(rue, *words):
    done = rue("prepare", *words, "--quiet")
    assert done.returncode == 0, done.stderr


def made_with(rue, data):
    shown = json.loads(rue("inspect", data, "--json").stdout)
    assert shown["skipped"] == 0
    return shown.get("made_with")


FORMATS = {"a.tensor": [], "a.lmdb": [], "a.zarr": [], "three.zarr": ["--zarr-version", "3"], "tars": ["--format", "webdataset"],
           "records": ["--format", "tfrecord"]}


@pytest.mark.quick
@pytest.mark.parametrize("name", FORMATS)
def test_a_format_keeps_what_its_items_were_made_with(rue, own_photos, name):
    prepare(rue, own_photos, name, "--mode", "preprocessed", "--dtype", "uint8", *OPTIONS, *FORMATS[name])
    assert made_with(rue, name) == PIXELS
    prepare(rue, name, "copy.tensor")
    prepare(rue, name, "normal.zarr", "--dtype", "float32")
    assert made_with(rue, "copy.tensor") == PIXELS and made_with(rue, "normal.zarr") == f"{PIXELS} {NORMAL}"
    if name.endswith(".zarr"):
        assert made_with(rue, f"{name}/images") == PIXELS
    expect_failure(rue("tune", name, *TUNE, "--interpolation", "bicubic", "--orientation", "apply", "--resize", "40"), 2,
                   f"{name} was prepared with resize 36, and resize 40 is asked for: prepare the images again, or leave the option out")


@pytest.fixture
def small(rue, own_photos):
    prepare(rue, own_photos, "small.tensor", *OPTIONS, "--mean", "clip", "--std", "clip")
    return rue.folder / "small.tensor"


def test_other_options_are_an_error_that_names_both(rue, small):
    for words, both in {
        "--image-size 32": "image_size 32x48, and image_size 32x32", "--layout nhwc": "layout nchw, and layout nhwc",
        "--channels 1": "channels 3, and channels 1", "--resize none": "resize 36, and resize none",
        "--mean none --std none": "mean 0.48145467,0.4578275,0.40821072, and mean 0,0,0",
    }.items():
        expect_failure(rue("tune", small, *TUNE, *words.split()), 2, f"small.tensor was prepared with {both} is asked for")
    for words in ("", "--image-size 32x48 --interpolation bilinear --orientation ignore --decode fast", "--mean clip --std clip"):
        done = rue("tune", small, *TUNE, *words.split())
        assert done.returncode == 0, done.stderr
        shutil.rmtree(rue.folder / "out")
    shown = " ".join(rue("inspect", small).stdout.split())
    assert wording.SHAPE_X_X_PREPARED.format(3, 32, 48, PIXELS, "0.48145467") in shown


def test_preprocessed_images_are_compared_with_the_same_raw_images(rue, small, own_photos):
    words = ["compare", own_photos, small, *TUNE, "--budget", "4trials", "--sample", "4"]
    expect_failure(rue(*words), 2, "small.tensor was prepared with image_size 32x48, and the raw images are loaded with image_size 224x224: "
                                   "give the options that it was prepared with")
    expect_failure(rue(*words, "--image-size", "32x48"), 2, "interpolation bicubic, and the raw images are loaded with interpolation bilinear")
    done = rue(*words, *OPTIONS, "--mean", "clip", "--std", "clip")
    assert done.returncode == 0, done.stderr


def test_data_without_a_record_have_only_their_shape(rue, own_photos):
    prepare(rue, own_photos, "tars", "--format", "webdataset", "--mode", "preprocessed", *OPTIONS)
    for text in ("", "x" * 300, "resize\n36", "\xe9"):
        (rue.folder / "tars/made_with.txt").write_text(text)
        assert made_with(rue, "tars") is None
    (rue.folder / "tars/made_with.txt").unlink()
    assert wording.PREPARED_WITH_OPTIONS_THAT in " ".join(rue("inspect", "tars").stdout.split())
    assert rue("tune", "tars", *TUNE, "--interpolation", "bicubic").returncode == 0
    expect_failure(rue("tune", "tars", *TUNE, "--image-size", "32"), 2, "tars was prepared with shape 3x32x48, and shape 3x32x32 is asked for")
    (rue.folder / "tars/made_with.txt").mkdir()
    expect_failure(rue("inspect", "tars"), 3, "made_with.txt")


def test_images_that_are_tensors_already_are_not_turned(rue, small):
    expect_failure(rue("prepare", small, "other.tensor", "--orientation", "apply"), 2,
                   "--orientation is for images that become preprocessed data: remove it, or convert the images instead")
