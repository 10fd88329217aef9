#include "scale_run.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "source.h"
#include "study_folder.h"
#include "study_ledger.h"
#include "study_space.h"
#include "study_trials.h"
#include "suspension.h"
#include "units.h"

/* The usual experiments. */
enum { FIXED_BATCH = 64, FIXED_WORKERS = 4, PROBE_BATCHES = 2 };
static const char usual_workers[] = "0..8";

/* Whether another of the data is the same in the same format: a copy, on another disk perhaps. */
static bool has_copy(const struct rue_scaling *results, size_t set)
{
    const struct rue_scaling_set *own = &results->sets[set];
    for (size_t s = 0; s < results->set_count; s++) {
        const struct rue_scaling_set *other = &results->sets[s];
        if (s != set && own->digest[0] && strcmp(other->digest, own->digest) == 0 &&
            other->variant.mode == own->variant.mode &&
            strcmp(other->variant.format, own->variant.format) == 0 &&
            strcmp(other->variant.dtype, own->variant.dtype) == 0)
            return true;
    }
    return false;
}

void rue_scale_study_goal(const struct rue_scale *scale, size_t set, bool probe, struct rue_study_goal *out)
{
    const struct rue_scale_goal *goal = &scale->goal;
    *out = (struct rue_study_goal){.data.count = 1,
                                   .data.paths = &goal->data[set],
                                   .loader.runner = goal->runner,
                                   .models.names = goal->models,
                                   .models.device = goal->device,
                                   .job.images = goal->images ? goal->images : scale->results.job_images,
                                   .search.strategy = rue_strategies[0]->name,
                                   .loader.trial_timeout_ns = goal->trial_timeout_ns,
                                   .search.repeats = 1,
                                   .loader.memory_bytes = goal->memory_bytes,
                                   .loader.workload = goal->workload,
                                   .output.folder = goal->out,
                                   .output.name_suffix = "-scale",
                                   .data.keys = goal->keys,
                                   .output.goes_on = scale->done > 0,
                                   .data.has_copy = !probe && has_copy(&scale->results, set),
                                   .output.keep_nothing = probe,
                                   .output.dry_run = goal->dry_run,
                                   .output.fresh = !probe && scale->fresh,
                                   .output.reports = rue_scale_reports,
                                   .output.command_line = goal->command_line};
    if (scale->results.folder[0]) out->output.folder = scale->results.folder;
    out->data.modes[scale->results.sets[set].variant.mode] = true;
    out->space.knobs = goal->knobs;
    rue_knob_choices_add(&out->space.knobs, "num_workers", usual_workers,
                         "--num-workers"); /* unless they are asked for */
}

/* ---- names ---- */

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

/* ---- configurations ---- */

static void add_config(struct rue_scaling_row *configs, size_t *count, const struct rue_config *config,
                       enum rue_knob knob)
{
    size_t at = 0;
    while (at < *count && !rue_config_equal(&configs[at].config, config)) at++;
    if (at == *count) configs[(*count)++] = (struct rue_scaling_row){.config = *config};
    configs[at].of_batches |= knob == RUE_BATCH_SIZE;
    configs[at].of_workers |= knob == RUE_NUM_WORKERS;
}

static int by_config(const void *a, const void *b)
{
    const struct rue_config *x = &((const struct rue_scaling_row *)a)->config,
                            *y = &((const struct rue_scaling_row *)b)->config;
    for (size_t k = 0; k < rue_config_knobs(x)->count; k++)
        if (x->value[k] != y->value[k]) return x->value[k] < y->value[k] ? -1 : 1;
    return 0;
}

