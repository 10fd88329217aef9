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

    Arguments that create_loader has go there, all others to `rue_tuner.tune`. The batch size stays, unless `space` has
    others. Use the result as `create_loader(dataset, **arguments, **result.dataloader_kwargs)`, or as
    `result.apply(loader)`. Raises what `rue_tuner.tune` raises.
    """
    from timm.data import create_loader
    names = inspect.signature(create_loader).parameters
    of_loader = {name: value for name, value in arguments.items() if name in names}
    of_tune = {name: value for name, value in arguments.items() if name not in names}
    result = tuning.tune(create_loader(dataset, batch_size=batch_size, **of_loader), models, space=space, **of_tune)
    result._kwargs = {name: value for name, value in result._kwargs.items() if name in names}
    return result
