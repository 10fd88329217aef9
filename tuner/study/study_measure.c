#include "study_measure.h"

#include "array.h"
#include "study_clock.h"
#include "study_key.h"
#include "units.h"

/* Attempts at a trial that is not warm, or cold, as it claims; and at one that is stopped and continued. */
enum { MISSED_MAX = 3, SUSPENDED_MAX = 5 };

/* What takes longer than this hangs. */
static uint64_t time_limit_ns(const struct rue_study_goal *goal, uint64_t expected_ns)
{
    uint64_t least = 60 * RUE_NS_PER_S;
    if (goal->trial_timeout_ns) return goal->trial_timeout_ns;
    return expected_ns > least / 10 ? expected_ns * 10 : least;
}

/* A runner that keeps the limit itself has as long again, up to this, to say that it ran into it. */
static uint64_t patience_ns(uint64_t limit_ns)
{
    uint64_t grace = 10 * RUE_NS_PER_S;
    return limit_ns + (limit_ns < grace ? limit_ns : grace);
}

static rue_status note_row(struct rue_study *study, uint64_t id, uint64_t started_ns,
                           const struct rue_trial_request *request, const struct rue_trial_result *result,
                           rue_error *error)
{
    rue_status status = rue_array_grow(&study->rows, &study->row_capacity, study->row_count + 1,
                                       sizeof *study->rows, "rows", error);
    if (status != RUE_OK) return status;
    struct rue_trial_row *row = &study->rows[study->row_count++];
    *row = (struct rue_trial_row){.id = id, .started_ns = started_ns, .request = *request, .result = *result};
    row->result.batch_ready_ns = row->result.batch_load_ns = row->result.batch_compute_ns = NULL;
    row->result.ready_count = row->result.load_count = row->result.compute_count = 0;
    return RUE_OK;
}

/* Fills what the study knows of the request; answers whose trial it is. */
static struct rue_store_scenario complete(const struct rue_study *study, size_t variant_index,
                                          size_t model_index, uint64_t expected_ns,
                                          struct rue_trial_request *request)
{
    const struct rue_study_variant *variant = &study->variants[variant_index];
    struct rue_store_scenario scenario = rue_study_scenario(study, variant_index, model_index);
    request->variant = variant->variant;
    request->workload = variant->workload;
    request->job_images = variant->job_images;
    request->limits = (struct rue_limits){time_limit_ns(study->goal, expected_ns), study->memory_bytes};
    snprintf(request->model, sizeof request->model, "%s", scenario.model);
    return scenario;
}

rue_status rue_study_look_up(struct rue_study *study, size_t variant, size_t model,
                             struct rue_trial_request *request, struct rue_store_pick pick, bool *found,
                             uint64_t *id, uint64_t *started_ns, struct rue_trial_result *result,
                             rue_error *error)
{
    struct rue_store_scenario scenario = complete(study, variant, model, 0, request);
    rue_status status =
        rue_store_find(study->store, &scenario, request, pick, found, result, id, started_ns, error);
    if (status != RUE_OK || !*found) rue_trial_result_close(result);
    return status;
}

rue_status rue_study_walk_stored(struct rue_study *study, size_t variant, size_t model,
                                 struct rue_trial_request *request, rue_store_visit *visit, void *context,
                                 rue_error *error)
{
    struct rue_store_scenario scenario = complete(study, variant, model, 0, request);
    return rue_store_walk(study->store, &scenario, request, visit, context, error);
}

rue_status rue_study_is_stored(struct rue_study *study, size_t variant, size_t model,
                               struct rue_trial_request *request, size_t nth, bool *stored, rue_error *error)
{
    struct rue_trial_result result;
    uint64_t id, started_ns;
    rue_status status = rue_study_look_up(study, variant, model, request, (struct rue_store_pick){.nth = nth},
                                          stored, &id, &started_ns, &result, error);
    if (status == RUE_OK && *stored) rue_trial_result_close(&result);
    return status;
}

/* A row that was measured to make the plan may answer one of the plan's questions too. */
static bool is_noted(const struct rue_study *study, uint64_t id)
{
    for (size_t i = 0; i < study->probe_rows; i++)
        if (study->rows[i].id == id) return true;
    return false;
}

