"""A DataLoader against rue's Loader, in one study: what changing gains."""
import json
import subprocess

from .batches import batch_bytes
from .errors import Refused, TuneError
from .loader import Loader, native
from .own_loader import OwnLoader
from .program import find_program
from .subjects import Rebuilt, make_subject
from .user_loader import UserLoader

THEIRS, OURS = "DataLoader", "rue.Loader"  # values of the knob `loader`


class Against(UserLoader):
    """The caller's loader and a Loader in one study, as the values of a knob."""
    compares = True

    def __init__(self, loader, own, space=None, count=None, images=None, epochs=1):
        self.theirs = make_subject(loader, None, count, images, epochs)
        if not isinstance(self.theirs, Rebuilt) or not isinstance(own, Loader):
            raise TypeError("against= compares a DataLoader, or an object that holds one, with a rue.Loader")
        sizes = [self.theirs.batch_size, own.batch_size]
        if sizes[0] != sizes[1]:
            raise ValueError(f"against= compares loaders of the same batch size, not {sizes[0]} and {sizes[1]}")
        self.own_loader = OwnLoader(own.with_(drop_last=self.theirs.drops_last()), epochs=epochs)
        super().__init__({"loader": [THEIRS, OURS], **(space or {})}, count, images, epochs)
        for name in [name for name in self.knobs if name != "loader"]:
            raise TypeError(f"against= searches batch_size, num_workers and prefetch_factor, not {name}")

    def facts(self):
        return self.theirs.facts()

    def sample(self):
        return self.theirs.sample()

    def default_space(self):
        return dict(batch_size=[self.theirs.batch_size], num_workers=self.theirs.space["num_workers"])

    def make(self, values, images, copier):
        values = dict(values)
        return (self.own_loader if values.pop("loader") == OURS else self.theirs).make(values, images, copier)

    def examine(self):
        super().examine()
        images = [self.images, self.own_loader.loader.images]
        if self.checked and abs(images[0] - images[1]) >= self.theirs.batch_size:
            raise Refused(f"an epoch has {images[0]} images in the DataLoader, and {images[1]} in rue.Loader: compare "
                          "loaders of the same data")
        batch, found = self.own_loader.look(self.own_loader.default_config(), 1)[0]
        each = [self.bytes_per_image, batch_bytes(batch) / found]
        if abs(each[0] - each[1]) > 64:  # more than another type of labels
            self.note(f"the loaders do not deliver the same: an image has {each[0]:,.0f} bytes in the DataLoader's "
                      f"batches, and {each[1]:,.0f} in those of rue.Loader")

    def recommended_loader(self, config, overrides):
        return (self.own_loader if config["loader"] == OURS else self.theirs).recommended_loader(config, overrides)

    def identity(self):
        return f"{self.theirs.identity()} {self.own_loader.identity()}"

    def baseline(self):
        """The caller's loader as it is."""
        own = self.theirs.baseline()
        return own and f"{own},loader={THEIRS}"

    def gain(self, folder, part):
        """What changing to the Loader gains, of the recommendation `part` of the study in `folder`; None: one of the
        two could not be measured, or the machine was not steady. Ratios are the time with the DataLoader / that with
        the Loader."""
        measured = [row for row in part["configs"] if row.get("mean_regret_ratio") is not None]
        worst_first = sorted(measured, key=lambda row: row["mean_regret_ratio"])[::-1]
        best = {row["config"]["loader"]: row["config"] for row in worst_first}
        best[part["config"]["loader"]] = part["config"]
        if len(best) < 2:
            return None
        wins = part["config"] is best[OURS]
        ratio, low, high, confidence = compare(folder, best[THEIRS if wins else OURS])
        if ratio is None:
            return None
        if not wins:
            ratio, low, high = 1 / ratio, high and 1 / high, low and 1 / low
        return dict(speedup_ratio=ratio, low_ratio=low, high_ratio=high, confidence=confidence,
                    proven=bool(low and low > 1), loader_config=self.of(OURS, best),
                    dataloader_config=self.of(THEIRS, best), as_it_is=self.gain_over_own(part) if wins else None)

    def of(self, which, best):
        subject = self.own_loader if which == OURS else self.theirs
        return {name: value for name, value in best[which].items() if name in subject.arguments() and name != "loader"}

    def gain_over_own(self, part):
        """The same against the caller's loader with its own knobs; None: not known."""
        rows = (part.get("baselines") or {}).get("rows") or []
        return next((row.get("gain") for row in rows if row["config"].get("loader") == THEIRS), None)


def compare(folder, config):
    """(ratio, low, high, confidence) of the time with `config` over that with the recommended configuration. Without
    repeats, there is no interval."""
    words = []
    for name, value in config.items():
        words += ["--knob", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    done = subprocess.run([find_program(), "why", str(folder), "--json", *words],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise TuneError(f"the two loaders cannot be compared: {done.stderr.strip()}")
    found = json.loads(done.stdout)["variants"][0]
    measured = found["noise"]["source"] == "measured"
    return [found["time_ratio"],
            *(found[name] if measured else None for name in ("time_ratio_low", "time_ratio_high", "confidence"))]


def times(ratio):
    """How many times as fast, as the program writes it."""
    return native.text_of(native.waiting.rue_format_times, ratio)


def interval(ratio):
    """The confidence interval of a ratio, for the user; empty if it has none."""
    if not ratio.get("low_ratio"):
        return ""
    return f" ({100 * ratio['confidence']:.0f} % CI {times(ratio['low_ratio'])} to {times(ratio['high_ratio'])})"


def sentence(gain):
    """What changing gains, for the user."""
    if gain is None:
        return ("What a change to rue.Loader gains is unknown: one of the two loaders could not be measured, or the "
                "machine was not steady.")
    workers = [gain[name]["num_workers"] for name in ("loader_config", "dataloader_config")]
    text = (f"rue.Loader is {times(gain['speedup_ratio'])} times as fast as the DataLoader{interval(gain)}, with "
            f"num_workers {workers[0]} and {workers[1]}, the best of each")
    own = gain["as_it_is"]
    if own:
        text += f"; {times(own['speedup_ratio'])} times as fast as the DataLoader as it is{interval(own)}"
    return text + ". One has threads, the other processes: their best num_workers may differ."
