"""A store from a foreign_store: nothing that it holds is run, nothing grows, nothing beside it is touched, and others are listed.

RUE_LONG_TESTS=1 tries more damaged schemas."""
import contextlib
import os
import random
import shutil
import sqlite3
import struct

import pytest

from conftest import DROP_VIEWS, expect_failure, has_answer, make_table

LONG = bool(os.environ.get("RUE_LONG_TESTS"))
SEED = int(os.environ.get("RUE_SEED", random.randrange(1 << 30)))
TABLE = make_table(["ape", "bee"], [16, 32], [0, 2], lambda m, b, w: 1000 + b + 90 * w)
GROWTH = 1 << 20  # bytes that a run may add to its folder
PAGE = 4096
ENDLESS = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT"


class ForeignStore:
    """A study as somebody may send it: `out`, beside a healthy one, `good`, below the same folder."""

    def __init__(self, release, script):
        self.rue, self.script = release, script
        self.studies = release.folder / "studies"
        self.out, self.db = self.studies / "out", self.studies / "out/study.db"
        assert self.tune("studies/good").returncode == 0
        shutil.copytree(self.studies / "good", self.out)

    def tune(self, out="studies/out", *words):
        return self.rue("tune", "--runner", self.script.command, "--quiet", "--out", out, *words)

    def run_sql(self, sql):
        with contextlib.closing(sqlite3.connect(self.db)) as db:
            db.executescript(sql)

    def commands(self):
        """Every command that reads a store, and what it answers."""
        yield "list", self.rue("list", "studies")
        for words in (["show"], ["show", "--trials"], ["show", "--details", "--json"]):
            yield " ".join(words), self.rue(words[0], "studies/out", *words[1:])
        for words in (["--dry-run"], ["--strategy", "duel", "--budget", "40trials"], []):
            yield " ".join(["tune", *words]), self.tune("studies/out", *words)

    def snapshot(self):
        """Names, kinds, and contents of what is small, of all that a command may reach."""
        files = {}
        for path in sorted(self.rue.folder.rglob("*")):
            if path.name in ("requests.log", "script.json") or "good" in path.parts:
                continue
            small = path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 20
            files[str(path)] = (path.lstat().st_mode, path.read_bytes() if small else None)
        return files

    def expect_refused(self, *words):
        before = self.snapshot()
        for command, done in self.commands():
            if command == "list":
                assert done.returncode == 0 and done.stdout.count("unreadable") == 1, done.stdout
                assert "studies/good" in done.stdout and "complete" in done.stdout, "the others are listed"
                said = " ".join(done.stdout.split())
                for word in ("study.db", *words):
                    assert word in said, (word, said)
            else:
                expect_failure(done, 6, "study.db", *words)
            assert self.snapshot() == before, f"{command} wrote something"

    def expect_harmless(self):
        for command, done in self.commands():
            assert has_answer(done), (command, done.stderr)
            assert self.db.stat().st_size < GROWTH or self.db.stat().st_blocks * 512 < GROWTH


@pytest.fixture
def foreign_store(release_rue, script):
    return ForeignStore(release_rue, script(TABLE))


def schema(was, becomes, table="trial"):
    return (f"PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = replace(sql, '{was}', '{becomes}')"
            f" WHERE name = '{table}'")


