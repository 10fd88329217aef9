"""The snippets of docs/recipes.md run, with small data and few trials. Its commands are run by tests/program/commands/test_readme.py."""
import functools
import re
import subprocess
import types

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import rue_tuner as rue  # noqa: E402
from conftest import HANG_S, PROGRAM, ROOT  # noqa: E402
from pipelines import IMAGES, Squares, step  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

PAGE = (ROOT / "docs/recipes.md").read_text()
SNIPPETS = {section.partition("\n")[0]: "".join(re.findall(r"^```py\n(.*?)^```", section, re.M | re.S)) for section in PAGE.split("\n## ")[1:]}
FEWER = 64  # unlabelled images
pytestmark = pytest.mark.usefixtures("rue_for_python")


def run(title, **names):
    """The names after the snippets of a section, with small budgets."""
    names = dict(names, DataLoader=DataLoader, step=step, rue=types.SimpleNamespace(tune=functools.partial(rue.tune, budget="40trials", quiet=True, strict=False)))
    exec(SNIPPETS[title], names)
    return names


def test_each_snippet_is_run_here():
    found = {title for title, snippets in SNIPPETS.items() if snippets}
    assert found == {"Training and validation", "Batch size and learning rate", "DALI and FFCV"}


def test_two_loaders_one_after_the_other_and_at_the_same_time():
    after = run("Training and validation", train_loader=DataLoader(Squares(), batch_size=16, shuffle=True), train_step=step, valid_step=step,
                valid_loader=DataLoader(Squares(FEWER), batch_size=32), labelled=Squares(), unlabelled=Squares(FEWER))
    for name, size, images in (("train", 16, IMAGES), ("valid", 32, FEWER)):
        loader = after[name + "_loader"]
        assert (loader.num_workers, loader.batch_size, len(loader.dataset)) == (after[name].config["num_workers"], size, images)
    assert after["result"].best["data_images"] == FEWER and after["result"].dataloader_kwargs["batch_size"] == 16


def test_a_learning_rate_follows_the_batch_size():
    after = run("Batch size and learning rate", loader=DataLoader(Squares(), batch_size=16))
    assert after["learning_rate"] == {16: 0.1, 32: 0.2}[after["result"].config["batch_size"]]


def test_a_pipeline_of_dali_is_tuned():
    pytest.importorskip("nvidia.dali", reason="DALI is not installed")
    from nvidia.dali import fn, pipeline_def, types as dali_types
    from nvidia.dali.plugin.pytorch import DALIGenericIterator
    subprocess.run([PROGRAM, "prepare", "--synthetic", "48", "photos", "--quiet"], check=True, timeout=HANG_S)

    @pipeline_def(device_id=None)
    def make_pipeline():
        files, labels = fn.readers.file(file_root="photos", random_shuffle=True, name="files")
        images = fn.resize(fn.decoders.image(files, device="cpu"), size=(32, 32))
        return fn.crop_mirror_normalize(images, dtype=dali_types.FLOAT, output_layout="CHW"), labels
    result = run("DALI and FFCV", make_pipeline=make_pipeline, DALIGenericIterator=DALIGenericIterator)["result"]
    assert result.best["data_images"] == 48 and result.dataloader_kwargs.keys() == {"batch_size", "num_workers", "prefetch_queue_depth"}
