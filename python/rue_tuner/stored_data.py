"""Data that the tuner names: folders of photos, rue's tensor files and Zarr stores, loaded by a plain DataLoader."""
import contextlib
import copy
import hashlib
import itertools
import json
import math
import multiprocessing
import os
import struct
import sys

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


def refuse_augmenting(variant, augment):
    if augment:
        raise Refused(f"{variant['path']}: the crop of preprocessed images is fixed: leave out --transform train", "usage")


def refuse_uint8(path, dtype, batch_dtype):
    if batch_dtype == "uint8" and dtype != np.uint8:
        raise Refused(f"{path}: {dtype.name} cannot be made uint8: prepare it again, or leave out --batch-dtype uint8",
                      "usage")


def digest(facts):
    return hashlib.blake2b(repr(facts).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


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
        self.digest = digest(sorted((os.path.relpath(path, root), size) for path, size in self.files))

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
        refuse_augmenting(variant, augment)
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
        refuse_uint8(self.path, self.dtype, batch_dtype)
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


IMAGES, LABELS = ("images", "data", "x"), ("labels", "label", "y", "targets")


def import_zarr():
    try:
        import zarr
    except ImportError as error:
        raise Refused(f"{sys.executable} cannot read Zarr stores ({one_line(error)}): install the package zarr, such as by 'pip install zarr'")
    return zarr


def find_array(path, group, key, names):
    """The name of the array `key` of a group, or of the first of `names`; None: there is none."""
    found = next((name for name in ([key] if key else names) if name in group and hasattr(group[name], "chunks")), None)
    if key and not found:
        raise Refused(f"{path} has no array {key!r}: name one of its arrays")
    return found


def chunk_names(folder, array):
    """The files of the chunks of an array, or of its shards, if none is missing."""
    old = os.path.join(folder, ".zarray")
    with open(old if os.path.exists(old) else os.path.join(folder, "zarr.json"), encoding="utf-8") as file:
        metadata = json.load(file)
    encoding = metadata.get("chunk_key_encoding", dict(name="v2"))
    plain = encoding["name"] == "v2"
    separator = metadata.get("dimension_separator") or encoding.get("configuration", {}).get("separator", "." if plain else "/")
    sizes = getattr(array, "shards", None) or array.chunks
    places = itertools.product(*(range(-(-length // size)) for length, size in zip(array.shape, sizes)))
    return [separator.join([*([] if plain else ["c"]), *map(str, place)]) for place in places]


class ZarrArray(Dataset):
    """A Zarr array of items, or a group with one and with labels. The package zarr reads it, a row of chunks at a time."""

    def __init__(self, variant, batch_dtype="float32", augment=None):
        refuse_augmenting(variant, augment)
        zarr, self.path, self.batch_dtype, self.row = import_zarr(), variant["path"], batch_dtype, None
        try:
            node = zarr.open(self.path, mode="r")
        except Exception as error:
            raise Refused(f"{self.path}: {one_line(error)}")
        labels, self.folder = None, self.path
        if not hasattr(node, "chunks"):
            name = find_array(self.path, node, variant.get("image_key"), IMAGES)
            if not name:
                raise Refused(f"{self.path} has no array {', '.join(IMAGES[:-1])} or {IMAGES[-1]}: name one of its arrays")
            labels = find_array(self.path, node, variant.get("label_key"), LABELS)
            labels, node, self.folder = labels and node[labels], node[name], os.path.join(self.path, name)
        self.dtype, self.count, self.block = np.dtype(node.dtype), node.shape[0], node.chunks[0]
        if self.dtype.name not in ("float32", "float16", "uint8") or not 2 <= len(node.shape) <= 4:
            raise Refused(f"{self.path}: items of {self.dtype.name} with {len(node.shape) - 1} axes cannot be read")
        refuse_uint8(self.path, self.dtype, batch_dtype)
        if labels is not None and (labels.shape != (self.count,) or np.dtype(labels.dtype).kind not in "iu"):
            raise Refused(f"{self.path}: its labels are not a whole number for each of its {self.count} items")
        self.labels = [0] * self.count if labels is None else labels[:].tolist()
        self.shape = (1,) * (4 - len(node.shape)) + tuple(node.shape[1:])
        self.item_bytes = math.prod(self.shape) * np.dtype(batch_dtype).itemsize
        self.files = [(path, os.stat(path).st_size) for folder, _, names in sorted(os.walk(self.folder))
                      for path in (os.path.join(folder, name) for name in sorted(names))]
        sizes = {os.path.relpath(path, self.folder): size for path, size in self.files}
        self.digest = digest((sizes, node.dtype, node.shape, node.chunks, self.labels))
        chunks = chunk_names(self.folder, node)
        missing = [name for name in chunks if name not in sizes]
        self.missing = missing and f"chunks missing: {len(missing)} of {len(chunks)}, such as {missing[0]}"
        self.facts = dict(dtype=self.dtype.name, layout="x".join(map(str, node.chunks)))
        if missing:
            self.facts["note"] = f"{self.missing}: their items have the fill value {node.fill_value}"

    def __len__(self):
        return self.count

    def name(self, index):
        return f"{self.path}: item {index}"

    def __getitem__(self, index):
        number = index // self.block
        if self.row is None or self.row[0] != number:  # in each worker by itself
            array = import_zarr().open(self.folder, mode="r")
            self.row = number, array[number * self.block:(number + 1) * self.block]
        values = self.row[1][index % self.block].reshape(self.shape)
        if self.dtype == np.uint8 and (self.shape[0] == 3 or self.batch_dtype == "uint8"):
            return as_tensor(values, self.batch_dtype), self.labels[index]
        scale = 255 if self.dtype == np.uint8 else 1
        return torch.from_numpy(values.astype(np.float32) / np.float32(scale)), self.labels[index]


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
    """`images` indices of this rank's share, epoch by epoch, with a new permutation for each: of blocks, and within them."""

    def __init__(self, count, images, workload, block=1):
        self.count, self.left, self.workload, self.block = count, images, workload, block
        self.rank, self.ranks, self.epoch = (workload.get(key, default) for key, default in
                                             (("rank", 0), ("world_size", 1), ("epoch", 0)))
        if not 0 <= self.rank < min(self.ranks, count):
            raise Refused(f"no images for rank {self.rank} of {self.ranks}: use fewer ranks", "usage")
        share = workload.get("share", "strided")
        if share == "strided":
            self.slice = slice(self.rank, None, self.ranks)
        elif share == "contiguous":
            size, longer = divmod(count, self.ranks)
            first = self.rank * size + min(self.rank, longer)
            self.slice = slice(first, first + size + (self.rank < longer))
        else:
            raise Refused(f"ranks cannot share {share!r} here: use strided or contiguous shares", "usage")

    def __iter__(self):
        everything = range(self.count)
        if self.workload.get("shuffle", True):
            generator = torch.Generator().manual_seed((self.workload.get("seed", 1) + self.epoch) % 2 ** 64)
            everything = (torch.randperm(-(-self.count // self.block), generator=generator) * self.block).tolist()
            if self.block > 1:
                everything = [first + i for first in everything
                              for i in torch.randperm(min(self.block, self.count - first), generator=generator).tolist()]
        share = everything[self.slice][:self.left]
        self.epoch, self.left = self.epoch + 1, self.left - len(share)
        yield from share

    def __len__(self):
        return min(self.left, len(range(self.count)[self.slice]))


def check_decode(workload):
    if workload.get("decode", "exact") != "exact":
        raise Refused("PIL can only decode exactly: leave out --decode fast", "usage")


class StoredLoading(Loading):
    """A Loading that counts the damaged images."""

    def __init__(self, loader, config, data):
        super().__init__(loader, config)
        self.data = data

    def counts(self):
        return dict(bad_images=self.data.bad.value)


class StoredData(Subject):
    """The data of each request: raw folders, preprocessed tensor files and Zarr stores."""
    kinds = {"raw folder": PhotoFolder, "preprocessed tensor": TensorFile, "preprocessed zarr": ZarrArray}

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
        missing = getattr(self.opened[key], "missing", None)
        if missing and workload.get("missing_chunks") == "error":
            raise Refused(f"{variant['path']}: {missing}; write them again, or let missing chunks have the fill value")
        return self.opened[key]

    def open(self, request):
        self.opened.clear()  # the files may have changed
        data, workload = self.find(request), request.get("workload", {})
        check_decode(workload)
        Order(len(data), 0, workload)  # refuses what the ranks cannot share
        cache, total = workload.get("cache", "warm"), sum(size for _, size in data.files)
        if total > machine.available_bytes() // 2:
            cache = "as-is"
        for path, _ in data.files if cache == "warm" else []:
            with open(path, "rb", buffering=0) as file:
                while file.read(1 << 20):
                    pass
        with contextlib.suppress(Exception):
            copy.copy(data)[0]  # builds before the trials what is built on first use
        batch_dtype = workload.get("batch_dtype", "float32")
        facts, values = getattr(data, "facts", {}), data.item_bytes // np.dtype(batch_dtype).itemsize
        if values != 3 * CROP * CROP:
            facts = dict(facts, item_values=values)
        return dict(facts, status="ok", images=len(data), bytes=total, digest=data.digest,
                    batch_dtype=batch_dtype,  # shows that this runner knows the word
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
        check_decode(workload)
        checked = Checked(copy.copy(data), workload.get("bad_images") == "replace")  # a copy: its map is closed with the trial
        workers = config.get("num_workers", 0)
        options = dict(prefetch_factor=config.get("prefetch_factor", 2), multiprocessing_context="fork") if workers else {}
        loader = DataLoader(checked, batch_size=config["batch_size"], sampler=Order(len(data), images, workload, getattr(data, "block", 1)),
                            num_workers=workers, pin_memory=torch.cuda.is_available() and config.get("pin_memory", True), **options)
        return StoredLoading(loader, config, checked)
