#include <criterion/criterion.h>
#include <math.h>

#include "pipeline_fixture.h"
#include "prediction.h"

TestSuite(knowledge, .timeout = 60);

enum { MODELS = 3, SIZES = 4, WORKERS = 5, CONFIGS = SIZES * WORKERS, JOB = 9000 };

static const struct rue_pipeline_consumer consumers[MODELS] = {
    {2e-3, 1e-4, 0, false}, {5e-3, 2e-3, 0, false}, {5e-3, 1e-2, 0, false}};

static struct rue_strategy_setup make_times(struct rue_config *configs, double *times)
{
    static const int sizes[SIZES] = {32, 128, 256, 512}, workers[WORKERS] = {1, 4, 8, 16, 32};
    pipeline_grid(sizes, SIZES, workers, WORKERS, configs);
    for (int c = 0; c < CONFIGS; c++)
        for (int m = 0; m < MODELS; m++) {
            struct rue_pipeline_times predicted =
                rue_pipeline_predict(&pipeline_large, &consumers[m], &configs[c], JOB);
            times[m * CONFIGS + c] = predicted.end_to_end_s;
        }
    struct rue_strategy_setup setup =
        rue_strategy_setup_default((struct rue_setup_grid){MODELS, CONFIGS, configs}, JOB);
    setup.runner = (struct rue_setup_runner){.cpus = 64, .round_robin = true};
    return setup;
}

Test(knowledge, times_of_a_table_predict_the_missing_ones)
{
    struct rue_config configs[CONFIGS];
    double times[MODELS * CONFIGS];
    struct rue_strategy_setup setup = make_times(configs, times);
    struct rue_knowledge *knowledge;
    cr_assert_eq(rue_knowledge_from_jobs(&setup, times, &knowledge, NULL), RUE_OK);
    for (size_t i = 0; i < MODELS * CONFIGS; i++) {
        double found = rue_knowledge_job_s(knowledge, i / CONFIGS, &configs[i % CONFIGS], JOB);
        cr_assert_lt(fabs(log(found / times[i])), 0.25, "cell %zu: %.3f s in place of %.3f", i, found,
                     times[i]);
    }
    rue_knowledge_close(knowledge);
}

Test(knowledge, a_model_without_times_is_unknown)
{
    struct rue_config configs[CONFIGS];
    double times[MODELS * CONFIGS];
    struct rue_strategy_setup setup = make_times(configs, times);
    struct rue_knowledge *knowledge;
    for (size_t c = 0; c < CONFIGS; c++) times[CONFIGS + c] = NAN;
    cr_assert_eq(rue_knowledge_from_jobs(&setup, times, &knowledge, NULL), RUE_OK);
    cr_assert(isnan(rue_knowledge_job_s(knowledge, 1, &configs[0], JOB)));
    cr_assert_gt(rue_knowledge_job_s(knowledge, 0, &configs[0], JOB), 0);
    rue_knowledge_close(knowledge);
    for (size_t i = 0; i < MODELS * CONFIGS; i++) times[i] = NAN;
    cr_assert_eq(rue_knowledge_from_jobs(&setup, times, &knowledge, NULL), RUE_USAGE);
}

Test(knowledge, a_curve_counts_more_than_a_consumer)
{
    struct rue_knowledge *knowledge;
    struct rue_config config = rue_config_default();
    config.value[RUE_BATCH_SIZE] = 100;
    config.value[RUE_NUM_WORKERS] = 0;
    cr_assert_eq(rue_knowledge_open(1, &knowledge, NULL), RUE_OK);
    knowledge->loader = pipeline_large;
    double load_s = 0.05 * 100 * 0.01 + JOB / 100 * 0.005 + JOB * 0.01;
    cr_assert(isnan(rue_knowledge_job_s(knowledge, 0, &config, JOB)));
    knowledge->consumers[0].consumer = (struct rue_pipeline_consumer){0, 1, 0, false};
    cr_assert_float_eq(rue_knowledge_job_s(knowledge, 0, &config, JOB), load_s + JOB, 1e-6);
    rue_compute_curve_add(&knowledge->consumers[0].curve, 100, 0.2, NAN);
    knowledge->hand_over.batch_s = 0.1;
    cr_assert_float_eq(rue_knowledge_job_s(knowledge, 0, &config, JOB), load_s + 90 * 0.3, 1e-6);
    rue_knowledge_close(knowledge);
}
