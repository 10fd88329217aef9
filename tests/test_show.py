"""rue show and rue list: what has been measured, without measuring or writing anything."""
import json
import os
import shutil
import signal
import sqlite3

import pytest

from conftest import expect_failure, finish, make_table, read_json, stop

MODELS = ["ape", "bee", "cow"]
TABLE = make_table(MODELS, [16, 32, 64], [0, 2, 4], lambda m, b, w: 1000 + 7 * abs(b - 40) + 90 * abs(w - MODELS.index(m)))


def tune(rue, script, *words, out="out"):
    return rue("tune", "--runner", script.command, "--quiet", "--out", out, *words)


def cell(config):
    return config["config"]["batch_size"], config["config"]["num_workers"]


def regrets(configs):
    return {cell(c): (c["mean_regret_ratio"], c["max_regret_ratio"], c["top_n_count"], c["source"]) for c in configs}


def shown(rue, *words):
    done = rue("show", *words, "--json")
    assert done.returncode in (0, 4), done.stderr
    return json.loads(done.stdout)["modes"]


def state(folder):
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def check_same(rue, out="out"):
    """show gives what the run gave: configurations, regrets, votes and the recommendation of each variant."""
    report, modes = read_json(rue.folder / out / "recommendation.json")["recommendations"], shown(rue, out)
    assert len(report) == len(modes) > 0
    for mode in modes:
        run = next(r for r in report if r["variant"]["mode"] == mode["mode"])
        ranked = {c: v for c, v in regrets(run["configs"]).items() if v[3]}
        assert regrets(mode["configs"]) == ranked
        assert mode["job_images"] == run["job_images"]
        best = mode["recommended"]
        assert (best and cell(best)) == (run["config"] and cell(run))


@pytest.mark.parametrize("words", [["--images", "128"], ["--budget", "30ms", "--images", "100000"],
                                   ["--images", "100", "--drop-last"], ["--images", "128", "--repeats", "3"]],
                         ids=["full", "truncated", "drop_last", "repeats"])
def test_show_gives_what_the_run_gave(rue, script, words):
    one = script(TABLE, images=100000, repeats=[1, 1.5, 1.1])
    assert tune(rue, one, *words).returncode == 0
    check_same(rue)


def test_the_truncated_run_was_truncated(rue, script):
    assert tune(rue, script(TABLE, images=100000), "--budget", "30ms", "--images", "100000").returncode == 0
    assert "predicted" in {c["source"] for c in shown(rue, "out")[0]["configs"]}


def test_show_gives_what_an_interrupted_and_a_resumed_run_gave(rue, script):
    one = script(TABLE, delay_s=0.01)
    process = rue.start("tune", "--runner", one.command, "--quiet", "--out", "out")
    one.wait_for(22, process)
    stop(process, signal.SIGINT)
    check_same(rue)
    assert "Partial results: interrupted after" in rue("show", "out").stdout
    assert tune(rue, one).returncode == 0
    check_same(rue)
    assert "Partial" not in rue("show", "out").stdout


def test_a_run_with_photos_is_shown_with_its_comparison(rue, photos):
    done = rue("tune", photos, "--batch-size", "8,16", "--num-workers", "0,1", "--model", "none,sleep:1ms/batch", "--quiet",
               "--out", "out", "--budget", "5m")
    assert done.returncode == 0
    check_same(rue)
    text = rue("show", "out").stdout
    assert "raw folder against" in text.replace("\n", " ") or "against preprocessed tensor" in text.replace("\n", " ")
    assert str(photos) in text and "a sample converted for this comparison" in text
    tables = lambda page: [line for line in page.splitlines() if "%" in line and "regret" not in line]
    assert tables(text)[:4] == tables(done.stdout)[:4]


def test_show_leaves_every_file_as_it_was(rue, script):
    assert tune(rue, script(TABLE)).returncode == 0
    before = state(rue.folder / "out")
    for words in ([], ["--json"], ["--trials"], ["--all"]):
        assert rue("show", "out", *words).returncode == 0
        assert rue("show", "out/study.db", *words).returncode == 0
    assert rue("list", ".").returncode == 0
    assert state(rue.folder / "out") == before


def test_a_folder_that_nobody_may_write_is_shown(rue, script, nobody_rue):
    assert tune(rue, script(TABLE)).returncode == 0
    shutil.copytree(rue.folder / "out", nobody_rue.folder / "out")
    (nobody_rue.folder / "out").chmod(0o555)
    done = nobody_rue("show", "out")
    assert done.returncode == 0 and "Use batch_size" in done.stdout and done.stderr == ""
    assert "complete" in nobody_rue("list", ".").stdout


