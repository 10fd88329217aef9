"""rue analyze: what it asks for where a table says too little, and what it says of repeats, rates and missing times."""
import json
import re
import shlex
import subprocess

import pytest

import wording
from conftest import HANG_S, clean_environment, expect_failure
from test_analyze import HEADER, PLAIN, TIMES, analyze, cell, modes, ranking, shared_table

ROWS = [f"{m},{b},{w},{t}" for (m, b, w), t in TIMES.items()]
TWO_SETS = "set,model,batch_size,num_workers,time_s\n" + "".join(f"{s},{row}\n" for s in ("day", "night") for row in ROWS)


def words(done):
    return " ".join(done.stdout.split())


# ---- repeats ----

def test_rows_that_differ_in_a_column_that_is_not_read_are_repeats(rue):
    done = analyze(rue, TWO_SETS)
    assert done.returncode == 0 and "2 repeats" in done.stdout
    assert wording.IGNORED_COLUMNS_SET_ROWS in " ".join(done.stderr.split())
    assert set(modes(rue("analyze", "t.csv", "--map", "mode=set", "--json"))) == {"day", "night"}

def test_the_heading_has_the_number_of_repeats(rue):
    assert "repeats" not in analyze(rue, PLAIN).stdout
    assert wording.UP_TO_REPEATS.format(3) in analyze(rue, PLAIN + "day,ape,32,1,10\nday,ape,32,1,10\n").stdout


# ---- columns ----

def test_case_and_blanks_do_not_matter(rue):
    wanted = ranking(modes(analyze(rue, PLAIN, "--json"))["day"])
    shouted = PLAIN.replace(HEADER, HEADER.upper().replace("\n", ",STATUS\n")).replace("0\n", "0,Ok\n").replace(
        "2\n", "2,OK\n").replace("1\n", "1,oK\n")
    assert ranking(modes(analyze(rue, shouted, "--json"))["day"]) == wanted
    renamed = PLAIN.replace("mode,", "kind,").replace("time_s", "took")
    assert ranking(modes(analyze(rue, renamed, "--json", "--map", " mode = kind , time_s =took"))["day"]) == wanted


def test_every_column_that_is_read_is_named(rue):
    text = rue("analyze", "--help").stdout
    wrong = expect_failure(analyze(rue, PLAIN, "--map", "qqqq=a"), 2)
    for column in ("mode", "model", "format", "dtype", "measure", "requested_images", "job_images", "status", "reason",
                   "time_s", "time_ms", "time_ns", "end_to_end_ns", "batch_size", "num_workers"):
        assert column in text and column in wrong, column


@pytest.mark.parametrize("number", ["10,5", "1,000.5", "1.000,5", "1,000", "10 s", "5ms"])
def test_a_malformed_number_is_refused_with_advice(rue, number):
    expect_failure(analyze(rue, PLAIN.replace(",10\n", f',"{number}"\n')), 3, "line 2", number, "a decimal point, without a unit or commas")


@pytest.mark.parametrize("missing, mapping", [("time_s", "time_s=COLUMN"), ("batch_size", "batch_size=COLUMN")])
def test_a_missing_column_is_named(rue, missing, mapping):
    expect_failure(analyze(rue, PLAIN.replace(missing, "x")), 3, f"--map {mapping}")


def test_a_table_without_any_knob_is_refused(rue):
    expect_failure(analyze(rue, "model,bs,time_s\na,32,5\n"), 3, "no column of batch_size", "--map batch_size=COLUMN", "model, bs, time_s")


def test_an_empty_map_is_named(rue):
    expect_failure(analyze(rue, PLAIN, "--map", ""), 2, "--map: the value is empty: give a list separated by commas")


def test_messages_about_a_table_have_no_control_characters(rue):
    names = ["ev\x1b[31mil", "x" * 60, *(f"a_column_{i}" for i in range(14))]
    text = PLAIN.replace("time_s\n", f"time_s,{','.join(names)}\n").replace("0\n", "0" + ",1" * 16 + "\n")
    text = re.sub(r"^(day,\w+,\d+,\d+,\d+)$", r"\1" + ",1" * 16, text, flags=re.M)
    (rue.folder / "ev\x1b[1mil.csv").write_text(text)
    done = rue("analyze", "ev\x1b[1mil.csv", env=dict(COLUMNS=50))
    assert done.returncode == 0 and "\x1b" not in done.stderr and "ev?[31mil" in done.stderr and "ev?[1mil.csv" in done.stderr
    assert max(map(len, done.stderr.splitlines())) <= 50 and "a_column_13" in done.stderr


# ---- cells without a time ----

def test_a_column_without_a_time_does_not_count_as_times(rue):
    expect_failure(analyze(rue, PLAIN, "--map", "time_s=model"), 3, "column 'model' has no times", "line 2: 'ape'")


@pytest.mark.parametrize("text, state", [("inf", "failed"), ("nan", "failed"), ("", "failed"), ("OOM", "is infeasible"),
                                         ("CUDA out of memory", "is infeasible")])
def test_a_cell_that_is_not_a_time_is_reported(rue, text, state):
    done = analyze(rue, PLAIN.replace("day,bee,32,2,20\n", f"day,bee,32,2,{text}\n"))
    assert done.returncode == 0 and wording.FOR_BEE.format(32, 2, state) in words(done)


