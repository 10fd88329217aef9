"""What a study found."""
import html
from typing import Any, Dict, List, Optional

from . import document as documents
from .document import Path
from .errors import UndecidedError, check_decided

# Knobs of rue's own loader with these values are not named.
USUAL = {
    "prefetch_factor": 2,
    "parallelism": "batch",
    "pin_memory": True,
    "max_queue_size": 0,
    "read": "auto",
    "batch_strategy": "fixed",
}


class Result:
    """A recommendation, from recommendation.json (docs/json.md).

    Attributes:
        config: a value of each knob that the loader has; None: no configuration was measured on every model
        decided: whether the recommendation can be used; False: it is only the best guess
        why_not: why it is not decided; None if it is
        low_confidence: whether the machine was busy
        mean_regret: a ratio, over all models: how much longer jobs take than with each model's own best configuration;
            0.02 is 2 %
        worst_regret: the same for the model with most regret
        worst_model: the name of that model
        bound: a ratio: with `confidence`, no other configuration is better by more mean regret; None: not known
        confidence: of `bound`, such as 0.95
        gain: a dict, with `against=`: how many times as fast `Loader` is, `speedup_ratio`, each with its best
            configuration; `low_ratio`, `high_ratio` and `confidence` of the interval; `proven`; `loader_config`,
            `dataloader_config`
        report: what `rue tune` printed
        interrupted: whether Ctrl-C ended the search
        document: all of recommendation.json
        best: the first of its recommendations

    Examples:
        result = rue.load("rue-out/photos")
        if result.decided:
            print(result.config, result.mean_regret, result.bound)
    """

    config: Dict[str, Any]
    decided: bool
    why_not: Optional[str]
    low_confidence: bool
    mean_regret: float
    worst_regret: float
    worst_model: str
    bound: Optional[float]
    confidence: Optional[float]
    gain: Optional[Dict[str, Any]]
    report: str
    interrupted: bool
    document: Dict[str, Any]
    best: Dict[str, Any]
    _tuned: Any = None  # the subject of `tune`
    _place: Optional[Path] = None  # what `load` read, or the folder of the study

    def __init__(self, document: Dict[str, Any], report: str = "", interrupted: bool = False, strict: bool = True):
        documents.check(document)
        self.document, self.report, self.interrupted, self._strict = document, report, interrupted, strict
        best = self.best = document["recommendations"][0]
        self.config, self.gain = best.get("config"), best.get("against")
        self.decided, self.why_not = best.get("decided") is not False, best.get("why_not")
        self.low_confidence = bool(document.get("low_confidence"))
        self._kwargs = dict((self.gain or {}).get("dataloader_config") or best.get("torch")
                            or best.get("torch_best_guess") or {})
        self.mean_regret, self.worst_regret = best.get("mean_regret_ratio"), best.get("max_regret_ratio")
        self.worst_model = best.get("worst_model")
        certificate = best.get("certificate") or {}
        self.bound, self.confidence = certificate.get("bound_ratio"), certificate.get("confidence")

    @property
    def dataloader_kwargs(self) -> Dict[str, Any]:
        """Arguments of `torch.utils.data.DataLoader`, or of a factory, as they were measured.

        Raises:
            UndecidedError: `decided` is False, except with strict=False
            ValueError: another loader was measured
        """
        self._check_decided()
        if self.config is None:
            raise UndecidedError(f"nothing was recommended, because {self.why_not}: tune again with a larger budget")
        if not self._kwargs:
            own = self.best.get("measured_with") == "rue"
            raise ValueError(f"the study measured the loader {self.best.get('measured_with')}, not a DataLoader: "
                             + ("load with result.loader()" if own else "its knobs are result.config")
                             + ", or give the DataLoader to rue_tuner.tune")
        return dict(self._kwargs)

    def _check_decided(self) -> None:
        if self._strict:
            check_decided(self.best)

    @property
    def rows(self) -> List[Dict[str, Any]]:
        """A dict for each configuration, best first: knobs, `mean_regret`, `worst_regret`, `worst_model`, `source`."""
        ranked = [row for row in self.best["configs"] if row.get("mean_regret_ratio") is not None]
        return [dict(row["config"], mean_regret=row["mean_regret_ratio"], worst_regret=row["max_regret_ratio"],
                     worst_model=row.get("worst_model"), source=row.get("source"))
                for row in sorted(ranked, key=lambda row: row["mean_regret_ratio"])]

    @property
    def table(self) -> Any:
        """`rows` as a pandas DataFrame; a list of dicts if pandas is not installed."""
        try:
            import pandas
        except ImportError:
            return self.rows
        return pandas.DataFrame(self.rows)

    def sentence(self) -> str:
        """What to use and how good it is, in one sentence."""
        if self.config is None:
            return "No configuration was measured on every model."
        chosen = self._kwargs
        if self.gain or not self._kwargs:
            chosen = {name: value for name, value in self.config.items() if USUAL.get(name) != value}
        knobs = ", ".join(f"{name}={value}" for name, value in chosen.items())
        models = self.best["models"]
        over = f"regret for {models[0]}" if len(models) == 1 else f"mean regret over {len(models)} models"
        lead = "Use" if self.decided else f"Not decided, because {self.why_not}. Best so far:"
        text = f"{lead} {knobs}: {100 * self.mean_regret:.1f} % {over}"
        if len(models) > 1:
            text += f", worst model {100 * self.worst_regret:.1f} % ({self.worst_model})"
        if self.best.get("verified") == "predicted":
            text += ", as predicted: it was not measured on every model"
        if self.bound is not None and self.confidence is not None:
            text += (f"; no other configuration is more than {100 * self.bound:.1f} points better "
                     f"({100 * self.confidence:.0f} % confidence)")
        return text + "."

    def __repr__(self) -> str:
        return f"<rue result: {self.sentence()}>"

    def _repr_html_(self) -> str:
        rows = self.rows[:5]
        names = list(dict.fromkeys(name for row in rows for name in row))

        def cell(name: str, value: Any) -> str:
            text = f"{100 * value:.1f} %" if name in ("mean_regret", "worst_regret") else html.escape(str(value))
            return f"<td>{text}</td>"

        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join(f"<tr>{''.join(cell(name, row.get(name, '')) for name in names)}</tr>" for row in rows)
        return f"<p>{html.escape(self.sentence())}</p><table><tr>{head}</tr>{body}</table>"

    def log(self, run: Any) -> None:
        """Logs the configuration, its regret and the sentence to a tracker of experiments. One that fails is a warning.

        Args:
            run: the module `mlflow` or a run of it, a run of wandb, or a SummaryWriter of TensorBoard

        Raises:
            TypeError: it is none of these

        Examples:
            from torch.utils.tensorboard import SummaryWriter
            with SummaryWriter("runs") as writer:
                result.log(writer)
        """
        from .tracking import log
        log(self, run)

    def save(self, path: Path) -> None:
        """Writes recommendation.json, which `load` and `rue check` read.

        Args:
            path: the file

        Raises:
            OSError: it cannot be written

        Examples:
            result.save("recommendation.json")
        """
        documents.write(path, self.document)

    def loader(self, **overrides: Any) -> Any:
        """The recommended `Loader`: of the data that were tuned for, with what was measured.

        Args:
            overrides: other options of `Loader`, such as `device="cuda"`

        Returns:
            A new Loader.

        Raises:
            UndecidedError: `decided` is False, except with strict=False
            ValueError: another loader was recommended

        Examples:
            result = rue.tune(rue.Loader("photos", transform="train"), {"mine": step})
            for images, labels in result.loader():
                step((images, labels))
        """
        from .loader import Loader
        self._check_decided()
        if self._tuned is None:
            return Loader.from_recommendation(self, strict=False, **overrides)
        return self._tuned.recommended_loader(self.config, overrides)

    def apply(self, loader: Any) -> Any:
        """The loader that was tuned, with the recommended knobs: of the same data set, samplers, functions and other
        arguments.

        Args:
            loader: that loader; or a LightningDataModule or a Trainer of transformers, whose attributes are set. Their
                batch size stays, unless the study compared several

        Returns:
            A new loader; a data module or a Trainer itself.

        Raises:
            TypeError: it is a factory: call it with `dataloader_kwargs`
            UndecidedError: `decided` is False, except with strict=False

        Examples:
            loader = rue.tune(loader, {"mine": step}, budget="2m").apply(loader)
        """
        from . import attributes, dataloaders
        self._check_decided()
        if hasattr(loader, "with_"):
            return loader.with_(**{name: value for name, value in self.config.items() if name != "loader"})
        compared = len({row["config"].get("batch_size") for row in self.best["configs"]}) > 1
        if attributes.apply(loader, self.dataloader_kwargs, compared):
            return loader
        if not dataloaders.find_dataloaders(loader):
            raise TypeError(f"there is no DataLoader in a {type(loader).__qualname__}: call a factory with "
                            "**result.dataloader_kwargs")
        return dataloaders.with_knobs(loader, self.dataloader_kwargs)

    def check(self, loader: Any, *, budget: str = "30s", models: Any = None, quiet: bool = False, **more: Any) -> str:
        """Makes a few trials that say whether the recommendation still holds for `loader` here.

        Args:
            loader: the loader that was tuned, as for `tune`
            budget: time for the trials, such as `"30s"`
            models: the steps again, as for `tune`
            quiet: print nothing
            more: `images`, `epochs`, `space` and `count`, as for `tune`

        Returns:
            What `rue check` prints.

        Raises:
            UndecidedError: it is unclear, as on a busy machine
            TuneError: it does not hold, or cannot be checked

        Examples:
            print(result.check(loader, models={"mine": step}))
        """
        from .study import check
        return check(self.document, self._place, loader, budget=budget, models=models, quiet=quiet, **more)


def load(path: Path, *, strict: bool = True) -> Result:
    """The result of an earlier study. Values of knobs that are not numbers, flags or texts are texts there.

    Args:
        path: the folder of a study, or a recommendation.json
        strict: False: the best guess can be used where the study is not decided [`UndecidedError` is raised]

    Returns:
        A Result.

    Raises:
        OSError: the file cannot be read
        ValueError: it is damaged, or not a recommendation

    Examples:
        loader = DataLoader(dataset, **rue.load("rue-out/photos").dataloader_kwargs)
    """
    result = Result(documents.read(path), strict=strict)
    result._place = path
    return result
