#!/usr/bin/env python3
"""Tunes the loader, then trains with it: a folder of photos, one sub-folder for each class.

    python3 examples/train.py photos/
"""
import sys

import rue_tuner as rue
import torch
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
                                transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])


def make_step(model, device):
    """One step of training, for tuning and for training."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(batch):
        images, labels = (part.to(device, non_blocking=True) for part in batch)
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss
    return step


def main(folder, epochs=2, budget="1m"):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = datasets.ImageFolder(folder, transform)
    loader = DataLoader(data, batch_size=16, shuffle=True)

    trial_step = make_step(models.squeezenet1_1().to(device), device)  # a model of its own: tuning must not train the real one
    result = rue.tune(loader, models={"squeezenet1_1": trial_step}, budget=budget, epochs=epochs,
                      out="rue-out/train")  # another run of this script continues
    loader = result.apply(loader) if result.decided else loader  # else as it is

    step = make_step(models.squeezenet1_1().to(device), device)
    for epoch in range(epochs):
        for batch in loader:
            loss = step(batch)
        print(f"epoch {epoch}: loss {loss.item():.3f} with num_workers {loader.num_workers}")


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]), *sys.argv[3:4])
