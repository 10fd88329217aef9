"""What the workers of a DataLoader collate, counted in memory that they share with this process."""
import torch
from torch.utils import data as torch_data

from .batches import count_images


class Watched:
    """A collate function that counts the items and batches of each worker, and then calls another."""

    def __init__(self, collate, workers):
        self.collate = collate
        # of each worker: batches, items, largest
        self.counts = torch.zeros(max(1, workers), 3, dtype=torch.int64, device="cpu").share_memory_()

    @classmethod
    def attach(cls, loader):
        """A Watched in a DataLoader; None where it does not collate items to batches."""
        if loader.collate_fn is None or loader.batch_sampler is None:
            return None
        watch = loader.collate_fn = cls(loader.collate_fn, loader.num_workers)
        return watch

    def __call__(self, items):
        worker = torch_data.get_worker_info()
        mine = self.counts[worker.id if worker else 0]
        # __getitems__ may return a batch
        images = len(items) if isinstance(items, (list, tuple)) else count_images(items)
        mine[:2] += torch.tensor([1, images], device="cpu")
        mine[2] = max(int(mine[2]), images)
        return self.collate(items)

    def batches(self):
        """Batches of each worker so far."""
        return self.counts[:, 0].tolist()

    def largest(self):
        return int(self.counts[:, 2].max())

    def images(self, delivered):
        """Images of the first `delivered` batches; exact when all that were made have been delivered, else by their
        mean."""
        made, items, _ = self.counts.sum(0).tolist()
        if made * self.largest() - items < self.largest():  # all are full, but for the last one
            return min(delivered * self.largest(), items)
        return round(items * min(delivered, made) / made)
