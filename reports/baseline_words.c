#include "baseline_words.h"

#include "prose.h"
#include "utf8.h"

#define NB RUE_NO_BREAK

/* "PyTorch's default, 32/0" */
static void say_name(struct rue_prose *prose, const struct rue_variant_findings *variant,
                     const struct rue_baseline_row *row)
{
    char label[RUE_CONFIG_TEXT_BYTES];
    rue_config_label(rue_cost_matrix_config(variant->matrix, row->config), label);
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
static void say_interval(struct rue_prose *prose, const struct rue_gain *gain)
{
    rue_prose_say(prose, " (%.3g" NB "%%" NB "CI %.2f" NB "to" NB "%.2f)", 100 * gain->confidence, gain->low,
                  gain->high);
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
    say_interval(prose, &row->gain);
    rue_prose_say(prose, ".");
}

static void say_unknown(struct rue_prose *prose, const struct rue_variant_findings *variant,
                        const struct rue_baseline_row *row, bool unicode)
{
    char clean[RUE_REASON_BYTES];
    size_t model = rue_findings_first_miss(variant, row->config);
    const struct rue_cell *cell =
        model == RUE_NONE ? NULL : rue_cost_matrix_cell(variant->matrix, model, row->config);
    bool missed = cell && cell->state != RUE_CELL_MISSING;
    rue_prose_say(prose, " It was not compared with ");
    say_name(prose, variant, row);
    if (!missed && variant->baselines.unknown[0])
        rue_prose_say(prose, ": %s; give a larger --budget.", variant->baselines.unknown);
    else if (!missed)
        rue_prose_say(prose, ": not all trials of both were ok.");
    if (!missed) return;
    rue_prose_say(prose, ", which %s for ", cell->state == RUE_CELL_INFEASIBLE ? "is infeasible" : "failed");
    rue_prose_say_model(prose, variant, model, unicode);
    rue_utf8_clean(cell->reason, unicode, clean, sizeof clean);
    rue_prose_say(prose, "%s%s.", clean[0] ? ": " : "", clean);
}

/* Why a baseline is recommended in place of what the search found. */
static void say_kept(struct rue_prose *prose, const struct rue_variant_findings *variant)
{
    const struct rue_baseline_findings *baselines = &variant->baselines;
    char found[RUE_CONFIG_TEXT_BYTES];
    rue_config_label(rue_cost_matrix_config(variant->matrix, baselines->found), found);
    for (size_t i = 0; i < baselines->count; i++) {
        if (baselines->rows[i].config != baselines->recommended) continue;
        rue_prose_say(prose, " The recommendation stays ");
        say_name(prose, variant, &baselines->rows[i]);
        rue_prose_say(prose, ": the search found %s, which is not proven to be faster; it is ", found);
        say_ratio(prose, variant, &baselines->found_gain);
        say_interval(prose, &baselines->found_gain);
        rue_prose_say(prose, ".");
    }
}

void rue_baseline_words(const struct rue_variant_findings *variant, bool unicode, char *out, size_t bytes)
{
    struct rue_prose prose = rue_prose_start(out, bytes);
    const struct rue_baseline_findings *baselines = &variant->baselines;
    if (variant->selection->recommended == RUE_NONE) return;
    if (baselines->kept) say_kept(&prose, variant);
    for (size_t i = 0; i < baselines->count; i++) {
        const struct rue_baseline_row *row = &baselines->rows[i];
        bool same = row->config == variant->selection->recommended;
        if (same && baselines->kept) continue;
        if (same) {
            rue_prose_say(&prose, " It is the same as ");
            say_name(&prose, variant, row);
            rue_prose_say(&prose, ".");
        } else if (row->gain.pairs > 0) {
            say_gain(&prose, variant, row);
        } else {
            say_unknown(&prose, variant, row, unicode);
        }
    }
}
