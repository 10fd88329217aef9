"""tune(): a study of the caller's own loader."""
import contextlib
import inspect
import json
import os
import pathlib
import shlex
import sys
import tempfile

from torch.utils.data import get_worker_info

from .distributed import LeadingRunner, Ranks, world_size
from .errors import Refused, TuneError, one_line
from .loaders import make_subject
from .program import INTERRUPTED, Run
from .result import Result
from .serve import Runner

INCONCLUSIVE = 5  # exit code
running = False


def tune(loader, models=None, *, budget="2m", images=None, epochs=1, space=None, count=None, out=None, isolate=False,
         quiet=False, **options):
    """Finds the configuration of `loader` that is good for all `models`, by regret.

    loader   a torch.utils.data.DataLoader, which is rebuilt with other knobs; or a factory
             make_loader(batch_size, num_workers, **knobs) that returns any iterable of batches
    models   names of the catalogue, which sleep as long as a batch takes (`rue models`), such as ["resnet50@h100"];
             or a dict {name: step}, where step(batch) is a training or inference step, and None stands for the
             catalogue's; default: four models of the catalogue
    budget   time for the search, such as "90s" or "2m"
    images   images of an epoch, if they cannot be counted
    epochs   of the job; each starts a new iterator
    space    {knob: values} to search, such as {"batch_size": [32, 64], "num_workers": range(9)}. A DataLoader keeps its
             batch size unless this names others; a factory is searched from 32 to 256
    count    a function of a batch that returns its number of images [batches.count_images]
    out      folder of the study, which the same call continues [none is kept]
    isolate  run the trials in a process of their own; `loader` must be a factory or a loader that can be imported
    quiet    print nothing
    options  other options of `rue tune` by name, such as epsilon="1%", strategy="grid", max_memory="8GB"

    Trials run in the calling thread. Returns a Result; after Ctrl-C, that of the trials so far.
    Raises TypeError or ValueError for arguments that make no sense, TuneError for a study without a result.
    """
    subject, steps = prepare(loader, models, images, epochs, space, count)
    arguments = ["--budget", str(budget), *model_words(models), *knob_words(subject),
                 *option_words({"cache": "as-is", "baseline": subject.baseline(), **options})]
    if world_size() == 1:
        return run_study(subject, Runner(subject, steps), arguments, out, isolate, quiet)
    if isolate:
        raise ValueError("isolate=True cannot be used under torch.distributed: the ranks make the trials together")
    return tune_together(subject, steps, arguments, out, quiet)


def tune_together(subject, steps, arguments, out, quiet):
    """All ranks call it; rank 0 searches, and all get its Result, or its error."""
    ranks = Ranks()
    if ranks.rank > 0:
        outcome = ranks.follow(Runner(subject, steps))
        if isinstance(outcome, str):
            raise TuneError(outcome)
        return Result(*outcome)
    try:
        result = run_study(subject, LeadingRunner(ranks, subject, steps), arguments, out, False, quiet)
    except BaseException as error:
        ranks.end(str(error) or type(error).__name__)
        raise
    ranks.end((result.document, result.report, result.interrupted))
    return result


def run_study(subject, runner, arguments, out, isolate, quiet):
    """Runs `rue tune` in the folder `out`, or in one that is removed. Returns the Result."""
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(out or stack.enter_context(tempfile.TemporaryDirectory(prefix="rue-")))
        run = perform(["tune", "--out", str(folder), *arguments], runner, subject, isolate, quiet)
        path = folder / "recommendation.json"
        if run.code in INTERRUPTED and run.stack is None and not path.exists():
            raise KeyboardInterrupt
        if run.code not in (0, INCONCLUSIVE, *INTERRUPTED) or not path.exists():
            raise failure(run, runner)
        document = json.loads(path.read_text())
    for part in document["recommendations"]:
        part["torch"] = {name: value for name, value in (part.get("torch") or {}).items() if name in subject.arguments()}
    if document["recommendations"][0]["config"] is None:
        raise failure(run, runner)
    return Result(document, run.report, run.code in INTERRUPTED or run.stack is not None)


def check(result, loader, *, budget, models, quiet, images=None, epochs=1, space=None, count=None):
    """As Result.check."""
    subject, steps = prepare(loader, models, images, epochs, space, count)
    runner = Runner(subject, steps)
    with tempfile.TemporaryDirectory(prefix="rue-") as folder:
        path = pathlib.Path(folder, "recommendation.json")
        result.save(path)
        run = perform(["check", str(path), "--budget", str(budget)], runner, subject, False, quiet)
    if run.code:
        raise failure(run, runner)
    return run.report


