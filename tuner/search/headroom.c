#include "headroom.h"

#include <math.h>
#include <string.h>

#include "causes.h"
#include "flight.h"
#include "interrupt.h"
#include "job_time.h"
#include "knob_list.h"
#include "study_outcome.h"
#include "study_space.h"
#include "trial_failures.h"

enum { PAIRS_MIN = 3, PAIRS_MAX = 40, FEW_BATCHES = 3 };

static const double confidence = RUE_DEFAULT_CONFIDENCE;
static const double precise = 0.01;      /* half the width of the loss's interval at which it is known */
static const double loader_share = 0.75; /* of a pair's time */
static const double few_pairs = 5;       /* that the budget should allow */
static const double least_loss = 0.02;   /* that is worth an advice */
static const double busy_share = 0.8;    /* of CPUs or of workers' time */

rue_status rue_headroom_config(const struct rue_study_setup *setup, struct rue_config *out, rue_error *error)
{
    const struct rue_space *space = &setup->space;
    const struct rue_knob_choices *choices = &setup->goal.space.knobs;
    *out = rue_study_default_config(space);
    for (size_t i = 0; i < choices->count; i++) {
        int knob = rue_knob_find(space->knobs, choices->at[i].name);
        if (knob < 0 || space->count[knob] == 1) continue;
        return rue_fail(error, RUE_USAGE,
                        "%s: headroom measures one configuration: give one value of %s, not %d",
                        choices->at[i].origin, choices->at[i].name, space->count[knob]);
    }
    int cpus = rue_study_usable_cpus(rue_study_hello(setup));
    out->value[RUE_NUM_WORKERS] = rue_space_nearest(space, RUE_NUM_WORKERS, cpus);
    return RUE_OK;
}

/* The measurement of one model. */
struct model {
    const struct rue_study_setup *setup;
    struct rue_study_ledger *ledger;
    struct rue_variant_findings *found; /* counts trials */
    const struct rue_config *config;
    size_t index;
    uint64_t end_ns;           /* of its share of the budget */
    uint64_t images, batches;  /* of its next trials */
    double epoch_ns, steps_ns; /* of the whole epoch, as the last trials show */
    double pair_ns;            /* that the last pair cost */
    bool predicted;
    double sums[4];    /* over the trials of the loader: first_batch_ns, CPU time, idle time, time */
    double steps_cpus; /* CPUs that the steps alone use */
    size_t pairs;
    double ratios[PAIRS_MAX], epochs_ns, all_steps_ns;
};

enum { SUM_FIRST, SUM_CPU, SUM_IDLE, SUM_TIME };

static uint64_t job_images(const struct model *model)
{
    return model->setup->variants[0].job_images;
}

static rue_status make_trial(struct model *model, struct rue_flight *flight, rue_error *error)
{
    rue_status status = rue_interrupt_status();
    if (status != RUE_OK) return rue_fail(error, status, "interrupted");
    flight->at.model = model->index;
    flight->request.config = *model->config;
    status = rue_study_measure(model->setup, model->ledger, flight, RUE_STUDY_NEW_TRIAL, error);
    if (status != RUE_OK) return status;
    status = rue_study_check_data(&flight->result, error);
    if (status == RUE_OK && flight->result.outcome != RUE_TRIAL_OK)
        status = rue_fail(error, RUE_INFEASIBLE, "a trial of %s %s: %s; fix this, then run it again",
                          model->setup->models[model->index].name, rue_outcome_names[flight->result.outcome],
                          flight->result.reason);
    if (status != RUE_OK) rue_trial_result_close(&flight->result);
    return status;
}

/* Batches of an epoch; a last one that is not full counts by its share. */
static double epoch_batches(const struct model *model)
{
    bool drop_last = model->setup->goal.loader.workload.drop_last;
    return (double)rue_config_images(model->config, drop_last, job_images(model)) /
           model->config->value[RUE_BATCH_SIZE];
}

/* The steps alone, on a batch that stays in memory. */
static rue_status measure_steps(struct model *model, rue_error *error)
{
    struct rue_flight flight = {.request = {.measure = RUE_COMPUTE, .batches = model->batches}};
    rue_status status = make_trial(model, &flight, error);
    if (status != RUE_OK) return status;
    const struct rue_trial_result *result = &flight.result;
    model->steps_ns = (double)result->compute_ns / (double)result->batches * epoch_batches(model);
    model->steps_cpus = isnan(result->cpu_ratio) ? 0 : result->cpu_ratio;
    rue_trial_result_close(&flight.result);
    if (model->steps_ns > 0) return RUE_OK;
    return rue_fail(error, RUE_USAGE,
                    "the steps of %s take no time, so loading is all of an epoch: give --model",
                    model->setup->models[model->index].name);
}

