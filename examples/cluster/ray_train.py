#!/usr/bin/env python3
"""Ray Train: one worker tunes the DataLoader, then all workers train with what it found. Tried with Ray 2.60.

    python3 ray_train.py /data/photos /results --workers 8 --cpus 4 --gpu

All nodes need the data, the folder of results, and Python with rue_tuner, PyTorch and ray[train]. If it runs again, it continues the
study.
"""
import argparse
import os

import ray.train
import rue_tuner as rue
import torch
from ray.train.torch import TorchTrainer, get_device, prepare_model
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, models, transforms

transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
                                transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])


def make_loader(job, **knobs):
    """Loads the share of one of the workers that train. A worker that tunes alone is rank 0."""
    data = datasets.ImageFolder(job["photos"], transform)
    sampler = DistributedSampler(data, num_replicas=job["workers"], rank=ray.train.get_context().get_world_rank())
    return DataLoader(data, sampler=sampler, **knobs)


def make_step():
    device = get_device()
    model = prepare_model(models.squeezenet1_1())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(batch):
        images, labels = (part.to(device, non_blocking=True) for part in batch)
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss
    return step


def tune(job):
    """What to give the DataLoader; if the study is not decided, the best guess. Ray does not bind workers to CPUs: a worker that tunes
    sees all CPUs of its node. So the search is limited to those of one worker."""
    result = rue.tune(make_loader(job, batch_size=job["batch_size"]), {"train": make_step()}, budget=job["budget"],
                      max_workers=job["cpus"], out=os.path.join(job["results"], "tuned"), strict=False)
    return result.dataloader_kwargs


def train(job):
    loader, step = make_loader(job, **job["loader"]), make_step()
    for epoch in range(job["epochs"]):
        loader.sampler.set_epoch(epoch)
        for batch in loader:
            loss = step(batch)
        ray.train.report({"epoch": epoch, "loss": loss.item()})
    return f"epoch {epoch}: loss {loss.item():.3f} on {job['workers']} workers, {len(loader)} batches each, with {job['loader']}"


def main():
    parser = argparse.ArgumentParser(description="Tunes a DataLoader on one worker of Ray Train, then trains on all.")
    parser.add_argument("photos", help="a folder of images in sub-folders")
    parser.add_argument("results", help="a folder for the study and for what Ray writes")
    parser.add_argument("--workers", type=int, default=2, help="that train [2]")
    parser.add_argument("--cpus", type=int, default=1, help="of each worker [1]")
    parser.add_argument("--batch-size", type=int, default=32, help="of each worker [32]")
    parser.add_argument("--gpu", action="store_true", help="each worker has a GPU")
    parser.add_argument("--together", action="store_true", help="tune on all workers: they make each trial together")
    parser.add_argument("--budget", default="10m", help="time for the search [10m]")
    parser.add_argument("--epochs", type=int, default=1, help="of the training [1]")
    job = vars(parser.parse_args())
    job.update(photos=os.path.abspath(job["photos"]), results=os.path.abspath(job["results"]))

    def run(function, workers, **more):
        """Calls the function on each of the workers. Returns what it returns on rank 0."""
        scaling = ray.train.ScalingConfig(num_workers=workers, use_gpu=job["gpu"], resources_per_worker={"CPU": job["cpus"]})
        return TorchTrainer(function, train_loop_config={**job, **more}, scaling_config=scaling,
                            run_config=ray.train.RunConfig(storage_path=job["results"])).fit().return_value

    found = run(tune, job["workers"] if job["together"] else 1)
    print(run(train, job["workers"], loader=found))  # Ray gives it to all of them


if __name__ == "__main__":
    main()
