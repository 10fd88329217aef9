"""A damaged store is noticed, named and left alone; what SQLite cannot notice never reaches a recommendation."""
import contextlib
import hashlib
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess

import pytest

import wording
from conftest import DROP_VIEWS, HANG_S, clean_environment, error_line, expect_failure, make_table, read_json, stop

LONG = bool(os.environ.get("RUE_LONG_TESTS"))
SEED = int(os.environ.get("RUE_SEED", random.randrange(1 << 30)))
TABLE = make_table(["ape", "bee"], [16, 32], [0, 2], lambda m, b, w: 1000 + b + 90 * w)
PAGE = 4096


class Study:
    """A finished study and copies of it that are damaged; `study.tune()` goes on with the copy."""

    def __init__(self, program, script, folder):
        self.program, self.script, self.folder = program, script, folder
        self.whole, self.out = folder / "whole", folder / "out"
        done = self.tune(self.whole)
        assert done.returncode == 0, done.stderr
        self.rows = read_rows(self.whole / "study.db")
        self.db = self.out / "study.db"

    def tune(self, out=None, *words):
        command = [str(self.program), "tune", "--runner", self.script.command, "--quiet", "--out", str(out or self.out)]
        return subprocess.run([*command, *words], cwd=self.folder, env=clean_environment(), capture_output=True, text=True,
                              errors="replace", stdin=subprocess.DEVNULL, timeout=HANG_S)

    def copy(self, source=None):
        shutil.rmtree(self.out, ignore_errors=True)
        shutil.copytree(source or self.whole, self.out)
        return self.db

    def expect_refused(self, *words):
        """Exit 6, one line with the path and what to do, and no byte of the store or its log is another."""
        before = self.store_bytes()
        expect_failure(self.tune(), 6, "study.db", *words)
        assert self.store_bytes() == before, "the store was changed"

    def store_bytes(self):
        files = [path for path in (self.db, pathlib.Path(f"{self.db}-wal")) if path.is_file()]
        return {path.name: path.read_bytes() for path in files if path.stat().st_size}

    def expect_refused_or_harmless(self, what):
        """Where the damage is seen, nothing is changed; where it is not, what is reported is what was measured."""
        before = self.store_bytes()
        done = self.tune()
        assert done.returncode in (0, 6), (what, done.returncode, done.stderr)
        if done.returncode == 6:
            assert "study.db" in error_line(done), (what, done.stderr)
            assert self.store_bytes() == before, f"{what}: the store was changed"
            return "refused"
        now = read_rows(self.db)
        changed = [(now[key], self.rows[key]) for key in now.keys() & self.rows.keys() if now[key] != self.rows[key]]
        assert not changed, f"{what}: a row is another: {changed[0]}"
        best = read_json(self.out / "recommendation.json")["recommendations"][0]["configs"]
        assert best == read_json(self.whole / "recommendation.json")["recommendations"][0]["configs"], what
        return "harmless"


def read_rows(file):
    """What was measured: {id: its values, absent ones left out}."""
    with contextlib.closing(sqlite3.connect(file, timeout=30)) as db:
        db.text_factory = lambda text: text.decode(errors="replace")  # the type of a column may be what was flipped
        names = [row[1] for row in db.execute("PRAGMA table_info(trial)")]
        named = [name for name in names if "\N{REPLACEMENT CHARACTER}" not in name]  # else SQLite takes the name for a text
        kept = ", ".join(f'"{name}"' for name in named if name not in ("recorded", "run_id"))
        rows = db.execute(f"SELECT {kept} FROM trial").fetchall()
        return {row[0]: tuple(value for value in row if value is not None) for row in rows}


@pytest.fixture
def study(release, script, tmp_path):
    return Study(release, script(TABLE), tmp_path)


def run_sql(file, sql):
    with contextlib.closing(sqlite3.connect(file, timeout=30)) as db:
        db.executescript(sql)


