"""Result.log and Hydra: the real packages, offline. Where one is not installed (tests/install.sh), its test is skipped."""
import json
import warnings

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import rue_tuner  # noqa: E402
from conftest import make_table  # noqa: E402

SENTENCE = "Use batch_size="


@pytest.fixture
def result(rue, script):
    runner = script(make_table(["ape"], [16, 64], [1, 4], lambda model, batch, workers: 4000 + 1600 // batch + 4000 // workers),
                    hello=dict(loader="torch"))
    done = rue("tune", "--runner", runner.command, "--strategy", "grid", "--budget", "10h", "--out", "out")
    assert done.returncode == 0, done.stderr
    return rue_tuner.load(rue.folder / "out")


def test_tensorboard(result, tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed (tests/install.sh)")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter
    with SummaryWriter(tmp_path) as writer:
        result.log(writer)
    events = EventAccumulator(str(tmp_path)).Reload()
    assert events.Scalars("rue/mean_regret")[0].value == pytest.approx(result.mean_regret)
    assert SENTENCE in str(events.Tensors("rue/recommendation/text_summary")[0].tensor_proto)


@pytest.mark.parametrize("active", [True, False], ids=["module", "run"])
def test_mlflow(result, tmp_path, active, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed (tests/install.sh)")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    with mlflow.start_run() as run:
        result.log(mlflow if active else run)
    found = mlflow.MlflowClient().get_run(run.info.run_id)
    assert found.data.params["rue/batch_size"] == "64" and found.data.params["rue/decided"] == "True"
    assert found.data.metrics["rue/mean_regret"] == pytest.approx(result.mean_regret)
    (path,) = tmp_path.rglob("recommendation.txt")
    assert path.read_text().startswith(SENTENCE)


def test_wandb(result, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="wandb is not installed (tests/install.sh)")
    monkeypatch.setenv("WANDB_SILENT", "true")
    run = wandb.init(mode="offline", dir=str(tmp_path), project="rue")
    try:
        result.log(run)
        assert run.config["rue/num_workers"] == 4 and dict(run.summary)["rue/recommendation"].startswith(SENTENCE)
    finally:
        run.finish()


def test_hydra_makes_the_loader_that_show_prints(result, rue):
    hydra = pytest.importorskip("hydra", reason="hydra-core is not installed (tests/install.sh)")
    from omegaconf import OmegaConf
    make = hydra.utils.instantiate(OmegaConf.create(rue("show", "out", "--as", "hydra").stdout))
    loader = make(dataset=range(128), num_workers=0, prefetch_factor=2)  # here only: no processes in a test
    assert loader.batch_size == result.config["batch_size"] and len(list(loader)) == 2


class Broken:
    """A tracker whose server does not answer."""

    def add_scalar(self, *words):
        raise ConnectionError("no answer")

    def add_text(self, *words):
        raise ConnectionError("no answer")


def test_a_tracker_that_fails_is_one_warning_and_the_result_is_kept(result):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result.log(Broken())
    assert len(found) == 1 and "ConnectionError: no answer" in str(found[0].message) and result.config["batch_size"] == 64
    with pytest.raises(TypeError, match="cannot log"):
        result.log(3)
    assert json.dumps(result.document)
