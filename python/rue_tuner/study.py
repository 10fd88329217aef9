"""What every study of a caller's loader shares: its arguments as words of rue, its run, and how it fails."""
import inspect
import json
import multiprocessing
import os
import pathlib
import re
import shlex
import sys
import threading
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Union

from torch.utils.data import DataLoader, get_worker_info

from . import document as documents
from . import keywords, knobs, random_state
from .document import Path
from .errors import Refused, TuneError, UndecidedError, explain
from .kinds import title
from .program import STUDY, Relay, Run, Watchdog, ctrl_c_interrupts, temporary_folder, time_limit
from .runner import parse_knobs
from .serve import Runner, quiet_about_workers
from .subjects import make_subject

OWN_THREADS = (Relay, Watchdog, threading.Timer)
EXAMINE_LIMIT_S = 300
UNCLEAR = re.compile(r"^it is unclear whether| may not hold here: ")  # a check that decides nothing
Tunable = Union[DataLoader, Callable[..., Iterable]]
Models = Union[str, Iterable[str], Mapping[str, Optional[Callable[[Any], Any]]], None]


def check(
    document: Dict[str, Any],
    place: Optional[Path],
    loader: Tunable,
    *,
    budget: str,
    models: Models,
    quiet: bool,
    images: Optional[int] = None,
    epochs: int = 1,
    space: Optional[Mapping[str, Any]] = None,
    count: Optional[Callable[[Any], int]] = None,
) -> str:
    """As Result.check. `place` is the study of the document, if it is kept."""
    check_caller()
    subject, steps = prepare(loader, models, images, epochs, space, count)
    runner = Runner(subject, steps)
    with random_state.kept(), temporary_folder() as folder:
        path = pathlib.Path(folder, "recommendation.json")
        documents.write(path, document)

        def reword(text):
            prior = f", with prior={json.dumps(str(place))} to start from it" if place else ""
            named = text.replace(f", with --prior {path} to start from it", prior)
            return keywords.for_python(named.replace(str(path), str(place or "the recommendation")), False)
        run = perform(lambda: ["check", str(path), "--budget", str(budget)], runner, subject, False, quiet, reword)
    if run.code:
        error = failure(run, runner)
        raise UndecidedError(*error.args) if UNCLEAR.search(run.message) else error
    return run.report


def check_caller():
    if get_worker_info() is not None:
        raise TuneError("tune() was called in a worker of a DataLoader: call it in the main process")
    imports_script = getattr(multiprocessing.current_process(), "_inheriting", False)  # as a spawned worker does
    if STUDY.locked() or imports_script:
        raise TuneError("tune() was called within a trial of another tune(): one study runs at a time. In a script, "
                        "call it under `if __name__ == '__main__':`")


def prepare(loader, models, images, epochs, space, count, against=None):
    images, epochs = knobs.plain(images), knobs.plain(epochs)
    for name, value in (("images", images), ("epochs", epochs)):
        if not (knobs.is_at_least(value, 1) or name == "images" and value is None):
            raise ValueError(f"{name} must be a whole number, at least 1, not {value!r}")
    steps = find_steps(models)
    if against is not None:
        from .against import Against
        return Against(loader, against, space, count, images, epochs), steps
    return make_subject(loader, space, count, images, epochs), steps


def find_steps(models):
    """{name: step} of the models that are not in the catalogue. Raises TypeError for a value that is neither
    a name nor a step."""
    steps = {name: step for name, step in models.items() if step is not None} if isinstance(models, dict) else {}
    for name in model_names(models):
        if not isinstance(name, str):
            raise TypeError(f'models: {title(name)} is not a name or a dict; steps are given as a dict '
                            '{"mine": step}, where step(batch) trains with a batch (docs/python.md)')
        if "," in name or not 0 < len(name.encode()) < 96:
            raise TypeError(f"models: {title(name)} is not a name of 1 to 95 bytes without commas")
        if not callable(steps.get(name, print)):
            raise TypeError(f"models: {name} must be a function of a batch, or None for a model of the catalogue")
    return steps


def perform(words, runner, subject, isolate, quiet, reword, others=(), prints=True):
    """Runs rue with what `words()` returns, once the subject is known, and with the subject's own options. `others`
    as in Run.attached, `reword` and `prints` as in Run."""
    with STUDY, ctrl_c_interrupts() as pressed:
        if not isolate:
            examine(subject, pressed)
        arguments = words() + (["--quiet"] if quiet else [])
        if arguments[0] != "check" and subject.epochs > 1:
            arguments += ["--images", str(unseen_job_images(subject) if isolate else subject.job_images())]
        if isolate:
            arguments += ["--runner", isolated_command(subject, runner.steps)]
        elif arguments[0] != "check" and subject.drops_last():
            arguments.append("--drop-last")
        run = Run(arguments, quiet, reword, prints)
        run.isolated() if isolate else run.attached(runner, pressed, others)
        return run


