"""Data that the tuner names: folders of photos, rue's tensor files and Zarr stores, loaded by a plain DataLoader."""
import collections
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
from .dataloaders import Loading
from .errors import Refused, one_line
from .user_loader import Subject

try:
    from torchvision import __version__ as torchvision_version
    from torchvision import transforms as T
except ImportError:
    T = torchvision_version = None

RESIZE, CROP, MEAN, STD = 256, 224, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
DTYPES = "<f4", "u1", "<f2"  # of a tensor file, by their numbers
SUFFIXES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")  # of ImageFolder


def refuse_augmenting(variant, augment):
    if augment:
        raise Refused(f"{variant['path']}: the crop of preprocessed images is fixed: leave out --transform train",
                      "usage")


def refuse_uint8(path, dtype, batch_dtype):
    if batch_dtype == "uint8" and dtype != np.uint8:
        raise Refused(f"{path}: {dtype.name} cannot be made uint8: prepare it again, or leave out --batch-dtype uint8",
                      "usage")


def digest(facts):
    return hashlib.blake2b(repr(facts).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def say(notes):
    text = "; ".join(notes).encode("utf-8", "replace").decode()  # file names may not be UTF-8
    return dict(note=text) if text else {}


def say_made_with(shape, recorded):
    """What the items were made with; `recorded` is what their format has of it, or None. rue compares it with the
    workload."""
    known = isinstance(recorded, str) and recorded.isascii() and recorded.isprintable() and len(recorded) < 200
    return dict(made_with=f"shape {'x'.join(map(str, shape))}{f' {recorded}' if known else ''}")


def normalize(levels):
    """ToTensor and Normalize without torchvision: 8-bit levels in CHW order to float32."""
    mean, std = (np.array(v, np.float32).reshape(3, 1, 1) for v in (MEAN, STD))
    return torch.from_numpy((levels.astype(np.float32) / 255 - mean) / std)


def as_tensor(levels, batch_dtype):
    """8-bit levels as a tensor of a batch: normalised float32, or uint8, which the GPU normalises."""
    return torch.from_numpy(np.array(levels, order="C")) if batch_dtype == "uint8" else normalize(levels)


def as_item(values, batch_dtype):
    """Stored values as a tensor of a batch. Levels of other things than images are divided by 255, and float16 is
    widened."""
    if values.dtype == np.uint8 and (values.shape[0] == 3 or batch_dtype == "uint8"):
        return as_tensor(values, batch_dtype)
    return torch.from_numpy(values.astype(np.float32) / np.float32(255 if values.dtype == np.uint8 else 1))


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


def list_folder(path, hidden):
    """The files of a folder, and its folders, also those behind links."""
    files, folders = [], []
    for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
        if hidden or entry.name[0] != ".":
            is_folder = os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()
            (folders if is_folder else files).append(entry)
    return files, folders


def identify(path):
    info = os.stat(path)
    return info.st_dev, info.st_ino


def list_class(path, root, hidden):
    """The files of a class, and links to folders that are read already: folders are read before links, links in the
    order found."""
    found, repeated, links, folders = [], [], collections.deque(), [(path, False)]
    done = set() if hidden else {identify(root)}
    while folders or links:
        path, is_link = folders.pop() if folders else (links.popleft(), False)
        if is_link:
            links.append(path)
        elif identify(path) in done:
            repeated.append(f"{path}, a link to a folder that is read already")
        else:
            done.add(identify(path))
            files, below = list_folder(path, hidden)
            found += [entry.path for entry in files]
            folders += [(entry.path, entry.is_symlink()) for entry in reversed(below)]
    return found, repeated


def has_image(path, root):
    """Whether a class has a file that ImageFolder takes for an image, also a hidden one."""
    return any(file.lower().endswith(SUFFIXES) for file in list_class(path, root, True)[0])


class PhotoFolder(Dataset):
    """One sub-folder per class. Classes have the numbers of torchvision's ImageFolder, which also counts hidden
    images."""

    def __init__(self, variant, batch_dtype="float32", augment=None, orientation="ignore"):
        from PIL import Image, ImageOps
        self.read, self.transform, self.samples = Image.open, transform_for(batch_dtype, augment), []
        root = variant["path"]
        if orientation == "apply":
            self.read = lambda file: ImageOps.exif_transpose(Image.open(file))
        self.item_bytes = 3 * CROP * CROP * np.dtype(batch_dtype).itemsize
        files, folders = list_folder(root, True)
        skipped, empty, label = [entry.path for entry in files if entry.name[0] != "."], [], 0
        for folder in folders:
            hidden, count = folder.name[0] == ".", len(self.samples)
            files, repeated = ([], []) if hidden else list_class(folder.path, root, False)
            skipped += repeated
            for path in files:
                is_image = path.lower().endswith((*SUFFIXES, ".jpe", ".gif")) and os.path.isfile(path)
                self.samples.append((path, label)) if is_image else skipped.append(path)
            if len(self.samples) > count or has_image(folder.path, root):
                label += 1
            elif not hidden:
                empty.append(folder.name)
        if not self.samples:
            raise Refused(f"{root}: no images in sub-folders; put the images of each class into a sub-folder")
        self.samples.sort(key=lambda sample: sample[0].split("/"))
        self.files = [(path, os.stat(path).st_size) for path, _ in self.samples]
        self.digest = digest(sorted((os.path.relpath(path, root), size) for path, size in self.files))
        notes = []
        if skipped:
            notes.append(f"files skipped: {len(skipped)}, such as {skipped[0]}")
        if empty:
            notes.append(f"folders without an image: {len(empty)}, such as {empty[0]}, which are not classes")
        self.facts = say(notes)

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

    def __init__(self, variant, batch_dtype="float32", augment=None, orientation="ignore"):
        refuse_augmenting(variant, augment)
        self.path, self.map, self.batch_dtype = variant["path"], None, batch_dtype
        with open(self.path, "rb") as file:
            header, size = file.read(4096).ljust(4096, b"\0"), os.fstat(file.fileno()).st_size
            (magic, version, dtype, self.count, *shape, classes, self.stride, self.data, labels, _, texts,
             file_bytes) = struct.unpack_from("<8s2IQ4I6Q", header)
            if magic != b"RUETENSR" or version != 2 or dtype >= len(DTYPES):
                raise Refused(f"{self.path}: not a rue tensor file of version 2")
            if size != file_bytes:
                raise Refused(f"{self.path}: has {size} bytes, but its header says {file_bytes}")
            file.seek(labels)
            self.labels = np.frombuffer(file.read(4 * self.count), "<i4").tolist()
            file.seek(texts)
            recorded = file.read(size).decode(errors="replace").split("\0")[classes:-1]
        self.dtype, self.shape = np.dtype(DTYPES[dtype]), tuple(shape)
        self.bytes, self.item_bytes = (math.prod(shape) * np.dtype(d).itemsize for d in (self.dtype, batch_dtype))
        refuse_uint8(self.path, self.dtype, batch_dtype)
        sound = 0 < self.bytes <= self.stride and 0 < self.count == len(self.labels)
        if not sound or self.data + self.count * self.stride > size:
            raise Refused(f"{self.path}: damaged header")
        if variant.get("dtype") not in (None, "", self.dtype.name):
            raise Refused(f"{self.path}: its dtype is {self.dtype.name}")
        self.facts = say_made_with(self.shape, *recorded[:1] or [None])
        if set(self.labels) == {-1}:
            self.labels = [0] * self.count
            self.facts["note"] = "no labels found: all are -1, so 0 is used"
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
        return as_item(values, self.batch_dtype), self.labels[index]


IMAGES, LABELS = ("images", "data", "x"), ("labels", "label", "y", "targets")
UNAPPLIED = dict(scale_factor=1, add_offset=0, _FillValue=None, missing_value=None)  # with values that have no effect
NO_VALUE = "None", "nan", "NaN", "AAAAAAAA+H8="  # the last as xarray writes it


def open_store(path):
    try:
        import zarr
    except ImportError as error:
        raise Refused(f"{sys.executable} cannot read Zarr stores ({one_line(error)}): install the package zarr, such "
                      "as by 'pip install zarr'") from error
    try:
        return zarr.open(path, mode="r")
    except Exception as error:
        raise Refused(f"{path}: {one_line(error)}") from error


def is_array(node):
    return hasattr(type(node), "chunks")  # a group has its arrays as attributes


def find_arrays(path, root, key, names):
    """The array `key` of a group, or those of `names`: [(name, array)]."""
    asked = [] if is_array(root) else [key] if key else names
    inside = [name for name in asked if not {"", ".", ".."} & {*name.split("/")}]
    found = [(name, root[name]) for name in inside if name in root and is_array(root[name])]
    if key and not found:
        raise Refused(f"{path} has no array {key!r}: name one of its arrays")
    return found


def is_coordinate(name, array):
    """As xarray writes them: one number, or one axis with the array's name."""
    axes = getattr(getattr(array, "metadata", None), "dimension_names", None) or array.attrs.get("_ARRAY_DIMENSIONS")
    return not array.shape or len(array.shape) == 1 and list(axes or []) == [name]


def find_items(path, root, key):
    if is_array(root) and not key:
        return "", root
    found = find_arrays(path, root, key, IMAGES)
    found = found if key else [(name, array) for name, array in found if len(array.shape) > 1]
    if not found:
        raise Refused(f"{path} has no array {', '.join(IMAGES[:-1])} or {IMAGES[-1]}: name one of its arrays of two or "
                      "more axes")
    return found[0]


def refuse_labels(array, count):
    """Why the array does not have one whole number for each item; None: it does."""
    if array.shape[:1] != (count,):
        return "does not have a value for each item"
    if math.prod(array.shape) != count:
        return "has several values for each item"
    return None if np.dtype(array.dtype).kind in "iub" else "has values that are not whole numbers"


def find_labels(path, root, key, count):
    """Name and array of the labels, and None; or None twice, and why there are none."""
    why = "the data are one array, without a group" if is_array(root) else "name an array with label_key"
    found = find_arrays(path, root, key, LABELS)
    for name, array in found if key else [(name, array) for name, array in found if not is_coordinate(name, array)]:
        fault = refuse_labels(array, count)
        if not fault:
            return name, array, None
        if key or name != "y" and array.shape[:1] != (count,):
            raise Refused(f"{path}: the array {name} cannot be labels: it {fault}; there are {count} items")
        why = f"the array {name} {fault}; name another array with label_key"
    return None, None, why


def read_labels(path, root, array):
    """The labels as a list. The attribute `classes` of the group names them."""
    try:
        classes, values = root.attrs.get("classes"), array[:].reshape(-1)
    except Exception as error:
        raise Refused(f"{path}: cannot read the labels: {one_line(error)}") from error
    end = len(classes) if classes else 2 ** 31
    wrong = np.flatnonzero((values < 0) | (values >= end))
    if len(wrong):
        raise Refused(f"{path}: the label of item {wrong[0]} is {values[wrong[0]]}, which is not from 0 to {end - 1}: "
                      "name others with label_key, or give the array of items alone")
    return values.astype(np.int64).tolist()


def find_unapplied(array):
    """The attributes by which the values of the array mean others."""
    values = dict(array.attrs)
    if "_ARRAY_DIMENSIONS" in values and array.fill_value:
        values.setdefault("_FillValue", array.fill_value)  # where xarray keeps it in version 2
    values = {name: value[0] if isinstance(value, list) and value else value for name, value in values.items()}
    return [name for name, same in UNAPPLIED.items()
            if str(values.get(name)) not in NO_VALUE and values[name] != same]


def chunk_names(folder, array):
    """The files of the chunks of an array, or of its shards, if none is missing."""
    old = os.path.join(folder, ".zarray")
    with open(old if os.path.exists(old) else os.path.join(folder, "zarr.json"), encoding="utf-8") as file:
        metadata = json.load(file)
    encoding = metadata.get("chunk_key_encoding", dict(name="v2"))
    plain = encoding["name"] == "v2"
    separator = metadata.get("dimension_separator")
    separator = separator or encoding.get("configuration", {}).get("separator", "." if plain else "/")
    sizes = getattr(array, "shards", None) or array.chunks
    places = itertools.product(*(range(-(-length // size)) for length, size in zip(array.shape, sizes)))
    return [separator.join([*([] if plain else ["c"]), *map(str, place)]) for place in places]


class StoredArray:
    """An array of a store, with the files of its chunks. Nothing outside of the store is read."""

    def __init__(self, path, name, array):
        self.folder, sizes = os.path.join(path, name).rstrip("/"), {}
        places = [os.path.join(path, name[:end]) for end, letter in enumerate(name + "/") if letter == "/" and end]
        for place, folders, names in os.walk(self.folder):
            places += [os.path.join(place, below) for below in folders]
            sizes.update((file, os.lstat(file).st_size) for file in (os.path.join(place, name) for name in names))
        for link in filter(os.path.islink, [*places, *sizes]):
            raise Refused(f"{link} is a symbolic link, which is not followed: copy what it points to")
        self.files, chunks = sorted(sizes.items()), chunk_names(self.folder, array)
        missing = [chunk for chunk in chunks if os.path.join(self.folder, chunk) not in sizes]
        if missing and array.fill_value is None:
            raise Refused(f"{self.folder}: chunks are missing, such as {missing[0]}, and the array has no fill value: "
                          "write them again")
        self.missing = missing and f"missing: {len(missing)} of {len(chunks)}, such as {missing[0]}"
        self.has_chunk = len(missing) < len(chunks)


class ZarrArray(Dataset):
    """A Zarr array of items, or a group with one and with labels. The package zarr reads it, a row of chunks at a
    time."""

    def __init__(self, variant, batch_dtype="float32", augment=None, orientation="ignore"):
        refuse_augmenting(variant, augment)
        self.path, self.batch_dtype, self.row = variant["path"], batch_dtype, None
        root = open_store(self.path)
        name, array = find_items(self.path, root, variant.get("image_key"))
        self.dtype, axes = np.dtype(array.dtype), list(array.shape[1:])
        while len(axes) > 3 and 1 in axes:
            axes.remove(1)
        if self.dtype.name not in ("float32", "float16", "uint8") or not 1 <= len(axes) <= 3:
            raise Refused(f"{self.path}: items of {self.dtype.name} with {len(array.shape) - 1} axes cannot be read")
        if 0 in array.shape:
            raise Refused(f"{self.path}: the array has an axis of length 0, so it holds no items")
        refuse_uint8(self.path, self.dtype, batch_dtype)
        self.shape, self.count, self.block = (1,) * (3 - len(axes)) + tuple(axes), array.shape[0], array.chunks[0]
        self.item_bytes = math.prod(self.shape) * np.dtype(batch_dtype).itemsize
        items = StoredArray(self.path, name, array)
        if not items.has_chunk:
            raise Refused(f"{self.path} has no chunks: all of them are missing")
        self.folder, self.files = items.folder, items.files
        self.missing = items.missing and f"chunks {items.missing}"
        notes = [f"{self.missing}: their items have the fill value {array.fill_value}"] if self.missing else []
        unapplied = find_unapplied(array)
        if unapplied:
            notes.append(f"values are read as they are stored: not applied are {', '.join(unapplied)}")
        notes += self.add_labels(root, variant.get("label_key"))
        self.digest = digest(([(os.path.relpath(path, self.folder), size) for path, size in self.files],
                              array.dtype, array.shape, array.chunks, self.labels))
        self.facts = dict(say(notes), dtype=self.dtype.name, layout="x".join(map(str, array.chunks)),
                          **say_made_with(self.shape, array.attrs.get("made_with")))

    def add_labels(self, root, key):
        """Returns notes on them."""
        name, array, why = find_labels(self.path, root, key, self.count)
        if why:
            self.labels = [0] * self.count
            return [f"no labels found: {why}"]
        stored, self.labels = StoredArray(self.path, name, array), read_labels(self.path, root, array)
        if not stored.missing:
            return []
        self.missing = self.missing or f"chunks of {name} {stored.missing}"
        if not stored.has_chunk:
            return [f"all chunks of {name} are missing: all labels are the fill value {array.fill_value}"]
        return [f"chunks of {name} {stored.missing}: their labels are the fill value {array.fill_value}"]

    def __len__(self):
        return self.count

    def name(self, index):
        return f"{self.path}: item {index}"

    def __getitem__(self, index):
        number = index // self.block
        if self.row is None or self.row[0] != number:  # in each worker by itself
            self.row = number, open_store(self.folder)[number * self.block:(number + 1) * self.block]
        return as_item(self.row[1][index % self.block].reshape(self.shape), self.batch_dtype), self.labels[index]


class Checked(Dataset):
    """The items of `data`. A damaged item is an error that names it; or the next item replaces it, and is counted."""

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
                    raise Refused(f"{self.data.name(i)}: {one_line(error)}") from error
                with self.bad.get_lock():
                    self.bad.value += i == index  # the next item may be damaged, too
        raise Refused("no item can be read")


class Order(Sampler):
    """`images` indices of this rank's share, epoch by epoch, with a new permutation for each: of blocks, and within
    them."""

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
                sizes = [min(self.block, self.count - first) for first in everything]
                everything = [first + i for first, size in zip(everything, sizes)
                              for i in torch.randperm(size, generator=generator).tolist()]
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
        self.opened, self.last = {}, {}  # last: the last request to open
        self.space = dict(batch_size=[32, 64, 128, 256, 512], num_workers=knobs.default_workers(), prefetch_factor=[2])
        if torch.cuda.is_available():
            self.space["pin_memory"] = [True]

    def hello(self):
        return dict(machine=dict(machine.machine_facts(), torch=torch.__version__, torchvision=torchvision_version))

    def find(self, request):
        variant, workload = request["variant"], request.get("workload", {})
        dtype, augment = workload.get("batch_dtype", "float32"), workload.get("augment")
        orientation = workload.get("orientation", "ignore")
        if dtype not in ("float32", "uint8"):
            raise Refused(f"batches cannot be of {dtype!r}")
        key = json.dumps([variant, dtype, augment, orientation], sort_keys=True)
        name = f"{variant['mode']} {variant['format']}"
        if name not in self.kinds:
            raise Refused(f"{variant['path']}: the PyTorch runner cannot read {name}: give {' or '.join(self.kinds)}")
        if key not in self.opened:
            self.opened[key] = self.kinds[name](variant, dtype, augment, orientation)
        missing = getattr(self.opened[key], "missing", None)
        if missing and workload.get("missing_chunks") == "error":
            raise Refused(f"{variant['path']}: {missing}; write them again, or let missing chunks have the fill value")
        return self.opened[key]

    def open(self, request):
        self.opened.clear()  # the files may have changed
        self.last = request
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
                    cache="as-is" if cache == "cold" else cache,
                    cache_reason="the PyTorch runner cannot evict data from memory")

    def epoch_images(self, request):
        return len(self.find(request))

    def item_bytes(self, request):
        return self.find(request).item_bytes

    def tensor_sizes(self, request):
        return [self.item_bytes(request), 8]  # the label

    def one_batch(self, config):
        size = config["batch_size"]
        return next(iter(self.load_request(dict(self.last, config=dict(config, num_workers=0)), size).loader[0]))

    def drops_last(self, request):
        return request.get("workload", {}).get("drop_last")

    def load_request(self, request, images):
        data, workload, config = self.find(request), request.get("workload", {}), request["config"]
        check_decode(workload)
        # A copy: its map is closed with the trial.
        checked = Checked(copy.copy(data), workload.get("bad_images") == "replace")
        workers, options = config.get("num_workers", 0), {}
        if workers:
            options = dict(prefetch_factor=config.get("prefetch_factor", 2), multiprocessing_context="fork")
        order = Order(len(data), images, workload, getattr(data, "block", 1))
        pins = torch.cuda.is_available() and config.get("pin_memory", True)
        loader = DataLoader(checked, batch_size=config["batch_size"], sampler=order, num_workers=workers,
                            pin_memory=pins, **options)
        return StoredLoading(loader, config, checked)
