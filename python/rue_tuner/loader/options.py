"""The options of Loader: their texts for the shared object, and their checks."""
import difflib
import json
import math
import re
from collections.abc import Mapping

KNOBS = ("batch_size", "num_workers", "prefetch_factor", "parallelism", "pin_memory", "max_queue_size", "read", "batch_strategy")
# Other options that python/native/python_options.c reads.
WORKLOAD = ("transform", "augment", "decode", "shuffle", "seed", "drop_last", "share", "bad_images", "max_pixels", "missing_chunks",
            "format", "image_key", "label_key")
EVEN = {False: 0, "drop": 1, "pad": 2}  # enum rue_even
IMAGE_DTYPES = ("float32", "bfloat16", "float16")
NO_DEVICE = dict(mean=None, std=None, normalize=True, image_dtype=None, channels_last=False)  # what needs a device, and is so without
RETURNS = ("images", "labels", "items", "keys")


def native_options(options, **more):
    """The options that the shared object reads, as JSON."""
    chosen = {name: options[name] for name in (*KNOBS, *WORKLOAD)}
    return json.dumps({**chosen, "augment": augment_text(options["augment"]), "batch_dtype": options["dtype"], **more}).encode()


def refuse_unknown(names, known):
    for name in names:
        near = difflib.get_close_matches(name, known, 1)
        raise TypeError(f"Loader has no option {name!r}" + (f": did you mean {near[0]}?" if near else "; its options are in help(rue_tuner.Loader)"))


def augment_text(augment):
    """A preset, or the text of a recipe that is given as a dict, as docs/augmentation.md describes them."""
    if isinstance(augment, str):
        return augment
    parts = {"area": [0.08, 1], "ratio": [0.75, 1.33333], "flip": 0.5, **augment}
    words = []
    for name, value in parts.items():
        numbers = [value["probability"], *value["range"]] if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
        words += [name, *(f"{number:g}" for number in numbers)]
    return " ".join(words)


def check_options(options):
    """What python/native/python_options.c does not check."""
    def one_of(name, allowed):
        if options[name] not in allowed:
            raise ValueError(f"{name} {options[name]!r}: expected {', '.join(map(repr, allowed))}")
    one_of("dtype", (None, "float32", "uint8"))
    check_device(options)
    one_of("even", ("drop", "pad", False))
    one_of("output", ("torch", "numpy"))
    returns = options["returns"]
    parts = [returns] if isinstance(returns, str) else returns.values() if isinstance(returns, Mapping) else returns
    for part in parts:
        if part not in RETURNS:
            raise ValueError(f"returns {part!r}: expected some of {', '.join(RETURNS)}")
    if not isinstance(options["hold"], int) or not 2 <= options["hold"] <= 1024:
        raise ValueError(f"hold {options['hold']!r}: expected a whole number from 2 to 1024")


def check_device(options):
    """Makes names of `device` (None for the CPU) and `image_dtype`, which may be objects of torch. Does not import torch."""
    name, kind = str(options["device"]), options["image_dtype"]
    if not re.fullmatch(r"None|cpu(:\d+)?|cuda(:\d+)?", name):
        raise ValueError(f"device {name!r}: expected 'cuda', 'cuda:NUMBER', 'cpu' or None; for another device load on the CPU and move the batches")
    options["device"] = name if name.startswith("cuda") else None
    options["image_dtype"] = kind if kind is None else str(kind).replace("torch.", "")
    if options["device"] is None:
        for option, default in NO_DEVICE.items():
            if options[option] is not default:
                raise ValueError(f"{option} needs device='cuda'; without a GPU use dtype='uint8', and do it in batch_transform")
        return
    if options["image_dtype"] not in (None, *IMAGE_DTYPES):
        raise ValueError(f"image_dtype {options['image_dtype']!r}: expected {', '.join(map(repr, IMAGE_DTYPES))}")
    if options["output"] != "torch":
        raise ValueError(f"output={options['output']!r} is on the CPU, and device is {name!r}: use output='torch', or no device")
    if (options["mean"] is None) != (options["std"] is None):
        raise ValueError("give mean and std together, or neither for ImageNet's")
    if options["mean"] is not None and not options["normalize"]:
        raise ValueError("mean and std do nothing with normalize=False: leave them out")


def settle_dtype(options, levels, channels):
    """Sets `dtype`, which depends on whether the data can be loaded as `levels`, and checks `mean` and `std`."""
    on_device = options["device"] is not None
    if options["dtype"] is None:
        options["dtype"] = "uint8" if on_device and levels else "float32"
    if on_device and options["dtype"] == "float32" and (options["mean"] is not None or not options["normalize"]):
        raise ValueError("mean, std and normalize=False are for levels (uint8), and these batches are float32: " +
                         ("use dtype='uint8'" if levels else "the data have no levels, leave them out"))
    for name in ("mean", "std"):
        if options[name] is None:
            continue
        try:
            numbers = tuple(float(number) for number in options[name])
        except (TypeError, ValueError):
            numbers = ()
        if len(numbers) != channels or not all(map(math.isfinite, numbers)) or name == "std" and 0 in numbers:
            raise ValueError(f"{name} {options[name]!r}: expected {channels} numbers, one for each channel" + (", not 0" if name == "std" else ""))
        options[name] = numbers
