"""Each trial starts from the state of the data set at the call, and leaves the caller's as it is."""
import wording
import collections
import functools
import gc
import itertools
import os
import pathlib
import random
import tempfile
import threading
import types
import zipfile

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed (python3-numpy)")
torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
from rue_tuner import dataloaders, state  # noqa: E402
from rue_tuner.errors import Refused  # noqa: E402
from rue_tuner.state import Copier  # noqa: E402
from rue_tuner.subjects import make_subject  # noqa: E402
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset  # noqa: E402


class Plain:
    """A member of a data set."""

    def __init__(self):
        self.file, self.seen = None, []


class Slotted:
    __slots__ = ("seen",)

    def __init__(self):
        self.seen = []


class Keeps(Dataset):
    """Does `use(self, index)` for each item, and returns what it returns."""
    of_class = {}

    def __init__(self, **members):
        vars(self).update(members)

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.tensor(float(self.use(self, index) or 0))


class Stream(IterableDataset):
    def __init__(self):
        self.epochs = 0

    def __iter__(self):
        self.epochs += 1
        yield from torch.full((8,), float(self.epochs))


def shuffle_in_place(self, index):
    self.rng.shuffle(self.order)
    return self.order[0]


STATEFUL = [
    (lambda: dict(cache={}), lambda self, i: self.cache.setdefault(i, len(self.cache))),
    (lambda: dict(cache=[]), lambda self, i: self.cache.append(i) or len(self.cache)),
    (lambda: dict(cache=[None] * 8), lambda self, i: operator_set(self.cache, i)),
    (lambda: dict(cache=collections.OrderedDict()), lambda self, i: self.cache.setdefault(i, len(self.cache))),
    (lambda: dict(cache=collections.defaultdict(list)), lambda self, i: self.cache[0].append(i) or len(self.cache[0])),
    (lambda: dict(cache=collections.deque()), lambda self, i: self.cache.append(i) or len(self.cache)),
    (lambda: dict(cache=set()), lambda self, i: self.cache.add(i) or len(self.cache)),
    (lambda: dict(cache=({}, 1)), lambda self, i: self.cache[0].setdefault(i, len(self.cache[0]))),
    (lambda: dict(cache=[{}, {}]), lambda self, i: self.cache[1].setdefault(i, len(self.cache[1]))),
    (lambda: dict(cache=np.zeros(8)), lambda self, i: operator_set(self.cache, i)),
    (lambda: dict(cache=np.full(8, None)), lambda self, i: operator_set(self.cache, i)),
    (lambda: dict(cache=torch.zeros(8)), lambda self, i: operator_set(self.cache, i)),
    (lambda: dict(count=0), lambda self, i: setattr(self, "count", self.count + 1) or self.count),
    (lambda: dict(member=Plain()), lambda self, i: self.member.seen.append(i) or len(self.member.seen)),
    (lambda: dict(member=types.SimpleNamespace(inner=Plain())), lambda self, i: self.member.inner.seen.append(i) or len(self.member.inner.seen)),
    (lambda: dict(member=Slotted()), lambda self, i: self.member.seen.append(i) or len(self.member.seen)),
    (lambda: dict(), lambda self, i: self.of_class.setdefault(i, len(self.of_class))),
    (lambda: dict(rng=random.Random(1)), lambda self, i: self.rng.random()),
    (lambda: dict(rng=np.random.default_rng(1)), lambda self, i: self.rng.random()),
    (lambda: dict(rng=np.random.RandomState(1)), lambda self, i: self.rng.random_sample()),
    (lambda: dict(rng=torch.Generator().manual_seed(1)), lambda self, i: torch.rand(1, generator=self.rng).item()),
    (lambda: dict(rng=random.Random(1), order=list(range(8))), shuffle_in_place),
    (lambda: dict(lock=threading.Lock(), cache={}), lambda self, i: self.cache.setdefault(i, len(self.cache))),
]


