"""rue show: the heat map of a study, and the life of one trial."""
import html
import json
import re
import shlex
import sqlite3

import pytest

import wording
from conftest import clean_environment, expect_failure, make_table, read_json, unwrap
from terminal import run_on_terminal, text_width

MODELS = ["ape", "bee"]
TABLE = make_table(MODELS, [16, 32, 64], [0, 2, 4], lambda m, b, w: 1000 + 7 * abs(b - 40) + 90 * abs(w - MODELS.index(m)))
DUEL = make_table(MODELS, [16, 32, 64, 128], [1, 2, 4, 8], lambda m, b, w: 100000 + 1000 * abs(w - 4) + 20 * abs(b - 64))
WIDE = make_table(["ape"], [2**i for i in range(11)], range(14), lambda m, b, w: 1000 + abs(b - 512) + 50 * abs(w - 11))
SGR = re.compile(r"\x1b\[[0-9;]*m")
CELL = re.compile(r"[\[~]? *[\d.]+\]?|x|\.(?= |$)")


def tune(rue, script, *words, out="out"):
    return rue("tune", "--runner", script.command, "--quiet", "--out", out, "--images", "1024", *words)


def read_map(text):
    """{(batch size, workers): cell} of the first map, and its legend. A cell is a text such as "[2.0]", "~3" or "x"."""
    lines = text[text.index("  Mean regret (%)"):].split("\n\n")[0].splitlines()
    lines = lines[next(i for i, line in enumerate(lines) if re.match(r"  +\d", line)):]
    sizes = [int(word.replace(",", "")) for word in lines[0].split()]
    rows = [line for line in lines[1:] if re.match(r" +\d+ ", line)]
    cells = {}
    for row in rows:
        workers, rest = re.match(r" +(\d+) (.*)", row).groups()
        found = [cell.replace(" ", "") for cell in CELL.findall(rest)]
        assert len(found) == len(sizes), row
        cells.update({(size, int(workers)): cell for size, cell in zip(sizes, found)})
    return cells, " ".join(" ".join(lines[1 + len(rows):]).split())


def expected_cells(rue):
    (mode,) = json.loads(rue("show", "out", "--json").stdout)["recommendations"]
    cells = {}
    for config in mode["configs"]:
        at = config["config"]["batch_size"], config["config"]["num_workers"]
        ratio = config["mean_regret_ratio"]
        text = "x" if ratio is None else f"{100 * ratio:.{0 if ratio >= 0.9995 else 1}f}"
        best = config["config"] == mode["config"]
        cells[at] = f"[{text}]" if best else "~" + text if config["verified"] == "predicted" else text
    return cells


# ---- the heat map ----

@pytest.mark.quick
def test_the_map_has_every_cell(rue, script):
    assert tune(rue, script(TABLE, infeasible_above=32)).returncode == 0
    cells, legend = read_map(rue("show", "out").stdout)
    assert cells == expected_cells(rue) and len(cells) == 9 and sum(cell == "x" for cell in cells.values()) == 3
    assert legend == "[ ] recommended; x failed or does not fit"


def test_predicted_cells_are_marked(rue, script):
    assert tune(rue, script(DUEL, load_ns=100000), "--budget", "40trials", "--strategy", "duel").returncode == 0
    cells, legend = read_map(rue("show", "out").stdout)
    assert cells == expected_cells(rue) and "~ predicted" in legend and any(cell[0] == "~" for cell in cells.values())


def test_other_knobs_have_maps_with_details(rue, script):
    space = dict(batch_size=[16, 32], num_workers=[1, 2], prefetch_factor=[2, 4])
    table = make_table(["ape"], [16, 32], [1, 2], lambda m, b, w: 1000 + b + w)
    assert tune(rue, script(table, space), "--strategy", "grid").returncode == 0
    assert rue("show", "out").stdout.count("Mean regret (%)") == 1
    assert rue("show", "out", "--details").stdout.count("Mean regret (%)") == 3


def test_one_configuration_has_no_map(rue, script):
    assert tune(rue, script(TABLE), "--batch-size", "16", "--num-workers", "2").returncode == 0
    assert wording.MEAN_REGRET not in rue("show", "out").stdout


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 200])
def test_the_map_fits_the_window(rue, script, columns):
    """Values around the best configuration remain."""
    assert tune(rue, script(WIDE), "--strategy", "grid").returncode == 0
    text, narrowest = rue("show", "out", env=dict(COLUMNS=columns)).stdout, 40
    assert max(map(text_width, text.splitlines())) <= max(columns, narrowest)
    cells, legend = read_map(text)
    everything = expected_cells(rue)
    assert cells.items() <= everything.items() and "[0.0]" in cells.values()
    sizes, workers = ({at[side] for at in cells} for side in (0, 1))
    assert len(cells) == len(sizes) * len(workers) and len(workers) == 10
    assert wording.MORE_VALUES_OF_WORKERS.format(4) in legend
    assert (len(sizes) == 11) == (columns >= 80) == (wording.OF_BATCH_SIZE_NOT not in legend)
    full, _ = read_map(rue("show", "out", "--details", env=dict(COLUMNS=200)).stdout)
    assert full == everything


