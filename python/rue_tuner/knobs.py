"""Knobs that a loader has beside rue's own, as `hello` declares them."""
import contextlib
import difflib
import re

from . import machine

OWN = ("batch_size", "num_workers", "prefetch_factor", "pin_memory")  # of rue's own table
WITH_OPTION = (*OWN, "parallelism")  # of `rue tune`; for others there is --knob
NEED_WORKERS = ("prefetch_factor", "persistent_workers", "multiprocessing_context", "in_order", "worker_threads")
OF_DATALOADER = ("persistent_workers", "multiprocessing_context", "in_order", "worker_threads")
LIMITS = dict(batch_size=(1, 65536), num_workers=(0, 256), prefetch_factor=(1, 64))  # those of rue's table
HELP = {"persistent_workers": "keep the workers from epoch to epoch",
        "multiprocessing_context": "how workers are started",
        "in_order": "deliver batches in order; false is faster where items differ, but changes the order of the data",
        "worker_threads": "torch.set_num_threads in each worker"}


class Knob:
    """A knob with its values; the first is the default. Values that are not numbers are declared by a text of each."""

    def __init__(self, name, values):
        self.name, self.values = name, values
        if all(isinstance(value, bool) for value in values):
            self.kind, self.words = "flag", ["true" if value else "false" for value in values]
        elif all(map(is_number, values)):
            whole = all(isinstance(value, int) for value in values)
            self.kind, self.words = "count" if whole and min(values) >= 0 else "number", list(map(str, values))
        else:
            self.kind, self.words = "category", []
            for value in values:
                self.words.append(distinct(shorten(re.sub(r'[,;"\\\s\0-\x1f]+', "_", str(value))), self.words))
        self.declared = self.words if self.kind == "category" else values

    def value(self, declared):
        """The caller's value, of what a request holds."""
        return next((value for value, word in zip(self.values, self.declared) if word == declared), declared)

    def declaration(self, argument):
        """The object of `knobs` in hello. `argument` is the argument of the loader that it stands for, or None."""
        out = dict(name=self.name, kind=self.kind, values=self.declared, default=self.declared[0],
                   needs_workers=self.name in NEED_WORKERS, pytorch=argument, help=HELP.get(self.name))
        return {key: value for key, value in out.items() if value is not None}


def default_workers():
    """Numbers of workers to search: up to two for each CPU."""
    most = 2 * machine.usable_cpus()
    return [w for w in (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128) if w <= most]


def like(name, names):
    """A question with the one of `names` that `name` is most like; empty if none is."""
    found = difflib.get_close_matches(name, names, 1)
    return f" (did you mean {found[0]}?)" if found else ""


def is_number(value):
    """Whether JSON and rue hold it exactly."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2 ** 53  # not NaN either


def shorten(text, bytes=47):
    return text.encode("utf-8", "replace")[:bytes].decode("utf-8", "ignore")


def distinct(word, others):
    """`word`, with a number at its end if it is one of `others`."""
    if word not in others:
        return word
    return next(text for text in (f"{shorten(word, 43)}~{i}" for i in range(2, 999)) if text not in others)


def is_at_least(value, least):
    """Whether it is a whole number, and not less than `least`."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def plain(value):
    """A scalar of NumPy or PyTorch as Python's own."""
    is_scalar = hasattr(value, "dtype") and hasattr(value, "item") and not getattr(value, "shape", ())
    return value.item() if is_scalar else value


def as_list(name, values):
    """The values of a knob in `space`, without doubles: a list, a range, an array, or one value."""
    values = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        values = [values]
    values = list(map(plain, values))
    with contextlib.suppress(TypeError):  # values without a hash stay as they are
        values = list(dict.fromkeys(values))
    if not values:
        raise ValueError(f"space: {name} has no values")
    least, most = LIMITS.get(name, (0, 0))
    for value in values if most else []:
        if not is_at_least(value, least) or value > most:
            raise ValueError(f"space: {name} cannot be {value!r}: give whole numbers from {least} to {most}")
    return values
