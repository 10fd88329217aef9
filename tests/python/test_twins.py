"""Loaders that people have are measured by twins with other knobs: all else of them stays."""
import itertools
import multiprocessing
import types
import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import rue_tuner as rue  # noqa: E402
from pipelines import IMAGES, Killed, Squares, Stream  # noqa: E402
from rue_tuner import dataloaders  # noqa: E402
from rue_tuner.adapters import tune_attributes  # noqa: E402
from rue_tuner.errors import Refused  # noqa: E402
from rue_tuner.subjects import make_subject  # noqa: E402
from test_loaders import make_runner, trial  # noqa: E402
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler  # noqa: E402


class Plain(DataLoader):
    pass


class WithArgument(DataLoader):
    """Has an argument of its own and another signature."""

    def __init__(self, data, follow=(), **options):
        self.follow = follow
        super().__init__(data, **options)


class Fixed(DataLoader):
    """Takes no arguments at all."""

    def __init__(self):
        super().__init__(Squares(), batch_size=8)


class Shard:
    """Holds the loader that iterates, says that it is one, and is one batch ahead, as accelerate's loaders do."""

    def __init__(self, loader):
        self.base_dataloader, self.device = loader, None

    @property
    def __class__(self):
        return DataLoader

    def __getattr__(self, name):
        if name == "base_dataloader":
            raise AttributeError(name)
        return getattr(self.base_dataloader, name)

    def __len__(self):
        return len(self.base_dataloader)

    def __iter__(self):
        batches = iter(self.base_dataloader)
        ahead = next(batches)
        for batch in batches:
            yield ahead
            ahead = batch
        yield ahead


class Repeat:
    """A batch sampler that does not end."""

    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        while True:
            yield from iter(self.sampler)


class Endless(DataLoader):
    """Keeps its workers by one iterator for all epochs, as ultralytics and timm do."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        object.__setattr__(self, "batch_sampler", Repeat(self.batch_sampler))
        self.iterator = super().__iter__()

    def __len__(self):
        return len(self.batch_sampler.sampler)

    def __iter__(self):
        for _ in range(len(self)):
            yield next(self.iterator)


class Buckets(torch.utils.data.Sampler):
    """Batches of 12 and 4."""

    def __init__(self):
        self.batch_size = 12

    def __iter__(self):
        start = 0
        while start < IMAGES:
            size = 4 if start % 16 else 12
            yield list(range(start, start + size))
            start += size

    def __len__(self):
        return IMAGES // 8


class Ready(Squares):
    """Its items are batches of 8."""

    def __len__(self):
        return IMAGES // 8

    def __getitem__(self, index):
        return torch.zeros(8, 3, 8, 8)


class ReadyStream(Stream):
    def __iter__(self):
        items = list(super().__iter__())
        for start in range(0, len(items), 8):
            yield torch.stack([item for item, _ in items[start:start + 8]])


class Group:
    """A pipeline of stages whose first is the loader, as webdataset's."""

    def __init__(self, loader):
        self.pipeline = [loader, str]

    def __iter__(self):
        return iter(self.pipeline[0])


class Grouped:
    """Makes batches of 8 of a loader's single items."""

    def __init__(self, loader):
        self.dataset = loader

    def __iter__(self):
        items = iter(self.dataset)
        while batch := list(itertools.islice(items, 8)):
            yield torch.cat([image for image, _ in batch])


class Stateful(DataLoader):
    """Remembers that its next iterator is one that it has made already, as StatefulDataLoader does."""
    next_iter_state = None

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._initial_iter_for_state_dict, self._iterator = True, 3

    def __iter__(self):
        assert not self._initial_iter_for_state_dict or self._iterator is not None
        return super().__iter__()


KINDS = {
    "a DataLoader": lambda: DataLoader(Squares(), batch_size=8, shuffle=True),
    "a subclass": lambda: Plain(Squares(), batch_size=8),
    "with an argument of its own": lambda: WithArgument(Squares(), follow=("x",), batch_size=8, num_workers=1),
    "without arguments": Fixed,
    "a batch sampler of PyTorch": lambda: DataLoader(Squares(), batch_sampler=BatchSampler(RandomSampler(Squares()), 8, False)),
    "one that is held": lambda: Shard(DataLoader(Squares(), batch_size=8)),
    "in a pipeline": lambda: Group(DataLoader(Squares(), batch_size=8)),
    "in a namespace": lambda: types.SimpleNamespace(loader=DataLoader(Squares(), batch_size=8)),
    "in a dict": lambda: dict(train=DataLoader(Squares(), batch_size=8)),
    "endless": lambda: Endless(Squares(), batch_size=8),
    "endless with workers": lambda: Endless(Squares(), batch_size=8, num_workers=1),
    "own batches": lambda: DataLoader(Squares(), batch_sampler=Buckets()),
    "a list of batches": lambda: DataLoader(Squares(), batch_sampler=[list(range(i, i + 8)) for i in range(0, IMAGES, 8)]),
    "items that are batches": lambda: DataLoader(Ready(), batch_size=None),
    "a stream of batches": lambda: DataLoader(ReadyStream(splits=True), batch_size=None),
    "a stream": lambda: DataLoader(Stream(splits=True), batch_size=8),
    "batches of its items": lambda: Grouped(DataLoader(Squares(), batch_size=1)),
    "one with a state": lambda: Stateful(Squares(), batch_size=8),
    "workers already": lambda: DataLoader(Squares(), batch_size=8, num_workers=2, persistent_workers=True, prefetch_factor=4, timeout=90),
}
SIZES = {"own batches": 12}
FIXED = ("own batches", "a list of batches", "items that are batches", "a stream of batches")
OUTSIDE = ("batches of its items",)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", KINDS)
def test_a_loader_is_measured(name, workers):
    runner = make_runner(KINDS[name](), space=dict(num_workers=[0, 2]))
    size = SIZES.get(name, 8)
    answer = trial(runner, batch_size=size, num_workers=workers)
    assert answer["status"] == "ok" and answer["images"] == IMAGES == runner.subject.images, (answer, runner.subject.notes)
    assert runner.subject.space["batch_size"] == [size]


