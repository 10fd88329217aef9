"""Members of tar shards that are not read: names with dots, sparse files, labels out of range. Each is named, or counted."""
import gzip
import io
import subprocess

import numpy as np
import pytest
import wording
from conftest import expect_failure
from test_webdataset import inspect, jpeg, make_tar, refused


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()

DOTTED = "such files, or set image_key to one that all samples have"


def test_dots_in_names_are_explained(rue, tmp_path, jpeg):
    names = ["v1.0_001", "v1.0_002", "v1.0_003"]
    path = make_tar(tmp_path / "a.tar", [(f"{n}.{end}", data) for n in names for end, data in (("jpg", jpeg), ("cls", b"1"))])
    said = expect_failure(rue("inspect", path), 3, "the extension of v1.0_001.jpg begins at its first dot (0_001.jpg): rename " + DOTTED)
    assert len(said.replace(str(tmp_path), "")) < 160
    found = inspect(rue, path, "--image-key", "0_001.jpg", "--label-key", "0_001.cls")
    assert found["items"] == 1
    assert wording.IMAGES_NOT_READ_AS_THE_EXTENSION_OF_V1_0.format(2) in found["note"]


@pytest.mark.parametrize("more, images, count, first", [
    (["v1.0.jpg", "v1.1.jpeg", "v1.x.y.JPE"], 1, 3, "v1.0.jpg"), (["22.05.jpg"], 1, 1, "22.05.jpg"), (["v1.feat.npy"], 1, 0, ""),
    (["v1.txt", "v1.jpg.bak"], 1, 0, ""), (["d.1/x.jpg", "d.1/y.jpg"], 3, 0, "")])
def test_images_whose_extension_is_not_one_are_counted(rue, tmp_path, jpeg, more, images, count, first):
    path = make_tar(tmp_path / "a.tar", [(name, jpeg) for name in ["v1.jpg", *more]])
    found = inspect(rue, path)
    said = f"images not read: {count}, as the extension of {first} begins" if count else ""
    assert found["items"] == images and said in found["note"] and (wording.IMAGES_NOT_READ in found["note"]) == (count > 0)


def test_dots_in_names_of_tensors_are_explained(rue, tmp_path):
    data = npy(np.zeros((3, 2, 2), "f4"))
    expect_failure(rue("inspect", make_tar(tmp_path / "a.tar", [("v1.0.npy", data), ("v1.1.npy", data)])), 3, "of v1.0.npy begins", DOTTED)
    path = make_tar(tmp_path / "b.tar", [("v1.npy", data), ("v1.1.npy", data), ("v1.x.jpg", b"x")])
    assert wording.IMAGES_NOT_READ_AS_THE_EXTENSION_OF_V1_1.format(1) in inspect(rue, path)["note"]


def test_an_extension_with_a_dot_can_be_named(rue, tmp_path, jpeg):
    path = make_tar(tmp_path / "a.tar", [(f"{n}.{side}.jpg", jpeg) for n in "abc" for side in ("left", "right")])
    assert inspect(rue, path, "--image-key", "left.jpg")["items"] == 3


@pytest.mark.parametrize("label, what", [(b"2147483648", "too large a label: write at most 2147483647"), (b"9" * 40, "too large"),
                                         (b" 3000000000\n", "too large"), (b"-1", "at least 0"), (b"-" + b"9" * 40, "at least 0"), (b"x", "at least 0")])
def test_labels_out_of_range_are_refused(rue, tmp_path, jpeg, label, what):
    refused(rue, make_tar(tmp_path / "a.tar", [("a.jpg", jpeg), ("a.cls", label)]), "the member a.cls", what)
    found = inspect(rue, make_tar(tmp_path / "b.tar", [("a.jpg", jpeg), ("a.cls", b"2147483647")]))
    assert found["items"] == 1


@pytest.fixture(params=["gnu", "oldgnu", "posix", "bsdtar"])
def sparse_tar(request, tmp_path, jpeg):
    """Makes an archive of files, of which those that begin with `s` have a hole."""
    def make(*names):
        for name in names:
            data = jpeg if name.endswith("jpg") else b"1"
            (tmp_path / name).write_bytes(data)
            if name[0] == "s":
                with open(tmp_path / name, "r+b") as file:
                    file.seek(1 << 19)
                    file.write(data)
                    file.truncate(1 << 20)
        command = ["bsdtar"] if request.param == "bsdtar" else ["tar", "-S", f"--format={request.param}"]
        try:
            subprocess.run([*command, "-C", tmp_path, "-cf", tmp_path / "a.tar", *names], check=True)
        except FileNotFoundError:
            pytest.skip("skipped: no bsdtar")
        return tmp_path / "a.tar"
    return make


@pytest.mark.parametrize("name", ["s.jpg", "s.cls"])
def test_sparse_images_and_labels_are_refused_with_the_cure(rue, sparse_tar, name):
    refused(rue, sparse_tar("a.jpg", name), f"the member {name} at byte", "is sparse", "without --sparse (-S)", "bsdtar --no-read-sparse")


@pytest.mark.parametrize("names", [["s.bin", "a.jpg", "a.cls"], ["a.jpg", "a.cls", "s.bin"], ["a.jpg", "s", "a.cls"]])
def test_other_sparse_files_are_skipped_and_counted(rue, sparse_tar, names):
    path = sparse_tar(*names)
    data = path.read_bytes()
    packed = path.with_name("a.tar.gz")
    packed.write_bytes(gzip.compress(data))
    for archive in (path, packed):
        found = inspect(rue, archive)
        assert (found["items"], found["skipped"]) == (1, 1) and wording.A_SPARSE_FILE in found["note"]
    blocks = len(data.rstrip(b"\0")) // 512 + 1
    for end in (blocks * 512 - 600, blocks * 512):
        for archive, cut in ((path, data[:end]), (packed, gzip.compress(data[:end]))):
            archive.write_bytes(cut)
            expect_failure(rue("inspect", archive), 3, "truncated")
