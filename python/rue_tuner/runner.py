"""The runner as a program of its own, for `rue tune --runner "python -m rue_tuner.runner ..."`.

Without TARGET it measures a plain DataLoader on the data that rue names: folders, tensor files, Zarr stores. TARGET is
a factory or a DataLoader of the caller's: `train:make_loader` in a module, or `path/train.py:make_loader` in a file.
"""
import argparse
import ast
import contextlib
import difflib
import importlib
import importlib.util
import inspect
import json
import multiprocessing
import os
import pathlib
import signal
import sys
import traceback

from .errors import Refused, one_line


def import_target(text):
    """The object that `module:name` or `file.py:name` names. Raises Refused, and what the import raises."""
    place, _, name = text.rpartition(":")
    if not place or not name:
        raise Refused(f"{text}: give MODULE:NAME or FILE.py:NAME, such as train:make_loader")
    sys.path.insert(0, os.getcwd())
    if place.endswith(".py"):
        path = pathlib.Path(place).resolve()
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(place)
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise Refused(f"{text}: {why_missing(module, part)}")
        found = getattr(found, part)
    return found


def why_missing(module, name):
    """Why an imported module has no `name`, and what to do."""
    guarded = set()
    with contextlib.suppress(OSError, TypeError, SyntaxError):
        for block in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(block, ast.If) and "__name__" in ast.dump(block.test):
                guarded |= {getattr(node, "name", getattr(node, "id", None)) for part in block.body
                            for node in ast.walk(part)}
    if name in guarded:
        return f'{name} is defined under `if __name__ == "__main__":`, which an import skips: move it above that line'
    near = difflib.get_close_matches(name, vars(module), 1)
    return f"the module has no {name}" + (f" (did you mean {near[0]}?)" if near else ": define it at the top")


def parse_knobs(texts):
    """{name: values} of `NAME=VALUE,...`: whole numbers, numbers, true and false, else texts."""
    def value(word):
        for convert in (int, float):
            try:
                return convert(word)
            except ValueError:
                pass
        return {"true": True, "false": False}.get(word, word)
    named = (text.partition("=") for text in texts)
    return {name: [value(word) for word in words.split(",")] for name, _, words in named}


def requests_of(parent):
    """Lines of standard input, as long as the process `parent` runs, if one is named."""
    sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    for line in sys.stdin:
        if parent and not os.path.exists(f"/proc/{parent}"):
            sys.exit("rue_tuner.runner: the process that called tune() has ended")
        yield line


def stop(signum, frame):
    for child in multiprocessing.active_children():
        child.kill()
    os._exit(128 + signum)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m rue_tuner.runner", description=__doc__.split("\n\n")[1])
    parser.add_argument("target", nargs="?", metavar="TARGET", help="a factory or a DataLoader, MODULE:NAME")
    parser.add_argument("--images", type=int, help="images of an epoch, if they cannot be counted")
    parser.add_argument("--epochs", type=int, default=1, help="epochs of the job [1]")
    parser.add_argument("--knob", action="append", default=[], metavar="NAME=LIST",
                        help="values of a knob of the factory")
    parser.add_argument("--count", metavar="TARGET", help="a function of a batch that returns its number of images")
    parser.add_argument("--parent", type=int, help=argparse.SUPPRESS)  # the process that called tune()
    parser.add_argument("--model", action="append", default=[], metavar="NAME=TARGET",
                        help="a training or inference step, called with a batch")
    options = parser.parse_args(arguments)
    replies = os.fdopen(os.dup(1), "w", buffering=1)  # output of libraries must not mix with replies
    os.dup2(2, 1)
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, stop)
    try:
        import torch
    except ImportError as error:
        reason = f"{sys.executable} has no PyTorch ({error}): give the command of a Python that has it"
        replies.write(json.dumps(dict(reason=reason)) + "\n")
        return
    from .program import STUDY
    from .serve import Runner
    from .subjects import make_subject
    STUDY.acquire()  # an imported script that calls tune() at its top is refused
    named = [options.target, options.count, *(text.partition("=")[2] for text in options.model)]
    try:
        target, count, *steps = [import_target(text) if text is not None else None for text in named]
    except Exception as error:
        traceback.print_exc()
        replies.write(json.dumps(dict(reason=one_line(error))) + "\n")
        return
    if options.target:
        subject = make_subject(target, parse_knobs(options.knob), count, options.images, options.epochs)
    else:
        from .stored_data import StoredData
        torch.set_num_threads(1)
        subject = StoredData()
    steps = dict(zip((text.partition("=")[0] for text in options.model), steps))
    Runner(subject, steps, show=sys.stderr).serve(requests_of(options.parent), replies.write)


if __name__ == "__main__":
    main()
