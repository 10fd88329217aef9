"""The shared object with the loader, by ctypes: python/native/rue_python.h and rue/loader.h. Nothing else calls it."""
import ctypes
import os
import pathlib
import threading
import weakref
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

from ..errors import DataError, LoaderError

ABI = 2
WAIT_NS = 10 ** 8  # so Ctrl-C ends a wait
FORKED = "this loader was made in another process: make a Loader in this one (after a fork it has no threads)"
OK, INTERNAL, MEMORY, TIMEOUT, RUNNER, USAGE, DATA, INFEASIBLE, INCONCLUSIVE, STORE, INTERRUPTED, TERMINATED = range(12)
EXCEPTIONS = {MEMORY: MemoryError, INFEASIBLE: MemoryError, USAGE: ValueError, DATA: DataError, STORE: OSError}


class Error(Structure):
    _fields_ = [("status", c_int), ("message", c_char * 1024)]

    def text(self):
        return os.fsdecode(self.message)


class Facts(Structure):
    _fields_ = [("items", c_uint64), ("digest", c_uint64), ("classes", c_uint64), ("shape", c_uint32 * 3),
                ("raw", c_int32), ("has_labels", c_int32), ("format", c_char * 16),
                ("dtype", c_char * 16)]


class Batch(Structure):
    _fields_ = [("index", c_uint64), ("epoch", c_uint64), ("first", c_uint64), ("count", c_size_t), ("queued", c_size_t),
                ("images", c_void_p), ("labels", POINTER(c_int32)), ("items", POINTER(c_uint64))]


