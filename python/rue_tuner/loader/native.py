"""The shared object with the loader, by ctypes: python/native/rue_python.h and rue/loader.h. Nothing else calls it."""
import ctypes
import os
import pathlib
import threading
import weakref
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any, Optional, Tuple

from ..errors import DataError, LoaderError

ABI = 6
WAIT_NS = 10 ** 8  # so Ctrl-C ends a wait
FORKED = "this loader was made in another process: make a Loader in this one (after a fork it has no threads)"
VIEWS_MAX = 32  # RUE_VIEWS_MAX
CLOSED = "the loader is closed: make a new one"
OK, INTERNAL, MEMORY, TIMEOUT, RUNNER, USAGE, DATA, INFEASIBLE, INCONCLUSIVE, STORE, INTERRUPTED, TERMINATED = range(12)
EXCEPTIONS = {MEMORY: MemoryError, INFEASIBLE: MemoryError, USAGE: ValueError, DATA: DataError, STORE: OSError}


class Error(Structure):
    _fields_ = [("status", c_int), ("message", c_char * 1024)]

    def text(self):
        return os.fsdecode(self.message)


class Facts(Structure):
    _fields_ = [("items", c_uint64), ("whole_items", c_uint64), ("digest", c_uint64), ("classes", c_uint64),
                ("views", c_uint32), ("shape", c_uint32 * 3 * VIEWS_MAX),
                ("raw", c_int32), ("has_labels", c_int32), ("format", c_char * 16),
                ("dtype", c_char * 16), ("mean", c_float * 3), ("std", c_float * 3), ("augment", c_char * 2048)]


class Batch(Structure):
    _fields_ = [("index", c_uint64), ("epoch", c_uint64), ("first", c_uint64), ("count", c_size_t),
                ("queued", c_size_t), ("images", c_void_p), ("labels", c_void_p), ("items", c_void_p)]


# {function: (result, arguments)}
INTERFACE = {
    "rue_python_abi": (c_int, []),
    "rue_python_open_data": (c_int, [c_char_p, c_char_p, c_char_p, POINTER(c_int), POINTER(c_void_p), POINTER(Error)]),
    "rue_python_facts": (c_int, [c_void_p, c_char_p, POINTER(Facts), POINTER(Error)]),
    "rue_python_number": (None, [c_void_p, c_void_p, c_uint64]),
    "rue_python_images": (c_int, [c_void_p, c_char_p, c_int, POINTER(c_uint64), POINTER(c_uint64), POINTER(Error)]),
    "rue_python_open_loader": (c_int, [c_void_p, c_char_p, c_uint64, c_int, POINTER(c_void_p), POINTER(Error)]),
    "rue_python_release": (None, [c_void_p, POINTER(POINTER(Batch))]),
    "rue_source_class_name": (c_char_p, [c_void_p, c_size_t]),
    "rue_source_key_of_number": (None, [c_void_p, c_uint64, c_char_p, c_size_t]),
    "rue_subset_path": (c_char_p, [c_char_p]),
    "rue_source_note": (None, [c_void_p, c_char_p, c_size_t]),
    "rue_source_close": (None, [c_void_p]),
    "rue_loader_next_within": (c_int, [c_void_p, c_uint64, POINTER(POINTER(Batch)), POINTER(Error)]),
    "rue_loader_rewind": (c_int, [c_void_p, c_uint64, c_uint64, POINTER(Error)]),
    "rue_loader_bad_images": (c_uint64, [c_void_p, POINTER(Error)]),
    "rue_loader_close": (None, [c_void_p]),
    "rue_format_times": (c_char_p, [c_double, c_char_p, c_size_t]),
}


def find_library():
    """RUE_LOADER, or the one in this package."""
    return os.environ.get("RUE_LOADER") or str(pathlib.Path(__file__).parent.parent / "_rue_loader.so")


def open_library(kind):
    """`kind` CDLL releases the GIL during a call, PyDLL keeps it."""
    path = find_library()
    try:
        library = kind(path)
    except OSError as error:
        raise ImportError(f"rue's loader cannot be opened: {error}; install the package rue-tuner, or set RUE_LOADER "
                          "to the path of _rue_loader.so") from None
    for name, (result, arguments) in INTERFACE.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    if library.rue_python_abi() != ABI:
        raise ImportError(f"{path} belongs to another version of rue-tuner: install the package again")
    return library


