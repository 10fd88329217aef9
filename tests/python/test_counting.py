"""Images are counted by what a DataLoader collates, whatever its batches look like."""
import wording
import collections
import dataclasses
import itertools
import random

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
np = pytest.importorskip("numpy", reason="NumPy is not installed (python3-numpy)")
import rue_tuner as rue  # noqa: E402
from pipelines import Stream  # noqa: E402
from rue_tuner.batches import batch_bytes, same_content, tensor_bytes, to_cuda  # noqa: E402
from rue_tuner.errors import Refused  # noqa: E402
from rue_tuner.subjects import make_subject  # noqa: E402
from test_loaders import make_runner, trial  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

ITEMS, BATCH = 26, 8


class Items(torch.utils.data.Dataset):
    def __init__(self, make, items=ITEMS):
        self.make, self.items = make, items

    def __len__(self):
        return self.items

    def __getitem__(self, index):
        return self.make(index)


class Own:
    """A batch of an application."""

    def __init__(self, tensors, length):
        self.tensors, self.length = tensors, length


class Like:
    """Looks like an array, but knows neither its bytes nor its elements, as a TensorDict."""

    def __init__(self, items):
        self.shape, self.dtype = torch.Size([len(items)]), None


@dataclasses.dataclass
class Data:
    x: torch.Tensor
    name: str = "x"


Slotted = collections.namedtuple("Slotted", "a b")


class Slots:
    __slots__ = ("images", "absent")

    def __init__(self, items):
        self.images = torch.stack(items)


def cycle(items):
    batch = Own(torch.stack(items), len(items))
    batch.me = batch
    return batch


image = lambda index: torch.zeros(3, 4, 4)
STRUCTURES = {
    "series": (lambda i: (torch.zeros(50, 2), torch.zeros(50, 1)), None),
    "segmentation": (lambda i: (torch.zeros(3, 4, 4), torch.zeros(4, 4)), None),
    "embeddings of rank 3": (lambda i: dict(a=torch.zeros(5, 6), b=torch.zeros(5, 6)), None),
    "a tuple first": (lambda i: dict(size=(480, 640), image=torch.zeros(3, 4, 4)), None),
    "time first": (lambda i: torch.zeros(i % 5 + 1, 2), torch.nn.utils.rnn.pad_sequence),
    "concatenated with offsets": (lambda i: torch.zeros(i % 7 + 1, 3), lambda items: (torch.cat(items), torch.tensor(list(map(len, items))).cumsum(0))),
    "a graph": (lambda i: torch.zeros(4, 3), lambda items: Own(dict(x=torch.cat(items), edge=torch.zeros(2, 99)), len(items))),
    "bags": (lambda i: [torch.zeros(3)] * (i % 3 + 1), lambda items: [part for bag in items for part in bag]),
    "crops": (lambda i: torch.zeros(2, 3, 4, 4), torch.cat),
    "columns": (lambda i: (torch.zeros(3, i + 1, 4), {}), lambda items: tuple(zip(*items))),
    "pinned columns": (lambda i: (torch.zeros(3, i + 1, 4), {}), lambda items: list(map(list, zip(*items)))),
    "slots": (image, Slots),
    "a named tuple": (image, lambda items: Slotted(1, torch.stack(items))),
    "a data class": (image, lambda items: Data(torch.stack(items))),
    "one that holds itself": (image, cycle),
    "like an array": (image, Like),
    "sparse": (lambda i: torch.ones(3), lambda items: torch.stack(items).to_sparse()),
    "squeezed": (lambda i: torch.zeros(1), lambda items: torch.stack(items).squeeze()),
    "a scalar": (image, lambda items: torch.stack(items).sum()),
    "nothing": (image, lambda items: None),
    "texts": (lambda i: str(i), None),
    "a text": (lambda i: str(i), "".join),
    "filtered": (lambda i: None if i % 5 == 3 else torch.zeros(3), lambda items: torch.stack([item for item in items if item is not None])),
    "nested tensors": (lambda i: torch.zeros(i % 3 + 1), lambda items: torch.nested.nested_tensor(items) if hasattr(torch, "nested") else items),
    "arrays": (lambda i: np.zeros(3), np.stack),
    "a deep list": (image, lambda items: [[[[[[[[[[[[items]]]]]]]]]]]]),
}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", STRUCTURES)
def test_items_that_are_collated_are_counted(name, workers):
    make, collate = STRUCTURES[name]
    if workers and name in ("sparse", "nested tensors") and int(torch.__version__.split(".")[0]) < 2:
        pytest.skip("skipped: workers of this PyTorch cannot deliver such tensors")
    answer = trial(make_runner(DataLoader(Items(make), batch_size=BATCH, collate_fn=collate)), num_workers=workers, images=ITEMS)
    assert answer["status"] == "ok" and (answer["images"], answer["batches"]) == (ITEMS, 4), answer


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("epochs", [1, 2, 3])
def test_a_job_has_the_batches_of_its_epochs(workers, drop_last, epochs):
    runner = make_runner(DataLoader(Items(image), batch_size=BATCH, shuffle=True, drop_last=drop_last), epochs=epochs)
    answer = trial(runner, num_workers=workers, images=ITEMS * epochs, detail=True)
    images = (ITEMS - ITEMS % BATCH if drop_last else ITEMS) * epochs
    assert answer["status"] == "ok" and (answer["images"], answer["batches"]) == (images, (3 if drop_last else 4) * epochs), answer
    assert runner.subject.job_images() == images


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("images, batches", [(8, 1), (16, 2), (24, 3), (40, 6)])
def test_a_truncated_job_has_whole_batches(workers, images, batches):
    runner = make_runner(DataLoader(Items(image), batch_size=BATCH), epochs=4)
    answer = trial(runner, num_workers=workers, images=images, job_images=4 * ITEMS)
    assert answer["status"] == "ok" and (answer["images"], answer["batches"]) == (images, batches), answer


