"""Whether a loader or a step is the one of an earlier call, as far as this can be seen: its classes and functions,
their code, what they name, and plain values. Not seen are code that is not Python's, what files hold, and settings of
the process: so only a study whose folder the caller names is continued."""
import collections
import contextlib
import enum
import functools
import hashlib
import pathlib
import sys
import sysconfig
import types

import torch

OBJECTS_MOST = 20_000  # a number, and not a time: the result must be the same each time
ITEMS_MOST = 100       # of a container
TEXT_MOST = 10_000
PLAIN = (type(None), bool, int, float, complex, str, bytes, pathlib.PurePath, enum.Enum, torch.dtype, slice, range)
INSTALLED = ("site-packages", "dist-packages")
# Modules whose objects change when they are used
STATEFUL = ("random.", "numpy.random.", "torch.optim.", "torch._C.", "torch.amp.", "torch.cuda.amp.",
            "multiprocessing.", "threading.")


def fingerprint(*things, members=True):
    """A hexadecimal text that changes when `things` do. `members`: also when plain values among their members do, which
    use changes in some objects."""
    return Fingerprint(members).of(things)


@functools.lru_cache(maxsize=None)
def is_installed(module):
    """Whether it is of Python or of an installed package: its version stands for its code."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if not file:
        return module in sys.modules and module != "__main__"
    return (any(folder in pathlib.Path(file).parts for folder in INSTALLED)
            or file.startswith(sysconfig.get_path("stdlib")))


def version(module):
    package = module.partition(".")[0]
    return f"{package} {getattr(sys.modules.get(package), '__version__', '')}"


def of_numpy(name):
    """That type; nothing if numpy is not used."""
    return [getattr(sys.modules["numpy"], name)] if "numpy" in sys.modules else []


def is_plain(thing):
    return isinstance(thing, (*PLAIN, *of_numpy("generic")))


class Fingerprint:
    """Visits what things refer to, each object once."""

    def __init__(self, members):
        self.members, self.hash = members, hashlib.blake2b(digest_size=4)
        self.seen, self.waiting = {}, []

    def of(self, things):
        self.add(*things)
        for thing in self.waiting:  # it grows
            if len(self.waiting) <= OBJECTS_MOST:
                with contextlib.suppress(Exception):  # of objects that raise one where others have an attribute
                    self.visit(thing, type(thing))
        return self.hash.hexdigest()

    def say(self, *words):
        self.hash.update(" ".join(map(str, words)).encode("utf-8", "replace") + b"\n")

    def add(self, *things, values=True):
        for thing in things:
            if is_plain(thing):
                if values:
                    self.say(self.text(thing))
            elif id(thing) not in self.seen:
                self.seen[id(thing)] = thing
                self.waiting.append(thing)

    def text(self, thing):
        if isinstance(thing, (str, bytes)) and len(thing) > TEXT_MOST:
            return f"{len(thing)} {thing[:TEXT_MOST]!r}"
        return f"{type(thing).__qualname__} {thing!r}"

    def visit(self, thing, kind):
        if isinstance(thing, types.FunctionType):
            self.function(thing)
        elif isinstance(thing, type):
            self.type(thing)
        elif isinstance(thing, types.MethodType):
            self.add(thing.__func__, thing.__self__)
        elif isinstance(thing, (staticmethod, classmethod)):
            self.add(thing.__func__)
        elif isinstance(thing, property):
            self.add(thing.fget)
        elif isinstance(thing, functools.partial):
            self.add(thing.func, *thing.args, *thing.keywords.items())
        elif isinstance(thing, (list, tuple, dict, collections.deque)):
            self.container(thing, kind)
        elif isinstance(thing, (set, frozenset)):
            self.say(kind.__qualname__, *sorted(map(repr, thing)) if self.members else "")
        elif isinstance(thing, types.ModuleType):
            self.say(thing.__name__)
        elif isinstance(thing, (torch.Tensor, *of_numpy("ndarray"))):
            self.say(kind.__qualname__, thing.shape, thing.dtype)
        else:
            self.instance(thing, kind)

    def container(self, thing, kind):
        self.say(kind.__qualname__, len(thing) if self.members else "")
        is_dict = isinstance(thing, dict)
        items = list(thing.items() if is_dict else thing)
        if len(items) > ITEMS_MOST:
            items = items[:ITEMS_MOST // 2] + items[-ITEMS_MOST // 2:]
        for item in items:
            self.add(*item if is_dict else [item], values=self.members)

    def instance(self, thing, kind):
        self.add(kind)
        if not (kind.__module__ + ".").startswith(STATEFUL):
            self.add(getattr(thing, "__dict__", None))

    def type(self, kind):
        for base in kind.__mro__:
            self.say(base.__module__, base.__qualname__)
            if is_installed(base.__module__):
                self.say(version(base.__module__))
                continue
            for name, value in vars(base).items():
                if not name.startswith("__") or isinstance(value, types.FunctionType):
                    self.say(name)
                    self.add(value, values=self.members)

    def function(self, thing):
        self.say(thing.__module__, thing.__qualname__)
        if is_installed(thing.__module__):
            self.say(version(thing.__module__))
            return
        self.code(thing.__code__, thing.__globals__)
        self.add(*thing.__defaults__ or (), *(thing.__kwdefaults__ or {}).values())
        for cell in thing.__closure__ or ():
            try:
                self.add(cell.cell_contents)
            except ValueError:  # it is empty
                self.say("")

    def code(self, code, names):
        """Without the places in the file."""
        self.say(code.co_code, code.co_names, code.co_varnames)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.code(constant, names)
            else:
                self.say(sorted(map(repr, constant)) if isinstance(constant, frozenset) else repr(constant))
        for name in code.co_names:
            if name in names:
                self.add(names[name], values=self.members)
