"""`rue prepare` against PIL: Resize(256) CenterCrop(224) ToTensor Normalize, equal in every bit.

The program is $RUE_PROGRAM, or else the one of the build folders. Real photos are taken from $RUE_SHARED, or else from
`shared` beside the checkout, where they are there.
"""

import os
import pathlib
import shutil
import subprocess

import pytest

np = pytest.importorskip("numpy")
PIL = pytest.importorskip("PIL")
Image = pytest.importorskip("PIL.Image")
ImageFile = pytest.importorskip("PIL.ImageFile")

ROOT = pathlib.Path(__file__).resolve().parents[3]
SHARED = pathlib.Path(os.environ.get("RUE_SHARED", ROOT.parent / "shared"))
MEAN = np.array([0.485, 0.456, 0.406], np.float32).reshape(3, 1, 1)
STD = np.array([0.229, 0.224, 0.225], np.float32).reshape(3, 1, 1)
CROP, RESIZE = 224, 256
ITEMS = 3 * CROP * CROP
UINT8_STRIDE = 151552  # ITEMS rounded up to pages
ANOTHER_ORDER = tuple(map(int, PIL.__version__.split(".")[:2])) >= (12, 2)  # see RUE_PILLOW in engine/decode/resample.h
ImageFile.MAXBLOCK = 1 << 24  # PIL cannot save progressive noise into its usual buffer

SIZES = {
    "landscape": (500, 375),
    "portrait": (375, 500),
    "square": (300, 300),
    "one_pixel": (1, 1),
    "two_by_three": (2, 3),
    "three_by_two": (3, 2),
    "crop_itself": (224, 224),
    "resized_itself": (256, 256),
    "resized_side": (256, 391),
    "one_less": (255, 257),
    "one_more": (257, 255),
    "narrow_upsampled": (223, 400),
    "upsampled": (300, 200),
    "large": (3000, 2000),
    "tall_strip": (10, 1000),
    "wide_strip": (1000, 10),
    "taller_strip": (10, 4000),
    "wider_strip": (4000, 10),
    "odd": (479, 333),
    "odd_both_crops": (301, 517),
    "twice_as_tall": (300, 600),
    "tall": (300, 700),
    "taller": (400, 1700),
}


def program():
    named = [os.environ["RUE_PROGRAM"]] if "RUE_PROGRAM" in os.environ else []
    for path in map(pathlib.Path, named or [ROOT / "build/asan/rue", ROOT / "build/release/rue"]):
        if path.exists():
            return path
    pytest.skip("the rue program is not built")


def prepare(source, target, dtype):
    command = [program(), "prepare", source, target, "--mode", "preprocessed", "--format", "tensor", "--dtype", dtype]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    count = len(list(source.glob("*/*")))
    if dtype == "uint8":
        pages = np.memmap(target, "u1", "r", 4096, (count, UINT8_STRIDE))
        return pages[:, :ITEMS].reshape(-1, 3, CROP, CROP)
    return np.memmap(target, "<f4", "r", 4096, (count, 3, CROP, CROP))


def resize(image, size):
    """Pillow's resize(), horizontally first in every version."""
    if ANOTHER_ORDER:
        image = image.resize((size[0], image.height), Image.BILINEAR)
    return image.resize(size, Image.BILINEAR)


def levels(path):
    """What PIL makes of the file, CHW."""
    with Image.open(path) as opened:
        image = opened.convert("RGB")
    width, height = image.size
    if width <= height:
        size = RESIZE, int(RESIZE * height / width)
    else:
        size = int(RESIZE * width / height), RESIZE
    if size != image.size:
        image = resize(image, size)
    left, top = (int(round((side - CROP) / 2.0)) for side in size)
    return np.asarray(image.crop((left, top, left + CROP, top + CROP))).transpose(2, 0, 1)


def tensor(path):
    return (levels(path).astype(np.float32) / np.float32(255) - MEAN) / STD


REFERENCE = {"uint8": levels, "float32": tensor}


