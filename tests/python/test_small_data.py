"""Loaders of fewer items than a batch: one batch of all of them, unless drop_last drops it."""
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import rue_tuner as rue  # noqa: E402
from pipelines import IMAGES, Squares  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

pytestmark = pytest.mark.usefixtures("rue_for_python")


def tune(loader, **space):
    return rue.tune(loader, ["resnet18@h100"], space=dict(num_workers=[0, 2], **space), budget="30trials", quiet=True)


@pytest.mark.parametrize("given, space, measured", [(2 * IMAGES, {}, {2 * IMAGES}), (4, dict(batch_size=[4, 2 * IMAGES, 4 * IMAGES]), {4, 2 * IMAGES})])
def test_a_batch_larger_than_the_data_is_all_of_it(given, space, measured):
    result = tune(DataLoader(Squares(), batch_size=given), **space)
    assert {(row["batch_size"], row["num_workers"]) for row in result.rows} == {(size, workers) for size in measured for workers in (0, 2)}


def test_with_drop_last_there_is_no_batch():
    with pytest.raises(rue.TuneError, match=f"with drop_last, a job of {IMAGES} images has no batch of {2 * IMAGES}: use smaller batches or more images"):
        tune(DataLoader(Squares(), batch_size=4, drop_last=True), batch_size=[4, 2 * IMAGES])
