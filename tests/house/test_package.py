"""The rules of the Python package: short lines, and nothing that ruff or mypy find (pyproject.toml)."""
import os
import shutil
import subprocess

import pytest
from conftest import ROOT

pytestmark = pytest.mark.quick

LINE = 120
CHECKS = {"ruff": ["ruff", "check", "--no-cache"], "mypy": ["mypy", "--cache-dir", os.devnull]}


def test_no_line_is_long():
    paths = [path for path in (ROOT / "python").rglob("*") if path.suffix in (".py", ".md", ".c", ".h")]
    long = [f"{path.relative_to(ROOT)}:{number}" for path in paths
            for number, line in enumerate(path.read_text().splitlines(), 1) if len(line) > LINE]
    assert len(paths) > 40
    assert long == []


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_finds_nothing(check):
    if not shutil.which(check):
        pytest.skip(f"skipped: {check} is not installed")
    done = subprocess.run(CHECKS[check], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
