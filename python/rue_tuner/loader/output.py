"""Batches as PyTorch's tensors or NumPy's arrays. Both are views of a lent batch, which they keep."""
import ctypes
import math
from typing import Any

BYTES = {"float32": 4, "uint8": 1}  # of a value


def places(images, shapes, value_bytes):
    """(shape, number of values, offset in bytes) of each view in a batch."""
    at = 0
    for shape in shapes:
        count = images * math.prod(shape)
        yield shape, count, at
        at += count * value_bytes


class Torch:
    def __init__(self):
        import torch
        self.torch = torch

    def images(self, lease, shapes, dtype):
        """A tensor for each view."""
        array, kind = lease.images(), getattr(self.torch, dtype)
        return [self.torch.frombuffer(array, dtype=kind, count=count, offset=at).view(lease.count, *shape)
                for shape, count, at in places(lease.count, shapes, BYTES[dtype])]

    def integers(self, array, dtype):
        """A copy. Unsigned 64-bit numbers of items are below 2^63."""
        kind = self.torch.int32 if ctypes.sizeof(array._type_) == 4 else self.torch.int64
        numbers = self.torch.frombuffer(array, dtype=kind)
        if dtype == "int64" and kind is self.torch.int32:
            return numbers.long()  # in half the time
        return numbers.to(getattr(self.torch, dtype), copy=True)

    def copy(self, images):
        return images.clone()


class NumPy:
    def __init__(self):
        import numpy
        self.numpy = numpy

    def images(self, lease, shapes, dtype):
        array = lease.images()
        return [self.numpy.frombuffer(array, dtype, count, at).reshape(lease.count, *shape)
                for shape, count, at in places(lease.count, shapes, BYTES[dtype])]

    def integers(self, array, dtype):
        return self.numpy.frombuffer(array, "int32" if ctypes.sizeof(array._type_) == 4 else "uint64").astype(dtype)

    def copy(self, images):
        return images.copy()


OUTPUTS = {"torch": Torch, "numpy": NumPy}


def make_output(name: str) -> Any:
    """Raises ImportError where the package is missing."""
    try:
        return OUTPUTS[name]()
    except ImportError as error:
        other = next(other for other in OUTPUTS if other != name)
        raise ImportError(f"output={name!r}: {error}; install it, or use output={other!r}") from None
