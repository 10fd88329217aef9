"""Lightning's users: the section of docs/python.md runs, and what is given in the wrong place is named."""
import re
import warnings

import pytest
from conftest import ROOT
from pipelines import IMAGES, Squares, step
from test_loader_frameworks import import_lightning

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
import rue_tuner as rue  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

lightning = import_lightning()
from rue_tuner import hf  # noqa: E402
from rue_tuner.lightning import tune  # noqa: E402

SECTION = (ROOT / "docs/python.md").read_text().split("\n## Lightning\n")[1].split("\n## ")[0]
SNIPPETS = {code.split("\n")[0].lstrip("# "): code for code in re.findall(r"^```py\n(.*?)^```", SECTION, re.M | re.S)}
GRID = dict(strategy="grid", budget="12trials", quiet=True)
pytestmark = [pytest.mark.usefixtures("rue_for_python"), pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")]


class PhotoData(lightning.LightningDataModule):
    def __init__(self, path="photos", batch_size=16, num_workers=1, prefetch_factor=2):
        super().__init__()
        self.batch_size, self.num_workers, self.prefetch_factor, self.validation = batch_size, num_workers, prefetch_factor, []

    def make(self, **more):
        if self.num_workers:
            more["prefetch_factor"] = self.prefetch_factor
        return DataLoader(Squares(delay_s=0.001), batch_size=self.batch_size, num_workers=self.num_workers, **more)

    def train_dataloader(self):
        return self.make(shuffle=True)

    def val_dataloader(self):
        self.validation.append(self.make())
        return self.validation[-1]


class AlwaysWithWorkers(PhotoData):
    def train_dataloader(self):
        return DataLoader(Squares(), batch_size=self.batch_size, num_workers=self.num_workers, persistent_workers=True)


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model, self.batches = torch.nn.Linear(3, 10), []

    def training_step(self, batch, index):
        images, labels = batch
        self.batches.append(len(images))
        return torch.nn.functional.cross_entropy(self.model(images.mean((2, 3))), labels % 10)

    def validation_step(self, batch, index):
        pass

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def make_trainer():
    return lightning.Trainer(accelerator="cpu", max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                             enable_model_summary=False, num_sanity_val_steps=0)


def run(title, names, **changes):
    """Runs a snippet of the page, with texts replaced by others."""
    code = SNIPPETS[title]
    for old, new in changes.values():
        assert old in code
        code = code.replace(old, new)
    exec(code, names)


def test_the_two_scripts_of_the_page():
    """The step trains a copy; the second script gets the answer of the first, and trains with it."""
    names = dict(PhotoData=PhotoData, net=Net(), trainer=make_trainer())
    before = [part.clone() for part in names["net"].parameters()]
    run("step", names)
    first = [part.clone() for part in names["module"].parameters()]
    run("tune.py", names, budget=('budget="2m"', 'strategy="grid", budget="24trials", quiet=True, space=dict(num_workers=[1, 2], prefetch_factor=[2, 3])'))
    assert all(map(torch.equal, before, names["net"].parameters())) and not all(map(torch.equal, first, names["module"].parameters()))
    assert names["module"].batches and not names["net"].batches
    result, tuned = names["result"], names["datamodule"]
    assert {row["prefetch_factor"] for row in result.rows} == {2, 3} and result.best["models"] == ["mine"]
    assert all(optimizer.grad is None or not optimizer.grad.any() for optimizer in names["module"].parameters())
    found = {knob: result.config[knob] for knob in ("num_workers", "prefetch_factor")}
    assert f"num_workers {found['num_workers']}, prefetch_factor {found['prefetch_factor']}" in " ".join(result.report.replace("\xa0", " ").split())
    assert {knob: getattr(tuned, knob) for knob in found} == found
    run("train.py", names)
    again = names["datamodule"]
    assert again is not tuned and {knob: getattr(again, knob) for knob in found} == found
    assert sum(names["net"].batches) == IMAGES and again.validation[0].num_workers == found["num_workers"], "validation follows"
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        PhotoData(**result.dataloader_kwargs)


def test_a_check_of_a_kept_answer_needs_the_step():
    datamodule = PhotoData()
    tune(datamodule, {"mine": step}, out="kept", **GRID)
    with pytest.raises(rue.TuneError, match=re.escape('give it the step mine (in Python: models={"mine": step})')):
        rue.load("kept").check(datamodule.train_dataloader(), quiet=True)


def test_an_answer_is_applied_to_hyperparameters_and_other_batch_sizes():
    tune(PhotoData(), ["resnet18@h100"], out="kept", space=dict(num_workers=[2]), **GRID)
    result = rue.load("kept")

    class Saved(lightning.LightningDataModule):
        def __init__(self, num_workers=0, batch_size=16):
            super().__init__()
            self.save_hyperparameters(logger=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert result.apply(Saved()).hparams == dict(num_workers=2, batch_size=16)
    with pytest.warns(UserWarning, match="PhotoData keeps batch_size=8, but the study was of batch size 16"):
        assert result.apply(PhotoData(batch_size=8)).batch_size == 8
    with pytest.raises(TypeError, match="BoringDataModule has no attribute num_workers"):
        from pytorch_lightning.demos.boring_classes import BoringDataModule
        result.apply(BoringDataModule())
    tune(PhotoData(), ["resnet18@h100"], out="sizes", space=dict(num_workers=[1], batch_size=[8, 16]), **GRID)
    sizes = rue.load("sizes")
    assert sizes.apply(PhotoData(batch_size=4)).batch_size == sizes.config["batch_size"], "several were compared"


def combined(datamodule):
    from pytorch_lightning.utilities import CombinedLoader
    return CombinedLoader(dict(a=datamodule.make(), b=datamodule.make()))


class Two(PhotoData):
    def train_dataloader(self):
        return combined(self)


@pytest.mark.parametrize("call, said", [
    (lambda: tune(make_trainer()), "a Trainer of Lightning is not a LightningDataModule: call rue_tuner.lightning.tune(datamodule)"),
    (lambda: tune(PhotoData().make()), "a DataLoader is not a LightningDataModule: call rue_tuner.tune(loader)"),
    (lambda: tune(PhotoData), "the class PhotoData is not a LightningDataModule: make an object of it, and call rue_tuner.lightning.tune(datamodule)"),
    (lambda: tune(None), "None is not a LightningDataModule"),
    (lambda: tune(Two()), "Two makes 2 loaders, in a CombinedLoader: give rue.tune one of them"),
    (lambda: tune(PhotoData(), Net()), 'models: a LightningModule (Net) is not a name or a dict; steps are given as a dict {"mine": step}'),
    (lambda: rue.tune(PhotoData()), "a LightningDataModule (PhotoData) is not a loader: call rue_tuner.lightning.tune(datamodule), or give the loader"),
    (lambda: rue.tune(PhotoData), "the class PhotoData is not a loader: make an object of it"),
    (lambda: rue.tune(make_trainer()), "a Trainer of Lightning is not a loader: call rue_tuner.lightning.tune(datamodule)"),
    (lambda: rue.tune(Net()), "a LightningModule (Net) is not a loader: give a loader, and a step of the module"),
    (lambda: hf.tune(PhotoData()), "a LightningDataModule (PhotoData) is not a Trainer of transformers: call rue_tuner.lightning.tune(datamodule)"),
])
def test_what_is_given_in_the_wrong_place_is_named(call, said):
    with pytest.raises(TypeError, match=re.escape(said)) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_an_unknown_stage_is_refused():
    with pytest.raises(ValueError, match="stage: 'vit' is not a stage of Lightning.*: give one of fit, validate, test, predict"):
        tune(PhotoData(), stage="vit", **GRID)


def test_a_module_as_a_step_fails_with_type_and_reason():
    with pytest.raises(rue.TuneError, match=r"the step mine failed on batch 1: TypeError: conv2d\(\) received an invalid combination of arguments - got "
                       r"\(list, .*\); step\(batch\) is called with the whole batch, here a list of 2; "):
        rue.tune(PhotoData().make(), {"mine": torch.nn.Conv2d(3, 4, 3)}, **GRID)
    with pytest.raises(rue.TuneError, match='NotImplementedError: Module .Net. is missing the required "forward" function; step.batch. is called with'):
        rue.tune(PhotoData().make(), {"mine": Net()}, **GRID)


def test_what_needs_workers_is_searched_with_workers_only():
    with pytest.raises(ValueError, match="AlwaysWithWorkers makes no loader, because persistent_workers option needs num_workers > 0: set num_workers to 1"):
        tune(AlwaysWithWorkers(num_workers=0), **GRID)
    with pytest.raises(ValueError, match="makes no loader without workers, because .*: leave 0 out of space, or pass persistent_workers and prefetch"):
        tune(AlwaysWithWorkers(), space=dict(num_workers=[0, 1]), **GRID)
    datamodule = AlwaysWithWorkers()
    result = tune(datamodule, ["resnet18@h100"], **GRID)
    assert result.rows and all(row["num_workers"] for row in result.rows) and len(list(datamodule.train_dataloader())) == IMAGES // 16
