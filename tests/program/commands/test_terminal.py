"""What a person sees: windows of any width, one that is resized, no colour, no UTF-8, wide characters, pipes and logs."""
import os
import re
import shutil
import signal
import subprocess

import pytest

import wording
from conftest import ROOT, clean_environment, make_table
from terminal import run_on_terminal, text_width

WIDTHS = [40, 60, 90, 160, 300]
TABLE = make_table(["ape", "bee"], [16, 32], [0, 2], lambda m, b, w: 1000 + b + 100 * w * (m == "bee"))
NAMES = ["resnet18", "efficientnet_v2_l", "a_model_of_a_quite_long_name", "日本語のモデル", "emo🚀ji", "cafe\u0301"]
MANY = make_table(NAMES, [16, 32, 64, 128, 256], [0, 1, 2, 4, 8], lambda m, b, w: 1000 + b + 100 * w * len(m))
QUICK = ["--batch-size", "4", "--num-workers", "0,1", "--model", "none", "--budget", "5m", "--mode", "raw"]


@pytest.fixture
def terminal(rue):
    """`code, screen, raw, others = terminal(60, "tune", ...)`."""
    def run(columns, *words, env=None, **more):
        environment = clean_environment(**{"TERM": "xterm", **(env or {})})
        if "COLUMNS" not in (env or {}):
            del environment["COLUMNS"]
        try:
            return run_on_terminal([str(rue.program), *map(str, words)], columns, environment, rue.folder, **more)
        except OSError as why:
            pytest.skip(f"skipped: no terminal can be had here: {why}")
    return run


# ---- widths ----

@pytest.mark.quick
@pytest.mark.parametrize("columns", WIDTHS)
def test_no_line_is_wider_than_the_window(terminal, script, columns):
    code, screen, _, _ = terminal(columns, "tune", "--runner", script(MANY).command)
    assert code == 0 and screen.overflows == [] and wording.USE_BATCH_SIZE in re.sub(r"\s+", " ", screen.text())
    code, screen, _, _ = terminal(columns, "tune", "--runner", script(MANY).command, "--dry-run", "--num-workers", "0,2,8")
    assert code == 0 and "configurations" in screen.text()
    assert all(text in screen.text() for text in ("日本語のモデル", "--num-workers"))
    assert screen.overflows == []


@pytest.mark.parametrize("columns", WIDTHS)
def test_help_fits_the_window(rue, terminal, columns):
    commands = re.findall(r"^  (\w+)  ", rue("--help").stdout, re.MULTILINE)
    assert len(commands) > 3
    for words in [["--help"], *([command, "--help"] for command in commands)]:
        code, screen, _, _ = terminal(columns, *words)
        assert code == 0 and all(re.match("  (rue|cat|echo|eval) ", row) for row in screen.overflows), words
        assert screen.colors == 0


def test_help_in_a_pipe_has_80_columns(rue):
    text = rue("tune", "--help", env=dict(COLUMNS="")).stdout
    assert 70 < max(map(len, text.splitlines())) <= 80


def test_columns_in_the_environment_win(terminal, script):
    code, screen, _, _ = terminal(160, "tune", "--runner", script(MANY).command, env=dict(COLUMNS=60))
    assert code == 0 and max(map(text_width, screen.lines())) <= 60
    wide, narrow = (terminal(60, "tune", "--help", env=dict(COLUMNS=c))[1].overflows for c in (100, 50))
    assert wide and not narrow


@pytest.mark.parametrize("columns", ["", "0", "-5", "wide", "99999999999999999999"])
def test_an_invalid_number_of_columns_is_ignored(terminal, columns):
    assert terminal(60, "tune", "--help", env=dict(COLUMNS=columns))[1].text() == terminal(60, "tune", "--help")[1].text()


