"""A study in a folder is continued only with the loader and the steps that it is of, as far as this can be seen."""
import collections
import contextlib
import functools
import sqlite3
import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import rue_tuner as rue  # noqa: E402
from conftest import HANG_S, ROOT, clean_environment  # noqa: E402: it finds wording
import wording  # noqa: E402
from rue_tuner.identity import fingerprint  # noqa: E402
from rue_tuner.serve import Runner  # noqa: E402
from rue_tuner.subjects import make_subject  # noqa: E402

SOURCE = '''
import pathlib
import torch
from torch.utils.data import DataLoader, Dataset

SCALE = 2

def decode(index):
    return SCALE * torch.ones(3, 8, 8) * index

class Crop:
    def __init__(self, size):
        self.size = size

    def __call__(self, image):
        return image[:, :self.size]

class Photos(Dataset):
    def __init__(self, transforms, folder, rank=0):
        self.transforms, self.folder, self.rank = transforms, pathlib.Path(folder), rank

    def __len__(self):
        return 48

    def __getitem__(self, index):
        image = decode(index if str(index) in {"1", "2", "3", "many"} else 0)
        for transform in self.transforms:
            image = transform(image)
        return image, index

def collate(items):
    return torch.stack([image for image, label in items])

model = torch.nn.Sequential(torch.nn.Linear(8, 4))

class Trainer:
    def __init__(self):
        self.steps, self.optimizer = 0, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(self, batch):
        self.steps += 1
        model(batch).sum().backward()
        self.optimizer.step()

def make_loader(batch_size, num_workers):
    return DataLoader(Photos([Crop(6)], "a"), batch_size=batch_size, collate_fn=collate, num_workers=num_workers)

loader = make_loader(16, 0)
steps = {"mine": Trainer().step}
'''


def digest(source=SOURCE, loader="loader"):
    names = {"__name__": "script"}
    exec(source, names)
    return find_digest(names[loader], names["steps"])


def find_digest(loader, steps):
    return Runner(make_subject(loader, images=48), steps).open({})["digest"]


def test_the_same_source_has_the_same_digest():
    assert digest() == digest() == digest("# a comment\n\n" + SOURCE)
    assert digest(loader="make_loader") == digest(loader="make_loader") != digest()


@pytest.mark.parametrize("loader", ["loader", "make_loader"])
@pytest.mark.parametrize("before, after", [
    ("torch.ones(3", "torch.zeros(3"), ("SCALE = 2", "SCALE = 3"), ("[:, :self.size]", "[:, self.size:]"), ("Crop(6)", "Crop(5)"), ('"a"', '"b"'),
    ('"many"', '"few"'), ("torch.stack([image", "torch.stack([image + 1"),
])
def test_a_change_of_the_loader_changes_it(loader, before, after):
    assert SOURCE.count(before) == 1
    assert digest(SOURCE.replace(before, after), loader).partition("-")[0] != digest(loader=loader).partition("-")[0]


@pytest.mark.parametrize("before, after", [(".sum().backward()", ".mean().backward()"), ("Linear(8, 4)", "Linear(8, 5)"),
                                           ("torch.nn.Linear(8, 4)", "torch.nn.Linear(8, 4), torch.nn.ReLU()")])
def test_a_change_of_a_step_changes_what_follows_the_data(before, after):
    assert SOURCE.count(before) == 1
    (data, steps), (same, other) = (digest(source).split("-") for source in (SOURCE, SOURCE.replace(before, after)))
    assert data == same and steps != other


def test_use_does_not_change_it():
    names = {"__name__": "script"}
    exec(SOURCE, names)
    before = find_digest(names["loader"], names["steps"])
    for batch in names["loader"]:
        names["steps"]["mine"](batch)
    assert names["steps"]["mine"].__self__.steps and find_digest(names["loader"], names["steps"]) == before


def test_it_is_the_same_in_another_process():
    code = "import sys; sys.path[:0] = sys.argv[1:]; import test_identity; print(test_identity.digest())"
    found = [subprocess.run([sys.executable, "-c", code, *(str(ROOT / folder) for folder in ("python", "tests", "tests/python"))], text=True,
                            env=clean_environment(PYTHONHASHSEED=seed), capture_output=True, timeout=HANG_S) for seed in (1, 2)]
    assert found[0].stdout == found[1].stdout == digest() + "\n", found


def test_containers_and_modules_with_similar_names_count():
    def class_in(module, value):
        return type("Crop", (), {"__module__": module, "size": value})()

    assert fingerprint({"cat"}) != fingerprint({"dog"}) and fingerprint({"cat", "dog"}) == fingerprint({"dog", "cat"})
    assert fingerprint(collections.deque([1])) != fingerprint(collections.deque([2]))
    assert fingerprint(class_in("random_crop", 1)) != fingerprint(class_in("random_crop", 500))


def test_what_a_step_counts_does_not_change_it():
    names = {"__name__": "script"}
    exec("n, losses = 0, []\ndef step(batch):\n    global n\n    n += 1\n    losses.append(1.5)\n", names)
    before = fingerprint(names["step"], members=False)
    names["step"](None)
    assert fingerprint(names["step"], members=False) == before


def test_a_study_of_an_edited_data_set_is_not_continued(rue_for_python, capfd):
    said = []

    def tune(source):
        names = {"__name__": "script"}
        exec(source, names)
        rue.tune(names["loader"], ["none"], space=dict(num_workers=[0]), budget="6trials", strategy="grid", out="study")
        said.append(" ".join(capfd.readouterr().err.split()))
        with sqlite3.connect("study/study.db") as db:
            return dict(db.execute("SELECT data_digest, count(*) FROM trial GROUP BY data_digest").fetchall())
    first = tune(SOURCE)
    with sqlite3.connect("study/study.db") as db:
        db.execute("DELETE FROM trial WHERE id > (SELECT min(id) FROM trial)")
    assert wording.CONTINUING_THE_STUDY not in said[0] and tune(SOURCE) == first
    assert "study.db: it has 1 trial (fresh=True starts over)" in said[1]
    assert tune(SOURCE) == first, "it measures no trial twice"
    other = SOURCE.replace("torch.ones(3", "torch.zeros(3")
    both, count = tune(other), sum(first.values())
    assert len(both) == 2 and both.items() >= first.items()
    assert f"it has {count} trials, none of this loader, step, job and machine: measuring again (fresh" in said[3]
    tune(other)
    assert f"it has {sum(both.values())} trials, {sum(both.values()) - count} of this loader, step, job and machine (fresh" in said[4]


def test_a_check_may_have_another_step_but_not_other_data(rue_for_python, capfd):
    def run(source, step, call):
        names = {"__name__": "script"}
        exec(source, names)
        with contextlib.suppress(rue.TuneError):  # on a busy machine it may not hold
            return call(names["loader"], models={"mine": step}, space=dict(num_workers=[0, 1]))
    result = run(SOURCE, lambda batch: time.sleep(0.001), functools.partial(rue.tune, budget="12trials", strategy="grid", quiet=True))
    said = []
    for source in (SOURCE, SOURCE.replace("torch.ones(3", "torch.zeros(3")):
        run(source, lambda batch: (batch, time.sleep(0.001)), functools.partial(result.check, budget="20s"))
        said.append(wording.THE_DATA_ARE_NOT in "".join(capfd.readouterr()))
    assert said == [False, True]
