"""Where commands write: "-", devices, pipes and standard output; and commands that messages show, which a shell can run."""
import os
import re
import shlex
import subprocess
import threading

import pytest

from conftest import clean_environment, expect_failure, flat, make_table

TABLE = make_table(["ape"], [16, 32], [0, 2], lambda m, b, w: 1000 + 7 * b + 90 * w)
CSV = "mode,model,batch_size,num_workers,time_s\nraw,ape,16,0,1\nraw,ape,32,0,2\n"
NAMES = ["a b", "it's", "$HOME", "a;b", "-x", "a\"b", "`id`", "a&b", "päth", "x*"]


def tune(rue, script, out):
    done = rue("tune", "--runner", script(TABLE).command, "--strategy", "grid", "--budget", "100h", "--quiet", f"--out={out}")
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("words", [
    ["tune", "x", "--out", "-"], ["compare", "x", "--out", "-"], ["scale", "x", "--out", "-"], ["report", "x", "--out", "-"], ["analyze", "x", "--study", "-"],
    ["calibrate", "--device", "host:1", "--out", "-"], ["diff", "x", "x", "--html", "-"], ["augment", "--count", "1", "--output", "-"]])
def test_no_option_makes_a_file_of_the_name_of_standard_output(rue, words):
    expect_failure(rue(*words), 2, "'-' is not a path to write; one that is named - is written as ./-")
    assert not (rue.folder / "-").exists()


@pytest.mark.parametrize("words", [["prepare", "x", "-"], ["prepare", "--synthetic", "3", "-"]])
def test_data_have_no_standard_output(rue, words):
    expect_failure(rue(*words), 2, "'-' is not a destination")
    assert not (rue.folder / "-").exists()


def test_the_environment_cannot_name_it_either(rue):
    expect_failure(rue("tune", "x", env=dict(RUE_OUT="-")), 2, "RUE_OUT: '-' is not a path to write")


def test_devices_and_standard_output_are_written_in_place(rue):
    words = ["augment", "--count", "3", "--output"]
    text = rue(*words[:-1]).stdout
    before = os.stat("/dev/null")
    assert rue(*words, "/dev/null").returncode == 0 and os.stat("/dev/null").st_rdev == before.st_rdev
    assert rue(*words, "/dev/stdout").stdout == text
    with open(rue.folder / "redirected", "w") as file:
        file.write("kept\n")
        file.flush()
        assert subprocess.run([rue.program, *words, "/dev/stdout"], stdout=file).returncode == 0
    assert (rue.folder / "redirected").read_text() == "kept\n" + text
    assert rue(*words, "./-").returncode == 0 and (rue.folder / "-").read_text() == text
    done = rue(*words, "/dev/full")
    expect_failure(done, 6, "/dev/full", "No space left on device")


def test_a_pipe_is_written_in_place(rue):
    os.mkfifo(rue.folder / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((rue.folder / "pipe").read_text()))
    reader.start()
    done = rue("augment", "--count", "3", "--output", "pipe")
    reader.join()
    assert done.returncode == 0 and got == [rue("augment", "--count", "3").stdout]


@pytest.mark.parametrize("path, code, said", [("a/", 2, "does not name a file"), ("nowhere/a", 6, "give a file in an existing folder"),
                                              ("x" * 5000, 2, "the path is too long"), (".", 6, "a folder has this name"), ("link", 6, "rue did not write it")])
def test_a_path_that_names_no_file_of_rue_is_refused(rue, path, code, said):
    (rue.folder / "link").symlink_to("mine")
    (rue.folder / "mine").write_text("mine")
    expect_failure(rue("augment", "--count", "1", "--output", path), code, said)
    assert (rue.folder / "mine").read_text() == "mine"


def test_a_page_goes_to_a_device_or_to_standard_output(rue, script):
    tune(rue, script, "a"), tune(rue, script, "b")
    done = rue("diff", "a", "b", "--html", "/dev/null")
    assert done.returncode == 0 and done.stderr == "written: /dev/null\n" and "<html" not in done.stdout
    assert rue("diff", "a", "b", "--html", "/dev/stdout").stdout.startswith("<!DOCTYPE html>")


# ---- commands in messages ----

def command(text, start):
    """The words of the command in a message, as a shell reads them."""
    found = re.search(start + r" (?P<words>.*)", flat(text))
    assert found, text
    return shlex.split(found["words"].split("; all conf")[0])


def test_a_command_names_the_program_as_it_was_started(rue, script):
    """rue, where a shell finds it by that name; else the path by which it was started."""
    (rue.folder / "bin").mkdir()
    (rue.folder / "bin/rue").write_text("#!/bin/sh\nexit 9\n")
    (rue.folder / "bin/rue").chmod(0o755)
    link = rue.folder / "a b"
    link.symlink_to(rue.program)
    other = f"{rue.folder / 'bin'}:/usr/bin:/bin"
    words = ["tune", "--runner", script(TABLE).command, "--strategy", "grid", "--quiet", "--out", "out"]
    for path, argv0, shown in ((f"{rue.program.parent}:/usr/bin:/bin", rue.program, "rue"), ("/usr/bin:/bin", rue.program, str(rue.program)),
                               (other, rue.program, str(rue.program)), (other, "./a b", "'./a b'"), (other, "rue", str(rue.program))):
        environment = clean_environment(PATH=path)
        done = subprocess.run([str(argv0), *words], executable=rue.program, cwd=rue.folder, env=environment, capture_output=True, text=True)
        hint = re.search("More: (.*? show .*?);", flat(done.stdout))[1]
        assert hint == f"{shown} show out --details", done.stdout
        assert subprocess.run(hint, shell=True, cwd=rue.folder, env=environment, stdout=subprocess.DEVNULL).returncode == 0
        help = subprocess.run([str(argv0), "help", "show"], executable=rue.program, cwd=rue.folder, env=environment, capture_output=True, text=True)
        assert help.stdout.startswith(f"Usage: {shown} show ") and f"\n  {shown} show rue-out/photos\n" in help.stdout, help.stdout
        help = subprocess.run([str(argv0), "help", "tune"], executable=rue.program, cwd=rue.folder, env=environment, capture_output=True, text=True)
        assert f"{shown} models --devices" in flat(help.stdout), help.stdout


@pytest.mark.parametrize("name", NAMES)
def test_a_hint_is_a_command_for_a_shell(rue, script, name):
    place = f"./{name}" if name[0] == "-" else name
    assert command(tune(rue, script, name).stdout, "More: rue show") == [place, "--details"]
    assert command(rue("show", place, "--trial", "99").stderr, "to list them: rue show") == [f"{place}/study.db", "--trials"]
    (rue.folder / name / "t.csv").write_text(CSV)
    assert command(rue("show", f"{place}/t.csv").stderr, "to rank a CSV table: rue analyze") == [f"{place}/t.csv"]
    (rue.folder / "empty" / name).mkdir(parents=True)
    assert command(rue("show", f"empty/{name}").stderr, "to find studies below it: rue list") == [f"empty/{name}"]
    assert command(rue("analyze", place).stderr, "to show a study's folder: rue show") == [place]
    assert command(rue("prepare", place).stderr, "after the source: rue prepare") == [place, f"{place}.tensor"]
    assert command(rue("prepare", f"{place}//").stderr, "after the source: rue prepare") == [f"{place}//", f"{place}.tensor"]
    done = rue("analyze", f"{place}/t.csv", f"--study=table {name}")
    assert command(done.stderr.replace("\n", " \n").split(" \n")[0], "to see it: rue show") == [f"table {name}"]