# What it holds, and what is said of it.
FOREIGN = {
    "a view in the place of the trials": (
        f"{DROP_VIEWS}; ALTER TABLE trial RENAME TO kept; CREATE VIEW trial AS {ENDLESS} kept.* FROM kept, r",
        ['the table "kept"', "rue did not make"]),
    "a view in the place of a table of no name of its own": (
        f"{DROP_VIEWS}; DROP TABLE trial; CREATE VIEW trial AS {ENDLESS} i AS id FROM r", ['the view "trial"']),
    "a trigger that writes without end": (
        "CREATE TRIGGER more AFTER INSERT ON run BEGIN INSERT INTO run (command_line, rue_version, started)"
        " SELECT hex(randomblob(100000)), '', '' FROM trial, trial AS b, trial AS c; END", ['the trigger "more"']),
    "a trigger that deletes": ("CREATE TRIGGER less AFTER INSERT ON trial BEGIN DELETE FROM trial WHERE id < new.id; END",
                               ['the trigger "less"', "remove it with SQLite", "--fresh"]),
    "a trigger on a view": ("CREATE TRIGGER t INSTEAD OF INSERT ON ok_trial BEGIN SELECT 1; END", ['the trigger "t"']),
    "an index that computes": ("CREATE INDEX slow ON trial (abs(id))", ['the index "slow"']),
    "a table": ("CREATE TABLE theirs (a)", ['the table "theirs"']),
    "a virtual table": ("CREATE VIRTUAL TABLE v USING fts5(a)", ['"v']),
    "our view made another": (f"DROP VIEW ok_trial; CREATE VIEW ok_trial AS {ENDLESS} i FROM r", ["view ok_trial", "differs from that of rue"]),
    "another view": ("CREATE VIEW best AS SELECT * FROM trial", ['the view "best"']),
    "statistics": ("ANALYZE", ['the table "sqlite_stat1"']),
    "a name of control signs": ('CREATE TABLE "a\x1b[2Jb\nc" (a)', ["the table", "rue did not make"]),
    "a column that is computed": ("ALTER TABLE trial ADD COLUMN g GENERATED ALWAYS AS (hex(zeroblob(id * 1000000)))", ["table trial", ', g ']),
    "a default": ("ALTER TABLE trial ADD COLUMN g TEXT DEFAULT 'x'", ["table trial", ', g ']),
    "a check": ("ALTER TABLE trial ADD COLUMN g TEXT CHECK (length(hex(randomblob(1000000))) > 0)", ["table trial", ', g ']),
    "a check of rue's column": (schema("started_ns INTEGER NOT NULL", "started_ns INTEGER NOT NULL CHECK(started_ns)"),
                                ["table trial", '"CHECK(started_ns)']),
    "a check of the table": (schema("NULL: none */", "NULL: none */, CHECK (id > 0)", "run"), ["table run", "CHECK"]),
    "a line comment": (schema("/* clock */", "-- x", "trial") + "; " + schema("trial (", "trial ( --", "trial"), ["study.db"]),
    "another type": (schema("end_to_end_ns INTEGER", "end_to_end_ns TEXT"), ["table trial", '"TEXT ']),
    "another key": (schema("id INTEGER PRIMARY KEY", "id INTEGER", "run"), ["table run"]),
    "a table without row ids": (schema("as it was stored */\n)", "as it was stored */\n) WITHOUT ROWID"), ["study.db"]),
}


@pytest.mark.parametrize("what", sorted(FOREIGN))
def test_foreign_objects_are_refused_by_name(foreign_store, what):
    sql, words = FOREIGN[what]
    foreign_store.run_sql(sql)
    foreign_store.expect_refused(*words)


@pytest.mark.parametrize("sql", [DROP_VIEWS,
                                 "ALTER TABLE trial ADD COLUMN note TEXT; ALTER TABLE run ADD COLUMN \"my note\" TEXT",
                                 "DROP INDEX trial_identity"])
def test_plain_columns_of_others_are_accepted(foreign_store, sql):
    foreign_store.run_sql(sql)
    foreign_store.expect_harmless()


def test_fresh_moves_a_foreign_store_away_without_running_it(foreign_store):
    foreign_store.run_sql(FOREIGN["a check"][0])
    content = foreign_store.db.read_bytes()
    assert has_answer(foreign_store.tune("studies/out", "--fresh"))
    assert (foreign_store.out / "study.db.old").read_bytes() == content


def test_fresh_completes_after_a_killed_fresh(foreign_store):
    """Its log, and the reports, have been renamed already: what is left gets the same ending."""
    (foreign_store.out / "study.db.old-wal").write_bytes(b"log")
    (foreign_store.out / "recommendation.json").rename(foreign_store.out / "recommendation.json.old")
    content = foreign_store.db.read_bytes()
    assert has_answer(foreign_store.tune("studies/out", "--fresh"))
    assert (foreign_store.out / "study.db.old").read_bytes() == content
    assert (foreign_store.out / "study.db.old-wal").read_bytes() == b"log"
    assert not list(foreign_store.out.glob("*.old.2"))


# ---- what lies beside it ----

def journal_naming(path):
    """What a transaction over several databases leaves; SQLite deletes the file that it names."""
    magic, name = bytes.fromhex("d9d505f920a163d7"), str(path).encode()
    header = magic + struct.pack(">IIIII", 0, 0, 1, 512, PAGE)
    lock_page = (1 << 30) // PAGE + 1
    tail = struct.pack(">I", lock_page) + name + struct.pack(">II", len(name), sum(name)) + magic
    return header.ljust(512, b"\0") + tail


