"""What consumes batches in a trial: a simulated model that sleeps, or the caller's own step."""
import contextlib
import sys
import time

from .batches import to_cuda
from .errors import StepFailed
from .gpu_clock import GpuClock, reserved_bytes
from .machine import now

WARM_UPS = 4               # steps before a model alone is measured on a GPU, at most
GPU_BATCHES = 10           # to measure there, at least
GPU_PROBE_NS = 5 * 10**9   # but no more than requested if they took longer than this


def cuda_is_available():
    torch = sys.modules.get("torch")
    return bool(torch) and torch.cuda.is_available()


class Consumer:
    """What a trial gives its batches to."""
    overshoot_ns = None  # it does not sleep

    def finish(self):
        """Waits for the end of all batches."""

    def gpu_times(self):
        """Nanoseconds of each batch on the GPU; empty: `consume` returned when the batch was computed."""
        return []

    def warm_up(self, batch, images):
        """Returns the time of a batch."""
        start = now()
        self.consume(batch, images)
        return now() - start

    def probe_batches(self, requested, batch_ns):
        """The number of batches on which to measure the model alone."""
        return requested


class Sleep(Consumer):
    """A simulated model: sleeps as long as its profile says for each batch; without a profile it takes no time."""

    def __init__(self, profile=None, copies=False):
        profile, self.overshoot_ns = profile or {}, 0
        self.copies = copies and cuda_is_available()
        fixed, each = profile.get("per_batch_ns", 0), profile.get("per_image_ns", 0)
        self.points = sorted(zip(profile.get("batch_size", (0, 1)), profile.get("batch_ns", (fixed, fixed + each))))
        if len(self.points) == 1:
            self.points.insert(0, (0, 0))

    def cost_ns(self, images):
        """Linear between the two points around `images`. Outside, on the line through the nearest two points, but not
        less than at the last point."""
        right = next((i for i, (x, _) in enumerate(self.points) if i and images <= x), len(self.points) - 1)
        (x0, y0), (x1, y1) = self.points[right - 1:right + 1]
        return max(y1 if images > x1 else 0, int(y0 + (y1 - y0) * (images - x0) / (x1 - x0)))

    def consume(self, batch, images):
        """Sleeps for a batch of `images`, and copies it to the GPU if there is one."""
        copies = self.copies and batch is not None
        copy = to_cuda(batch) if copies else None  # kept until the copy is complete
        start, cost = now(), self.cost_ns(images)
        while (left := start + cost - now()) > 0:
            time.sleep(left / 1e9)
        self.overshoot_ns -= left if cost else 0
        if copies:
            sys.modules["torch"].cuda.synchronize()
        del copy


class Step(Consumer):
    """The caller's training or inference step. On a GPU, its kernels run after `consume` has returned."""

    def __init__(self, step, name=""):
        self.step, self.name, self.clock, self.count, self.on_gpu = step, name, GpuClock(), 0, False

    def consume(self, batch, images):
        self.count += 1
        with self.named_failures(batch):
            begun = self.clock.begin()
            self.step(batch)
            self.clock.end(begun)

    def finish(self):
        with self.named_failures():
            self.clock.finish()

    def gpu_times(self):
        return self.clock.times

    @contextlib.contextmanager
    def named_failures(self, batch=None):
        try:
            yield
        except Exception as error:
            raise StepFailed(self.name, self.count, error, batch) from error

    def warm_up(self, batch, images):
        """Until the memory that PyTorch holds on GPUs stays the same, at most WARM_UPS steps. All ranks make as many:
        their steps may wait for each other."""
        held = reserved_bytes()
        for _ in range(WARM_UPS):
            before, start = held, now()
            self.consume(batch, images)
            self.finish()
            took_ns, held = now() - start, reserved_bytes()
            self.on_gpu = bool(held)
            if held == before and not (held and is_rank()):
                break
        self.clock = GpuClock()
        return took_ns

    def probe_batches(self, requested, batch_ns):
        if not self.on_gpu:
            return requested
        return max(requested, GPU_BATCHES if is_rank() else min(GPU_BATCHES, GPU_PROBE_NS // max(1, batch_ns)))


def is_rank():
    distributed = sys.modules["torch"].distributed
    return distributed.is_available() and distributed.is_initialized()


def compute(consumer, batch, images, requested):
    """The model alone, on one batch that stays in memory: the answer to a request to measure "compute"."""
    start = now()
    batches = consumer.probe_batches(requested, consumer.warm_up(batch, images))
    warm, times = now(), []
    for _ in range(batches):
        begun = now()
        consumer.consume(batch, images)
        times.append(now() - begun)
    consumer.finish()
    on_gpu = consumer.gpu_times()
    compute_ns = max(now() - warm, sum(on_gpu)) if on_gpu else sum(times)
    return dict(status="ok", batches=batches, images=batches * images, warmup_ns=warm - start,
                batch_compute_ns=on_gpu or times, compute_ns=compute_ns, sleep_overshoot_ns=consumer.overshoot_ns)
