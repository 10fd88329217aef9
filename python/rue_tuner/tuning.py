"""tune(): a study of the caller's own loader."""
import contextlib
import functools
import pathlib
import warnings
from typing import Any, Callable, Mapping, Optional

from . import document as documents
from . import keywords, random_state
from .distributed import end, follow, meet, world_size
from .document import Path
from .errors import TuneError
from .program import temporary_folder
from .result import Result
from .serve import Runner
from .study import Models, Tunable, check_caller, failure, knob_words, model_words, perform, prepare

INCONCLUSIVE = 5  # exit code


def tune(
    loader: Tunable,
    models: Models = None,
    *,
    budget: str = "2m",
    images: Optional[int] = None,
    epochs: int = 1,
    space: Optional[Mapping[str, Any]] = None,
    count: Optional[Callable[[Any], int]] = None,
    against: Any = None,
    out: Optional[Path] = None,
    isolate: bool = False,
    quiet: bool = False,
    strict: bool = True,
    **options: Any,
) -> Result:
    """Finds the configuration of `loader` that is good for all `models`, by regret.

    Trials run in the calling thread. Steps really run: give a copy of a model that must not be trained. The states of
    the random generators are afterwards as before. Ctrl-C ends the search with the results so far. Under
    `torch.distributed`, call it on every rank: all make each trial together, and get the same result.

    Args:
        loader: a `torch.utils.data.DataLoader`, or an object that holds one, such as accelerate's or timm's loader, or
            a `Loader`: each trial gets a copy with other knobs. Or a factory
            `make_loader(batch_size, num_workers, **knobs)` that returns any iterable of batches
        models: names of the catalogue, which sleep as long as a batch takes (`rue models`), such as
            `["resnet50@h100"]`; or a dict `{name: step}`, where `step(batch)` is a training or inference step, and None
            stands for the catalogue's [four models of the catalogue]
        budget: time for the search, such as `"90s"` or `"2m"`; or a number of trials, such as `"40trials"`
        images: images of an epoch, if they cannot be counted
        epochs: epochs of the job; each starts a new iterator
        space: `{knob: values}` to search, such as `{"batch_size": [32, 64], "num_workers": range(9)}`. A DataLoader
            keeps its batch size unless this names others; a factory is searched from 32 to 256
        count: a function of a batch that returns its number of images [the items that the DataLoader collates]
        against: a `Loader` of the same images: measured in the same study, and `result.gain` says what it gains
        out: folder of the study, which the same call continues [none is kept]
        isolate: run the trials in a process of their own; `loader`, the steps and `count` must be functions that can be
            imported
        quiet: print nothing
        strict: False: the best guess can be used where the study is not decided [`UndecidedError` is raised]
        options: other options of `rue tune` by name, such as `epsilon="1%"`, `strategy="grid"`, `max_memory="8GB"`:
            those that docs/python.md lists

    Returns:
        A Result.

    Raises:
        TypeError: an argument is of the wrong kind, or does not exist
        ValueError: an argument has a value that makes no sense
        TuneError: the study has no result, because the loader or a step fails, or the budget is too small; or an
            option such as `budget` has a wrong value
        KeyboardInterrupt: Ctrl-C came before there was a result

    Examples:
        result = rue.tune(loader, {"mine": step}, budget="2m")
        loader = result.apply(loader)
    """
    check_caller()
    try:
        keywords.check(options)
        check_processes(against, isolate)
        subject, steps = prepare(loader, models, images, epochs, space, count, against)
        subject.limit_workers(options.get("max_workers"))
    except Exception as error:
        if world_size() > 1:
            with contextlib.suppress(TuneError):
                meet(error)
        raise
    with random_state.kept():
        result = tune_prepared(subject, steps, models, budget, out, isolate, quiet, options)
    result.config, result._kwargs = map(subject.own_values, (result.config, result._kwargs))
    result._tuned, result._strict, result._place = subject, strict, out
    if subject.compares:
        from .against import sentence
        result.report += sentence(result.gain) + "\n"
        if not quiet:
            print(sentence(result.gain))
    return result


def check_processes(against, isolate):
    if against is not None and (isolate or world_size() > 1):
        raise ValueError("against= compares loaders in one process: leave out isolate=, and call it outside of "
                         "torch.distributed")
    if isolate and world_size() > 1:
        raise ValueError("isolate=True cannot be used under torch.distributed: the ranks make the trials together")


def tune_prepared(subject, steps, models, budget, out, isolate, quiet, options):
    """In this process, or with the other ranks."""
    def arguments():
        return ["--budget", str(budget), *model_words(models), *knob_words(subject),
                *keywords.words({"cache": "as-is", "baseline": subject.baseline(), **options})]
    if world_size() == 1:
        return run_study(subject, Runner(subject, steps), arguments, out, isolate, quiet)
    return tune_together(subject, steps, arguments, out, quiet)


def tune_together(subject, steps, arguments, out, quiet):
    """All ranks call it; rank 0 searches, and all get its Result, or its error."""
    rank, connections = meet()
    subject.ranks = world_size()
    runner = Runner(subject, steps)
    if rank > 0:
        outcome = follow(connections[0], runner)
        return Result(outcome["document"], outcome["report"], outcome["interrupted"])
    outcome = {}
    try:
        result = run_study(subject, runner, arguments, out, False, quiet, connections)
        outcome = dict(document=result.document, report=result.report, interrupted=result.interrupted)
        return result
    except KeyboardInterrupt:
        outcome = dict(error="a rank was interrupted before there was a result", interrupted=True)
        raise
    except BaseException as error:
        outcome = dict(error=getattr(error, "said", "") or str(error) or type(error).__name__)
        raise
    finally:
        end(connections, outcome)


def run_study(subject, runner, arguments, out, isolate, quiet, others=()):
    """Runs `rue tune` with the words that `arguments()` returns, in the folder `out`, or in one that is removed.
    Returns the Result."""
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(out or stack.enter_context(temporary_folder()))
        path = folder / "recommendation.json"
        earlier = written(path)
        run = perform(lambda: ["tune", "--out", str(folder), *arguments()], runner, subject, isolate, quiet,
                      functools.partial(keywords.for_python, keeps=bool(out)), others)
        # rue keeps an earlier result, which may be of another loader, if this run has none
        if run.code not in (0, INCONCLUSIVE) and not run.interrupted or written(path) == earlier:
            raise failure(run, runner)
        try:
            document = documents.read(path)
        except ValueError as error:
            raise TuneError(f"rue wrote a result that cannot be used: {error}") from error
        best = document["recommendations"][0]
        if subject.compares and best.get("config") is not None:
            best["against"] = subject.gain(folder, best)
            documents.write(path, document)
    for part in document["recommendations"] if subject.name == "torch" else []:
        name = "torch" if "torch" in part else "torch_best_guess"
        if name not in part:
            continue
        part[name] = {knob: value for knob, value in (part.get(name) or {}).items() if knob in subject.arguments()}
    if document["recommendations"][0].get("config") is None:
        raise failure(run, runner)
    result = Result(document, run.report, run.interrupted or run.stack is not None)
    searched = len(subject.space["num_workers"]) > 1
    if runner.workers_fail and searched and not any(row["num_workers"] for row in result.rows):
        warnings.warn(f"no configuration with workers could be measured: {runner.workers_fail}", stacklevel=4)
    return result


def written(path):
    """The identity of the file at `path`, which changes when rue writes a new one; None without a file."""
    with contextlib.suppress(OSError):
        found = path.stat()
        return found.st_ino, found.st_mtime_ns