def test_a_study_under_way_is_shown(rue, script):
    one = script(TABLE, delay_s=0.02)
    process = rue.start("tune", "--runner", one.command, "--quiet", "--out", "out")
    one.wait_for(20, process)
    done = rue("show", "out")
    assert done.returncode in (0, 4) and "a tuner is at work" in done.stdout
    assert "running" in rue("list", ".").stdout
    assert process.poll() is None
    assert finish(process)[0] == 0, "looking on did not disturb it"
    check_same(rue)


def test_only_the_newest_circumstances_are_shown_unless_all_are_asked_for(rue, script):
    assert tune(rue, script(TABLE), "--images", "128").returncode == 0
    assert tune(rue, script(TABLE), "--images", "256").returncode == 0
    check_same(rue)
    text = rue("show", "out").stdout
    assert "job of 256 images" in text and "job of 128 images" not in text and "27 more trials" in text
    everything = rue("show", "out", "--all").stdout
    assert everything.count("==== 27 trials") == 2 and everything.index("256 images") < everything.index("128 images")
    assert [mode["job_images"] for mode in shown(rue, "out", "--all")] in ([256, 128], [128, 256])
    changed = script(TABLE, digest="d2")
    assert tune(rue, changed, "--images", "256").returncode == 0
    check_same(rue)
    assert len(shown(rue, "out")) == 1 and "54 more trials" in rue("show", "out").stdout


def test_every_trial_is_listed(rue, script):
    one = script(TABLE, infeasible_above=32)
    tune(rue, one)
    with sqlite3.connect(rue.folder / "out/study.db") as db:
        count, infeasible = db.execute("SELECT count(*), sum(status = 'infeasible') FROM trial").fetchone()
    lines = rue("show", "out", "--trials").stdout.splitlines()
    assert len(lines) == count + 1 and sum("do not fit in memory" in line for line in lines) == infeasible > 0
    assert any("ape" in line and "joint" in line and "32/2" in line and " ok " in line for line in lines)
    expect_failure(rue("show", "out", "--trials", "--json"), 2, "--trials")


def damage(path):
    with open(path, "r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 8192)


def test_what_is_no_study_is_named(rue, script):
    expect_failure(rue("show", "nowhere"), 3, "nowhere", "rue list")
    (rue.folder / "empty").mkdir()
    expect_failure(rue("show", "empty"), 3, "holds no study")
    (rue.folder / "text.db").write_text("hello " * 200)
    expect_failure(rue("show", "text.db"), 6, "text.db")
    with sqlite3.connect(rue.folder / "other.db") as db:
        db.execute("CREATE TABLE t (a)")
    expect_failure(rue("show", "other.db"), 6, "another program")
    assert tune(rue, script(TABLE)).returncode == 0
    damage(rue.folder / "out/study.db")
    before = (rue.folder / "out/study.db").read_bytes()
    expect_failure(rue("show", "out"), 6, "out/study.db")
    assert (rue.folder / "out/study.db").read_bytes() == before


def test_list_names_every_study(rue, script):
    for out in ("rue-out/a", "rue-out/deep/er/b", "rue-out/damaged", "rue-out/too/deep/to/see"):
        assert tune(rue, script(TABLE), out=out).returncode == 0
    damage(rue.folder / "rue-out/damaged/study.db")
    (rue.folder / "rue-out/foreign").mkdir()
    (rue.folder / "rue-out/foreign/study.db").write_text("no store")
    os.symlink("..", rue.folder / "rue-out/loop")
    done = rue("list", "--json")
    assert done.returncode == 0 and done.stderr == ""
    found = {entry["study"]: entry for entry in json.loads(done.stdout)}
    assert list(found) == ["rue-out/a", "rue-out/damaged", "rue-out/deep/er/b", "rue-out/foreign"]
    run = read_json(rue.folder / "rue-out/a/recommendation.json")["recommendations"][0]
    entry = found["rue-out/a"]
    assert cell(entry["recommendations"][0]) == cell(run) and entry["state"] == "complete" and entry["trials_not_ok"] == 0
    assert entry["trials_ok"] == 32 and entry["measured"].endswith("Z")
    for name in ("rue-out/damaged", "rue-out/foreign"):
        assert found[name]["state"] == "unreadable" and "study.db" in found[name]["reason"]
    text = rue("list").stdout
    assert len(text.splitlines()) == 5 and text.count("unreadable") == 2
    assert max(map(len, text.splitlines())) <= 100


def test_list_says_what_to_type_where_there_is_nothing(rue):
    done = rue("list")
    assert done.returncode == 0 and "rue tune FOLDER" in done.stdout
    assert json.loads(rue("list", "--json").stdout) == []
    expect_failure(rue("list", "nowhere"), 3, "nowhere")


def test_more_studies_than_a_table_has_rows_are_listed(rue):
    for number in range(70):
        (rue.folder / f"s/{number:02}").mkdir(parents=True)
        (rue.folder / f"s/{number:02}/study.db").write_text("no store")
    assert rue("list", "s").stdout.count("unreadable") == 70
