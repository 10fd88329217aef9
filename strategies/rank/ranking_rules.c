#include "ranking_rules.h"

#include <stdlib.h>
#include <string.h>

#include "suggest.h"

void rue_ranking_rules_close(struct rue_ranking_rules *rules)
{
    free(rules->text);
    free(rules->weights);
    rules->text = NULL;
    rules->weights = NULL;
    rules->weight_count = 0;
}

rue_status rue_ranking_rules_check(const struct rue_ranking_rules *rules, const char *const *models,
                                   size_t count, rue_error *error)
{
    for (size_t i = 0; rules->weights_origin && i < rules->weight_count; i++) {
        const char *name = rules->weights[i].model;
        char near[RUE_SUGGESTION_BYTES];
        if (rue_word_find(models, (int)count, name) >= 0) continue;
        return rue_fail(error, RUE_USAGE, "%s: '%.100s' is not one of the models%s", rules->weights_origin,
                        name, rue_did_you_mean(name, models, count, "", near));
    }
    return RUE_OK;
}

double rue_ranking_rules_weight(const struct rue_ranking_rules *rules, const char *model)
{
    for (size_t i = 0; i < rules->weight_count; i++)
        if (strcmp(rules->weights[i].model, model) == 0) return rules->weights[i].weight;
    return 1;
}

rue_status rue_ranking_rules_select(const struct rue_ranking_rules *rules,
                                    const struct rue_cost_matrix *matrix, struct rue_selection **out,
                                    rue_error *error)
{
    size_t models = matrix->model_count;
    double *weights = rules->weight_count ? calloc(models + 1, sizeof *weights) : NULL;
    if (rules->weight_count && !weights) return rue_fail_memory(error, "weights", models * sizeof *weights);
    for (size_t m = 0; weights && m < models; m++)
        weights[m] = rue_ranking_rules_weight(rules, matrix->models[m]);
    bool equal = true;
    for (size_t m = 0; weights && m < models; m++) equal &= weights[m] == weights[0];
    struct rue_selection_rules own = {rules->top_n, rules->objective, equal ? NULL : weights};
    rue_status status = rue_selection_open(matrix, &own, out, error);
    free(weights);
    return status;
}
