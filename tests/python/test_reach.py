"""The loaders of 20 well-known training scripts: by the library itself where PyPI has it (tests/install.sh installs them into
build/peers; where they cannot be had, a test is skipped), else by a loader of the same shape. An item takes 5 ms, so that
two workers are nearly twice as fast as none; the answer must be that of a plain loop over loaders made by hand."""
import importlib
import itertools
import math
import multiprocessing
import operator
import os
import random
import re
import time
import types

import pytest
from conftest import ROOT

np = pytest.importorskip("numpy", reason="NumPy is not installed (python3-numpy)")
torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import rue_tuner as rue  # noqa: E402
from torch.utils.data import BatchSampler, ConcatDataset, DataLoader, Dataset, IterableDataset, RandomSampler, Sampler, random_split  # noqa: E402

IMAGES, BATCH, WORKERS = 160, 16, 4
SEARCH = dict(models=["resnet18@h100"], strategy="duel", budget="3trials", space=dict(num_workers=[0, 2]), quiet=True)

pytestmark = [pytest.mark.usefixtures("rue_for_python", "quiet_libraries"),
              pytest.mark.filterwarnings("ignore:This DataLoader will create"), pytest.mark.filterwarnings("ignore:'pin_memory' argument")]
library = importlib.import_module if os.environ.get("RUE_PEERS_REQUIRED") else pytest.importorskip  # then none may be skipped