def picture(rng, width, height):
    """Edges, gradients and noise: a filter that is off anywhere shows."""
    y, x = np.mgrid[0:height, 0:width]
    smooth = np.stack([255 * x / max(width - 1, 1), 255 * y / max(height - 1, 1), (x // 5 + y // 3) % 2 * 255], -1)
    noise = rng.integers(0, 256, (height, width, 3))
    return Image.fromarray(np.where(rng.random((height, width, 1)) < 0.4, noise, smooth).astype(np.uint8))


def save_cases(folder):
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    for name, (width, height) in SIZES.items():
        image = picture(rng, width, height)
        image.save(folder / f"{name}.jpg", quality=92)
        if width * height <= 10**6:
            image.save(folder / f"{name}_progressive.jpg", quality=80, progressive=True, subsampling=0)
            image.convert("L").save(folder / f"{name}_grey.jpg", quality=85)
    image = picture(rng, 401, 303)
    for subsampling, name in enumerate(("444", "422", "420")):
        for progressive in (False, True):
            image.save(folder / f"chroma_{name}_{progressive}.jpg", subsampling=subsampling, progressive=progressive)
    image.save(folder / "restarts.jpg", restart_marker_rows=1)  # older PIL leaves them out
    image.save(folder / "coarse.jpg", quality=3)
    image.save(folder / "finest.jpg", quality=100, subsampling=0)
    image.save(folder / "optimized.jpg", optimize=True)
    picture(rng, 401, 303).convert("L").save(folder / "grey_progressive.jpg", progressive=True)
    Image.new("RGB", (500, 400), "white").save(folder / "white.jpg", quality=100)
    Image.new("RGB", (500, 400), "black").save(folder / "black.jpg", quality=100)


def assert_same_bits(ours, paths, reference):
    assert len(ours) == len(paths)
    wrong = []
    for item, path in zip(ours, paths):
        theirs = reference(path)
        if not np.array_equal(item.view(np.uint8), np.ascontiguousarray(theirs).view(np.uint8)):
            wrong.append(f"{path.name}: {np.count_nonzero(item != theirs)} values differ")
    assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    source = tmp_path_factory.mktemp("cases") / "images"
    save_cases(source / "class")
    return source


@pytest.fixture(scope="module")
def photos():
    source = SHARED / "photos"
    if not source.is_dir():
        pytest.skip("shared/photos is not there")
    return source


@pytest.mark.parametrize("dtype", sorted(REFERENCE))
def test_generated_images_are_pil_s(cases, tmp_path, dtype):
    assert_same_bits(prepare(cases, tmp_path / "out.tensor", dtype), sorted(cases.glob("*/*")), REFERENCE[dtype])


@pytest.mark.parametrize("dtype", sorted(REFERENCE))
def test_photos_are_pil_s(photos, tmp_path, dtype):
    assert_same_bits(prepare(photos, tmp_path / "out.tensor", dtype), sorted(photos.glob("*/*")), REFERENCE[dtype])


@pytest.mark.skipif(ANOTHER_ORDER, reason="skipped: Pillow 12.2 and later resize tall images in another order")
@pytest.mark.parametrize("folder", ["cases", "photos"])
def test_tensors_are_torchvision_s(folder, request, tmp_path):
    transforms = pytest.importorskip("torchvision.transforms")
    source = request.getfixturevalue(folder)
    compose = transforms.Compose(
        [
            transforms.Resize(RESIZE),
            transforms.CenterCrop(CROP),
            transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )

    def reference(path):
        with Image.open(path) as image:
            return compose(image.convert("RGB")).numpy()

    assert_same_bits(prepare(source, tmp_path / "out.tensor", "float32"), sorted(source.glob("*/*")), reference)


def test_truncated_image_is_refused_by_name(photos, tmp_path):
    folder = tmp_path / "images" / "class"
    folder.mkdir(parents=True)
    whole = sorted(photos.glob("*/*"))[0]
    shutil.copy(whole, folder / "a_whole.jpg")
    data = whole.read_bytes()
    (folder / "b_cut.jpg").write_bytes(data[: len(data) // 2])
    command = [program(), "prepare", folder.parent, tmp_path / "out.tensor", "--mode", "preprocessed"]
    command += ["--format", "tensor", "--dtype", "uint8"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 3
    assert "b_cut.jpg" in done.stdout + done.stderr and "truncated" in done.stdout + done.stderr
