"""Objects that make loaders from attributes of their own, such as those of Lightning and transformers."""
import warnings
from typing import Any, Dict

from .dataloaders import TORCH_KNOBS

LIGHTNING = {name: name for name in ("batch_size", "num_workers", "prefetch_factor", "pin_memory",
                                     "persistent_workers")}
TRAINER = {"batch_size": "per_device_train_batch_size", "num_workers": "dataloader_num_workers",
           "prefetch_factor": "dataloader_prefetch_factor", "pin_memory": "dataloader_pin_memory",
           "persistent_workers": "dataloader_persistent_workers"}
WITHOUT_WORKERS = dict(num_workers=0, persistent_workers=False, prefetch_factor=TORCH_KNOBS["prefetch_factor"].default)


def is_datamodule(thing: Any) -> bool:
    return has_all(thing, "prepare_data", "setup", "train_dataloader")


def is_trainer(thing: Any) -> bool:
    """Whether it is a Trainer of transformers."""
    return has_all(thing, "get_train_dataloader", "args")


def has_all(thing, *members):
    return not isinstance(thing, type) and all(hasattr(thing, name) for name in members)


def apply(thing: Any, values: Dict[str, Any], sets_batch_size: bool) -> bool:
    """Sets the attributes of a LightningDataModule, or the arguments of a Trainer, to arguments of a DataLoader.
    Returns False for anything else. Raises TypeError for a data module without num_workers."""
    if not is_datamodule(thing) and not is_trainer(thing):
        return False
    target, names = (thing, LIGHTNING) if is_datamodule(thing) else (thing.args, TRAINER)
    names = find_names(target, names)
    size = get(target, names["batch_size"]) if "batch_size" in names else None
    if not sets_batch_size and size is not None and size != values.get("batch_size", size):
        warnings.warn(f"{type(target).__name__} keeps {names['batch_size']}={size}, but the study was of batch size "
                      f"{values['batch_size']}", stacklevel=3)
    set_attributes(target, names, values, sets_batch_size)
    if sets_batch_size and is_trainer(thing):
        follow_batch_size(thing)
    return True


def follow_batch_size(trainer: Any) -> None:
    """A Trainer keeps the batch size that its arguments had when it was made."""
    trainer._train_batch_size = trainer.args.per_device_train_batch_size


def set_attributes(target, names, values, sets_batch_size):
    """Sets those of `target` to arguments of a DataLoader."""
    if not values["num_workers"]:
        values = {**values, **WITHOUT_WORKERS}
    for knob, value in values.items():
        if knob in names and (knob != "batch_size" or sets_batch_size):
            put(target, names[knob], value)


def find_names(target, names):
    """The part of `names` whose attributes the target has. Raises TypeError if it has none for num_workers."""
    names = {knob: name for knob, name in names.items() if has(target, name)}
    if "num_workers" not in names:
        raise TypeError(f"{type(target).__name__} has no attribute num_workers: use it where the loader is made, or "
                        "give rue.tune the loader itself")
    return names


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
