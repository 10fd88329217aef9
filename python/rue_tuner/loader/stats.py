"""What happened in an epoch."""
import time
from typing import Optional


class Stats:
    """What happened in the epoch so far.

    Attributes:
        images: images that were delivered
        batches: batches that were delivered
        copied: batches that were copied, because more than `hold` of them are kept
        padded: images of this rank that repeat others, so that all ranks have as many
        waited_s: seconds in which the caller waited for batches
        elapsed_s: seconds since the epoch began; of an epoch that has ended, all of it
    """

    images: int
    batches: int
    copied: int
    padded: int
    waited_s: float

    def __init__(self, padded: int = 0):
        self.images = self.batches = self.copied = 0
        self.padded, self.waited_s, self.begin = padded, 0.0, time.monotonic()
        self.end: Optional[float] = None

    @property
    def elapsed_s(self) -> float:
        return (self.end or time.monotonic()) - self.begin

    def __repr__(self) -> str:
        waited = self.waited_s / max(self.elapsed_s, 1e-9)
        return f"<{self.images:,} images in {self.elapsed_s:.1f} s; waited for data {waited:.0%} of the time>"