def test_a_batch_that_is_returned_ready_is_counted_by_its_structure():
    class Table(Items):
        def __getitems__(self, indices):
            return dict(x=torch.zeros(len(indices), 3), y=torch.zeros(len(indices)))
    loader = DataLoader(Table(image), batch_size=BATCH, collate_fn=lambda batch: batch)
    fetched = next(iter(loader))
    if not isinstance(fetched, dict):
        pytest.skip("skipped: this PyTorch has no __getitems__")
    answer = trial(make_runner(loader), num_workers=2, images=ITEMS)
    assert answer["status"] == "ok" and (answer["images"], answer["batches"]) == (ITEMS, 4), answer


class Skips(DataLoader):
    """Leaves out its first batches."""

    def __iter__(self):
        return itertools.islice(super().__iter__(), 2, None)


class Groups(DataLoader):
    def __iter__(self):
        batches = super().__iter__()
        while group := list(itertools.islice(batches, 2)):
            yield torch.cat(group)


class Echoes(DataLoader):
    def __iter__(self):
        for batch in super().__iter__():
            yield batch
            yield batch


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind, images, batches", [(Skips, 32, 4), (Groups, 48, 3), (Echoes, 96, 12)])
def test_subclasses_that_change_the_batches_are_measured(kind, images, batches, workers):
    runner = make_runner(kind(Items(lambda i: torch.zeros(3, 4, 4), 48), batch_size=8))
    answer = trial(runner, num_workers=workers, images=images)
    assert answer["status"] == "ok" and (runner.subject.images, answer["images"]) == (images, images), (answer, runner.subject.images)
    assert kind is Skips or answer["batches"] == batches


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.usefixtures("rue_for_python")
def test_batches_of_varying_sizes_are_measured(workers):
    sizes = [6, 12, 3, 9, 18]
    ends = list(itertools.accumulate(sizes))
    batches = [list(range(end - size, end)) for size, end in zip(sizes, ends)]
    loader = DataLoader(Items(image, 48), batch_sampler=batches)
    result = rue.tune(loader, ["resnet18@h100"], space=dict(num_workers=[0, workers]), budget="4trials", strategy="grid", quiet=True)
    assert result.best["data_images"] == 48 and {row["num_workers"] for row in result.rows} == {0, workers}
    factory = lambda batch_size, num_workers: DataLoader(Items(image, 48), batch_sampler=batches, num_workers=num_workers)
    result = rue.tune(factory, ["resnet18@h100"], space=dict(batch_size=[8], num_workers=[0, workers]), budget="4trials", strategy="grid", quiet=True)
    assert result.best["data_images"] == 48


