"""Knobs that a loader has beside rue's own, as `hello` declares them."""
import dataclasses
import re

from . import machine

OWN = ("batch_size", "num_workers", "prefetch_factor", "pin_memory")  # of rue's own table: asked for by options
NEED_WORKERS = ("prefetch_factor", "persistent_workers", "multiprocessing_context", "in_order", "worker_threads")
OF_DATALOADER = ("persistent_workers", "multiprocessing_context", "in_order", "worker_threads")
HELP = {"persistent_workers": "keep the workers from epoch to epoch",
        "multiprocessing_context": "how workers are started",
        "in_order": "deliver batches in order; false is faster where items differ, but changes the order of the data",
        "worker_threads": "torch.set_num_threads in each worker"}


@dataclasses.dataclass
class Knob:
    """A knob with its values; the first is the default. Values that are not numbers are declared by their text."""
    name: str
    values: list

    def kind(self):
        if all(isinstance(value, bool) for value in self.values):
            return "flag"
        if all(isinstance(value, int) and not isinstance(value, bool) for value in self.values):
            return "count" if min(self.values) >= 0 else "number"
        if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in self.values):
            return "number"
        return "category"

    def word(self, value):
        """The value as an option and the protocol write it."""
        if self.kind() == "flag":
            return "true" if value else "false"
        return re.sub(r'[,;"\\\s]+', "_", str(value))[:47] if self.kind() == "category" else str(value)

    def declared(self, value):
        return value if self.kind() != "category" else self.word(value)

    def value(self, declared):
        """The caller's value, of what a request holds."""
        return next((value for value in self.values if self.declared(value) == declared), declared)

    def declaration(self, argument):
        """The object of `knobs` in hello. `argument` is the argument of the loader that it stands for, or None."""
        out = dict(name=self.name, kind=self.kind(), values=[self.declared(value) for value in self.values],
                   default=self.declared(self.values[0]), needs_workers=self.name in NEED_WORKERS,
                   pytorch=argument, help=HELP.get(self.name))
        return {key: value for key, value in out.items() if value is not None}


def default_workers():
    """Numbers of workers to search: up to two for each CPU."""
    most = 2 * machine.usable_cpus()
    return [w for w in (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128) if w <= most]


def as_list(name, values):
    """The values of a knob in `space`, without doubles: a list, a range, or one value."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        values = [values]
    values = list(dict.fromkeys(values))
    if not values:
        raise ValueError(f"space: {name} has no values")
    least = dict(batch_size=1, num_workers=0, prefetch_factor=1)
    if name in least:
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int) or value < least[name]:
                raise ValueError(f"space: {name} cannot be {value!r}: give whole numbers, at least {least[name]}")
    return values
