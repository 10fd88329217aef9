"""Whether loading limits a job: headroom() measures it, and watch() looks at a loop as it is."""
import contextlib
import cProfile
import functools
import json
import os
import pstats
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from . import keywords, random_state
from .gpu_clock import GpuClock
from .machine import now
from .serve import Runner
from .study import check_caller, failure, knob_words, model_words, perform, prepare
from .subjects import Factory

PROFILE_NS, SMALL_SHARE = 2 * 10**9, 0.05
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
    """What headroom() found. `str` of it is the answer in words.

    loss_ratio    share of an epoch that loading costs, of the model that loses most; 0.38: 38 %
    speedup_ratio how many times as fast a perfect loader would be
    interval      (low, high) of loss_ratio, at 95 % confidence; None: unknown
    models        a dict for each model, as `models` of `rue headroom --json`
    profile       [(share, function)]: where loading without workers spends its time; [] where that is not known
    document      all of it
    """

    def __init__(self, document: Dict[str, Any]):
        self.document: Dict[str, Any] = document
        self.models: List[Dict[str, Any]] = document["models"]
        worst = max(self.models, key=lambda row: row["loss_ratio"])
        self.loss_ratio: float = worst["loss_ratio"]
        self.speedup_ratio: float = worst["perfect_speedup_ratio"]
        self.profile: List[Tuple[float, str]] = document["profile"]
        self.interval = (worst["loss_low_ratio"], worst["loss_high_ratio"]) if worst["confidence"] else None

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
    """How much faster `step` would run with a perfect loader: `step` on a batch that stays in memory, against `step` on
    what `loader` delivers, in turns.

    loader   a DataLoader, an object that holds one, or a rue.Loader, with its own batch size, workers and other knobs
    step     a training or inference step of a batch; {name: step} or names of the catalogue as in tune() [those of
             tune()]
    budget   time for all trials, such as "30s"
    images, epochs, count, quiet   as in tune()

    Steps really run, so give a copy of a model that must not be trained. Raises TypeError or ValueError for arguments
    that make no sense, TuneError where a trial fails, and KeyboardInterrupt after Ctrl-C.
    """
    check_caller()
    models = {getattr(step, "__name__", "step"): step} if callable(step) else step
    subject, steps = prepare(loader, models, images, epochs, None, count)
    if isinstance(subject, Factory):
        raise TypeError("headroom measures a loader as it is, not a factory: give headroom(make_loader(32, 4), step)")
    subject.keep_as_it_is()
    runner = Runner(subject, steps)

    reword = functools.partial(keywords.for_python, keeps=False)

    def words():
        return ["headroom", "--json", "--cache", "as-is", "--budget", str(budget), *model_words(models),
                *knob_words(subject)]
    with random_state.kept():
        run = perform(words, runner, subject, False, quiet, reword, prints=False)
        if run.code:
            raise failure(run, runner)
        document = json.loads(run.report)
        document["sentences"] = list(map(reword, document["sentences"]))
        document["profile"] = profile_loading(subject) if subject.name == "torch" else []
    largest = [f"{100 * share:.0f} % {what}" for share, what in document["profile"][:3] if share > SMALL_SHARE]
    if largest and document["models"][0]["limit"] != "nothing":
        document["sentences"].insert(2, f"Where a loader without workers spends its time: {', '.join(largest)}.")
    result = Headroom(document)
    if not quiet:
        print(result)
    return result


class Watch:
    """What a loop over a loader waits for. `str` of it is a sentence.

    batches   delivered
    waited_s  time in which the loop waited for batches, of elapsed_s seconds; where a GPU computes, only the time in
              which it had nothing to do
    first_s   part of waited_s before the first batch of each epoch
    late      batches after the first that were not ready when the loop asked for them
    """

    def __init__(self, loader: Iterable):
        self.loader, self.batches, self.late = loader, 0, 0
        self.elapsed_ns = self.first_ns = self.thread_waited_ns = 0
        self.clock = GpuClock()  # of the gaps between steps

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
        share = min(1.0, self.waited_s / self.elapsed_s)
        gain = f": a perfect loader would be {1 / (1 - share):.2f} times as fast" if share < 1 else ""
        return (f"The loop waits for data {100 * share:.0f} % of {self.elapsed_s:.1f} s{gain}. {self.late} of "
                f"{self.batches} batches were not ready; the first of each epoch cost {self.first_s:.1f} s in all.")

    def __enter__(self) -> "Watch":
        kind, watch = type(self.loader), self
        if not hasattr(kind, "__iter__"):
            raise TypeError(f"a {kind.__qualname__} cannot be watched: it is not an iterable of batches")

        class Watched(kind):  # type: ignore[valid-type, misc]
            def __iter__(self):
                return watch.follow(lambda: kind.__iter__(self))
        Watched.__name__, Watched.__qualname__, Watched.__module__ = kind.__name__, kind.__qualname__, kind.__module__
        try:
            self.loader.__class__, self.kind = Watched, kind
        except TypeError as error:
            raise TypeError(f"a {kind.__qualname__} cannot be watched in place: iterate over rue.watch(loader)"
                            ) from error
        return self

    def __exit__(self, *_: Any) -> None:
        self.loader.__class__ = self.kind

    def __iter__(self):
        return self.follow(lambda: iter(self.loader))

    def __len__(self) -> int:
        return len(self.loader)  # type: ignore[arg-type]

    def follow(self, start):
        """The batches of one epoch, timed."""
        begin, first = now(), True
        try:
            asked, begun = begin, self.clock.begin()
            iterator = start()
            while True:
                try:
                    batch = next(iterator)
                except StopIteration:
                    return
                finally:
                    wait_ns = now() - asked
                    self.clock.end(begun)
                    self.thread_waited_ns += wait_ns
                self.first_ns += wait_ns if first else 0
                self.late += not first and wait_ns > LATE_NS
                self.batches += 1
                first = False
                yield batch
                del batch
                asked, begun = now(), self.clock.begin()
        finally:
            self.clock.finish()
            self.elapsed_ns += now() - begin


watch = Watch
