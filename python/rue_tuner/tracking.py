"""What a result logs to trackers of experiments, by their public interfaces."""
import math
import sys
import typing
import warnings

PREFIX = "rue/"


def log(result: typing.Any, run: typing.Any) -> None:
    """As Result.log."""
    params = {PREFIX + name: value for name, value in (result.config or {}).items()}
    params[PREFIX + "decided"] = result.decided
    figures = dict(mean_regret=result.mean_regret, worst_regret=result.worst_regret, bound=result.bound)
    known = {name: value for name, value in figures.items() if value is not None and math.isfinite(value)}
    metrics = {PREFIX + name: float(value) for name, value in known.items()}
    write = find_writer(run)
    try:
        write(run, params, metrics, result.sentence())
    except Exception as error:
        kind = type(error).__name__
        warnings.warn(f"the result was not logged to {type(run).__module__}: {kind}: {error}", stacklevel=3)


def find_writer(run):
    if callable(getattr(run, "add_scalar", None)) and callable(getattr(run, "add_text", None)):
        return to_tensorboard
    if hasattr(run, "summary") and hasattr(getattr(run, "config", None), "update"):
        return to_wandb
    if callable(getattr(run, "log_params", None)) and callable(getattr(run, "log_metrics", None)):
        return to_mlflow
    if hasattr(getattr(run, "info", None), "run_id") and "mlflow" in sys.modules:
        return to_mlflow_run
    raise TypeError(f"a {type(run).__qualname__} cannot log: give the module mlflow or a run of it, a run of wandb, "
                    "or a SummaryWriter")


def to_tensorboard(writer, params, metrics, sentence):
    for name, value in metrics.items():
        writer.add_scalar(name, value, 0)
    rows = "".join(f"| {name} | {value} |\n" for name, value in params.items())
    writer.add_text(PREFIX + "recommendation", f"{sentence}\n\n| knob | value |\n|---|---|\n{rows}", 0)


def to_wandb(run, params, metrics, sentence):
    run.config.update(params, allow_val_change=True)
    run.summary.update({**metrics, PREFIX + "recommendation": sentence})


def to_mlflow(mlflow, params, metrics, sentence):
    """The active run of the module."""
    mlflow.log_params(params)
    mlflow.log_metrics(metrics)
    mlflow.log_text(sentence, "rue/recommendation.txt")


def to_mlflow_run(run, params, metrics, sentence):
    client, number = sys.modules["mlflow"].MlflowClient(), run.info.run_id
    for name, value in params.items():
        client.log_param(number, name, value)
    for name, value in metrics.items():
        client.log_metric(number, name, value)
    client.log_text(number, sentence, "rue/recommendation.txt")
