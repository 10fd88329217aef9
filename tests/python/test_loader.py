"""rue_tuner.Loader: pixels, labels and names of every format, as torchvision makes them, whatever the options."""
import itertools
import json
import shutil
import subprocess
import warnings

import pytest
from conftest import PROGRAM
from small_data import FORMATS, PHOTOS, content, prepare, run_python, small  # noqa: F401: a fixture
from test_transform_pil import MEAN, STD, levels

np = pytest.importorskip("numpy", reason="NumPy is not installed (python3-numpy)")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (python3-pil)")
torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import rue_tuner as rue  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:more than hold")


@pytest.fixture(scope="module")
def formats(small):
    for name, words in FORMATS.items():
        if not (small / name).exists():
            prepare(*words, small / "photos", small / name)
    return small


@pytest.fixture(scope="module")
def truth(small):
    """(levels, labels, names) of the photos, in the order of the data."""
    files = sorted((small / "photos").rglob("*.jpg"))
    return np.stack([levels(file) for file in files]), [int(file.parent.name[6:]) for file in files], [f"{file.parent.name}/{file.name}" for file in files]


def normalised(pixels):
    """As ToTensor and Normalize."""
    return (pixels.astype(np.float32) / np.float32(255) - MEAN) / STD


def whole(batches):
    return [np.concatenate([np.asarray(part) for part in parts]) for parts in zip(*batches)]


@pytest.mark.parametrize("output", ["torch", "numpy"])
@pytest.mark.parametrize("name", ["photos", *FORMATS])
def test_every_format_gives_the_pixels_labels_and_names(formats, truth, name, output):
    pixels, labels, names = truth
    for dtype, wanted in dict(float32=normalised(pixels), uint8=pixels).items():
        if dtype == "uint8" and name in ("float32.tensor", "float32.zarr", "npy.lmdb"):
            continue
        loader = rue.Loader(formats / name, batch_size=5, dtype=dtype, output=output, returns=("images", "labels", "items"))
        images, found, items = whole(loader)
        assert images.dtype == dtype and images.shape == wanted.shape and np.array_equal(images, wanted), name
        assert found.dtype == np.int64 and found.tolist() == labels and items.tolist() == list(range(PHOTOS))
        assert loader.classes == [f"class_{i}" for i in range(10)] and loader.class_to_idx["class_7"] == 7
        assert len(loader) == 5 and loader.images == len(loader.sampler) == PHOTOS
        if "tensor" not in name and "zarr" not in name:
            assert all(loader.key(i).replace("photos/", "").split(".")[0] == names[i].split(".")[0] for i in range(PHOTOS))


@pytest.mark.parametrize("orientation", ["ignore", "apply"])
def test_files_of_all_types_and_orientations(tmp_path, orientation):
    """Also of PyTorch's runner, which decodes with PIL."""
    from PIL import ImageOps
    from rue_tuner.stored_data import PhotoFolder
    exif, wanted, folder = Image.Exif(), [], tmp_path / "data/class"
    exif[0x0112] = 6
    folder.mkdir(parents=True)
    for number, kind in enumerate(("JPEG", "PNG", "WEBP", "GIF", "BMP")):
        image = Image.effect_noise((300, 250 + number), 60).convert("P" if kind == "GIF" else "RGB")
        image.save(folder / f"{number}.jpg", kind, exif=exif)  # the name does not matter
        with Image.open(folder / f"{number}.jpg") as opened:
            (ImageOps.exif_transpose(opened) if orientation == "apply" else opened).convert("RGB").save(tmp_path / "one.png")
        wanted.append(levels(tmp_path / "one.png"))
    loader = rue.Loader(tmp_path / "data", batch_size=5, orientation=orientation, dtype="uint8", returns="images", output="numpy")
    assert np.array_equal(next(iter(loader)), np.stack(wanted))
    theirs = PhotoFolder(dict(path=str(tmp_path / "data")), "uint8", orientation=orientation)
    assert all(np.array_equal(theirs[i][0], wanted[i]) for i in range(5))


