"""Steps of the caller in trials: their times on a virtual GPU, their failures, and what a trial costs beside them."""
import collections
import multiprocessing

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
from pipelines import IMAGES, Squares  # noqa: E402
from rue_tuner import consumers, gpu_clock, machine, page_locked  # noqa: E402
from rue_tuner.errors import Refused  # noqa: E402
from rue_tuner.serve import finite  # noqa: E402
from rue_tuner.trial import Trial  # noqa: E402
from test_loaders import ask, make_runner, trial  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402
from virtual_gpu import ASSERTED, VirtualGpu  # noqa: E402

MS = 1_000_000


@pytest.fixture
def gpu(monkeypatch):
    return VirtualGpu().install(monkeypatch)


def run(gpu, step, batches, load_ms, limit_ms=0):
    """The reply of a trial whose loader needs `load_ms` a batch, of 8 images."""
    def load():
        for _ in range(batches):
            gpu.pass_time(load_ms)
            yield [0] * 8
    one = Trial(consumers.Step(lambda batch: step(), "mine"), len, 8 * batches, limit_ms * MS, reads_memory=False)
    one.run([load()])
    return one.reply()


@pytest.mark.parametrize("load_ms, issue_ms, kernel_ms, all_ms, computing_ms", [
    (10, 1, 30, 10 + 20 * 30, 20 * 30),          # the GPU is always busy after the first batch
    (40, 1, 30, 20 * 41 - 1 + 30, 20 * 30),      # it waits for each batch
    (29, 1, 30, 29 + 20 * 30, 20 * 30),          # each batch comes just in time
    (10, 30, 1, 20 * 40, 20 * 30),               # the thread is slower than the GPU
])
def test_steps_overlap_with_loading_as_in_a_training_loop(gpu, load_ms, issue_ms, kernel_ms, all_ms, computing_ms):
    reply = run(gpu, lambda: gpu.compute(issue_ms, kernel_ms), 20, load_ms)
    assert reply["end_to_end_ns"] == all_ms * MS and reply["compute_ns"] == computing_ms * MS
    assert reply["load_wait_ns"] == (all_ms - computing_ms) * MS and reply["shutdown_ns"] == 0
    assert reply["first_batch_ns"] == load_ms * MS
    assert gpu.waits <= 2, "only at the end"


def test_the_first_step_may_be_the_first_use_of_the_gpu(monkeypatch):
    gpu = VirtualGpu(is_used=False).install(monkeypatch)

    def step():
        gpu.is_used, gpu.reserved[0] = True, 1
        gpu.compute(1, 30)
    reply = run(gpu, step, 20, 10)
    assert reply["end_to_end_ns"] == (10 + 30 + 10 + 19 * 30) * MS and reply["compute_ns"] == 20 * 30 * MS


def test_the_device_of_a_step_need_not_be_the_current_one(monkeypatch):
    gpu = VirtualGpu(devices=4).install(monkeypatch)
    gpu.reserved[2] = 1 << 30
    reply = run(gpu, lambda: gpu.compute(1, 30, device=2), 20, 10)
    assert reply["end_to_end_ns"] == (10 + 20 * 30) * MS and reply["compute_ns"] == 20 * 30 * MS
    gpu.reserved[0] = 1 << 31
    reply = run(gpu, lambda: gpu.compute(1, 30, device=2), 20, 10)
    assert reply["end_to_end_ns"] == (10 + 20 * 30) * MS, "the end of all devices is awaited, whichever is timed"
    monkeypatch.setattr(torch.cuda, "memory_reserved", raise_unknown)
    assert run(gpu, lambda: gpu.compute(1, 30), 20, 10)["compute_ns"] == 20 * 30 * MS, "the current device"


def raise_unknown(device):
    raise RuntimeError("this allocator does not tell")


def test_a_cpu_step_is_timed_by_the_thread(monkeypatch):
    gpu = VirtualGpu(is_used=False).install(monkeypatch)
    reply = run(gpu, lambda: gpu.pass_time(5), 20, 10)
    assert reply["compute_ns"] == 100 * MS and reply["load_wait_ns"] == 200 * MS
    assert (gpu.events, gpu.waits) == (0, 0)


def test_a_step_that_never_waits_for_the_gpu_ends_soon_after_its_time(gpu):
    reply = run(gpu, lambda: gpu.compute(1, 1000), 10_000, 1, limit_ms=2000)
    assert reply["end_to_end_ns"] <= (2000 + (gpu_clock.AHEAD + 2) * 1000) * MS
    assert reply["batches"] < 100 and reply["compute_ns"] <= reply["end_to_end_ns"]


def test_a_loader_without_a_batch_is_refused_after_its_time_too(gpu):
    def load():
        gpu.pass_time(100)
        yield from ()
    with pytest.raises(Refused, match="delivered no batch"):
        Trial(consumers.Step(len, "mine"), len, 8, limit_ns=1).run([load()])


