"""Loader(device="cuda") on a GPU that tests/fixtures/fake_cuda.py emulates: order of streams, memory, errors."""
import gc
import io
import itertools
import pickle
import shutil
import subprocess
import sys
import tarfile
import warnings

import numpy
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (python3-torch)")

import rue_tuner as rue  # noqa: E402
from conftest import HANG_S, PROGRAM, ROOT, clean_environment, find_release  # noqa: E402

if not find_release():
    pytest.skip("skipped: rue's loader is not built, set RUE_RELEASE", allow_module_level=True)
from fake_cuda import SCHEDULES, FakeGpu  # noqa: E402
from rue_tuner.loader import device as device_module, native, output  # noqa: E402

IMAGES, BATCH, SHAPE = 26, 4, (3, 16, 20)  # 7 batches, the last one of 2
SLAB_BYTES = BATCH * 3 * 16 * 20
OPTIONS = dict(batch_size=BATCH, num_workers=2, shuffle=True, seed=5)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    if not PROGRAM:
        pytest.skip("skipped: rue is not built, set RUE_PROGRAM")
    folder = tmp_path_factory.mktemp("data") / "photos"
    subprocess.run([PROGRAM, "prepare", "--synthetic", str(IMAGES), folder, "--quiet"], check=True, timeout=HANG_S)
    return folder


