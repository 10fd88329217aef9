"""What the adapters share: they tune the loader that an object makes, and set the object's attributes to the result."""
import warnings
from typing import Any, Callable, Dict, Mapping, Optional

import torch

from .dataloaders import TORCH_KNOBS, find_dataloader
from .errors import TuneError, UndecidedError
from .result import Result
from .tuning import tune


def tune_attributes(
    target: Any,
    names: Dict[str, str],
    make: Callable[[], Any],
    models: Any,
    space: Optional[Mapping[str, Any]],
    options: Dict[str, Any],
) -> Result:
    """Tunes the loader that `make()` returns, and sets attributes or hyperparameters of `target` to the result.

    `names` is {knob: attribute}. Only knobs whose attribute the target has are varied. Returns the Result.
    If it is not decided, this warns and sets nothing.
    """
    space, names = dict(space or {}), {knob: name for knob, name in names.items() if has(target, name)}
    if "num_workers" not in names:
        raise TypeError(f"{type(target).__name__} has no attribute num_workers: use it where the loader is made, or "
                        "give rue.tune the loader itself")
    for knob in space:
        if knob not in names:
            raise TypeError(f"space: {type(target).__name__} has no attribute for {knob}")
    loader = make()
    inner = find_dataloader(loader)
    if inner is not None:
        check_attribute(target, names["num_workers"], inner.num_workers, make)
        searched = dict(pin_memory=torch.cuda.is_available(), persistent_workers=options.get("epochs", 1) > 1)
        for knob, varied in searched.items():
            if varied and knob not in names:
                space[knob] = [getattr(inner, knob)]
    result = tune(loader, models, space=space, **options)
    try:
        found = result.dataloader_kwargs
    except UndecidedError as error:
        warnings.warn(f"{type(target).__name__} keeps its settings: {error}", stacklevel=3)
        return result
    if not found["num_workers"]:
        found.update(persistent_workers=False, prefetch_factor=TORCH_KNOBS["prefetch_factor"].default)
    for knob, value in found.items():
        if knob in names and (knob != "batch_size" or knob in space):
            put(target, names[knob], value)
    return result


def check_attribute(target, name, workers, make):
    """Raises TuneError if the loaders that `make()` returns do not follow the attribute."""
    before = get(target, name)
    try:
        put(target, name, workers + 1)
        if find_dataloader(make()).num_workers != workers:
            return
    finally:
        put(target, name, before)
    raise TuneError(f"{type(target).__name__} makes a loader with num_workers={workers}, whatever its attribute {name} "
                    "is: let it make a new loader from the attribute at each call, or give rue.tune the loader itself")


def hyperparameters(target):
    """Those that Lightning keeps; none elsewhere."""
    return getattr(target, "hparams", None) or {}


def has(target, name):
    return hasattr(target, name) or name in hyperparameters(target)


def get(target, name):
    return getattr(target, name) if hasattr(target, name) else hyperparameters(target)[name]


def put(target: Any, name: str, value: Any) -> None:
    """Sets it also where dataclasses are frozen, and among the hyperparameters of Lightning."""
    if hasattr(target, name):
        object.__setattr__(target, name, value)
    if name in hyperparameters(target):
        target.hparams[name] = value
