"""Whether loading limits a job: headroom() of loops whose truth is roughly known, and watch() of a loop as it is."""
import subprocess
import time

import pytest

from conftest import HANG_S

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import rue_tuner as rue  # noqa: E402
from rue_tuner import limits  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402
from virtual_gpu import VirtualGpu  # noqa: E402

pytestmark = pytest.mark.usefixtures("rue_for_python")


class Slow(Dataset):
    def __init__(self, item_s, images=32):
        self.item_s, self.images = item_s, images

    def __len__(self):
        return self.images

    def __getitem__(self, index):
        time.sleep(self.item_s)
        return torch.full((2,), float(index))


def slow_step(batch):
    time.sleep(0.05)


def quick_step(batch):
    time.sleep(0.001)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_slow_loader_costs_nearly_all(workers, capsys):
    found = rue.headroom(DataLoader(Slow(0.01), batch_size=8, num_workers=workers), quick_step, budget="4s")
    assert found.loss_ratio > 0.5 and found.speedup_ratio > 2  # 80 ms a batch, against 1 ms
    assert found.interval[0] <= found.loss_ratio <= found.interval[1]
    assert found.document["config"]["batch_size"] == 8 and found.document["config"]["num_workers"] == workers
    assert found.models[0]["model"] == "quick_step" and found.document["images"] == 32
    assert (found.models[0]["limit"] == "no workers") == (workers == 0)
    assert str(found) in capsys.readouterr().out


def test_where_loading_spends_its_time_is_said():
    found = rue.headroom(DataLoader(Slow(0.01), batch_size=8, num_workers=1), quick_step, budget="2s", quiet=True)
    share, function = found.profile[0]
    assert function == "time.sleep" and 0.5 < share <= 1 and "% time.sleep" in str(found)
    assert sum(share for share, _ in found.profile) == pytest.approx(1)


def test_a_slow_step_leaves_little(capsys):
    found = rue.headroom(DataLoader(Slow(0, images=160), batch_size=8), {"mine": slow_step}, budget="6s", quiet=True)
    assert found.loss_ratio < 0.5 and capsys.readouterr().out == ""  # nothing but overheads, on a machine that may be busy


@pytest.mark.parametrize("options", [dict(persistent_workers=True, num_workers=1), dict(num_workers=0)])
def test_its_own_settings_are_kept_in_a_job_of_epochs(options):
    found = rue.headroom(DataLoader(Slow(0.01), batch_size=8, **options), quick_step, epochs=2, budget="3s", quiet=True)
    assert found.document["config"]["persistent_workers"] is options.get("persistent_workers", False) and found.document["images"] == 64
    assert "persistent_workers=True" not in str(found)


def test_settings_of_a_gpu_are_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    found = rue.headroom(DataLoader(Slow(0), batch_size=8), lambda batch: time.sleep(0.01), budget="2s", quiet=True)
    assert found.document["config"]["pin_memory"] is False


def test_rues_own_loader(photos):
    found = rue.headroom(rue.Loader(photos, batch_size=8, num_workers=1), quick_step, budget="3s", quiet=True)
    assert found.document["config"]["num_workers"] == 1 and found.profile == []


@pytest.mark.parametrize("drop_last, share", [(True, 24 / 31), (False, 1)])
def test_a_last_batch_counts_by_its_share(drop_last, share):
    loader = DataLoader(Slow(0, images=31), batch_size=8, drop_last=drop_last)
    found = rue.headroom(loader, lambda batch: time.sleep(0.005 * len(batch)), budget="3s", quiet=True)
    assert found.models[0]["steps_ns"] == pytest.approx(0.005 * 31 * share * 1e9, rel=0.5) and found.models[0]["steps_ns"] >= 0.004 * 31 * share * 1e9
    assert found.loss_ratio < 0.5


def test_an_epoch_of_one_batch():
    found = rue.headroom(DataLoader(Slow(0.01, images=3), batch_size=8), quick_step, budget="2s", quiet=True)
    assert 0 <= found.loss_ratio < 1 and found.document["images"] == 3


def test_a_factory_and_a_step_that_fails():
    with pytest.raises(TypeError, match="not a factory"):
        rue.headroom(lambda batch_size, num_workers: None, quick_step)

    def fails(batch):
        raise RuntimeError("bad step")
    with pytest.raises(rue.TuneError, match="bad step"):
        rue.headroom(DataLoader(Slow(0), batch_size=8), fails, budget="2s", quiet=True)


