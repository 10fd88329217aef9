"""Data that the tuner names: folders of photos, and rue's tensor files, loaded by a plain DataLoader."""
import contextlib
import copy
import hashlib
import json
import math
import multiprocessing
import os
import struct

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from . import knobs, machine
from .augmentation import random_transforms
from .errors import Refused, one_line
from .loaders import Loading, Subject

try:
    from torchvision import transforms as T, __version__ as torchvision_version
except ImportError:
    T = torchvision_version = None

RESIZE, CROP, MEAN, STD = 256, 224, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SUFFIXES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def normalize(levels):
    """ToTensor and Normalize without torchvision: 8-bit levels in CHW order to float32."""
    mean, std = (np.array(v, np.float32).reshape(3, 1, 1) for v in (MEAN, STD))
    return torch.from_numpy((levels.astype(np.float32) / 255 - mean) / std)


def as_tensor(levels, batch_dtype):
    """8-bit levels as a tensor of a batch: normalised float32, or uint8, which the GPU normalises."""
    return torch.from_numpy(np.array(levels, order="C")) if batch_dtype == "uint8" else normalize(levels)


def transform_plain(image, batch_dtype="float32"):
    """Resize(256), CenterCrop(224) and ToTensor, Normalize, or PILToTensor, with Pillow and NumPy only."""
    short = min(image.size)
    wide, high = (int(RESIZE * v / short) for v in image.size)
    left, top = round((wide - CROP) / 2), round((high - CROP) / 2)
    image = image.resize((wide, high), 2).crop((left, top, left + CROP, top + CROP))  # 2: bilinear
    return as_tensor(np.asarray(image).transpose(2, 0, 1), batch_dtype)


def transform_for(batch_dtype, augment=None):
    if T is None and not augment:
        return lambda image: transform_plain(image, batch_dtype)
    images = random_transforms(augment, CROP) if augment else [T.Resize(RESIZE), T.CenterCrop(CROP)]
    last = [T.PILToTensor()] if batch_dtype == "uint8" else [T.ToTensor(), T.Normalize(MEAN, STD)]
    return T.Compose([*images, *last])


