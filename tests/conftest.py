"""What the tests of the whole program share: the built program, scripted runners, photos, and a person without rights."""
import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Tests take helpers from each other's folders.
sys.path += [str(ROOT / "tests" / folder) for folder in ("fixtures", "faults", "program/commands", "program/data", "program/study")]
sys.path.append(str(ROOT / "python"))
from launchers import launcher, slurm  # noqa: E402, F401: fixtures
SCRIPTED_RUNNER = ROOT / "tests/fixtures/scripted_runner.py"
DROP_VIEWS = "DROP VIEW best_by_model; DROP VIEW configuration; DROP VIEW ok_trial"  # of a store: they name columns
HANG_S = 120  # what takes longer than this hangs; nothing here is about speed
NOBODY = 65534
# What the tests of these files share takes seconds to make, so that one worker runs them all (--dist loadgroup).
MADE_ONCE = {"test_debian", "test_extend", "test_foreign_files", "test_loader", "test_own_loader", "test_pages", "test_prior", "test_readme", "test_report",
             "test_scale", "test_store_page", "test_stored_data", "test_subset"}

# A background job and nohup ignore these, which every program started from here would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, lambda number, frame: None)


def pytest_configure(config):
    config.addinivalue_line("markers", "quick: the main paths of the program, what `tests/run.sh quick` runs")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.stem in MADE_ONCE:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def find_program():
    named = os.environ.get("RUE_PROGRAM")
    candidates = [pathlib.Path(named)] if named else [ROOT / "build/asan/rue", ROOT / "build/release/rue"]
    return next((path.resolve() for path in candidates if path.exists()), None)


PROGRAM = find_program()


@pytest.fixture(scope="session")
def program():
    if not PROGRAM:
        pytest.skip("skipped: rue is not built, set RUE_PROGRAM")
    return PROGRAM


@pytest.fixture
def rue_for_python(program, monkeypatch, tmp_path):
    """rue_tuner finds the built program, and works in a folder of the test's own."""
    monkeypatch.setenv("RUE_PROGRAM", str(program))
    monkeypatch.chdir(tmp_path)


def find_release():
    """The program without sanitizers: they reserve terabytes of addresses and bring an allocator of their own."""
    path = pathlib.Path(os.environ.get("RUE_RELEASE", ROOT / "build/release/rue"))
    return path.resolve() if path.exists() else None


# What else the machine does fails no test. A grid is measured once, also where the budget has room for repeats.
USUAL = {"RUE_ACCEPT_BUSY": "true", "RUE_REPEATS": "1"}
os.environ.update(USUAL)

# What rue_tuner opens as its loader: the build without sanitizers, which Python can load.
if find_release():
    os.environ.setdefault("RUE_LOADER", str(find_release().with_name("_rue_loader.so")))


@pytest.fixture(scope="session")
def release():
    path = find_release()
    if not path:
        pytest.skip("skipped: no release build, set RUE_RELEASE")
    return path


def found_first(program):
    """A PATH on which a shell finds `program` by the name rue, which it then prints in commands."""
    return f"{program.parent}:{os.environ['PATH']}"


def clean_environment(**more):
    """Without this shell's RUE_*, launcher's and terminal variables, so that results do not depend on who runs the tests.
    None: unset."""
    left_out = ("RUE_", "SLURM", "OMPI_", "PMI", "NO_COLOR", "COLUMNS", "TERM")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(left_out)}
    if PROGRAM:
        kept["PATH"] = found_first(PROGRAM)
    found = {**kept, "LC_ALL": "C.UTF-8", "COLUMNS": "100", **USUAL, **more}
    return {name: str(value) for name, value in found.items() if value is not None}


