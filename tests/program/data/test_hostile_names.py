"""Names that would take over a terminal or a spreadsheet: of folders, files, classes, columns, models, runners and reasons.
On a pseudo-terminal nothing of them arrives but as text."""
import csv
import json
import os
import re
import shlex
import shutil

import pytest

from conftest import clean_environment, make_table
from terminal import run_on_terminal

EVIL = "\x1b]0;owned\x07\x1b[2J\x1b[5;5H\r\nINJECTED\b\t\x7f\x9b5;5H\u202egpj\u2066\u200f\u2028ü"  # in UTF-8, as JSON brings it
FILE_EVIL = os.fsencode(EVIL.replace("/", "")) + b"\xff\xc2\x9b"  # a file's name may hold any bytes
OWN = re.compile(r"\x1b\[(\d+A|J|K|\d+m)|\r\x1b\[K|\r\r?\n")  # what rue sends itself, and what a terminal makes of a line feed
UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]")
GRID = ["--batch-size", "16,32", "--num-workers", "0,2"]


def expect_harmless(raw, why):
    text = OWN.sub("\n", raw.decode("utf-8"))  # bytes that are not UTF-8 raise
    assert not UNSAFE.search(text), (why, UNSAFE.search(text), text)
    assert not re.search(r"^INJECTED", text, re.MULTILINE), (why, text)


@pytest.fixture
def show(rue):
    """Runs on a terminal in colour, on a plain one in a locale without UTF-8, and through pipes; returns the last run."""
    def run(*words, codes, **env):
        words = [str(rue.program), *(os.fsdecode(w) if isinstance(w, bytes) else str(w) for w in words)]
        for more in (dict(TERM="xterm"), dict(TERM="dumb", LC_ALL="C", COLUMNS=40)):
            try:
                code, _, raw, _ = run_on_terminal(words, 80, clean_environment(**{**more, **env}), rue.folder)
            except OSError as why:
                pytest.skip(f"skipped: no terminal can be had here: {why}")
            except ValueError as why:  # an escape code that the screen does not know
                raise AssertionError((words, why)) from None
            expect_harmless(raw, words)
            assert code in codes, (words, raw.decode())
            assert b"Sanitizer" not in raw, raw.decode()
        done = rue(*words[1:], env=env)
        expect_harmless((done.stdout + done.stderr).encode("utf-8", "surrogateescape"), words)
        return done
    return run


@pytest.fixture
def evil_photos(rue, own_photos):
    """Photographs whose folders and files have such names, one of them damaged."""
    for i, folder in enumerate(sorted(own_photos.iterdir())[:3]):
        named = os.fsencode(own_photos) + b"/" + [FILE_EVIL, EVIL.encode(), b"=1+1"][i]
        os.rename(folder, named)
        for name in os.listdir(named):
            os.rename(named + b"/" + name, named + b"/" + FILE_EVIL + name)
    whole = os.fsencode(rue.folder) + b"/" + EVIL.encode()
    os.rename(own_photos, whole)
    return whole


@pytest.fixture
def evil_runner(script):
    models = [EVIL, "=HYPERLINK(\"http://x\",\"y\")", "@SUM(A1)", "-5", "resnet18"]
    table = make_table(models, [16, 32], [0, 2], lambda m, b, w: 1000 + b + 100 * w)
    return script(table, hello=dict(runner=EVIL, machine=dict(cpu=EVIL, usable_cpus=4), variants=[dict(path=EVIL, mode="raw", format="=f")]),
                  faults=[dict(when=dict(cell="16/2"), do="answer", answer=dict(status="infeasible", reason="=1+1" + EVIL))])


def test_data_of_hostile_names(show, rue, evil_photos):
    damaged = rue.folder / "damaged"
    shutil.copytree(os.fsdecode(evil_photos), damaged)
    bad = next(path for path in damaged.rglob("*.jpg") if "\x1b" in str(path))
    bad.write_bytes(b"\xff\xd8\xffno jpeg")
    quick = ["--batch-size", "4", "--num-workers", "0,1", "--model", "none", "--mode", "raw"]
    show("inspect", evil_photos, codes=[0])
    classes = json.loads(show("inspect", evil_photos, "--json", codes=[0]).stdout)["classes"]
    assert FILE_EVIL.decode(errors="replace") in [each["name"] for each in classes]
    show("inspect", evil_photos + b"/none", codes=[3])
    os.symlink(evil_photos, os.fsencode(rue.folder) + b"/" + FILE_EVIL)
    show("inspect", FILE_EVIL, codes=[0])
    show("tune", FILE_EVIL, "--dry-run", codes=[0, 2])
    show("tune", evil_photos, *quick, "--dry-run", codes=[0])
    show("tune", evil_photos, *quick, "--dry-run", "--json", codes=[2])
    show("tune", evil_photos, *quick, codes=[0], RUE_FRESH="1")
    show("tune", damaged, *quick, codes=[0, 3, 4, 5], RUE_FRESH="1")
    show("list", codes=[0])
    show("list", "--json", codes=[0])
    show("list", FILE_EVIL, codes=[0])
    show("scale", evil_photos, "--batch-size", "4", "--num-workers", "0", "--budget", "60s", codes=[0], RUE_FRESH="1")
    show("compare", evil_photos, damaged, *quick[:6], "--budget", "3s", "--sample", "4", codes=[0, 3, 4, 5], RUE_FRESH="1")
    for form in ("tensor", "folder"):
        show("prepare", evil_photos, FILE_EVIL + b"." + form.encode(), "--format", form, "--force", codes=[0, 2, 3, 6])
    show("prepare", damaged, b"x" + FILE_EVIL, codes=[2, 3])