def make_arrays(path, arrays):
    with tarfile.open(path, "w") as archive:
        for number, array in enumerate(arrays):
            stream = io.BytesIO()
            numpy.save(stream, array)
            for extension, content in (("npy", stream.getvalue()), ("cls", str(number).encode())):
                member = tarfile.TarInfo(f"{number}.{extension}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    values = numpy.random.default_rng(7).integers(0, 256, (IMAGES, *SHAPE), numpy.uint8)
    return make_arrays(tmp_path_factory.mktemp("data") / "a.tar", values)


@pytest.fixture
def make_gpu(monkeypatch):
    """A GPU in the place of the real one, which also learns of the loader's slabs."""
    def make(*words, **more):
        gpu = FakeGpu(*words, **more)
        fill, release, close = native.Lease.fill, native.Lease.release, native.close_in

        def lend(lease):
            fill(lease)
            gpu.lend(*lease.memory)
            return lease

        def take_back(lease):
            if lease.batch:
                gpu.take_back(*lease.memory)
            release(lease)

        def check_close(process, function, *more):
            if function is native.waiting.rue_loader_close:
                gpu.check_closed()
            close(process, function, *more)
        monkeypatch.setattr(native.Lease, "fill", lend)
        monkeypatch.setattr(native.Lease, "release", take_back)
        monkeypatch.setattr(native.Lease, "__del__", take_back)
        monkeypatch.setattr(native, "close_in", check_close)
        monkeypatch.setattr(output.Torch, "__init__", lambda self: setattr(self, "torch", gpu))
        return gpu
    return make


class Caller:
    """Steps of a training loop, which the GPU executes later; `seen` is what they have read."""

    def __init__(self, gpu):
        self.gpu, self.seen, self.own = gpu, [], []

    def step(self, *tensors):
        at, contents = len(self.seen), [tensor.content for tensor in tensors]
        self.seen.append(None)
        self.gpu.stream.add(lambda: self.seen.__setitem__(at, tuple(content.clone() for content in contents)))

    def compute(self):
        """Memory of the caller's own, which nobody else may write to."""
        for shape, kind in [((BATCH, *SHAPE), torch.float32), ((BATCH,), torch.int64)] * 3:
            self.own.append(self.gpu.empty(shape, kind, "cuda"))
            self.gpu.stream.add(lambda content=self.own[-1].content: content.fill_(7))

    def check(self, expected):
        self.gpu.finish()
        assert all((own.content == 7).all() for own in self.own)
        assert not self.gpu.errors
        assert len(self.seen) == len(expected)
        for number, (seen, wanted) in enumerate(zip(self.seen, expected)):
            assert all(map(torch.equal, seen, wanted)), f"batch {number} differs"


def batches_of(data, epochs=1, **options):
    """What a loader without a device delivers."""
    with rue.Loader(data, **{**OPTIONS, **options}) as loader:
        return [tuple(part.clone() for part in batch) for _ in range(epochs) for batch in loader]


def views_of(data, epochs, **options):
    with rue.Loader(data, **{**OPTIONS, **options}) as loader:
        return [([view.clone() for view in views], labels.clone()) for _ in range(epochs) for views, labels in loader]


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_all_views_are_those_of_the_cpu(photos, make_gpu, schedule, dtype):
    gpu, options = make_gpu(schedule, 1), dict(transform="train", augment="mild@20x16,2*mild@9", drop_last=False)
    caller = Caller(gpu)
    with rue.Loader(photos, device="cuda", dtype=dtype, **options, **OPTIONS) as loader:
        for views, labels in itertools.chain(loader, loader):
            caller.step(*views, labels)
            del views, labels
    caller.check([(*views, labels) for views, labels in views_of(photos, 2, **options)])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_batches_are_those_of_the_cpu_in_any_order_of_streams(data, make_gpu, schedule, seed):
    gpu = make_gpu(schedule, seed)
    caller = Caller(gpu)
    with rue.Loader(data, device="cuda", num_workers=2 * (seed % 2), **{k: v for k, v in OPTIONS.items() if k != "num_workers"}) as loader:
        for _ in range(2):
            for images, labels in loader:
                assert images.dtype == torch.float32 and labels.dtype == torch.int64
                caller.step(images, labels)
                del images, labels
            gpu.finish()
            blocks = len(gpu.blocks)
        for _ in range(2):
            for batch in loader:
                caller.step(*batch)
                del batch
        assert len(gpu.blocks) <= blocks + 2  # memory does not grow
        assert set(gpu.registered.values()) == {SLAB_BYTES} and len(gpu.streams) == 2
    assert not gpu.registered
    caller.check(batches_of(data, 4))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_any_stream_can_be_the_consumers(data, make_gpu, schedule):
    gpu = make_gpu(schedule, 1)
    caller, others = Caller(gpu), itertools.cycle([gpu.default, *(gpu.new_stream(name=name) for name in ("caller", "other"))])
    with rue.Loader(data, device="cuda", **OPTIONS) as loader:
        for _ in range(3):
            for batch in loader:
                # The batch was handed to the stream that was current in `next`; the next one is another's.
                caller.step(*batch)
                del batch
                gpu.stream = next(others)
    caller.check(batches_of(data, 3))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("leave_at", [1, 3])
def test_an_epoch_that_is_left_leaves_nothing_behind(data, make_gpu, schedule, leave_at):
    gpu = make_gpu(schedule, 2)
    caller, expected, streams = Caller(gpu), [], [gpu.default, gpu.new_stream(name="caller")]
    all_batches, position = batches_of(data, 4), []
    with rue.Loader(data, device="cuda", **OPTIONS) as loader:
        for epoch in range(4):
            gpu.stream = streams[epoch % 2]
            batches = iter(loader)
            caller.compute()
            for number in range(leave_at):
                batch = next(batches)
                caller.step(*batch)
                del batch
                expected.append(all_batches[epoch * 7 + number])
            position.append(loader.state_dict()["images"])
        allocated = sum(len(block.bytes) for block in gpu.blocks) - 12 * SLAB_BYTES * 4
    assert position == [leave_at * BATCH] * 4
    assert allocated <= 12 * SLAB_BYTES * 4 + 10 ** 5
    caller.check(expected)


def test_photos_are_normalised_as_on_the_cpu(photos, make_gpu):
    caller = Caller(make_gpu("random"))
    with rue.Loader(photos, device="cuda", transform="train", **OPTIONS) as loader:
        for batch in loader:
            caller.step(*batch)
    caller.check(batches_of(photos, transform="train"))


def test_one_batch_ahead_without_waiting_for_it(data, make_gpu, monkeypatch):
    make_gpu("early")
    waits, load = [], native.Batches.next

    def record(batches, wait=True):
        waits.append(wait)
        return load(batches, wait)
    monkeypatch.setattr(native.Batches, "next", record)
    with rue.Loader(data, device="cuda", **OPTIONS) as loader:
        batches = iter(loader)
        next(batches)
        assert waits == [True, False]
        for _ in range(6):
            ahead = len(loader._feed.ahead)
            waits.clear()
            next(batches)
            assert waits == ([False] if ahead else [True, False])


@pytest.mark.parametrize("image_dtype", ["float32", "bfloat16", torch.float16])
@pytest.mark.parametrize("channels_last", [False, True])
def test_dtype_and_memory_format(data, make_gpu, image_dtype, channels_last):
    gpu = make_gpu("random")
    caller, kind = Caller(gpu), image_dtype if isinstance(image_dtype, torch.dtype) else getattr(torch, image_dtype)
    with rue.Loader(data, device="cuda", image_dtype=image_dtype, channels_last=channels_last, **OPTIONS) as loader:
        for images, labels in loader:
            assert images.dtype == kind
            assert images.content.is_contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)
            caller.step(images, labels)
    caller.check([(images.to(kind), labels) for images, labels in batches_of(data)])