@pytest.mark.parametrize("env, code", [(dict(TERM="xterm-256color"), b"\x1b[48;5;"), (dict(TERM="xterm", COLORTERM="truecolor"), b"\x1b[48;2;"),
                                       (dict(TERM="xterm"), None), (dict(TERM="xterm-256color", NO_COLOR=1), None), (dict(TERM="dumb"), None)])
def test_a_terminal_of_enough_colours_has_coloured_cells(rue, script, env, code):
    assert tune(rue, script(TABLE)).returncode == 0
    plain = rue("show", "out", env=dict(COLUMNS=80)).stdout
    assert "\x1b" not in plain
    environment = clean_environment(**env, COLUMNS="80")
    returned, screen, raw, _ = run_on_terminal([str(rue.program), "show", "out"], 80, environment, rue.folder)
    assert returned == 0 and screen.overflows == []
    text = SGR.sub("", raw.decode()).replace("\r\n", "\n")
    assert read_map(text)[0] == read_map(plain)[0]
    if code:
        assert raw.count(code) == 9 and wording.DARK_IS_GOOD in text
    else:
        assert b"\x1b[48" not in raw and wording.DARK_IS_GOOD not in text


# ---- one trial ----

def show_trial(rue, number, *words):
    done = rue("show", "out", "--trial", number, *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if "--json" in words else done.stdout


def read_rows(rue):
    with sqlite3.connect(rue.folder / "out/study.db") as db:
        db.row_factory = sqlite3.Row
        return {row["id"]: dict(row) for row in db.execute("SELECT * FROM trial")}


@pytest.mark.quick
def test_every_trial_is_shown_as_it_is_stored(rue, script):
    assert tune(rue, script(DUEL, load_ns=100000), "--budget", "40trials", "--strategy", "duel").returncode == 0
    rows, measures = read_rows(rue), set()
    for number, row in rows.items():
        trial, text = show_trial(rue, number, "--json"), show_trial(rue, number, "--details")
        assert trial["format"] == "rue.trial/1" and trial["study"] == "out" and trial["in_last_run"]
        assert trial["variant"] == {key: row[key] or None for key in ("mode", "format", "dtype", "path")}
        for key in trial.keys() & row.keys() - {"format", "config", "workload"} - {key for key in row if key.startswith("batch_")}:
            assert trial[key] == (row[key] if row[key] != "" else None), key
        for key in ("batch_ready_ns", "batch_compute_ns", "batch_images", "batch_queued"):
            assert trial[key] == (json.loads(row[key]) if row[key] else None)
        assert all(trial["config"][knob] == value for knob, value in json.loads(row["config"]).items())
        assert wording.TRIAL_OF_OUT.format(number, row["status"]) in text and f"({row['measure']})" in text
        assert not trial["batch_ready_ns"] or len(re.findall(r"^ +\d+ +[\d.]+ (?:[num]?s|min)", text, re.M)) >= len(trial["batch_ready_ns"])
        assert wording.MORE_BATCH not in text
        measures.add(row["measure"])
    assert measures == {"joint", "load", "compute"}


def test_a_trial_is_compared_with_its_cell(rue, script):
    assert tune(rue, script(TABLE, repeats=[1, 1.5, 1.1]), "--repeats", "3", "--strategy", "grid").returncode == 0
    (mode,) = read_json(rue.folder / "out/recommendation.json")["recommendations"]
    joint = [row for row in read_rows(rue).values() if row["measure"] == "joint"]
    for row in joint[:6]:
        trial = show_trial(rue, row["id"], "--json")
        (config,) = (c for c in mode["configs"] if c["config"] == trial["config"])
        times = sorted(config["cells"][row["model"]]["times_ns"])
        assert trial["expected_job_ns"] == pytest.approx(times[1], abs=1) and trial["job_ns"] == row["end_to_end_ns"]
        assert wording.THE_MEDIAN_OF_TRIALS.format(3, trial["job_ns"] / times[1]) in " ".join(show_trial(rue, row["id"]).split())
    assert tune(rue, script(TABLE), "--fresh").returncode == 0
    number = next(number for number, row in read_rows(rue).items() if row["measure"] == "joint")
    assert wording.THE_ONLY_TRIAL in show_trial(rue, number) and show_trial(rue, number, "--json")["expected_job_ns"] is None


def test_a_disturbed_trial_is_called_so(rue, script):
    """As in the run's own trials.csv."""
    fault = dict(when=dict(joint=20), do="answer", answer=dict(end_to_end_ns=900000000, load_wait_ns=900000000))
    one = script(TABLE, load_ns=100000, repeats=[1, 1.01, 0.99], faults=[fault])
    assert tune(rue, one, "--repeats", "3", "--strategy", "grid").returncode == 0
    text = (rue.folder / "out/trials.csv").read_text()
    header, *lines = [line.split(",") for line in text.splitlines()]
    disturbed = {int(line[0]) for line in lines if line[header.index("disturbed")] == "1"}
    assert disturbed and rue("show", "out", "--trials").stdout == text
    for number in [*sorted(disturbed)[:2], next(int(line[0]) for line in lines if int(line[0]) not in disturbed)]:
        assert show_trial(rue, number, "--json")["disturbed"] == (number in disturbed)
        assert (wording.IT_WAS_DISTURBED in " ".join(show_trial(rue, number).split())) == (number in disturbed)


def test_a_failed_trial_has_its_reason(rue, script):
    fault = dict(when=dict(measure="joint", joint=2), do="answer", answer=dict(status="failed", reason="it fell over \x1b[31m"))
    failing = script(TABLE, faults=[fault])
    tune(rue, failing, "--strategy", "grid")
    (number,) = (number for number, row in read_rows(rue).items() if row["status"] == "failed")
    text = show_trial(rue, number)
    assert wording.TRIAL_OF_OUT_FAILED.format(number) in text and "\x1b" not in text
    trial = show_trial(rue, number, "--json")
    assert trial["reason"] == "it fell over \x1b[31m"
    command = shlex.split(trial["command"])
    assert command[:2] == ["rue", "tune"] and command[command.index("--runner") + 1] == failing.command
    assert trial["command"] in unwrap(re.sub(r"<[^>]+>", " ", html.unescape((rue.folder / "out/report.html").read_text())))


def test_a_runner_that_the_command_line_does_not_name_is_not_in_the_command(rue, script):
    done = rue("tune", "--quiet", "--out", "out", "--images", "1024", "--strategy", "grid", env=dict(RUE_RUNNER=script(TABLE).command))
    assert done.returncode == 0, done.stderr
    number = next(number for number, row in read_rows(rue).items() if row["measure"] == "joint")
    assert wording.TO_REPEAT_IT_WITH_THE_RUNNER in show_trial(rue, number) and "--runner" not in show_trial(rue, number, "--json")["command"]


def test_the_command_of_a_trial_repeats_it(rue, photos):
    words = ["--batch-size", "4", "--num-workers", "0,1", "--model", "sleep:1ms/batch", "--mode", "raw", "--no-shuffle", "--seed", "7",
             "--knob", "read=batch"]
    assert rue("tune", photos, *words, "--quiet", "--out", "out", "--budget", "5m", "--strategy", "grid").returncode == 0
    number = next(number for number, row in read_rows(rue).items() if row["measure"] == "joint")
    trial, text = show_trial(rue, number, "--json"), show_trial(rue, number)
    command = shlex.split(trial["command"])
    assert " ".join(text.split()).endswith(f"To repeat it: {' '.join(trial['command'].split())}") and command[:2] == ["rue", "tune"]
    assert command[command.index("--knob") + 1] == "read=batch"
    again = rue(*command[1:], "--out", "again", "--quiet", "--strategy", "grid", "--budget", "5m", "--mode", "raw")
    assert again.returncode == 0, again.stderr
    with sqlite3.connect(rue.folder / "again/study.db") as db:
        same = db.execute("SELECT count(*) FROM trial WHERE measure = 'joint' AND model = ? AND json_extract(config, '$.num_workers') = ?"
                          " AND json_extract(workload, '$.seed') = 7 AND json_extract(workload, '$.shuffle') = 0 AND requested_images = ?",
                          (trial["model"], trial["config"]["num_workers"], trial["requested_images"])).fetchone()[0]
    assert same >= 1


def test_a_trial_of_an_earlier_job_is_shown(rue, script):
    assert tune(rue, script(TABLE)).returncode == 0
    last = max(read_rows(rue))
    assert tune(rue, script(TABLE, digest="d2")).returncode == 0
    trial = show_trial(rue, 1, "--json")
    assert not trial["in_last_run"] and wording.IT_IS_NOT_A_TRIAL in show_trial(rue, 1)
    assert show_trial(rue, last + 1, "--json")["in_last_run"]


def test_a_trial_that_does_not_exist_is_refused(rue, script):
    assert tune(rue, script(TABLE)).returncode == 0
    count = len(read_rows(rue))
    for number in (count + 1, 2**63 - 1):
        expect_failure(rue("show", "out", "--trial", number), 2, f"--trial {number}", f"from 1 to {count}", "rue show out")
    expect_failure(rue("show", "out", "--trial", "0"), 2, "--trial")
    expect_failure(rue("show", "out", "--trial", "1", "--trials"), 2, "--trial", "--trials")
    with sqlite3.connect(rue.folder / "out/study.db") as db:
        db.execute("DELETE FROM trial")
    expect_failure(rue("show", "out", "--trial", "1"), 2, "no trials")


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_a_trial_fits_the_window(rue, script, columns):
    assert tune(rue, script(DUEL, load_ns=100000), "--budget", "40trials", "--strategy", "duel").returncode == 0
    for number in list(read_rows(rue))[::7]:
        text = rue("show", "out", "--trial", number, env=dict(COLUMNS=columns)).stdout
        assert max(map(text_width, text.splitlines())) <= columns and "\n\n\n" not in text
