"""Sizes, filters, normalisation and order of the values: those of torchvision for PIL images, and what is refused."""
import pytest
from conftest import expect_failure
from small_data import PHOTOS, prepare, small  # noqa: F401: a fixture

np = pytest.importorskip("numpy", reason="NumPy is not installed (python3-numpy)")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (python3-pil)")
torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
functional = pytest.importorskip("torchvision.transforms.functional", reason="torchvision is not installed (python3-torchvision)")
import rue_tuner  # noqa: E402

IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
NORMALS = {"clip": ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)), "inception": ((0.5,) * 3, (0.5,) * 3),
           "none": ((0.0,) * 3, (1.0,) * 3)}
FILTERS = {"bilinear": functional.InterpolationMode.BILINEAR, "bicubic": functional.InterpolationMode.BICUBIC}

# Options, and the Resize that they stand for.
CASES = [
    (dict(image_size=96), 109), (dict(image_size=384, crop_pct=1.0, interpolation="bicubic"), 384),
    (dict(image_size=(60, 100), interpolation="bicubic", mean="clip", std="clip"), 68), (dict(image_size=224, crop_pct=0.95, mean="none", std="none"), 235),
    (dict(image_size=299, resize="exact", mean="inception", std="inception"), [299, 299]), (dict(image_size=(10, 31), resize=(128, 20)), [128, 20]),
    (dict(image_size=700, resize="none"), None), (dict(image_size="150x33", resize=140, interpolation="bicubic"), 140),
    (dict(image_size=64, resize=64, channels=1, mean=[0.1307], std=[0.3081]), 64), (dict(image_size=17, layout="nhwc", interpolation="bicubic"), 19),
    (dict(layout="nhwc", channels=1, mean=0.5, std=0.25), 256), (dict(image_size=1), 1),
]


def transformed(path, options, resize):
    """The levels, and the values, channels first."""
    image = Image.open(path).convert("L" if options.get("channels") == 1 else "RGB")
    size = options.get("image_size", 224)
    size = [int(side) for side in size.split("x")] if isinstance(size, str) else size
    if resize is not None:
        image = functional.resize(image, resize, FILTERS[options.get("interpolation", "bilinear")])
    image = functional.center_crop(image, size)
    given = options.get("mean", IMAGENET[0]), options.get("std", IMAGENET[1])
    mean, std = NORMALS[given[0]] if isinstance(given[0], str) else given
    return functional.pil_to_tensor(image), functional.normalize(functional.to_tensor(image), mean, std)


@pytest.mark.parametrize("options, resize", CASES, ids=str)
def test_values_are_those_of_torchvision(small, options, resize):
    levels_only = {name: value for name, value in options.items() if name not in ("mean", "std")}
    for which, chosen in enumerate((dict(levels_only, dtype="uint8"), options)):
        with rue_tuner.Loader(small / "photos", batch_size=8, **chosen) as loader:
            for item, image in enumerate(next(iter(loader))[0]):
                wanted = transformed(small / "photos" / loader.key(item), options, resize)[which]
                assert torch.equal(image, wanted.permute(1, 2, 0) if options.get("layout") == "nhwc" else wanted), (item, options)


def test_preprocessed_data_have_the_size_that_was_asked_for(small, rue):
    words = ["--image-size", "48x64", "--interpolation", "bicubic", "--mean", "0.5,0.5,0.5", "--std", "0.5,0.5,0.5"]
    assert rue("prepare", small / "photos", "small.tensor", "--quiet", *words).returncode == 0
    options = dict(image_size=(48, 64), interpolation="bicubic", mean=(0.5,) * 3, std=(0.5,) * 3)
    made, now = rue_tuner.Loader(rue.folder / "small.tensor", batch_size=PHOTOS), rue_tuner.Loader(small / "photos", batch_size=PHOTOS, **options)
    assert torch.equal(next(iter(made))[0], next(iter(now))[0])
    line = "small.tensor was prepared with image_size 48x64, and image_size 96x96 is asked for: prepare the images again, or leave the option out"
    with pytest.raises(ValueError, match=line):
        next(iter(rue_tuner.Loader(rue.folder / "small.tensor", image_size=96)))
    expect_failure(rue("tune", "small.tensor", "--image-size", "96", "--quiet", "--out", "out"), 2, line)


