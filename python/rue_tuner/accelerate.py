"""Hugging Face accelerate: Loader in the place of a DataLoader that accelerate prepared."""
from typing import Any, Iterator, Optional

from accelerate.data_loader import DataLoaderStateMixin
from accelerate.state import GradientState
from accelerate.utils import send_to_device

from .loader import Loader


def prepare(accelerator: Any, loader: Loader) -> "PreparedLoader":
    """What `accelerator.prepare` does for a DataLoader.

    Batches move to the device of the accelerator, if they are not there. Accumulated gradients are applied at the end
    of an epoch. gather_for_metrics leaves out images that only make ranks even. save_state and load_state include the
    position.

    Args:
        accelerator: an Accelerator
        loader: a `Loader`

    Returns:
        What to iterate over.

    Examples:
        from rue_tuner.accelerate import prepare
        model, optimizer = accelerator.prepare(model, optimizer)
        train = prepare(accelerator, loader)
    """
    accelerator.register_for_checkpointing(loader)
    return PreparedLoader(loader, accelerator.device if accelerator.device_placement else None)


class PreparedLoader(DataLoaderStateMixin):
    """A Loader that tells accelerate where its epoch ends, and how many images are in the last batch of all ranks."""

    def __init__(self, loader: Loader, device: Optional[Any] = None):
        """`device`: where batches move to; None: they stay."""
        self.loader, self.device, self.gradient_state = loader, device, GradientState()
        self.batch_size, self.sampler, self.batch_sampler = loader.batch_size, loader.sampler, None
        self.set_epoch = loader.set_epoch
        self.state_dict, self.load_state_dict = loader.state_dict, loader.load_state_dict
        self.strided = loader.options["share"] == "strided"
        self.repeated = max(loader.images * loader.world_size - loader._data.items, 0)  # on all ranks
        # accelerate cuts the gathered batch at its end. There the repeated images are only if each rank has one row.
        self.splits = self.repeated > 1 and self.strided and loader.options["transform"] == "eval"

    def __len__(self) -> int:
        return len(self.loader) + (self.splits and self.loader.images % self.batch_size != 1)

    def __iter__(self) -> Iterator[Any]:
        loader, seen = self.loader, 0
        self.begin()
        try:
            for batch in loader:
                rows, seen = loader.stats.images - seen, loader.stats.images
                if self.device is not None:
                    batch = send_to_device(batch, self.device)
                if loader._position.images >= loader.images:
                    if self.splits and rows > 1:
                        yield cut(batch, slice(rows - 1))
                        batch, rows = cut(batch, slice(rows - 1, rows)), 1
                    self.end_of_dataloader = True
                    if not self.repeated or self.strided and 1 in (rows, self.repeated):
                        self.remainder = rows * loader.world_size - self.repeated
                yield batch
        finally:
            self.end()


def cut(batch: Any, rows: slice) -> Any:
    if isinstance(batch, dict):
        return {name: part[rows] for name, part in batch.items()}
    return tuple(part[rows] for part in batch) if isinstance(batch, tuple) else batch[rows]
