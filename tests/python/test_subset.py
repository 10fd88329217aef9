"""Subsets of data: the same items in every format, in rue_tuner.Loader and in the program."""
import contextlib
import json
import pickle
import shutil
import sqlite3

import pytest
from conftest import expect_failure, read_json
from small_data import FORMATS, PHOTOS, prepare, small  # noqa: F401: a fixture

np = pytest.importorskip("numpy", reason="NumPy is not installed (python3-numpy)")
import rue_tuner as rue_package  # noqa: E402

GRID = ["--model", "none", "--batch-size", "4", "--num-workers", "0,1", "--budget", "2m", "--strategy", "grid", "--mode", "raw"]
ALL = list(range(PHOTOS))


@pytest.fixture(scope="module")
def formats(small, tmp_path_factory):  # noqa: F811
    """A folder with the photos in every format."""
    folder = tmp_path_factory.mktemp("formats")
    (folder / "photos").symlink_to(small / "photos")
    for name, words in FORMATS.items():
        prepare(*words, folder / "photos", folder / name)
    return folder


def load(path, **options):
    """[(item, label, key, image)] of an epoch."""
    loader = rue_package.Loader(path, **{**dict(output="numpy", batch_size=4, num_workers=1, returns=("items", "labels", "keys", "images")), **options})
    return [(int(item), int(label), key, image.tobytes()) for batch in loader for item, label, key, image in zip(*batch)]


def items_of(path, **options):
    return [row[0] for row in load(path, **options)]


def count_trials(store):
    with contextlib.closing(sqlite3.connect(store)) as db:
        return db.execute("SELECT count(*) FROM trial").fetchone()[0]


@pytest.mark.parametrize("name", ["photos", *FORMATS])
def test_each_format_loads_the_items_that_were_chosen(formats, name):
    whole = load(formats / name)
    assert [row[0] for row in whole] == ALL
    for subset, chosen in {"3:17:5,0": [3, 8, 13, 0], "4:9": range(4, 9), "50%": None, "class:1,3": [row[0] for row in whole if row[1] in (1, 3)]}.items():
        found = load(formats / name, subset=subset)
        chosen = [row[0] for row in found] if chosen is None else chosen
        assert found == [whole[item] for item in chosen] and len(found) > 1
        mixed = load(formats / name, subset=subset, shuffle=True, num_workers=2)
        assert sorted(mixed) == sorted(found) and load(formats / name, subset=subset, shuffle=True, num_workers=0) == mixed
        parts = [load(formats / name, subset=subset, rank=rank, world_size=2, even=False) for rank in range(2)]
        assert sorted(sum(parts, [])) == sorted(found)
    if name == "photos":
        crops = {row[0]: row for row in load(formats / name, transform="train", shuffle=False, drop_last=False)}
        assert load(formats / name, transform="train", shuffle=False, drop_last=False, subset="9,2") == [crops[9], crops[2]], "a subset changes no crop"
    listing = formats / f"{name}.list"
    listing.write_text("".join(whole[item][2] + "\n" for item in (7, 2, 11)))
    assert load(formats / name, subset=listing) == [whole[item] for item in (7, 2, 11)]


@pytest.mark.parametrize("name", ["webdataset", "tfrecord"])
def test_ranks_share_the_shards_of_a_subset_in_order(formats, name):
    every = dict(share="shards", world_size=2, even=False)
    parts = [items_of(formats / name, subset="::2", rank=rank, **every) for rank in range(2)]
    assert sorted(sum(parts, [])) == ALL[::2]
    whole = [items_of(formats / name, rank=rank, **every) for rank in range(2)]
    assert all(set(part) < set(all_of) for part, all_of in zip(parts, whole))
    with pytest.raises(ValueError, match="not in the order of the data, so that it has no shards: use strided or contiguous"):
        rue_package.Loader(formats / name, subset="5,1,9", rank=0, **every)


