"""What tune() leaves in the caller's process as it was."""
import os
import pathlib
import random
import tempfile
import threading
import time

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
np = pytest.importorskip("numpy", reason="NumPy is not installed (python3-numpy)")
import rue_tuner as rue  # noqa: E402
from conftest import PROGRAM  # noqa: E402
from pipelines import IMAGES, Failing, Killed, Squares  # noqa: E402
from torch.utils.data import ConcatDataset, DataLoader, Subset  # noqa: E402

SMALL = dict(models=["resnet18@h100"], space=dict(num_workers=[0, 2]), budget="6trials", strategy="grid", quiet=True)


@pytest.fixture(autouse=True)
def program(monkeypatch, tmp_path):
    if not PROGRAM:
        pytest.skip("skipped: rue is not built, set RUE_PROGRAM")
    monkeypatch.setenv("RUE_PROGRAM", str(PROGRAM))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


class Augmented(Squares):
    def __getitem__(self, index):
        return super().__getitem__(index)[0] + random.random() + np.random.rand() + torch.rand(1), index


def test_random_states_are_kept():
    generator = torch.Generator().manual_seed(3)
    states = lambda: (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist(), generator.get_state().tolist())
    before = states()
    result = rue.tune(DataLoader(Augmented(), batch_size=8, shuffle=True, generator=generator), **SMALL)
    assert states() == before
    rue.tune(DataLoader(Augmented(), batch_size=8, shuffle=True), **{**SMALL, "models": {"mine": lambda batch: torch.rand(3)}})
    assert states() == before
    with pytest.raises(rue.TuneError):
        rue.tune(DataLoader(Failing(), batch_size=8, shuffle=True, generator=generator), **SMALL)
    assert states() == before and result.config


class Lazy(Squares):
    file = None

    def __getitem__(self, index):
        self.file = self.file or open("/dev/null")
        return super().__getitem__(index)


class Position:
    """A sampler with a position, from which another iterator continues."""
    position = 0

    def __len__(self):
        return IMAGES - self.position

    def __iter__(self):
        while self.position < IMAGES:
            self.position += 1
            yield self.position - 1


@pytest.mark.parametrize("wrap", [lambda data: data, lambda data: Subset(data, range(IMAGES)), lambda data: ConcatDataset([data])])
def test_files_that_a_trial_opens_are_not_the_callers(wrap):
    data, sampler = Lazy(), Position()
    assert rue.tune(DataLoader(wrap(data), batch_size=8, sampler=sampler), **SMALL).best["data_images"] == IMAGES
    assert data.file is None and sampler.position == 0


class NoCopy(Squares):
    def __copy__(self):
        raise TypeError("one is enough")


def test_a_data_set_that_cannot_be_copied_is_used():
    assert rue.tune(DataLoader(NoCopy(), batch_size=8), **SMALL).config


def ends(batch):
    raise SystemExit(3)


@pytest.mark.parametrize("data, models, error", [(Squares, ["none"], None), (Failing, ["none"], rue.TuneError), (Killed, ["none"], None),
                                                 (Squares, {"ends": ends}, SystemExit)])
def test_no_files_processes_threads_or_folders_are_left(data, models, error, tmp_path):
    def left():
        children = pathlib.Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text()
        return len(os.listdir("/proc/self/fd")), children, threading.active_count(), os.listdir(tmp_path)
    loader, before = DataLoader(data(), batch_size=8), left()
    try:
        assert rue.tune(loader, **{**SMALL, "models": models}).config and not error
    except (rue.TuneError, SystemExit) as caught:
        assert type(caught) is error, caught
    deadline = time.monotonic() + 30  # the queues of a killed worker end a moment later
    while left() != before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left() == before
