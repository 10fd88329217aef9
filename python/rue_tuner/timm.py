"""timm: tunes the arguments of timm.data.create_loader."""
from typing import Any, Mapping, Optional

from . import tuning
from .result import Result


def tune(dataset: Any, models: Any = None, *, space: Optional[Mapping[str, Any]] = None, batch_size: int, **arguments: Any) -> Result:
    """Tunes `timm.data.create_loader(dataset, batch_size=..., **arguments)`.

    Arguments with the names of those of `rue_tuner.tune` go there, all others to create_loader. The batch size stays, unless
    `space` has others. Use the result as `create_loader(dataset, **result.dataloader_kwargs, **arguments)`.
    Raises what `rue_tuner.tune` raises.
    """
    from timm.data import create_loader
    own = {name: arguments.pop(name) for name in ("budget", "images", "epochs", "count", "out", "quiet") if name in arguments}
    fixed = {name: value for name, value in arguments.items() if name not in (space or {})}

    def make_loader(batch_size, num_workers, **knobs):
        return create_loader(dataset, batch_size=batch_size, num_workers=num_workers,
                             **{"persistent_workers": False, **fixed, **knobs} if num_workers else {**fixed, "persistent_workers": False})

    space = {"batch_size": [batch_size], **(space or {})}
    if own.get("epochs", 1) > 1:
        space.setdefault("persistent_workers", [False, True])
    return tuning.tune(make_loader, models, space=space, **own)
