"""docs/training_scripts.md: the options of each row load images of the size that they name, and the counts are those of the rows."""
import json
import re

import pytest
from conftest import ROOT
from small_data import small  # noqa: F401: a fixture

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import rue_tuner  # noqa: E402

PAGE = (ROOT / "docs/training_scripts.md").read_text()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.split("\n## ")[1].splitlines() if line.startswith("| ")][1:]
RECIPES = {name: json.loads(recipe) for name, recipe in re.findall(r"^\| `(\S+\.json)` \| `(.*)` \|$", PAGE, re.M)}
NAMES = {"batch_dtype": "dtype"}


def options_of(cell, transform):
    words = cell.strip("`").split() if cell.startswith("`") else []
    options = {name.strip("-").replace("-", "_"): value for name, value in zip(words[::2], words[1::2])}
    options = {NAMES.get(name, name): value for name, value in options.items()}
    return {"transform": transform, **options, **({"augment": RECIPES[options["augment"]]} if options.get("augment") in RECIPES else {})}


CASES = {json.dumps(options_of(row[column], transform)): row[0] for row in ROWS for column, transform in ((2, "train"), (3, "eval")) if row[column].startswith(("`", "defaults"))}


@pytest.mark.parametrize("text", CASES, ids=[f"{name} {number}" for number, name in enumerate(CASES.values())])
def test_the_options_of_a_row_load_images(small, text):
    options = json.loads(text)
    size = [int(side) for side in options.get("image_size", "224").split("x")]
    with rue_tuner.Loader(small / "photos", batch_size=4, num_workers=1, **options) as loader:
        images, _ = next(iter(loader))
    assert images.shape == (4, 3, size[0], size[-1]) and images.dtype == getattr(torch, options.get("dtype", "float32"))


def test_the_counts_are_those_of_the_rows():
    repositories = [row for row in ROWS if "/" in row[0].split(",")[0] and row[1]]
    for served, count in re.findall(r"^\| (exactly|on batches|not yet) \|.*\| (\d+) \|$", PAGE, re.M):
        assert sum(row[1] == served for row in repositories) == int(count), served
    assert len(repositories) == 24 and len(CASES) > 25
