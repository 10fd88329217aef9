"""Copies of what a loader holds, so that each trial starts from the state at the call, and the caller's objects stay as
they are."""
import copy
import datetime
import enum
import functools
import io
import itertools
import numbers
import pathlib
import random
import re
import time
import types

import torch
from torch.utils import data as torch_data
from torch.utils.data.dataloader import _BaseDataLoaderIter

from .batches import array_bytes

TIME_LIMIT_S = 0.5      # for the copies of a trial
BYTE_LIMIT = 256 << 20  # of their arrays
MANY = 20               # objects of a container that is always copied
IMMUTABLE = {type(None), bool, int, float, complex, str, bytes, range, slice, type, type(Ellipsis),
             types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.MappingProxyType,
             torch.dtype, torch.device, torch.Size}
FAMILIES = (type, pathlib.PurePath, enum.Enum, datetime.date, datetime.time, datetime.timedelta, numbers.Number,
            re.Pattern)
OF_FILES = ("pyarrow", "PIL")  # packages whose objects hold what was read, and do not change


class ReadOnce(TypeError):
    """A part that would be used up by being read, and cannot be copied."""


def is_immutable(kind):
    return kind in IMMUTABLE or issubclass(kind, FAMILIES) or kind.__module__.partition(".")[0] in OF_FILES


class Copier:
    """Copies an object with its containers, plain members, random generators and arrays. What cannot be copied is
    shared: `shared` describes it. `only(thing)` says what to copy [all]."""

    def __init__(self, only=None):
        self.only = only
        self.copies, self.kept, self.shared = {}, [], {}
        self.deadline, self.bytes = time.monotonic() + TIME_LIMIT_S, BYTE_LIMIT

    def copy(self, thing):
        kind = type(thing)
        if is_immutable(kind) or self.only and not self.only(thing):
            return thing
        if id(thing) not in self.copies:
            self.kept.append(thing)  # its id must stay its own
            try:
                self.copies[id(thing)] = self.make(thing, kind)
            except ReadOnce:
                raise
            except Exception:
                self.share(thing, f"a {kind.__qualname__}, which cannot be copied")
        return self.copies[id(thing)]

    def share(self, thing, description):
        self.copies[id(thing)] = thing
        if type(thing).__module__ not in ("_thread", "threading"):
            self.shared[description] = True
        return thing

    def make(self, thing, kind):
        if isinstance(thing, _BaseDataLoaderIter):
            return None  # its workers are the caller's
        if kind is types.MethodType:
            return types.MethodType(thing.__func__, self.copy(thing.__self__))
        if kind is functools.partial:
            keywords = {name: self.copy(value) for name, value in thing.keywords.items()}
            return kind(self.copy(thing.func), *map(self.copy, thing.args), **keywords)
        if isinstance(thing, torch.Generator):
            twin = torch.Generator(thing.device)
            return twin.set_state(thing.get_state())
        if kind.__module__ == "multiprocessing.managers":
            return self.share(thing, f"a {kind.__qualname__}, which cannot be copied")
        if kind is functools._lru_cache_wrapper:
            return self.share(thing, f"the cache of {thing.__qualname__}")
        if hasattr(kind, "__next__") and kind.__module__ in ("builtins", "itertools"):
            return self.iterator(thing, kind)
        if isinstance(thing, random.Random) or kind.__module__.startswith("numpy.random"):
            return copy.deepcopy(thing)
        if hasattr(thing, "shape") and hasattr(thing, "dtype"):
            return self.array(thing)
        if kind in (list, tuple, dict, set, frozenset):
            return self.container(thing, kind)
        if hasattr(kind, "_make"):
            return kind._make(map(self.copy, thing))
        return self.instance(thing, kind)

    def iterator(self, thing, kind):
        try:
            return copy.deepcopy(thing)
        except Exception as error:
            raise ReadOnce(f"a {kind.__qualname__} in it can be read only once: give a list, or a factory that makes "
                           "the loader at each call") from error

    def array(self, thing):
        """Memory that processes share, or that cannot be written, stays the same."""
        if isinstance(thing, torch.Tensor):
            if thing.is_shared():
                return self.share(thing, "memory that processes share")
            if thing.device.type != "cpu" or thing.requires_grad or thing.layout is not torch.strided:
                return thing
        elif type(thing).__module__ != "numpy" or type(thing).__name__ != "ndarray" or not thing.flags.writeable:
            return thing
        elif not owns_memory(thing):
            return self.share(thing, "memory that processes share")
        self.bytes -= array_bytes(thing)
        if self.bytes < 0:
            return self.share(thing, f"arrays, because they have more than {BYTE_LIMIT >> 20} MB")
        return thing.clone() if isinstance(thing, torch.Tensor) else thing.copy()

    def container(self, thing, kind):
        """One of many objects that can change is shared as a whole where the copy takes too long."""
        if is_plain(thing.keys() if kind is dict else thing) and (kind is not dict or is_plain(thing.values())):
            return thing if kind in (tuple, frozenset) else thing.copy()
        if kind is tuple or kind is frozenset:
            return kind(map(self.copy, thing))
        twin = self.copies[id(thing)] = kind()  # it may hold itself
        for part in thing:
            if len(thing) > MANY and time.monotonic() > self.deadline:
                return self.share(thing, f"a {kind.__name__} of {len(thing)} objects, because it is too large to copy")
            if kind is dict:
                twin[part] = self.copy(thing[part])
            else:
                twin.append(self.copy(part)) if kind is list else twin.add(self.copy(part))
        return twin

    def instance(self, thing, kind):
        """By the members, where it has them. A copy must not run the destructor of what it shares, such as an open
        file."""
        if holds_loader(thing):
            twin = kind.__new__(without_destructor(kind))
            twin.__dict__.update(thing.__dict__)
        elif hasattr(kind, "__del__"):
            return self.share(thing, f"a {kind.__qualname__}, which has a destructor")
        else:
            twin = shallow(thing, kind)
        self.copies[id(thing)] = twin
        if twin is thing:
            return thing
        is_stream = isinstance(thing, torch_data.IterableDataset)
        if is_stream and any(isinstance(value, io.IOBase) for value in vars(thing).values()):
            raise ReadOnce("an open file in the data set can be read only once: open it in __iter__, or give a factory")
        for name in list(getattr(twin, "__dict__", {})):
            twin.__dict__[name] = self.copy(twin.__dict__[name])
        for name in slots(kind):
            if hasattr(twin, name):
                object.__setattr__(twin, name, self.copy(getattr(twin, name)))
        if isinstance(thing, (torch_data.Dataset, torch_data.Sampler)):
            self.shadow(twin, kind)
        return self.members(twin)

    def members(self, twin):
        """Those of a subclass of list or dict, which copy.copy has copied."""
        if isinstance(twin, dict):
            for key, value in list(twin.items()):
                twin[key] = self.copy(value)
        elif isinstance(twin, list):
            twin[:] = map(self.copy, twin)
        return twin

    def shadow(self, twin, kind):
        """Containers that a data set keeps in its class become members of the copy."""
        for base in kind.__mro__:
            for name, value in list(vars(base).items()) if not base.__module__.startswith("torch.") else []:
                if type(value) in (dict, list, set) and name not in twin.__dict__ and not name.startswith("__"):
                    twin.__dict__[name] = self.copy(value)
                elif type(value) is functools._lru_cache_wrapper:
                    self.shared[f"the cache of {value.__qualname__}"] = True