def test_a_store_that_is_cut_anywhere_is_refused(study):
    size = (study.whole / "study.db").stat().st_size
    for length in sorted({size * percent // 100 for percent in range(1, 100)} | {*range(PAGE, size, PAGE)} | {1}):
        os.truncate(study.copy(), length)
        study.expect_refused()


def test_zeros_cut_from_the_end_are_restored(study):
    with open(study.copy(), "rb") as file:
        content = file.read()
    os.truncate(study.db, len(content.rstrip(b"\0")) + 1)
    assert study.tune().returncode == 0
    assert read_rows(study.db).items() >= study.rows.items()


def test_a_flipped_byte_anywhere_is_seen_or_harmless(study):
    """Anywhere in the header, and in every page its header, its cells and the free bytes."""
    dice, size = random.Random(SEED), (study.whole / "study.db").stat().st_size
    places = set(range(0, 100, 1 if LONG else 4))
    for page in range(0, size, PAGE):
        places |= {page + offset for offset in (range(0, 12) if LONG else dice.sample(range(12), 3))}
        places |= {page + dice.randrange(PAGE) for _ in range(400 if LONG else 10)}
    found = {"refused": 0, "harmless": 0}
    for place in sorted(places):
        bit = 1 << dice.randrange(8)
        with open(study.copy(), "r+b") as file:
            file.seek(place)
            old = file.read(1)[0]
            file.seek(place)
            file.write(bytes([old ^ bit]))
        found[study.expect_refused_or_harmless(f"seed {SEED}: byte {place} ^ {bit}")] += 1
    print(f"\n{len(places)} flips, seed {SEED}: {found}")
    assert found["refused"] > 5 and found["harmless"] > 5


def test_advice_about_a_refused_store_names_only_that_store(rue):
    (rue.folder / "out").mkdir()
    (rue.folder / "out/study.db").write_bytes(b"no store" * 1000)
    (rue.folder / "t.csv").write_text("batch_size,num_workers,time_s\n32,1,5\n")
    for words in (["show", "out"], ["tune", "--table", "t.csv", "--out", "out", "--quiet"]):
        line = expect_failure(rue(*words), 6, "not a store of rue: move out/study.db away, or tune again with --fresh")
        assert "tune --fresh" not in line


def test_advice_is_to_delete_the_row_or_move_the_store(study):
    run_sql(study.copy(), ROWS["time"])
    study.expect_refused("delete that row, or move ", "study.db away, or tune again with --fresh")


def test_a_flipped_bit_in_a_value_is_named(study):
    with contextlib.closing(sqlite3.connect(study.copy())) as db:
        reason = db.execute("SELECT data_digest FROM trial WHERE id = 2").fetchone()[0].encode()
    content = study.db.read_bytes()
    at = content.index(reason)
    assert at > 0
    study.db.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1:])
    study.expect_refused("damaged", "--fresh")


# What somebody may do to a row with SQL.
def test_show_and_list_refuse_changed_findings(study):
    run_sql(study.copy(), ROWS["time"])
    for words in (["show", str(study.out)], ["show", str(study.out), "--trials"]):
        done = subprocess.run([str(study.program), *words], cwd=study.folder, env=clean_environment(), capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=HANG_S)
        expect_failure(done, 6, "study.db", "row 3 of the table trial has a wrong checksum")
    done = subprocess.run([str(study.program), "list", str(study.out)], cwd=study.folder, env=clean_environment(),
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=HANG_S)
    assert done.returncode == 0 and "unreadable" in done.stdout


ROWS = {"time": "UPDATE trial SET end_to_end_ns = 1 WHERE id = 3", "negative": "UPDATE trial SET end_to_end_ns = -5",
        "huge": "UPDATE trial SET end_to_end_ns = 1e300", "null": "UPDATE trial SET end_to_end_ns = NULL",
        "status": "UPDATE trial SET status = 'good'", "text": "UPDATE trial SET images = 'many'",
        "times": "UPDATE trial SET batch_ready_ns = '[1,2'", "config": "UPDATE trial SET config = '{'",
        "other": "UPDATE trial SET model = 'bee' WHERE model = 'ape'"}