def test_mean_std_and_levels(data, make_gpu):
    levels = batches_of(data, dtype="uint8")
    mean, std = (torch.tensor(numbers).view(-1, 1, 1) for numbers in ((0.5, 0.25, 0.125), (0.25, 0.5, 2.0)))
    full = torch.tensor([255.0])
    for options, change in [(dict(mean=(0.5, 0.25, 0.125), std=[0.25, 0.5, 2]), lambda x: (x / full - mean) / std), (dict(normalize=False), lambda x: x),
                            (dict(normalize=False, image_dtype="float16"), lambda x: x.half())]:
        caller = Caller(make_gpu("random"))
        with rue.Loader(data, device="cuda", **OPTIONS, **options) as loader:
            for batch in loader:
                caller.step(*batch)
        caller.check([(change(images), labels) for images, labels in levels])


@pytest.mark.parametrize("kind, channels", [("uint8", 3), ("uint8", 2), ("float32", 3), ("float16", 2)])
def test_tensors_are_normalised_as_on_the_cpu(make_gpu, tmp_path, kind, channels):
    values = numpy.random.default_rng(1).integers(0, 256, (9, channels, 6, 10)).astype(kind)
    path = make_arrays(tmp_path / "a.tar", values)
    expected = batches_of(path)
    for options in [{}, dict(dtype="float32")]:
        gpu = make_gpu("late")
        caller = Caller(gpu)
        with rue.Loader(path, device="cuda", **OPTIONS, **options) as loader:
            for batch in loader:
                caller.step(*batch)
            item = channels * 60 * (1 if kind == "uint8" and not options else 4)
            assert set(gpu.registered.values()) == {BATCH * item}
        caller.check(expected)
    if kind != "uint8":
        with pytest.raises(ValueError, match="the data have no levels"):
            rue.Loader(path, device="cuda", normalize=False)


# ---- errors ----

def collect(batches, caller):
    """All batches; how many times the next one raised an exception, and was asked for again."""
    failures = 0
    while True:
        try:
            caller.step(*next(batches))
        except StopIteration:
            return failures
        except RuntimeError:
            failures += 1
        if failures == 1:
            caller.compute()


@pytest.mark.parametrize("schedule", ["late", "caller", "random"])
def test_no_batch_is_lost_when_the_gpu_has_no_memory(data, make_gpu, schedule):
    expected, failures = batches_of(data), 0
    for fail_at in range(1, 31):
        gpu = make_gpu(schedule, fail_at)
        gpu.fails, caller = fail_at.__eq__, Caller(gpu)
        with rue.Loader(data, device="cuda", **OPTIONS) as loader:
            if fail_at <= 3:
                with pytest.raises(RuntimeError, match="out of memory"):
                    iter(loader)
            failures += collect(iter(loader), caller)
        caller.check(expected)
    assert failures >= 8  # of the first batch; others may fail when they are prepared ahead, and not again


@pytest.mark.parametrize("schedule", ["late", "caller"])
def test_after_an_error_another_epoch_can_begin(data, make_gpu, schedule):
    for fail_at in range(4, 12):
        gpu = make_gpu(schedule)
        gpu.fails, caller = fail_at.__eq__, Caller(gpu)
        with rue.Loader(data, device="cuda", **OPTIONS) as loader:
            with pytest.raises(RuntimeError, match="out of memory"):
                next(iter(loader))
            assert loader.state_dict()["images"] == loader.stats.batches == 0
            caller.compute()
            loader.set_epoch(0)
            for batch in loader:
                caller.step(*batch)
        caller.check(batches_of(data))


def test_ctrl_c_while_an_error_is_handled(data, make_gpu, monkeypatch):
    gpu, interrupts = make_gpu("late"), iter([KeyboardInterrupt])
    gpu.fails, caller = (7).__eq__, Caller(gpu)
    with rue.Loader(data, device="cuda", **OPTIONS) as loader:
        batches, synchronize = iter(loader), gpu.streams[-1].synchronize

        def interrupt():
            for interrupt in interrupts:
                raise interrupt
            synchronize()
        monkeypatch.setattr(gpu.streams[-1], "synchronize", interrupt)
        with pytest.raises(KeyboardInterrupt):
            next(batches)
        loader.set_epoch(0)
        for batch in loader:
            caller.step(*batch)
    caller.check(batches_of(data))