@pytest.mark.usefixtures("rue_for_python")
def test_another_count_is_any_number():
    loader = DataLoader(Items(lambda i: torch.zeros(100, 3), 24), batch_size=8, collate_fn=torch.cat)
    result = rue.tune(loader, ["resnet18@h100"], count=len, space=dict(num_workers=[0, 1]), budget="4trials", strategy="grid", quiet=True)
    assert result.best["data_images"] in (24, 2400)
    with pytest.raises(rue.TuneError, match="count= returned None: it must return the number of images"):
        rue.tune(loader, ["resnet18@h100"], count=lambda batch: None, budget="4trials", quiet=True)


class Regrouped:
    """Makes other batches of those of a DataLoader."""

    def __init__(self, loader, size):
        self.loader, self.size = loader, size

    def __iter__(self):
        kept = []
        for batch in self.loader:
            kept += batch
            while len(kept) >= self.size:
                yield torch.stack(kept[:self.size])
                kept = kept[self.size:]
        if kept:
            yield torch.stack(kept)


@pytest.mark.parametrize("inner", [1, 3, 20])
@pytest.mark.parametrize("workers", [0, 2])
def test_batches_that_are_made_after_the_loader_are_counted(inner, workers):
    def make(batch_size, num_workers):
        return Regrouped(DataLoader(Items(image, 48), batch_size=inner, num_workers=num_workers), batch_size)
    answer = trial(make_runner(make, space=dict(batch_size=[8])), num_workers=workers, images=48)
    assert answer["status"] == "ok" and (answer["images"], answer["batches"]) == (48, 6), answer


@pytest.mark.parametrize("workers, size", [(1, 8), (2, 8), (3, 10), (4, 64), (5, 7)])
def test_streams_are_counted_to_their_end(workers, size):
    answer = trial(make_runner(DataLoader(Stream(splits=True), batch_size=size, collate_fn=lambda items: str(items))), batch_size=size, num_workers=workers, images=96)
    assert answer["status"] == "ok" and answer["images"] == 96, answer


def test_a_length_that_is_only_said_is_checked():
    class Says(Stream):
        def __len__(self):
            return 1000
    runner = make_runner(DataLoader(Says(splits=True), batch_size=8))
    assert trial(runner, num_workers=2, images=96)["status"] == "ok" and runner.subject.images == 96


class Seeded(Stream):
    """Each worker delivers all items, in an order of its own, or loses some."""

    def __init__(self, loses=0):
        super().__init__(splits=bool(loses))
        self.loses = loses

    def __iter__(self):
        items = list(super().__iter__())
        random.Random(torch.initial_seed()).shuffle(items)
        workers = torch.utils.data.get_worker_info()
        return iter(items[self.loses if workers else 0:])


@pytest.mark.parametrize("loses, reason", [(0, "2 workers deliver the same items: an epoch has 192 images with 2 workers, but 96 are expected"),
                                           (8, "an epoch has 80 images with 2 workers, but 96 are expected")])
def test_epochs_that_depend_on_the_workers_are_refused(loses, reason):
    with pytest.raises(Refused, match=reason):
        make_subject(DataLoader(Seeded(loses), batch_size=8), space=dict(num_workers=[0, 2])).examine()


def test_data_that_need_workers_are_measured_with_the_callers():
    class Needs(Items):
        def __getitem__(self, index):
            if torch.utils.data.get_worker_info() is None:
                raise RuntimeError("use workers")
            return super().__getitem__(index)
    runner = make_runner(DataLoader(Needs(image), batch_size=BATCH, num_workers=2), space=dict(num_workers=[0, 2]))
    assert trial(runner, num_workers=2, images=ITEMS)["status"] == "ok"
    assert wording.USE_WORKERS in trial(runner, num_workers=0, images=ITEMS)["reason"]


def test_streams_that_need_workers_are_measured_with_the_callers():
    class Needs(Stream):
        def __iter__(self):
            if torch.utils.data.get_worker_info() is None:
                raise RuntimeError("use workers")
            return super().__iter__()
    runner = make_runner(DataLoader(Needs(splits=True), batch_size=8, num_workers=2), space=dict(num_workers=[0, 2]))
    assert trial(runner, num_workers=2, images=96)["status"] == "ok" and wording.USE_WORKERS in trial(runner, images=96)["reason"]