def test_the_status_oom_is_infeasible(rue):
    text = PLAIN.replace("time_s", "time_s,status").replace("\n", ",\n").replace("status,", "status").replace(
        "bee,32,2,20,", "bee,32,2,,OOM")
    assert modes(analyze(rue, text, "--json"))["day"]["evidence"]["trials_infeasible"] == 1


def test_equal_reasons_are_counted_together(rue):
    text = HEADER + "day,ape,32,1,n/a\nday,ape,64,1,n/a\nday,bee,32,1,n/a\nday,bee,64,1,7\n"
    done = analyze(rue, text)
    assert done.returncode == 4 and wording.FAILED_REASON_OF_CELLS.format(3, 3) in words(done)
    assert "infeasible" not in done.stdout + done.stderr and wording.WERE_NOT_MEASURED not in done.stdout


def test_one_cell_is_singular_in_the_message(rue):
    done = analyze(rue, HEADER.replace("\n", ",status\n") + "day,ape,32,1,,infeasible\n")
    assert done.returncode == 4 and wording.OF_CELL_A_MODEL.format(1, 1) in words(done)
    assert wording.NO_CONFIGURATION_WAS_MEASURED not in done.stderr, "it has been said"


# ---- repeats that failed ----

def test_a_failed_repeat_is_reported(rue):
    text = PLAIN.replace("time_s", "time_s,status,reason").replace("\n", ",,\n").replace("reason,,", "reason")
    text += "day,ape,64,1,,failed,OOM\nday,bee,32,1,,timeout,\n"
    done = analyze(rue, text)
    assert wording.USE_BATCH_SIZE_NUM_WORKERS.format(64, 1) in words(done) and wording.OF_REPEATS_GAVE_NO_TIME_OOM.format(1, 2) in words(done)
    mode = modes(rue("analyze", "t.csv", "--json"))["day"]
    assert {cell(c): c["missed_repeats"] for c in mode["configs"]} == {(64, 1): 1, (32, 2): 0, (32, 1): 1}
    assert mode["evidence"]["missed_repeats"] == 1


@pytest.mark.parametrize("rows, words", [
    ("ape,64,1,,infeasible,\"no, memory\"\n", "1 of 2 repeats gave no time: no, memory (ape)"),
    ("ape,64,1,,infeasible,\nape,64,1,,oom,\n", "2 of 3 repeats gave no time (ape)"),
    ("ape,64,1,,infeasible,\nape,64,1,,failed,it fell\n", "2 of 3 repeats gave no time: it fell (ape)"),
    ("ape,64,1,,timeout,slow\n", "1 of 2 repeats gave no time: slow (ape)")])
def test_an_infeasible_repeat_is_not_called_failed(rue, rows, words):
    text = "model,batch_size,num_workers,time_s,status,reason\n" + "".join(f"{row},,\n" for row in ROWS) + rows
    assert f": {words}." in " ".join(analyze(rue, text).stdout.split())


# ---- what is said ----

def test_a_worst_model_that_is_not_worse_is_not_named(rue):
    text = HEADER + "".join(f"day,{m},{b},1,{b}\n" for m in ("ape", "bee") for b in (32, 64))
    done = analyze(rue, text)
    assert wording.MEAN_REGRET_OVER_MODELS.format("0.0", 2) in words(done) and "(ape)" not in words(done)
    row = next(line for line in done.stdout.splitlines() if line.startswith("→"))
    assert "ape" not in row and "bee" not in row


def test_one_model_has_one_regret_and_its_name_only_if_the_table_has_it(rue):
    done = analyze(rue, "batch_size,num_workers,time_s\n32,1,5\n32,2,4\n")
    assert wording.MEAN_REGRET_2 not in done.stdout and "worst" not in done.stdout and "all" not in done.stdout
    assert "0.0 % regret." in words(done)
    done = analyze(rue, "model,batch_size,num_workers,time_s\nape,32,1,5\nape,32,2,4\n")
    assert wording.MEAN_REGRET_2 not in done.stdout and wording.REGRET_FOR_APE.format("0.0") in words(done)


def test_no_line_has_only_blanks(rue):
    assert not any(line and line.isspace() for line in analyze(rue, PLAIN).stdout.split("\n"))


def test_raw_and_preprocessed_times_of_an_unknown_job_are_compared(rue):
    text = PLAIN.replace("day", "raw") + "".join(f"preprocessed,{row[:-2]}{int(row[-2:]) // 2}\n" for row in ROWS)
    done = analyze(rue, text)
    assert wording.FROM_RAW_TO_PREPROCESSED.format(64, 1) in words(done) and wording.TIME_OF_THE_JOB in words(done)
    assert wording.PER_IMAGE not in done.stdout and "saved" not in done.stdout
    found = json.loads(rue("analyze", "t.csv", "--json").stdout)["comparisons"][0]
    assert found["mean_speedup_ratio"] > 1.9 and found["saved_ns_per_image"] is None


def test_an_imported_mode_has_its_name_in_the_recommendation(rue):
    report = json.loads(analyze(rue, TWO_SETS, "--map", "mode=set", "--json").stdout)
    assert [(r["variant"]["label"], r["variant"]["mode"]) for r in report["recommendations"]] == [("day", None), ("night", None)]
    report = json.loads(analyze(rue, PLAIN.replace("day", "raw"), "--json").stdout)
    assert report["recommendations"][0]["variant"]["mode"] == "raw"
