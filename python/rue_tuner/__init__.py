"""Finds the data-loader configuration that is good for all your models, before a training or inference job.

    import rue_tuner as rue
    result = rue.tune(loader, budget="2m")
    loader = DataLoader(dataset, **result.dataloader_kwargs)

See docs/python.md.
"""
import typing

from .errors import DataError, LoaderError, TuneError, UndecidedError
from .result import Result, load

__all__ = ["tune", "headroom", "watch", "load", "Loader", "Result", "TuneError", "UndecidedError", "LoaderError",
           "DataError"]
__version__ = "0.1.0"
if typing.TYPE_CHECKING:
    from .limits import headroom, watch
    from .loader import Loader
    from .tuning import tune


def __getattr__(name: str) -> typing.Any:
    """What needs PyTorch imports it when it is used; `Loader` opens a shared object."""
    if name in ("headroom", "watch"):
        from . import limits
        return getattr(limits, name)
    if name == "tune":
        from .tuning import tune
        return tune
    if name == "Loader":
        from .loader import Loader
        return Loader
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
