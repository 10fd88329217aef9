"""rue's own Loader where it is tuned, recommended, and compared with a DataLoader."""
import json
import subprocess
import time

import pytest

import wording
from conftest import HANG_S, ROOT, clean_environment, read_json

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import rue_tuner as rue  # noqa: E402

IMAGES = 48


class Pixels(torch.utils.data.Dataset):
    """As many images as the folder has, of the same size, much slower than rue's."""

    def __init__(self, images=IMAGES):
        self.images = images

    def __len__(self):
        return self.images

    def __getitem__(self, index):
        time.sleep(0.04)
        return torch.full((3, 224, 224), float(index)), index


def step(batch):
    time.sleep(0.002)


@pytest.fixture(scope="module")
def photos(program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    subprocess.run([program, "prepare", "--synthetic", str(IMAGES), folder / "photos", "--quiet"], check=True, timeout=HANG_S)
    return folder / "photos"


@pytest.fixture(scope="module")
def study(program, photos):
    """The folder of a study of `rue tune`, and what it printed."""
    out = photos.parent / "study"
    done = subprocess.run([program, "tune", photos, "--transform", "train", "--mode", "raw", "--model", "resnet18@h100", "--batch-size", "8,16",
                           "--num-workers", "0,2", "--budget", "60trials", "--out", out], capture_output=True, text=True, timeout=HANG_S,
                          env=clean_environment(), cwd=photos.parent)
    assert (out / "recommendation.json").exists(), done.stderr
    return out, done.stdout


def tune(loader, **options):
    return rue.tune(loader, models={"mine": step}, budget="60trials", quiet=True, **options)


def test_a_loader_is_tuned_by_its_own_knobs(rue_for_python, photos):
    loader = rue.Loader(photos, batch_size=16, num_workers=1, transform="train", output="numpy", seed=7)
    result = tune(loader, space={"num_workers": [0, 1, 2], "parallelism": ["batch", "sample"], "read": ["auto", "item"]})
    assert result.best["measured_with"] == "rue" and len(result.rows) == 10  # without workers parallelism is ignored
    assert {*result.config, "pin_memory"} == set(loader.config) and result.config["batch_size"] == 16
    for other in (result.loader(), result.apply(loader)):
        assert other.config == {**result.config, "pin_memory": other.config["pin_memory"]}
        assert other.options["seed"] == 7 and other.options["output"] == "numpy"
    schema = read_json(ROOT / "reports/recommendation.schema.json")
    pytest.importorskip("jsonschema").validate(result.document, schema)
    assert result.loader(num_workers=1, seed=8).options["seed"] == 8
    assert loader.config["num_workers"] == 1 and len([0 for _ in loader]) == 3  # as it was


def test_batch_sizes_and_epochs(rue_for_python, photos):
    loader = rue.Loader(photos, batch_size=16, transform="train")
    result = tune(loader, space={"batch_size": [8, 16], "num_workers": 1, "decode": ["exact"]}, epochs=2)
    assert result.loader().options["decode"] == "exact"
    assert {row["batch_size"] for row in result.rows} == {8, 16} and result.best["job_images"] == 2 * IMAGES


def test_a_recommendation_is_checked(rue_for_python, photos):
    loader = rue.Loader(photos, batch_size=16, transform="train")  # drop_last
    result = tune(loader, space={"num_workers": [0, 1]})
    try:
        assert "num_workers" in result.check(loader, budget="5s", models={"mine": step}, quiet=True)
    except rue.TuneError as error:  # it does not hold on a machine that became busy
        assert wording.UNKNOWN_OPTION not in str(error)


@pytest.mark.parametrize("space, error", [({"num_worker": [1]}, "did you mean num_workers"), ({"persistent_workers": [True]}, "no option")])
def test_knobs_that_it_does_not_have(rue_for_python, photos, space, error):
    with pytest.raises(TypeError, match=error):
        tune(rue.Loader(photos), space=space)


def test_what_a_change_gains(rue_for_python, photos, tmp_path, capsys):
    theirs = torch.utils.data.DataLoader(Pixels(), batch_size=16, num_workers=1)
    own = rue.Loader(photos, batch_size=16)
    result = rue.tune(theirs, {"mine": step}, against=own, space={"num_workers": [0, 1]}, budget="60trials", out=tmp_path / "study")
    gain, printed = result.gain, capsys.readouterr().out
    assert gain["speedup_ratio"] > 1.2 and printed.strip() in result.report
    if gain["confidence"]:  # the machine was steady
        assert gain["low_ratio"] < gain["speedup_ratio"] < gain["high_ratio"] and gain["confidence"] == 0.95
        assert wording.RUE_LOADER_IS_TIMES.format(gain["speedup_ratio"], 95) in printed
        assert gain["as_it_is"]["speedup_ratio"] >= 0.9 * gain["speedup_ratio"] and wording.THE_DATALOADER_AS_IT_IS in printed
    assert {row["loader"] for row in result.rows} == {"DataLoader", "rue.Loader"}
    assert result.loader().config["num_workers"] == result.config["num_workers"] == gain["loader_config"]["num_workers"]
    assert len(result.apply(theirs)) == 3 and "loader" not in result.dataloader_kwargs
    assert len(torch.utils.data.DataLoader(Pixels(), **result.dataloader_kwargs)) == 3
    again = rue.load(tmp_path / "study")
    assert again.gain == gain and again.dataloader_kwargs == result.dataloader_kwargs and "loader=rue.Loader" in repr(result)
    assert again.loader(data=photos).config["num_workers"] == result.config["num_workers"]
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(read_json(tmp_path / "study/recommendation.json"), read_json(ROOT / "reports/recommendation.schema.json"))


def test_a_faster_dataloader_is_said(rue_for_python, photos):
    tensors = torch.utils.data.TensorDataset(torch.zeros(IMAGES, 3, 8, 8), torch.zeros(IMAGES, dtype=torch.int64))
    result = tune(torch.utils.data.DataLoader(tensors, batch_size=16), against=rue.Loader(photos, batch_size=16), space={"num_workers": [0]})
    assert result.gain["speedup_ratio"] < 1 and not result.gain["proven"]
    assert not result.gain["confidence"] or result.gain["low_ratio"] < result.gain["high_ratio"] < 1
    assert result.gain["as_it_is"] is None and result.config["loader"] == "DataLoader"
    with pytest.raises(ValueError, match="another loader than rue's"):
        result.loader()


@pytest.mark.parametrize("make, error, message", [
    (lambda own: (torch.utils.data.DataLoader(Pixels(), batch_size=8), own), ValueError, "the same batch size, not 8 and 16"),
    (lambda own: (torch.utils.data.DataLoader(Pixels(), batch_size=16), print), TypeError, "with a rue.Loader"),
    (lambda own: (own, own), TypeError, "compares a DataLoader"),
    (lambda own: (torch.utils.data.DataLoader(Pixels(), batch_size=16), own, dict(read=["item"])), TypeError, "against= searches .* not read"),
    (lambda own: (torch.utils.data.DataLoader(Pixels(96), batch_size=16), own), rue.TuneError, "96 images in the DataLoader, and 48 in rue.Loader"),
])
def test_what_cannot_be_compared(rue_for_python, photos, make, error, message):
    theirs, own, *more = make(rue.Loader(photos, batch_size=16))
    with pytest.raises(error, match=message):
        tune(theirs, against=own, space=dict({"num_workers": [0]}, **(more[0] if more else {})))


def test_the_last_lines_of_rue_tune_load_what_was_measured(study, monkeypatch):
    folder, printed = study
    lines = [line.strip() for line in printed.strip().splitlines()[-2:]]
    assert lines[0].startswith("from rue_tuner import Loader")
    names = {}
    exec("\n".join(lines), names)
    best = read_json(folder / "recommendation.json")["recommendations"][0]
    assert names["loader"].config == best["config"]
    assert len([0 for _ in names["loader"]]) == IMAGES // best["config"]["batch_size"]


def test_a_recommendation_is_a_loader(study, photos):
    folder, _ = study
    best = read_json(folder / "recommendation.json")["recommendations"][0]
    for given in (folder, str(folder / "recommendation.json"), rue.load(folder)):
        loader = rue.Loader.from_recommendation(given, output="numpy")
        options = loader.options
        assert loader.config == best["config"] and loader.path == str(photos) and options["transform"] == "train"
        assert options["shuffle"] and options["drop_last"] and options["dtype"] == "float32" and options["augment"] == best["workload"]["augment"]
        validation = loader.with_(transform="eval").options
        assert not validation["shuffle"] and not validation["drop_last"]
    assert not rue.load(folder).loader(transform="eval").options["shuffle"]
    assert rue.load(folder).loader(num_workers=1).config["num_workers"] == 1
    assert rue.Loader(photos, **rue.load(folder).config).config == best["config"]


def changed(folder, tmp_path, **members):
    document = read_json(folder / "recommendation.json")
    document["recommendations"][0].update(members)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(document))
    return path


