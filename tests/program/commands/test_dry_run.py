"""--dry-run: what every option comes to, and the plan, for people and as JSON."""
import json
import re
import shutil

import pytest

from conftest import make_table

TABLE = make_table(["ape", "bee"], [16, 32], [0, 2], lambda m, b, w: 1000 + b + 100 * w * (m == "bee"))


def test_a_dry_run_tells_the_value_of_every_option(rue, own_photos):
    """Those too that nothing set, whose value is worked out: each is what the plan goes by."""
    done = rue("tune", own_photos, "--dry-run", "--mode", "raw", "--quiet")
    names = re.findall(r"^  --([a-z-]+)", rue("tune", "--help").stdout, re.MULTILINE)
    values = dict(re.findall(r"^  ([a-z-]+) +(\S.*)$", done.stdout.split("Plan:")[0], re.MULTILINE))
    assert done.returncode == 0 and len(names) > 20 and set(values) == {*names} - {"help"}
    given = {"dry-run", "mode", "quiet"}
    assert all(values[name].endswith(f"({'--' + name if name in given else 'default'})") for name in values)
    assert values["images"] == "20 (default)" and values["out"] == "rue-out/photos (default)"
    assert values["model"] == "resnet18,resnet50,efficientnet_v2_s,vit_b_16 (default)"
    assert re.fullmatch(r"\d+M \(default\)", values["max-memory"]) and values["runner"] == "rue runner (default)"
    as_json = json.loads(rue("tune", own_photos, "--dry-run", "--mode", "raw", "--quiet", "--json").stdout)
    assert set(as_json["options"]) == set(values) and as_json["options"]["images"] == dict(value="20", origin="default")


@pytest.mark.parametrize("command, given", [("compare", ["--strategy", "grid"]), ("scale", ["--period", "1s"])])
def test_other_dry_runs_tell_it_as_well(rue, own_photos, command, given):
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
    as_json = json.loads(rue(*words, "--json", env=dict(RUE_SEED=5)).stdout)["options"]
    assert set(as_json) == set(values) and as_json["seed"] == dict(value="5", origin="RUE_SEED")
    assert sorted(path.name for path in rue.folder.iterdir()) == ["copy", "photos"], "nothing is left"


def test_the_plan_as_json(rue, script):
    (rue.folder / "rue.json").write_text(json.dumps({"top_n": 2}))
    one = script(TABLE)
    done = rue("tune", "--runner", one.command, "--seed=7", "--dry-run", "--json", "--quiet", env=dict(RUE_REPEATS=2))
    plan = json.loads(done.stdout)
    assert done.returncode == 0 and plan["format"] == "rue.plan/1" and not one.joint(), "nothing was tried"
    assert plan["options"]["seed"] == dict(value="7", origin="--seed")
    assert plan["options"]["top-n"] == dict(value="2", origin="rue.json")
    assert plan["options"]["repeats"] == dict(value="2", origin="RUE_REPEATS")
    assert plan["options"]["mode"] == dict(value="all", origin="default")
    assert plan["options"]["batch-size"] == dict(value="16,32", origin="default"), "what an unset option comes to"
    plan = plan["plan"]
    assert [(c["batch_size"], c["num_workers"]) for c in plan["configs"]] == [(16, 0), (16, 2), (32, 0), (32, 2)]
    assert plan["models"] == ["ape", "bee"] and plan["variants"][0]["format"] == "scripted" and len(plan["variants"]) == 1
    assert (plan["repeats"], plan["trials"]) == (2, 16)
    assert plan["budget_ns"] == 120 * 10**9 and 0 < plan["expected_ns"] < plan["budget_ns"] and plan["stored_ns"] == 0
