"""The command line: goldens, wrong input, where values come from, what is written where, exit codes."""
import contextlib
import itertools
import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import struct
import subprocess

import pytest

import wording
from conftest import HANG_S, ROOT, clean_environment, error_line, expect_failure, make_table, map_tensor, read_json, stop, wait_until

pytestmark = pytest.mark.quick

np = pytest.importorskip("numpy", reason="NumPy is not installed (python3-numpy)")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (python3-pil)")

GOLDENS = ROOT / "tests" / "goldens"
COMMANDS = ["tune", "compare", "scale", "prepare", "inspect", "analyze", "check", "show", "report", "why", "diff", "list", "models",
            "augment", "calibrate", "runner"]
QUICK = ["--batch-size", "4", "--num-workers", "0,1", "--model", "none", "--budget", "5m", "--mode", "raw", "--quiet"]
TABLE = make_table(["ape", "bee"], [16, 32], [0, 2], lambda m, b, w: 1000 + b + 100 * w * (m == "bee"))


# ---- goldens ----

def check_golden(name, text):
    """RUE_UPDATE_GOLDENS=1 rewrites them."""
    path = GOLDENS / f"{name}.txt"
    if os.environ.get("RUE_UPDATE_GOLDENS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text(), f"if this is meant to be so: RUE_UPDATE_GOLDENS=1 pytest {__file__}"


def test_help_is_the_golden_one(rue):
    done = rue("--help")
    assert (done.returncode, done.stderr) == (0, "")
    check_golden("help", done.stdout)
    assert rue("-h").stdout == done.stdout
    manual = rue("help").stdout
    assert manual.startswith(done.stdout.split("\n\n'rue COMMAND")[0]) and "Settings:" in manual
    assert all(f"\n  {code} " in manual.split("Exit codes:")[1] for code in (0, 1, 2, 3, 4, 5, 6, 130, 141, 143))


def test_rue_without_a_command_shows_three_examples(rue):
    bare = rue()
    assert (bare.returncode, bare.stdout) == (2, "")
    assert len(re.findall("^  rue ", bare.stderr, re.MULTILINE)) == 3 and max(map(len, bare.stderr.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_is_the_golden_one(rue, command):
    done = rue(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    check_golden(f"help_{command}", done.stdout)
    lines = rue(command, "--help", env=dict(COLUMNS=80)).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert len([line for line in lines if re.match(" {26}", line)]) <= 1, "one line for each option where possible"
    assert rue(command, "--no-such-option", "-h", "and", "more", "words").stdout == done.stdout, "help wins over errors"
    options, words = re.findall("^  (--[a-z-]+)", done.stdout, re.MULTILINE), " ".join(done.stdout.split())
    manual = rue("help", command).stdout
    assert re.findall("^  (--[a-z-]+)", manual, re.MULTILINE) == options
    assert len(manual.split()) >= len(words.split()) - 6, "it says at least as much"


def test_the_help_of_tune_starts_with_the_ten_most_used_options(rue):
    groups = re.split(r"\n\n([A-Z][a-z ]+):\n", rue("tune", "--help").stdout)
    assert groups[1::2] == ["Options", "Search space", "Job", "Budget and confidence", "Data", "Answer", "Output", "Advanced"]
    assert len(groups[2].splitlines()) == 10


def test_the_version_is_that_of_the_build(rue):
    done = rue("--version")
    version = re.search(r'__version__ = "(\d+\.\d+\.\d+)"', (ROOT / "python/rue_tuner/__init__.py").read_text()).group(1)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"rue {version}\n", "")


def test_the_table_is_the_golden_one(rue, script):
    """In a pipe: no colour, a fixed width. The clock is virtual, so it is the same everywhere."""
    one = script(make_table(["ape", "bee"], [16, 32, 64], [0, 2], lambda m, b, w: 1000 + b + 400 * (w == 0) * (m == "bee")),
                 infeasible_above=32)
    done = rue("tune", "--runner", one.command, "--quiet")
    assert done.returncode == 0
    check_golden("table", done.stdout)


def test_the_table_without_unicode_is_ascii(rue, script):
    done = rue("tune", "--runner", script(TABLE).command, "--quiet", env=dict(LC_ALL="C"))
    assert done.returncode == 0 and done.stdout.isascii() and wording.USE_BATCH_SIZE in done.stdout


# ---- wrong words ----

WRONG = {
    "command": (["tnue"], ["unknown command 'tnue'", "did you mean 'tune'?"]),
    "command_far": (["frobnicate"], ["unknown command 'frobnicate'", "'rue --help' lists the commands"]),
    "option": (["tune", ".", "--bugdet", "1m"], ["unknown option --bugdet: did you mean '--budget'?"]),
    "option_far": (["tune", ".", "--frobnicate"], ["unknown option --frobnicate", "'rue tune --help' lists"]),
    "short": (["tune", ".", "-x"], ["unknown option -x", "'rue tune --help' lists"]),
    "model": (["tune", ".", "--model", "resnet81"], ["unknown model 'resnet81'", "did you mean 'resnet18'?"]),
    "model_far": (["tune", ".", "--model", "frobnicate"], ["unknown model 'frobnicate'", "known:", "vit_b_16", "sleep:"]),
    "model_sleep": (["tune", ".", "--model", "sleep:fast"], ["'sleep:fast'", "sleep:250ms/batch"]),
    "model_twice": (["tune", ".", "--model", "vit_b_16,vit-b-16"], ["--model", "vit_b_16", "twice"]),
    "model_none": (["tune", ".", "--model", ","], ["--model", "empty"]),
    "no_value": (["tune", "--budget"], ["--budget needs a value", "LIMIT"]),
    "no_value_before": (["tune", ".", "--launch", "--quiet"], ["--launch needs a value (CMD)"]),
    "no_argument": (["inspect"], ["DATA is missing (usage: rue inspect DATA)"]),
    "no_table": (["analyze"], ["TABLE is missing (usage: rue analyze TABLE)"]),
    "no_destination": (["prepare"], ["DST is missing (usage: rue prepare [SRC] DST)"]),
    "empty_argument": (["inspect", ""], ["'' is not a path (usage: rue inspect DATA)"]),
    "empty_source": (["prepare", "", "x.tensor"], ["'' is not a path (usage: rue prepare [SRC] DST)"]),
    "empty_folder": (["list", ""], ["'' is not a path (usage: rue list [DIR])"]),
    "runner_word": (["runner", "x"], ["one argument too many: 'x' (usage: rue runner)"]),
    "version_near": (["--versio"], ["unknown option --versio: did you mean '--version'?"]),
    "option_first": (["--budget", "5m"], ["unknown option --budget; give a command first"]),
    "no_data": (["tune"], ["rue tune: DATA is missing", "give a folder of images"]),
    "compare_one": (["compare", "a"], ["OTHER... is missing", "rue compare A OTHER..."]),
    "too_many": (["tune", *"abcdefghijklmnopq"], ["one argument too many: 'q'", "rue tune [DATA...]"]),
    "budget": (["tune", ".", "--budget", "soon"], ["--budget: 'soon' is not a time such as 2m"]),
    "budget_zero": (["tune", ".", "--budget", "0s"], ["--budget: '0s'"]),
    "budget_below": (["tune", ".", "--budget", "-1s"], ["--budget: '-1s'"]),
    "memory": (["tune", ".", "--max-memory", "much"], ["--max-memory: 'much' is not a size such as 8G"]),
    "repeats": (["tune", ".", "--repeats", "0"], ["--repeats: '0' is not a whole number from 1 to 1000"]),
    "count": (["tune", ".", "--images", "1.5M"], ["--images: '1.5M' is not a whole number from 1 to", "such as 5000, 64k, 100M or 1e9"]),
    "count_huge": (["tune", ".", "--seed", "9" * 30], ["--seed", "is not a whole number"]),
    "mode": (["tune", ".", "--mode", "cooked"], ["--mode: 'cooked' is not one of all, raw, preprocessed"]),
    "mode_near": (["tune", ".", "--mode", "rwa"], ["--mode: 'rwa' is not one of", "did you mean 'raw'?"]),
    "dtype_near": (["prepare", "a", "b", "--dtype", "flaot32"], ["--dtype: 'flaot32'", "did you mean 'float32'?"]),
    "nothing": (["tune", ".", "--runner", ""], ["--runner: the value is empty: give a command for a shell"]),
    "flag": (["tune", ".", "--fresh=maybe"], ["--fresh: 'maybe' is not true or false"]),
    "workers": (["tune", ".", "--num-workers", "1,257"], ["--num-workers: '257'", "from 0 to 256"]),
    "batch_zero": (["tune", ".", "--batch-size", "0"], ["--batch-size: '0'", "from 1 to"]),
    "batch_word": (["tune", ".", "--batch-size", "large"], ["--batch-size: 'large'", "32,64,128"]),
    "range_back": (["tune", ".", "--num-workers", "8..2"], ["--num-workers: '8..2'"]),
    "range_long": (["tune", ".", "--batch-size", "1..100"], ["--batch-size: 1..100 has more than 64 values"]),
    "list_long": (["tune", ".", "--batch-size", "1..64,65..128"], ["--batch-size: 1..64,65..128 has more than 64 values"]),
    "list_gap": (["tune", ".", "--batch-size", "32,,64"], ["--batch-size: a value is missing in '32,,64'"]),
    "list_end": (["tune", ".", "--num-workers", "1,2,"], ["--num-workers: a value is missing in '1,2,'"]),
    "list_empty": (["tune", ".", "--num-workers="], ["--num-workers: the value is empty"]),
    "list_blank": (["tune", ".", "--batch-size", "32, ,64"], ["--batch-size: a value is missing in '32, ,64'"]),
    "model_gap": (["tune", ".", "--model", "resnet18,,vit_b_16"], ["--model: a name is empty in 'resnet18,,vit_b_16'"]),
    "parallelism_near": (["tune", ".", "--parallelism", "bath"], ["--parallelism: 'bath'", "did you mean 'batch'?"]),
    "help": (["help", "tnue"], ["unknown command 'tnue'", "did you mean 'tune'?"]),
    "parallelism": (["tune", ".", "--parallelism", "both"], ["--parallelism: 'both'", "batch or sample"]),
    "prepare_one": (["prepare", "photos"], ["give a destination after the source", "rue prepare photos photos.tensor"]),
    "prepare_only_to": (["prepare", "x/photos.lmdb"], ["give the data to convert before the destination x/photos.lmdb"]),
    "prepare_two": (["prepare", "--synthetic", "3", "a", "b"], ["--synthetic", "only the destination"]),
    "prepare_none": (["prepare", "--synthetic", "0", "a"], ["--synthetic: '0'", "from 1 to"]),
    "prepare_dtype": (["prepare", "a", "b", "--dtype", "float64"], ["--dtype: 'float64'", "float32, uint8"]),
    "prepare_workers": (["prepare", "a", "b", "--num-workers", "257"], ["--num-workers: '257'", "from 1 to 256"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_reported_in_one_line(rue, name):
    words, said = WRONG[name]
    done = rue(*words)
    expect_failure(done, 2, *said)
    assert done.stdout == "" and len(done.stderr.splitlines()) == 1
    assert list(rue.folder.iterdir()) == [], "nothing was written"


# ---- where values come from ----

def test_precedence_and_origins(rue, script):
    """Flag, then environment, then rue.json, then the default, each with its name."""
    (rue.folder / "rue.json").write_text(json.dumps({"seed": 3, "repeats": 2, "top_n": 2, "no_shuffle": True, "dtype": "a"}))
    environment = dict(RUE_SEED=5, RUE_REPEATS=4, RUE_BUDGET="3m", RUE_QUIET=1, RUE_JSON="")
    done = rue("tune", "--runner", script(TABLE).command, "--seed=7", "--dry-run", env=environment)
    assert done.returncode == 0 and done.stderr == ""
    for name, value, origin in (("seed", 7, "--seed"), ("repeats", 4, "RUE_REPEATS"), ("budget", "3m", "RUE_BUDGET"),
                                ("top-n", 2, "rue.json"), ("no-shuffle", "true", "rue.json"), ("quiet", 1, "RUE_QUIET"),
                                ("mode", "all", "default")):
        assert re.search(rf"^  {name} +{value} \({origin}\)$", done.stdout, re.MULTILINE), (name, done.stdout)
    assert "4 repeats" in done.stdout


def test_underscores_and_hyphens_are_the_same(rue, script):
    done = rue("tune", "--runner", script(TABLE).command, "--batch_size", "16", "--top-n=2", "--dry-run", "--quiet")
    assert done.returncode == 0 and "batch-size        16 (--batch-size)\n" in done.stdout
    assert "batch-size        16\n" in done.stdout.split("Plan:")[1] and "batch_size" not in done.stdout, "one spelling"


@pytest.mark.parametrize("text, words", [
    ('{"budget": ', ["rue.json, line 1"]), ('{\n"seed": 1,\n"seed": 2}', ["rue.json, line", "duplicate"]),
    ("[1]", ["rue.json", "not a JSON object"]), ('{"seed": "many"}', ["rue.json: 'many' is not a whole number"]),
    ('{"seed": [1]}', ['rue.json: "seed" must be']), ('{"repeats": 0}', ["rue.json: '0' is not a whole number from 1"]),
])
def test_an_invalid_rue_json_is_reported(rue, text, words):
    (rue.folder / "rue.json").write_text(text)
    expect_failure(rue("tune", "."), 2, *words)
    assert rue("tune", "--help").returncode == 0, "help is there all the same"


def test_settings_are_read_only_from_a_regular_file(rue):
    os.mkfifo(rue.folder / "rue.json")
    expect_failure(rue("inspect", "photos"), 2, "rue.json is not a regular file", "move the file away")


def test_an_unknown_setting_is_reported_once(rue, own_photos):
    (rue.folder / "rue.json").write_text(json.dumps({"bugdet": "5m", "top_n": 2, "something-else": [1]}))
    done = rue("tune", own_photos, *QUICK, env=dict(RUE_BUGDET="5m", RUE_TOP_N="3", RUE_DTYPE="uint8", RUE_EMPTY=""))
    assert done.returncode == 0 and done.stderr.splitlines()[0] == (
        "note: unknown settings are ignored: RUE_BUGDET: did you mean 'RUE_BUDGET'?; "
        "bugdet in rue.json: did you mean 'budget'?; something-else in rue.json")
    assert done.stderr.count("note:") == 1, "the runner says nothing of it"
    assert rue("inspect", own_photos).stderr.startswith("note: "), "whatever the command"
    assert rue("tune", "--help", env=dict(RUE_BUGDET="5m")).stderr == ""


def test_settings_of_tune_do_not_apply_to_prepare(rue, own_photos):
    """--images, --mode and --num-workers mean something else there: flags alone set them."""
    (rue.folder / "rue.json").write_text(json.dumps({"mode": "raw", "num-workers": "0,2,4"}))
    done = rue("prepare", own_photos, "all.tensor", env=dict(RUE_IMAGES=3, RUE_MODE="all", RUE_NUM_WORKERS="0..8"))
    assert done.returncode == 0 and wording.ALL_TENSOR_IMAGES_CONVERTED.format(20) in done.stderr and "note:" not in done.stderr
    assert rue("prepare", own_photos, "three.tensor", "--images", "3", env=dict(RUE_DTYPE="uint8")).returncode == 0
    assert (rue.folder / "three.tensor").stat().st_size < 4 * 3 * 224 * 224 * 3, "other settings hold"


@pytest.mark.parametrize("words, kept", [
    (["--map", "time_ms=End to end (ms)"], "rue tune --table 'my table.csv' --strategy grid --budget 200% --out kept --map 'time_ms=End to end (ms)'"),
    (["--map", "time_ms=End to end (ms)", "--top-n=2"],
     "rue tune --table 'my table.csv' --strategy grid --budget 200% --out kept --map 'time_ms=End to end (ms)' --top-n=2"),
])
def test_the_command_line_is_stored_unchanged(rue, words, kept):
    (rue.folder / "my table.csv").write_text("model,batch_size,num_workers,End to end (ms)\na,16,1,2\na,32,1,1\n")
    assert rue("tune", "--table", "my table.csv", "--strategy", "grid", "--budget", "200%", "--out", "kept", *words).returncode == 0
    with contextlib.closing(sqlite3.connect(rue.folder / "kept/study.db")) as db:
        assert db.execute("SELECT command_line FROM run").fetchall() == [(kept,)]
    assert read_json(rue.folder / "kept/recommendation.json")["provenance"]["command_line"] == kept


def test_a_long_command_line_is_cut_between_words(rue, own_photos):
    """What does not fit is cut where a shell still reads the rest."""
    words = ["tune", own_photos, "--out", "it's mine", *QUICK, *["--top-n", "3"] * 500]
    assert rue(*words).returncode == 0
    line = read_json(rue.folder / "it's mine/recommendation.json")["provenance"]["command_line"]
    typed, read = ["rue", *map(str, words)], shlex.split(line)
    assert len(line) < 4096 and read[-1] == "..." and read[:-1] == typed[:len(read) - 1] and len(read) > 500


def test_an_invalid_environment_variable_is_reported(rue):
    expect_failure(rue("tune", ".", env=dict(RUE_REPEATS="x")), 2, "RUE_REPEATS: 'x' is not a whole number")


def test_arguments_may_begin_with_a_hyphen(rue, photos):
    shutil.copytree(photos, rue.folder / "-photos")
    assert rue("inspect", "--", "-photos").returncode == 0


# ---- data that cannot be used ----

def make_tiff(path):
    Image.new("RGB", (300, 300), "red").save(path, format="TIFF")


def cut_short(path):
    path.write_bytes(path.read_bytes()[:2000])


def empty_it(path):
    path.write_bytes(b"")


def make_text(path):
    path.write_text("this is no photo")


DAMAGES = dict(tiff=make_tiff, cut=cut_short, empty=empty_it, text=make_text)


@pytest.mark.parametrize("command", ["tune", "inspect", "prepare"])
@pytest.mark.parametrize("what, word", [("missing", "No such file"), ("empty", "is empty"), ("texts", "no image"),
                                        ("file", "unknown format"), ("tiffs", "*.tif"), ("study", "rue show"),
                                        ("studies", "rue list")])
def test_invalid_data_are_refused(rue, command, what, word):
    path = rue.folder / what
    if what == "file":
        path.write_text("neither folder nor tensor file")
    elif what != "missing":
        path.mkdir()
    if what == "texts":
        (path / "readme.txt").write_text("no photo")
    if what == "tiffs":
        (path / "a.tif").write_bytes(b"II*\0")
    if what in ("study", "studies"):
        folder = path / ("photos" if what == "studies" else "")
        folder.mkdir(exist_ok=True)
        (folder / "study.db").write_text("a store")
        (folder / "trials.csv").write_text("id")
    more = [rue.folder / "x.tensor"] if command == "prepare" else []
    expect_failure(rue(command, path, *more), 3, path, word)
    assert not (rue.folder / "x.tensor").exists() and not list(rue.folder.glob("rue-out/*/*.db"))


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_photo_fails_and_is_named(rue, own_photos, damage):
    victim = sorted(own_photos.rglob("*.jpg"))[3]
    DAMAGES[damage](victim)
    line = expect_failure(rue("tune", own_photos, *QUICK), 3, victim, "--bad-images replace")
    assert line.count(str(victim)) == 1
    expect_failure(rue("prepare", own_photos, "x.tensor", "--quiet"), 3, victim)
    assert sorted(path.name for path in rue.folder.iterdir()) == ["photos", "rue-out"], "no half of a tensor file"


def test_damaged_photos_are_replaced_and_counted(rue, own_photos):
    for damage, victim in zip(DAMAGES.values(), sorted(own_photos.rglob("*.jpg"))[::5]):
        damage(victim)
    done = rue("tune", own_photos, *QUICK, "--bad-images", "replace")
    assert done.returncode == 0, done.stderr
    lines = (rue.folder / "rue-out/photos/trials.csv").read_text().splitlines()
    at = lines[0].split(",").index("bad_images")
    assert {line.split(",")[at] for line in lines[1:]} == {"4"}
    done = rue("prepare", own_photos, "x.tensor", "--bad-images", "replace", "--dtype", "uint8")
    assert done.returncode == 0 and wording.IMAGES_COULD_NOT_BE.format(4) in done.stderr


def test_only_damaged_photos_fail_the_study(rue, tmp_path):
    (tmp_path / "bad").mkdir()
    for i in range(4):
        make_text(tmp_path / "bad" / f"{i}.jpg")
    done = rue("tune", "bad", *QUICK, "--bad-images", "replace")
    expect_failure(done, 3, "bad/")


def test_a_batch_larger_than_the_data(rue, own_photos):
    for more in ([], ["--images", "64"]):
        done = rue("tune", own_photos, *QUICK, "--batch-size", "4,64", *more)
        assert done.returncode == 0 and re.search(r"^\W+64 +\d", done.stdout, re.M), "one batch of all, or of more than one epoch"


def test_a_mode_that_the_data_do_not_have(rue, own_photos):
    expect_failure(rue("tune", own_photos, *QUICK, "--mode", "preprocessed"), 2, own_photos, "raw data", "--mode excludes")


def test_batches_beyond_the_memory_are_infeasible(rue, own_photos):
    expect_failure(rue("tune", own_photos, *QUICK, "--max-memory", "1M"), 4, "infeasible", "--max-memory", "--batch-size")


def test_images_of_too_many_pixels(rue, own_photos):
    expect_failure(rue("tune", own_photos, *QUICK, "--max-pixels", "1000"), 3, own_photos, "pixels")


def test_control_characters_do_not_break_the_line(rue):
    done = rue("inspect", "no\nsuch\x1b[31mfolder")
    line = expect_failure(done, 3, "no?such?[31mfolder")
    assert len(done.stderr.splitlines()) == 1 and line.isprintable()


# ---- without rights ----

def test_an_unreadable_photo(unprivileged_rue, own_photos):
    shutil.copytree(own_photos, unprivileged_rue.folder / "photos")
    for path in (unprivileged_rue.folder / "photos").rglob("*"):
        path.chmod(0o755)
    victim = sorted((unprivileged_rue.folder / "photos").rglob("*.jpg"))[2]
    victim.chmod(0)
    out = unprivileged_rue.folder / "out"
    out.mkdir()
    out.chmod(0o777)
    expect_failure(unprivileged_rue("tune", "photos", *QUICK, "--out", out), 3, victim, "Permission denied")
    expect_failure(unprivileged_rue("prepare", "photos", out / "x.tensor"), 3, "photos/" + victim.parent.name, "Permission denied")
    victim.parent.chmod(0)
    expect_failure(unprivileged_rue("inspect", "photos"), 3, victim.parent.name, "Permission denied")
    (unprivileged_rue.folder / "photos").chmod(0)
    expect_failure(unprivileged_rue("inspect", "photos"), 3, "photos", "Permission denied")
    assert list(out.glob("*.tensor*")) == []


def test_a_folder_that_cannot_be_written(unprivileged_rue, own_photos):
    shutil.copytree(own_photos, unprivileged_rue.folder / "photos")
    for path in (unprivileged_rue.folder / "photos").rglob("*"):
        path.chmod(0o755)
    closed = unprivileged_rue.folder / "closed"
    closed.mkdir()
    for path in (unprivileged_rue.folder, closed):
        path.chmod(0o555)
    expect_failure(unprivileged_rue("tune", "photos", *QUICK), 6, "rue-out", "Permission denied", "--out")
    expect_failure(unprivileged_rue("tune", "photos", *QUICK, "--out", "closed"), 6, "closed", "Permission denied",
                   "another folder")
    expect_failure(unprivileged_rue("prepare", "photos", "closed/x.tensor"), 6, "closed/x.tensor", "Permission denied")
    expect_failure(unprivileged_rue("prepare", "--synthetic", "3", "closed/x"), 6, "closed/x", "Permission denied")


def test_a_closed_store(unprivileged_rue, own_photos):
    shutil.copytree(own_photos, unprivileged_rue.folder / "photos")
    for path in (unprivileged_rue.folder / "photos").rglob("*"):
        path.chmod(0o755)
    unprivileged_rue.folder.chmod(0o777)
    assert unprivileged_rue("tune", "photos", *QUICK, "--out", "out").returncode == 0
    (unprivileged_rue.folder / "out/study.db").chmod(0o444)
    expect_failure(unprivileged_rue("tune", "photos", *QUICK, "--out", "out"), 6, "out/study.db", "read-only")


# ---- where output goes ----

def test_json_is_the_only_standard_output(rue, script):
    one = script(TABLE)
    done = rue("tune", "--runner", one.command, "--json", "--out", "out")
    assert done.returncode == 0 and "trials" in done.stderr and "{" not in done.stderr
    assert json.loads(done.stdout) == read_json(rue.folder / "out/recommendation.json")
    done = rue("tune", "--runner", one.command, "--json", "--out", "out", "--quiet")
    assert json.loads(done.stdout)["recommendations"][0]["config"]


def test_json_of_a_failure_is_json(rue, script):
    one = script(TABLE, faults=[dict(when=dict(measure="joint"), do="zero")])
    done = rue("tune", "--runner", one.command, "--json", "--quiet")
    assert done.returncode == 4 and json.loads(done.stdout)["recommendations"][0]["config"] is None
    error_line(done)


def test_a_pipe_gets_no_escape_codes(rue, script):
    done = rue("tune", "--runner", script(TABLE).command, env=dict(TERM="xterm-256color"))
    assert done.returncode == 0 and "\x1b" not in done.stdout + done.stderr and "\r" not in done.stdout + done.stderr


def test_quiet_is_quiet(rue, script, photos):
    done = rue("tune", "--runner", script(TABLE).command, "--quiet")
    assert done.returncode == 0 and len(done.stderr.splitlines()) == 1 and done.stderr.startswith("written: ")
    done = rue("prepare", photos, "x.tensor", "--quiet", "--images", "3")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("words", [["inspect"], ["inspect", "--json"], ["tune", *QUICK], ["tune", *QUICK, "--json"]])
def test_standard_output_on_a_full_disk_fails(rue, photos, words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([rue.program, *words, photos], cwd=rue.folder, stdout=full, stderr=subprocess.PIPE, text=True,
                              env=clean_environment(), timeout=HANG_S)
    assert done.returncode == 6 and wording.CANNOT_WRITE_THE in done.stderr.splitlines()[-1]


def test_a_study_writes_into_one_folder(rue, own_photos):
    assert rue("tune", own_photos, *QUICK).returncode == 0
    assert [str(p.relative_to(rue.folder)) for p in sorted(rue.folder.rglob("rue-out/**/*"))] == [
        "rue-out/photos", "rue-out/photos/recommendation.json", "rue-out/photos/report.html", "rue-out/photos/study.db", "rue-out/photos/trials.csv"]
    assert rue("tune", own_photos, *QUICK, "--out", "a/deep/folder").returncode == 0
    assert (rue.folder / "a/deep/folder/study.db").exists()


# ---- inspect ----

def test_inspect_a_folder(rue, own_photos):
    files = sorted(own_photos.rglob("*.jpg"))
    done = rue("inspect", own_photos)
    assert (done.returncode, done.stderr) == (0, "")
    assert "mode     raw" in done.stdout and "items    20\n" in done.stdout and "classes  10\n" in done.stdout
    about = json.loads(rue("inspect", own_photos, "--json").stdout)
    sizes = sorted(path.stat().st_size for path in files)
    assert (about["items"], about["bytes"], about["mode"], about["format"]) == (20, sum(sizes), "raw", "folder")
    assert about["item_bytes"] == dict(median=sizes[10], smallest=sizes[0], largest=sizes[-1]) and about["dtype"] is None
    names = sorted({path.parent.name for path in files})
    assert about["classes"] == [dict(name=n, items=sum(path.parent.name == n for path in files)) for n in names]
    assert re.search(r"^digest +" + about["digest"] + "$", done.stdout, re.MULTILINE)


def test_inspect_a_tensor_file(rue, own_photos):
    assert rue("prepare", own_photos, "x.tensor", "--dtype", "uint8").returncode == 0
    about = json.loads(rue("inspect", "x.tensor", "--json").stdout)
    assert (about["mode"], about["format"], about["dtype"], about["items"]) == ("preprocessed", "tensor", "uint8", 20)
    assert about["item_bytes"] == dict.fromkeys(("median", "smallest", "largest"), 3 * 224 * 224)
    assert about["classes"] == json.loads(rue("inspect", own_photos, "--json").stdout)["classes"]
    assert wording.FORMAT_TENSOR_UINT8 in rue("inspect", "x.tensor").stdout


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:5000], lambda b: b[:50], lambda b: b[:9] + b"\xff" + b[10:]])
def test_a_damaged_tensor_file_is_refused(rue, own_photos, damage):
    path = rue.folder / "x.tensor"
    assert rue("prepare", own_photos, path, "--images", "3", "--dtype", "uint8").returncode == 0
    path.write_bytes(damage(path.read_bytes()))
    for words in (["inspect", path], ["tune", path, "--batch-size", "1", "--quiet"]):
        expect_failure(rue(*words), 3, path)


def test_a_damaged_record_is_found(rue, own_photos):
    path = rue.folder / "x.tensor"
    assert rue("prepare", own_photos, path, "--dtype", "uint8").returncode == 0
    data = bytearray(path.read_bytes())
    data[4096 + 151552 * 7 + 1000] ^= 1
    path.write_bytes(data)
    expect_failure(rue("tune", path, "--batch-size", "4", "--num-workers", "0", "--model", "none", "--quiet"), 3, path, "7")


# ---- prepare ----

def read_tensor_file(path):
    """(labels, class names) by the layout that engine/read/tensor_file.h documents."""
    data = path.read_bytes()
    magic, version, dtype, count, channels, height, width, classes, stride, begin, labels, crcs, names, end = struct.unpack_from(
        "<8sIIQ4I6Q", data)
    assert (magic, version, channels, height, width, begin, end) == (b"RUETENSR", 2, 3, 224, 224, 4096, len(data))
    return np.frombuffer(data, "<i4", count, labels).tolist(), data[names:end].decode().split("\0")[:classes]


def test_prepare_round_trip(rue, own_photos):
    files = sorted(own_photos.rglob("*.jpg"))
    for dtype in ("float32", "uint8"):
        done = rue("prepare", own_photos, f"{dtype}.tensor", "--dtype", dtype)
        assert done.returncode == 0 and "20 images" in done.stderr and done.stdout == ""
        labels, classes = read_tensor_file(rue.folder / f"{dtype}.tensor")
        assert [classes[label] for label in labels] == [path.parent.name for path in files]
    values = {dtype: map_tensor(rue.folder / f"{dtype}.tensor", word, (3, 224, 224), 20) for dtype, word in (("float32", "<f4"), ("uint8", "u1"))}
    assert all(array.shape == (20, 3, 224, 224) for array in values.values())
    mean, std = (np.reshape(v, (3, 1, 1)) for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    assert np.allclose(values["float32"], (values["uint8"] / 255 - mean) / std, atol=1e-5)
    for i in (0, 7, 19):
        photo = Image.open(files[i]).convert("RGB")
        centre = np.asarray(photo.resize((256, 256)).crop((16, 16, 240, 240)), float)
        assert abs(values["uint8"][i].mean() - centre.mean()) < 25, "it is that photo"


def test_prepare_a_sample(rue, photos):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert rue("prepare", photos, name, "--images", "5", "--seed", seed, "--dtype", "uint8").returncode == 0
    files = {name: (rue.folder / name).read_bytes() for name in "abc"}
    assert files["a"] == files["b"] != files["c"]
    assert len(read_tensor_file(rue.folder / "a")[0]) == 5
    done = rue("prepare", photos, "d", "--images", "5000", "--dtype", "uint8")
    assert done.returncode == 0 and wording.HAS_ONLY_2.format(photos, 48) in " ".join(done.stderr.split())
    assert len(read_tensor_file(rue.folder / "d")[0]) == 48, "no more than there are"
    done = rue("prepare", photos, "e", "--images", "48", "--dtype", "uint8")
    assert done.returncode == 0 and wording.HAS_ONLY not in done.stderr


def test_prepare_does_not_replace_without_force(rue, photos):
    (rue.folder / "x.tensor").write_text("precious")
    expect_failure(rue("prepare", photos, "x.tensor", "--images", "3"), 2, "x.tensor exists: give another name",
                   "--force")
    assert (rue.folder / "x.tensor").read_text() == "precious"
    assert rue("prepare", photos, "x.tensor", "--images", "3", "--force").returncode == 0
    assert len(read_tensor_file(rue.folder / "x.tensor")[0]) == 3


def test_prepare_into_a_missing_folder_fails(rue, photos):
    expect_failure(rue("prepare", photos, "no/such/x.tensor"), 6, "no/such/x.tensor", "No such file or directory")
    expect_failure(rue("prepare", "--synthetic", "3", "no/such/photos"), 6, "no/such/photos", "No such file or directory")


def test_prepare_synthetic_photos(rue):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        done = rue("prepare", "--synthetic", "12", name, "--seed", seed)
        assert done.returncode == 0 and "12 photos" in done.stderr
    content = {n: [p.read_bytes() for p in sorted((rue.folder / n).rglob("*.jpg"))] for n in "abc"}
    assert len(content["a"]) == 12 and content["a"] == content["b"] != content["c"]
    assert all(Image.open(path).format == "JPEG" for path in (rue.folder / "a").rglob("*.jpg"))
    expect_failure(rue("prepare", "--synthetic", "12", "a"), 2, "a exists: remove it, or give another name")
    expect_failure(rue("prepare", "--synthetic", "12", "a", "--force"), 2, "a exists")
    (rue.folder / "empty").mkdir()
    expect_failure(rue("prepare", "--synthetic", "2", "empty"), 2, "empty exists")


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("what", ["tensor", "synthetic", "one chunk a value"])
def test_an_interrupted_prepare_leaves_no_file(rue, photos, tmp_path_factory, what, number, code):
    many = tmp_path_factory.mktemp("many")
    if what == "tensor":
        for i, file in itertools.product(range(60), photos.rglob("*.jpg")):
            (many / f"{file.parent.name}-{i}-{file.name}").symlink_to(file)
    words = {"tensor": [many, "x"], "synthetic": ["--synthetic", "100000", "x"],
             "one chunk a value": [photos, "x", "--format", "zarr", "--images", "8", "--chunks", "8,1,1,1"]}[what]
    process = rue.start("prepare", *words, "--quiet")
    wait_until(lambda: list(rue.folder.glob(".rue-??????/data")), process)
    found, out, err = stop(process, number)
    assert found == code, err
    assert err == "rue prepare: interrupted; nothing was written\n" and out == ""
    assert list(rue.folder.iterdir()) == []


# ---- the runner by hand ----

def test_the_runner_answers_by_hand(rue, own_photos):
    variant = dict(path=str(own_photos), mode="raw", format="folder")
    config = dict(batch_size=4, num_workers=1, prefetch_factor=2, parallelism="batch", pin_memory=True, max_queue_size=0, read="auto",
                  batch_strategy="fixed")
    requests = [dict(op="hello", protocol="rue.runner/1"), dict(op="open", variant=variant),
                dict(op="trial", id=7, measure="joint", variant=variant, model="sleep:1ms/batch", config=config, images=20,
                     job_images=20),
                dict(op="dance", id=8), "no JSON", dict(op="open", variant=dict(variant, path="/no/such"))]
    text = "\n".join(r if isinstance(r, str) else json.dumps(r) for r in requests) + "\n\n"
    done = subprocess.run([rue.program, "runner"], input=text, capture_output=True, text=True, timeout=HANG_S,
                          env=clean_environment())
    hello, opened, trial, dance, garbage, missing = map(json.loads, done.stdout.splitlines())
    assert done.returncode == 0 and done.stderr == ""
    assert hello["protocol"] == "rue.runner/1" and hello["loader"] == "rue" and opened["images"] == 20
    assert (trial["id"], trial["status"], trial["images"], trial["batches"]) == (7, "ok", 20, 5) and trial["config"] == config
    assert trial["load_wait_ns"] + trial["compute_ns"] + trial["shutdown_ns"] == trial["end_to_end_ns"]
    assert (dance["id"], dance["status"]) == (8, "failed") and wording.UNKNOWN_OP in dance["reason"]
    assert garbage["id"] is None and garbage["status"] == missing["status"] == "failed" and "/no/such" in missing["reason"]
