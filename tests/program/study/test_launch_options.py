"""What --launch, --listen and their like accept, and the other commands that have them."""
import json
import shlex
import shutil
import socket
import sqlite3

import pytest

import wording
from conftest import Rue, cluster, expect_failure, finish, flat, wait_until
from test_launch import GRID, TABLE, played

SMALL = ["--model", "resnet18", "--device", "h100", "--batch-size", "4", "--num-workers", "0,1", "--budget", "20trials", "--out", "out", "--quiet"]


def can_listen(address):
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind((address, 0))
        return True
    except OSError:
        return False


def ranks_of(rue, folder="out"):
    db = sqlite3.connect(rue.folder / folder / "study.db")
    try:
        return {len(json.loads(row[0])) for row in db.execute("SELECT ranks FROM trial WHERE ranks IS NOT NULL")}
    finally:
        db.close()


# ---- where ranks connect ----

def test_a_port_in_use_is_refused(rue, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"127.0.0.1:{server.getsockname()[1]}"
        expect_failure(rue("tune", *GRID, "--launch", played(tmp_path, 2), "--listen", place), 2, f"--listen {place}: cannot listen there: Address already in use")


def test_two_studies_share_a_port_one_after_the_other(rue, tmp_path):
    """It is free as soon as all ranks of the first study are connected."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"127.0.0.1:{server.getsockname()[1]}"
    words = ["--listen", place, "--strategy", "grid", "--budget", "100h"]
    gate, late = tmp_path / "gate", cluster(tmp_path, ranks=2, play={"ns_per_image": TABLE["ape"]})
    first = rue.start("tune", *words, "--out", "first", "--launch", f"sh -c 'touch {tmp_path}/began; until [ -e {gate} ]; do sleep 0.02; done; exec \"$@\"' sh {late}")
    wait_until(lambda: (tmp_path / "began").exists(), first)
    expect_failure(rue("tune", *words, "--out", "second", "--launch", late), 2, "Address already in use")
    gate.touch()
    assert finish(first)[0] == 0 and rue("tune", *words, "--out", "second", "--launch", late).returncode == 0


@pytest.mark.parametrize("place", ["::1", "[::1]"])
def test_ranks_connect_by_ipv6(rue, tmp_path, script, place):
    if not can_listen("::1"):
        pytest.skip("skipped: this machine has no IPv6")
    done = rue("tune", "--runner", script(TABLE).command, *GRID, "--launch", cluster(tmp_path, ranks=2), "--listen", place)
    assert done.returncode == 0 and ranks_of(rue) == {2}, done.stderr


# ---- the command ----

def test_words_are_those_of_a_shell_and_paths_may_have_any_name(program, script, tmp_path):
    folder = tmp_path / "a b'\"$c;d"
    folder.mkdir()
    shutil.copy(program, folder / "rue")
    rue = Rue(folder / "rue", folder)
    words = f"A='x y\"z' B=\"$HOME\"; [ \"$A\" = 'x y\"z' ] && [ \"$B\" = \"$HOME\" ] || exit 9; {cluster(tmp_path, ranks=2)}"
    runner = script(TABLE).command
    done = rue("tune", "--runner", runner, *GRID, "--launch", f"sh -c {shlex.quote(words + ' ' + chr(34) + '$@' + chr(34))} sh")
    assert done.returncode == 0 and ranks_of(rue) == {2}, done.stderr


def test_a_command_of_nothing_is_refused(rue, tmp_path):
    expect_failure(rue("tune", tmp_path, "--launch", ""), 2, "--launch: the value is empty: give a command for a shell")
    expect_failure(rue("tune", tmp_path, "--launch", "true", "--listen", ""), 2, "--listen")


def test_words_that_no_shell_can_read(rue, script, tmp_path):
    done = rue("tune", "--runner", script(TABLE).command, *GRID, "--launch", "'", "--quiet")
    assert done.returncode == 1 and wording.THE_LAUNCHER_ENDED_WITH_EXIT.format(2) in done.stderr, done.stderr


def test_the_environment_may_name_the_launcher(rue, script, tmp_path):
    done = rue("tune", "--runner", script(TABLE).command, *GRID, env=dict(RUE_LAUNCH=cluster(tmp_path, ranks=2), RUE_LISTEN="127.0.0.1"))
    assert done.returncode == 0 and ranks_of(rue) == {2}, done.stderr


@pytest.mark.parametrize("key", ["launch", "listen"])
def test_a_settings_file_starts_no_launcher(rue, script, tmp_path, key):
    (rue.folder / "rue.json").write_text(json.dumps({key: f"touch {tmp_path}/started;"}))
    expect_failure(rue("tune", "--runner", script(TABLE).command, *GRID), 2, f'rue.json: "{key}" cannot be set in a file')
    assert not (tmp_path / "started").exists()


# ---- other commands ----

def test_ranks_compare_variants(rue, photos, tmp_path):
    tensor = tmp_path / "photos.tensor"
    assert rue("prepare", photos, tensor, "--quiet").returncode == 0
    done = rue("compare", photos, tensor, *SMALL, "--launch", cluster(tmp_path, ranks=2))
    assert done.returncode == 0 and ranks_of(rue) == {2} and "resnet18@h100" in done.stdout, done.stderr


def test_ranks_scale(rue, photos, tmp_path):
    done = rue("scale", photos, *SMALL, "--launch", cluster(tmp_path, ranks=2))
    assert done.returncode == 0 and ranks_of(rue) == {2} and "images/s" in done.stdout, done.stderr


def test_a_check_without_ranks_starts_no_launcher(rue, script, tmp_path):
    runner = ["--runner", script(TABLE).command]
    assert rue("tune", *GRID, *runner).returncode == 0
    done = rue("check", "out/recommendation.json", *runner, "--launch", f"touch {tmp_path}/started;")
    expect_failure(done, 2, "--launch: the recommendation is not for ranks", "remove the option")
    assert not (tmp_path / "started").exists()


def test_ranks_check_a_recommendation(rue, script, tmp_path):
    words = ["--launch", cluster(tmp_path, ranks=2), "--runner", script(TABLE).command]
    assert rue("tune", *GRID, *words).returncode == 0
    done = rue("check", "out/recommendation.json", *words)
    assert done.returncode == 0 and wording.STILL_HOLDS_HERE in flat(done.stdout), done.stderr