/* `epoch_ns` is NaN if the trial is too short to extend it. */
static rue_status measure_loader(struct model *model, rue_error *error)
{
    struct rue_flight flight = {.request = {.measure = RUE_JOINT, .images = model->images, .detail = true}};
    rue_status status = make_trial(model, &flight, error);
    if (status != RUE_OK) return status;
    const struct rue_trial_result *result = &flight.result;
    double time_ns = (double)result->end_to_end_ns;
    rue_findings_count_trial(model->found, result);
    model->epoch_ns = rue_job_time_ns(result, job_images(model), model->setup->goal.loader.workload.drop_last,
                                      &model->predicted);
    model->sums[SUM_FIRST] += result->first_batch_ns == RUE_ABSENT ? NAN : (double)result->first_batch_ns;
    model->sums[SUM_CPU] += result->cpu_ratio * time_ns;
    model->sums[SUM_IDLE] += result->cpu_idle_ratio * time_ns;
    model->sums[SUM_TIME] += time_ns;
    rue_trial_result_close(&flight.result);
    return RUE_OK;
}

/* One of each, in alternating order. */
static rue_status measure_pair(struct model *model, rue_error *error)
{
    uint64_t start_ns = rue_study_spent_ns(model->setup, model->ledger);
    bool steps_first = model->pairs % 2 == 0;
    rue_status status = steps_first ? measure_steps(model, error) : measure_loader(model, error);
    if (status == RUE_OK) status = steps_first ? measure_loader(model, error) : measure_steps(model, error);
    model->pair_ns = (double)(rue_study_spent_ns(model->setup, model->ledger) - start_ns);
    return status;
}

/* Whole epochs, if the budget allows some; else as long as it allows. The first pair, which warms up what is
 * slow at first, is shortest and does not count. */
static rue_status size_trials(struct model *model, rue_error *error)
{
    uint64_t job = job_images(model), size = (uint64_t)model->config->value[RUE_BATCH_SIZE];
    model->images = rue_study_hello(model->setup)->whole_jobs ? job : rue_job_min_images(model->config, job);
    model->batches = FEW_BATCHES;
    rue_status status = measure_pair(model, error);
    if (status == RUE_OK && !(model->epoch_ns > 0)) {
        model->images = job;
        status = measure_pair(model, error);
    }
    if (status != RUE_OK) return status;
    double left_ns = (double)model->end_ns - (double)rue_study_spent_ns(model->setup, model->ledger);
    double each_ns = fmax(0, left_ns) / few_pairs;
    double share = fmin(1, each_ns * loader_share / model->epoch_ns);
    uint64_t images = (uint64_t)(share * (double)job) / size * size;
    if (share == 1) images = job;
    if (images > model->images) model->images = images;
    double batch_ns = model->steps_ns / epoch_batches(model);
    double batches = each_ns * (1 - loader_share) / batch_ns;
    model->batches = (uint64_t)fmin(fmax(FEW_BATCHES, batches), fmax(FEW_BATCHES, (double)(job / size)));
    memset(model->sums, 0, sizeof model->sums);
    return RUE_OK;
}

/* Whether another pair is not worth its time. */
static bool is_known(const struct model *model)
{
    if (model->pairs == PAIRS_MAX) return true;
    uint64_t spent_ns = rue_study_spent_ns(model->setup, model->ledger);
    bool fits = (double)spent_ns + model->pair_ns <= (double)model->end_ns;
    if (model->pairs < PAIRS_MIN) return !fits && model->pairs >= 2;
    const struct rue_speedup gain = rue_speedup_of_pairs(model->ratios, model->pairs, confidence);
    return !fits || (model->pairs >= (size_t)few_pairs && 1 / gain.low - 1 / gain.high <= 2 * precise);
}