/* The values that one curve keeps while the other's grow. */
static rue_status choose_fixed(struct rue_scale *scale, const struct rue_study_setup *setup, rue_error *error)
{
    const struct rue_scale_goal *goal = &scale->goal;
    const struct rue_space *space = &setup->space;
    struct rue_config *fixed = &scale->results.fixed;
    uint64_t job = setup->variants[0].job_images;
    if ((uint64_t)goal->fixed_batch > job)
        return rue_fail(error, RUE_USAGE,
                        "--fixed-batch: a batch of %d is larger than the %" PRIu64
                        " images of a trial; give a smaller one, or raise --images",
                        goal->fixed_batch, job);
    scale->cpus = rue_study_usable_cpus(rue_study_hello(setup));
    *fixed = rue_space_at(space, 0);
    fixed->value[RUE_BATCH_SIZE] = goal->fixed_batch             ? goal->fixed_batch
                                   : (uint64_t)FIXED_BATCH > job ? (int)job
                                                                 : FIXED_BATCH;
    fixed->value[RUE_NUM_WORKERS] = goal->fixed_workers >= 0      ? goal->fixed_workers
                                    : scale->cpus < FIXED_WORKERS ? scale->cpus
                                                                  : FIXED_WORKERS;
    return RUE_OK;
}

static size_t list_configs(const struct rue_scale *scale, const struct rue_study_setup *setup,
                           struct rue_scaling_row configs[2 * RUE_SPACE_VALUES_MAX])
{
    static const enum rue_knob knobs[] = {RUE_BATCH_SIZE, RUE_NUM_WORKERS};
    size_t count = 0;
    for (size_t k = 0; k < sizeof knobs / sizeof *knobs; k++)
        for (int i = 0; i < setup->space.count[knobs[k]]; i++) {
            struct rue_config config = scale->results.fixed;
            config.value[knobs[k]] = setup->space.values[knobs[k]][i];
            add_config(configs, &count, &config, knobs[k]);
        }
    qsort(configs, count, sizeof *configs, by_config);
    return count;
}

/* The rows of all sets and models, once the first of the data is open. */
static rue_status make_rows(struct rue_scale *scale, const struct rue_study_setup *setup, rue_error *error)
{
    struct rue_scaling *results = &scale->results;
    rue_status status = choose_fixed(scale, setup, error);
    if (status != RUE_OK) return status;
    struct rue_scaling_row *configs = calloc(2 * RUE_SPACE_VALUES_MAX, sizeof *configs);
    if (!configs) return rue_fail_memory(error, "configurations", sizeof *configs);
    struct rue_space whole;
    status = rue_study_space(&setup->goal, rue_study_hello(setup), UINT64_MAX, &whole, error);
    if (status != RUE_OK) return free(configs), status;
    for (int i = 0; i < whole.count[RUE_BATCH_SIZE]; i++)
        results->batch_sizes_left_out += (uint64_t)whole.values[RUE_BATCH_SIZE][i] > results->job_images;
    scale->config_count = list_configs(scale, setup, configs);
    scale->model_count = setup->model_count;
    for (size_t m = 0; m < scale->model_count; m++)
        memcpy(scale->models[m], setup->models[m].name, sizeof scale->models[m]);
    size_t count = results->set_count * scale->model_count * scale->config_count;
    results->rows = calloc(count + 1, sizeof *results->rows);
    scale->rates = calloc(results->set_count * scale->model_count + 1, sizeof *scale->rates);
    if (!results->rows || !scale->rates) {
        free(configs);
        return rue_fail_memory(error, "the rows of a table", count * sizeof *results->rows);
    }
    for (size_t s = 0; s < results->set_count; s++)
        for (size_t m = 0; m < scale->model_count; m++)
            for (size_t c = 0; c < scale->config_count; c++) {
                struct rue_scaling_row *row = &results->rows[results->row_count++];
                *row = configs[c];
                row->set = s;
                row->usage = rue_scaling_usage_unknown();
                memcpy(row->model, scale->models[m], sizeof row->model);
            }
    free(configs);
    return RUE_OK;
}

/* Rows of data that cannot be opened are none. */
static void drop_rows(struct rue_scaling *results)
{
    size_t kept = 0;
    for (size_t i = 0; i < results->row_count; i++)
        if (!results->sets[results->rows[i].set].fault[0]) results->rows[kept++] = results->rows[i];
    results->row_count = kept;
}

/* ---- probes ---- */

