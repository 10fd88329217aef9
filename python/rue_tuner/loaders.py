"""What is measured: an existing DataLoader, rebuilt with other knobs, or the loaders that a factory returns."""
import copy
import hashlib
import inspect
import itertools
import math
import re
import reprlib
import shutil

import torch
from torch.utils import data as torch_data

from . import knobs, machine
from .batches import batch_bytes, count_images, same_content
from .errors import Refused

FACTORY_ADVICE = "give a factory instead: a function make_loader(batch_size, num_workers, **knobs) that returns the loader"
COUNT_LIMIT_S = 20  # for counting the images of an epoch
TORCH_KNOBS = inspect.signature(torch_data.DataLoader.__init__).parameters


class Limited(torch_data.Sampler):
    """The first `images` indices of a sampler, over all epochs, so that workers do not load more than a trial needs."""

    def __init__(self, sampler, images):
        self.sampler, self.left = sampler, images

    def __iter__(self):
        for index in itertools.islice(iter(self.sampler), self.left):
            self.left -= 1
            yield index

    def __len__(self):
        return min(self.left, len(self.sampler))


class Watched:
    """A collate function that counts the batches of each worker."""

    def __init__(self, collate, workers):
        self.collate, self.counts = collate, torch.zeros(workers, dtype=torch.int64).share_memory_()

    def __call__(self, items):
        self.counts[torch_data.get_worker_info().id] += 1
        return self.collate(items)


class SetThreads:
    """A worker_init_fn that sets PyTorch's threads in a worker, and then calls another."""

    def __init__(self, threads, then):
        self.threads, self.then = threads, then

    def __call__(self, worker):
        torch.set_num_threads(self.threads)
        if self.then:
            self.then(worker)


def find_dataloader(loader, depth=3):
    """The DataLoader inside a loader such as webdataset's WebLoader or timm's PrefetchLoader; None if there is none."""
    if isinstance(loader, torch_data.DataLoader):
        return loader
    inner = [vars(loader).get(name) for name in ("loader", "dataloader", "_loader", "pipeline")
             if depth and hasattr(loader, "__dict__")]
    for member in inner + list(inner[-1] if inner and isinstance(inner[-1], list) else []):
        found = find_dataloader(member, depth - 1) if member is not None and not isinstance(member, list) else None
        if found is not None:
            return found
    return None


def length(thing):
    """None if it is not known; data sets without one raise one exception or another."""
    try:
        return len(thing)
    except Exception:
        return None


def copy_of(thing, depth=4):
    """A shallow copy, with copies of the data sets inside, so that files which a trial opens lazily and counters that it
    advances stay out of the caller's object. `thing` itself if it cannot be copied."""
    try:
        twin = copy.copy(thing)
    except Exception:
        return thing
    for name, value in list(getattr(twin, "__dict__", {}).items()) if depth else []:
        if isinstance(value, torch_data.Dataset):
            twin.__dict__[name] = copy_of(value, depth - 1)
        elif type(value) in (list, tuple) and value and all(isinstance(part, torch_data.Dataset) for part in value):
            twin.__dict__[name] = type(value)(copy_of(part, depth - 1) for part in value)
    return twin


def describe(thing):
    """A text that changes when the data change, without addresses."""
    short = reprlib.Repr()
    short.maxother = short.maxstring = 1000
    return re.sub(r"0x[0-9a-f]+", "", f"{type(thing).__module__}.{type(thing).__qualname__} {length(thing)} {short.repr(thing)}")


class Loading:
    """The loader of one trial. `loader` is a list, which the trial empties: nothing else may refer to the loader."""

    def __init__(self, loader, config):
        self.loader, self.watched = [loader], None
        inner = find_dataloader(loader)
        if inner is not None and inner.num_workers and inner.collate_fn is not None:
            self.watched = inner.collate_fn = Watched(inner.collate_fn, inner.num_workers)
        self.config = config

    def counts(self):
        """More fields of the answer."""
        return {}

    def check_delivery(self, batches):
        """Every worker must have delivered a batch, if there were enough for all of them."""
        if self.watched is None:
            return
        counts = self.watched.counts.tolist()
        idle = counts.count(0)
        if idle and batches >= 2 * len(counts):
            raise Refused(f"only {len(counts) - idle} of {len(counts)} workers delivered a batch: the data have fewer "
                          "shards than workers; make more shards, or use fewer workers", "infeasible")


