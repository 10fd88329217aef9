"""The transform for training of the PyTorch runner: torchvision's random transforms with the distributions of a recipe."""
import numpy as np
import torch

from .errors import Refused

try:
    from torchvision import transforms as T
except ImportError:
    T = None


def recipe_parts(text):
    """{part: numbers} of the text of a recipe, such as "area 0.08 1 ratio 0.75 1.33333 flip 0.5"."""
    parts = {}
    for word in text.split():
        if word[0].isalpha():
            numbers = parts[word] = []
        else:
            numbers.append(float(word))
    return parts


class Noise:
    """Adds normal numbers with a standard deviation that is uniform in a range."""

    def __init__(self, least, most):
        self.range = least, most

    def __call__(self, image):
        from PIL import Image
        levels = torch.from_numpy(np.array(image)).float()
        levels += torch.randn_like(levels) * 255 * float(torch.empty(1).uniform_(*self.range))
        return Image.fromarray(levels.round_().clamp_(0, 255).byte().numpy())


def random_transforms(text, side):
    """Images to images of `side` x `side`."""
    if T is None:
        raise Refused("--transform train needs torchvision here: install it")
    makers = dict(rotation=lambda *degrees: T.RandomAffine(degrees), scale=lambda *factors: T.RandomAffine(0, scale=factors),
                  brightness=lambda *factors: T.ColorJitter(brightness=factors),
                  contrast=lambda *factors: T.ColorJitter(contrast=factors), noise=Noise)
    parts = recipe_parts(text)
    steps = [T.RandomResizedCrop(side, parts.pop("area"), parts.pop("ratio")), T.RandomHorizontalFlip(*parts.pop("flip"))]
    chosen = [(make, *parts[name]) for name, make in makers.items() if name in parts]
    return steps + [T.RandomApply([make(*numbers)], probability) for make, probability, *numbers in chosen]