def test_subsets_are_given_as_pytorch_users_have_them(formats, tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
    photos, make = formats / "photos", rue_package.Loader
    train, test = torch.utils.data.random_split(range(PHOTOS), [18, 4])
    for subset in train.indices, np.array(train.indices), torch.tensor(train.indices), tuple(train.indices), np.array(train.indices, "uint8"), list(np.array(train.indices)):
        assert items_of(photos, subset=subset) == list(train.indices)
    assert items_of(photos, subset=range(3, 6)) == [3, 4, 5] and items_of(photos, subset=np.float64(0.25)) == items_of(photos, subset="25%")
    first, rest = items_of(photos, subset=0.25), items_of(photos, subset="25%:")
    assert len(first) == 6 and sorted(first + rest) == ALL and first == sorted(first) and first != items_of(photos, subset="25%,seed=1")
    assert items_of(photos, subset="25%", seed=7) == first, "the seed of the order draws nothing"
    loader = make(photos, subset=test.indices, batch_size=3, returns="items", output="numpy")
    assert loader.images == 4 and len(loader) == 2 and [loader.key(item) for item in test.indices] == [row[2] for row in load(photos, subset=test.indices)]
    assert loader.classes == make(photos).classes and loader.class_to_idx == make(photos).class_to_idx, "labels do not change"
    assert loader.key(PHOTOS - 1) == make(photos).key(PHOTOS - 1), "a number is the same file in each loader"
    pytest.raises(IndexError, loader.key, PHOTOS)
    other = pickle.loads(pickle.dumps(loader))
    assert np.concatenate(list(other)).tolist() == list(test.indices) and other.options["subset"] == ",".join(map(str, test.indices))
    assert loader.with_(batch_size=2)._data is loader._data and loader.with_(subset=None).images == PHOTOS and loader.with_(subset=[1]).images == 1


@pytest.mark.parametrize("subset, error, words", [
    ([], ValueError, "it is empty"), ([4, 1, 4], ValueError, "item 4 is given twice"), ([PHOTOS], ValueError, "item 22 does not exist"), ([-1], ValueError, "subset '-1': expected"),
    (5, TypeError, "expected numbers of items"), ([True] * PHOTOS, TypeError, "expected numbers of items"), (["a.jpg"], TypeError, "numbers of items"),
    ([1.5], TypeError, "numbers of items"), (1.5, ValueError, "at most 100%"), (0.0, ValueError, "it chooses none"), ("a\0b", ValueError, "null character"),
    ("class:clas_3", ValueError, "no class 'clas_3': did you mean 'class_3'"), (range(10 ** 6), ValueError, "item 22 does not exist")])
def test_a_subset_that_is_none_is_one_clear_line(formats, subset, error, words):
    with pytest.raises(error, match=words) as caught:
        rue_package.Loader(formats / "photos", subset=subset)
    assert len(str(caught.value)) < 180 and "\n" not in str(caught.value)


def test_a_state_belongs_to_its_subset(formats):
    make = lambda subset: rue_package.Loader(formats / "photos", subset=subset, batch_size=2, output="numpy", returns="items", num_workers=0)
    loader = make([9, 3, 5, 1])
    next(iter(loader))
    state = loader.state_dict()
    again = make("9,3,5,1")
    again.load_state_dict(state)
    assert np.concatenate(list(again)).tolist() == [5, 1]
    for other in "9,3,1,5", None, "0:4":
        pytest.raises(ValueError, make(other).load_state_dict, state)
    assert make("100%").digest == make(None).digest == make(ALL).digest != make("1:").digest


def test_a_damaged_image_is_replaced_by_one_of_the_subset(formats, tmp_path):
    shutil.copytree((formats / "photos").resolve(), tmp_path / "photos")
    broken = tmp_path / "photos" / load(formats / "photos", subset=[4])[0][2]
    broken.write_bytes(broken.read_bytes()[:20])
    with pytest.raises(rue_package.DataError, match=broken.name):
        load(tmp_path / "photos", subset=[1, 4, 9])
    assert items_of(tmp_path / "photos", subset=[1, 4, 9], bad_images="replace") == [1, 9, 9]


def test_the_program_tunes_converts_and_shows_a_subset(rue, formats, tmp_path):
    photos, options = formats / "photos", ["--subset", "@chosen.txt"]
    keys = [row[2] for row in load(photos)]
    (tmp_path / "chosen.txt").write_text("".join(keys[item] + "\n" for item in (8, 1, 15, 3, 20, 6)))
    shown = json.loads(rue("inspect", photos, "--json", *options).stdout)
    assert (shown["items"], shown["whole_items"], sum(part["items"] for part in shown["classes"])) == (6, PHOTOS, 6)
    assert "6 of 22" in rue("inspect", photos, *options).stdout
    for name, words in {"part.tensor": ["--dtype", "uint8"], "part": ["--format", "folder"], "part.csv": []}.items():
        assert rue("prepare", photos, name, *words, *options).returncode == 0
    whole = {row[0]: row[3] for row in load(photos, dtype="uint8")}
    assert [row[3] for row in load(tmp_path / "part.tensor", dtype="uint8")] == [whole[item] for item in (8, 1, 15, 3, 20, 6)]
    assert sorted(path.name for path in (tmp_path / "part").rglob("*.jpg")) == sorted(keys[item].split("/")[-1] for item in (8, 1, 15, 3, 20, 6))
    done = rue("tune", photos, *GRID, *options, "--out", "out")
    assert done.returncode == 0, done.stderr
    part = read_json(tmp_path / "out/recommendation.json")["recommendations"][0]
    assert part["variant"]["subset"] == f"@{tmp_path.resolve()}/chosen.txt" and part["job_images"] == part["data_images"] == 6
    loader = rue_package.Loader.from_recommendation(tmp_path / "out", returns="items", output="numpy", shuffle=False)
    assert np.concatenate(list(loader)).tolist() == [8, 1, 15, 3, 20, 6]
    checked = rue("check", "out", "--json")
    assert checked.returncode in (0, 1, 5), checked.stderr
    before = count_trials(tmp_path / "out/study.db")
    again = rue("tune", photos, *GRID, *options, "--out", "out")
    assert again.returncode == 0 and "continuing" in again.stderr and count_trials(tmp_path / "out/study.db") == before
    (tmp_path / "chosen.txt").write_text("".join(keys[item] + "\n" for item in range(4)))
    other = rue("tune", photos, *GRID, *options, "--out", "out")
    assert other.returncode == 0 and count_trials(tmp_path / "out/study.db") > before, "another content of the file is other data"
    assert read_json(tmp_path / "out/recommendation.json")["recommendations"][0]["data_images"] == 4


def test_both_data_of_a_comparison_have_the_subset(rue, formats, tmp_path):
    words = [*GRID[:-2], "--subset", "25%", "--sample", "4"]
    done = rue("compare", formats / "photos", formats / "uint8.tensor", *words, "--out", "out")
    assert done.returncode == 0, done.stderr
    parts = read_json(tmp_path / "out/recommendation.json")["recommendations"]
    assert [(part["variant"]["subset"], part["data_images"]) for part in parts] == [("25%", 6)] * 2
    done = rue("tune", formats / "photos", *GRID[:-2], "--subset", "4:12", "--sample", "4", "--out", "sampled")
    assert done.returncode == 0, done.stderr
    parts = read_json(tmp_path / "sampled/recommendation.json")["recommendations"]
    assert [(part["variant"]["subset"], part["sample"], part["data_images"]) for part in parts] == [("4:12", False, 8), (None, True, 4)]


def test_what_cannot_have_a_subset_says_so(rue, script, formats):
    photos, runner = formats / "photos", script({"ape": {"4/0": 1000}}).command
    for words, code, part in [(["inspect", photos, "--subset", "5,5"], 2, "item 5 is given twice"), (["inspect", photos, "--subset", "@no"], 3, "no: No such file"),
                              (["tune", photos, *GRID, "--subset", "x" * 1024], 2, "put the items into a file"), (["tune", photos, *GRID, "--subset", "0:99"], 2, "item 22 does not exist"),
                              (["tune", photos, *GRID, "--subset", "0:9", "--runner", runner], 2, "cannot load a subset: remove --subset"),
                              (["prepare", "--synthetic", "5", "made", "--subset", "0:9"], 2, "--subset has no effect on --synthetic")]:
        expect_failure(rue(*words), code, part)
