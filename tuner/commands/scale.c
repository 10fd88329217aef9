#include "scale.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "interrupt.h"
#include "study_costs.h"
#include "study_ledger.h"
#include "study_space.h"
#include "study_trials.h"
#include "units.h"

/* The usual experiments, and the least number of batches of a trial. */
enum { FIXED_BATCH = 64, FIXED_WORKERS = 4, BATCHES_LEAST = 2 };

void rue_scale_close(struct rue_scale *scale)
{
    rue_gpu_close(scale->gpu);
    free(scale->results.sets);
    free(scale->results.rows);
}

/* ---- what is tried ---- */

/* Whether a set before has the same name, as far as the names of files can tell them apart. */
static bool is_taken(const struct rue_scaling *results, size_t set)
{
    char mine[sizeof results->sets->dataset], other[sizeof mine];
    memcpy(mine, results->sets[set].dataset, sizeof mine);
    rue_scale_make_plain(mine);
    for (size_t s = 0; s < set; s++) {
        memcpy(other, results->sets[s].dataset, sizeof other);
        rue_scale_make_plain(other);
        if (strcmp(mine, other) == 0) return true;
    }
    return false;
}

/* The last part of the path, with a number where another set has the same. */
static void name_dataset(struct rue_scaling *results, size_t set, const char *path)
{
    struct rue_scaling_set *mine = &results->sets[set];
    size_t end = strlen(path), same = 1;
    while (end > 1 && path[end - 1] == '/') end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/') begin--;
    char name[sizeof mine->dataset - 8];
    snprintf(name, sizeof name, "%.*s", (int)(end - begin), path + begin);
    snprintf(mine->dataset, sizeof mine->dataset, "%s", name);
    while (is_taken(results, set)) snprintf(mine->dataset, sizeof mine->dataset, "%s-%zu", name, ++same);
}

static rue_status make_sets(struct rue_scaling *results, const struct rue_study_setup *setup,
                            rue_error *error)
{
    results->set_count = setup->variant_count;
    results->sets = calloc(results->set_count, sizeof *results->sets);
    if (!results->sets) return rue_fail_memory(error, "data", sizeof *results->sets);
    for (size_t s = 0; s < results->set_count; s++) {
        const struct rue_study_variant *variant = &setup->variants[s];
        struct rue_scaling_set *set = &results->sets[s];
        set->variant = variant->variant;
        set->images = variant->opened.images;
        snprintf(set->digest, sizeof set->digest, "%s", variant->opened.digest);
        memcpy(set->cache, variant->workload.cache, sizeof set->cache);
        set->batch_dtype = variant->workload.batch_dtype;
        name_dataset(results, s, setup->goal.data.paths[s]);
    }
    snprintf(results->folder, sizeof results->folder, "%s", setup->place.folder);
    results->job_images = setup->variants[0].job_images;
    return RUE_OK;
}

/* The values that one curve keeps while the other's grow. */
static rue_status choose_fixed(struct rue_scale *scale, const struct rue_study_setup *setup, rue_error *error)
{
    struct rue_config *fixed = &scale->results.fixed;
    uint64_t job = scale->results.job_images;
    int cpus = rue_study_usable_cpus(rue_study_hello(setup));
    if ((uint64_t)scale->fixed_batch > job)
        return rue_fail(error, RUE_USAGE,
                        "--fixed-batch: a batch of %d is larger than the %" PRIu64
                        " images of a trial; give a smaller one, or raise --images",
                        scale->fixed_batch, job);
    *fixed = rue_space_at(&setup->space, 0);
    fixed->value[RUE_BATCH_SIZE] = scale->fixed_batch            ? scale->fixed_batch
                                   : (uint64_t)FIXED_BATCH > job ? (int)job
                                                                 : FIXED_BATCH;
    fixed->value[RUE_NUM_WORKERS] = scale->fixed_workers >= 0 ? scale->fixed_workers
                                    : cpus < FIXED_WORKERS    ? cpus
                                                              : FIXED_WORKERS;
    return RUE_OK;
}

