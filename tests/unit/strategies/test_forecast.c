/* On trials whose answer is known: of the pipeline itself, and of a real machine that a plain loop measured.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "first_batch.h"
#include "forecast.h"

TestSuite(forecast, .timeout = 120);

static void check(rue_status status, const rue_error *error)
{
    cr_assert_eq(status, RUE_OK, "%s", error->message);
}

static void look(struct rue_forecast *forecast)
{
    rue_error error = {0};
    check(rue_forecast_update(forecast, &error), &error);
}

static void add(struct rue_forecast *forecast, const struct rue_question *question,
                const struct rue_trial_result *result, double seconds)
{
    rue_error error = {0};
    check(rue_forecast_add(forecast, question, result, seconds, &error), &error);
}

/* ---- one surprising start ---- */

Test(forecast, starts_are_pooled)
{
    static const double ratios[] = {0.1, 0.12, 0.08, 0.11, 0.7, 0.15, 0.13, 0.17, NAN, -INFINITY};
    static const uint64_t groups[] = {1, 1, 1, 1, 1, 2, 2, 2, 3, 1};
    enum { STARTS = sizeof ratios / sizeof *ratios };
    struct rue_start starts[STARTS];
    for (size_t i = 0; i < STARTS; i++)
        starts[i] = (struct rue_start){.group = groups[i], .log_ratio = ratios[i]};
    rue_first_batch_pool(starts, STARTS);
    cr_expect_gt(starts[4].disturbed, 0.9, "the surprising one");
    cr_expect_lt(starts[0].disturbed, 0.1);
    cr_expect_lt(fabs(starts[0].mean - 0.103), 0.02, "%g", starts[0].mean);
    cr_expect_lt(fabs(starts[5].mean - 0.15), 0.01, "%g", starts[5].mean);
    cr_expect(isnan(starts[8].mean));
}

Test(forecast, a_repeated_start_is_no_surprise)
{
    struct rue_start starts[6] = {{.group = 1, .log_ratio = 0.1},  {.group = 1, .log_ratio = 0.12},
                                  {.group = 1, .log_ratio = 0.09}, {.group = 2, .log_ratio = 0.6},
                                  {.group = 2, .log_ratio = 0.62}, {.group = 2, .log_ratio = 0.59}};
    rue_first_batch_pool(starts, 6);
    cr_expect_lt(fabs(starts[3].mean - 0.6), 0.02, "%g", starts[3].mean);
    cr_expect_lt(starts[3].variance, 0.01);
}

/* ---- a recorded study of PyTorch on a machine with a GPU ---- */

enum { RECORDED_SIZES = 2, RECORDED_WORKERS = 6, RECORDED = 2 * RECORDED_SIZES * RECORDED_WORKERS };
static const int recorded_sizes[] = {64, 128}, recorded_workers[] = {0, 4, 8, 12, 16, 24};

/* Seconds of a plain loop with resnet50 and vit_b_16, in the order of the configurations. */
static const double plain_loop_s[RECORDED][2] = {
    {NAN, NAN},   {NAN, NAN},   {3.6, 3.93},  {3.43, 3.63}, {2.33, 2.11}, {2.24, 2.31},
    {2.51, 2.46}, {1.97, 2.24}, {2.36, 2.86}, {2.42, 2.36}, {2.7, 3.19},  {2.8, 2.67},
    {NAN, NAN},   {NAN, NAN},   {3.62, 3.52}, {3.88, 3.83}, {2.43, 2.67}, {2.38, 2.57},
    {2.48, 2.43}, {2.42, 2.5},  {2.22, 2.64}, {2.33, 2.79}, {2.34, 2.61}, {2.33, 2.7}};

static void fill_recorded_configs(struct rue_config configs[RECORDED])
{
    for (size_t c = 0; c < RECORDED; c++) {
        configs[c] = rue_config_default();
        configs[c].value[RUE_BATCH_SIZE] = recorded_sizes[c / (2 * RECORDED_WORKERS)];
        configs[c].value[RUE_NUM_WORKERS] = recorded_workers[c / 2 % RECORDED_WORKERS];
        configs[c].value[RUE_PIN_MEMORY] = (int)(c % 2);
    }
}

static size_t find_recorded(int batch, int workers, int pinned)
{
    size_t size = batch == recorded_sizes[1], w = 0;
    while (w < RECORDED_WORKERS && recorded_workers[w] != workers) w++;
    cr_assert_lt(w, RECORDED_WORKERS);
    return 2 * (size * RECORDED_WORKERS + w) + (size_t)pinned;
}

static sqlite3 *open_recorded_study(void)
{
    char path[4096];
    sqlite3 *database = NULL;
    const char *shared = getenv("RUE_SHARED");
    snprintf(path, sizeof path, "file:%s/real/h100_torch_study.db?mode=ro&immutable=1", shared ? shared : "");
    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) == SQLITE_OK)
        return database;
    sqlite3_close(database);
    cr_skip_test("skipped: h100_torch_study.db is not here; set RUE_SHARED");
}

