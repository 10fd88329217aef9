"""What a batch holds: its images, its bytes, its tensors. Batches are tensors, arrays, lists, tuples, dicts of these."""
import collections.abc
import sys


def is_array(value):
    return hasattr(value, "shape") and hasattr(value, "dtype")


def parts(batch):
    """The members of a container; None if `batch` is not one. Objects of data classes count their attributes."""
    if isinstance(batch, collections.abc.Mapping):
        return list(batch.values())
    if isinstance(batch, (list, tuple)):
        return list(batch)
    if hasattr(batch, "__dict__") and not is_array(batch):
        return list(vars(batch).values())
    return None


def count_images(batch):
    """The number of images in a batch, as `count=` should return it.

    An array: its first dimension. A dict or an object: that of its first countable member. A list or tuple: the first
    dimension of its first array, but its own length if it is a list of items (dicts, tuples, images of C x H x W).
    Raises TypeError for anything else.
    """
    if is_array(batch) and len(batch.shape):
        return int(batch.shape[0])
    members = parts(batch) or []
    if isinstance(batch, (list, tuple)) and members:
        arrays = [member for member in members if is_array(member) and len(member.shape)]
        if arrays and not (len(arrays) == len(members) and all(len(array.shape) == 3 for array in arrays)):
            return int(arrays[0].shape[0])
        columns = isinstance(batch, tuple) and isinstance(members[0], (list, tuple))
        return len(members[0]) if columns else len(members)
    for member in members:
        if parts(member) or is_array(member) and len(member.shape):
            return len(member) if isinstance(member, (list, tuple)) else count_images(member)
    raise TypeError(f"cannot count the images of a batch of type {type(batch).__name__}: give count=")


def batch_bytes(batch):
    """Bytes of all arrays in a batch."""
    if is_array(batch):
        return int(getattr(batch, "nbytes", 0) or batch.element_size() * batch.nelement())
    return sum(batch_bytes(member) for member in parts(batch) or [])


def to_cuda(batch):
    """The tensors of a batch, copied to the GPU; without pinned memory this waits for the copies."""
    torch = sys.modules["torch"]
    if isinstance(batch, torch.Tensor):
        return batch.to("cuda", non_blocking=True)
    return [to_cuda(member) for member in parts(batch) or []]


def same_content(one, other):
    """Whether two batches hold equal values."""
    if is_array(one) and is_array(other):
        return one.shape == other.shape and bool((one == other).all())
    members, others = parts(one), parts(other)
    if members is None or others is None:
        return type(one) is type(other) and bool(one == other)
    return len(members) == len(others) and all(map(same_content, members, others))
