#!/usr/bin/python3
"""Loaders that loader_python.py compares. Each delivers batches for ever, shuffled: Resize(256), CenterCrop(224), float32, normalised.
They reuse the memory of batches wherever their library can; what they allocate is in their time.

  loader_sides.py NAME DATA BATCH_SIZE NUM_WORKERS [DTYPE]
"""
import collections
import concurrent.futures
import itertools
import pathlib
import sys

from side_by_side import serve

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def rue(data, batch_size, num_workers, dtype="float32"):
    from rue_tuner import Loader
    loader = Loader(data, batch_size=batch_size, num_workers=num_workers, dtype=dtype, shuffle=True, drop_last=True)
    while True:
        yield from loader


def dataloader(data, batch_size, num_workers):
    import torch
    from torchvision import datasets, transforms
    torch.set_num_threads(1)
    transform = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    loader = torch.utils.data.DataLoader(datasets.ImageFolder(data, transform), batch_size, shuffle=True, num_workers=num_workers, drop_last=True,
                                         persistent_workers=num_workers > 0)
    while True:
        yield from loader


def dali(data, batch_size, num_workers):
    import warnings
    warnings.simplefilter("ignore")
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(batch_size=batch_size, num_threads=num_workers, device_id=None, prefetch_queue_depth=2)
    def make_pipeline():
        files, labels = fn.readers.file(file_root=data, random_shuffle=True)
        images = fn.resize(fn.decoders.image(files, device="cpu"), resize_shorter=256, interp_type=types.INTERP_LINEAR)
        levels = dict(mean=[255 * level for level in MEAN], std=[255 * level for level in STD])
        return fn.crop_mirror_normalize(images, dtype=types.FLOAT, output_layout="CHW", crop=(224, 224), **levels), labels
    pipeline = make_pipeline()
    pipeline.build()
    while True:
        images, labels = pipeline.run()
        yield images.as_tensor(), labels.as_tensor()


def shuffled_batches(data, batch_size):
    """Lists of (path, label), for ever."""
    import numpy
    order, folders = numpy.random.default_rng(1), sorted(path for path in pathlib.Path(data).iterdir() if path.is_dir())
    items = [(str(path), label) for label, folder in enumerate(folders) for path in sorted(folder.iterdir())]
    while True:
        shuffled = [items[i] for i in order.permutation(len(items))]
        yield from (shuffled[i:i + batch_size] for i in range(0, len(items) - batch_size + 1, batch_size))


def spdl(data, batch_size, num_workers):
    import spdl.io
    import torch
    from spdl.pipeline import PipelineBuilder
    torch.set_num_threads(1)
    mean, std = (torch.tensor(values).mul(255).view(3, 1, 1) for values in (MEAN, STD))
    scale = "scale=w=256:h=256:force_original_aspect_ratio=increase:flags=bilinear,crop=224:224,format=pix_fmts=rgb24"

    batches = shuffled_batches(data, batch_size)
    spdl.io.load_image(next(batches)[0][0])  # without FFmpeg it fails here, and a pipeline would go on without end

    def load(job):
        batch, images = job
        levels = spdl.io.to_torch(spdl.io.load_image_batch([path for path, _ in batch], width=None, height=None, filter_desc=scale))
        for image, pixels in zip(images, levels):
            torch.sub(pixels.permute(2, 0, 1), mean, out=image).div_(std)
        return images, [label for _, label in batch]
    ring = itertools.cycle([torch.empty(batch_size, 3, 224, 224) for _ in range(2 * num_workers + 4)])
    pipeline = (PipelineBuilder().add_source(zip(batches, ring)).pipe(load, concurrency=num_workers, output_order="input")
                .add_sink(2).build(num_threads=num_workers))
    with pipeline.auto_stop():
        yield from pipeline


def simplejpeg_opencv(data, batch_size, num_workers):
    """The fastest that we could write by hand: no allocation for an image, only what the crop shows is resized, libjpeg-turbo's fast inverse
    DCT and upsampling, no antialiasing. It does less than rue, and its pixels differ."""
    import threading

    import cv2
    import numpy
    import simplejpeg
    cv2.setNumThreads(1)
    scale = [numpy.float32(1 / (255 * std)) for std in STD]
    shift = [numpy.float32(-mean / std) for mean, std in zip(MEAN, STD)]
    own = threading.local()

    def load_image(path, planes):
        with open(path, "rb", buffering=0) as file:
            content = file.read()
        height, width, *_ = simplejpeg.decode_jpeg_header(content)
        if getattr(own, "decoded", None) is None or len(own.decoded) < 3 * height * width:
            own.decoded, own.resized = bytearray(3 * height * width), numpy.empty((224, 224, 3), numpy.uint8)
            own.planes = [numpy.empty((224, 224), numpy.uint8) for _ in MEAN]
        image = simplejpeg.decode_jpeg(content, "RGB", fastdct=True, fastupsample=True, buffer=own.decoded)
        side = min(height, width) * 224 / 256
        top, left, side = round((height - side) / 2), round((width - side) / 2), round(side)
        cv2.resize(image[top:top + side, left:left + side], (224, 224), dst=own.resized, interpolation=cv2.INTER_LINEAR)
        cv2.split(own.resized, own.planes)
        for plane, level, factor, term in zip(planes, own.planes, scale, shift):
            numpy.multiply(level, factor, out=plane)
            numpy.add(plane, term, out=plane)

    def load(batch, images):
        for (path, _), planes in zip(batch, images):
            load_image(path, planes)
        return images, [label for _, label in batch]
    ring = itertools.cycle([numpy.empty((batch_size, 3, 224, 224), numpy.float32) for _ in range(2 * num_workers + 2)])
    with concurrent.futures.ThreadPoolExecutor(num_workers) as pool:
        batches, pending = shuffled_batches(data, batch_size), collections.deque()
        while True:
            while len(pending) < 2 * num_workers:
                pending.append(pool.submit(load, next(batches), next(ring)))
            yield pending.popleft().result()


SIDES = {"rue": rue, "PyTorch's DataLoader": dataloader, "DALI": dali, "SPDL": spdl, "simplejpeg + OpenCV": simplejpeg_opencv}


def main():
    name, data, batch_size, num_workers, *dtype = sys.argv[1:]
    serve(SIDES[name](data, int(batch_size), int(num_workers), *dtype))


if __name__ == "__main__":
    main()
