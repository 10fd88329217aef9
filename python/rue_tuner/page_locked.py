"""Page-locked memory of batches. PyTorch allocates it on first use, slowly, and keeps it."""
import contextlib
import sys

from . import machine
from .machine import now

LIMIT_NS = 10**9  # for the batches of one size
SHARE = 4         # of the memory that is available, one part


class PageLocked:
    """Allocates it before a trial: in training, only the first batches of the first epoch wait for it."""

    def __init__(self):
        self.batches = {}  # {sizes of their tensors: number that PyTorch keeps, or that took too long}

    def reserve(self, sizes, batches):
        """`sizes`: bytes of each tensor of a batch. Stops after LIMIT_NS, and where memory becomes short; then the
        trial itself allocates the rest."""
        torch, sizes = sys.modules["torch"], tuple(sizes)
        if self.batches.get(sizes, 0) >= batches:
            return
        self.batches[sizes] = batches
        most = min(batches, machine.available_bytes() // SHARE // max(1, sum(sizes)))
        held, deadline = [], now() + LIMIT_NS
        with contextlib.suppress(RuntimeError):  # the system may refuse it
            while len(held) < most and now() < deadline:
                held.append([torch.empty(size, dtype=torch.uint8, pin_memory=True) for size in sizes])