def test_errors_that_are_kept_keep_no_slab(data, make_gpu):
    """As a notebook keeps the last one: with their frames, which know the batch."""
    gpu, kept = make_gpu("late"), []
    caller = Caller(gpu)
    with rue.Loader(data, device="cuda", **OPTIONS) as loader:
        for fails in (lambda call: call > 9, lambda call: call % 11 == 0):
            gpu.fails = fails
            for _ in range(12):
                batches = iter(loader)
                for _ in range(9):
                    try:
                        caller.step(*next(batches))
                    except RuntimeError as error:
                        kept.append(error)
                    except StopIteration:
                        break
        gpu.fails = lambda call: False
        gpu.finish()
        caller.seen.clear()
        loader.set_epoch(0)
        for batch in loader:
            caller.step(*batch)
    assert len(kept) > 100
    caller.check(batches_of(data))


@pytest.mark.parametrize("device", [None, "cuda"])
def test_a_transform_that_fails_loses_no_batch(data, make_gpu, device):
    gpu, turns = make_gpu("random"), itertools.count()
    caller, loader = Caller(gpu), None

    def transform(images, labels):
        assert not device or len(loader._feed.ahead) <= 2
        if next(turns) in (0, 3, 4, 5, 6):
            raise RuntimeError("no")
        return images, labels
    if not device:
        caller.step = lambda *batch: caller.seen.append(tuple(part.clone() for part in batch))
    with rue.Loader(data, device=device, batch_transform=transform, **OPTIONS) as loader:
        assert collect(iter(loader), caller) == 5
        assert loader.stats.batches == 7
    caller.check(batches_of(data))


def test_a_damaged_image_is_raised_where_its_batch_is_due(photos, make_gpu, tmp_path):
    shutil.copytree(photos, tmp_path / "photos")
    with rue.Loader(photos) as loader:
        damaged = tmp_path / "photos" / loader.key(2 * BATCH + 1)
    damaged.write_bytes(damaged.read_bytes()[:1000])
    gpu = make_gpu("early")
    caller, options = Caller(gpu), dict(batch_size=BATCH, num_workers=2)
    with rue.Loader(tmp_path / "photos", device="cuda", **options) as loader:
        batches = iter(loader)
        for number in range(2):
            caller.step(*next(batches))
        for _ in range(2):
            with pytest.raises(rue.DataError, match=damaged.name):
                next(batches)
            assert loader.state_dict()["images"] == 2 * BATCH
    caller.check(batches_of(photos, shuffle=False)[:2])


def test_slabs_that_cannot_be_registered_are_copied_all_the_same(data, make_gpu):
    gpu = make_gpu("random")
    gpu.refused, caller = 2, Caller(gpu)
    with warnings.catch_warnings(record=True) as caught, rue.Loader(data, device="cuda", **OPTIONS) as loader:
        warnings.simplefilter("always")
        for batch in loader:
            caller.step(*batch)
    assert [str(warning.message).split(" could")[0] for warning in caught] == ["3,840 bytes"]
    assert not gpu.last_error and gpu.pins == 0
    caller.check(batches_of(data))


@pytest.mark.parametrize("options", [dict(pin_memory=False), dict(batch_strategy="memory")])
def test_slabs_that_are_not_registered(data, make_gpu, options):
    gpu = make_gpu("late")
    caller = Caller(gpu)
    with rue.Loader(data, device="cuda", **OPTIONS, **options) as loader:
        for batch in loader:
            caller.step(*batch)
        assert not gpu.registered and gpu.pins == 0
    gpu.finish()
    assert torch.equal(torch.cat([images for images, _ in caller.seen]), torch.cat([images for images, _ in batches_of(data)]))


# ---- life ----

