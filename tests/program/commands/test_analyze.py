"""rue analyze: tables that were measured elsewhere, odd files among them."""
import contextlib
import csv
import json
import os
import pathlib
import re
import sqlite3
import statistics
import subprocess

import pytest

import wording
from conftest import HANG_S, clean_environment, expect_failure, make_table, rankings, read_json

pytestmark = pytest.mark.quick

HEADER = "mode,model,batch_size,num_workers,time_s\n"
TIMES = {("ape", 32, 1): 10, ("ape", 32, 2): 12, ("ape", 64, 1): 11, ("bee", 32, 1): 30, ("bee", 32, 2): 20, ("bee", 64, 1): 21}
PLAIN = HEADER + "".join(f"day,{m},{b},{w},{t}\n" for (m, b, w), t in TIMES.items())


def analyze(rue, text, *words, name="t.csv"):
    data = text if isinstance(text, bytes) else text.encode()
    (rue.folder / name).write_bytes(data)
    return rue("analyze", name, *words)


def modes(done):
    assert done.returncode in (0, 4, 5), done.stderr
    return rankings(json.loads(done.stdout))


def cell(config):
    return config["config"]["batch_size"], config["config"]["num_workers"]


def ranking(mode):
    return [(cell(config), config["mean_regret_ratio"]) for config in mode["configs"]]


def rules(times, top_n=3):
    """The selection rules of one mode, {(model, batch, workers): s}: mean and max regrets and votes of (batch, workers)."""
    models = sorted({key[0] for key in times})
    cells = sorted({key[1:] for key in times})
    best = {m: min(t for key, t in times.items() if key[0] == m) for m in models}
    regrets = {c: [times[(m, *c)] / best[m] - 1 for m in models] for c in cells}
    slowest = {m: sorted(times[(m, *c)] for c in cells)[min(top_n, len(cells)) - 1] for m in models}
    return {c: (statistics.fmean(r), max(r), sum(times[(m, *c)] <= slowest[m] for m in models)) for c, r in regrets.items()}


def test_a_small_table_worked_out_by_hand(rue):
    mode = modes(analyze(rue, PLAIN, "--json", "--top-n", "1"))["day"]
    # best: ape 10 s, bee 20 s; 64/1: (0.1 + 0.05) / 2, 32/2: (0.2 + 0) / 2, 32/1: (0 + 0.5) / 2
    assert [c for c, _ in ranking(mode)] == [(64, 1), (32, 2), (32, 1)]
    assert [r for _, r in ranking(mode)] == pytest.approx([0.075, 0.1, 0.25], abs=1e-9)
    assert [c["max_regret_ratio"] for c in mode["configs"]] == pytest.approx([0.1, 0.2, 0.5], abs=1e-9)
    assert [c["top_n_count"] for c in mode["configs"]] == [0, 1, 1]
    assert mode["models"] == ["ape", "bee"] and mode["evidence"]["trials_ok"] == 6
    assert cell(mode) == (64, 1)
    assert cell(mode["top_n_winner"]) == (32, 2)
    assert [(b["model"], cell(b), b["end_to_end_ns"]) for b in mode["best_by_model"]] == [
        ("ape", (32, 1), 10 * 10**9), ("bee", (32, 2), 20 * 10**9)]


def test_the_terminal_shows_the_tables_of_a_tuning_run(rue):
    done = analyze(rue, PLAIN)
    assert done.returncode == 0 and done.stderr == ""
    assert "day: 2 models, 3 configurations" in done.stdout and "images" not in done.stdout
    assert wording.USE_BATCH_SIZE_NUM_WORKERS_FOR_DAY_DATA_MEAN.format(64, 1, "7.5", 2) in done.stdout


def shared_table():
    folder = os.environ.get("RUE_SHARED")
    path = pathlib.Path(folder or "/nowhere") / "data" / "end_to_end_grid.csv"
    if not path.exists():
        pytest.skip("skipped: no published table, set RUE_SHARED")
    return path