def probe(gpu, kernel_ms, requested=3, grows=0):
    """The answer to "compute" of a step whose memory grows in its first steps; and the number of steps made."""
    steps = []

    def step(batch):
        steps.append(batch)
        gpu.reserved[0] += len(steps) <= grows
        gpu.compute(1, kernel_ms)
    return consumers.compute(consumers.Step(step, "mine"), [0] * 8, 8, requested), len(steps)


@pytest.mark.parametrize("kernel_ms, requested, grows, batches, warm", [
    (30, 3, 0, 10, 1), (30, 3, 2, 10, 3), (30, 3, 99, 10, consumers.WARM_UPS), (30, 40, 0, 40, 1),
    (1000, 3, 0, 5, 1), (4000, 3, 0, 3, 1),
])
def test_a_model_alone_is_measured_on_enough_batches(gpu, kernel_ms, requested, grows, batches, warm):
    answer, steps = probe(gpu, kernel_ms, requested, grows)
    assert (answer["batches"], answer["images"], steps) == (batches, 8 * batches, batches + warm)
    assert answer["compute_ns"] == batches * kernel_ms * MS and answer["batch_compute_ns"] == [kernel_ms * MS] * batches
    assert answer["warmup_ns"] == warm * kernel_ms * MS


def test_ranks_make_the_same_number_of_steps(gpu, monkeypatch):
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    for kernel_ms, grows in ((30, 0), (30, 2), (4000, 99)):
        assert probe(gpu, kernel_ms, grows=grows)[1] == 10 + consumers.WARM_UPS


def test_a_cpu_step_is_measured_as_often_as_requested(monkeypatch):
    gpu = VirtualGpu(is_used=False).install(monkeypatch)
    times = iter((50, 10, 11, 12))
    answer = consumers.compute(consumers.Step(lambda batch: gpu.pass_time(next(times)), "mine"), None, 8, 3)
    assert answer["batch_compute_ns"] == [10 * MS, 11 * MS, 12 * MS] and answer["compute_ns"] == 33 * MS and answer["warmup_ns"] == 50 * MS
    gpu.is_used = True  # by page-locked memory alone
    answer = consumers.compute(consumers.Step(lambda batch: gpu.pass_time(10), "mine"), None, 8, 3)
    assert answer["batches"] == 3 and answer["compute_ns"] == 30 * MS


# ---- failures ----

class OutOfMemoryError(RuntimeError):
    pass


def fail_on(number, error):
    """A step that raises on this batch of each trial."""
    seen = collections.Counter()

    def step(batch):
        seen["batches"] += 1
        if seen["batches"] % number == 0:
            raise error
    return step


@pytest.mark.parametrize("error, status, text", [
    (ValueError("bad label"), "failed", "the step mine failed on batch 10: ValueError: bad label"),
    (ValueError("shapes differ:\n  3 and 4"), "failed", "the step mine failed on batch 10: ValueError: shapes differ: 3 and 4"),
    (AssertionError(), "failed", "the step mine failed on batch 10: AssertionError"),
    (OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), "infeasible", "batch 10: OutOfMemoryError: CUDA out of memory. Tried"),
    (RuntimeError(ASSERTED), "failed", "failed on the GPU at or before batch 10: CUDA error: device-side assert triggered; CUDA_LAUNCH_BLOCKING=1 "
                                       "shows the operation"),
])
def test_a_step_that_fails_is_named_with_its_batch(error, status, text):
    runner = make_runner(DataLoader(Squares(), batch_size=8), steps=dict(mine=fail_on(10, error)))
    answer = trial(runner, model="mine")
    assert answer["status"] == status and text in answer["reason"] and "\n" not in answer["reason"], answer
    assert "raise error" in runner.reasons[answer["reason"]], "the traceback shows the step"


def test_a_step_that_fails_leaves_no_workers_and_no_work(monkeypatch, gpu):
    runner = make_runner(DataLoader(Squares(), batch_size=8), steps=dict(mine=lambda batch: gpu.compute(1, 1000) or fail_on(1, ValueError("bad"))(batch)))
    ask(runner, "open", variant={}, workload={})
    assert trial(runner, model="mine", num_workers=2, config=dict(pin_memory=False))["reason"].endswith("batch 1: ValueError: bad")
    assert gpu.now_ns == 1000 * MS, "its kernels have ended before the next trial"
    for child in multiprocessing.active_children():
        child.join(10)
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("fault_ms", [300, 609])
def test_an_error_of_the_gpu_is_of_the_step(gpu, fault_ms):
    gpu.fault_ns = fault_ms * MS
    with pytest.raises(consumers.StepFailed, match="the step mine failed on the GPU at or before batch 20: CUDA error: device-side assert triggered; "):
        run(gpu, lambda: gpu.compute(1, 30), 20, 10)


# ---- what is read once, and what cannot be read ----

