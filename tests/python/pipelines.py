"""Pipelines of users for the tests: data sets and factories, sound and broken, at the top of a module, so that spawned
workers can import them."""
import os
import signal
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

IMAGES = 96


class Squares(Dataset):
    """Items of 3 x 8 x 8, each of another value."""

    def __init__(self, images=IMAGES, delay_s=0):
        self.images, self.delay_s = images, delay_s

    def __len__(self):
        return self.images

    def __getitem__(self, index):
        time.sleep(self.delay_s)
        return torch.full((3, 8, 8), float(index)), index


class Failing(Squares):
    def __getitem__(self, index):
        if index == IMAGES // 2:
            raise ValueError(f"item {index} is damaged")
        return super().__getitem__(index)


class Killed(Squares):
    def __getitem__(self, index):
        if get_worker_info() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


class Hanging(Squares):
    def __getitem__(self, index):
        if index >= 2 * IMAGES // 3:
            time.sleep(1000)
        return super().__getitem__(index)


class Stream(IterableDataset):
    """IMAGES items, split among workers or not."""

    def __init__(self, splits, shards=IMAGES):
        self.splits, self.shards = splits, shards

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info and self.splits else (0, 1)
        for shard in range(worker, self.shards, workers):
            for index in range(shard, IMAGES, self.shards):
                yield torch.full((3, 8, 8), float(index)), index


def make_loader(batch_size, num_workers, decoder="pil", prefetch_factor=2, persistent_workers=False):
    """A sound factory. The decoder pil takes 1 ms an item more than cv2."""
    options = dict(prefetch_factor=prefetch_factor, persistent_workers=persistent_workers) if num_workers else {}
    return DataLoader(Squares(delay_s=0.002 if decoder == "pil" else 0.001), batch_size=batch_size, num_workers=num_workers, **options)


def ignores_workers(batch_size, num_workers):
    return DataLoader(Squares(), batch_size=batch_size, num_workers=1)


def ignores_batch_size(batch_size, num_workers):
    return DataLoader(Squares(), batch_size=8, num_workers=num_workers)


def generator(batch_size, num_workers):
    """Not a DataLoader at all."""
    return (torch.zeros(min(batch_size, IMAGES - start), 3, 8, 8) for start in range(0, IMAGES, batch_size))


def step(batch):
    time.sleep(0.005)


def interrupt_the_caller(batch):
    """A step in the process of an isolated study: Ctrl-C in the process that called tune()."""
    os.kill(int(sys.argv[sys.argv.index("--parent") + 1]), signal.SIGINT)
    time.sleep(10)
