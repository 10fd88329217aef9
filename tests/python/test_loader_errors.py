"""rue_tuner.Loader where something is wrong: one clear exception of Python's types, nothing lost, and the loader works afterwards."""
import errno
import itertools
import os
import resource
import shutil
import signal
import sys
import threading
import time

import pytest
from conftest import HANG_S, finish
from small_data import PHOTOS, run_python, small, start_python  # noqa: F401: a fixture

np = pytest.importorskip("numpy", reason="NumPy is not installed (python3-numpy)")
import rue_tuner as rue  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:more than hold")


@pytest.fixture
def damaged(small, tmp_path):
    """A copy of the photos, in the order of their names, of which the tenth is damaged, and that file."""
    folder = shutil.copytree(small / "photos", tmp_path / "photos")
    file = sorted(folder.rglob("*.jpg"))[9]
    file.write_bytes(bytes(2000) + file.read_bytes()[2000:])
    return folder, file


def load(path, **more):
    return rue.Loader(path, **dict(dict(output="numpy", batch_size=4, returns="items"), **more))


def flat(batches):
    return [int(item) for items in batches for item in items]


WORDS = dict(parallelism="item", read="all", batch_strategy="none", transform="test", decode="slow", orientation="turn", dtype="float64", even="keep", output="jax", label_dtype="int65",
             bad_images="skip", missing_chunks="skip", share="none", augment="wilder", format="png")
NUMBERS = dict(batch_size=65537, num_workers=257, prefetch_factor=65, max_queue_size=16385, hold=1025, max_pixels=2 ** 41, seed=2 ** 63)
WRONG = [*({name: value} for name, value in WORDS.items()), *({name: value} for name, value in NUMBERS.items()), *({name: -1} for name in NUMBERS),
         *({name: value} for name in NUMBERS for value in (True, 8.5, "8", [8], float("nan"), ..., np.float32(2.5), 2 ** 80)),
         *({name: 7} for name in WORDS), *({name: value} for name in ("shuffle", "drop_last", "pin_memory") for value in (1, "false", np.int64(1), [])),
         *({"returns": value} for value in (3, [], "pixels", ["images", "x"], {"a": 3})), {"format": "a\0b"}, {"format": "\udcff"}, {"image_key": 5},
         {"rank": 1}, {"world_size": 2}, {"rank": 2, "world_size": 2}, {"rank": -1, "world_size": 2}, {"rank": 0, "world_size": 0}, {"rank": 0, "world_size": "env"},
         {"rank": 0.0, "world_size": 1}, {"rank": PHOTOS, "world_size": PHOTOS + 1}, {"rank": True, "world_size": 2}, {"rank": 0, "world_size": "two"},
         {"mean": [0, 0, 0]}, {"normalize": False}, {"image_dtype": "bfloat16"}, {"channels_last": True},
         *({"augment": value, "transform": "train"} for value in ({"area": "x"}, {"areas": 1}, {"flip": 2}, {"rotation": {"probability": 1}}, 5, [1], {"area": [1]},
                                                                     {"jitter": {"probability": 1}}, {"hue": {"probability": 1, "range": [0, 1]}}))]


@pytest.mark.parametrize("options", WRONG, ids=str)
def test_a_wrong_option_is_refused_by_name(small, options):
    name = next(name for name in options if name != "transform" or len(options) == 1)
    with pytest.raises(ValueError) as raised:
        load(small / "photos", **options)
    message = str(raised.value)
    assert name in message or name in ("augment", "rank"), message
    assert "\n" not in message and 15 < len(message) < 220 and "JSON" not in message


def test_numbers_of_numpy_and_none_are_options(small):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
    loader = load(small / "photos", batch_size=np.int64(3), num_workers=np.uint8(1), shuffle=np.True_, seed=torch.tensor(7), hold=np.int32(4), rank=np.int16(0), world_size=np.int64(2),
                  prefetch_factor=None, max_queue_size=None, transform=None, parallelism=None)
    assert loader.config == load(small / "photos", batch_size=3, num_workers=1).config and all(type(value) in (int, str, type(None)) for value in loader.config.values())
    assert type(loader.state_dict()["seed"]) is int and len(flat(loader)) == 11