/* What limits loading; times are those of the loader's trials. */
static enum rue_loading_limit find_limit(const struct rue_headroom_row *row, int cpus, int workers)
{
    double lost_ns = row->epoch_ns - row->steps_ns;
    if (rue_headroom_loss(row->gain.ratio) < least_loss) return RUE_LIMIT_NOTHING;
    if (workers == 0) return RUE_LIMIT_CALLER;
    if (row->first_batch_ns > lost_ns / 2) return RUE_LIMIT_START;
    if (isnan(row->busy_cpus) || isnan(row->idle_cpus)) return RUE_LIMIT_UNKNOWN;
    if (row->idle_cpus < (1 - busy_share) * cpus) {
        if (row->other_cpus > (1 - busy_share) * cpus) return RUE_LIMIT_OTHERS;
        return row->busy_cpus < (cpus - row->idle_cpus - row->other_cpus) / 2 ? RUE_LIMIT_STEPS
                                                                              : RUE_LIMIT_CPUS;
    }
    return row->busy_cpus > busy_share * workers ? RUE_LIMIT_WORKERS : RUE_LIMIT_WAITS;
}

static struct rue_headroom_row summarise(const struct model *model, const struct rue_headroom *headroom)
{
    double pairs = (double)model->pairs, time_ns = model->sums[SUM_TIME];
    struct rue_headroom_row row = {.model = model->setup->models[model->index].name,
                                   .pairs = model->pairs,
                                   .epoch_ns = model->epochs_ns / pairs,
                                   .steps_ns = model->all_steps_ns / pairs,
                                   .predicted = model->predicted,
                                   .gain = rue_speedup_of_pairs(model->ratios, model->pairs, confidence),
                                   .first_batch_ns = model->sums[SUM_FIRST] / pairs,
                                   .idle_cpus = model->sums[SUM_IDLE] / time_ns};
    double steps_share = row.steps_ns / row.epoch_ns;
    double used_cpus = model->sums[SUM_CPU] / time_ns;
    row.busy_cpus = fmax(0, used_cpus - model->steps_cpus * steps_share);
    row.other_cpus = fmax(0, headroom->cpus - used_cpus - row.idle_cpus);
    row.limit = find_limit(&row, headroom->cpus, model->config->value[RUE_NUM_WORKERS]);
    return row;
}

static rue_status measure_model(struct model *model, rue_error *error)
{
    rue_status status = size_trials(model, error);
    while (status == RUE_OK && !is_known(model)) {
        if (rue_progress_due(model->setup->progress))
            rue_progress_show(model->setup->progress, "%s: trial %zu of the loader and of the steps alone",
                              model->setup->models[model->index].name, model->pairs + 1);
        status = measure_pair(model, error);
        if (status != RUE_OK) break;
        model->ratios[model->pairs++] = model->epoch_ns / model->steps_ns;
        model->epochs_ns += model->epoch_ns;
        model->all_steps_ns += model->steps_ns;
    }
    return status;
}

rue_status rue_headroom_measure(struct rue_study *study, const struct rue_config *config,
                                struct rue_headroom *out, rue_error *error)
{
    const struct rue_study_setup *setup = &study->setup;
    const struct rue_hello *hello = rue_study_hello(setup);
    rue_status status = RUE_OK;
    for (size_t m = 0; m < setup->model_count; m++)
        if (strcmp(setup->models[m].name, "none") == 0)
            return rue_fail(error, RUE_USAGE,
                            "the model none has no steps, so loading is all of an epoch: name another model");
    if (!hello->measures[RUE_COMPUTE] || !hello->measures[RUE_JOINT])
        return rue_fail(error, RUE_USAGE,
                        "the runner %s cannot measure the steps alone, so their time is unknown",
                        hello->runner);
    out->config = *config;
    out->images = setup->variants[0].job_images;
    out->cpus = rue_study_usable_cpus(hello);
    out->findings = (struct rue_findings){
        .changes = study->outcome.changes, .variants = &out->variant, .variant_count = 1};
    rue_study_describe_runner(setup, &out->findings.runner);
    for (size_t m = 0; status == RUE_OK && m < setup->model_count; m++) {
        uint64_t spent_ns = rue_study_spent_ns(setup, &study->ledger),
                 budget_ns = setup->goal.search.budget.time_ns;
        uint64_t left_ns = budget_ns > spent_ns ? budget_ns - spent_ns : 0;
        struct model model = {.setup = setup,
                              .ledger = &study->ledger,
                              .found = &out->variant,
                              .config = config,
                              .index = m,
                              .end_ns = spent_ns + left_ns / (setup->model_count - m)};
        status = measure_model(&model, error);
        if (status == RUE_OK) out->rows[out->row_count++] = summarise(&model, out);
    }
    if (status == RUE_OK)
        status =
            rue_causes_check_idle(setup, "after the last trial", out->findings.changes.busy_after, error);
    return status;
}
