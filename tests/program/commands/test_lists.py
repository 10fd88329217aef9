"""Lists are written with commas: what spaces separate is reported, and not opened as data."""
import pytest

from conftest import expect_failure

WITH_SPACES = [
    (["tune", ".", "--batch-size", "32", "64", "128"], "--batch-size 32 64 128: the values of a list are separated by commas: --batch-size 32,64,128"),
    (["tune", "--batch-size=32", "64", "."], "--batch-size 32 64: the values of a list are separated by commas: --batch-size 32,64"),
    (["tune", ".", "--num-workers", "0", "2..4"], "--num-workers 0,2..4"),
    (["tune", ".", "--parallelism", "batch", "sample"], "separated by commas: --parallelism batch,sample"),
    (["tune", ".", "--knob", "max_queue_size=1", "8"], "separated by commas: --knob max_queue_size=1,8"),
    (["models", "--batch-size", "32", "256"], "separated by commas: --batch-size 32,256"),
]


@pytest.mark.parametrize("words, said", WITH_SPACES)
def test_values_that_spaces_separate_are_not_data(rue, words, said):
    expect_failure(rue(*words), 2, said)
    assert list(rue.folder.iterdir()) == []


def test_a_model_behind_a_space_is_not_data(rue):
    expect_failure(rue("headroom", "vit_b_16"), 3, "vit_b_16 is a model, not data")
    expect_failure(rue("tune", "--model", "resnet18", "vit_b_16"), 3, "vit_b_16 is a model, not data: separate models by commas, --model A,vit_b_16")


def test_a_file_may_be_named_like_a_number(rue, own_photos):
    """It is data, though a list stands before it."""
    own_photos.rename(rue.folder / "64")
    assert rue("tune", "--batch-size", "32", "64", "--dry-run", "--mode", "raw").returncode == 0
