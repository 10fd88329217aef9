"""PyTorch Lightning: tunes a LightningDataModule."""
from typing import Any, Mapping, Optional

from .adapters import tune_attributes
from .attributes import LIGHTNING, is_datamodule
from .kinds import misplaced
from .result import Result

STAGES = ("fit", "validate", "test", "predict")


def tune(
    datamodule: Any,
    models: Any = None,
    *,
    space: Optional[Mapping[str, Any]] = None,
    stage: str = "fit",
    **options: Any,
) -> Result:
    """Tunes `datamodule.train_dataloader()`, and sets the attributes of the data module to the result.

    Varied are num_workers, pin_memory and persistent_workers, as far as the data module has attributes or
    hyperparameters (`self.hparams`) of these names. `prepare_data()` and `setup(stage)` are called first.
    `Result.apply` sets the attributes again, in another process.

    Args:
        datamodule: a LightningDataModule with `num_workers`
        models: as for `rue_tuner.tune`
        space: also prefetch_factor or batch_size, which otherwise stay
        stage: `"fit"`, `"validate"`, `"test"` or `"predict"`
        options: other arguments of `rue_tuner.tune`

    Returns:
        A Result. One that is not decided sets nothing.

    Raises:
        TypeError: it is not a data module, or has no `num_workers`
        ValueError: the stage is unknown
        TuneError: as `rue_tuner.tune`

    Examples:
        from rue_tuner.lightning import tune
        result = tune(datamodule, {"mine": step}, budget="2m")
    """
    if not is_datamodule(datamodule):
        raise misplaced(datamodule, "a LightningDataModule")
    if stage not in STAGES:
        raise ValueError(f"stage: {stage!r} is not a stage of Lightning: give one of {', '.join(STAGES)}")
    datamodule.prepare_data()
    datamodule.setup(stage)
    return tune_attributes(datamodule, LIGHTNING, datamodule.train_dataloader, models, space, options)
