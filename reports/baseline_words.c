#include "baseline_words.h"

#include "prose.h"
#include "utf8.h"

#define NB RUE_NO_BREAK

/* "PyTorch's default, 32/0" */
static void say_name(struct rue_prose *prose, const struct rue_variant_findings *variant,
                     const struct rue_baseline_row *row)
{
    char label[RUE_CONFIG_TEXT_BYTES];
    rue_config_label(&variant->matrix->configs[row->config], label);
    rue_prose_say(prose, "%s, %s", row->name, label);
}

/* "1.31 times as fast" */
static void say_ratio(struct rue_prose *prose, const struct rue_variant_findings *variant,
                      const struct rue_gain *gain)
{
    rue_prose_say(prose, "%.2f" NB "times as fast", gain->ratio);
    if (variant->goal != RUE_GOAL_TIME) rue_prose_say(prose, " in %s", rue_goal_words[variant->goal]);
}

/* " (95 % CI 1.24 to 1.39)" */
static void say_interval(struct rue_prose *prose, const struct rue_variant_findings *variant, size_t other,
                         const struct rue_gain *gain)
{
    const struct rue_ranking_row *rows = variant->selection->rows;
    const struct rue_ranking_row *one = &rows[other], *best = &rows[variant->selection->recommended];
    const char *from = !one->repeats || !best->repeats     ? ", predicted"
                       : one->predicted || best->predicted ? ", from trials cut short"
                                                           : "";
    rue_prose_say(prose, " (%.3g" NB "%%" NB "CI %.2f" NB "to" NB "%.2f%s)", 100 * gain->confidence,
                  gain->low, gain->high, from);
}

static void say_gain(struct rue_prose *prose, const struct rue_variant_findings *variant,
                     const struct rue_baseline_row *row)
{
    bool proven = rue_gain_is_proven(&row->gain);
    rue_prose_say(prose, proven ? " It is " : " It is not proven to be faster than ");
    if (proven) {
        say_ratio(prose, variant, &row->gain);
        rue_prose_say(prose, " as ");
    }
    say_name(prose, variant, row);
    if (!proven) {
        rue_prose_say(prose, ": it is ");
        say_ratio(prose, variant, &row->gain);
    }
    say_interval(prose, variant, row->config, &row->gain);
    rue_prose_say(prose, ".");
}

/* Why a baseline is recommended in place of the best configuration. */
static void say_kept(struct rue_prose *prose, const struct rue_variant_findings *variant,
                     const struct rue_baseline_row *row)
{
    char found[RUE_CONFIG_TEXT_BYTES];
    const struct rue_gain *gain = &variant->baselines.found_gain;
    rue_config_label(&variant->matrix->configs[variant->baselines.found], found);
    rue_prose_say(prose, " The recommendation stays ");
    say_name(prose, variant, row);
    rue_prose_say(prose, ": the best is %s, which is not proven to be faster; it is ", found);
    say_ratio(prose, variant, gain);
    say_interval(prose, variant, variant->baselines.found, gain);
    rue_prose_say(prose, ".");
}

/* Why a baseline cannot be compared: it does not run on a model. False where it was not measured alone. */
static bool say_missed(struct rue_prose *prose, const struct rue_variant_findings *variant,
                       const struct rue_baseline_row *row, bool unicode)
{
    char clean[RUE_REASON_BYTES];
    size_t model = rue_findings_first_miss(variant, row->config);
    if (model == RUE_NONE) return false;
    const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, model, row->config);
    if (cell->state == RUE_CELL_MISSING) return false;
    rue_prose_say(prose, " It was not compared with ");
    say_name(prose, variant, row);
    rue_prose_say(prose, ", which %s for ", cell->state == RUE_CELL_INFEASIBLE ? "is infeasible" : "failed");
    rue_prose_say_model(prose, variant, model, unicode);
    rue_utf8_clean(cell->reason, unicode, clean, sizeof clean);
    rue_prose_say(prose, "%s%s.", clean[0] ? ": " : "", clean);
    return true;
}

void rue_baseline_words(const struct rue_variant_findings *variant, bool unicode, char *out, size_t bytes)
{
    struct rue_prose prose = rue_prose_start(out, bytes);
    const struct rue_baseline_findings *baselines = &variant->baselines;
    const struct rue_baseline_row *unmeasured[RUE_BASELINES_MAX];
    size_t unmeasured_count = 0, recommended = variant->selection->recommended;
    for (size_t i = 0; recommended != RUE_NONE && i < baselines->count; i++) {
        const struct rue_baseline_row *row = &baselines->rows[i];
        if (row->config == recommended && baselines->found != recommended) {
            say_kept(&prose, variant, row);
        } else if (row->config == recommended) {
            rue_prose_say(&prose, " It is the same as ");
            say_name(&prose, variant, row);
            rue_prose_say(&prose, ".");
        } else if (row->gain.confidence > 0) {
            say_gain(&prose, variant, row);
        } else if (!say_missed(&prose, variant, row, unicode)) {
            unmeasured[unmeasured_count++] = row;
        }
    }
    for (size_t i = 0; i < unmeasured_count; i++) {
        rue_prose_say(&prose, i ? " and " : " The budget has no room for whole jobs of ");
        say_name(&prose, variant, unmeasured[i]);
    }
    if (unmeasured_count)
        rue_prose_say(&prose, ": what is gained over %s is not known.", unmeasured_count > 1 ? "them" : "it");
}
