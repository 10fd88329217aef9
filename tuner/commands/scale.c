/* The trials of scaling experiments; scale_plan.c says which. */
#include "scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "interrupt.h"
#include "scale_run.h"
#include "study_ledger.h"
#include "study_trials.h"
#include "units.h"

const struct rue_scaling *rue_scale_results(const struct rue_scale *scale)
{
    return &scale->results;
}

size_t rue_scale_trials(const struct rue_scale *scale)
{
    return scale->results.row_count;
}

double rue_scale_expected_s(const struct rue_scale *scale)
{
    return scale->expected_s;
}

rue_status rue_scale_open(const struct rue_scale_goal *goal, struct rue_scale **out, rue_error *error)
{
    struct rue_scale *scale = calloc(1, sizeof *scale);
    if (!scale) return rue_fail_memory(error, "scaling experiments", sizeof *scale);
    scale->goal = *goal;
    scale->fresh = goal->fresh;
    scale->gpu = rue_gpu_open();
    rue_status status = rue_scale_plan(scale, error);
    if (status != RUE_OK) return rue_scale_close(scale), status;
    *out = scale;
    return RUE_OK;
}

void rue_scale_close(struct rue_scale *scale)
{
    if (!scale) return;
    rue_gpu_close(scale->gpu);
    free(scale->results.sets);
    free(scale->results.rows);
    free(scale->rates);
    free(scale);
}

/* ---- one trial ---- */

static void stamp(time_t when, char out[32])
{
    struct tm parts;
    strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&when, &parts));
}

static void take_result(const struct rue_trial_result *result, struct rue_scaling_row *row)
{
    row->tried = true;
    row->outcome = result->outcome;
    snprintf(row->reason, sizeof row->reason, "%s", result->reason);
    row->images = result->images > 0 ? (uint64_t)result->images : 0;
    row->batches = result->batches > 0 ? (uint64_t)result->batches : 0;
    row->elapsed_s = result->end_to_end_ns > 0 ? (double)result->end_to_end_ns / 1e9 : 0;
    row->cache_missed = result->cache_missed;
    row->first_batch_s = result->first_batch_ns > 0 ? (double)result->first_batch_ns / 1e9 : 0;
    rue_scaling_usage_complete(&row->usage, result);
}

/* What the store and the samples of an earlier run know of the row: both, or nothing. Of the trials that may
 * answer it, the one that was watched last. */
static rue_status look_up(struct rue_scale *scale, const struct rue_study_setup *setup,
                          struct rue_study_ledger *ledger, size_t model, struct rue_trial_request *request,
                          struct rue_scaling_row *row, bool *found, rue_error *error)
{
    struct stat about;
    char path[PATH_MAX];
    rue_scale_monitor_path(scale, row, path);
    *found = false;
    if (stat(path, &about) != 0) return RUE_OK;
    bool stored = true;
    uint64_t id = 0, started_ns;
    while (stored && !*found) {
        struct rue_trial_result result;
        rue_status status =
            rue_study_look_up(setup, ledger, 0, model, request, (struct rue_store_pick){.after = id}, &stored,
                              &id, &started_ns, &result, error);
        if (status != RUE_OK) return status;
        if (!stored) break;
        *found = rue_monitor_read(path, id, &row->usage);
        if (*found) take_result(&result, row);
        rue_trial_result_close(&result);
    }
    if (*found) stamp(about.st_mtime, row->timestamp);
    return RUE_OK;
}

static rue_status measure(struct rue_scale *scale, const struct rue_study_setup *setup,
                          struct rue_study_ledger *ledger, size_t model, struct rue_trial_request *request,
                          struct rue_scaling_row *row, rue_error *error)
{
    struct rue_trial_result result;
    struct rue_monitor *monitor;
    const struct rue_monitor_sample *samples;
    pid_t root;
    rue_status status = rue_runner_ensure(setup->host.runner, &root, error);
    if (status == RUE_OK) status = rue_monitor_open(root, scale->gpu, scale->goal.period_ns, &monitor, error);
    if (status != RUE_OK) return status;
    uint64_t expected_ns = (uint64_t)(rue_scale_row_s(scale, row) * 1e9);
    status = rue_study_measure(setup, ledger, 0, model, request, RUE_STUDY_ANEW, expected_ns, &result, error);
    rue_monitor_stop(monitor);
    if (status == RUE_OK) {
        /* Warming, evicting and attempts that did not count came before. */
        if (!rue_study_hello(setup)->virtual_clock && result.end_to_end_ns > 0)
            rue_monitor_cut(monitor, (uint64_t)result.end_to_end_ns);
        size_t count = rue_monitor_samples(monitor, &samples);
        rue_monitor_sum_up(samples, count, &row->usage);
        take_result(&result, row);
        stamp(time(NULL), row->timestamp);
        status = rue_scale_write_monitor(scale, row, monitor, ledger->rows[ledger->last_row].trial.id, error);
        rue_trial_result_close(&result);
    }
    rue_monitor_close(monitor);
    return status;
}

static void show_progress(const struct rue_scale *scale, const struct rue_scaling_row *row)
{
    char label[RUE_CONFIG_TEXT_BYTES], left[RUE_UNIT_TEXT_BYTES];
    double rest_s = 0;
    for (size_t i = (size_t)(row - scale->results.rows); i < scale->results.row_count; i++)
        rest_s += rue_scale_row_s(scale, &scale->results.rows[i]);
    rue_config_label(&row->config, label);
    rue_progress_show(scale->goal.progress, "%zu of %zu: %s %s %s, about %s left", scale->done + 1,
                      scale->results.row_count, scale->results.sets[row->set].dataset, row->model, label,
                      rue_format_duration((uint64_t)(rest_s * 1e9), left, sizeof left));
}

