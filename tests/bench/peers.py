"""Other people's optimisers, which try configurations on a machine that speaks the runner's protocol, until its time is spent.

Each is a function of a Machine and a seed that answers the configuration it would recommend, or None, and the CPU seconds
that it thought. One that cannot run here says why in `missing(name)`.
"""
import importlib.util
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import threading
import time

LONGEST_S = 600  # of real time, for one study
TPE_TRIALS = 2000
# irace's least number of trials is more than small budgets hold: it gets short trials, short races, and as many of them as a
# few trials say that the budget holds.
SHARE = 0.3
RACES = "firstTest = 3, minNbSurvival = 1, nbIterations = 2"
ASKED_FIRST = 4


class Spent(Exception):
    pass


class Machine:
    """A runner on its own clock; what ends after `budget_s` of it is not told any more."""

    def __init__(self, command, budget_s):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.left_s, self.trials = budget_s, 0
        hello = self.ask(op="hello", protocol="rue.runner/1")
        self.models, self.space, self.variant = hello["models"], hello["space"], hello["variants"][0]
        self.images = self.ask(op="open", variant=self.variant)["images"]

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def job_s(self, model, config, share=1.0):
        """The job's time as a trial of a share of it tells."""
        if self.left_s <= 0:
            raise Spent
        self.trials += 1
        reply = self.ask(op="trial", id=self.trials, measure="joint", variant=self.variant, model=model, config=config,
                         images=math.ceil(share * self.images), job_images=self.images)
        self.left_s -= reply.get("cost_ns", 0) / 1e9
        if self.left_s < 0:
            raise Spent
        if reply["status"] != "ok":
            return math.inf
        once_ns = reply["first_batch_ns"] + reply["shutdown_ns"]
        return (once_ns + (reply["end_to_end_ns"] - once_ns) * self.images / reply["images"]) / 1e9

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def own_cpu_s(process):
    """Waits for a process; its own CPU seconds without those of its children."""
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    process.wait()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def optuna_tpe(machine, seed):
    """TPE with median pruning: a trial is a configuration on one model after the other, its value the mean of the logarithms
    of the times relative to each model's first."""
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    start, first_s = time.thread_time(), {}
    values = sorted(machine.space.items())

    def objective(trial):
        config = {knob: choices[trial.suggest_int(knob, 0, len(choices) - 1)] for knob, choices in values}
        total = 0
        for step, model in enumerate(machine.models):
            job_s = machine.job_s(model, config)
            total += math.log(job_s / first_s.setdefault(model, job_s))
            trial.report(total / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return total / len(machine.models)

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed), pruner=optuna.pruners.MedianPruner())
    try:
        study.optimize(objective, n_trials=TPE_TRIALS, timeout=LONGEST_S)
    except Spent:
        pass
    thought_s = time.thread_time() - start
    try:
        return {knob: choices[study.best_params[knob]] for knob, choices in values}, thought_s
    except ValueError:  # no trial ran on all models
        return None, thought_s


IRACE = """
suppressMessages(library(irace))
words <- commandArgs(TRUE)
asks <- fifo(words[1], "w", blocking = TRUE)
told <- fifo(words[2], "r", blocking = TRUE)
runner <- function(experiment, scenario) {
  cat(paste(c(experiment$id.instance, unlist(experiment$configuration)), collapse = " "), "\\n", file = asks)
  reply <- as.numeric(strsplit(readLines(told, 1), " ")[[1]])
  if (is.na(reply[1])) stop("the budget is spent")
  list(cost = reply[1])
}
scenario <- defaultScenario(list(targetRunner = runner, instances = seq_len(as.integer(words[4])), maxExperiments = as.integer(words[5]),
  seed = as.integer(words[6]), RACES, debugLevel = 0, logFile = words[3], deterministic = 0))
parameters <- readParameters(text = words[7])
best <- tryCatch(irace(scenario = scenario, parameters = parameters), error = function(e) {
  if (!file.exists(words[3])) return(NULL)
  load(words[3])
  elites <- iraceResults$iterationElites
  if (length(elites) == 0) return(NULL)
  all <- iraceResults$allConfigurations
  all[all$.ID. == elites[length(elites)], ]
})
if (!is.null(best) && nrow(best) > 0) cat("best", paste(unlist(best[1, parameters$names]), collapse = " "), "\\n", file = asks)
close(asks)
"""


def serve(machine, knobs, asks, told):
    """Answers irace's questions; the configuration that it names in the end, or None."""
    best = None
    with open(asks, encoding="utf-8") as questions, open(told, "w", encoding="utf-8") as answers:
        for line in questions:
            model, *values = line.split()
            config = {knob: int(value) for knob, value in zip(knobs, values)}
            if model == "best":
                best = config
                continue
            try:
                answers.write(f"{machine.job_s(machine.models[int(model) - 1], config, SHARE)!r}\n")
            except Spent:
                answers.write("spent\n")
            answers.flush()
    return best


def irace(machine, seed):
    """Iterated racing: configurations are the arms, models the instances."""
    knobs, dice, budget_s = sorted(machine.space), random.Random(seed), machine.left_s
    try:
        for _ in range(ASKED_FIRST):
            machine.job_s(dice.choice(machine.models), {knob: dice.choice(machine.space[knob]) for knob in knobs}, SHARE)
    except Spent:
        return None, 0.0
    experiments = int(machine.left_s / ((budget_s - machine.left_s) / ASKED_FIRST))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rue-irace-"))
    asks, told = folder / "asks", folder / "told"
    os.mkfifo(asks)
    os.mkfifo(told)
    (folder / "irace.R").write_text(IRACE.replace("RACES", RACES))
    parameters = "\n".join(f'{knob} "" o ({",".join(map(str, machine.space[knob]))})' for knob in knobs)
    process = subprocess.Popen(["Rscript", "--vanilla", folder / "irace.R", asks, told, folder / "log.Rdata",
                                str(len(machine.models)), str(experiments), str(seed), parameters],
                               cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    watch = threading.Timer(LONGEST_S, process.kill)
    watch.start()
    try:
        best = serve(machine, knobs, asks, told)
        return best, own_cpu_s(process)
    finally:
        watch.cancel()
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


PEERS = {"optuna": optuna_tpe, "irace": irace}


def missing(name):
    """Why a peer cannot run here, or None."""
    if name == "optuna":
        return None if importlib.util.find_spec("optuna") else "this Python has no module optuna"
    if not shutil.which("Rscript"):
        return "there is no Rscript"
    there = subprocess.run(["Rscript", "--vanilla", "-e", "library(irace)"], capture_output=True, check=False)
    return None if there.returncode == 0 else "R has no package irace"
