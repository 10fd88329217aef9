"""Batches in memory of the CPU."""
from typing import Any, Dict, NamedTuple

from .native import Batches


class Delivery(NamedTuple):
    """A batch for the caller, from a feed."""
    count: int
    images: Any  # list: of each view
    labels: Any
    items: Any  # ctypes array: numbers in the data without the subset
    copied: bool = False


class HostFeed:
    """Batches that lie in the memory of the loader; copies, where the caller keeps too many.

    Feeds have the same methods; one thread calls them. After an exception only `rewind` says what is next."""

    def __init__(self, batches: Batches, output: Any, shapes: Any, options: Dict[str, Any]):
        self.batches, self.output, self.shapes, self.options = batches, output, shapes, options

    def rewind(self, epoch, first):
        """Drops what was not delivered."""
        self.batches.rewind(epoch, first)

    def next(self):
        """The Delivery that is due."""
        lease = self.batches.next()
        images = self.output.images(lease, self.shapes, self.options["dtype"])
        copied = len(self.batches.held) > self.options["hold"]
        if copied:
            images = [self.output.copy(view) for view in images]
        labels = self.output.integers(lease.labels, self.options["label_dtype"])
        return Delivery(lease.count, images, labels, lease.items, copied)

    def close(self):
        self.batches.close()