@pytest.mark.parametrize("loader, step, words", [
    ([1, 2], quick_step, "there is no DataLoader in a list: run your own loop over rue.watch(loader) instead"),
    (DataLoader(Slow(0), batch_size=8), 5, "step: 5 is not a name or a dict"),
])
def test_errors_name_the_arguments_of_headroom(loader, step, words):
    with pytest.raises(TypeError) as caught:
        rue.headroom(loader, step)
    assert str(caught.value).startswith(words)


@pytest.fixture(scope="module")
def photos(program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("few") / "photos"
    subprocess.run([program, "prepare", "--synthetic", "24", folder, "--quiet"], check=True, timeout=HANG_S)
    return folder


@pytest.fixture
def gpu(monkeypatch):
    """A clock that only work moves."""
    gpu = VirtualGpu()
    monkeypatch.setattr(limits, "now", lambda: gpu.now_ns)
    return gpu


class Batches:
    """Four batches, each after 30 ms."""

    def __init__(self, gpu):
        self.gpu = gpu

    def __iter__(self):
        for number in range(4):
            self.gpu.pass_time(30)
            yield number


def test_a_loop_is_watched_in_place(gpu):
    loader = Batches(gpu)
    with rue.watch(loader) as watch:
        for epoch in range(2):
            assert [gpu.pass_time(10) or batch for batch in loader] == [0, 1, 2, 3]
    assert type(loader) is Batches and isinstance(loader, Batches)
    assert (watch.batches, watch.late) == (8, 6)
    assert watch.waited_s == pytest.approx(0.24) and watch.elapsed_s == pytest.approx(0.32) and watch.first_s == pytest.approx(0.06)
    assert str(watch) == ("The loop waits for data 75 % of 0.3 s: a perfect loader would be 4.00 times as fast. 6 of 8 batches were not ready; "
                          "the first of each epoch cost 0.1 s in all.")
    list(loader)  # outside the block, nothing is counted
    assert watch.batches == 8


def test_a_loop_that_ends_early_and_one_without_batches(gpu):
    with rue.watch(Batches(gpu)) as watch:
        pass
    assert "No batch" in str(watch)
    watch = rue.watch(Batches(gpu))
    for batch in watch:
        break
    assert watch.batches == 1 and watch.elapsed_s == pytest.approx(0.03)
    with rue.watch(Batches(gpu)) as watch:
        iterator = iter(watch.loader)
        next(iterator)
        assert "100 % of 0.0 s" in str(watch)  # while it is iterated
        gpu.pass_time(1000)  # idle time after the last batch does not count
        del iterator
    assert watch.elapsed_s == pytest.approx(0.03)


def test_what_is_watched_twice_is_counted_once(gpu):
    with rue.watch(Batches(gpu)) as watch:
        assert list(watch) == [0, 1, 2, 3]
        with pytest.raises(TypeError, match="already"):
            watch.__enter__()
    assert watch.batches == 4 and type(watch.loader) is Batches


def test_a_dataloader_keeps_its_type_and_delivers_the_same():
    loader = DataLoader(Slow(0), batch_size=8, num_workers=1, persistent_workers=True)
    plain = [batch.tolist() for batch in loader]
    with rue.watch(loader) as watch:
        assert [batch.tolist() for batch in loader] == plain and isinstance(loader, DataLoader) and len(loader) == 4
    assert watch.batches == 4 and type(loader) is DataLoader


def test_only_the_time_in_which_a_gpu_is_idle_is_waiting(monkeypatch, gpu):
    gpu.install(monkeypatch)
    for batch in (watch := rue.watch(Batches(gpu))):
        gpu.compute(issue_ms=1, kernel_ms=40)
    assert watch.waited_s == pytest.approx(0.03)  # before the first batch; then the kernels take longer than a batch


@pytest.mark.parametrize("thing, words", [(3, "it is not an iterable"), ([1], "iterate over"), ((each for each in [1]), "iterate over")])
def test_what_cannot_be_watched_in_place(thing, words):
    with pytest.raises(TypeError, match=words), rue.watch(thing):
        pass
    assert thing == 3 or list(rue.watch(thing)) == [1]
