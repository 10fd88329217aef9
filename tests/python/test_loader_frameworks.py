"""Loader in the training loops of other libraries. tests/install.sh installs them into build/peers; where one cannot be had, its
tests are skipped. As a program, this file is one rank of a job: a function and its arguments."""
import json
import math
import os
import re
import subprocess
import sys
import warnings

import pytest

from conftest import HANG_S, ROOT, clean_environment, copy_photos
from launchers import free_ports

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import rue_tuner as rue  # noqa: E402

IMAGES, BATCH = 20, 6
TWO_EPOCHS = 8  # batches
pytestmark = pytest.mark.usefixtures("rue_for_python")


@pytest.fixture(scope="module")
def few(photos, tmp_path_factory):
    return copy_photos(photos, tmp_path_factory.mktemp("few"))


def make_loader(photos, returns=("images", "labels", "items"), **options):
    return rue.Loader(photos, **{**dict(batch_size=BATCH, num_workers=1, drop_last=False, returns=returns), **options})


def load_items(loader, epochs=2):
    return [items.tolist() for _ in range(epochs) for *_, items in loader]


def classify(model, images, labels):
    return torch.nn.functional.cross_entropy(model(images.mean((2, 3))), labels)


def make_model():
    torch.manual_seed(0)
    return torch.nn.Linear(3, 20)


