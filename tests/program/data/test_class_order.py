"""Numbers of classes whose names are any bytes: those of torchvision's ImageFolder, which sorts names as Python decodes them."""
import json
import os
import random
import shutil
import tarfile

import pytest

PIECES = [b"a", b"~", b"\x80", b"\xbf", b"\xc2", b"\xc3\xa9", b"\xe2\x82", b"\xe2\x82\xac", b"\xe9", b"\xed\x9f\xbf", b"\xed\xa0\x80",
          b"\xee\x80\x80", b"\xef\xbf\xbd", b"\xf0\x9f\x8d\x8e", b"\xf0\x80\x80\x80", b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xff"]


def draw_names(seed):
    """In the order of Python."""
    draw, names = random.Random(seed), set()
    while len(names) < 40:
        names.add(b"".join(draw.choices(PIECES, k=draw.randint(1, 4))))
    return sorted(names, key=os.fsdecode)


@pytest.mark.parametrize("number", range(6))
def test_classes_have_python_s_order(rue, photos, number):
    seed = int(os.environ.get("RUE_SEED", 1)) + number
    names, photo = draw_names(seed), next(photos.rglob("*.jpg"))
    for name in random.Random(seed).sample(names, len(names)):
        os.makedirs(os.fsencode(rue.folder) + b"/set/" + name)
        shutil.copy(photo, os.path.join(os.fsencode(rue.folder) + b"/set", name, b"1.jpg"))
    for source in ("set", "set.lmdb"):
        done = rue("prepare", "set", source, "--quiet") if source != "set" else None
        assert done is None or done.returncode == 0, done.stderr
        shown = [each["name"] for each in json.loads(rue("inspect", source, "--json").stdout)["classes"]]
        assert shown == ["".join("\ufffd" if "\udc80" <= c <= "\udcff" else c for c in os.fsdecode(name)) for name in names], seed
        assert rue("prepare", source, source + ".tars", "--format", "webdataset", "--quiet").returncode == 0
        with tarfile.open(rue.folder / (source + ".tars/train-000000.tar"), encoding="utf-8", errors="surrogateescape") as archive:
            labels = {os.fsencode(each.name.split("/")[0]): int(archive.extractfile(each).read()) for each in archive if each.name.endswith(".cls")}
        assert labels == {name: number for number, name in enumerate(names)}, seed
    try:
        from torchvision.datasets import ImageFolder
    except ImportError:
        return
    assert [os.fsencode(name) for name in ImageFolder(rue.folder / "set").classes] == names, seed
