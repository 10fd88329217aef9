"""What consumes batches in a trial: a simulated model that sleeps, or the caller's own step."""
import sys
import time

from .batches import to_cuda
from .machine import now


def cuda_is_available():
    torch = sys.modules.get("torch")
    return bool(torch) and torch.cuda.is_available()


class Sleep:
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


class Step:
    """The caller's training or inference step. On a GPU, its kernels have ended when `consume` returns."""
    overshoot_ns = None  # it does not sleep

    def __init__(self, step):
        self.step = step

    def consume(self, batch, images):
        self.step(batch)
        if cuda_is_available() and sys.modules["torch"].cuda.is_initialized():
            sys.modules["torch"].cuda.synchronize()


def compute(consumer, batch, images, batches):
    """The model alone, on one batch that stays in memory: the answer to a request to measure "compute"."""
    times = []
    for _ in range(batches + 1):
        start = now()
        consumer.consume(batch, images)
        times.append(now() - start)
    return dict(status="ok", batches=batches, images=batches * images, warmup_ns=times[0], batch_compute_ns=times[1:],
                compute_ns=sum(times[1:]), sleep_overshoot_ns=consumer.overshoot_ns)