WRONG = {
    "--image-size 0": "image_size '0': expected a side, or height x width such as 160x224, each from 1 to 16384",
    "--image-size 20000": "image_size '20000': expected a side", "--image-size 224x": "image_size '224x'", "--image-size 1x1x1": "image_size '1x1x1'",
    "--image-size -5": "image_size '-5'", "--crop-pct 0": "crop_pct '0': expected a number above 0, up to 1", "--crop-pct 1.5": "crop_pct '1.5'",
    "--crop-pct nan": "crop_pct 'nan'", "--crop-pct 1e-9": "crop_pct 1e-9 makes a short side of more than 16384 pixels", "--resize 0x3": "resize '0x3': expected the short side such as 256",
    "--resize extact": "resize 'extact'", "--channels 2": "channels 2: expected 3 (RGB) or 1 (grey)", "--mean 1,2 --std clip": "mean '1,2': expected three numbers such as 0.5,0.5,0.5",
    "--mean 0,0,inf --std clip": "mean '0,0,inf'", "--mean clip --std 1,0,1": "std '1,0,1': 0 cannot divide", "--mean imagnet --std clip": "did you mean 'imagenet'?",
    "--image-size 1000 --crop-pct 0.01": "crop_pct 0.01 makes a short side of more than 16384 pixels", "--mean clip": "std is missing: give mean and std together",
    "--std 1,1,1": "mean is missing", "--resize 300 --crop-pct 0.5": "crop_pct 0.5 has no effect with resize 300", f"--mean {'1' * 90} --std clip": "mean 'too long'",
    "--channels 1 --mean 1,1,1 --std 1": "mean '1,1,1': expected a number", "--interpolation lanczos": "'lanczos' is not one of bilinear, bicubic",
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_values_are_one_line(rue, words):
    assert rue("prepare", "--synthetic", "2", "photos", "--quiet").returncode == 0
    for command in (["tune", "photos", "--dry-run"], ["prepare", "photos", "other.tensor"]):
        expect_failure(rue(*command, *words.split()), 2, WRONG[words])


def test_geometry_that_changes_nothing_is_refused(rue):
    assert rue("prepare", "--synthetic", "4", "photos", "--quiet").returncode == 0
    assert rue("prepare", "photos", "u8.tensor", "--dtype", "uint8", "--quiet").returncode == 0
    for words, said in ((["--synthetic", "4", "new"], "has no effect on --synthetic"), (["photos", "copy.lmdb"], "add --mode preprocessed"),
                        (["u8.tensor", "again.tensor"], "remove it, or convert the images instead")):
        expect_failure(rue("prepare", *words, "--image-size", "64"), 2, "--image-size", said)


@pytest.mark.parametrize("options", [dict(layout="nhwc"), dict(channels=1, mean=(0.4,), std=(0.3,)), dict(mean="clip", std="clip")], ids=str)
def test_levels_that_were_prepared_are_normalised_as_images_are(small, tmp_path, options):
    words = [part for name, value in options.items() if name in ("layout", "channels") for part in (f"--{name}", str(value))]
    prepare("--dtype", "uint8", *words, small / "photos", tmp_path / "levels.tensor")
    images, levels = (next(iter(rue_tuner.Loader(path, batch_size=PHOTOS, **options)))[0] for path in (small / "photos", tmp_path / "levels.tensor"))
    assert torch.equal(images, levels)


def test_a_study_measures_the_size_that_was_asked_for(rue):
    assert rue("prepare", "--synthetic", "64", "photos", "--quiet").returncode == 0
    words = ["--model", "none", "--batch-size", "8", "--num-workers", "1", "--image-size", "32x48", "--interpolation", "bicubic", "--quiet", "--out", "out"]
    assert rue("tune", "photos", *words).returncode in (0, 5)
    result = rue_tuner.load(rue.folder / "out")
    loader = result.loader(data=rue.folder / "photos")
    assert next(iter(loader))[0].shape[1:] == (3, 32, 48) and loader.options["interpolation"] == "bicubic"
    assert rue("tune", "photos", *words).returncode in (0, 5), "the study continues"
    done = rue("tune", "photos", "--model", "resnet50", "--device", "host", "--image-size", "32", "--out", "other", "--batch-size", "8")
    expect_failure(done, 2, "models that compute need images of 3 x 224 x 224")


def crops_of(small, **options):
    """(levels, image, item) of a loader for training."""
    loader = rue_tuner.Loader(small / "photos", batch_size=PHOTOS, transform="train", dtype="uint8", returns=("images", "items"), **options)
    for levels, item in zip(*next(iter(loader))):
        yield levels, Image.open(small / "photos" / loader.key(item)).convert("RGB"), int(item)


def test_random_crops_have_a_border(small):
    places = set()
    for levels, image, item in crops_of(small, image_size=32, resize=40, augment=dict(random_crop=dict(probability=1, padding=4), flip=0)):
        whole = functional.pil_to_tensor(functional.pad(functional.resize(image, 40), 4))
        windows = whole.unfold(1, 32, 1).unfold(2, 32, 1)  # channel, top, left, rows, columns
        places.update(map(tuple, (windows == levels[:, None, None]).all(-1).all(-1).all(0).nonzero().tolist()))
        assert len(places) >= 1, item
    assert len(places) > PHOTOS // 2, "they lie at random"
    for levels, _, item in crops_of(small, image_size=700, resize="none", augment=dict(random_crop=dict(probability=1, padding=0))):
        assert levels.shape == (3, 700, 700) and (levels == 0).all(0).any(), f"photo {item} is smaller, and has a border"


def test_the_filter_of_a_crop_can_be_random(small):
    used = {name: 0 for name in FILTERS}
    for levels, image, _ in crops_of(small, image_size=64, interpolation="random", augment=dict(area=[1, 1], ratio=[1, 1], flip=0)):
        side, (width, height) = min(image.size), image.size
        box = functional.crop(image, (height - side) // 2, (width - side) // 2, side, side)
        for name, one in FILTERS.items():
            used[name] += torch.equal(functional.pil_to_tensor(functional.resize(box, [64, 64], one)), levels)
    assert min(used.values()) > 2 and sum(used.values()) == PHOTOS, used
    with pytest.raises(ValueError, match="unless transform is train"):
        rue_tuner.Loader(small / "photos", interpolation="random")