waiting, holding = open_library(ctypes.CDLL), open_library(ctypes.PyDLL)


def check(status, error):
    """Raises the exception of a status other than OK."""
    if status != OK:
        raise EXCEPTIONS.get(status, LoaderError)(error.text())


def text_of(function, *arguments):
    buffer = ctypes.create_string_buffer(4096)
    function(*arguments, buffer, len(buffer))
    return os.fsdecode(buffer.value)


def find_subset_file(subset):
    """The path in the text of a subset that names a file, else None."""
    found = waiting.rue_subset_path(os.fsencode(subset))
    return found if found is None else os.fsdecode(found)


def close_in(process, function, handle, inside, *_kept):
    """In a forked child nothing is closed: the threads are the parent's."""
    if os.getpid() == process:
        with inside:
            function(handle)


def close_with(owner, function, inside, *kept):
    """Closes the handle of an object when that dies, after other threads that are `inside`, before what is `kept`,
    which the garbage collector may find with it. The exit closes nothing, as threads of Python still run then."""
    finalizer = weakref.finalize(owner, close_in, owner.process, function, owner.handle, inside, *kept)
    finalizer.atexit = False
    return finalizer


def close_source(handle):
    """May be called twice."""
    waiting.rue_source_close(handle)
    handle.value = None


class Data:
    """Opened data; closed with the last reference."""

    def __init__(self, path: str, subset: Optional[str], options: bytes):
        """Ctrl-C ends the reading of the index. Raises FileNotFoundError, DataError, ValueError, OSError,
        MemoryError."""
        if "\0" in path:
            raise ValueError(f"{path!r} is not a path: it has a null character")
        self.handle = handle = c_void_p()
        self.process, inside = os.getpid(), threading.RLock()
        close_with(self, close_source, inside)
        stop, error, results, opened = c_int(0), Error(), [], threading.Event()
        texts = os.fsencode(path), subset if subset is None else os.fsencode(subset), options

        def open_data():
            results.append(waiting.rue_python_open_data(*texts, byref(stop), byref(handle), byref(error)))
            if stop.value:  # nobody waits
                with inside:
                    close_source(handle)
            opened.set()
        try:
            threading.Thread(target=open_data, daemon=True).start()
            # join would take the thread for ended after Ctrl-C, in Python 3.9 to 3.12
            while not opened.wait(WAIT_NS / 1e9):
                pass
        except BaseException:
            stop.value = 1
            raise
        if results[0] == DATA and not os.path.lexists(path) and not any(mark in path for mark in "{*?["):
            raise FileNotFoundError(error.text())
        check(results[0], error)
        facts = self.facts(options)
        self.whole_items = facts.whole_items  # without the subset
        self.items, self.digest = facts.items, f"{facts.digest:016x}"
        self.raw, self.has_labels, self.format = bool(facts.raw), bool(facts.has_labels), facts.format.decode()
        self.dtype = facts.dtype.decode()  # of preprocessed items
        self.classes = [os.fsdecode(waiting.rue_source_class_name(self.handle, i)) for i in range(facts.classes)]
        self.note = text_of(waiting.rue_source_note, self.handle)

    def facts(self, options: bytes) -> Any:
        """What else they are, with these options."""
        facts, error = Facts(), Error()
        check(waiting.rue_python_facts(self.handle, options, byref(facts), byref(error)), error)
        return facts

    def key(self, number: int) -> str:
        """The name of an item by its number in the data without the subset."""
        return text_of(waiting.rue_source_key_of_number, self.handle, number)

    def images(self, options: bytes, even: int) -> Tuple[int, int]:
        """The share of the rank of the options, and what it loads in an epoch so that ranks are `even` (0 no, 1 drop,
        2 pad)."""
        share, images, error = c_uint64(), c_uint64(), Error()
        check(waiting.rue_python_images(self.handle, options, even, byref(share), byref(images), byref(error)), error)
        return share.value, images.value


