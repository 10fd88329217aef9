"""The whole program with the module of CUDA kernels as it is, above CUDA that is emulated on the CPU
(tests/emulated_cuda/emulated_cuda.h). Kernels do nothing here, as models of this size would take minutes:
tests/unit/models/test_cuda_module.c is for what they compute. Work is put into streams, copied and waited for as on a GPU."""
import csv
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
import wording
from conftest import HANG_S, PROGRAM, ROOT, clean_environment, expect_failure, read_json

TESTS = PROGRAM and PROGRAM.parent / "tests"
SMALL = ["--num-workers", "0,2", "--budget", "5m", "--mode", "raw", "--out", "out"]


@pytest.fixture
def emulated():
    module = TESTS and TESTS / "rue_cuda_emulated.so"
    if not module or not module.exists():
        pytest.skip("skipped: no tests were built beside the program")
    return dict(RUE_CUDA_MODULE=module, EMULATED_CUDA_SKIP=1, EMULATED_CUDA_SEED=7)


def with_library(environment):
    """Products are cuBLASLt's, which is emulated as well."""
    return dict(environment, LD_LIBRARY_PATH=TESTS / "cublaslt")


def read_rows(rue):
    with open(rue.folder / "out/trials.csv", newline="") as file:
        return [row for row in csv.DictReader(file) if row["model"]]