def operator_set(cache, index):
    """Fills a place of a cache; how many were filled before."""
    filled = sum(1 for value in cache if value is not None and value != 0)
    cache[index] = index + 1.0
    return filled


def epoch(subject, workers=0):
    """What an epoch of a trial delivers."""
    return [batch.tolist() for batch, _ in subject.look(subject.default_config(num_workers=workers), 2)]


@pytest.mark.parametrize("members, use", STATEFUL)
@pytest.mark.parametrize("wrap", [lambda data: data, lambda data: Subset(data, range(8)), lambda data: ConcatDataset([data])])
def test_each_trial_starts_from_the_state_at_the_call(members, use, wrap):
    data = Keeps(use=use, **members())
    subject = make_subject(DataLoader(wrap(data), batch_size=4))
    first = epoch(subject)
    assert epoch(subject) == first and len(set(sum(first, []))) > 1, "the items show the state, and it is that at the call"
    assert Keeps.of_class == {} and epoch(make_subject(DataLoader(wrap(data), batch_size=4))) == first, "the caller's is untouched"
    assert not subject.notes


def test_a_stream_that_counts_its_epochs():
    subject = make_subject(DataLoader(Stream(), batch_size=4))
    assert epoch(subject) == epoch(subject) == [[1.0] * 4] * 2


def test_the_data_of_a_factory_start_anew_too():
    data = Keeps(cache={}, use=STATEFUL[0][1])
    subject = make_subject(lambda batch_size, num_workers: DataLoader(data, batch_size=batch_size, num_workers=num_workers), space=dict(batch_size=[4]))
    assert epoch(subject) == epoch(subject) and data.cache == {}


class Closes(Keeps):
    def __del__(self):
        self.file.close()


def test_copies_run_no_destructors(tmp_path):
    (tmp_path / "data").write_text("x")
    archive = zipfile.ZipFile(tmp_path / "data.zip", "w")
    folder = tempfile.TemporaryDirectory()
    data = Closes(use=lambda self, i: self.file.fileno() and i, file=open(tmp_path / "data"), archive=archive, folder=folder)
    subject = make_subject(DataLoader(data, batch_size=4))
    epoch(subject), epoch(subject)
    gc.collect()
    assert not data.file.closed and archive.fp is not None and os.path.exists(folder.name)
    assert subject.notes == ["all trials share a Closes, which has a destructor: what the data set keeps there stays from trial to trial"]
    held = DataLoader(Keeps(use=lambda self, i: i, archive=archive), batch_size=4)
    subject = make_subject(held)
    epoch(subject)
    gc.collect()
    assert archive.fp is not None and wording.ZIPFILE_WHICH_HAS_A_DESTRUCTOR in subject.notes[0]


class Destroys(DataLoader):
    def __del__(self):
        self.dataset.closed = True


def test_copies_of_loaders_run_no_destructors():
    loader = Destroys(Keeps(use=lambda self, i: i, closed=False), batch_size=4)
    subject = make_subject(loader)
    epoch(subject)
    dataloaders.with_knobs(loader, dict(num_workers=1))
    gc.collect()
    assert not loader.dataset.closed


@pytest.mark.parametrize("make, name", [
    (lambda: DataLoader(Keeps(use=lambda self, i: i, held=(i for i in range(9))), batch_size=4), "a generator in it can be read only once"),
    (lambda: DataLoader(Keeps(use=lambda self, i: i), batch_sampler=(list(range(i, i + 4)) for i in (0, 4))), "a generator in it can be read only once"),
    (lambda: DataLoader(Lines(open(os.devnull)), batch_size=4), "an open file in the data set can be read only once"),
])
def test_what_can_be_read_only_once_is_refused(make, name):
    loader = make()
    with pytest.raises((TypeError, Refused), match=name):
        epoch(make_subject(loader))
    if loader.batch_sampler is not None and not isinstance(loader.dataset, IterableDataset):
        assert sum(map(len, loader)) == 8, "the caller's is as before"


