#include "further_answers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "overall.h"
#include "trial_loop.h"

/* Of the batches that are in flight in the variant's job. */
static double memory_bytes(const struct rue_variant_findings *variant, const struct rue_config *config)
{
    struct rue_trial_request request = {.measure = RUE_JOINT,
                                        .variant = variant->variant,
                                        .config = *config,
                                        .workload = rue_workload_default(),
                                        .images = variant->job_images,
                                        .job_images = variant->job_images};
    request.workload.drop_last = variant->drop_last;
    request.workload.batch_dtype = variant->batch_dtype;
    struct rue_loader_options options = rue_trial_loader_options(&request);
    return (double)rue_loader_slab_bytes(&options);
}

static bool is_ours(const struct rue_findings *findings, const struct rue_variant_findings *variant)
{
    const char *loader = variant->circumstances ? variant->circumstances->loader : findings->measured_with;
    return variant->job_images && strcmp(loader, "rue") == 0;
}

/* Whether nothing but noise is left open: all that is ranked, several, has run the whole job more than once.
 */
static bool is_measured(const struct rue_variant_findings *variant)
{
    const struct rue_selection *selection = variant->selection;
    size_t ranked = 0;
    for (size_t c = 0; c < selection->config_count; c++) {
        if (!selection->rows[c].ranked) continue;
        ranked++;
        for (size_t m = 0; m < selection->model_count; m++) {
            const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, m, c);
            if (cell->predicted || cell->repeats < 2) return false;
        }
    }
    return ranked > 1;
}

static rue_status find(const struct rue_findings *findings, struct rue_variant_findings *variant,
                       const struct rue_ranking_rules *rules, rue_error *error)
{
    size_t configs = variant->matrix->config_count;
    struct rue_answers *answers = NULL;
    double *bytes = is_ours(findings, variant) ? calloc(configs + 1, sizeof *bytes) : NULL;
    if (!bytes && is_ours(findings, variant))
        return rue_fail_memory(error, "the memory of configurations", configs * sizeof *bytes);
    for (size_t c = 0; bytes && c < configs; c++)
        bytes[c] = memory_bytes(variant, &variant->matrix->configs[c]);
    rue_status status = rue_answers_open(variant->matrix, variant->selection, rules->set_epsilon_ratio, bytes,
                                         &answers, error);
    free(bytes);
    variant->answers = answers;
    if (status != RUE_OK || variant->interval.confidence > 0) return status;
    status = rue_regret_interval_find(variant->matrix, variant->selection, rules->confidence,
                                      &variant->interval, error);
    if (status != RUE_OK || variant->interval.confidence == 0 || !is_measured(variant)) return status;
    variant->bound_ratio = variant->interval.bound_ratio;
    variant->confidence = variant->interval.confidence;
    variant->bounds_measured = true;
    return RUE_OK;
}

rue_status rue_further_answers_find(struct rue_findings *findings, const struct rue_ranking_rules *rules,
                                    rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t v = 0; status == RUE_OK && v < findings->variant_count; v++)
        status = find(findings, &findings->variants[v], rules, error);
    return status == RUE_OK ? rue_overall_find(findings, rules, error) : status;
}

void rue_further_answers_close(struct rue_findings *findings)
{
    rue_overall_close(findings);
    for (size_t v = 0; v < findings->variant_count; v++) {
        rue_answers_close((struct rue_answers *)findings->variants[v].answers);
        findings->variants[v].answers = NULL;
    }
}