def test_a_runner_of_hostile_names(show, rue, evil_runner):
    run = ["tune", "--runner", evil_runner.command, "--out", "o" + EVIL]
    show(*run, "--details", codes=[0], RUE_FRESH="1")
    show(*run, "--dry-run", codes=[0])
    show(*run, "--json", "--fresh", codes=[0])
    show("show", "o" + EVIL, "--details", codes=[0])
    show("show", "o" + EVIL, "--trials", codes=[0])
    show("show", "o" + EVIL, "--trial", "9", codes=[0])
    show("show", "o" + EVIL, "--trial", "9", "--json", codes=[0])
    show("show", "o" + EVIL, "--json", codes=[0])
    show("list", ".", codes=[0])
    show("check", "o" + EVIL, "--runner", evil_runner.command, codes=[0, 3, 5])
    show("tune", "--runner", evil_runner.command, "--prior", "o" + EVIL, "--strategy", "duel", "--out", "later", "--budget", "30trials", codes=[0, 3, 5],
         RUE_FRESH="1")
    show("analyze", "o" + EVIL + "/trials.csv", codes=[0, 3])
    show("analyze", "o" + EVIL + "/trials.csv", "--study", "t" + EVIL, codes=[0, 3])
    show("check", "o" + EVIL, "--runner", "echo " + shlex.quote(EVIL), codes=[1])
    show("tune", "--runner", "exit 3 #" + EVIL, codes=[1])
    evil_runner.write(faults=[dict(when=dict(), do="answer", answer=dict(status="failed", reason=EVIL, data_fault=True))])
    show(*run, codes=[3], RUE_FRESH="1")


@pytest.mark.parametrize("hello", [dict(protocol=EVIL), dict(clock=EVIL), dict(space={EVIL: [1]}), dict(measures=[EVIL]), EVIL,
                                   dict(models=[EVIL, EVIL]), dict(variants=[dict(path="", mode=EVIL)]), json.dumps({EVIL: 1})], ids=range(8))
def test_a_greeting_that_cannot_be_used(show, evil_runner, hello):
    evil_runner.write(hello=hello)
    show("tune", "--runner", evil_runner.command, codes=[0, 1, 2, 3, 4, 5], RUE_FRESH="1")


def test_words_that_are_typed_or_found(show, rue, own_photos):
    (rue.folder / "times.csv").write_bytes(f'model,batch_size,num_workers,"{EVIL}"\na,1,0,2\n'.encode())
    (rue.folder / "rue.json").write_text(json.dumps({EVIL: 1}))
    evil = EVIL.encode()
    for words in ([evil], ["tune", b"--" + evil], ["tune", "photos", "--budget", evil], ["help", evil],
                  ["tune", "photos", "--batch-size", evil], ["tune", "photos", "--model", evil], ["tune", "photos", "--device", evil],
                  ["tune", "photos", "--strategy", evil], ["tune", "photos", "--weights", evil], ["analyze", "times.csv"],
                  ["analyze", "times.csv", "--map", evil], ["check", evil],
                  ["show", evil], ["list", evil], ["models", evil], ["models", "--device", evil + b".json"], ["scale", "photos", "--gpus", evil],
                  ["calibrate", evil, "--device", evil], ["tune", "photos", "--gpus", evil],
                  ["compare", evil, evil], ["tune", "--table", evil]):
        show(*words, codes=[1, 2, 3])
    show("analyze", "times.csv", "--map", b"time_s=" + evil, codes=[0])
    show("models", codes=[0], RUE_BUGDET=EVIL)
    show("tune", "photos", codes=[2], RUE_SEED=EVIL)
    (rue.folder / "rue.json").write_text(json.dumps({"seed": EVIL}))
    show("tune", "photos", codes=[2])
    (rue.folder / "rue.json").write_bytes(b'{"' + evil + b'": }')
    show("tune", "photos", codes=[2])


def test_csv_cells_are_not_formulas_and_every_name_is_read_back(rue, evil_runner):
    assert rue("tune", "--runner", evil_runner.command, "--out", "out").returncode == 0
    with open(rue.folder / "out/trials.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    models = {row["model"] for row in rows}
    assert {"'=HYPERLINK(\"http://x\",\"y\")", "'@SUM(A1)", "-5", "resnet18"} < models
    assert {row["reason"][:5] for row in rows if row["status"] == "infeasible"} == {"'=1+1"} and {row["format"] for row in rows} == {"'=f"}
    text = (rue.folder / "out/trials.csv").read_text()
    assert not UNSAFE.search(text) and len(text.splitlines()) == len(rows) + 1
    done = rue("analyze", "out/trials.csv", "--json")
    found = {model for part in json.loads(done.stdout)["recommendations"] for model in part["models"]} if done.returncode == 0 else done.stderr
    assert {"=HYPERLINK(\"http://x\",\"y\")", "@SUM(A1)", "-5", "resnet18"} < set(found), found