@pytest.mark.parametrize("what", sorted(ROWS))
def test_a_row_that_was_changed_is_named(study, what):
    run_sql(study.copy(), ROWS[what])
    study.expect_refused("trial", "delete that row")


def test_deleted_rows_are_measured_in_the_next_run(study):
    run_sql(study.copy(), "DELETE FROM trial WHERE measure = 'joint' AND model = 'ape'")
    count = len(study.script.joint())
    assert study.tune().returncode == 0
    assert len(study.script.joint()) == count + 4


SCHEMAS = {"a column that is missing": f"{DROP_VIEWS}; ALTER TABLE trial DROP COLUMN end_to_end_ns",
           "a column with another name": f"{DROP_VIEWS}; ALTER TABLE trial RENAME COLUMN end_to_end_ns TO took",
           "a column that identifies, missing": f"{DROP_VIEWS}; ALTER TABLE trial DROP COLUMN workload",
           "no table of runs and another program's mark": "PRAGMA application_id = 7",
           "a newer version": "PRAGMA user_version = 99", "an older version": "PRAGMA user_version = 3"}


@pytest.mark.parametrize("what", sorted(SCHEMAS))
def test_another_schema_is_refused(study, what):
    run_sql(study.copy(), SCHEMAS[what])
    study.expect_refused("--fresh")


def test_a_comment_that_swallows_a_column_is_damage(study):
    content = study.copy().read_bytes()
    at = content.index(b"*/,\n    anon_peak_bytes")
    study.db.write_bytes(content[:at + 1] + b"." + content[at + 2:])
    study.expect_refused("table trial", "--fresh")


def test_columns_of_other_programs_are_kept(study):
    run_sql(study.copy(), "ALTER TABLE trial ADD COLUMN note TEXT; UPDATE trial SET note = 'mine'")
    assert study.tune().returncode == 0
    with contextlib.closing(sqlite3.connect(study.db)) as db:
        assert db.execute("SELECT count(*) FROM trial WHERE note = 'mine'").fetchone()[0] == len(study.rows)


def test_files_that_are_not_stores_are_refused(study):
    study.copy().write_text("my notes\n" * 1000)
    study.expect_refused("not a store of rue", "--fresh")
    study.copy().unlink()
    run_sql(study.db, "CREATE TABLE theirs (id INTEGER)")
    study.expect_refused("another program", "--fresh")
    study.copy().unlink()
    study.db.mkdir()
    expect_failure(study.tune(), 6, "study.db", "not a regular file")
    study.copy().write_bytes(b"")
    assert study.tune().returncode == 0, "an empty file is a store to be"


def test_a_store_that_another_program_locks_is_refused(study):
    with contextlib.closing(sqlite3.connect(study.copy(), isolation_level=None)) as db:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        expect_failure(study.tune(), 6, "study.db", "another process")
        db.execute("ROLLBACK")
    assert study.tune().returncode == 0


@pytest.fixture
def unsettled(study):
    """A copy of a study whose last rows lie in the log alone, as a kill leaves it."""
    folder = study.folder / "unsettled"
    shutil.copytree(study.whole, folder)
    db = sqlite3.connect(folder / "study.db", isolation_level=None)
    db.execute("PRAGMA wal_autocheckpoint = 0")
    for number in range(6):
        db.execute("INSERT INTO run (command_line, rue_version, started) VALUES (?, '0', '')", ("x" * 1000 * number,))
    kept = study.folder / "kept"
    shutil.copytree(folder, kept)
    db.close()
    assert (kept / "study.db-wal").stat().st_size > 10 * PAGE
    return kept


