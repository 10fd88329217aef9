/* Strategies where pin_memory varies: on simulated machines whose models take longer for batches that are not
 * pinned, or less long, as copies are part of it. */
#include <criterion/criterion.h>
#include <math.h>

#include "knowledge.h"
#include "pipeline_fixture.h"
#include "random.h"
#include "strategy.h"

TestSuite(pinning, .timeout = 120);

enum { MODELS = 3, SIZES = 3, WORKERS = 4, GRID = SIZES * WORKERS, CONFIGS = 2 * GRID, JOB = 6000 };

static struct rue_config configs[CONFIGS]; /* the second half is the first, not pinned */
static double pageable_factor;             /* of a model's time */
static bool alone;                         /* there are joint trials alone */
static size_t asked[RUE_MEASURE_COUNT][2]; /* [pinned] */
static size_t trials_of[MODELS][2];        /* of a model's batches, [pinned] */
static uint64_t noise;

static void setup(void)
{
    static const int sizes[SIZES] = {32, 64, 256}, workers[WORKERS] = {0, 2, 4, 12};
    pipeline_grid(sizes, SIZES, workers, WORKERS, configs);
    for (size_t c = GRID; c < CONFIGS; c++) {
        configs[c] = configs[c - GRID];
        configs[c].value[RUE_PIN_MEMORY] = false;
    }
    noise = 3;
}

static struct rue_pipeline_consumer make_consumer(size_t model, size_t config)
{
    double factor = rue_config_pins_memory(&configs[config]) ? 1 : pageable_factor;
    return (struct rue_pipeline_consumer){1e-3, factor * 1.2e-3 * (double)(1 + model), 0, false};
}

static struct rue_pipeline_times predict_times(struct rue_pipeline_consumer consumer, size_t config,
                                               uint64_t images)
{
    return rue_pipeline_predict(&pipeline_small, &consumer, &configs[config], images);
}

static double truth_s(size_t model, size_t config)
{
    return predict_times(make_consumer(model, config), config, JOB).end_to_end_s;
}

static int64_t ns(double seconds)
{
    return (int64_t)(seconds * 1e9 * (1 + 0.01 * (rue_random_unit(&noise) - 0.5)));
}

static struct rue_trial_result perform(const struct rue_question *ask)
{
    struct rue_trial_result result = rue_trial_result_empty();
    struct rue_pipeline_consumer none = {1e-5, 0, 0, false};
    double batch = configs[ask->config].value[RUE_BATCH_SIZE];
    bool joint = ask->measure == RUE_JOINT, pinned = rue_config_pins_memory(&configs[ask->config]);
    struct rue_pipeline_consumer model = make_consumer(ask->scenario, ask->config);
    asked[ask->measure][pinned]++;
    trials_of[ask->scenario][pinned] += ask->measure != RUE_LOAD;
    result.outcome = RUE_TRIAL_OK;
    result.config = configs[ask->config];
    if (ask->measure == RUE_COMPUTE) {
        result.batches = (int64_t)ask->batches;
        result.images = (int64_t)((double)ask->batches * batch);
        result.compute_ns = result.end_to_end_ns =
            ns((double)ask->batches * (model.batch_s + batch * model.image_s));
        result.cost_ns = 2 * result.compute_ns;
        return result;
    }
    struct rue_pipeline_times times = predict_times(joint ? model : none, ask->config, ask->images);
    result.images = (int64_t)ask->images;
    result.batches = (int64_t)ceil((double)ask->images / batch);
    result.end_to_end_ns = result.cost_ns = ns(times.end_to_end_s);
    result.first_batch_ns = ns(times.first_batch_s);
    result.shutdown_ns = ns(times.shutdown_s);
    result.compute_ns = joint ? RUE_ABSENT : result.batches * 10000;
    return result;
}

static double mean_regret(size_t config)
{
    double sum = 0;
    for (size_t m = 0; m < MODELS; m++) {
        double least = INFINITY;
        for (size_t c = 0; c < CONFIGS; c++) least = fmin(least, truth_s(m, c));
        sum += truth_s(m, config) / least - 1;
    }
    return sum / MODELS;
}

static struct rue_strategy_setup make_setup(size_t config_count)
{
    struct rue_strategy_setup setup =
        rue_strategy_setup_default((struct rue_setup_grid){MODELS, config_count, configs}, JOB);
    setup.runner = (struct rue_setup_runner){.measures = {true, !alone, !alone},
                                             .cpus = pipeline_small.cpus,
                                             .round_robin = pipeline_small.round_robin};
    setup.seed = 7;
    setup.budget.seconds = 200;
    return setup;
}

