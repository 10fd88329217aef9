/* A prior of three models and six configurations: two batch sizes, three numbers of workers. */
#ifndef ERROR_PRIOR_FIXTURE_H
#define ERROR_PRIOR_FIXTURE_H

#include <criterion/criterion.h>

#include "error_prior.h"

enum {
    MODELS = 3,
    SIZES = 2,
    WORKERS = 3,
    CONFIGS = SIZES * WORKERS,
    CELLS = MODELS * CONFIGS,
    PARAMETERS = 2,
};

static inline struct rue_error_prior *open_prior(void)
{
    static const int sizes[SIZES] = {32, 128}, workers[WORKERS] = {1, 4, 16};
    static const double covariance[PARAMETERS * PARAMETERS] = {0.01, 0.004, 0.004, 0.02};
    struct rue_config configs[CONFIGS];
    double jacobian[CELLS * PARAMETERS], share[CELLS];
    bool measured[CELLS];
    for (int c = 0; c < CONFIGS; c++) {
        configs[c] = rue_config_default();
        configs[c].value[RUE_BATCH_SIZE] = sizes[c / WORKERS];
        configs[c].value[RUE_NUM_WORKERS] = workers[c % WORKERS];
    }
    for (int i = 0; i < CELLS; i++) {
        share[i] = (double)(i / CONFIGS) / MODELS;
        measured[i] = i % CONFIGS < WORKERS;
        jacobian[i * PARAMETERS] = 1 - share[i];
        jacobian[i * PARAMETERS + 1] = 0.1 * (i % WORKERS);
    }
    const struct rue_error_prior_setup setup = {.model_count = MODELS,
                                                .config_count = CONFIGS,
                                                .configs = configs,
                                                .parameter_count = PARAMETERS,
                                                .jacobian = jacobian,
                                                .covariance = covariance,
                                                .consumer_share = share,
                                                .compute_measured = measured};
    struct rue_error_prior *prior;
    rue_error error = {0};
    cr_assert_eq(rue_error_prior_open(&setup, &prior, &error), RUE_OK, "%s", error.message);
    return prior;
}

#endif
