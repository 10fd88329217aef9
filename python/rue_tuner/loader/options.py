"""The options of Loader: their texts for the shared object, and their checks."""
import difflib
import json
import operator
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, Dict, Optional

from .native import find_subset_file

KNOBS = ("batch_size", "num_workers", "prefetch_factor", "parallelism", "pin_memory", "max_queue_size", "read",
         "batch_strategy")
# Other options that python/native/python_options.c reads.
WORKLOAD = ("transform", "augment", "decode", "orientation", "shuffle", "seed", "drop_last", "share", "bad_images",
            "max_pixels", "missing_chunks", "format", "image_key", "label_key", "image_size", "resize", "crop_pct",
            "interpolation", "channels", "layout", "mean", "std")
EVEN = {False: 0, "drop": 1, "pad": 2}  # enum rue_even
IMAGE_DTYPES = ("float32", "bfloat16", "float16")
NO_DEVICE = dict(normalize=True, image_dtype=None, channels_last=False)  # what needs a device, and is so without
LABELS = ("int64", "int32", "int16", "int8", "uint8", "float64", "float32", "float16")
RETURNS = ("images", "labels", "items", "keys")


def native_options(options: Dict[str, Any], **more: Any) -> bytes:
    """The options that the shared object reads, as JSON."""
    chosen = {name: options[name] for name in (*KNOBS, *WORKLOAD)}
    chosen.update({name: list_text(options[name], "x") for name in ("image_size", "resize", "crop_pct")},
                  **{name: list_text(options[name], ",") for name in ("mean", "std")})
    chosen.update(more, batch_dtype=options["dtype"])
    return json.dumps({name: value if is_readable(value) else repr(value) for name, value in chosen.items()}).encode()


def list_text(value, between):
    """What the command line has for a number or a sequence of numbers; a text stays."""
    if value is None or isinstance(value, str):
        return value
    values = value if isinstance(value, (list, tuple)) else [value]
    return between.join(f"{number:.9g}" if isinstance(number, float) else str(number) for number in values)


def is_readable(value):
    """For the JSON of C."""
    if isinstance(value, str):
        return "\0" not in value and value == value.encode(errors="replace").decode()
    return value is None or isinstance(value, int) and -2 ** 63 <= value < 2 ** 63


