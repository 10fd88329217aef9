"""One trial: epochs of a loader, consumed batch by batch and timed."""
import gc
import math
import multiprocessing

from . import machine
from .errors import Refused
from .machine import now


class Trial:
    """Consumes `images` images of `loader`, an iterable of batches, and starts a new iterator for each epoch.

    Three times sum to `end_to_end_ns`: waiting, computing and shutting down. It computes while this thread is in the
    consumer, and while the GPU executes what that has issued: there, work continues while the thread waits for data.
    """

    def __init__(self, consumer, count, images, limit_ns=0, reads_memory=True):
        self.consumer, self.count, self.limit_ns = consumer, count, limit_ns or math.inf
        self.reads_memory, self.memory = reads_memory, None  # of machine.memory_bytes
        self.requested = self.left = images
        self.wait_ns = self.compute_ns = self.shutdown_ns = self.images = 0
        self.started = 0  # images of the last epoch, complete or not
        self.ready, self.epochs = [], []  # ns since the start of each batch; images of each complete epoch
        self.orphans = {}  # of machine.orphan_cpu_s

    def orphan_cpu_s(self):
        return sum(self.orphans.values())

    def elapsed_ns(self):
        return self.wait_ns + self.compute_ns + self.shutdown_ns

    def is_over(self):
        return self.left <= 0 or self.elapsed_ns() > self.limit_ns

    def run(self, loader, on_batch=None):
        """`loader` is a list of one loader, which is emptied, so that the end of its workers is part of the time."""
        before = set(multiprocessing.active_children())
        while not self.is_over():
            self.run_epoch(loader, on_batch)
        self.finish()
        start = now()
        loader.clear()
        self.shutdown_ns += now() - start
        if set(multiprocessing.active_children()) - before:
            gc.collect()  # of loaders with reference cycles; it takes seconds where there are many objects

    def run_epoch(self, loader, on_batch):
        """Until the epoch ends, or the images or the time are used up."""
        before, first, start = self.images, self.elapsed_ns(), now()
        iterator = iter(loader[0])
        while True:
            try:
                batch = next(iterator)
            except StopIteration:
                self.wait_ns += now() - start
                self.epochs.append(self.images - before)
                break
            got = now()
            self.wait_ns += got - start
            self.ready.append(self.elapsed_ns())
            images = self.count(batch)
            if on_batch:
                on_batch(batch, images)
            begin = now()
            self.consumer.consume(batch, images)
            start = now()
            self.compute_ns += start - begin
            self.images += images
            self.left -= images
            del batch
            if self.is_over():
                break
        if self.images == before and not (self.ready and self.is_over()):
            raise Refused("the loader delivered no batch" if first == 0 else
                          f"an epoch of the loader delivered no batch, after one of {self.epochs[0]} images")
        self.started = self.images - before
        if self.is_over():
            self.finish()
            self.memory = machine.memory_bytes() if self.reads_memory else None
        self.orphans.update(machine.orphan_cpu_s())
        start = now()  # reading the memory is not part of the time
        del iterator
        self.shutdown_ns += now() - start

    def finish(self):
        """Waits for the GPU; the time in which it computed while this thread waited for batches is computing."""
        start = now()
        self.consumer.finish()
        self.compute_ns += now() - start
        beside_ns = sum(self.consumer.gpu_times()) - self.compute_ns
        beside_ns = max(0, min(beside_ns, self.wait_ns - self.ready[0]))
        self.wait_ns -= beside_ns
        self.compute_ns += beside_ns

    def reply(self):
        """The measured fields of the answer. The last batch of some loaders has more images than were left."""
        return dict(status="ok", images=min(self.images, self.requested), batches=len(self.ready),
                    end_to_end_ns=self.elapsed_ns(), first_batch_ns=self.ready[0], load_wait_ns=self.wait_ns,
                    compute_ns=self.compute_ns, shutdown_ns=self.shutdown_ns, batch_ready_ns=self.ready)
