#!/usr/bin/python3
"""Images a second of rue_tuner.Loader beside torchvision, DALI and Kornia, from JPEG files, by the recipe of the pixels: ratios of one run.

  tests/bench/pixels.py PHOTOS [--only NAME,...] [--repeats N] [--program build/bench/rue]

All sides deliver shuffled batches of float32, normalised, one tensor a view. The views of an image come from one decode, but for "a Loader a view".
Run it with a Python that has the peers; a peer that is not installed has a row that says so:

  python3 -m venv build/peers; build/peers/bin/pip install torch torchvision nvidia-dali-cuda120 kornia

Not all of them compute the same pixels. Beside Pillow's, a Gaussian blur has a kernel of 9 values, as in dinov2. DALI has other formulas for contrast
and hue, and one order of the jitter. Kornia draws that order for a whole batch; its random crop has no antialiasing, so torchvision crops for it.
"""
import argparse
import os
import pathlib
import random
import sys
from typing import NamedTuple

from loader_sides import MEAN, STD
from side_by_side import Side, absent, compare_best, row, serve

ROOT = pathlib.Path(__file__).resolve().parents[2]
JITTER, GREY, SIGMA, KERNEL = 0.8, 0.2, (0.1, 2.0), 9  # probabilities, and blur


class View(NamedTuple):
    """For evaluation a resize and a centre crop; for training a random crop, a flip and the operations of a preset of rue."""
    size: int
    resize: int = 0
    preset: str = ""
    area: tuple = ()
    jitter: tuple = ()
    blur: float = 0  # probability
    solarize: float = 0  # probability


class Recipe(NamedTuple):
    text: str
    batch_size: int
    images: int  # in a run
    interpolation: str
    views: list
    augment: object = None  # of a Loader that loads all views


SIMCLR = [View(224, preset="simclr", area=(0.08, 1), jitter=(0.8, 0.8, 0.8, 0.2), blur=0.5)] * 2
DINO = [View(224, preset="dino-global-1", area=(0.4, 1), jitter=(0.4, 0.4, 0.2, 0.1), blur=1),
        View(224, preset="dino-global-2", area=(0.4, 1), jitter=(0.4, 0.4, 0.2, 0.1), blur=0.1, solarize=0.2),
        *[View(96, preset="dino-local", area=(0.05, 0.4), jitter=(0.4, 0.4, 0.2, 0.1), blur=0.5)] * 8]
RECIPES = {"eval-224": Recipe("eval, 224", 64, 768, "bilinear", [View(224, resize=256)]),
           "eval-384": Recipe("eval, 384, bicubic", 64, 384, "bicubic", [View(384, resize=384)]),
           "simclr": Recipe("SimCLR, 2 x 224", 32, 256, "bilinear", SIMCLR, ["simclr", "simclr"]),
           "dino": Recipe("DINO, 2 x 224 + 8 x 96", 32, 192, "bicubic", DINO, "dino")}


# ---- rue ----

def open_loader(recipe, data, num_workers, **options):
    from rue_tuner import Loader
    return Loader(data, batch_size=recipe.batch_size, num_workers=num_workers, interpolation=recipe.interpolation, drop_last=True, **options)


def rue(recipe, data, num_workers):
    view = recipe.views[0]
    options = dict(transform="train", augment=recipe.augment) if recipe.augment else dict(image_size=view.size, resize=view.resize, shuffle=True)
    loader = open_loader(recipe, data, num_workers, **options)
    while True:
        for images, labels in loader:
            yield images if recipe.augment else [images], labels


def rue_loader_per_view(recipe, data, num_workers):
    """Each view is decoded on its own, in the same order. zip keeps a batch more."""
    import torch
    views = [open_loader(recipe, data, num_workers, transform="train", augment=view.preset, image_size=view.size, shuffle=False, seed=seed, hold=3)
             for seed, view in enumerate(recipe.views)]
    while True:
        order = torch.randperm(views[0].images).tolist()
        loaders = [view.with_(subset=order) for view in views]
        for batches in zip(*loaders):
            yield [images for images, _ in batches], batches[0][1]
        for loader in loaders:
            loader.close()


# ---- PyTorch's DataLoader, with torchvision and Kornia ----

