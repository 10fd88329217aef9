"""CSV as a format: lists of images, as people and programs write them."""
import csv
import json
import os
import resource
import shutil
import struct

import pytest

import wording
from conftest import expect_failure
from test_faults_resources import limited
from test_lmdb import made


def write_list(path, rows, header=("path", "label"), **how):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, **how)
        writer.writerow(header)
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("how", [{}, {"lineterminator": "\n"}, {"quoting": csv.QUOTE_ALL}])
def test_a_list_of_python_is_read(rue, photos, how):
    files = sorted(photos.rglob("*.jpg"))
    write_list(rue.folder / "list.csv", [(i, file, f"{i % 3}") for i, file in enumerate(files)], ("id", "file", "target"), **how)
    shown = json.loads(rue("inspect", "list.csv", "--json").stdout)
    assert (shown["format"], shown["items"], shown["bytes"]) == ("csv", len(files), sum(file.stat().st_size for file in files))
    made(rue, "list.csv", "x.tensor", "--dtype", "uint8")
    made(rue, "list.csv", "named.tensor", "--dtype", "uint8", "--image-key", "file", "--label-key", "id")


def test_words_become_the_classes_of_a_folder(rue, own_photos):
    rows = [(file.relative_to(rue.folder), file.parent.name) for file in sorted(own_photos.rglob("*.jpg"), reverse=True)]
    write_list(rue.folder / "list.csv", rows)
    reported, folder = [json.loads(rue("inspect", what, "--json").stdout) for what in ("list.csv", own_photos)]
    assert reported["classes"] == folder["classes"]
    made(rue, "list.csv", "a.tensor", "--images", "20", "--dtype", "uint8")


def test_a_list_can_be_tuned_for(rue, photos):
    write_list(rue.folder / "list.csv", [(file, 0) for file in photos.rglob("*.jpg")])
    done = rue("tune", "list.csv", "--mode", "raw", "--model", "none", "--batch-size", "8", "--num-workers", "0,1", "--quiet",
               "--out", "out")
    assert done.returncode == 0, done.stderr