/* Images a second of the fixed configuration, from one short trial with each model. */
static rue_status probe_rates(struct rue_scale *scale, const struct rue_study_setup *setup,
                              struct rue_study_ledger *ledger, size_t set, rue_error *error)
{
    uint64_t job = setup->variants[0].job_images,
             batch = (uint64_t)scale->results.fixed.value[RUE_BATCH_SIZE];
    for (size_t m = 0; m < scale->model_count; m++) {
        struct rue_trial_result result;
        struct rue_trial_request request = {.measure = RUE_JOINT, .config = scale->results.fixed};
        request.images = PROBE_BATCHES * batch < job ? PROBE_BATCHES * batch : job;
        if (rue_study_hello(setup)->whole_jobs) request.images = job;
        rue_status status = rue_study_measure(setup, ledger, 0, m, &request, 0, 0, &result, error);
        if (status != RUE_OK) return status;
        if (result.outcome == RUE_TRIAL_OK && result.end_to_end_ns > 0)
            scale->rates[set * scale->model_count + m] =
                (double)result.images * 1e9 / (double)result.end_to_end_ns;
        else
            status = rue_study_fail_probe(setup, 0, result.outcome, result.reason, error);
        rue_trial_result_close(&result);
        if (status != RUE_OK) return status;
    }
    return RUE_OK;
}

static rue_status probe_open(struct rue_scale *scale, struct rue_study_setup *setup,
                             struct rue_study_ledger *ledger, size_t set, rue_error *error)
{
    struct rue_scaling *results = &scale->results;
    struct rue_scaling_set *mine = &results->sets[set];
    const struct rue_hello *hello = rue_study_hello(setup);
    mine->variant = setup->variants[0].variant;
    mine->images = setup->variants[0].opened.images;
    snprintf(mine->digest, sizeof mine->digest, "%s", setup->variants[0].opened.digest);
    memcpy(mine->cache, setup->variants[0].workload.cache, sizeof mine->cache);
    mine->batch_dtype = setup->variants[0].workload.batch_dtype;
    if (!results->job_images) {
        rue_study_choose_folder(setup);
        snprintf(results->folder, sizeof results->folder, "%s", setup->place.folder);
        results->job_images = setup->variants[0].job_images;
        snprintf(scale->runner, sizeof scale->runner, "%s", hello->runner);
        snprintf(scale->runner_machine, sizeof scale->runner_machine, "%s", hello->machine_json);
        snprintf(scale->started, sizeof scale->started, "%s", setup->started);
        rue_study_libraries(scale->libraries, sizeof scale->libraries);
        rue_status status = make_rows(scale, setup, error);
        if (status != RUE_OK) return status;
    }
    return probe_rates(scale, setup, ledger, set, error);
}

static rue_status probe_study(struct rue_study *study, void *context, rue_error *error)
{
    const struct rue_scale_part *part = context;
    struct rue_scale *scale = part->scale;
    rue_progress_show(scale->goal.progress, "probing %s", scale->results.sets[part->set].dataset);
    rue_status status = probe_open(scale, &study->setup, &study->ledger, part->set, error);
    scale->spent_ns += rue_study_spent_ns(&study->setup, &study->ledger);
    return status;
}

static rue_status probe_set(struct rue_scale *scale, size_t set, rue_error *error)
{
    static const struct rue_study_steps steps = {.run = probe_study};
    struct rue_scaling_set *mine = &scale->results.sets[set];
    struct rue_scale_part part = {scale, set};
    struct rue_study_goal goal;
    rue_status status = rue_source_detect(scale->goal.data[set], &scale->goal.keys, &mine->variant, error);
    if (status != RUE_OK) return status;
    rue_scale_study_goal(scale, set, true, &goal);
    return rue_study_perform(&goal, scale->goal.progress, &steps, &part, error);
}

/* What is wrong with one of the data keeps the others from nothing, unless it is all there is. */
static rue_status probe_all(struct rue_scale *scale, rue_error *error)
{
    struct rue_scaling *results = &scale->results;
    size_t faults = 0;
    for (size_t s = 0; s < results->set_count; s++) {
        struct rue_scaling_set *set = &results->sets[s];
        rue_error why = {0};
        name_dataset(results, s, scale->goal.data[s]);
        snprintf(set->variant.path, sizeof set->variant.path, "%s", scale->goal.data[s]);
        rue_status status = probe_set(scale, s, &why);
        if (status == RUE_OK) continue;
        bool of_data = status == RUE_DATA || status == RUE_INFEASIBLE;
        if (!of_data || ++faults == results->set_count) return rue_fail(error, status, "%s", why.message);
        rue_error_shorten(why.message, set->fault, sizeof set->fault);
        rue_progress_note(scale->goal.progress, "%s is left out: %s", set->dataset, set->fault);
    }
    return RUE_OK;
}