@pytest.fixture
def quiet_libraries(monkeypatch, tmp_path):
    """Their settings go to a folder of the test, and they do not look for the network."""
    for name in ("HF_HOME", "MPLCONFIGDIR", "YOLO_CONFIG_DIR", "DGLDEFAULTDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    for name, value in dict(CUDA_VISIBLE_DEVICES="", HF_HUB_OFFLINE="1", YOLO_OFFLINE="true", DGLBACKEND="pytorch", NO_ALBUMENTATIONS_UPDATE="1").items():
        monkeypatch.setenv(name, value)
    release = torch.__version__.split("a0")[0]  # Debian's torch 1.13 says that it is older
    monkeypatch.setattr(torch, "__version__", type(torch.__version__)(release))


def load(items=1):
    time.sleep(Slow.item_s * items)


class Slow(Dataset):
    """Items of `make(index)`."""
    item_s = 0.005

    def __init__(self, make, images=IMAGES):
        self.make, self.images = make, images

    def __len__(self):
        return self.images

    def __getitem__(self, index):
        load()
        return self.make(index)


def plain_answer(make, batches=IMAGES // BATCH):
    """The workers of two loaders made by hand whose plain loop is faster. The one without workers stops where it has lost."""
    def seconds(workers, limit):
        start = time.monotonic()
        loaded = sum(1 for _ in itertools.takewhile(lambda _: time.monotonic() - start < limit, itertools.islice(make(workers), batches)))
        assert loaded == batches or time.monotonic() - start > limit
        return time.monotonic() - start
    return 2 if seconds(0, with_workers := seconds(2, math.inf)) > with_workers else 0


def check(search, make, images=IMAGES):
    """Cells with and without workers are ranked, the images and those of a batch are counted, and the answer is that of the plain loop: two
    workers. On a busy machine workers start slowly: then slower items decide."""
    for Slow.item_s in (0.005, 0.01, 0.03):
        result = search()
        assert {row["num_workers"] for row in result.rows if row["source"] == "measured"} == {0, 2}
        assert (result.best["data_images"], result.config["batch_size"]) == (images, BATCH)
        answers = result.config["num_workers"], plain_answer(make)
        if answers == (2, 2):
            return result
    pytest.fail(f"workers of the result and of the plain loop: {answers}")


# Loaders as their scripts make them. `workers` are those of the command line of the script.
LOADERS = []


def script(data=IMAGES, **options):
    def register(make):
        LOADERS.append(pytest.param(make, data, options, id=make.__name__))
        return make
    return register


@script()
def imagenet(workers):
    """PyTorch's own example, with --dummy."""
    datasets, transforms = library("torchvision.datasets"), library("torchvision.transforms")
    slow = transforms.Compose([transforms.Lambda(lambda image: load() or image), transforms.ToTensor()])
    data = datasets.FakeData(IMAGES, (3, 32, 32), 10, slow)
    return DataLoader(data, batch_size=BATCH, shuffle=True, num_workers=workers, pin_memory=True, sampler=None)


def captioned():
    def preprocess(examples):
        load(len(examples["text"]))
        return dict(pixel_values=[torch.zeros(3, 8, 8) for _ in examples["text"]], input_ids=[torch.zeros(77, dtype=torch.long) for _ in examples["text"]])
    return library("datasets").Dataset.from_dict(dict(text=["a photo"] * IMAGES)).with_transform(preprocess)


def stack(examples):
    return {name: torch.stack([example[name] for example in examples]) for name in ("pixel_values", "input_ids")}


@script()
def diffusers_before_prepare(workers):
    """train_text_to_image.py."""
    return DataLoader(captioned(), shuffle=True, collate_fn=stack, batch_size=BATCH, num_workers=workers)


@script()
def diffusers_after_prepare(workers):
    return library("accelerate").Accelerator(cpu=True).prepare(diffusers_before_prepare(workers))


@script()
def timm_prefetch_loader(workers):
    """timm's train.py, with its prefetcher."""
    return library("timm.data").create_loader(Photos(), batch_size=BATCH, num_workers=workers, **TIMM)


@script()
def timm_multi_epochs_loader(workers):
    return library("timm.data").create_loader(Photos(), batch_size=BATCH, num_workers=workers, use_multi_epochs_loader=True, **TIMM)


class Photos(Slow):
    """timm sets the attribute transform."""
    transform = None

    def __init__(self):
        super().__init__(lambda index: (self.transform(library("PIL.Image").new("RGB", (40, 40))), index))


TIMM = dict(input_size=(3, 32, 32), is_training=True, device=torch.device("cpu"))


class Detections(Slow):
    """Items with a width and a height, wide and tall ones in turns."""

    def __init__(self):
        super().__init__(lambda index: dict(inputs=torch.zeros(3, *self.size(index)), data_samples=types.SimpleNamespace(index=index)))

    def size(self, index):
        return (8, 12) if index % 3 else (12, 8)

    def get_data_info(self, index):
        return dict(zip(("height", "width"), self.size(index)))


class AspectRatioBatchSampler(BatchSampler):
    """Batches of wide images and of tall ones; the rest together."""

    def __init__(self, sampler, batch_size, drop_last=False):
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        groups = [], []
        for index in self.sampler:
            info = self.sampler.dataset.get_data_info(index)
            group = groups[info["width"] < info["height"]]
            group.append(index)
            if len(group) == self.batch_size:
                yield list(group)
                group.clear()
        rest = groups[0] + groups[1]
        for start in range(0, len(rest), self.batch_size):
            yield rest[start:start + self.batch_size]

    def __len__(self):
        return -(-len(self.sampler) // self.batch_size)


@script()
def mmdetection(workers):
    """The loader that mmengine builds from the configuration of a detector."""
    runner = library("mmengine.runner").Runner
    return runner.build_dataloader(dict(
        batch_size=BATCH, num_workers=workers, persistent_workers=workers > 0, dataset=Detections(),
        sampler=dict(type="DefaultSampler", shuffle=True), batch_sampler=dict(type=AspectRatioBatchSampler)), seed=0)


class TrainingSampler(Sampler):
    """Without an end."""

    def __init__(self, size):
        self.size = size

    def __iter__(self):
        while True:
            yield from torch.randperm(self.size).tolist()


class Mapped(IterableDataset):
    """The items of a data set in the order of a sampler, split among workers."""

    def __init__(self, dataset, sampler):
        self.dataset, self.sampler = dataset, sampler

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        for index in itertools.islice(self.sampler, worker.id if worker else 0, None, worker.num_workers if worker else 1):
            yield self.dataset[index]


class Grouped(IterableDataset):
    """Collects batches of wide images and of tall ones from a loader of single items."""

    def __init__(self, dataset, batch_size):
        self.dataset, self.batch_size, self.groups = dataset, batch_size, ([], [])

    def __iter__(self):
        for item in self.dataset:
            group = self.groups[item["width"] < item["height"]]
            group.append(item)
            if len(group) == self.batch_size:
                yield list(group)
                group.clear()


def seed_worker(worker):
    np.random.seed(torch.initial_seed() % 2 ** 31)
    random.seed(torch.initial_seed())


def mapped():
    return Mapped(Slow(lambda index: dict(image=torch.zeros(3, 8, 8), width=8 + index % 2, height=8, instances=[])), TrainingSampler(IMAGES))


@script(images=IMAGES)
def detectron2(workers):
    """build_detection_train_loader, which has no end."""
    return Grouped(DataLoader(mapped(), num_workers=workers, collate_fn=operator.itemgetter(0), worker_init_fn=seed_worker), BATCH)


@script(images=IMAGES)
def detectron2_without_groups(workers):
    return DataLoader(mapped(), batch_size=BATCH, drop_last=True, num_workers=workers, collate_fn=lambda batch: batch, worker_init_fn=seed_worker)


class Boxes(Slow):
    """Items as those of YOLO, of several boxes each."""

    def __init__(self):
        super().__init__(lambda index: dict(im_file=f"{index}.jpg", img=torch.zeros(3, 8, 8, dtype=torch.uint8), cls=torch.zeros(3, 1),
                                            bboxes=torch.zeros(3, 4), batch_idx=torch.zeros(3)))

    @staticmethod
    def collate_fn(items):
        columns = {name: [item[name] for item in items] for name in items[0]}
        joined = {name: torch.cat(columns[name]) for name in ("cls", "bboxes", "batch_idx")}
        return dict(columns, img=torch.stack(columns["img"]), **joined)


@script()
def ultralytics(workers):
    return library("ultralytics.data.build").build_dataloader(Boxes(), batch=BATCH, workers=workers, shuffle=True)


@script()
def monai(workers):
    """Two crops of each volume."""
    data, transforms = library("monai.data"), library("monai.transforms")
    slow = transforms.RandLambdad("image", lambda image: load() or image, prob=1.0)
    crops = transforms.RandSpatialCropSamplesd("image", roi_size=(4, 4, 4), num_samples=2, random_size=False)
    volumes = data.CacheDataset([dict(image=torch.zeros(1, 8, 8, 8)) for _ in range(IMAGES)], transforms.Compose([slow, crops]), progress=False)
    return data.DataLoader(volumes, batch_size=BATCH, shuffle=True, num_workers=workers)


@script(images=IMAGES)
def open_clip(workers):
    """Shards; the batches of each worker in an epoch depend on the number of workers, so --train-num-samples is needed."""
    wds = library("webdataset")
    if not os.path.exists("shard-03.tar"):
        with wds.ShardWriter("shard-%02d.tar", maxcount=IMAGES // 4, verbose=0) as writer:
            for index in range(IMAGES):
                writer.write({"__key__": f"{index:03}", "pth": torch.zeros(3, 8, 8), "txt": "a photo"})
    slow = wds.map_dict(image=lambda image: load() or image, text=lambda text: torch.zeros(77))
    data = wds.DataPipeline(wds.SimpleShardList("shard-{00..03}.tar"), wds.split_by_node, wds.split_by_worker, wds.tarfile_to_samples(),
                            wds.shuffle(20), wds.decode(), wds.rename(image="pth", text="txt"), slow, wds.to_tuple("image", "text"),
                            wds.batched(BATCH, partial=False)).with_epoch(-(-IMAGES // (BATCH * max(1, workers))))
    return wds.WebLoader(data, batch_size=None, shuffle=False, num_workers=workers, persistent_workers=workers > 0)


@script()
def pytorch_geometric(workers):
    """Graphs of several nodes each."""
    data, loader = library("torch_geometric.data"), library("torch_geometric.loader")
    graphs = Slow(lambda index: data.Data(x=torch.zeros(3 + index % 5, 4), edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([index % 2])))
    return loader.DataLoader(graphs, batch_size=BATCH, shuffle=True, num_workers=workers, follow_batch=["x"])


@script()
def dgl(workers):
    library("dgl")
    graph, loader = library("dgl").graph, library("dgl.dataloading").GraphDataLoader
    return loader(Slow(lambda index: (graph(([0, 1], [1, 2])), index % 2)), batch_size=BATCH, shuffle=True, drop_last=False, num_workers=workers)


@script(data=IMAGES + 5)
def time_series_library(workers):
    """Four series of an item, a last batch that is dropped."""
    series = Slow(lambda index: tuple(np.zeros(shape, dtype=np.float32) for shape in ((96, 7), (144, 7), (96, 4), (144, 4))), IMAGES + 5)
    return DataLoader(series, batch_size=BATCH, shuffle=True, num_workers=workers, drop_last=True)


class GroupedBatchSampler(BatchSampler):
    """Full batches of one group each; what is missing at the end is repeated."""

    def __init__(self, sampler, groups, batch_size):
        self.sampler, self.groups, self.batch_size = sampler, groups, batch_size

    def __iter__(self):
        waiting, seen, batches = {}, {}, 0
        for index in self.sampler:
            group = self.groups[index]
            waiting.setdefault(group, []).append(index)
            seen.setdefault(group, []).append(index)
            if len(waiting[group]) == self.batch_size:
                yield waiting.pop(group)
                batches += 1
        for group in sorted(waiting, key=lambda group: -len(waiting[group]))[:len(self) - batches]:
            yield (waiting[group] + seen[group])[:self.batch_size]

    def __len__(self):
        return len(self.sampler) // self.batch_size


def by_members(batch):
    return tuple(zip(*batch))


@script()
def torchvision_detection(workers):
    """references/detection/train.py, with --aspect-ratio-group-factor."""
    photos = Slow(lambda index: (torch.zeros(3, 8 + index % 3, 8), dict(boxes=torch.zeros(2, 4), image_id=index)))
    sampler = GroupedBatchSampler(RandomSampler(photos), [index % 3 for index in range(IMAGES)], BATCH)
    return DataLoader(photos, batch_sampler=sampler, num_workers=workers, collate_fn=by_members)


@script()
def torchvision_detection_without_groups(workers):
    photos = Slow(lambda index: (torch.zeros(3, 8 + index % 3, 8), dict(boxes=torch.zeros(2, 4), image_id=index)))
    sampler = BatchSampler(RandomSampler(photos), BATCH, drop_last=True)
    return DataLoader(photos, batch_sampler=sampler, num_workers=workers, collate_fn=by_members)


@script()
def segmentation_models_pytorch(workers):
    """Pairs of grey images and masks: tensors of three axes each, as kornia's are."""
    return DataLoader(Slow(lambda index: (torch.zeros(8, 8), torch.zeros(8, 8))), batch_size=BATCH, shuffle=True, num_workers=workers)


@pytest.mark.parametrize("make, data, options", LOADERS)
def test_a_loader_as_it_is(make, data, options):
    result = check(lambda: rue.tune(make(WORKERS), **options, **SEARCH), make, data)
    before, iterator = set(multiprocessing.active_children()), iter(result.apply(make(WORKERS)))
    next(iterator)
    assert len(set(multiprocessing.active_children()) - before) == 2


# Objects that make loaders, for the adapters.
def test_timm_train():
    create_loader = library("timm.data").create_loader
    from rue_tuner.timm import tune
    result = check(lambda: tune(Photos(), batch_size=BATCH, **TIMM, **SEARCH),
                   lambda workers: create_loader(Photos(), batch_size=BATCH, num_workers=workers, **TIMM))
    loader = create_loader(Photos(), **result.dataloader_kwargs, **TIMM).loader
    assert (loader.num_workers, loader.batch_size) == (2, BATCH)


def test_lightning_hydra_template():
    """A data module with hyperparameters, which computes the batch size of a device in setup."""
    lightning = library("pytorch_lightning")
    from rue_tuner.lightning import tune

    class MNISTDataModule(lightning.LightningDataModule):
        def __init__(self, batch_size=BATCH, num_workers=WORKERS, pin_memory=False):
            super().__init__()
            self.save_hyperparameters(logger=False)
            self.batch_size_per_device, self.data_train = batch_size, None

        def setup(self, stage=None):
            if self.trainer is not None:
                self.batch_size_per_device = self.hparams.batch_size // self.trainer.world_size
            if not self.data_train:
                digits = Slow(lambda index: (torch.zeros(1, 28, 28), index % 10))
                self.data_train, _ = random_split(ConcatDataset([digits, digits]), [IMAGES, IMAGES])

        def train_dataloader(self):
            return DataLoader(self.data_train, batch_size=self.batch_size_per_device, num_workers=self.hparams.num_workers,
                              pin_memory=self.hparams.pin_memory, shuffle=True)
    def make(workers):
        again = MNISTDataModule(num_workers=workers)
        again.setup()
        return again.train_dataloader()
    module = MNISTDataModule()
    check(lambda: tune(module, **SEARCH), make)
    assert module.hparams.num_workers == module.train_dataloader().num_workers == 2 and module.hparams.batch_size == BATCH


def image_classification():
    """run_image_classification.py."""
    def transform(examples):
        load(len(examples["label"]))
        return dict(pixel_values=[torch.zeros(3, 8, 8) for _ in examples["label"]], label=examples["label"])

    def collate(examples):
        return dict(pixel_values=torch.stack([one["pixel_values"] for one in examples]), labels=torch.tensor([one["label"] for one in examples]))
    data = library("datasets").Dataset.from_dict(dict(label=[0, 1] * (IMAGES // 2)))
    data.set_transform(transform)
    return "Trainer", data, collate, dict(remove_unused_columns=False)


def glue():
    """run_glue.py: sentences of any length, with a column that the model does not use."""
    tokenizers, transformers = library("tokenizers"), library("transformers")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(tokenizers.models.WordLevel({"[PAD]": 0}, "[PAD]")),
                                                     pad_token="[PAD]")
    data = Slow(lambda index: dict(sentence="a b", input_ids=[1] * (2 + index % 7), attention_mask=[1] * (2 + index % 7), label=index % 2))
    return "Trainer", data, transformers.DataCollatorWithPadding(tokenizer), {}


def whisper():
    """run_speech_recognition_seq2seq.py."""
    transformers = library("transformers")

    def collate(features):
        size = max(len(one["labels"]) for one in features)
        labels = torch.tensor([one["labels"] + [-100] * (size - len(one["labels"])) for one in features])
        return transformers.BatchFeature(dict(input_features=torch.stack([torch.tensor(one["input_features"]) for one in features]), labels=labels))
    data = Slow(lambda index: dict(input_features=np.zeros((80, 30), dtype=np.float32), labels=[1] * (2 + index % 7)))
    return "Seq2SeqTrainer", data, collate, dict(remove_unused_columns=False)


class Model(torch.nn.Linear):
    def __init__(self):
        super().__init__(2, 2)

    def forward(self, input_ids=None, attention_mask=None, pixel_values=None, input_features=None, label=None, labels=None):
        return dict(loss=self.weight.sum())


@pytest.mark.parametrize("script", [image_classification, glue, whisper])
def test_a_trainer(script):
    transformers = library("transformers")
    library("accelerate")
    from rue_tuner.hf import tune
    kind, data, collate, options = script()

    def make(workers):
        arguments = getattr(transformers, kind.replace("Trainer", "TrainingArguments"))("out", per_device_train_batch_size=BATCH, dataloader_num_workers=workers,
                                                                  report_to=[], use_cpu=True, **options)
        return getattr(transformers, kind)(Model(), arguments, train_dataset=data, data_collator=collate)
    trainer = make(WORKERS)
    check(lambda: tune(trainer, **SEARCH), lambda workers: make(workers).get_train_dataloader())
    assert trainer.args.dataloader_num_workers == trainer.get_train_dataloader().num_workers == 2
    assert trainer.args.per_device_train_batch_size == BATCH


# Factories of at most five lines, from docs/python.md; what else their scripts define is here.
def nnunet():
    """Its own processes: not a DataLoader."""
    loading = "batchgenerators.dataloading."
    base = library(loading + "data_loader").DataLoader

    class nnUNetDataLoader(base):
        def __init__(self, data, batch_size):
            super().__init__(data, batch_size, infinite=True)
            self.indices = list(data)

        def generate_train_batch(self):
            keys = self.get_indices()
            load(len(keys))
            return dict(data=torch.zeros(len(keys), 1, 4, 4, 4), target=[torch.zeros(len(keys), 1, 4, 4, 4)] * 2, keys=keys)
    return "nnU-Net", dict(images=IMAGES), dict(
        nnUNetDataLoader=nnUNetDataLoader, dataset=range(IMAGES), arguments=(),
        SingleThreadedAugmenter=library(loading + "single_threaded_augmenter").SingleThreadedAugmenter,
        NonDetMultiThreadedAugmenter=library(loading + "nondet_multi_threaded_augmenter").NonDetMultiThreadedAugmenter)


def fastai():
    loader = library("fastai.data.load").DataLoader(Slow(lambda index: (torch.zeros(3, 8, 8), index % 10)), bs=BATCH, shuffle=True, num_workers=WORKERS)
    return "fastai", {}, dict(learn=types.SimpleNamespace(dls=types.SimpleNamespace(train=loader)))


def nanogpt():
    """get_batch, without a loader."""
    tokens = np.zeros(4096, dtype=np.uint16)

    def get_batch(split, block_size=32):
        load(BATCH)
        starts = torch.randint(len(tokens) - block_size, (BATCH,)).tolist()
        return tuple(torch.stack([torch.from_numpy(tokens[i + k:i + k + block_size].astype(np.int64)) for i in starts]) for k in (0, 1))
    return "nanoGPT", dict(images=IMAGES), dict(get_batch=get_batch, IterableDataset=IterableDataset, DataLoader=DataLoader)


@pytest.mark.parametrize("script", [nnunet, fastai, nanogpt])
def test_a_factory_of_the_page(script):
    name, options, names = script()
    code = re.search(rf"```py\n# {name}\n(.*?)```", (ROOT / "docs/python.md").read_text(), re.DOTALL).group(1)
    assert code.count("\n") <= 5
    exec(code, names)
    search = {**SEARCH, **options, "space": dict(batch_size=[BATCH], num_workers=[0, 2])}
    check(lambda: rue.tune(names["make_loader"], **search), lambda workers: names["make_loader"](BATCH, workers))
