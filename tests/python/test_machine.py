"""Limits of the control groups: those of the program, in the same cases (tests/unit/base/test_cgroup.c)."""
import importlib.util
import json
import math
import os
import subprocess

import pytest

from conftest import ROOT

spec = importlib.util.spec_from_file_location("machine", ROOT / "python/rue_tuner/machine.py")
machine = importlib.util.module_from_spec(spec)
spec.loader.exec_module(machine)  # without PyTorch, which the package needs


def read_cases():
    """{case: (CPUs, memory limit, memory available, {path: text})}"""
    found = {}
    for line in (ROOT / "tests/fixtures/cgroups.txt").read_text(errors="surrogateescape").split("\n"):
        words = line.split("\t")
        if line.startswith("\t"):
            files[words[1]] = words[2].replace(";", "\n")
        elif line and not line.startswith("#"):
            files = {}
            found[words[0]] = (*map(float, words[1:]), files)
    return found


CASES = read_cases()


@pytest.mark.parametrize("case", CASES)
def test_the_smallest_limit_from_the_own_group_to_the_root_counts(case, tmp_path, monkeypatch):
    cpus, limit, available, files = CASES[case]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, errors="surrogateescape")
    read_text = machine.read_text
    monkeypatch.setattr(machine, "read_text", lambda path: read_text(f"{tmp_path}{path}"))
    assert machine.quota_cpus() == (cpus or math.inf)
    assert machine.cgroup_memory() == ((limit, available) if limit else (math.inf, math.inf))
    assert machine.usable_cpus() == (min(len(os.sched_getaffinity(0)), math.ceil(cpus)) if cpus else len(os.sched_getaffinity(0)))


def test_this_machine_is_the_same_for_the_program(program):
    hello = json.dumps(dict(op="hello", protocol="rue.runner/1")) + "\n"
    done = subprocess.run([program, "runner"], input=hello, capture_output=True, text=True, check=True)
    theirs, ours = json.loads(done.stdout)["machine"], machine.machine_facts()
    assert {key: ours[key] for key in ("cpu", "usable_cpus", "memory_bytes", "kernel")} == {
        key: theirs[key] for key in ("cpu", "usable_cpus", "memory_bytes", "kernel")}