class Rue:
    """Runs the program in a folder of its own; `done = rue("tune", "photos")`."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def environment(self, env):
        return clean_environment(**{"PATH": found_first(self.program), **(env or {})})

    def __call__(self, *words, env=None, cwd=None, **more):
        return subprocess.run([str(self.program), *map(str, words)], cwd=cwd or self.folder, text=True, errors="replace",
                              env=self.environment(env), capture_output=True, timeout=HANG_S,
                              stdin=subprocess.DEVNULL, **more)

    def start(self, *words, env=None, **more):
        return subprocess.Popen([str(self.program), *map(str, words)], cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
                                env=self.environment(env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


@pytest.fixture
def rue(program, tmp_path):
    return Rue(program, tmp_path)


@pytest.fixture
def release_rue(release, tmp_path):
    return Rue(release, tmp_path)


@pytest.fixture(scope="session")
def prefix(program, tmp_path_factory):
    """An installation in another folder than the one that the build was configured for."""
    build = program.parent
    if not (build / "cmake_install.cmake").exists():
        pytest.skip(f"skipped: {build} is not a build folder")
    path = tmp_path_factory.mktemp("prefix")
    subprocess.run(["cmake", "--install", build, "--prefix", path], check=True, stdout=subprocess.DEVNULL)
    return path


@pytest.fixture(scope="session")
def load_images(program, prefix, tmp_path_factory):
    """The C example, built from the installation alone, with the sanitizers of the build."""
    config = next(prefix.rglob("rue.pc"))
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "rue", "jansson"], check=True, text=True, stdout=subprocess.PIPE,
                           env=dict(os.environ, PKG_CONFIG_PATH=str(config.parent))).stdout.split()
    found = re.search(r"^RUE_SANITIZE:[A-Z]+=(.+)$", (program.parent / "CMakeCache.txt").read_text(), re.M)
    sanitizers = ["-fsanitize=" + found.group(1)] if found else []
    example = tmp_path_factory.mktemp("example") / "load_images"
    subprocess.run(["cc", "-std=gnu17", "-Wall", "-Wextra", "-Werror", *sanitizers, ROOT / "examples/load_images.c", *flags,
                    "-o", example], check=True)
    return example


@pytest.fixture(scope="session")
def preload(tmp_path_factory):
    """What is put between the program and the system (preload.c); for the release build, sanitizers want to come first."""
    library = tmp_path_factory.mktemp("preload") / "preload.so"
    if not shutil.which("cc"):
        pytest.skip("skipped: no C compiler")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, ROOT / "tests/fixtures/preload.c"], check=True)
    return lambda **more: dict(LD_PRELOAD=library, **more)


def finish(process):
    """Waits for a started program; (exit code, standard output, standard error)."""
    out, err = process.communicate(timeout=HANG_S)
    return process.returncode, out, err


def error_line(done):
    """The one line that a failed command ends with; messages that stay (what was written, what was found) may precede it."""
    lines = done.stderr.splitlines()
    errors = [line for line in lines if line.startswith("rue")]
    assert len(errors) == 1 and lines[-1] == errors[0], done.stderr
    assert len(errors[0]) > 30 and "Sanitizer" not in done.stderr, done.stderr
    return errors[0]


def has_answer(done):
    """Whether a study recommends something. Whether that is decided depends on its budget, and on what else the machine does."""
    return done.returncode == 0 or done.returncode == 5 and "not decided" in done.stderr


def expect_failure(done, code, *words):
    """Exit code, and one line that names each of `words`."""
    line = error_line(done)
    assert done.returncode == code, (done.returncode, done.stderr)
    for word in words:
        assert str(word) in line, (word, line)
    return line


class Script:
    """A scripted runner: which times it answers and what goes wrong when. See scripted_runner.py."""

    def __init__(self, folder, table, space=None, **more):
        self.path, self.log_path = folder / "script.json", folder / "requests.log"
        self.script = dict(log=str(self.log_path), ns_per_image=table, **more)
        if space:
            self.script["space"] = space
        self.write()

    def write(self, **more):
        self.script.update(more)
        self.path.write_text(json.dumps(self.script))
        return self

    @property
    def command(self):
        return shlex.join([sys.executable, "-S", str(SCRIPTED_RUNNER), str(self.path)])

    def entries(self):
        """Of the log; its last line may be half written."""
        text = self.log_path.read_text() if self.log_path.exists() else ""
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def requests(self, op="trial"):
        return [entry for entry in self.entries() if entry["op"] == op]

    def joint(self):
        """The cells that were asked for, in order: (model, "batch/workers")."""
        return [(r["model"], r["cell"]) for r in self.requests() if r["measure"] == "joint"]

    def pids(self):
        """Every process that the runner says it was or started."""
        return {entry["pid"] for entry in self.entries()}

    def wait_for(self, count, process):
        """Until so many joint trials have been asked for."""
        wait_until(lambda: len(self.joint()) >= count, process)


@pytest.fixture
def script(tmp_path):
    return lambda table, space=None, **more: Script(tmp_path, table, space, **more)


def wait_until(condition, process):
    """While the program that is to bring it about runs."""
    deadline = time.monotonic() + HANG_S
    while not condition():
        assert process.poll() is None or condition(), "the program ended early"
        assert time.monotonic() < deadline, "the program hangs"
        time.sleep(0.005)


def state(pid):
    """A letter: "T" where it is stopped."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def is_running(pid):
    try:
        return state(pid) not in "ZX"
    except OSError:
        return False


