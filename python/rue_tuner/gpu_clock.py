"""The time of steps on the GPU, without waiting for each: as in a training loop, one waits only at the end."""
import collections
import sys

from .machine import now

AHEAD = 32  # steps that may wait for the GPU: so many more run when the time of a trial is over


def find_cuda():
    """torch.cuda, if this process computes with it; else None."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch and torch.cuda.is_initialized() else None


def reserved_bytes():
    """{device: bytes that PyTorch's allocator holds there}, without devices that this process does not use."""
    cuda, found = find_cuda(), {}
    for device in range(cuda.device_count() if cuda else 0):
        try:
            found[device] = cuda.memory_reserved(device)
        except RuntimeError:  # another allocator, which cannot tell
            return {}
    return {device: size for device, size in found.items() if size}


def wait():
    """Until all devices that this process uses have ended their work."""
    cuda = find_cuda()
    if cuda:
        for device in reserved_bytes() or [cuda.current_device()]:
            cuda.synchronize(device)


class GpuClock:
    """`times` has the nanoseconds of each step from when the GPU could begin it until its last kernel ended, and thus
    also those in which the thread issued it. Of several devices, the one with most of the memory is timed."""

    def __init__(self):
        self.times, self.pending, self.device, self.begun_ns = [], collections.deque(), None, 0

    def record(self):
        cuda = find_cuda()
        if self.device is None:
            used = reserved_bytes()
            self.device = max(used, key=used.get) if used else cuda.current_device()
        event = cuda.Event(enable_timing=True)
        event.record(cuda.current_stream(self.device))
        return event

    def begin(self):
        """Before a step. None: no step has used a GPU so far."""
        self.begun_ns = now()
        return self.record() if find_cuda() else None

    def end(self, begun):
        """After the step."""
        if begun is not None:
            self.pending.append((begun, self.record()))
            if len(self.pending) > AHEAD:
                self.pending[0][1].synchronize()
            self.collect()
        elif find_cuda():
            wait()  # this step was the first
            self.times.append(now() - self.begun_ns)

    def collect(self):
        while self.pending and self.pending[0][1].query():
            begun, ended = self.pending.popleft()
            self.times.append(round(begun.elapsed_time(ended) * 1e6))

    def finish(self):
        wait()
        self.collect()
