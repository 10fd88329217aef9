"""What a batch holds: its images, its bytes, its tensors. Batches are tensors, arrays, lists, tuples, dicts of these,
or objects.

Where a DataLoader collates, collated.Watched counts what it collates; the structure of a batch tells its images only
elsewhere.
"""
import collections.abc
import sys

DEPTH = 8  # of containers in containers; deeper ones, and those inside themselves, are not looked into


def is_array(value):
    try:
        return hasattr(value, "shape") and hasattr(value, "dtype")
    except Exception:  # of nested tensors
        return True


def shape(value):
    """That of an array; none for other things, and where it is unknown."""
    try:
        return [int(size) for size in value.shape]
    except Exception:
        return []


def parts(batch):
    """The members of a container; None if `batch` is not one. Objects count their attributes."""
    try:
        if isinstance(batch, collections.abc.Mapping):
            return list(batch.values())
        if isinstance(batch, (list, tuple)):
            return list(batch)
        if is_array(batch) or isinstance(batch, (str, bytes, type)):
            return None
        slots = [name for kind in type(batch).__mro__ for name in as_names(vars(kind).get("__slots__", ()))]
        values = [getattr(batch, name) for name in slots if hasattr(batch, name) and not name.startswith("__")]
        return [*getattr(batch, "__dict__", {}).values(), *values] or None
    except Exception:  # an object that only looks like a container
        return None


def as_names(slots):
    return [slots] if isinstance(slots, str) else slots


def sizes(batch, depth=DEPTH):
    """Numbers that may be that of the images of a batch, the likeliest first."""
    if is_array(batch):
        return shape(batch)[:2]  # time may come first
    members = parts(batch) if depth else None
    if not members:
        return []
    inner = [size for member in members[:64] for size in sizes(member, depth - 1)]
    if not isinstance(batch, (list, tuple)):
        return inner
    lists = [member for member in members if isinstance(member, (list, tuple))]
    first = next(iter(lists), None)
    of_columns = len(lists) == len(members) and len(set(map(len, lists))) == 1
    if of_columns and not isinstance(batch, tuple):  # pinned tuples are lists
        of_columns = all(len(set(map(type, column))) == 1 for column in lists)
    if of_columns:
        return [len(first), len(members), *inner]
    arrays = [member for member in members if is_array(member) and shape(member)]
    of_items = not arrays or len(arrays) == len(members) and all(len(shape(array)) == 3 for array in arrays)
    return [len(members), *inner] if of_items else [*shape(arrays[0])[:1], *inner, len(members)]


def count_images(batch):
    """The number of images in a batch, as `count=` should return it.

    An array: its first dimension. A dict or an object: that of its first countable member. A list or tuple: the first
    dimension of its first array, but its own length if it is a list of items (dicts, tuples, images of C x H x W).
    Raises TypeError for anything else.
    """
    return (sizes(batch) or fail(batch))[0]


def fail(batch):
    raise TypeError(f"cannot count the images of a batch of type {type(batch).__name__}: give count=")


class Count:
    """Counts the images of batches by their structure, where `expected` are likely: in the place where the first batch
    has this number."""

    def __init__(self, expected):
        self.expected, self.place = expected, None

    def __call__(self, batch):
        found = sizes(batch) or fail(batch)
        if self.place is None:
            self.place = found.index(self.expected) if self.expected in found else 0
        return found[self.place if self.place < len(found) else 0]


def arrays(batch, seen=None, depth=DEPTH):
    """All arrays in a batch, each once. Those of nested tensors and tensor dictionaries are arrays themselves."""
    seen = set() if seen is None else seen
    if id(batch) in seen or not depth:
        return
    seen.add(id(batch))
    if is_array(batch):
        yield batch
        return
    for member in parts(batch) or []:
        yield from arrays(member, seen, depth - 1)


def agrees(batch):
    """Whether all arrays in a batch have the same first dimension, which is then the number of images."""
    return len({size for array in arrays(batch) for size in shape(array)[:1]}) == 1


def array_bytes(array):
    """Bytes of an array as far as it tells them: sparse tensors those of their values, tensor dictionaries those of
    their members."""
    for read in (
        lambda: array.untyped_storage().nbytes() if hasattr(array, "is_nested") and array.is_nested else None,
        lambda: array.values().nbytes if getattr(array, "is_sparse", False) is True else None,
        lambda: array.nbytes,
        lambda: array.element_size() * array.nelement(),
        lambda: sum(map(batch_bytes, array.values())),
    ):
        try:
            found = read()
            if found is not None:
                return int(found)
        except Exception:
            pass
    return 0


def batch_bytes(batch):
    """Bytes of all arrays in a batch; an estimate where one does not tell its own."""
    return sum(map(array_bytes, arrays(batch)))


def tensor_bytes(batch):
    """Bytes of the PyTorch tensors in a batch: only these go from workers through shared memory."""
    torch = sys.modules["torch"]
    return sum(array_bytes(array) for array in arrays(batch)
               if isinstance(array, torch.Tensor) or not hasattr(array, "__array_interface__"))


def host_tensors(batch):
    """The tensors of a batch that a DataLoader can put into page-locked memory."""
    torch = sys.modules["torch"]
    return [array for array in arrays(batch) if isinstance(array, torch.Tensor) and array.device.type == "cpu"]


def to_cuda(batch):
    """The tensors of a batch, copied to the GPU; without pinned memory this waits for the copies."""
    torch = sys.modules["torch"]
    return [array.to("cuda", non_blocking=True) for array in arrays(batch) if isinstance(array, torch.Tensor)]


def same_content(one, other, depth=DEPTH):
    """Whether two batches hold equal values."""
    try:
        if is_array(one) and is_array(other):
            return shape(one) == shape(other) and bool((one == other).all())
        members, others = parts(one), parts(other)
        if members is None or others is None:
            return type(one) is type(other) and bool(one == other)
        if len(members) != len(others):
            return False
        return not depth or all(same_content(a, b, depth - 1) for a, b in zip(members, others))
    except Exception:  # ragged or sparse
        return False