/* The grid that holds both curves: the values asked for, and the fixed ones. */
static rue_status make_grid(const struct rue_study_setup *setup, const struct rue_config *fixed,
                            struct rue_space *grid, rue_error *error)
{
    *grid = setup->space;
    for (size_t k = 0; k < grid->knobs->count; k++) {
        bool curve = k == RUE_BATCH_SIZE || k == RUE_NUM_WORKERS;
        if (!curve) grid->count[k] = 1;
        if (!curve || rue_space_has(grid, k, fixed->value[k]) || rue_space_add(grid, k, fixed->value[k]))
            continue;
        return rue_fail(error, RUE_USAGE, "more than %d values of %s; give fewer", RUE_SPACE_VALUES_MAX - 1,
                        grid->knobs->at[k]->name);
    }
    return RUE_OK;
}

/* The points of the curves, in grid order, into `out`, which has room for them; answers how many. */
static size_t list_points(const struct rue_study_setup *setup, const struct rue_space *grid,
                          const struct rue_config *fixed, struct rue_scaling_row *out)
{
    size_t count = 0;
    for (size_t i = 0, size = rue_space_size(grid); i < size; i++) {
        struct rue_scaling_row row = {.config = rue_space_at(grid, i), .usage = rue_scaling_usage_unknown()};
        int batch = row.config.value[RUE_BATCH_SIZE], workers = row.config.value[RUE_NUM_WORKERS];
        row.of_batches =
            workers == fixed->value[RUE_NUM_WORKERS] && rue_space_has(&setup->space, RUE_BATCH_SIZE, batch);
        row.of_workers =
            batch == fixed->value[RUE_BATCH_SIZE] && rue_space_has(&setup->space, RUE_NUM_WORKERS, workers);
        if (row.of_batches || row.of_workers) out[count++] = row;
    }
    return count;
}

/* Of all sets and models. */
static rue_status make_rows(struct rue_scale *scale, const struct rue_study_setup *setup, rue_error *error)
{
    struct rue_scaling *results = &scale->results;
    struct rue_space grid;
    rue_status status = make_grid(setup, &results->fixed, &grid, error);
    if (status != RUE_OK) return status;
    size_t most = (size_t)(grid.count[RUE_BATCH_SIZE] + grid.count[RUE_NUM_WORKERS]);
    results->rows = calloc(results->set_count * setup->model_count * most, sizeof *results->rows);
    if (!results->rows) return rue_fail_memory(error, "the rows of a table", most * sizeof *results->rows);
    scale->model_count = setup->model_count;
    scale->config_count = list_points(setup, &grid, &results->fixed, results->rows);
    results->row_count = results->set_count * scale->model_count * scale->config_count;
    for (size_t i = 0; i < results->row_count; i++) {
        struct rue_scaling_row *row = &results->rows[i];
        *row = results->rows[i % scale->config_count];
        row->set = i / scale->config_count / scale->model_count;
        memcpy(row->model, setup->models[i / scale->config_count % scale->model_count].name,
               sizeof row->model);
    }
    struct rue_space whole;
    status = rue_study_space(&setup->goal, rue_study_hello(setup), UINT64_MAX, &whole, error);
    for (int i = 0; status == RUE_OK && i < whole.count[RUE_BATCH_SIZE]; i++)
        results->batch_sizes_left_out += (uint64_t)whole.values[RUE_BATCH_SIZE][i] > results->job_images;
    return status;
}

/* ---- time ---- */

static size_t model_of(const struct rue_scale *scale, const struct rue_scaling_row *row)
{
    return (size_t)(row - scale->results.rows) / scale->config_count % scale->model_count;
}

/* Seconds that the rows from `first` on are expected to take. */
static double rows_s(const struct rue_scale *scale, const struct rue_study_setup *setup,
                     const struct rue_scaling_row *first, size_t count, uint64_t images)
{
    double sum = 0;
    for (const struct rue_scaling_row *row = first; row < first + count; row++)
        sum += rue_study_trial_s(setup, row->set, model_of(scale, row), &row->config, images);
    return sum;
}

/* As many images a trial as the budget allows, whole batches, two of the largest at least; what an earlier
 * run took where that is about as many, so that its trials serve. */