def prepare(loader, models, images, epochs, space, count):
    if get_worker_info() is not None:
        raise TuneError("tune() was called in a worker of a DataLoader: call it in the main process")
    if running:
        raise TuneError("tune() was called within a trial of another tune(): one study runs at a time")
    for name, value in (("images", images), ("epochs", epochs)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise ValueError(f"{name} must be a whole number, at least 1, not {value!r}")
    subject = make_subject(loader, space, count, images, epochs)
    steps = {name: step for name, step in models.items() if step is not None} if isinstance(models, dict) else {}
    for name, step in steps.items():
        if not callable(step):
            raise TypeError(f"models: {name} must be a function of a batch, or None for a model of the catalogue")
    return subject, steps


def perform(words, runner, subject, isolate, quiet):
    """Runs rue with the subject's options."""
    global running
    if subject.drops_last():
        words.append("--drop-last")
    run = Run(words + (["--quiet"] if quiet else []), quiet)
    job = words[0] == "tune" and subject.epochs > 1
    running = True
    try:
        if isolate:
            run.arguments += ["--runner", isolated_command(subject, runner.steps)]
            if job:
                run.arguments += ["--images", str((subject.given_images or subject.known_images() or need_images()) * subject.epochs)]
            run.isolated()
            return run
        examine(subject)
        if job:
            run.arguments += ["--images", str(subject.images * subject.epochs)]
        run.attached(runner)
        return run
    finally:
        running = False


def examine(subject):
    """Loads a batch, so that a loader that does not work fails at once."""
    try:
        subject.examine()
    except Refused as error:
        raise TuneError(str(error)) from error
    except Exception as error:
        raise TuneError(f"the loader cannot be tuned, because it fails: {one_line(error)}") from error


def need_images():
    raise ValueError("the length of an epoch is unknown: give images=")


def failure(run, runner):
    """A TuneError with rue's message, and the traceback of a loader's exception."""
    text = run.message or f"rue ended with exit code {run.code}"
    if run.code < 0:
        text = f"rue was killed by signal {-run.code}"
    if run.stack is not None:
        text = f"a trial took too long and was given up: {text}\n\nThe thread that ran it was here:\n{run.stack}"
    tracebacks = [trace for reason, trace in runner.reasons.items() if reason in text] or list(runner.reasons.values())[-1:]
    return TuneError("\n\n".join([text, *tracebacks]))


def model_words(models):
    names = [models] if isinstance(models, str) else list(models or [])
    return ["--model", ",".join(names)] if names else []


def knob_words(subject):
    words = []
    for name, values in subject.searched().items():
        if name in subject.space:
            words += ["--" + name.replace("_", "-"), ",".join(values)]
        else:
            words += ["--knob", f"{name}={','.join(values)}"]
    return words


def option_words(options):
    """Keyword arguments as options: strategy="grid" is --strategy grid, True is a flag."""
    words = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        words.append("--" + name.replace("_", "-"))
        if value is not True:
            words.append(",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))
    return words


def isolated_command(subject, steps):
    """The command of a runner that imports the factory by its name."""
    words = [sys.executable, "-m", "rue_tuner.runner", import_name(getattr(subject, "factory", None), "loader")]
    for name, knob in subject.knobs.items():
        if name in subject.requested:
            words += ["--knob", f"{name}={','.join(knob.word(value) for value in knob.values)}"]
    if subject.given_images:
        words += ["--images", str(subject.given_images)]
    for name, step in steps.items():
        words += ["--model", f"{name}={import_name(step, name)}"]
    path = os.pathsep.join([str(pathlib.Path(__file__).parents[1]), *filter(None, sys.path)])
    return f"env PYTHONPATH={shlex.quote(path)} " + " ".join(map(shlex.quote, words + ["--epochs", str(subject.epochs)]))


def import_name(function, title):
    """MODULE:NAME of a function that another process can import."""
    name = getattr(function, "__qualname__", "<")
    if "<" in name:
        raise TypeError(f"isolate=True imports the {title} in another process: it must be a function at the top of a module")
    module = inspect.getmodule(function)
    if module.__name__ != "__main__":
        return f"{module.__name__}:{name}"
    if not getattr(module, "__file__", None):
        raise TypeError(f"isolate=True imports the {title} from a file: write it to a module")
    return f"{module.__file__}:{name}"
