"""Every option of every command, from the program's own tables, given numbers and lists that make no sense.
RUE_LONG_TESTS=1 tries every pair; without it, pairs are sampled by a seed that a failure names (RUE_SEED)."""
import os
import random
import re

import pytest

from conftest import make_table

LONG = bool(os.environ.get("RUE_LONG_TESTS"))
SEED = int(os.environ.get("RUE_SEED", random.randrange(1 << 30)))
SAMPLED = 15  # options of a command, each with one value
VALUES = ["-1", "0", "-0", "1e309", "1e-400", "9223372036854775808", "18446744073709551616", "18446744073709551617", "nan", "inf", "-inf",
          "nan%", "1e309s", "1e-400s", "99999999999999999999G", "0x10", "0x10s", "1,,2", ",", "1,", "0..1000000000", "5..1", "-1..1",
          "0..18446744073709551616", " 1", "1 ", "１", "1.", ".5", "1e3", "++1", "", "=", "9" * 10000, "1," * 5000, "x" * 10000, "a=1e309",
          "a=nan", "a=", "=1", "sleep:1e309s/image", "sleep:nan/batch", "sleep:-1s/batch", "host:99999999999", "cuda:"]
WORDS = {"tune": ["--dry-run"], "compare": ["nowhere", "elsewhere"], "scale": ["nowhere"], "prepare": ["nowhere", "x.tensor"],
         "inspect": ["nowhere"], "analyze": ["times.csv"], "check": ["nowhere"], "headroom": ["nowhere"], "show": ["nowhere"], "report": ["nowhere"], "why": ["nowhere"], "diff": ["nowhere", "nowhere"], "list": [], "models": [],
         "calibrate": ["nobody", "--device=host"], "runner": [], "augment": ["--count=3"]}
ENDLESS = ("augment", "count")  # a large number, and 0, are valid and print without end
DOCUMENTED = (0, 1, 2, 3, 4, 5, 6)


def list_options(rue):
    """{command: its options}, as the help lists them."""
    listed = lambda *words: re.findall(r"^  (?:--)?([a-z][\w-]+) ", rue(*words).stdout.split(":\n")[1], re.M)
    return {command: re.findall(r"^  --([\w-]+)", rue("help", command).stdout, re.M)[:-1] for command in listed("--help")}


def test_every_command_with_options_is_tried(rue):
    assert {command for command, options in list_options(rue).items() if options} == set(WORDS)
    assert sum(map(len, list_options(rue).values())) > 120


@pytest.mark.parametrize("command", WORDS)
def test_an_odd_value_ends_in_a_sentence_that_names_the_option(rue, script, command):
    (rue.folder / "times.csv").write_text("model,batch_size,num_workers,time_s\na,16,0,2\na,32,0,3\n")
    words = list(WORDS[command])
    if command == "tune":
        words += ["--runner", script(make_table(["a"], [16, 32], [0, 2], lambda m, b, w: 1000)).command]
    pairs = [(option, value) for option in list_options(rue)[command] for value in VALUES if (command, option) != ENDLESS]
    if not LONG:
        draw = random.Random(f"{SEED} {command}")
        pairs = [(option, draw.choice(VALUES)) for option in draw.sample(sorted({o for o, _ in pairs}), k=min(SAMPLED, len(pairs) // len(VALUES)))]
    plain = rue(command, *words).stderr  # what goes wrong without the option
    for option, value in pairs:
        done = rue(command, *words, f"--{option}={value}")
        why = (f"RUE_SEED={SEED}", command, option, value[:40], done.returncode, done.stderr[-2000:])
        assert done.returncode in DOCUMENTED and "Sanitizer" not in done.stderr, why
        assert done.returncode == 0 or re.search(r"^rue", done.stderr, re.M), why
        if done.returncode == 2 and done.stderr != plain:
            line = done.stderr.splitlines()[-1]
            assert option in line or option.replace("-", "_") in line or (option == "device" and "@" in line), why  # as a part of the model's name
        assert done.returncode != 1 or option in ("runner", "launch", "out", "device"), why
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", done.stdout.replace("\t", "") + done.stderr), why