@pytest.mark.parametrize("header, real", [("cuda_runtime.h", "cuda_runtime_api.h"), ("cublasLt.h", "cublasLt.h")])
def test_functions_and_numbers_are_those_of_the_toolkit(header, real, tmp_path):
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    folder = pathlib.Path(os.path.realpath(nvcc)).parent.parent / "include"
    if not (folder / real).exists() or not shutil.which("g++"):
        pytest.skip(f"skipped: there is no {real} of NVIDIA's here")
    text = re.sub(r" = (nullptr|0)(?=[,)])", "", (ROOT / "tests/emulated_cuda" / header).read_text())  # default arguments
    functions = re.findall(r"^(?:cudaError_t|cublasStatus_t|const char \*) ?cu\w+\([^;{]*\);", text, re.MULTILINE)
    numbers = re.findall(r"\b(CU\w+|cuda\w+) = (\d+)\b", text)
    assert len(functions) > 10 and len(numbers) > 5
    lines = [f"#include <{real}>", "#include <library_types.h>", 'extern "C" {', *functions, "}"]
    lines += [f'static_assert({name} == {number}, "");' for name, number in numbers]
    (tmp_path / "try.cpp").write_text("\n".join(lines) + "\n")
    done = subprocess.run(["g++", "-std=c++17", "-fsyntax-only", "-isystem", folder, tmp_path / "try.cpp"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", [["--knob", "batch_strategy=fixed,adaptive"], ["--baseline", "batch_strategy=memory"]])
def test_batches_of_changing_size_are_refused(rue, emulated, photos, words):
    done = rue("tune", photos, "--model", "none,resnet18@cuda:bf16", "--batch-size", "10", *SMALL, *words, env=with_library(emulated))
    expect_failure(done, 2, words[0], "resnet18@cuda:bf16 computes batches of one size on a GPU", "batch_strategy cannot be")


@pytest.mark.quick
@pytest.mark.parametrize("seed", [0, 2])
def test_a_study_succeeds_with_any_order_of_the_device_s_work(rue, emulated, photos, seed):
    done = rue("tune", photos, "--model", "resnet18", "--device", "cuda:bf16", "--batch-size", "10", *SMALL,
               env=dict(with_library(emulated), EMULATED_CUDA_SEED=seed))
    assert done.returncode == 0, done.stderr
    assert wording.EMULATED_CUDA not in done.stderr and "Sanitizer" not in done.stderr, done.stderr
    rows = read_rows(rue)
    assert {(row["status"], row["reason"]) for row in rows} == {("ok", "")}, rows
    joint = [row for row in rows if row["measure"] == "joint"]
    assert len(joint) >= 2
    for row in joint:  # a copy is at 16 bytes a ns, and there are kernels
        images, copied = int(row["images"]), int(row["h2d_ns"])
        assert abs(copied - images * 3 * 224 * 224 * 4 // 16) <= int(row["batches"]) and int(row["device_ns"]) > 0


def test_rue_s_own_products_are_used_without_cublaslt(rue, emulated, photos):
    done = rue("tune", photos, "--model", "mobilenet_v2@cuda:fp16", "--batch-size", "10", *SMALL, env=emulated)
    assert done.returncode == 0, done.stderr
    assert {row["status"] for row in read_rows(rue)} == {"ok"}
    assert wording.RUES_OWN_KERNELS_COMPUTE in (rue.folder / "out/trials.csv").read_text()


def test_a_batch_that_does_not_fit_is_infeasible_and_the_runner_continues(rue, emulated, photos):
    done = rue("tune", photos, "--model", "resnet18@cuda", "--batch-size", "2,32", *SMALL,
               env=dict(emulated, EMULATED_CUDA_BYTES=200000000))
    assert done.returncode == 0, done.stderr
    rows = read_rows(rue)
    assert {(row["batch_size"], row["status"]) for row in rows} == {("2", "ok"), ("32", "infeasible")}
    assert all(wording.A_BATCH_OF_IMAGES.format(32) in row["reason"] for row in rows if row["batch_size"] == "32")
    assert read_json(rue.folder / "out/recommendation.json")["recommendations"][0]["config"]["batch_size"] == 2


def test_times_of_the_emulated_gpu_become_a_device_table(rue, emulated):
    done = rue("calibrate", "resnet18", "--device", "cuda:fp16", "--batch-size", "1,2", "--batches", "3", "--out", "gpu.json",
               env=with_library(emulated))
    assert done.returncode == 0, done.stderr
    assert min(read_json(rue.folder / "gpu.json")["models"][0]["batch_ns"]) > 0


def test_a_failing_call_fails_only_its_trial(program, emulated, photos):
    """Wherever it is: while the model is opened, while batches are in flight, or while memory is given back."""
    ask = dict(op="trial", measure="joint", model="resnet18@cuda:bf16", images=20, job_images=20, config=dict(batch_size=8, num_workers=2),
               variant=dict(path=str(photos), mode="raw", format="folder"))
    reasons = set()
    for call in [1, 6, 30, 100, 200, *range(318, 350, 4)]:
        lines = "".join(json.dumps(dict(ask, id=number)) + "\n" for number in (1, 2))
        done = subprocess.run([program, "runner"], input=lines, capture_output=True, text=True, timeout=HANG_S,
                              env=clean_environment(**emulated, EMULATED_CUDA_FAIL=call))
        assert done.returncode == 0 and not done.stderr, done.stderr
        first, second = map(json.loads, done.stdout.splitlines())
        assert second["status"] == "ok", (call, second)
        if first["status"] != "ok":
            reasons.add(first["reason"])
    assert len(reasons) >= 5, reasons


def test_the_checks_for_a_gpu_are_built_and_find_an_emulated_one_right(emulated, tmp_path):
    """With the command of tests/gpu/run.sh itself; not what takes minutes here, or is about speed."""
    script = (ROOT / "tests/gpu/run.sh").read_text()
    build = re.search(r"^build_figures\(\) \{.*?^\}$", script, re.MULTILINE | re.DOTALL).group()
    strict = 'gcc() { command gcc -fsanitize=address,undefined -Wall -Wextra -Werror "$@"; }'
    command = f"{strict}\n{build}\nfigures={tmp_path}/figures\nbuild_figures"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stderr
    for what, skips, found in [("images", 0, " 0 wrong"), ("memory", 1, "out of GPU memory")]:
        done = subprocess.run([tmp_path / "figures", emulated["RUE_CUDA_MODULE"], what], capture_output=True, text=True,
                              timeout=HANG_S, env=clean_environment(**dict(emulated, EMULATED_CUDA_SKIP=skips)))
        assert done.returncode == 0 and "FAILED" not in done.stdout and found in done.stdout, done.stdout + done.stderr