/* Measures until nothing suspended the trial on the way. What is thrown away costs nothing of the budget. */
static rue_status measure_awake(struct rue_study *study, struct rue_trial_request *request,
                                const char *profile, uint64_t *started_ns, struct rue_trial_result *result,
                                rue_error *error)
{
    for (int attempt = 0; attempt < SUSPENDED_MAX; attempt++) {
        *started_ns = rue_study_spent_ns(study);
        rue_status status = rue_runner_trial(study->runner, request, profile,
                                             patience_ns(request->limits.time_ns), result, error);
        if (status != RUE_OK || !rue_runner_was_suspended(study->runner)) return status;
        rue_trial_result_close(result);
        study->suspended_ns += rue_study_spent_ns(study) - *started_ns;
        if (!study->suspended)
            rue_progress_note(study->progress, "a trial was suspended on its way: what it measured is thrown "
                                               "away, and it is measured again");
        study->suspended = true;
    }
    *result = rue_trial_result_empty();
    result->config = request->config;
    snprintf(result->reason, sizeof result->reason,
             "the trial was stopped and continued on its way, %d times", SUSPENDED_MAX);
    return RUE_OK;
}

rue_status rue_study_take_stored(struct rue_study *study, size_t variant, size_t model,
                                 struct rue_trial_request *request, uint64_t id, bool *found,
                                 struct rue_trial_result *result, rue_error *error)
{
    uint64_t started_ns = 0, found_id = 0;
    rue_status status =
        rue_study_look_up(study, variant, model, request, (struct rue_store_pick){.after = id - 1}, found,
                          &found_id, &started_ns, result, error);
    if (status == RUE_OK && *found && found_id != id) {
        *found = false;
        rue_trial_result_close(result);
    }
    if (status == RUE_OK && *found && !is_noted(study, id)) {
        study->reused++;
        status = note_row(study, id, started_ns, request, result, error);
        if (status != RUE_OK) rue_trial_result_close(result);
    }
    return status;
}

/* A new measurement, stored. One that was not warm, or cold, as it claims counts only where no attempt is
 * left that might be; the row says what it was in any case. */
static rue_status measure_anew(struct rue_study *study, const struct rue_store_scenario *scenario,
                               struct rue_trial_request *request, const char *profile, int attempt,
                               struct rue_trial_result *result, rue_error *error)
{
    uint64_t id = 0, started_ns;
    rue_status status = measure_awake(study, request, profile, &started_ns, result, error);
    if (status != RUE_OK) return status;
    rue_study_count_cost(study, started_ns, result);
    study->made++;
    if (result->cache_missed == 1 && result->outcome == RUE_TRIAL_OK && attempt < MISSED_MAX)
        result->outcome = RUE_TRIAL_FAILED;
    status = rue_store_add(study->store, scenario, request, result, started_ns, &id, error);
    study->last_trial = id;
    if (status == RUE_OK) status = note_row(study, id, started_ns, request, result, error);
    if (status != RUE_OK) rue_trial_result_close(result);
    return status;
}

rue_status rue_study_measure(struct rue_study *study, size_t variant_index, size_t model_index,
                             struct rue_trial_request *request, size_t nth, uint64_t expected_ns,
                             struct rue_trial_result *result, rue_error *error)
{
    const char *profile = model_index == RUE_NONE ? NULL : study->models[model_index].profile_json;
    struct rue_store_scenario scenario = complete(study, variant_index, model_index, expected_ns, request);
    request->repeat = nth == RUE_STUDY_ANEW ? 0 : nth;
    bool found;
    uint64_t id = 0, started_ns = 0;
    rue_status status = rue_store_find(study->store, &scenario, request, (struct rue_store_pick){.nth = nth},
                                       &found, result, &id, &started_ns, error);
    study->was_stored = status == RUE_OK && found;
    if (study->was_stored) study->last_trial = id;
    if (status != RUE_OK || (found && is_noted(study, id))) return status;
    if (found) {
        study->reused++;
        if (study->recording) { /* as if it were made now */
            rue_study_count_cost(study, started_ns, result);
            study->was_stored = false;
        }
        return note_row(study, id, started_ns, request, result, error);
    }
    bool again = true;
    for (int attempt = 1; status == RUE_OK && again; attempt++) {
        rue_trial_result_close(result);
        status = measure_anew(study, &scenario, request, profile, attempt, result, error);
        again = result->cache_missed == 1 && result->outcome == RUE_TRIAL_FAILED && attempt < MISSED_MAX;
    }
    return status;
}