def damage_log(unsettled):
    wal = (unsettled / "study.db-wal").read_bytes()
    dice = random.Random(SEED)
    yield "removed", None
    for percent in range(0, 100, 1 if LONG else 5):
        yield f"cut at {percent} %", wal[:len(wal) * percent // 100]
    for at in [*range(0, 32, 3), *(dice.randrange(len(wal)) for _ in range(1000 if LONG else 20))]:
        yield f"byte {at} flipped", wal[:at] + bytes([wal[at] ^ 16]) + wal[at + 1:]
    yield "of nothing", os.urandom(len(wal))


def test_a_damaged_log_loses_no_more_than_its_rows(study, unsettled):
    for what, content in damage_log(unsettled):
        study.copy(unsettled)
        wal = study.out / "study.db-wal"
        wal.unlink() if content is None else wal.write_bytes(content)
        study.expect_refused_or_harmless(f"seed {SEED}: log {what}")
        assert study.rows.items() <= read_rows(study.db).items(), what


def test_the_log_of_another_database_is_seen_or_harmless(study, unsettled, tmp_path):
    db = sqlite3.connect(tmp_path / "theirs.db", isolation_level=None)
    db.executescript("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE theirs (id INTEGER, text TEXT)")
    db.executemany("INSERT INTO theirs (text) VALUES (?)", [("y" * 900,)] * 60)
    study.copy(unsettled)
    shutil.copy(tmp_path / "theirs.db-wal", study.out / "study.db-wal")
    db.close()
    study.expect_refused()


def test_a_damaged_index_of_the_log_is_harmless(study, unsettled):
    for content in (b"", b"garbage" * 3000, bytes(32768), os.urandom(32768)):
        study.copy(unsettled)
        (study.out / "study.db-shm").write_bytes(content)
        assert study.expect_refused_or_harmless("shm " + hashlib.md5(content).hexdigest()) == "harmless"
        with contextlib.closing(sqlite3.connect(study.db)) as db:
            assert db.execute("SELECT count(*) FROM run WHERE rue_version = '0'").fetchone()[0] == 6


# ---- the reports beside it ----

def make_folder(path):
    path.unlink()
    (path / "inside").mkdir(parents=True)


def make_dangling(path):
    path.unlink()
    path.symlink_to("nowhere")


@pytest.mark.parametrize("name", ["recommendation.json", "report.html", "trials.csv"])
def test_a_report_that_is_read_only_is_replaced(study, name):
    study.copy()
    (study.out / name).chmod(0o444)
    assert study.tune().returncode == 0
    assert (study.out / name).is_file() and (study.out / name).stat().st_mode & 0o200
    assert sorted(os.listdir(study.out)) == ["recommendation.json", "report.html", "study.db", "trials.csv"]


@pytest.mark.parametrize("damage, said", [(make_folder, "remove it"), (make_dangling, "rue did not write it")])
@pytest.mark.parametrize("name", ["recommendation.json", "report.html", "trials.csv"])
def test_an_obstacle_to_a_report_is_reported_before_the_trials(study, name, damage, said):
    study.copy()
    damage(study.out / name)
    before = (study.out / "study.db").read_bytes()
    expect_failure(study.tune(), 6, name, said)
    assert (study.out / "study.db").read_bytes() == before and sorted(os.listdir(study.out)) == ["recommendation.json", "report.html", "study.db", "trials.csv"]
    assert os.listdir(study.out / name) == ["inside"] if damage is make_folder else (study.out / name).is_symlink()


def test_ctrl_c_reports_that_reports_cannot_be_written(rue, script):
    one = script(TABLE, delay_s=0.05)
    process = rue.start("tune", "--runner", one.command, "--out", "out")
    one.wait_for(4, process)
    for name in ("recommendation.json", "trials.csv"):
        (rue.folder / "out" / name / "inside").mkdir(parents=True)
    code, out, err = stop(process)
    assert code == 130 and wording.PARTIAL_RESULTS_INTERRUPTED in out, "what was measured is shown all the same"
    line = err.splitlines()[-1]
    assert line.startswith("rue tune: interrupted; cannot write out/recommendation.json: Is a directory; a folder has this name")
    assert line.endswith("; also not written: trials.csv")


def test_a_file_with_the_name_of_the_folder_is_reported(study):
    study.out.write_text("mine")
    expect_failure(study.tune(), 6, f"cannot open the folder {study.out}: Not a directory; choose another folder with --out")
    assert study.out.read_text() == "mine"