class PhotoFolder(Dataset):
    """One sub-folder per class, in the order of torchvision's ImageFolder."""

    def __init__(self, variant, batch_dtype="float32", augment=None):
        from PIL import Image
        self.read, self.transform, root, self.samples = Image.open, transform_for(batch_dtype, augment), variant["path"], []
        self.item_bytes = 3 * CROP * CROP * np.dtype(batch_dtype).itemsize
        for label, name in enumerate(sorted(entry.name for entry in os.scandir(root) if entry.is_dir())):
            for folder, _, names in sorted(os.walk(os.path.join(root, name), followlinks=True)):
                self.samples += [(f"{folder}/{n}", label) for n in sorted(names) if n.lower().endswith(SUFFIXES)]
        if not self.samples:
            raise Refused(f"{root}: no images in sub-folders; put the images of each class into a sub-folder")
        self.files = [(path, os.stat(path).st_size) for path, _ in self.samples]
        identity = sorted((os.path.relpath(path, root), size) for path, size in self.files)
        self.digest = hashlib.blake2b(repr(identity).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()

    def __len__(self):
        return len(self.samples)

    def name(self, index):
        return self.samples[index][0]

    def __getitem__(self, index):
        path, label = self.samples[index]
        with open(path, "rb") as file:
            return self.transform(self.read(file).convert("RGB")), label


class TensorFile(Dataset):
    """rue's packed tensor file: a header, fixed-size records from byte `data`, then labels, checksums, classes."""

    def __init__(self, variant, batch_dtype="float32", augment=None):
        if augment:
            raise Refused(f"{variant['path']}: the crop of preprocessed images is fixed: leave out --transform train")
        self.path, self.map, self.batch_dtype = variant["path"], None, batch_dtype
        with open(self.path, "rb") as file:
            header, size = file.read(4096).ljust(4096, b"\0"), os.fstat(file.fileno()).st_size
            fields = struct.unpack_from("<8s2IQ4I6Q", header)
            magic, version, dtype, self.count, *shape, _, self.stride, self.data, labels, _, _, file_bytes = fields
            if magic != b"RUETENSR" or version != 2:
                raise Refused(f"{self.path}: not a rue tensor file of version 2")
            if size != file_bytes:
                raise Refused(f"{self.path}: has {size} bytes, but its header says {file_bytes}")
            file.seek(labels)
            self.labels = np.frombuffer(file.read(4 * self.count), "<i4").tolist()
        self.dtype, self.shape = np.dtype(("<f4", "u1")[dtype]), tuple(shape)
        self.bytes, self.item_bytes = (math.prod(shape) * np.dtype(d).itemsize for d in (self.dtype, batch_dtype))
        if batch_dtype == "uint8" and self.dtype != np.uint8:
            raise Refused(f"{self.path}: float32 cannot be made uint8: prepare it again, or leave out --batch-dtype uint8")
        sound = 0 < self.bytes <= self.stride and 0 < self.count == len(self.labels) and shape[0] == 3
        if not sound or self.data + self.count * self.stride > size:
            raise Refused(f"{self.path}: damaged header")
        if variant.get("dtype") not in (None, "", self.dtype.name):
            raise Refused(f"{self.path}: its dtype is {self.dtype.name}")
        self.files, self.digest = [(self.path, size)], hashlib.blake2b(header, digest_size=8).hexdigest()

    def __len__(self):
        return self.count

    def name(self, index):
        return f"{self.path}: item {index}"

    def __getitem__(self, index):
        if self.map is None:
            self.map = np.memmap(self.path, np.uint8, "r")  # in each worker by itself
        start = self.data + index * self.stride
        values = self.map[start:start + self.bytes].view(self.dtype).reshape(self.shape)
        image = torch.from_numpy(np.array(values)) if self.dtype != np.uint8 else as_tensor(values, self.batch_dtype)
        return image, self.labels[index]


class Checked(Dataset):
    """The items of `data`. A damaged item is an error that names it; or the next item replaces it, and it is counted."""

    def __init__(self, data, replace):
        self.data, self.replace = data, replace
        self.bad = multiprocessing.get_context("fork").Value("q", 0)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        for i in (k % len(self.data) for k in range(index, index + len(self.data))):
            try:
                return self.data[i]
            except Exception as error:
                if not self.replace:
                    raise Refused(f"{self.data.name(i)}: {one_line(error)}")
                with self.bad.get_lock():
                    self.bad.value += i == index  # the next item may be damaged, too
        raise Refused("no item can be read")


class Order(Sampler):
    """`images` indices of this rank's share, epoch by epoch, with a new permutation for each."""

    def __init__(self, count, images, workload):
        self.count, self.left, self.workload = count, images, workload
        self.rank, self.ranks, self.epoch = (workload.get(key, default) for key, default in
                                             (("rank", 0), ("world_size", 1), ("epoch", 0)))
        if not 0 <= self.rank < min(self.ranks, count):
            raise Refused(f"no images for rank {self.rank} of {self.ranks}")
        share = workload.get("share", "strided")
        if share == "strided":
            self.slice = slice(self.rank, None, self.ranks)
        elif share == "contiguous":
            size, longer = divmod(count, self.ranks)
            first = self.rank * size + min(self.rank, longer)
            self.slice = slice(first, first + size + (self.rank < longer))
        else:
            raise Refused(f"ranks cannot share {share!r} here: use strided or contiguous shares")

    def __iter__(self):
        everything = range(self.count)
        if self.workload.get("shuffle", True):
            generator = torch.Generator().manual_seed((self.workload.get("seed", 1) + self.epoch) % 2 ** 64)
            everything = torch.randperm(self.count, generator=generator).tolist()
        share = everything[self.slice][:self.left]
        self.epoch, self.left = self.epoch + 1, self.left - len(share)
        yield from share

    def __len__(self):
        return min(self.left, len(range(self.count)[self.slice]))


class StoredLoading(Loading):
    """A Loading that counts the damaged images."""

    def __init__(self, loader, config, data):
        super().__init__(loader, config)
        self.data = data

    def counts(self):
        return dict(bad_images=self.data.bad.value)


class StoredData(Subject):
    """The data of each request: raw folders and preprocessed tensor files."""
    kinds = {"raw folder": PhotoFolder, "preprocessed tensor": TensorFile}

    def __init__(self):
        self.opened = {}
        pinning = dict(pin_memory=[True]) if torch.cuda.is_available() else {}
        self.space = dict(batch_size=[32, 64, 128, 256, 512], num_workers=knobs.default_workers(), prefetch_factor=[2], **pinning)

    def hello(self):
        return dict(machine=dict(machine.machine_facts(), torch=torch.__version__, torchvision=torchvision_version))

    def find(self, request):
        variant, workload = request["variant"], request.get("workload", {})
        dtype, augment = workload.get("batch_dtype", "float32"), workload.get("augment")
        if dtype not in ("float32", "uint8"):
            raise Refused(f"batches cannot be of {dtype!r}")
        key, name = json.dumps([variant, dtype, augment], sort_keys=True), f"{variant['mode']} {variant['format']}"
        if name not in self.kinds:
            raise Refused(f"cannot read {name}: give {' or '.join(self.kinds)}")
        if key not in self.opened:
            self.opened[key] = self.kinds[name](variant, dtype, augment)
        return self.opened[key]

    def open(self, request):
        self.opened.clear()  # the files may have changed
        data, workload = self.find(request), request.get("workload", {})
        cache, total = workload.get("cache", "warm"), sum(size for _, size in data.files)
        if total > machine.available_bytes() // 2:
            cache = "as-is"
        for path, _ in data.files if cache == "warm" else []:
            with open(path, "rb", buffering=0) as file:
                while file.read(1 << 20):
                    pass
        with contextlib.suppress(Exception):
            copy.copy(data)[0]  # builds before the trials what is built on first use
        return dict(status="ok", images=len(data), bytes=total, digest=data.digest,
                    batch_dtype=workload.get("batch_dtype", "float32"),  # shows that this runner knows the word
                    transform=workload.get("transform", "eval"),
                    cache="as-is" if cache == "cold" else cache, cache_reason="the PyTorch runner cannot evict data from memory")

    def epoch_images(self, request):
        return len(self.find(request))

    def item_bytes(self, request):
        return self.find(request).item_bytes

    def drops_last(self, request):
        return request.get("workload", {}).get("drop_last")

    def load_request(self, request, images):
        data, workload, config = self.find(request), request.get("workload", {}), request["config"]
        if workload.get("decode", "exact") != "exact":
            raise Refused("PIL can only decode exactly: leave out --decode fast")
        checked = Checked(copy.copy(data), workload.get("bad_images") == "replace")  # a copy: its map is closed with the trial
        workers = config.get("num_workers", 0)
        options = dict(prefetch_factor=config.get("prefetch_factor", 2), multiprocessing_context="fork") if workers else {}
        loader = DataLoader(checked, batch_size=config["batch_size"], sampler=Order(len(data), images, workload),
                            num_workers=workers, pin_memory=torch.cuda.is_available() and config.get("pin_memory", True), **options)
        return StoredLoading(loader, config, checked)
