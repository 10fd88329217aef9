/* What a strategy thinks in one study: CPU seconds of its questions and of what it makes of the answers,
 * which come from a machine that answers at once, for spaces of two sizes, and where a runner makes joint
 * trials alone; for comparison, how many trials it asked for.
 *
 *   thinking [STRATEGY...] */
#include <math.h>

#include "bench.h"
#include "pipeline.h"
#include "random.h"
#include "space.h"
#include "strategy.h"

enum { JOB = 10000, MODELS_MAX = 50 };

static const double budget_share = 0.05; /* of the time of all cells */
static const double trial_s = 0.3;       /* beside its own time */

struct size {
    int sizes, workers, models;
    double goal_s;
    bool joint_alone;
};

static const struct rue_pipeline_loader loader = {
    .value = {[RUE_PIPELINE_start_s] = 0.3,
              [RUE_PIPELINE_start_worker_s] = 0.05,
              [RUE_PIPELINE_batch_s] = 5e-3,
              [RUE_PIPELINE_inline_ratio] = 1,
              [RUE_PIPELINE_beside_ratio] = 1,
              [RUE_PIPELINE_warm_up_ratio] = 0.05,
              [RUE_PIPELINE_item_s] = 8e-3,
              [RUE_PIPELINE_contention_ratio] = 0.005,
              [RUE_PIPELINE_storage_s] = 3e-4,
              [RUE_PIPELINE_jitter_ratio] = 0.1,
              [RUE_PIPELINE_stop_worker_s] = 0.01},
    .cpus = 48,
    .round_robin = true,
};
static struct rue_config *configs;
static struct rue_pipeline_consumer models[MODELS_MAX];
static uint64_t seed = 1;

static struct rue_pipeline_times predict_times(const struct rue_question *ask,
                                               struct rue_pipeline_consumer consumer)
{
    return rue_pipeline_predict(&loader, &consumer, &configs[ask->config], ask->images ? ask->images : JOB);
}

static int64_t ns(double seconds)
{
    return (int64_t)(1e9 * seconds);
}

static struct rue_trial_result answer(const struct rue_question *ask)
{
    struct rue_trial_result result = rue_trial_result_empty();
    struct rue_pipeline_consumer none = {2e-3, 0, 0, false},
                                 consumer = ask->measure == RUE_LOAD ? none : models[ask->scenario];
    double noise = exp(0.03 * (2 * rue_random_unit(&seed) - 1));
    int batch = configs[ask->config].value[RUE_BATCH_SIZE];
    result.outcome = RUE_TRIAL_OK;
    result.config = configs[ask->config];
    if (ask->measure == RUE_COMPUTE) {
        double batch_s = noise * (consumer.batch_s + batch * consumer.image_s);
        result.batches = (int64_t)ask->batches;
        result.images = result.batches * batch;
        result.compute_ns = result.end_to_end_ns = ns((double)ask->batches * batch_s);
    } else {
        struct rue_pipeline_times times = predict_times(ask, consumer);
        result.images = (int64_t)(ask->images ? ask->images : JOB);
        result.batches = (result.images + batch - 1) / batch;
        result.end_to_end_ns = ns(noise * times.end_to_end_s);
        result.first_batch_ns = ns(noise * times.first_batch_s);
        result.shutdown_ns = ns(noise * times.shutdown_s);
        result.compute_ns =
            ns((double)result.batches * consumer.batch_s + (double)result.images * consumer.image_s);
    }
    result.cost_ns = result.end_to_end_ns + ns(trial_s);
    return result;
}

static size_t open_configs(const struct size *size)
{
    struct rue_space space = rue_space_default(&rue_own_knobs);
    space.count[RUE_BATCH_SIZE] = space.count[RUE_NUM_WORKERS] = 0;
    for (int i = 0; i < size->sizes; i++)
        rue_space_add(&space, RUE_BATCH_SIZE, (int)lround(16 * exp2(6.0 * i / (size->sizes - 1))));
    for (int i = 0; i < size->workers; i++)
        rue_space_add(&space, RUE_NUM_WORKERS, 1 + 63 * i / (size->workers - 1));
    size_t count = rue_space_size(&space);
    configs = calloc(count, sizeof *configs);
    for (size_t c = 0; c < count; c++) configs[c] = rue_space_at(&space, c);
    for (int m = 0; m < size->models; m++)
        models[m] = (struct rue_pipeline_consumer){5e-3, 3e-4 * exp2(5.0 * m / (size->models - 1)), 0, false};
    return count;
}

/* Seconds that the whole grid takes. */
static double whole_s(const struct size *size, size_t config_count)
{
    double sum = 0;
    for (size_t i = 0; i < (size_t)size->models * config_count; i++) {
        struct rue_question ask = {.scenario = i / config_count, .config = i % config_count};
        sum += predict_times(&ask, models[ask.scenario]).end_to_end_s + trial_s;
    }
    return sum;
}

static void study(const struct rue_strategy_ops *ops, const struct size *size)
{
    size_t config_count = open_configs(size), trials = 0;
    struct rue_strategy_setup setup =
        rue_strategy_setup_default((struct rue_setup_grid){(size_t)size->models, config_count, configs}, JOB);
    setup.runner = (struct rue_setup_runner){.measures = {true, !size->joint_alone, !size->joint_alone},
                                             .cpus = loader.cpus,
                                             .round_robin = loader.round_robin};
    setup.seed = 1;
    setup.budget.seconds = budget_share * whole_s(size, config_count);
    double thought_s = 0, spent_s = 0, longest_s = 0;
    rue_error error = {0};
    void *state;
    bench_check(ops->open(&setup, &state, &error), &error);
    for (bool more = true; more && spent_s < setup.budget.seconds;) {
        struct rue_question ask;
        double start = bench_clock(CLOCK_THREAD_CPUTIME_ID);
        more = ops->ask(state, 0, &ask);
        double took = bench_clock(CLOCK_THREAD_CPUTIME_ID) - start;
        thought_s += took;
        longest_s = fmax(longest_s, took);
        if (!more) break;
        struct rue_trial_result result = answer(&ask);
        spent_s += (double)result.cost_ns / 1e9;
        trials++;
        start = bench_clock(CLOCK_THREAD_CPUTIME_ID);
        if (ops->observe) ops->observe(state, &ask, &result);
        thought_s += bench_clock(CLOCK_THREAD_CPUTIME_ID) - start;
    }
    struct rue_claim claim;
    double start = bench_clock(CLOCK_THREAD_CPUTIME_ID);
    if (ops->interim) ops->interim(state, &claim);
    thought_s += bench_clock(CLOCK_THREAD_CPUTIME_ID) - start;
    ops->close(state);
    free(configs);
    char what[160];
    snprintf(what, sizeof what,
             "%s, %zu configurations, %d models%s: thinking for %zu trials, %.2g s at most for one",
             ops->name, config_count, size->models, size->joint_alone ? ", joint trials alone" : "", trials,
             longest_s);
    bench_row(what, "s", thought_s, "the goal", size->goal_s, "<= 1");
}

int main(int argc, char **argv)
{
    static const struct size sizes[] = {
        {5, 9, 12, 1, false}, {25, 40, 50, 30, false}, {5, 9, 12, 1, true}, {25, 40, 50, 30, true}};
    for (size_t s = 0; rue_strategies[s]; s++) {
        bool wanted = argc < 2;
        for (int i = 1; i < argc; i++) wanted |= strcmp(argv[i], rue_strategies[s]->name) == 0;
        for (size_t i = 0; wanted && i < sizeof sizes / sizeof *sizes; i++)
            study(rue_strategies[s], &sizes[i]);
    }
}
