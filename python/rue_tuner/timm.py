"""timm: tunes the arguments of timm.data.create_loader."""
import inspect
from typing import Any, Mapping, Optional

from . import tuning
from .result import Result


def tune(
    dataset: Any,
    models: Any = None,
    *,
    space: Optional[Mapping[str, Any]] = None,
    batch_size: int,
    **arguments: Any,
) -> Result:
    """Tunes `timm.data.create_loader(dataset, batch_size=..., **arguments)`.

    Args:
        dataset: a data set of timm
        models: as for `rue_tuner.tune`
        space: as for `rue_tuner.tune`; the batch size stays, unless this has others
        batch_size: images of a batch
        arguments: those that create_loader has go there, all others to `rue_tuner.tune`

    Returns:
        A Result.

    Raises:
        TypeError: an argument is of the wrong kind, or does not exist
        TuneError: as `rue_tuner.tune`

    Examples:
        from rue_tuner.timm import tune
        result = tune(dataset, batch_size=128, input_size=(3, 224, 224), is_training=True)
        loader = create_loader(dataset, input_size=(3, 224, 224), is_training=True, **result.dataloader_kwargs)
    """
    from timm.data import create_loader
    names = inspect.signature(create_loader).parameters
    of_loader = {name: value for name, value in arguments.items() if name in names}
    of_tune = {name: value for name, value in arguments.items() if name not in names}
    result = tuning.tune(create_loader(dataset, batch_size=batch_size, **of_loader), models, space=space, **of_tune)
    result._kwargs = {name: value for name, value in result._kwargs.items() if name in names}
    return result