def examine(subject, pressed):
    """Loads a batch, so that a loader that does not work fails at once. Workers that Ctrl-C ends, too, are not such a
    failure: `pressed` is not empty then."""
    try:
        with quiet_about_workers(), time_limit(EXAMINE_LIMIT_S, "loading the first batches"):
            subject.examine()
    except TuneError:
        raise
    except Exception as error:
        if pressed:
            raise KeyboardInterrupt from error
        if isinstance(error, Refused):
            raise TuneError(str(error)) from error
        raise TuneError(f"the loader cannot be tuned, because it fails: {explain(error)}") from error


def unseen_job_images(subject):
    """Images of the whole job of a loader that only another process examines."""
    images = subject.given_images or subject.facts().images
    if not images:
        raise ValueError("the length of an epoch is unknown: give images=")
    return subject.epochs * images


def failure(run, runner):
    """What to raise after a run without a result: a TuneError with rue's message, and the traceback of a loader's
    exception; KeyboardInterrupt after Ctrl-C."""
    if run.interrupted:
        return KeyboardInterrupt()
    text = run.message or f"rue ended with exit code {run.code}, without a recommendation"
    if run.code < 0:
        text = f"rue was killed by signal {-run.code}"
    return explain_failure(text, run.stack, runner)


def explain_failure(text, stack, runner):
    """As failure. `stack` is where the thread was whose trial rue gave up; None: it gave up none."""
    said = text
    if stack is not None:
        text = f"a trial took too long and was given up: {text}\n\nThe thread that ran it was here:\n{stack}"
        others = [thread for thread in threading.enumerate() if thread is not threading.current_thread()]
        names = [thread.name for thread in others if not isinstance(thread, OWN_THREADS)]
        config = runner.config
        if names and config.get("num_workers") and config.get("multiprocessing_context", "fork") == "fork":
            text += (f"\nOther threads ran while workers were forked ({', '.join(names[:5])}). A worker waits forever "
                     'for a lock that one of them held: multiprocessing_context="spawn" has none of these.')
    tracebacks = [trace for reason, trace in runner.reasons.items() if reason in text]
    error = TuneError("\n\n".join([text, *(tracebacks or list(runner.reasons.values())[-1:])]))
    error.said = said
    return error


def model_names(models):
    if isinstance(models, str):
        return models.split(",")
    if models is None:
        return []
    return list(models) if hasattr(models, "__iter__") and not callable(models) else [models]


def model_words(models):
    names = model_names(models)
    return ["--model", ",".join(names)] if names else []


def knob_words(subject):
    words = []
    for name, values in subject.searched().items():
        if name in knobs.WITH_OPTION:
            words += ["--" + name.replace("_", "-"), ",".join(values)]
        else:
            words += ["--knob", f"{name}={','.join(values)}"]
    return words


def isolated_command(subject, steps):
    """The command of a runner that imports the factory by its name."""
    target = import_name(getattr(subject, "factory", None), "loader")
    words = [sys.executable, "-m", "rue_tuner.runner", target, "--parent", str(os.getpid())]
    for name, knob in subject.knobs.items():
        if name in subject.requested:
            text = f"{name}={','.join(knob.words)}"
            if parse_knobs([text])[name] != knob.values:
                raise TypeError(f"isolate=True passes the values of {name} as texts: give numbers, flags or texts "
                                "without spaces")
            words += ["--knob", text]
    if subject.given_images:
        words += ["--images", str(subject.given_images)]
    for name, step in steps.items():
        words += ["--model", f"{name}={import_name(step, name)}"]
    if subject.given_count:
        words += ["--count", import_name(subject.given_count, "count")]
    words += ["--epochs", str(subject.epochs)]
    path = os.pathsep.join([str(pathlib.Path(__file__).parents[1]), *filter(None, sys.path)])
    return f"env PYTHONPATH={shlex.quote(path)} " + " ".join(map(shlex.quote, words))


def import_name(function, title):
    """MODULE:NAME of a function that another process can import."""
    name = getattr(function, "__qualname__", "<")
    if "<" in name:
        raise TypeError(f"isolate=True imports the {title} in another process: it must be a function at the top of a "
                        "module")
    module = inspect.getmodule(function)
    if module.__name__ != "__main__":
        return f"{module.__name__}:{name}"
    if not getattr(module, "__file__", None):
        raise TypeError(f"isolate=True imports the {title} from a file: write it to a module")
    return f"{module.__file__}:{name}"
