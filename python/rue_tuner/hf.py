"""Hugging Face transformers: tunes the training loader of a Trainer."""
from typing import Any, Mapping, Optional

from .adapters import tune_attributes
from .result import Result

ARGUMENTS = {"batch_size": "per_device_train_batch_size", "num_workers": "dataloader_num_workers",
             "prefetch_factor": "dataloader_prefetch_factor", "pin_memory": "dataloader_pin_memory",
             "persistent_workers": "dataloader_persistent_workers"}


def tune(trainer: Any, models: Any = None, *, space: Optional[Mapping[str, Any]] = None, **options: Any) -> Result:
    """Tunes `trainer.get_train_dataloader()`, and sets the dataloader_* training arguments to the result.

    The batch size stays, unless `space` has others. Other arguments as for `rue_tuner.tune`. Returns the Result.
    Raises what `rue_tuner.tune` raises; the arguments are then as before.
    """
    def make():
        prepared = trainer.accelerator._dataloaders  # accelerate keeps each loader
        known = len(prepared)
        try:
            return trainer.get_train_dataloader()
        finally:
            del prepared[known:]

    result = tune_attributes(trainer.args, ARGUMENTS, make, models, space, options)
    if "batch_size" in (space or {}):
        trainer._train_batch_size = trainer.args.per_device_train_batch_size
    return result
