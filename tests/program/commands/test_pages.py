"""The pages name everything that the program has: options, exit codes, files, fields of JSON, CSV and the protocol; no link is dead."""
import csv
import json
import re
import subprocess

import pytest

from conftest import HANG_S, ROOT, clean_environment

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
OUTPUT, PROTOCOL = (ROOT / "docs/output.md").read_text(), (ROOT / "docs/protocol.md").read_text()


def named(text):
    """Every word that stands in backticks, and the parts of those that are several."""
    return {word for span in re.findall(r"`([^`\n]+)`", text) for word in [span, *re.split(r"[^\w-]+", span)]}


# ---- options and exit codes ----

@pytest.mark.quick
def test_every_option_is_explained_on_a_page(program):
    run = lambda *words: subprocess.run([program, *words], capture_output=True, text=True, check=True, timeout=HANG_S,
                                        env=clean_environment()).stdout
    text = "\n".join(page.read_text() for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    pages = set(re.findall(r"--[a-z][a-z0-9-]*", text))
    commands = re.findall(r"^  (\w+)  ", run("--help"), re.MULTILINE)
    options = {(command, option) for command in commands
               for option in re.findall(r"^  (--[a-z][a-z0-9-]*)", run(command, "--help"), re.MULTILINE)}
    assert len(commands) > 10 and len(options) > 100
    assert sorted((command, option) for command, option in options if option not in pages) == []


@pytest.mark.quick
def test_every_exit_code_is_explained():
    statuses = re.findall(r"X\(\w+, (\d+), \"", (ROOT / "engine/include/rue/status.h").read_text())
    more = re.findall(r"RUE_EXIT_\w+ = (\d+)", (ROOT / "tuner/commands/commands.h").read_text())
    table = re.findall(r"^\| (\d+) \|", OUTPUT, re.MULTILINE)
    assert statuses and more and sorted(set(statuses + more), key=int) == table


# ---- fields ----

def properties(schema, path=""):
    for name, field in schema.get("properties", {}).items():
        if isinstance(field, dict):
            yield f"{path}/{name}", field
            yield from properties(field, f"{path}/{name}")
            yield from properties(field.get("items", {}), f"{path}/{name}")


@pytest.mark.quick
def test_every_field_of_recommendation_json_has_a_meaning_with_its_unit():
    schema = json.loads((ROOT / "reports/recommendation.schema.json").read_text())
    fields = list(properties(schema))
    for name, part in schema["$defs"].items():
        fields += [*properties(part, name), *properties(part.get("items", {}), name)]
    assert len(fields) > 200 and [path for path, field in fields if not field.get("description", "").endswith(".")] == []
    units = {"_ns": "in ns|ns per", "_bytes": "in bytes", "_s": "[Ss]econds"}
    for suffix, words in units.items():
        assert [path for path, field in fields if path.endswith(suffix) and field.get("type") in ("integer", "number")
                and not re.search(words, field["description"])] == [], suffix


def keys(value):
    """All keys of a document, but those of the runner's own description of its machine."""
    if isinstance(value, dict):
        return set(value).union(*(keys(part) for key, part in value.items() if key != "machine"))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


@pytest.fixture(scope="module")
def outputs(program, tmp_path_factory):
    """What the commands print with --json, and the folder that they ran in."""
    folder = tmp_path_factory.mktemp("outputs")
    env = clean_environment(RUE_BUDGET="60trials", RUE_BATCH_SIZE="4", RUE_NUM_WORKERS="0,1", RUE_MODEL="resnet18,none")
    run = lambda line: subprocess.run([program, *line.split()], cwd=folder, env=env, capture_output=True, text=True, timeout=HANG_S)
    for line in ("prepare --synthetic 12 photos --quiet", "prepare photos photos.tensor --quiet", "tune photos --mode raw --quiet"):
        assert run(line).returncode == 0, line
    found = {line: run(f"{line} --json") for line in (
        "compare photos photos.tensor --out compared", "scale photos --model none", "check rue-out/photos", "list", "inspect photos",
        "models", "models --devices", "calibrate resnet18 --device h100 --batch-size 1 --batches 1")}
    return folder, {line: (done.stdout, done.stderr) for line, done in found.items()}


def test_every_field_of_other_json_is_explained(outputs):
    known = named(OUTPUT) | named((ROOT / "docs/models.md").read_text())
    recommendation = named((ROOT / "docs/json.md").read_text())  # list repeats some of its fields
    for line, (out, err) in outputs[1].items():
        assert out, (line, err)
        found = keys(json.loads(out)) - (recommendation if line.startswith(("list", "calibrate")) else set())
        found -= {"batch_size", "num_workers", "prefetch_factor", "parallelism", "pin_memory", "max_queue_size", "read", "batch_strategy"}
        assert sorted(found - known) == [], line


def test_every_column_of_the_csv_files_is_explained(outputs):
    known = named(OUTPUT) | named(PROTOCOL) | named((ROOT / "docs/json.md").read_text())
    for path in ("rue-out/photos/trials.csv", "rue-out/photos-scale/scale.csv", "rue-out/photos-scale/samples.csv"):
        with open(outputs[0] / path, newline="") as file:
            header = next(csv.reader(file))
        assert len(header) > 5 and sorted(set(header) - known) == [], path


@pytest.mark.quick
def test_every_field_of_the_protocol_is_explained():
    fields = set(re.findall(r"^    X\((\w+), \"", (ROOT / "engine/knobs/trial.h").read_text(), re.MULTILINE))
    for name in ("protocol.c", "knob_json.c", "profile_json.c"):
        text = (ROOT / "tuner/protocol" / name).read_text()
        fields |= set(re.findall(r"\{\"(\w+)\",\s+RUE_FIELD_", text)) | set(re.findall(r"(?:_get|copy_\w+)\(\w+, \"(\w+)\"", text))
    workload = re.findall(r"#define RUE_WORKLOAD_BY_\w+\(.*?\n\n", (ROOT / "engine/knobs/workload.h").read_text(), re.DOTALL)
    fields |= {name for part in workload for name in re.findall(r"X\((?:at, )?(\w+), [A-Z]+,", part)}
    assert len(fields) > 60 and sorted(fields - named(PROTOCOL)) == []


def test_the_minimal_runner_has_the_documented_length():
    lines = len((ROOT / "examples/runner_minimal.py").read_text().splitlines())
    for page in ("README.md", "docs/protocol.md"):
        assert re.findall(r"(\d+)\s+lines", (ROOT / page).read_text())[0] == str(lines), page


# ---- links ----

def anchors(page):
    heads = re.findall(r"^#+ (.*)", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.quick
def test_no_link_is_dead_and_every_page_is_reached_from_the_readme():
    links = {page: re.findall(r"\]\(([^)\s]+)\)", page.read_text()) for page in PAGES}
    for page, targets in links.items():
        for target in (target for target in targets if "://" not in target):
            path, _, anchor = target.partition("#")
            there = (page.parent / path).resolve() if path else page
            assert there.exists(), (page.name, target)
            assert not anchor or anchor in anchors(there), (page.name, target)
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"docs/{page.name}" not in links[ROOT / "README.md"]] == []


@pytest.mark.quick
def test_files_and_folders_that_are_named_exist():
    tree = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    tree = {"/" + path for path in tree}
    for page in PAGES:
        text = page.read_text()
        files = re.findall(r"`([\w./-]+\.(?:c|h|cu|cuh|py|sh))`", text)
        assert [name for name in files if not any(path.endswith("/" + name) for path in tree)] == [], page.name
        folders = re.findall(r"`((?:examples|tests|engine|reports|models|strategies|tuner|docs)/[\w./-]*)`", text)
        assert [name for name in folders if not (ROOT / name).exists()] == [], page.name


@pytest.mark.quick
def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 200
