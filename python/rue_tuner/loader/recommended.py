"""The options of a Loader that a recommendation stands for."""
from typing import Any, Dict, Optional

from ..errors import check_decided
from .options import KNOBS, WORKLOAD

OF_VARIANT = ("image_key", "label_key", "subset")
OF_ORDER = ("seed", "shuffle", "drop_last")


def choose(document: Dict[str, Any], mode: Optional[str], strict: bool) -> Dict[str, Any]:
    """The recommendation for data of `mode`; None: the first. Raises ValueError; if `strict`, UndecidedError."""
    parts = document["recommendations"]
    if not all(part.get("variant") for part in parts):
        raise ValueError("the recommendation does not say for which data it is: its variant is missing; tune again")
    found = next((part for part in parts if mode in (None, part["variant"]["mode"])), None)
    if found is None:
        modes = ", ".join(part["variant"]["mode"] for part in parts)
        raise ValueError(f"mode {mode!r}: the recommendations are for {modes} data")
    if found.get("config") is None:
        reason = document.get("partial_reason") or "no configuration was measured on every model"
        raise ValueError(f"the study has no recommendation: {reason}")
    if found.get("measured_with", "rue") != "rue" and found["config"].get("loader") != "rue.Loader":
        raise ValueError(f"the recommendation was measured with the loader {found['measured_with']}, not with rue's: "
                         "use its dataloader_kwargs, or tune for rue.Loader")
    if strict:
        check_decided(found)
    return found


def options_of(part: Dict[str, Any], overrides: Dict[str, Any]) -> Dict[str, Any]:
    """Those that were measured, and `overrides`. With a device, images travel as uint8 where they can. The order of the
    data is that of Loader: what it is changes no time."""
    workload, variant = part.get("workload") or {}, part["variant"]
    measured = {name: value for name, value in part["config"].items() if name in KNOBS}
    loaded = [name for name in WORKLOAD if workload.get(name) is not None and name not in OF_ORDER]
    measured.update({name: workload[name] for name in loaded})
    measured["decode"] = part.get("decode")
    measured.update({name: variant[name] for name in OF_VARIANT if variant.get(name)})
    if not str(overrides.get("device")).startswith("cuda"):
        measured["dtype"] = part.get("batch_dtype")
    if variant["mode"] == "preprocessed" and variant.get("dtype") != "uint8" or measured.get("dtype") == "uint8":
        measured.update(mean=None, std=None)  # they changed nothing
    options = {**measured, **overrides}
    if options.get("transform") == "eval":
        options.pop("augment", None)
        if options.get("interpolation") == "random":
            options.pop("interpolation")
    return options
