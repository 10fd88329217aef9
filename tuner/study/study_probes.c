#include "study_probes.h"

#include <math.h>

#include "probes.h"
#include "study_space.h"
#include "study_strategy.h"

/* Seconds of a load-only trial; workers beyond the CPUs bring no more. */
static double load_s(const struct rue_study *study, size_t variant, const struct rue_ask *ask)
{
    int workers = study->configs[ask->config].value[RUE_NUM_WORKERS];
    int cpus = rue_study_usable_cpus(rue_runner_hello(study->runner));
    return (double)ask->images / (study->one_worker_images_per_s[variant] * fmax(1, fmin(workers, cpus)));
}

/* The batch that counts, and one to warm up. */
static double compute_s(const struct rue_study *study, size_t model, size_t config)
{
    uint64_t batch = (uint64_t)study->configs[config].value[RUE_BATCH_SIZE];
    if (!study->models[model].known) return NAN;
    return 2 * (double)rue_profile_batch_ns(&study->models[model].profile, batch) / 1e9;
}

struct rue_study_probes rue_study_count_probes(const struct rue_study *study)
{
    struct rue_study_probes probes = {0};
    for (size_t v = 0; v < study->variant_count; v++) {
        struct rue_strategy_setup setup = rue_study_strategy_setup(study, v);
        setup.budget.trials = study->goal->budget.trials / study->variant_count;
        struct rue_ask loads[RUE_PROBES_LOAD_MAX];
        size_t sizes[RUE_PROBES_SIZES_MAX],
            load_count = setup.runner.measures[RUE_LOAD] ? rue_probes_load(&setup, loads) : 0;
        size_t size_count = setup.runner.measures[RUE_COMPUTE] ? rue_probes_compute_sizes(&setup, sizes) : 0;
        size_t compute_count = size_count * study->model_count;
        struct rue_probes_room room = rue_probes_room(&setup);
        if (load_count > room.load) load_count = room.load;
        if (compute_count > room.compute) compute_count = room.compute;
        probes.load += load_count;
        probes.compute += compute_count;
        for (size_t i = 0; i < load_count; i++) probes.expected_s += load_s(study, v, &loads[i]);
        for (size_t i = 0; i < compute_count; i++)
            probes.expected_s += compute_s(study, i % study->model_count, sizes[i / study->model_count]);
    }
    return probes;
}
