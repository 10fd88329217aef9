"""Batches in memory of the CPU."""
from typing import Any, NamedTuple


class Delivery(NamedTuple):
    """A batch for the caller, from a feed."""
    count: int
    images: Any
    labels: Any
    items: Any  # ctypes array: numbers in the data
    copied: bool = False


class HostFeed:
    """Batches that lie in the memory of the loader; copies, where the caller keeps too many.

    Feeds have the same methods; one thread calls them."""

    def __init__(self, batches, output, shape, options):
        self.batches, self.output, self.shape, self.options, self.lease = batches, output, shape, options, None

    def rewind(self, epoch, first):
        """Drops what was not delivered."""
        self.lease = None
        self.batches.rewind(epoch, first)

    def peek(self):
        """The Delivery that is due: the same until `pop`, so nothing is lost where the caller's work on it fails."""
        lease = self.lease = self.lease or self.batches.next()
        images = self.output.images(lease, self.shape, self.options["dtype"])
        copied = len(self.batches.held) > self.options["hold"]
        if copied:
            images = self.output.copy(images)
        return Delivery(lease.count, images, self.output.integers(lease.labels, self.options["label_dtype"]), lease.items, copied)

    def pop(self):
        self.lease = None

    def close(self):
        self.batches.close()
