"""The memory of rue_tuner.Loader: a batch belongs to whoever keeps it, threads and memory do not grow, and nothing is left at exit."""
import gc
import os
import threading
import time
import warnings

import pytest
from conftest import HANG_S
from small_data import PHOTOS, content, run_python, small  # noqa: F401: a fixture

np = pytest.importorskip("numpy", reason="NumPy is not installed (python3-numpy)")
torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import rue_tuner as rue  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:more than hold")

WORKERS = [0, 1, 4]


def resources():
    """(threads, descriptors, KiB of memory) of this process."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")), int(file.read().split()[1]) * 4


def settled(threads):
    """Joined threads leave /proc a moment later."""
    deadline = time.monotonic() + HANG_S
    while resources()[0] != threads:
        assert time.monotonic() < deadline, (threads, resources())
        time.sleep(0.01)
    return True


def of_item(small):
    """The pixels of each item."""
    return np.concatenate([images for images, _ in rue.Loader(small / "uint8.tensor", dtype="uint8", output="numpy")])


@pytest.mark.parametrize("output", ["torch", "numpy"])
@pytest.mark.parametrize("workers", WORKERS)
def test_kept_batches_stay_right_and_warn_once(small, output, workers):
    loader, pixels = rue.Loader(small / "uint8.tensor", dtype="uint8", batch_size=4, num_workers=workers, output=output, shuffle=True,
                                returns=("images", "items")), of_item(small)
    kept, seen = [], []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        while len(kept) < 100:
            for images, items in loader:
                kept.append((images, items))
                seen.append(content([(images,)]))
            assert loader.stats.batches == 6 and loader.stats.copied == min(6, len(kept) - 2)
    assert len(caught) == 1 and "hold=2" in str(caught[0].message) and caught[0].filename == __file__
    assert [content([(images,)]) for images, _ in kept] == seen
    assert all(np.array_equal(np.asarray(images), pixels[np.asarray(items)]) for images, items in kept)


@pytest.mark.parametrize("hold", [2, 7])
def test_hold_batches_are_not_copied(small, hold):
    loader = rue.Loader(small / "uint8.tensor", batch_size=2, hold=hold)
    kept = []
    for images, _ in loader:
        kept = [*kept, images][-hold + 1:]
        del images
    assert loader.stats.copied == 0 and len({tensor.data_ptr() for tensor in kept}) == hold - 1


def test_writing_in_place_warns_of_nothing_and_harms_nothing(small):
    loader = rue.Loader(small / "uint8.tensor", dtype="uint8", batch_size=4, num_workers=2)
    array = rue.Loader(small / "uint8.tensor", dtype="uint8", batch_size=4, output="numpy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = content(loader)
        for images, labels in loader:
            images.sub_(3), labels.add_(1)
        for images, _ in array:
            assert images.flags.writeable
            images[:] = 0
        del images
        assert content(loader) == content(array) == first


@pytest.mark.parametrize("workers", WORKERS)
def test_batches_may_die_in_another_thread(small, workers):
    loader, mine, theirs = rue.Loader(small / "uint8.tensor", batch_size=2, num_workers=workers), [], []
    stop = threading.Event()

    def drop():
        while not stop.is_set() or mine:
            if mine:
                theirs.append(float(mine.pop().sum()))
    thread = threading.Thread(target=drop)
    thread.start()
    for _ in range(30):
        mine += [images for images, _ in loader]
    stop.set()
    thread.join()
    assert len(theirs) == 30 * PHOTOS / 2


def test_tensors_outlive_close_and_the_loader(small):
    threads = resources()[0]
    loader = rue.Loader(small / "uint8.tensor", batch_size=4, num_workers=3)
    batches = iter(loader)
    kept = [next(batches)[0], next(batches)[0]]
    seen = content([kept])
    loader.close()
    assert settled(threads) and content([kept]) == seen
    pytest.raises(RuntimeError, next, batches)
    del loader, batches
    assert content([kept]) == seen


def test_loaders_without_close_leave_nothing(small):
    """Also where only the garbage collector finds them."""
    def use(cycle):
        loader = rue.Loader(small / "uint8.tensor", batch_size=4, num_workers=2)
        next(iter(loader))
        loader.itself = loader if cycle else None
    use(False)
    threads, files, _ = resources()
    gc.disable()
    try:
        for _ in range(30):
            use(False)
        assert settled(threads) and resources()[1] == files
        for _ in range(30):
            use(True)
    finally:
        gc.enable()
    assert settled(threads) and resources()[1] == files


@pytest.mark.parametrize("workers", WORKERS)
def test_a_thousand_iterations_and_epochs_need_no_more(small, workers):
    loader = rue.Loader(small / "uint8.tensor", batch_size=8, num_workers=workers, dtype="uint8")

    def use(times):
        for epoch in range(times):
            for images, labels in loader:
                if epoch % 2:
                    break
            del images, labels
        return resources()
    threads, files, memory = use(100)
    after = use(1000)
    assert after[:2] == (threads, files) and after[2] < memory + 4096
    assert loader.epoch in (1099, 1100)


def test_epochs_use_the_same_threads(small):
    loader = rue.Loader(small / "uint8.tensor", batch_size=8, num_workers=4)
    threads = [set(os.listdir("/proc/self/task")) for _ in range(3) for _ in loader]
    assert all(one == threads[0] for one in threads)


EXITS = {
    "iterator": "batches = iter(loader); next(batches)",
    "tensors": "kept = [images for images, _ in loader]",
    "module": "import types, sys; sys.kept = types.ModuleType('kept'); sys.kept.it = iter(loader); sys.kept.images = next(sys.kept.it)",
    "cycle": "it = iter(loader); kept = [next(it), loader]; kept.append(kept)",
    "thread": """
import threading
def work():
    while True:
        for batch in loader: pass
threading.Thread(target=work, daemon=True).start()
while loader.stats.batches < 2: pass""",
    "exception": "batches = iter(loader); next(batches); raise SystemExit(0)",
    "atexit": "import atexit; it = iter(loader); atexit.register(lambda: next(it)); next(it)",
    "empty": "rue.Loader('photos')",
}


@pytest.mark.parametrize("how", EXITS)
def test_exit_is_quiet(small, how):
    # A thread that is in a function of PyTorch at the exit ends any process with "terminate called".
    output = "torch" if how == "tensors" else "numpy"
    begin = f"import warnings; warnings.simplefilter('ignore'); loader = rue.Loader('uint8.tensor', batch_size=2, num_workers=3, output={output!r})\n"
    assert run_python(begin + EXITS[how], cwd=small) == (0, "", "")