def test_wide_characters_keep_the_columns_straight(terminal, script):
    """Each configuration is slow for one model alone, so each name is the worst of a row, whatever the order of the rows."""
    batches = [16, 32, 64, 128, 256, 512]
    slow = make_table(NAMES, batches, [0], lambda m, b, w: 1000 + b * (batches.index(b) == NAMES.index(m)))
    code, screen, _, _ = terminal(110, "tune", "--runner", script(slow).command, "--details")
    lines = screen.lines()
    start = next(i for i, line in enumerate(lines) if "mean regret  worst regret" in line)
    at = text_width(lines[start])
    rows = lines[start + 1:start + 1 + len(batches)]
    assert code == 0 and all(sum(name in row for row in rows) == 1 for name in NAMES), "\n".join(lines)
    ends = [re.match(r"^.*% +.*% +(?:\S.* )?(full runs +\d of \d)$", row) for row in rows]
    assert all(ends) and {text_width(row[:match.end(1)]) for row, match in zip(rows, ends)} == {at}, "\n".join(lines)


# ---- the progress line ----

@pytest.mark.quick
def test_a_terminal_gets_colour_and_a_line_that_is_redrawn(terminal, script):
    code, screen, raw, _ = terminal(90, "tune", "--runner", script(TABLE, delay_s=0.15).command)
    assert code == 0 and b"\x1b[1m" in raw and raw.count(b"\r\x1b[K") > 3
    assert screen.overflows == [] and not re.search(r"\d trials: ", screen.text()), "the line is gone at the end"
    assert screen.lines()[-1].startswith("written: ")


TRIALS, LEFT, DATA = r"\d+(?: of (?:at most )?\d+)? trials?", r"(?:[\d.]+ (?:h|m|s|ms|us|ns) ?)+", "(?:raw|preprocessed)"
MEASURED = [rf"{TRIALS}: raw .+ \d+/\d, {LEFT} left(, best so far \d+/\d \(regret [\d.]+ %\))?",
            rf"\d+/\d best, regret [\d.]+ %(, {TRIALS})?, {LEFT} left", rf"\d+/\d, regret [\d.]+ %, {LEFT}",
            rf"({TRIALS}, )?{LEFT} left"]
PREDICTED = [rf"{TRIALS}: {DATA} .+ \d+/\d, {LEFT} left(; {DATA}: best so far \d+/\d, no other more than [\d.]+ points better)?",
             rf"{DATA} \d+/\d best, others ≤ [\d.]+ points better(, {TRIALS})?, {LEFT} left",
             rf"({DATA} )?\d+/\d, ≤ [\d.]+ pt, {LEFT}", rf"({TRIALS}, )?{LEFT} left"]


@pytest.mark.parametrize("strategy, sentences, bests", [
    ("grid", MEASURED, {100: MEASURED[0], 80: MEASURED[1], 60: MEASURED[1], 40: MEASURED[1], 30: MEASURED[2]}),
    ("duel", PREDICTED, {120: PREDICTED[0], 80: PREDICTED[1], 60: PREDICTED[1], 40: PREDICTED[2], 30: PREDICTED[2]})])
def test_progress_is_a_whole_sentence_at_any_width(terminal, script, strategy, sentences, bests):
    """The longest that fits: nothing is cut out of it, which could turn its meaning round."""
    variants = [dict(path=mode, mode=mode, format="scripted") for mode in ("raw", "preprocessed")][:1 + (strategy == "duel")]
    table = make_table(NAMES[:2], [16, 32, 64, 128], [0, 1, 2, 4], lambda m, b, w: 1000 + b + 100 * w * len(m))
    runner = script(table, delay_s=0.03, hello=dict(variants=variants)).command
    for columns, best in bests.items():
        seen = []
        code, screen, _, _ = terminal(columns, "tune", "--runner", runner, "--budget", "70trials", "--strategy", strategy, "--fresh",
                                      watch=lambda screen, resize: seen.append(last_line(screen)))
        lines = [line for line in seen if re.match(rf"({DATA} )?\d+[/ ]", line) and not re.search("models|means|configurations|[KMG]B$", line)]
        assert code in (0, 5) and lines and all(text_width(line) < columns for line in lines), lines
        assert columns < 40 or code or screen.overflows == [], "tables need 40 columns, and errors are one line"
        wrong = [line for line in lines if not any(re.fullmatch(sentence, line) for sentence in sentences)]
        assert wrong == [] and any(re.fullmatch(best, line) and re.search(r"best|≤|regret", line) for line in lines), (columns, wrong, lines)


def last_line(screen):
    return (screen.lines() or [""])[-1]