class Subject:
    """What a runner measures. `space` has the values of rue's knobs, `count` counts the images of a batch."""
    name = "torch"
    count = staticmethod(count_images)

    def trial_images(self, request):
        """Images of a trial and of its job. A truncated trial has whole batches."""
        size, images = request["config"]["batch_size"], request.get("images") or self.epoch_images(request)
        job_images = max(images, request.get("job_images", images))
        if images < job_images:
            images = min(job_images, max(1, images // size) * size)
        if self.drops_last(request):
            images -= images % size
        if images < 1:
            raise Refused(f"drop_last leaves no batch of {size} images of {job_images}", "infeasible")
        return images, job_images

    def check_fits(self, request, job_images):
        """The memory of the whole job: its batches in flight and the one that the consumer holds."""
        config, limits = request["config"], request.get("limits", {})
        batch, workers = min(config["batch_size"], job_images), config.get("num_workers", 0)
        held = min(workers * (config.get("prefetch_factor") or 2), -(-job_images // batch)) + 1
        rooms = {"limits.memory_bytes": limits.get("memory_bytes")}
        if workers:
            rooms["/dev/shm"] = shutil.disk_usage("/dev/shm").free
        need = int(held * batch * self.item_bytes(request))
        for name, room in rooms.items():
            if room and need > room:
                raise Refused(f"{held} batches of {batch} need {need} bytes, but {name} has {room}", "infeasible")

    def first_batch_check(self, config, images):
        """A function of each batch and its images; None: no check."""

    def check_trial(self, trial, loading):
        """Raises Refused where the loader did not deliver what it should."""


class UserLoader(Subject):
    """Common to both kinds. `space` has the values of each knob; the first one is the default."""

    def __init__(self, space, count, images, epochs):
        space = {name: knobs.as_list(name, values) for name, values in (space or {}).items()}
        self.count, self.given_images, self.epochs = count or count_images, images, epochs
        self.requested = space
        self.space, self.knobs = self.default_space(), {}
        for name, values in {**self.default_knobs(), **space}.items():
            if name in knobs.OWN:
                self.space[name] = values
            else:
                self.knobs[name] = knobs.Knob(name, values)
        self.bytes_per_image = self.images = None

    def searched(self):
        """The knobs that a study searches, and their values as options write them."""
        asked = {name: self.space[name] for name in knobs.OWN if name in self.space}
        out = {name: [str(value).lower() for value in values] for name, values in asked.items()}
        for name in self.requested:
            if name in self.knobs:
                out[name] = self.knobs[name].words
        if self.epochs > 1 and "persistent_workers" in self.knobs and "persistent_workers" not in out:
            out["persistent_workers"] = ["false", "true"]
        return out

    def hello(self):
        """Its part of the answer to hello."""
        return dict(variants=[dict(path="", mode="raw", format="loader")], images=self.given_images or self.images,
                    knobs=[knob.declaration(self.argument(knob.name)) for knob in self.knobs.values()])

    def arguments(self):
        """The names of the arguments that a configuration consists of."""
        return [*self.space, *filter(None, map(self.argument, self.knobs))]

    def open(self, request):
        if request.get("workload", {}).get("remote_ranks"):
            raise Refused("the loader itself decides which share it loads: give one that loads the share of the rank, without "
                          "--rank and --world-size", "usage")
        if self.images is None:
            self.examine()
        return dict(status="ok", images=self.images, bytes=0, digest=self.digest(), cache="as-is")

    def epoch_images(self, request):
        return self.images

    def item_bytes(self, request):
        return self.bytes_per_image

    def load_request(self, request, images):
        return self.load(request["config"], images)

    def first_batch_check(self, config, images):
        checked = []

        def check(batch, found):
            if not checked:
                checked.append(True)
                self.check_batch(found, config, images)
        return check

    def check_trial(self, trial, loading):
        for images in trial.epochs:
            self.check_epoch(images, loading.config)
        loading.check_delivery(len(trial.ready))

    def one_batch(self, config):
        """A batch for measuring a model alone."""
        return self.first_batches({**config, "num_workers": min(self.space["num_workers"])}, 1)[0]

    def load(self, config, images):
        """The Loading of a configuration, by the values of a request."""
        values = self.own_values({name: value for name, value in config.items()
                                  if name in self.knobs or name in self.space or name in ("batch_size", "num_workers")})
        try:
            loader = self.make(values, images)
        except (ValueError, TypeError) as error:
            raise Refused(f"the loader cannot be made: {error}")
        self.check_knobs(loader, values)
        return Loading(loader, values)

    def own_values(self, config):
        """A configuration with the caller's values, where a text was declared for them."""
        return {name: self.knobs[name].value(value) if name in self.knobs else value for name, value in config.items()}

    def generators(self):
        """Random generators of the loader that trials draw from."""
        return []

    def check_knobs(self, loader, values):
        """A loader must have the values of the knobs that it shows."""
        inner = find_dataloader(loader)
        for name, value in values.items():
            if not values["num_workers"] and name in knobs.NEED_WORKERS or inner is None or name == "batch_size":
                continue
            has = getattr(inner, name, value)
            has = has.get_start_method() if hasattr(has, "get_start_method") else has
            if has is not None and has != value and name in ("num_workers", "prefetch_factor", "pin_memory",
                                                             "persistent_workers", "multiprocessing_context"):
                raise Refused(f"the factory ignores {name}: it was given {value}, and its loader has {has}")

    def check_batch(self, found, config, images):
        """The first batch of an epoch is full, unless the trial, the data, or those of a worker have fewer images."""
        size = config["batch_size"]
        few = found in (images, self.images) or not self.is_map_style() and self.images < size * config["num_workers"]
        if found != size and not (found < size and few):
            raise Refused(f"the loader ignores batch_size: a batch has {found} images, and batch_size is {size}; "
                          "if the batch was counted wrongly, give count=")

    def check_epoch(self, images, config):
        """An epoch has as many images with any number of workers."""
        workers, slack = config["num_workers"], config["batch_size"] * max(1, config["num_workers"])
        if workers and abs(images - self.images) > slack:
            raise Refused(f"an epoch has {images} images with {workers} workers, but {self.images} are expected: the data "
                          "set does not split its items among workers; see torch.utils.data.get_worker_info")

    def examine(self):
        """Loads a batch, counts the images, and finds workers that all read the same. Raises Refused."""
        config = self.default_config(batch_size=min(self.space["batch_size"]), num_workers=min(self.space["num_workers"]))
        first, known = self.first_batches(config, 1), self.known_images()
        if self.is_map_style() and (known or math.inf) < (self.given_images or 0):
            raise Refused(f"images is {self.given_images}, but an epoch of the loader has {known}: leave out images=")
        self.images = self.given_images or known or self.count_epoch(config)
        self.bytes_per_image = batch_bytes(first[0]) / max(1, self.count(first[0]))
        self.check_batch(self.count(first[0]), config, self.images)
        if max(self.space["num_workers"]) >= 2 and not self.is_map_style():
            batches = self.first_batches({**config, "num_workers": 2}, 3)
            repeats = len(batches) > 1 and same_content(batches[0], batches[1])
            constant = len(batches) > 2 and same_content(batches[0], batches[2])  # both are of the first worker
            if repeats and not constant:
                raise Refused("2 workers deliver the same items: the data set does not split its items among workers; "
                              "see torch.utils.data.get_worker_info")

    def default_config(self, **values):
        config = {name: choices[0] for name, choices in self.space.items()}
        config.update({name: knob.declared[0] for name, knob in self.knobs.items()})
        return {**config, **values}

    def first_batches(self, config, batches):
        loading = self.load(config, batches * config["batch_size"])
        return list(itertools.islice(iter(loading.loader[0]), batches)) or self.fail_empty()

    def fail_empty(self):
        raise Refused("the loader delivered no batch" + (": drop_last drops one that is not full" if self.drops_last() else ""))

    def count_epoch(self, config):
        """Counts an epoch, if that takes little time."""
        deadline, images = machine.now() + COUNT_LIMIT_S * 10 ** 9, 0
        for batch in self.load(config, 1 << 62).loader[0]:
            images += self.count(batch)
            if machine.now() > deadline:
                raise Refused(f"the length of an epoch is unknown, and counting it takes more than {COUNT_LIMIT_S} s: "
                              "give images=")
        return images

    def digest(self):
        return hashlib.blake2b(self.identity().encode("utf-8", "replace"), digest_size=8).hexdigest()


class Rebuilt(UserLoader):
    """A DataLoader that is rebuilt from its own parts for each trial."""

    def __init__(self, loader, space=None, count=None, images=None, epochs=1):
        self.original = loader
        if type(loader) is not torch_data.DataLoader:
            raise TypeError(f"a {type(loader).__qualname__} cannot be rebuilt with other knobs: {FACTORY_ADVICE}")
        if loader.batch_size is None:
            maker = "data set" if loader.batch_sampler is None else "batch_sampler"
            raise TypeError(f"the {maker} makes its own batches, so batch_size is unknown: {FACTORY_ADVICE}")
        super().__init__(space, count, images, epochs)
        for name in self.knobs:
            if name not in knobs.OF_DATALOADER:
                raise TypeError(f"space: a DataLoader has no knob {name}: {FACTORY_ADVICE}")

    def is_map_style(self):
        return not isinstance(self.original.dataset, torch_data.IterableDataset)

    def known_images(self):
        """Images of an epoch, if they are known; drop_last is an option of the study."""
        return length(self.original.sampler if self.is_map_style() else self.original.dataset)

    def default_space(self):
        loader, pins = self.original, torch.cuda.is_available()
        return dict(batch_size=[loader.batch_size],
                    num_workers=sorted({loader.num_workers, *knobs.default_workers()}),
                    prefetch_factor=[loader.prefetch_factor or 2], **(dict(pin_memory=[False, True]) if pins else {}))

    def default_knobs(self):
        loader = self.original
        context = loader.multiprocessing_context
        method = context.get_start_method() if context is not None else torch.multiprocessing.get_start_method()
        methods = [method, *(m for m in ("fork", "spawn", "forkserver") if m != method)]
        own = dict(persistent_workers=[loader.persistent_workers, not loader.persistent_workers],
                   multiprocessing_context=methods)
        if "in_order" in TORCH_KNOBS:
            own["in_order"] = [loader.in_order, not loader.in_order]
        return own

    def make(self, values, images):
        loader = self.original
        options = {name: values[name] for name in ("batch_size", "num_workers")}
        options["pin_memory"] = values.get("pin_memory", loader.pin_memory and torch.cuda.is_available())
        init = loader.worker_init_fn
        if values["num_workers"]:
            options.update((name, values[name]) for name in knobs.NEED_WORKERS if name in values and name in TORCH_KNOBS)
            options["timeout"] = loader.timeout
            init = SetThreads(values["worker_threads"], init) if values.get("worker_threads") else init
        if self.is_map_style():
            options["sampler"] = Limited(copy_of(loader.sampler, 0), images)
        if loader.pin_memory_device:
            options["pin_memory_device"] = loader.pin_memory_device
        return torch_data.DataLoader(copy_of(loader.dataset), collate_fn=loader.collate_fn, drop_last=loader.drop_last,
                                     worker_init_fn=init, generator=loader.generator, **options)

    def generators(self):
        found = [self.original.generator, getattr(self.original.sampler, "generator", None)]
        return [generator for generator in found if isinstance(generator, torch.Generator)]

    def argument(self, knob):
        """The argument of a DataLoader that a knob stands for; None if there is none."""
        return knob if knob in TORCH_KNOBS else None

    def identity(self):
        loader = self.original
        return " ".join(describe(part) for part in (loader.dataset, loader.sampler, loader.collate_fn) if part is not None)

    def baseline(self):
        """The knobs of the caller's own loader, as --baseline takes them; None if they are not searched."""
        own = {name: getattr(self.original, name) for name in ("batch_size", "num_workers")}
        return ",".join(f"{name}={value}" for name, value in own.items()) if all(v in self.space[n] for n, v in own.items()) else None

    def drops_last(self, request=None):
        return self.original.drop_last


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
                raise TypeError(f"space: the factory {self.title()} has no parameter {name}")

    def title(self):
        return getattr(self.factory, "__qualname__", type(self.factory).__qualname__)

    def takes(self, name):
        return name in self.parameters or self.takes_any

    def is_map_style(self):
        if not hasattr(self, "map_style"):
            inner = find_dataloader(self.make(self.default_config(), 1))
            self.map_style = inner is not None and not isinstance(inner.dataset, torch_data.IterableDataset)
        return self.map_style

    def known_images(self):
        inner = find_dataloader(self.make(self.default_config(), 1))
        return length(inner.sampler) if inner is not None and self.is_map_style() else None

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

    def make(self, values, images):
        options = dict(values)
        if not options["num_workers"]:
            options = {name: value for name, value in options.items() if name not in knobs.NEED_WORKERS}
        return self.factory(**options)

    def argument(self, knob):
        return knob

    def identity(self):
        return f"{getattr(self.factory, '__module__', '')}.{self.title()} {self.images}"

    def baseline(self):
        return None

    def drops_last(self, request=None):
        return False


def make_subject(loader, space=None, count=None, images=None, epochs=1):
    """A Rebuilt for a DataLoader, a Factory for a function. Raises TypeError for anything else."""
    if not isinstance(loader, torch_data.DataLoader) and callable(loader):
        return Factory(loader, space, count, images, epochs)
    return Rebuilt(loader, space, count, images, epochs)
