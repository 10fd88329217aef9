"""Whether loading limits a job: headroom() measures it, and watch() looks at a loop as it is."""
import contextlib
import cProfile
import json
import os
import pstats
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from . import keywords, random_state
from .gpu_clock import GpuClock
from .machine import now
from .serve import Runner
from .study import check_caller, failure, model_words, perform, prepare
from .subjects import FACTORY_ADVICE, Factory

PROFILE_NS, SMALL_SHARE = 2 * 10**9, 0.05
WATCH_ADVICE = "run your own loop over rue.watch(loader) instead"
LATE_NS = 10**6  # a batch that comes later was not ready


def profile_loading(subject):
    """[(share, function)] of where loading a batch spends its time without workers, largest first; [] if that is not
    known: some loaders need workers, and rue's own runs no Python."""
    profile, shares = cProfile.Profile(), []
    with contextlib.suppress(Exception):
        loading = subject.load({**subject.default_config(), "num_workers": 0}, None)
        end = now() + PROFILE_NS
        profile.enable()
        try:
            for _ in loading.loader[0]:
                if now() > end:
                    break
        finally:
            profile.disable()
        times = {where: entry[2] for where, entry in pstats.Stats(profile).stats.items()}  # type: ignore[attr-defined]
        shares = [(time_s / sum(times.values()), name(*where)) for where, time_s in times.items()]
    return sorted(shares, reverse=True)


def name(file, line, function):
    """As a user knows it: decode of ImagingDecoder, resize in functional.py."""
    method = re.match(r"<method '(.*)' of '(.*)' objects>", function)
    if method:
        return f"{method[1]} of {method[2]}"
    if file == "~":
        return function.strip("<>").removeprefix("built-in method ")
    return f"{function} in {os.path.basename(file)}"


class Headroom:
    """What `headroom` found. `str` of it is the answer in words.

    Attributes:
        loss_ratio: share of an epoch that loading costs, of the model that loses most; 0.38 is 38 %
        speedup_ratio: how many times as fast a perfect loader would be
        interval: (low, high) of `loss_ratio`, at 95 % confidence; None: unknown
        worst: the dict of that model
        models: a dict for each model, as `models` of `rue headroom --json` (docs/output.md)
        profile: a list of (share, function): where loading without workers spends its time; empty if that is not known
        document: all of it
    """

    def __init__(self, document: Dict[str, Any]):
        self.document: Dict[str, Any] = document
        self.models: List[Dict[str, Any]] = document["models"]
        worst = next(row for row in self.models if row["model"] == document["worst_model"])
        self.worst: Dict[str, Any] = worst
        self.loss_ratio: float = worst["loss_ratio"]
        self.speedup_ratio: float = worst["perfect_speedup_ratio"]
        self.profile: List[Tuple[float, str]] = document["profile"]
        known = worst["confidence"]
        self.interval: Optional[Tuple[float, float]] = (
            (worst["loss_low_ratio"], worst["loss_high_ratio"]) if known else None)

    def __str__(self) -> str:
        return "\n".join(self.document["sentences"])

    def __repr__(self) -> str:
        return f"<Headroom: {self.document['sentences'][0]}>"


def headroom(
    loader: Iterable,
    step: Union[Callable[[Any], Any], Mapping[str, Callable[[Any], Any]], str, None] = None,
    *,
    budget: str = "30s",
    images: Optional[int] = None,
    epochs: int = 1,
    count: Optional[Callable[[Any], int]] = None,
    quiet: bool = False,
) -> Headroom:
    """Measures how much faster `step` would run with a perfect loader.

    `step` runs on a batch that stays in memory, and on what `loader` delivers, in turns. Steps really run: give a copy
    of a model that must not be trained.

    Args:
        loader: a DataLoader, an object that holds one, or a `Loader`, with its own batch size, workers and other knobs
        step: a training or inference step of a batch; or `{name: step}`, or names of the catalogue, as in `tune` [four
            models of the catalogue]
        budget: time for all trials, such as `"30s"`
        images: images of an epoch, if they cannot be counted
        epochs: epochs of the job; each starts a new iterator
        count: a function of a batch that returns its number of images [the items that the DataLoader collates]
        quiet: print nothing

    Returns:
        A Headroom.

    Raises:
        TypeError: an argument is of the wrong kind, such as a factory
        ValueError: an argument has a value that makes no sense
        TuneError: a trial fails, or `budget` has a wrong value
        KeyboardInterrupt: Ctrl-C was pressed

    Examples:
        found = rue.headroom(loader, step)
        if found.loss_ratio > 0.10:
            print(found)
    """
    check_caller()
    models = {getattr(step, "__name__", "step"): step} if callable(step) else step
    try:
        subject, steps = prepare(loader, models, images, epochs, None, count)
    except TypeError as error:
        raise TypeError(as_arguments(str(error))) from None
    if isinstance(subject, Factory):
        raise TypeError("headroom measures a loader as it is, not a factory: give headroom(make_loader(32, 4), step)")
    subject.keep_as_it_is()
    runner = Runner(subject, steps)

    def reword(text):
        return as_arguments(keywords.for_python(text, keeps=False))

    def words():
        values = {name: values[0] for name, values in subject.searched().items() if name in subject.space}
        knobs = [word for name, value in values.items() for word in ("--knob", f"{name}={value}")]
        return ["headroom", "--json", "--cache", "as-is", "--budget", str(budget), *model_words(models), *knobs]
    with random_state.kept():
        run = perform(words, runner, subject, False, quiet, reword, prints=False)
        if run.code:
            raise failure(run, runner)
        document = json.loads(run.report)
        document["sentences"] = list(map(reword, document["sentences"]))
        costs = any(row["limit"] != "nothing" for row in document["models"])
        document["profile"] = profile_loading(subject) if costs and subject.name == "torch" else []
    largest = [f"{100 * share:.0f} % {what}" for share, what in document["profile"][:3] if share > SMALL_SHARE]
    result = Headroom(document)
    if largest and result.worst["limit"] != "nothing":
        place = 1 + (result.worst["limit"] != "unknown")  # behind the sentence about the limit
        document["sentences"].insert(place, f"Where a loader without workers spends its time: {', '.join(largest)}.")
    if not quiet:
        print(result)
    return result


