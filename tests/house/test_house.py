"""The rules of the house: who may include whom, how long files and functions are, and that nothing is dead."""
import graphlib
import json
import pathlib
import re
import shlex
import subprocess

import pytest
from conftest import PROGRAM, ROOT

pytestmark = pytest.mark.quick

FILE_LINES, FUNCTION_LINES, FLOORS = 600, 80, 5
STRUCT_FIELDS, PARAMETERS = 20, 6
TESTS = ["packaging", "tests", *(f"tests/{part}" for part in ("bench", "faults", "fixtures", "fuzz", "gpu", "house", "packaging", "race")),
         *(f"tests/{kind}/{path.name}" for kind in ("unit", "program") for path in sorted((ROOT / "tests" / kind).iterdir()))]
# What librue offers: everything may include it, but for folders that do no I/O (MUST_NOT).
PUBLIC = "engine/include/rue"
# A folder may include those before it in its list, and what its first one may.
ENGINE = [PUBLIC, "engine/base", "engine/machine", "engine/subset", "engine/read", "engine/load", "engine/trial", "models"]
STRATEGIES = [PUBLIC, "engine/base", "engine/knobs", "strategies/rank", "strategies/predict", "strategies/search", "reports"]
PAGE, DRAW, FINDINGS, EXPLAIN = "reports/page", "reports/draw", "reports/findings", "reports/explain"
TUNER = [f"tuner/{part}" for part in ("processes", "files", "screen", "machine", "json", "options", "protocol", "launch", "runner", "store", "table", "data",
                                      "devices", "prepare", "study", "trials", "search", "record", "commands")]
WITH_STORE = TUNER.index("tuner/store")
MAY_INCLUDE = {
    **{folder: chain[:i] for chain in (ENGINE, STRATEGIES) for i, folder in enumerate(chain)},
    "engine/subset": [PUBLIC, "engine/base"],
    "engine/augment": [PUBLIC, "engine/base"],
    "engine/decode": [PUBLIC, "engine/base", "engine/augment"],
    **{folder: [*ENGINE, "engine/augment", "engine/decode", *STRATEGIES[2:], PAGE, DRAW, FINDINGS, EXPLAIN, *TUNER[:i]] for i, folder in enumerate(TUNER)},
    PAGE: STRATEGIES[:3],
    DRAW: [*STRATEGIES[:3], PAGE],
    FINDINGS: [*STRATEGIES[:-1], PAGE],
    EXPLAIN: [*STRATEGIES, PAGE, DRAW, FINDINGS],
}
MAY_INCLUDE["reports"] += [PAGE, DRAW, FINDINGS]
for folder in ENGINE[5:]:
    MAY_INCLUDE[folder] += ["engine/augment", "engine/decode"]
for folder in ENGINE[6:]:
    MAY_INCLUDE[folder].append("engine/knobs")
FOLDERS = list(MAY_INCLUDE)
# There for tests alone: they try every level of SIMD, and ask which decoder is in use.
SEAMS = {"rue_resample_set_kernels", "rue_jpeg_is_baseline_used"}
# Headers of the system that a folder does without: it does no I/O and has no clock, or must not link what is behind them.
IO = r"(unistd|fcntl|time|dirent|pthread|sys/.*|poll|spawn|signal)\.h"
LIBRARIES = r"(jansson|sqlite3)\.h|gsl/.*"
LOADER = r"(rue|source|source_index|transform|sampler|fetcher|loader)\.h"
MUST_NOT = {
    PUBLIC: f"{IO}|{LIBRARIES}|jpeglib.h",
    "engine/base": f"{IO}|{LIBRARIES}|{LOADER}|jpeglib.h",
    **{folder: f"{LIBRARIES}|jpeglib.h" for folder in ("engine/machine", "engine/subset")},
    "engine/read": r"sqlite3\.h|gsl/.*|jpeglib\.h",
    **{folder: LIBRARIES for folder in ("engine/augment", "engine/decode", "engine/load", "engine/trial", "models")},
    **{folder: f"{IO}|{LOADER}|jansson.h|sqlite3.h" for folder in STRATEGIES[2:-1]},
    **{folder: LOADER + r"|sqlite3\.h|gsl/.*|jpeglib\.h|pthread\.h" for folder in (PAGE, DRAW, FINDINGS, "reports", EXPLAIN)},
    **{folder: r"sqlite3\.h|gsl/.*" for folder in TUNER[:WITH_STORE]},
    **{folder: r"gsl/(?!gsl_version).*" for folder in TUNER[WITH_STORE:]},
}


def sources(folder, *suffixes):
    return sorted(path for path in (ROOT / folder).iterdir() if path.suffix in (suffixes or (".c", ".h")))


def all_sources():
    return [path for folder in [*FOLDERS, *TESTS, "examples", "examples/extend"] for path in sources(folder)]


