"""The options of Loader: their texts for the shared object, and their checks."""
import difflib
import json
from collections.abc import Mapping

KNOBS = ("batch_size", "num_workers", "prefetch_factor", "parallelism", "pin_memory", "max_queue_size", "read", "batch_strategy")
# Other options that python/native/python_options.c reads.
WORKLOAD = ("transform", "augment", "decode", "shuffle", "seed", "drop_last", "share", "bad_images", "max_pixels", "missing_chunks",
            "format", "image_key", "label_key")
EVEN = {False: 0, "drop": 1, "pad": 2}  # enum rue_even
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
    one_of("even", ("drop", "pad", False))
    one_of("output", ("torch", "numpy"))
    returns = options["returns"]
    parts = [returns] if isinstance(returns, str) else returns.values() if isinstance(returns, Mapping) else returns
    for part in parts:
        if part not in RETURNS:
            raise ValueError(f"returns {part!r}: expected some of {', '.join(RETURNS)}")
    if not isinstance(options["hold"], int) or not 2 <= options["hold"] <= 1024:
        raise ValueError(f"hold {options['hold']!r}: expected a whole number from 2 to 1024")