def test_memory_is_read_once_a_configuration(monkeypatch):
    calls, read = [], machine.memory_bytes
    monkeypatch.setattr(machine, "memory_bytes", lambda: calls.append(1) or read())
    runner = make_runner(DataLoader(Squares(), batch_size=8), steps=dict(mine=len, other=len))
    first = trial(runner, model="mine", images=32, job_images=IMAGES)
    assert first["anon_peak_bytes"] > 0 and first["file_peak_bytes"] > 0 and len(calls) == 1
    for more in (dict(model="mine", images=32), dict(model="other", images=16), dict(model="mine", images=32, workload=dict(seed=7, epoch=3))):
        again = trial(runner, job_images=IMAGES, **more)
        assert [again[key] for key in ("anon_peak_bytes", "file_peak_bytes")] == [first[key] for key in ("anon_peak_bytes", "file_peak_bytes")]
    assert len(calls) == 1
    trial(runner, model="mine")
    assert len(calls) == 2, "a trial of more images may need more"
    trial(runner, model="mine", num_workers=1)
    trial(runner, measure="load", num_workers=1)
    assert len(calls) == 4


def test_both_kinds_of_memory_come_from_one_reading(monkeypatch):
    read, paths = machine.read_text, []
    monkeypatch.setattr(machine, "read_text", lambda path: paths.append(path) or read(path))
    anon, file = machine.memory_bytes()
    assert anon > 0 and file > 0 and sum(path.endswith("smaps_rollup") for path in paths) == 1
    monkeypatch.setattr(machine, "read_text", lambda path: "" if path.endswith("rollup") else "RssAnon:\t 5 kB\nRssFile:\t 7 kB\n")
    assert machine.memory_bytes() == [5 * 1024, 7 * 1024]


def test_a_clock_of_cpu_time_that_stands_still_is_not_reported(monkeypatch):
    runner = make_runner(DataLoader(Squares(delay_s=0.001), batch_size=8), steps=dict(mine=len))
    assert trial(runner, model="mine")["cpu_ratio"] > 0
    monkeypatch.setattr(machine, "usage", lambda: (1.5, 0))
    for measure in ("joint", "load", "compute"):
        answer = trial(runner, model="mine", measure=measure)
        assert answer["status"] == "ok" and answer["cpu_ratio"] is None and "cpu_ratio" not in finite(answer)


# ---- page-locked memory ----

class Allocator:
    """Stands for torch.empty: page-locked memory takes time."""

    def __init__(self, gpu, monkeypatch, each_ms=10, most=10**9):
        self.gpu, self.sizes, self.each_ms, self.most = gpu, [], each_ms, most
        monkeypatch.setattr(torch, "empty", self.allocate)

    def allocate(self, size, dtype, pin_memory):
        assert dtype == torch.uint8 and pin_memory
        if len(self.sizes) >= self.most:
            raise RuntimeError("CUDA error: out of memory")
        self.sizes.append(size)
        self.gpu.pass_time(self.each_ms)


def test_page_locked_memory_is_allocated_once(gpu, monkeypatch):
    allocator, memory = Allocator(gpu, monkeypatch), page_locked.PageLocked()
    for batches in (5, 5, 3):
        memory.reserve([600, 8], batches)
    assert allocator.sizes == [600, 8] * 5
    memory.reserve([600, 8], 6)
    memory.reserve([1200, 16], 1)
    assert allocator.sizes[10:] == [600, 8] * 6 + [1200, 16], "all at the same time, so that PyTorch cannot reuse one for all"


def test_page_locked_memory_takes_a_bounded_time(gpu, monkeypatch):
    allocator, memory = Allocator(gpu, monkeypatch, each_ms=300), page_locked.PageLocked()
    for _ in range(2):
        memory.reserve([600], 100)
    assert len(allocator.sizes) == 4 and gpu.now_ns == 1200 * MS
    allocator.most = 6
    memory.reserve([700], 100)
    assert len(allocator.sizes) == 6, "what cannot be allocated is left to the trial"
    allocator.most, allocator.each_ms = 10**9, 1
    monkeypatch.setattr(machine, "available_bytes", lambda: 4 * 8000)
    memory.reserve([800], 100)
    assert allocator.sizes[6:] == [800] * 10, "most of the memory stays free"


@pytest.mark.parametrize("pinned", [False, True])
def test_it_is_allocated_before_a_trial_that_pins(monkeypatch, pinned):
    reserved = []
    runner = make_runner(DataLoader(Squares(), batch_size=8, pin_memory=pinned))
    runner.page_locked.reserve = lambda sizes, batches: reserved.append((sizes, batches))
    ask(runner, "open", variant={}, workload={})
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor, device=None: tensor)
    assert trial(runner, measure="load", config=dict(batch_size=16))["status"] == "ok"
    assert reserved == ([([16 * 3 * 8 * 8 * 4, 16 * 8], 1)] if pinned else [])


def test_a_model_alone_gets_a_batch_of_the_kind_of_memory_that_is_asked_for():
    kinds = []
    runner = make_runner(DataLoader(Squares(), batch_size=8), steps=dict(mine=len))
    ask(runner, "open", variant={}, workload={})
    runner.subject.one_batch = lambda config: kinds.append(config["pin_memory"]) or [0] * 8
    for pinned in (True, True, False):
        trial(runner, model="mine", measure="compute", config=dict(pin_memory=pinned))
    assert kinds == [True, False]