def functions(path):
    """(name, lines) of every function; the formatter puts the braces of functions alone in column 0."""
    lines = path.read_text().splitlines()
    begin = 0
    for number, line in enumerate(lines):
        if not line or line[0] in "}#/ *":
            begin = number + 1
        if line == "{":
            end = lines.index("}", number)
            name = re.search(r"(\w+)\(", " ".join(lines[begin:number]))
            yield name.group(1) if name else "?", end - begin + 1


@pytest.fixture(scope="module")
def commands():
    """The compiler's words for one file of each folder, without what to compile and where to put it."""
    file = PROGRAM and PROGRAM.parent / "compile_commands.json"
    if not file or not file.exists():
        pytest.skip("skipped: no compile_commands.json beside the program")
    found = {}
    for entry in json.loads(file.read_text()):
        words = shlex.split(entry["command"])
        folder = pathlib.Path(entry["file"]).parent.relative_to(ROOT).as_posix()
        if entry["file"].endswith(".c"):
            found[folder] = [words[0], *(word for word in words[1:] if word.startswith(("-I", "-D", "-std", "-isystem")))]
    return found


@pytest.mark.parametrize("folder", FOLDERS[1:])
def test_a_folder_includes_only_its_allowed_folders(commands, folder):
    folder_of = {header.name: other for other in FOLDERS if other != folder for header in sources(other, ".h")}
    asks = "".join(f'#if __has_include("{name}")\nsees {name}\n#endif\n' for name in folder_of)
    told = subprocess.run([*commands[folder], "-E", "-P", "-x", "c", "-"], input=asks, text=True, capture_output=True, cwd=ROOT)
    assert told.returncode == 0, told.stderr
    seen = set(re.findall(r"^sees (\S+)$", told.stdout, re.MULTILINE))
    assert seen == {name for name, other in folder_of.items() if other in MAY_INCLUDE[folder]}


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_does_not_include_internal_headers_of_others(folder):
    for path in sources(folder):
        for header in re.findall(r'#include [<"]([^>"]+)[>"]', path.read_text()):
            assert not re.fullmatch(MUST_NOT[folder], header), f"{path.relative_to(ROOT)} includes {header}"


def test_no_include_contains_a_path():
    for path in all_sources():
        assert '#include "../' not in path.read_text(), path


def test_no_file_is_long():
    for path in [*all_sources(), *(path for folder in [*TESTS, "examples", "docs"] for path in sources(folder, ".py"))]:
        assert len(path.read_text().splitlines()) <= FILE_LINES, path


def test_no_function_is_long():
    seen = 0
    for path in all_sources():
        for name, length in functions(path):
            seen += 1
            assert length <= FUNCTION_LINES, f"{path.relative_to(ROOT)}: {name} has {length} lines"
    assert seen > 500


def structs(path):
    """(name, fields) of every struct; one inside another is a field of it, and has its own."""
    text = re.sub(r'/\*.*?\*/|"[^"\n]*"', "", path.read_text(), flags=re.DOTALL)
    text = re.sub(r"^[ \t]*#.*(?:\\\n.*)*$", "", text, flags=re.MULTILINE)
    found, name, depth = [], [], []
    for token in re.finditer(r"(?:struct|union)\s*(\w*)\s*\{|[{};,()]", text):
        mark = token.group(0)
        if mark[-1] == "{":
            depth.append(0)
            name.append(token.group(1) if len(mark) > 1 else None)
        elif mark == "}" and depth:
            fields, closed = depth.pop(), name.pop()
            if closed is not None:
                found.append((closed, fields))
        elif mark in ";," and depth and "(" not in name:
            depth[-1] += 1
        elif mark == "(":
            depth.append(0)
            name.append("(")
        elif mark == ")" and depth:
            depth.pop()
            name.pop()
    return found


def test_no_struct_is_wide():
    seen, wide = 0, {}
    for path in (path for folder in FOLDERS for path in sources(folder)):
        for name, fields in structs(path):
            seen += 1
            if fields > STRUCT_FIELDS:
                wide[f"{path.name}: {name}"] = fields
    assert seen > 200
    assert wide == {}


@pytest.mark.parametrize("folder", FOLDERS[1:])
def test_a_folder_has_few_floors(folder):
    """A file and its header are a room, which stands above all rooms that it includes, and none above it."""
    rooms = {}
    for path in sources(folder):
        found = set(re.findall(r'#include "(\w+)\.h"', path.read_text())) - {path.stem}
        rooms.setdefault(path.stem, set()).update(name for name in found if (ROOT / folder / f"{name}.h").exists())
    floors = {}
    for room in graphlib.TopologicalSorter(rooms).static_order():
        floors[room] = 1 + max((floors[below] for below in rooms.get(room, ())), default=0)
    assert max(floors.values(), default=0) <= FLOORS, sorted(floors.items(), key=lambda item: item[1])