@pytest.mark.parametrize("name, near", [("bath_size", "batch_size"), ("num_worker", "num_workers"), ("batchsize", "batch_size"), ("zzz", None)])
def test_an_unknown_option_is_refused(small, name, near):
    with pytest.raises(TypeError, match=f"{name}.*{'did you mean ' + near if near else 'help'}"):
        rue.Loader(small / "photos", **{name: 1})


@pytest.mark.parametrize("name, advice", [("persistent_workers", "workers always stay"), ("collate_fn", "batch_transform"), ("sampler", "shuffle and seed")])
def test_an_option_of_pytorchs_dataloader_is_answered(small, name, advice):
    with pytest.raises(TypeError, match=advice):
        rue.Loader(small / "photos", **{name: True})


@pytest.mark.parametrize("size", [2, 4])
def test_a_batch_transform_returns_images_and_labels(small, size):
    with pytest.raises(TypeError, match=r"returned a ndarray: it must return \(images, labels\)"):
        next(iter(load(small / "photos", batch_size=size, batch_transform=lambda images, labels: images)))


@pytest.mark.parametrize("path, error", [("nowhere", FileNotFoundError), ("empty", rue.DataError), ("", FileNotFoundError), ("text", rue.DataError), ("a\0b", ValueError),
                                         (5, TypeError), (["a"], TypeError), ("x" * 5000, OSError), ("x/" * 3000, OSError), ("broken.tensor", rue.DataError)])
def test_a_wrong_path_is_refused_at_once(tmp_path, monkeypatch, path, error):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("hello")
    (tmp_path / "broken.tensor").write_bytes(b"RUETENSR" + bytes(5000))
    with pytest.raises(error) as raised:
        rue.Loader(path)
    assert str(path)[:20] in str(raised.value).replace("\\x00", "\0") or isinstance(path, (int, list))
    assert issubclass(rue.DataError, rue.LoaderError) and issubclass(rue.LoaderError, RuntimeError)


@pytest.mark.parametrize("options, error, words", [
    (dict(batch_size=PHOTOS + 1, drop_last=True), ValueError, "drop_last skips all 22 images"), (dict(world_size="env"), ValueError, "no launcher"),
    (dict(rank=0, world_size=PHOTOS + 1, even="drop"), ValueError, "fewer ranks"), (dict(batch_size=65536, num_workers=256, prefetch_factor=64, hold=1024), MemoryError, "lower batch_size")])
def test_what_only_the_first_iteration_finds(small, options, error, words):
    loader = load(small / "photos", **options)
    for _ in range(2):
        with pytest.raises(error, match=words):
            iter(loader)


# ---- images ----

@pytest.mark.parametrize("workers", [0, 1, 3])
def test_a_damaged_image_is_raised_where_its_batch_is_due(damaged, small, workers):
    folder, file = damaged
    loader = load(folder, num_workers=workers)
    for epoch in range(2):
        batches = iter(loader)
        assert flat(itertools.islice(batches, 2)) == list(range(8))
        for _ in range(2):
            with pytest.raises(rue.DataError, match=f"{file.parent.name}/{file.name}"):
                next(batches)
        assert loader.state_dict()["images"] == 8 and loader.epoch == epoch
    shutil.copy(small / file.relative_to(folder.parent), file)
    assert flat(batches) == list(range(8, PHOTOS)) and loader.bad_images >= 1


@pytest.mark.parametrize("workers", [0, 2])
def test_a_damaged_image_is_replaced_by_another_with_its_own_number(damaged, workers):
    loader = load(damaged[0], num_workers=workers, bad_images="replace", returns=("images", "labels", "items", "keys"))
    images, labels, items, keys = (np.concatenate(parts) for parts in zip(*loader))
    other = items[9]
    assert other != 9 and np.delete(items, 9).tolist() == [*range(9), *range(10, PHOTOS)]
    assert np.array_equal(images[9], images[other]) and labels[9] == labels[other] and keys[9] == keys[other] == loader.key(other)
    loader.close()
    assert loader.bad_images in (1, 2)  # the next epoch may have begun


