"""recommendation.json: what this package uses of it, and its check."""
import json
import os
import pathlib
from typing import Any, Dict, Union

FORMAT = "rue.recommendation/1"
NESTED_MOST = 60
Path = Union[str, "os.PathLike[str]"]


def is_number(value):
    return type(value) in (int, float) and abs(value) < 1e300  # not NaN either


def is_text(value):
    return isinstance(value, str)


def is_flag(value):
    return isinstance(value, bool)


def is_config(value):
    """{knob: value}"""
    return isinstance(value, dict) and all(is_text(v) or is_number(v) or is_flag(v) for v in value.values())


# A shape is None, a function of a value, a dict of members, a list of what each item is, or a tuple of alternatives.
# A missing member is None.
NO_REGRET = dict(mean_regret_ratio=None)
REGRET = dict(mean_regret_ratio=is_number, max_regret_ratio=is_number, worst_model=(None, is_text))
ROW = (dict(NO_REGRET, config=is_config), dict(REGRET, config=is_config, source=(None, is_text)))
PART = dict(
    torch=(None, is_config),
    torch_best_guess=(None, is_config),
    decided=(None, is_flag),  # None: of an earlier version
    why_not=(None, is_text),
    variant=(None, dict(mode=is_text, path=(None, is_text))),
    models=[is_text],
    configs=[ROW],
    certificate=(None, dict(bound_ratio=is_number, confidence=is_number)),
)
RECOMMENDATION = (dict(PART, config=None), dict(PART, **REGRET, config=is_config))
SHAPE = dict(format=lambda value: value == FORMAT, recommendations=[RECOMMENDATION])


def find_fault(value, shape, path=""):
    """The path of what differs from `shape`; None: nothing does."""
    faults = []
    if isinstance(shape, tuple):
        faults = [find_fault(value, one, path) for one in shape]
        return None if None in faults else max(faults, key=len)  # the alternative that fits the furthest
    if isinstance(shape, dict) and isinstance(value, dict):
        faults = [find_fault(value.get(name), part, f"{path}.{name}") for name, part in shape.items()]
    elif isinstance(shape, list) and isinstance(value, list):
        faults = [find_fault(item, shape[0], f"{path}[{i}]") for i, item in enumerate(value)]
    elif not (shape(value) if callable(shape) else shape is value is None):
        return path or "the document"
    return next(filter(None, faults), None)


def is_flat(value, most=NESTED_MOST):
    """Whether it can be written again: the standard library's writer is recursive."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return most > 0 and all(is_flat(item, most - 1) for item in items)


def check(document: Dict[str, Any]) -> None:
    """Raises ValueError if it is not a recommendation."""
    fault = find_fault(document, SHAPE) if is_flat(document) else "the depth of its objects"
    if fault is None and not document["recommendations"]:
        fault = "recommendations"
    if fault:
        raise ValueError(f"not a recommendation of the format {FORMAT}: {fault.lstrip('.')} is missing or wrong")


def read(path: Path) -> Dict[str, Any]:
    """The document in a file, or in the folder of a study. Raises OSError; ValueError, which names the file."""
    path = pathlib.Path(path)
    path = path / "recommendation.json" if path.is_dir() else path
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: cannot be read as JSON: {error}; tune again, or give another file") from error
    try:
        check(document)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return document


def write(path: Path, document: Dict[str, Any]) -> None:
    """Raises OSError."""
    pathlib.Path(path).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
