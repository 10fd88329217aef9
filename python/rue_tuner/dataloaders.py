"""Loaders: the DataLoader inside one, its epoch, its twin with other knobs, and how one is watched during a trial."""
import inspect
import itertools
import re
import reprlib
from typing import Any, Dict, List

import torch
from torch.utils import data as torch_data
from torch.utils.data.dataloader import _BaseDataLoaderIter

from . import knobs
from .batches import Count
from .collated import Watched
from .errors import Refused
from .machine import now
from .state import Copier, members

SAMPLER_LIMIT_S = 1  # for the indices of an epoch
TORCH_KNOBS = inspect.signature(torch_data.DataLoader.__init__).parameters
ONLY_WITH_WORKERS = "pass persistent_workers and prefetch_factor only with workers"


def find_dataloaders(thing: Any, depth: int = 3) -> List[Any]:
    """The DataLoaders in a loader such as webdataset's WebLoader or accelerate's: those that really iterate."""
    kind = type(thing)  # accelerate's loader says that it is of another class
    if issubclass(kind, torch_data.DataLoader):
        return [thing]
    if not depth or issubclass(kind, (type, torch_data.Sampler, torch.Tensor)):
        return []
    if depth < 3 and issubclass(kind, torch.nn.Module):
        return []
    if isinstance(thing, (list, tuple)):
        inside = thing
    else:
        inside = thing.values() if isinstance(thing, dict) else members(thing)
    found = [loader for member in itertools.islice(inside, 100) for loader in find_dataloaders(member, depth - 1)]
    return list({id(loader): loader for loader in found}.values())


def find_dataloader(loader):
    """The only one; None if there is none. Raises TypeError for several."""
    found = find_dataloaders(loader)
    if len(found) > 1:
        raise TypeError(f"these are {len(found)} loaders, in a {type(loader).__name__}: give one of them")
    return found[0] if found else None


def needs_workers(error):
    """What PyTorch said, if it refused a loader without workers because of an argument for workers; else empty."""
    text = str(error).rstrip(".")
    return text if isinstance(error, ValueError) and "num_workers > 0" in text else ""


def batch_samplers(loader):
    """What makes the batches of a DataLoader, from the outside: one that repeats or splits batches holds another."""
    sampler, found = loader.batch_sampler, []
    while sampler is not None and len(found) < 4 and isinstance(getattr(sampler, "__dict__", None), dict):
        found.append(sampler)
        if type(sampler) is torch_data.BatchSampler:
            break
        sampler = vars(sampler).get("batch_sampler", vars(sampler).get("sampler"))
    return found


def find_batch_sampler(loader):
    """PyTorch's BatchSampler in a DataLoader; None: another one makes the batches."""
    return next((sampler for sampler in batch_samplers(loader) if type(sampler) is torch_data.BatchSampler), None)


def live_iterators(loader):
    """The names of its members that are iterators with workers, beside the one that persistent workers have."""
    return [name for name, value in vars(loader).items()
            if isinstance(value, _BaseDataLoaderIter) and name != "_iterator"]


def is_map_style(loader):
    return not isinstance(loader.dataset, torch_data.IterableDataset)


def drops_last(loader):
    """Whether the last batch of the images that epoch_images counts is left out."""
    return bool(getattr(plain_sampler(loader) if is_map_style(loader) else loader, "drop_last", False))


def plain_sampler(loader):
    return loader.batch_sampler if type(loader.batch_sampler) is torch_data.BatchSampler else None


def length(thing):
    """None if it is not known; data sets without one raise one exception or another."""
    try:
        return len(thing)
    except Exception:
        return None


def count_items(sampler, size):
    """The sum of `size` over what a sampler yields; None if it does not end in time. It is that of a copy, since
    samplers that people write may have another length than they say."""
    deadline, items = now() + SAMPLER_LIMIT_S * 10 ** 9, 0
    for item in Copier().copy(sampler):
        items += size(item)
        if now() > deadline:
            return None
    return items


def epoch_images(loader):
    """Images of an epoch of a DataLoader by its samplers, or as its data set says; None if neither knows."""
    if loader.batch_sampler is None:
        return None
    if not is_map_style(loader):
        return length(loader.dataset)
    plain = plain_sampler(loader)
    if plain is not None and type(plain.sampler).__module__.startswith("torch.utils.data"):
        return length(plain.sampler)
    if plain is not None:
        items = count_items(plain.sampler, lambda _: 1)
    else:
        items = count_items(loader.batch_sampler, lambda batch: len(list(batch)))
    batches, inner = length(loader), find_batch_sampler(loader)
    if items is None and batches and inner is not None:  # it repeats itself
        return batches * inner.batch_size
    return items


def delivers_epochs(loader):
    """Whether a loader with a map-style data set delivers what the samplers of its DataLoader say, once."""
    inner = find_dataloader(loader)
    if inner.batch_sampler is None or not is_map_style(inner):
        return False
    lengths = [length(sampler) for sampler in (inner.batch_sampler, find_batch_sampler(inner))]
    return type(loader) is torch_data.DataLoader or length(loader) is not None and length(loader) in lengths


def describe(thing):
    """A text that changes when the data change, without addresses."""
    short, kind = reprlib.Repr(), type(thing)
    short.maxother = short.maxstring = 1000
    return re.sub(r"0x[0-9a-f]+", "", f"{kind.__module__}.{kind.__qualname__} {length(thing)} {short.repr(thing)}")