def dataloader(recipe, data, num_workers, read, transforms, collate=None):
    import torch
    from torchvision.datasets import ImageFolder
    torch.set_num_threads(1)
    photos = ImageFolder(data, lambda image: [transform(image) for transform in transforms], loader=read)
    loader = torch.utils.data.DataLoader(photos, recipe.batch_size, shuffle=True, num_workers=num_workers, drop_last=True, persistent_workers=True,
                                         collate_fn=collate)
    while True:
        yield from loader


def read_tensor(path):
    from torchvision import io
    return io.decode_jpeg(io.read_file(path), io.ImageReadMode.RGB)


def torchvision_crop(view, interpolation):
    from torchvision.transforms import InterpolationMode, v2
    mode = InterpolationMode(interpolation)
    if view.resize:
        return [v2.Resize(view.resize, mode, antialias=True), v2.CenterCrop(view.size)]
    return [v2.RandomResizedCrop(view.size, view.area, interpolation=mode, antialias=True)]


def torchvision_transform(view, interpolation, blur, last):
    import torch
    from torchvision.transforms import v2
    steps = torchvision_crop(view, interpolation)
    if view.preset:
        steps += [v2.RandomHorizontalFlip(), v2.RandomApply([v2.ColorJitter(*view.jitter)], JITTER), v2.RandomGrayscale(GREY),
                  v2.RandomApply([blur], view.blur)]
    if view.solarize:
        steps.append(v2.RandomSolarize(128, view.solarize))
    return v2.Compose([*steps, *last, v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)])


def torchvision_tensors(recipe, data, num_workers):
    from torchvision.transforms import v2
    transforms = [torchvision_transform(view, recipe.interpolation, v2.GaussianBlur(KERNEL, SIGMA), []) for view in recipe.views]
    return dataloader(recipe, data, num_workers, read_tensor, transforms)


def torchvision_pil(recipe, data, num_workers):
    from PIL import ImageFilter
    from torchvision.datasets.folder import pil_loader
    from torchvision.transforms import v2
    blur = v2.Lambda(lambda image: image.filter(ImageFilter.GaussianBlur(random.uniform(*SIGMA))))
    transforms = [torchvision_transform(view, recipe.interpolation, blur, [v2.PILToTensor()]) for view in recipe.views]
    return dataloader(recipe, data, num_workers, pil_loader, transforms)


def kornia_augmentation(view):
    """Of a batch, because Kornia's operations are fast only on batches."""
    import torch
    from kornia import augmentation as kornia
    steps = []
    if view.preset:
        steps += [kornia.RandomHorizontalFlip(), kornia.ColorJitter(*view.jitter, p=JITTER), kornia.RandomGrayscale(p=GREY),
                  kornia.RandomGaussianBlur((KERNEL, KERNEL), SIGMA, p=view.blur)]
    if view.solarize:
        steps.append(kornia.RandomSolarize((0.5, 0.5), (0.0, 0.0), p=view.solarize))
    return torch.nn.Sequential(*steps, kornia.Normalize(MEAN, STD))


def kornia_collated(recipe, data, num_workers):
    import torch
    from kornia.geometry.transform import resize
    from torchvision.transforms import v2
    floats, augmentations = v2.ToDtype(torch.float32, scale=True), [kornia_augmentation(view) for view in recipe.views]

    def crop_of(view):
        if view.preset:
            return torchvision_crop(view, recipe.interpolation)
        return [floats, lambda image: resize(image, view.resize, recipe.interpolation, antialias=True), v2.CenterCrop(view.size)]

    def collate(batch):
        views, labels = torch.utils.data.default_collate(batch)
        return [augment(floats(images)) for augment, images in zip(augmentations, views)], labels
    return dataloader(recipe, data, num_workers, read_tensor, [v2.Compose(crop_of(view)) for view in recipe.views], collate)


# ---- DALI ----

