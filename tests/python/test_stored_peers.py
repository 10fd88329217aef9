"""Folders and Zarr stores as the PyTorch runner reads them: the same items, labels and refusals as of rue itself."""
import csv
import json
import os
import pathlib
import random
import shutil
import subprocess

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed (python3-numpy)")
pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
pytest.importorskip("PIL.Image", reason="Pillow is not installed (python3-pil)")

import wording
from conftest import clean_environment  # noqa: E402
from rue_tuner import stored_data  # noqa: E402
from rue_tuner.errors import Refused  # noqa: E402

READ = (".jpg", ".jpeg", ".jpe", ".png", ".webp", ".gif", ".bmp")


@pytest.fixture
def rue(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: subprocess.run([program, *arguments], env=clean_environment(), capture_output=True, text=True)


# ---- folders

NAMES = ["1.jpg", "2.JPEG", "3.png", "4.jpe", ".5.jpg", "6.txt", "7.tif", "a.jpg", "a-b.jpg"]


def grow(folder, draw, depth):
    for name in draw.sample(NAMES, draw.randint(0, 3)):
        (folder / name).write_text("x")
    for name in draw.sample(["a", "a-b", "b", ".c", "d"], draw.randint(0, 2)) if depth else []:
        (folder / name).mkdir()
        grow(folder / name, draw, depth - 1)


def make_tree(root, draw, links=True):
    root.mkdir()
    for name in draw.sample(["a", "a-b", "A", ".h", "z", "k\u00e4se", "b.jpg"], draw.randint(2, 5)):
        (root / name).mkdir()
        grow(root / name, draw, 2)
    folders = [path for path in root.rglob("*") if path.is_dir()]
    for i in range(draw.randint(0, 5) if links else 0):
        place = draw.choice([root, *folders]) / f"{draw.choice('.amz')}link{i}{draw.choice(['', '.jpg', '.png'])}"
        place.symlink_to(draw.choice([root, *folders, root / "absent", place, "/dev/null", next((f for f in root.rglob("1.jpg")), root)]))
    return dict(path=str(root), mode="raw", format="folder")


def listed(rue, root):
    """The items of rue's index: (path, number of the class); None: rue refuses the folder."""
    if rue("prepare", root, "list.csv", "--force").returncode:
        return None
    classes = [entry["name"] for entry in json.loads(rue("inspect", root, "--json").stdout)["classes"]]
    with open("list.csv", newline="", encoding="utf-8") as file:
        rows = [(row["path"], row.get("label") or "0") for row in csv.DictReader(file)]
    return [(os.path.abspath(path), classes.index(label) if label in classes else int(label)) for path, label in rows]


def samples(variant):
    try:
        return stored_data.PhotoFolder(variant).samples
    except Refused:
        return []


@pytest.mark.parametrize("seed", range(25))
def test_folders_have_the_items_and_classes_of_rue(rue, tmp_path, seed):
    variant = make_tree(tmp_path / "tree", random.Random(seed))
    ours, theirs = samples(variant), listed(rue, variant["path"])
    images = [sample for sample in ours if sample[0].lower().endswith(READ)]
    if images or theirs and any(os.path.dirname(path) != variant["path"] for path, _ in theirs):  # else rue reads the files beside the classes
        assert images == theirs


@pytest.mark.parametrize("seed", range(25))
def test_folders_have_the_classes_of_torchvision(tmp_path, seed):
    datasets = pytest.importorskip("torchvision.datasets", reason="torchvision is not installed")
    variant = make_tree(tmp_path / "tree", random.Random(seed), links=False)
    for folder in list((tmp_path / "tree").iterdir()):
        if not any(datasets.folder.is_image_file(name) for _, _, names in os.walk(folder) for name in names):
            shutil.rmtree(folder)  # torchvision refuses them
    theirs = datasets.ImageFolder(variant["path"]).samples if os.listdir(variant["path"]) else []
    hidden = lambda path: any(part[0] == "." for part in pathlib.Path(path).relative_to(variant["path"]).parts)
    ours = [sample for sample in samples(variant) if not sample[0].endswith(".jpe")]
    assert sorted(ours) == sorted(sample for sample in theirs if not hidden(sample[0]))


def test_a_folder_behind_many_links_is_read_once_in_each_class(rue, tmp_path):
    for level in range(40):
        above, below = tmp_path / f"tree/level{level}", tmp_path / f"tree/level{level + 1}"
        below.mkdir(parents=True)
        above.mkdir(exist_ok=True)
        for name in "one", "two":
            (above / name).symlink_to(below)
    (below / "image.jpg").write_text("x")
    variant = dict(path=str(tmp_path / "tree"), mode="raw", format="folder")
    assert samples(variant) == listed(rue, variant["path"]) and len(samples(variant)) == 41
    note = stored_data.StoredData().open(dict(variant=variant))["note"]
    assert note.startswith("files skipped: ") and note.endswith("tree/level0/two, a link to a folder that is read already")


def test_what_is_no_image_and_no_class_is_said(tmp_path):
    for name in "a/1.jpg", "a/notes.txt", "b/c/more.txt", "beside.jpg":
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    os.symlink("absent.jpg", tmp_path / "a/broken.jpg")
    note = stored_data.PhotoFolder(dict(path=str(tmp_path))).facts["note"]
    assert note == f"files skipped: 4, such as {tmp_path}/beside.jpg; folders without an image: 1, such as b, which are not classes"


# ---- Zarr stores

IMAGES = np.random.default_rng(3).integers(0, 255, (6, 3, 4, 5)).astype("u1")
FIELDS, LABELS = IMAGES[:, 0].astype("f4"), np.array([3, 1, 2, 0, 1, 5])


def write(path, attributes=None, missing=(), **arrays):
    """Each array is its values, or (values, attributes); `missing`: files of chunks."""
    zarr = pytest.importorskip("zarr", reason="zarr is not installed (python3-zarr)")
    group = zarr.open_group(str(path), mode="w", **({} if zarr.__version__.startswith("2.") else dict(zarr_format=2)))
    make = getattr(group, "create_array", None) or group.create_dataset
    group.attrs.update(attributes or {})
    for name, array in arrays.items():
        values, more = array if isinstance(array, tuple) else (array, {})
        values = np.asarray(values)
        made = make(name, shape=values.shape, dtype=values.dtype, chunks=(2, *values.shape[1:]) if values.shape else (), fill_value=4)
        made[...] = values
        made.attrs.update(more)
    for name in missing:
        os.remove(path / name)


def axes(values, *names):
    return values, dict(_ARRAY_DIMENSIONS=names)


STORES = {
    **{f"labels {dtype}": dict(images=IMAGES, labels=LABELS.astype(dtype)) for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")},
    **{f"-1 in {dtype}": dict(images=IMAGES, labels=np.array([0, 1, -1, 0, 1, 2], dtype)) for dtype in ("i1", "i2", "i4", "i8")},
    **{f"beyond 2^31 in {dtype}": dict(images=IMAGES, labels=np.array([0, 1, 2**31, 0, 1, 2], dtype)) for dtype in ("u4", "i8", "u8")},
    "2^31 - 1": dict(images=IMAGES, labels=LABELS + 2**31 - 6), "bool": dict(images=IMAGES, labels=LABELS > 1), "a column": dict(images=IMAGES, labels=LABELS[:, None]),
    "an array chunks": dict(images=IMAGES, labels=LABELS, chunks=LABELS), "no labels": dict(images=IMAGES), "other names": {"images": IMAGES, "class": LABELS}, "masks": dict(images=IMAGES, labels=IMAGES[:, 0]),
    "floats": dict(images=IMAGES, labels=LABELS / 2), "floats, then targets": dict(images=IMAGES, label=LABELS / 2, targets=LABELS),
    "other length": dict(images=IMAGES, labels=LABELS[:5]), "rows": dict(images=IMAGES, y=np.arange(4)), "one number": dict(images=IMAGES, labels=np.array(3)),
    "xarray": dict(data=axes(FIELDS, "time", "y", "x"), time=axes(np.arange(6), "time"), y=axes(np.arange(4.0), "y"), x=axes(np.arange(5.0), "x")),
    "xarray, y first": dict(data=axes(FIELDS, "y", "a", "x"), y=axes(np.arange(6), "y"), x=axes(np.arange(5), "x")),
    "xarray, named": dict(t2m=axes(FIELDS, "time", "a", "x"), y=axes(LABELS, "time"), x=axes(np.arange(5.0), "x")),
    "classes": dict(attributes=dict(classes=list("abcdef")), images=IMAGES, labels=LABELS), "too few classes": dict(attributes=dict(classes=list("abc")), images=IMAGES, labels=LABELS),
    "a chunk of labels": dict(images=IMAGES, labels=LABELS, missing=["labels/1"]), "all chunks of labels": dict(images=IMAGES, labels=LABELS, missing=["labels/0", "labels/1", "labels/2"]),
    "a chunk": dict(images=IMAGES, labels=LABELS, missing=["images/1.0.0.0"]), "all chunks": dict(images=IMAGES, labels=LABELS, missing=[f"images/{i}.0.0.0" for i in range(3)]),
    **{f"shape {shape}": dict(images=np.arange(np.prod(shape), dtype="f4").reshape(shape), labels=LABELS)
       for shape in [(6, 1, 3, 1, 5), (6, 1, 1, 4, 5), (6, 3, 4, 5, 1), (6, 1, 1, 1, 1), (6, 1, 3, 1, 4, 1, 5), (6, 2, 3, 4, 5), (6, 7), (6, 7, 2), (6,)]},
    "float16": dict(images=IMAGES.astype("f2"), labels=LABELS), "float64": dict(images=IMAGES.astype("f8"), labels=LABELS), "two channels": dict(images=IMAGES[:, :2], labels=LABELS),
    **{f"attributes {number}": dict(images=(IMAGES, attributes)) for number, attributes in enumerate(
        [dict(scale_factor=0.5, add_offset=200.0, _FillValue=255), dict(scale_factor=[0.5]), dict(missing_value=7), dict(scale_factor=1, add_offset=0.0, units="K"),
         dict(_FillValue="AAAAAAAA+H8="), dict(_ARRAY_DIMENSIONS=list("nchw"))])},
}
KEYS = {"other names": dict(label_key="class"), "xarray, named": dict(image_key="t2m"), "xarray, y first": dict(label_key="y"), "masks": dict(label_key="labels"),
        "other length": dict(label_key="labels"), "rows": dict(label_key="absent"), "no labels": dict(image_key="images", label_key="../x/images"), "shape (6,)": dict(image_key="images")}
WORDS = "no labels found", "chunks of labels missing", "chunks missing", "not applied are"


def compare(rue, path, keys):
    """Reads the store by both: the same items, labels and words, or refused by both."""
    variant = dict(path=str(path), mode="preprocessed", format="zarr", **keys)
    options = [word for key, value in keys.items() for word in ("--" + key.replace("_", "-"), value)]
    done = rue("prepare", path, "their.tensor", "--force", *options)
    if done.returncode:
        assert done.returncode == 3, done.stderr
        with pytest.raises(Refused) as refused:
            stored_data.ZarrArray(variant)
        return f"{refused.value} / {done.stderr}"
    ours, theirs = stored_data.ZarrArray(variant), stored_data.TensorFile(dict(path="their.tensor"))
    assert (ours.shape, ours.dtype, len(ours), ours.labels) == (theirs.shape, theirs.dtype, len(theirs), theirs.labels)
    for index in range(len(ours)):
        assert np.array_equal(ours[index][0].numpy(), theirs[index][0].numpy())
    note = ours.facts.get("note", "")
    shown = json.loads(rue("inspect", path, "--json", *options).stdout).get("note", "")
    assert [word in note.replace("chunks of labels", "") for word in WORDS] == [word in shown.replace("chunks of labels", "") for word in WORDS]
    return note


@pytest.mark.parametrize("name", STORES)
def test_stores_are_read_or_refused_as_by_rue(rue, tmp_path, name):
    write(tmp_path / "store", **STORES[name])
    assert compare(rue, tmp_path / "store", {}) is not None
    for keys in [KEYS[name]] if name in KEYS else []:
        compare(rue, tmp_path / "store", keys)
    if name in ("no labels", "masks"):
        assert compare(rue, tmp_path / "store/images", {}) == "no labels found: the data are one array, without a group"
        assert wording.HAS_NO_ARRAY_Y in compare(rue, tmp_path / "store/images", dict(label_key="y"))


def test_missing_chunks_of_labels_are_said_or_refused(tmp_path):
    write(tmp_path / "store", **STORES["a chunk of labels"])
    request = dict(variant=dict(path=str(tmp_path / "store"), mode="preprocessed", format="zarr"))
    note = "chunks of labels missing: 1 of 3, such as 1"
    assert stored_data.StoredData().open(request)["note"] == f"{note}: their labels are the fill value 4"
    with pytest.raises(Refused, match=f"{note}; write them again"):
        stored_data.StoredData().open(dict(request, workload=dict(missing_chunks="error")))


@pytest.mark.parametrize("link", ["images", "images/1.0.0.0", "labels", "images/.zarray"])
def test_links_in_stores_are_refused(rue, tmp_path, link):
    write(tmp_path / "store", images=IMAGES, labels=LABELS)
    os.rename(tmp_path / "store" / link, tmp_path / "moved")
    (tmp_path / "store" / link).symlink_to(tmp_path / "moved")
    assert compare(rue, tmp_path / "store", {}).count("is a symbolic link, which is not followed") == 2


@pytest.mark.parametrize("kind", ["raw webdataset", "preprocessed webdataset", "raw tfrecord", "raw lmdb", "preprocessed lmdb", "raw csv"])
def test_other_formats_are_refused_by_name(kind):
    mode, name = kind.split()
    with pytest.raises(Refused, match=f"^data: the PyTorch runner cannot read {kind}: give raw folder or"):
        stored_data.StoredData().open(dict(variant=dict(path="data", mode=mode, format=name)))