@pytest.mark.parametrize("sizes", [(100, 45, 70), (50, 120, 41), (80, 20, 160)])
def test_a_window_that_is_resized_shows_no_remains(terminal, script, sizes):
    first, *later = sizes

    def watch(screen, resize):
        if later and last_line(screen) and len(seen) % 3 == 2:
            resize(later.pop(0))
        seen.append(1)

    seen = []
    code, screen, _, _ = terminal(first, "tune", "--runner", script(MANY, delay_s=0.15).command, "--num-workers", "0,2",
                                  "--batch-size", "16,32", watch=watch)
    assert code == 0 and later == []
    assert not re.search(r"\d trials: |best so far|left$", screen.text(), re.MULTILINE), screen.text()
    assert screen.lines()[0].startswith("  data"), "what stood above is still there"
    assert "resnet18" in screen.text()


@pytest.mark.parametrize("columns", [40, 60])
def test_inspect_and_prepare_fit_the_window(terminal, rue, own_photos, columns):
    for i, folder in enumerate(sorted(own_photos.iterdir())[:3]):
        folder.rename(own_photos / ["猫" * 20, "a class of quite a long name, it seems", "e\u0301" * 30][i])
    code, screen, _, _ = terminal(columns, "inspect", "photos")
    rows = [line for line in screen.lines() if re.match(r" {9}\S.* 2$", line)]
    assert code == 0 and screen.overflows == [] and len(rows) == 10 and len(set(map(text_width, rows))) == 1
    code, screen, _, _ = terminal(columns, "prepare", "photos", "x.tensor", "--dtype", "uint8")
    assert code == 0 and screen.overflows == [] and "20 images" in screen.text().replace("\n", " ")


# ---- which stream is the terminal ----

def test_only_standard_output_is_a_terminal(terminal, script):
    code, screen, raw, others = terminal(60, "tune", "--runner", script(TABLE).command, streams=["stdout"])
    err = others["stderr"].decode()
    assert code == 0 and b"\x1b[1m" in raw and screen.overflows == [] and wording.USE_BATCH_SIZE in screen.text()
    assert "\x1b" not in err and "\r" not in err and "trials" in err and "written: " in err


def test_only_standard_error_is_a_terminal(terminal, script):
    code, screen, raw, others = terminal(60, "tune", "--runner", script(TABLE, delay_s=0.15).command, streams=["stderr"])
    out = others["stdout"].decode()
    assert code == 0 and b"\r\x1b[K" in raw and screen.overflows == [] and screen.lines()[-2].startswith("written: ")
    assert "\x1b" not in out and "\r" not in out and wording.USE_BATCH_SIZE in out
    assert 60 < max(map(text_width, out.splitlines())) <= 100, "a pipe has no width of its own"


@pytest.mark.parametrize("env", [dict(NO_COLOR=1), dict(TERM="dumb"), dict(TERM="")])
def test_colour_can_be_switched_off(terminal, script, env):
    code, screen, raw, _ = terminal(90, "tune", "--runner", script(TABLE).command, env=env)
    assert code == 0 and screen.colors == 0 and wording.USE_BATCH_SIZE in screen.text()
    if "TERM" in env:
        assert b"\x1b" not in raw and b"\r" not in raw.replace(b"\r\n", b"\n"), "nothing is redrawn"


def test_a_log_of_both_streams_reads_in_order(rue, script):
    log = rue.folder / "log"
    with open(log, "w") as file:
        done = run_into(rue, file, "tune", "--runner", script(MANY).command)
    text = log.read_text()
    assert done.returncode == 0 and "\x1b" not in text and "\r" not in text
    order = [text.index(word) for word in ("  data", "  cost", "Use batch_size", "6 models, job of", "written: ")]
    assert order == sorted(order)
    assert len(re.findall(r"^trial ", text, re.MULTILINE)) < 75, "a line now and then, not one for each of 150 trials"


def run_into(rue, file, *words):
    return subprocess.run([str(rue.program), *words], cwd=rue.folder, stdout=file, stderr=file, stdin=subprocess.DEVNULL,
                          env=clean_environment(), timeout=120)


# ---- a reader that goes away ----