def wait_until_ended(pids):
    deadline = time.monotonic() + 30
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not any(map(is_running, pids))


def flat(text):
    return " ".join(text.split())


def cluster(tmp_path, **script):
    """The words of a launcher (fixtures/cluster.py) for --launch."""
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(script))
    return shlex.join([sys.executable, str(ROOT / "tests/fixtures/cluster.py"), str(path)])


def read_plan(done):
    """What a dry run says, each line of its plan by its name; of several lines of one name the last."""
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"^  ([a-z-]+)  +(\S.*(?:\n {5,}\S.*)*)$", done.stdout.split("Plan:\n")[1], re.M)
    return {name: " ".join(text.split()) for name, text in lines}


def rankings(document):
    """The parts of a recommendation.json by what people call their data, the best configurations first."""
    for part in document["recommendations"]:
        part["configs"].sort(key=lambda c: (c["mean_regret_ratio"] is None, c["mean_regret_ratio"]))
    return {part["variant"]["label"] or part["variant"]["mode"]: part for part in document["recommendations"]}


def make_table(models, batches, workers, time):
    """{model: {"batch/workers": ns for an image}} from a function of (model, batch, workers)."""
    return {m: {f"{b}/{w}": time(m, b, w) for b in batches for w in workers} for m in models}


@pytest.fixture(scope="session")
def shared_photos():
    path = pathlib.Path(os.environ.get("RUE_SHARED", "/nowhere")) / "photos"
    if not path.exists():
        pytest.skip("skipped: no photographs, set RUE_SHARED")
    return path


@pytest.fixture(scope="session")
def simulator():
    """The program of simulated machines; their truth: true_regrets."""
    path = pathlib.Path(os.environ.get("RUE_SHARED", "/nowhere")) / "replay" / "sim_runner.py"
    if not path.exists():
        pytest.skip("skipped: no simulated machine, set RUE_SHARED")
    return path


def true_regrets(command):
    """{(batch size, workers): mean regret} of a simulated machine, and the seconds that its whole grid takes."""
    done = subprocess.run([*command.split(), "--truth"], capture_output=True, text=True, check=True, timeout=HANG_S)
    told = json.loads(done.stdout)
    regrets = {(c["batch_size"], c["num_workers"]): c["mean_regret_ratio"] for c in told["configs"]}
    return regrets, told["exhaustive_cost_ns"] / 1e9


@pytest.fixture(scope="session")
def photos(program, tmp_path_factory):
    """A folder of 48 synthetic photos; not to be changed."""
    folder = tmp_path_factory.mktemp("data") / "photos"
    subprocess.run([program, "prepare", "--synthetic", "48", folder, "--quiet"], check=True, timeout=HANG_S)
    return folder


