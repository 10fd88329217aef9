"""Hugging Face transformers: tunes the training loader of a Trainer; a Trainer that trains with Loader."""
import json
import pathlib
from typing import TYPE_CHECKING, Any, Mapping, Optional

from .adapters import tune_attributes
from .attributes import TRAINER, follow_batch_size, is_trainer, put
from .kinds import misplaced
from .loader import Loader
from .result import Result

POSITION = "rue_loader.json"  # in the folder of a checkpoint
if TYPE_CHECKING:
    from transformers import Trainer
else:
    Trainer = object  # what TrainerMixin is mixed into; transformers is imported when it is used


def tune(trainer: Any, models: Any = None, *, space: Optional[Mapping[str, Any]] = None, **options: Any) -> Result:
    """Tunes `trainer.get_train_dataloader()`, and sets the dataloader_* training arguments to the result.

    `Result.apply` sets the arguments again, in another process.

    Args:
        trainer: a Trainer of transformers
        models: as for `rue_tuner.tune`
        space: as for `rue_tuner.tune`; the batch size stays, unless this has others
        options: other arguments of `rue_tuner.tune`

    Returns:
        A Result. One that is not decided sets nothing.

    Raises:
        TypeError: it is not a Trainer
        TuneError: as `rue_tuner.tune`; the arguments are then as before

    Examples:
        from rue_tuner.hf import tune
        tune(trainer)
        trainer.train()
    """
    if not is_trainer(trainer):
        raise misplaced(trainer, "a Trainer of transformers")

    def make() -> Any:
        prepared = trainer.accelerator._dataloaders  # accelerate keeps each loader
        known = len(prepared)
        try:
            return trainer.get_train_dataloader()
        finally:
            del prepared[known:]

    result = tune_attributes(trainer.args, TRAINER, make, models, space, options)
    if "batch_size" in (space or {}):
        follow_batch_size(trainer)
    return result


class TrainerMixin(Trainer):
    """A Trainer whose train_dataset and eval_dataset are each a `Loader`. Its `returns` names the arguments of the
    model.

    Each checkpoint keeps the position of the loader, and resume_from_checkpoint continues with the batch after it. The
    batch sizes of the training arguments become those of the loaders. Other data sets work as without this class.

    Examples:
        class LoaderTrainer(TrainerMixin, Trainer):
            pass
        loader = rue.Loader("photos", returns=dict(pixel_values="images", labels="labels"))
        trainer = LoaderTrainer(model, args, train_dataset=loader)
    """

    def __init__(self, *args: Any, **more: Any):
        super().__init__(*args, **more)
        self.add_callback(make_callback())

    def train(self, resume_from_checkpoint: Any = None, *args: Any, **more: Any) -> Any:
        from transformers.trainer_utils import get_last_checkpoint
        loader = self.train_dataset
        if isinstance(loader, Loader):
            put(self.args, "ignore_data_skip", True)  # no batch is loaded to be skipped
            put(self.args, "per_device_train_batch_size", loader.batch_size)
            folder = resume_from_checkpoint
            if folder is True:
                folder = get_last_checkpoint(self.args.output_dir)
            if folder:
                loader.load_state_dict(json.loads((pathlib.Path(folder) / POSITION).read_text()))
        return super().train(resume_from_checkpoint, *args, **more)

    def get_train_dataloader(self) -> Any:
        return self.train_dataset if isinstance(self.train_dataset, Loader) else super().get_train_dataloader()

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        data = self.eval_dataset if eval_dataset is None else eval_dataset
        data = self.eval_dataset[data] if isinstance(data, str) else data
        return self._evaluate_with(data) if isinstance(data, Loader) else super().get_eval_dataloader(eval_dataset)

    def get_test_dataloader(self, test_dataset: Any) -> Any:
        if isinstance(test_dataset, Loader):
            return self._evaluate_with(test_dataset)
        return super().get_test_dataloader(test_dataset)

    def _evaluate_with(self, loader: Loader) -> Any:
        from .accelerate import PreparedLoader
        put(self.args, "per_device_eval_batch_size", loader.batch_size)
        return PreparedLoader(loader)


def make_callback() -> Any:
    from transformers import TrainerCallback

    class KeepPosition(TrainerCallback):
        """Writes the position of the loader into each checkpoint."""

        def on_save(self, args: Any, state: Any, control: Any, train_dataloader: Any = None, **_: Any) -> None:
            folder = pathlib.Path(args.output_dir) / f"checkpoint-{state.global_step}"
            if isinstance(train_dataloader, Loader) and args.should_save and folder.is_dir():
                (folder / POSITION).write_text(json.dumps(train_dataloader.state_dict()))

    return KeepPosition()
