"""The benchmark of the formats: that it measures each of them and leaves nothing, not how fast they are."""
import os
import subprocess
import sys

import wording
from conftest import HANG_S, ROOT, clean_environment


def formats(release, photos, folder, *words):
    folder.mkdir()
    done = subprocess.run([sys.executable, ROOT / "tests/bench/formats.py", photos, "--program", release, "--images", "8",
                           "--batch-size", "4", "--repeats", "2", *words], env=clean_environment(TMPDIR=folder),
                          capture_output=True, text=True, timeout=HANG_S, check=False)
    assert os.listdir(folder) == [], "what it made is removed"
    return done


def test_formats_are_made_and_compared_with_the_plainest(release, own_photos, tmp_path):
    done = formats(release, own_photos, tmp_path / "made", "--only", "folder,webdataset")
    assert done.returncode == 0, done.stderr
    title, _, _, _, *lines = done.stdout.splitlines()
    rows = {cells[0]: cells[1:] for cells in ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines)}
    assert title.startswith("20 photographs, batch_size 4, num_workers 2, 2 rounds")
    assert list(rows) == ["raw folder", "raw webdataset",
                          "float32 webdataset", "uint8 webdataset"]
    photo_bytes = sum(path.stat().st_size for path in own_photos.rglob("*.jpg"))
    assert rows["raw folder"][0] == f"{photo_bytes:,}" and rows["raw folder"][3:5] == ["1.00", "1.00 to 1.00"]
    assert all(all(row[:3] + row[5:]) for row in rows.values()) and all(all(rows[name]) for name in list(rows)[:2])
    assert rows["uint8 webdataset"][3] == "", "no tensor file was made to compare with"


def test_a_format_that_cannot_be_made_leaves_no_files(release, own_photos, tmp_path):
    assert formats(release, own_photos / "nowhere", tmp_path / "one").returncode != 0
    done = formats(release, own_photos, tmp_path / "two", "--only", "zip")
    assert done.returncode == 2 and wording.FORMATS_ARE_FOLDER_LMDB in done.stderr
