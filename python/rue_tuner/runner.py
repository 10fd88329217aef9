"""The runner as a program of its own, for `rue tune --runner "python -m rue_tuner.runner ..."`.

Without TARGET it measures a plain DataLoader on the data that rue names: folders, tensor files, Zarr stores. TARGET is
a factory or a DataLoader of the caller's: `train:make_loader` in a module, or `path/train.py:make_loader` in a file.
"""
import argparse
import importlib
import importlib.util
import json
import multiprocessing
import os
import pathlib
import signal
import sys


def import_target(text):
    """The object that `module:name` or `file.py:name` names."""
    place, _, name = text.rpartition(":")
    if not place or not name:
        sys.exit(f"rue_tuner.runner: {text}: give MODULE:NAME or FILE.py:NAME, such as train:make_loader")
    sys.path.insert(0, os.getcwd())
    if place.endswith(".py"):
        path = pathlib.Path(place).resolve()
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(place)
    for part in name.split("."):
        module = getattr(module, part)
    return module


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
    if options.target:
        count = import_target(options.count) if options.count else None
        target = import_target(options.target)
        subject = make_subject(target, parse_knobs(options.knob), count, options.images, options.epochs)
    else:
        from .stored_data import StoredData
        torch.set_num_threads(1)
        subject = StoredData()
    steps = {name: import_target(target) for name, _, target in (text.partition("=") for text in options.model)}
    Runner(subject, steps, show=sys.stderr).serve(requests_of(options.parent), replies.write)


if __name__ == "__main__":
    main()