def dali_view(decoded, view, interpolation):
    from nvidia.dali import fn, math, types

    def factor(strength):
        return fn.random.uniform(range=(1 - strength, 1 + strength))

    def chance(probability):
        return fn.random.coin_flip(probability=probability, dtype=types.BOOL)
    mode = types.INTERP_CUBIC if interpolation == "bicubic" else types.INTERP_LINEAR
    levels = dict(mean=[255 * level for level in MEAN], std=[255 * level for level in STD])
    if view.resize:
        images = fn.resize(decoded, resize_shorter=view.resize, interp_type=mode)
        return fn.crop_mirror_normalize(images, dtype=types.FLOAT, output_layout="CHW", crop=(view.size, view.size), **levels)
    images = fn.random_resized_crop(decoded, size=(view.size, view.size), random_area=view.area, interp_type=mode)
    if chance(JITTER):
        brightness, contrast, saturation, hue = view.jitter
        images = fn.color_twist(images, brightness=factor(brightness), contrast=factor(contrast), saturation=factor(saturation),
                                hue=fn.random.uniform(range=(-360 * hue, 360 * hue)))
    if chance(GREY):
        images = fn.color_twist(images, saturation=0.0)
    if chance(view.blur):
        images = fn.gaussian_blur(images, sigma=fn.random.uniform(range=SIGMA), window_size=KERNEL)
    if view.solarize:
        if chance(view.solarize):
            images = math.min(images, types.Constant(255).uint8() - images)
    return fn.crop_mirror_normalize(images, dtype=types.FLOAT, output_layout="CHW", mirror=fn.random.coin_flip(), **levels)


def dali(recipe, data, num_workers):
    import warnings
    warnings.simplefilter("ignore")
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=recipe.batch_size, num_threads=num_workers, device_id=None, prefetch_queue_depth=2, enable_conditionals=True)
    def make_pipeline():
        files, labels = fn.readers.file(file_root=data, random_shuffle=True)
        decoded = fn.decoders.image(files, device="cpu")
        return (*[dali_view(decoded, view, recipe.interpolation) for view in recipe.views], labels)
    pipeline = make_pipeline()
    pipeline.build()
    while True:
        *views, labels = pipeline.run()
        yield [images.as_tensor() for images in views], labels.as_tensor()


# ---- the comparison ----

RUE, PER_VIEW = "rue", "rue, a Loader a view"
SIDES = {RUE: rue, PER_VIEW: rue_loader_per_view, "torchvision v2, tensors": torchvision_tensors, "torchvision, PIL": torchvision_pil, "DALI": dali,
         "Kornia": kornia_collated}


def check_batch(views, recipe):
    import numpy
    for view, images in zip(recipe.views, map(numpy.asarray, views), strict=True):
        if images.shape != (recipe.batch_size, 3, view.size, view.size) or images.dtype != numpy.float32 or not 0.5 < images.std() < 2:
            raise ValueError(f"a view of {view.size} has the shape {images.shape}, {images.dtype}, standard deviation {images.std():.3g}")


def checked_batches(side, recipe, data, num_workers):
    """The batches of a side, if the first one has the shapes and the range of the recipe. Keeps none: a loader would have to copy."""
    for number, (views, labels) in enumerate(SIDES[side](recipe, data, num_workers)):
        if number == 0:
            check_batch(views, recipe)
        yield views, labels


def measure(name, options):
    recipe, cpus = RECIPES[name], len(os.sched_getaffinity(0))
    candidates = {side: [cpus, 2 * cpus] for side in SIDES}
    candidates[PER_VIEW] = [1, cpus]
    if not recipe.augment:
        del candidates[PER_VIEW]

    def make(side, workers):
        return Side(recipe.batch_size, workers, sys.executable, __file__, "--side", side, name, options.photos, workers)
    medians, best, absences = compare_best(make, candidates, options.repeats, recipe.images)
    own = RUE if RUE in best else PER_VIEW
    for side, why in absences.items():
        absent(recipe.text, "images/s", side, why)
    for side in best:
        if side != own:
            row(f"{recipe.text}, batch_size {recipe.batch_size}, {own}, num_workers {best[own]}", "images/s", medians[own][0],
                f"{side}, {best[side]} workers", medians[side][0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=pathlib.Path, help="a folder of JPEG files")
    parser.add_argument("--only", default=",".join(RECIPES), help=", ".join(RECIPES))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/bench/rue")
    options = parser.parse_args()
    os.environ.update(PYTHONPATH=str(ROOT / "python"), RUE_LOADER=str(options.program.parent / "_rue_loader.so"))
    for name in options.only.split(","):
        print(f"{name} ...", file=sys.stderr)
        measure(name, options)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--side"]:
        side, name, data, workers = sys.argv[2:]
        serve(checked_batches(side, RECIPES[name], data, int(workers)))
    else:
        main()
