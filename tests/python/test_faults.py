"""Faults while tune() runs: hangs, killed processes, large parents, full and read-only file systems."""
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import rue_tuner as rue  # noqa: E402
import wording
from conftest import HANG_S, PROGRAM, ROOT, clean_environment, wait_until_ended  # noqa: E402
from pipelines import Hanging, Killed, Squares  # noqa: E402
from rue_tuner import study  # noqa: E402
from rue_tuner.program import Interrupter  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

SMALL = dict(budget="6trials", strategy="grid", quiet=True)
MODELS = ["resnet18@h100"]


pytestmark = pytest.mark.usefixtures("rue_for_python")


def start(text, *before, **more):
    """Python code in a process of its own, after the words `before`, such as those of another program that starts it."""
    code = "import os, sys, threading, time\nimport rue_tuner as rue\nfrom pipelines import *\n" + textwrap.dedent(text)
    path = os.pathsep.join([str(ROOT / "python"), str(ROOT / "tests/python")])
    return subprocess.Popen([*before, sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=clean_environment(RUE_PROGRAM=str(PROGRAM), PYTHONPATH=path, TMPDIR=os.getcwd()), **more)


def finish(process):
    out, err = process.communicate(timeout=2 * HANG_S)
    assert process.returncode == 0, (out, err)
    return out


@pytest.fixture(scope="session")
def with_mount():
    """Words that start a program with a file system of its own at a folder."""
    if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode:
        pytest.skip("skipped: no file system can be mounted here")
    return lambda options, folder: ["unshare", "-m", "sh", "-c", f'mount -t tmpfs -o {options} none {folder} && exec "$@"', "sh"]



def test_a_hang_in_a_worker_ends_with_a_stack_and_without_workers():
    process = start("""
        try:
            rue.tune(DataLoader(Hanging(), batch_size=8), ["resnet18@h100"], space=dict(num_workers=[2]), budget="2m", quiet=True, trial_timeout="2s")
        except rue.TuneError as error:
            print(error)
        print("children:", open(f"/proc/self/task/{os.getpid()}/children").read(), "end")
    """)
    out = finish(process)
    assert wording.A_TRIAL_TOOK_TOO in out and "_try_get_data" in out and "children:  end" in out and wording.OTHER_THREADS not in out, out


def test_a_hang_in_a_thread_ends():
    process = start("""
        def run():
            try:
                rue.tune(DataLoader(Hanging(), batch_size=8), ["resnet18@h100"], space=dict(num_workers=[1]), budget="2m", quiet=True, trial_timeout="2s")
            except rue.TuneError as error:
                print(error)
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    """)
    out = finish(process)
    assert wording.A_TRIAL_TOOK_TOO in out and wording.OTHER_THREADS_RAN_WHILE in out, out


def test_a_hang_at_the_first_item_ends(monkeypatch):
    class Stuck(Squares):
        def __getitem__(self, index):
            time.sleep(1000)
    monkeypatch.setattr(study, "EXAMINE_LIMIT_S", 1)
    with pytest.raises(rue.TuneError, match="loading the first batches took more than 1 s(?s:.*)sleep"):
        rue.tune(DataLoader(Stuck(), batch_size=8), MODELS, **SMALL)


def test_an_interrupt_never_arrives_after_its_block():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for i in range(300):
            block, caught = Interrupter(), False
            timer = threading.Timer(1e-5 * (i % 100), block.interrupt)
            timer.start()
            try:
                with block:
                    for _ in range(1000 * (i % 7)):
                        pass
            except KeyboardInterrupt:
                caught = True
            timer.join()
            assert caught == (block.stack is not None)
    finally:
        sys.setswitchinterval(before)


def test_killed_workers_exclude_their_configurations():
    result = rue.tune(DataLoader(Killed(), batch_size=8), MODELS, space=dict(num_workers=[0, 1, 2]), **SMALL)
    assert result.config["num_workers"] == 0
    assert [row["num_workers"] for row in result.rows if row["source"] == "measured"] == [0]


def test_rue_ends_after_its_isolated_caller_was_killed():
    process = start("""
        rue.tune(make_loader, ["resnet18@h100"], isolate=True, space=dict(batch_size=[8], num_workers=[0]), budget="10m", repeats=1000,
                 strategy="grid", quiet=True, out="study")
    """)
    deadline = time.monotonic() + HANG_S
    store, size = pathlib.Path("study/study.db"), None
    children = lambda: list(map(int, pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()))
    while not store.exists() or not children():
        assert process.poll() is None and time.monotonic() < deadline, size
        time.sleep(0.1)
    program = children()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert wait_until_ended(program), "within 30 s"


@pytest.mark.parametrize("more", ["", ", isolate=True"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_leaves_no_temporary_folder(number, more):
    process = start(f"""
        rue.tune(make_loader, ["resnet18@h100"], space=dict(batch_size=[8], num_workers=[0]), budget="10m", repeats=1000, strategy="grid", quiet=True{more})
    """)
    folder, deadline = pathlib.Path(), time.monotonic() + HANG_S
    folders = lambda: [path for path in folder.glob("rue-tuner-*") if path.exists()]
    while not [path for path in folders() if (path / "study.db").exists()]:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    process.communicate()
    while folders():
        assert time.monotonic() < deadline
        time.sleep(0.05)


GARBAGE = """#!/bin/sh
while [ $# -gt 0 ]; do case $1 in --out) out=$2;; --runner-fd) fd=$2;; esac; shift; done
printf '\\377\\376 garbage' ; printf '\\200\\201' >&2
mkdir -p "$out"; printf '%b' '{text}' > "$out/recommendation.json"
printf '\\377\\376\\n[\\n{{"op":"trial","wait":1}}\\n\\377\\n' > /proc/self/fd/1
exit {code}
"""


@pytest.mark.parametrize("code", [0, 5, 1, 143])
@pytest.mark.parametrize("text", ["", r"\0377\0376", "[]", "{", '{"format":"rue.recommendation/1"}', '{"format":"rue.recommendation/1","recommendations":[{}]}'])
def test_a_program_that_writes_garbage_is_an_error_of_the_study(monkeypatch, tmp_path, text, code):
    program = tmp_path / "rue"
    program.write_text(GARBAGE.format(text=text, code=code))
    program.chmod(0o755)
    monkeypatch.setenv("RUE_PROGRAM", str(program))
    with pytest.raises(rue.TuneError):
        rue.tune(DataLoader(Squares(), batch_size=8), MODELS, **SMALL)


@pytest.mark.parametrize("requests", [b"\377\376\n", b"[" * 100_000 + b"\n", b"null\n7\n", b'{"op":"trial","wait":true}\n\377\n', b'{"op":"trial","wait":true}\n'])
def test_a_program_that_asks_garbage_gets_failures(monkeypatch, tmp_path, requests):
    program = tmp_path / "rue"
    program.write_text(f"""#!{sys.executable}
import os, sys
fd = int(sys.argv[sys.argv.index("--runner-fd") + 1])
os.write(fd, {requests!r})
answers = os.read(fd, 100000)
sys.exit("rue tune: it answered " + answers.decode().splitlines()[-1])
""")
    program.chmod(0o755)
    monkeypatch.setenv("RUE_PROGRAM", str(program))
    with pytest.raises(rue.TuneError, match='it answered .*"(failed|ready)"'):
        rue.tune(DataLoader(Squares(), batch_size=8), MODELS, **SMALL)


def test_the_console_command_as_the_program_is_refused(tmp_path):
    program = tmp_path / "rue"
    program.write_text(f"#!{sys.executable}\nfrom rue_tuner.program import main\nmain()\n")
    program.chmod(0o755)
    env = clean_environment(RUE_PROGRAM=str(program), PYTHONPATH=ROOT / "python")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=HANG_S, env=env)
    assert done.returncode == 1 and done.stderr == f"rue: {program} is the command that starts the program rue, not the program: unset RUE_PROGRAM\n"


def test_a_large_parent_is_forked_and_spawned():
    if int(next(line for line in open("/proc/meminfo") if line.startswith("MemAvailable")).split()[1]) < 2 << 20:
        pytest.skip("skipped: less than 2 GiB of memory are available")
    process = start("""
        import json
        from rue_tuner.subjects import make_subject
        from rue_tuner.serve import Runner
        kept = [[i] * 120 for i in range(600_000)]  # 0.6 GB
        space = dict(num_workers=[1], multiprocessing_context=["fork", "spawn"])
        result = rue.tune(DataLoader(Squares(), batch_size=8), ["resnet18@h100"], space=space, budget="6trials", strategy="grid", quiet=True)
        print(len([row for row in result.rows if row["source"] == "measured"]))
        runner = Runner(make_subject(DataLoader(Squares(), batch_size=8), space=space))
        runner.answer('{"op": "open"}')
        for context in space["multiprocessing_context"]:
            config = dict(batch_size=8, num_workers=1, prefetch_factor=2, multiprocessing_context=context)
            answer = runner.answer(json.dumps(dict(op="trial", measure="load", images=96, variant={}, workload={}, config=config)))
            print(answer["status"], 0.6e9 < answer["anon_peak_bytes"] < 1.1e9)
    """)
    assert finish(process).split() == ["2", "ok", "True", "ok", "True"], "memory that is shared counts once"


@pytest.mark.parametrize("grows, reason", [(False, "but /dev/shm has"), (True, "")])
def test_no_room_in_shared_memory_excludes_workers(with_mount, grows, reason):
    process = start(f"""
        class Large(Squares):
            def __getitem__(self, index):
                return torch.zeros(100_000 if {grows} and index < 8 else 1_000_000)
        result = rue.tune(DataLoader(Large(), batch_size=8), ["resnet18@h100"], space=dict(num_workers=[0, 1]), budget="6trials", strategy="grid")
        print("workers", result.config["num_workers"], [row["num_workers"] for row in result.rows if row["source"] == "measured"])
    """, *with_mount("size=16m", "/dev/shm"))
    out = finish(process)
    assert "workers 0 [0]" in out and reason in out, out


def test_a_read_only_folder_is_named(with_mount, tmp_path):
    (tmp_path / "closed").mkdir()
    process = start("""
        try:
            rue.tune(DataLoader(Squares(), batch_size=8), ["resnet18@h100"], out="closed/study", budget="6trials", quiet=True)
        except rue.TuneError as error:
            print("error:", error)
    """, *with_mount("ro", tmp_path / "closed"))
    out = finish(process)
    assert out.startswith("error: ") and "closed" in out and "ead-only" in out, out


@pytest.mark.parametrize("stream", ["None", "open(os.devnull)", "io.TextIOWrapper(io.BytesIO(), 'ascii')"])
def test_streams_that_cannot_be_written_do_not_stop_it(stream):
    process = start(f"""
        import io
        real, sys.stdout, sys.stderr = sys.stdout, {stream}, {stream}
        result = rue.tune(DataLoader(Squares(), batch_size=8), ["resnet18@h100"], space=dict(num_workers=[0]), budget="6trials", strategy="grid")
        print(result.report, file=real)
    """)
    assert wording.USE_BATCH_SIZE_2.format(8) in finish(process)


@pytest.mark.parametrize("program", ["/nonexistent", "/etc/passwd"])
def test_a_program_that_cannot_be_started_is_named(monkeypatch, program):
    monkeypatch.setenv("RUE_PROGRAM", program)
    with pytest.raises(rue.TuneError, match=f"cannot start the program rue, {program}: "):
        rue.tune(DataLoader(Squares(), batch_size=8), MODELS, **SMALL)


def test_two_studies_of_one_folder_do_not_mix():
    code = """
        try:
            rue.tune(DataLoader(Squares(delay_s=.002), batch_size=8), ["resnet18@h100"], space=dict(num_workers=[0, 1]), out="study",
                     budget="30trials", repeats=15, strategy="grid", quiet=True)
            print("result")
        except rue.TuneError as error:
            print("error:", error)
    """
    outs = sorted(map(finish, [start(code), start(code)]))
    assert outs[1] == "result\n" and (outs[0] == "result\n" or wording.ANOTHER_RUE_USES_STUDY in outs[0]), outs
