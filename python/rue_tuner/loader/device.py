"""Batches on a GPU: copied and normalised there, on a stream of their own, one batch ahead of the caller."""
import collections
import contextlib
import os
import warnings
import weakref
from typing import Any, Dict, NamedTuple

from .host import Delivery
from .native import Batches
from .ranks import local_rank

PORTABLE = 1  # cudaHostRegisterPortable


def find_device(torch: Any, name: str) -> Any:
    """The torch.device "cuda:N". "cuda" is that of LOCAL_RANK, or the current one. Raises RuntimeError."""
    if not torch.cuda.is_available():
        raise RuntimeError(f"device={name!r}: PyTorch {torch.__version__} finds no GPU; check nvidia-smi and that "
                           "PyTorch is built for CUDA, or use device=None")
    count, index, rank = torch.cuda.device_count(), torch.device(name).index, local_rank()
    if index is None:
        index = rank if rank is not None and rank < count else torch.cuda.current_device()
    if index >= count:
        raise RuntimeError(f"device={name!r}: PyTorch finds {count} GPU(s), the last one is cuda:{count - 1}")
    return torch.device("cuda", index)


class Slabs:
    """The slabs that are registered with CUDA, so that copies from them do not stop the caller."""

    def __init__(self, torch, slab_bytes, wanted):
        self.torch, self.slab_bytes, self.wanted, self.addresses = torch, slab_bytes, wanted, set()

    def register(self, address):
        if not self.wanted or address in self.addresses:
            return
        self.addresses.add(address)
        status = int(self.torch.cuda.cudart().cudaHostRegister(address, self.slab_bytes, PORTABLE))
        if status:
            self.addresses.discard(address)
            self.wanted = False
            self._forget_error()
            warnings.warn(f"{self.slab_bytes:,} bytes could not be registered with CUDA (error {status}): batches are "
                          "copied to the GPU more slowly; lower prefetch_factor or batch_size, or use pin_memory=False",
                          stacklevel=2)

    def _forget_error(self):
        """CUDA keeps the error of a failed call, and the next kernel of PyTorch would raise it: this one does."""
        with contextlib.suppress(RuntimeError):
            self.torch.ones(1, device="cuda")

    def unregister_all(self):
        while self.addresses:
            if int(self.torch.cuda.cudart().cudaHostUnregister(self.addresses.pop())):
                self._forget_error()


class Staged(NamedTuple):
    """A batch on its way to the GPU."""
    delivery: Delivery
    ready: Any  # event: it has arrived and is normalised
    stream: Any  # for which its memory was allocated


def leave(process, torch, device, side, copies, slabs, batches):
    """Closes the loader, after nothing of its memory is read or registered any more."""
    if os.getpid() != process:
        return
    try:
        with torch.cuda.device(device):
            try:
                side.synchronize()
            finally:
                slabs.unregister_all()
    except RuntimeError:
        pass  # an error of the GPU, which the caller's own work has raised: it copies no more
    finally:
        for lease in copies:
            lease.release()
        copies.clear()
        batches.close()