/* ---- time ---- */

/* Seconds an image: the loader's rate grows with the workers up to the CPUs. */
static double image_s(const struct rue_scale *scale, const struct rue_scaling_row *row)
{
    size_t model = 0;
    while (strcmp(scale->models[model], row->model) != 0) model++;
    int workers = row->config.value[RUE_NUM_WORKERS], probed = scale->results.fixed.value[RUE_NUM_WORKERS];
    double threads = fmin(fmax(workers, 1), scale->cpus), probed_threads = fmin(fmax(probed, 1), scale->cpus);
    return probed_threads / threads / scale->rates[row->set * scale->model_count + model];
}

double rue_scale_row_s(const struct rue_scale *scale, const struct rue_scaling_row *row)
{
    return (double)scale->results.trial_images * image_s(scale, row);
}

static double all_s(const struct rue_scale *scale, uint64_t images)
{
    double sum = 0;
    for (size_t i = 0; i < scale->results.row_count; i++)
        sum += (double)images * image_s(scale, &scale->results.rows[i]);
    return sum;
}

static uint64_t largest_batch(const struct rue_scaling *results)
{
    uint64_t largest = 1;
    for (size_t i = 0; i < results->row_count; i++)
        if ((uint64_t)results->rows[i].config.value[RUE_BATCH_SIZE] > largest)
            largest = (uint64_t)results->rows[i].config.value[RUE_BATCH_SIZE];
    return largest;
}

/* As many images a trial as the budget allows, whole batches, two of the largest at least; what an earlier
 * run took where that is about as many, so that its trials serve. */
static rue_status fit_budget(struct rue_scale *scale, rue_error *error)
{
    struct rue_scaling *results = &scale->results;
    uint64_t batch = largest_batch(results), job = results->job_images;
    uint64_t least = PROBE_BATCHES * batch < job ? PROBE_BATCHES * batch : job;
    double left_s = ((double)scale->goal.budget_ns - (double)scale->spent_ns) / 1e9,
           whole_s = all_s(scale, job);
    results->trial_images = job;
    if (whole_s > left_s) {
        double share = fmax(0, left_s) / whole_s * (double)job;
        uint64_t fitting = (uint64_t)share / batch * batch;
        uint64_t earlier = rue_scale_earlier_images(results->folder, job);
        if (earlier && !scale->goal.fresh && (double)earlier > share / 2 && (double)earlier < 2 * share)
            fitting = earlier;
        if (fitting < least) {
            char has[RUE_UNIT_TEXT_BYTES], needs[RUE_UNIT_TEXT_BYTES];
            double needed_s = all_s(scale, least) + (double)scale->spent_ns / 1e9;
            return rue_fail(error, RUE_INCONCLUSIVE,
                            "a budget of %s is too small for %zu trials of %" PRIu64
                            " images each, which take about %s: give a larger --budget, fewer values, or "
                            "smaller batches",
                            rue_format_duration(scale->goal.budget_ns, has, sizeof has), results->row_count,
                            least, rue_format_duration((uint64_t)(needed_s * 1e9), needs, sizeof needs));
        }
        results->trial_images = fitting < job ? fitting : job;
    }
    scale->expected_s = all_s(scale, results->trial_images);
    return RUE_OK;
}

rue_status rue_scale_plan(struct rue_scale *scale, rue_error *error)
{
    scale->results.set_count = scale->goal.data_count;
    scale->results.sets = calloc(scale->goal.data_count, sizeof *scale->results.sets);
    if (!scale->results.sets) return rue_fail_memory(error, "data", sizeof *scale->results.sets);
    rue_status status = probe_all(scale, error);
    if (status != RUE_OK) return status;
    drop_rows(&scale->results);
    return fit_budget(scale, error);
}
