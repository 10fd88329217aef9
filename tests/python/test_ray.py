"""Ray Train on this machine, with two workers. Where Ray is not installed (tests/install.sh), the tests are skipped, and also without
RUE_LONG_TESTS=1: beside other programs, some of Ray's own actors do not start within its limits."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap

import pytest

if not os.environ.get("RUE_LONG_TESTS"):
    pytest.skip("skipped: set RUE_LONG_TESTS for Ray, which needs an idle machine", allow_module_level=True)
for name in ("ray", "torchvision"):
    pytest.importorskip(name, reason=f"{name} is not installed (tests/install.sh)")
from conftest import HANG_S, PROGRAM, ROOT, clean_environment, read_json  # noqa: E402

ENDS_S = 10  # how long processes of Ray may stay after the driver
# Runs a command, then writes the processes that it left, and ends them.
WATCH = f"""if True:
    import ctypes, json, os, pathlib, subprocess, sys, time
    import keeper

    ctypes.CDLL(None).prctl(keeper.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    process = subprocess.Popen(sys.argv[1:])
    try:
        code = process.wait({2 * HANG_S})
        deadline = time.monotonic() + {ENDS_S}
        while keeper.reap() and time.monotonic() < deadline:
            time.sleep(0.1)
        names = [pathlib.Path(f"/proc/{{pid}}/comm").read_text().strip() for pid in keeper.descendants(os.getpid())]
    finally:
        keeper.end_all()
    print(json.dumps(names))
    sys.exit(code)
"""


@pytest.fixture
def run(tmp_path):
    """Runs a script; returns what it printed, once all processes have ended."""
    if not PROGRAM:
        pytest.skip("skipped: rue is not built, set RUE_PROGRAM")
    subprocess.run([PROGRAM, "prepare", "--synthetic", "16", tmp_path / "photos", "--quiet"], check=True, timeout=HANG_S)
    place = tempfile.mkdtemp(prefix="rue")  # of Ray's sockets, whose paths must be short
    path = os.pathsep.join(str(ROOT / folder) for folder in ("python", "tests/fixtures"))
    env = clean_environment(PYTHONPATH=path, RUE_PROGRAM=PROGRAM, RUE_LOADER=os.environ.get("RUE_LOADER"), RAY_TMPDIR=place, HOME=place,
                            RAY_ADDRESS=None, RAY_USAGE_STATS_ENABLED=0, RAY_AUTH_MODE="disabled")

    def call(*words):
        done = subprocess.run([sys.executable, "-c", WATCH, sys.executable, *words], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        *lines, left = done.stdout.splitlines()
        assert json.loads(left) == []
        return "\n".join(lines)
    yield call
    shutil.rmtree(place, ignore_errors=True)


def test_one_worker_tunes_and_then_all_train(run, tmp_path):
    out = run(ROOT / "examples/cluster/ray_train.py", "photos", "results", "--budget", "6trials", "--batch-size", "4")
    found = read_json(tmp_path / "results/tuned/recommendation.json")["recommendations"][0]
    knobs = {name: found["config"][name] for name in ("batch_size", "num_workers")}
    assert "epoch 0: loss" in out and f"on 2 workers, 2 batches each, with {str(knobs)[:-1]}" in out
    assert found["data_images"] == 8, "the share of a worker"
    assert {row["config"]["num_workers"] for row in found["configs"]} == {0, 1}, "a worker has one CPU"


def test_all_workers_tune_together_and_each_loads_its_share(run, tmp_path):
    (tmp_path / "script.py").write_text(textwrap.dedent("""
        import json
        import ray.train
        import rue_tuner as rue
        import torch.distributed as dist
        from ray.train.torch import TorchTrainer

        def work(job):
            loader = rue.Loader(job["photos"], batch_size=4, returns="items")
            result = rue.tune(loader, {"step": len}, space={"num_workers": [1, 2]}, strategy="grid", budget="4trials", quiet=True, strict=False)
            every = [None] * dist.get_world_size()
            items = [item for batch in result.loader() for item in batch.tolist()]
            dist.all_gather_object(every, [result.config, result.best["data_images"], items])
            return every

        if __name__ == "__main__":
            import os
            trainer = TorchTrainer(work, train_loop_config={"photos": os.path.abspath("photos")},
                                   scaling_config=ray.train.ScalingConfig(num_workers=2),
                                   run_config=ray.train.RunConfig(storage_path=os.path.abspath("results")))
            print(json.dumps(trainer.fit().return_value))
    """))
    first, second = json.loads(run("script.py").splitlines()[-1])
    assert first[:2] == second[:2] and first[1] == 8, "the same answer, for the share of a worker"
    assert sorted(first[2] + second[2]) == list(range(16)) and len(first[2]) == 8
