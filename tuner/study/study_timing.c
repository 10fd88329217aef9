/* Models that compute on a GPU: whether they can be had at all is tried before anything else is done, and the
 * times that nobody knows beforehand are taken before anything is planned. Of those of the host's CPUs there
 * are estimates (study_costs.c). */
#include "study_measure.h"
#include "study_opening.h"
#include "units.h"

enum { TIMED_BATCHES = 3, SIZES = 2 };

static const uint64_t patience_ns = 60 * RUE_NS_PER_S;

static bool is_untimed(const struct rue_study_model *model)
{
    return model->profile.consumer == RUE_CONSUMER_CUDA;
}

/* A batch of one image, which no store is told of. Whether memory can be locked is for trials to tell. */
static rue_status try_model(struct rue_study *study, const struct rue_study_model *model, rue_error *error)
{
    struct rue_trial_result result;
    struct rue_trial_request request = {.measure = RUE_COMPUTE,
                                        .config = rue_config_default(),
                                        .workload = study->goal->workload,
                                        .batches = 1,
                                        .limits = {.time_ns = patience_ns}};
    request.config.value[RUE_PIN_MEMORY] = false;
    snprintf(request.model, sizeof request.model, "%s", model->name);
    rue_progress_show(study->progress, "trying %s", model->name);
    rue_status status =
        rue_runner_trial(study->runner, &request, model->profile_json, patience_ns, &result, error);
    if (status != RUE_OK) return status;
    if (result.outcome != RUE_TRIAL_OK)
        status = rue_fail(error, RUE_INFEASIBLE, "%s", result.reason);
    else if (result.reason[0])
        rue_progress_note(study->progress, "%s: %s", model->name, result.reason);
    rue_trial_result_close(&result);
    return status;
}

rue_status rue_study_try_models(struct rue_study *study, rue_error *error)
{
    for (size_t m = 0; m < study->model_count; m++)
        if (is_untimed(&study->models[m])) return try_model(study, &study->models[m], error);
    return RUE_OK;
}

/* One trial of the model alone; `*batch_ns` is 0 where a batch of that size is infeasible. */
static rue_status time_batch(struct rue_study *study, size_t model, int size, double *batch_ns,
                             rue_error *error)
{
    struct rue_trial_result result;
    struct rue_trial_request request = {
        .measure = RUE_COMPUTE, .config = rue_space_at(&study->space, 0), .batches = TIMED_BATCHES};
    request.config.value[RUE_BATCH_SIZE] = size;
    *batch_ns = 0;
    rue_status status = rue_study_measure(study, 0, model, &request, 0, 0, &result, error);
    if (status != RUE_OK) return status;
    if (result.outcome == RUE_TRIAL_OK && result.batches > 0)
        *batch_ns = (double)result.compute_ns / (double)result.batches;
    else if (result.outcome != RUE_TRIAL_INFEASIBLE)
        status = rue_fail(error, RUE_INFEASIBLE, "%s", result.reason);
    rue_trial_result_close(&result);
    return status;
}

/* The line through two sizes will do for a plan. */
static rue_status time_model(struct rue_study *study, size_t index, rue_error *error)
{
    struct rue_study_model *model = &study->models[index];
    struct rue_profile *profile = &model->profile;
    const int *values = study->space.values[RUE_BATCH_SIZE], count = study->space.count[RUE_BATCH_SIZE];
    const int sizes[SIZES] = {values[0], values[count / 2]};
    rue_status status = RUE_OK;
    rue_progress_show(study->progress, "timing %s", model->name);
    for (int i = 0; status == RUE_OK && i < (count > 1 ? SIZES : 1); i++) {
        double batch_ns;
        status = time_batch(study, index, sizes[i], &batch_ns, error);
        if (status != RUE_OK || !(batch_ns > 0)) continue;
        profile->batch_size[profile->points] = (uint32_t)sizes[i];
        profile->batch_ns[profile->points++] = batch_ns;
    }
    model->known = profile->measured = profile->points > 0;
    return status;
}

rue_status rue_study_time_models(struct rue_study *study, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t m = 0; status == RUE_OK && m < study->model_count; m++)
        if (is_untimed(&study->models[m])) status = time_model(study, m, error);
    return status;
}