@pytest.mark.parametrize("preset", ["mild", "moco-v3-2", "deit"])
def test_training_gives_torchvision_s_pixels_with_the_parameters_of_rue_augment(formats, truth, preset):
    pytest.importorskip("torchvision.transforms.functional", reason="torchvision is not installed (python3-torchvision)")
    from test_operations import apply
    text = subprocess.run([PROGRAM, "augment", "--count", str(PHOTOS), "--seed", "3", "--epoch", "2", "--preset", preset], check=True, capture_output=True, text=True)
    drawn = [json.loads(line) for line in text.stdout.splitlines()]
    interpolation = "bicubic" if preset == "deit" else "bilinear"  # timm's operations have that of the crop
    for dtype in ("uint8", "float32"):
        loader = rue.Loader(formats / "photos", transform="train", augment=preset, interpolation=interpolation, seed=3, drop_last=False, batch_size=4, dtype=dtype, returns=("images", "items"),
                            output="numpy")
        loader.set_epoch(2)
        for pixels, item in ((one, item) for images, items in loader for one, item in zip(images, items)):
            image, row = Image.open(formats / "photos" / truth[2][item]), drawn[item]
            width, height = (round((image.width * image.height * row["area"] * ratio) ** 0.5) for ratio in (row["ratio"], 1 / row["ratio"]))
            if width > image.width or height > image.height:
                continue  # another attempt, which test_augmented_pixels.py compares
            left, top = int(row["x"] * (image.width - width + 1)), int(row["y"] * (image.height - height + 1))
            image = image.convert("RGB").crop((left, top, left + width, top + height)).resize((224, 224), getattr(Image, interpolation.upper()))
            operations = row.get("operations", [["flip"]] * row["flip"])
            wanted = apply(image, [(one + [0, 0])[:3] for one in operations]).transpose(2, 0, 1)
            assert np.array_equal(pixels, normalised(wanted) if dtype == "float32" else wanted), item
        assert loader.epoch == 3


def test_a_recipe_as_a_dict_is_that_of_its_text(formats):
    recipe = {"jitter": {"hue": 0.1, "saturation": 0.2, "contrast": 0.4, "brightness": 0.4, "probability": 0.8}, "grayscale": 0.2,
              "blur": {"probability": 0.1, "range": [0.1, 2]}, "solarize": {"range": [128, 128], "probability": 0.2}}
    contents = [content(rue.Loader(formats / "photos", batch_size=4, dtype="uint8", transform="train", augment=augment)) for augment in (recipe, "moco-v3-2", "mild")]
    assert contents[0] == contents[1] != contents[2]


SETTINGS = [dict(num_workers=workers, **more) for workers in (0, 1, 2, 8)
            for more in (dict(), dict(parallelism="sample"), dict(prefetch_factor=5), dict(max_queue_size=1), dict(output="numpy"), dict(hold=9))]


@pytest.mark.parametrize("recipe", [dict(), dict(transform="train", augment="aggressive"), dict(rank=1, world_size=3, shuffle=True)], ids=["eval", "train", "rank"])
def test_an_epoch_is_the_same_for_all_settings(formats, recipe):
    reads = [dict(read=read, num_workers=2) for read in ("batch", "item")]
    hashes = {str(knobs): content(rue.Loader(formats / "photos", batch_size=4, dtype="uint8", **recipe, **knobs)) for knobs in (*SETTINGS, *reads)}
    assert len(set(hashes.values())) == 1, hashes


@pytest.mark.parametrize("name", ["photos.lmdb", "photos.csv", "webdataset", "tfrecord"])
def test_all_raw_formats_train_alike(formats, name):
    first, second = (content(rue.Loader(formats / where, transform="train", shuffle=False, batch_size=4)) for where in ("photos", name))
    assert first == second


@pytest.mark.parametrize("returns, kind", [("images", torch.Tensor), ("keys", list), (["labels"], tuple), ({"pixel_values": "images", "names": "keys"}, dict),
                                           (("keys", "items", "labels", "images"), tuple)])
def test_a_batch_has_what_returns_says(small, truth, returns, kind):
    loader = rue.Loader(small / "photos", batch_size=3, returns=returns)
    batch = next(iter(loader))
    assert type(batch) is kind and truth[2][:3] == ["class_0/photo_00000.jpg", "class_0/photo_00010.jpg", "class_0/photo_00020.jpg"]
    if kind is dict:
        assert list(batch) == ["pixel_values", "names"] and batch["names"] == truth[2][:3] and batch["pixel_values"].shape == (3, 3, 224, 224)
    elif len(returns) == 4 and kind is tuple:
        keys, items, labels, images = batch
        assert keys == [loader.key(item) for item in items] == truth[2][:3] and labels.tolist() == [0, 0, 0] and len(images) == 3