def test_recommendations_that_are_not_for_it(study, photos, program, tmp_path):
    folder, _ = study
    tensors = tmp_path / "photos.tensor"
    subprocess.run([program, "prepare", photos, tensors, "--quiet"], check=True, timeout=HANG_S)
    load = rue.Loader.from_recommendation
    with pytest.raises(ValueError, match="measured with the loader torch"):
        load(changed(folder, tmp_path, measured_with="torch"))
    with pytest.raises(ValueError, match="'preprocessed': the recommendations are for raw data"):
        load(folder, mode="preprocessed")
    with pytest.raises(ValueError, match="photos.tensor is not raw data"):
        load(folder, tensors, transform="eval")
    with pytest.raises(ValueError, match="the study has no recommendation"):
        load(changed(folder, tmp_path, config=None))
    with pytest.raises(rue.UndecidedError, match="not decided, because it is too wide: .* pass strict=False"):
        load(changed(folder, tmp_path, decided=False, why_not="it is too wide"))
    assert load(changed(folder, tmp_path, decided=False, why_not="it is too wide"), strict=False).path == str(photos)
    with pytest.raises(ValueError, match="its variant is missing"):
        load(changed(folder, tmp_path, variant=None))
    with pytest.raises(ValueError, match="data="):
        load(changed(folder, tmp_path, variant=dict(mode="raw", path=None)))
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")
