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

    config             dict: a value of each knob that the loader has
    decided            bool: the recommendation can be used; False: it is only the best guess
    why_not            str: why it is not decided; None if it is
    low_confidence     bool: the machine was busy
    dataloader_kwargs  dict: arguments of torch.utils.data.DataLoader, as they were measured. Raises UndecidedError if
                       `decided` is False, except with strict=False; ValueError if another loader was measured
    mean_regret, worst_regret
                       ratios: how much longer jobs take than with each model's own best configuration; 0.02 is 2 %
    worst_model        str
    bound              ratio: with `confidence`, no other configuration is better by more mean regret; None: not known
    gain               dict: with `against=`, how many times as fast rue.Loader is, speedup_ratio, each with its best
                       configuration; low_ratio, high_ratio and confidence of the interval; proven; loader_config,
                       dataloader_config; None otherwise
    report             str: what rue printed
    interrupted        bool: it was ended before it was done
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
        """A dict for each configuration, best first: its knobs, mean_regret, worst_regret, worst_model, source."""
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
        """Logs the configuration, its regret and the sentence to `run`: the module mlflow or a run of it, a run of
        wandb, or a SummaryWriter of TensorBoard. One that fails is a warning. Raises TypeError for anything else."""
        from .tracking import log
        log(self, run)

    def save(self, path: Path) -> None:
        """Writes recommendation.json, which `load` and `rue check` read. Raises OSError."""
        documents.write(path, self.document)

    def loader(self, **overrides: Any) -> Any:
        """The recommended rue.Loader: of the data that were tuned for, with what was measured; `overrides` are other
        options, such as device="cuda". Raises UndecidedError as dataloader_kwargs does, ValueError where another loader
        was recommended, and what Loader raises."""
        from .loader import Loader
        self._check_decided()
        if self._tuned is None:
            return Loader.from_recommendation(self, strict=False, **overrides)
        return self._tuned.recommended_loader(self.config, overrides)

    def apply(self, loader: Any) -> Any:
        """`loader`, the one that was tuned, with the recommended knobs: a new loader, of the same data set, samplers,
        functions and other arguments. A LightningDataModule, or a Trainer of transformers: itself, with its attributes
        set; their batch size stays, unless the study compared several. Raises TypeError for a factory: call it with
        `dataloader_kwargs`; UndecidedError as dataloader_kwargs does."""
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
        """Whether the recommendation still holds for `loader` here; `more` as for `tune`. Returns the text of
        `rue check`. Raises UndecidedError if that is unclear, TuneError if it does not hold or cannot be checked."""
        from .study import check
        return check(self.document, self._place, loader, budget=budget, models=models, quiet=quiet, **more)


def load(path: Path, *, strict: bool = True) -> Result:
    """The Result in a recommendation.json, or in the folder of a study. Values of knobs that are not numbers, flags or
    texts are texts there. strict=False: its best guess can be used, too. Raises OSError or ValueError for what cannot
    be read."""
    result = Result(documents.read(path), strict=strict)
    result._place = path
    return result
