/* The belief about a recorded study on a GPU, against plain loops of the same job. */
#include <criterion/criterion.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "forecast.h"
#include "shared_data.h"
#include "space.h"

enum { MODELS = 2, CONFIGS = 24, JOB = 2048, CPUS = 16 };

/* Seconds of a plain loop, each measured once with a noise of LOOP_NOISE, from h100_plain_loop.txt. */
static const struct plain_loop {
    int batch, workers, pinned;
    double s[MODELS]; /* resnet50, vit_b_16 */
} plain_loops[] = {
    {64, 4, 0, {3.6, 3.93}},    {64, 4, 1, {3.43, 3.63}},   {64, 8, 0, {2.33, 2.11}},
    {64, 8, 1, {2.24, 2.31}},   {64, 12, 0, {2.51, 2.46}},  {64, 12, 1, {1.97, 2.24}},
    {64, 16, 0, {2.36, 2.86}},  {64, 16, 1, {2.42, 2.36}},  {64, 24, 0, {2.7, 3.19}},
    {64, 24, 1, {2.8, 2.67}},   {128, 4, 0, {3.62, 3.52}},  {128, 4, 1, {3.88, 3.83}},
    {128, 8, 0, {2.43, 2.67}},  {128, 8, 1, {2.38, 2.57}},  {128, 12, 0, {2.48, 2.43}},
    {128, 12, 1, {2.42, 2.5}},  {128, 16, 0, {2.22, 2.64}}, {128, 16, 1, {2.33, 2.79}},
    {128, 24, 0, {2.34, 2.61}}, {128, 24, 1, {2.33, 2.7}},
};

#define LOOP_NOISE 0.06
enum { LOOPS = sizeof plain_loops / sizeof *plain_loops };

static void open_recorded(sqlite3 **db)
{
    char path[PATH_MAX], uri[PATH_MAX + 64];
    shared_path("real/h100_torch_study.db", path);
    snprintf(uri, sizeof uri, "file:%s?mode=ro&immutable=1", path);
    cr_assert_eq(sqlite3_open_v2(uri, db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL), SQLITE_OK, "%s",
                 uri);
}

static size_t make_grid(struct rue_config configs[CONFIGS])
{
    static const int batches[] = {64, 128}, workers[] = {0, 4, 8, 12, 16, 24};
    size_t count = 0;
    for (int b = 0; b < 2; b++)
        for (int w = 0; w < 6; w++)
            for (int pinned = 0; pinned < 2; pinned++) {
                configs[count] = rue_config_default();
                configs[count].value[RUE_BATCH_SIZE] = batches[b];
                configs[count].value[RUE_NUM_WORKERS] = workers[w];
                configs[count++].value[RUE_PIN_MEMORY] = pinned;
            }
    return count;
}

static size_t find_config(const struct rue_config *configs, int batch, int workers, int pinned)
{
    size_t c = 0;
    while (c < CONFIGS &&
           (configs[c].value[RUE_BATCH_SIZE] != batch || configs[c].value[RUE_NUM_WORKERS] != workers ||
            configs[c].value[RUE_PIN_MEMORY] != pinned))
        c++;
    cr_assert_lt(c, CONFIGS, "%d/%d is not in the grid", batch, workers);
    return c;
}

static void add_trials(struct rue_forecast *forecast, sqlite3 *db)
{
    static const char sql[] =
        "SELECT measure, model = 'vit_b_16', batch_size, num_workers, pin_memory, requested_images,"
        " requested_batches, images, batches, first_batch_ns, end_to_end_ns, load_wait_ns, compute_ns,"
        " shutdown_ns, started_ns / 1e9, id FROM ok_trial JOIN (SELECT id, requested_images,"
        " requested_batches, started_ns FROM trial) USING (id)"
        " WHERE measure != 'load' OR id IN (1, 2, 3, 6) ORDER BY id"; /* the others are references */
    sqlite3_stmt *rows = NULL;
    cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &rows, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    while (sqlite3_step(rows) == SQLITE_ROW) {
        const char *measure = (const char *)sqlite3_column_text(rows, 0);
        struct rue_trial_result result = rue_trial_result_empty();
        size_t config = find_config(forecast->setup->grid.configs, sqlite3_column_int(rows, 2),
                                    sqlite3_column_int(rows, 3), sqlite3_column_int(rows, 4));
        const struct rue_question question = {.measure = measure[0] == 'j'   ? RUE_JOINT
                                                         : measure[0] == 'l' ? RUE_LOAD
                                                                             : RUE_COMPUTE,
                                              .scenario = (size_t)sqlite3_column_int(rows, 1),
                                              .config = config,
                                              .images = (uint64_t)sqlite3_column_int64(rows, 5),
                                              .batches = (uint64_t)sqlite3_column_int64(rows, 6),
                                              .trial = (size_t)sqlite3_column_int64(rows, 15)};
        int64_t *const times[] = {&result.images,        &result.batches,      &result.first_batch_ns,
                                  &result.end_to_end_ns, &result.load_wait_ns, &result.compute_ns,
                                  &result.shutdown_ns};
        for (int i = 0; i < 7; i++)
            if (sqlite3_column_type(rows, 7 + i) != SQLITE_NULL)
                *times[i] = sqlite3_column_int64(rows, 7 + i);
        result.outcome = RUE_TRIAL_OK;
        result.config = forecast->setup->grid.configs[config];
        rue_error error;
        cr_assert_eq(rue_forecast_add(forecast, &question, &result, sqlite3_column_double(rows, 14), &error),
                     RUE_OK);
    }
    sqlite3_finalize(rows);
}