static rue_status try_row(struct rue_scale *scale, const struct rue_study_setup *setup,
                          struct rue_study_ledger *ledger, struct rue_scaling_row *row, rue_error *error)
{
    struct rue_trial_request request = {
        .measure = RUE_JOINT, .config = row->config, .images = scale->results.trial_images};
    if (rue_study_hello(setup)->whole_jobs) request.images = scale->results.job_images;
    size_t model = 0;
    while (strcmp(setup->models[model].name, row->model) != 0) model++;
    bool found;
    if (rue_progress_due(scale->goal.progress)) show_progress(scale, row);
    rue_status status = look_up(scale, setup, ledger, model, &request, row, &found, error);
    if (status != RUE_OK || found) return status;
    status = measure(scale, setup, ledger, model, &request, row, error);
    if (status != RUE_OK) return status;
    if (rue_study_is_data_fault(setup, 0, row->outcome, row->reason))
        return rue_fail(error, RUE_DATA, "%s", row->reason);
    return RUE_OK;
}

/* ---- one of the data ---- */

static bool is_spent(const struct rue_scale *scale, const struct rue_study_setup *setup,
                     const struct rue_study_ledger *ledger)
{
    return scale->goal.budget_ns &&
           scale->spent_ns + rue_study_spent_ns(setup, ledger) > 2 * scale->goal.budget_ns;
}

static rue_status try_rows(struct rue_scale *scale, const struct rue_study_setup *setup,
                           struct rue_study_ledger *ledger, size_t set, rue_error *error)
{
    for (size_t i = 0; i < scale->results.row_count; i++) {
        struct rue_scaling_row *row = &scale->results.rows[i];
        if (row->set != set) continue;
        rue_status status = rue_interrupt_status();
        if (status != RUE_OK) return rue_fail(error, status, "interrupted");
        if (is_spent(scale, setup, ledger)) {
            snprintf(
                scale->results.partial_reason, sizeof scale->results.partial_reason,
                "Trials took more than twice the budget: what was not tried is left out; run it again to "
                "go on.");
            return RUE_OK;
        }
        status = try_row(scale, setup, ledger, row, error);
        if (status != RUE_OK) return status;
        scale->done++;
    }
    return RUE_OK;
}

static rue_status try_study(struct rue_study *study, void *context, rue_error *error)
{
    const struct rue_scale_part *part = context;
    struct rue_scale *scale = part->scale;
    scale->fresh = false;
    rue_status status = try_rows(scale, &study->setup, &study->ledger, part->set, error);
    rue_status counted = rue_store_count(study->ledger.store, &scale->store_trials, error);
    scale->spent_ns += rue_study_spent_ns(&study->setup, &study->ledger);
    return status == RUE_OK ? counted : status;
}

static rue_status try_set(struct rue_scale *scale, size_t set, rue_error *error)
{
    static const struct rue_study_steps steps = {.run = try_study};
    struct rue_scale_part part = {scale, set};
    struct rue_study_goal goal;
    rue_scale_study_goal(scale, set, false, &goal);
    return rue_study_perform(&goal, scale->goal.progress, &steps, &part, error);
}

/* Whether a failure is one of the data alone, so that the others can go on. */
static bool is_of_data(rue_status status)
{
    return status == RUE_DATA || status == RUE_INFEASIBLE || status == RUE_RUNNER;
}

static rue_status judge(const struct rue_scale *scale, rue_error *error)
{
    const struct rue_scaling *results = &scale->results;
    size_t faults = 0, first = 0, ok = 0;
    for (size_t s = results->set_count; s-- > 0;)
        if (results->sets[s].fault[0]) faults++, first = s;
    for (size_t i = 0; i < results->row_count; i++) ok += !isnan(rue_scaling_rate(&results->rows[i]));
    if (faults)
        return rue_fail(error, RUE_DATA, "%zu of %zu data could not be measured to the end; the first: %s",
                        faults, results->set_count, results->sets[first].fault);
    if (ok || results->partial_reason[0]) return RUE_OK;
    return rue_fail(error, RUE_INFEASIBLE, "no configuration could be measured; the first: %s",
                    results->row_count ? results->rows[0].reason : "there was none");
}

rue_status rue_scale_run(struct rue_scale *scale, rue_error *error)
{
    for (size_t s = 0; s < scale->results.set_count; s++) {
        struct rue_scaling_set *set = &scale->results.sets[s];
        rue_error why = {0};
        if (set->fault[0]) continue;
        rue_status status = try_set(scale, s, &why);
        if (status == RUE_INTERRUPTED || status == RUE_TERMINATED)
            snprintf(scale->results.partial_reason, sizeof scale->results.partial_reason,
                     "Interrupted: what was not tried is left out; run it again to go on.");
        if (status != RUE_OK && !is_of_data(status)) return rue_fail(error, status, "%s", why.message);
        if (status == RUE_OK) continue;
        rue_error_shorten(why.message, set->fault, sizeof set->fault);
        rue_progress_note(scale->goal.progress, "%s is given up: %s", set->dataset, set->fault);
    }
    return judge(scale, error);
}