def plain(value: Any) -> Any:
    """A number or flag of NumPy or PyTorch as Python's."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def listed(value: Any) -> Any:
    """Sizes or numbers for channels, of NumPy or PyTorch, as a list."""
    return value.tolist() if hasattr(value, "tolist") else value


def subset_text(subset: Any) -> Optional[str]:
    """The text of a subset for the shared object: of numbers, of a share, of a file with its absolute path. None: all
    items."""
    subset = os.fsdecode(subset) if isinstance(subset, bytes) else plain(subset)
    if isinstance(subset, str) and "\0" in subset:
        raise ValueError(f"subset {subset!r}: it has a null character")
    path = None
    if isinstance(subset, os.PathLike):
        path = os.fspath(subset)
    elif isinstance(subset, str):
        path = find_subset_file(subset)
    if path and (os.path.exists(path) or not isinstance(subset, str)):
        return "@" + os.path.abspath(path)
    if subset is None or isinstance(subset, str):
        return subset
    if isinstance(subset, float):
        return f"{subset:.12f}".rstrip("0")
    try:
        numbers = subset.tolist() if hasattr(subset, "tolist") else list(subset)
        if not all(type(number) is int for number in numbers):
            numbers = [None if isinstance(number, bool) else operator.index(number) for number in numbers]
            operator.index(min(numbers))  # None is a flag of a mask
    except TypeError:
        raise TypeError(f"subset is a {type(subset).__name__}: expected numbers of items, a share such as 0.1, or a "
                        "text such as '0:1000', '10%', 'class:NAME' or '@FILE'") from None
    return ",".join(map(str, numbers))


def given_share(options: Dict[str, Any]) -> Dict[str, Any]:
    """The rank and the ranks, if they were given as numbers."""
    return {} if options["rank"] is None else dict(rank=options["rank"], world_size=options["world_size"])


# What PyTorch's DataLoader has, and what it is here.
IN_PLACE = {
    "persistent_workers": "workers always stay",
    "collate_fn": "use batch_transform and returns",
    "sampler": "use shuffle and seed",
    "generator": "use seed",
    "dataset": "give the path of the data",
    "timeout": "Ctrl-C ends a wait",
}


def refuse_unknown(names: Dict[str, Any], known: Dict[str, Any]) -> None:
    for name in [name for name in names if name not in known]:
        if name in IN_PLACE:
            raise TypeError(f"Loader has no option {name!r}: {IN_PLACE[name]}")
        near = difflib.get_close_matches(name, known, 1)
        advice = f": did you mean {near[0]}?" if near else "; its options are in help(rue_tuner.Loader)"
        raise TypeError(f"Loader has no option {name!r}{advice}")


# The keys of the parts of a recipe that are objects, in the order of its text.
PART_KEYS = {
    "random_crop": ("probability", "padding"),
    "jitter": ("probability", "brightness", "contrast", "saturation", "hue"),
    "gaussian_blur": ("probability", "kernel", "range"),
    "randaugment": ("operations", "magnitude"),
    "timm_randaugment": ("magnitude", "deviation"),
}


def part_numbers(name, value):
    """The numbers of a part of a recipe, which a dict names."""
    if not isinstance(value, Mapping):
        return value if isinstance(value, (list, tuple)) else [value]
    keys = PART_KEYS.get(name, ("probability", "range"))
    if set(value) != set(keys):
        raise ValueError(f"augment: {name}: expected the keys {', '.join(keys)}")
    return [number for key in keys for number in (value[key] if key == "range" else [value[key]])]


def augment_text(augment: Any) -> str:
    """A preset, or the text of a recipe that is given as a dict, as docs/augmentation.md describes them; of several
    views, a list of them."""
    if isinstance(augment, str):
        return augment
    if isinstance(augment, (list, tuple)) and augment:
        return "; ".join(map(augment_text, augment))
    words = []
    try:
        parts = {"area": [0.08, 1], "ratio": [0.75, 1.33333], "flip": 0.5, **augment}
        for name, to_text in (("views", str), ("image_size", lambda size: list_text(size, "x"))):
            words += [name, str(to_text(parts.pop(name)))] if name in parts else []
        for name, value in parts.items():
            words += [name, *(f"{number:g}" for number in part_numbers(name, value))]
    except (TypeError, ValueError) as error:
        raise ValueError(str(error) if str(error).startswith("augment: ") else
                         f"augment {augment!r}: expected a preset, or a recipe as in docs/augmentation.md") from None
    return " ".join(words)


def check_options(options: Dict[str, Any]) -> None:
    """What python/native/python_options.c does not check."""
    def one_of(name, allowed):
        if not any(options[name] is value or isinstance(value, str) and options[name] == value for value in allowed):
            raise ValueError(f"{name} {options[name]!r}: expected {', '.join(map(repr, allowed))}")
    for name in ("dtype", "label_dtype"):
        options[name] = options[name] if options[name] is None else str(options[name]).replace("torch.", "")
    one_of("dtype", (None, "float32", "uint8"))
    if callable(options["transform"]):
        raise TypeError("transform is a function: expected 'eval' or 'train'; functions of a batch are batch_transform")
    check_device(options)
    one_of("even", ("drop", "pad", False))
    one_of("output", ("torch", "numpy"))
    one_of("label_dtype", LABELS)
    parts = parts_of(options["returns"])
    if not isinstance(parts, Iterable) or not parts or not all(part in RETURNS for part in parts):
        raise ValueError(f"returns {options['returns']!r}: expected some of {', '.join(RETURNS)}")
    if not 2 <= whole(options["hold"]) <= 1024:
        raise ValueError(f"hold {options['hold']!r}: expected a whole number from 2 to 1024")
    if options["batch_transform"] is not None and not callable(options["batch_transform"]):
        raise TypeError(f"batch_transform {options['batch_transform']!r}: expected a function of images and labels")
    rank, ranks = options["rank"], options["world_size"]
    if (ranks == "env" and rank is not None) or (ranks != "env" and (rank is None) != (ranks is None)):
        raise ValueError(f"rank {rank!r}, world_size {ranks!r}: give both, or neither, or only world_size='env'")


def check_device(options):
    """Makes names of `device` (None for the CPU) and `image_dtype`, which may be objects of torch. Does not import
    torch."""
    name, kind = str(options["device"]), options["image_dtype"]
    if not re.fullmatch(r"None|cpu(:\d+)?|cuda(:\d+)?", name):
        raise ValueError(f"device {name!r}: expected 'cuda', 'cuda:NUMBER', 'cpu' or None; for another device load on "
                         "the CPU and move the batches")
    options["device"] = name if name.startswith("cuda") else None
    if (options["mean"] is None) != (options["std"] is None):
        raise ValueError("give mean and std together, or neither for ImageNet's")
    if options["mean"] is not None and not options["normalize"]:
        raise ValueError("mean and std do nothing with normalize=False: leave them out")
    options["image_dtype"] = kind if kind is None else str(kind).replace("torch.", "")
    if options["device"] is None:
        for option, default in NO_DEVICE.items():
            if options[option] is not default:
                raise ValueError(f"{option} needs device='cuda'; without a GPU use dtype='uint8', and do it in "
                                 "batch_transform")
        return
    if options["image_dtype"] not in (None, *IMAGE_DTYPES):
        raise ValueError(f"image_dtype {options['image_dtype']!r}: expected {', '.join(map(repr, IMAGE_DTYPES))}")
    if options["output"] != "torch":
        raise ValueError(f"output={options['output']!r} is on the CPU, and device is {name!r}: use output='torch', or "
                         "no device")
    if options["layout"] == "nhwc" and options["channels_last"]:
        raise ValueError("channels_last is a memory format of layout='nchw': use one of them")


def settle_dtype(options: Dict[str, Any], levels: bool, channels: int) -> None:
    """Sets `dtype`, which depends on whether the data can be loaded as `levels`, and checks `mean` and `std`."""
    on_device, given = options["device"] is not None, options["mean"] is not None
    if options["dtype"] is None:
        options["dtype"] = "uint8" if on_device and levels else "float32"
    if given and not levels:
        raise ValueError("mean and std are for levels (images, or uint8), and these data have other values: leave them "
                         "out")
    if given and not on_device and options["dtype"] == "uint8":
        raise ValueError("mean and std do nothing with dtype='uint8': leave them out, or use dtype='float32'")
    if on_device and options["dtype"] == "float32" and not options["normalize"]:
        raise ValueError("normalize=False is for levels (uint8), and these batches are float32: " +
                         ("use dtype='uint8'" if levels else "the data have no levels, leave it out"))
    if given and channels not in (1, 3):
        raise ValueError(f"mean and std are for images of 1 or 3 channels, and these have {channels}: use "
                         "batch_transform")


def parts_of(returns: Any) -> Any:
    return [returns] if isinstance(returns, str) else returns.values() if isinstance(returns, Mapping) else returns


def whole(value):
    """The number, or -1 if it is not a whole one."""
    return value if isinstance(value, int) and not isinstance(value, bool) else -1