def run_ranks(count, *words):
    """The answers of `count` ranks to a function of this file."""
    port = free_ports(1)[0]
    path = os.pathsep.join(str(ROOT / folder) for folder in ("python", "tests"))
    common = dict(RUE_LOADER=os.environ["RUE_LOADER"], PYTHONPATH=path, WORLD_SIZE=count, LOCAL_WORLD_SIZE=count, MASTER_ADDR="127.0.0.1",
                  MASTER_PORT=port, TORCHELASTIC_RUN_ID="test", GROUP_RANK=0, OMP_NUM_THREADS=1)
    ranks = [subprocess.Popen([sys.executable, __file__, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=clean_environment(**common, RANK=rank, LOCAL_RANK=rank)) for rank in range(count)]
    outputs = [process.communicate(timeout=2 * HANG_S) for process in ranks]
    assert all(process.returncode == 0 for process in ranks), outputs
    return [json.loads(out.splitlines()[-1]) for out, _ in outputs]


def run_without_torch(script, photos):
    done = subprocess.run([sys.executable, "-c", script, photos], capture_output=True, text=True, timeout=HANG_S,
                          env=clean_environment(RUE_LOADER=os.environ["RUE_LOADER"], PYTHONPATH=ROOT / "python"))
    assert done.returncode == 0, done.stderr


def test_an_iterator_without_a_batch_begins_no_epoch(few):
    """Trainers try one, or call set_epoch after they made it."""
    loader = make_loader(few, ("items",), transform="train")
    whole = load_items(loader.with_())
    iter(loader)
    for epoch in (0, 1):
        batches = iter(loader)
        loader.sampler.set_epoch(epoch)
        assert [items.tolist() for items, in batches] == whole[4 * epoch:4 * epoch + 4]
    assert loader.state_dict()["epoch"] == 2


# ---- Lightning ----

def import_lightning():
    if hasattr(torch, "UntypedStorage"):
        torch._UntypedStorage = torch.UntypedStorage  # Debian's torch 1.13 says that it is older, and Lightning believes it
    lightning = pytest.importorskip("pytorch_lightning", reason="pytorch-lightning is not installed")
    # It imports a part of torch 1.13 that Python 3.11 refuses.
    lightning.LightningModule._register_sharded_tensor_state_dict_hooks_if_available = lambda module: None
    warnings.filterwarnings("ignore", module="pytorch_lightning|lightning_fabric|lightning_utilities")
    return lightning


def fit_with_lightning(photos, folder, checkpoint=None, callbacks=(), **options):
    """The module, which knows the items of each step, and the sizes of the batches that validated it."""
    lightning = import_lightning()

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model, self.items, self.validated = make_model(), [], []

        def training_step(self, batch, index):
            images, labels, items = batch
            self.items.append(items.tolist())
            return classify(self.model, images, labels)

        def validation_step(self, batch, index):
            self.validated.append(len(batch[0]))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    class Data(lightning.LightningDataModule):
        def __init__(self):
            super().__init__()
            self.train = make_loader(photos, transform="train")

        def train_dataloader(self):
            return self.train

        def val_dataloader(self):
            return make_loader(photos)

        def state_dict(self):
            return self.train.state_dict()

        def load_state_dict(self, state):
            self.train.load_state_dict(state)

    module = Module()
    trainer = lightning.Trainer(accelerator="cpu", max_epochs=2, logger=False, default_root_dir=folder, callbacks=list(callbacks),
                                enable_checkpointing=bool(callbacks), enable_progress_bar=False, enable_model_summary=False, **options)
    trainer.fit(module, datamodule=Data(), ckpt_path=checkpoint)
    return module


def test_lightning_trains_and_continues_in_the_middle_of_an_epoch(few, tmp_path):
    lightning = import_lightning()
    keep = lightning.callbacks.ModelCheckpoint(tmp_path / "kept", "{step}", every_n_train_steps=1, save_top_k=-1)
    whole = fit_with_lightning(few, tmp_path, callbacks=[keep])
    assert whole.items == load_items(make_loader(few, transform="train")) and len(whole.items) == TWO_EPOCHS
    assert whole.validated == [BATCH] * 2 + 2 * ([BATCH] * 3 + [2]), "2 batches before the training, then all"
    for step in (1, 3, 6):
        rest = fit_with_lightning(few, tmp_path, str(tmp_path / f"kept/step={step}.ckpt"))
        assert rest.items == whole.items[step:]
        assert all(map(torch.equal, rest.parameters(), whole.parameters()))


def test_lightning_limits_the_batches_of_an_epoch(few, tmp_path):
    whole = load_items(make_loader(few, transform="train"))
    assert fit_with_lightning(few, tmp_path, limit_train_batches=2).items == [*whole[:2], *whole[4:6]]


def lightning_rank(photos, folder):
    module = fit_with_lightning(photos, folder, devices=2, strategy="ddp", limit_val_batches=0)
    return dict(items=module.items, weights=[part.tolist() for part in module.parameters()])


def test_lightning_on_two_ranks(few, tmp_path):
    import_lightning()
    first, second = run_ranks(2, "lightning_rank", few, tmp_path)
    for epoch in (slice(2), slice(2, 4)):
        assert sorted(sum(first["items"][epoch] + second["items"][epoch], [])) == list(range(IMAGES))
    assert first["weights"] == second["weights"] and len(first["items"]) == len(second["items"]) == 4


# ---- Hugging Face ----

def make_trainer(photos, folder, **options):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    from rue_tuner.hf import TrainerMixin

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model, self.items = make_model(), []

        def forward(self, pixel_values, labels, items):
            if self.training:
                self.items.append(items.tolist())
            logits = self.model(pixel_values.mean((2, 3)))
            return dict(loss=torch.nn.functional.cross_entropy(logits, labels), logits=logits)

    class LoaderTrainer(TrainerMixin, transformers.Trainer):
        pass

    returns = dict(pixel_values="images", labels="labels", items="items")
    arguments = transformers.TrainingArguments(str(folder), num_train_epochs=2, save_steps=1, logging_strategy="no", report_to=[],
                                               disable_tqdm=True, remove_unused_columns=False, label_names=["labels"], **options)
    return LoaderTrainer(Model(), arguments, train_dataset=make_loader(photos, returns, transform="train"),
                         eval_dataset=make_loader(photos, returns), compute_metrics=lambda found: dict(images=len(found.label_ids)))


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_hf_trainer_continues_with_the_remaining_batches(few, tmp_path):
    trainer = make_trainer(few, tmp_path / "whole")
    trainer.train()
    whole, weights = trainer.model.items, list(trainer.model.parameters())
    assert whole == load_items(make_loader(few, transform="train")) and trainer.state.global_step == TWO_EPOCHS
    assert trainer.evaluate()["eval_images"] == trainer.predict(trainer.eval_dataset).metrics["test_images"] == IMAGES
    for step in (2, 4, 7):
        trainer = make_trainer(few, tmp_path / "rest")
        trainer.train(resume_from_checkpoint=str(tmp_path / f"whole/checkpoint-{step}"))
        assert trainer.model.items == whole[step:] and trainer.state.global_step == TWO_EPOCHS
        assert all(map(torch.equal, weights, trainer.model.parameters()))


# ---- accelerate ----

def make_accelerator(**options):
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
    accelerate.state.GradientState._shared_state.clear()  # another test in this process may have left a loader in the middle
    return accelerate.Accelerator(cpu=True, **options)


def test_accelerate_applies_the_last_gradients(few, tmp_path):
    accelerator = make_accelerator(gradient_accumulation_steps=3)
    from rue_tuner.accelerate import prepare
    loader = prepare(accelerator, make_loader(few))
    model, optimizer = accelerator.prepare(model := make_model(), torch.optim.SGD(model.parameters(), lr=0.1))
    applied, ends, gathered = [], [], []
    for images, labels, items in loader:
        with accelerator.accumulate(model):
            accelerator.backward(classify(model, images, labels))
            optimizer.step()
            optimizer.zero_grad()
        applied.append(accelerator.sync_gradients)
        ends.append(accelerator.gradient_state.end_of_dataloader)
        gathered += accelerator.gather_for_metrics(items).tolist()
    assert applied == [False, False, True, True] and ends == [False] * 3 + [True] and len(loader) == 4
    assert gathered == list(range(IMAGES)) and not accelerator.gradient_state.in_dataloader


def test_accelerate_saves_the_position(few, tmp_path):
    accelerator = make_accelerator()
    from rue_tuner.accelerate import prepare
    loader = make_loader(few, ("items",), transform="train")
    whole = load_items(loader.with_())
    for expected, (*_, items) in zip(whole[:3], prepare(accelerator, loader)):
        assert items.tolist() == expected
    accelerator.save_state(str(tmp_path / "state"))
    assert not accelerator.gradient_state.in_dataloader
    loader.set_epoch(7)
    accelerator.load_state(str(tmp_path / "state"))
    assert load_items(loader) == whole[3:]


def accelerate_rank(*folders):
    """The gathered items of each folder, in batches of 4 and of 3."""
    accelerator = make_accelerator()
    from rue_tuner.accelerate import prepare
    answer = []
    for folder in folders:
        for size in (4, 3):
            loader = prepare(accelerator, make_loader(folder, batch_size=size))
            batches = [accelerator.gather_for_metrics(items).tolist() for *_, items in loader]
            assert len(batches) == len(loader)
            answer.append(sum(batches, []))
    return answer


def test_accelerate_gathers_each_image_once(own_photos):
    """20 images for 3 ranks, and 19: one or two of the last ones come twice."""
    make_accelerator()
    fewer = own_photos.with_name("fewer")
    fewer.mkdir()
    for path in sorted(own_photos.rglob("*.jpg"))[1:]:
        (fewer / path.parent.name).mkdir(exist_ok=True)
        os.link(path, fewer / path.parent.name / path.name)
    for answer in run_ranks(3, "accelerate_rank", own_photos, fewer):
        assert [sorted(items) for items in answer] == 2 * [list(range(20))] + 2 * [list(range(19))]


# ---- timm ----

def test_timm_gets_what_create_loader_loads(few):
    data = pytest.importorskip("timm.data", reason="timm is not installed")
    dataset = data.create_dataset("", root=str(few))
    theirs = data.create_loader(dataset, (3, 224, 224), BATCH, interpolation="bilinear", crop_pct=0.875, num_workers=0,
                                device=torch.device("cpu"))
    ours = make_loader(few, ("images", "labels"))
    assert len(ours) == len(theirs)
    for (images, labels), (their_images, their_labels) in zip(ours, theirs):
        assert torch.equal(labels, their_labels) and images.dtype == their_images.dtype
        assert torch.allclose(images, their_images, atol=1e-5)


def test_timm_mixes_batches_and_sets_epochs(few):
    data = pytest.importorskip("timm.data", reason="timm is not installed")
    mixup = data.Mixup(mixup_alpha=50, label_smoothing=0, num_classes=20)
    loader = make_loader(few, transform="train", batch_transform=mixup)
    orders = []
    for epoch in (0, 1, 1):
        mixup.mixup_enabled = epoch == 0
        loader.sampler.set_epoch(epoch)
        for images, labels, items in loader:
            assert labels.shape == (len(images), 20) and (labels.amax(1) > 0.99).all() == (epoch == 1)
        orders.append(items.tolist())
    assert orders[0] != orders[1] == orders[2] and len(loader.sampler) == IMAGES


# ---- without a trainer ----

def test_the_documented_mix_of_batches_depends_on_the_position_alone(few):
    code = re.search(r"```py\n(class EraseAndMix.*?)\nmix = ", (ROOT / "docs/loader.md").read_text(), re.DOTALL).group(1)
    names = dict(math=math, numpy=pytest.importorskip("numpy", reason="NumPy is not installed"), torch=torch)
    exec(code, names)

    def load(mix, state=None):
        mix.loader = make_loader(few, ("images", "labels"), transform="train", augment="deit", batch_transform=mix)
        if state:
            mix.loader.load_state_dict(state)
        states = [mix.loader.state_dict()]
        batches = [(images.clone(), labels.clone(), states.append(mix.loader.state_dict())) for images, labels in mix.loader]
        return [batch[:2] for batch in batches], states

    first, states = load(names["EraseAndMix"](20))
    resumed = load(names["EraseAndMix"](20), states[2])[0]
    assert all(torch.equal(a, b) for one, other in zip(first[2:], resumed) for a, b in zip(one, other)) and len(first) == len(resumed) + 2
    assert not torch.equal(first[0][0], load(names["EraseAndMix"](20, seed=1))[0][0][0])
    mix, cuts = names["EraseAndMix"](20), 0
    mix.erase = lambda image, draw: None
    whole = make_loader(few, ("images", "labels"), transform="train", augment="deit")
    for (images, wanted), (raw, labels) in zip(load(mix)[0], whole):
        assert torch.allclose(wanted.sum(1), torch.ones(len(wanted)))
        share = ((wanted[0, labels[0]] - 0.1 / 20) / 0.9).item()  # the share of the image itself
        own, other = (images == raw).all(1), (images == raw.flip(0)).all(1)
        if (own | other).all():
            cuts += 1
            assert labels[0] == labels[-1] or own[0].float().mean().item() == pytest.approx(share, abs=1e-3)
        else:
            assert labels[0] == labels[-1] or torch.allclose(images, raw * share + raw.flip(0) * (1 - share), atol=1e-4)
    assert 0 < cuts < len(first)


def test_a_compiled_step_is_compiled_once(few):
    if not hasattr(torch, "compile"):
        pytest.skip("torch.compile is of PyTorch 2")
    compiled, model = [], make_model()
    step = torch.compile(lambda images, labels: classify(model, images, labels), fullgraph=True,
                         backend=lambda graph, example: compiled.append(len(example)) or graph)
    loader = make_loader(few, ("images", "labels"), transform="train", drop_last=True)
    for _ in range(3):
        for images, labels in loader:
            assert step(images, labels).item() == pytest.approx(classify(model, images, labels).item())
    assert len(compiled) == 1


def test_jax_shares_the_memory_of_a_batch(few):
    pytest.importorskip("jax", reason="jax is not installed")
    run_without_torch("""if True:
        import sys
        import jax
        import numpy
        import rue_tuner as rue
        mean = jax.jit(lambda images: images.mean(axis=(1, 2, 3)))
        loader = rue.Loader(sys.argv[1], batch_size=6, num_workers=1, output="numpy", hold=6)
        kept = [(jax.device_put(images), images.copy(), mean(images)) for images, labels in loader]
        for again, (images, copy, means) in zip(loader, kept):  # other batches are loaded in the meantime
            assert numpy.array_equal(images, copy) and numpy.array_equal(again[0], copy)
            assert numpy.allclose(means, copy.mean(axis=(1, 2, 3)), atol=1e-4)
        assert len(kept) == 4 and "torch" not in sys.modules
    """, few)


def test_numpy_without_torch(few):
    run_without_torch("""if True:
        import sys
        sys.modules["torch"] = None
        import numpy
        import rue_tuner as rue
        loader = rue.Loader(sys.argv[1], batch_size=6, num_workers=1, output="numpy", transform="train", drop_last=False)
        for _ in range(2):
            for images, labels in loader:
                assert images.dtype == numpy.float32 and images.shape == (len(labels), 3, 224, 224) and labels.dtype == numpy.int64
                images -= images.mean()
        loader.load_state_dict(loader.state_dict())
    """, few)


def test_a_loader_is_garbage_together_with_its_trainer(few):
    run_without_torch("""if True:
        import gc
        import sys
        import rue_tuner as rue
        for count in range(20):
            loader = rue.Loader(sys.argv[1], batch_size=6, num_workers=1, output="numpy")
            loader.trainer = dict(loader=loader, kept=next(iter(loader)) if count % 2 else None)
            del loader
            gc.collect()
    """, few)


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
