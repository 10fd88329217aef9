#!/usr/bin/env python3
"""Trains ResNet-18 with rue's loader. Run it again to continue where it was stopped, also in the middle of an epoch.

    python3 examples/train_loader.py photos/train photos/val --recommendation rue-out/photos
    torchrun --nproc_per_node=2 examples/train_loader.py photos/train photos/val --batch-size 128
"""
import argparse
import os

import rue_tuner as rue
import torch
import torch.distributed as dist
from torchvision import models

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("train", help="photos to train with, one sub-folder for each class")
parser.add_argument("val", help="photos to evaluate with, in the same sub-folders")
parser.add_argument("--recommendation", help="a folder that rue tune wrote: use the configuration that it found")
parser.add_argument("--batch-size", type=int, help="images in a batch of each rank")
parser.add_argument("--epochs", type=int, default=90)
parser.add_argument("--every", type=int, default=100, help="steps from one line and checkpoint to the next")
parser.add_argument("--checkpoint", default="checkpoint.pt")
args = parser.parse_args()
device = "cuda" if torch.cuda.is_available() else "cpu"


def make_loader(path, **options):
    if args.batch_size:
        options["batch_size"] = args.batch_size
    if device == "cuda":
        options.update(device=device, channels_last=True)
    return rue.Loader.from_recommendation(args.recommendation, path, **options) if args.recommendation else rue.Loader(path, **options)


@torch.no_grad()
def evaluate(model, loader):
    """The share of the images of all ranks whose class the model finds."""
    counts = torch.zeros(2, device=device)
    for images, labels in loader:
        counts += torch.stack([(model(images).argmax(1) == labels).sum(), torch.tensor(len(labels), device=device)])
    if dist.is_initialized():
        dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def main():
    if "LOCAL_RANK" in os.environ:  # set by torchrun
        if device == "cuda":
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl" if device == "cuda" else "gloo")
    train, val = make_loader(args.train, transform="train"), make_loader(args.val, transform="eval", even=False)
    model = models.resnet18(num_classes=len(train.classes)).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(train))
    parts = dict(model=model, optimizer=optimizer, schedule=schedule, loader=train)
    if os.path.exists(args.checkpoint):
        for name, state in torch.load(args.checkpoint, map_location=device).items():
            parts[name].load_state_dict(state)
    trained = torch.nn.parallel.DistributedDataParallel(model) if dist.is_initialized() else model
    while (epoch := train.epoch) < args.epochs:
        model.train()
        for images, labels in train:
            with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                loss = torch.nn.functional.cross_entropy(trained(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            if train.rank == 0 and (schedule.last_epoch % args.every == 0 or train.epoch > epoch):
                torch.save({name: part.state_dict() for name, part in parts.items()}, args.checkpoint + ".new")
                os.replace(args.checkpoint + ".new", args.checkpoint)
                print(f"epoch {epoch}, step {schedule.last_epoch}: loss {loss.item():.4f}; {train.stats}", flush=True)
        accuracy = evaluate(model.eval(), val)
        if train.rank == 0:
            print(f"epoch {epoch}: accuracy {accuracy:.1%}")


if __name__ == "__main__":
    main()
