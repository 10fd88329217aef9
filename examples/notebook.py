# %% [markdown]
# Tune the loader of a notebook. Each cell can be run on its own in Jupyter or an editor; data and transform may be lambdas,
# because trials run in this process.

# %%
import os

import rue_tuner as rue
import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

FOLDER, BUDGET = os.environ.get("PHOTOS", "photos"), os.environ.get("BUDGET", "1m")

# %% The loader as it is today
transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor(), transforms.Lambda(lambda image: image.half())])
data = datasets.ImageFolder(FOLDER, transform)
collate = lambda items: (torch.stack([image for image, _ in items]), torch.tensor([label for _, label in items]))
loader = DataLoader(data, batch_size=32, shuffle=True, collate_fn=collate)

# %% Its best configuration for two models on an H100, for a job of five epochs
result = rue.tune(loader, ["resnet50@h100", "vit_b_16@h100"], budget=BUDGET, epochs=5)
result

# %% All configurations, best first
print(result.table)

# %% The loader from now on: as it is, if a larger budget is needed
loader = result.apply(loader) if result.decided else loader
print(loader.num_workers, "workers,", len(loader), "batches")