def test_the_published_figures_are_reproduced(rue):
    path = shared_table()
    done = rue("analyze", path, "--map", "mode=dataset_type,time_s=end_to_end_s", "--json")
    found, times = modes(done), {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            key = row["model"], int(row["batch_size"]), int(row["num_workers"])
            times.setdefault(row["dataset_type"], {})[key] = float(row["end_to_end_s"])
    compared = 0
    for name, table in times.items():
        own = rules(table)
        for config in found[name]["configs"]:
            mean, worst, votes = own[cell(config)]
            assert config["mean_regret_ratio"] == pytest.approx(mean, rel=1e-8, abs=1e-9)
            assert config["max_regret_ratio"] == pytest.approx(worst, rel=1e-8, abs=1e-9)
            assert config["top_n_count"] == votes
            compared += 1
    assert compared == 90
    published = {"imagenette": ({(128, 12): 1.958, (128, 16): 2.879, (256, 12): 5.307, (128, 8): 6.420},
                                {(128, 8): 6, (128, 12): 5, (128, 16): 5, (256, 4): 4, (128, 4): 4, (256, 2): 3}),
                 "preprocessed_ssd": ({(256, 2): 0.361, (256, 4): 0.966, (512, 2): 2.108},
                                      {(256, 2): 8, (256, 1): 7, (256, 4): 6, (128, 2): 5})}
    for name, (regrets, votes) in published.items():
        by_cell = {cell(config): config for config in found[name]["configs"]}
        for c, percent in regrets.items():
            assert round(100 * by_cell[c]["mean_regret_ratio"], 3) == percent
        for c, count in votes.items():
            assert by_cell[c]["top_n_count"] == count
    text = rue("analyze", path, "--map", "mode=dataset_type,time_s=end_to_end_s").stdout
    assert wording.BATCH_SIZE_NUM_WORKERS_HAS.format(128, 8) in text


@pytest.mark.parametrize("change", [
    lambda t: t.replace("\n", "\r\n"), lambda t: t.replace("\n", "\r"), lambda t: "\ufeff" + t, lambda t: t.rstrip("\n"),
    lambda t: t.replace("\n", "\n\n"), lambda t: t.replace(",", " , "), lambda t: t.replace("day", '"day"'),
    lambda t: t.replace("\n", ",,\n"), lambda t: t.replace(",32,", ",3.2e1,"), lambda t: t.replace(",32,", ",32.0,"),
    lambda t: t.replace("time_s\n", "time_s,note\n").replace(",10\n", ',10,"a, ""b""\nc"\n').replace("0\n", "0,x\n").replace(
        ",12\n", ",12,\n").replace(",11\n", ",11,\n").replace(",21\n", ",21,\n")],
    ids=["CRLF", "CR", "BOM", "no_final_newline", "blank_lines", "spaces", "quotes", "trailing_commas", "exponent", "point_zero",
         "embedded"])
def test_every_form_of_a_table_gives_the_same_answer(rue, change):
    done = analyze(rue, change(PLAIN), "--json", "--quiet")
    assert ranking(modes(done)["day"]) == ranking(modes(analyze(rue, PLAIN, "--json", "--quiet"))["day"])


@pytest.mark.parametrize("text, words", [
    (b"", ["is empty"]), (b"\n\n", ["is empty"]), (HEADER.encode(), ["only a header line"]),
    (PLAIN.replace("ape,32,1,10", "ape,32,1").encode(), ["line 2", "4 fields", "5 columns"]),
    (PLAIN.replace("ape,32,1,10", "ape,32,1,10,5,3").encode(), ["line 2", "7 fields"]),
    (PLAIN.replace(",10\n", ",1\0\n").encode(), ["line 2", "NUL"]), (PLAIN.encode("utf-16"), ["UTF-16"]),
    (PLAIN.replace("ape", "\u00e9").encode("latin1"), ["line 2", "UTF-8"]),
    (PLAIN.replace(",10\n", ',"10\n').encode(), ["line 2", "has no end"]),
    (PLAIN.replace(",10\n", ',"10,5"\n').encode(), ["line 2", "a decimal point"]),
    (PLAIN.replace(",10\n", ",10s\n").encode(), ["line 2", "without a unit"]),
    (PLAIN.replace(",10\n", ",-1\n").encode(), ["line 2", "time_s '-1'"]),
    (PLAIN.replace(",10\n", ",0\n").encode(), ["line 2", "positive"]),
    (PLAIN.replace(",10\n", ",1e300\n").encode(), ["line 2", "285 years"]),
    (PLAIN.replace("ape,32,1", "ape,128.5,1").encode(), ["line 2", "batch_size '128.5'"]),
    (PLAIN.replace("ape,32,1", "ape,0,1").encode(), ["line 2", "from 1 to 65536"]),
    (PLAIN.replace("ape,32,1", "ape,,1").encode(), ["line 2", "batch_size"]),
    (PLAIN.replace("ape,32,1", "ape,32,1e9").encode(), ["line 2", "num_workers"]),
    (PLAIN.replace("ape,32", ",32").encode(), ["line 2", "model"]), (PLAIN.replace("day,ape", ",ape").encode(), ["mode"]),
    (PLAIN.replace("time_s", "cost").encode(), ["--map time_s=COLUMN", "mode, model", "cost"]),
    (PLAIN.replace("batch_size", "batchsize").encode(), ["--map batch_size=COLUMN", "batchsize"]),
    (PLAIN.replace("mode", "model", 1).encode(), ["two columns have the name 'model'"]),
    (PLAIN.replace(",", ";").encode(), ["separated by ';'"]),
    (PLAIN.replace("mode,", "time_ms,").replace("day", "5").encode(), ["two columns of times", "--map"])])
def test_an_invalid_table_is_refused_with_the_line(rue, text, words):
    expect_failure(analyze(rue, text), 3, *words)


@pytest.mark.parametrize("mapping, code, words", [
    ("modell=a", 2, ["did you mean 'model'?"]), ("mode", 2, ["'mode'"]), ("=x", 2, ["'=x'"]), ("mode=a,mode=b", 2, ["twice"]),
    ("qqq=a", 2, ["unknown name"]), ("time_s=tme_s", 3, ["no column 'tme_s'", "did you mean 'time_s'"])])
def test_an_invalid_map_is_refused(rue, mapping, code, words):
    expect_failure(analyze(rue, PLAIN, "--map", mapping), code, *words)


def test_a_file_that_cannot_be_opened_is_named(rue):
    expect_failure(rue("analyze", "nowhere.csv"), 3, "nowhere.csv")
    expect_failure(rue("analyze", "."), 3, "folder")


def pipe(rue, *words):
    return subprocess.run([rue.program, "analyze", "-", *words], input=PLAIN, text=True, capture_output=True, timeout=HANG_S,
                          env=clean_environment(), cwd=rue.folder)


def test_standard_input_is_a_table(rue):
    done = pipe(rue, "--json")
    assert cell(modes(done)["day"]["configs"][0]) == (64, 1)


def test_a_silent_pipe_ends_with_a_signal(rue):
    os.mkfifo(rue.folder / "pipe")
    process = rue.start("analyze", "pipe")
    writer = os.open(rue.folder / "pipe", os.O_WRONLY)
    os.write(writer, b"mode,")
    process.terminate()
    process.communicate(timeout=HANG_S)
    os.close(writer)
    assert process.returncode == 143


def test_units_and_names_of_times_agree(rue):
    wanted = ranking(modes(analyze(rue, PLAIN, "--json"))["day"])
    for name, scale in (("time_ms", 1000), ("time_ns", 10**9), ("end_to_end_ns", 10**9)):
        text = HEADER.replace("time_s", name) + "".join(f"day,{m},{b},{w},{t * scale}\n" for (m, b, w), t in TIMES.items())
        assert ranking(modes(analyze(rue, text, "--json"))["day"]) == wanted


def test_repeats_count_by_their_median(rue):
    text = PLAIN + "day,ape,64,1,9\nday,ape,64,1,500\nday,bee,64,1,1\nday,bee,64,1,21\n"
    configs = {cell(c): c for c in modes(analyze(rue, text, "--json"))["day"]["configs"]}
    assert configs[64, 1]["end_to_end_ns"] == {"ape": 11 * 10**9, "bee": 21 * 10**9} and configs[64, 1]["repeats"] == 3


def test_an_answer_that_is_not_decided_has_exit_code_5(rue):
    """Where it is printed: the same answer has the same code. Other commands do what they are asked for."""
    (rue.folder / "t.csv").write_text(PLAIN + "day,ape,64,1,9\nday,ape,64,1,500\nday,bee,64,1,1\nday,bee,64,1,21\n")
    advice = "measure each configuration more often"
    expect_failure(rue("analyze", "t.csv"), 5, "rue analyze: not decided, because its regret is between", advice)
    for words in (["analyze", "t.csv", "--study", "out"], ["show", "out"], ["show", "out", "--json"]):
        assert rue(*words).stderr.endswith(advice + "\n")
    assert json.loads(rue("show", "out", "--json").stdout)["decided"] is False
    for words in (["report", "out"], ["list", "out"], ["show", "out", "--trials"], ["show", "out", "--trial", "1"]):
        assert rue(*words).returncode == 0, words


def test_configurations_with_missing_or_failed_cells_are_not_ranked_and_reported(rue):
    text = PLAIN.replace("num_workers,time_s", "num_workers,time_s,status,reason").replace("\n", ",,\n").replace(
        "reason,,", "reason").replace("bee,32,2,20,,", "bee,32,2,,infeasible,no room").replace("ape,64,1,11,,", "ape,64,1,oom,,")
    text += "day,ape,128,1,99,,\nday,cow,32,1,5,timeout,slow\nday,cow,32,1,6,ok,\n"
    mode = modes(analyze(rue, text, "--json"))["day"]
    by_cell = {cell(c): c for c in mode["configs"]}
    assert cell(mode["configs"][0]) == (32, 1) and by_cell[32, 1]["ranked"], "an ok repeat covers the cell"
    for c, word in (((32, 2), "no room"), ((64, 1), "the time is 'oom'"), ((128, 1), "")):
        assert by_cell[c]["mean_regret_ratio"] is None and [miss["reason"] for miss in by_cell[c]["misses"] if word in (miss["reason"] or "")], by_cell[c]
    assert by_cell[128, 1]["coverage"]["ok"] == 1
    assert wording.NOT_RANKED_OF_CONFIGURATIONS.format(3, 4) in rue("analyze", "t.csv").stdout.replace("\n", " ")


def test_exit_code_is_4_if_no_configuration_is_ranked(rue):
    expect_failure(analyze(rue, HEADER + "day,ape,32,1,5\nday,bee,64,1,5\n"), 4, "day")


def test_modes_and_models_are_optional(rue):
    done = analyze(rue, "batch_size,num_workers,prefetch_factor,time_s\n32,1,2,5\n32,1,4,4\n")
    assert done.returncode == 0 and "t.csv: 1 model, 2 configurations" in done.stdout and wording.NO_COLUMN_MODEL in done.stderr
    found = modes(rue("analyze", "t.csv", "--json", "--quiet"))["t.csv"]["config"]
    assert (found["batch_size"], found["num_workers"], found["prefetch_factor"]) == (32, 1, 4)


def test_jobs_of_different_sizes_are_ranked_apart(rue):
    done = analyze(rue, "model,batch_size,num_workers,requested_images,time_s\na,32,1,1000,10\na,64,1,100,1\na,32,1,100,1.1\n",
                   "--json", name="jobs.csv")
    found = {mode["job_images"]: ranking(rankings(dict(recommendations=[mode])).popitem()[1])
             for mode in json.loads(done.stdout)["recommendations"]}
    assert found == {100: [((64, 1), 0), ((32, 1), pytest.approx(0.1))], 1000: [((32, 1), 0)]}
    text = rue("analyze", "jobs.csv").stdout
    assert wording.JOB_OF_IMAGES_CONFIGURATIONS.format(100, 2) in text and wording.JOB_OF_IMAGES_CONFIGURATION.format("1,000", 1) in text and "repeats" not in text


@pytest.mark.parametrize("mode", ["imagenette", "raw", "t.csv"])
def test_mode_and_format_remain_two_words(rue, mode):
    text = "mode,format,dtype,batch_size,num_workers,time_s\n" + "".join(
        f"{mode},{f},{d},32,1,{t}\n" for f, d, t in (("folder", "", 5), ("tensor", "uint8", 3)))
    if mode == "t.csv":  # the name of a table that has no column of modes
        text = "\n".join(line.partition(",")[2] for line in text.splitlines())
    told = [(mode, "folder", None), (mode, "tensor", "uint8")]
    found = [part["variant"] for part in json.loads(analyze(rue, text, "--json").stdout)["recommendations"]]
    assert [(v["label"] or v["mode"], v["format"], v["dtype"]) for v in found] == told
    assert wording.USE_BATCH_SIZE_NUM_WORKERS_FOR_TENSOR.format(32, 1, mode) in rue("analyze", "t.csv").stdout


def test_a_format_that_is_too_long_is_refused(rue):
    expect_failure(analyze(rue, "format,batch_size,num_workers,time_s\nwebdataset_shards,32,1,5\n"), 3, "line 2",
                   "format 'webdataset_shards' is longer than 15 bytes")


def test_many_rows_give_the_ranking_that_python_computes(rue):
    times = {(f"m{m}", b, w): 1 + (m * 7919 + b * 104729 + w * 1299709) % 1000 / 100
             for m in range(7) for b in range(1, 41) for w in range(0, 20)}
    text = HEADER + "".join(f"x,{m},{b},{w},{t}\n" for (m, b, w), t in reversed(times.items()))
    configs, own = modes(analyze(rue, text, "--json"))["x"]["configs"], rules(times)
    assert len(configs) == 800
    for config in configs:
        assert config["mean_regret_ratio"] == pytest.approx(own[cell(config)][0], abs=1e-8)
        assert config["top_n_count"] == own[cell(config)][2]
    regrets = [config["mean_regret_ratio"] for config in configs]
    assert regrets == sorted(regrets)


def test_a_table_of_a_run_gives_the_answer_of_the_run(rue, script):
    one = script(make_table(["ape", "bee"], [16, 32], [0, 2], lambda m, b, w: 1000 + b + 100 * w * (m == "bee")))
    assert rue("tune", "--runner", one.command, "--quiet", "--out", "out", "--images", "128").returncode == 0
    done, run = rue("analyze", "out/trials.csv", "--json"), read_json(rue.folder / "out/recommendation.json")["recommendations"][0]
    mode = modes(done)["raw"]
    assert mode["job_images"] == 128 and wording.WHOSE_MEASURE_IS_NOT in done.stderr
    assert {cell(c): c["mean_regret_ratio"] for c in mode["configs"]} == {cell(c): c["mean_regret_ratio"] for c in run["configs"]}


def test_a_truncated_trial_is_skipped_with_a_note(rue):
    header = "model,batch_size,num_workers,requested_images,job_images,status,end_to_end_ns\n"
    done = analyze(rue, header + "a,32,0,64,1000,ok,100\na,32,2,1000,1000,ok,900\n")
    assert done.returncode == 0 and wording.SKIPPED_TRIALS_SHORTER_THAN_THE_JOB.format(1) in done.stderr
    assert "1 configuration" in done.stdout
    expect_failure(analyze(rue, header + "a,32,0,64,1000,ok,100\n"), 5, "nothing to rank")


# ---- --study ----

def check_study(rue, table, *words):
    """The study of a table gives the ranking of the table. Returns its rows, (model, batch size, workers, status, ns)."""
    done, plain = rue("analyze", table, "--study", "out", *words), rue("analyze", table, "--json", *words)
    assert done.returncode == plain.returncode and plain.returncode in (0, 4, 5), done.stderr
    study, own = json.loads(rue("show", "out", "--json").stdout), json.loads(plain.stdout)
    for key in own.keys() - {"provenance"}:
        assert study[key] == own[key], key
    assert read_json(rue.folder / "out/recommendation.json")["recommendations"] == own["recommendations"]
    with contextlib.closing(sqlite3.connect(rue.folder / "out/study.db")) as db:
        return db.execute("SELECT model, config ->> 'batch_size', config ->> 'num_workers', status, end_to_end_ns FROM trial ORDER BY id").fetchall()


def test_a_study_of_a_table_has_its_rows_and_its_ranking(rue):
    done = analyze(rue, PLAIN, "--study", "rue-out/deep")
    assert done.returncode == 0 and "rue-out/deep/study.db" in done.stderr and wording.RUE_SHOW_RUE_OUT in done.stderr
    rows = check_study(rue, "t.csv")
    assert rows == [(m, b, w, "ok", t * 10**9) for (m, b, w), t in TIMES.items()]
    assert (rue.folder / "out/trials.csv").read_text() == rue("show", "out", "--trials").stdout
    text = rue("show", "out").stdout
    assert "day: 2 models, 3 configurations" in text and wording.USE_BATCH_SIZE_NUM_WORKERS_FOR_DAY_DATA.format(64, 1, "7.5") in text
    (entry,) = json.loads(rue("list", "out", "--json").stdout)
    assert (entry["state"], entry["trials_ok"]) == ("complete", 6)
    assert rue("report", "out", "--quiet").returncode == 0 and "7.5" in (rue.folder / "out/report.md").read_text()


@pytest.mark.parametrize("words", [["--objective", "worst"], ["--weights", "ape=3,bee=1"], ["--top-n", "1"], ["--set-epsilon", "20%"]])
def test_a_study_of_a_table_has_the_rules_of_its_options(rue, words):
    (rue.folder / "t.csv").write_text(PLAIN)
    check_study(rue, "t.csv", *words)


def test_a_study_of_a_table_keeps_all_repeats_failures_and_jobs(rue):
    header = "mode,model,batch_size,num_workers,job_images,status,reason,time_s\n"
    rows = ["day,a,32,1,100,ok,,3", "day,a,32,1,100,ok,,5", "day,a,32,1,100,ok,,4", "day,a,32,2,100,ok,,9",
            "day,a,64,1,100,infeasible,too large,", "day,b,32,1,100,failed,it fell over,", "day,b,32,2,100,ok,,7", "day,a,32,1,200,ok,,8"]
    (rue.folder / "t.csv").write_text(header + "".join(row + "\n" for row in rows))
    stored = check_study(rue, "t.csv")
    assert [row[3:] for row in stored] == [("ok", 3 * 10**9), ("ok", 5 * 10**9), ("ok", 4 * 10**9), ("ok", 9 * 10**9), ("infeasible", None),
                                           ("failed", None), ("ok", 7 * 10**9), ("ok", 8 * 10**9)]
    assert wording.IT_FELL_OVER in rue("show", "out", "--trial", "6").stdout
    again = json.loads(rue("show", "out", "--json", "--top-n", "2").stdout)["recommendations"]
    assert [part["job_images"] for part in again] == [100, 200]


def test_a_study_of_a_table_grows_only_with_the_table(rue):
    (rue.folder / "t.csv").write_text(PLAIN)
    assert len(check_study(rue, "t.csv")) == 6
    assert len(check_study(rue, "t.csv", "--objective", "worst")) == 6
    (rue.folder / "t.csv").write_text(PLAIN + "day,ape,64,1,3\n")
    assert len(check_study(rue, "t.csv")) == 13
    assert wording.TRIALS_OF_ANOTHER.format(6) in rue("show", "out").stdout


def test_the_trials_of_a_study_of_a_table_are_ranked_again(rue):
    """Without its findings, as after a damaged run."""
    (rue.folder / "t.csv").write_text(PLAIN)
    check_study(rue, "t.csv")
    with contextlib.closing(sqlite3.connect(rue.folder / "out/study.db")) as db:
        db.execute("DELETE FROM trial WHERE id = 1")
        db.commit()
    text = rue("show", "out").stdout
    assert wording.TRIALS_WERE_ADDED_OR_DELETED in text and "day: 2 models" in text


def test_a_folder_that_cannot_be_a_study_of_the_table_is_refused(rue, script):
    one = script(make_table(["ape"], [16, 32], [0, 2], lambda m, b, w: 1000 + b))
    assert rue("tune", "--runner", one.command, "--quiet", "--out", "measured").returncode == 0
    before = (rue.folder / "measured/recommendation.json").read_bytes()
    expect_failure(analyze(rue, PLAIN, "--study", "measured"), 2, "measured", "--study", "another folder")
    assert rue("tune", "--table", "t.csv", "--budget", "50trials", "--quiet", "--out", "replayed").returncode == 0
    expect_failure(rue("analyze", "t.csv", "--study", "replayed"), 2, "replayed", "--study", "another folder")
    expect_failure(rue("analyze", "measured/trials.csv", "--quiet", "--study", "measured"), 6, "input table")
    assert (rue.folder / "measured/recommendation.json").read_bytes() == before
    (rue.folder / "file").write_text("")
    expect_failure(analyze(rue, PLAIN, "--study", "file"), 6, "file")
    expect_failure(analyze(rue, HEADER + "day,a,1,1,400000000\n", "--study", "long"), 3, "9 years")
    many = HEADER + "".join(f"day{i},a,{b},1,{i + b}\n" for i in range(65) for b in (1, 2))
    expect_failure(analyze(rue, many, "--study", "many"), 3, "65", "64")
    assert not (rue.folder / "long").exists() and not (rue.folder / "many").exists()
    done = pipe(rue, "--study", "piped", "--quiet")
    assert done.returncode == 0 and rue("show", "piped").returncode == 0


def modes_of(document):
    return {name: {cell(c): round(c["mean_regret_ratio"], 6) for c in mode["configs"]} for name, mode in rankings(document).items()}


def test_the_published_figures_are_those_of_the_study(rue):
    rows = check_study(rue, shared_table(), "--map", "mode=dataset_type,time_s=end_to_end_s")
    assert len(rows) == 1080
    text = rue("show", "out").stdout
    assert re.search(r"^  12 +6\.7 \[ 2\.0\] +5\.3 +16\.2 +37\.4$", text, re.MULTILINE)
    assert rue("report", "out", "--quiet").returncode == 0
    page = (rue.folder / "out/report.html").read_text()
    found = modes_of(json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL).group(1)))
    assert found == modes_of(read_json(rue.folder / "out/recommendation.json"))
    assert round(100 * found["imagenette"][128, 12], 3) == 1.958 and round(100 * found["preprocessed_ssd"][256, 2], 3) == 0.361
    assert all(f">{text}</text>" in page for text in ("2.9", "6.4", "0.4", "1.0", "294")), "cells of the heat maps"
