"""tune() under torch.distributed, in the environment that torchrun gives: all ranks make each trial together, and get the same result."""
import json
import os
import socket
import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import wording
from conftest import HANG_S, PROGRAM, ROOT, clean_environment  # noqa: E402

SCRIPT = """
    import json, os, sys, time
    import torch.distributed as dist
    from torch.utils.data import DataLoader
    from torch.utils.data.distributed import DistributedSampler
    import rue_tuner as rue
    from pipelines import Failing, Squares

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    data = (Failing if sys.argv[1] == "fails" and rank == 1 else Squares)()
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    step = lambda batch: time.sleep(0.02 if rank == 1 else 0.005)
    try:
        result = rue.tune(loader, {"mine": step}, space={"num_workers": [0, 1]}, strategy="grid", budget="4trials", quiet=True)
        best = min(row["end_to_end_ns"] for row in result.best["best_by_model"])
        answer = dict(config=result.config, images=result.best["data_images"], ms=best / 1e6)
    except rue.TuneError as error:
        answer = dict(error=str(error).splitlines()[0])
    print(json.dumps(dict(rank=rank, **answer)) + "\\n", end="", flush=True)
"""


def run(tmp_path, word):
    if not PROGRAM:
        pytest.skip("skipped: rue is not built, set RUE_PROGRAM")
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    path = os.pathsep.join([str(ROOT / "python"), str(ROOT / "tests/python")])
    ranks = [subprocess.Popen([sys.executable, tmp_path / "script.py", word], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=clean_environment(RUE_PROGRAM=str(PROGRAM), PYTHONPATH=path, RANK=str(rank), WORLD_SIZE="2",
                                                    MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))) for rank in range(2)]
    outputs = [process.communicate(timeout=2 * HANG_S) for process in ranks]
    answers = [json.loads(line) for out, _ in outputs for line in out.splitlines() if line.startswith("{")]
    assert [answer["rank"] for answer in answers] == [0, 1], outputs
    return answers


def test_the_slowest_rank_counts_and_all_get_the_result(tmp_path):
    first, second = run(tmp_path, "works")
    assert first["config"] == second["config"] and first["images"] == 48, "its share of 96"
    assert first["ms"] == second["ms"] >= 6 * 20, "rank 1 takes 20 ms for each of 6 batches"


def test_an_error_of_one_rank_ends_all(tmp_path):
    first, second = run(tmp_path, "fails")
    assert first["error"] == second["error"] and wording.ON_RANK.format(1) in first["error"] and wording.ITEM_IS_DAMAGED.format(48) in first["error"]