def test_functions_have_few_parameters():
    for path in (path for folder in FOLDERS if folder.startswith("tuner") for path in sources(folder, ".c")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        for name, words in re.findall(r"^\w[\w \*]*?\b(\w+)\(([^;{}]*)\)\n\{", text, re.MULTILINE):
            assert words.count(",") < PARAMETERS, f"{path.relative_to(ROOT)}: {name}"


def test_commands_read_only_options_that_they_have():
    rows = "".join(path.read_text() for path in [*sources("tuner/options", ".h"), ROOT / "tuner/prepare/chunk_options.h"])
    shared = dict(re.findall(r'#define (RUE_\w+)(?:\([^)]*\))?[\s\\]*"([a-z-]+)"', rows))
    workload = re.findall(r'"([a-z-]+)",\s+(?:"[A-Z]+"|NULL)', (ROOT / "engine/knobs/workload.h").read_text())
    texts = {path: path.read_text() for path in sources("tuner/commands", ".c")}
    study, subject = (texts.pop(ROOT / f"tuner/commands/{name}.c") for name in ("study_command", "subject_options"))
    shared_by = {"rue_study_command_": study + subject, "rue_subject_options_": subject}
    for path, text in texts.items():
        own = set(re.findall(r'"([a-z-]+)",\s+RUE_OPTION_', text)) | {shared.get(name) for name in re.findall(r"RUE_\w+", text)}
        own |= set(workload if "_OPTION_ROWS" in text else [])
        read = set(re.findall(r'rue_options_(?!show|find)\w+\(options,\s*"([a-z-]+)"', text + "".join(more for prefix, more in shared_by.items() if prefix in text)))
        assert read <= own, f"{path.relative_to(ROOT)}: {read - own}"


def test_the_picture_of_the_architecture_matches_the_includes():
    drawn = subprocess.run([ROOT / "docs/architecture.py"], capture_output=True, text=True, check=True).stdout
    assert drawn == (ROOT / "docs/architecture.svg").read_text(), "docs/architecture.py > docs/architecture.svg"


def test_the_page_of_json_fields_matches_the_schema():
    made = subprocess.run([ROOT / "docs/json_fields.py"], capture_output=True, text=True, check=True).stdout
    assert made == (ROOT / "docs/json.md").read_text(), "docs/json_fields.py > docs/json.md"


def test_contributing_is_short():
    assert len((ROOT / "CONTRIBUTING.md").read_text().splitlines()) <= 200


def test_names_of_static_functions_are_specific():
    """grep finds at most eight of a name."""
    files = {}
    for path in (path for folder in FOLDERS for path in sources(folder, ".c")):
        for name, _ in functions(path):
            files.setdefault(name, set()).add(path.name)
    assert {name: sorted(own) for name, own in files.items() if len(own) > 8 and name != "?"} == {}


def test_names_of_files_are_unique():
    names = [path.name for path in all_sources()]
    assert sorted(names) == sorted(set(names))


def symbols(*paths):
    """(defined, used) names of rue in each object of the archives."""
    listed = subprocess.run(["nm", "-A", *paths], text=True, capture_output=True, check=True).stdout
    defined, used = {}, {}
    for line in filter(lambda text: ": " in text or re.search(r":[0-9a-f]+ ", text), listed.splitlines()):
        where, _, rest = line.rpartition(":")
        *_, kind, name = rest.split()
        if name.startswith("rue_") and "." not in name:  # parts that the optimiser makes of a function
            (used if kind == "U" else defined).setdefault(name, set()).add(where)
    return defined, used


def source_file(member):
    """commands.c of build/librue_commands.a:commands.c.o; no two files have one name."""
    return member.rpartition(":")[2].removesuffix(".o")


def test_no_files_include_each_other_in_a_cycle():
    """What several of them share has a file that all of them may need."""
    if not PROGRAM:
        pytest.skip("skipped: rue is not built, set RUE_PROGRAM")
    defined, used = symbols(*PROGRAM.parent.glob("librue_*.a"))
    needs = {}
    for name, files in used.items():
        for by in files:
            needs.setdefault(source_file(by), set()).update(map(source_file, defined.get(name, ())))
    assert sum(map(len, needs.values())) > 500
    try:
        graphlib.TopologicalSorter(needs).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" is needed by ".join(error.args[1]))


def test_no_code_is_unused():
    """What the program's own files do not use is there for no one, but for what librue offers to others."""
    if not PROGRAM:
        pytest.skip("skipped: rue is not built, set RUE_PROGRAM")
    build = PROGRAM.parent
    defined, used = symbols(*build.glob("librue_*.a"), *build.glob("CMakeFiles/rue.dir/**/*.o"))
    public = "".join(path.read_text() for path in sources(PUBLIC, ".h"))
    assert len(defined) > 100
    dead = sorted(name for name in defined if name not in used and name not in SEAMS and not re.search(rf"\b{name}\b", public))
    text = {path: path.read_text() for folder in FOLDERS for path in sources(folder, ".c")}
    # A table or function may be used inside its own file alone only when that file needs no header for it.
    dead = [name for name in dead if sum(len(re.findall(rf"\b{name}\b", code)) for code in text.values()) < 2]
    assert dead == []
