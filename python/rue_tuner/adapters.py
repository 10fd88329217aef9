"""What the adapters share: they tune the loader that an object makes, and set the object's attributes to the result."""
import warnings
from typing import Any, Callable, Dict, Mapping, Optional

import torch

from . import knobs
from .attributes import WITHOUT_WORKERS, find_names, get, put, set_attributes
from .dataloaders import ONLY_WITH_WORKERS, find_dataloader, find_dataloaders, needs_workers
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
    space, names, title = dict(space or {}), find_names(target, names), type(target).__name__
    for knob in space:
        if knob not in names:
            raise TypeError(f"space: {title} has no attribute for {knob}")
    try:
        loader = make()
    except ValueError as error:
        if not (said := needs_workers(error)):
            raise
        raise ValueError(f"{title} makes no loader, because {said}: set {names['num_workers']} to 1 or more first, or "
                         f"{ONLY_WITH_WORKERS}") from error
    found = find_dataloaders(loader)
    if len(found) > 1:
        raise TypeError(f"{title} makes {len(found)} loaders, in a {type(loader).__name__}: give rue.tune one of them")
    if found:
        inner = found[0]
        check_attribute(target, names, inner.num_workers, make)
        space.update(workers_only(target, names, inner.num_workers, make, space.get("num_workers")))
        searched = dict(pin_memory=torch.cuda.is_available(), persistent_workers=options.get("epochs", 1) > 1)
        for knob, varied in searched.items():
            if varied and knob not in names:
                space[knob] = [getattr(inner, knob)]
    result = tune(loader, models, space=space, **options)
    try:
        values = result.dataloader_kwargs
    except UndecidedError as error:
        warnings.warn(f"{title} keeps its settings: {error}", stacklevel=3)
        return result
    set_attributes(target, names, values, "batch_size" in space)
    return result


def make_with(target, names, values, make):
    """The loader that `make()` returns with other values of knobs; the attributes are afterwards as before."""
    before = {name: get(target, name) for knob, name in names.items() if knob in values}
    try:
        for knob, value in values.items():
            if knob in names:
                put(target, names[knob], value)
        return make()
    finally:
        for name, value in before.items():
            put(target, name, value)


def check_attribute(target, names, workers, make):
    """Raises TuneError if the loaders that `make()` returns do not follow the attribute for num_workers."""
    if find_dataloader(make_with(target, names, dict(num_workers=workers + 1), make)).num_workers == workers:
        raise TuneError(f"{type(target).__name__} makes a loader with num_workers={workers}, whatever its attribute "
                        f"{names['num_workers']} is: let it make a new loader from the attribute at each call, or give "
                        "rue.tune the loader itself")


def workers_only(target, names, own, make, requested):
    """A part of a space: num_workers without 0, if `make()` fails without workers; else empty. `requested`: the values
    of the caller's space. Raises ValueError if they have 0."""
    try:
        if own:
            make_with(target, names, WITHOUT_WORKERS, make)
        return {}
    except ValueError as error:
        if not (said := needs_workers(error)):
            raise
        if requested is None:
            return dict(num_workers=sorted({own, *knobs.default_workers()} - {0}))
        if 0 in knobs.as_list("num_workers", requested):
            raise ValueError(f"{type(target).__name__} makes no loader without workers, because {said}: leave 0 out of "
                             f"space, or {ONLY_WITH_WORKERS}") from error
        return {}
