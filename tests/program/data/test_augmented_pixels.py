"""The transform for training against torchvision's functions for PIL images: equal levels for the same parameters."""
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "fixtures"))
from odd_jpegs import tool  # noqa: E402
from test_transform_pil import ANOTHER_ORDER, resize, save_cases  # noqa: E402

np = pytest.importorskip("numpy", reason="NumPy is not installed (python3-numpy)")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (python3-pil)")
F = pytest.importorskip("torchvision.transforms.functional", reason="torchvision is not installed (python3-torchvision)")

CROP = "area 0.08 1 ratio 0.75 1.33333 flip 0.5"
ROTATION, SCALE = "rotation 0.9 -180 180", "scale 0.9 0.1 10"
LIGHT, NOISE = "brightness 0.9 0 3 contrast 0.9 0 3", "noise 1 0.05 0.05"
REPEATS = 3


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("augment") / "images"
    save_cases(folder)
    return sorted(folder.glob("*")) * REPEATS


def augment(files, recipe, seed=1, epoch=0):
    """(parameters, levels) of each file; a size has no levels."""
    done = subprocess.run([tool("augment_jpegs"), recipe, str(seed), str(epoch), *files], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    numbers = [list(map(float, line.split())) for line in done.stderr.decode().splitlines()]
    return numbers, np.frombuffer(done.stdout, np.uint8).reshape(-1, 3, 224, 224)


def torchvision_levels(image, left, top, width, height, flip, rotation, brightness, contrast, _, scale):
    box = int(top), int(left), int(height), int(width)
    image = resize(F.crop(image, *box), (224, 224)) if ANOTHER_ORDER else F.resized_crop(image, *box, [224, 224])
    if flip:
        image = F.hflip(image)
    if rotation != 0 or scale != 1:
        image = F.affine(image, rotation, [0, 0], scale, [0.0])
    image = F.adjust_contrast(F.adjust_brightness(image, brightness), contrast)
    return np.asarray(image).transpose(2, 0, 1)


@pytest.mark.parametrize("recipe", [CROP, f"{CROP} {ROTATION}", f"{CROP} {SCALE}", f"{CROP} {ROTATION} {SCALE}", f"{CROP} {LIGHT}",
                                    f"{CROP} {ROTATION} {SCALE} {LIGHT}", "area 1 1 ratio 0.01 100 flip 1", "area 0.01 0.01 ratio 1 1"],
                         ids=["crop", "rotation", "scale", "both", "light", "all", "whole", "small"])
def test_levels_are_torchvision_s(files, recipe):
    numbers, ours = augment(files, recipe)
    images = {path: Image.open(path).convert("RGB") for path in set(files)}
    wrong = [(path.name, one) for path, one, levels in zip(files, numbers, ours)
             if not np.array_equal(levels, torchvision_levels(images[path], *one))]
    assert not wrong, f"{len(wrong)} of {len(files)}: {wrong[:5]}"


def test_crops_have_torchvision_s_distribution():
    """The two-sample Kolmogorov-Smirnov distance of area and ratio of the crops, in pixels, of the generators of both."""
    torch, transforms = pytest.importorskip("torch"), pytest.importorskip("torchvision.transforms")
    count = 3000
    torch.manual_seed(1)
    picture = torch.zeros(3, 375, 500)
    theirs = np.array([transforms.RandomResizedCrop.get_params(picture, (0.08, 1), (0.75, 4 / 3)) for _ in range(count)], float)
    ours = np.array(augment(["500x375"] * count, CROP)[0])[:, [1, 0, 3, 2]]  # top, left, height, width
    for name, of in dict(area=lambda c: c[:, 2] * c[:, 3], ratio=lambda c: c[:, 3] / c[:, 2], left=lambda c: c[:, 1], top=lambda c: c[:, 0]).items():
        a, b = np.sort(of(ours)), np.sort(of(theirs))
        at = np.concatenate([a, b])
        distance = np.abs(np.searchsorted(a, at, "right") - np.searchsorted(b, at, "right")).max() / count
        assert distance * np.sqrt(count / 2) < 1.95, (name, distance)


def test_noise_is_normal_with_the_standard_deviation(tmp_path):
    Image.new("RGB", (224, 224), (128, 128, 128)).save(tmp_path / "grey.jpg")
    _, levels = augment([tmp_path / "grey.jpg"] * 4, f"area 1 1 ratio 1 1 flip 0 {NOISE}")
    noise = (levels.astype(float) - 128) / (255 * 0.05)
    assert abs(noise.mean()) < 0.01 and abs(noise.std() - 1) < 0.01 and abs((noise ** 4).mean() - 3) < 0.05
    assert len({image.tobytes() for image in levels}) == 4
    assert abs(np.corrcoef(noise[0, 0].ravel(), noise[0, 1].ravel())[0, 1]) < 0.02


def test_seed_and_epoch_change_the_image_and_nothing_else_does(files):
    few = files[:4]
    one, same, epoch, seed = (augment(few, f"{CROP} {LIGHT} {NOISE}", *key)[1].tobytes() for key in ((1, 0), (1, 0), (1, 1), (2, 0)))
    assert one == same and len({one, epoch, seed}) == 3