static int64_t read_ns(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? RUE_ABSENT : sqlite3_column_int64(row, column);
}

/* Adds all trials; a look at the probes, then after joint trials, spaced by a factor. */
static void add_recorded(struct rue_forecast *forecast, sqlite3 *database)
{
    static const char query[] =
        "SELECT measure, model = 'vit_b_16', json_extract(config, '$.batch_size'),"
        " json_extract(config, '$.num_workers'), coalesce(json_extract(config, '$.pin_memory'), 1), images,"
        " batches, end_to_end_ns, first_batch_ns, compute_ns, shutdown_ns, started_ns, cpu_ratio, id FROM "
        "trial"
        " ORDER BY id";
    sqlite3_stmt *row;
    size_t joints = 0, next_look = 1;
    cr_assert_eq(sqlite3_prepare_v2(database, query, -1, &row, NULL), SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW) {
        const char *measure = (const char *)sqlite3_column_text(row, 0);
        struct rue_question ask = {.measure = strcmp(measure, "load") == 0      ? RUE_LOAD
                                              : strcmp(measure, "compute") == 0 ? RUE_COMPUTE
                                                                                : RUE_JOINT,
                                   .scenario = (size_t)sqlite3_column_int(row, 1),
                                   .config =
                                       find_recorded(sqlite3_column_int(row, 2), sqlite3_column_int(row, 3),
                                                     sqlite3_column_int(row, 4)),
                                   .images = (uint64_t)sqlite3_column_int64(row, 5),
                                   .batches = (uint64_t)sqlite3_column_int64(row, 6),
                                   .trial = (size_t)sqlite3_column_int64(row, 13)};
        struct rue_trial_result result = rue_trial_result_empty();
        result.outcome = RUE_TRIAL_OK;
        result.images = (int64_t)ask.images;
        result.batches = (int64_t)ask.batches;
        result.end_to_end_ns = read_ns(row, 7);
        result.first_batch_ns = read_ns(row, 8);
        result.compute_ns = read_ns(row, 9);
        result.shutdown_ns = read_ns(row, 10);
        result.cpu_ratio = sqlite3_column_double(row, 12);
        if (ask.measure == RUE_JOINT && ++joints == next_look) {
            look(forecast);
            next_look += 1 + joints / 2;
        }
        add(forecast, &ask, &result, sqlite3_column_double(row, 11) / 1e9);
        rue_trial_result_close(&result);
    }
    sqlite3_finalize(row);
    look(forecast);
}

Test(forecast, recorded_trials_predict_the_plain_loop)
{
    sqlite3 *database = open_recorded_study();
    struct rue_config configs[RECORDED];
    fill_recorded_configs(configs);
    struct rue_strategy_setup setup =
        rue_strategy_setup_default((struct rue_setup_grid){2, RECORDED, configs}, 2048);
    setup.runner = (struct rue_setup_runner){.measures = {true, true, true}, .cpus = 16, .round_robin = true};
    rue_error error = {0};
    struct rue_forecast *forecast;
    struct rue_claim claim;
    check(rue_forecast_open(&setup, &forecast, &error), &error);
    add_recorded(forecast, database);
    rue_forecast_claim(forecast, 25, RUE_FORECAST_CLAIM_DRAWS, SIZE_MAX, &claim);
    for (size_t c = 0; c < RECORDED / 2; c++) { /* batch size 64; of 128 there is a single trial */
        if (isnan(plain_loop_s[c][0])) continue;
        double error_ratio = 0;
        for (size_t m = 0; m < 2; m++)
            error_ratio += log(rue_forecast_estimate(forecast, m, c).time_s / plain_loop_s[c][m]) / 2;
        int workers = configs[c].value[RUE_NUM_WORKERS];
        cr_expect_leq(fabs(error_ratio), workers == 4 ? 0.08 : 0.15,
                      "%d workers, pinned %zu: off by %+.0f %%", workers, c % 2, 100 * error_ratio);
    }
    cr_expect_leq(rue_forecast_regret(forecast, find_recorded(128, 8, 1)), 0.3, "one surprising start");
    const int *claimed =
        configs[claim.config].value; /* the fastest ones in the plain loop, up to its noise */
    cr_expect(claimed[RUE_BATCH_SIZE] == 64 && claimed[RUE_NUM_WORKERS] >= 8 &&
                  claimed[RUE_NUM_WORKERS] <= 16,
              "%d/%d", claimed[RUE_BATCH_SIZE], claimed[RUE_NUM_WORKERS]);
    cr_expect_lt(claim.bound_ratio, 0.35);
    rue_forecast_close(forecast);
    sqlite3_close(database);
}
