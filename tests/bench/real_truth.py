"""What the plain loops of real.py say of the truth, and how sure that is.

- A loop's time is, in logarithms, its cell (a model with a configuration), plus the level of its round, plus noise. Cells and rounds are
  fitted by least squares over all loops; the noise has one standard deviation for each model.
- Minima of noisy cells are too small, so cells are shrunk before anything is compared. A model's cells have main effects of batch size
  and of workers. What a cell is beside them is multiplied by t² / (t² + s²): s² is the variance of a cell's mean, t² that of these
  differences without s².
- The posterior of the cells is then normal: s² times the same shrinkage. The standard error of a difference of two configurations is
  its standard deviation over draws, with the fastest cell of each model fixed.
"""
import collections
import math

import numpy

DRAWS = 2000


class Truth:
    """loops: tuples (model, config, round, seconds). Cells without a loop have no time."""

    def __init__(self, loops, seed=1):
        self.models = sorted({loop[0] for loop in loops})
        self.configs = sorted({loop[1] for loop in loops})
        self.count = collections.Counter((model, config) for model, config, _, _ in loops)
        self.raw, self.noise = fit_rounds(loops)
        dice = numpy.random.default_rng(seed)
        self.log, self.error, draws = {}, {}, {}
        for model in self.models:
            cells = [config for config in self.configs if (model, config) in self.raw]
            variance = self.noise[model] ** 2 * numpy.mean([1 / self.count[model, config] for config in cells])
            means = numpy.array([self.raw[model, config] for config in cells])
            shrink, root = shrinkage(cells, means, variance)
            drawn = math.sqrt(variance) * dice.standard_normal((DRAWS, len(cells))) @ root
            for i, config in enumerate(cells):
                self.log[model, config] = float(shrink[i] @ means)
                self.error[model, config] = math.sqrt(variance * max(shrink[i, i], 0))
                draws[model, config] = self.log[model, config] + drawn[:, i]
        self.whole = [c for c in self.configs if all((m, c) in self.log for m in self.models)]
        fastest = {m: min((c for c in self.whole), key=lambda c: self.log[m, c]) for m in self.models}
        self.regret = {c: numpy.mean([math.expm1(self.log[m, c] - self.log[m, fastest[m]]) for m in self.models]) for c in self.whole}
        self.drawn = {c: numpy.mean([numpy.expm1(draws[m, c] - draws[m, fastest[m]]) for m in self.models], axis=0) for c in self.whole}
        self.ranked = sorted(self.whole, key=self.regret.get)

    def seconds(self, model, config):
        return math.exp(self.log[model, config])

    def difference(self, config, other):
        """Points of mean regret that `config` has more than `other`, and the standard error."""
        return 100 * (self.regret[config] - self.regret[other]), 100 * float(numpy.std(self.drawn[config] - self.drawn[other]))

    def excess(self, config):
        """Points above the best one. The error of the best one itself is that of its difference to the next."""
        best = self.ranked[0]
        points, error = self.difference(config, best)
        return points, error if config != best else self.difference(self.ranked[1], best)[1] if len(self.ranked) > 1 else math.nan


def fit_rounds(loops):
    """Logarithms of the seconds of cells, as in a mean round, and the standard deviation of a loop's noise for each model."""
    cells = {cell: i for i, cell in enumerate(sorted({loop[:2] for loop in loops}))}
    rounds = sorted({loop[2] for loop in loops})
    design = numpy.zeros((len(loops), len(cells) + len(rounds) - 1))
    for row, (model, config, name, _) in enumerate(loops):
        design[row, cells[model, config]] = 1
        if name == rounds[-1]:
            design[row, len(cells):] = -1  # so that the levels of the rounds sum to zero
        else:
            design[row, len(cells) + rounds.index(name)] = 1
    times = numpy.log([loop[3] for loop in loops])
    solution = numpy.linalg.lstsq(design, times, rcond=None)[0]
    off, noise = times - design @ solution, {}
    lost = (len(rounds) - 1) / len(loops)  # degrees of freedom of the rounds, for each loop
    for model in {loop[0] for loop in loops}:
        rows = [row for row, loop in enumerate(loops) if loop[0] == model]
        freedom = len(rows) * (1 - lost) - sum(1 for cell in cells if cell[0] == model)
        noise[model] = math.sqrt((off[rows] ** 2).sum() / freedom) if freedom > 0.5 else math.nan
    return {cell: float(solution[i]) for cell, i in cells.items()}, noise


def shrinkage(cells, means, variance):
    """The matrix that shrinks cells towards their main effects, and its root."""
    columns = [[1.0 for _ in cells]]
    for knob in range(len(cells[0])):
        columns += [[float(cell[knob] == value) for cell in cells] for value in sorted({cell[knob] for cell in cells})[1:]]
    base = numpy.array(columns).T
    main = base @ numpy.linalg.pinv(base)
    rest = numpy.eye(len(cells)) - main
    freedom = max(round(numpy.trace(rest)), 0)
    if not freedom or math.isnan(variance):
        return numpy.eye(len(cells)), numpy.eye(len(cells))
    beside = max(float(means @ rest @ means) / freedom - variance, 0)
    share = beside / (beside + variance) if variance > 0 else 1
    return main + share * rest, main + math.sqrt(share) * rest
