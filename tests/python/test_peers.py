"""The adapters and the factories of other libraries, with their own documented examples. tests/install.sh installs the
libraries into build/peers; where they cannot be had, the tests are skipped."""
import os

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import rue_tuner as rue  # noqa: E402
from PIL import Image  # noqa: E402
from test_webdataset import pictures  # noqa: E402

SMALL = dict(budget="40trials", quiet=True)
IMAGES = 48


pytestmark = pytest.mark.usefixtures("rue_for_python")


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    root = tmp_path_factory.mktemp("photos")
    for i in range(IMAGES):
        path = root / f"class{i % 2}" / f"{i:03}.jpg"
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (80 + i, 90), (i, 2 * i, 3 * i)).save(path)
    return root


def test_webdataset_reads_and_writes_the_same_shards(rue, photos, tmp_path):
    wds = pytest.importorskip("webdataset", reason="webdataset is not installed")
    shards, written, back = tmp_path / "shards", tmp_path / "written.tar", tmp_path / "back"
    assert rue("prepare", photos, shards, "--format", "webdataset", "--shard-size", "30k").returncode == 0
    samples = list(wds.WebDataset([str(path) for path in sorted(shards.glob("*.tar"))], shardshuffle=False))
    assert len(list(shards.glob("*.tar"))) > 1 and {sample["__key__"] + ".jpg": sample["jpg"] for sample in samples} == pictures(photos)
    with wds.TarWriter(str(written)) as sink:
        for sample in samples:
            sink.write({"__key__": sample["__key__"], "jpg": sample["jpg"], "cls": int(sample["cls"])})
    assert rue("prepare", written, back, "--format", "folder").returncode == 0
    numbered = {name.replace("class", "", 1): data for name, data in pictures(photos).items()}
    assert pictures(back) == numbered, "classes without names are numbers"


def test_webdataset_a_web_loader_over_shards(photos):
    wds = pytest.importorskip("webdataset", reason="webdataset is not installed")
    transforms = pytest.importorskip("torchvision.transforms", reason="torchvision is not installed (python3-torchvision)")
    with wds.ShardWriter("shard-%02d.tar", maxcount=IMAGES // 4, verbose=0) as writer:
        for path in sorted(photos.rglob("*.jpg")):
            writer.write({"__key__": path.stem, "jpg": path.read_bytes(), "cls": int(path.parent.name[-1])})
    preprocess = transforms.Compose([transforms.RandomResizedCrop(64), transforms.ToTensor()])

    def make_loader(batch_size, num_workers):
        dataset = (wds.WebDataset("shard-{00..03}.tar", shardshuffle=False).shuffle(100).decode("pil").to_tuple("jpg", "cls")
                   .map_tuple(preprocess, lambda label: label).batched(batch_size))
        return wds.WebLoader(dataset, batch_size=None, num_workers=num_workers)
    result = rue.tune(make_loader, ["resnet18@h100"], space=dict(batch_size=[8], num_workers=[0, 1, 2, 6]), **SMALL)
    assert result.best["data_images"] == IMAGES and result.config["num_workers"] in (0, 1, 2), "6 workers have only 4 shards"
    assert all(row["num_workers"] != 6 for row in result.rows if row["source"] == "measured")


def test_timm_create_loader(photos):
    data = pytest.importorskip("timm.data", reason="timm is not installed")
    from rue_tuner.timm import tune
    dataset = data.create_dataset("", root=str(photos), split="train")
    arguments = dict(input_size=(3, 64, 64), is_training=True, use_prefetcher=False)
    result = tune(dataset, ["resnet18@h100"], batch_size=8, space=dict(num_workers=[0, 1]), **arguments, **SMALL)
    loader = data.create_loader(dataset, **result.dataloader_kwargs, **arguments)
    assert loader.batch_size == 8 and loader.num_workers == result.config["num_workers"]


def import_lightning():
    if hasattr(torch, "UntypedStorage"):
        torch._UntypedStorage = torch.UntypedStorage  # Debian's torch 1.13 says that it is older, and Lightning believes it
    pytest.importorskip("pytorch_lightning", reason="pytorch-lightning is not installed")


@pytest.fixture
def mnist(monkeypatch, tmp_path):
    """Lightning's own MNISTDataModule, on blank digits."""
    import_lightning()
    from pytorch_lightning.demos.mnist_datamodule import MNISTDataModule
    monkeypatch.setenv("PL_USE_MOCKED_MNIST", "1")
    folder = tmp_path / "data/MNIST/complete"
    folder.mkdir(parents=True)
    for name, images in (("training.pt", 96), ("test.pt", 8)):
        torch.save((torch.zeros(images, 28, 28, dtype=torch.uint8), torch.zeros(images)), folder / name)
    return MNISTDataModule(data_dir=str(tmp_path / "data"), val_split=16, num_workers=1, batch_size=16)


def test_lightning_a_data_module(mnist):
    from rue_tuner.lightning import tune
    result = tune(mnist, ["resnet18@h100"], space=dict(num_workers=[0, 2]), **SMALL)
    assert result.dataloader_kwargs["batch_size"] == 16 and result.best["data_images"] == 80
    assert mnist.num_workers == result.config["num_workers"] in (0, 2) and mnist.train_dataloader().num_workers == mnist.num_workers


def test_lightning_a_data_module_without_num_workers_is_named():
    import_lightning()
    from pytorch_lightning.demos.boring_classes import BoringDataModule
    from rue_tuner.lightning import tune
    with pytest.raises(TypeError, match="BoringDataModule has no attribute num_workers"):
        tune(BoringDataModule(), **SMALL)


def test_hugging_face_a_trainer(tmp_path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    from rue_tuner.attributes import put
    from rue_tuner.hf import tune
    config = transformers.ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=32, patch_size=8)
    data = datasets.Dataset.from_dict(dict(pixel_values=torch.zeros(IMAGES, 3, 32, 32).tolist(), labels=[0, 1] * (IMAGES // 2))).with_format("torch")
    trainer = transformers.Trainer(model=transformers.ViTForImageClassification(config), train_dataset=data,
                                   args=transformers.TrainingArguments(output_dir=str(tmp_path / "out"), per_device_train_batch_size=8, use_cpu=True,
                                                                       report_to=[], max_steps=2))
    prepared = len(trainer.accelerator._dataloaders)
    result = tune(trainer, ["resnet18@h100"], space=dict(num_workers=[0, 1]), out="kept", **SMALL)
    assert result.best["data_images"] == IMAGES and len(trainer.accelerator._dataloaders) == prepared
    assert trainer.args.dataloader_num_workers == result.config["num_workers"] and trainer.args.per_device_train_batch_size == 8
    assert trainer.get_train_dataloader().num_workers == result.config["num_workers"]
    assert {row["num_workers"] for row in result.rows if row["source"] == "measured"} == {0, 1}
    put(trainer.args, "dataloader_num_workers", 7)
    assert rue.load("kept").apply(trainer) is trainer and trainer.args.dataloader_num_workers == result.config["num_workers"]
    trainer.train()


def test_a_table_is_a_data_frame():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    import pipelines
    result = rue.tune(pipelines.make_loader, ["resnet18@h100"], space=dict(batch_size=[16], num_workers=[0, 1]), **SMALL)
    assert isinstance(result.table, pandas.DataFrame) and list(result.table["num_workers"]) == [row["num_workers"] for row in result.rows]


if os.environ.get("RUE_PEERS_REQUIRED"):  # where they must be there, none may be skipped
    for name in ("webdataset", "timm", "pytorch_lightning", "transformers", "accelerate", "datasets", "pandas"):
        __import__(name)