@pytest.mark.parametrize("name", [name for name in KINDS if name not in FIXED + OUTSIDE])
def test_other_batch_sizes(name):
    answer = trial(make_runner(KINDS[name](), space=dict(batch_size=[8, 16], num_workers=[0, 2])), batch_size=16, num_workers=2)
    assert answer["status"] == "ok" and (answer["images"], answer["batches"]) == (IMAGES, IMAGES // 16), answer


@pytest.mark.parametrize("name", FIXED)
def test_batches_that_others_make_keep_their_size(name):
    maker = "batch_sampler" if name in FIXED[:2] else "data set"
    with pytest.raises(TypeError, match=f"the {maker} makes the batches, so that batch_size cannot be varied: give a factory"):
        make_subject(KINDS[name](), space=dict(batch_size=[8, 16]))


def test_batches_that_are_made_around_the_loader_keep_their_size():
    with pytest.raises(TypeError, match="the loader around the DataLoader makes the batches"):
        make_subject(KINDS[OUTSIDE[0]](), space=dict(batch_size=[8, 16])).examine()


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("workers", [0, 3])
def test_a_twin_has_everything_else_of_its_loader(name, workers):
    original = KINDS[name]()
    inner, found = dataloaders.find_dataloader(original), dataloaders.find_dataloader(dataloaders.with_knobs(original, dict(num_workers=workers)))
    before = {key: value for key, value in vars(inner).items() if key not in ("iterator", "_iterator", "_initial_iter_for_state_dict")}
    assert type(found) is type(inner) and found is not inner and found.num_workers == workers
    knobs = ("num_workers", "prefetch_factor", "persistent_workers", "timeout", "batch_sampler", "_DataLoader__multiprocessing_context")
    assert [key for key, value in before.items() if key not in knobs and vars(found)[key] is not value] == []
    assert {key: vars(inner)[key] for key in before} == before, "the loader itself stays"
    assert found.persistent_workers == bool(workers and inner.persistent_workers) and found.timeout == (inner.timeout if workers else 0)
    samplers, twins = dataloaders.batch_samplers(inner), dataloaders.batch_samplers(found)
    assert list(map(type, samplers)) == list(map(type, twins))
    assert getattr(samplers[-1] if samplers else None, "sampler", None) is getattr(twins[-1] if twins else None, "sampler", None)


class Closing(Repeat):
    """Has a destructor, so that it is not copied."""

    def __del__(self):
        pass


class Unmakeable(DataLoader):
    def __new__(cls, data, **options):
        return super().__new__(cls)


@pytest.mark.parametrize("make, name", [(lambda: DataLoader(Squares(), batch_sampler=Closing(BatchSampler(SequentialSampler(Squares()), 8, False))), "Closing"),
                                        (lambda: Unmakeable(Squares(), batch_size=8), "Unmakeable")])
def test_the_callers_loader_is_never_changed(make, name):
    loader = make()
    before = dict(vars(loader))
    with pytest.raises(Refused, match=f"a {name} cannot be copied: give a factory"):
        make_subject(loader, images=IMAGES).examine()
    assert vars(loader) == before


def test_members_that_rue_does_not_know_are_kept():
    original = DataLoader(Squares(), batch_size=8)
    object.__setattr__(original, "worker_method", "thread")
    assert dataloaders.with_knobs(original, dict(num_workers=2)).worker_method == "thread"


@pytest.mark.usefixtures("rue_for_python")
def test_a_result_is_applied_to_the_loader():
    loader = WithArgument(Squares(), follow=("x",), batch_size=8, shuffle=True)
    result = rue.tune(loader, ["resnet18@h100"], space=dict(num_workers=[1]), budget="4trials", quiet=True)
    applied = result.apply(loader)
    assert (applied.num_workers, applied.follow, applied.dataset) == (1, ("x",), loader.dataset) and loader.num_workers == 0
    assert len(list(applied)) == IMAGES // 8 == len(list(applied)), "any number of epochs"
    with pytest.raises(TypeError, match="call a factory with"):
        result.apply(lambda batch_size, num_workers: loader)


def test_the_start_method_is_not_fixed():
    method, get = multiprocessing.get_start_method(allow_none=True), multiprocessing.get_start_method
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.multiprocessing, "get_start_method", lambda allow_none=False: None if allow_none else pytest.fail("fixed"))
        assert make_subject(DataLoader(Squares())).default_knobs()["multiprocessing_context"][0] in ("fork", "forkserver")
    assert get(allow_none=True) == method


