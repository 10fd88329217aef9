"""A caller's loaders: an existing one, of which each trial gets a twin with other knobs, or those that a factory
returns."""
import inspect
import sys

import torch
from torch.utils import data as torch_data

from . import dataloaders, knobs
from .batches import agrees
from .dataloaders import TORCH_KNOBS, describe, find_dataloader
from .errors import Refused
from .identity import fingerprint
from .kinds import find_kind, misplaced
from .state import Copier
from .user_loader import UserLoader

FACTORY_ADVICE = ("give a factory instead: a function make_loader(batch_size, num_workers, **knobs) that returns the "
                  "loader")


class Rebuilt(UserLoader):
    """An existing loader, such as a DataLoader: each trial gets a twin of it."""

    def __init__(self, loader, space=None, count=None, images=None, epochs=1):
        self.inner = find_dataloader(loader)
        is_holder = isinstance(loader, (dict, list, tuple)) or not hasattr(type(loader), "__iter__")
        self.original = self.inner if is_holder else loader
        if self.inner is None:
            raise TypeError(f"there is no DataLoader in a {type(loader).__qualname__}: {FACTORY_ADVICE}")
        self.batch_size, self.varies_batch_size = self.find_batch_size(), True
        super().__init__(space, count, images, epochs)
        if self.batch_size is None and len(self.requested.get("batch_size", [])) == 1:
            self.batch_size = self.space["batch_size"][0]
        for name in self.knobs:
            if name not in knobs.OF_DATALOADER:
                near = knobs.like(name, knobs.OWN + knobs.OF_DATALOADER)
                raise TypeError(f"space: a DataLoader has no knob {name}{near}: {FACTORY_ADVICE}")
        if dataloaders.find_batch_sampler(self.inner) is None:
            self.fix_batch_size("data set" if self.inner.batch_sampler is None else "batch_sampler", self.batch_size)

    def find_batch_size(self):
        """The number that is written somewhere; None if only a batch shows it."""
        makers = dataloaders.batch_samplers(self.inner)[::-1]
        for thing in (*makers, self.inner):
            size = getattr(thing, "batch_size", None)
            if knobs.is_at_least(size, 1):
                return size
        return len(list(next(iter(Copier().copy(makers[-1])), [0]))) if makers else None

    def fix_batch_size(self, maker, size):
        """Raises TypeError if `space` has others."""
        if self.space["batch_size"] not in ([size], [self.batch_size]):
            raise TypeError(f"space: the {maker} makes the batches, so that batch_size cannot be varied: "
                            f"{FACTORY_ADVICE}")
        self.varies_batch_size, self.batch_size, self.space["batch_size"] = False, size, [size]

    def settle(self):
        if self.batch_size is None or self.original is not self.inner and self.varies_batch_size:
            _, found = (self.look(self.default_config(num_workers=self.first_workers()), 2) or self.fail_empty())[0]
            if self.batch_size is None or not self.collated:
                self.fix_batch_size("loader around the DataLoader", found)

    def sample(self):
        return self.original

    def first_workers(self):
        """The caller's own, which the data set may need."""
        own = self.inner.num_workers
        return own if own in self.space["num_workers"] else super().first_workers()

    def default_space(self):
        loader, pins = self.inner, torch.cuda.is_available()
        return dict(batch_size=[self.batch_size],
                    num_workers=sorted({loader.num_workers, *knobs.default_workers()}),
                    prefetch_factor=[loader.prefetch_factor or 2], **(dict(pin_memory=[False, True]) if pins else {}))

    def default_knobs(self):
        loader = self.inner
        context = loader.multiprocessing_context
        method = context.get_start_method() if context is not None else start_method()
        methods = [method, *(m for m in ("fork", "spawn", "forkserver") if m != method)]
        own = dict(persistent_workers=[loader.persistent_workers, not loader.persistent_workers],
                   multiprocessing_context=methods)
        if "in_order" in TORCH_KNOBS:
            own["in_order"] = [loader.in_order, not loader.in_order]
        return own

    def arguments(self):
        """Without a batch size that is not an argument."""
        fixed = not self.varies_batch_size or self.inner.batch_size is None and len(self.space["batch_size"]) == 1
        return [name for name in super().arguments() if name != "batch_size" or not fixed]

    def make(self, values, images, copier):
        values = {"pin_memory": self.inner.pin_memory and torch.cuda.is_available(), **values}
        if not self.varies_batch_size:
            values.pop("batch_size", None)
        return dataloaders.twin(self.original, values, images, copier)

    def argument(self, knob):
        """The argument of a DataLoader that a knob stands for; None if there is none."""
        return knob if knob in TORCH_KNOBS else None

    def identity(self):
        loader = self.inner
        parts = loader.dataset, loader.sampler, loader.collate_fn
        code = fingerprint(loader.dataset, type(self.original), type(loader.sampler), type(loader.batch_sampler),
                           loader.collate_fn, loader.worker_init_fn)
        return " ".join([*(describe(part) for part in parts if part is not None), code])

    def own_config(self):
        return dict(batch_size=self.batch_size, num_workers=self.inner.num_workers, pin_memory=self.inner.pin_memory)