@pytest.mark.parametrize("output, dtype", [*itertools.product(("torch", "numpy"), ("int64", "int32", "float32", "uint8"))])
def test_labels_have_the_type_that_is_asked_for(small, output, dtype):
    labels = next(iter(rue.Loader(small / "uint8.tensor", batch_size=12, output=output, label_dtype=dtype)))[1]
    assert str(labels.dtype).endswith(dtype) and labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4]


def test_dlpack_shares_memory_and_keeps_the_batch(small, truth):
    loader = rue.Loader(small / "photos", batch_size=4, dtype="uint8", num_workers=1)
    arrays = []
    for images, _ in itertools.islice(loader, 2):
        arrays.append(np.from_dlpack(images))
        assert arrays[-1].ctypes.data == images.data_ptr()
    del images
    list(itertools.islice(loader, 3))
    assert np.array_equal(np.concatenate(arrays), truth[0][:8])


def test_data_without_labels_warn_once(small, tmp_path):
    for i, photo in enumerate(sorted((small / "photos").rglob("*.jpg"))[:3]):
        (tmp_path / f"{i}.jpg").write_bytes(photo.read_bytes())
    with pytest.warns(UserWarning, match="label"):
        loader = rue.Loader(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert next(iter(loader))[1].tolist() == [0, 0, 0] and loader.classes == [] and loader.with_(batch_size=2).class_to_idx == {}


def test_the_knobs_are_those_of_recommendation_json(small):
    config = dict(batch_size=3, num_workers=2, prefetch_factor=4, parallelism="sample", pin_memory=True, max_queue_size=3, read="item", batch_strategy="fixed")
    loader = rue.Loader(small / "photos", **json.loads(json.dumps(config)))
    assert loader.config == config and [len(images) for images, _ in loader] == [3] * 7 + [1]


@pytest.mark.parametrize("strategy", ["round-robin", "memory", "adaptive"])
def test_every_strategy_delivers_each_image_once(small, strategy):
    loader = rue.Loader(small / "photos", batch_size=4, batch_strategy=strategy, returns="items", num_workers=2)
    for _ in range(2):
        assert sorted(item for items in loader for item in items.tolist()) == list(range(PHOTOS))
    if strategy != "round-robin":
        pytest.raises(TypeError, len, loader)


def test_importing_needs_neither_torch_nor_numpy(small):
    code, out, err = run_python("""
        import sys
        loaded = lambda: [name for name in ("torch", "numpy", "PIL") if name in sys.modules]
        rue.Loader
        loader = rue.Loader("photos", batch_size=2, output=sys.argv[1])
        len(loader), loader.state_dict(), repr(loader)
        print(loaded())
        next(iter(loader))
        print("torch" in loaded())
    """, "numpy", cwd=small)
    assert (code, out, err) == (0, "[]\nFalse\n", ""), err


def test_a_locale_with_a_decimal_comma_changes_nothing(small, tmp_path):
    (tmp_path / "source").write_text('LC_NUMERIC\ndecimal_point ","\nthousands_sep "."\ngrouping 3;3\nEND LC_NUMERIC\n')
    if not shutil.which("localedef") or subprocess.run(["localedef", "-c", "-i", tmp_path / "source", "-f", "UTF-8", tmp_path / "comma.UTF-8"], capture_output=True).returncode > 1:
        pytest.skip("skipped: localedef cannot make a locale (package locales)")
    code, out, err = run_python("""
        import locale
        for name in ("C", "comma.UTF-8"):
            assert locale.localeconv()["decimal_point"] == "."
            locale.setlocale(locale.LC_NUMERIC, name)
            loader = rue.Loader("photos", batch_size=2, transform="train", augment={"area": [0.25, 0.5]}, output="numpy")
            print(next(iter(loader))[0].sum())
    """, cwd=small, LOCPATH=tmp_path)
    assert (code, err) == (0, "") and len(set(out.splitlines())) == 1 and len(out.splitlines()) == 2, out + err
