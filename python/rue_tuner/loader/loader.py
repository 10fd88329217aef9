"""Loader: batches of images by rue's own loader, in worker threads."""
import math
import operator
import os
import threading
import time
import warnings
from collections.abc import Mapping  # of typing, it makes isinstance 20 times as slow
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union, cast

from .. import machine
from ..document import Path, read
from . import native
from .device import DeviceFeed, find_device
from .epoch import Epoch, Sampler
from .host import Delivery, HostFeed
from .options import (
    EVEN,
    KNOBS,
    augment_text,
    check_options,
    given_share,
    listed,
    native_options,
    parts_of,
    plain,
    refuse_unknown,
    settle_dtype,
    subset_text,
)
from .output import BYTES, make_output
from .position import MOST_EPOCH, Position
from .ranks import find_share, local_ranks
from .recommended import choose, options_of
from .stats import Stats

CHANGING = ("memory", "adaptive")  # strategies that change the size of batches
MEMORY_SHARE = 0.9  # of the available memory, for batches
OF_DATA = ("format", "image_key", "label_key", "missing_chunks", "subset")  # options that the opened data depend on
Recipe = Union[str, Mapping[str, Any]]
Numbers = Union[str, Sequence[float], None]


class Loader:
    """Loads batches of images and labels, in the order of a seed, for one epoch after another, in threads.

    `images` of a batch are a tensor of shape `[n, channels, *image_size]`, or `[n, *shape]` of preprocessed tensors.
    With several views they are a list of such tensors. `labels` are an int64 tensor `[n]`. n is `batch_size`, or less
    in the last batch. A batch is memory of the loader, which is used again when the last tensor of it is deleted. It
    may be written to. `len(loader)` is the number of batches of this rank in an epoch. Each iteration is the next
    epoch.

    Args:
        data: a folder of images, a tensor file, shards, or another format (docs/data.md)
        batch_size: images of a batch
        num_workers: threads that load; 0: the caller's thread loads [the CPUs of this process]
        prefetch_factor: batches that each worker loads ahead
        parallelism: `"batch"`: each worker loads a whole batch; `"sample"`: the workers share each batch
        pin_memory: page-locked memory for a GPU in `device` [True]
        max_queue_size: batches that are loaded ahead at most, beside prefetch_factor; 0: only that one counts
        read: how storage is read: `"auto"`, `"batch"` or `"item"` (docs/tuning.md)
        batch_strategy: `"fixed"`, or one that changes the size of batches (docs/tuning.md)
        transform: `"eval"`: resize and centre crop; `"train"`: random crop and flip, by `augment`
        augment: a preset or a dict; of several views a text such as `"dino"` or `"simclr,simclr"`, or a list of presets
            and dicts (docs/augmentation.md)
        decode: `"exact"`: the pixels of Pillow; `"fast"`: JPEG files at a lower resolution where the result allows it
        orientation: `"apply"` turns images as their EXIF data say; `"ignore"` does not
        dtype: of batches on the CPU: `"float32"`, normalised as torchvision does; `"uint8"`, levels from 0 to 255
            [`"float32"`; with a device `"uint8"`, if the data are images or uint8]
        mean: of float32 values: numbers for each channel, `"imagenet"`, `"clip"`, `"inception"` or `"none"`
            [ImageNet's]
        std: like `mean`
        normalize: False: levels on the device, from 0 to 255
        shuffle: a random order for each epoch [True with transform="train", else False]
        seed: of order and crops; each epoch has its own
        drop_last: leave out the last batch if it is not full [True with transform="train", else False]
        rank: which part of the data this process loads [that of torch.distributed, or torchrun's]
        world_size: in how many parts the data are divided; `"env"`: also as MPI and Slurm say
        share: `"strided"`: each world_size-th item of the order; `"contiguous"`: items that follow each other;
            `"shards"`: whole shards (docs/tuning.md)
        even: `"drop"` or `"pad"`: all ranks have as many batches; False: each image once [`"drop"` with `drop_last`,
            else `"pad"`]
        output: `"torch"` or `"numpy"`
        device: `"cuda"` or `"cuda:1"`: images and labels are copied to this GPU, and normalised there. `"cuda"` is the
            GPU of torchrun's LOCAL_RANK, or the current one [they stay on the CPU]
        image_dtype: of images on the device: `"float32"`, `"bfloat16"` or `"float16"` [`"float32"`]
        channels_last: memory format of images on the device
        label_dtype: of labels, such as `"int64"` or `"float32"`
        returns: which of images, labels, items (numbers in the data, also with a subset) and keys (names) a batch has:
            a sequence for a tuple, a mapping `{name: which}` for a dict, or one of them
        batch_transform: a function of images and labels, in the caller's thread, that returns both, such as MixUp
        hold: batches that the caller keeps at the same time without a copy
        bad_images: `"fail"`: `DataError` for a damaged image; `"replace"`: another image instead
        max_pixels: an image with more is damaged
        missing_chunks: of a Zarr array: `"fill"` or `"error"` (docs/data.md)
        format: of the data, such as `"webdataset"` [as their names and content show]
        image_key: which member, feature or column has the image (docs/data.md)
        label_key: which one has the label (docs/data.md)
        image_size: pixels of the result: a side, or (height, width)
        resize: before the centre crop: `"crop_pct"`: the short side to image_size / crop_pct, rounded down; a number:
            the short side; (height, width); `"exact"`: to image_size; `"none"`
        crop_pct: share of the resized image that the crop keeps
        interpolation: `"bilinear"` or `"bicubic"`, antialiased as in Pillow; with transform="train" also `"random"`:
            one for each image
        channels: 3: RGB; 1: grey
        layout: `"nchw"`, or `"nhwc"`: channels last
        subset: which items of the data: `"0:1000"`, `"10%"`, `"class:cat,dog"`, `"names.txt"` (docs/data.md); or their
            numbers, such as the indices of torch.utils.data.Subset; or a share, such as 0.1 [all]

    Raises:
        FileNotFoundError: the path does not exist
        DataError: the data are damaged
        OSError: storage failed
        ValueError: an option has a value that makes no sense
        TypeError: an option is of the wrong kind, or does not exist
        MemoryError: the batches do not fit into memory
        RuntimeError: used after `close`, after a fork, or by two threads at once

    Attributes:
        path: the data, as they were given
        stats: what happened in the epoch so far: `Stats`

    Examples:
        train = rue.Loader("photos", batch_size=64, transform="train")
        for epoch in range(2):
            for images, labels in train:
                step((images, labels))
            print(train.stats)
    """

    path: str
    stats: Stats
    batch_sampler = None  # Lightning and timm ask for it beside `sampler`

    # These change when the loader is opened.
    _batches: Any = None  # native.Batches
    _feed: Any = None  # HostFeed or DeviceFeed
    _output: Any = None
    _plain: bool  # the caller wants (images, labels)

    def __init__(
        self,
        data: Path,
        *,
        batch_size: int = 64,
        num_workers: Optional[int] = None,
        prefetch_factor: int = 2,
        parallelism: str = "batch",
        pin_memory: Optional[bool] = None,
        max_queue_size: int = 0,
        read: str = "auto",
        batch_strategy: str = "fixed",
        transform: str = "eval",
        augment: Union[Recipe, Sequence[Recipe]] = "mild",
        decode: str = "exact",
        orientation: str = "ignore",
        dtype: Optional[str] = None,
        mean: Numbers = None,
        std: Numbers = None,
        normalize: bool = True,
        shuffle: Optional[bool] = None,
        seed: int = 0,
        drop_last: Optional[bool] = None,
        rank: Optional[int] = None,
        world_size: Union[int, str, None] = None,
        share: str = "strided",
        even: Union[str, bool, None] = None,
        output: str = "torch",
        device: Any = None,
        image_dtype: Any = None,
        channels_last: bool = False,
        label_dtype: str = "int64",
        returns: Union[str, Sequence[str], Mapping[str, str]] = ("images", "labels"),
        batch_transform: Optional[Callable[[Any, Any], Any]] = None,
        hold: int = 2,
        bad_images: str = "fail",
        max_pixels: int = 2 ** 28,
        missing_chunks: str = "fill",
        format: Optional[str] = None,
        image_key: Optional[str] = None,
        label_key: Optional[str] = None,
        image_size: Union[int, Sequence[int], str] = 224,
        resize: Union[int, Sequence[int], str] = "crop_pct",
        crop_pct: float = 0.875,
        interpolation: str = "bilinear",
        channels: int = 3,
        layout: str = "nchw",
        subset: Any = None,
        **unknown: Any,
    ):
        given = {name: value for name, value in locals().items() if name in OPTIONS}
        refuse_unknown(unknown, OPTIONS)
        self._open(os.fsdecode(data), given)

    @classmethod
    def from_recommendation(
        cls,
        recommendation: Any,
        data: Optional[Path] = None,
        *,
        mode: Optional[str] = None,
        strict: bool = True,
        **overrides: Any,
    ) -> "Loader":
        """The loader that a study recommends.

        Args:
            recommendation: the folder of a study, its recommendation.json, or a Result
            data: other data of the same kind [those of the study]
            mode: `"raw"` or `"preprocessed"` [the first of the study]
            strict: False: the best guess of a study that is not decided is used, too
            overrides: options that replace what was measured, such as `device="cuda"`

        Returns:
            A new Loader.

        Raises:
            UndecidedError: the study is not decided
            ValueError: the recommendation is for other data or another loader

        Examples:
            train = rue.Loader.from_recommendation("rue-out/photos")
        """
        document = recommendation.document if hasattr(recommendation, "document") else read(recommendation)
        part = choose(document, mode, strict and getattr(recommendation, "_strict", True))
        path, kind = part["variant"]["path"] if data is None else data, part["variant"]["mode"]
        if not path:
            raise ValueError("the recommendation does not say where the data are: give data=")
        loader = cls(path, **options_of(part, overrides))
        if loader._data.raw != (kind == "raw"):
            raise ValueError(f"{path} is not {kind} data, which the recommendation is for: give other data, or mode=")
        return loader

    def _open(self, path: str, options: Dict[str, Any], data: Optional[native.Data] = None) -> None:
        self._given = {name: OPTIONS[name] if value is None else plain(value) for name, value in options.items()}
        self._given.update({name: listed(self._given[name]) for name in ("image_size", "resize", "mean", "std")})
        self._given["subset"] = subset_text(self._given.get("subset"))
        self._given["augment"] = augment_text(self._given["augment"])
        options = self._options = dict(self._given)
        self.path, self._absolute, train = path, os.path.abspath(path), options["transform"] == "train"
        for name in ("shuffle", "drop_last"):
            options[name] = train if options[name] is None else options[name]
        if options["num_workers"] is None:
            options["num_workers"] = max(machine.usable_cpus() // local_ranks(), 1)
        if options["even"] is None:
            options["even"] = "drop" if options["drop_last"] else "pad"
        check_options(options)
        self._lock, self._process = threading.RLock(), os.getpid()
        self._share: Tuple[int, ...] = ()  # of _ranks
        self._position, self._end, self._resumed = Position(0, 0), 0, False
        self._start: Optional[Position] = Position(0, 0)  # of the next epoch; None: it follows
        self._aligned = self._closed = self._warned = False  # aligned: the feed is at _position
        self._iteration, self._begun, self.stats = 0, 0, Stats()
        self._data = data or native.Data(path, options["subset"], native_options(self._options))
        if data is None and self._data.note:
            warnings.warn(f"{path}: {self._data.note}", stacklevel=3)
        if data is None and not self._data.has_labels and "labels" in parts_of(options["returns"]):
            warnings.warn(f"{path} has no labels: all of them are 0", stacklevel=3)
        facts = self._data.facts(native_options(options))
        self._augment = facts.augment.decode()
        self._shapes = [tuple(shape) for shape in facts.shape[:facts.views]]
        channels = self._shapes[0][2 if options["layout"] == "nhwc" else 0]
        settle_dtype(options, self._data.raw or self._data.dtype == "uint8", channels)
        self._normal = facts.mean[:channels], facts.std[:channels]
        if channels != options["channels"]:  # levels of other channels are only divided by 255
            self._normal = [0.0] * channels, [1.0] * channels
        # More of what is wrong with options is known only now.
        self._data.images(native_options(self._options, **given_share(options)), EVEN[False])

    # ---- what it loads ----

    @property
    def config(self) -> Dict[str, Any]:
        """The knobs, as `config` of recommendation.json."""
        return {name: self._options[name] for name in KNOBS}

    @property
    def options(self) -> Dict[str, Any]:
        """All options, with the values that are in use."""
        return dict(self._options)

    @property
    def digest(self) -> str:
        """A text that changes when names, sizes or labels of the data change."""
        return self._data.digest

    @property
    def classes(self) -> List[str]:
        """The names of the labels; empty if the data do not name them."""
        return list(self._data.classes)

    @property
    def class_to_idx(self) -> Dict[str, int]:
        """`{name: label}` of `classes`."""
        return {name: index for index, name in enumerate(self._data.classes)}

    def key(self, item: int) -> str:
        """The name of an item in the data, such as "tench/1.JPEG".

        Args:
            item: its number in the whole data, also with a subset

        Returns:
            The name.

        Raises:
            IndexError: the data have fewer items
        """
        item = operator.index(item)
        if not 0 <= item < self._data.whole_items:
            raise IndexError(f"item {item}: the data have the items 0 to {self._data.whole_items - 1}")
        return self._data.key(item)

    def _ranks(self) -> Tuple[int, ...]:
        """(rank, ranks, images of the rank, images that it loads in an epoch), which the first iteration decides."""
        if self._batches is not None:
            return self._share
        rank, ranks = find_share(self._options["rank"], self._options["world_size"])
        if self._share[:2] != (rank, ranks):
            wanted = native_options(self._options, rank=rank, world_size=ranks)
            share, images = self._data.images(wanted, EVEN[self._options["even"] if ranks > 1 else False])
            if images == 0:
                raise ValueError(f"{self._data.items} items for {ranks} ranks, and even='drop': nothing is left to "
                                 "load; use fewer ranks, or even='pad'")
            self._share = rank, ranks, share, images
        return self._share

    @property
    def rank(self) -> int:
        """The part of the data that this process loads."""
        return self._ranks()[0]

    @property
    def world_size(self) -> int:
        """The number of parts."""
        return self._ranks()[1]

    @property
    def images(self) -> int:
        """Images of this rank in an epoch."""
        return self._end_from(0)

    def _end_from(self, first: int) -> int:
        """Where an epoch that begins at an image ends."""
        size, images = self._options["batch_size"], self._ranks()[3]
        return max(images - (images - first) % size if self._options["drop_last"] else images, first)

    @property
    def batch_size(self) -> int:
        """Images of a batch."""
        return int(self._options["batch_size"])

    @property
    def sampler(self) -> Sampler:
        """What frameworks look for: it has `set_epoch`, and the images as its length."""
        return Sampler(self)

    def __len__(self) -> int:
        """Batches of this rank in an epoch. Raises TypeError if the strategy changes their size."""
        strategy = self._options["batch_strategy"]
        if strategy in CHANGING:
            raise TypeError(f"the number of batches is not known: batch_strategy {strategy} changes their size")
        return -(-self.images // self.batch_size)

    @property
    def bad_images(self) -> int:
        """Damaged images so far, which were replaced."""
        return self._batches.bad_images() if self._batches is not None else 0

    # ---- epochs ----

    @property
    def epoch(self) -> int:
        """The epoch of the batches that are delivered; before and after them that of the next ones."""
        return self._where().epoch

    def _where(self) -> Position:
        if self._start:
            return self._start.after(self._end_from(self._start.images))
        return self._position.after(self._end)

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch of the next iteration. Without it, each iteration begins the next epoch.

        Args:
            epoch: its number, from 0

        Raises:
            ValueError: the number is negative or too large
        """
        epoch = operator.index(epoch)
        if not 0 <= epoch <= MOST_EPOCH:
            raise ValueError(f"epoch {epoch}: expected a whole number from 0 to {MOST_EPOCH}")
        if not (self._resumed and self._start and self._start.epoch == epoch):
            self._start, self._resumed = Position(epoch, 0), False

    def _identity(self) -> Dict[str, Any]:
        """What must be the same where a state is loaded."""
        options = self._options
        compared = ("seed", "shuffle", "share", "transform", "decode", "orientation")
        same = dict(data=self._data.digest, **{name: options[name] for name in compared})
        if options["transform"] == "train":
            same["augment"] = self._augment
        if options["batch_strategy"] == "round-robin":
            same["batch_size"] = options["batch_size"]
        return same

    def state_dict(self) -> Dict[str, Any]:
        """The position after the batches that were delivered, or that `set_epoch` chose.

        Returns:
            A dict of numbers and texts, the same on all ranks.

        Examples:
            torch.save(loader.state_dict(), "checkpoint.pt")
            loader.load_state_dict(torch.load("checkpoint.pt"))
        """
        return self._where().state(self.world_size, self._identity())

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Continues: the next iteration begins after the batches that the state counts.

        Args:
            state: what `state_dict` returned
            strict: False: a state of other data, another seed or recipe is accepted

        Raises:
            ValueError: the state does not suit the data, the seed, the recipe or the ranks
        """
        self._start = Position.load(state, self.world_size, self._identity(), strict, self._ranks()[3])
        self._resumed = True

    def __iter__(self) -> Iterator[Any]:
        """The batches of the next epoch. An earlier iterator of this loader ends."""
        self._check_alone()
        with self._lock:
            self._open_feed()
            self._batches.check_open()
            self._iteration += 1
            return Epoch(self, self._iteration)

    def _begin(self, number: int) -> None:
        """Begins the epoch of a new iterator, before its first batch: some trainers make an iterator and call set_epoch
        then, or make one and drop it."""
        begin = self._where() if self._start else Position(self._position.epoch + 1, 0)
        end, stats = self._end_from(begin.images), Stats(self._ranks()[3] - min(self._ranks()[2:]))
        self._aligned = False
        self._feed.rewind(*begin)
        self._position, self._start, self._end, self._resumed, self._begun = begin, None, end, False, number
        self.stats, self._aligned = stats, True

    def _open_feed(self) -> None:
        """Opens the loader at the first use, which needs threads, and perhaps a GPU."""
        if self._closed:
            raise RuntimeError(native.CLOSED)
        if self._feed is not None:
            began, now = self._share[:2], find_share(self._options["rank"], self._options["world_size"])
            if now not in (began, (0, 1)):
                raise RuntimeError(f"this loader began as rank {began[0]} of {began[1]}, and this process is rank "
                                   f"{now[0]} of {now[1]} now: make a new Loader")
            return
        options, (rank, ranks, _, images) = self._options, self._ranks()
        self._plain = options["returns"] == OPTIONS["returns"]
        self._output, device = make_output(options["output"]), options["device"]
        if device is not None:
            device = find_device(self._output.torch, device)
        memory_bytes = int(MEMORY_SHARE * machine.available_bytes())
        batches = native.Batches(
            self._data,
            native_options(options, rank=rank, world_size=ranks, memory_bytes=memory_bytes),
            images,
            max_held=options["hold"] + 1,
            image_bytes=sum(map(math.prod, self._shapes)) * BYTES[options["dtype"]],
            waits=options["num_workers"] == 0,
            numbered=bool({"items", "keys"} & set(parts_of(options["returns"]))),
        )
        parts = batches, self._output, self._shapes, options
        self._feed = HostFeed(*parts) if device is None else DeviceFeed(*parts, device, self._normal)
        self._batches = batches

    def _check_alone(self) -> None:
        """RuntimeError where another process or thread has the loader."""
        if os.getpid() != self._process:
            raise RuntimeError(native.FORKED)
        if not self._lock.acquire(blocking=False):
            raise RuntimeError("another thread waits for a batch of this loader: ask for batches in one thread, or "
                               "make one Loader for each")
        self._lock.release()

    def _next(self, number: int) -> Any:
        self._check_alone()
        with self._lock:
            if self._iteration != number:
                raise RuntimeError("this iterator ended, because a newer one of the same loader was made: use "
                                   "loader.with_() for a second one")
            if self._closed:
                raise RuntimeError(native.CLOSED)
            if self._begun != number:
                self._begin(number)
            if self._position.images >= self._end:
                self.stats.end = self.stats.end or time.monotonic()
                raise StopIteration
            begin = time.monotonic()
            if not self._aligned:  # an exception came between a batch and its delivery
                self._feed.rewind(*self._position)
            self._aligned = False
            delivery = self._feed.next()
            self.stats.waited_s += time.monotonic() - begin
            batch = self._batch_of(delivery)
            self._position = Position(self._position.epoch, self._position.images + delivery.count)
            self._aligned = True
            self.stats.images += delivery.count
            self.stats.batches += 1
        return batch

    def _batch_of(self, delivery: Delivery) -> Any:
        options, labels = self._options, delivery.labels
        images = delivery.images if len(self._shapes) > 1 else delivery.images[0]
        if delivery.copied:
            self.stats.copied += 1
            if not self._warned:
                self._warned = True
                warnings.warn(f"more than hold={options['hold']} batches are kept at the same time: from now on they "
                              "are copied", stacklevel=4)
        if options["batch_transform"]:
            changed = options["batch_transform"](images, labels)
            if not isinstance(changed, (tuple, list)) or len(changed) != 2:
                raise TypeError(f"batch_transform returned a {type(changed).__name__}: it must return (images, labels)")
            images, labels = changed
        if self._plain:
            return images, labels
        parts: Dict[str, Callable[[], Any]] = {
            "images": lambda: images,
            "labels": lambda: labels,
            "items": lambda: self._output.integers(delivery.items, "int64"),
            "keys": lambda: [self._data.key(item) for item in delivery.items],
        }
        returns = options["returns"]
        if isinstance(returns, str):
            return parts[returns]()
        if isinstance(returns, Mapping):
            return {name: parts[part]() for name, part in returns.items()}
        return tuple(parts[part]() for part in returns)

    # ---- life ----

    def close(self) -> None:
        """Ends the threads. Batches that are kept stay valid."""
        self._closed = True
        if self._feed is not None and self._batches.is_own():
            self._batches.bad_images()
            self._feed.close()

    def __enter__(self) -> "Loader":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def with_(self, **changes: Any) -> "Loader":
        """A loader of the same data with other options.

        Args:
            changes: the options that change

        Returns:
            A new Loader.

        Examples:
            valid = loader.with_(transform="eval", shuffle=False)
        """
        refuse_unknown(changes, OPTIONS)
        if "subset" in changes:
            changes["subset"] = subset_text(changes["subset"])
        other = object.__new__(type(self))
        same = all(changes.get(name, self._options[name]) == self._options[name] for name in OF_DATA)
        data = self._data if same and self._data.process == os.getpid() else None
        other._open(self._absolute, {**self._given, **changes}, data)
        return other

    def __getstate__(self) -> Dict[str, Any]:
        """For another process: the arguments and the position."""
        return dict(path=self._absolute, options=self._given, start=self._where())

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self._open(state["path"], state["options"])
        self._start = state["start"]

    def __repr__(self) -> str:
        shown = {name: value for name, value in self._options.items() if value != OPTIONS[name]}
        if len(shown.get("subset", "")) > 80:
            shown["subset"] = shown["subset"][:80] + "..."
        share = f", rank {self._share[0]} of {self._share[1]}" if self._share and self._share[1] != 1 else ""
        return f"Loader({self.path!r}, {', '.join(f'{name}={value!r}' for name, value in shown.items())}){share}"


OPTIONS = cast(Dict[str, Any], Loader.__init__.__kwdefaults__)
