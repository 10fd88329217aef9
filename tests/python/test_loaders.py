"""The runner of rue_tuner, asked in this process: what it loads, times and refuses."""
import wording
import collections
import json
import multiprocessing
import pickle
import threading
import time

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed (python3-numpy)")
torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
pipelines = pytest.importorskip("pipelines")
import rue_tuner as rue  # noqa: E402
from pipelines import IMAGES, Failing, Killed, Squares, Stream  # noqa: E402
from rue_tuner.batches import batch_bytes, count_images  # noqa: E402
from rue_tuner.errors import Refused  # noqa: E402
from rue_tuner.knobs import Knob, as_list  # noqa: E402
from rue_tuner.subjects import Factory, Rebuilt, make_subject  # noqa: E402
from rue_tuner.serve import Runner  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402


def ask(runner, op, **request):
    return json.loads(json.dumps(runner.answer(json.dumps(dict(op=op, **request)))))


def trial(runner, batch_size=8, num_workers=0, measure="joint", images=IMAGES, **more):
    """The answer to a trial of a whole job."""
    config = dict({knob["name"]: knob["default"] for knob in ask(runner, "hello").get("knobs", [])}, batch_size=batch_size,
                  num_workers=num_workers, prefetch_factor=2, parallelism="batch", pin_memory=True)
    config.update(more.pop("config", {}))
    request = dict(id=1, measure=measure, config=config, images=images, model="m", variant={}, workload={})
    if runner.subject.images is None:
        opened = ask(runner, "open", variant={}, workload={})
        if opened["status"] != "ok":
            return opened
    return ask(runner, "trial", **{**request, **more})


def make_runner(loader, **options):
    steps = options.pop("steps", None)
    return Runner(make_subject(loader, **options), steps)


Pair = collections.namedtuple("Pair", "images labels")
image = lambda *shape: torch.zeros(*shape)


@pytest.mark.parametrize("batch, images", [
    (image(5, 3, 8, 8), 5),
    ([image(5, 3, 8, 8), image(5)], 5),
    ((image(5, 3, 8, 8), image(5)), 5),
    (Pair(image(5, 3, 8, 8), image(5)), 5),
    ({"pixel_values": image(5, 3, 8, 8), "labels": image(5)}, 5),
    ({"name": "x", "data": {"image": image(5, 3, 8, 8)}}, 5),
    ([image(3, 8, 8)] * 5, 5),
    (([image(3, 8, 8), image(3, 9, 9)], [{"boxes": image(2, 4)}, {"boxes": image(1, 4)}]), 2),
    ([{"image": image(3, 8, 8), "label": 1}] * 4, 4),
    ([(image(3, 8, 8), 1)] * 4, 4),
    (["a.jpg", "b.jpg", "c.jpg"], 3),
])
def test_images_of_a_batch_are_counted(batch, images):
    assert count_images(batch) == images


@pytest.mark.parametrize("batch", [None, 3, "text", [], {}, torch.tensor(1)])
def test_a_batch_without_images_is_refused(batch):
    with pytest.raises(TypeError, match="cannot count the images of a batch of type .*give count="):
        count_images(batch)


