"""Objects of training libraries that are given in the wrong place: what they are, and what to call instead."""
import inspect
import reprlib
from typing import Any, Optional, Tuple

from .dataloaders import find_dataloaders

LIGHTNING = {
    "LightningDataModule": (
        "a LightningDataModule",
        "call rue_tuner.lightning.tune(datamodule), or give the loader that its train_dataloader() returns"),
    "LightningModule": ("a LightningModule", 'give a loader, and a step of the module as models={"mine": step}'),
    "Trainer": ("a Trainer of Lightning", "call rue_tuner.lightning.tune(datamodule)"),
}
TRANSFORMERS = {
    "Trainer": (
        "a Trainer of transformers",
        "call rue_tuner.hf.tune(trainer), or give the loader that its get_train_dataloader() returns"),
}
LIBRARIES = {"lightning": LIGHTNING, "pytorch_lightning": LIGHTNING, "transformers": TRANSFORMERS}


def find_kind(thing: Any) -> Optional[Tuple[str, str]]:
    """What an object or a class of these libraries is, and where it belongs; None: it is of none of them."""
    kind = thing if isinstance(thing, type) else type(thing)
    for base in kind.__mro__:
        found = LIBRARIES.get(base.__module__.partition(".")[0], {}).get(base.__name__)
        if found:
            return found
    return None


def title(thing: Any) -> str:
    """What it is, in a few words."""
    if isinstance(thing, type):
        return f"the class {thing.__qualname__}"
    if inspect.isroutine(thing):
        return f"the function {thing.__qualname__}"
    kind, name = find_kind(thing), type(thing).__qualname__
    if kind:
        return kind[0] if kind[0].split()[1] == name else f"{kind[0]} ({name})"
    return reprlib.repr(thing) if isinstance(thing, (str, bytes, int, float, type(None))) else f"a {name}"


def misplaced(thing: Any, wanted: str) -> TypeError:
    """The error for what is not `wanted`, such as "a loader"."""
    kind = find_kind(thing)
    if kind:
        advice = kind[1]
    elif hasattr(thing, "__iter__") and not isinstance(thing, (str, bytes)) or find_dataloaders(thing):
        advice = "call rue_tuner.tune(loader)"
    else:
        advice = f"give {wanted}"
    made = "make an object of it, and " if isinstance(thing, type) else ""
    return TypeError(f"{title(thing)} is not {wanted}: {made}{advice}")
