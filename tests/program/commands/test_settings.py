"""What a rue.json in the current folder may do, as the folder may come from somebody else."""
import json
import os

import pytest

from conftest import expect_failure, make_table

pytestmark = pytest.mark.quick

TABLE = make_table(["ape"], [16], [0], lambda m, b, w: 1000)
LIMIT = 1 << 20
ACTING = {"runner": "touch started", "out": "elsewhere", "fresh": True, "force": True}
COMMANDS = {  # words that lead further without a rue.json, and which of those options they have
    "tune": (["tune", "photos", "--dry-run"], ["runner", "out", "fresh"]),
    "compare": (["compare", "photos", "other"], ["runner", "out", "fresh"]),
    "scale": (["scale", "photos"], ["runner", "fresh"]),
    "check": (["check", "photos"], ["runner"]),
    "prepare": (["prepare", "photos", "photos.tensor"], ["force"]),
}


@pytest.fixture
def settings(rue):
    return lambda **keys: (rue.folder / "rue.json").write_text(json.dumps(keys))


@pytest.mark.parametrize("command, option", [(c, o) for c, (_, options) in COMMANDS.items() for o in options])
def test_a_file_starts_no_program_and_chooses_no_output(rue, settings, command, option):
    settings(**{option: ACTING[option]})
    done = rue(*COMMANDS[command][0])
    expect_failure(done, 2, f'rue.json: "{option}" cannot be set in a file', f"use --{option} or RUE_{option.upper()}")
    assert done.stdout == "" and [path.name for path in rue.folder.iterdir()] == ["rue.json"], "nothing ran, nothing was written"


def test_commands_without_the_option_ignore_it(rue, settings):
    settings(**ACTING)
    for words in (["list"], ["models"], ["help", "tune"], ["tune", "--help"]):
        done = rue(*words)
        assert (done.returncode, done.stderr) == (0, ""), words
    assert [path.name for path in rue.folder.iterdir()] == ["rue.json"]


def test_the_environment_is_the_user_s_own(rue, script):
    variables = dict(RUE_RUNNER=script(TABLE).command, RUE_OUT="kept", RUE_FRESH="1")
    for name in ("study.db", "study.db.old"):
        assert rue("tune", "--quiet", env=variables).returncode == 0
        assert (rue.folder / "kept" / name).exists()


def test_a_file_may_name_inputs(rue, settings):
    settings(prior="earlier.json", device="machine.json")
    expect_failure(rue("models"), 3, "machine.json")


@pytest.mark.parametrize("make, says", [
    (lambda path: path.symlink_to("/dev/zero"), "not a regular file"), (lambda path: os.mkfifo(path), "not a regular file"),
    (lambda path: path.mkdir(), "not a regular file"), (lambda path: path.symlink_to("/dev/tty"), "rue.json"),
    (lambda path: path.write_text("[" * 500000), "line 1 is not JSON"), (lambda path: path.write_text('{"a":' * 100000), "line 1"),
    (lambda path: path.write_text('{"a": 1' + " " * LIMIT + "}"), "larger than"), (lambda path: path.write_bytes(b"\x00" * 100), "line 1"),
    (lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 1 << 40), "larger than"),
    (lambda path: path.write_text('{"seed": 1, "seed": 2}'), "duplicate"), (lambda path: path.write_bytes(b'{"\xff": 1}'), "line 1"),
    (lambda path: path.write_text('{"seed": 1e999}'), "line 1"), (lambda path: path.write_text('{"seed": 99999999999999999999}'), "line 1"),
    (lambda path: path.write_text('{"seed": -1}'), "rue.json: '-1'"), (lambda path: path.write_text(""), "line 1"),
])
def test_a_hostile_file_ends_in_a_sentence(rue, make, says):
    make(rue.folder / "rue.json")
    for words in (["tune", "photos"], ["prepare", "photos", "x.tensor"], ["models"] if "-1" not in says else ["scale", "photos"]):
        expect_failure(rue(*words), 2, says)


def test_a_dangling_link_is_not_a_settings_file(rue):
    (rue.folder / "rue.json").symlink_to("nowhere.json")
    assert rue("models").returncode == 0
