"""What a Loader gives to loops and frameworks: the iterator of an epoch, and a sampler."""
from typing import Any


class Epoch:
    """The iterator of one epoch."""

    def __init__(self, loader: Any, number: int):
        self.loader, self.number = loader, number

    def __iter__(self) -> "Epoch":
        return self

    def __next__(self) -> Any:
        return self.loader._next(self.number)

    def __len__(self) -> int:
        return len(self.loader)


class Sampler:
    """What frameworks look for in a loader: set_epoch, and the number of images."""

    def __init__(self, loader: Any):
        self.loader = loader

    def set_epoch(self, epoch: int) -> None:
        self.loader.set_epoch(epoch)

    def __len__(self) -> int:
        return int(self.loader.images)