# {function: (result, arguments)}
INTERFACE = {
    "rue_python_abi": (c_int, []),
    "rue_python_open_data": (c_int, [c_char_p, c_char_p, POINTER(c_int), POINTER(c_void_p), POINTER(Error)]),
    "rue_python_facts": (None, [c_void_p, POINTER(Facts)]),
    "rue_python_images": (c_int, [c_void_p, c_char_p, c_int, POINTER(c_uint64), POINTER(c_uint64), POINTER(Error)]),
    "rue_python_open_loader": (c_int, [c_void_p, c_char_p, c_uint64, c_int, POINTER(c_void_p), POINTER(Error)]),
    "rue_source_class_name": (c_char_p, [c_void_p, c_size_t]),
    "rue_source_key": (None, [c_void_p, c_uint64, c_char_p, c_size_t]),
    "rue_source_note": (None, [c_void_p, c_char_p, c_size_t]),
    "rue_source_close": (None, [c_void_p]),
    "rue_loader_next_within": (c_int, [c_void_p, c_uint64, POINTER(POINTER(Batch)), POINTER(Error)]),
    "rue_loader_rewind": (c_int, [c_void_p, c_uint64, c_uint64, POINTER(Error)]),
    "rue_loader_release": (None, [c_void_p, POINTER(Batch)]),
    "rue_loader_bad_images": (c_uint64, [c_void_p, POINTER(Error)]),
    "rue_loader_close": (None, [c_void_p]),
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
        raise ImportError(f"rue's loader cannot be opened: {error}; install the package rue-tuner, or set RUE_LOADER to "
                          "the path of _rue_loader.so") from None
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


def close_in(process, function, handle, *kept):
    """In a forked child nothing is closed: the threads are the parent's. `kept` lives until then, also where all of it is garbage
    at the same time."""
    if os.getpid() == process:
        function(handle)


class Data:
    """Opened data; closed with the last reference."""

    def __init__(self, path, options):
        """Ctrl-C ends the reading of the index. Raises FileNotFoundError, DataError, ValueError, OSError, MemoryError."""
        self.handle, stop, error, results = c_void_p(), c_int(0), Error(), []
        arguments = os.fsencode(path), options, byref(stop), byref(self.handle), byref(error)
        thread = threading.Thread(target=lambda: results.append(waiting.rue_python_open_data(*arguments)), daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(WAIT_NS / 1e9)
        except BaseException:
            stop.value = 1
            thread.join()
            if self.handle:
                waiting.rue_source_close(self.handle)
            raise
        if results[0] == DATA and not os.path.lexists(path) and not any(mark in os.fspath(path) for mark in "{*?["):
            raise FileNotFoundError(error.text())
        check(results[0], error)
        weakref.finalize(self, close_in, os.getpid(), waiting.rue_source_close, self.handle)
        facts = Facts()
        waiting.rue_python_facts(self.handle, byref(facts))
        self.items, self.digest, self.shape = facts.items, f"{facts.digest:016x}", tuple(facts.shape)
        self.raw, self.has_labels, self.format = bool(facts.raw), bool(facts.has_labels), facts.format.decode()
        self.dtype = facts.dtype.decode()  # of preprocessed items
        self.classes = [os.fsdecode(waiting.rue_source_class_name(self.handle, i)) for i in range(facts.classes)]
        self.note = text_of(waiting.rue_source_note, self.handle)

    def key(self, item):
        return text_of(waiting.rue_source_key, self.handle, item)

    def images(self, options, even):
        """The share of the rank of the options, and what it loads in an epoch so that ranks are `even` (0 no, 1 drop, 2 pad)."""
        share, images, error = c_uint64(), c_uint64(), Error()
        check(waiting.rue_python_images(self.handle, options, even, byref(share), byref(images), byref(error)), error)
        return share.value, images.value


class Lease:
    """A batch whose memory is lent. It returns to the loader with `release`, or when the last reference is gone, as its images
    are. `items` is a copy."""

    __slots__ = ("batches", "batch", "count", "first", "queued", "labels", "items", "memory", "__weakref__")

    def __init__(self, batches, batch):
        self.batches, self.batch, content = batches, None, batch.contents
        self.count, self.first, self.queued = content.count, content.first, content.queued
        self.labels = (c_int32 * self.count).from_address(ctypes.addressof(content.labels.contents))
        numbers = c_uint64 * self.count
        self.items = numbers.from_buffer_copy(numbers.from_address(ctypes.addressof(content.items.contents)))
        self.memory = content.images, self.count * batches.image_bytes
        batches.pending = None
        self.batch = batch
        batches.held.add(id(self))

    def images(self):
        """The bytes of the images, as a ctypes array that keeps this lease."""
        address, size = self.memory
        array = (ctypes.c_uint8 * size).from_address(address)
        array.lease = self
        return array

    def release(self):
        batches, batch, self.batch = self.batches, self.batch, None
        batches.held.discard(id(self))
        if batch and batches.is_own():
            holding.rue_loader_release(batches.handle, batch)

    __del__ = release


class Batches:
    """An open loader. One thread calls `rewind` and `next`."""

    def __init__(self, data, options, images, max_held, image_bytes, waits):
        """`waits`: without workers, batches are loaded while `next` waits."""
        self.data, self.process, self.held, self.image_bytes = data, os.getpid(), set(), image_bytes
        self.handle, self.waits, error = c_void_p(), waits, Error()
        self.pending = None  # the pointer to a batch after which Ctrl-C came
        check(waiting.rue_python_open_loader(data.handle, options, images, max_held, byref(self.handle), byref(error)), error)
        self.close = weakref.finalize(self, close_in, self.process, waiting.rue_loader_close, self.handle, data)

    def is_own(self, getpid=os.getpid):
        return getpid() == self.process

    def check_open(self):
        if not self.is_own():
            raise RuntimeError(FORKED)
        if not self.close.alive:
            raise RuntimeError("the loader is closed: make a new one")

    def rewind(self, epoch, first):
        self.check_open()
        error = Error()
        if self.pending:
            Lease(self, self.pending)
        check(waiting.rue_loader_rewind(self.handle, epoch, first, byref(error)), error)

    def next(self, wait=True):
        """The Lease of the next batch; None after the last, and without `wait` if it is not loaded yet. Ctrl-C ends a wait."""
        self.check_open()
        error, status = Error(), OK if self.pending else TIMEOUT
        if not self.pending:
            self.pending = POINTER(Batch)()
        if status == TIMEOUT and not self.waits:  # no other thread runs in the meantime
            status = holding.rue_loader_next_within(self.handle, 0, byref(self.pending), byref(error))
        while status == TIMEOUT and wait:
            status = waiting.rue_loader_next_within(self.handle, WAIT_NS, byref(self.pending), byref(error))
        if status != TIMEOUT:
            check(status, error)
        return Lease(self, self.pending) if self.pending else None

    def bad_images(self):
        self.check_open()
        return waiting.rue_loader_bad_images(self.handle, None)