class Limited(torch_data.Sampler):
    """The first `images` indices of a sampler, over all epochs, so that workers do not load more than a trial needs. Of
    an epoch whose last batch is dropped only those of whole batches."""

    def __init__(self, sampler, images, batch_size, drop_last):
        self.sampler, self.left, self.batch_size, self.drop_last = sampler, images, batch_size, drop_last

    def __iter__(self):
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, min(self.batch_size, self.left))):
            if self.drop_last and len(batch) < self.batch_size:
                break
            self.left -= len(batch)
            yield from batch

    def __len__(self):
        return min(self.left, len(self.sampler))


class SetThreads:
    """A worker_init_fn that sets PyTorch's threads in a worker, and then calls another."""

    def __init__(self, threads, then):
        self.threads, self.then = threads, then

    def __call__(self, worker):
        torch.set_num_threads(self.threads)
        if self.then:
            self.then(worker)


def set_knobs(loader, values, images):
    """Sets knobs of a DataLoader, which must be a copy; `images` limits what its trial loads."""
    workers = values.get("num_workers", loader.num_workers)
    off = dict(prefetch_factor=TORCH_KNOBS["prefetch_factor"].default, persistent_workers=False,
               multiprocessing_context=None, timeout=0)
    for name in ("num_workers", "pin_memory", *knobs.NEED_WORKERS, "timeout"):
        if name == "worker_threads" or name not in TORCH_KNOBS:
            continue
        value = values.get(name, getattr(loader, name, None)) if workers or name not in off else off[name]
        if name == "prefetch_factor" and workers:
            value = value or 2
        object.__setattr__(loader, name, value)  # the class refuses to change some of them
    if workers and values.get("worker_threads"):
        loader.worker_init_fn = SetThreads(values["worker_threads"], loader.worker_init_fn)
    set_batch_size(loader, values.get("batch_size"), images)
    # The last two are of StatefulDataLoader.
    for name, value in (("_iterator", None), ("_initial_iter_for_state_dict", False), ("next_iter_state", None)):
        if name in vars(loader):
            vars(loader)[name] = value


def set_batch_size(loader, size, images):
    inner = find_batch_sampler(loader)
    if inner is None:
        return
    before, size = inner.batch_size, size or inner.batch_size
    for sampler in batch_samplers(loader):
        if getattr(sampler, "batch_size", None) == before:
            sampler.batch_size = size
    if loader.batch_size is not None:
        vars(loader)["batch_size"] = size
    if images is not None and inner is loader.batch_sampler and is_map_style(loader):
        inner.sampler = Limited(inner.sampler, images, size, inner.drop_last)


def with_knobs(loader: Any, values: Dict[str, Any]) -> Any:
    """A new loader with other values of knobs: all else that it was given, or is a member of it, is the same. Raises
    TypeError for several loaders."""
    original = find_dataloader(loader)
    own = {id(thing) for thing in (original, *batch_samplers(original))}
    return twin(loader, values, None, Copier(lambda thing: id(thing) in own or bool(find_dataloaders(thing))))


def twin(loader, values, images, copier):
    """A copy of a loader with other values of knobs, and of what `copier` copies. It loads at most `images`, if the
    loader is a DataLoader that delivers what its samplers yield. Raises TypeError for one that cannot be copied."""
    original, copy = find_dataloader(loader), copier.copy(loader)
    inner, names = find_dataloader(copy), live_iterators(original)
    callers = {id(thing) for thing in (original, *batch_samplers(original))}
    for thing in (inner, *batch_samplers(inner)):
        if id(thing) in callers:  # its knobs must not be set
            raise TypeError(f"a {type(thing).__qualname__} cannot be copied: give a factory that makes the loader at "
                            "each call")
    delivers_all = getattr(type(loader), "__iter__", None) is torch_data.DataLoader.__iter__
    set_knobs(inner, values, images if delivers_all else None)
    for name in names:
        vars(inner)[name] = torch_data.DataLoader.__iter__(inner)
    return copy


class Loading:
    """The loader of one trial. `loader` is a list, which the trial empties: nothing else may refer to the loader."""

    def __init__(self, loader, config, count=None, collated=True):
        self.loader, self.config, self.delivered, self.images = [loader], config, 0, 0
        inner = find_dataloader(loader)
        self.is_pinned = bool(getattr(inner, "pin_memory", False)) and torch.cuda.is_available()
        self.watched = Watched.attach(inner) if inner is not None and not live_iterators(inner) else None
        self.structure, self.given = count or Count(config["batch_size"]), count is not None
        self.by_structure = self.given or not collated or self.watched is None

    def count(self, batch):
        """The images of the next batch: the items that were collated to it, or else by its structure."""
        self.delivered += 1
        if self.by_structure or not any(self.watched.batches()):
            images = self.structure(batch)
            if self.given and not knobs.is_at_least(knobs.plain(images), 0):
                raise Refused(f"count= returned {images!r}: it must return the number of images of the batch")
            return knobs.plain(images)
        before, self.images = self.images, max(self.images, self.watched.images(self.delivered))
        return self.images - before

    def is_one_to_one(self):
        """Whether each batch that was delivered is one that was collated: a few more may be on their way."""
        made = sum(self.watched.batches()) if self.watched is not None else 0
        ahead = 1 + self.config["num_workers"] * (self.config.get("prefetch_factor") or 2)
        return self.delivered <= made <= self.delivered + ahead

    def idle_workers(self):
        """How many have collated nothing; 0 where nothing was counted at all."""
        batches = self.watched.batches() if self.watched is not None else []
        return batches.count(0) if any(batches) else 0

    def counts(self):
        """More fields of the answer."""
        return {}