static rue_status fit_budget(struct rue_scale *scale, const struct rue_study *study, rue_error *error)
{
    const struct rue_study_setup *setup = &study->setup;
    struct rue_scaling *results = &scale->results;
    uint64_t batch = (uint64_t)results->fixed.value[RUE_BATCH_SIZE], job = results->job_images;
    uint64_t largest = (uint64_t)setup->space.values[RUE_BATCH_SIZE][setup->space.count[RUE_BATCH_SIZE] - 1];
    if (largest > batch) batch = largest;
    uint64_t least = BATCHES_LEAST * batch < job ? BATCHES_LEAST * batch : job, fitting = job;
    double spent_s = (double)rue_study_spent_ns(setup, &study->ledger) / 1e9,
           left_s = fmax(0, (double)scale->budget_ns / 1e9 - spent_s),
           whole_s = rows_s(scale, setup, results->rows, results->row_count, job);
    if (whole_s > left_s) {
        double share = left_s / whole_s * (double)job;
        uint64_t earlier = rue_scale_earlier_images(results->folder, job);
        fitting = (uint64_t)share / batch * batch;
        if (earlier && !setup->goal.output.fresh && (double)earlier > share / 2 &&
            (double)earlier < 2 * share)
            fitting = earlier;
    }
    results->trial_images = fitting;
    scale->expected_s = rows_s(scale, setup, results->rows, results->row_count, fitting);
    if (fitting >= least) return RUE_OK;
    char has[RUE_UNIT_TEXT_BYTES], needs[RUE_UNIT_TEXT_BYTES];
    double needed_s = rows_s(scale, setup, results->rows, results->row_count, least) + spent_s;
    return rue_fail(error, RUE_INCONCLUSIVE,
                    "a budget of %s is too small for %zu trials of %" PRIu64
                    " images each, which take about %s: give a larger --budget, fewer values, or "
                    "smaller batches",
                    rue_format_duration(scale->budget_ns, has, sizeof has), results->row_count, least,
                    rue_format_duration((uint64_t)(needed_s * 1e9), needs, sizeof needs));
}

