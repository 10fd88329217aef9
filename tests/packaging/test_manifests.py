"""The manifests of examples/cluster: valid for Kubernetes, and their commands tune and train here as they would in the pods."""
import ast
import os
import re
import shlex
import subprocess
import sys

import pytest

from conftest import HANG_S, PROGRAM, ROOT, clean_environment, finish, read_json
from launchers import free_ports

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed (python3-yaml)")
CLUSTER = ROOT / "examples/cluster"
TOOLS = ROOT / "build/tools"


def read(name):
    return yaml.safe_load((CLUSTER / name).read_text())


def pods(manifest):
    """{name: pod} of a PyTorchJob."""
    specs = manifest["spec"]["pytorchReplicaSpecs"]
    return {role: spec["template"]["spec"] for role, spec in specs.items()}


def validate(resource, folder):
    """Unknown fields are errors."""
    checker = TOOLS / "bin/kubernetes-validate"
    if not checker.exists():
        pytest.skip("skipped: kubernetes-validate is not installed (tests/install.sh tools)")
    path = folder / "resource.yaml"
    path.write_text(yaml.safe_dump(resource))
    return subprocess.run([checker, "--strict", "--no-warn", path], capture_output=True, text=True)


def test_the_job_is_valid(tmp_path):
    job = read("job.yaml")
    assert validate(job, tmp_path).returncode == 0, validate(job, tmp_path).stdout
    job["spec"]["template"]["spec"]["containers"][0]["volumeMount"] = []
    assert validate(job, tmp_path).returncode != 0


def check_fields(value, model):
    """Each key is a field of a model of Kubeflow's client; what it leaves to Kubernetes is checked as a pod."""
    text = next(TOOLS.glob(f"lib/*/site-packages/kubeflow/training/models/kubeflow_org_v1_{model}.py")).read_text()
    fields = ast.literal_eval(re.search(r"attribute_map = (\{.*?\})", text, re.DOTALL).group(1)).values()
    assert set(value) <= set(fields), set(value) - set(fields)


def test_the_pytorchjob_is_valid(tmp_path):
    job = read("pytorchjob.yaml")
    if not list(TOOLS.glob("lib/*/site-packages/kubeflow")):
        pytest.skip("skipped: kubeflow-training is not installed (tests/install.sh tools)")
    check_fields(job, "py_torch_job")
    check_fields(job["spec"], "py_torch_job_spec")
    for spec in job["spec"]["pytorchReplicaSpecs"].values():
        check_fields(spec, "replica_spec")
    for role, pod in pods(job).items():
        names = [container["name"] for container in pod["containers"]]
        assert names == ["pytorch"], "the operator knows its container by this name"
        done = validate({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": role.lower()}, "spec": pod}, tmp_path)
        assert done.returncode == 0, done.stdout


@pytest.fixture
def start(tmp_path):
    """Starts the command of a container, with its mounts as folders here, and with other texts replaced."""
    if not PROGRAM:
        pytest.skip("skipped: rue is not built, set RUE_PROGRAM")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "rue").symlink_to(PROGRAM)
    (programs / "python3").symlink_to(sys.executable)
    # The default of --redirects and --tee, "0", fails in Debian 12.
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--redirects", "9:1", "--tee", "9:1", "--monitor_interval", "0.1", "--log_dir", tmp_path / "log"]
    (programs / "torchrun").write_text(f'#!/bin/sh\nexec {shlex.join(map(str, torchrun))} "$@"\n')
    (programs / "torchrun").chmod(0o755)
    places = {"photos": tmp_path / "photos", "results": tmp_path / "results", "train": CLUSTER}
    subprocess.run([PROGRAM, "prepare", "--synthetic", "16", places["photos"], "--quiet"], check=True, timeout=HANG_S)
    places["results"].mkdir()

    def call(pod, container, replaced, **variables):
        words = [*container["command"], *container.get("args", [])]
        for old, new in replaced.items():
            words = [word.replace(old, new) for word in words]
        mounted = {mount["mountPath"]: places.get(mount["name"]) for mount in container["volumeMounts"]}
        assert {mount["name"] for mount in container["volumeMounts"]} <= {volume["name"] for volume in pod["volumes"]}
        words = [re.sub(r"(?<!\S)/\w+", lambda found: str(mounted.get(found.group(), found.group())), word) for word in words]
        env = clean_environment(PATH=f"{programs}:{os.environ['PATH']}", PYTHONPATH=ROOT / "python", OMP_NUM_THREADS=1, **variables)
        return subprocess.Popen(words, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return call


def done(process):
    code, out, error = finish(process)
    assert code == 0, out + error
    return out


def test_the_job_tunes(start, tmp_path):
    pod = read("job.yaml")["spec"]["template"]["spec"]
    done(start(pod, pod["containers"][0], {"10m": "20trials"}))
    assert read_json(tmp_path / "results/photos/recommendation.json")["recommendations"]


def test_the_pytorchjob_tunes_and_then_trains_on_all_pods(start, tmp_path):
    pytest.importorskip("torchvision", reason="torchvision is not installed (python3-torchvision)")
    master, worker = pods(read("pytorchjob.yaml")).values()
    waiting = start(worker, worker["initContainers"][0], {})
    done(start(master, master["initContainers"][0], {"10m": "6trials", "nproc_per_node 4": "nproc_per_node 2"}))
    found = read_json(tmp_path / "results/photos/recommendation.json")["recommendations"][0]
    assert found["ranks"] == 2 and found["measured_with"] == "torch"
    done(waiting)
    port = free_ports(1)[0]
    env = dict(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, PET_MASTER_ADDR="127.0.0.1", PET_MASTER_PORT=port, WORLD_SIZE=2, PET_NNODES=2,
               PET_NPROC_PER_NODE=1)
    both = [start(pod, pod["containers"][0], {"10": "1"}, RANK=rank, PET_NODE_RANK=rank, **env) for rank, pod in enumerate((master, worker))]
    out, _ = map(done, both)
    assert "epoch 0: loss" in out and "on 2 ranks" in out
