"""--dry-run: what every option comes to, and the plan, with the origin of each value."""
import json
import re
import shutil

import pytest

from conftest import make_table, read_plan

TABLE = make_table(["ape", "bee"], [16, 32], [0, 2], lambda m, b, w: 1000 + b + 100 * w * (m == "bee"))


def test_a_dry_run_shows_the_value_of_every_option(rue, own_photos):
    """Those too that nothing set, whose value is worked out: each is what the plan goes by."""
    done = rue("tune", own_photos, "--dry-run", "--mode", "raw", "--quiet", env=dict(RUE_ACCEPT_BUSY=None, RUE_REPEATS=None))
    names = re.findall(r"^  --([a-z-]+)", rue("tune", "--help").stdout, re.MULTILINE)
    values = dict(re.findall(r"^  ([a-z-]+) +(\S.*)$", done.stdout.split("Plan:")[0], re.MULTILINE))
    assert done.returncode == 0 and len(names) > 20 and set(values) == {*names} - {"help"}
    given = {"dry-run", "mode", "quiet"}
    assert all(values[name].endswith(f"({'--' + name if name in given else 'default'})") for name in values)
    assert values["images"] == "20 (default)" and values["out"] == "rue-out/photos (default)"
    assert values["model"] == "resnet18,resnet50,efficientnet_v2_s,vit_b_16 (default)"
    assert re.fullmatch(r"\d+M \(default\)", values["max-memory"]) and values["runner"] == "rue runner (default)"


@pytest.mark.parametrize("command, given", [("compare", ["--strategy", "grid"]), ("scale", ["--period", "1s"])])
def test_dry_runs_of_other_commands_show_the_values_too(rue, own_photos, command, given):
    shutil.copytree(own_photos, rue.folder / "copy")
    words = [command, own_photos, "copy", "--batch-size", "4,8", "--dry-run", "--quiet", *given]
    done = rue(*words, env=dict(RUE_SEED=5))
    assert done.returncode == 0 and done.stderr == ""
    names = re.findall(r"^  --([a-z-]+)", rue(command, "--help").stdout, re.MULTILINE)
    values = dict(re.findall(r"^  ([a-z-]+) +(\S.*)$", done.stdout.split("Plan:")[0], re.MULTILINE))
    assert len(names) > 20 and set(values) == {*names} - {"help"}
    assert values[given[0][2:]] == f"{given[1]} ({given[0]})" and values["seed"] == "5 (RUE_SEED)"
    assert values["batch-size"] == "4,8 (--batch-size)" and values["images"] == "20 (default)"
    assert values["num-workers"].startswith("0,1,2") and values["runner"] == "rue runner (default)"
    assert sorted(path.name for path in rue.folder.iterdir()) == ["copy", "photos"], "nothing is left"


def test_a_dry_run_shows_the_plan_and_the_origin_of_each_value(rue, script):
    (rue.folder / "rue.json").write_text(json.dumps({"top_n": 2}))
    one = script(TABLE)
    done = rue("tune", "--runner", one.command, "--seed=7", "--dry-run", "--quiet", env=dict(RUE_REPEATS=2))
    values = dict(re.findall(r"^  ([a-z-]+) +(\S.*)$", done.stdout.split("Plan:")[0], re.MULTILINE))
    assert not one.joint(), "nothing was tried"
    assert (values["seed"], values["top-n"], values["repeats"]) == ("7 (--seed)", "2 (rue.json)", "2 (RUE_REPEATS)")
    assert (values["mode"], values["batch-size"]) == ("all (default)", "16,32 (default)"), "what an unset option comes to"
    plan = read_plan(done)
    assert (plan["batch-size"], plan["num-workers"], plan["models"]) == ("16, 32", "0, 2", "ape, bee")
    assert plan["trials"] == "16: 4 configurations x 2 models x 1 variant x 2 repeats" and plan["cost"].endswith("budget 2 m 00 s")