def test_bytes_of_a_batch_are_those_of_its_arrays():
    assert batch_bytes({"x": image(2, 3), "y": [image(4), 7]}) == 4 * (6 + 4)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_is_rebuilt_with_other_knobs(workers):
    original = DataLoader(Squares(), batch_size=8, shuffle=True, drop_last=False, collate_fn=lambda items: torch.stack([x for x, _ in items]))
    runner = make_runner(original)
    answer = trial(runner, num_workers=workers, detail=True)
    assert answer["status"] == "ok", answer
    assert (answer["images"], answer["batches"]) == (IMAGES, IMAGES // 8)
    assert answer["load_wait_ns"] + answer["compute_ns"] + answer["shutdown_ns"] == answer["end_to_end_ns"]
    assert answer["batch_ready_ns"][0] == answer["first_batch_ns"] > 0
    assert multiprocessing.active_children() == [], "the workers have been joined"


def test_hello_declares_the_knobs_of_a_loader():
    hello = ask(make_runner(DataLoader(Squares(), batch_size=24, num_workers=1)), "hello")
    assert hello["space"]["batch_size"] == [24], "the batch size stays"
    assert {0, 1, 2} <= set(hello["space"]["num_workers"])
    knobs = {knob["name"]: knob for knob in hello["knobs"]}
    assert knobs["persistent_workers"]["kind"] == "flag" and knobs["persistent_workers"]["pytorch"] == "persistent_workers"
    assert set(knobs["multiprocessing_context"]["values"]) == {"fork", "spawn", "forkserver"}
    assert knobs["multiprocessing_context"]["default"] == "fork"
    assert ("in_order" in knobs) == hasattr(DataLoader(Squares()), "in_order")


def test_hello_declares_the_knobs_of_a_factory():
    subject = Factory(pipelines.make_loader, space={"decoder": ["pil", "cv2"], "batch_size": [8, 16], "num_workers": range(2)})
    hello = ask(Runner(subject), "hello")
    assert hello["space"] == dict(batch_size=[8, 16], num_workers=[0, 1], prefetch_factor=[2])
    decoder = next(knob for knob in hello["knobs"] if knob["name"] == "decoder")
    assert decoder["kind"] == "category" and decoder["values"] == ["pil", "cv2"] and decoder["pytorch"] == "decoder"


def test_only_knobs_that_are_searched_are_declared():
    def make(batch_size, num_workers, root="a, b", seed=2 ** 70, scale=float("inf"), parallelism="x", persistent_workers=False):
        return DataLoader(Squares(), batch_size=batch_size, num_workers=num_workers)
    assert [knob["name"] for knob in ask(make_runner(make), "hello")["knobs"]] == ["persistent_workers"]


@pytest.mark.parametrize("values, kind, words", [
    (np.arange(2), "count", ["0", "1"]),
    (torch.tensor([1, 2]), "count", ["1", "2"]),
    ([np.float32(0.5), 1], "number", ["0.5", "1"]),
    (np.bool_(True), "flag", ["true"]),
    ([0.5, float("inf")], "category", ["0.5", "inf"]),
    ([1, 2 ** 60], "category", ["1", str(2 ** 60)]),
    ([None, "a, b;\0"], "category", ["None", "a_b_"]),
    ([[1, 2], [3, 4]], "category", ["[1_2]", "[3_4]"]),
    (["x" * 60 + "1", "x" * 60 + "2"], "category", ["x" * 47, "x" * 43 + "~2"]),
    (["\u00e9" * 40], "category", ["\u00e9" * 23]),
])
def test_values_of_a_knob_are_declared_and_found_again(values, kind, words):
    knob = Knob("mine", as_list("mine", values))
    assert (knob.kind, knob.words) == (kind, words)
    assert [knob.value(value) for value in json.loads(json.dumps(knob.declared))] == knob.values


def test_epochs_start_new_iterators():
    answer = trial(make_runner(DataLoader(Squares(), batch_size=40)), batch_size=40, images=2 * IMAGES + 10, detail=True)
    assert (answer["images"], answer["batches"]) == (2 * IMAGES + 10, 7), "40, 40, 16, 40, 40, 16, 10"


IN_ORDER = [dict(in_order=False)] if hasattr(DataLoader([1]), "in_order") else []


@pytest.mark.parametrize("config", [dict(persistent_workers=True), dict(multiprocessing_context="spawn"), dict(prefetch_factor=4), *IN_ORDER])
def test_knobs_of_workers_reach_them(config):
    answer = trial(make_runner(DataLoader(Squares(), batch_size=8)), num_workers=1, config=config, images=2 * IMAGES)
    assert answer["status"] == "ok" and answer["images"] == 2 * IMAGES, answer


def test_worker_threads_are_set():
    seen = DataLoader(Squares(), batch_size=8, collate_fn=lambda items: torch.zeros(len(items), torch.get_num_threads()))
    subject = Rebuilt(seen, space={"worker_threads": [2]})
    subject.examine()
    batch = next(iter(subject.load(subject.default_config(num_workers=1, worker_threads=2), 8).loader[0]))
    assert batch.shape == (8, 2)


def test_drop_last_is_that_of_the_loader():
    runner = make_runner(DataLoader(Squares(), batch_size=40, drop_last=True))
    answer = trial(runner, batch_size=40)
    assert (answer["images"], answer["batches"]) == (80, 2)


@pytest.mark.parametrize("make, reason", [
    (lambda: [1, 2], "there is no DataLoader in a list: give a factory"),
    (lambda: dict(a=DataLoader(Squares()), b=DataLoader(Squares())), "these are 2 loaders, in a dict: give one of them"),
    (lambda: (lambda batch_size: None), "has no parameter num_workers"),
    (lambda: eval("lambda batch_size, num_workers, /: None"), "has no parameter batch_size"),
])
def test_what_cannot_be_rebuilt_is_named(make, reason):
    with pytest.raises(TypeError, match=reason):
        make_subject(make())


@pytest.mark.parametrize("space, reason", [
    (dict(decoder=["pil"]), "a DataLoader has no knob decoder: give"),
    (dict(num_worker=[1]), "a DataLoader has no knob num_worker .did you mean num_workers"),
    (dict(num_workers=[-1]), "num_workers cannot be -1"),
    (dict(batch_size=[0]), "batch_size cannot be 0"),
    (dict(batch_size=[]), "batch_size has no values"),
])
def test_a_space_that_makes_no_sense_is_refused(space, reason):
    with pytest.raises((TypeError, ValueError), match=reason):
        make_subject(DataLoader(Squares()), space=space)


def test_a_stream_that_splits_is_measured():
    answer = trial(make_runner(DataLoader(Stream(splits=True), batch_size=8), images=IMAGES), num_workers=2)
    assert answer["status"] == "ok" and answer["images"] == IMAGES


def test_a_stream_is_counted():
    subject = make_subject(DataLoader(Stream(splits=True), batch_size=8))
    subject.examine()
    assert subject.images == IMAGES


def test_a_stream_that_does_not_split_is_refused():
    with pytest.raises(Refused, match="2 workers deliver the same items: an epoch has 192 images with 2 workers, but 96 are expected: the data set does not split"):
        make_subject(DataLoader(Stream(splits=False), batch_size=8)).examine()


class Constant(Stream):
    """Items that are all the same, of a length that it refuses to give."""

    def __len__(self):
        raise NotImplementedError

    def __iter__(self):
        return (torch.zeros(3) for _ in super(Constant, self).__iter__())


def test_a_stream_of_equal_items_is_measured():
    subject = make_subject(DataLoader(Constant(splits=True), batch_size=8))
    assert subject.open({})["images"] == IMAGES


def test_a_short_stream_of_equal_items_is_measured():
    make_subject(DataLoader(Constant(splits=True), batch_size=48)).examine()
    with pytest.raises(Refused, match="2 workers deliver the same items"):
        make_subject(DataLoader(Stream(splits=False), batch_size=96)).examine()


def test_workers_of_a_stream_may_have_less_than_a_batch():
    answer = trial(make_runner(DataLoader(Stream(splits=True), batch_size=64)), batch_size=64, num_workers=4)
    assert answer["status"] == "ok" and answer["batches"] == 4, answer


def test_a_factory_may_have_more_than_the_images_of_a_trial():
    answer = trial(make_runner(pipelines.make_loader, space=dict(batch_size=[32]), images=20), batch_size=32, images=20)
    assert answer["status"] == "ok" and answer["images"] == 20, answer


def test_more_images_than_the_data_have_are_refused():
    with pytest.raises(Refused, match="images is 1000, but an epoch of the loader has 96"):
        make_subject(DataLoader(Squares(), batch_size=8), images=1000).examine()


def test_a_loader_cannot_be_one_rank_of_many():
    subject = make_subject(DataLoader(Squares(), batch_size=8))
    with pytest.raises(Refused, match="the loader itself decides which share it loads"):
        subject.open(dict(workload=dict(rank=1, world_size=4, remote_ranks=True)))
    assert subject.open(dict(workload=dict(world_size=2)))["status"] == "ok"


def test_drop_last_without_a_full_batch_is_named():
    with pytest.raises(Refused, match="no batch: drop_last"):
        make_subject(DataLoader(Squares(4), batch_size=8, drop_last=True)).examine()


def test_a_long_list_is_described_shortly():
    subject = make_subject(DataLoader([torch.zeros(3, 8, 8)] * 100_000, batch_size=8))
    assert len(subject.identity()) < 10_000 and subject.digest() != make_subject(DataLoader([1] * 9)).digest()


def test_an_epoch_that_grows_with_the_workers_is_refused():
    def make(batch_size, num_workers):  # shuffled, so that the first batches of the workers differ
        return DataLoader(Stream(splits=num_workers < 3), batch_size=batch_size, num_workers=num_workers)
    answer = trial(make_runner(make, space=dict(batch_size=[8])), num_workers=3, images=5 * IMAGES)
    assert answer["status"] == "failed" and wording.AN_EPOCH_HAS_IMAGES.format(288, 3, 96) in answer["reason"]


def test_workers_without_a_shard_make_it_infeasible():
    answer = trial(make_runner(DataLoader(Stream(splits=True, shards=1), batch_size=8), images=IMAGES), num_workers=4)
    assert answer["status"] == "infeasible" and wording.ONLY_OF_WORKERS_DELIVERED.format(1, 4) in answer["reason"], answer


@pytest.mark.parametrize("factory, config, reason", [
    (pipelines.ignores_workers, dict(num_workers=2), "the factory ignores num_workers: it was given 2, and its loader has 1"),
    (pipelines.ignores_batch_size, dict(batch_size=32), "the loader ignores batch_size: a batch has 8 images, and batch_size is 32"),
])
def test_a_factory_that_ignores_a_knob_is_refused(factory, config, reason):
    answer = trial(make_runner(factory, space=dict(batch_size=[8, 32], num_workers=[1, 2]), images=IMAGES), **config)
    assert answer["status"] == "failed" and reason in answer["reason"], answer


@pytest.mark.parametrize("workers", [0, 1])
def test_an_exception_is_kept_with_the_traceback_of_the_worker(workers):
    runner = make_runner(DataLoader(Failing(), batch_size=8))
    answer = trial(runner, num_workers=workers)
    assert answer["status"] == "failed" and wording.VALUEERROR_ITEM_IS_DAMAGED.format(48) in answer["reason"], answer
    (traceback,) = runner.reasons.values()
    assert "pipelines.py" in traceback and "__getitem__" in traceback
    assert multiprocessing.active_children() == []


def test_a_killed_worker_is_reported():
    runner = make_runner(DataLoader(Killed(), batch_size=8))
    answer = trial(runner, num_workers=2)
    assert answer["status"] == "failed" and "worker" in answer["reason"], answer
    assert trial(runner, num_workers=0)["status"] == "ok"


def test_what_cannot_be_pickled_cannot_be_spawned():
    data = Squares()
    data.hidden = lambda: None
    runner = make_runner(DataLoader(data, batch_size=8))
    answer = trial(runner, num_workers=1, config=dict(multiprocessing_context="spawn"))
    assert answer["status"] == "infeasible" and wording.NEEDS_MULTIPROCESSING_CONTEXT_FORK in answer["reason"], answer
    assert trial(runner, num_workers=1)["status"] == "ok", "fork needs no pickle"


@pytest.mark.usefixtures("rue_for_python")
@pytest.mark.parametrize("hide", [dict(hidden=lambda: None), dict(lock=threading.Lock())])
def test_a_loader_that_its_own_workers_cannot_get_is_named(hide):
    data = Squares()
    vars(data).update(hide)
    with pytest.raises(rue.TuneError, match='because it fails: needs multiprocessing_context="fork"'):
        rue.tune(DataLoader(data, batch_size=8, num_workers=1, multiprocessing_context="spawn"), budget="4trials", quiet=True)


class Truncated(Squares):
    def __getitem__(self, index):
        return pickle.loads(b"\x80")


def test_a_damaged_pickle_is_an_error_of_the_data():
    answer = trial(make_runner(DataLoader(Truncated(), batch_size=8), images=IMAGES), num_workers=1)
    assert answer["status"] == "failed" and wording.CANNOT_BE_PICKLED not in answer["reason"], answer


class Busy(Squares):
    def __getitem__(self, index):
        end = time.process_time() + 0.01
        while time.process_time() < end:
            pass
        return super().__getitem__(index)


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_the_time_of_workers_counts(context):
    answer = trial(make_runner(DataLoader(Busy(), batch_size=8)), num_workers=1, config=dict(multiprocessing_context=context), images=2 * IMAGES)
    assert answer["cpu_ratio"] * answer["end_to_end_ns"] > 0.9 * 2 * IMAGES * 0.01e9, answer


class Cyclic:
    """A loader that only the garbage collector frees."""

    def __init__(self, loader):
        self.loader, self.own = loader, self

    def __iter__(self):
        self.iterator = iter(self.loader)
        return self.iterator


def test_workers_of_a_loader_with_cycles_end():
    make = lambda batch_size, num_workers: Cyclic(DataLoader(Squares(), batch_size=batch_size, num_workers=num_workers))
    assert trial(make_runner(make, space=dict(batch_size=[8])), num_workers=1)["status"] == "ok"
    for child in multiprocessing.active_children():
        child.join(10)
    assert multiprocessing.active_children() == []


def test_what_does_not_fit_is_infeasible(monkeypatch):
    runner = make_runner(DataLoader(Squares(), batch_size=8))
    answer = trial(runner, num_workers=2, limits=dict(memory_bytes=5000))
    assert answer["status"] == "infeasible" and "limits.memory_bytes" in answer["reason"]
    monkeypatch.setattr("shutil.disk_usage", lambda path: collections.namedtuple("U", "free")(4096))
    answer = trial(runner, num_workers=2)
    assert answer["status"] == "infeasible" and wording.DEV_SHM_HAS.format(4096) in answer["reason"]


def test_any_iterable_is_measured():
    answer = trial(make_runner(pipelines.generator, images=IMAGES, space=dict(batch_size=[8], num_workers=[0])))
    assert answer["status"] == "ok" and answer["images"] == IMAGES


def test_a_step_consumes_batches():
    seen = []
    runner = make_runner(DataLoader(Squares(), batch_size=8), steps=dict(mine=lambda batch: seen.append(len(batch[0]))))
    assert ask(runner, "hello")["models"] == ["mine"]
    assert trial(runner, model="mine")["status"] == "ok" and seen == [8] * (IMAGES // 8)
    answer = trial(runner, model="mine", measure="compute", batches=3)
    assert answer["status"] == "ok" and len(answer["batch_compute_ns"]) == 3 and answer["images"] == 24
    seen.clear()
    assert trial(runner, measure="load")["status"] == "ok" and seen == []


def test_a_trial_over_time_is_a_timeout():
    answer = trial(make_runner(DataLoader(Squares(delay_s=0.01), batch_size=8)), limits=dict(time_ns=200_000_000))
    assert answer["status"] == "timeout" and wording.IMAGES_IN_TIME in answer["reason"]