BAD = {
    "unclosed": ('path,label\n"a.jpg,1\n', "line 2", "has no end"),
    "nul": ("path,label\na\0.jpg,1\n", "line 2", "NUL"),
    "missing": ("path,label\nPHOTO,1\nnone.jpg,2\n", "line 3", "none.jpg"),
    "ragged": ("path,label\nPHOTO,1\nPHOTO\n", "line 3", "1 fields"),
    "columns": ("a,b\nx,y\n", "image_key", "the columns are a, b"),
    "utf16": ("\ufeffpath,label\nx,1\n".encode("utf-16-le"), "UTF-16"),
    "empty": ("", "is empty"),
    "one_word": ("path,label\nPHOTO,0\nPHOTO,1\nPHOTO,1O\nPHOTO,2\n", "line 4", "'1O' is not a whole number below 2^31"),
    "header_alone": ("path,label\n", "only a header line"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_list_is_one_line(rue, photos, name):
    text, *words = BAD[name]
    photo = str(next(photos.rglob("*.jpg")))
    (rue.folder / "list.csv").write_bytes(text if isinstance(text, bytes) else text.replace("PHOTO", photo).encode())
    for command in (["inspect", "list.csv"], ["prepare", "list.csv", "x.tensor"], ["tune", "list.csv", "--out", "out"]):
        expect_failure(rue(*command), 3, "list.csv", *words)


def test_a_field_of_a_gigabyte_needs_little_memory(release_rue):
    path = release_rue.folder / "list.csv"
    path.write_text('path,label\n"')
    os.truncate(path, 1 << 30)  # zeros, and no block on the disk
    with open(path, "r+b") as file:
        file.seek(12)
        for _ in range(24):
            file.write(b"x" * 65536)
    done = release_rue("inspect", path, preexec_fn=limited(resource.RLIMIT_DATA, 1200 << 20))
    expect_failure(done, 3, path, "line 2")


def test_a_list_of_a_million_lines_opens(release_rue, photos):
    photo = next(photos.rglob("*.jpg"))
    (release_rue.folder / "a.jpg").write_bytes(photo.read_bytes())
    line = f"{'./' * 20}a.jpg,class name %04d\n"
    (release_rue.folder / "list.csv").write_text("path,label\n" + "".join(line % (i % 1000) for i in range(1000000)))
    done = release_rue("inspect", "list.csv", "--json", preexec_fn=limited(resource.RLIMIT_DATA, 400 << 20))
    reported = json.loads(done.stdout)
    assert reported["items"] == 1000000 and len(reported["classes"]) == 1000


def test_labels_that_lead_out_of_the_destination_are_refused(rue, photos):
    photo = next(photos.rglob("*.jpg"))
    write_list(rue.folder / "list.csv", [(photo, "../../escaped"), (photo, "x")])
    (rue.folder / "deep").mkdir()
    expect_failure(rue("prepare", "list.csv", "deep/out", "--format", "folder"), 3, "escaped", "cannot name a folder: rename it")
    assert sorted(path.name for path in rue.folder.iterdir()) == ["deep", "list.csv"]


def read_facts(rue, path):
    """Labels, class names and bytes of the items."""
    shown = json.loads(rue("inspect", path, "--json").stdout)
    made(rue, path, "facts.tensor", "--dtype", "uint8", "--force")
    data = (rue.folder / "facts.tensor").read_bytes()
    *_, count, channels, height, width, _, stride, first, labels, _, _, _ = struct.unpack_from("<8sIIQIIIIQQQQQQ", data)
    items = [data[first + i * stride:][:channels * height * width] for i in range(count)]
    return struct.unpack_from(f"<{count}i", data, labels), [(c["name"], c["items"]) for c in shown["classes"]], items


NAMES = {
    "usual": ["cat/1.jpg", "cat/deep/2.JPEG", "dog/1.jpg"],
    "odd": ["a, b/1.jpg", '"q"/ 1 .jpg', "new\nline/1.jpg", "\u00fc\u2603/x,y.jpg", "back\\slash/1.jpg", " blank /'1'.jpg", "=1+1/1.jpg",
            "c\r/1.jpg"],
    "flat": ["1.jpg", "2.jpg"],
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("to", ["list.csv", "set/list.csv", "lists/list.csv"])
def test_a_list_that_rue_wrote_is_the_same_data(rue, photos, name, to):
    for file, photo in zip(NAMES[name], sorted(photos.rglob("*.jpg"))):
        (rue.folder / "set" / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(photo, rue.folder / "set" / file)
    (rue.folder / "lists").mkdir()
    done = rue("prepare", "set", to)
    assert done.returncode == 0 and wording.IMAGES_LISTED in done.stderr, done.stderr
    assert read_facts(rue, to) == read_facts(rue, "set")
    with open(rue.folder / to, newline="", encoding="utf-8") as file:
        paths = [row["path"] for row in csv.DictReader(file)]
    prefix = {"list.csv": "set/", "set/list.csv": ""}.get(to, f"{rue.folder.resolve()}/set/")
    assert sorted(paths) == sorted(prefix + file for file in NAMES[name])
    made(rue, to, "lists/again.csv")
    assert read_facts(rue, "lists/again.csv") == read_facts(rue, "set")
    if to == "list.csv":
        (rue.folder / "moved").mkdir()
        for path in ("set", "list.csv"):
            (rue.folder / path).rename(rue.folder / "moved" / path)
        assert json.loads(rue("inspect", "moved/list.csv", "--json").stdout)["items"] == len(NAMES[name])


LABELS = {
    "digits": ({"0": "jpg", "1": "jpg", "10": "jpg", "2": "jpg"}, [0, 1, 2, 3], "the class '0' is a number"),
    "tiff": ({"a": "jpg", "b": "tif", "c": "jpg"}, [0, 2], "the class 'b' has no image in the list"),
    "hidden": ({".a": "jpg", "b": "jpg"}, [1], "the class '.a' has no image"),
}


@pytest.mark.parametrize("name", LABELS)
def test_a_list_has_numbers_where_names_would_be_other_labels(rue, photos, name):
    classes, labels, why = LABELS[name]
    for folder, ending in classes.items():
        (rue.folder / "set" / folder).mkdir(parents=True)
        shutil.copy(next(photos.rglob("*.jpg")), rue.folder / f"set/{folder}/1.{ending}")
    done = rue("prepare", "set", "list.csv")
    assert done.returncode == 0 and "labels are numbers, because " + why in " ".join(done.stderr.split()), done.stderr
    with open(rue.folder / "list.csv", newline="", encoding="utf-8") as file:
        assert [int(row["label"]) for row in csv.DictReader(file)] == labels
    assert list(read_facts(rue, "list.csv")[0]) == list(read_facts(rue, "set")[0]) == labels


def test_labels_of_a_list_are_those_of_the_list_before(rue, photos):
    (rue.folder / ".hidden").mkdir()
    shutil.copy(next(photos.rglob("*.jpg")), rue.folder / ".hidden/1.jpg")
    write_list(rue.folder / "list.csv", [("./.hidden/../.hidden//1.jpg", label) for label in (-1, 2147483647, "3.0")])
    made(rue, "list.csv", "again.csv")
    assert (rue.folder / "again.csv").read_text() == "path,label\n" + "".join(f".hidden/../.hidden/1.jpg,{n}\n" for n in (-1, 2147483647, 3))


def test_a_list_of_images_within_files_is_refused(rue, own_photos):
    made(rue, own_photos, "x.lmdb")
    made(rue, own_photos, "tars", "--format", "webdataset")
    made(rue, own_photos, "x.tensor", "--dtype", "uint8")
    for source in ("x.lmdb", "tars"):
        expect_failure(rue("prepare", source, "list.csv"), 2, source, "--format folder")
    expect_failure(rue("prepare", "x.tensor", "list.csv"), 2, "preprocessed")
    expect_failure(rue("prepare", own_photos, "list.csv", "--mode", "preprocessed"), 2, "csv cannot hold preprocessed data")
    expect_failure(rue("prepare", own_photos, "list.csv", "--split", "x"), 2, "--split has no effect on the format csv")
    assert not (rue.folder / "list.csv").exists()


def test_a_sample_can_be_listed(rue, own_photos):
    made(rue, own_photos, "list.csv", "--images", "20", "--seed", "3")
    made(rue, own_photos, "same.csv", "--images", "20", "--seed", "3")
    text = (rue.folder / "list.csv").read_text()
    assert text == (rue.folder / "same.csv").read_text() and len(set(text.splitlines())) == 21
    expect_failure(rue("prepare", own_photos, "list.csv"), 2, "list.csv exists", "--force")
    made(rue, own_photos, "list.csv", "--force")