def lay_link(foreign_store, name):
    (foreign_store.out / name).symlink_to(foreign_store.rue.folder / "precious")


def lay_hard_link(foreign_store, name):
    os.link(foreign_store.rue.folder / "precious", foreign_store.out / name)


def lay_fifo(foreign_store, name):
    os.mkfifo(foreign_store.out / name)


BESIDE = {f"{lay.__name__[4:]} {name}": (lay, name) for lay in (lay_link, lay_hard_link, lay_fifo)
          for name in ("study.db-wal", "study.db-shm", "study.db-journal")}


@pytest.mark.parametrize("what", sorted(BESIDE))
def test_links_next_to_the_store_are_not_written_through(foreign_store, what):
    lay, name = BESIDE[what]
    (foreign_store.rue.folder / "precious").write_text("precious\n")
    lay(foreign_store, name)
    foreign_store.expect_refused(name, "remove it")


def test_a_journal_does_not_delete_files_of_others(foreign_store):
    precious = foreign_store.rue.folder / "precious"
    precious.write_text("precious\n")
    (foreign_store.out / "study.db-journal").write_bytes(journal_naming(precious))
    foreign_store.expect_refused("study.db-journal", "move it away")
    assert precious.read_text() == "precious\n"


def test_a_store_that_is_a_fifo_or_endless_does_not_block(foreign_store):
    with contextlib.suppress(OSError):
        os.truncate(foreign_store.db, 1 << 42)
        foreign_store.expect_harmless()
    foreign_store.db.unlink()
    os.mkfifo(foreign_store.db)
    foreign_store.expect_refused("not a regular file")
    foreign_store.db.unlink()
    foreign_store.db.symlink_to("/dev/zero")
    foreign_store.expect_refused("not a regular file")


# ---- schemas that are damaged, or made to look so ----

PIECES = ["", "(", ")", ",", "*/", "/*", "--", "'", '"', "CHECK (", "DEFAULT (", " AS (", "trial", "run", "ok_trial", "x\x01",
          "CREATE VIEW trial AS ", "CREATE TRIGGER t AFTER INSERT ON trial BEGIN ", "UNIQUE", "randomblob(1e9)", "\ufeff", "[", "`"]


def damage_schema(db, dice):
    """A few values of sqlite_schema become others, or another row is added."""
    db.execute("PRAGMA writable_schema = 1")
    for _ in range(dice.randint(1, 3)):
        row, text = dice.choice(db.execute("SELECT rowid, coalesce(sql, ' ') FROM sqlite_master").fetchall())
        column = dice.choice(["sql", "sql", "sql", "type", "name", "tbl_name", "rootpage"])
        text = str(text) or " "
        at = dice.randrange(len(text))
        value = dice.choice([text[:at] + dice.choice(PIECES) + text[at + dice.randint(0, 8):], dice.choice(PIECES), None,
                             dice.randrange(40)]) if column == "sql" else dice.choice([*PIECES, None, dice.randrange(40), -1])
        if dice.random() < 0.2:
            db.execute("INSERT INTO sqlite_master SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE rowid = ?", (row,))
        db.execute(f"UPDATE sqlite_master SET {column} = ? WHERE rowid = ?", (value, row))
    db.commit()


def test_a_schema_that_is_damaged_anywhere_is_refused_or_harmless(foreign_store):
    whole, found = foreign_store.db.read_bytes(), {0: 0, 6: 0}
    for number in range(600 if LONG else 25):
        dice = random.Random(f"{SEED} {number}")
        foreign_store.db.write_bytes(whole)
        with contextlib.closing(sqlite3.connect(foreign_store.db)) as db, contextlib.suppress(sqlite3.Error):
            damage_schema(db, dice)
        damaged, what = foreign_store.db.read_bytes(), f"seed {SEED}, number {number}"
        listed, shown, tuned = foreign_store.rue("list", "studies"), foreign_store.rue("show", "studies/out"), foreign_store.tune()
        assert listed.returncode == 0 and "studies/good" in listed.stdout, what
        assert shown.returncode in (0, 6) and tuned.returncode in (0, 6), (what, shown.stderr, tuned.stderr)
        assert tuned.returncode == 0 or foreign_store.db.read_bytes() == damaged, (what, "it was changed")
        assert sum(path.stat().st_size for path in foreign_store.out.iterdir()) < GROWTH, what
        found[tuned.returncode] += 1
    print(f"\n{number + 1} damaged schemas, seed {SEED}: {found}")
    assert found[6] > 0
