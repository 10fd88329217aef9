#include "candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_MAX = 1500, TOP_OF_MODEL = 3 };

static const double near_regret = 0.20; /* more than the best prediction: no candidate */

struct choice {
    size_t config;
    double regret;
    bool top; /* fewer than TOP_OF_MODEL are faster for one of the models */
    struct rue_joined_regrets joined;
};

static int compare_choices(const void *left, const void *right)
{
    const struct choice *a = left, *b = right;
    return a->regret != b->regret ? (a->regret > b->regret) - (a->regret < b->regret)
                                  : (a->config > b->config) - (a->config < b->config);
}

/* What the model's fastest take, in order. */
static void find_fastest(const struct rue_prediction *prediction, size_t model, const struct choice *choices,
                         size_t count, double fastest_s[TOP_OF_MODEL])
{
    for (size_t i = 0; i < TOP_OF_MODEL; i++) fastest_s[i] = INFINITY;
    for (size_t i = 0; i < count; i++) {
        double time_s = rue_prediction_job_s(prediction, model, choices[i].config);
        size_t at = TOP_OF_MODEL;
        for (; at > 0 && time_s < fastest_s[at - 1]; at--)
            if (at < TOP_OF_MODEL) fastest_s[at] = fastest_s[at - 1];
        if (at < TOP_OF_MODEL) fastest_s[at] = time_s;
    }
}

static void judge(const struct rue_strategy_setup *setup, const struct rue_prediction *prediction,
                  struct choice *choices, size_t count)
{
    for (size_t m = 0; m < setup->scenario_count; m++) {
        double fastest_s[TOP_OF_MODEL], weight = setup->weights ? setup->weights[m] : 1;
        find_fastest(prediction, m, choices, count, fastest_s);
        for (size_t i = 0; i < count; i++) {
            double time_s = rue_prediction_job_s(prediction, m, choices[i].config);
            choices[i].top |= time_s <= fastest_s[TOP_OF_MODEL - 1];
            rue_joined_regrets_add(&choices[i].joined, m, weight, time_s / fastest_s[0] - 1);
        }
    }
    for (size_t i = 0; i < count; i++)
        choices[i].regret = rue_joined_regrets_value(&choices[i].joined, setup->objective);
    qsort(choices, count, sizeof *choices, compare_choices);
}

/* Whether the list is another one then. */
static bool take(struct rue_candidates *candidates, const struct rue_strategy_setup *setup,
                 const struct choice *choices, size_t count)
{
    size_t most = CELLS_MAX / setup->scenario_count, before = candidates->count;
    bool changed = false;
    candidates->count = 0;
    candidates->cut_regret = INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (!choices[i].top && choices[i].regret > choices[0].regret + near_regret) continue;
        if (candidates->count >= most && i > 0) {
            candidates->cut_regret = choices[i].regret;
            break;
        }
        size_t position = candidates->count++;
        changed |= position >= before || candidates->configs[position] != choices[i].config;
        candidates->configs[position] = choices[i].config;
        candidates->regrets[position] = choices[i].regret;
    }
    for (size_t c = 0; c < setup->config_count; c++) candidates->positions[c] = RUE_NO_CANDIDATE;
    for (size_t i = 0; i < candidates->count; i++) candidates->positions[candidates->configs[i]] = i;
    return changed || candidates->count != before;
}

rue_status rue_candidates_choose(struct rue_candidates *candidates, const struct rue_strategy_setup *setup,
                                 const struct rue_prediction *prediction, const bool *out, bool *changed,
                                 rue_error *error)
{
    struct choice *choices = calloc(setup->config_count, sizeof *choices);
    if (!choices) return rue_fail_memory(error, "candidates", setup->config_count * sizeof *choices);
    size_t count = 0;
    for (size_t c = 0; c < setup->config_count; c++)
        if (!out[c]) choices[count++].config = c;
    judge(setup, prediction, choices, count);
    *changed = take(candidates, setup, choices, count);
    free(choices);
    if (candidates->count > 0) return RUE_OK;
    return rue_fail(error, RUE_INFEASIBLE, "no configuration runs on every model");
}

/* ---- life ---- */

rue_status rue_candidates_open(struct rue_candidates *candidates, const struct rue_strategy_setup *setup,
                               rue_error *error)
{
    size_t count = setup->config_count;
    *candidates = (struct rue_candidates){.configs = calloc(count, sizeof *candidates->configs),
                                          .regrets = calloc(count, sizeof *candidates->regrets),
                                          .positions = calloc(count, sizeof *candidates->positions)};
    if (candidates->configs && candidates->regrets && candidates->positions) return RUE_OK;
    return rue_fail_memory(error, "candidates", count * sizeof *candidates->configs);
}

void rue_candidates_close(struct rue_candidates *candidates)
{
    free(candidates->configs);
    free(candidates->regrets);
    free(candidates->positions);
}