def start_method():
    """The start method of workers, without fixing it for the caller."""
    multiprocessing = torch.multiprocessing
    default = multiprocessing.get_all_start_methods()[0]
    return multiprocessing.get_start_method(allow_none=True) or default


class Factory(UserLoader):
    """Loaders that `make_loader(batch_size, num_workers, **knobs)` returns: any iterable of batches."""

    def __init__(self, factory, space=None, count=None, images=None, epochs=1):
        self.factory = factory
        self.parameters = {name: parameter for name, parameter in inspect.signature(factory).parameters.items()
                           if parameter.kind is not parameter.POSITIONAL_ONLY}
        self.takes_any = any(p.kind is p.VAR_KEYWORD for p in self.parameters.values())
        missing = [name for name in ("batch_size", "num_workers") if not self.takes(name)]
        if missing:
            raise TypeError(f"the factory {self.title()} has no parameter {missing[0]}: it must be a function "
                            "make_loader(batch_size, num_workers, **knobs) that returns an iterable of batches")
        super().__init__(space, count, images, epochs)
        for name in self.knobs:
            if not self.takes(name):
                near = knobs.like(name, self.parameters)
                raise TypeError(f"space: the factory {self.title()} has no parameter {name}{near}")

    def title(self):
        return getattr(self.factory, "__qualname__", type(self.factory).__qualname__)

    def takes(self, name):
        return name in self.parameters or self.takes_any

    def sample(self):
        return self.make(self.own_values(self.default_config()), None, Copier())

    def first_batch_check(self, config, images):
        checked = []

        def check(batch, found):
            if not checked:
                checked.append(True)
                self.check_batch(batch, found, config, images)
        return check

    def check_batch(self, batch, found, config, images):
        """The first batch of an epoch is full, unless the trial, the data, or those of a worker have fewer images.
        Where nobody knows the images of a batch, one that may have the right number is believed."""
        size = config["batch_size"]
        few = found in (images, self.images)
        if not self.is_map_style():
            few |= self.images < size * max(1, config["num_workers"])
        if found == size or found < size and few or self.given_count:
            return
        text = f"a batch has {found} images, and batch_size is {size}; if the batch was counted wrongly, give count="
        if self.facts().plain if self.collated else agrees(batch):
            raise Refused(f"the loader ignores batch_size: {text}")
        self.note(f"it seems that {text}")

    def default_space(self):
        space = dict(batch_size=[32, 64, 128, 256], num_workers=knobs.default_workers())
        if "prefetch_factor" in self.parameters:
            space["prefetch_factor"] = [2]
        if "pin_memory" in self.parameters and torch.cuda.is_available():
            space["pin_memory"] = [False, True]
        return space

    def default_knobs(self):
        """Only what `space` names, and what a job of epochs searches; other parameters keep their defaults."""
        return {"persistent_workers": [False, True]} if "persistent_workers" in self.parameters else {}

    def make(self, values, images, copier):
        options = dict(values)
        if not options["num_workers"]:
            options = {name: value for name, value in options.items() if name not in knobs.NEED_WORKERS}
        loader = self.factory(**options)
        inner = find_dataloader(loader)
        return loader if inner is None or dataloaders.live_iterators(inner) else copier.copy(loader)

    def argument(self, knob):
        return knob

    def identity(self):
        return f"{self.title()} {self.images} {fingerprint(self.factory)}"


def make_subject(loader, space=None, count=None, images=None, epochs=1):
    """An OwnLoader for rue's Loader, a Factory for a function, a Rebuilt for anything else. Raises TypeError for what
    neither can be."""
    if find_kind(loader):
        raise misplaced(loader, "a loader")
    if "rue_tuner.loader" in sys.modules:
        from .loader import Loader
        from .own_loader import OwnLoader
        if isinstance(loader, Loader):
            return OwnLoader(loader, space, count, images, epochs)
    is_loader = isinstance(loader, torch_data.DataLoader) or not callable(loader) or hasattr(type(loader), "__iter__")
    return (Rebuilt if is_loader else Factory)(loader, space, count, images, epochs)
