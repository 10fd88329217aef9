#include "progress_words.h"

#include <math.h>
#include <stdio.h>

#include "prose.h"
#include "study_budget.h"
#include "study_strategy.h"

void rue_progress_describe_best(const struct rue_study *study, size_t variant, char *out, size_t bytes)
{
    struct rue_selection *selection;
    out[0] = 0;
    if (rue_ranking_rules_select(&study->goal->rules, study->matrices[variant], &selection, NULL) != RUE_OK)
        return;
    if (selection->recommended != RUE_NONE) {
        char label[RUE_CONFIG_TEXT_BYTES];
        rue_config_label(&study->configs[selection->recommended], label);
        snprintf(out, bytes, ", best so far %s (%.1f %%)", label,
                 100 * selection->rows[selection->recommended].mean_regret_ratio);
    }
    rue_selection_close(selection);
}

void rue_progress_describe_claim(const struct rue_study *study, void *state, char *out, size_t bytes)
{
    struct rue_claim claim;
    char label[RUE_CONFIG_TEXT_BYTES];
    out[0] = 0;
    if (!study->strategy->claim(state, SIZE_MAX, &claim)) return;
    rue_config_label(&study->configs[claim.config], label);
    snprintf(out, bytes, ", best so far %s, none better by more than %.1f %%", label,
             rue_prose_bound_percent(claim.bound_ratio));
}

void rue_progress_describe_count(const struct rue_study *study, size_t done, size_t made, char *out,
                                 size_t bytes)
{
    size_t most = study->goal->budget.trials;
    if (!rue_study_predicts(study))
        snprintf(out, bytes, "%zu of %zu trials: ", done, study->trials);
    else if (most)
        snprintf(out, bytes, "%zu of at most %zu trials: ", done, most + done - made);
    else
        snprintf(out, bytes, "%zu trials: ", done);
}

double rue_progress_rest_s(const struct rue_study *study, size_t done, size_t made, uint64_t spent_ns)
{
    double spent_s = (double)spent_ns / 1e9, rest = (double)study->goal->budget.trials - (double)made;
    double left_s = study->goal->budget.time_ns ? rue_study_budget_left_s(study) : INFINITY;
    if (study->goal->budget.trials) left_s = spent_s / fmax(1, (double)made) * fmax(0, rest);
    if (rue_study_predicts(study)) return left_s;
    rest = (double)(study->trials - done);
    return fmin(left_s, done > study->trials / 10 ? spent_s / (double)done * rest
                                                  : study->expected_s * rest / (double)study->trials);
}
