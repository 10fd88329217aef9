"""The rules of the Python package: short lines, no modules that need each other, and nothing that ruff or mypy find
(pyproject.toml)."""
import ast
import graphlib
import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, clean_environment

pytestmark = pytest.mark.quick

LINE = 120
PACKAGE = ROOT / "python"
CHECKS = {"ruff": ["check", "--no-cache"], "mypy": ["--cache-dir", os.devnull]}


def test_no_line_is_long():
    paths = [path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".md", ".c", ".h")]
    long = [f"{path.relative_to(ROOT)}:{number}" for path in paths
            for number, line in enumerate(path.read_text().splitlines(), 1) if len(line) > LINE]
    assert len(paths) > 40
    assert long == []


def imported(path, modules):
    """The names of the package's own modules that a file imports, also inside functions. A package counts where a name of
    its own is imported, and not where one of its modules is."""
    inside = path.relative_to(PACKAGE).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = ".".join([*inside[:len(inside) - node.level], *filter(None, [node.module])]) if node.level else node.module
            names = [f"{start}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            yield from [found for found in (name, name.rpartition(".")[0]) if found in modules][:1]


def module_name(path):
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def test_no_modules_import_each_other_in_a_cycle():
    modules = {module_name(path): path for path in PACKAGE.glob("rue_tuner/**/*.py")}
    needs = {name: {found for found in imported(path, modules) if found != name} for name, path in modules.items()}
    assert sum(map(len, needs.values())) > 60
    try:
        graphlib.TopologicalSorter(needs).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" is imported by ".join(error.args[1]))


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_finds_nothing(check):
    path = shutil.which(check, path=f"{ROOT / 'build/tools/bin'}:{os.environ['PATH']}") or pytest.skip(f"skipped: {check} is not installed (tests/install.sh)")
    done = subprocess.run([path, *CHECKS[check]], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def package_version():
    return re.search(r'^__version__ = "(.+)"$', (PACKAGE / "rue_tuner/__init__.py").read_text(), re.MULTILINE).group(1)


def test_the_changelog_begins_with_the_version_and_its_day():
    heading = re.search(r"^## .*$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE).group()
    assert re.fullmatch(rf"## {re.escape(package_version())}, \d{{4}}-\d\d-\d\d", heading)


def test_the_package_as_a_command_is_the_program(program):
    def run(found):
        environment = clean_environment(PYTHONPATH=PACKAGE, PATH=os.defpath, **found)
        return subprocess.run([sys.executable, "-m", "rue_tuner", "--version"], env=environment, capture_output=True, text=True)
    assert run({"RUE_PROGRAM": str(program)}).stdout == f"rue {package_version()}\n"
    missing = run({"RUE_PROGRAM": "/missing/rue"})
    assert missing.returncode == 1 and missing.stderr.startswith("rue: ") and missing.stderr.count("\n") == 1, missing.stderr


def test_the_python_reference_matches_the_docstrings():
    tools = ROOT / "build/tools/bin/python"
    if not tools.exists() or subprocess.run([tools, "-c", "import griffe"], capture_output=True).returncode != 0:
        pytest.skip("skipped: griffelib is not installed (tests/install.sh tools)")
    made = subprocess.run([tools, ROOT / "docs/api.py"], capture_output=True, text=True)
    assert made.returncode == 0 and made.stderr == "", made.stderr
    assert made.stdout == (ROOT / "docs/api.md").read_text(), "build/tools/bin/python docs/api.py > docs/api.md"
    names = ast.literal_eval(re.search(r"__all__ = (\[.*?\])", (PACKAGE / "rue_tuner/__init__.py").read_text(), re.S).group(1))
    assert len(names) == 10 and all(f"### rue_tuner.{name}\n" in made.stdout for name in names)
