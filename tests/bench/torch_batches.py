#!/usr/bin/python3
"""examples/runner_torch.py with the fastest way that PyTorch has to a tensor file of float32: a worker gets the indices of
a whole batch and reads the records straight into the shared memory in which the batch travels."""
import importlib.util
import os
import pathlib

import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, get_worker_info

EXAMPLE = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "runner_torch.py"
spec = importlib.util.spec_from_file_location("runner_torch", EXAMPLE)
runner_torch = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runner_torch)


class Batches(Dataset):
    def __init__(self, data):
        self.data, self.file = data, None

    def __getitem__(self, indices):
        if self.file is None: self.file = os.open(self.data.path, os.O_RDONLY)
        shape, batch = (len(indices), *self.data.shape), torch.empty(0)
        if get_worker_info():
            batch = batch.new(batch.storage()._new_shared(len(indices) * self.data.bytes // 4))
        batch = batch.resize_(shape)
        for row, index in zip(batch.numpy(), indices):
            os.preadv(self.file, [memoryview(row).cast("B")], self.data.data + index * self.data.stride)
        return batch, torch.tensor([self.data.labels[index] for index in indices])


make_plain_loader = runner_torch.make_loader


def make_loader(checked, order, config):
    if checked.data.dtype.name != "float32": return make_plain_loader(checked, order, config)
    workers = config["num_workers"]
    options = dict(prefetch_factor=config["prefetch_factor"], multiprocessing_context="fork") if workers else {}
    batches = BatchSampler(list(order), config["batch_size"], drop_last=False)
    return DataLoader(Batches(checked.data), batch_size=None, sampler=batches, num_workers=workers, **options)


runner_torch.make_loader = make_loader
if __name__ == "__main__":
    runner_torch.main()