rue_status rue_scale_plan(struct rue_scale *scale, struct rue_study *study, rue_error *error)
{
    rue_status status = make_sets(&scale->results, &study->setup, error);
    if (status == RUE_OK) status = choose_fixed(scale, &study->setup, error);
    if (status == RUE_OK) status = make_rows(scale, &study->setup, error);
    if (status == RUE_OK) status = rue_study_probe(&study->setup, &study->ledger, error);
    return status == RUE_OK ? fit_budget(scale, study, error) : status;
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

/* The trial of an earlier run whose samples are there. */
static rue_status take_earlier(const struct rue_scale *scale, struct rue_study *study,
                               struct rue_trial_request *request, struct rue_scaling_row *row, bool *found,
                               rue_error *error)
{
    struct stat about;
    struct rue_trial_result result;
    struct rue_scaling_usage usage;
    uint64_t trial;
    char path[PATH_MAX];
    rue_scale_monitor_path(scale, row, path);
    *found = false;
    if (stat(path, &about) != 0 || !rue_monitor_read(path, &trial, &usage)) return RUE_OK;
    rue_status status = rue_study_take_stored(&study->setup, &study->ledger, row->set, model_of(scale, row),
                                              request, trial, found, &result, error);
    if (status != RUE_OK || !*found) return status;
    row->usage = usage;
    take_result(&result, row);
    stamp(about.st_mtime, row->timestamp);
    rue_trial_result_close(&result);
    return RUE_OK;
}

static rue_status watch_trial(const struct rue_scale *scale, struct rue_study *study,
                              struct rue_trial_request *request, struct rue_scaling_row *row,
                              rue_error *error)
{
    const struct rue_study_setup *setup = &study->setup;
    struct rue_trial_result result;
    struct rue_monitor *monitor;
    const struct rue_monitor_sample *samples;
    pid_t root;
    rue_status status = rue_runner_ensure(setup->host.runner, &root, error);
    if (status == RUE_OK) status = rue_monitor_open(root, scale->gpu, scale->period_ns, &monitor, error);
    if (status != RUE_OK) return status;
    uint64_t expected_ns = (uint64_t)(rows_s(scale, setup, row, 1, request->images) * 1e9);
    status = rue_study_measure(setup, &study->ledger, row->set, model_of(scale, row), request, RUE_STUDY_ANEW,
                               expected_ns, &result, error);
    rue_monitor_stop(monitor);
    if (status == RUE_OK) {
        /* Warming, evicting and attempts that did not count came before. */
        if (!rue_study_hello(setup)->virtual_clock && result.end_to_end_ns > 0)
            rue_monitor_cut(monitor, (uint64_t)result.end_to_end_ns);
        size_t count = rue_monitor_samples(monitor, &samples);
        rue_monitor_sum_up(samples, count, &row->usage);
        take_result(&result, row);
        stamp(time(NULL), row->timestamp);
        status = rue_scale_write_monitor(scale, row, monitor,
                                         study->ledger.rows[study->ledger.last_row].trial.id, error);
        rue_trial_result_close(&result);
    }
    rue_monitor_close(monitor);
    return status;
}

static void show_progress(const struct rue_scale *scale, const struct rue_study_setup *setup,
                          const struct rue_scaling_row *row)
{
    char label[RUE_CONFIG_TEXT_BYTES], left[RUE_UNIT_TEXT_BYTES];
    size_t done = (size_t)(row - scale->results.rows), all = scale->results.row_count;
    double rest_s = rows_s(scale, setup, row, all - done, scale->results.trial_images);
    rue_config_label(&row->config, label);
    rue_progress_show(setup->progress, "%zu of %zu: %s %s %s, about %s left", done + 1, all,
                      scale->results.sets[row->set].dataset, row->model, label,
                      rue_format_duration((uint64_t)(rest_s * 1e9), left, sizeof left));
}

static rue_status try_row(struct rue_scale *scale, struct rue_study *study, struct rue_scaling_row *row,
                          rue_error *error)
{
    const struct rue_study_setup *setup = &study->setup;
    struct rue_scaling_set *set = &scale->results.sets[row->set];
    struct rue_trial_request request = {
        .measure = RUE_JOINT, .config = row->config, .images = scale->results.trial_images};
    if (rue_study_hello(setup)->whole_jobs) request.images = scale->results.job_images;
    bool found;
    if (rue_progress_due(setup->progress)) show_progress(scale, setup, row);
    rue_status status = take_earlier(scale, study, &request, row, &found, error);
    if (status != RUE_OK || found) return status;
    status = watch_trial(scale, study, &request, row, error);
    if (status != RUE_OK || !rue_study_is_data_fault(setup, row->set, row->outcome, row->reason))
        return status;
    snprintf(set->fault, sizeof set->fault, "%s", row->reason);
    rue_progress_note(setup->progress, "%s is given up: %s", set->dataset, set->fault);
    return RUE_OK;
}

/* ---- all of them ---- */

static rue_status judge(const struct rue_scaling *results, rue_error *error)
{
    size_t faults = 0, first = 0, ok = 0;
    for (size_t s = results->set_count; s-- > 0;)
        if (results->sets[s].fault[0]) faults++, first = s;
    for (size_t i = 0; i < results->row_count; i++) ok += !isnan(rue_scaling_rate(&results->rows[i]));
    if (faults)
        return rue_fail(error, RUE_DATA, "%zu of %zu data could not be measured to the end; the first: %s",
                        faults, results->set_count, results->sets[first].fault);
    if (ok || results->partial_reason[0]) return RUE_OK;
    return rue_fail(error, RUE_INFEASIBLE, "no configuration could be measured; the first: %s",
                    results->rows[0].reason);
}

rue_status rue_scale_run(struct rue_scale *scale, struct rue_study *study, rue_error *error)
{
    struct rue_scaling *results = &scale->results;
    for (size_t i = 0; i < results->row_count && !results->partial_reason[0]; i++) {
        struct rue_scaling_row *row = &results->rows[i];
        if (results->sets[row->set].fault[0]) continue;
        rue_status status = rue_interrupt_status();
        if (status != RUE_OK) rue_fail(error, status, "interrupted");
        if (status == RUE_OK && scale->budget_ns &&
            rue_study_spent_ns(&study->setup, &study->ledger) > 2 * scale->budget_ns)
            strcpy(results->partial_reason, "Trials took more than twice the budget: what was not tried is "
                                            "left out; run it again to go on.");
        else if (status == RUE_OK)
            status = try_row(scale, study, row, error);
        if (status == RUE_INTERRUPTED || status == RUE_TERMINATED)
            strcpy(results->partial_reason,
                   "Interrupted: what was not tried is left out; run it again to go on.");
        if (status != RUE_OK) return status;
    }
    return judge(results, error);
}
