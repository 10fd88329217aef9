"""The manifests of examples/cluster: valid for Kubernetes, and their commands tune and train here as they would in the pods."""
import ast
import os
import re
import subprocess
import sys

import pytest

from conftest import HANG_S, PROGRAM, ROOT, clean_environment, finish, read_json
from launchers import free_ports, write_torchrun

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
    write_torchrun(programs)
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


def pytorchjob(rank, processes, pods=2, master="127.0.0.1", port=23456):
    """What the training operator sets in the container of a pod; rank 0 is the master. `processes` of a pod may be "auto"."""
    of_master = {name: value for prefix in ("", "PET_") for name, value in ((prefix + "MASTER_ADDR", master), (prefix + "MASTER_PORT", port))}
    return dict(of_master, RANK=rank, WORLD_SIZE=pods * (int(processes) if processes.isdigit() else 1), PET_NODE_RANK=rank, PET_NNODES=pods,
                PET_NPROC_PER_NODE=processes, PYTHONUNBUFFERED=0)


ELASTIC = dict(PET_RDZV_BACKEND="c10d", PET_RDZV_ENDPOINT="192.0.2.1:23456", PET_RDZV_ID="job", PET_NNODES="2:3", PET_MAX_RESTARTS=3)


@pytest.fixture
def tune(start, tmp_path):
    """What `rue tune` recommends in a pod."""
    def call(*words, **environment):
        mounts = [dict(name="photos", mountPath="/photos")]
        words = ["rue", "tune", "/photos", "--mode", "raw", "--model", "none", "--budget", "6trials", "--out", "out", "--quiet", *words]
        code, _, error = finish(start(dict(volumes=mounts), dict(command=words, volumeMounts=mounts), {}, **environment))
        assert code in (0, 5), error
        return read_json(tmp_path / "out/recommendation.json")["recommendations"][0]
    return call


@pytest.mark.parametrize("environment", [pytorchjob(0, "4"), pytorchjob(1, "auto", master="192.0.2.1"), pytorchjob(0, "2", pods=1), ELASTIC],
                         ids=["master", "worker", "alone", "elastic"])
def test_a_pod_tunes_with_a_torchrun_of_its_own(tune, environment):
    """The other pods of its job start none."""
    pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
    launch = f"torchrun --nproc_per_node 2 --no_python --master_port {free_ports(1)[0]}"  # other tests have other pods here
    assert tune("--launch", launch, **environment)["ranks"] == 2


def test_a_pod_tunes_alone_with_all_images(tune):
    found = tune(**pytorchjob(1, "4"))
    assert found["data_images"] == 16 and "ranks" not in found


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
    done(start(master, master["initContainers"][0], {"10m": "6trials", "nproc_per_node 4": f"nproc_per_node 2 --master_port {free_ports(1)[0]}"}))
    found = read_json(tmp_path / "results/photos/recommendation.json")["recommendations"][0]
    assert found["ranks"] == 2 and found["measured_with"] == "torch"
    done(waiting)
    port = free_ports(1)[0]
    both = [start(pod, pod["containers"][0], {"10": "1"}, **pytorchjob(rank, "1", port=port)) for rank, pod in enumerate((master, worker))]
    out, _ = map(done, both)
    assert "epoch 0: loss" in out and "on 2 ranks" in out