def test_a_file_may_be_deleted_and_descriptors_may_be_short(small, tmp_path):
    folder = shutil.copytree(small / "photos", tmp_path / "photos")
    file = sorted(folder.rglob("*.jpg"))[13]
    loader = load(folder, num_workers=1, max_queue_size=1)
    batches = iter(loader)
    next(batches)
    file.rename(tmp_path / "away")
    with pytest.raises((rue.DataError, OSError), match=file.name):
        list(batches)
    (tmp_path / "away").rename(file)
    assert flat(batches) == list(range(12, PHOTOS))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    batches = iter(loader)
    next(batches)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        with pytest.raises(Exception) as raised:
            list(batches)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert isinstance(raised.value, (MemoryError, OSError, rue.LoaderError)) and os.strerror(errno.EMFILE) in str(raised.value)
    assert flat(itertools.chain(loader)) == list(range(PHOTOS))


def test_an_exception_of_batch_transform_leaves_its_batch_undelivered(small):
    calls = []

    def transform(images, labels):
        calls.append(len(images))
        images[:] = 0
        if len(calls) in (2, 3):
            raise KeyError("mine")
        return images + 1, labels
    loader = load(small / "photos", num_workers=2, batch_transform=transform, returns=("images", "items"), dtype="uint8")
    batches, kept = iter(loader), []
    for position in (4, 4, None):
        try:
            kept += [next(batches), next(batches)][-1:]
        except KeyError as error:
            kept.append(error)
            assert loader.state_dict()["images"] == position and loader.stats.batches == 1
    assert len(calls) == 5 and flat(items for _, items in batches) == list(range(12, PHOTOS)) and loader.epoch == 1


def test_exceptions_that_keep_batches_never_hang(small):
    def fail(images, labels):
        raise KeyError(images)
    errors, loader = [], load(small / "photos", num_workers=1, batch_transform=fail)
    batches = iter(loader)
    for _ in range(6):
        try:
            next(batches)
        except KeyError as error:
            errors.append(error)
    assert len(errors) == 6 and loader.stats.copied > 0


# ---- processes, threads and signals ----

def test_nothing_works_after_close(small):
    loader, unused = load(small / "photos"), load(small / "photos")
    batches = iter(loader)
    next(batches)
    for _ in range(2):
        loader.close(), unused.close()
    for use in (lambda: iter(loader), lambda: next(batches), lambda: iter(unused)):
        with pytest.raises(RuntimeError, match="closed: make a new one"):
            use()
    assert len(loader) == 6 and loader.key(0) and loader.state_dict()["images"] == 4 and loader.bad_images == 0
    with load(small / "photos") as other:
        assert flat(other)
    pytest.raises(RuntimeError, iter, other)


def test_a_forked_child_is_refused_and_harms_nothing(small):
    code, out, err = run_python("""
        import os, sys
        loader = rue.Loader("photos", batch_size=4, output="numpy", num_workers=2, returns=("images", "items"), hold=4)
        batches = iter(loader)
        kept = next(batches)
        child = os.fork()
        if child == 0:
            for use in (lambda: next(batches), lambda: iter(loader)):
                try:
                    use()
                    print("no error")
                except RuntimeError as error:
                    print(error)
            loader.bad_images, loader.close(), loader.key(0), len(loader)
            del kept, batches
            print([len(items) for _, items in loader.with_(num_workers=1)], flush=True)
            del loader
            sys.exit()
        print(os.waitpid(child, 0)[1], [len(items) for _, items in batches], kept[0].sum() != 0)
    """, cwd=small, PYTHONWARNINGS="ignore::DeprecationWarning")
    text = "this loader was made in another process: make a Loader in this one (after a fork it has no threads)"
    assert (code, err) == (0, "") and out.splitlines() == [text, text, "[4, 4, 4, 4, 4, 2]", "0 [4, 4, 4, 4, 2] True"], out + err


class Slow:
    """A batch_transform that waits in the first batch, in which other threads try the loader."""

    def __init__(self):
        self.inside, self.go_on = threading.Event(), threading.Event()

    def __call__(self, images, labels):
        self.inside.set()
        assert self.go_on.wait(HANG_S)
        return images, labels


