#!/usr/bin/env python3
"""One rank of training, with the loader that `rue tune --launch` recommends. tune_then_train.sbatch starts it.

    python3 train.py photos/ rue-out/photos/recommendation.json
"""
import os
import sys

import rue_tuner as rue
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, models, transforms

transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
                                transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])


def find(*names):
    """The first of these variables that the launcher set: torchrun, Open MPI, MPICH or Slurm."""
    return next(os.environ[name] for name in names if name in os.environ)


def main(folder, recommendation, epochs=1):
    local_rank = int(find("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"))
    gpu = torch.cuda.is_available()
    device = torch.device("cuda", local_rank) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if gpu else "gloo",
                            rank=int(find("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")),
                            world_size=int(find("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")))
    data = datasets.ImageFolder(folder, transform)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler, **rue.load(recommendation, strict=False).dataloader_kwargs)
    model = torch.nn.parallel.DistributedDataParallel(models.squeezenet1_1().to(device), device_ids=[local_rank] if gpu else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(images.to(device, non_blocking=True)), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {loss.item():.3f} on {dist.get_world_size()} ranks, {len(loader)} batches each")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:4]))