class Lines(IterableDataset):
    def __init__(self, file):
        self.file = file

    def __iter__(self):
        yield from self.file


@pytest.mark.parametrize("make", [lambda: iter(range(8)), lambda: iter(list(range(8))), lambda: map(str, [1, 2]), lambda: itertools.count()])
def test_iterators_that_can_be_copied(make):
    held = make()
    twin = Copier().copy([held])[0]
    first = next(twin)
    assert type(twin) is type(held) and next(held) == first


def test_caches_of_functions_are_said():
    class Cached(Keeps):
        @functools.lru_cache(None)
        def load(self, index):
            return index
    subject = make_subject(DataLoader(Cached(use=lambda self, i: self.load(i), own=functools.lru_cache(None)(abs)), batch_size=4))
    Cached.load.cache_clear()
    epoch(subject)
    assert any(wording.SHARE_THE_CACHE_OF in note and "Cached.load" in note for note in subject.notes) and len(subject.notes) == 2


def test_memory_that_processes_share_is_said():
    import multiprocessing
    shared = np.frombuffer(multiprocessing.Array("d", 8).get_obj())
    for array in (shared, shared[2:], torch.zeros(3).share_memory_()):
        copier = Copier()
        assert copier.copy([array])[0] is array and list(copier.shared) == ["memory that processes share"]


class Delegates:
    """Needs its members to find others."""

    def __init__(self, inner):
        self.inner, self.cache = inner, {}

    def __getattr__(self, name):
        return getattr(self.inner, name)


def test_members_and_arguments_are_copied():
    whole = Delegates(Plain())
    assert Copier().copy([whole])[0].cache is not whole.cache
    part = functools.partial(len, Plain())
    assert Copier().copy([part])[0].args[0] is not part.args[0]


def test_samplers_and_generators_of_the_caller_stay_as_they_are():
    generator = torch.Generator().manual_seed(3)
    loader = DataLoader(list(range(64)), batch_size=4, shuffle=True, generator=generator)
    before, subject = generator.get_state().clone(), make_subject(loader)
    assert epoch(subject) == epoch(subject) and torch.equal(generator.get_state(), before)


@pytest.mark.parametrize("member, name", [
    (lambda: open(os.devnull), "TextIOWrapper, which has a destructor"),
    (lambda: torch.multiprocessing.Value("i", 0), "Synchronized, which cannot be copied"),
])
def test_what_cannot_be_copied_is_said(member, name):
    subject = make_subject(DataLoader(Keeps(use=lambda self, i: i, held=member()), batch_size=4))
    epoch(subject)
    assert len(subject.notes) == 1 and wording.ALL_TRIALS_SHARE_A_WHAT.format(name) in subject.notes[0]


def test_large_things_are_shared(monkeypatch):
    monkeypatch.setattr(state, "BYTE_LIMIT", 1000)
    copier, large = Copier(), np.zeros(1000)
    assert copier.copy([large, np.zeros(3)])[0] is large and wording.ARRAYS_BECAUSE in "".join(copier.shared)
    monkeypatch.setattr(state, "TIME_LIMIT_S", -1)
    copier, many = Copier(), dict(rows=[[i] for i in range(1000)], few=[[1]])
    twin = copier.copy(many)
    assert twin["rows"] is many["rows"] and twin["few"] is not many["few"] and twin["few"][0] is not many["few"][0]
    assert list(copier.shared) == ["a list of 1000 objects, because it is too large to copy"]


def test_structures_keep_their_shape():
    inner = [1]
    thing = dict(a=inner, b=inner, t=(1, 2), deep=[[[{}]]])
    thing["own"] = thing
    twin = Copier().copy(thing)
    assert twin["own"] is twin and twin["a"] is twin["b"] is not inner and twin["deep"] == [[[{}]]] and twin["t"] == (1, 2)
    pairs = [(pathlib.Path(str(i)), np.int64(i)) for i in range(1000)]
    assert Copier().copy(pairs) == pairs and Copier().copy(pairs) is not pairs