class DeviceFeed:
    """Batches in memory of a GPU. The interface is HostFeed's.

    The side stream copies a slab, and normalises it into memory that was allocated for the stream of the caller: it
    waits for what that stream did with this memory before, and that stream waits for the event `ready`. PyTorch knows
    nothing of slabs, so each one is lent until its own event `copied`."""

    def __init__(self, batches: Batches, output: Any, shapes: Any, options: Dict[str, Any], device: Any, normal: Any):
        torch = self.torch = output.torch
        self.batches, self.output, self.shapes, self.options = batches, output, shapes, options
        self.device, self.lease, self.ahead = device, None, collections.deque()
        self.copies = {}  # {lease: (its event, labels that are copied with it)}, in the order of the side stream
        # The strategy "memory" gives pages of free slabs back to the system, which CUDA would not notice.
        registers = options["pin_memory"] is not False and options["batch_strategy"] != "memory"
        self.slabs = Slabs(torch, options["batch_size"] * batches.image_bytes, registers)
        self.levels = options["dtype"] == "uint8" and options["normalize"]
        kept = "uint8" if options["dtype"] == "uint8" and not options["normalize"] else "float32"
        self.image_dtype = getattr(torch, options["image_dtype"] or kept)
        self.memory_format = torch.channels_last if options["channels_last"] else torch.contiguous_format
        with torch.cuda.device(self.device):
            self.side = torch.cuda.Stream(self.device)
            with torch.cuda.stream(self.side):
                self.full, self.mean, self.std = map(self._constant, ([255.0], *normal))
        owned = self.side, self.copies, self.slabs, batches
        self.leave = weakref.finalize(self, leave, os.getpid(), torch, self.device, *owned)
        self.leave.atexit = batches.close.atexit

    def _constant(self, numbers):
        """A tensor, since PyTorch divides by a number as it multiplies by the inverse, which rounds otherwise than the
        CPU."""
        shape = -1 if self.options["layout"] == "nhwc" else (-1, 1, 1)
        return self.torch.tensor(numbers, dtype=self.torch.float32, device=self.device).view(shape)

    def rewind(self, epoch, first):
        with self.torch.cuda.device(self.device):
            while self.ahead:
                self._hand_over(self.ahead.popleft())
        if self.lease is not None:
            self.side.synchronize()
            self.lease.release()
            self.lease = None
        self.batches.rewind(epoch, first)

    def next(self):
        with self.torch.cuda.device(self.device):
            if not self.ahead:
                self._prepare(wait=True)
            self._hand_over(self.ahead[0])
            if len(self.ahead) == 1:
                with contextlib.suppress(Exception):  # it is raised again where that batch is due
                    self._prepare(wait=False)
            return self.ahead.popleft().delivery

    def close(self):
        self.leave()
        self.ahead.clear()

    def _hand_over(self, staged):
        """The caller's stream, which may be another than at the time of staging, can use the batch or its memory."""
        current = self.torch.cuda.current_stream(self.device)
        current.wait_event(staged.ready)
        if current != staged.stream:
            for tensor in (*staged.delivery.images, staged.delivery.labels):
                tensor.record_stream(current)

    def _prepare(self, wait):
        """Stages the next batch; without `wait` only if it is loaded."""
        for lease, (copied, _) in list(self.copies.items()):
            if len(self.copies) >= self.options["hold"]:
                copied.synchronize()
            elif not copied.query():
                break
            lease.release()
            del self.copies[lease]
        if self.lease is None:
            self.lease = self.batches.next(wait)
        if self.lease is not None:
            self.ahead.append(self._stage(self.lease))
            self.lease = None

    def _stage(self, lease):
        torch, caller = self.torch, self.torch.cuda.current_stream(self.device)
        self.slabs.register(lease.memory[0])
        views = self.output.images(lease, self.shapes, self.options["dtype"])
        label_dtype = getattr(torch, self.options["label_dtype"])
        labels = torch.empty(lease.count, dtype=label_dtype, device="cpu", pin_memory=self.slabs.wanted)
        labels.copy_(self.output.integers(lease.labels, self.options["label_dtype"]))
        copied, ready = torch.cuda.Event(blocking=True), torch.cuda.Event()
        kept = dict(dtype=self.image_dtype, device=self.device, memory_format=self.memory_format)
        images_out = [torch.empty(view.shape, **kept) for view in views]
        labels_out = torch.empty(labels.shape, dtype=labels.dtype, device=self.device)
        try:
            with torch.cuda.stream(self.side):
                images_in, labels_in = [self._copy(view) for view in views], self._copy(labels)
                copied.record(self.side)
                self.copies[lease] = copied, labels
                self.side.wait_stream(caller)
                labels_out.copy_(labels_in)
                for view_out, view_in in zip(images_out, images_in):
                    self._fill(view_out, view_in)
                ready.record(self.side)
        except BaseException:
            self.copies.pop(lease, None)  # `lease` keeps it for the next call
            self.side.synchronize()  # it may write to memory that is free from here on
            raise
        return Staged(Delivery(lease.count, images_out, labels_out, lease.items), ready, caller)

    def _copy(self, tensor):
        return self.torch.empty(tensor.shape, dtype=tensor.dtype, device=self.device).copy_(tensor, non_blocking=True)

    def _fill(self, out, images):
        if self.levels:
            scaled = self.torch.div(images, self.full)
            self.torch.div(scaled.sub_(self.mean), self.std, out=out)
        else:
            out.copy_(images)
