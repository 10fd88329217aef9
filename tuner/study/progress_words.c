#include "progress_words.h"

#include <math.h>
#include <stdio.h>

#include "prose.h"
#include "study_costs.h"
#include "study_views.h"

void rue_progress_describe_best(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                                size_t variant, char *out, size_t bytes)
{
    struct rue_cost_matrix *matrix;
    struct rue_selection *selection = NULL;
    out[0] = 0;
    if (rue_study_matrix(setup, ledger, variant, &matrix, NULL) != RUE_OK) return;
    rue_status status = rue_ranking_rules_select(&setup->goal.search.rules, matrix, &selection, NULL);
    rue_cost_matrix_close(matrix);
    if (status != RUE_OK) return;
    if (selection->recommended != RUE_NONE) {
        char label[RUE_CONFIG_TEXT_BYTES];
        rue_config_label(&setup->configs[selection->recommended], label);
        snprintf(out, bytes, ", best so far %s (%.1f %%)", label,
                 100 * selection->rows[selection->recommended].mean_regret_ratio);
    }
    rue_selection_close(selection);
}

void rue_progress_describe_claim(const struct rue_study_setup *setup, void *state, char *out, size_t bytes)
{
    struct rue_claim claim;
    char label[RUE_CONFIG_TEXT_BYTES];
    out[0] = 0;
    if (!setup->plan.strategy->claim(state, SIZE_MAX, &claim)) return;
    rue_config_label(&setup->configs[claim.config], label);
    snprintf(out, bytes, ", best so far %s, none better by more than %.1f %%", label,
             rue_prose_bound_percent(claim.bound_ratio));
}

void rue_progress_describe_count(const struct rue_study_setup *setup, size_t done, size_t made, char *out,
                                 size_t bytes)
{
    size_t most = setup->goal.search.budget.trials;
    if (!rue_study_predicts(setup))
        snprintf(out, bytes, "%zu of %zu trials: ", done, setup->plan.trials);
    else if (most)
        snprintf(out, bytes, "%zu of at most %zu trials: ", done, most + done - made);
    else
        snprintf(out, bytes, "%zu trials: ", done);
}

double rue_progress_rest_s(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                           size_t done, size_t made, uint64_t spent_ns)
{
    double spent_s = (double)spent_ns / 1e9, rest = (double)setup->goal.search.budget.trials - (double)made;
    double left_s = setup->goal.search.budget.time_ns ? rue_study_budget_left_s(setup, ledger) : INFINITY;
    if (setup->goal.search.budget.trials) left_s = spent_s / fmax(1, (double)made) * fmax(0, rest);
    if (rue_study_predicts(setup)) return left_s;
    rest = (double)(setup->plan.trials - done);
    return fmin(left_s, done > setup->plan.trials / 10
                            ? spent_s / (double)done * rest
                            : setup->plan.expected_s * rest / (double)setup->plan.trials);
}