@pytest.mark.parametrize("schedule", ["late", "random"])
@pytest.mark.parametrize("end", ["close", "collect", "twice"])
def test_the_end_waits_for_copies(data, make_gpu, schedule, end):
    gpu = make_gpu(schedule)
    caller = Caller(gpu)
    loader = rue.Loader(data, device="cuda", **OPTIONS)
    for _, batch in zip(range(2), loader):
        caller.step(*batch)
    del batch
    if end != "collect":
        loader.close()
        assert not gpu.registered and not gpu.lent and len(gpu.blocks) - len(gpu.pool) == 3  # the constants
        with pytest.raises(RuntimeError, match="closed"):
            iter(loader)
    if end == "twice":
        loader.close()
    del loader
    gc.collect()
    assert not gpu.registered and not gpu.lent
    caller.check(batches_of(data)[:2])


def test_nothing_is_touched_before_the_first_iteration(data, make_gpu):
    gpu = make_gpu()
    loader = pickle.loads(pickle.dumps(rue.Loader(data, device=torch.device("cuda", 0), **OPTIONS)))
    assert len(loader) == 7 and loader.with_(batch_size=2).batch_size == 2 and repr(loader)
    assert not gpu.touched
    iter(loader)
    assert gpu.touched
    loader.close()


def test_the_constructor_does_not_import_torch(photos):
    script = "import sys, rue_tuner as rue; rue.Loader(sys.argv[1], device='cuda:0', image_dtype='bfloat16'); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script, photos], check=True, timeout=HANG_S,
                   env=clean_environment(PYTHONPATH=ROOT / "python", RUE_LOADER=native.find_library()))


@pytest.mark.parametrize("device, rank, count, expected", [
    ("cuda", None, 4, 0), ("cuda", "2", 4, 2), ("cuda", "5", 4, 0), ("cuda:3", "1", 4, 3), ("cuda:4", None, 4, "the last one is cuda:3"),
    ("cuda", None, 0, "finds no GPU"), ("cuda:1", None, 0, "finds no GPU")])
def test_which_device(data, make_gpu, monkeypatch, device, rank, count, expected):
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    if rank:
        monkeypatch.setenv("LOCAL_RANK", rank)
    gpu = make_gpu(count=count)
    if isinstance(expected, int):
        assert device_module.find_device(gpu, device) == torch.device("cuda", expected)
        return
    loader = rue.Loader(data, device=device)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=expected) as caught:
            iter(loader)
        assert len(str(caught.value)) < 160
    assert loader.with_(device=None).images == IMAGES


@pytest.mark.parametrize("device", [None, "cpu", torch.device("cpu"), "cpu:0"])
def test_the_cpu_is_not_a_device_to_copy_to(data, device):
    with rue.Loader(data, device=device, **OPTIONS) as loader:
        assert next(iter(loader))[0].dtype == torch.float32


CUDA = dict(device="cuda")


@pytest.mark.parametrize("options, message", [
    (dict(mean=[1, 1, 1]), "mean and std together"), (dict(std=[1, 1, 1]), "mean and std together"), (dict(normalize=False), "normalize needs"),
    (dict(image_dtype="float16"), "image_dtype needs"), (dict(channels_last=True), "channels_last needs"), (dict(dtype="uint8", mean="clip", std="clip"), "do nothing with dtype='uint8'"),
    (dict(device="mps"), "device 'mps': expected"), (dict(device=torch.device("xpu", 1)), "device 'xpu:1': expected"), (dict(device=0), "device '0': expected"),
    (dict(CUDA, output="numpy"), "output='numpy' is on the CPU"), (dict(CUDA, image_dtype="int8"), "image_dtype 'int8': expected"),
    (dict(CUDA, image_dtype=torch.int64), "image_dtype 'int64': expected"), (dict(CUDA, mean=[1, 1, 1]), "mean and std together"),
    (dict(CUDA, mean=[1, 1], std=[1, 1, 1]), "mean '1,1': expected three numbers"), (dict(CUDA, mean=1, std=1), "mean '1': expected three"),
    (dict(CUDA, mean="abc", std="abc"), "mean 'abc': expected three"), (dict(CUDA, mean=[1, 1, 1], std=[1, 0, 1]), "0 cannot divide"),
    (dict(CUDA, mean=[1, 1, float("nan")], std=[1, 1, 1]), "expected three"), (dict(CUDA, mean=[1, 1, 1], std=[1, 1, 1], normalize=False), "leave them out"),
    (dict(CUDA, dtype="float32", normalize=False), "use dtype='uint8'"),
    (dict(CUDA, layout="nhwc", channels_last=True), "use one of them"), (dict(mean="clp", std="clip"), "did you mean 'clip'")])
def test_options_that_do_not_fit(data, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        rue.Loader(data, **options)
    assert len(str(caught.value)) < 160
