/* Which models wait for data. */
#include <math.h>
#include <string.h>

#include "objective.h"
#include "prose.h"
#include "units.h"
#include "verdict.h"

#define NB RUE_NO_BREAK

struct rue_waiting rue_waiting_find(const struct rue_findings *findings,
                                    const struct rue_breakdown *breakdown,
                                    const struct rue_variant_findings *variant, size_t config)
{
    const double slow_ratio = 0.1;
    struct rue_waiting waiting = {.most_ratio = -INFINITY};
    const double *weights = variant->selection->weights;
    double sum_ratio = 0, sum_log = 0, sum_weight = 0;
    for (size_t m = 0; m < variant->selection->model_count && config != RUE_NONE; m++) {
        struct rue_job_parts parts = rue_job_parts_find(findings, breakdown, variant, m, config);
        double ratio = rue_job_parts_waiting(&parts);
        if (strcmp(variant->matrix->models[m], "none") == 0) continue; /* batches are not consumed */
        if (isnan(ratio)) return (struct rue_waiting){0};
        waiting.models++;
        waiting.predicted |= parts.basis == RUE_PARTS_PREDICTED;
        waiting.slowed += ratio > slow_ratio;
        sum_ratio += ratio;
        double weight = rue_objective_weight(weights, m);
        sum_log -= weight * log1p(-ratio);
        sum_weight += weight;
        if (ratio > waiting.most_ratio) waiting.most_ratio = ratio, waiting.slowest = m;
    }
    waiting.mean_ratio = sum_ratio / (double)waiting.models;
    waiting.perfect_ratio = exp(sum_log / sum_weight);
    return waiting;
}

void rue_verdict_waiting(struct rue_page *page, const struct rue_variant_findings *variant,
                         const struct rue_waiting *waiting)
{
    double percent = 100 * waiting->most_ratio;
    char times[RUE_UNIT_TEXT_BYTES];
    if (!waiting->models) return;
    if (percent < 0.5)
        rue_say(page, "Loading is not a bottleneck: models do not wait for data");
    else if (waiting->slowed == 0)
        rue_say(page, "Loading is not a bottleneck: models wait for data at most %.0f" NB "%% of the time",
                percent);
    else
        rue_say(page,
                "Loading slows down %zu" NB "of" NB "%zu model%s: %s waits for data %.0f" NB "%% of the time",
                waiting->slowed, waiting->models, rue_prose_plural(waiting->models),
                variant->models_unnamed ? "the model" : variant->matrix->models[waiting->slowest], percent);
    rue_say(page, waiting->predicted ? ", as predicted." : ".");
    if (waiting->slowed > 0)
        rue_say(page, " A perfect loader would be %s" NB "times as fast.",
                rue_format_times(waiting->perfect_ratio, times, sizeof times));
}