/* Plays to the end; `state` is to be closed. */
static void *play(const struct rue_strategy_ops *strategy, const struct rue_strategy_setup *plan)
{
    struct rue_question ask;
    rue_error error = {0};
    void *state;
    double spent_s = 0;
    memset(asked, 0, sizeof asked);
    memset(trials_of, 0, sizeof trials_of);
    cr_assert_eq(strategy->open(plan, &state, &error), RUE_OK, "%s", error.message);
    while (spent_s < plan->budget.seconds && strategy->ask(state, 0, &ask)) {
        struct rue_trial_result result = perform(&ask);
        spent_s += (double)result.cost_ns / 1e9;
        strategy->observe(state, &ask, &result);
    }
    cr_assert_eq(strategy->status(state, &error), RUE_OK, "%s", error.message);
    return state;
}

/* What is claimed is as good as can be and lies where batches are quicker; every cell that two trials tell
 * of, one for each part of a batch's time, is predicted. */
static void expect_found(const struct rue_strategy_ops *strategy, double far)
{
    struct rue_strategy_setup plan = make_setup(CONFIGS);
    void *state = play(strategy, &plan);
    struct rue_claim claim;
    cr_assert(strategy->claim(state, SIZE_MAX, &claim) && claim.verified);
    cr_assert_lt(mean_regret(claim.config), 0.02);
    cr_assert_eq(rue_config_pins_memory(&configs[claim.config]), pageable_factor > 1);
    for (size_t i = 0; i < MODELS * CONFIGS; i++) {
        struct rue_estimate estimate;
        size_t m = i / CONFIGS, c = i % CONFIGS;
        cr_assert(strategy->estimate(state, m, c, &estimate));
        if (trials_of[m][rue_config_pins_memory(&configs[c])] < 2)
            continue; /* too few for both parts of a batch */
        cr_assert_lt(fabs(log(estimate.time_s / truth_s(m, c))), far,
                     "model %zu, config %zu: %.2f s, not %.2f", m, c, estimate.time_s, truth_s(m, c));
    }
    strategy->close(state);
}

Test(pinning, pinned_and_other_batches_are_computed_separately, .init = setup)
{
    static const double factors[] = {1.4, 0.8};
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        pageable_factor = factors[i];
        expect_found(&rue_strategy_duel, 0.05);
        cr_assert(asked[RUE_COMPUTE][true] >= MODELS && asked[RUE_COMPUTE][false] >= MODELS);
        cr_assert_eq(asked[RUE_LOAD][false], 0, "loading does not know of it");
    }
}

Test(pinning, joint_trials_inform_about_both_values, .init = setup)
{
    static const double factors[] = {1.4, 0.8};
    alone = true;
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        pageable_factor = factors[i];
        expect_found(&rue_strategy_duel, 0.15);
    }
}

static void export_knowledge(void *state, struct rue_knowledge **out)
{
    cr_assert_eq(rue_strategy_duel.knowledge(state, out, NULL), RUE_OK);
    rue_strategy_duel.close(state);
}

/* A study of pinned batches knows nothing of others, and one of both knows both. */
Test(pinning, knowledge_of_pinned_batches_is_not_used_for_others, .init = setup)
{
    struct rue_strategy_setup pinned = make_setup(GRID), both = make_setup(CONFIGS);
    struct rue_knowledge *one, *two;
    pageable_factor = 1.4;
    export_knowledge(play(&rue_strategy_duel, &pinned), &one);
    cr_assert(one->consumers[0].curve.count && !one->consumers[1].curve.count);
    cr_assert(isnan(rue_knowledge_job_s(one, 0, &configs[GRID], JOB)));
    struct rue_prior prior = {.knowledge = one, .widen_sd = 0.1, .same_machine = true, .config = SIZE_MAX};
    both.known.prior = &prior;
    void *state = play(&rue_strategy_duel, &both);
    struct rue_claim claim;
    cr_assert(rue_strategy_duel.claim(state, SIZE_MAX, &claim));
    cr_assert(rue_config_pins_memory(&configs[claim.config]) && mean_regret(claim.config) < 0.02);
    cr_assert_geq(asked[RUE_COMPUTE][false], MODELS, "these were unknown");
    export_knowledge(state, &two);
    for (size_t c = 0; c < CONFIGS; c++)
        cr_assert_float_eq(log(rue_knowledge_job_s(two, 1, &configs[c], JOB) / truth_s(1, c)), 0, 0.05);
    rue_knowledge_close(one);
    rue_knowledge_close(two);
}
