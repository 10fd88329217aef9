"""What a runner measures, and what is common to all loaders of a caller: counting an epoch's images, and checking what
they deliver."""
import hashlib
import itertools
import shutil
from typing import NamedTuple, Optional

from . import dataloaders, knobs, machine
from .batches import array_bytes, batch_bytes, host_tensors, same_content, tensor_bytes
from .dataloaders import Loading, find_dataloader, length
from .errors import Refused
from .state import Copier

SPLIT_ADVICE = "the data set does not split its items among workers, see torch.utils.data.get_worker_info"
COUNT_LIMIT_S = 20  # for counting the images of an epoch
CHECK_LIMIT_S = 5   # for checking the length that a loader gives


class Subject:
    """What a runner measures. `space` has the values of rue's knobs."""
    name = "torch"

    def trial_images(self, request):
        """Images of a trial and of its job. A truncated trial has whole batches; with drop_last all are whole."""
        size, epoch = request["config"]["batch_size"], self.epoch_images(request)
        images = request.get("images") or epoch
        job_images = max(images, request.get("job_images", images))
        if images < job_images:
            images = min(job_images, max(1, images // size) * size)
        if self.drops_last(request):
            images = min(images - images % size, max(1, job_images // epoch) * (epoch - epoch % size))
        if images < 1:
            raise Refused(f"drop_last leaves no batch of {size} images of {min(epoch, job_images)}", "infeasible")
        return images, job_images

    def check_fits(self, request, job_images):
        """The memory of the whole job: its batches in flight and the one that the consumer holds. Those in flight are
        in /dev/shm, as far as they are tensors."""
        config, limits = request["config"], request.get("limits", {})
        batch, workers = min(config["batch_size"], job_images), config.get("num_workers", 0)
        held = self.batches_held(config, job_images)
        rooms = [("limits.memory_bytes", limits.get("memory_bytes"), self.item_bytes(request), "")]
        if workers:
            free = shutil.disk_usage("/dev/shm").free
            rooms.append(("/dev/shm", free, self.tensor_bytes(request), "; a container gets more by --shm-size"))
        for name, room, each, advice in rooms:
            need = int(held * batch * each)
            if room and need > room:
                raise Refused(f"{held} batches of {batch} need {need} bytes, but {name} has {room}{advice}",
                              "infeasible")

    def batches_held(self, config, images):
        """Batches in flight, and the one that the consumer holds."""
        ahead = config.get("num_workers", 0) * (config.get("prefetch_factor") or 2)
        return min(ahead, -(-images // config["batch_size"])) + 1

    def tensor_bytes(self, request):
        return self.item_bytes(request)

    def first_batch_check(self, config, images):
        """A function of each batch and its images; None: no check."""

    def check_trial(self, trial, loading):
        """Raises Refused where the loader did not deliver what it should."""


class Facts(NamedTuple):
    """What a loader shows of its epochs."""
    map_style: bool
    drops_last: bool
    images: Optional[int]  # of an epoch
    sure: bool             # whether an epoch has these
    plain: bool            # whether PyTorch's own sampler makes the batches


class UserLoader(Subject):
    """Common to all loaders of a caller. `own` are the knobs of rue's table that it has. `space` has the values of
    each knob; the first one is the default. `notes` are sentences for the user."""

    own, compares = knobs.OWN, False
    ranks = 1  # that make each trial together

    def __init__(self, space, count, images, epochs):
        space = {name: knobs.as_list(name, values) for name, values in (space or {}).items()}
        self.given_count, self.given_images, self.epochs = count, images, epochs
        self.requested = space
        self.space, self.knobs = self.default_space(), {}
        for name, values in {**self.default_knobs(), **space}.items():
            if name in self.own:
                self.space[name] = values
            else:
                self.knobs[name] = knobs.Knob(name, values)
        self.images = self.bytes_per_image = self.tensor_bytes_per_image = None
        self.tensor_bytes_each = []  # bytes per image of each tensor of a batch
        self.collated = True  # whether each batch that is delivered is one that a DataLoader collated
        self.checked = False   # whether an epoch is known to have that many images
        self.notes, self.known = [], None

    def settle(self):
        """Finds the batch size where only a batch shows it."""

    def facts(self):
        """Those of the loader with the default configuration."""
        if self.known is None:
            loader = self.sample()
            inner = find_dataloader(loader)
            if inner is None:
                self.known = Facts(map_style=False, drops_last=False, images=None, sure=False, plain=False)
            else:
                images = dataloaders.epoch_images(inner)
                self.known = Facts(
                    map_style=dataloaders.is_map_style(inner),
                    drops_last=dataloaders.drops_last(inner),
                    images=images,
                    sure=images is not None and dataloaders.delivers_epochs(loader),
                    plain=dataloaders.find_batch_sampler(inner) is not None,
                )
        return self.known

    def is_map_style(self):
        return self.facts().map_style

    def drops_last(self, request=None):
        return self.collated and self.facts().drops_last

    def first_workers(self):
        """The number of workers with which the loader is examined."""
        return min(self.space["num_workers"])

    def limit_workers(self, most):
        """Leaves out numbers of workers above `most`, where the caller did not choose them: a number, or its text."""
        if "num_workers" not in self.requested and str(most).isdigit():
            found = self.space["num_workers"]
            self.space["num_workers"] = [workers for workers in found if workers <= int(most)] or found

    def searched(self):
        """The knobs that a study searches, and their values as options write them."""
        asked = {name: self.space[name] for name in self.own if name in self.space}
        out = {name: [str(value).lower() for value in values] for name, values in asked.items()}
        for name in self.requested:
            if name in self.knobs:
                out[name] = self.knobs[name].words
        if self.epochs > 1 and "persistent_workers" in self.knobs and "persistent_workers" not in out:
            out["persistent_workers"] = ["false", "true"]
        return out

    def hello(self):
        """Its part of the answer to hello."""
        self.settle()
        return dict(variants=[dict(path="", mode="raw", format="loader")], images=self.given_images or self.images,
                    knobs=[knob.declaration(self.argument(knob.name)) for knob in self.knobs.values()])

    def arguments(self):
        """The names of the arguments that a configuration consists of."""
        return [*self.space, *filter(None, map(self.argument, self.knobs))]

    def open(self, request):
        if request.get("workload", {}).get("remote_ranks"):
            raise Refused("the loader itself decides which share it loads: give one that loads the share of the rank, "
                          "without --rank and --world-size", "usage")
        if self.images is None:
            self.examine()
        return dict(status="ok", images=self.images, bytes=0, digest=self.digest(), cache="as-is",
                    note="; ".join(self.notes) or None)

    def own_config(self):
        """The knobs that the caller's loader has; None for a factory, which has none of its own."""
        return None

    def keep_as_it_is(self):
        """Measures the caller's own configuration, and no other."""
        own = self.own_config()
        self.space = {name: [own.get(name, values[0])] for name, values in self.space.items()}

    def baseline(self):
        """The caller's own configuration as --baseline takes it; None if it is not searched."""
        own = self.own_config()
        return own and self.baseline_of(batch_size=own["batch_size"], num_workers=own["num_workers"])

    def baseline_of(self, **config):
        """These knobs as --baseline takes them; None if they are not searched."""
        searched = all(value in self.space[name] for name, value in config.items())
        return ",".join(f"{name}={value}" for name, value in config.items()) if searched else None

    def default_knobs(self):
        """The values of knobs that are not rue's own."""
        return {}

    def argument(self, knob):
        """The argument of PyTorch's DataLoader, or of a factory, that a knob stands for; None if there is none."""
        return None

    def recommended_loader(self, config, overrides):
        raise ValueError("another loader than rue's was tuned: use result.apply(loader), or tune for a rue.Loader")

    def note(self, sentence):
        if sentence not in self.notes:
            self.notes.append(sentence)

    def epoch_images(self, request):
        return self.images

    def job_images(self):
        """Images of the whole job, of whole batches where others are dropped."""
        sizes = self.space["batch_size"]
        whole = self.images - self.images % sizes[0] if self.drops_last() and len(sizes) == 1 else self.images
        return whole * self.epochs

    def item_bytes(self, request):
        return self.bytes_per_image

    def tensor_bytes(self, request):
        return self.tensor_bytes_per_image

    def tensor_sizes(self, request):
        """Bytes per image of each tensor of a batch."""
        return self.tensor_bytes_each

    def load_request(self, request, images):
        return self.load(request["config"], images)

    def check_trial(self, trial, loading):
        config = loading.config
        for images in trial.epochs:
            self.check_epoch(images, config)
        if trial.started > self.images:
            self.check_epoch(trial.started, config)
        idle, workers = loading.idle_workers(), config["num_workers"]
        if idle and len(trial.ready) >= 2 * workers:
            raise Refused(f"only {workers - idle} of {workers} workers delivered a batch: the data have fewer "
                          "shards than workers; make more shards, or use fewer workers", "infeasible")

    def one_batch(self, config):
        """A batch for measuring a model alone."""
        return self.look({**config, "num_workers": self.first_workers()}, 1)[0][0]

    def load(self, config, images):
        """The Loading of a configuration, by the values of a request."""
        values = self.own_values({name: value for name, value in config.items()
                                  if name in self.knobs or name in self.space or name in ("batch_size", "num_workers")})
        copier = Copier()
        try:
            loader = self.make(values, images, copier)
        except (ValueError, TypeError) as error:
            why = str(error)
            if said := dataloaders.needs_workers(error):
                why = f"{said}: {dataloaders.ONLY_WITH_WORKERS}, or leave 0 out of num_workers in space"
            raise Refused(f"the loader cannot be made: {why}") from error
        for name in copier.shared:
            self.note(f"all trials share {name}: what the data set keeps there stays from trial to trial")
        self.check_knobs(loader, values)
        return Loading(loader, values, self.given_count, self.collated)

    def own_values(self, config):
        """A configuration with the caller's values, where a text was declared for them."""
        return {name: self.knobs[name].value(value) if name in self.knobs else value for name, value in config.items()}

    def check_knobs(self, loader, values):
        """A loader must have the values of the knobs that it shows."""
        inner = find_dataloader(loader)
        for name, value in values.items():
            if not values["num_workers"] and name in knobs.NEED_WORKERS or inner is None or name == "batch_size":
                continue
            has = getattr(inner, name, value)
            has = has.get_start_method() if hasattr(has, "get_start_method") else has
            if has is not None and has != value and name in ("num_workers", "prefetch_factor", "pin_memory",
                                                             "persistent_workers", "multiprocessing_context"):
                raise Refused(f"the factory ignores {name}: it was given {value}, and its loader has {has}")

    def check_epoch(self, images, config):
        """An epoch has as many images with any number of workers; less those of last batches that each worker drops."""
        workers, size = config["num_workers"], config["batch_size"]
        slack = 0 if self.collated else size
        if self.drops_last():
            slack = (size - 1) * (max(1, workers) + max(1, self.first_workers()))
        if self.checked and abs(images - self.images) > slack:
            cause = f"{workers} workers deliver the same items: " if images == workers * self.images else ""
            raise Refused(f"{cause}an epoch has {images} images with {workers} workers, but {self.images} are "
                          f"expected: {SPLIT_ADVICE}; if it is meant so, give images=")

    def examine(self):
        """Loads batches, counts the images, and finds workers that all read the same. Raises Refused."""
        self.settle()
        config = self.default_config(batch_size=min(self.space["batch_size"]), num_workers=self.first_workers())
        first, found = (self.look(config, 2) or self.fail_empty())[0]
        self.count_images(config, found)
        self.bytes_per_image = batch_bytes(first) / max(1, found)
        self.tensor_bytes_per_image = tensor_bytes(first) / max(1, found)
        self.tensor_bytes_each = [array_bytes(tensor) / max(1, found) for tensor in host_tensors(first)]
        if check := self.first_batch_check(config, self.images):
            check(first, found)
        if not self.is_map_style() and len(self.space["num_workers"]) > 1:
            self.check_split(config)
        self.check_variation(config)

    def check_split(self, config):
        """An epoch of a stream with another number of workers; of a long one only the first batches of 2 workers."""
        most = max(self.space["num_workers"])
        other = 0 if config["num_workers"] and 0 in self.space["num_workers"] else min(2, most)
        if other == config["num_workers"]:
            return
        try:
            counted = self.count_epoch({**config, "num_workers": other}, CHECK_LIMIT_S) if self.checked else None
        except Exception:  # some data need workers: the trials without them will fail
            return
        if counted is not None:
            self.check_epoch(counted, {**config, "num_workers": other})
            return
        batches = [batch for batch, _ in self.look({**config, "num_workers": 2}, 6)] if most >= 2 else []
        alike = [same_content(*pair) for pair in zip(batches[::2], batches[1::2])]
        constant = len(batches) > 2 and same_content(batches[0], batches[2])  # both are of the first worker
        if len(alike) == 3 and all(alike) and not constant:
            raise Refused(f"2 workers deliver the same items: {SPLIT_ADVICE}")

    def check_variation(self, config):
        """Raises Refused if the loader has the same workers, whatever their number should be."""
        reasons = []
        for workers in self.space["num_workers"]:
            if workers != config["num_workers"]:
                try:
                    self.load({**config, "num_workers": workers}, 1)
                    return
                except Refused as error:
                    reasons.append(str(error))
        if reasons and all("ignores num_workers" in reason for reason in reasons):
            raise Refused(f"{reasons[-1]}; it must make a new loader at each call")

    def count_images(self, config, found):
        """Sets `images`; `found` are those of the first batch. A length that a loader only says is compared with an
        epoch."""
        said, sure = self.facts().images, self.facts().sure and self.collated
        if sure and said < (self.given_images or 0):
            raise Refused(f"images is {self.given_images}, but an epoch of the loader has {said}: leave out images=")
        if sure:
            self.images, self.checked = self.given_images or said, not self.given_images
            return
        if said is None:
            batches = length(self.sample())
            said = batches and batches * found
        said = self.given_images or said
        counted = self.count_epoch(config, CHECK_LIMIT_S if said else COUNT_LIMIT_S)
        self.images = self.given_images or counted or said or self.fail_uncounted()
        self.checked = counted is not None and not self.given_images
        if not counted and not self.given_images:
            self.note(f"an epoch is taken to have {said} images, as the loader says; give images= if that is wrong")

    def fail_uncounted(self):
        raise Refused(f"the length of an epoch is unknown, and counting it takes more than {COUNT_LIMIT_S} s: give "
                      "images=")

    def default_config(self, **values):
        config = {name: choices[0] for name, choices in self.space.items()}
        config.update({name: knob.declared[0] for name, knob in self.knobs.items()})
        return {**config, **values}

    def look(self, config, batches):
        """The first batches, each with its images. If the loader makes others of what is collated, they are counted
        again."""
        loading, looked = self.load(config, batches * (config["batch_size"] or 1)), []
        for batch in itertools.islice(iter(loading.loader[0]), batches):
            looked.append((batch, loading.count(batch)))
            if not loading.by_structure and not loading.is_one_to_one():
                self.collated = False
                return self.look(config, batches)
        if looked:
            self.collated &= not loading.by_structure and any(loading.watched.batches())
        return looked

    def fail_empty(self):
        advice = ": drop_last leaves out one that is not full; use a smaller batch_size or more images"
        raise Refused("the loader delivered no batch" + (advice if self.drops_last() else ""))

    def count_epoch(self, config, limit_s):
        """Counts an epoch; None if that takes longer."""
        deadline, images, loading = machine.now() + limit_s * 10 ** 9, 0, self.load(config, None)
        for batch in loading.loader[0]:
            images += loading.count(batch)
            if machine.now() > deadline:
                return None
        return images

    def digest(self):
        text = self.identity() + (f" on {self.ranks} ranks" if self.ranks > 1 else "")
        return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
