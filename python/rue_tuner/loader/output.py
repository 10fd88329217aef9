"""Batches as PyTorch's tensors or NumPy's arrays. Both are views of a lent batch, which they keep."""
import ctypes
import itertools
import math


class Torch:
    def __init__(self):
        import torch
        self.torch = torch

    def images(self, lease, shapes, dtype):
        """A tensor for each view."""
        images = self.torch.frombuffer(lease.images(), dtype=getattr(self.torch, dtype))
        parts = images.split([lease.count * math.prod(shape) for shape in shapes])
        return [part.view(lease.count, *shape) for part, shape in zip(parts, shapes)]

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
        images = self.numpy.frombuffer(lease.images(), dtype)
        ends = list(itertools.accumulate(lease.count * math.prod(shape) for shape in shapes))
        return [part.reshape(lease.count, *shape) for part, shape in zip(self.numpy.split(images, ends), shapes)]

    def integers(self, array, dtype):
        return self.numpy.frombuffer(array, "int32" if ctypes.sizeof(array._type_) == 4 else "uint64").astype(dtype)

    def copy(self, images):
        return images.copy()


OUTPUTS = {"torch": Torch, "numpy": NumPy}


def make_output(name):
    """Raises ImportError where the package is missing."""
    try:
        return OUTPUTS[name]()
    except ImportError as error:
        other = next(other for other in OUTPUTS if other != name)
        raise ImportError(f"output={name!r}: {error}; install it, or use output={other!r}") from None