def test_an_early_end_is_named():
    class Stops(Items):
        def __getitem__(self, index):
            if index == 20:
                raise StopIteration
            return super().__getitem__(index)
    answer = trial(make_runner(DataLoader(Stops(image), batch_size=BATCH)), images=ITEMS)
    assert answer["status"] == "failed" and wording.AFTER_ONE_OF_IMAGES.format(16) in answer["reason"], answer


def test_a_sampler_that_says_another_length_is_counted():
    class Twice(torch.utils.data.Sampler):
        def __init__(self):
            pass

        def __len__(self):
            return 3

        def __iter__(self):
            yield from [*range(ITEMS), *range(ITEMS)]
    subject = make_subject(DataLoader(Items(image), batch_size=BATCH, sampler=Twice()))
    subject.examine()
    assert subject.images == 2 * ITEMS


@pytest.mark.parametrize("batch, images", [
    ((torch.zeros(50, 32, 8), torch.zeros(50, 32, 1)), 32),
    ([[torch.zeros(3, 9, 9)] * 32, [{}] * 32], 32),
    (dict(size=[torch.zeros(32), torch.zeros(32)], image=torch.zeros(32, 3)), 32),
    (Own(dict(x=torch.zeros(122, 3), batch=torch.zeros(32)), 32), 32),
])
def test_where_nobody_collates_a_number_that_fits_is_believed(batch, images):
    def make(batch_size, num_workers):
        return iter([batch] * 3)
    subject = make_subject(make, space=dict(batch_size=[32], num_workers=[0]), images=96)
    subject.examine()
    assert [found for _, found in subject.look(subject.default_config(), 3)] == [images] * 3 and not subject.notes


def test_a_doubtful_number_is_said_and_a_clear_one_is_refused():
    doubtful = lambda batch_size, num_workers: iter([(torch.zeros(122, 3), torch.zeros(40))])
    subject = make_subject(doubtful, space=dict(batch_size=[32], num_workers=[0]), images=32)
    subject.examine()
    assert wording.IT_SEEMS_THAT_A_BATCH.format(122, 32) in subject.notes[0] and wording.GIVE_COUNT in subject.open({})["note"]
    clear = make_subject(lambda batch_size, num_workers: iter([(torch.zeros(8, 8), torch.zeros(8))]), space=dict(batch_size=[32], num_workers=[0]), images=32)
    with pytest.raises(Refused, match="the loader ignores batch_size: a batch has 8 images"):
        clear.examine()


def test_the_callers_own_count_is_used():
    runner = make_runner(DataLoader(Items(image), batch_size=BATCH), count=lambda batch: 8)
    assert trial(runner, images=24)["batches"] == 3


@pytest.mark.parametrize("name", STRUCTURES)
def test_bytes_and_contents_of_any_batch(name):
    make, collate = STRUCTURES[name]
    batch = next(iter(DataLoader(Items(make), batch_size=BATCH, collate_fn=collate)))
    assert 0 <= tensor_bytes(batch) <= batch_bytes(batch) < 1 << 20 and same_content(batch, batch) in (True, False)
    assert (tensor_bytes(batch) > 0) == (name not in ("nothing", "texts", "a text", "arrays", "like an array", "a deep list")), name
    if not torch.cuda.is_available():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.Tensor, "to", lambda self, *_, **__: self)
            assert isinstance(to_cuda(batch), list)


def test_arrays_of_numpy_do_not_travel_in_shared_memory():
    assert batch_bytes([np.zeros(4, np.float32), torch.zeros(2)]) == 24 and tensor_bytes([np.zeros(4, np.float32), torch.zeros(2)]) == 8


def test_counted_memory_is_that_of_the_processors():
    loader = DataLoader(Items(image), batch_size=BATCH)
    if not hasattr(torch, "set_default_device"):
        pytest.skip("skipped: this PyTorch has no default device")
    with torch.device("meta"):
        assert make_subject(loader).load(dict(batch_size=BATCH, num_workers=2, prefetch_factor=2), 16).watched.counts.device.type == "cpu"
