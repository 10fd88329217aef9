#!/usr/bin/python3
"""The runner of rue_tuner with the fastest way that PyTorch has to a tensor file of float32: a worker gets the indices of
a whole batch and reads the records straight into the shared memory in which the batch travels."""
import os
import pathlib
import sys

import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, get_worker_info

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from rue_tuner import serve, stored_data  # noqa: E402


class Batches(Dataset):
    def __init__(self, data):
        self.data, self.file = data, None

    def __getitem__(self, indices):
        if self.file is None:
            self.file = os.open(self.data.path, os.O_RDONLY)
        shape, batch = (len(indices), *self.data.shape), torch.empty(0)
        if get_worker_info():
            batch = batch.new(batch.storage()._new_shared(len(indices) * self.data.bytes // 4))
        batch = batch.resize_(shape)
        for row, index in zip(batch.numpy(), indices):
            os.preadv(self.file, [memoryview(row).cast("B")], self.data.data + index * self.data.stride)
        return batch, torch.tensor([self.data.labels[index] for index in indices])


class WholeBatches(stored_data.StoredData):
    def load_request(self, request, images):
        loading, config = super().load_request(request, images), request["config"]
        plain = loading.loader[0]
        if getattr(loading.data.data, "dtype", None) != "float32":
            return loading
        options = dict(prefetch_factor=config["prefetch_factor"], multiprocessing_context="fork") if plain.num_workers else {}
        batches = BatchSampler(plain.sampler, config["batch_size"], drop_last=False)
        loading.loader[0] = DataLoader(Batches(loading.data.data), batch_size=None, sampler=batches, num_workers=plain.num_workers,
                                       **options)
        loading.watched = None
        return loading


if __name__ == "__main__":
    torch.set_num_threads(1)
    serve.Runner(WholeBatches()).serve(sys.stdin, lambda text: print(text, end="", flush=True))
