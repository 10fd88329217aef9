"""Damaged images that no trial loads: they are found when the data are read before the trials."""
import shutil

import pytest

import wording
from conftest import flat, read_json

FEW = ["--mode", "raw", "--model", "none", "--batch-size", "2", "--num-workers", "0", "--strategy", "grid", "--budget", "1m", "--out", "out"]


@pytest.fixture
def photos_but(photos, tmp_path):
    """Makes a copy of the photos in one folder, some of which are replaced by other bytes."""
    def make(**others):
        folder = tmp_path / "mine"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for i, file in enumerate(sorted(photos.rglob("*.jpg"), key=lambda path: path.name)):
            data = file.read_bytes()
            (folder / f"{i:02}.jpg").write_bytes(others.get(f"at{i}", lambda whole: whole)(data))
        return folder
    return make


TIFF = lambda whole: b"II*\0" + whole
DAMAGES = {
    "is a TIFF file, not a JPEG": TIFF,
    "is a PNG file whose header is damaged": lambda whole: b"\x89PNG\r\n\x1a\n" + whole,
    "is empty": lambda whole: b"",
    "is not a JPEG": lambda whole: b"hello" + whole,
    "is truncated": lambda whole: whole[:len(whole) // 2],
    "is truncated: the data end": lambda whole: whole[:-700],
    "cannot be decoded": lambda whole: whole[:20] + b"\xff\xc9" + whole[22:200] + b"\xff\xd9",
}


@pytest.mark.parametrize("reason", DAMAGES)
@pytest.mark.parametrize("cache", ["warm", "as-is"])
def test_a_damaged_image_is_named_although_no_trial_loads_it(rue, photos_but, reason, cache):
    data = photos_but(at45=DAMAGES[reason])
    done = rue("tune", data, *FEW, "--images", "2", "--cache", cache)
    assert done.returncode == 0, done.stderr
    said = flat(done.stderr)
    assert wording.OF_IMAGES_IS_DAMAGED_OR_UNREADABLE_SUCH_AS_JPG.format(1, 48, data, 45, reason) in said and wording.BAD_IMAGES_REPLACE in said
    note = read_json(rue.folder / "out/recommendation.json")["recommendations"][0]["note"]
    assert "45.jpg" in note and reason in note
    for words in (done.stdout, rue("show", "out").stdout):
        assert wording.NOTE_OF_IMAGES_IS_DAMAGED.format(1, 48) in flat(words)


def test_images_that_are_replaced_do_not_stop_a_job(rue, photos_but):
    done = rue("tune", photos_but(at44=TIFF, at45=TIFF), *FEW, "--images", "2", "--bad-images", "replace")
    assert done.returncode == 0 and wording.OF_IMAGES_ARE_DAMAGED_OR_UNREADABLE.format(2, 48) in flat(done.stderr), done.stderr
    assert wording.A_JOB_STOPS not in done.stderr


def test_whole_images_are_not_called_damaged(rue, photos_but):
    """Bytes after the end marker, and a file that lacks only the marker, are accepted as PIL does."""
    data = photos_but(at44=lambda whole: whole + b"\0" * 100, at45=lambda whole: whole + whole[:50])
    done = rue("tune", data, *FEW, "--images", "2")
    assert done.returncode == 0 and "damaged" not in done.stderr, done.stderr
    assert "note" not in read_json(rue.folder / "out/recommendation.json")["recommendations"][0]


def test_the_pixel_limit_of_the_job_counts(rue, photos_but):
    done = rue("tune", photos_but(), *FEW, "--images", "2", "--max-pixels", "100000")
    assert wording.OF_IMAGES_ARE_DAMAGED_OR_UNREADABLE.format(48, 48) in flat(done.stderr) and wording.THE_LIMIT_IS_2.format("100,000") in flat(done.stderr), done.stderr


def test_a_file_that_is_too_large_is_named_without_reading_it(rue, photos_but):
    data = photos_but()
    with open(data / "huge.jpg", "wb") as file:
        file.truncate(1 << 41)
    done = rue("tune", data, *FEW, "--images", "2")
    assert done.returncode == 0, done.stderr
    assert wording.OF_IMAGES_IS_DAMAGED_OR_UNREADABLE_SUCH_AS_HUGE.format(1, 49, data, 2199023255552) in flat(done.stderr)


def test_damage_comes_before_other_notes(rue, photos_but):
    """Also where these are long."""
    data = photos_but(at45=TIFF)
    for i in range(3):
        (data / f"{'long' * 50}{i}").mkdir()
    (data / ("broken" * 40 + ".jpg")).symlink_to("nowhere" * 30)
    done = rue("tune", data, *FEW, "--images", "2")
    assert done.returncode == 0, done.stderr
    note = read_json(rue.folder / "out/recommendation.json")["recommendations"][0]["note"]
    assert note.startswith("1 of 48 images is damaged") and wording.BAD_IMAGES_REPLACE_FILES.format(1) in note and len(note) < 1024
