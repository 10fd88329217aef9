"""CSV as a format: lists of images, as people and programs write them."""
import csv
import json
import os
import resource

import pytest

from conftest import expect_failure
from test_faults_resources import limited
from test_lmdb import list_files, made


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