def as_arguments(text):
    """What is said of tune()'s arguments, with those of headroom()."""
    return re.sub(r"\bmodels(?=: |=)", "step", text).replace(FACTORY_ADVICE, WATCH_ADVICE)


class Watch:
    """What a loop over a loader waits for. `str` of it is a sentence.

    Attributes:
        batches: batches that were delivered
        late: batches after the first of an epoch that were not ready when the loop asked for them
        waited_s: seconds in which the loop waited for batches; where a GPU computes, only those in which it had nothing
            to do
        first_s: seconds of `waited_s` before the first batch of each epoch
        elapsed_s: seconds of all epochs
    """

    batches: int
    late: int

    def __init__(self, loader: Iterable):
        self.loader, self.batches, self.late = loader, 0, 0
        self.elapsed_ns = self.first_ns = self.thread_waited_ns = 0
        self.clock = GpuClock()  # of the gaps between steps
        self.kind: Any = None  # the loader's class, while it is watched in place

    @property
    def waited_s(self) -> float:
        return (sum(self.clock.times) or self.thread_waited_ns) / 1e9

    @property
    def first_s(self) -> float:
        return self.first_ns / 1e9

    @property
    def elapsed_s(self) -> float:
        return self.elapsed_ns / 1e9

    def __str__(self) -> str:
        if not self.batches:
            return "No batch was loaded while the loader was watched."
        share = min(1.0, self.waited_s / max(self.elapsed_s, 1e-9))
        times = 1 / (1 - share) if share < 1 else 0
        gain = f": a perfect loader would be {times:.{2 if times < 10 else 0}f} times as fast" if times else ""
        return (f"The loop waits for data {100 * share:.0f} % of {self.elapsed_s:.1f} s{gain}. {self.late} of "
                f"{self.batches} batches were not ready; the first of each epoch cost {self.first_s:.1f} s in all.")

    def __enter__(self) -> "Watch":
        kind, watch = type(self.loader), self
        if self.kind or not hasattr(kind, "__iter__"):
            raise TypeError("it is watched already" if self.kind else
                            f"a {kind.__qualname__} cannot be watched: it is not an iterable of batches")
        try:
            class Watched(kind):  # type: ignore[valid-type, misc]
                def __iter__(self):
                    return watch._follow(lambda: kind.__iter__(self))
            for name in ("__name__", "__qualname__", "__module__"):
                setattr(Watched, name, getattr(kind, name))
            self.loader.__class__, self.kind = Watched, kind
        except TypeError as error:
            raise TypeError(f"a {kind.__qualname__} cannot be watched in place: iterate over rue.watch(loader)"
                            ) from error
        return self

    def __exit__(self, *_: Any) -> None:
        self.loader.__class__, self.kind = self.kind, None

    def __iter__(self):
        return iter(self.loader) if self.kind else self._follow(lambda: iter(self.loader))

    def __len__(self) -> int:
        return len(self.loader)  # type: ignore[arg-type]

    def _follow(self, start):
        """The batches of one epoch, timed."""
        asked, first = now(), True
        begun, iterator = self.clock.begin(), None
        try:
            while True:
                try:
                    iterator = iterator or start()
                    batch = next(iterator)
                except StopIteration:
                    return
                finally:
                    got = now()
                    self.clock.end(begun)
                    self.thread_waited_ns += got - asked
                    self.elapsed_ns += got - asked
                self.first_ns += got - asked if first else 0
                self.late += not first and got - asked > LATE_NS
                self.batches += 1
                first = False
                yield batch
                del batch
                asked = now()
                self.elapsed_ns += asked - got
                begun = self.clock.begin()
        finally:
            got = now()
            self.clock.finish()
            self.elapsed_ns += now() - got


def watch(loader: Iterable) -> Watch:
    """Looks at a loop over `loader` as it is, without trials.

    While the result is entered, each iteration over `loader` is timed. A loader that has no class in Python, such as a
    list, is watched by a loop over the result.

    Args:
        loader: any iterable of batches

    Returns:
        A Watch.

    Raises:
        TypeError: it is not an iterable, or is watched already; raised by `with`

    Examples:
        with rue.watch(loader) as watched:
            for batch in loader:
                step(batch)
        print(watched)
    """
    return Watch(loader)