def test_a_second_thread_is_refused_and_may_close(small):
    slow = Slow()
    loader = load(small / "photos", num_workers=1, batch_transform=slow)
    batches, items = iter(loader), []
    thread = threading.Thread(target=lambda: items.extend(next(batches)))
    thread.start()
    assert slow.inside.wait(HANG_S)
    for use in (lambda: next(batches), lambda: iter(loader)):
        with pytest.raises(RuntimeError, match="another thread"):
            use()
    slow.go_on.set()
    thread.join()
    assert items == [0, 1, 2, 3] and flat(batches) == list(range(4, PHOTOS))
    batches = iter(loader)
    threading.Thread(target=loader.close).start()
    with pytest.raises(RuntimeError, match="closed"):
        while True:
            next(batches)
            batches = iter(loader)


class Tick(BaseException):
    """What a signal raises, as Ctrl-C does."""


@pytest.fixture
def tick(monkeypatch):
    """A function that repeats some work until a signal raises Tick, after so many seconds. Python drops exceptions of a destructor, so
    the signal comes again; pytest would keep them, with their batches."""
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    armed = False

    def ring(*_):
        if armed:
            raise Tick

    def until_tick(seconds, work):
        nonlocal armed
        armed = True
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds, 0.1)
            while True:
                work()
        except Tick:
            armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
    before = signal.signal(signal.SIGALRM, ring)
    yield until_tick
    signal.signal(signal.SIGALRM, before)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("workers", [0, 1, 3])
def test_signals_at_any_time_lose_nothing(small, tick, workers):
    loader, random, batches = load(small / "uint8.tensor", num_workers=workers, batch_size=2), np.random.default_rng(1), iter(())
    for _ in range(150):
        batches = iter(loader)
        next(batches)
        tick(random.uniform(1e-4, 2e-3), lambda: next(batches, None))
        position = loader.state_dict()["images"]
        assert flat(batches) == list(range(position or PHOTOS, PHOTOS))
        tick(random.uniform(1e-4, 2e-3), lambda: next(iter(loader)))
        assert flat(loader) == list(range(PHOTOS))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_signal_ends_a_wait_for_a_batch(tmp_path, tick, workers):
    """Each image takes a tenth of a second or more, and a batch a hundred of them."""
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (python3-pil)").new("RGB", (4000, 4000))
    image.save(tmp_path / "0.jpg")
    for i in range(1, 100):
        os.link(tmp_path / "0.jpg", tmp_path / f"{i}.jpg")
    loader = load(tmp_path, batch_size=100, num_workers=workers, returns="images")
    batches = iter(loader)
    for _ in range(2):
        tick(0.2, lambda: next(batches))
    assert loader.state_dict()["images"] == 0 and len(next(iter(loader.with_(batch_size=1)))) == 1
    loader.close()


def test_a_signal_ends_the_reading_of_an_index(tmp_path, small, tick):
    for i in range(3000):
        os.makedirs(tmp_path / f"{i % 300}", exist_ok=True)
        os.link(small / "photos/class_0/photo_00000.jpg", tmp_path / f"{i % 300}/{i}.jpg")
    threads, files = len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))
    for i in range(20):
        tick(0.001 + 0.002 * i, lambda: load(tmp_path))
    deadline = time.monotonic() + HANG_S
    while (len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))) != (threads, files):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert load(tmp_path).images == 3000


@pytest.mark.parametrize("number, handler, code", [(signal.SIGINT, "", -signal.SIGINT), (signal.SIGTERM, "", -signal.SIGTERM),
                                                   (signal.SIGTERM, "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))", 7),
                                                   (signal.SIGTERM, "signal.signal(signal.SIGTERM, lambda *_: (loader.close(), sys.exit(8)))", 8)])
def test_signals_end_the_program(small, number, handler, code):
    process = start_python("-c", f"""
import signal, sys
import rue_tuner as rue
loader = rue.Loader("uint8.tensor", batch_size=2, num_workers=2, output="numpy")
{handler}
for epoch in range(10 ** 9):
    for batch in loader:
        if not epoch: print(flush=True)
""", cwd=small)
    process.stdout.readline()
    process.send_signal(number)
    ended, _, err = finish(process)
    assert ended == code and ("KeyboardInterrupt" in err if number == signal.SIGINT else err == "")