static const struct plain_loop *find_loop(const struct rue_config *configs, size_t config)
{
    size_t i = 0;
    while (i < LOOPS && find_config(configs, plain_loops[i].batch, plain_loops[i].workers,
                                    plain_loops[i].pinned) != config)
        i++;
    cr_assert_lt(i, LOOPS, "configuration %zu has no plain loop", config);
    return &plain_loops[i];
}

static double regret_of_loop(const struct plain_loop *loop)
{
    double sum = 0;
    for (size_t m = 0; m < MODELS; m++) {
        double best = INFINITY;
        for (size_t i = 0; i < LOOPS; i++) best = fmin(best, plain_loops[i].s[m]);
        sum += loop->s[m] / best - 1;
    }
    return sum / MODELS;
}

/* The mean logarithm of predicted over measured time. */
static double log_error(const struct rue_forecast *forecast, const struct plain_loop *loop)
{
    size_t config = find_config(forecast->setup->grid.configs, loop->batch, loop->workers, loop->pinned);
    double sum = 0;
    for (size_t m = 0; m < MODELS; m++)
        sum += log(rue_forecast_estimate(forecast, m, config).time_s / loop->s[m]);
    return sum / MODELS;
}

Test(recorded_study, predictions_agree_with_plain_loops)
{
    sqlite3 *db = NULL;
    rue_error error = {0};
    struct rue_config configs[CONFIGS];
    open_recorded(&db);
    struct rue_strategy_setup setup =
        rue_strategy_setup_default((struct rue_setup_grid){MODELS, make_grid(configs), configs}, JOB);
    memset(setup.runner.measures, true, sizeof setup.runner.measures);
    setup.runner.cpus = CPUS;
    setup.runner.round_robin = true;
    struct rue_forecast *forecast = NULL;
    cr_assert_eq(rue_forecast_open(&setup, &forecast, &error), RUE_OK, "%s", error.message);
    add_trials(forecast, db);
    sqlite3_close(db);
    cr_assert_eq(rue_forecast_update(forecast, &error), RUE_OK, "%s", error.message);
    struct rue_claim claim;
    rue_forecast_claim(forecast, forecast->prediction->logs[RUE_JOINT].count, RUE_FORECAST_CLAIM_DRAWS,
                       SIZE_MAX, &claim);
    double least = INFINITY, claimed = regret_of_loop(find_loop(configs, claim.config));
    for (size_t i = 0; i < LOOPS; i++) least = fmin(least, regret_of_loop(&plain_loops[i]));
    double noise = 2 * LOOP_NOISE; /* of a difference of means over two models */
    cr_expect_leq(claimed - least, claim.bound_ratio + noise, "%g - %g, bound %g", claimed, least,
                  claim.bound_ratio);
    for (size_t i = 0; i < LOOPS; i += 2) {
        double mean = (log_error(forecast, &plain_loops[i]) + log_error(forecast, &plain_loops[i + 1])) / 2;
        int batch = plain_loops[i].batch, workers = plain_loops[i].workers;
        cr_log_info("%d/%d: %+.0f %%", batch, workers, 100 * expm1(mean));
        /* With the larger batch there was one trial. */
        cr_expect_lt(fabs(mean),
                     batch == 128   ? 0.4
                     : workers == 4 ? 0.08
                                    : 0.15,
                     "%d/%d: %g", batch, workers, mean);
    }
    rue_forecast_close(forecast);
}
