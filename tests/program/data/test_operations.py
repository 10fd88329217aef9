"""The operations of augmentation against Pillow and torchvision: equal levels for the same parameters, for images of any size."""
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "fixtures"))
from odd_jpegs import tool  # noqa: E402

np = pytest.importorskip("numpy", reason="NumPy is not installed (python3-numpy)")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (python3-pil)")
F = pytest.importorskip("torchvision.transforms.functional", reason="torchvision is not installed (python3-torchvision)")
import torch  # noqa: E402
from PIL import ImageEnhance, ImageFilter, ImageOps  # noqa: E402
from torchvision.transforms import InterpolationMode, autoaugment  # noqa: E402

CROP = "area 1 1 ratio 1 1 flip 0"
MEAN = 124, 116, 104
SIZES = [(224, 224), (96, 160), (37, 23), (2, 5), (1, 1)]


def photo(width, height):
    """Smooth areas, edges, grey, black and white."""
    draw = np.random.RandomState(width * 1000 + height)
    small = Image.fromarray(draw.randint(0, 256, (5, 5, 3), np.uint8)).resize((width, height), Image.BICUBIC)
    levels = np.array(small).astype(int) + draw.randint(-8, 9, (height, width, 3))
    levels[:height // 4, :width // 4] = draw.randint(0, 256, 3)
    levels[height // 2:height // 2 + 3] = draw.randint(0, 256, (width, 1))
    levels[-height // 8:, -width // 3:] = draw.randint(0, 2, 1) * 255
    return levels.clip(0, 255).astype(np.uint8)


def augment(levels, recipes, items):
    """[(recipe, operations, levels)] of each recipe and item."""
    height, width = levels.shape[:2]
    pixels = np.dstack([levels, np.zeros((height, width), np.uint8)])
    done = subprocess.run([tool("augment_pixels"), str(width), str(height), str(items), *recipes], input=pixels.tobytes(), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    lines = [line.split() for line in done.stderr.decode().split("\n")[:-1]]
    operations = [[(name, float(value), float(more)) for name, value, more in zip(*[iter(line)] * 3)] for line in lines]
    images = np.frombuffer(done.stdout, np.uint8).reshape(-1, height, width, 4)[..., :3]
    return list(zip([recipe for recipe in recipes for _ in range(items)], operations, images))


def geometry(image, name, value, more):
    """As torchvision's policies, or as timm's (timm/data/auto_augment.py)."""
    if not more:
        torchvision = {"shear_x": "ShearX", "shear_y": "ShearY", "translate_x": "TranslateX", "translate_y": "TranslateY", "rotate": "Rotate"}[name]
        return autoaugment._apply_op(image, torchvision, value, InterpolationMode.NEAREST, None)
    smooth = {1: Image.BILINEAR, 2: Image.BICUBIC}[more]
    if name == "rotate":
        return image.rotate(value, smooth, fillcolor=MEAN)
    matrix = {"shear_x": (1, value, 0, 0, 1, 0), "shear_y": (1, 0, 0, value, 1, 0), "translate_x": (1, 0, -value * image.size[0], 0, 1, 0),
              "translate_y": (1, 0, 0, 0, 1, -value * image.size[1])}[name]
    return image.transform(image.size, Image.AFFINE, matrix, smooth, fillcolor=MEAN)


def solarize_add(image, add):
    return image.point([min(255, i + int(add)) if i < 128 else i for i in range(256)] * 3)


def apply(image, operations):
    plain = {"flip": F.hflip, "vertical_flip": F.vflip, "grayscale": lambda i: F.to_grayscale(i, 3), "equalize": F.equalize,
             "autocontrast": F.autocontrast, "invert": F.invert}
    valued = {"brightness": F.adjust_brightness, "contrast": F.adjust_contrast, "saturation": F.adjust_saturation, "hue": F.adjust_hue,
              "sharpness": F.adjust_sharpness, "solarize": F.solarize, "posterize": lambda i, bits: F.posterize(i, int(bits)),
              "solarize_add": solarize_add, "blur": lambda i, radius: i.filter(ImageFilter.GaussianBlur(radius))}
    for name, value, more in operations:
        if name in plain:
            image = plain[name](image)
        elif name in valued:
            image = valued[name](image, value)
        elif name == "affine":
            image = F.affine(image, value, [0, 0], more, [0.0])
        elif name == "gaussian_blur":
            image = F.gaussian_blur(image, int(more), value)
        else:
            image = geometry(image, name, value, more)
    return np.asarray(image)


RECIPES = [f"{CROP} {part}" for part in (
    "vertical_flip 1", "saturation 1 0 3", "saturation 1 0 0", "hue 1 -0.5 0.5", "jitter 1 0.8 0.8 0.8 0.2", "jitter 1 2 0 0.5 0.5", "grayscale 1",
    "blur 1 0.1 2", "blur 1 0 30", "solarize 1 0 256", "solarize 1 128 128", "posterize 1 0 8", "equalize 1", "autocontrast 1", "invert 1", "sharpness 1 0 3",
    "randaugment 1 9", "randaugment 3 30", "trivialaugment 1", "timm_randaugment 9 0.5", "timm_randaugment 5 100", "three_augment 1",
    "rotation 1 -180 180 scale 0.5 0.5 2 brightness 0.5 0 3 contrast 0.5 0 3")]


@pytest.mark.parametrize("width, height", SIZES)
def test_levels_are_pillow_s_and_torchvision_s(width, height):
    levels = photo(width, height)
    image, seen, wrong = Image.fromarray(levels), set(), []
    for recipe, operations, ours in augment(levels, RECIPES, 100 if width < 40 else 4):
        seen.update((name, more if name in ("rotate", "shear_x", "shear_y", "translate_x", "translate_y") else 0) for name, _, more in operations)
        theirs = apply(image, operations)
        if not np.array_equal(ours, theirs):
            wrong.append((recipe, operations, int((ours != theirs).sum()), int(abs(ours.astype(int) - theirs).max())))
    assert not wrong, f"{len(wrong)}: {wrong[:5]}"
    assert width > 40 or len(seen) == 30, sorted(seen)


def test_torchvision_s_blur():
    """Equal to PyTorch 1.13 without MKL, with AVX2. Other builds add in another order: one level at most, rare in photographs."""
    same = torch.__version__.startswith("1.13") and not torch.backends.mkl.is_available() and "CPU capability usage: AVX2" in torch.__config__.show()
    kernels = ["1 1 1", "3 0.01 0.5", "3 5 5", "7 1 1", *(f"{size} 0.1 {size / 4:g}" for size in (5, 9, 23, 33))]
    for width, height in (224, 224), (40, 90), (37, 23), (17, 5), (1, 1):
        board = np.dstack([np.indices((height, width)).sum(0) % 2 + 99] * 3).astype(np.uint8)  # sums between two levels
        recipes = [f"{CROP} gaussian_blur 1 {kernel}" for kernel in kernels if int(kernel.split()[0]) // 2 < min(width, height)]
        for levels, share in [(photo(width, height), 1e-4), (board, 1)][:1 + (width < 40)]:
            apart = [abs(ours.astype(int) - apply(Image.fromarray(levels), operations)) for _, operations, ours in augment(levels, recipes, 2)]
            assert np.max(apart) <= (0 if same else 1) and np.mean(np.array(apart) > 0) <= share, (width, height)
