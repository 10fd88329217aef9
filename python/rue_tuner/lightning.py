"""PyTorch Lightning: tunes a LightningDataModule."""
from typing import Any, Mapping, Optional

from .adapters import tune_attributes
from .result import Result

KNOBS = ("batch_size", "num_workers", "prefetch_factor", "pin_memory", "persistent_workers")


def tune(
    datamodule: Any,
    models: Any = None,
    *,
    space: Optional[Mapping[str, Any]] = None,
    stage: str = "fit",
    **options: Any,
) -> Result:
    """Tunes `datamodule.train_dataloader()`, and sets the attributes of the data module to the result.

    Varied are num_workers, prefetch_factor, pin_memory and persistent_workers, as far as the data module has attributes
    or hyperparameters (`self.hparams`) of these names. `batch_size` stays, unless `space` has others. Other arguments
    as for `rue_tuner.tune`. Calls prepare_data() and setup(stage) first. Returns the Result. Raises TypeError for a
    data module without num_workers, and what `rue_tuner.tune` raises.
    """
    datamodule.prepare_data()
    datamodule.setup(stage)
    names = {name: name for name in KNOBS}
    return tune_attributes(datamodule, names, datamodule.train_dataloader, models, space, options)
