"""What real.py measures: loaders as users write them, steps that sleep and steps that compute, and the plain loop over both.

A loader is a function make(batch_size, num_workers), as a user's script has one. make_loader(NAME, photos, folder) returns it."""
import gc
import pathlib
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets, transforms

SHARDS = 16  # of WebDataset: there cannot be more workers than shards
SLEEP_S = {"quick": 0.0005, "middle": 0.0015, "slow": 0.003, "slowest": 0.006}  # an image
BATCH_S = 0.002                                                              # more for each batch
WIDTHS = {"net4": 4, "net12": 12, "net24": 24, "net48": 48}                  # channels of networks that are trained on the CPU


def augmentation():
    return transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor()])


def torch_loader(photos, folder):
    data = datasets.ImageFolder(photos, augmentation())
    return lambda batch_size, num_workers: DataLoader(data, batch_size=batch_size, num_workers=num_workers, shuffle=True)


class Tensors(Dataset):
    """A file of uint8 tensors, which each item maps to float32."""

    def __init__(self, path, labels):
        import numpy
        self.levels, self.labels = numpy.load(path, mmap_mode="r"), labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return torch.from_numpy(self.levels[index].copy()).float().div_(255), self.labels[index]


def tensor_loader(photos, folder):
    import numpy
    path, source = folder / "tensors.npy", datasets.ImageFolder(photos, transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224),
                                                                                           transforms.PILToTensor()]))
    if not path.exists():
        partial = folder / "partial.npy"
        levels = numpy.lib.format.open_memmap(partial, "w+", numpy.uint8, (len(source), 3, 224, 224))
        for row, (image, _) in zip(levels, source):
            row[:] = image.numpy()
        levels.flush()
        partial.rename(path)
    data = Tensors(path, source.targets)
    return lambda batch_size, num_workers: DataLoader(data, batch_size=batch_size, num_workers=num_workers, shuffle=True)


def web_loader(photos, folder):
    import webdataset
    shards, source, transform = folder / "shards", datasets.ImageFolder(photos), augmentation()
    if not shards.exists():
        partial = folder / "partial-shards"
        partial.mkdir(exist_ok=True)
        with webdataset.ShardWriter(f"{partial}/%02d.tar", maxcount=-(-len(source) // SHARDS), verbose=0) as writer:
            for i in torch.randperm(len(source), generator=torch.Generator().manual_seed(1)).tolist():
                path, label = source.samples[i]
                writer.write({"__key__": f"{i:06}", "jpg": pathlib.Path(path).read_bytes(), "cls": label})
        partial.rename(shards)
    urls = sorted(map(str, shards.glob("*.tar")))

    def make(batch_size, num_workers):
        data = (webdataset.WebDataset(urls, shardshuffle=False).shuffle(100).decode("pil").to_tuple("jpg", "cls")
                .map_tuple(transform, lambda label: label).batched(batch_size))
        return webdataset.WebLoader(data, batch_size=None, num_workers=num_workers)
    return make


def timm_loader(photos, folder):
    from timm.data import create_dataset, create_loader
    data = create_dataset("", root=str(photos), split="train")
    return lambda batch_size, num_workers: create_loader(data, input_size=(3, 224, 224), batch_size=batch_size, is_training=True,
                                                         num_workers=num_workers, persistent_workers=False, use_prefetcher=False)


def rue_loader(photos, folder):
    from rue_tuner import Loader
    return lambda batch_size, num_workers: Loader(photos, batch_size=batch_size, num_workers=num_workers, transform="train", drop_last=False)


LOADERS = dict(torch=torch_loader, tensor=tensor_loader, web=web_loader, timm=timm_loader, rue=rue_loader)
REBUILT = {"torch", "tensor", "rue"}  # rue.tune gets a loader, and makes others like it; the others are factories


def make_loader(name, photos, folder):
    folder.mkdir(parents=True, exist_ok=True)
    return LOADERS[name](photos, folder)


def tuned(name, make):
    """What rue.tune gets."""
    return make(32, 0) if name in REBUILT else make


def sleeping_step(seconds):
    return lambda batch: time.sleep(BATCH_S + seconds * len(batch[0]))


def computing_step(width):
    """Trains a small network on the CPU."""
    net = nn.Sequential(nn.Conv2d(3, width, 7, stride=4), nn.ReLU(), nn.Conv2d(width, 2 * width, 3, stride=2), nn.ReLU(),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * width, 1000))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def step(batch):
        images, labels = batch
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(images), torch.as_tensor(labels)).backward()
        optimizer.step()
    return step


def make_steps(kind):
    """{name of the model: step}"""
    if kind == "sleep":
        return {name: sleeping_step(seconds) for name, seconds in SLEEP_S.items()}
    return {name: computing_step(width) for name, width in WIDTHS.items()}


def plain_loop(make, batch_size, num_workers, step):
    """An epoch as a script has it. Returns seconds from the start of its workers to their end, seconds until the first batch, and images."""
    loader, first_s, images = make(batch_size, num_workers), None, 0
    start = time.perf_counter()
    iterator = iter(loader)
    for batch in iterator:
        if first_s is None:
            first_s = time.perf_counter() - start
        images += len(batch[0])
        step(batch)
    del iterator, batch, loader
    seconds = time.perf_counter() - start
    gc.collect()
    return seconds, first_s, images
