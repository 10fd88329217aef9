"""What `cmake --install` installs is enough to build and run the C example with pkg-config alone."""
import re
import shutil
import subprocess

import pytest

from conftest import read_json


@pytest.mark.quick
def test_the_c_example_loads_as_recommended(rue, load_images):
    assert rue("prepare", "--synthetic", "20", "photos", "--quiet").returncode == 0
    assert rue("tune", "photos", "--mode", "raw", "--model", "none", "--batch-size", "4,8", "--num-workers", "1",
               "--parallelism", "sample", "--out", "out", "--quiet").returncode == 0
    report = rue.folder / "out/recommendation.json"
    best = read_json(report)["recommendations"][0]["config"]
    load = lambda *words: subprocess.run([load_images, *words], cwd=rue.folder, text=True, capture_output=True)
    done = load("photos", report)
    assert done.returncode == 0, done.stderr
    assert best["parallelism"] == "sample" and done.stdout == f"20 images in batches of {best['batch_size']}\n"
    levels = rue.folder / "levels.json"
    levels.write_text(report.read_text().replace('"batch_dtype": "float32"', '"batch_dtype": "uint8"'))
    assert '"uint8"' in levels.read_text() and load("photos", levels).stdout == done.stdout
    assert load("missing", report).returncode == 1 and load("photos", "missing").returncode == 1


def test_the_library_needs_neither_gsl_nor_sqlite(prefix):
    if not shutil.which("nm"):
        pytest.skip("skipped: nm is not here")
    library = next(prefix.rglob("librue.a"))
    symbols = subprocess.run(["nm", "-u", library], check=True, text=True, capture_output=True).stdout
    assert not re.search(r"\b(gsl_|sqlite3_)", symbols)


def test_the_schema_and_licence_are_installed(prefix):
    assert next(prefix.rglob("recommendation.schema.json")) and next(prefix.rglob("LICENSE"))