def copy_photos(photos, folder):
    """Copies 20 photos in 10 classes."""
    for file in sorted(photos.rglob("*.jpg"), key=lambda path: path.name)[:20]:
        target = folder / file.parent.name / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    return folder


@pytest.fixture
def own_photos(photos, tmp_path):
    """A copy, to be damaged."""
    return copy_photos(photos, tmp_path / "photos")


@pytest.fixture
def unprivileged_rue(program):
    """The program as run by somebody without rights, in an open folder; where the tests are not run by root, as run by us."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rue-test-"))
    copy = folder / "rue"
    shutil.copy(program, copy)  # the build folder may be closed to others
    for path in (folder, copy):
        path.chmod(0o755)
    run = Rue(copy, folder)
    as_nobody = dict(user=NOBODY, group=NOBODY, extra_groups=[]) if os.geteuid() == 0 else {}
    call = lambda *words, **more: run(*words, **as_nobody, **more)
    call.folder = folder
    yield call
    folder.chmod(0o755)
    for where, names, _ in os.walk(folder):  # top down: each folder is opened before it is entered
        for name in names:
            os.chmod(os.path.join(where, name), 0o755)
    shutil.rmtree(folder)


def read_json(path):
    def refuse(word):
        raise ValueError(f"{word} is no JSON")
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"), parse_constant=refuse)


def map_tensor(path, dtype, shape, count):
    """The items of a tensor file, by the lines of docs/data.md."""
    np = pytest.importorskip("numpy")
    code = re.search(r"```py\n(item = .*?)```", (ROOT / "docs/data.md").read_text(), re.DOTALL).group(1)
    code = code.replace('"<f4", (3, 224, 224)', f'"{dtype}", {shape}').replace('"photos.tensor"', "path")
    exec(code, values := {"np": np, "path": path, "count": count})
    return values["items"]


def without_maps(text):
    """What rue show prints, without its heat maps: what rue tune prints."""
    return re.sub(r"  Mean regret \(%\).*?\n\n", "", text, flags=re.DOTALL)


def unwrap(text):
    """The text on one line, as lines are wrapped where a path is long."""
    return " ".join(text.split())


def count_joint_trials(study, mode="raw"):
    """Scenarios with a joint trial, and joint trials of the last run. A disturbed trial is repeated, so a count of trials varies."""
    with contextlib.closing(sqlite3.connect(study / "study.db")) as db:
        return db.execute("SELECT count(DISTINCT config || workload), total(run_id = (SELECT max(id) FROM run)) FROM trial"
                          " WHERE measure = 'joint' AND mode = ?", [mode]).fetchone()


def stop(process, number=signal.SIGINT):
    process.send_signal(number)
    return finish(process)


def rue_checksum(*values):
    """FNV-1a of the types of SQLite and the bytes of the values that are not NULL, as a signed integer."""
    value = 0xcbf29ce484222325
    for one in values:
        text = one.encode() if isinstance(one, str) else one
        packed = (b"" if one is None else struct.pack("<iq", 1, one) if isinstance(one, int) else struct.pack("<id", 2, one + 0.0)
                  if isinstance(one, float) else struct.pack("<ii", 3 if isinstance(one, str) else 4, len(text)) + text)
        for byte in packed:
            value = (value ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return value - (value >> 63 << 64)


def edit_store(store, sql):
    """Changes rows of a store, with checksums that fit: what is wrong with them is not that."""
    with contextlib.closing(sqlite3.connect(store)) as db:
        db.create_function("rue_checksum", -1, rue_checksum)
        db.executescript(sql)
        for table in ("trial", "result", "finding", "change", "exclusion"):
            names = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] not in ("id", "recorded", "checksum")]
            db.execute(f"UPDATE {table} SET checksum = rue_checksum({', '.join(names)})")
        db.commit()