def owns_memory(array):
    """Whether the memory of a NumPy array is that of an array, and not of other objects, such as
    multiprocessing.Array."""
    while type(array).__name__ == "ndarray" and array.base is not None:
        array = array.base
    return type(array).__name__ in ("ndarray", "bytes", "bytearray")


def holds_loader(thing):
    return isinstance(thing, torch_data.DataLoader) or any(isinstance(value, torch_data.DataLoader)
                                                           for value in getattr(thing, "__dict__", {}).values())


def without_destructor(kind):
    """A class like that of a loader whose copies end without a word; its iterators end by themselves."""
    return type(kind.__name__, (kind,), {"__del__": lambda self: None}) if hasattr(kind, "__del__") else kind


def shallow(thing, kind):
    try:
        return copy.copy(thing)
    except RecursionError:  # of a __getattr__ that needs its members
        twin = object.__new__(kind)
        twin.__dict__.update(thing.__dict__)
        return twin


def members(thing):
    """The values of the attributes of an object."""
    in_slots = [getattr(thing, name) for name in slots(type(thing)) if hasattr(thing, name)]
    return [*getattr(thing, "__dict__", {}).values(), *in_slots]


def slots(kind):
    for base in kind.__mro__:
        names = vars(base).get("__slots__", ())
        for name in [names] if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__"):
                yield name


def is_plain(things):
    """Whether things, and those in tuples among them, cannot change. It takes little time for a million of them."""
    kinds = set(map(type, things))
    tuples = {kind for kind in kinds if issubclass(kind, tuple)}
    if not all(map(is_immutable, kinds - tuples)):
        return False
    if not tuples:
        return True
    inside = itertools.chain.from_iterable(thing for thing in things if type(thing) in tuples)
    return all(map(is_immutable, set(map(type, inside))))
