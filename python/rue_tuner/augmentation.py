"""The transform for training of the PyTorch runner: torchvision's random transforms with the distributions of a
recipe."""
import functools

import numpy as np
import torch

from .errors import Refused

try:
    from torchvision import transforms as T
    from torchvision.transforms import functional as F
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


def uniform(least, most):
    return float(torch.empty(1).uniform_(least, most))


class Between:
    """A function of an image and a number that is uniform in a range."""

    def __init__(self, function, least, most):
        self.function, self.range = function, (least, most)

    def __call__(self, image):
        return self.function(image, uniform(*self.range))


def add_noise(image, deviation):
    """Adds normal numbers."""
    from PIL import Image
    levels = torch.from_numpy(np.array(image)).float()
    levels += torch.randn_like(levels) * 255 * deviation
    return Image.fromarray(levels.round_().clamp_(0, 255).byte().numpy())


def blur(image, radius):
    from PIL import ImageFilter
    return image.filter(ImageFilter.GaussianBlur(radius))


def posterize(image, bits):
    return F.posterize(image, int(bits))


def timm_randaugment(magnitude, deviation):
    from PIL import Image
    try:
        from timm.data.auto_augment import rand_augment_transform
    except ImportError:
        raise Refused("timm_randaugment needs timm here: install it") from None
    options = dict(img_mean=(124, 116, 104), interpolation=Image.BICUBIC)
    return rand_augment_transform(f"rand-m{magnitude:g}-mstd{deviation:g}-inc1", options)


def makers():
    """What makes a transform of the numbers of a part, in the order of rue. The first number is the probability, but
    for policies."""
    between = {
        "saturation": F.adjust_saturation,
        "hue": F.adjust_hue,
        "blur": blur,
        "solarize": F.solarize,
        "sharpness": F.adjust_sharpness,
        "noise": add_noise,
    }
    whole = {"equalize": F.equalize, "autocontrast": F.autocontrast, "invert": F.invert}
    named = {
        "vertical_flip": lambda: F.vflip,
        "trivialaugment": T.TrivialAugmentWide,
        "three_augment": lambda: T.RandomChoice([T.Grayscale(3), T.RandomSolarize(128, 1), Between(blur, 0.1, 2)]),
        "rotation": lambda *degrees: T.RandomAffine(degrees),
        "scale": lambda *factors: T.RandomAffine(0, scale=factors),
        "brightness": lambda *factors: T.ColorJitter(brightness=factors),
        "contrast": lambda *factors: T.ColorJitter(contrast=factors),
        "posterize": lambda least, most: Between(posterize, least, most + 0.999),
        "jitter": T.ColorJitter,
        "grayscale": lambda: T.Grayscale(3),
        "gaussian_blur": lambda kernel, *sigma: T.GaussianBlur(int(kernel), sigma),
    }
    named.update({name: functools.partial(Between, function) for name, function in between.items()})
    named.update({name: lambda function=function: function for name, function in whole.items()})
    return named


POLICIES = {
    "randaugment": lambda count, magnitude: T.RandAugment(int(count), int(magnitude)),
    "timm_randaugment": timm_randaugment,
}
ORDER = ("vertical_flip", "randaugment", "trivialaugment", "timm_randaugment", "three_augment", "rotation", "scale",
         "brightness", "contrast", "saturation", "hue", "jitter", "grayscale", "blur", "gaussian_blur", "solarize",
         "posterize", "equalize", "autocontrast", "invert", "sharpness", "noise")


def random_transforms(text, side):
    """Images to images of `side` x `side`."""
    if T is None:
        raise Refused("--transform train needs torchvision here: install it")
    if ";" in text or text.startswith(("views ", "image_size ")):
        raise Refused("this runner makes one view of an image, of --image-size: use one without a size in --augment, "
                      "or rue's own loader")
    parts, named = recipe_parts(text), makers()
    crop, border = [T.RandomResizedCrop(side, parts.pop("area"), parts.pop("ratio"))], parts.pop("random_crop", None)
    if border is not None:
        crop = [T.Resize(int(side / 0.875)), T.RandomCrop(side, int(border[1]), pad_if_needed=True)]
    steps = [*crop, T.RandomHorizontalFlip(*parts.pop("flip"))]
    for name in ORDER:
        if name in POLICIES and name in parts:
            steps.append(POLICIES[name](*parts[name]))
        elif name in parts:
            probability, *numbers = parts[name]
            steps.append(T.RandomApply([named[name](*numbers)], probability))
    return steps