class Lease:
    """A batch whose memory is lent. It returns to the loader with `release`, or when the last reference is gone, as its
    images are. `items` are numbers in the data without the subset, or None."""

    batch = items = None

    def __init__(self, batches):
        """Empty, until native code sets `batch`: so nothing that interrupts Python loses a batch."""
        self.batches, self.batch = batches, POINTER(Batch)()
        batches.held[id(self.batch)] = weakref.ref(self), self.batch

    def fill(self):
        content = self.batch.contents
        count = self.count = content.count
        self.labels = (c_int32 * count).from_address(content.labels)
        self.memory = content.images, count * self.batches.image_bytes
        if self.batches.numbered:
            numbers = c_uint64 * count
            self.items = numbers.from_buffer_copy(numbers.from_address(content.items))
            holding.rue_python_number(self.batches.data.handle, self.items, count)
        return self

    def images(self):
        """The bytes of the images, as a ctypes array that keeps this lease."""
        address, size = self.memory
        array = (ctypes.c_uint8 * size).from_address(address)
        array.lease = self
        return array

    def release(self):
        if self.batch is not None:
            self.batches.release(self.batch)

    __del__ = release


class Batches:
    """An open loader. One thread calls `rewind` and `next`."""

    def __init__(
        self, data: Data, options: bytes, images: int, max_held: int, image_bytes: int, waits: bool, numbered: bool
    ):
        """`waits`: without workers, batches are loaded while `next` waits. `numbered`: leases have their items."""
        self.data, self.process, self.max_held, self.image_bytes = data, os.getpid(), max_held, image_bytes
        self.held = {}  # {id of a pointer to a batch: (reference to its Lease, the pointer)}
        self.handle, self.inside = c_void_p(), threading.RLock()
        self.numbered, self.bad, self.error = numbered, 0, Error()
        # (function, timeout) of the first try: without the GIL only where it has to wait, so that no other thread runs
        # in the meantime.
        self.first_try = (waiting.rue_loader_next_within, WAIT_NS) if waits else (holding.rue_loader_next_within, 0)
        self.close = close_with(self, waiting.rue_loader_close, self.inside, data)
        status = waiting.rue_python_open_loader(data.handle, options, images, max_held, byref(self.handle), self.error)
        if status == INFEASIBLE:
            raise MemoryError(f"{self.error.text()}; lower batch_size, num_workers or prefetch_factor")
        check(status, self.error)

    def is_own(self, getpid=os.getpid):
        return getpid() == self.process

    def check_open(self):
        if not self.is_own():
            raise RuntimeError(FORKED)
        if not self.close.alive:
            raise RuntimeError(CLOSED)

    def rewind(self, epoch, first):
        error = Error()
        self.check_open()
        with self.inside:
            self.check_open()
            check(waiting.rue_loader_rewind(self.handle, epoch, first, byref(error)), error)

    def next(self, wait=True):
        """The Lease of the next batch; None after the last, and without `wait` if it is not loaded yet. Ctrl-C ends a
        wait; then only `rewind` says what is next."""
        if len(self.held) >= self.max_held:
            self.release_lost()
        if len(self.held) >= self.max_held:
            raise RuntimeError(f"{len(self.held)} batches are kept, by tracebacks of earlier exceptions: drop these "
                               "first")
        lease, error = Lease(self), self.error
        function, timeout_ns = self.first_try if wait else (self.first_try[0], 0)
        while True:
            with self.inside:
                self.check_open()
                status = function(self.handle, timeout_ns, byref(lease.batch), error)
            if status != TIMEOUT:
                break
            if not wait:
                return None
            function, timeout_ns = waiting.rue_loader_next_within, WAIT_NS
        if status != OK:
            self.error = Error()
            check(status, error)
        return lease.fill() if lease.batch else None

    def release(self, batch, function=holding.rue_python_release):
        if self.is_own():
            function(self.handle, byref(batch))
            self.held.pop(id(batch), None)

    def release_lost(self):
        """Releases the batches of leases whose end a signal interrupted."""
        for lease, batch in list(self.held.values()):
            if lease() is None:
                self.release(batch)

    def bad_images(self):
        """The last known number after the end."""
        if self.is_own():
            with self.inside:
                if self.close.alive:
                    self.bad = waiting.rue_loader_bad_images(self.handle, None)
        return self.bad