def run_without_reader(rue, *words, **more):
    """Into a pipe that nobody reads any more; SIGPIPE is as a shell leaves it."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.run([str(rue.program), *map(str, words)], cwd=rue.folder, stdout=writer, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True, env=clean_environment(), timeout=120, **more)
    finally:
        os.close(writer)


@pytest.mark.parametrize("restore_signals", [True, False], ids=["SIGPIPE kills", "SIGPIPE is ignored"])
def test_a_command_without_a_reader_ends_in_silence(rue, script, photos, restore_signals):
    """Like every filter: by SIGPIPE, or with the exit code that a shell shows for it."""
    (rue.folder / "times.csv").write_text("model,batch_size,num_workers,time_s\na,1,0,2\na,2,0,3\n")
    assert rue("tune", "--runner", script(TABLE).command, "--out", "rue-out/x").returncode == 0
    for words in (["analyze", "times.csv"], ["analyze", "times.csv", "--json"], ["show", "rue-out/x"], ["list"],
                  ["show", "rue-out/x", "--trials"], ["show", "rue-out/x", "--json"], ["list", "--json"],
                  ["inspect", photos], ["inspect", photos, "--json"], ["--help"], ["--version"],
                  ["help", "tune"], ["tune", "--help"], ["tune", photos, "--dry-run", "--mode", "raw", "--quiet"]):
        done = run_without_reader(rue, *words, restore_signals=restore_signals)
        assert (done.returncode in (141, -signal.SIGPIPE), done.stderr) == (True, ""), words


def test_errors_are_reported_even_without_a_reader(rue):
    done = run_without_reader(rue, "inspect", "nothing-here")
    assert done.returncode == 3 and "nothing-here" in done.stderr
    with open("/dev/full", "w") as full:
        done = run_into(rue, full, "--help")
    assert done.returncode == 6, "a disk that is full is no reader that has gone"


def test_files_are_written_without_a_reader_of_the_output(rue, script):
    done = run_without_reader(rue, "tune", "--runner", script(TABLE).command, "--out", "out")
    assert done.returncode == 141 and wording.RUE_TUNE not in done.stderr, done.stderr
    assert {path.name for path in (rue.folder / "out").iterdir()} >= {"recommendation.json", "trials.csv", "study.db"}


# ---- no UTF-8 ----

@pytest.mark.parametrize("name", ["日本語-фото-🚀", "fa\u0308ule"])
def test_without_utf8_every_byte_is_ascii(rue, own_photos, name):
    folder = rue.folder / name
    shutil.copytree(own_photos, folder)
    for words in (["tune", folder, *QUICK], ["tune", folder, *QUICK, "--dry-run"], ["inspect", folder],
                  ["prepare", folder, folder / "x.tensor"], ["inspect", folder / "missing"], ["tune", "--budget", "ä"],
                  ["ünknown"], ["tune", "--help"]):
        done = rue(*words, env=dict(LC_ALL="C"))
        assert done.stdout.isascii() and done.stderr.isascii(), (words, done.stdout, done.stderr)
        assert "\x1b" not in done.stdout + done.stderr
    done = rue("tune", folder, *QUICK)
    assert done.returncode == 0 and name in done.stdout and name in done.stderr


def test_names_of_broken_bytes_are_shown_with_question_marks(rue, own_photos):
    folder = os.fsencode(rue.folder / "bad-") + b"\xff\xfe"
    os.mkdir(folder)
    for locale in ("C", "C.UTF-8"):
        done = rue("inspect", os.fsdecode(folder) + "/none", env=dict(LC_ALL=locale))
        assert done.returncode == 3 and "bad-??/none" in done.stderr


def test_a_screen_without_utf8(terminal, script):
    code, screen, raw, _ = terminal(60, "tune", "--runner", script(MANY, delay_s=0.01).command, env=dict(LC_ALL="C"))
    assert code == 0 and raw.isascii() and screen.overflows == [] and wording.USE_BATCH_SIZE in screen.text()


def test_the_recorder_shows_the_screen(rue, script):
    words = [ROOT / ".ci/record.py", "60", rue.program, "tune", "--runner", script(TABLE).command]
    done = subprocess.run(words, cwd=rue.folder, capture_output=True, text=True, env=clean_environment(), timeout=120)
    assert done.returncode == 0 and max(map(text_width, done.stdout.splitlines())) <= 60 and wording.USE_BATCH_SIZE in done.stdout