def test_a_loader_that_cannot_vary_is_an_error():
    made = DataLoader(Squares(), batch_size=8)
    with pytest.raises(Refused, match="the factory ignores num_workers: .*it must make a new loader at each call"):
        make_subject(lambda batch_size, num_workers: made, space=dict(batch_size=[8], num_workers=[0, 1, 2])).examine()
    capped = lambda batch_size, num_workers: DataLoader(Squares(), batch_size=batch_size, num_workers=min(num_workers, 1))
    make_subject(capped, space=dict(batch_size=[8], num_workers=[0, 1, 2])).examine()


@pytest.mark.parametrize("hold", [lambda a, b: dict(a=a, b=b), lambda a, b: [a, b], lambda a, b: types.SimpleNamespace(a=a, b=b), lambda a, b: [[a], dict(b=b)]])
def test_several_loaders_are_named(hold):
    make = lambda batch_size, num_workers: hold(DataLoader(Squares()), DataLoader(Squares()))
    with pytest.raises(Refused, match="these are 2 loaders, in a .*: give one of them"):
        make_subject(make).examine()


@pytest.mark.usefixtures("rue_for_python")
def test_workers_that_all_fail_are_a_warning():
    with pytest.warns(UserWarning, match="no configuration with workers could be measured: .*exited unexpectedly"):
        rue.tune(DataLoader(Killed(), batch_size=8), ["resnet18@h100"], space=dict(num_workers=[0, 1]), budget="4trials", strategy="grid", quiet=True)


class Module:
    """Makes loaders as modules of Lightning do, by hyperparameters or attributes."""

    def __init__(self, **more):
        vars(self).update(more)

    def make(self):
        of = getattr(self, "hparams", None) or vars(self)
        return DataLoader(Squares(delay_s=0.002), batch_size=of["batch_size"], num_workers=of["num_workers"],
                          persistent_workers=of.get("persistent_workers", False))


NAMES = {name: name for name in ("batch_size", "num_workers", "prefetch_factor", "pin_memory", "persistent_workers")}
SMALL = dict(budget="6trials", strategy="grid", quiet=True)


@pytest.mark.parametrize("members", [dict(hparams=dict(batch_size=8, num_workers=0)), dict(batch_size=8, num_workers=0),
                                     dict(batch_size=8, num_workers=1, persistent_workers=True)])
@pytest.mark.usefixtures("rue_for_python")
def test_an_adapter_sets_what_the_target_has(members):
    module = Module(**members)
    result = tune_attributes(module, NAMES, module.make, ["resnet18@h100"], dict(num_workers=[0, 2]), SMALL)
    of = members.get("hparams") or vars(module)
    assert of["num_workers"] == result.config["num_workers"] and {row["num_workers"] for row in result.rows} == {0, 2}
    assert of["batch_size"] == 8 and len(list(module.make())) == IMAGES // 8
    assert set(members.get("hparams", {})) <= {"batch_size", "num_workers"}, "nothing is added"


@pytest.mark.usefixtures("rue_for_python")
def test_an_adapter_names_loaders_that_are_kept():
    module = Module(batch_size=8, num_workers=0)
    kept = module.make()
    with pytest.raises(rue.TuneError, match="Module makes a loader with num_workers=0, whatever its attribute num_workers is"):
        tune_attributes(module, NAMES, lambda: kept, ["resnet18@h100"], {}, SMALL)
    assert module.num_workers == 0


@pytest.mark.usefixtures("rue_for_python")
def test_no_warning_of_its_own():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rue.tune(DataLoader(Squares(), batch_size=8, sampler=SequentialSampler(Squares())), ["resnet18@h100"], space=dict(num_workers=[0, 1]), **SMALL)


@pytest.mark.usefixtures("rue_for_python")
def test_a_factory_that_always_passes_arguments_for_workers():
    make = lambda batch_size, num_workers: DataLoader(Squares(), batch_size=batch_size, num_workers=num_workers, persistent_workers=True)
    with pytest.raises(rue.TuneError, match="cannot be made: persistent_workers option needs num_workers > 0: pass persistent_workers and prefetch_factor "
                       "only with workers, or leave 0 out of num_workers in space"):
        rue.tune(make, ["resnet18@h100"], space=dict(batch_size=[8], num_workers=[0, 1]), **SMALL)
