"""What the adapters share: a factory that sets knobs on an object that makes loaders, and puts them back."""
from .loaders import TORCH_KNOBS, find_dataloader
from .tuning import tune


def tune_attributes(target, names, make, models, space, options):
    """Tunes the loader that `make()` returns, by attributes of `target`, and sets them to the result.

    `names` is {knob: attribute}. Only knobs whose attribute the target has are varied. The batch size stays, unless
    `space` has others. Returns the Result.
    """
    names = {knob: attribute for knob, attribute in names.items() if hasattr(target, attribute)}
    if "num_workers" not in names:
        raise TypeError(f"{type(target).__name__} has no attribute num_workers: use it where the loader is made, or give "
                        "rue.tune a factory")
    before = {attribute: getattr(target, attribute) for attribute in names.values()}

    def apply(values):
        for knob, value in values.items():
            if knob in names:
                set_attribute(target, names[knob], value)

    def make_loader(batch_size, num_workers, **knobs):
        off = {} if num_workers else {"persistent_workers": False, "prefetch_factor": TORCH_KNOBS["prefetch_factor"].default}
        try:
            apply({"batch_size": batch_size, "num_workers": num_workers, **off, **knobs})
            return make()
        finally:
            apply({knob: before[attribute] for knob, attribute in names.items()})

    space = dict(space or {})
    if "batch_size" not in space:
        inner = find_dataloader(make())
        space["batch_size"] = [before[names["batch_size"]] if "batch_size" in names else inner.batch_size]
    for knob in space:
        if knob not in names and not (knob == "batch_size" and len(space[knob]) == 1):
            raise TypeError(f"space: {type(target).__name__} has no attribute for {knob}")
    if "persistent_workers" in names and options.get("epochs", 1) > 1:
        space.setdefault("persistent_workers", [False, True])
    result = tune(make_loader, models, space=space, **options)
    apply(result.dataloader_kwargs)
    return result


def set_attribute(target, name, value):
    """Sets it also where dataclasses are frozen, and among the hyperparameters of Lightning."""
    object.__setattr__(target, name, value)
    hyperparameters = getattr(target, "hparams", None)
    if hyperparameters is not None and name in hyperparameters:
        hyperparameters[name] = value
